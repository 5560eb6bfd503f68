"""Attention, norms, matrix products, whole layers and ranking in C, used where there is a C compiler."""
