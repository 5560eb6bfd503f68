"""Pages and pictures that show what a model is, how its training went, and what it attends to."""
