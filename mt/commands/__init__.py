"""What the commands do: one file each, none of which imports another, and the entry point they share."""
