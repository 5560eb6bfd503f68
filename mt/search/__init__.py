"""Section 6.1 of the paper: choosing an output sequence, for any next-token function."""
