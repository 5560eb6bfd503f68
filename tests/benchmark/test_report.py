"""Figures as the formulas say, and reports that say what they were measured on."""

import json
import mmap
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.benchmark.flops import training_flop
from mt.benchmark.report import environment, table, write_report
from mt.benchmark.spread import ratio, spread
from mt.benchmark.workers.meter import measured
from mt.benchmark.workers.token_batches import TokenBatch, read_token_batches, write_token_batches
from mt.errors import DiskError


def test_a_spread_is_median_and_range_and_ratios_are_taken_round_by_round() -> None:
    assert spread([3.0, 1.0, 10.0]).text(1) == "3.0 (1.0–10.0)"
    slow_machine = [100.0, 10.0, 100.0]
    assert ratio([2 * value for value in slow_machine], slow_machine).text(2) == "2.00 (2.00–2.00)"
    with pytest.raises(ValueError, match="nothing was measured"):
        spread([])


def test_the_arithmetic_of_the_base_model() -> None:
    """38.1 and 50.8 million for encoder and decoder, 37.9 for the output, forward, at length 27; three times that."""
    lengths = np.full(10, 27)
    sizes = {"num_layers": 6, "d_model": 512, "d_ff": 2048}
    whole = training_flop(lengths, lengths, **sizes, vocab_size=37_000) / 270
    output = whole - training_flop(lengths, lengths, **sizes, vocab_size=0) / 270
    assert whole / 3e6 == pytest.approx(38.1 + 50.8 + 37.9, abs=0.1)
    assert output / 3e6 == pytest.approx(37.9, abs=0.05)


def test_memory_that_comes_and_goes_is_seen() -> None:
    def action() -> None:
        with mmap.mmap(-1, 2**28) as region:  # the system's own: what torch frees, a test before may have let us keep
            region[:: mmap.PAGESIZE] = b"1" * (2**28 // mmap.PAGESIZE)

    before = measured(lambda: None, torch.device("cpu"))
    during = measured(action, torch.device("cpu"))
    after = measured(lambda: None, torch.device("cpu"))
    assert during["peak_bytes"] - before["peak_bytes"] == pytest.approx(2**28, rel=0.1)
    assert after["peak_bytes"] - before["peak_bytes"] < 2**26
    assert during["seconds"] > 0


def test_batches_come_back_as_they_were(tmp_path: Path) -> None:
    batches = [TokenBatch(*(np.arange(6 * n).reshape(2 * n, 3) + k for k in range(3))) for n in (1, 2)]
    write_token_batches(tmp_path / "batches.npz", batches)
    again = read_token_batches(tmp_path / "batches.npz")
    assert len(again) == 2
    for one, other in zip(batches, again, strict=True):
        assert all(
            (one_side == other_side).all()
            for one_side, other_side in zip(vars(one).values(), vars(other).values(), strict=True)
        )
    assert (batches[0].source_tokens, batches[0].target_tokens, batches[0].places) == (5, 6, 12)


def test_a_report_names_machine_date_command_and_commit(tmp_path: Path) -> None:
    about = environment(["mt-benchmark", "data.train=[{source: a}]"])
    assert {"date", "command", "processor", "cores"} <= about.keys()
    body = table(["who", "speed"], [["ours", "2"], ["theirs", "1"]])
    page = write_report(
        tmp_path / "new", "training", title="Speed", body=body, results={"answers": {"a": [1]}}, about=about
    )
    text = page.read_text(encoding="utf-8")
    assert "| who | speed |\n| --- | ---: |\n| ours | 2 |" in text
    assert "- command: `mt-benchmark 'data.train=[{source: a}]'`" in text
    kept = json.loads((tmp_path / "new/training.json").read_bytes())
    assert kept["about"]["date"] == about["date"]
    assert kept["answers"] == {"a": [1]}
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DiskError, match="choose another output=DIR"):
        write_report(tmp_path / "file", "x", title="", body="", results={}, about={})
