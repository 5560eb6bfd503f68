"""Hugging Face's models, trained on the data, subwords and batches of a finished run for as many minutes as one gives.

`python -m scripts.systems.equal_time runs/mine 20`: a run of pairs against MarianMTModel, with BLEU on its test split;
a language model against GPT2LMHeadModel, with bits per byte. Sizes are those of the run, and so is a MarianMTModel's
dropout. The rest is from public recipes: AdamW with a rate that rises linearly over 6 % of the time and falls to zero
(Hugging Face's examples); for pairs weight decay 1e-4 and label smoothing 0.1 (fairseq's for IWSLT14), for a text
nanoGPT's.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from mt.api import load_tokenizers
from mt.commands.examples import held_out_pairs
from mt.commands.preparation import filtered_text, training_order
from mt.commands.validation import held_out_bytes
from mt.config.schema import TextData, TrainConfig
from mt.data.batch import Batch, source_tensor
from mt.data.lines import read_lines
from mt.data.loader import validation_batches
from mt.data.tokenizer import BOS, EOS, PAD, Tokenizer
from mt.runs.folder import held_out_text, load_run
from mt.translation.evaluation import corpus_scores, format_scores
from scripts.systems.training import MarianMT

_WARMUP = 0.06
_SENTENCES = 32


def main(run_dir: str, minutes: str, learning_rate: str = "1e-3", init_std: str = "0.02") -> None:
    """Train for `minutes` of wall-clock time, then print the score.

    `init_std` is the deviation of MarianMTModel's initial weights; 0.02 is its default, with a d_model of 1,024.
    """
    config = load_run(Path(run_dir))
    torch.manual_seed(config.seed)
    tokenizer, _ = load_tokenizers(config, Path(run_dir))
    model: GPT2LMHeadModel | MarianMT
    forward: Callable[[Batch], Tensor]
    if of_text := isinstance(config.data, TextData):
        model = _gpt2(config, config.data.block_tokens, tokenizer.vocab_size)
        forward = partial(_text_logits, model)
    else:
        model = _marian(config, tokenizer.vocab_size, float(init_std))
        forward = partial(_pair_logits, model)
    parameters = sum(each.numel() for each in model.parameters())
    print(f"{type(model).__name__}: {parameters:,} parameters, peak rate {learning_rate}", flush=True)
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=float(learning_rate),
        betas=(0.9, 0.99 if of_text else 0.98),
        weight_decay=0.1 if of_text else 1e-4,
        fused=True,
    )
    train(model, forward, optimizer, _batches(config), seconds=60 * float(minutes), smoothing=0.0 if of_text else 0.1)
    model.eval()
    if isinstance(config.data, TextData):
        print(f"bits per byte {_bits_per_byte(forward, config, Path(run_dir)):.3f}")
    else:
        sources, references = (
            list(read_lines(str(held_out_text(Path(run_dir), "test", side)))) for side in ("source", "target")
        )
        hypotheses = _translated(model, tokenizer, sources)
        language = config.data.target_language
        print(format_scores(corpus_scores(hypotheses=hypotheses, references=references, target_language=language)))


def train(
    model: nn.Module,
    forward: Callable[[Batch], Tensor],
    optimizer: torch.optim.Optimizer,
    batches: Iterator[Batch],
    *,
    seconds: float,
    smoothing: float,
) -> None:
    """Steps until the time is over, in bfloat16 where the products are."""
    peak = optimizer.param_groups[0]["lr"]
    began, tokens, steps = time.monotonic(), 0, 0
    model.train()
    while (progress := (time.monotonic() - began) / seconds) < 1:
        batch = next(batches)
        for group in optimizer.param_groups:
            group["lr"] = peak * min(progress / _WARMUP, (1 - progress) / (1 - _WARMUP))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = forward(batch)
        loss = functional.cross_entropy(
            logits.float().flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD, label_smoothing=smoothing
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        steps, tokens = steps + 1, tokens + batch.target_tokens
        if steps % 100 == 0:
            speed = tokens / (time.monotonic() - began)
            print(f"{steps:,} steps  loss {loss.item():.3f}  target tokens {tokens:,}  {speed:,.0f}/s", flush=True)
    print(f"{steps:,} steps, {tokens:,} target tokens in {time.monotonic() - began:.0f} s", flush=True)


def _marian(config: TrainConfig, vocab_size: int, init_std: float) -> MarianMT:
    sizes = {name: getattr(config.model, name) for name in ("num_layers", "d_model", "d_ff", "num_heads")}
    return MarianMT({**sizes, "vocab_size": vocab_size, "dropout": config.model.dropout, "init_std": init_std})


def _gpt2(config: TrainConfig, block_tokens: int, vocab_size: int) -> GPT2LMHeadModel:
    sizes = config.model
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size,
            n_positions=block_tokens + 2,
            n_embd=sizes.d_model,
            n_layer=sizes.num_layers,
            n_head=sizes.num_heads,
            n_inner=sizes.d_ff,
            bos_token_id=BOS,
            eos_token_id=EOS,
            use_cache=False,
            **dropout,
        )
    )


def _batches(config: TrainConfig) -> Iterator[Batch]:
    """The run's own batches in its order, padded."""
    training = replace(config.training, packing=False, micro_batch_tokens=config.training.batch_tokens)
    config = replace(config, training=training)
    order = training_order(config, filtered_text(config.data), torch.device("cpu"))
    for step in order.steps(epoch=0, start=0):
        yield from step.micro_batches


def _pair_logits(model: nn.Module, batch: Batch) -> Tensor:
    return model(batch.source, batch.target_input)


def _text_logits(model: nn.Module, batch: Batch) -> Tensor:
    return model(input_ids=batch.target_input).logits


@torch.inference_mode()
def _bits_per_byte(forward: Callable[[Batch], Tensor], config: TrainConfig, run_dir: Path) -> float:
    nll, pairs = 0.0, held_out_pairs(config, run_dir)
    assert pairs is not None
    for batch in validation_batches(pairs, batch_tokens=4096):
        nll += functional.cross_entropy(
            forward(batch).flatten(0, 1), batch.target_output.flatten(), ignore_index=PAD, reduction="sum"
        ).item()
    return nll / (math.log(2) * held_out_bytes(run_dir))


@torch.inference_mode()
def _translated(model: MarianMT, tokenizer: Tokenizer, sources: list[str]) -> list[str]:
    """Beam 4, the translations in the order of the sources."""
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    hypotheses = [""] * len(sources)
    for start in range(0, len(order), _SENTENCES):
        part = order[start : start + _SENTENCES]
        ids = source_tensor([tokenizer.encode(sources[index]) for index in part])
        mask, longest = (ids != PAD).long(), ids.shape[1] + 50
        found = model.model.generate(
            input_ids=ids, attention_mask=mask, num_beams=4, max_new_tokens=longest, use_cache=True
        )
        for index, row in zip(part, found.tolist(), strict=True):
            hypotheses[index] = tokenizer.decode([token for token in row if token not in (PAD, BOS, EOS)])
    return hypotheses


if __name__ == "__main__":
    main(*sys.argv[1:])
