"""mt-import: a Marian folder of the Hugging Face layout becomes a run that translates and can be trained further."""

from dataclasses import asdict, fields
from pathlib import Path

from mt.commands.export import refuse_unless, told, write_files, written_aside
from mt.config.loading import checked, to_yaml
from mt.config.schema import ImportConfig, TrainConfig
from mt.data.tokenizer import Tokenizer
from mt.errors import UserError
from mt.export.marian_folder import MarianFolder, read_marian_folder, read_weights
from mt.export.proving import Vocabularies, imported, proof_sentences, prove_apart
from mt.export.sentencepiece_models import SPECIAL_PIECES, text_pieces, with_pieces
from mt.reporting import report
from mt.runs.delivery import model_file
from mt.runs.folder import CONFIG, MODEL, SOURCE_TOKENIZER, TOKENIZER, note_imported, run_identity


def import_model(config: ImportConfig) -> None:
    """Write the run aside, prove it equal to the folder, and put it in its place.

    Raises UserError naming what this model cannot represent, or what turned out unequal; BadFileError, DiskError.
    """
    folder, run_dir = Path(config.folder), Path(config.run_dir)
    found = read_marian_folder(folder)
    models, num_pieces = _tokenizer_models(folder, found)
    run = _run_config(config, found, num_pieces=num_pieces)
    vocabularies = Vocabularies(found.special, len(found.tokens), len(found.tokens))
    texts = proof_sentences(run_dir, config.sentences)
    with written_aside(run_dir, key="run_dir") as aside:
        write_files(aside, {**models, CONFIG: to_yaml(run).encode()})
        note_imported(aside, imported(vocabularies))
        parameters = read_weights(folder, found, num_pieces=num_pieces)
        write_files(aside, {MODEL: model_file(parameters, averaged_steps=[], run=run_identity(aside))})
        proof = prove_apart(aside, folder, engine="huggingface", vocabularies=vocabularies, texts=texts)
        refuse_unless(proof, f"what was read from {folder}")
    report(f"{run_dir}: {told(proof)}")


def _tokenizer_models(folder: Path, found: MarianFolder) -> tuple[dict[str, bytes], int]:
    """The run's tokenizer files, the source's apart where the folder cuts its sides differently; and their size."""
    paths = [folder / name for name in ("source.spm", "target.spm")]
    for path in paths:
        if not path.is_file():
            raise UserError(f"{folder}: it has no {path.name}")
    source, target = (path.read_bytes() for path in paths)
    special = set(vars(found.special).values())
    # A token that only bears the name of one of our special pieces never comes from text; it keeps its place.
    pieces = [
        f"{token} ({number})" if token in SPECIAL_PIECES else token
        for number, token in enumerate(found.tokens)
        if number not in special
    ]
    known = {*found.tokens, *SPECIAL_PIECES}
    lacking = dict.fromkeys(
        piece
        for model, path in zip((source, target), paths, strict=True)
        for piece in text_pieces(model, origin=path)
        if piece not in known
    )
    pieces += lacking
    models = {TOKENIZER: with_pieces(target, pieces, origin=paths[1])}
    if source != target:
        models[SOURCE_TOKENIZER] = with_pieces(source, pieces, origin=paths[0])
    return models, Tokenizer(model=models[TOKENIZER]).vocab_size


def _run_config(config: ImportConfig, found: MarianFolder, *, num_pieces: int) -> TrainConfig:
    """What a training of this model would have had as its configuration."""
    values = asdict(config)
    for name in {field.name for field in fields(ImportConfig)} - {field.name for field in fields(TrainConfig)}:
        del values[name]
    values["model"] |= found.model_options
    values["tokenizer"] |= {"vocab_size": num_pieces, "shared_vocab": True, "byte_fallback": found.forbids_unknown}
    longest = max(1, min(config.decoding.max_source_tokens, found.longest - config.decoding.max_extra_tokens - 1))
    values["decoding"] |= {**found.search, "max_source_tokens": longest}
    return checked(TrainConfig, values)
