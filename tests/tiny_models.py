"""Small models and ragged sentences."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from mt.model.architecture import Architecture
from mt.model.decoder_only import AnyTransformer

PAD, UNKNOWN, BOS, EOS, FIRST_PIECE = 0, 1, 2, 3, 4
VOCAB_SIZE = 23


def tiny_model(*, seed: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> AnyTransformer:
    """A small model in evaluation, every parameter random: biases and gains too, which begin as 0 and 1."""
    sizes: dict[str, Any] = {"num_layers": 2, "d_model": 16, "d_ff": 24, "num_heads": 4, "dropout": 0.0}
    torch.manual_seed(seed)
    model = Architecture(**({"vocab_size": VOCAB_SIZE, "pad": PAD} | sizes | changes)).transformer()
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=float(parameter.ndim == 1), std=0.3)
    return model.to(dtype).eval()


class CutAll(nn.Module):
    """Dropout that always leaves nothing: for `SimCut` in comparisons."""

    def forward(self, x: Tensor) -> Tensor:
        """Zeros."""
        return torch.zeros_like(x)


def sentences(lengths: list[int], *, seed: int, begin: int | None = None) -> Int[Tensor, "batch longest"]:
    """Random tokens of these lengths, padded on the right; the first is `begin` if it is given."""
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(FIRST_PIECE, VOCAB_SIZE, (len(lengths), max(lengths)), generator=random)
    if begin is not None:
        tokens[:, 0] = begin
    for row, length in zip(tokens, lengths, strict=True):
        row[length:] = PAD
    return tokens
