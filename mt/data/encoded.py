"""A parallel corpus as subword ids on disk, written once and then mapped into memory.

A folder holds, for `source` and `target`, all ids one after another (`source.ids`, little-endian) and the index at
which each sentence begins (`source.offsets.npy`); `manifest.json` has the sizes that the files must have. Its name
is a hash of everything that decides the ids, so that a folder of that name need not be made again.
"""

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Int, Int32, Integer

from mt.data.cache import publish_folder
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError, UserError
from mt.reporting import Progress

SIDES = ("source", "target")
CHUNK_PAIRS = 4096  # also the pairs that share a random seed: another number gives other samples
_FORMAT = 3


def encode_corpus(
    *,
    source_file: Path,
    target_file: Path,
    source_tokenizer: Path,
    target_tokenizer: Path,
    cache_dir: Path,
    max_tokens: int | None,
    bpe_dropout: float = 0.0,
    seed: tuple[int, ...] = (),
    num_threads: int | None = None,
) -> "EncodedCorpus":
    """Encode two line-aligned UTF-8 files into a folder of `cache_dir`, or reuse the one made from the same content.

    With `max_tokens` the pairs are for training: those with more subwords on a side, or with none, are dropped and
    counted; with None every line stays a pair. `bpe_dropout` above 0 samples the subwords, a pure function of the
    texts and `seed` (for example run seed and epoch) for any `num_threads` (None: one for each core). Of such
    samples `cache_dir` keeps the newest two, so it must be a folder inside the run's own.

    Raises UserError when the files have different numbers of lines or cannot be read, BadFileError for
    a tokenizer that cannot be loaded, DiskError when the folder cannot be written.
    """
    tokenizer = Tokenizer.load(source_tokenizer)
    tokenizers = tokenizer, tokenizer if target_tokenizer == source_tokenizer else Tokenizer.load(target_tokenizer)
    texts, num_pairs = _hash_and_count_pairs(source_file, target_file)
    origin: list[object] = [_FORMAT, texts, [one.fingerprint for one in tokenizers], max_tokens]
    if bpe_dropout:
        origin += [bpe_dropout, seed]
    prefix = "sample" if bpe_dropout else "ids"
    folder = cache_dir / f"{prefix}-{hashlib.sha256(json.dumps(origin).encode()).hexdigest()[:32]}"
    if not _is_whole(folder):
        chunks = _encode_chunks(
            files=(source_file, target_file),
            tokenizers=tokenizers,
            max_tokens=max_tokens,
            bpe_dropout=bpe_dropout,
            seed="/".join(map(str, seed)) if bpe_dropout else "",
            num_threads=num_threads or os.cpu_count() or 1,
        )
        write = partial(_write, chunks=chunks, num_pairs=num_pairs, tokenizers=tokenizers)
        key = "run_dir" if bpe_dropout else "data.cache_dir"
        publish_folder(folder, write, is_whole=partial(_is_whole, folder), key=key)
        if bpe_dropout:  # another rank may still read the epoch before
            samples = sorted(cache_dir.glob(f"sample-{'?' * 32}"), key=lambda path: path.stat().st_mtime_ns)
            for sample in samples[:-2]:
                shutil.rmtree(sample, ignore_errors=True)
    return EncodedCorpus(folder)


class EncodedCorpus:
    """Pairs of id sequences, read from the disk as they are asked for.

    `source_lengths` and `target_lengths` count subwords, without begin and end marks.
    """

    source_lengths: Int[np.ndarray, " pairs"]
    target_lengths: Int[np.ndarray, " pairs"]

    def __init__(self, folder: Path) -> None:
        """Map the folder into memory. Raises BadFileError when a file is missing, cut short or contradicts another."""
        self.folder = folder
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            self.dropped_too_long = int(manifest["dropped_too_long"])
            self.dropped_empty = int(manifest["dropped_empty"])
            self._source_ids, self._source_offsets = _map_side(folder, "source", manifest)
            self._target_ids, self._target_offsets = _map_side(folder, "target", manifest)
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BadFileError(f"encoded corpus {folder}: {error}; delete the folder to encode again") from error
        self.source_lengths = np.diff(self._source_offsets).astype(np.int32)
        self.target_lengths = np.diff(self._target_offsets).astype(np.int32)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source_lengths)

    def source(self, index: int) -> Integer[np.ndarray, " subwords"]:
        """Return the source ids of a pair, without begin and end marks. Raises IndexError outside 0 … len − 1."""
        return _slice(self._source_ids, self._source_offsets, index)

    def target(self, index: int) -> Integer[np.ndarray, " subwords"]:
        """Return the target ids of a pair, without begin and end marks. Raises IndexError outside 0 … len − 1."""
        return _slice(self._target_ids, self._target_offsets, index)


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


def _is_whole(folder: Path) -> bool:
    try:
        EncodedCorpus(folder)
    except BadFileError:
        return False
    return True


def _map_side(folder: Path, side: str, manifest: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the offsets of a side; raises ValueError when they contradict the manifest."""
    num_ids, dtype = int(manifest[side]["ids"]), np.dtype(manifest[side]["dtype"])
    path = folder / f"{side}.ids"
    if dtype.kind != "u" or path.stat().st_size != num_ids * dtype.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {num_ids} ids of type {dtype}")
    # An empty file cannot be mapped.
    ids = np.memmap(path, dtype=dtype, mode="r").view(np.ndarray) if num_ids else np.empty(0, dtype)
    offsets = np.lib.format.open_memmap(folder / f"{side}.offsets.npy", mode="r").view(np.ndarray)
    fits = offsets.shape == (int(manifest["pairs"]) + 1,) and offsets.dtype == np.int64
    if not fits or offsets[0] != 0 or offsets[-1] != num_ids or np.any(np.diff(offsets) < 0):
        raise ValueError(f"{side}.offsets.npy does not fit {path.name}")
    return ids, offsets


def _slice(ids: np.ndarray, offsets: np.ndarray, index: int) -> np.ndarray:
    if not 0 <= index < len(offsets) - 1:
        raise IndexError(f"pair {index} of {len(offsets) - 1}")
    return ids[offsets[index] : offsets[index + 1]]


@dataclass(frozen=True)
class _Chunk:
    """A run of lines as ids, by side: all ids one after another, and the number that belongs to each line."""

    num_lines: int
    lengths: tuple[Int32[np.ndarray, " pairs"], ...]
    ids: tuple[Integer[np.ndarray, "_"], ...]  # as many as the lengths add up to
    dropped_too_long: int = 0
    dropped_empty: int = 0


def _write(folder: Path, *, chunks: Iterator[_Chunk], num_pairs: int, tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
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
    manifest: dict[str, Any] = {"dropped_too_long": too_long, "dropped_empty": empty}
    for name, side_lengths, tokenizer in zip(SIDES, lengths, tokenizers, strict=True):
        offsets = np.cumsum(np.concatenate([[0], *side_lengths]), dtype=np.int64)
        np.save(folder / f"{name}.offsets.npy", offsets)
        manifest["pairs"] = len(offsets) - 1
        manifest[name] = {"ids": int(offsets[-1]), "dtype": tokenizer.id_dtype.str}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _encode_chunks(
    *,
    files: tuple[Path, Path],
    tokenizers: tuple[Tokenizer, Tokenizer],
    max_tokens: int | None,
    bpe_dropout: float,
    seed: str,
    num_threads: int,
) -> Iterator[_Chunk]:
    """Yield the source and target file as chunks, in the files' order.

    Threads suffice: SentencePiece works outside the interpreter's lock. At most 2 · `num_threads` + 1 chunks are
    in memory. Raises OSError for a file that cannot be read.
    """
    encode = partial(_encode_chunk, tokenizers=tokenizers, max_tokens=max_tokens, bpe_dropout=bpe_dropout, seed=seed)
    waiting: deque[Future[_Chunk]] = deque()
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
) -> _Chunk:
    encoded = []
    for side, side_lines, tokenizer in zip(SIDES, lines, tokenizers, strict=True):
        digest = hashlib.sha256(f"{seed}/{index}/{side}".encode()).digest()
        side_seed = int.from_bytes(digest[:4], "little")
        encoded.append(tokenizer.encode_lines(side_lines, alpha=bpe_dropout, seed=side_seed))
    (source_lengths, source_ids), (target_lengths, target_ids) = encoded
    chunk = _Chunk(len(lines[0]), (source_lengths, target_lengths), (source_ids, target_ids))
    return chunk if max_tokens is None else _drop_unfit(chunk, max_tokens)


def _drop_unfit(chunk: _Chunk, max_tokens: int) -> _Chunk:
    source, target = chunk.lengths
    empty = (source == 0) | (target == 0)
    too_long = ~empty & ((source > max_tokens) | (target > max_tokens))
    kept = ~(empty | too_long)
    return _Chunk(
        num_lines=chunk.num_lines,
        lengths=(source[kept], target[kept]),
        ids=(chunk.ids[0][np.repeat(kept, source)], chunk.ids[1][np.repeat(kept, target)]),
        dropped_too_long=int(too_long.sum()),
        dropped_empty=int(empty.sum()),
    )
