"""Two computations of a search in C: compiled where a C compiler is, and called in place of torch's operations."""
