"""Line-aligned text becomes piece ids, some thousand pairs at a time, on all cores and in order."""

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Int32, Integer

from mt.data.tokenizer import Tokenizer

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
