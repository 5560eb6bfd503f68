"""One text as blocks of tokens, on which a language model is trained: BOS and a block in, the block out.

An encoder alone is a masked language model (Devlin et al. 2019, section 3.1): of the tokens of a row 15 % are chosen,
and the loss is on these alone. Instead of a chosen one the model reads the mask (80 %), a token drawn from the
vocabulary (10 %) or the token itself (10 %).

The beginning of the text is for training, its end is held out. Both are files of the target side alone, and nothing in
them is changed: the tokenizer of a text keeps line breaks and spaces as they are.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Integer
from torch.nn import functional

from mt.data.batch import Batch, Ids, Pairs, padded, source_tensor
from mt.data.cache import Facts, cached_folder
from mt.data.corpus import FileCorpus
from mt.data.filters import FilterReport
from mt.data.lines import blocks, encode_lines, read_lines
from mt.data.text_cache import PreparedText
from mt.data.tokenizer import BOS, EOS, PAD, Tokenizer
from mt.errors import UserError

_FORMAT = 1
_CHUNK_LINES = 8192
CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1  # shares of all tokens, and of those chosen


def prepare_single_text(path: str, *, held_out_share: float, cache_dir: Path) -> PreparedText:
    """The text in a cache folder, cut into its beginning and the share at its end. Raises UserError, DiskError."""

    def write(folder: Path) -> Facts:
        text = "\n".join(read_lines(path))
        cut = len(text) - int(held_out_share * len(text))
        parts = {"train": text[:cut].split("\n"), "validation": text[cut:].split("\n")}
        if not all(map(any, parts.values())):
            raise UserError(f"data.text: {path} has too little text for data.held_out_share = {held_out_share:g}")
        for split, lines in parts.items():
            (folder / f"{split}.target").write_bytes(encode_lines(lines, at_file_start=True))
        return {split: len(lines) for split, lines in parts.items()}

    fingerprint = FileCorpus(source=path, source_language="", target_language="").fingerprint()
    origin = ["single text", _FORMAT, held_out_share, fingerprint]
    folder, lines = cached_folder(cache_dir, "text", origin, write)
    report = FilterReport(read=lines["train"], dropped={}, held_out={"validation": lines["validation"]})
    return PreparedText(folder=folder, fingerprint=folder.name, report=report)


def encode_text(path: Path, tokenizer: Tokenizer) -> Integer[np.ndarray, " tokens"]:
    """All tokens of a text file, a line break after every line."""
    dtype = np.dtype("<u2" if tokenizer.vocab_size <= 1 << 16 else "<u4")
    ids = [np.empty(0, dtype)]
    for lines in blocks(read_lines(str(path)), _CHUNK_LINES):
        # Cut only where every tokenizer has two words: GPT-2's joins line breaks and the spaces next to them.
        text = re.split(r"(?<=\S\n)(?=\S)", "".join(f"{line}\n" for line in lines))
        ids += [np.array(line, dtype) for line in tokenizer.encode_many(text, num_threads=-1)]
    return np.concatenate(ids)


def encoded_text(
    path: Path, tokenizer: Tokenizer, *, fingerprint: str, cache_dir: Path
) -> Integer[np.ndarray, " tokens"]:
    """The tokens of the text file of this `fingerprint`, mapped into memory from a cache folder. Raises DiskError."""

    def write(folder: Path) -> Facts:
        ids = encode_text(path, tokenizer)
        (folder / "target.ids").write_bytes(ids.tobytes())
        return {"dtype": ids.dtype.str}

    origin = ["single text", _FORMAT, fingerprint, path.name, tokenizer.fingerprint]
    folder, facts = cached_folder(cache_dir, "ids", origin, write)
    return np.memmap(folder / "target.ids", dtype=np.dtype(facts["dtype"]), mode="r").view(np.ndarray)


def drawn_start(num_tokens: int, *, block_tokens: int, seed: tuple[int, int]) -> int:
    """Where the first block of an epoch begins: within a block's length, so that a whole block is left."""
    random = np.random.Generator(np.random.PCG64([*seed, block_tokens]))
    return int(random.integers(max(1, min(block_tokens, num_tokens - block_tokens + 1))))


def text_blocks(ids: Integer[np.ndarray, " tokens"], *, block_tokens: int, start: int = 0) -> Pairs:
    """A text as pairs of an empty source and a block of `block_tokens`, the first of which begins at `start`.

    The last block may be shorter. Lengths are those of `Pairs`, which do not count the EOS that a block does not have.
    """
    starts = np.arange(start, len(ids), block_tokens)
    ends = np.minimum(starts + block_tokens, len(ids))
    lengths = (ends - starts - 1).astype(np.int32)
    return Pairs(
        source=lambda _: ids[:0],
        target=lambda index: ids[starts[index] : ends[index]],
        source_lengths=np.full_like(lengths, -1),
        target_lengths=lengths,
        make_batch=make_block_batch,
    )


def make_block_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Blocks as one batch without sources: each token is predicted from BOS and those before it."""
    del sources
    output = torch.from_numpy(padded(targets))
    before = functional.pad(output, (1, -1), value=BOS).masked_fill(output == PAD, PAD)
    return Batch.of(output[:, :0], before, output)


def masked_blocks(blocks: Pairs, *, mask: int, vocab_size: int, seed: tuple[int, int]) -> Pairs:
    """Rows of BOS and a block, to which batches add EOS, as sources, and the tokens chosen in them as targets.

    Of a row 15 % of the tokens, rounded, and at least one are drawn by `seed` and the number of its block alone. Where
    a token is chosen, the source holds ~id instead of the id that the model reads.
    """
    lengths = blocks.target_lengths + 1
    counts = np.maximum(np.rint(CHOSEN * lengths), 1).astype(np.int32)

    def drawn(index: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
        """A row, the positions chosen in it, ascending, and the generator that drew them."""
        random = np.random.Generator(np.random.PCG64([*seed, index]))
        chosen = np.sort(random.choice(lengths[index], counts[index], replace=False)) + 1
        return np.array([BOS, *blocks.target(index)], dtype=np.int32), chosen, random

    def source(index: int) -> Integer[np.ndarray, " tokens"]:
        row, chosen, random = drawn(index)
        chance, others = random.random(len(chosen)), random.integers(EOS + 1, vocab_size, len(chosen))
        row[chosen] = ~np.where(chance < MASKED, mask, np.where(chance < MASKED + REPLACED, others, row[chosen]))
        return row

    def target(index: int) -> Integer[np.ndarray, " chosen"]:
        row, chosen, _ = drawn(index)
        return row[chosen]

    return Pairs(source, target, lengths + 1, counts - 1, make_masked_batch)


def make_masked_batch(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Rows of `masked_blocks` as one batch, whose target input holds the chosen positions of each row.

    Of a row without marks, such as one made up to find out what fits in memory, all positions count.
    """
    rows = [np.asarray(source) for source in sources]
    marked = [np.flatnonzero(row < 0) for row in rows]
    positions = [own if len(own) else np.arange(len(target)) for own, target in zip(marked, targets, strict=True)]
    source = source_tensor([np.where(row < 0, ~row, row) for row in rows])
    return Batch.of(source, torch.from_numpy(padded(positions)), torch.from_numpy(padded(targets)))
