"""A masked language model of one text, by its commands: it learns, resumes exactly, fills masks; others refuse it."""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch

import small_runs
from mt.api import load_tokenizers, trained_model
from mt.commands.attention import attention
from mt.commands.average import average
from mt.commands.entry_point import run
from mt.commands.evaluate import evaluate
from mt.commands.export import export
from mt.commands.generate import generate
from mt.commands.preparation import filtered_text, training_order
from mt.commands.translate import translate
from mt.data.tokenizer import BOS, EOS
from mt.runs.folder import load_run

TINY = [
    *("data=text", "model=bert", "model.num_layers=1", "model.d_model=32", "model.d_ff=48", "model.num_heads=2"),
    *("model.norm=pre", "model.dropout=0", "tokenizer.vocab_size=320", "data.block_tokens=12"),
    *("training.batch_tokens=420", "training.max_steps=60", "training.warmup_steps=10"),
    *("training.learning_rate=1e-2", "training.decay_fraction=0", "training.average_checkpoints=2"),
    *("training.validate_every_steps=20", "training.checkpoint_every_steps=20", "training.log_every_steps=20"),
    *("training.precision=fp32", "device=cpu"),
]
LINES = [f"{12 * f' {word}'}".strip() for word in ("fish", "bread", "wäter", "stone", "light", "house")]


def words(folder: Path, name: str, *changes: str) -> list[str]:
    (folder / "book.txt").write_text("\n".join(12 * LINES), encoding="utf-8")
    own = [f"data.text={folder}/book.txt", f"data.cache_dir={folder}/cache", f"run_dir={folder}/{name}"]
    return small_runs.arguments([*TINY, *own], *changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masked")
    assert small_runs.train(words(folder, "run")) == 0
    return folder / "run"


def test_it_learns_what_is_hidden(finished: Path) -> None:
    scores = json.loads((finished / "evaluation.json").read_text("utf-8"))
    assert scores["perplexity"] == pytest.approx(math.exp(scores["nll"]))
    assert scores["accuracy"] > 50  # by chance, one in six
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text("utf-8").split("\n") if line]
    found = [line for line in lines if line["kind"] == "validation"]
    assert len(found) == 3
    assert found[0]["accuracy"] < found[2]["accuracy"]
    assert found[0]["nll"] > found[2]["nll"]
    report = (finished / "report.html").read_text("utf-8")
    assert f"perplexity {scores['perplexity']:.2f}, accuracy {scores['accuracy']:.2f} %" in report


def test_the_hidden_tokens_of_an_epoch_are_drawn_by_its_number(finished: Path) -> None:
    config = load_run(finished)
    order = training_order(config, filtered_text(config.data), torch.device("cpu"))
    rows = [order.corpus_of_epoch(epoch).source(0).tolist() for epoch in (0, 1, 0)]
    assert rows[0] == rows[2] != rows[1]


@pytest.mark.long
def test_a_run_that_was_stopped_ends_with_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    small_runs.check_resumed(words, tmp_path, finished, stops=(20, 60))


def test_it_fills_masks(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The probabilities are the model's for the row with every mask in it, each with the space before it."""
    tokenizer = load_tokenizers(load_run(finished), finished)[0]
    model = trained_model(finished, torch.device("cpu")).eval()
    capfd.readouterr()
    prompt = "bread bread [MASK] bread [MASK] bread"
    assert run("generate", generate, [f"run_dir={finished}", f"prompt={prompt}", "num_samples=3"]) == 0
    printed = [part.split("\n") for part in capfd.readouterr().out.rstrip("\n").split("\n---------------\n")]
    first, between, last = (tokenizer.encode(part) for part in ("bread bread", " bread", " bread"))
    ids = [BOS, *first, tokenizer.mask, *between, tokenizer.mask, *last, EOS]
    positions = torch.tensor([[index for index, token in enumerate(ids) if token == tokenizer.mask]])
    probabilities = model.requires_grad_(False)(torch.tensor([ids]), positions)[0].softmax(-1)
    assert len(printed) == 2
    for lines, expected in zip(printed, probabilities, strict=True):
        assert [float(line.split("  ")[0]) for line in lines] == pytest.approx(expected.topk(3).values, abs=1e-4)
    assert [lines[0].split("  ")[1] for lines in printed] == ["bread", "bread"]


def test_what_does_not_serve_it_refuses_it_by_name(
    finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = f"run_dir={finished}"
    for name, job, given, named in (
        ("translate", translate, [run_dir, "source=a"], "is a language model"),
        ("evaluate", evaluate, [run_dir], "is a language model"),
        ("export", export, [run_dir, "format=huggingface"], "is a language model"),
        ("attention", attention, [run_dir, "source=a", "output=a.png"], "is a language model"),
        ("generate", generate, [run_dir, "prompt=a fish"], "fills [MASK]"),
        ("generate", generate, [run_dir, f"prompt={'[MASK]' * 13}"], "13 tokens are more than"),
    ):
        capfd.readouterr()
        assert run(name, job, given) == 2, name
        assert named in capfd.readouterr().err
    shutil.copytree(finished, tmp_path / "copy")
    assert run("average", average, [f"run_dir={tmp_path}/copy"]) == 0
