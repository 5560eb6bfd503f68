"""What safety costs: a checkpoint against bare writes of as many bytes, and against the steps between two of them."""

import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import small_runs
from mt.model.architecture import Architecture
from mt.model.transformer import Transformer
from mt.runs.checkpoint import Checkpoints, TrainingState
from mt.runs.folder import run_identity

PAPER_INTERVAL_SECONDS = 600.0  # 1,500 steps of 0.4 s for base, 600 of 1.0 s for big
REPETITIONS = 7


def seconds(action: Callable[[], object]) -> float:
    os.sync()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def base_with_moments() -> tuple[Transformer, torch.optim.Optimizer]:
    """63 million parameters and Adam's two moments of each."""
    sizes = {"num_layers": 6, "d_model": 512, "d_ff": 2048, "num_heads": 8}
    model = Architecture(vocab_size=37_000, dropout=0.1, pad=0, initialisation="glorot", **sizes).transformer()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def write_barely(folder: Path, contents: list[bytes]) -> None:
    folder.mkdir()
    for number, content in enumerate(contents):
        with (folder / str(number)).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


@pytest.mark.alone
@pytest.mark.long
def test_a_checkpoint_of_base_takes_at_most_twice_the_bare_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, optimizer = base_with_moments()
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=2, run="a")
    checkpoints.save(model, optimizer, TrainingState(step=1))
    contents = [path.read_bytes() for path in (tmp_path / "checkpoints/step-1").iterdir()]
    saved, bare = [], []
    for step in range(2, 2 + REPETITIONS):
        saved.append(seconds(lambda step=step: checkpoints.save(model, optimizer, TrainingState(step=step))))
        bare.append(seconds(lambda step=step: write_barely(tmp_path / str(step), contents)))
        shutil.rmtree(tmp_path / str(step))
    ours, writes = statistics.median(saved), statistics.median(bare)
    with capsys.disabled():
        megabytes = sum(map(len, contents)) / 1e6
        print(f"\ncheckpoint of base, {megabytes:.0f} MB: {ours:.2f} s, bare writes {writes:.2f} s")
        print(f"{ours / writes:.2f} times; {ours / PAPER_INTERVAL_SECONDS:.2%} of ten minutes")
    assert ours <= 2 * writes
    assert ours <= 0.01 * PAPER_INTERVAL_SECONDS


@pytest.mark.alone
@pytest.mark.long
def test_the_default_training_slows_by_less_than_one_percent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `make train` starts, without its validations: all the time it spends on checkpoints."""
    spent: list[float] = []
    original = Checkpoints.save

    def timed(*arguments: object) -> None:
        start = time.perf_counter()
        original(*arguments)
        spent.append(time.perf_counter() - start)

    monkeypatch.setattr(Checkpoints, "save", timed)
    words = [f"run_dir={tmp_path}/run", f"data.cache_dir={tmp_path}/cache", "training.max_steps=600"]
    assert small_runs.train(words) == 0
    trained = Checkpoints(tmp_path / "run/checkpoints", keep=5, run=run_identity(tmp_path / "run"))
    state = trained.load_newest(*_empty(tmp_path / "run"))
    assert state is not None
    share = sum(spent) / (state[0].training_seconds - sum(spent))
    with capsys.disabled():
        print(f"\n{len(spent)} checkpoints in {state[0].training_seconds:.1f} s of training: {share:.2%}")
    assert share < 0.01


def _empty(run_dir: Path) -> tuple[Transformer, torch.optim.Optimizer]:
    """A model of the run, to load its state into."""
    from mt import build  # noqa: PLC0415  after the shape checks are in place
    from mt.api import empty_model, load_tokenizers  # noqa: PLC0415
    from mt.runs.folder import load_run  # noqa: PLC0415

    config = load_run(run_dir)
    model = empty_model(config, load_tokenizers(config, run_dir), torch.device("cpu"))
    return model, build.optimizer(config.training, model)
