"""Average the newest checkpoints of a run, section 6.1: mt-average run_dir=DIR checkpoints=5."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import AverageConfig


@command("average")
def main(config: AverageConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.average import average

    average(config)


if __name__ == "__main__":
    main()
