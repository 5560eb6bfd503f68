"""mt-import: a Marian, GPT-2 or BERT folder of Hugging Face's layout becomes a run, which can be trained further."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from mt.api import model_and_translator, trained_model
from mt.config.loading import checked, to_yaml
from mt.config.schema import AnyData, ImportConfig, TrainConfig
from mt.data.tokenizer import MASK, Tokenizer
from mt.errors import BadFileError, UserError, out_of_memory
from mt.export.folder import written_aside
from mt.export.huggingface import HuggingFaceEngine, load_pretrained
from mt.export.marian_folder import MarianFolder, read_marian_folder, read_weights
from mt.export.pretrained import prove_pretrained
from mt.export.pretrained_folder import (
    LAYOUTS,
    Layout,
    PretrainedFolder,
    numbered,
    only_what_is_read,
    read_pretrained_folder,
)
from mt.export.proof import proof_sentences, prove
from mt.export.reading import CONFIG_FILE
from mt.export.vocabulary import Vocabularies, tokenizer_models
from mt.model.transformer import Transformer
from mt.reporting import report
from mt.runs.atomic import read_json
from mt.runs.delivery import model_file
from mt.runs.folder import (
    CONFIG,
    MODEL,
    PRETRAINED_TOKENIZER,
    SOURCE_TOKENIZER,
    TOKENIZER,
    note_imported,
    run_identity,
)

_UNDETERMINED = "und"  # what conf/data/none.yaml has for a language, as a language model does not ask
_ANY_DATA = {field.name for field in fields(AnyData)}


def import_model(config: ImportConfig) -> None:
    """Write the run aside, prove it equal to the folder, and rename it.

    Raises UserError naming what this model cannot represent, or what turned out unequal; BadFileError, DiskError.
    """
    kind = read_json(Path(config.folder) / CONFIG_FILE).get("model_type")
    layout = LAYOUTS.get(kind) if isinstance(kind, str) else None
    if layout is None:
        _import_translator(config)
    else:
        _import_pretrained(config, layout)


def _import_pretrained(config: ImportConfig, layout: Layout) -> None:
    """A language model of the layout of GPT-2 or BERT."""
    folder, run_dir = Path(config.folder), Path(config.run_dir)
    found = read_pretrained_folder(folder, layout)
    texts = proof_sentences(run_dir, config.sentences)
    with only_what_is_read(folder) as copy, written_aside(run_dir, key="run_dir") as aside:
        with _blamed_on(folder):
            theirs = load_pretrained(copy, layout.model_class, layout.tokenizer_class)
            content, numbering = numbered(theirs[1], layout, found.vocab_size)
            tokenizer = Tokenizer(model=content)
            if found.model_options["family"] == "encoder" and theirs[1].mask_token != MASK:
                raise UserError(f"its tokenizer hides tokens by another one than {MASK}, which cannot be imported")
        (aside / PRETRAINED_TOKENIZER).write_bytes(content)
        run = _text_config(config, found, vocab_size=tokenizer.vocab_size)
        (aside / CONFIG).write_bytes(to_yaml(run).encode())
        note_imported(aside, {"layout": layout.model_class})
        parameters = found.parameters(numbering)
        (aside / MODEL).write_bytes(model_file(parameters, averaged_steps=[], run=run_identity(aside)))
        model = trained_model(aside, torch.device("cpu")).eval()
        longest = run.model.max_positions
        with _blamed_on(folder):
            proof = prove_pretrained(model, tokenizer, theirs, numbering=numbering, longest=longest, texts=texts)
        proof.check(f"what was read from {folder}")
    report(f"{run_dir}: {proof}")


def _import_translator(config: ImportConfig) -> None:
    """A model of Marian's layout."""
    folder, run_dir = Path(config.folder), Path(config.run_dir)
    if _UNDETERMINED in (config.data.source_language, config.data.target_language):
        raise UserError("a model that translates also needs data.source_language=en data.target_language=de")
    found = read_marian_folder(folder)
    source, target = tokenizer_models(folder, found.tokens, found.special)
    with _blamed_on(folder):
        vocab_size = Tokenizer(model=target).vocab_size
        run = _run_config(config, found, vocab_size=vocab_size)
    vocabularies = Vocabularies(found.special, len(found.tokens), len(found.tokens))
    texts = proof_sentences(run_dir, config.sentences)
    with written_aside(run_dir, key="run_dir") as aside:
        (aside / TOKENIZER).write_bytes(target)
        if source != target:
            (aside / SOURCE_TOKENIZER).write_bytes(source)
        (aside / CONFIG).write_bytes(to_yaml(run).encode())
        note_imported(aside, {"special": asdict(found.special), "tokens": len(found.tokens)})
        parameters = read_weights(found, vocab_size=vocab_size)
        (aside / MODEL).write_bytes(model_file(parameters, averaged_steps=[], run=run_identity(aside)))
        model, translator = model_and_translator(aside)
        assert isinstance(model, Transformer)
        with _blamed_on(folder):
            proof = prove(model, translator, HuggingFaceEngine(folder), vocabularies=vocabularies, texts=texts)
        proof.check(f"what was read from {folder}")
    report(f"{run_dir}: {proof}")


@contextmanager
def _blamed_on(folder: Path) -> Iterator[None]:
    """Errors name the folder; what transformers raises about its files becomes a BadFileError."""
    try:
        yield
    except (UserError, BadFileError) as error:
        raise type(error)(f"{folder}: {error}") from error
    except Exception as error:
        if out_of_memory(error):
            raise
        line = next(iter(str(error).split("\n")))[:200]
        raise BadFileError(f"{folder}: transformers cannot use it ({type(error).__name__}: {line})") from error


def _values(config: ImportConfig) -> dict[str, Any]:
    """The options of the training that a run folder notes."""
    values = asdict(config)
    for name in {field.name for field in fields(ImportConfig)} - {field.name for field in fields(TrainConfig)}:
        del values[name]
    return values


def _text_config(config: ImportConfig, found: PretrainedFolder, *, vocab_size: int) -> TrainConfig:
    """The configuration with which a language model would have been trained, on a text that is not known."""
    values, longest = _values(config), found.model_options["max_positions"]
    values["model"] |= found.model_options
    values["tokenizer"] |= {"vocab_size": vocab_size, "shared_vocab": True, "byte_fallback": False, "bpe_dropout": 0.0}
    values["training"] |= {"packing": False, "batch_tokens": max(longest, config.training.batch_tokens)}
    block = longest - 2 if found.model_options["family"] == "encoder" else longest  # BOS and EOS
    own = {"kind": "text", "text": config.folder, "block_tokens": block, "held_out_share": 0.1}
    values["data"] = {key: value for key, value in values["data"].items() if key in _ANY_DATA} | own
    return checked(TrainConfig, values)


def _run_config(config: ImportConfig, found: MarianFolder, *, vocab_size: int) -> TrainConfig:
    """The configuration with which this model would have been trained."""
    values = _values(config)
    values["model"] |= found.model_options
    values["tokenizer"] |= {"vocab_size": vocab_size, "shared_vocab": True, "byte_fallback": found.forbids_unknown}
    longest = max(1, min(config.decoding.max_source_tokens, found.longest - config.decoding.max_extra_tokens - 1))
    values["decoding"] |= {**found.search, "max_source_tokens": longest}
    return checked(TrainConfig, values)
