"""A trained model as a service that LibreTranslate's and DeepL's clients speak to; needs the extra `serve`."""
