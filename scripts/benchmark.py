"""Measure training against its peers: mt-benchmark takes what mt-train takes."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.benchmark_config import BenchmarkConfig
from mt.command import door


@door("benchmark")
def main(config: BenchmarkConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.jobs.benchmark import benchmark

    benchmark(config)


if __name__ == "__main__":
    main()
