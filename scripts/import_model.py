"""Make a run of an HF MarianMT model: mt-import folder=DIR run_dir=DIR."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import ImportConfig


@command("import")
def main(config: ImportConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.import_model import import_model

    import_model(config)


if __name__ == "__main__":
    main()
