"""Score a run or finished translations with BLEU: mt-evaluate run_dir=DIR split=test."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import EvaluateConfig


@command("evaluate")
def main(config: EvaluateConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.evaluate import evaluate

    evaluate(config)


if __name__ == "__main__":
    main()
