"""RELIABILITY 1, 3, 4, 19: the newest whole checkpoint loads, and nothing else ever does."""

import functools
import itertools
import json
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from faults import MODES, RELIABILITY_ROW, Mode, failing_disk, succeeds
from reliability import Trials
from torch import nn

from mt.errors import BadFileError
from mt.runs.atomic import MANIFEST, read_folder, write_folder
from mt.runs.checkpoint import (
    Checkpoints,
    Origin,
    TrainingState,
    Window,
    load_model_tensors,
    model_tensors,
)
from mt.runs.delivery import averaged_steps, model_file
from mt.runs.folder import MODEL, OPTIMIZER, STATE

KEEP = 2
SHORT, LONG = 60, 1000

SOME_MODES = [
    mode if mode in {"death", "power", "full"} else pytest.param(mode, marks=pytest.mark.long) for mode in MODES
]


def trained(steps: int) -> tuple[nn.Module, torch.optim.Adam]:
    """A model after some updates, a pure function of their number."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(5, 3)).square().sum().backward()
        optimizer.step()
    return model, optimizer


def state_at(step: int) -> TrainingState:
    window = Window(steps=step % 3, loss=step / 7)
    return TrainingState(step=step, epoch=step // 2, best_score=step / 3, window=window, origin=Origin("a"))


def save(folder: Path, *steps: int, keep: int = KEEP, run: str = "a") -> None:
    for step in steps:
        Checkpoints(folder, keep=keep, run=run).save(*trained(step), state_at(step))


def assert_loads(folder: Path, *steps: int) -> list[str]:
    """What loads is one of these steps, all of it; returns what was passed over."""
    model, optimizer = trained(1)
    loaded = Checkpoints(folder, keep=KEEP, run="a").load_newest(model, optimizer)
    assert loaded is not None
    state, passed_over = loaded
    assert state.step in steps
    assert state == state_at(state.step)
    expected_model, expected_optimizer = trained(state.step)
    assert all(map(torch.equal, model.parameters(), expected_model.parameters()))
    for ours, theirs in zip(model.parameters(), expected_model.parameters(), strict=True):
        assert optimizer.state[ours].keys() == expected_optimizer.state[theirs].keys()
        assert all(
            torch.equal(optimizer.state[ours][key], expected_optimizer.state[theirs][key])
            for key in ("step", "exp_avg", "exp_avg_sq")
        )
    return passed_over


def test_the_newest_readable_state_counts(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=KEEP, run="a")
    assert checkpoints.newest_state() == TrainingState()
    save(tmp_path, 1, 2)
    assert checkpoints.newest_state() == state_at(2)
    (tmp_path / "step-2" / STATE).write_bytes(b"{")
    assert checkpoints.newest_state() == state_at(1)


@pytest.mark.reliability(1, 3)
@pytest.mark.parametrize("mode", SOME_MODES)
def test_whichever_call_of_a_save_fails_the_newest_whole_checkpoint_loads(
    tmp_path: Path, mode: Mode, trials: Trials
) -> None:
    before = tmp_path / "before"
    save(before, 1, 2)
    for fail_at in trials(itertools.count(1), row=RELIABILITY_ROW[mode]):
        folder = shutil.copytree(before, tmp_path / str(fail_at))
        with failing_disk(folder, fail_at=fail_at, mode=mode) as disk:
            saved = succeeds(functools.partial(save, folder, 3), mode)
        assert not assert_loads(folder, 3) if saved else assert_loads(folder, 2, 3) is not None
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        save(folder, 3, 4)  # the run goes on
        assert Checkpoints(folder, keep=KEEP, run="a").steps() == [3, 4]
        shutil.rmtree(folder)
        if not disk.failed:
            break
    assert saved
    assert fail_at > 25  # it was the whole path


def damage(folder: Path, chance: random.Random) -> None:
    """One fault of those that disks, copies and attackers make."""
    path = chance.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    kind = chance.choice(["flip", "flip", "flip", "cut", "cut", "zero", "grow", "missing", "pickle", "swap"])
    if kind == "flip":
        for _ in range(chance.choice([1, 1, 10])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[chance.randrange(len(content)) :]
    elif kind == "zero":
        start = chance.randrange(len(content))
        content[start : start + 100] = bytes(len(content[start : start + 100]))
    elif kind == "grow":
        content += chance.randbytes(chance.randrange(1, 50))
    elif kind == "pickle":
        content = bytearray(pickle.dumps(Canary(folder.parent / "canary")))
    elif kind == "swap":
        content = bytearray(chance.choice(sorted(folder.iterdir())).read_bytes())
    path.write_bytes(content)
    if kind == "missing":
        path.unlink()


class Canary:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.reliability(4)
@pytest.mark.parametrize("count", [SHORT, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path, count: int, trials: Trials) -> None:
    save(tmp_path / "before", 1, 2)
    whole = read_folder(tmp_path / "before/step-2")
    chance = random.Random(count)
    detected = 0
    for trial in trials(range(count)):
        folder = shutil.copytree(tmp_path / "before", tmp_path / "damaged")
        damage(folder / "step-2", chance)
        passed_over = assert_loads(folder, 1, 2)
        if passed_over:
            assert len(passed_over) == 1, trial
            assert "step-2" in passed_over[0]
            assert_loads(folder, 1)
            detected += 1
        else:  # white space or the like in the manifest
            assert read_folder(folder / "step-2") == whole
        assert not (folder / "canary").exists()
        shutil.rmtree(folder)
    assert detected > 0.9 * count


@pytest.mark.reliability(4)
def test_none_whole_is_a_bad_file(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    for step in (1, 2):
        (tmp_path / f"step-{step}" / MODEL).write_bytes(b"")
    with pytest.raises(BadFileError, match="no checkpoint is whole") as caught:
        Checkpoints(tmp_path, keep=KEEP, run="a").load_newest(*trained(1))
    assert caught.value.exit_code == 4
    assert Checkpoints(tmp_path / "none", keep=KEEP, run="a").load_newest(*trained(1)) is None


def rewritten(change: Callable[[dict[str, bytes]], None]) -> Callable[[Path], None]:
    """A checkpoint by somebody who knows how to make a manifest."""

    def rewrite(folder: Path) -> None:
        files = read_folder(folder)
        change(files)
        write_folder(folder, files)

    return rewrite


def state_with(**values: object) -> Callable[[Path], None]:
    return rewritten(lambda files: files.update({STATE: json.dumps({**json.loads(files[STATE]), **values}).encode()}))


def tensors_with(file: str, change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(files: dict[str, bytes]) -> None:
        tensors = safetensors.torch.load(files[file])
        change(tensors)
        files[file] = safetensors.torch.save(tensors)

    return rewritten(apply)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "no state": rewritten(lambda files: files.pop(STATE)),
    "no model": rewritten(lambda files: files.pop(MODEL)),
    "no optimizer": rewritten(lambda files: files.pop(OPTIMIZER)),
    "state of another step": state_with(step=1),
    "text for a number": state_with(epoch="1"),
    "a number for a switch": state_with(on_schedule=1),
    "an epoch below zero": state_with(epoch=-1),
    "endless seconds": state_with(training_seconds=float("inf")),
    "a score that is no number": state_with(best_score=float("nan")),
    "negative threads": state_with(origin={**vars(Origin("a")), "threads": -1}),
    "of another run": lambda folder: save(folder.parent, 2, run="b"),
    "unknown field": state_with(colour="red"),
    "window of text": state_with(window="x"),
    "window of wrong types": state_with(window={"loss": "x"}),
    "state is a list": rewritten(lambda files: files.update({STATE: b"[]"})),
    "deep state": rewritten(lambda files: files.update({STATE: b"[" * 100_000})),
    "pickle for a model": rewritten(lambda files: files.update({MODEL: pickle.dumps(Canary(Path("canary")))})),
    "pickle for moments": rewritten(lambda files: files.update({OPTIMIZER: pickle.dumps(Canary(Path("canary")))})),
    "endless header": rewritten(lambda files: files.update({MODEL: b"\xff" * 8 + b"{}"})),
    "tensor missing": tensors_with(MODEL, lambda tensors: tensors.pop("0.bias")),
    "tensor too many": tensors_with(MODEL, lambda tensors: tensors.update(more=torch.ones(1))),
    "tensor of whole numbers": tensors_with(MODEL, lambda tensors: tensors.update({"0.bias": torch.ones(4).int()})),
    "tensor of another shape": tensors_with(MODEL, lambda tensors: tensors.update({"0.bias": torch.ones(9)})),
    "moment missing": tensors_with(OPTIMIZER, lambda tensors: tensors.pop("0.bias/exp_avg")),
    "all moments missing but steps": tensors_with(
        OPTIMIZER, lambda tensors: [tensors.pop(name) for name in list(tensors) if not name.endswith("/step")]
    ),
    "moment of another type": tensors_with(OPTIMIZER, lambda t: t.update({"0.bias/exp_avg": torch.ones(4).double()})),
    "moment of another shape": tensors_with(OPTIMIZER, lambda t: t.update({"0.bias/exp_avg": torch.ones(9)})),
    "step of another shape": tensors_with(OPTIMIZER, lambda t: t.update({"0.bias/step": torch.ones(9)})),
}


@pytest.mark.reliability(19)
@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_checkpoint_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "run", 1, 2)
    change(tmp_path / "run/step-2")
    assert len(assert_loads(tmp_path / "run", 1)) == 1
    assert not (tmp_path / "canary").exists()


def test_a_state_from_before_energy_was_counted_loads(tmp_path: Path) -> None:
    save(tmp_path, 1)
    rewritten(lambda files: files.update({STATE: _without_joules(files[STATE])}))(tmp_path / "step-1")
    model, optimizer = trained(1)
    loaded = Checkpoints(tmp_path, keep=KEEP, run="a").load_newest(model, optimizer)
    assert loaded is not None
    assert (loaded[0].step, loaded[0].joules) == (1, None)  # whose whole is not known


def _without_joules(state: bytes) -> bytes:
    return json.dumps({key: value for key, value in json.loads(state).items() if key != "joules"}).encode()


MUTATE = """
import random, sys
from pathlib import Path
import torch
from mt.errors import BadFileError
from mt.runs.checkpoint import load_model_tensors, read_tensors
from mt.runs.delivery import averaged_steps

folder = Path(sys.argv[1])
whole = (folder / "model.safetensors").read_bytes()
header = 8 + int.from_bytes(whole[:8], "little")
refused = 0
for seed in range(int(sys.argv[2])):
    chance = random.Random(seed)
    damaged = bytearray(whole)
    match seed % 4:
        case 0:
            del damaged[chance.randrange(len(damaged)) :]
        case 1:
            for _ in range(chance.choice((1, 3, 50))):
                damaged[chance.randrange(header)] = chance.randrange(256)
        case 2:
            start = chance.randrange(header)
            damaged[start : start + chance.randrange(20)] = chance.randbytes(chance.randrange(20))
        case 3:
            for _ in range(chance.choice((1, 2))):
                index = chance.choice([i for i in range(8, header) if chr(damaged[i]).isdigit()])
                damaged[index] = ord(chance.choice("0123456789"))
    path = folder / "damaged.safetensors"
    path.write_bytes(damaged)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    assert isinstance(averaged_steps(path), list)
    try:
        load_model_tensors(model, read_tensors(path.read_bytes(), origin=path), origin=path)
    except BadFileError:
        refused += 1
assert refused > int(sys.argv[2]) / 4, refused
print("survived")
"""


@pytest.mark.reliability(19)
@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_damaged_models_without_a_checksum_never_crash_the_process(tmp_path: Path, count: int, trials: Trials) -> None:
    """A delivered model is one file: what it says of itself is all there is."""
    (tmp_path / MODEL).write_bytes(model_file(model_tensors(trained(1)[0]), averaged_steps=[5, 10], run="x"))
    command = [sys.executable, "-c", MUTATE, str(tmp_path), str(count)]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True, encoding="utf-8")
    trials.add(count)
    assert (result.returncode, result.stdout) == (0, "survived\n"), result.stderr


@pytest.mark.reliability(4)
def test_a_checkpoint_of_another_run_is_not_averaged(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    save(tmp_path, 3, run="b", keep=9)
    steps, [passed_over] = Checkpoints(tmp_path, keep=9, run="a").newest_whole(9, lambda **_: None)
    assert steps == [1, 2]
    assert "step-3/state.json: is of step 3 of another run" in passed_over


@pytest.mark.parametrize("end", ["", "part", "replaced"])
def test_what_a_link_points_to_is_not_deleted(tmp_path: Path, end: str) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside"
    save(run, 1, 2)
    outside.mkdir()
    (run / "step-1").rename(outside / "step-1")
    (run / (f".step-2.{end}" if end else "step-1")).symlink_to(outside / "step-1")
    before = read_folder(outside / "step-1")
    assert not assert_loads(run, 2)
    save(run, 3, 4)
    assert sorted(path.name for path in run.iterdir()) == ["step-3", "step-4"]
    assert read_folder(outside / "step-1") == before


def test_odd_names_among_the_checkpoints_do_no_harm(tmp_path: Path) -> None:
    save(tmp_path, 1, 2)
    for name in ("step-007", "step-", "step-3.old", "step-٣", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-9").write_text("a file", encoding="utf-8")
    assert Checkpoints(tmp_path, keep=KEEP, run="a").steps() == [1, 2]
    assert not assert_loads(tmp_path, 2)


def test_the_newest_stay_and_one_of_a_stop_makes_room(tmp_path: Path) -> None:
    """However often a run is stopped in between, those that are averaged are those of an uninterrupted run."""
    checkpoints = Checkpoints(tmp_path, keep=3, run="a")
    for step, on_schedule, expected in [
        (10, True, [10]),
        (20, True, [10, 20]),
        (23, False, [10, 20, 23]),
        (25, False, [10, 20, 25]),
        (30, True, [10, 20, 30]),
        (40, True, [20, 30, 40]),
        (41, False, [30, 40, 41]),
        (50, True, [30, 40, 50]),
    ]:
        checkpoints.save(*trained(1), replace(state_at(step), on_schedule=on_schedule))
        steps = checkpoints.steps()
        assert steps == expected, step


def test_a_death_before_the_older_ones_went_leaves_them_to_the_next_start(tmp_path: Path) -> None:
    """The last save of a run is followed by no other."""
    save(tmp_path, 1, 2, 3, 4, keep=9)
    (tmp_path / "step-4" / MANIFEST).unlink()
    Checkpoints(tmp_path, keep=2, run="a").prune(3)
    assert Checkpoints(tmp_path, keep=2, run="a").steps() == [2, 3, 4]


def test_the_average_passes_over_what_is_damaged(tmp_path: Path) -> None:
    save(tmp_path, 1, 2, 3, keep=9)
    (tmp_path / "step-2" / MANIFEST).unlink()
    checkpoints = Checkpoints(tmp_path, keep=9, run="a")
    assert checkpoints.newest_whole(1, lambda **_: None) == ([3], [])
    steps, passed_over = checkpoints.newest_whole(2, lambda **_: None)
    assert steps == [1, 3]
    assert len(passed_over) == 1
    assert "step-2" in passed_over[0]


def test_a_model_that_does_not_fit_is_named(tmp_path: Path) -> None:
    model = trained(1)[0]
    tensors = model_tensors(model)
    for change, message in [
        ({"0.bias": torch.ones(5)}, r"'0.bias' has shape \[5\] and type torch.float32, the model needs \[4\] and"),
        ({"new": torch.ones(5)}, "'new' is not of this model"),
    ]:
        with pytest.raises(BadFileError, match=message):
            load_model_tensors(model, {**tensors, **change}, origin=tmp_path)


def test_averaged_steps_of_anything_else_are_none(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    assert averaged_steps(path) == []
    noted = [safetensors.torch.save({}, metadata={"delivery": text}) for text in ("", "[]", "{}", "[" * 9999, "x")]
    for content in (b"", b"x" * 100, safetensors.torch.save({"a": torch.ones(1)}), *noted):
        path.write_bytes(content)
        assert averaged_steps(path) == []
    files = {model_file({"a": torch.ones(1)}, averaged_steps=[5, 10], run="x") for _ in range(20)}
    assert len(files) == 1
    path.write_bytes(files.pop())
    assert averaged_steps(path) == [5, 10]
