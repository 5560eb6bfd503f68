"""The two benchmarks as their commands run them, with our own side alone."""

import json
import sys
from pathlib import Path

import pytest

import small_runs
from mt.commands.benchmark import benchmark
from mt.commands.benchmark_decode import benchmark_decode
from mt.commands.entry_point import run


def test_training_is_measured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    words = ["systems=[ours]", "precisions=[fp32]", "rounds=1", "steps_per_round=2", f"output={tmp_path}/out"]
    arguments = small_runs.arguments(corpus, "training.micro_batch_tokens=400", f"run_dir={tmp_path}/run", *words)
    assert run("benchmark", benchmark, arguments) == 0
    [row] = [line for line in capfd.readouterr().out.split("\n") if line.startswith("| ours, fp32")]
    report = (tmp_path / "out/training-files-cpu.md").read_text(encoding="utf-8")
    assert row in report
    assert "N=1, d_model=16, d_ff=32, h=2, 320 subwords" in report
    [answer] = json.loads((tmp_path / "out/training-files-cpu.json").read_text(encoding="utf-8"))["answers"][
        "ours_fp32"
    ]
    assert answer["tokens"] > 400


def test_decoding_is_measured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_dir = tmp_path / "run"
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    assert small_runs.train(corpus, f"run_dir={run_dir}", "training.max_steps=4") == 0
    sizes = ["batches=[1,4]", "beam_sizes=[2]", "sentences=8", "single_sentences=3", "rounds=1", "threads=1"]
    words = [f"run_dir={run_dir}", "systems=[ours_fp32]", f"output={tmp_path}/out", "device=cpu", *sizes]
    assert run("benchmark_decode", benchmark_decode, words) == 0
    report = (tmp_path / "out/decoding-files.md").read_text(encoding="utf-8")
    assert "8 sentences of the test split (3 where they are translated one by one)" in report
    answers = json.loads((tmp_path / "out/decoding-files.json").read_text(encoding="utf-8"))["answers"]
    assert [one["sentences"] for rounds in answers.values() for one in rounds] == [3, 8]
    assert all("bleu" in one for rounds in answers.values() for one in rounds)
    assert run("benchmark_decode", benchmark_decode, [*words, "decoding=sampling"]) == 2
    assert "decoding.sampling: beam searches are compared" in capfd.readouterr().err
    other = [
        f"run_dir={run_dir}",
        "systems=[huggingface]",
        f"systems_python={sys.executable}",
        f"output={tmp_path}/out",
    ]
    assert run("benchmark_decode", benchmark_decode, other) == 2
    assert "mt-export format=huggingface" in capfd.readouterr().err
