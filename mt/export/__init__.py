"""A model in another engine's format, and back; each is proved equal before it is handed over."""
