"""The translator as `mt.build` makes it: its search from the settings, its decoders from the model."""

from dataclasses import fields, replace
from functools import partial
from typing import Any, Literal

import pytest
import torch
from composed import composed
from tiny_models import tiny_model
from translators import small_tokenizer

from mt import build
from mt.config.schema import TrainConfig
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.model.cached_decoder import CachedDecoder
from mt.model.inspection import unknown_part
from mt.model.transformer import Transformer
from mt.search.search import Search
from mt.translation.segments import Translation

LINES = ["a small dog runs over the field.", "two men", "", "the old dog watches two men from a bench.", "a dog!"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"), LINES)


@pytest.fixture
def config() -> TrainConfig:
    config = composed("train", "device=cpu", "decoding.beam_size=1", "decoding.max_extra_tokens=4")
    assert isinstance(config, TrainConfig)
    return config


def translated(config: TrainConfig, models: list[Transformer], tokenizer: Tokenizer) -> list[Translation]:
    return build.translator(config, config.decoding, models, (tokenizer, tokenizer)).translate_all(LINES)


def greedy(model: Transformer, source: list[int], *, max_extra_tokens: int) -> list[int]:
    """The most probable permitted tokens, each from the whole plain model."""
    tokens: list[int] = []
    while len(tokens) < len(source) + max_extra_tokens:
        logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *tokens]]))[0, -1]
        logits[[PAD, BOS, UNKNOWN]] = -torch.inf
        if (token := int(logits.argmax())) == EOS:
            break
        tokens.append(token)
    return tokens


@pytest.mark.parametrize("unknown", [False, True])
def test_models_that_the_fast_engine_does_not_support_are_translated_by_the_plain_model(
    tokenizer: Tokenizer, config: TrainConfig, capsys: pytest.CaptureFixture[str], unknown: bool
) -> None:
    """One line says so, however many translators are made."""
    build._report_once.cache_clear()
    model = tiny_model(vocab_size=tokenizer.vocab_size, dtype=torch.float32, d_ff=40)
    if unknown:
        model.encoder.layers[0].feed_forward.activation = "gelu"
    part = "encoder.layers.0.feed_forward.activation is gelu"
    assert unknown_part(model) == (part if unknown else None)
    for _ in range(2):
        found = translated(config, [model], tokenizer)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"decoding without the fast engine, which does not support the model: {part}"] * unknown
    [start] = build.translator(config, config.decoding, [model], (tokenizer, tokenizer)).decoders
    with torch.inference_mode():
        next_token = start(torch.tensor([[EOS]]), rows_per_sentence=1)
    assert isinstance(next_token, CachedDecoder if unknown else BatchedDecoder)
    with torch.inference_mode():
        expected = [greedy(model, tokenizer.encode(line), max_extra_tokens=4) if line else [] for line in LINES]
    assert [one.tokens for one in found] == expected
    assert len({tuple(one.tokens) for one in found}) > 3


def test_one_unsupported_model_makes_the_whole_ensemble_plain(tokenizer: Tokenizer, config: TrainConfig) -> None:
    """It decides as alone where all members are the same model, and with a beam."""
    config = replace(config, decoding=replace(config.decoding, beam_size=3))
    model = tiny_model(vocab_size=tokenizer.vocab_size, dtype=torch.float32)
    other = tiny_model(vocab_size=tokenizer.vocab_size, dtype=torch.float32)
    other.encoder.layers[0].feed_forward.activation = "gelu"
    decoders = build.translator(config, config.decoding, [model, other], (tokenizer, tokenizer)).decoders
    with torch.inference_mode():
        members = [start(torch.tensor([[EOS]]), rows_per_sentence=1) for start in decoders]
    assert [type(member) for member in members] == [CachedDecoder] * 2
    alone, twice = (translated(config, models, tokenizer) for models in ([other], [other, other]))
    assert [one.tokens for one in twice] == [one.tokens for one in alone]


@pytest.mark.parametrize("unknown", [False, True])
def test_models_in_training_are_put_into_evaluation(tokenizer: Tokenizer, config: TrainConfig, unknown: bool) -> None:
    """All members of an ensemble, whether the fast engine or the plain models decode."""
    models = [
        tiny_model(seed=seed, vocab_size=tokenizer.vocab_size, dropout=0.5, dtype=torch.float32) for seed in range(2)
    ]
    for model in models:
        model.encoder.layers[0].feed_forward.activation = "gelu" if unknown else "relu"
    found = [translated(config, [model.train() for model in models], tokenizer) for _ in range(2)]
    assert not any(model.training for model in models)
    assert [one.tokens for one in found[0]] == [one.tokens for one in found[1]]


def test_every_option_of_the_search_reaches_it(config: TrainConfig) -> None:
    given = {
        "beam_size": 3,
        "length_penalty": 0.25,
        "length_penalty_form": "power",
        "max_extra_tokens": 7,
        "min_output_tokens": 2,
        "max_output_tokens": 9,
        "no_repeat_ngram_size": 4,
        "early_stopping": True,
    }
    assert {field.name for field in fields(Search)} & vars(config.decoding).keys() == {*given, "sampling"}
    search = build.search(replace(config.decoding, **given), byte_fallback=True)
    assert {name: getattr(search, name) for name in given} == given


@pytest.mark.parametrize(
    ("precision", "of_model"),
    [
        ("fp32", {"precision": torch.float32}),
        ("bf16", {"precision": torch.bfloat16}),
        ("int8", {"precision": torch.bfloat16, "compute_type": "int8"}),
    ],
)
def test_the_precision_of_decoding_reaches_the_model(
    tokenizer: Tokenizer, config: TrainConfig, precision: Literal["fp32", "bf16", "int8"], of_model: dict[str, Any]
) -> None:
    model = tiny_model(vocab_size=tokenizer.vocab_size, d_model=64, d_ff=192, dtype=torch.float32)
    config = replace(config, decoding=replace(config.decoding, precision=precision))
    [start] = build.translator(config, config.decoding, [model], (tokenizer, tokenizer)).decoders
    expected = partial(BatchedDecoder, PreparedModel(model, **of_model))
    with torch.inference_mode():
        found, same = (
            one(torch.tensor([[5, 6, EOS]]), rows_per_sentence=1)(torch.tensor([BOS])) for one in (start, expected)
        )
    assert torch.equal(found, same)


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_the_unknown_token_is_needed_only_without_byte_fallback(config: TrainConfig, byte_fallback: bool) -> None:
    search = build.search(config.decoding, byte_fallback=byte_fallback)
    assert (UNKNOWN in search.forbidden) == byte_fallback
    assert {PAD, BOS} <= set(search.forbidden)
    assert EOS not in search.forbidden
