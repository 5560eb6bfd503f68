"""mt-average: section 6.1, the mean of the newest checkpoints."""

from pathlib import Path

import safetensors.torch

from mt import build
from mt.config import AverageConfig
from mt.errors import UserError
from mt.jobs.messages import tell
from mt.training.averaging import average as average_of
from mt.training.checkpoint import Checkpoints
from mt.training.durable import replace_file


def average(config: AverageConfig) -> None:
    """Average the newest checkpoints of a run (section 6.1)."""
    run_dir = Path(config.run_dir)
    output = run_dir / build.MODEL if config.output is None else Path(config.output)
    deliver(run_dir, Checkpoints(run_dir / "checkpoints", keep=1), count=config.checkpoints, output=output)


def deliver(run_dir: Path, checkpoints: Checkpoints, *, count: int, output: Path) -> None:
    """Write the mean of the newest checkpoints' parameters. Raises UserError, BadFileError, DiskError."""
    steps = checkpoints.steps()[-count:]
    if not steps:
        raise UserError(f"{run_dir}: there is no checkpoint to average; train first")
    mean = average_of(checkpoints.load_tensors(step) for step in steps)
    replace_file(output, safetensors.torch.save(mean))
    tell(f"{output}: the mean of the checkpoints at steps {', '.join(map(str, steps))}")
