"""The run of a task by its command: exact matches in training and on held-out sequences, drawn, saved and printed."""

import json
from pathlib import Path

import pytest

import small_runs
from mt.commands.entry_point import run
from mt.commands.translate import translate

TINY = [
    *("data=task", "data.task=addition", "data.training_pairs=60", "data.held_out_pairs=20", "training.max_steps=40"),
    *("tokenizer.model_type=bpe", "tokenizer.vocab_size=114", "model=gpt", "model.num_layers=1", "model.d_model=32"),
    *("model.d_ff=32", "model.num_heads=2", "model.positions=learned", "model.tied_embeddings=none"),
    *("training.warmup_steps=10", "training.learning_rate=2e-2", "training.batch_tokens=256", "training.packing=false"),
    *("training.precision=fp32", "training.validate_every_steps=20", "decoding.max_output_tokens=1", "device=cpu"),
]


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


def test_exact_matches_are_those_of_the_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_dir = tmp_path / "run"
    own = [f"run_dir={run_dir}", f"data.cache_dir={tmp_path}/cache"]
    assert small_runs.train(small_runs.arguments(TINY, *own)) == 0
    printed, said = capfd.readouterr()
    hypotheses, references = lines(run_dir / "hypotheses.txt"), lines(run_dir / "data/test.target")
    right = sum(map(str.__eq__, hypotheses, references))
    scores = json.loads((run_dir / "evaluation.json").read_text("utf-8"))
    assert scores["exact_match"] == pytest.approx(100 * right / 20)
    assert all(line.isdecimal() for line in hypotheses)  # the model's one token, without numbers copied around it
    assert printed == f"exact match {5 * right:.2f} %  ({right} of 20)\n"
    found = [line for line in map(json.loads, lines(run_dir / "metrics.jsonl")) if line["kind"] == "validation"]
    assert [line["bleu"] for line in found] == [None, None]
    accuracies = [(line["exact_match"], line["training_exact_match"]) for line in found]
    for held_out, learned in accuracies:
        assert f"exact match {held_out:.2f} %, in training {learned:.2f} %" in said
    assert accuracies[1][1] > max(accuracies[1][0], 40)  # of the training pairs many are known by heart
    assert (run_dir / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "114 subwords" in said
    assert "warning: the training text supports" not in said


LEARNED = {"copy": ("transformer", "transformer"), "reverse": ("transformer", "remrofsnart"), "sort": ("cab", "abc")}


@pytest.mark.long
@pytest.mark.parametrize("task", LEARNED)
def test_a_task_is_learned(task: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By the recipe as it is, to the last letter of nearly all sequences that training never saw."""
    run_dir = f"run_dir={tmp_path}/run"
    assert small_runs.train([f"experiment={task}", run_dir, f"data.cache_dir={tmp_path}/cache", "device=cpu"]) == 0
    assert json.loads((tmp_path / "run/evaluation.json").read_text("utf-8"))["exact_match"] >= 98
    source, target = LEARNED[task]
    capfd.readouterr()
    assert run("translate", translate, [run_dir, f"source={source}"]) == 0
    assert capfd.readouterr().out == f"{target}\n"
