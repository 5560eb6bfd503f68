"""How a model begins, and how many numbers it has."""

import math

import pytest
import torch
from torch import Tensor

from mt.model.architecture import Architecture
from mt.model.transformer import Transformer


def big_enough() -> Transformer:
    torch.manual_seed(0)
    return Architecture(
        vocab_size=2000, num_layers=2, d_model=64, d_ff=200, num_heads=4, dropout=0.1, pad=0
    ).transformer()


def size_by_formula(*, vocab_size: int, num_layers: int, d_model: int, d_ff: int) -> int:
    """Section 3, counted by hand: every linear layer with its bias, every LayerNorm with gain and bias."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + num_layers * (encoder_layer + decoder_layer)


@pytest.mark.parametrize(
    ("d_model", "d_ff", "num_heads", "size"),
    [(512, 2048, 8, 63_082_496), (1024, 4096, 16, 214_245_376)],
    ids=["base", "big"],
)
def test_table_3_with_37000_pieces(d_model: int, d_ff: int, num_heads: int, size: int) -> None:
    sizes = {"vocab_size": 37_000, "num_layers": 6, "d_model": d_model, "d_ff": d_ff}
    with torch.device("meta"):
        model = Architecture(**sizes, num_heads=num_heads, dropout=0.1, pad=0).transformer()
    assert sum(parameter.numel() for parameter in model.parameters()) == size == size_by_formula(**sizes)


def test_one_matrix_serves_source_target_and_output() -> None:
    model = big_enough()
    assert model.source_embedding is model.target_embedding
    embeddings = [name for name, parameter in model.named_parameters() if 2000 in parameter.shape]
    assert embeddings == ["target_embedding.weight"]


def test_separate_vocabularies_tie_target_and_output_only() -> None:
    model = Architecture(
        vocab_size=30, source_vocab_size=20, num_layers=1, d_model=8, d_ff=8, num_heads=2, dropout=0.0, pad=0
    ).transformer()
    assert model.source_embedding.weight.shape == (20, 8)
    assert model.target_embedding.weight.shape == (30, 8)
    assert model(torch.tensor([[19, 3]]), torch.tensor([[2, 29, 7]])).shape == (1, 3, 30)


@pytest.mark.parametrize(("scaled", "deviation"), [(True, 1.0), (False, 1 / 8)])
def test_learned_positions_begin_as_what_they_are_added_to(scaled: bool, deviation: float) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "num_layers": 1, "d_model": 64, "d_ff": 8, "num_heads": 2, "max_positions": 500}
    model = Architecture(**sizes, positions="learned", scale_embedding=scaled, dropout=0.0, pad=0).transformer()
    [weight] = [weight for name, weight in model.named_parameters() if len(weight) == 500]
    assert float(weight.std()) == pytest.approx(deviation, rel=0.03)


def test_embeddings_begin_normal_with_deviation_one_over_root_d_model() -> None:
    """Scaled by √d_model they have unit variance, and so have the first logits."""
    unit = big_enough().target_embedding.weight.detach() * math.sqrt(64)
    assert abs(float(unit.mean())) < 0.015
    assert abs(float(unit.std()) - 1) < 0.01
    for bound, share in ((1.0, 0.3173), (2.0, 0.0455), (3.0, 0.0027)):  # tails of the normal distribution
        assert abs(float((unit.abs() > bound).double().mean()) - share) < 0.005


def linear_matrices(model: Transformer) -> dict[str, Tensor]:
    """Each matrix of section 3 by itself: W^Q, W^K and W^V lie in one tensor."""
    found = {}
    for name, parameter in model.named_parameters():
        if "projection.weight" in name:
            parts = zip("QKV", parameter.detach().chunk(3), strict=True)
            found |= {f"{name} {part}": matrix for part, matrix in parts}
        elif parameter.ndim == 2 and "embedding" not in name:
            found[name] = parameter.detach()
    return found


def test_linear_layers_begin_glorot_uniform_each_matrix_by_itself() -> None:
    matrices = linear_matrices(big_enough())
    assert len(matrices) == 2 * (4 + 2) + 2 * (8 + 2)
    for name, matrix in matrices.items():
        bound = math.sqrt(6 / sum(matrix.shape))
        assert 0.99 * bound < float(matrix.abs().max()) <= bound, name
        assert float(matrix.std()) == pytest.approx(bound / math.sqrt(3), rel=0.04), name
        assert abs(float(matrix.mean())) < 0.05 * bound, name


def test_biases_begin_at_zero_and_gains_at_one() -> None:
    for name, parameter in big_enough().named_parameters():
        if parameter.ndim == 1:
            assert (parameter == (1.0 if name.endswith("norm.weight") else 0.0)).all(), name


def test_the_seed_decides_the_beginning() -> None:
    first, again = big_enough(), big_enough()
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
