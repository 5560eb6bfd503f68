"""A Transformer translation system that reads like the paper it implements."""
