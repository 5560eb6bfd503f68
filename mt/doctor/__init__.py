"""The corpus doctor: what is wrong with a parallel corpus, where, and which filters help."""
