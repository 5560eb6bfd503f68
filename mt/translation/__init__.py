"""Text in, text out: lines become segments, segments become translations, translations become scores."""
