"""Section 3 of the paper: the Transformer.

Legend of the letters in shapes: batch, source and target (positions on either side), query and memory (positions that
attend and positions that are attended to), heads, d_model, d_k (per head), d_ff, vocabulary, rows (partial
translations during a search). True in a mask means: may be attended.
"""
