"""Fine-tuning: a run that begins with another run's model and tokenizers instead of random parameters."""

from dataclasses import replace
from pathlib import Path

from torch import nn

from mt.config.schema import TrainConfig
from mt.runs.atomic import replace_file
from mt.runs.checkpoint import load_model_tensors
from mt.runs.delivery import read_model
from mt.runs.folder import MODEL, load_run, tokenizer_paths


def inherit_config(config: TrainConfig) -> TrainConfig:
    """The configuration with the sizes and the tokenizer of the run it begins with; dropout stays its own."""
    if config.finetune_from is None:
        return config
    run = load_run(config.finetune_from)
    return replace(
        config,
        model=replace(run.model, dropout=config.model.dropout),
        tokenizer=replace(run.tokenizer, bpe_dropout=config.tokenizer.bpe_dropout),
    )


def inherit_tokenizers(config: TrainConfig) -> None:
    """Copy the tokenizers of the run that this one begins with, unless it already has its own."""
    if config.finetune_from is None:
        return
    for path in tokenizer_paths(Path(config.finetune_from), shared_vocab=config.tokenizer.shared_vocab):
        copy = Path(config.run_dir) / path.name
        if not copy.exists():
            replace_file(copy, path.read_bytes())


def inherit_parameters(config: TrainConfig, model: nn.Module) -> None:
    """Put the parameters that the other run delivered into the model. Raises BadFileError."""
    if config.finetune_from is not None:
        run_dir = Path(config.finetune_from)
        load_model_tensors(model, read_model(run_dir), origin=run_dir / MODEL)
