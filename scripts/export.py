"""Write a run as a folder for another engine: mt-export format=huggingface run_dir=DIR output=DIR."""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import ExportConfig


@command("export")
def main(config: ExportConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.export import export

    export(config)


if __name__ == "__main__":
    main()
