"""Serve finished runs to the clients of LibreTranslate and DeepL: mt-serve run_dir=runs/mine port=5000"""

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import ServeConfig


@command("serve")
def main(config: ServeConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.serve import serve

    serve(config)


if __name__ == "__main__":
    main()
