"""What a job says to the person at the terminal: standard error, so that standard output holds results alone."""

import sys


def tell(text: str) -> None:
    """Print a line at once."""
    print(text, file=sys.stderr, flush=True)
