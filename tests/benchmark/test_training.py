"""The training benchmark: the same work for every system, and what is counted and divided by what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import BOS, EOS, PAD, VOCAB_SIZE, sentences

from mt.benchmark import ours_training
from mt.benchmark.contest import Outcome
from mt.benchmark.training_table import PEAK, speeds, training_flop, training_table
from mt.benchmark.workers import systems_training
from mt.benchmark.workers.training_task import TokenBatch, read_token_batches, write_token_batches
from mt.config.schema import Ours


def token_batch(lengths: list[int], *, seed: int) -> TokenBatch:
    target = sentences([length + 1 for length in lengths], seed=seed, begin=BOS)
    output = torch.cat([target[:, 1:], torch.full((len(target), 1), PAD)], dim=1)
    source = sentences([length + 1 for length in lengths], seed=seed + 1)
    for row, length in zip(range(len(lengths)), lengths, strict=True):
        source[row, length] = output[row, length] = EOS
    return TokenBatch(source.numpy(), target.numpy(), output.numpy())


@pytest.fixture
def task(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "batches.npz"
    write_token_batches(file, [token_batch([3, 5, 1], seed=1), token_batch([4, 4], seed=2)])
    sizes = {"vocab_size": VOCAB_SIZE, "num_layers": 1, "d_model": 16, "d_ff": 24, "num_heads": 2, "dropout": 0.0}
    task = {"device": "cpu", "batches": str(file), "label_smoothing": 0.1, "pack_length": 8, "sizes": sizes}
    return {**task, "variant": ""}


def test_batches_are_read_as_they_were_written(tmp_path: Path) -> None:
    batches = [token_batch([2, 4], seed=1), token_batch([3], seed=2)]
    write_token_batches(tmp_path / "batches.npz", batches)
    for one, other in zip(batches, read_token_batches(tmp_path / "batches.npz"), strict=True):
        for name, array in vars(one).items():
            assert (array == vars(other)[name]).all()
    assert (batches[0].source_tokens, batches[0].target_tokens, batches[0].positions) == (8, 8, 20)


@pytest.mark.parametrize(
    ("system", "variant", "positions"),
    [("ours", "", 56), ("ours", "padded", 56), ("ours", "packed", 64), ("torch", "", 56), ("hf_marian", "", 56)],
)
def test_every_system_trains_on_the_same_tokens(
    task: dict[str, Any], system: str, variant: str, positions: int
) -> None:
    prepare = ours_training.prepare if system == "ours" else systems_training.prepare
    about, answer = prepare({**task, "system": system, "variant": variant})
    assert about["parameters"] > VOCAB_SIZE * 16
    first, second = (answer({"precision": "fp32"}) for _ in range(2))
    assert (first["source_tokens"], first["target_tokens"], first["positions"]) == (22, 22, positions)
    assert 0 < second["loss"] < first["loss"] < 2 * np.log(VOCAB_SIZE)  # it learns


def test_every_variant_of_ours_is_known() -> None:
    variants = {name.removeprefix("ours").removeprefix("_") for name in Ours.__args__}
    assert variants == {"", *ours_training.VARIANTS}


def test_the_arithmetic_of_the_base_model() -> None:
    """38.1 and 50.8 million for encoder and decoder, 37.9 for the output, forward, at length 27; three times that."""
    lengths = np.full(10, 27)
    sizes = {"num_layers": 6, "d_model": 512, "d_ff": 2048}
    whole = training_flop(lengths, lengths, **sizes, vocab_size=37_000) / 270
    output = whole - training_flop(lengths, lengths, **sizes, vocab_size=0) / 270
    assert whole / 3e6 == pytest.approx(38.1 + 50.8 + 37.9, abs=0.1)
    assert output / 3e6 == pytest.approx(37.9, abs=0.05)


def answer(seconds: float, **more: float) -> dict[str, float]:
    return {"seconds": seconds, "source_tokens": 400, "target_tokens": 600, "positions": 1250, **more}


OUTCOME = Outcome(
    {
        f"{PEAK} fp32": [{"flop_per_second": 4e9}, {"flop_per_second": 2e9}, {"flop_per_second": 4e9}],
        "ours fp32": [answer(1.0, peak_bytes=2**30), answer(2.0, peak_bytes=2**31), answer(1.0, peak_bytes=2**30)],
        "ours bf16": [answer(0.5), answer(1.0), answer(0.5)],
        "torch fp32": [answer(2.0), answer(4.0), answer(2.0)],
    },
    {"hf_marian_compiled fp32": "hf_marian_compiled: no C++ compiler | none"},
)


def test_figures_are_of_real_tokens_and_ratios_of_the_same_round() -> None:
    shown = training_table(
        OUTCOME,
        systems=["ours", "torch", "hf_marian_compiled", "x"],
        precisions=["fp32"],
        flop=1e9,
        about={"ours": {}, "x": {"failed": "no"}},
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.split("\n")]
    assert rows[2][:6] == ["ours", "fp32", "1,000 (500–1,000)", "600", "80.0%", "25.0 (25.0–25.0) %"]
    assert rows[2][6:] == ["2.00", "1.00 (1.00–1.00)"]
    assert rows[3] == ["torch", "fp32", "500 (250–500)", "300", "80.0%", "12.5 (12.5–12.5) %", "–", "2.00 (2.00–2.00)"]
    assert rows[4] == ["HF MarianMT, compiled", "fp32", *["–"] * 5, "hf_marian_compiled: no C++ compiler / none"]
    assert rows[5][-1] == "no"
    assert {len(row) for row in rows} == {8}


def test_precisions_are_compared_and_a_training_is_projected() -> None:
    assert speeds(OUTCOME, ["fp32", "bf16"], steps_per_round=10, max_steps=72_000) == (
        "Matrix products, GFLOP/s: fp32 4 (2–4). Ours in bf16 over ours in fp32: 2.00 (2.00–2.00). "
        "Projected, not run: 72,000 such steps of ours take 2.00 h in fp32, 1.00 h in bf16."
    )
