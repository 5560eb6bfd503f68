"""What a model is judged by on the validation split: while it trains, when its checkpoints are averaged, at its end."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mt import build
from mt.api import empty_model, load_tokenizers, trained_model
from mt.commands.examples import held_out_pairs
from mt.config.checks import classifies
from mt.config.schema import TaskData, TextData, TrainConfig
from mt.data.batch import Pairs
from mt.data.lines import read_lines
from mt.data.loader import validation_batches
from mt.errors import UserError
from mt.model.decoder_only import AnyTransformer
from mt.runs.checkpoint import TrainingState, load_model_tensors
from mt.runs.folder import held_out_text
from mt.runs.metrics import kept_sentences, perplexity
from mt.runtime import choose_device
from mt.training.schedule import end_of_warmup
from mt.training.trainer import Validation, accuracy, validation_loss
from mt.translation.evaluation import corpus_bleu, exact_match
from mt.translation.scoring import save_scores

_ROWS = 16  # of a batch, where memory was not tried

Figures = Callable[[float], dict[str, Any]]  # from the loss in nats per token to the further figures of `Validation`


def validation(
    config: TrainConfig, run_dir: Path, model: AnyTransformer, batch_tokens: int
) -> Callable[[], Validation] | None:
    """What finds the losses on the validation split, and what else a kind of run is judged by; None without a split."""
    pairs = held_out_pairs(config, run_dir)
    if pairs is None:
        return None
    if config.model.positions == "learned" and not (classifies(config) or isinstance(config.data, TextData)):
        _check_lengths(pairs, config, held_out_text(run_dir, "validation", "source"))
    loss = build.validation_loss(model, config.training)
    device = next(model.parameters()).device
    autocast = build.training_autocast(config.training, device)
    batches = partial(validation_batches, pairs, batch_tokens=batch_tokens)
    if config.model.family == "encoder":
        figures: Figures = lambda _: {"accuracy": accuracy(loss, batches(), autocast=autocast)}  # noqa: E731
    elif isinstance(config.data, TextData):
        bits = int((pairs.target_lengths + 1).sum()) / (math.log(2) * held_out_bytes(run_dir))
        figures = lambda nll: {"bits_per_byte": bits * nll}  # noqa: E731
    else:
        figures = _greedy_figures(config, run_dir, model)

    def validate() -> Validation:
        rests_on = next(model.parameters()).device  # the host, where the GPUs hold shards
        model.to(device)
        smoothed, nll = validation_loss(loss, batches(), autocast=autocast)
        found = Validation(loss=smoothed, nll=nll, **figures(nll))
        model.to(rests_on)
        return found

    return validate


def _check_lengths(pairs: Pairs, config: TrainConfig, path: Path) -> None:
    """Raise UserError for a held-out line that the learned positions do not reach, before anything is trained."""
    lengths = pairs.token_lengths()
    longest = lengths.sum(axis=0) if config.model.family == "decoder" else lengths.max(axis=0)
    line, most = int(longest.argmax()), config.model.max_positions
    if longest[line] > most:
        raise UserError(
            f"{path}, line {line + 1:,}: {longest[line]:,} tokens are more than model.max_positions = "
            f"{most:,}; give more, or leave the line out of the validation data"
        )


def _greedy_figures(config: TrainConfig, run_dir: Path, model: AnyTransformer) -> Figures:
    """BLEU of the greedy translations; of a task the exact match instead, and that of as many training pairs."""
    texts = [held_out_text(run_dir, "validation", side) for side in ("source", "target")]
    sources, references = (list(read_lines(str(text))) for text in texts)
    learned = []
    if isinstance(config.data, TaskData):
        [corpus] = build.corpora(config.data)["train"]
        learned = [list(side) for side in zip(*islice(corpus.pairs(), len(sources)), strict=True)]
    decoding, tokenizers = replace(config.decoding, beam_size=1), load_tokenizers(config, run_dir)
    language = config.data.target_language

    def figures(_: float) -> dict[str, Any]:
        greedy = build.translator(config, decoding, [model], tokenizers)

        def translated(lines: list[str]) -> list[str]:
            return [translation.text for translation in greedy.translate_all(lines)]

        hypotheses = translated(sources)
        kept = [hypotheses[number] for number in kept_sentences(len(hypotheses))]
        if learned:
            in_training = exact_match(translated(learned[0]), learned[1])
            scores = {"exact_match": exact_match(hypotheses, references), "training_exact_match": in_training}
        else:
            scores = {"bleu": corpus_bleu(hypotheses=hypotheses, references=references, target_language=language)}
        return {**scores, "translations": kept}

    return figures


def warmup_of(config: TrainConfig, state: TrainingState) -> int:
    """The number of warm-up steps; with a budget, estimated from the share of the time that is over."""
    limits = {"warmup_steps": config.training.warmup_steps, "max_steps": config.training.max_steps}
    return end_of_warmup(state.step, state.progress if config.budget is not None else 0.0, **limits)


def delivery_choice(config: TrainConfig, run_dir: Path, state: TrainingState) -> dict[str, Any]:
    """How many checkpoints the model of a run is the mean of, from which step on, and what judges it."""
    limits = {"count": config.training.average_checkpoints, "warmup_steps": warmup_of(config, state)}
    return {**limits, "validation_loss": _loss_on_validation(config, run_dir)}


def _loss_on_validation(config: TrainConfig, run_dir: Path) -> Callable[[Mapping[str, Tensor]], float] | None:
    """The loss of a model's parameters on the run's validation text, in nats per token; None without such text."""
    pairs = held_out_pairs(config, run_dir)
    if pairs is None:
        return None
    tokenizers, device = load_tokenizers(config, run_dir), choose_device(config.device)
    batches = list(validation_batches(pairs, batch_tokens=_batch_tokens(config, pairs)))
    autocast = build.training_autocast(config.training, device)

    def loss(parameters: Mapping[str, Tensor]) -> float:
        model = empty_model(config, tokenizers, device)
        load_model_tensors(model, parameters, origin=run_dir)
        criterion = build.validation_loss(model.eval(), config.training)
        with torch.inference_mode():
            return validation_loss(criterion, batches, autocast=autocast)[0]

    return loss


def _batch_tokens(config: TrainConfig, pairs: Pairs) -> int:
    """The size of batches where memory was not tried: some rows of the longest, within a batch of the training."""
    longest = int(pairs.token_lengths().max())
    return max(longest, min(_ROWS * longest, config.training.batch_tokens))


def score_text(config: TrainConfig, run_dir: Path) -> None:
    """Save and print perplexity and bits per byte of the delivered model on the held-out text. Raises DiskError.

    Of a masked language model, perplexity and accuracy on the tokens that are hidden from it.
    """
    model, pairs = trained_model(run_dir, choose_device(config.device)).eval(), held_out_pairs(config, run_dir)
    assert pairs is not None  # a text always has a part that is held out
    validate = validation(config, run_dir, model, _batch_tokens(config, pairs))
    assert validate is not None
    with torch.inference_mode():
        found = validate()
    size, tokens, what = held_out_bytes(run_dir), int((pairs.target_lengths + 1).sum()), "tokens"
    if found.bits_per_byte is None:
        own, figure = {"accuracy": found.accuracy}, f"accuracy {found.accuracy:.2f} %"
        what = f"hidden of {int((pairs.source_lengths - 1).sum()):,}"  # BOS is none of the text
    else:
        own, figure = {"bits_per_byte": found.bits_per_byte}, f"bits per byte {found.bits_per_byte:.3f}"
    scores = {"nll": found.nll, "perplexity": perplexity(found.nll), **own, "tokens": tokens, "bytes": size}
    extent = f"({found.nll:.4f} nats per token, {tokens:,} {what}, {size:,} bytes of held-out text)"
    save_scores(run_dir, scores, f"perplexity {scores['perplexity']:.2f}  {figure}  {extent}")


def held_out_bytes(run_dir: Path) -> int:
    """The bytes of a text's held-out part, line breaks included."""
    return sum(len(line.encode()) + 1 for line in read_lines(str(held_out_text(run_dir, "validation", "target"))))
