"""The same results sooner. Each file is tied by a test to its plain form; only `mt.build` chooses among them."""
