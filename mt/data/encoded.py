"""A parallel corpus as piece ids on disk, written once and then mapped into memory.

A folder holds, for `source` and `target`, all ids one after another (`source.ids`, little-endian) and
the place where each sentence begins (`source.offsets.npy`), beside a `manifest.json` that says what
they were made from. It is written aside and renamed, so a folder with that name is whole.
"""

import hashlib
import json
import logging
import os
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Int, Int32, Integer

from mt.data.text_cache import remove_abandoned
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, DiskError, UserError
from mt.reporting import Progress

_FORMAT = 2
_logger = logging.getLogger(__name__)


SIDES = ("source", "target")
CHUNK_PAIRS = 4096  # also the pairs that share a random seed: another number gives other samples


@dataclass(frozen=True)
class Chunk:
    """What a run of lines became, by side: all ids one after another, and how many belong to each line."""

    num_lines: int
    lengths: tuple[Int32[np.ndarray, " pairs"], ...]
    ids: tuple[Integer[np.ndarray, "_"], ...]  # as many as the lengths add up to
    dropped_too_long: int = 0
    dropped_empty: int = 0


def encode_chunks(
    *,
    files: tuple[Path, Path],
    tokenizers: tuple[Tokenizer, Tokenizer],
    max_tokens: int | None,
    bpe_dropout: float,
    seed: str,
    num_threads: int,
) -> Iterator[Chunk]:
    """Yield the source and target file as chunks, in the files' order, whatever `num_threads` is.

    With `max_tokens`, pairs with more pieces on a side or with none are left out and counted. Threads
    suffice: SentencePiece works outside the interpreter's lock. At most 2 · `num_threads` + 1 chunks are
    in memory. Raises OSError for a file that cannot be read, ValueError when one has fewer lines.
    """
    encode = partial(_encode_chunk, tokenizers=tokenizers, max_tokens=max_tokens, bpe_dropout=bpe_dropout, seed=seed)
    waiting: deque[Future[Chunk]] = deque()
    source_file, target_file = files
    with source_file.open("rb") as source, target_file.open("rb") as target, ThreadPoolExecutor(num_threads) as pool:
        try:
            for index, lines in enumerate(zip(_chunks_of_lines(source), _chunks_of_lines(target), strict=True)):
                waiting.append(pool.submit(encode, index, lines))
                if len(waiting) > 2 * num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _chunks_of_lines(file: BinaryIO) -> Iterator[list[bytes]]:
    while lines := [line.removesuffix(b"\n") for line in islice(file, CHUNK_PAIRS)]:
        yield lines


def _encode_chunk(
    index: int,
    lines: tuple[list[bytes], list[bytes]],
    *,
    tokenizers: tuple[Tokenizer, Tokenizer],
    max_tokens: int | None,
    bpe_dropout: float,
    seed: str,
) -> Chunk:
    encoded = []
    for side, side_lines, tokenizer in zip(SIDES, lines, tokenizers, strict=True):
        digest = hashlib.sha256(f"{seed}/{index}/{side}".encode()).digest()
        side_seed = int.from_bytes(digest[:4], "little")
        encoded.append(tokenizer.encode_lines(side_lines, alpha=bpe_dropout, seed=side_seed))
    (source_lengths, source_ids), (target_lengths, target_ids) = encoded
    chunk = Chunk(len(lines[0]), (source_lengths, target_lengths), (source_ids, target_ids))
    return chunk if max_tokens is None else _drop_unfit(chunk, max_tokens)


def _drop_unfit(chunk: Chunk, max_tokens: int) -> Chunk:
    source, target = chunk.lengths
    empty = (source == 0) | (target == 0)
    too_long = ~empty & ((source > max_tokens) | (target > max_tokens))
    kept = ~(empty | too_long)
    return Chunk(
        num_lines=chunk.num_lines,
        lengths=(source[kept], target[kept]),
        ids=(chunk.ids[0][np.repeat(kept, source)], chunk.ids[1][np.repeat(kept, target)]),
        dropped_too_long=int(too_long.sum()),
        dropped_empty=int(empty.sum()),
    )


@dataclass(frozen=True)
class Origin:
    """Everything that decides the ids, texts and tokenizers by their SHA-256: equal origins, equal folders."""

    format: int
    source_text: str
    target_text: str
    source_tokenizer: str
    target_tokenizer: str
    max_tokens: int | None
    bpe_dropout: float
    seed: str


class EncodedCorpus:
    """Pairs of id sequences, read from the disk as they are asked for.

    `source_lengths` and `target_lengths` count pieces, without begin and end marks.
    """

    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]

    def __init__(self, *, folder: Path) -> None:
        """Map the folder into memory. Raises BadFileError when a file is missing, cut short or contradicts another."""
        self.folder = folder
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            self.origin = Origin(**manifest["origin"])
            if self.origin.format != _FORMAT:
                raise ValueError(f"format {self.origin.format}, not {_FORMAT}")
            self.dropped_too_long = int(manifest["dropped_too_long"])
            self.dropped_empty = int(manifest["dropped_empty"])
            pairs = int(manifest["pairs"])
            self._source_ids, self._source_offsets = _map_side(folder, "source", manifest, pairs)
            self._target_ids, self._target_offsets = _map_side(folder, "target", manifest, pairs)
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BadFileError(f"encoded corpus {folder}: {error}; delete the folder to encode again") from error
        self.source_lengths = np.diff(self._source_offsets).astype(np.int32)
        self.target_lengths = np.diff(self._target_offsets).astype(np.int32)

    @classmethod
    def open(cls, folder: Path) -> "EncodedCorpus":
        """Return the corpus in `folder`; raises as the constructor does."""
        return cls(folder=folder)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source_lengths)

    def source(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """Return the source ids of a pair, without begin and end marks. Raises IndexError outside 0 … len − 1."""
        return _slice(self._source_ids, self._source_offsets, index)

    def target(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """Return the target ids of a pair, without begin and end marks. Raises IndexError outside 0 … len − 1."""
        return _slice(self._target_ids, self._target_offsets, index)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the ids: another process maps the same files."""
        return (EncodedCorpus.open, (self.folder,))


def encode_corpus(
    *,
    source_file: Path,
    target_file: Path,
    source_tokenizer: Path,
    target_tokenizer: Path,
    folder: Path,
    max_tokens: int | None,
    bpe_dropout: float = 0.0,
    seed: tuple[int, ...] = (),
    num_threads: int | None = None,
) -> EncodedCorpus:
    """Encode two line-aligned UTF-8 files into `folder`, or reuse it when it was made from the same texts.

    With `max_tokens` the pairs are for training: those with more pieces on a side, or with none, are
    dropped and counted; with None every line stays a pair. `bpe_dropout` above 0 samples the pieces, a
    pure function of the texts and `seed` (for example run seed and epoch), whatever `num_threads` is
    (None: one for each core). Memory stays bounded: a few chunks of lines at a time.

    Raises UserError when the files have different numbers of lines or cannot be read, BadFileError for
    a tokenizer that cannot be loaded, DiskError when the folder cannot be written.
    """
    tokenizer = Tokenizer.load(source_tokenizer)
    tokenizers = tokenizer, tokenizer if target_tokenizer == source_tokenizer else Tokenizer.load(target_tokenizer)
    texts, num_pairs = _hash_and_count_pairs(source_file, target_file)
    origin = Origin(
        format=_FORMAT,
        source_text=texts[0],
        target_text=texts[1],
        source_tokenizer=tokenizers[0].fingerprint,
        target_tokenizer=tokenizers[1].fingerprint,
        max_tokens=max_tokens,
        bpe_dropout=bpe_dropout,
        seed="/".join(map(str, seed)) if bpe_dropout else "",
    )
    reusable = _open_if_made_from(folder, origin)
    if reusable is not None:
        return reusable
    remove_abandoned(folder.parent, "ids-*.partial")
    aside = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        chunks = encode_chunks(
            files=(source_file, target_file),
            tokenizers=tokenizers,
            max_tokens=max_tokens,
            bpe_dropout=bpe_dropout,
            seed=origin.seed,
            num_threads=num_threads or os.cpu_count() or 1,
        )
        _write(aside, chunks, num_pairs, origin, tokenizers)
        _publish(aside, folder, origin)
    except OSError as error:
        why = f"{error.strerror or error}; free some space, or set data.cache_dir to another folder"
        raise DiskError(f"cannot write the encoded corpus {folder}: {why}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return EncodedCorpus.open(folder)


def _hash_and_count_pairs(source_file: Path, target_file: Path) -> tuple[tuple[str, str], int]:
    """Return the SHA-256 of both files and the number of lines they have in common."""
    try:
        (source, source_lines), (target, target_lines) = map(_hash_and_count, (source_file, target_file))
    except OSError as error:
        raise UserError(f"cannot read the text to encode: {error}") from error
    if source_lines != target_lines:
        raise UserError(f"{source_file} has {source_lines} lines but {target_file} has {target_lines}: they must pair")
    return (source, target), source_lines


def _hash_and_count(path: Path) -> tuple[str, int]:
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            lines += block.count(b"\n")
            last = block[-1:]
    return digest.hexdigest(), lines + (last != b"\n")


def _open_if_made_from(folder: Path, origin: Origin) -> EncodedCorpus | None:
    if not folder.exists():
        return None
    try:
        corpus = EncodedCorpus.open(folder)
    except BadFileError as error:
        _logger.warning("encoding again: %s", error)
        return None
    return corpus if corpus.origin == origin else None


def _write(
    folder: Path, chunks: Iterator[Chunk], num_pairs: int, origin: Origin, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    lengths: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    too_long = empty = 0
    with (
        (folder / "source.ids").open("wb") as source,
        (folder / "target.ids").open("wb") as target,
        closing(Progress("encoding", total=num_pairs, unit="pairs")) as progress,
    ):
        for chunk in chunks:
            for side, file in enumerate((source, target)):
                file.write(chunk.ids[side].tobytes())
                lengths[side].append(chunk.lengths[side])
            too_long += chunk.dropped_too_long
            empty += chunk.dropped_empty
            progress.advance(chunk.num_lines)
    manifest: dict[str, Any] = {"origin": asdict(origin), "dropped_too_long": too_long, "dropped_empty": empty}
    for name, side_lengths, tokenizer in zip(SIDES, lengths, tokenizers, strict=True):
        offsets = np.cumsum(np.concatenate([[0], *side_lengths]), dtype=np.int64)
        np.save(folder / f"{name}.offsets.npy", offsets)
        manifest["pairs"] = len(offsets) - 1
        manifest[name] = {"pieces": int(offsets[-1]), "dtype": tokenizer.id_dtype.str}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _publish(aside: Path, folder: Path, origin: Origin) -> None:
    """Give the finished folder its name, on the disk too, unless another process was first with the same."""
    for path in aside.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    try:
        aside.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        if _open_if_made_from(folder, origin) is None:
            replaced = aside.with_suffix(".replaced")
            folder.rename(replaced)
            aside.rename(folder)
            shutil.rmtree(replaced, ignore_errors=True)


def _map_side(folder: Path, side: str, manifest: dict[str, Any], pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the offsets of a side; raises ValueError when they contradict the manifest."""
    pieces, dtype = int(manifest[side]["pieces"]), np.dtype(manifest[side]["dtype"])
    path = folder / f"{side}.ids"
    if dtype.kind != "u" or path.stat().st_size != pieces * dtype.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {pieces} ids of type {dtype}")
    # An empty file cannot be mapped.
    ids = np.memmap(path, dtype=dtype, mode="r").view(np.ndarray) if pieces else np.empty(0, dtype)
    offsets = np.lib.format.open_memmap(folder / f"{side}.offsets.npy", mode="r").view(np.ndarray)
    fits = offsets.shape == (pairs + 1,) and offsets.dtype == np.int64 and offsets[0] == 0 and offsets[-1] == pieces
    if not fits or np.any(np.diff(offsets) < 0):
        raise ValueError(f"{side}.offsets.npy does not fit {path.name}")
    return ids, offsets


def _slice(ids: np.ndarray, offsets: np.ndarray, index: int) -> np.ndarray:
    if not 0 <= index < len(offsets) - 1:
        raise IndexError(f"pair {index} of {len(offsets) - 1}")
    return ids[offsets[index] : offsets[index + 1]]
