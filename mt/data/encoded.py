"""A parallel corpus as subword ids on disk, written once and then mapped into memory.

A folder of the cache holds, for `source` and `target`, all ids one after another (`source.ids`, little-endian) and
the index at which each sentence begins (`source.offsets.npy`).
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import chain, compress
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from mt.data.augmentation import Augmentation
from mt.data.batch import Ids, Pairs
from mt.data.cache import Facts, cached_folder
from mt.data.filters import Split
from mt.data.lines import blocks, read_lines
from mt.data.text_cache import SIDES, PreparedText, Side
from mt.data.tokenizer import Tokenizer
from mt.reporting import Progress

CHUNK_PAIRS = 4096  # also the pairs that share a seed of BPE-dropout: another number gives other samples
_FORMAT = 6

Encode = Callable[[int, Sequence[Sequence[str]]], list[list[list[int]]]]  # both sides of the chunk of a number


def encode_corpus(
    text: PreparedText,
    split: Split,
    *,
    tokenizer_paths: tuple[Path, Path],
    cache_dir: Path,
    max_tokens: int | None,
    bpe_dropout: float = 0.0,
    augmentation: Augmentation | None = None,
    seed: tuple[int, ...] = (),
    num_threads: int = -1,
) -> Pairs:
    """Encode a split into a folder of `cache_dir`, or reuse the one made from the same text and tokenizers.

    With `max_tokens` the pairs are for training: those with more subwords on a side, which are counted, or with none
    are dropped; with None every line stays a pair. `augmentation` changes each pair as a pure function of `seed` (for
    example run seed and epoch) and its number; `bpe_dropout` above 0 then samples the subwords, a pure function of the
    texts and `seed`; without, `num_threads` encode (-1: one for each core). Of what is drawn by either `cache_dir`
    keeps the newest two, so it must be a folder inside the run's own.

    Raises BadFileError for a tokenizer that cannot be loaded, DiskError when the folder cannot be written.
    """
    tokenizers = list(map(cache(Tokenizer.load), tokenizer_paths))
    origin: list[object] = [_FORMAT, text.fingerprint, split, *(one.fingerprint for one in tokenizers), max_tokens]

    def subwords(chunk: int, sides: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        if not bpe_dropout:
            return [one.encode_many(side, num_threads=num_threads) for one, side in zip(tokenizers, sides, strict=True)]
        return [
            one.encode_sampled(lines, alpha=bpe_dropout, seed=f"{seed} {chunk} {side}")
            for one, lines, side in zip(tokenizers, sides, SIDES, strict=True)
        ]

    most = inf if max_tokens is None else max_tokens
    encode: Encode = subwords
    if augmentation is not None:
        encode = partial(_changed, augmentation=augmentation, subwords=subwords, most=most, seed=seed)
    small = max(one.vocab_size for one in tokenizers) <= 1 << 16
    write = partial(_write, text, split, encode, dtype="<u2" if small else "<u4", most=max_tokens)
    if not bpe_dropout and augmentation is None:
        return _mapped(*cached_folder(cache_dir, "ids", origin, write))
    origin += [bpe_dropout, augmentation and asdict(augmentation), seed]
    sample = cached_folder(cache_dir, "sample", origin, write, key="run_dir")
    samples = sorted(cache_dir.glob(f"sample-{'?' * 32}"), key=lambda path: path.stat().st_mtime_ns)
    for old in samples[:-2]:  # another rank may still read the epoch before
        shutil.rmtree(old, ignore_errors=True)
    return _mapped(*sample)


def _changed(
    chunk: int,
    sides: Sequence[Sequence[str]],
    *,
    augmentation: Augmentation,
    subwords: Encode,
    most: float,
    seed: tuple[int, ...],
) -> list[list[list[int]]]:
    """The subwords of a chunk as it is changed; a pair that is too long with another after it stays alone."""
    pairs, first = list(zip(*sides, strict=True)), chunk * CHUNK_PAIRS
    ids = subwords(chunk, list(zip(*augmentation.all_changed(pairs, first=first, seed=seed), strict=True)))
    too_long = [number for number, both in enumerate(zip(*ids, strict=True)) if max(map(len, both)) > most]
    if augmentation.joined and too_long:
        alone = replace(augmentation, joined=0.0).all_changed(pairs, first=first, seed=seed)
        again = subwords(chunk, list(zip(*(alone[number] for number in too_long), strict=True)))
        for side, new in zip(ids, again, strict=True):
            for number, one in zip(too_long, new, strict=True):
                side[number] = one
    return ids


def _mapped(folder: Path, facts: Facts) -> Pairs:
    """The pairs of a folder of the cache, which are read from the disk as they are asked for."""

    def side(name: Side) -> tuple[Callable[[int], Ids], Int[np.ndarray, " pairs"]]:
        path, dtype = folder / f"{name}.ids", np.dtype(facts["dtype"])
        # An empty file cannot be mapped.
        mapped = np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)
        ids, offsets = mapped.view(np.ndarray), np.load(folder / f"{name}.offsets.npy", mmap_mode="r").view(np.ndarray)
        return lambda index: ids[offsets[index] : offsets[index + 1]], np.diff(offsets).astype(np.int32)

    (source, source_lengths), (target, target_lengths) = map(side, SIDES)
    return Pairs(source, target, source_lengths, target_lengths, dropped_too_long=facts["dropped_too_long"])


def _write(text: PreparedText, split: Split, encode: Encode, folder: Path, *, dtype: str, most: int | None) -> Facts:
    """Write the ids and offsets of both sides of the pairs to keep, which have at `most` as many subwords."""
    all_lengths = [np.zeros((2, 1), dtype=np.int64)]  # the first sentence begins at 0
    too_long = 0
    chunks = (blocks(read_lines(str(text.path(split, side))), CHUNK_PAIRS) for side in SIDES)
    with (
        (folder / "source.ids").open("wb") as source_file,
        (folder / "target.ids").open("wb") as target_file,
        closing(Progress("encoding", total=text.sizes[split], unit="pairs")) as progress,
    ):
        for number, lines in enumerate(zip(*chunks, strict=True)):
            ids = encode(number, lines)
            lengths = np.array([list(map(len, side_ids)) for side_ids in ids])
            kept: Any = np.ones(lengths.shape[1], dtype=bool)
            if most is not None:
                has_text = (lengths > 0).all(axis=0)
                kept = has_text & (lengths <= most).all(axis=0)
                too_long += int((has_text & ~kept).sum())
            for file, side_ids in zip((source_file, target_file), ids, strict=True):
                file.write(np.fromiter(chain.from_iterable(compress(side_ids, kept.tolist())), dtype).tobytes())
            all_lengths.append(lengths[:, kept])
            progress.advance(len(kept))
    for side, offsets in zip(SIDES, np.concatenate(all_lengths, axis=1).cumsum(axis=1), strict=True):
        np.save(folder / f"{side}.offsets.npy", offsets)
    return {"dropped_too_long": too_long, "dtype": dtype}
