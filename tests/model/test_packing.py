"""Packed rows give what padded rows give: the same losses, the same gradients, and no sentence sees another."""

import numpy as np
import pytest
import torch
from pairs import listed_pairs, random_pairs
from tiny_models import VOCAB_SIZE, tiny_model
from torch import Tensor

from mt.data.batch import Batch, make_batch, make_packed_batch
from mt.data.batching import pack
from mt.model import masks
from mt.model.transformer import Transformer
from mt.training.step import TrainingLoss

PAIRS = random_pairs(40, longest=9, vocab_size=VOCAB_SIZE, seed=1)
PACK_LENGTH = 32


def packed_pairs(*, rows: int | None = None) -> tuple[Batch, list[np.ndarray]]:
    corpus = listed_pairs(PAIRS)
    packed_rows = pack(np.arange(len(PAIRS)), corpus.token_lengths(), pack_length=PACK_LENGTH)
    pairs = [[PAIRS[i] for i in row] for row in packed_rows]
    return make_packed_batch(pairs, pack_length=PACK_LENGTH, rows=rows or len(packed_rows)), packed_rows


def loss_and_gradient(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    smoothed, _ = TrainingLoss(model, label_smoothing=0.1)(batch)
    (smoothed / batch.target_tokens).backward()
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad()
    return smoothed.detach() / batch.target_tokens, gradient


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_losses_and_gradients_are_those_of_padded_rows(dtype: torch.dtype, tolerance: float) -> None:
    model = tiny_model(dtype=dtype)
    loss, gradient = loss_and_gradient(model, make_batch(*zip(*PAIRS, strict=True)))
    batch, packed_rows = packed_pairs()
    assert max(len(row) for row in packed_rows) > 3
    for rows in (len(packed_rows), len(packed_rows) + 2):  # the last two are empty
        packed_loss, packed_gradient = loss_and_gradient(model, packed_pairs(rows=rows)[0])
        assert float((packed_loss - loss).abs() / loss) <= tolerance
        assert float((packed_gradient - gradient).norm() / gradient.norm()) <= tolerance
    assert (batch.source_tokens, batch.target_tokens) == (
        sum(len(source) + 1 for source, _ in PAIRS),
        sum(len(target) + 1 for _, target in PAIRS),
    )


def test_every_position_is_that_of_its_padded_row() -> None:
    model = tiny_model()
    batch, packed_rows = packed_pairs()
    segments = batch.source_segments, batch.target_segments
    assert segments[0] is not None
    assert segments[1] is not None
    found = model.hidden(batch.source, batch.target_input, masks.packed(*segments))
    for row, indices in enumerate(packed_rows):
        for number, index in enumerate(indices.tolist()):
            alone = make_batch([PAIRS[index][0]], [PAIRS[index][1]])
            expected = model.hidden(alone.source, alone.target_input)[0]
            torch.testing.assert_close(found[row, segments[1][row] == number], expected, rtol=0, atol=1e-10)


def test_a_sentence_sees_itself_and_nothing_ahead() -> None:
    """By gradient: what a position's output depends on, in a row with three sentences."""
    model = tiny_model()
    pairs = [([5, 6, 7], [8, 9]), ([10], [11, 12, 13]), ([14, 15], [16])]
    batch = make_packed_batch([pairs], pack_length=16, rows=1)
    source, target = (
        (embedding(tokens).detach().requires_grad_(True))
        for embedding, tokens in (
            (model.source_embedding, batch.source),
            (model.target_embedding, batch.target_input),
        )
    )
    assert batch.source_segments is not None
    assert batch.target_segments is not None
    segments = batch.target_segments[0]
    given = iter([source, target])
    hook = model.target_embedding.register_forward_hook(lambda *_: next(given))
    layout = masks.packed(batch.source_segments, batch.target_segments)
    hidden = model.hidden(batch.source, batch.target_input, layout)
    hook.remove()
    for position in range(int((segments >= 0).sum())):
        of_source, of_target = torch.autograd.grad(hidden[0, position].sum(), [source, target], retain_graph=True)
        own = segments[position]
        ahead = torch.arange(16) > position
        assert (of_source[0].abs().sum(1) > 0).tolist() == (batch.source_segments[0] == own).tolist()
        assert (of_target[0].abs().sum(1) > 0).tolist() == ((segments == own) & ~ahead).tolist()


def test_position_ids_count_from_zero_in_every_sentence() -> None:
    segments = torch.tensor([[0, 0, 0, 1, 2, 2, -1, -1], [0, 1, 1, 1, 1, 1, 1, 1], [-1] * 8])
    assert masks.position_ids(segments)[0, :6].tolist() == [0, 1, 2, 0, 0, 1]
    assert masks.position_ids(segments)[1].tolist() == [0, *range(7)]


def test_no_position_is_left_without_anything_to_see() -> None:
    segments = torch.tensor([[0, 0, 1, -1], [-1, -1, -1, -1], [0, 1, 2, 3]])
    others = torch.tensor([[0, 1, 1, 1], [-1, -1, -1, -1], [0, 1, 2, 3]])
    assert masks.segment_mask(segments, others).any(dim=2).all()
    assert masks.segment_mask(segments, others)[0].int().tolist() == [
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 1, 1],
        [0, 1, 1, 1],
    ]
