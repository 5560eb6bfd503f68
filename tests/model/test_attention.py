"""Section 3.2 by its formula: the written-out form, the fast paths, and what masks forbid."""

import math

import pytest
import torch
from torch import Tensor

from mt.fast.fused_attention import fused_attention
from mt.model.attention import MultiHeadAttention, attention, attention_weights

BATCH, HEADS, QUERY, MEMORY, D_K = 3, 4, 5, 7, 6
MASK_FORMS = {
    "one for all": (1, 1, QUERY, MEMORY),
    "per sentence": (BATCH, 1, 1, MEMORY),
    "per sentence and query": (BATCH, 1, QUERY, MEMORY),
    "per head": (BATCH, HEADS, QUERY, MEMORY),
}
mask_forms = pytest.mark.parametrize("shape", MASK_FORMS.values(), ids=MASK_FORMS.keys())


def random_heads(dtype: torch.dtype, *, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    shapes = [(BATCH, HEADS, length, D_K) for length in (QUERY, MEMORY, MEMORY)]
    query, key, value = (torch.randn(shape, generator=random, dtype=torch.float64).to(dtype) for shape in shapes)
    return query, key, value


def random_mask(shape: tuple[int, ...], *, seed: int = 1) -> Tensor:
    """About half of the positions allowed, at least one in every row."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask[..., 2] = True
    return mask


def by_hand(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Equation (1), one number at a time."""
    mask = mask.expand(BATCH, HEADS, QUERY, MEMORY)
    output = torch.zeros(BATCH, HEADS, QUERY, D_K, dtype=torch.float64)
    for b, h, q in torch.cartesian_prod(*map(torch.arange, (BATCH, HEADS, QUERY))).tolist():
        allowed = [m for m in range(MEMORY) if mask[b, h, q, m]]
        scores = [float(query[b, h, q].double() @ key[b, h, m].double()) / math.sqrt(D_K) for m in allowed]
        total = sum(map(math.exp, scores))
        for m, score in zip(allowed, scores, strict=True):
            output[b, h, q] += math.exp(score) / total * value[b, h, m].double()
    return output


@mask_forms
def test_the_written_form_is_equation_1(shape: tuple[int, ...]) -> None:
    heads, mask = random_heads(torch.float64), random_mask(shape)
    output, weights = attention(*heads, mask), attention_weights(*heads[:2], mask)
    torch.testing.assert_close(output, by_hand(*heads, mask), rtol=0, atol=1e-13)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, QUERY).double(), rtol=0, atol=1e-14)
    assert (weights[~mask.expand_as(weights)] == 0).all()
    assert (weights[mask.expand_as(weights)] > 0).all()


@mask_forms
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 2e-6), (torch.bfloat16, 2e-2)]
)
def test_fast_paths_equal_the_formula(shape: tuple[int, ...], dtype: torch.dtype, tolerance: float) -> None:
    heads, mask = random_heads(dtype), random_mask(shape)
    expected = attention(*(part.double() for part in heads), mask)
    output = fused_attention(*heads, mask)
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=tolerance, atol=tolerance)


def test_no_mask_allows_everything() -> None:
    heads = random_heads(torch.float64)
    everything = torch.ones(1, 1, QUERY, MEMORY, dtype=torch.bool)
    torch.testing.assert_close(fused_attention(*heads, None), fused_attention(*heads, everything), rtol=0, atol=1e-14)


@mask_forms
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_what_is_masked_has_no_influence_and_gets_no_gradient(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Bit for bit, on the kernel that the type really takes."""
    query, key, value = random_heads(dtype)
    mask = random_mask(shape)
    mask[..., 4] = False  # a position that nobody may attend
    key.requires_grad_(), value.requires_grad_()
    before = fused_attention(query, key, value, mask)
    before.float().square().sum().backward()
    for part in (key, value):
        assert (part.grad[:, :, 4] == 0).all()
        assert (part.grad[:, :, 2] != 0).any()
    with torch.no_grad():
        key[:, :, 4], value[:, :, 4] = 1e4, -1e4
    assert torch.equal(fused_attention(query, key, value, mask), before)


@pytest.mark.parametrize("masked", [True, False])
def test_a_bias_is_added_to_the_scores(masked: bool) -> None:
    heads, bias = random_heads(torch.float64), torch.randn(1, HEADS, QUERY, MEMORY, dtype=torch.float64)
    mask = random_mask((BATCH, 1, 1, MEMORY)) if masked else None
    scores = heads[0] @ heads[1].mT / D_K**0.5 + bias
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    for form in (attention, fused_attention):
        torch.testing.assert_close(form(*heads, mask, bias), scores.softmax(-1) @ heads[2], rtol=0, atol=1e-13)


@pytest.mark.parametrize("num_queries", [1, 5], ids=["one mask row", "a row per query"])
@pytest.mark.parametrize("sizes", [{}, {"d_k": 2, "d_v": 7}], ids=["d_model / h", "free"])
def test_heads_attend_each_in_its_own_slice(num_queries: int, sizes: dict[str, int]) -> None:
    """Section 3.2.2 written with one matrix per head."""
    heads = MultiHeadAttention(d_model=HEADS * D_K, num_heads=HEADS, **sizes).double()
    d_k, d_v = sizes.get("d_k", D_K), sizes.get("d_v", D_K)
    ids = torch.arange(QUERY)[None], torch.arange(MEMORY)[None]
    query, memory = (torch.randn(BATCH, length, HEADS * D_K, dtype=torch.float64) for length in (QUERY, MEMORY))
    mask = random_mask((BATCH, num_queries, MEMORY))
    outputs = []
    for head in range(HEADS):
        q, k, v = (
            x @ heads.projection.weight[start : start + size].T + heads.projection.bias[start : start + size]
            for x, start, size in (
                (query, head * d_k, d_k),
                (memory, (HEADS + head) * d_k, d_k),
                (memory, 2 * HEADS * d_k + head * d_v, d_v),
            )
        )
        scores = (q @ k.mT / d_k**0.5).masked_fill(~mask, -math.inf)
        outputs.append(scores.softmax(-1) @ v)
    expected = heads.output(torch.cat(outputs, dim=-1))
    torch.testing.assert_close(heads(query, memory, mask, *ids), expected, rtol=0, atol=1e-13)


def test_self_attention_by_one_product_equals_attention_over_a_copy() -> None:
    heads, ids = MultiHeadAttention(d_model=12, num_heads=3).double(), torch.arange(5)[None]
    x, mask = torch.randn(2, 5, 12, dtype=torch.float64), torch.ones(2, 1, 5, dtype=torch.bool)
    torch.testing.assert_close(heads(x, x, mask, ids, ids), heads(x, x.clone(), mask, ids, ids), rtol=0, atol=1e-13)


def test_heads_must_divide_the_model() -> None:
    with pytest.raises(ValueError, match="num_heads=5 does not divide d_model=12"):
        MultiHeadAttention(d_model=12, num_heads=5)
