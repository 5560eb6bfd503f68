"""The trained model prepared for translation: prepacked weights, and KV caches that are not reordered."""
