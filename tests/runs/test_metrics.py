"""`metrics.jsonl` and the pictures: whole lines of valid JSON, and after a restart none twice."""

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest
from faults import failing_disk

from mt.errors import BadFileError, DiskError
from mt.runs.metrics import MetricsFile, draw_curves, perplexity
from mt.training.diagnosis import Diagnosis, WatchedMetrics


def lines(path: Path) -> list[Any]:
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    text = path.read_text(encoding="utf-8")
    assert not text or text.endswith("\n")
    return [json.loads(line, parse_constant=refuse) for line in text.split("\n")[:-1]]


@pytest.mark.reliability(19)
def test_a_giant_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.touch()
    os.truncate(path, 40 << 30)
    for read in (lambda: MetricsFile(path, step=0, tensorboard=False), lambda: draw_curves(tmp_path)):
        with pytest.raises(BadFileError, match=r"metrics\.jsonl: larger than"):
            read()


def test_lines_after_the_checkpoint_go_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = MetricsFile(path, step=0, tensorboard=False)
    for step in range(1, 7):
        metrics.write(step=step, kind="train", loss=step / 3)
    metrics.write(step=4, kind="validation", bleu=None)
    metrics.close()
    before = path.read_bytes()
    MetricsFile(path, step=9, tensorboard=False).close()
    assert path.read_bytes() == before
    MetricsFile(path, step=4, tensorboard=False).close()
    assert [(line["step"], line["kind"]) for line in lines(path)] == [
        *((step, "train") for step in range(1, 5)),
        (4, "validation"),
    ]
    assert [line["loss"] for line in lines(path)[:4]] == [step / 3 for step in range(1, 5)]


def test_what_a_crash_left_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = b'{"step": 1, "kind": "train"}\n'
    path.write_bytes(
        whole
        + b'\0\0\0\n[]\n5\n{"step": "1", "kind": 1}\n{"kind": 1}\n\xff\n\n'
        + b"[" * 100_000
        + b"\n"
        + whole
        + whole[:-5]
    )
    metrics = MetricsFile(path, step=1, tensorboard=False)
    assert metrics.damaged == 8
    metrics.write(step=2, kind="train")
    metrics.close()
    assert [line["step"] for line in lines(path)] == [1, 1, 2]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_null(tmp_path: Path, value: float) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", step=0, tensorboard=False)
    metrics.write(step=1, kind="train", loss=value, name="x")
    metrics.close()
    assert lines(tmp_path / "metrics.jsonl") == [{"step": 1, "kind": "train", "loss": None, "name": "x"}]


def test_a_full_disk_is_a_disk_error(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "metrics.jsonl", step=0, tensorboard=False)
    with failing_disk(tmp_path, fail_at=1, mode="full"), pytest.raises(DiskError, match=r"metrics\.jsonl"):
        metrics.sync()
    metrics.close()
    full = Path("/dev/full")
    if full.exists():
        metrics._file = full.open("w", encoding="utf-8")
        with pytest.raises(DiskError, match="No space left"):
            metrics.write(step=1, kind="train")
        metrics.close()


def test_pictures_of_any_metrics(tmp_path: Path) -> None:
    for content in (
        [],
        [{"step": 1, "kind": "train", "nll": None}, {"step": 1, "kind": "validation", "nll": 2.0, "bleu": None}],
        [{"step": step, "kind": kind, "nll": 2.0, "bleu": 1.0} for step in (1, 2) for kind in ("train", "validation")],
    ):
        text = "".join(json.dumps(line) + "\n" for line in content)
        (tmp_path / "metrics.jsonl").write_text(text, encoding="utf-8")
        draw_curves(tmp_path)
        for name in ("loss.png", "bleu.png"):
            assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
            (tmp_path / name).unlink()


def test_a_perplexity_never_overflows() -> None:
    assert perplexity(0.0) == 1.0
    assert perplexity(1e9) == math.inf


def test_flipped_bits_cost_no_training(tmp_path: Path) -> None:
    """What reads the file on continuing takes whatever a disk has made of it."""
    chance = random.Random(1)
    path = tmp_path / "metrics.jsonl"
    train = {"kind": "train", "nll": 2.5}
    validation = {"kind": "validation", "nll": 2.5, "bleu": 1.25, "best_step": 3}
    text = [json.dumps({"step": step, **(validation if step % 4 == 0 else train)}) + "\n" for step in range(1, 40)]
    damaged = 0
    for _ in range(300):
        content = bytearray("".join(text).encode())
        for _ in range(20):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        watching = Diagnosis(unigram_entropy=3.0, warmup_steps=10, max_steps=100, label_smoothing=0.1)
        metrics = WatchedMetrics(path, step=99, tensorboard=False, diagnosis=watching)
        metrics.close()
        damaged += len(metrics.kept) < len(text)
    assert damaged > 100
    draw_curves(tmp_path)
