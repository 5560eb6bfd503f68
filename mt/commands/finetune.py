"""Training further: a run that begins with another run's model and tokenizer instead of random numbers."""

import shutil
from dataclasses import replace
from pathlib import Path

from mt import build
from mt.config.schema import TrainConfig
from mt.model.transformer import Transformer
from mt.runs import folder as folder_names
from mt.runs.checkpoint import load_model_tensors, model_tensors
from mt.runs.folder import load_run


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


def take_tokenizers(config: TrainConfig, run_dir: Path) -> None:
    """Copy the tokenizers of the run that this one begins with, unless it has its own already."""
    if config.finetune_from is None:
        return
    for path in dict.fromkeys(folder_names.tokenizer_paths(Path(config.finetune_from), config.tokenizer)):
        if not (run_dir / path.name).exists():
            shutil.copyfile(path, run_dir / path.name)


def take_parameters(config: TrainConfig, model: Transformer) -> None:
    """Put the parameters into the model that the other run delivered. Raises BadFileError."""
    if config.finetune_from is not None:
        run_dir = Path(config.finetune_from)
        trained = build.trained_model(load_run(run_dir), run_dir, next(model.parameters()).device)
        load_model_tensors(model, model_tensors(trained), origin=run_dir / folder_names.MODEL)
