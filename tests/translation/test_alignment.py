"""The attention of a model that has learned a task with known links gives these links."""

import pytest
import torch
from torch import nn

from mt.data.batch import make_batch
from mt.data.tokenizer import PAD
from mt.model.architecture import Architecture
from mt.model.transformer import Transformer
from mt.translation.alignment import mean_attention, word_alignment

FIRST, LAST = 4, 15  # the words of the task, each one subword


def pairs(count: int, generator: torch.Generator) -> list[tuple[list[int], list[int]]]:
    """Sentences and their reversals."""
    lengths = torch.randint(3, 9, (count,), generator=generator).tolist()
    sources = [torch.randperm(LAST - FIRST + 1, generator=generator)[:length] + FIRST for length in lengths]
    return [(source.tolist(), source.flip(0).tolist()) for source in sources]


def reversing_model(steps: int) -> tuple[Transformer, float]:
    """A small model trained to reverse, and its last loss."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    sizes = {"num_layers": 2, "d_model": 32, "d_ff": 64, "num_heads": 2, "dropout": 0.0}
    model = Architecture(vocab_size=LAST + 1, pad=PAD, initialisation="fan_in", **sizes).transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        batch = make_batch(*zip(*pairs(64, generator), strict=True))
        logits = model(batch.source, batch.target_input)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), float(loss.detach())


@pytest.mark.long
def test_a_model_that_reverses_is_aligned_in_reverse() -> None:
    model, loss = reversing_model(500)
    assert loss < 0.2
    examples = pairs(50, torch.Generator().manual_seed(1))
    right = words = 0
    for weights, (source, target) in zip(
        mean_attention([model], *map(list, zip(*examples, strict=True))), examples, strict=True
    ):
        links = word_alignment(weights, source_words=range(len(source)), target_words=range(len(target)))
        words += len(target)
        right += sum(source[one] == target[other] for one, other in links)
    assert right > 0.9 * words
