"""The proof of an exported or imported model, in a process of its own that knows only what lies on the disk."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch

from mt import build
from mt.data.corpus import builtin_corpus
from mt.data.lines import read_lines
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, UserError
from mt.export.engines import CTranslate2Engine, HuggingFaceEngine
from mt.export.proof import Engine, Original, Proof, prove
from mt.export.vocabulary import OWN, SpecialIds, marian_ids, our_ids
from mt.runs import folder as folder_names
from mt.runs.folder import load_run

IMPORT_NOTE = "imported.json"
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
    paths = folder_names.tokenizer_paths(run_dir, run.tokenizer)
    source, target = (Tokenizer.load(path).vocab_size for path in paths)
    path = run_dir / IMPORT_NOTE
    if not path.is_file():
        return Vocabularies(OWN, source, target)
    try:
        note = json.loads(path.read_bytes())
        return Vocabularies(SpecialIds(**note["special"]), int(note["tokens"]), int(note["tokens"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadFileError(f"{path}: damaged ({error}); import the model again") from error


def import_note(vocabularies: Vocabularies) -> bytes:
    """The content of `imported.json`."""
    return json.dumps({"special": asdict(vocabularies.special), "tokens": vocabularies.target_size}, indent=1).encode()


def proof_sentences(run_dir: Path, sentences: str | None) -> list[str]:
    """1,000 real sentences: of a file, else of the run's validation and test text, else of the built-in corpus."""
    files = [run_dir / "data" / f"{split}.source" for split in ("validation", "test")]
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
    translator = build.translator_of_run(Path(run_dir), device="cpu")
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
