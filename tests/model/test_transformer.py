"""Figure 1 against torch's own layers, and what must have no influence: the future, padding, neighbours."""

import pytest
import torch
from tiny_models import BOS, FIRST_PIECE, PAD, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn

from mt.model import masks
from mt.model.attention import MultiHeadAttention
from mt.model.feed_forward import FeedForward
from mt.model.inspection import all_attention_weights
from mt.model.masks import causal_mask, padding_mask
from mt.model.positions import positional_encoding
from mt.model.transformer import Transformer

SOURCE_LENGTHS, TARGET_LENGTHS = [7, 2, 5, 1], [4, 9, 1, 6]


def ragged_pairs(seed: int = 0) -> tuple[Tensor, Tensor]:
    return sentences(SOURCE_LENGTHS, seed=seed), sentences(TARGET_LENGTHS, seed=seed + 1, begin=BOS)


# ---------------------------------------------------------------------------- torch's layers with copied weights


def copy_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.data.copy_(ours.projection.weight)
    theirs.in_proj_bias.data.copy_(ours.projection.bias)
    copy_linear(ours.output, theirs.out_proj)


def copy_feed_forward(ours: FeedForward, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    copy_linear(ours.inner, theirs.linear1)
    copy_linear(ours.outer, theirs.linear2)


def torch_stacks(model: Transformer, norm: str, activation: str) -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    """torch's stacks with the weights of our model; a final norm after pre-norm layers only."""
    sizes = {"d_model": 16, "nhead": 4, "dim_feedforward": 24, "dropout": 0.0, "activation": activation}
    options = {"norm_first": norm == "pre", "batch_first": True, "dtype": torch.float64}
    layers = nn.TransformerEncoderLayer(**sizes, **options), nn.TransformerDecoderLayer(**sizes, **options)
    encoder = nn.TransformerEncoder(layers[0], 2, norm=model.encoder.norm, enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(layers[1], 2, norm=model.decoder.norm)
    for ours, theirs in zip(model.encoder.layers, encoder.layers, strict=True):
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_feed_forward(ours.feed_forward, theirs)
        theirs.norm1.load_state_dict(ours.self_attention_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    for ours, theirs in zip(model.decoder.layers, decoder.layers, strict=True):
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        copy_feed_forward(ours.feed_forward, theirs)
        theirs.norm1.load_state_dict(ours.self_attention_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.cross_attention_residual.norm.state_dict())
        theirs.norm3.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    return encoder, decoder


def torch_logits(model: Transformer, source: Tensor, target: Tensor, *, norm: str, activation: str) -> Tensor:
    encoder, decoder = torch_stacks(model, norm, activation)
    weight = model.target_embedding.weight

    def embed(tokens: Tensor) -> Tensor:
        return weight[tokens] * 16**0.5 + positional_encoding(tokens.shape[1], 16)

    ahead = torch.ones(target.shape[1], target.shape[1]).triu(1).bool()  # torch's True means: may not be attended
    memory = encoder(embed(source), src_key_padding_mask=source == PAD)
    output = decoder(
        embed(target),
        memory,
        tgt_mask=ahead,
        tgt_key_padding_mask=target == PAD,
        memory_key_padding_mask=source == PAD,
    )
    return output @ weight.T


@pytest.mark.parametrize(
    ("seed", "norm", "activation"),
    [(0, "post", "relu"), (1, "post", "relu"), (2, "pre", "relu"), (3, "post", "gelu"), (4, "pre", "gelu")],
)
def test_equals_torch_with_copied_weights(seed: int, norm: str, activation: str) -> None:
    model = tiny_model(seed=seed, norm=norm, activation=activation)
    model.train()  # because torch's shortcut for evaluation differs
    source, target = ragged_pairs(seed)
    ours, theirs = model(source, target), torch_logits(model, source, target, norm=norm, activation=activation)
    assert (model.encoder.norm is None) == (model.decoder.norm is None) == (norm == "post")
    real = target != PAD
    torch.testing.assert_close(ours[real], theirs[real], rtol=0, atol=1e-10)
    assert float(ours[real].detach().std()) > 0.1


# ---------------------------------------------------------------------------- masks


def test_masks_say_what_may_be_attended() -> None:
    target = sentences(TARGET_LENGTHS, seed=0)
    mask = masks.padded(target, target, pad=PAD).target_mask
    assert mask is not None
    for sentence, i, j in torch.cartesian_prod(torch.arange(4), torch.arange(9), torch.arange(9)).tolist():
        assert bool(mask[sentence, i, j]) == (j <= i and j < TARGET_LENGTHS[sentence])
    assert torch.equal(padding_mask(target, pad=PAD)[:, 0].sum(1), torch.tensor(TARGET_LENGTHS))
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


@pytest.mark.reliability(18)
@pytest.mark.parametrize("padded", [False, True], ids=["whole sentences", "padded sentences"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_position_does_not_see_what_lies_ahead(dtype: torch.dtype, padded: bool) -> None:
    """By perturbation, on the kernel of each type: other tokens after t leave everything up to t as it was."""
    model = tiny_model(dtype=torch.float32 if dtype == torch.bfloat16 else dtype)
    source = sentences([6, 4, 5] if padded else [6, 6, 6], seed=0)
    target = sentences([8, 5, 7] if padded else [8, 8, 8], seed=1, begin=BOS)
    with torch.no_grad(), torch.autocast("cpu", enabled=dtype == torch.bfloat16):
        before = model(source, target)
        for t in range(7):
            changed = target.clone()
            changed[:, t + 1 :] = FIRST_PIECE + (changed[:, t + 1 :] + 5) % (VOCAB_SIZE - FIRST_PIECE)
            after = model(source, changed)
            torch.testing.assert_close(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-6)
            assert not torch.allclose(after[:, t + 1 :], before[:, t + 1 :], atol=1e-3)


@pytest.mark.reliability(18)
@pytest.mark.parametrize("padded", [False, True], ids=["whole sentences", "padded sentences"])
def test_no_gradient_comes_from_ahead_or_from_padding(padded: bool) -> None:
    """Exactly zero from there, and something from every real position up to t and from every real source token."""
    model = tiny_model(source_vocab_size=VOCAB_SIZE)
    lengths = [6, 2, 4] if padded else [6, 6, 6]
    source, target = sentences(lengths, seed=0), sentences(lengths, seed=1, begin=BOS)
    entered: dict[str, Tensor] = {}
    for name in ("source_embedding", "target_embedding"):
        getattr(model, name).register_forward_hook(lambda _, __, output, name=name: entered.update({name: output}))
    logits = model(source, target)
    for t in range(6):
        rows = [row for row, length in enumerate(lengths) if t < length]
        inputs = [entered["source_embedding"], entered["target_embedding"]]
        weighted = (logits[rows, t] * torch.randn(VOCAB_SIZE, dtype=torch.float64)).sum()
        for side, gradient in enumerate(torch.autograd.grad(weighted, inputs, retain_graph=True)):
            for row in rows:
                seen = lengths[row] if side == 0 else t + 1
                assert (gradient[row, :seen].abs().amax(-1) > 0).all()
                assert (gradient[row, seen:] == 0).all()


# ---------------------------------------------------------------------------- padding and neighbours


@pytest.mark.reliability(16)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
@pytest.mark.parametrize("poison", [None, 1e4], ids=["plain", "padding poisoned"])
def test_neighbours_and_padding_have_no_influence(dtype: torch.dtype, tolerance: float, poison: float | None) -> None:
    """A sentence alone equals the sentence beside longer ones, whatever vector padding has."""
    model = tiny_model(dtype=dtype)
    source, target = ragged_pairs()
    with torch.no_grad():
        alone = [
            model.hidden(source[i : i + 1, :source_length], target[i : i + 1, :target_length])
            for i, (source_length, target_length) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS, strict=True))
        ]
        if poison is not None:
            model.target_embedding.weight[PAD] = poison
        wide = [nn.functional.pad(tokens, (0, 5), value=PAD) for tokens in (source, target)]
        for batch in ((source, target), wide):
            together = model.hidden(*batch)
            for i, one in enumerate(alone):
                torch.testing.assert_close(together[i, : one.shape[1]], one[0], rtol=0, atol=tolerance)


def test_the_order_of_sentences_in_a_batch_has_no_influence() -> None:
    model = tiny_model()
    source, target = ragged_pairs()
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(model(source[order], target[order]), model(source, target)[order], rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------- what the parts must do


def test_positions_matter_on_both_sides() -> None:
    model = tiny_model()
    source, target = sentences([5], seed=0), sentences([5], seed=1, begin=BOS)
    before = model(source, target)[0, -1]
    assert not torch.allclose(model(source.flip(1), target)[0, -1], before, atol=1e-3)
    reordered = target[:, [0, 2, 1, 3, 4]]
    assert not torch.allclose(model(source, reordered)[0, -1], before, atol=1e-3)


def test_training_with_dropout_is_random_and_evaluation_is_not() -> None:
    model = tiny_model(dropout=0.3)
    source, target = ragged_pairs()
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.allclose(model(source, target), model(source, target), atol=1e-3)


def test_the_picture_shows_the_weights_of_cross_attention() -> None:
    model = tiny_model()
    source, target = sentences([5], seed=0), sentences([4], seed=1, begin=BOS)
    weights = all_attention_weights(model, source, target)["cross"][:, 0]
    assert weights.shape == (2, 4, 4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 4).double(), rtol=0, atol=1e-13)
    padded = all_attention_weights(model, nn.functional.pad(source, (0, 3), value=PAD), target)["cross"][:, 0]
    torch.testing.assert_close(padded[..., :5], weights, rtol=0, atol=1e-12)
    assert (padded[..., 5:] == 0).all()
