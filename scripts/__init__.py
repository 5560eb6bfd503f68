"""The commands: each a door of a few lines, without logic."""
