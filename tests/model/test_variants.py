"""Position schemes, scores and tied embeddings against their papers' formulas and independent implementations."""

import math

import pytest
import torch
from tiny_models import BOS, PAD, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn

from mt.errors import UserError
from mt.fast.fused_attention import fused_attention
from mt.model import masks, scores
from mt.model.attention import attention
from mt.model.attention_positions import AlibiPositions, RelativePositions, RotaryPositions, alibi_slopes
from mt.model.cached_decoder import CachedDecoder
from mt.model.inspection import unknown_part
from mt.model.positions import LearnedPositions
from mt.model.scores import AdditiveAttention, DotAttention, GeneralAttention

BATCH, HEADS, QUERY, MEMORY, D_K, D_V = 2, 3, 5, 7, 4, 6


def random_heads(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Query, key, value and a mask that leaves something in every row."""
    random = torch.Generator().manual_seed(0)
    shapes = [(BATCH, HEADS, QUERY, D_K), (BATCH, HEADS, MEMORY, D_K), (BATCH, HEADS, MEMORY, D_V)]
    query, key, value = (torch.randn(shape, generator=random, dtype=dtype) for shape in shapes)
    mask = torch.rand(BATCH, 1, QUERY, MEMORY, generator=random) < 0.6
    mask[..., 2] = True
    return query, key, value, mask


def randomised(module: nn.Module) -> nn.Module:
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


# ---------------------------------------------------------------------------- positions


@pytest.mark.parametrize(
    ("positions", "part"),
    [
        ("rotary", "encoder.layers.0.self_attention.positions is RotaryPositions"),
        ("alibi", "encoder.layers.0.self_attention.positions is AlibiPositions"),
        ("learned", "positions is LearnedPositions"),
        ("none", "positions are not added to the embeddings"),
        ("sinusoidal", None),
    ],
)
def test_what_is_not_the_papers_is_named(positions: str, part: str | None) -> None:
    assert unknown_part(tiny_model(positions=positions)) == part


def test_rotary_positions_are_llamas() -> None:
    from transformers import LlamaConfig  # noqa: PLC0415  slow
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb  # noqa: PLC0415

    config = LlamaConfig(hidden_size=HEADS * 16, num_attention_heads=HEADS, max_position_embeddings=64)
    query, key = torch.randn(2, BATCH, HEADS, 9, 16)
    ids = torch.randint(0, 300, (BATCH, 9))
    expected = apply_rotary_pos_emb(query, key, *LlamaRotaryEmbedding(config)(query, ids))
    rotary = RotaryPositions()
    torch.testing.assert_close((rotary.rotate(query, ids), rotary.rotate(key, ids)), expected, rtol=0, atol=1e-5)


def test_rotated_scores_depend_on_the_distance_alone() -> None:
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    found = []
    for ids in ((3, 1), (13, 11), (1003, 1001), (3, 2)):
        rotated = [RotaryPositions().rotate(x, torch.tensor([[i]])) for x, i in zip((query, key), ids, strict=True)]
        found.append(float((rotated[0] * rotated[1]).sum()))
    assert found[0] == pytest.approx(found[1], abs=1e-12) == pytest.approx(found[2], abs=1e-10)
    assert abs(found[3] - found[0]) > 1e-3


def test_the_slopes_of_alibi_are_the_authors() -> None:
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert alibi_slopes(1).tolist() == [2.0**-8]
    twelve = [2.0**-i for i in range(1, 9)] + [2.0 ** -(i / 2) for i in (1, 3, 5, 7)]
    torch.testing.assert_close(alibi_slopes(12), torch.tensor(twelve))


@pytest.mark.parametrize("plain", [attention, fused_attention])
def test_alibi_is_the_formula(plain: object) -> None:
    query, key, value, mask = random_heads()
    query_position_ids, memory_position_ids = torch.tensor([[3, 0, 6, 1, 9]]), torch.tensor([[0, 1, 2, 3, 0, 1, 5]])
    found = AlibiPositions(num_heads=HEADS).attend(
        plain, query, key, value, mask, query_position_ids=query_position_ids, memory_position_ids=memory_position_ids
    )
    for head, slope in enumerate((2.0**-4, 2.0**-8, 2.0**-2)):
        distance = torch.tensor(
            [[abs(i - j) for j in memory_position_ids[0].tolist()] for i in query_position_ids[0].tolist()]
        )
        of_pairs = query[:, head] @ key[:, head].mT / math.sqrt(D_K) - slope * distance
        weights = of_pairs.masked_fill(~mask[:, 0], -math.inf).softmax(-1)
        torch.testing.assert_close(found[:, head], weights @ value[:, head], rtol=0, atol=1e-5)


def test_relative_positions_are_shaws_equations() -> None:
    """Their equations (3) and (4), a pair of positions at a time; ids as in a packed row."""
    query, key, value, mask = random_heads()
    ids = torch.tensor([[0, 1, 2, 3, 0, 1, 5], [6, 5, 4, 3, 2, 1, 0]])
    query_position_ids = ids[:, :QUERY]
    relative = randomised(RelativePositions(d_k=D_K, d_v=D_V, max_distance=2))
    found = relative.attend(
        attention, query, key, value, mask, query_position_ids=query_position_ids, memory_position_ids=ids
    )
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (BATCH, HEADS, QUERY))).tolist():
        allowed = [j for j in range(MEMORY) if mask[b, 0, i, j]]
        clipped = {j: max(-2, min(2, int(ids[b, j] - query_position_ids[b, i]))) + 2 for j in allowed}
        e = torch.stack([query[b, h, i] @ (key[b, h, j] + relative.keys[clipped[j]]) for j in allowed])
        a = (e / math.sqrt(D_K)).softmax(0)
        z = sum(a[n] * (value[b, h, j] + relative.values[clipped[j]]) for n, j in enumerate(allowed))
        torch.testing.assert_close(found[b, h, i], z, rtol=0, atol=1e-5)


def test_learned_positions_are_rows_of_their_table() -> None:
    positions = randomised(LearnedPositions(d_model=4, max_positions=6))
    x, ids = torch.randn(2, 6, 4), torch.tensor([[0, 1, 2, 3, 4, 5], [0, 1, 0, 5, 0, 1]])
    torch.testing.assert_close(positions.embed(x, ids), x + positions.weight[ids])


def test_a_sentence_longer_than_the_learned_positions_is_refused_by_the_options_name() -> None:
    model = tiny_model(positions="learned", max_positions=6)
    fits, longer = (sentences([length], seed=0, begin=BOS) for length in (6, 7))
    message = r"model\.max_positions: a sentence of 7 tokens is longer than the 6 learned positions"
    model(fits, fits)
    for pair in ((longer, fits), (fits, longer)):
        with pytest.raises(UserError, match=message):
            model(*pair)
    decoder = CachedDecoder(model, fits)
    for t in range(6):
        decoder(fits[:, t])
    with pytest.raises(UserError, match=message):
        decoder(fits[:, 5])


def test_a_packed_row_may_be_longer_than_the_learned_positions() -> None:
    model = tiny_model(positions="learned", max_positions=6)
    segments = torch.tensor([[0] * 5 + [1] * 6 + [-1] * 9])
    tokens = nn.functional.pad(sentences([11], seed=0), (0, 9), value=PAD)
    model.hidden(tokens, tokens, masks.packed(segments, segments))
    longer = torch.tensor([[0] * 4 + [1] * 7 + [-1] * 9])
    with pytest.raises(UserError, match="a sentence of 7 tokens"):
        model.hidden(tokens, tokens, masks.packed(segments, longer))


# ---------------------------------------------------------------------------- scores


def by_formula(score: nn.Module, query: Tensor, key: Tensor) -> Tensor:
    """The score of every pair, written as in the papers."""
    rows = []
    for h in range(HEADS):
        for q, k in ((q, k) for q in query[:, h].unbind(1) for k in key[:, h].unbind(1)):
            if isinstance(score, DotAttention):
                rows.append((q * k).sum(-1))
            elif isinstance(score, GeneralAttention):
                rows.append(torch.einsum("bi,ij,bj->b", q, score.weight[h], k))
            else:
                rows.append((q + k).tanh() @ score.weight[h])
    return torch.stack(rows, dim=1).view(BATCH, HEADS, QUERY, MEMORY)


SCORES = {
    "dot": lambda: DotAttention(attention=attention),
    "fused dot": lambda: DotAttention(attention=fused_attention),
    "general": lambda: GeneralAttention(num_heads=HEADS, d_k=D_K, attention=attention),
    "fused general": lambda: GeneralAttention(num_heads=HEADS, d_k=D_K, attention=fused_attention),
    "additive": lambda: AdditiveAttention(num_heads=HEADS, d_k=D_K),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("masked", [False, True])
def test_scores_are_the_formulas(name: str, masked: bool) -> None:
    query, key, value, mask = random_heads()
    score, bias = randomised(SCORES[name]()), torch.randn(1, HEADS, QUERY, MEMORY)
    expected = by_formula(score, query, key) + bias
    expected = expected.masked_fill(~mask, -math.inf) if masked else expected
    found = score(query, key, value, mask if masked else None, bias)
    torch.testing.assert_close(found, expected.softmax(-1) @ value, rtol=0, atol=1e-5)


def test_the_additive_score_stores_no_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two queries at a time, with the gradients of all at once; nothing larger than the scores is kept for them."""
    heads = [x.requires_grad_() for x in random_heads(torch.float64)[:3]]
    score, mask = randomised(AdditiveAttention(num_heads=HEADS, d_k=D_K)).double(), random_heads()[3]

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(score(*heads, mask).square().sum(), [*heads, score.weight])

    expected = gradients()
    sizes, tiles = [], []
    real = AdditiveAttention._scores

    def watched(self: AdditiveAttention, query: Tensor, key: Tensor) -> Tensor:
        tiles.append(query.shape[2])
        return real(self, query, key)

    monkeypatch.setattr(AdditiveAttention, "_scores", watched)
    monkeypatch.setattr(scores, "_NUMBERS_AT_ONCE", 2 * heads[1].numel())
    with torch.autograd.graph.saved_tensors_hooks(lambda x: (sizes.append(x.numel()), x)[1], lambda x: x):
        loss = score(*heads, mask).square().sum()
    assert tiles == [2, 2, 1]
    assert max(sizes) <= max(BATCH * HEADS * QUERY * MEMORY, heads[2].numel())
    found = torch.autograd.grad(loss, [*heads, score.weight])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------- embeddings


@pytest.mark.parametrize(
    ("tied", "source_vocab_size", "names"),
    [
        ("all", None, ["target"]),
        ("all", VOCAB_SIZE, ["target", "source"]),
        ("target", None, ["target", "source"]),
        ("none", None, ["target", "source", "output"]),
    ],
)
def test_embeddings_are_tied_as_asked(tied: str, source_vocab_size: int | None, names: list[str]) -> None:
    model = tiny_model(tied_embeddings=tied, source_vocab_size=source_vocab_size, output_bias=True)
    found = [name for name, parameter in model.named_parameters() if VOCAB_SIZE in parameter.shape]
    weights = [f"{name}_embedding.weight" for name in names]
    bias = f"{'output' if 'output' in names else 'target'}_embedding.bias"
    assert sorted(found) == sorted([*weights, bias])
    x = torch.randn(3, 16, dtype=torch.float64)
    parameters = dict(model.named_parameters())
    matrix = parameters[weights[-1] if tied == "none" else weights[0]]
    torch.testing.assert_close(model.output_embedding.logits(x), x @ matrix.T + parameters[bias])
