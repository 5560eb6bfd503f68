"""What the commands do, one file each; every job takes its checked configuration."""
