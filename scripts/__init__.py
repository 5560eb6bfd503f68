"""The entry points of the commands: a few lines each, without logic."""
