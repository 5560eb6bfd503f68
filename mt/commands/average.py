"""mt-average: section 6.1, the mean of the newest checkpoints."""

from functools import partial
from pathlib import Path
from typing import Any

import torch

from mt.api import empty_model, load_tokenizers
from mt.commands.validation import delivery_choice
from mt.config.schema import AverageConfig
from mt.runs.checkpoint import Checkpoints
from mt.runs.delivery import deliver
from mt.runs.folder import CHECKPOINTS, descriptions, load_run, run_identity


def average(config: AverageConfig) -> None:
    """Average that many of the newest checkpoints of a run; without a number deliver what the training would."""
    run_dir = Path(config.run_dir)
    checkpoints = Checkpoints(run_dir / CHECKPOINTS, keep=1, run=run_identity(run_dir))
    run = load_run(run_dir)
    check = partial(empty_model, run, load_tokenizers(run, run_dir), torch.device("meta"))
    choice: dict[str, Any] = {"count": config.checkpoints}
    if config.checkpoints is None:
        choice = delivery_choice(run, run_dir, checkpoints.newest_state())
    deliver(run_dir, checkpoints, check=check, outdated=descriptions(run_dir, run), **choice)
