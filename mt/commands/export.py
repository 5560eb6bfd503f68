"""mt-export: a run as a folder that another engine loads, written only once it is proved equal."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mt import build
from mt.config.schema import Decoding, ExportConfig, TrainConfig
from mt.errors import UserError
from mt.export.card import model_card, search_notes
from mt.export.ctranslate2 import SETTINGS, settings_file, write_ctranslate2
from mt.export.huggingface import POSITIONS_BEYOND, marian_files
from mt.export.proof import Proof
from mt.export.proving import Vocabularies, proof_sentences, prove_apart, vocabularies_of_run
from mt.export.vocabulary import OWN, our_ids
from mt.reporting import report
from mt.runs import folder as folder_names
from mt.runs.atomic import disk_error, write_file
from mt.runs.checkpoint import model_tensors
from mt.runs.folder import load_run
from mt.translation.translator import Translator


@dataclass(frozen=True)
class _Leaving:
    """A run on its way out, and the sentences that prove what is written of it."""

    run: TrainConfig
    run_dir: Path
    translator: Translator
    texts: list[str]

    def tokenizer_files(self) -> dict[str, bytes]:
        """The SentencePiece models under Marian's names."""
        source, target = folder_names.tokenizer_paths(self.run_dir, self.run.tokenizer)
        return {"source.spm": source.read_bytes(), "target.spm": target.read_bytes()}


def export(config: ExportConfig) -> None:
    """Write the folder aside, prove it, and put it in its place. Raises UserError where it cannot be proved."""
    run_dir = Path(config.run_dir)
    run = load_run(run_dir)
    if run.decoding.sampling is not None:
        raise UserError(
            f"{run_dir}: decoding.sampling cannot be carried along; set it to null in the run's config.yaml"
        )
    output = Path(config.output) if config.output else run_dir / "export" / config.format
    translator = build.translator_of_run(run_dir, device="cpu")
    leaving = _Leaving(run, run_dir, translator, proof_sentences(run_dir, config.sentences))
    with written_aside(output) as aside:
        if config.format == "huggingface":
            proof, same = _huggingface(leaving, aside), None
        else:
            proof, same = _ctranslate2(leaving, aside, config.quantization)
        card = model_card(
            name=run.name,
            format=config.format,
            languages=(run.data.source_language, run.data.target_language),
            quantization=config.quantization,
            own_start=config.format == "huggingface" and vocabularies_of_run(run_dir).special == OWN,
            proof=proof,
            same_as_float32=same,
            search=_search_notes(run.decoding),
        )
        write_file(aside / "README.md", card.encode())
    small = "" if same is None else f"; in {config.quantization} the same tokens in {same:.2%}"
    report(f"{output}: {told(proof)}{small}")


def told(proof: Proof) -> str:
    """A proof in one line."""
    return (
        f"the same tokens in {proof.same_tokens:.2%} of {proof.sentences:,} sentences, "
        f"logits within {proof.largest_logit_difference:.1e}"
    )


def refuse_unless(proof: Proof, what: str) -> None:
    """Raises UserError when a proof fails."""
    if failure := proof.failure():
        raise UserError(f"{what} is not equal to the model: {failure}; nothing was written")


@contextmanager
def written_aside(folder: Path, *, key: str = "output") -> Iterator[Path]:
    """A folder to write into, which takes its name only when all went well.

    Raises UserError, DiskError; the option `key` chooses the place.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists already; choose another folder or remove it")
    aside = folder.absolute().with_name(f".{folder.absolute().name}.part")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        yield aside
        if folder.exists():
            folder.rmdir()
        aside.rename(folder.absolute())
    except OSError as error:
        raise disk_error(folder, error, key=key) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _huggingface(leaving: _Leaving, aside: Path) -> Proof:
    run, translator = leaving.run, leaving.translator
    vocabularies = vocabularies_of_run(leaving.run_dir)
    special = vocabularies.special
    rows = [our_ids(special, size) for size in (vocabularies.source_size, vocabularies.target_size)]
    tokenizers = (translator.source_tokenizer, translator.target_tokenizer)
    pieces = [tokenizer.pieces(side) for tokenizer, side in zip(tokenizers, rows, strict=True)]
    for side in pieces:
        side[special.pad] = "<pad>"  # also where it is the start, which is our <s>
    files = marian_files(
        model=translator.model,
        tensors=model_tensors(translator.model),
        special=special,
        source_rows=rows[0],
        target_rows=rows[1],
        source_pieces=pieces[0],
        target_pieces=pieces[1],
        languages=(run.data.source_language, run.data.target_language),
        longest=max(run.decoding.max_source_tokens, _longest(run.decoding)),
        settings=_generation_settings(run.decoding),
        forbidden=sorted({token for token, ours in enumerate(rows[1]) if ours in translator.search.forbidden}),
    )
    write_files(aside, {**files, **leaving.tokenizer_files()})
    proof = prove_apart(leaving.run_dir, aside, engine="huggingface", vocabularies=vocabularies, texts=leaving.texts)
    refuse_unless(proof, "the folder that transformers loads")
    return proof


def _ctranslate2(leaving: _Leaving, aside: Path, quantization: str) -> tuple[Proof, float | None]:
    """In float32 it must be equal; of other types the card tells how many sentences they leave as they were."""
    translator, decoding = leaving.translator, leaving.run.decoding
    tokenizers = (translator.source_tokenizer, translator.target_tokenizer)
    source, target = (tokenizer.pieces(range(tokenizer.vocab_size)) for tokenizer in tokenizers)
    vocabularies = Vocabularies(OWN, len(source), len(target))
    settings = _batch_settings(decoding, [target[token] for token in translator.search.forbidden])
    proofs = {}
    for kind in dict.fromkeys(("float32", quantization)):
        shutil.rmtree(aside)
        aside.mkdir()
        write_ctranslate2(
            aside,
            model=translator.model,
            tensors=model_tensors(translator.model),
            source_pieces=source,
            target_pieces=target,
            quantization=kind,
            longest=max(decoding.max_source_tokens, _longest(decoding)) + POSITIONS_BEYOND,
        )
        write_files(aside, {SETTINGS: settings_file(settings), **leaving.tokenizer_files()})
        proofs[kind] = prove_apart(
            leaving.run_dir, aside, engine="ctranslate2", vocabularies=vocabularies, texts=leaving.texts
        )
        refuse_unless(proofs["float32"], "the folder that CTranslate2 loads")
    return proofs["float32"], None if quantization == "float32" else proofs[quantization].same_tokens


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder. Raises DiskError."""
    for name, content in files.items():
        write_file(folder / name, content)


def _longest(decoding: Decoding) -> int:
    """The longest output, its end counted."""
    most = decoding.max_source_tokens + decoding.max_extra_tokens
    return most if decoding.max_output_tokens is None else min(most, decoding.max_output_tokens + 1)


def _batch_settings(decoding: Decoding, forbidden: list[str]) -> dict[str, Any]:
    """Arguments of CTranslate2's `translate_batch`; it has an argument of its own for <unk>."""
    return {
        "beam_size": decoding.beam_size,
        "length_penalty": decoding.length_penalty,
        "max_input_length": 0,
        "min_decoding_length": decoding.min_output_tokens or 0,
        "max_decoding_length": _longest(decoding),
        "no_repeat_ngram_size": decoding.no_repeat_ngram_size or 0,
        "disable_unk": "<unk>" in forbidden,
        "suppress_sequences": [[piece] for piece in forbidden if piece != "<unk>"],
    }


def _generation_settings(decoding: Decoding) -> dict[str, Any]:
    """What transformers' `generate` takes from the folder."""
    settings: dict[str, Any] = {"num_beams": decoding.beam_size, "do_sample": False, "max_length": _longest(decoding)}
    if decoding.beam_size > 1:
        settings |= {
            "length_penalty": decoding.length_penalty,
            "early_stopping": bool(decoding.early_stopping) or "never",
        }
    if decoding.min_output_tokens:
        settings["min_new_tokens"] = decoding.min_output_tokens
    if decoding.no_repeat_ngram_size:
        settings["no_repeat_ngram_size"] = decoding.no_repeat_ngram_size
    return settings


def _search_notes(decoding: Decoding) -> str:
    return search_notes(
        beam_size=decoding.beam_size,
        length_penalty=decoding.length_penalty,
        form=decoding.length_penalty_form,
        max_extra_tokens=decoding.max_extra_tokens,
    )
