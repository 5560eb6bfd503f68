"""What the run of a language model does otherwise than that of a translator: its blocks, its loss, its score.

That of an encoder alone is a masked language model.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mt import build
from mt.api import load_tokenizers, trained_model
from mt.config.checks import longest_row
from mt.config.schema import TextData, TrainConfig
from mt.data.batch import Batch
from mt.data.loader import MakeBatch, Pairs, validation_batches
from mt.data.masked_blocks import MaskedBlocks, make_masked_batch
from mt.data.text_blocks import TextBlocks, encode_text, encoded_text, make_block_batch
from mt.data.text_cache import PreparedText
from mt.data.tokenizer import Tokenizer
from mt.model.decoder_only import AnyTransformer
from mt.reporting import report
from mt.runs.atomic import replace_file
from mt.runs.folder import SCORES, held_out_text
from mt.runs.metrics import perplexity
from mt.runtime import choose_device
from mt.training.trainer import Validation, accuracy, validation_loss


def training_blocks(config: TrainConfig, data: TextData, text: PreparedText, *, epoch: int) -> Pairs:
    """The blocks of an epoch, which begin elsewhere in each, a pure function of the seed and the epoch."""
    _, tokenizer = load_tokenizers(config, Path(config.run_dir))
    ids = encoded_text(
        text.path("train", "target"),
        tokenizer,
        fingerprint=text.fingerprint,
        cache_dir=Path(data.cache_dir),
    )
    start = np.random.Generator(np.random.PCG64([config.seed, epoch, data.block_tokens])).integers(data.block_tokens)
    blocks = TextBlocks(ids, block_tokens=data.block_tokens, start=min(int(start), len(ids) - 1))
    return _as_read(config, blocks, tokenizer, seed=(config.seed, epoch))


def make_text_batch(config: TrainConfig) -> MakeBatch:
    """What makes batches of the blocks."""
    return make_masked_batch if config.model.family == "encoder" else make_block_batch


def _as_read(config: TrainConfig, blocks: TextBlocks, tokenizer: Tokenizer, *, seed: tuple[int, int]) -> Pairs:
    """For an encoder alone with hidden tokens, drawn by `seed`."""
    if config.model.family != "encoder":
        return blocks
    return MaskedBlocks(blocks, mask=tokenizer.mask, vocab_size=tokenizer.vocab_size, seed=seed)


@dataclass(frozen=True)
class HeldOutBlocks:
    """The held-out text of a run; `tokens` are all of it. The tokens that are hidden are always the same."""

    blocks: Pairs
    make_batch: MakeBatch
    tokens: int
    bytes: int

    @classmethod
    def of_run(cls, config: TrainConfig, data: TextData, run_dir: Path) -> "HeldOutBlocks":
        """Read it from the run folder. Raises BadFileError for a damaged tokenizer."""
        tokenizer, _ = load_tokenizers(config, run_dir)
        ids, count = encode_text(held_out_text(run_dir, "validation", "target"), tokenizer)
        blocks = _as_read(config, TextBlocks(ids, block_tokens=data.block_tokens), tokenizer, seed=(0, 0))
        return cls(blocks, make_text_batch(config), len(ids), count)

    def batches(self, batch_tokens: int) -> Iterator[Batch]:
        """All of it; no block sees the one before it."""
        return validation_batches(self.blocks, batch_tokens=batch_tokens, make_batch=self.make_batch)

    def bits_per_byte(self, nll: float) -> float:
        """From nats per token."""
        return nll * self.tokens / (math.log(2) * self.bytes)


def text_validation(
    config: TrainConfig, data: TextData, model: AnyTransformer, batch_tokens: int
) -> Callable[[], Validation]:
    """The loss on the held-out text."""
    held_out = HeldOutBlocks.of_run(config, data, Path(config.run_dir))
    loss = build.validation_loss(model, config.training)
    autocast = build.training_autocast(config.training, next(model.parameters()).device)

    def validate() -> Validation:
        smoothed, nll = validation_loss(loss, held_out.batches(batch_tokens), autocast=autocast)
        if config.model.family == "encoder":
            right = accuracy(loss, held_out.batches(batch_tokens), autocast=autocast)
            return Validation(loss=smoothed, nll=nll, bleu=None, accuracy=right)
        return Validation(loss=smoothed, nll=nll, bleu=None, bits_per_byte=held_out.bits_per_byte(nll))

    return validate


def score_text(config: TrainConfig, data: TextData) -> None:
    """Save and print perplexity and bits per byte of the delivered model on the held-out text. Raises DiskError.

    Of a masked language model, perplexity and accuracy on the tokens that are hidden from it.
    """
    run_dir = Path(config.run_dir)
    held_out = HeldOutBlocks.of_run(config, data, run_dir)
    model = trained_model(run_dir, choose_device(config.device)).eval()
    with torch.inference_mode():
        found = text_validation(config, data, model, longest_row(config) * 16)()
    if found.bits_per_byte is None:
        tokens = int((held_out.blocks.target_lengths + 1).sum())
        own, figure, of = (
            {"accuracy": found.accuracy},
            f"accuracy {found.accuracy:.2f} %",
            f"hidden of {held_out.tokens:,}",
        )
    else:
        tokens, of = held_out.tokens, "tokens"
        own, figure = {"bits_per_byte": found.bits_per_byte}, f"bits per byte {found.bits_per_byte:.3f}"
    scores = {"nll": found.nll, "perplexity": perplexity(found.nll), **own, "tokens": tokens, "bytes": held_out.bytes}
    replace_file(run_dir / SCORES, json.dumps(scores, indent=1).encode())
    print(
        f"perplexity {scores['perplexity']:.2f}  {figure}  "
        f"({found.nll:.4f} nats per token, {tokens:,} {of}, {held_out.bytes:,} bytes of held-out text)",
        flush=True,
    )
    report(f"scores: {run_dir / SCORES}")
