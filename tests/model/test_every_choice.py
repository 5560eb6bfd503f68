"""What must hold for every model that `mt.build` can make, whichever options and fast forms are chosen.

A new variant is a new entry in `CHOICES`. It is causal, blind to padding and neighbours, the same packed, the same
step by step, and the fast engine computes the same or refuses it by name.
"""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from jaxtyping import Float
from tiny_models import BOS, EOS, FIRST_PIECE, PAD, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn

from mt.config import schema
from mt.data.batch import make_batch, make_packed_batch
from mt.errors import UserError
from mt.fast.dropout import Dropout
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.fused_attention import fused_attention
from mt.model import masks
from mt.model.architecture import Architecture
from mt.model.attention_positions import RelativePositions
from mt.model.cached_decoder import CachedContinuation, CachedDecoder
from mt.model.decoder_only import AnyTransformer
from mt.model.encoder_only import EncoderOnly
from mt.model.feed_forward import FeedForward
from mt.model.inspection import all_attention_weights, unknown_part
from mt.model.positions import SinusoidalPositions
from mt.model.transformer import Transformer

CHOICES: dict[str, dict[str, Any]] = {
    "paper": {},
    "fused attention": {"attention": fused_attention, "make_dropout": Dropout},
    "swish, output bias": {"activation": "swish", "output_bias": True},
    "separate vocabularies": {"source_vocab_size": VOCAB_SIZE},
    "fan-in initialisation": {"initialisation": "fan_in"},
    "one head, one layer": {"num_heads": 1, "num_layers": 1},
    "learned positions": {"positions": "learned", "max_positions": 9},
    "relative positions": {"positions": "relative", "max_relative_positions": 3},
    "rotary positions": {"positions": "rotary"},
    "alibi": {"positions": "alibi", "attention": fused_attention},
    "alibi, three heads": {"positions": "alibi", "num_heads": 3, "d_k": 4, "d_v": 4},
    "no positions": {"positions": "none"},
    "pre-norm": {"norm": "pre"},
    "RMSNorm": {"norm_kind": "rms"},
    "pre-norm, RMSNorm": {"norm": "pre", "norm_kind": "rms"},
    "gelu": {"activation": "gelu"},
    "gelu by tanh": {"activation": "gelu_tanh"},
    "another epsilon": {"norm_epsilon": 1e-12},
    "embeddings as they are": {"scale_embedding": False},
    "swiglu": {"activation": "swiglu"},
    "squared ReLU": {"activation": "squared_relu"},
    "narrow keys, wide values": {"d_k": 2, "d_v": 6, "attention": fused_attention},
    "relative positions, narrow keys, wide values": {"positions": "relative", "d_k": 2, "d_v": 6},
    "dot": {"score": "dot", "attention": fused_attention},
    "general": {"score": "general"},
    "general, alibi": {"score": "general", "positions": "alibi", "attention": fused_attention},
    "additive": {"score": "additive"},
    "additive, alibi, narrow keys": {"score": "additive", "positions": "alibi", "d_k": 3},
    "deep encoder, shallow decoder": {"num_encoder_layers": 3, "num_decoder_layers": 1},
    "target embeddings tied": {"tied_embeddings": "target"},
    "no embeddings tied": {"tied_embeddings": "none", "output_bias": True},
    "decoder only": {"family": "decoder", "attention": fused_attention, "make_dropout": Dropout},
    "decoder only, GPT-2's": {
        "family": "decoder",
        "positions": "learned",
        "max_positions": 14,
        "norm": "pre",
        "activation": "gelu_tanh",
        "initialisation": "fan_in",
        "scale_embedding": False,
        "output_bias": True,
    },
    "decoder only, relative positions": {"family": "decoder", "positions": "relative", "max_relative_positions": 3},
    "decoder only, rotary positions": {"family": "decoder", "positions": "rotary", "tied_embeddings": "none"},
    "decoder only, alibi": {"family": "decoder", "positions": "alibi", "source_vocab_size": VOCAB_SIZE},
    "encoder only": {"family": "encoder", "attention": fused_attention, "make_dropout": Dropout},
    "encoder only, BERT's": {
        "family": "encoder",
        "positions": "learned",
        "max_positions": 9,
        "activation": "gelu",
        "norm_epsilon": 1e-12,
        "scale_embedding": False,
        "output_bias": True,
    },
    "encoder only, classes": {"family": "encoder", "positions": "rotary", "norm": "pre", "num_classes": 3},
    "encoder only, relative positions": {"family": "encoder", "positions": "relative", "max_relative_positions": 3},
}
DECODING = [choice for choice, options in CHOICES.items() if options.get("family") != "encoder"]
# What the fast engine computes: these choices, and no others.
SERVED = {
    *("paper", "fused attention", "swish, output bias", "separate vocabularies", "fan-in initialisation"),
    *("one head, one layer", "deep encoder, shallow decoder", "target embeddings tied"),
}
SOURCE_LENGTHS, TARGET_LENGTHS = [6, 2, 4], [5, 7, 1]


@pytest.fixture(params=CHOICES)
def choice(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(choice: str) -> AnyTransformer:
    return tiny_model(**CHOICES[choice])


decoding = pytest.mark.parametrize("choice", DECODING, indirect=True)


def plain_decoder(model: AnyTransformer, source: Tensor) -> CachedDecoder | CachedContinuation:
    return CachedDecoder(model, source) if isinstance(model, Transformer) else CachedContinuation(model, source)


def ragged(model: AnyTransformer | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target; of an encoder alone rows of one and of two texts, and all positions of the source."""
    source, target = sentences(SOURCE_LENGTHS, seed=0), sentences(TARGET_LENGTHS, seed=1, begin=BOS)
    if isinstance(model, EncoderOnly):
        source[0, 2] = source[2, 0] = EOS
        target = torch.arange(6).expand(3, 6).clamp(max=torch.tensor(SOURCE_LENGTHS)[:, None] - 1)
    return source, target


def test_every_value_of_an_option_is_among_the_choices() -> None:
    for name, hint in get_type_hints(schema.Model).items():
        if get_origin(hint) is Literal:
            values = {choice.get(name, getattr(Architecture, name)) for choice in CHOICES.values()}
            assert values == set(get_args(hint)), name


@decoding
def test_nothing_comes_from_ahead(model: AnyTransformer) -> None:
    source, target = ragged()
    before = model(source, target)
    for t in range(6):
        changed = target.clone()
        changed[:, t + 1 :] = FIRST_PIECE + (changed[:, t + 1 :] + 5) % (VOCAB_SIZE - FIRST_PIECE)
        after = model(source, changed)
        torch.testing.assert_close(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-10)
        assert not torch.allclose(after[:, t + 1 :], before[:, t + 1 :], atol=1e-3)


def test_padding_and_neighbours_have_no_influence(model: AnyTransformer) -> None:
    source, target = ragged(model)
    together = model(source, target)
    target_lengths = SOURCE_LENGTHS if isinstance(model, EncoderOnly) else TARGET_LENGTHS
    for row, (source_length, target_length) in enumerate(zip(SOURCE_LENGTHS, target_lengths, strict=True)):
        alone = model(source[row : row + 1, :source_length], target[row : row + 1, :target_length])
        torch.testing.assert_close(together[row, :target_length], alone[0], rtol=0, atol=1e-10)


def test_packed_rows_equal_padded_rows(model: AnyTransformer) -> None:
    pairs = [([5, EOS, 7], [8, 9]), ([10], [11, 12, 13]), ([14, EOS], [16])]  # EOS: two texts, for an encoder alone
    padded = make_batch(*zip(*pairs, strict=True))
    packed = make_packed_batch([pairs], pack_length=12, rows=1)
    assert packed.source_segments is not None
    assert packed.target_segments is not None
    layout = masks.packed(packed.source_segments, packed.target_segments)
    if isinstance(model, EncoderOnly):
        states = model.encode(padded.source, masks.padded(padded.source, padded.target_input, pad=PAD))
        own = [states[number, : len(source) + 1] for number, (source, _) in enumerate(pairs)]
        rows = torch.cat(own)
        found = model.encode(packed.source, layout)[0, : len(rows)]
        torch.testing.assert_close(found, rows, rtol=0, atol=1e-10)
        return
    found = model.hidden(packed.source, packed.target_input, layout)
    expected = model.hidden(padded.source, padded.target_input)
    for number, (_, target) in enumerate(pairs):
        own = packed.target_segments[0] == number
        torch.testing.assert_close(found[0, own], expected[number, : len(target) + 1], rtol=0, atol=1e-10)


@decoding
def test_step_by_step_equals_the_whole(model: AnyTransformer) -> None:
    source, target = sentences(SOURCE_LENGTHS, seed=0), sentences([6, 6, 6], seed=1, begin=BOS)
    whole = model(source, target)
    decoder = plain_decoder(model, source)
    for t in range(6):
        torch.testing.assert_close(decoder(target[:, t]), whole[:, t], rtol=0, atol=1e-10)


def test_the_fast_engine_computes_the_same_or_refuses_by_name(choice: str, model: AnyTransformer) -> None:
    reason = unknown_part(model)
    assert (reason is None) == (choice in SERVED)
    if reason is not None:
        assert reason
        with pytest.raises(ValueError, match=reason):
            PreparedModel(model, precision=torch.float64)
        return
    source, target = sentences(SOURCE_LENGTHS, seed=0), sentences([6, 6, 6], seed=1, begin=BOS)
    with torch.inference_mode():
        plain = CachedDecoder(model, source)
        fast = BatchedDecoder(PreparedModel(model, precision=torch.float64), source, rows_per_sentence=1)
        for t in range(6):
            torch.testing.assert_close(fast(target[:, t]), plain(target[:, t]), rtol=0, atol=1e-10)


@decoding
@torch.inference_mode()
def test_the_picture_of_attention_shows_its_weights(model: AnyTransformer) -> None:
    """What each attention of the last layers gathers is the values times the weights that are drawn."""
    source, target = ragged()
    if not isinstance(model, Transformer):
        with pytest.raises(UserError, match=r"model\.family=decoder has no attention over an encoder"):
            all_attention_weights(model, source, target)
        return
    encoder, decoder = model.encoder.layers[-1], model.decoder.layers[-1]
    attentions = {
        "encoder": encoder.self_attention,
        "decoder": decoder.self_attention,
        "cross": decoder.cross_attention,
    }
    inputs: dict[str, tuple[Tensor, Tensor]] = {}
    for kind, attention in attentions.items():
        if isinstance(attention.positions, RelativePositions):
            attention.positions.values.zero_()  # what they add to the values
        attention.register_forward_hook(lambda _, given, output, kind=kind: inputs.update({kind: (given[1], output)}))
    found = all_attention_weights(model, source, target)
    inputs.clear()
    model(source, target)
    assert not found["decoder"].triu(1).any()
    for kind, attention in attentions.items():
        weights = found[kind][-1]
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), rtol=0, atol=1e-12)
        padding = (target if kind == "decoder" else source) == PAD
        assert (weights.masked_select(padding[:, None, None]) == 0).all()
        memory, gathered = inputs[kind]
        values = (memory @ attention.projection.weight.T + attention.projection.bias)[..., -attention.widths[2] :]
        by_hand = weights @ values.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
        torch.testing.assert_close(gathered, attention.output(by_hand.transpose(1, 2).flatten(2)), rtol=0, atol=1e-10)


class Doubled(FeedForward):
    """A variant that the engine cannot know."""

    def forward(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        return 2 * super().forward(x)


@pytest.mark.parametrize("module", ["feed_forward", "self_attention.positions", "feed_forward_residual"])
def test_a_class_that_the_engine_does_not_know_is_refused_by_name(module: str) -> None:
    model = tiny_model()
    variants = {
        "feed_forward": Doubled(d_model=16, d_ff=24).double(),
        "self_attention.positions": SinusoidalPositions(d_model=16),
        "feed_forward_residual": nn.Identity(),
    }
    model.decoder.layers[1].set_submodule(module, variants[module])
    reason = f"decoder.layers.1.{module} is {type(variants[module]).__name__}"
    assert unknown_part(model) == reason
    with pytest.raises(ValueError, match=reason):
        PreparedModel(model, precision=torch.float64)
