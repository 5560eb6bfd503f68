"""mt-average: section 6.1, the mean of the newest checkpoints."""

from pathlib import Path

from mt.config.schema import AverageConfig
from mt.runs.checkpoint import Checkpoints
from mt.runs.delivery import deliver
from mt.runs.folder import CHECKPOINTS, run_identity


def average(config: AverageConfig) -> None:
    """Average the newest checkpoints of a run (section 6.1)."""
    run_dir = Path(config.run_dir)
    deliver(run_dir, Checkpoints(run_dir / CHECKPOINTS, keep=1, run=run_identity(run_dir)), count=config.checkpoints)
