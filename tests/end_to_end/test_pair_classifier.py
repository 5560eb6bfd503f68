"""A classifier of pairs, by its commands: it learns, resumes exactly, filters a corpus; what translates refuses it."""

import json
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
from mt.data.pair_faults import TRUE
from mt.runs.folder import load_run
from mt.translation.classifier import Classifier

TINY = [
    *("model=bert", "model.num_layers=1", "model.d_model=32", "model.d_ff=48", "model.num_heads=2", "model.norm=pre"),
    *("model.dropout=0", "training.packing=false", "training.batch_tokens=1400", "training.micro_batch_tokens=1400"),
    *("training.max_steps=120", "training.warmup_steps=10", "training.learning_rate=5e-3"),
    *("training.decay_fraction=0", "training.average_checkpoints=1", "training.label_smoothing=0"),
    *("training.validate_every_steps=60", "training.checkpoint_every_steps=60", "training.log_every_steps=30"),
]


def words(folder: Path, name: str, *changes: str) -> list[str]:
    corpus = small_runs.write_corpus(folder / "corpus", pairs=400, held_out=40)
    return small_runs.arguments(corpus, *TINY, f"run_dir={folder}/{name}", *changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    assert small_runs.train(words(folder, "run")) == 0
    return folder / "run"


def test_it_tells_true_pairs_from_faulty_ones(finished: Path) -> None:
    scores = json.loads((finished / "evaluation.json").read_text("utf-8"))
    assert (scores["split"], scores["pairs"]) == ("test", 40)
    assert {name for name, fault in scores["faults"].items() if not fault["trained"]} == {
        *("words shuffled", "words replaced", "sentence added"),
    }
    assert scores["faults"]["wrong language"]["auc"] > 0.8  # 0.5 by chance
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text("utf-8").split("\n") if line]
    assert [line["nll"] < 0.69 for line in lines if line["kind"] == "validation"][-1]  # nats per pair; log 2 by chance


def test_the_faults_of_an_epoch_are_drawn_by_its_number(finished: Path) -> None:
    config = load_run(finished)
    order = training_order(config, filtered_text(config.data), torch.device("cpu"))
    epochs = [order.corpus_of_epoch(epoch) for epoch in (0, 1, 0)]
    classes = [[int(rows.target(index)[0]) for index in range(len(rows.target_lengths))] for rows in epochs]
    assert classes[0] == classes[2] != classes[1]


@pytest.mark.long
def test_a_run_that_was_stopped_ends_with_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    small_runs.check_resumed(words, tmp_path, finished, stops=(60, 120))


def test_it_filters_the_corpus_of_another_run(
    finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every other pair has the source on both sides; what is left is what scores enough."""
    corpus = small_runs.write_corpus(tmp_path / "corpus", pairs=100)
    sides = [tmp_path / f"corpus/train.{side}" for side in ("en", "de")]
    sources, targets = (path.read_text("utf-8").split("\n")[:-1] for path in sides)
    targets[::2] = sources[::2]
    sides[1].write_text("\n".join(targets) + "\n", encoding="utf-8")
    tokenizer, _ = load_tokenizers(load_run(finished), finished)
    pairs = list(zip(sources, targets, strict=True))
    scores = Classifier(trained_model(finished, torch.device("cpu")).eval(), tokenizer, 60)(pairs)[:, TRUE]
    minimum = sum(sorted(scores)[49:51]) / 2
    expected = [pair for pair, score in zip(pairs, scores, strict=True) if score > minimum]
    assert sum(source == target for source, target in expected) < 20
    learned = [f"data.filters.min_pair_score={minimum}", f"data.filters.pair_scorer={finished}"]
    plain = ["data.filters.remove_copies=false", "data.filters.remove_duplicates=false"]
    arguments = [*corpus, *plain, "data.filters.remove_held_out=false", f"run_dir={tmp_path}/run"]
    assert small_runs.train(arguments, *learned, "training.max_steps=1") == 0
    [kept] = (tmp_path / "corpus/cache").glob("text-*/train.source")
    left = (path.read_text("utf-8").split("\n")[:-1] for path in (kept, kept.with_suffix(".target")))
    assert list(zip(*left, strict=True)) == expected
    assert "dropped: pair score 50" in " ".join(capfd.readouterr().err.split())
    for changes, named in (
        (learned[:1], "give both or neither"),
        ([*learned, f"data.filters.pair_scorer={tmp_path}/run"], "is not a pair classifier"),
        ([*learned, "data.target_language=fr"], "knows pairs of en and de, not of en and fr"),
        ([*learned, f"data.filters.pair_scorer={tmp_path}/corpus"], "is not a finished run"),
        ([f"finetune_from={finished}"], "has model.family=encoder, this run encoder_decoder"),
    ):
        assert small_runs.train(arguments, *changes, f"run_dir={tmp_path}/other") == 2, changes
        assert named in capfd.readouterr().err


def test_what_translates_refuses_it_by_name(tmp_path: Path, finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_dir, other = f"run_dir={finished}", tmp_path / "translator"  # of the same vocabulary
    shutil.copytree(finished, other)
    text = (other / "config.yaml").read_text("utf-8").replace("family: encoder\n", "family: encoder_decoder\n")
    (other / "config.yaml").write_text(text, "utf-8")
    ensemble = [f"run_dir={other}", f"ensemble=[{finished}]", "source=a"]
    for name, job, given, named in (
        ("translate", translate, [run_dir, "source=a"], "is a pair classifier"),
        ("translate", translate, ensemble, f"{finished} is a pair classifier"),
        ("evaluate", evaluate, [run_dir], "is a pair classifier"),
        ("export", export, [run_dir, "format=huggingface"], "is a pair classifier"),
        ("attention", attention, [run_dir, "source=a", "output=a.png"], "is a pair classifier"),
        ("generate", generate, [run_dir], "is not a language model"),
    ):
        capfd.readouterr()
        assert run(name, job, given) == 2, name
        assert named in capfd.readouterr().err
    shutil.copytree(finished, tmp_path / "copy")
    assert run("average", average, [f"run_dir={tmp_path}/copy"]) == 0
