"""mt-average: section 6.1, the mean of the newest checkpoints."""

from pathlib import Path

import safetensors.torch

from mt.config.schema import AverageConfig
from mt.errors import BadFileError, UserError
from mt.reporting import report
from mt.runs import folder as folder_names
from mt.runs.atomic import replace_file
from mt.runs.checkpoint import Checkpoints, delivery_note
from mt.runs.folder import check_noted_vocabulary
from mt.training.averaging import average as average_of


def average(config: AverageConfig) -> None:
    """Average the newest checkpoints of a run (section 6.1)."""
    run_dir = Path(config.run_dir)
    checkpoints = Checkpoints(run_dir / "checkpoints", keep=1)
    deliver(
        run_dir, checkpoints, count=config.checkpoints, output=None if config.output is None else Path(config.output)
    )


def deliver(run_dir: Path, checkpoints: Checkpoints, *, count: int, output: Path | None = None) -> None:
    """Write the mean of the parameters of the newest checkpoints that are whole, as the run's model or elsewhere.

    Raises UserError where there is none, BadFileError where all are damaged or of different models, DiskError.
    """
    if not checkpoints.steps():
        raise UserError(f"{run_dir}: there is no checkpoint to average; train first")
    check_noted_vocabulary(run_dir)
    steps, passed_over = checkpoints.newest_whole(count)
    try:
        weights = average_of(checkpoints.load_tensors(step) for step in steps)
    except ValueError as error:
        raise BadFileError(f"{checkpoints.folder}: {error}: {'; '.join(passed_over)}") from error
    note = delivery_note(averaged_steps=steps, vocabulary=folder_names.vocabulary_mark(run_dir), weights=weights)
    key, output = ("run_dir", run_dir / folder_names.MODEL) if output is None else ("output", output)
    replace_file(output, safetensors.torch.save(weights, metadata=note), key=key)
    fewer = f" (all there are; {count} were asked for)" if len(steps) < count else ""
    mean = f"the mean of the checkpoints at steps {', '.join(map(str, steps))}"
    told = f"{output}: {mean if len(steps) > 1 else f'the checkpoint at step {steps[0]}'}{fewer}"
    report("\n".join([*passed_over, told]))
