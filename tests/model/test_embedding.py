"""Sections 3.4 and 3.5: the table against its formula, the scale, and growth beyond the first length."""

import math
from collections.abc import Iterator

import pytest
import torch

from mt.model.embedding import TokenEmbedding
from mt.model.positions import SinusoidalPositions, positional_encoding


@pytest.fixture
def doubles() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def formula(position: int, feature: int, d_model: int) -> float:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))."""
    i, odd = divmod(feature, 2)
    angle = position / math.pow(10000, 2 * i / d_model)
    return math.cos(angle) if odd else math.sin(angle)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize("d_model", [2, 6, 64])
def test_the_table_is_the_formula(d_model: int) -> None:
    table = positional_encoding(300, d_model)
    expected = [[formula(position, feature, d_model) for feature in range(d_model)] for position in range(300)]
    torch.testing.assert_close(table, torch.tensor(expected), rtol=0, atol=1e-11)


def test_single_precision_holds_far_positions() -> None:
    """Angles are computed in double precision: sin(4000) in floats would be wrong in the fourth digit."""
    table = positional_encoding(4001, 512)
    assert table.dtype == torch.float32
    for feature in range(512):
        assert float(table[4000, feature]) == pytest.approx(formula(4000, feature, 512), abs=1e-7)


@pytest.mark.parametrize(("length", "start"), [(3, 0), (3, 7), (511, 1), (600, 0), (5, 5000)])
def test_position_ids_choose_the_rows_of_the_table(length: int, start: int) -> None:
    positions = SinusoidalPositions(d_model=8)
    x = torch.randn(2, length, 8)
    ids = start + torch.randperm(length)[None]
    positions.reserve(start + length)
    expected = x + positional_encoding(start + length, 8)[ids]
    torch.testing.assert_close(positions.embed(x, ids), expected, rtol=0, atol=1e-6)


def test_a_table_grown_while_validating_serves_training() -> None:
    positions, ids = SinusoidalPositions(d_model=8), torch.arange(600)[None]
    with torch.inference_mode():
        positions.embed(torch.randn(1, 600, 8), ids)
    x = torch.randn(1, 600, 8, requires_grad=True)
    positions.embed(x, ids).sum().backward()
    assert x.grad is not None


def test_the_table_is_not_part_of_a_checkpoint() -> None:
    assert not SinusoidalPositions(d_model=8).state_dict()


def test_vectors_are_scaled_going_in_and_not_coming_out() -> None:
    embedding = TokenEmbedding(vocab_size=11, d_model=9)
    torch.nn.init.normal_(embedding.weight)
    tokens = torch.tensor([[3, 0, 10]])
    torch.testing.assert_close(embedding(tokens), 3.0 * embedding.weight[[3, 0, 10]][None])
    x = torch.randn(4, 9)
    torch.testing.assert_close(embedding.logits(x), x @ embedding.weight.T)
