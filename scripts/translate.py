"""Translate a sentence, a file or standard input: mt-translate source="..." or input=FILE output=FILE."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import TranslateConfig


@command("translate")
def main(config: TranslateConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.translate import translate

    translate(config)


if __name__ == "__main__":
    main()
