"""Translators with small models and a small vocabulary."""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tiny_models import tiny_model

from mt import api
from mt.config.schema import Decoding
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer, train_tokenizer
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.native.ranking import ranked_extensions
from mt.fast.workers import Workers
from mt.model.transformer import Transformer
from mt.search.search import Search
from mt.translation.alignment import mean_attention
from mt.translation.confidence import token_log_probabilities
from mt.translation.limits import Limits
from mt.translation.translator import Translator

_SEARCH = {field.name for field in fields(Search)}


def small_tokenizer(folder: Path, lines: Sequence[str]) -> Tokenizer:
    """A tokenizer that has learnt from these lines; what they lack becomes bytes."""
    (folder / "text").write_text("".join(f"{line}\n" for line in list(lines) * 20), encoding="utf-8")
    train_tokenizer(
        text_files=[folder / "text"],
        output=folder / "tokenizer.model",
        vocab_size=330,
        character_coverage=1.0,
        byte_fallback=True,
        input_sentence_size=1000,
    )
    return Tokenizer.load(folder / "tokenizer.model")


def make_translator(
    models: Sequence[Transformer],
    tokenizer: Tokenizer,
    *,
    precision: torch.dtype = torch.float64,
    threads: int = 1,
    processes: bool = False,
    alignments: bool = False,
    probabilities: bool = False,
    **changes: Any,
) -> Translator:
    """What `mt.build.translator` makes, in any precision; changes are those of a `Search` or of the `Translator`."""
    settings: dict[str, Any] = {"beam_size": 4, "length_penalty": 0.6, "length_penalty_form": "gnmt"}
    settings |= {"max_extra_tokens": 4, "batch_tokens": 64, "max_source_tokens": 60} | changes
    search = {name: value for name, value in settings.items() if name in _SEARCH}
    others = {name: value for name, value in settings.items() if name not in _SEARCH}
    return Translator(
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        search=Search(bos=BOS, eos=EOS, forbidden=[PAD, BOS, UNKNOWN], rank=ranked_extensions, **search),
        decoders=[partial(BatchedDecoder, PreparedModel(model, precision=precision)) for model in models],
        run=Workers(threads, processes=processes),
        threads=threads,
        align=partial(mean_attention, models) if alignments else None,
        token_scores=partial(token_log_probabilities, models) if probabilities else None,
        **others,
    )


def small_api(folder: Path, *, seed: int = 0, limits: Limits | None = None) -> api.Translator:
    """A `mt.api.Translator` with a random model, which gives alignments and probabilities."""
    tokenizer = small_tokenizer(folder, ["the house and the garden, the river.", "bread in the morning: good!"])
    model = tiny_model(seed=seed, dtype=torch.float32, vocab_size=tokenizer.vocab_size)
    wanted = {"alignments": True, "probabilities": True}
    lines = make_translator([model], tokenizer, precision=torch.float32, beam_size=3, **wanted)
    names = {field.name for field in fields(Decoding)} & set(_SEARCH)
    values = {name: getattr(lines.search, name) for name in names} | {"precision": "fp32"}
    values |= {"batch_tokens": lines.batch_tokens, "max_source_tokens": lines.max_source_tokens}
    values |= {"as_typed": False, "spelling": False}
    return api.Translator(lines, decoding=Decoding(**values), byte_fallback=True, limits=limits)
