"""Measure training speed against other systems: mt-benchmark takes what mt-train takes."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.measurements import BenchmarkConfig


@command("benchmark")
def main(config: BenchmarkConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.benchmark import benchmark

    benchmark(config)


if __name__ == "__main__":
    main()
