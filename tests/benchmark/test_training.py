"""The training benchmark: the same work for every system, and what is counted and divided by what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import BOS, EOS, PAD, VOCAB_SIZE, sentences

from mt.benchmark import ours_training
from mt.benchmark.contest import Outcome
from mt.benchmark.report import training_table
from mt.benchmark.timed_training import TokenBatch, read_token_batches
from scripts.systems import training


def token_batch(lengths: list[int], *, seed: int) -> TokenBatch:
    target = sentences([length + 1 for length in lengths], seed=seed, begin=BOS)
    output = torch.cat([target[:, 1:], torch.full((len(target), 1), PAD)], dim=1)
    source = sentences([length + 1 for length in lengths], seed=seed + 1)
    for row, length in zip(range(len(lengths)), lengths, strict=True):
        source[row, length] = output[row, length] = EOS
    return TokenBatch(source, target, output)


@pytest.fixture
def task(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "batches.pt"
    torch.save([tuple(token_batch([3, 5, 1], seed=1)), tuple(token_batch([4, 4], seed=2))], file)
    sizes = {"vocab_size": VOCAB_SIZE, "num_layers": 1, "d_model": 16, "d_ff": 24, "num_heads": 2, "dropout": 0.0}
    task = {"device": "cpu", "batches": str(file), "label_smoothing": 0.1, "pack_length": 8, "sizes": sizes}
    return {**task, "packed": False, "compiled": False}


def test_batches_are_read_as_they_were_written(task: dict[str, Any]) -> None:
    first, second = read_token_batches(task["batches"])
    assert all(torch.equal(*pair) for pair in zip(second, token_batch([4, 4], seed=2), strict=True))
    assert (first.tokens, second.tokens) == (24, 20)


@pytest.mark.parametrize(
    ("system", "packed"),
    [
        ("ours", False),
        ("ours", True),
        pytest.param("torch", False, marks=pytest.mark.long),
        pytest.param("hf_marian", False, marks=pytest.mark.long),
    ],
)
def test_every_system_trains_on_the_same_tokens(task: dict[str, Any], system: str, packed: bool) -> None:
    prepare = ours_training.prepare if system == "ours" else training.prepare
    about, answer = prepare({**task, "system": system, "packed": packed})
    assert about["parameters"] > VOCAB_SIZE * 16
    first, second = (answer({"precision": "fp32"}) for _ in range(2))
    assert first["tokens"] == 44
    assert 0 < first["mfu"] < 1
    assert 0 < second["loss"] < first["loss"] < 2 * np.log(VOCAB_SIZE)  # it learns


def test_the_arithmetic_is_that_of_the_formulas() -> None:
    """38.1 and 50.8 million for encoder and decoder, 37.9 for the output, forward, at length 27; three times that."""
    batch = TokenBatch(*(torch.ones(10, 27, dtype=torch.int64) for _ in range(3)))
    sizes = {"num_layers": 6, "d_model": 512, "d_ff": 2048}
    whole, layers = (batch.flop(**sizes, vocab_size=size) / 270 for size in (37_000, 0))
    assert whole / 3e6 == pytest.approx(38.1 + 50.8 + 37.9, abs=0.1)
    assert (whole - layers) / 3e6 == pytest.approx(37.9, abs=0.05)


def test_figures_are_of_real_tokens_and_ratios_of_the_same_round() -> None:
    def answers(*seconds: float) -> list[dict[str, float]]:
        return [{"seconds": one, "tokens": 1000, "peak_bytes": one * 2**30, "mfu": 0.25 / one} for one in seconds]

    outcome = Outcome(
        {
            "ours_fp32": answers(1.0, 2.0, 1.0),
            "ours_bf16": answers(0.5, 1.0, 0.5),
            "torch_compiled_fp32": answers(2.0, 4.0, 2.0),
        },
        {"torch_compiled_bf16": "no C++ compiler"},
    )
    shown = training_table(outcome, systems=["ours", "torch_compiled", "x"], precisions=["fp32", "bf16"])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.split("\n")]
    assert rows[0][2:] == ["MFU, %", "peak memory, GiB", "ours, fp32 / this one", "ours, bf16 / this one"]
    assert rows[2] == [
        "ours, fp32",
        "1,000.0 (500.0–1,000.0)",
        "25.0 (12.5–25.0)",
        "2.00",
        "1.00 (1.00–1.00)",
        "2.00 (2.00–2.00)",
    ]
    assert rows[4][0] == "torch, compiled, fp32"
    assert rows[4][4:] == ["2.00 (2.00–2.00)", "4.00 (4.00–4.00)"]
    assert len(rows) == 5
