"""What a run learns from and is validated on: pairs of sentences, blocks of a text, or rows with their classes."""

from collections.abc import Sequence
from pathlib import Path

from mt import build
from mt.api import load_tokenizers
from mt.config.checks import classifies
from mt.config.schema import LabelledData, TextData, TrainConfig
from mt.data.batch import Pairs
from mt.data.encoded import encode_corpus
from mt.data.lines import read_lines
from mt.data.pair_faults import examples, read_pairs
from mt.data.rows import labelled_rows, rows_of_texts
from mt.data.text_blocks import drawn_start, encode_text, encoded_text, masked_blocks, text_blocks
from mt.data.text_cache import SIDES, PreparedText
from mt.data.tokenizer import Tokenizer
from mt.runs.folder import HELD_OUT_TEXT, held_out_text, tokenizer_paths


def are_drawn(config: TrainConfig) -> bool:
    """Whether the training pairs of each epoch are others, and not only in another order."""
    return classifies(config) or isinstance(config.data, TextData) or _pairs_change(config)


def _pairs_change(config: TrainConfig) -> bool:
    """Whether a pair of sentences, or its subwords, are drawn again for each epoch."""
    return bool(config.tokenizer.bpe_dropout) or build.augmentation(config.data) is not None


def training_pairs(config: TrainConfig, text: PreparedText, *, epoch: int) -> Pairs:
    """The training pairs of an epoch, a pure function of the seed and the epoch; mapped into memory where possible."""
    run_dir, data, cache_dir = Path(config.run_dir), config.data, Path(config.data.cache_dir)
    paths = [text.path("train", side) for side in SIDES]
    if isinstance(data, TextData):
        _, tokenizer = load_tokenizers(config, run_dir)
        ids = encoded_text(paths[1], tokenizer, fingerprint=text.fingerprint, cache_dir=cache_dir)
        start = drawn_start(len(ids), block_tokens=data.block_tokens, seed=(config.seed, epoch))
        blocks = text_blocks(ids, block_tokens=data.block_tokens, start=start)
        return _as_read(config, blocks, tokenizer, seed=(config.seed, epoch))
    if classifies(config):
        return _labelled(config, run_dir, paths, seed=(config.seed, epoch))
    return encode_corpus(
        text,
        "train",
        tokenizer_paths=tokenizer_paths(run_dir, shared_vocab=config.tokenizer.shared_vocab),
        cache_dir=run_dir / HELD_OUT_TEXT if _pairs_change(config) else cache_dir,
        max_tokens=data.filters.max_tokens,
        bpe_dropout=config.tokenizer.bpe_dropout,
        augmentation=build.augmentation(data),
        seed=(config.seed, epoch),
    )


def held_out_pairs(config: TrainConfig, run_dir: Path) -> Pairs | None:
    """The validation split in the run folder, None without one.

    Blocks of a text do not see those before them. Hidden tokens are always the same ones, and of pairs to classify
    every other has a fault, always the same one. Raises BadFileError for a damaged tokenizer.
    """
    paths = [held_out_text(run_dir, "validation", side) for side in SIDES]
    tokenizers = load_tokenizers(config, run_dir)
    if isinstance(config.data, TextData) and paths[1].exists():
        blocks = text_blocks(encode_text(paths[1], tokenizers[1]), block_tokens=config.data.block_tokens)
        return _as_read(config, blocks, tokenizers[1], seed=(0, 0))
    if not all(path.exists() for path in paths):
        return None
    if classifies(config):
        rows = _labelled(config, run_dir, paths, seed=(0, 0))
        return rows if len(rows.source_lengths) else None  # lines without words on a side are no example
    sides = (list(read_lines(str(path))) for path in paths)
    return Pairs.listed(*(each.encode_many(side, num_threads=-1) for each, side in zip(tokenizers, sides, strict=True)))


def _as_read(config: TrainConfig, blocks: Pairs, tokenizer: Tokenizer, *, seed: tuple[int, int]) -> Pairs:
    """The blocks of a text, for an encoder alone with hidden tokens, drawn by `seed`."""
    if config.model.family != "encoder":
        return blocks
    return masked_blocks(blocks, mask=tokenizer.mask, vocab_size=tokenizer.vocab_size, seed=seed)


def _labelled(config: TrainConfig, run_dir: Path, paths: Sequence[Path], *, seed: tuple[int, int]) -> Pairs:
    """Texts with their labels, or pairs with and without a fault, as rows with their classes."""
    _, tokenizer = load_tokenizers(config, run_dir)
    pairs = read_pairs(*paths, seed=seed)
    texts: Sequence[Sequence[str]]
    if isinstance(config.data, LabelledData):
        number = {label: index for index, label in enumerate(config.data.labels or [])}
        texts, classes = [(text,) for text, _ in pairs], [number[label] for _, label in pairs]
    else:
        texts, classes = examples(pairs, seed=str(seed))
    return labelled_rows(rows_of_texts(texts, tokenizer, max_tokens=config.data.filters.max_tokens), classes)
