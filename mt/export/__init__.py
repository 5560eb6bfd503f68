"""Doors to other engines: a model in their form, and back, each proved equal before it is handed over."""
