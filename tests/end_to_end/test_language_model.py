"""A language model of one text, by its commands: it learns, resumes exactly, continues a prompt; others refuse it."""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch

import small_runs
from mt.api import load_tokenizers, trained_model
from mt.commands.average import average
from mt.commands.compare import compare
from mt.commands.entry_point import run
from mt.commands.evaluate import evaluate
from mt.commands.export import export
from mt.commands.generate import generate
from mt.commands.inspect_corpus import inspect
from mt.commands.translate import translate
from mt.data.tokenizer import BOS
from mt.runs.folder import load_run

TINY = [
    *("data=text", "model.num_layers=1", "model.d_model=32", "model.d_ff=48", "model.num_heads=2"),
    *("tokenizer.vocab_size=320", "tokenizer.model_type=char", "data.block_tokens=24", "training.batch_tokens=192"),
    *("training.max_steps=60", "training.warmup_steps=10", "training.learning_rate=1e-2", "training.decay_fraction=0"),
    *("training.validate_every_steps=20", "training.checkpoint_every_steps=10", "training.log_every_steps=10"),
    *("training.average_checkpoints=2", "training.precision=fp32", "device=cpu"),
]
LINE = "one fish, two fïshes,\n\tred fish,  blue fish.\n"


def words(folder: Path, name: str, *changes: str) -> list[str]:
    (folder / "book.txt").write_text(40 * LINE, encoding="utf-8")
    own = [f"data.text={folder}/book.txt", f"data.cache_dir={folder}/cache", f"run_dir={folder}/{name}"]
    return small_runs.arguments([*TINY, *own], *changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language_model")
    assert small_runs.train(words(folder, "run")) == 0
    return folder / "run"


def generated(run_dir: Path, capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert run("generate", generate, [f"run_dir={run_dir}", *arguments]) == 0
    return capfd.readouterr().out


def test_it_learns_and_its_bits_per_byte_are_those_of_its_probabilities(finished: Path) -> None:
    scores = json.loads((finished / "evaluation.json").read_text("utf-8"))
    text = (finished / "data/validation.target").read_text("utf-8")
    assert scores["bytes"] == len(text.encode())
    config = load_run(finished)
    tokenizer, model = load_tokenizers(config, finished)[0], trained_model(finished, torch.device("cpu")).eval()
    ids, nats = tokenizer.encode(text), 0.0
    assert scores["tokens"] == len(ids)
    for start in range(0, len(ids), 24):
        block = torch.tensor([[BOS, *ids[start : start + 24]]])
        log_probabilities = model.requires_grad_(False)(block[:, :0], block[:, :-1])[0].log_softmax(-1)
        nats -= float(log_probabilities.gather(1, block[0, 1:, None]).sum())
    assert scores["bits_per_byte"] == pytest.approx(nats / math.log(2) / len(text.encode()), rel=1e-4)
    assert scores["perplexity"] == pytest.approx(math.exp(nats / len(ids)), rel=1e-4)
    assert scores["bits_per_byte"] < 1.5  # above 4 without context
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text("utf-8").split("\n") if line]
    report = (finished / "report.html").read_text("utf-8")
    assert f"perplexity {scores['perplexity']:.2f}, bits per byte {scores['bits_per_byte']:.3f}" in report
    found = [line["bits_per_byte"] for line in lines if line["kind"] == "validation"]
    assert len(found) == 3
    assert found[0] > found[-1]


def test_a_run_that_was_stopped_ends_with_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    small_runs.check_resumed(words, tmp_path, finished, stops=(20, 60))


def test_it_continues_a_prompt(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Greedily the most probable token follows, also beyond the 24 tokens of a block; samples differ."""
    found = generated(finished, capfd, "prompt=one fish,,", "decoding=greedy", "max_new_tokens=60")
    tokenizer = load_tokenizers(load_run(finished), finished)[0]
    model, prompt = trained_model(finished, torch.device("cpu")).eval(), tokenizer.encode("one fish,,")
    ids = [BOS, *prompt]
    while len(ids) < 24:
        ids.append(int(model(torch.empty(1, 0, dtype=torch.int64), torch.tensor([ids]))[0, -1].argmax()))
    assert found.startswith(tokenizer.decode_lines(ids[1:]))
    assert len(tokenizer.encode(found[:-1])) == len(prompt) + 60
    samples = [generated(finished, capfd, "prompt=two", "num_samples=3", "max_new_tokens=30") for _ in range(2)]
    assert samples[0] == samples[1]
    parts = samples[0].split("\n---------------\n")
    assert len(set(parts)) == 3
    assert all(part.startswith("two") for part in parts)
    other = generated(finished, capfd, "prompt=two", "num_samples=3", "max_new_tokens=30", "decoding.sampling.seed=2")
    assert other != samples[0]


def test_what_does_not_serve_a_language_model_refuses_it_by_name(
    finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir, book = f"run_dir={finished}", words(finished.parent, "other")
    shutil.copytree(finished, tmp_path / "same")
    other = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/other", f"finetune_from={finished}"]
    for name, job, given, named in (
        ("translate", translate, [run_dir, "source=a"], "is a language model"),
        ("evaluate", evaluate, [run_dir], "is a language model"),
        ("export", export, [run_dir, "format=huggingface"], "is a language model"),
        ("inspect", inspect, book, "data=text has no pairs"),
        ("compare", compare, [f"runs=[{finished},{tmp_path}/same]"], "does not translate"),
    ):
        capfd.readouterr()
        assert run(name, job, given) == 2
        assert named in capfd.readouterr().err
    assert small_runs.train(other) == 2
    assert "not both language models" in capfd.readouterr().err
    shutil.copytree(finished, tmp_path / "moved")
    assert run("average", average, [f"run_dir={tmp_path}/moved"]) == 0
