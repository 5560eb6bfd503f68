"""mt-import: a Marian folder of the Hugging Face layout becomes a run that translates and can be trained further."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from mt.api import model_and_translator
from mt.config.loading import checked, to_yaml
from mt.config.schema import ImportConfig, TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, UserError, out_of_memory
from mt.export.folder import written_aside
from mt.export.huggingface import HuggingFaceEngine
from mt.export.marian_folder import MarianFolder, read_marian_folder, read_weights
from mt.export.proof import proof_sentences, prove
from mt.export.vocabulary import Vocabularies, tokenizer_models
from mt.model.transformer import Transformer
from mt.reporting import report
from mt.runs.delivery import model_file
from mt.runs.folder import CONFIG, MODEL, SOURCE_TOKENIZER, TOKENIZER, note_imported, run_identity


def import_model(config: ImportConfig) -> None:
    """Write the run aside, prove it equal to the folder, and rename it.

    Raises UserError naming what this model cannot represent, or what turned out unequal; BadFileError, DiskError.
    """
    folder, run_dir = Path(config.folder), Path(config.run_dir)
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


def _run_config(config: ImportConfig, found: MarianFolder, *, vocab_size: int) -> TrainConfig:
    """The configuration with which this model would have been trained."""
    values = asdict(config)
    for name in {field.name for field in fields(ImportConfig)} - {field.name for field in fields(TrainConfig)}:
        del values[name]
    values["model"] |= found.model_options
    values["tokenizer"] |= {"vocab_size": vocab_size, "shared_vocab": True, "byte_fallback": found.forbids_unknown}
    longest = max(1, min(config.decoding.max_source_tokens, found.longest - config.decoding.max_extra_tokens - 1))
    values["decoding"] |= {**found.search, "max_source_tokens": longest}
    return checked(TrainConfig, values)
