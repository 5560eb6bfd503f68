"""Measure decoding speed against other systems: mt-benchmark-decode run_dir=DIR."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.measurements import BenchmarkDecodeConfig


@command("benchmark_decode")
def main(config: BenchmarkDecodeConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.benchmark_decode import benchmark_decode

    benchmark_decode(config)


if __name__ == "__main__":
    main()
