"""Step by step with kept keys and values equals the whole decoder, through any search's reordering."""

import pytest
import torch
from tiny_models import BOS, FIRST_PIECE, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor

from mt.model.cached_decoder import CachedDecoder

LENGTHS = [7, 1, 4, 6, 2]


def random_rows(alive: list[int], rows_per_sentence: int, random: torch.Generator) -> tuple[Tensor, list[int]]:
    """What a search may ask for: rows of a sentence repeated, moved or dropped; sentences dropped whole."""
    going_on = [slot for slot in range(len(alive)) if torch.rand((), generator=random) < 0.95] or [0]
    rows = [
        slot * rows_per_sentence + int(torch.randint(rows_per_sentence, (), generator=random))
        for slot in going_on
        for _ in range(rows_per_sentence)
    ]
    return torch.tensor(rows), [alive[slot] for slot in going_on]


@pytest.mark.reliability(17)
@pytest.mark.parametrize("rows_per_sentence", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_step_by_step_equals_the_whole(rows_per_sentence: int, seed: int) -> None:
    """Seventy steps: beyond the first two capacities of 32 and 64 positions."""
    imported = {"activation": "swish", "output_bias": True}  # what models from elsewhere have
    model, source = tiny_model(seed=seed, **(imported if seed else {})), sentences(LENGTHS, seed=seed)
    random = torch.Generator().manual_seed(seed)
    kept = CachedDecoder(model, source, rows_per_sentence=rows_per_sentence)
    alive = list(range(len(LENGTHS)))
    prefixes = torch.full((len(LENGTHS) * rows_per_sentence, 1), BOS)
    for _ in range(70):
        logits = kept(prefixes[:, -1])
        owners = torch.tensor(alive).repeat_interleave(rows_per_sentence)
        whole = model(source[owners], prefixes)[:, -1]
        torch.testing.assert_close(logits, whole, rtol=0, atol=1e-10)
        if torch.rand((), generator=random) < 0.7:
            rows, alive = random_rows(alive, rows_per_sentence, random)
            kept.reorder(rows)
            prefixes = prefixes[rows]
        newest = torch.randint(FIRST_PIECE, VOCAB_SIZE, (len(prefixes), 1), generator=random)
        prefixes = torch.cat([prefixes, newest], dim=1)
    assert len(alive) < len(LENGTHS)


def test_separate_vocabularies() -> None:
    model = tiny_model(source_vocab_size=50)
    source = sentences(LENGTHS, seed=0) + 20
    logits = CachedDecoder(model, source)(torch.full((5,), BOS))
    torch.testing.assert_close(logits, model(source, torch.full((5, 1), BOS))[:, 0], rtol=0, atol=1e-12)
