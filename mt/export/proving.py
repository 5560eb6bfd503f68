"""The proof of an exported or imported model, in a process of its own that knows only what lies on the disk."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from mt.api import translator_of_run
from mt.data.corpus import builtin_corpus
from mt.data.lines import read_lines
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, UserError
from mt.export.engines import CTranslate2Engine, HuggingFaceEngine
from mt.export.proof import Engine, Original, Proof, prove
from mt.export.vocabulary import OWN, SpecialIds, marian_ids, our_ids
from mt.runs.folder import IDENTITY, held_out_text, load_run, read_identity, tokenizer_paths

_SENTENCES = 1000


@dataclass(frozen=True)
class Vocabularies:
    """The token ids of the other engine: special ones, and the sizes of source and target."""

    special: SpecialIds
    source_size: int
    target_size: int


def vocabularies_of_run(run_dir: Path) -> Vocabularies:
    """The token ids with which a run leaves: its own, or those it was imported with. Raises BadFileError."""
    run = load_run(run_dir)
    paths = tokenizer_paths(run_dir, shared_vocab=run.tokenizer.shared_vocab)
    source, target = (Tokenizer.load(path).vocab_size for path in paths)
    noted = read_identity(run_dir).get("imported")
    if noted is None:
        return Vocabularies(OWN, source, target)
    try:
        return Vocabularies(SpecialIds(**noted["special"]), int(noted["tokens"]), int(noted["tokens"]))
    except (ValueError, TypeError, KeyError) as error:
        raise BadFileError(f"{run_dir / IDENTITY}: damaged ({error}); import the model again") from error


def imported(vocabularies: Vocabularies) -> dict[str, Any]:
    """What the identity of an imported run says of where it came from."""
    return {"special": asdict(vocabularies.special), "tokens": vocabularies.target_size}


def proof_sentences(run_dir: Path, sentences: str | None) -> list[str]:
    """1,000 real sentences: of a file, else of the run's validation and test text, else of the built-in corpus."""
    files = [held_out_text(run_dir, split, "source") for split in ("validation", "test")]
    paths = [sentences] if sentences is not None else [str(path) for path in files if path.is_file()]
    if not paths:
        return [source for source, _ in islice(builtin_corpus("validation").pairs(), _SENTENCES)]
    return list(islice((line for path in paths for line in read_lines(path) if line.strip()), _SENTENCES))


def prove_apart(run_dir: Path, folder: Path, *, engine: str, vocabularies: Vocabularies, texts: list[str]) -> Proof:
    """Load run and folder in a new process and compare them. Raises what the process raised."""
    arguments = (str(run_dir), str(folder), engine, vocabularies, texts)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_prove, *arguments).result()
        except BrokenProcessPool as error:
            raise UserError(f"the process that loaded {folder} with {engine} died; nothing was written") from error


def _prove(run_dir: str, folder: str, engine: str, vocabularies: Vocabularies, texts: list[str]) -> Proof:
    translator = translator_of_run(Path(run_dir), device="cpu")
    special = vocabularies.special
    sizes = vocabularies.source_size, vocabularies.target_size
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    ids = [
        marian_ids(special, size, num_pieces=tokenizer.vocab_size)
        for size, tokenizer in zip(sizes, tokenizers, strict=True)
    ]
    original = Original(
        model=translator.model,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        forbidden=translator.search.forbidden,
        source_ids=ids[0],
        target_ids=ids[1],
        target_rows=our_ids(special, sizes[1]),
    )
    torch.manual_seed(0)
    return prove(
        original,
        _engine(engine, Path(folder), original),
        texts,
        longest_source=translator.max_source_tokens,
        max_extra_tokens=load_run(run_dir).decoding.max_extra_tokens,
    )


def _engine(name: str, folder: Path, original: Original) -> Engine:
    if name == "huggingface":
        return HuggingFaceEngine(folder)
    sides = (original.source_tokenizer, original.target_tokenizer)
    source, target = (tokenizer.pieces(range(tokenizer.vocab_size)) for tokenizer in sides)
    return CTranslate2Engine(folder, source_pieces=source, target_pieces=target)
