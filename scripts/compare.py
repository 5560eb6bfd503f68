"""Compare runs on the test sets that they share: mt-compare runs/a runs/b."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import CompareConfig


@command("compare")
def main(config: CompareConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.compare import compare

    compare(config)


if __name__ == "__main__":
    main()
