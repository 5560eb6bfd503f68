"""Measuring ourselves against others: contestants in processes of their own, driven round by round."""
