"""Batches of token ids in one file: the same examples for every system, whatever environment it runs in."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class TokenBatch:
    """Padded ids (batch, length); source = pieces + EOS, input = BOS + pieces, output = pieces + EOS; PAD is 0."""

    source: np.ndarray
    target_input: np.ndarray
    target_output: np.ndarray

    @property
    def source_tokens(self) -> int:
        """Real ones."""
        return int((self.source != 0).sum())

    @property
    def target_tokens(self) -> int:
        """Real ones."""
        return int((self.target_output != 0).sum())

    @property
    def places(self) -> int:
        """Tokens of source and target, padding included."""
        return self.source.size + self.target_input.size


def write_token_batches(path: Path, batches: list[TokenBatch]) -> None:
    """Write them as one .npz file, in order."""
    arrays = {f"{name}_{i}": array for i, batch in enumerate(batches) for name, array in vars(batch).items()}
    np.savez(path, count=np.array(len(batches)), **arrays)


def read_token_batches(path: Path | str) -> list[TokenBatch]:
    """What `write_token_batches` wrote."""
    with np.load(path) as file:
        names = ("source", "target_input", "target_output")
        return [TokenBatch(*(file[f"{name}_{i}"] for name in names)) for i in range(int(file["count"]))]
