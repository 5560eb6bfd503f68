"""A classifier of texts, by its commands: it learns, resumes exactly, labels lines; others refuse it."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch

import small_runs
from mt.api import trained_model
from mt.commands.attention import attention
from mt.commands.average import average
from mt.commands.entry_point import run
from mt.commands.evaluate import evaluate
from mt.commands.export import export
from mt.commands.generate import generate
from mt.commands.inspect_corpus import inspect
from mt.commands.translate import translate
from mt.data.tokenizer import BOS, EOS, Tokenizer

TINY = [
    *("data=labelled", "model.num_layers=1", "model.d_model=32", "model.d_ff=48", "model.num_heads=2"),
    *("model.norm=pre", "model.dropout=0", "tokenizer.vocab_size=340", "data.filters.max_tokens=20"),
    *("training.batch_tokens=400", "training.max_steps=60", "training.warmup_steps=10"),
    *("training.learning_rate=1e-2", "training.decay_fraction=0", "training.average_checkpoints=1"),
    *("training.validate_every_steps=20", "training.checkpoint_every_steps=20", "training.log_every_steps=20"),
    *("training.precision=fp32", "device=cpu"),
]
VOCABULARIES = {"en": small_runs.WORDS, "de": small_runs.WORTE, "both": [*small_runs.WORDS[:3], *small_runs.WORTE[:3]]}


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    chance = random.Random(seed)
    labels = [chance.choice(list(VOCABULARIES)) for _ in range(count)]
    return [(" ".join(chance.choices(VOCABULARIES[label], k=chance.randint(3, 6))), label) for label in labels]


def words(folder: Path, name: str, *changes: str) -> list[str]:
    for split, count in (("train", 300), ("validation", 30)):
        lines = "".join(f"{text}\t{label}\n" for text, label in texts(count, seed=count))
        (folder / f"{split}.tsv").write_text(lines, encoding="utf-8")
    rows = [{"id": 1, "label": label, "text": text} for text, label in texts(40, seed=40)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    files = [f"data.train={folder}/train.tsv", f"data.validation={folder}/validation.tsv"]
    own = [*files, f"data.test={folder}/test.jsonl", f"data.cache_dir={folder}/cache", f"run_dir={folder}/{name}"]
    return small_runs.arguments([*TINY, *own], *changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    assert small_runs.train(words(folder, "run")) == 0
    return folder / "run"


def labelled(run_dir: Path, capfd: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    capfd.readouterr()
    assert run("translate", translate, [f"run_dir={run_dir}", *arguments]) == 0
    return capfd.readouterr().out.split("\n")[:-1]


def test_it_learns_and_its_scores_are_those_of_its_labels(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    scores = json.loads((finished / "evaluation.json").read_text("utf-8"))
    assert (scores["scored"], scores["texts"], scores["labels"]) == ("test split of labelled", 40, ["both", "de", "en"])
    assert scores["accuracy"] > 80  # by chance, one in three
    assert (finished / "confusion.png").read_bytes().startswith(b"\x89PNG")
    test = texts(40, seed=40)
    (finished.parent / "test.txt").write_text("".join(f"{text}\n" for text, _ in test), encoding="utf-8")
    found = [line.split("\t") for line in labelled(finished, capfd, f"input={finished.parent}/test.txt")]
    right = [label == real for (label, _), (_, real) in zip(found, test, strict=True)]
    assert scores["accuracy"] == pytest.approx(100 * sum(right) / 40)
    tokenizer = Tokenizer.load(finished / "tokenizer.model")
    row = torch.tensor([[BOS, *tokenizer.encode(test[0][0]), EOS]])
    model = trained_model(finished, torch.device("cpu")).eval().requires_grad_(False)
    probabilities = model(row, torch.tensor([[0]]))[0, 0].softmax(-1)
    assert found[0][0] == scores["labels"][int(probabilities.argmax())]
    assert float(found[0][1]) == pytest.approx(float(probabilities.max()), abs=1e-4)
    ranked = [line.split("\t") for line in labelled(finished, capfd, f"source={test[0][0]}", "n_best=9")]
    assert [label for _, _, label, _ in ranked] == [
        scores["labels"][one] for one in probabilities.argsort(descending=True)
    ]
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text("utf-8").split("\n") if line]
    assert len([line["accuracy"] for line in lines if line["kind"] == "validation"]) == 3
    assert f"accuracy {scores['accuracy']:.2f} %" in (finished / "report.html").read_text("utf-8")


def test_it_is_scored_on_other_texts(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = finished.parent / "other.tsv"
    other.write_text(
        "window garden letter light\ten\nFenster Garten Brief\tde\nFenster Garten Brief\ten\n", encoding="utf-8"
    )
    before = (finished / "evaluation.json").read_bytes()
    for arguments in (["split=test"], ["split=validation"], [f"source={other}"]):
        assert run("evaluate", evaluate, [f"run_dir={finished}", *arguments]) == 0
    assert (finished / "evaluation.json").read_bytes() == before
    assert json.loads((finished / "evaluations/validation/evaluation.json").read_text("utf-8"))["texts"] == 30
    scores = json.loads((finished / "evaluations/other.tsv/evaluation.json").read_text("utf-8"))
    assert scores["confusion"] == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert (finished / "evaluations/other.tsv/confusion.png").exists()
    assert "accuracy 66.67 %  (95 % interval 20.77 to 93.85, 3 texts)  macro F1 66.67 %" in capfd.readouterr().out
    other.write_text("house tree\ten\n\nHaus\tfr\n", encoding="utf-8")
    assert run("evaluate", evaluate, [f"run_dir={finished}", f"source={other}"]) == 2
    assert f"{other}, line 2: the label '' is not among the 3 of training" in capfd.readouterr().err


@pytest.mark.long
def test_a_run_that_was_stopped_ends_with_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    small_runs.check_resumed(words, tmp_path, finished, stops=(20, 60))


def test_labels_that_training_does_not_have_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = words(tmp_path, "run")
    with (tmp_path / "test.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"text": "maison", "label": "fr"}\n')
    one, tabs = tmp_path / "one.tsv", tmp_path / "tabs.tsv"
    one.write_text("a\ten\nb\ten\n", encoding="utf-8")
    tabs.write_text("a\ten\nb\tc\td\n", encoding="utf-8")
    for changes, named in (
        ([], f"{tmp_path}/test.jsonl, line 41: the label 'fr' is not among the 3 of training"),
        ([f"data.train={one}", "data.test=null"], f"data.train: {one} has 1 different labels"),
        ([f"data.train={tabs}", "data.test=null"], f"{tabs}, line 2: has 3 tab-separated columns instead of 2"),
        (["data.labels=[en,de]", "data.test=null"], "the label 'both' is not among the 2 of training"),
    ):
        capfd.readouterr()
        assert small_runs.train(given, *changes) == 2, changes
        assert named in capfd.readouterr().err


def test_it_begins_with_the_encoder_of_a_masked_language_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book.txt").write_text("\n".join(text for text, _ in texts(100, seed=1)), encoding="utf-8")
    masked = [
        *("data=text", f"data.text={tmp_path}/book.txt", "data.block_tokens=20", f"run_dir={tmp_path}/masked"),
        *("training.max_steps=2", "model.max_positions=30", "model=bert", f"data.cache_dir={tmp_path}/cache"),
    ]
    sizes = [word for word in TINY if word.split(".")[0] in ("model", "tokenizer", "training")]
    assert small_runs.train([*sizes, *masked]) == 0
    given = words(tmp_path, "run", f"finetune_from={tmp_path}/masked", "training.max_steps=1")
    assert small_runs.train(given, "data.filters.max_tokens=60") == 2
    assert "a row of 62 with the ends does not fit model.max_positions = 30" in capfd.readouterr().err
    assert small_runs.train(given, "training.learning_rate=1e-9", "model.d_model=16") == 0
    before, after = (
        dict(trained_model(tmp_path / name, torch.device("cpu")).named_parameters()) for name in ("masked", "run")
    )
    shared = {name for name in after if not name.startswith(("head.", "output_embedding."))}
    assert shared == {name for name in before if not name.startswith("head.")}
    assert all(torch.allclose(before[name], after[name], rtol=0, atol=1e-7) for name in shared)
    assert after["output_embedding.weight"].shape == (3, 32)
    more = words(
        tmp_path, "more", f"finetune_from={tmp_path}/run", "training.max_steps=1", "data.labels=[both,de,en,fr]"
    )
    assert small_runs.train(more, "data.filters.max_tokens=20") == 0  # another output for other labels
    assert trained_model(tmp_path / "more", torch.device("cpu")).get_parameter("output_embedding.weight").shape[0] == 4


def test_what_does_not_serve_it_refuses_it_by_name(
    finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir, files = f"run_dir={finished}", words(finished.parent, "other")
    for name, job, given, named in (
        ("export", export, [run_dir, "format=huggingface"], "is a text classifier"),
        ("attention", attention, [run_dir, "source=a", "output=a.png"], "is a text classifier"),
        ("generate", generate, [run_dir], "is not a language model"),
        ("inspect", inspect, files, "data=labelled has no pairs"),
        ("translate", translate, [run_dir, "source=a", "target_prefix=b"], "target_prefix: "),
        ("evaluate", evaluate, [run_dir, "robustness=true"], "robustness: "),
    ):
        capfd.readouterr()
        assert run(name, job, given) == 2, name
        assert named in capfd.readouterr().err
    shutil.copytree(finished, tmp_path / "copy")
    assert run("average", average, [f"run_dir={tmp_path}/copy"]) == 0
