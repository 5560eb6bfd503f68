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
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Int, Integer
from tqdm import tqdm

from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, DiskError, UserError

_FORMAT = 1
_SIDES = ("source", "target")
_CHUNK_PAIRS = 4096  # also what one random seed covers: part of the format
_SECONDS_BETWEEN_LINES = 10.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """Everything that decides the ids: equal origins mean equal folders."""

    format: int
    source_text: str
    target_text: str
    source_tokenizer: str
    target_tokenizer: str
    max_tokens: int | None
    bpe_dropout: float
    seed: str


class EncodedCorpus:
    """Pairs of id sequences, read from the disk as they are asked for; pickles as its folder's path.

    `source_lengths` and `target_lengths` count pieces, without begin and end marks.
    """

    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]

    def __init__(self, *, folder: Path) -> None:
        """Map the folder into memory; raises BadFileError when anything in it is missing or damaged."""
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
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadFileError(f"encoded corpus {folder}: {error}; delete the folder to encode again") from error
        self.source_lengths = np.diff(self._source_offsets).astype(np.int32)
        self.target_lengths = np.diff(self._target_offsets).astype(np.int32)

    @classmethod
    def open(cls, folder: Path) -> "EncodedCorpus":
        """The corpus in `folder`; raises BadFileError when anything in it is missing or damaged."""
        return cls(folder=folder)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """The source ids of a pair; raises IndexError outside 0 … len − 1."""
        return _slice(self._source_ids, self._source_offsets, index)

    def target(self, index: int) -> Integer[np.ndarray, " pieces"]:
        """The target ids of a pair; raises IndexError outside 0 … len − 1."""
        return _slice(self._target_ids, self._target_offsets, index)

    def __reduce__(self) -> tuple[Any, ...]:
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
    """Encode two line-aligned UTF-8 files into `folder`, or reuse it when it was made from the same.

    With `max_tokens` the pairs are for training: those with more pieces on a side, or with none, are
    dropped and counted; with None every line stays a pair. `bpe_dropout` above 0 samples the pieces, a
    pure function of the texts and `seed` (for example run seed and epoch), whatever `num_threads` is
    (None: one for each core). Memory stays bounded: a few chunks of lines at a time.

    Raises UserError when the files have different numbers of lines or cannot be read, BadFileError for
    a tokenizer that cannot be loaded, DiskError when the folder cannot be written.
    """
    tokenizers = _load_tokenizers(source_tokenizer, target_tokenizer)
    origin, num_pairs = _describe(source_file, target_file, tokenizers, max_tokens, bpe_dropout, seed)
    reusable = _open_if_made_from(folder, origin)
    if reusable is not None:
        return reusable
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        encoded = _encode(source_file, target_file, tokenizers, origin, num_threads or os.cpu_count() or 1)
        _write(aside, _with_progress(encoded, num_pairs), origin, tokenizers)
        _put_in_place(aside, folder)
    except OSError as error:
        raise DiskError(f"cannot write the encoded corpus {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return EncodedCorpus.open(folder)


@dataclass
class _Chunk:
    """What one chunk of lines became: lengths and ids by side, and the pairs left out."""

    pairs_read: int
    lengths: tuple[np.ndarray, ...]
    ids: tuple[np.ndarray, ...]
    dropped_too_long: int = 0
    dropped_empty: int = 0


def _load_tokenizers(source: Path, target: Path) -> tuple[Tokenizer, Tokenizer]:
    tokenizer = Tokenizer.load(source)
    return tokenizer, tokenizer if source == target else Tokenizer.load(target)


def _describe(
    source_file: Path,
    target_file: Path,
    tokenizers: tuple[Tokenizer, Tokenizer],
    max_tokens: int | None,
    bpe_dropout: float,
    seed: tuple[int, ...],
) -> tuple[Origin, int]:
    """The origin of the ids, and the number of pairs."""
    try:
        (source_text, source_lines), (target_text, target_lines) = map(_hash_and_count, (source_file, target_file))
    except OSError as error:
        raise UserError(f"cannot read the text to encode: {error}") from error
    if source_lines != target_lines:
        raise UserError(f"{source_file} has {source_lines} lines but {target_file} has {target_lines}: they must pair")
    origin = Origin(
        format=_FORMAT,
        source_text=source_text,
        target_text=target_text,
        source_tokenizer=tokenizers[0].fingerprint,
        target_tokenizer=tokenizers[1].fingerprint,
        max_tokens=max_tokens,
        bpe_dropout=bpe_dropout,
        seed="/".join(map(str, seed)) if bpe_dropout else "",
    )
    return origin, source_lines


def _hash_and_count(path: Path) -> tuple[str, int]:
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with open(path, "rb") as file:
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


def _encode(
    source_file: Path, target_file: Path, tokenizers: tuple[Tokenizer, Tokenizer], origin: Origin, num_threads: int
) -> Iterator[_Chunk]:
    """The chunks in the files' order. Threads suffice: SentencePiece works outside the interpreter's lock."""
    waiting: deque[Future[_Chunk]] = deque()
    with open(source_file, "rb") as source, open(target_file, "rb") as target, ThreadPoolExecutor(num_threads) as pool:
        try:
            for index, sides in enumerate(zip(_chunks_of_lines(source), _chunks_of_lines(target), strict=True)):
                waiting.append(pool.submit(_encode_chunk, index, sides, tokenizers, origin))
                if len(waiting) > 2 * num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _chunks_of_lines(file: BinaryIO) -> Iterator[list[bytes]]:
    while lines := [line.removesuffix(b"\n") for line in islice(file, _CHUNK_PAIRS)]:
        yield lines


def _encode_chunk(
    index: int, sides: tuple[list[bytes], list[bytes]], tokenizers: tuple[Tokenizer, Tokenizer], origin: Origin
) -> _Chunk:
    lengths, ids = [], []
    for side, lines, tokenizer in zip(_SIDES, sides, tokenizers, strict=True):
        seed = hashlib.sha256(f"{origin.seed}/{index}/{side}".encode()).digest()[:4]
        side_lengths, side_ids = tokenizer.encode_lines(
            lines, alpha=origin.bpe_dropout, seed=int.from_bytes(seed, "little")
        )
        lengths.append(side_lengths)
        ids.append(side_ids)
    chunk = _Chunk(pairs_read=len(sides[0]), lengths=tuple(lengths), ids=tuple(ids))
    return chunk if origin.max_tokens is None else _drop(chunk, origin.max_tokens)


def _drop(chunk: _Chunk, max_tokens: int) -> _Chunk:
    """Leave out the pairs that are too long or empty on a side."""
    source, target = chunk.lengths
    empty = (source == 0) | (target == 0)
    too_long = ~empty & ((source > max_tokens) | (target > max_tokens))
    kept = ~(empty | too_long)
    return _Chunk(
        pairs_read=chunk.pairs_read,
        lengths=(source[kept], target[kept]),
        ids=(chunk.ids[0][np.repeat(kept, source)], chunk.ids[1][np.repeat(kept, target)]),
        dropped_too_long=int(too_long.sum()),
        dropped_empty=int(empty.sum()),
    )


def _with_progress(chunks: Iterator[_Chunk], num_pairs: int) -> Iterator[_Chunk]:
    """A bar on a terminal, else a line every ten seconds."""
    on_terminal = sys.stderr.isatty()
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
    with tqdm(total=num_pairs, desc="encoding", unit=" pairs", delay=1, disable=not on_terminal) as bar:
        done = 0
        for chunk in chunks:
            done += chunk.pairs_read
            bar.update(chunk.pairs_read)
            if not on_terminal and time.monotonic() > next_line:
                next_line += _SECONDS_BETWEEN_LINES
                _logger.info("encoding: %d of %d pairs", done, num_pairs)
            yield chunk


def _write(folder: Path, chunks: Iterator[_Chunk], origin: Origin, tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    lengths: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    too_long = empty = 0
    with open(folder / "source.ids", "wb") as source, open(folder / "target.ids", "wb") as target:
        for chunk in chunks:
            for side, file in enumerate((source, target)):
                file.write(chunk.ids[side].tobytes())
                lengths[side].append(chunk.lengths[side])
            too_long += chunk.dropped_too_long
            empty += chunk.dropped_empty
    manifest: dict[str, Any] = {"origin": asdict(origin), "dropped_too_long": too_long, "dropped_empty": empty}
    for name, side_lengths, tokenizer in zip(_SIDES, lengths, tokenizers, strict=True):
        offsets = np.cumsum(np.concatenate([[0], *side_lengths]), dtype=np.int64)
        np.save(folder / f"{name}.offsets.npy", offsets)
        manifest["pairs"] = len(offsets) - 1
        manifest[name] = {"pieces": int(offsets[-1]), "dtype": tokenizer.id_dtype.str}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _put_in_place(aside: Path, folder: Path) -> None:
    """Rename the finished folder; what stood there before goes first."""
    if folder.exists():
        replaced = aside.with_suffix(".replaced")
        os.rename(folder, replaced)
        shutil.rmtree(replaced, ignore_errors=True)
    os.rename(aside, folder)


def _map_side(folder: Path, side: str, manifest: dict[str, Any], pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the offsets of a side; raises ValueError when they contradict the manifest."""
    pieces, dtype = int(manifest[side]["pieces"]), np.dtype(manifest[side]["dtype"])
    path = folder / f"{side}.ids"
    if dtype.kind != "u" or path.stat().st_size != pieces * dtype.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {pieces} ids of type {dtype}")
    # An empty file cannot be mapped.
    ids = np.memmap(path, dtype=dtype, mode="r").view(np.ndarray) if pieces else np.empty(0, dtype)
    offsets = np.load(folder / f"{side}.offsets.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
    fits = offsets.shape == (pairs + 1,) and offsets.dtype == np.int64 and offsets[0] == 0 and offsets[-1] == pieces
    if not fits or np.any(np.diff(offsets) < 0):
        raise ValueError(f"{side}.offsets.npy does not fit {path.name}")
    return ids, offsets


def _slice(ids: np.ndarray, offsets: np.ndarray, index: int) -> np.ndarray:
    if not 0 <= index < len(offsets) - 1:
        raise IndexError(f"pair {index} of {len(offsets) - 1}")
    return ids[offsets[index] : offsets[index + 1]]
