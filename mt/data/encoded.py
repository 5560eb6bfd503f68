"""A parallel corpus as subword ids on disk, written once and then mapped into memory.

A folder of the cache holds, for `source` and `target`, all ids one after another (`source.ids`, little-endian) and
the index at which each sentence begins (`source.offsets.npy`).
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, Int32, Integer

from mt.data.cache import Facts, cached_folder
from mt.data.filters import Split
from mt.data.lines import read_lines
from mt.data.text_cache import PreparedText
from mt.data.tokenizer import Tokenizer
from mt.reporting import Progress

SIDES = ("source", "target")
CHUNK_PAIRS = 4096  # also the pairs that share a random seed: another number gives other samples
_FORMAT = 4

Chunk = tuple[int, tuple[list[str], list[str]]]  # its number, and the lines of both sides
Encoded = tuple[Int32[np.ndarray, "_"], Integer[np.ndarray, "_"]]  # the subwords of each line, and all ids


def encode_corpus(
    text: PreparedText,
    split: Split,
    *,
    tokenizer_paths: tuple[Path, Path],
    cache_dir: Path,
    max_tokens: int | None,
    bpe_dropout: float = 0.0,
    seed: tuple[int, ...] = (),
    num_threads: int | None = None,
) -> "EncodedCorpus":
    """Encode a split into a folder of `cache_dir`, or reuse the one made from the same text and tokenizers.

    With `max_tokens` the pairs are for training: those with more subwords on a side, or with none, are dropped and
    counted; with None every line stays a pair. `bpe_dropout` above 0 samples the subwords, a pure function of the
    texts and `seed` (for example run seed and epoch) for any `num_threads` (None: one for each core). Of such
    samples `cache_dir` keeps the newest two, so it must be a folder inside the run's own.

    Raises BadFileError for a tokenizer that cannot be loaded, DiskError when the folder cannot be written.
    """
    loaded = {path: Tokenizer.load(path) for path in tokenizer_paths}
    source, target = (loaded[path] for path in tokenizer_paths)
    origin: list[object] = [_FORMAT, text.fingerprint, split, source.fingerprint, target.fingerprint, max_tokens]
    encode = partial(_encode_chunk, tokenizers=(source, target), bpe_dropout=bpe_dropout, seed="/".join(map(str, seed)))
    write = partial(
        _write,
        chunks=_encode_chunks(
            encode, text.path(split, "source"), text.path(split, "target"), num_threads or os.cpu_count() or 1
        ),
        dtypes=(source.id_dtype.str, target.id_dtype.str),
        max_tokens=max_tokens,
        num_pairs=text.sizes[split],
    )
    if not bpe_dropout:
        return EncodedCorpus(*cached_folder(cache_dir, "ids", origin, write))
    sample = cached_folder(cache_dir, "sample", [*origin, bpe_dropout, seed], write, key="run_dir")
    samples = sorted(cache_dir.glob(f"sample-{'?' * 32}"), key=lambda path: path.stat().st_mtime_ns)
    for old in samples[:-2]:  # another rank may still read the epoch before
        shutil.rmtree(old, ignore_errors=True)
    return EncodedCorpus(*sample)


class EncodedCorpus:
    """Pairs of id sequences, read from the disk as they are asked for.

    `source_lengths` and `target_lengths` count subwords, without begin and end marks.
    """

    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]

    def __init__(self, folder: Path, facts: Facts) -> None:
        """Map a folder of the cache into memory."""
        self.folder = folder
        self.dropped_too_long: int = facts["dropped_too_long"]
        self.dropped_empty: int = facts["dropped_empty"]
        (self._source_ids, self._source_offsets), (self._target_ids, self._target_offsets) = (
            _map_side(folder, side, np.dtype(dtype)) for side, dtype in zip(SIDES, facts["dtypes"], strict=True)
        )
        self.source_lengths = np.diff(self._source_offsets).astype(np.int32)
        self.target_lengths = np.diff(self._target_offsets).astype(np.int32)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source_lengths)

    def source(self, index: int) -> Integer[np.ndarray, " subwords"]:
        """Return the source ids of a pair, without begin and end marks."""
        return self._source_ids[self._source_offsets[index] : self._source_offsets[index + 1]]

    def target(self, index: int) -> Integer[np.ndarray, " subwords"]:
        """Return the target ids of a pair, without begin and end marks."""
        return self._target_ids[self._target_offsets[index] : self._target_offsets[index + 1]]


def _map_side(folder: Path, side: str, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the offsets of a side."""
    path = folder / f"{side}.ids"
    # An empty file cannot be mapped.
    ids = np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)
    return ids.view(np.ndarray), np.load(folder / f"{side}.offsets.npy", mmap_mode="r").view(np.ndarray)


def _write(
    begin: Callable[[], Path],
    *,
    chunks: Iterator[tuple[Encoded, Encoded]],
    dtypes: tuple[str, str],
    max_tokens: int | None,
    num_pairs: int,
) -> Facts:
    """Write the ids and offsets of both sides of the pairs to keep."""
    folder = begin()
    all_lengths: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    too_long = empty = 0
    with (
        (folder / "source.ids").open("wb") as source_file,
        (folder / "target.ids").open("wb") as target_file,
        closing(Progress("encoding", total=num_pairs, unit="pairs")) as progress,
    ):
        for (source_lengths, source_ids), (target_lengths, target_ids) in chunks:
            kept = np.ones(len(source_lengths), dtype=bool)
            if max_tokens is not None:
                has_text = (source_lengths > 0) & (target_lengths > 0)
                kept = has_text & (source_lengths <= max_tokens) & (target_lengths <= max_tokens)
                empty += int((~has_text).sum())
                too_long += int((has_text & ~kept).sum())
            source_file.write(source_ids[np.repeat(kept, source_lengths)].tobytes())
            target_file.write(target_ids[np.repeat(kept, target_lengths)].tobytes())
            all_lengths[0].append(source_lengths[kept])
            all_lengths[1].append(target_lengths[kept])
            progress.advance(len(kept))
    for side, lengths in zip(SIDES, all_lengths, strict=True):
        np.save(folder / f"{side}.offsets.npy", np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64))
    return {"dropped_too_long": too_long, "dropped_empty": empty, "dtypes": dtypes}


def _encode_chunks(
    encode: Callable[[Chunk], tuple[Encoded, Encoded]], source_file: Path, target_file: Path, num_threads: int
) -> Iterator[tuple[Encoded, Encoded]]:
    """Yield two line-aligned files as ids, a chunk at a time, in order.

    Threads suffice: SentencePiece works outside the interpreter's lock. While some chunks are handed on, as many
    as there are threads are encoded.
    """
    chunks = enumerate(zip(_chunks_of_lines(source_file), _chunks_of_lines(target_file), strict=True))
    with ThreadPoolExecutor(num_threads) as pool:
        ready: Iterator[tuple[Encoded, Encoded]] = iter(())
        while group := list(islice(chunks, num_threads)):
            following = pool.map(encode, group)
            yield from ready
            ready = following
        yield from ready


def _chunks_of_lines(file: Path) -> Iterator[list[str]]:
    lines = read_lines(str(file))
    while chunk := list(islice(lines, CHUNK_PAIRS)):
        yield chunk


def _encode_chunk(
    chunk: Chunk, *, tokenizers: tuple[Tokenizer, Tokenizer], bpe_dropout: float, seed: str
) -> tuple[Encoded, Encoded]:
    number, sides = chunk

    def encode(side: int) -> Encoded:
        digest = hashlib.sha256(f"{seed}/{number}/{SIDES[side]}".encode()).digest()
        side_seed = int.from_bytes(digest[:4], "little")
        return tokenizers[side].encode_lines(sides[side], alpha=bpe_dropout, seed=side_seed)

    return encode(0), encode(1)
