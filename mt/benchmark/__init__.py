"""Measuring ourselves against others: systems in processes of their own, driven round by round."""
