"""Section 5 of the paper: training."""
