"""Train the rows of a table and compare them: mt-sweep sweep=table3_small seeds=[1,2]."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.measurements import SweepConfig


@command("sweep")
def main(config: SweepConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.sweep import sweep

    sweep(config)


if __name__ == "__main__":
    main()
