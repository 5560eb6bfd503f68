"""Draw what the decoder looks at: mt-attention source="A sentence." """

import sys
from pathlib import Path

if not __package__:  # run as a file: a checkout works without being installed
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from mt.commands.entry_point import command
from mt.config.schema import AttentionConfig


@command("attention")
def main(config: AttentionConfig) -> None:
    """Hands the checked configuration over; torch is imported here and not before."""
    from mt.commands.attention import attention

    attention(config)


if __name__ == "__main__":
    main()
