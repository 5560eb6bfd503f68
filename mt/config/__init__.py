"""From a command line to checked values: every option, how it is read, and what is refused."""
