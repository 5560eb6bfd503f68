"""From files to a translation and its score, by the names that scripts of others rely on; RELIABILITY 21, 22."""

import io
import json
import os
import re
import resource
import shutil
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml

import small_runs
from mt.commands import average as averaging
from mt.commands import translate as translation
from mt.commands.average import average
from mt.commands.compare import compare
from mt.commands.entry_point import run
from mt.commands.evaluate import evaluate
from mt.commands.inspect_corpus import inspect
from mt.commands.translate import translate
from mt.config.schema import ExportConfig
from mt.data.batch import Batch
from mt.data.tokenizer import Tokenizer, train_tokenizer
from mt.export.card import model_card
from mt.runs.delivery import averaged_steps
from mt.runs.folder import checkpoint_steps, load_run, note_imported
from mt.training import trainer
from mt.training.consistency import doubled

JOBS = {"translate": translate, "evaluate": evaluate, "average": average}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A finished run and its command line."""
    folder = tmp_path_factory.mktemp("finished")
    corpus = [*small_runs.write_corpus(folder / "corpus"), f"run_dir={folder}/run"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(folder / "nothing"))
        patch.setattr(trainer, "EnergyCounter", lambda: SimpleNamespace(joules=lambda: 1.8e6))
        assert small_runs.train(corpus) == 0
    return folder / "run", corpus


def test_a_run_folder_holds_what_it_promises(finished: tuple[Path, list[str]]) -> None:
    run_dir, _ = finished
    names = (
        "config.yaml tokenizer.model metrics.jsonl model.safetensors evaluation.json hypotheses.txt loss.png bleu.png "
        "README.md report.html"
    )
    for name in names.split():
        assert (run_dir / name).stat().st_size, name
    steps = {path.name for path in (run_dir / "checkpoints").iterdir()}
    assert steps == {"step-12", "step-16", "step-20"}
    assert averaged_steps(run_dir / "model.safetensors") == [20]  # the loss still falls fast: the mean validates worse
    scores = json.loads((run_dir / "evaluation.json").read_text(encoding="utf-8"))
    assert {"bleu", "bleu_low", "bleu_high", "chrf", "signature", "sentences", "seconds"} <= scores.keys()
    assert scores["sentences"] == 8
    assert (run_dir / "hypotheses.txt").read_bytes().count(b"\n") == 8


def test_the_card_has_scores_counts_examples_and_the_command(finished: tuple[Path, list[str]]) -> None:
    run_dir, _ = finished
    _, metadata, text = (run_dir / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    scores = json.loads((run_dir / "evaluation.json").read_text(encoding="utf-8"))
    assert f"\n# {run_dir.name}: en to de\n" in text  # data=files alone would say only "files"
    [result] = yaml.safe_load(metadata)["model-index"][0]["results"]
    assert result["metrics"] == [
        {"type": "bleu", "value": round(scores["bleu"], 2)},
        {"type": "chrf", "value": round(scores["chrf"], 2)},
    ]
    assert f" | {scores['exact_match']:.2f} % | " in text
    references = (run_dir / "data/test.target").read_text(encoding="utf-8").split("\n")[:-1]
    assert all(text.count(f"reference: {line}\n") == references.count(line) for line in references)
    assert "dropped: duplicate pair                   1" in text
    state = json.loads((run_dir / "checkpoints/step-20/state.json").read_bytes())
    assert state["joules"] >= 20 * 1.8e6  # one reading at each step
    assert f"; {state['joules'] / 3.6e6:.3g} kWh (CPU packages of the first machine" in text
    assert "\n1 + 1 layers, d_model 16, " in text
    assert re.search(r"^- \S+train\.en \+ \S+train\.de: [0-9]+ pairs$", text, re.MULTILINE)
    assert f"{scores['chrf']:.2f} | {scores['chrf_low']:.2f} to {scores['chrf_high']:.2f}" in text
    assert f"`{scores['bleu_signature']}`, `{scores['chrf_signature']}`" in text
    assert "mt-train data=files data.source_language=en" in text


def test_runs_are_compared_on_every_test_set_that_they_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    sides = f"source: {tmp_path}/corpus/validation.en, target: {tmp_path}/corpus/validation.de"
    runs = [tmp_path / name for name in "ab"]
    for run_dir in runs:
        assert (
            small_runs.train(
                corpus, f"run_dir={run_dir}", f"data.tests=[{{name: more, {sides}}}]", "training.max_steps=2"
            )
            == 0
        )
    perfect = (runs[1] / "data/more.target").read_bytes()
    (runs[1] / "evaluations/more/hypotheses.txt").write_bytes(perfect)
    (runs[1] / "evaluation.json").unlink()
    capsys.readouterr()
    assert run("compare", compare, [str(runs[0]), str(runs[1]), f"output={tmp_path}/found", "samples=100"]) == 0
    printed, message = capsys.readouterr()
    assert (
        f"left out: test: not scored by the run's own search; mt-evaluate run_dir={runs[1]} split=test with" in message
    )
    rows = [line.split(" | ") for line in printed.split("\n") if line.startswith("| more")]
    assert [row[2][:6] for row in rows] == ["0.00 (", "100.00"]
    assert rows[1][2].endswith("p = 0.010)")
    assert (tmp_path / "found/comparison.md").read_text(encoding="utf-8") == printed
    assert (tmp_path / "found/comparison.png").stat().st_size > 5000
    (runs[1] / "data/more.target").write_bytes(perfect[1:])
    assert run("compare", compare, [f"runs=[{runs[0]},{runs[1]}]"]) == 2
    assert "more: the runs have different references" in capsys.readouterr().err
    for path in (runs[1] / "data").glob("*.target"):
        path.unlink()
    assert run("compare", compare, [f"runs=[{runs[0]},{runs[1]}]"]) == 2
    assert f"test: not a test set of {runs[1]}; more: not" in capsys.readouterr().err


def test_two_files_are_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Validation and test are drawn from them; training has none of their sentences; the doctor does not mind."""
    corpus = small_runs.arguments(
        small_runs.write_corpus(tmp_path / "corpus"), "data.validation=null", "data.test=null"
    )
    run_dir = tmp_path / "run"
    assert small_runs.train(corpus, f"run_dir={run_dir}", "training.max_steps=2") == 0
    assert "no data.validation is given: pairs are held out of data.train" in capsys.readouterr().err
    held_out = [(run_dir / f"data/{split}.source").read_text().split("\n")[:-1] for split in ("validation", "test")]
    assert list(map(len, held_out)) == [4, 4]
    [cached] = {path.parent for path in tmp_path.rglob("train.source")}
    training = (cached / "train.source").read_text().split("\n")
    assert not {*held_out[0], *held_out[1]} & {*training}
    assert run("evaluate", evaluate, [f"run_dir={run_dir}"]) == 0
    assert run("inspect", inspect, [*corpus, f"output={tmp_path}/inspected"]) == 0
    assert "drawn" not in (tmp_path / "inspected/report.html").read_text()


def test_a_validation_line_beyond_the_learned_positions_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    for side in ("en", "de"):
        with (tmp_path / f"corpus/validation.{side}").open("a", encoding="utf-8") as file:
            file.write("a " * 150 + "\n")
    limits = ["model.max_positions=140", "data.filters.max_tokens=60", "decoding.max_source_tokens=60"]
    limits += ["decoding.max_output_tokens=60", f"run_dir={tmp_path}/run"]
    assert small_runs.train(corpus, "model.positions=learned", *limits) == 2
    error = capsys.readouterr().err
    assert "run/data/validation.source, line 9: 301 tokens are more than model.max_positions = 140;" in error
    assert not (tmp_path / "run/metrics.jsonl").exists()


def test_names_that_are_not_utf8_are_written_where_they_can_be(tmp_path: Path) -> None:
    """Files of the days of Latin-1: Python has a lone surrogate for each such byte, which UTF-8 cannot carry."""
    words = small_runs.write_corpus(tmp_path / "\udcfcbung")
    corpus = [re.sub(r"(source|target): ([^,}]+)", r'\1: "\2"', word) for word in words]
    with (
        (tmp_path / "\udcfcbung/train.en").open("ab") as source,
        (tmp_path / "\udcfcbung/train.de").open("ab") as target,
    ):
        source.write((tmp_path / "\udcfcbung/test.en").read_bytes())
        target.write((tmp_path / "\udcfcbung/test.de").read_bytes())
    runs = [f"{tmp_path}/\udcffa", f"{tmp_path}/\udcffb"]
    for run_dir in runs:
        assert small_runs.train(corpus, f"run_dir={run_dir}", "training.max_steps=2", "name=\udcfc") == 0
    files = [f"source={tmp_path}/\udcfcbung/test.en", f"reference={tmp_path}/\udcfcbung/test.de", f"run_dir={runs[0]}"]
    assert run("evaluate", evaluate, files) == 0
    assert run("evaluate", evaluate, [*files, "robustness=true"]) == 0
    assert run("compare", compare, [f'runs=["{runs[0]}","{runs[1]}"]', f"output={tmp_path}/found", "samples=100"]) == 0
    assert run("inspect", inspect, [*corpus, f"output={tmp_path}/inspected"]) == 0


def test_the_metrics_say_what_happened(finished: tuple[Path, list[str]]) -> None:
    lines = [json.loads(line) for line in (finished[0] / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [line["step"] for line in lines if line["kind"] == "train"] == [3, 6, 9, 12, 15, 18]
    assert [line["step"] for line in lines if line["kind"] == "validation"] == [7, 14, 20]
    references = (finished[0] / "data/validation.target").read_text(encoding="utf-8").split("\n")[:-1]
    assert [len(line["translations"]) for line in lines if line["kind"] == "validation"] == 3 * [len(references)]
    report = (finished[0] / "report.html").read_text(encoding="utf-8")
    assert all(f"<td>reference<td>{line}" in report for line in references)
    assert {"loss", "nll", "perplexity", "learning_rate", "gradient_norm", "target_tokens_per_second"} <= lines[
        0
    ].keys()


def test_the_divergence_of_two_passes_is_logged_apart_and_validation_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a rate of nothing the model stays the same, and so do validation and the first step's cross-entropy."""

    def trained(batch: Batch) -> Batch:
        assert torch.is_grad_enabled(), "validation passes a batch twice"
        return doubled(batch)

    monkeypatch.setattr("mt.training.step.doubled", trained)
    corpus = small_runs.write_corpus(tmp_path / "corpus")
    still = ["training.max_steps=2", "training.log_every_steps=1", "training.learning_rate=1e-30"]
    found = {}
    for choice in ("none", "rdrop", "simcut"):
        run_dir = tmp_path / choice
        assert small_runs.train(corpus, *still, f"training.consistency={choice}", f"run_dir={run_dir}") == 0
        lines = (run_dir / "metrics.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        first, _, found[choice] = (small_runs.without_times(json.loads(line)) for line in lines)
        assert ("consistency" in first) == (choice != "none")
        assert first.get("consistency", 1.0) > 1e-3
        assert first["loss"] == pytest.approx(found[choice]["loss"], rel=0.1)
    assert found["none"]["kind"] == "validation"
    assert found["none"] == found["rdrop"] == found["simcut"]


def test_a_finished_run_says_so_and_works_no_more(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir, corpus = finished
    before = {
        path: path.stat().st_mtime_ns
        for path in run_dir.rglob("*")
        if path.suffix in (".safetensors", ".json", ".jsonl", ".txt", ".png")
    }
    assert small_runs.train(corpus) == 0
    assert "finished at step 20; a larger training.max_steps continues" in capfd.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in before}


LINES = ["house tree.", "", "  ", "😀 \u2028 </s> ▁", "tree " * 100, "Wasser\u0085Licht", "x"]


@pytest.mark.parametrize("decoding", ["beam", "greedy"])
def test_every_line_of_a_file_gives_one_line(finished: tuple[Path, list[str]], tmp_path: Path, decoding: str) -> None:
    given, output = tmp_path / "given.txt", tmp_path / "output.txt"
    given.write_bytes("\n".join(LINES).encode())
    words = [f"run_dir={finished[0]}", f"input={given}", f"output={output}", f"decoding={decoding}"]
    assert run("translate", translate, [*words, "decoding.max_output_tokens=6", "decoding.max_source_tokens=50"]) == 0
    assert output.read_bytes().count(b"\n") == len(LINES)
    assert output.read_text(encoding="utf-8").split("\n")[1:3] == ["", ""]


def test_standard_input_goes_to_standard_output(
    finished: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Also for a program that writes a line when the one before is answered."""
    read_end, write_end = os.pipe()
    answered = threading.Semaphore(1)

    def ask() -> None:
        with os.fdopen(write_end, "wb", buffering=0) as writer:
            for line in LINES:
                assert answered.acquire(timeout=60)
                writer.write(f"{line}\n".encode())

    monkeypatch.setattr(translation, "_report_oddities", lambda *_: answered.release())
    with io.TextIOWrapper(os.fdopen(read_end, "rb")) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        program = threading.Thread(target=ask)
        program.start()
        assert run("translate", translate, [f"run_dir={finished[0]}", "input=-", "decoding.max_output_tokens=6"]) == 0
        program.join()
    assert capfdbinary.readouterr().out.count(b"\n") == len(LINES)


def test_one_sentence_gives_one_line(finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    words = [f"run_dir={finished[0]}", 'source=house, "tree" = {stone}: water', "decoding.max_output_tokens=6"]
    assert run("translate", translate, words) == 0
    out = capfd.readouterr().out
    assert out.endswith("\n")
    assert out.count("\n") == 1


def test_splits_and_files_are_scored_each_in_a_folder_of_its_own(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_dir, _ = finished
    names = ("evaluation.json", "hypotheses.txt")
    saved = {name: (run_dir / name).read_bytes() for name in names}
    corpus = run_dir.parent / "corpus"
    test = json.loads(saved["evaluation.json"])["bleu"]
    few = ["decoding.max_output_tokens=6"]
    folders = {
        "evaluations/test.de": [f"source={corpus}/test.en", f"reference={corpus}/test.de"],
        "evaluations/validation.de": [f"source={corpus}/validation.en", f"reference={corpus}/validation.de"],
        "evaluations/validation": ["split=validation"],
    }
    for folder, words in folders.items():
        assert run("evaluate", evaluate, [f"run_dir={run_dir}", *words, *few]) == 0
        assert "BLEU" in capfd.readouterr().out
        assert {path.name for path in (run_dir / folder).iterdir()} == set(names)
        assert saved == {name: (run_dir / name).read_bytes() for name in names}  # those of the test split stay
    scores = {folder: json.loads((run_dir / folder / "evaluation.json").read_bytes())["bleu"] for folder in folders}
    assert scores["evaluations/test.de"] == test
    assert scores["evaluations/validation.de"] == scores["evaluations/validation"]
    assert run("evaluate", evaluate, [f"run_dir={run_dir}", "split=test", *few]) == 0
    assert json.loads((run_dir / "evaluation.json").read_bytes())["bleu"] == test
    for words in (["split=test"], ["split=test"], [f"source={corpus}/test.de", f"reference={corpus}/test.de"]):
        before = (run_dir / "evaluation.json").read_bytes()
        assert run("evaluate", evaluate, [f"run_dir={run_dir}", *words, "decoding=greedy", *few]) == 0
        assert (run_dir / "evaluation.json").read_bytes() == before
    assert run("evaluate", evaluate, [f"run_dir={run_dir}", "target_language=zh", *few]) == 0
    assert json.loads((run_dir / "evaluation.json").read_bytes())["bleu"] == test
    again = {path.name for path in (run_dir / "evaluations").iterdir()}
    assert again == {"test", "test-2", "test.de", "test.de-2", "validation", "validation.de"}
    greedy = json.loads((run_dir / "evaluations/test/evaluation.json").read_bytes())
    assert (greedy["scored"], greedy["decoding"]["beam_size"]) == ("test split of files", 1)
    hypotheses = tmp_path / "hypotheses.txt"
    hypotheses.write_bytes(saved["hypotheses.txt"])
    capfd.readouterr()
    assert (
        run("evaluate", evaluate, [f"hypothesis={hypotheses}", f"reference={corpus}/test.de", "target_language=de"])
        == 0
    )
    assert f"{test:.2f}" in capfd.readouterr().out
    hypotheses.write_text("猫坐在垫子上。\n", encoding="utf-8")
    assert run("evaluate", evaluate, [f"hypothesis={hypotheses}", f"reference={hypotheses}"]) == 0
    assert "looks written without spaces, so give target_language" in capfd.readouterr().err
    for name, content in saved.items():
        (run_dir / name).write_bytes(content)


def test_robustness_has_a_folder_of_its_own(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_dir, corpus = shutil.copytree(finished[0], tmp_path / "run"), finished[0].parent / "corpus"
    words = [f"run_dir={run_dir}", "robustness=true", "decoding.max_output_tokens=6"]
    assert run("evaluate", evaluate, words) == 0
    assert run("evaluate", evaluate, [*words, f"source={corpus}/test.en", f"reference={corpus}/test.de"]) == 0
    tables = capfd.readouterr().out.split("| text |")[1:]
    assert len(tables) == 2
    assert tables[0] == tables[1]
    assert "| upper case | 8 |" in tables[0]
    for name in ("robustness-test", "robustness-test.de"):
        files = {path.name for path in (run_dir / "evaluations" / name).iterdir()}
        assert files == {"evaluation.json", "robustness.md", "robustness.png", "robustness.jsonl"}
    assert (run_dir / "evaluation.json").read_bytes() == (finished[0] / "evaluation.json").read_bytes()
    assert run("evaluate", evaluate, words) == 0  # its table replaces that of before
    card = (run_dir / "README.md").read_text(encoding="utf-8")
    parts = [part.partition("\n")[0] for part in re.split(r"\n(?=## )", card)[1:]]
    assert parts[-3:] == ["## Robustness, test.de", "## Robustness, test", "## Limits"]
    assert card.count("| upper case | 8 |") == 2
    capfd.readouterr()
    (run_dir / "README.md").write_bytes(b"caf\xe9")
    assert run("evaluate", evaluate, words) == 4
    assert "README.md: not UTF-8" in capfd.readouterr().err


def test_an_export_keeps_what_the_card_says_and_its_metadata(finished: tuple[Path, list[str]], tmp_path: Path) -> None:
    run_dir = finished[0]
    for form in ("huggingface", "ctranslate2"):
        config = ExportConfig(run_dir=str(run_dir), output=None, format=form, quantization="float32", sentences=None)
        cards = [model_card(load_run(run_dir), config, proof="p", run_dir=folder) for folder in (run_dir, tmp_path)]
        metadata, alone = (yaml.safe_load(card.split("---\n")[1]) for card in cards)
        own = yaml.safe_load((run_dir / "README.md").read_text(encoding="utf-8").split("---\n")[1])
        assert metadata == {**alone, "metrics": own["metrics"], "model-index": own["model-index"]}
        assert "## Examples, from test" in cards[0]
        assert "## Examples" not in cards[1]


def test_a_source_in_the_target_language_is_remarked(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for side, text in (("en", "This is the house of a friend.\n"), ("de", "Das ist das Haus von einem Freund.\n")):
        (tmp_path / f"lines.{side}").write_text(text * 5, encoding="utf-8")
    run_dir = shutil.copytree(finished[0], tmp_path / "run")
    for side, warnings in (("en", 0), ("de", 1)):
        words = [f"source={tmp_path}/lines.{side}", f"reference={tmp_path}/lines.de", "decoding.max_output_tokens=6"]
        assert run("evaluate", evaluate, [f"run_dir={run_dir}", *words]) == 0
        warning = f"warning: {tmp_path}/lines.{side} looks like de, but the run translates from en"
        assert capfd.readouterr().err.count(warning) == warnings


@pytest.mark.reliability(12)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_deleted_line_ends_a_training_before_any_work(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], split: str
) -> None:
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run"]
    path = tmp_path / f"corpus/{split}.de"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:3] + lines[4:]))
    assert small_runs.train(corpus) == 2
    error = capfd.readouterr().err
    assert f"{split}.en has {len(lines) - 1} lines but " in error
    assert f"{path} has {len(lines) - 2}" in error
    assert [one.name for one in (tmp_path / "run").iterdir()] == [".lock"]
    assert [one.name for one in (tmp_path / "corpus/cache").iterdir()] == [".writer"]


@pytest.mark.reliability(21)
@pytest.mark.parametrize("kind", ["hypothesis", "source"])
def test_unequal_line_counts_are_refused(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    for name, count in (("seven", 7), ("eight", 8)):
        (tmp_path / name).write_text("a b c\n" * count, encoding="utf-8")
    words = [f"run_dir={finished[0]}", f"{kind}={tmp_path}/seven", f"reference={tmp_path}/eight"]
    assert run("evaluate", evaluate, words) == 2
    error = capfd.readouterr().err
    assert "seven has 7 lines" in error
    assert "eight has 8" in error


def test_a_source_that_is_a_pipe_is_read_once(finished: tuple[Path, list[str]], tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(finished[0], run_dir)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "reference").write_text("haus\nbaum\n")
    threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"house\ntree\n",), daemon=True).start()
    words = [f"source={tmp_path}/pipe", f"reference={tmp_path}/reference", "device=cpu"]
    assert run("evaluate", evaluate, [f"run_dir={run_dir}", *words]) == 0
    assert json.loads((run_dir / "evaluations/reference/evaluation.json").read_bytes())["sentences"] == 2


def test_checkpoints_are_averaged_on_request(finished: tuple[Path, list[str]], tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(finished[0], run_dir)
    assert run("average", average, [f"run_dir={run_dir}", "checkpoints=2"]) == 0
    assert averaged_steps(run_dir / "model.safetensors") == [16, 20]
    assert run("average", average, [f"run_dir={run_dir}", "checkpoints=3"]) == 0
    assert averaged_steps(run_dir / "model.safetensors") == [12, 16, 20]
    assert run("average", average, [f"run_dir={run_dir}"]) == 0  # as the training did
    assert (run_dir / "model.safetensors").read_bytes() == (finished[0] / "model.safetensors").read_bytes()
    for name in ("evaluation.json", "README.md", "report.html"):  # which were of another model
        assert (finished[0] / name).exists()
        assert not (run_dir / name).exists()


def test_of_a_run_with_a_budget_the_warm_up_is_a_share_of_the_steps_made(
    finished: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`training.warmup_steps` counts those of a longer run than the time was enough for."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(averaging, "deliver", lambda *_, **choice: given.update(choice))
    run_dir = Path(shutil.copytree(finished[0], tmp_path / "run"))
    checkpoints = run_dir / "checkpoints"
    newest = checkpoints / f"step-{max(checkpoint_steps(checkpoints))}" / "state.json"
    state = json.loads(newest.read_bytes())
    for budget, progress, warmup_steps in (("null", 0.0, 10), ("2h", 1.0, 1), ("2h", 0.25, 4)):
        newest.write_text(json.dumps({**state, "progress": progress}), encoding="utf-8")
        written = (finished[0] / "config.yaml").read_text(encoding="utf-8")
        written = written.replace("budget: null", f"budget: {budget}").replace("max_steps: 20", "max_steps: 200")
        (run_dir / "config.yaml").write_text(written, encoding="utf-8")
        assert run("average", averaging.average, [f"run_dir={run_dir}"]) == 0
        assert (given["count"], given["warmup_steps"]) == (3, warmup_steps)


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ["config.yaml", "tokenizer.model", "model.safetensors"])
def test_a_damaged_run_folder_is_a_bad_file(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], name: str
) -> None:
    path = finished[0] / name
    content = path.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"\x80\x04\x95" + content):
        path.write_bytes(damaged)
        try:
            assert run("translate", translate, [f"run_dir={finished[0]}", "source=house"]) == 4
        finally:
            path.write_bytes(content)
        assert name in capfd.readouterr().err


GIANT_MODELS = {"sizes": {"d_model": 32768, "d_ff": 1_000_000}, "layers": {"num_layers": 1000}}
GIANT = {
    "translate": ["config.yaml", "identity.json", "tokenizer.model", "model.safetensors", "layers", "sizes"],
    "average": ["manifest.json", "model.safetensors"],
    "train": ["manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"],
    "finetune": ["model.safetensors", "sizes"],
}


@pytest.mark.reliability(19)
@pytest.mark.parametrize(("command", "name"), [(command, name) for command, names in GIANT.items() for name in names])
def test_giant_files_and_sizes_take_no_memory(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    """A file with a hole of 40 GB, or a configuration with a model of 250 GB or of a thousand layers."""
    run_dir, held = tmp_path / "run", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shutil.copytree(finished[0], run_dir)
    if name in GIANT_MODELS:
        text = (run_dir / "config.yaml").read_text(encoding="utf-8")
        for size, giant in GIANT_MODELS[name].items():
            text = re.sub(f"  {size}: .*", f"  {size}: {giant}", text)
        (run_dir / "config.yaml").write_text(text, encoding="utf-8")
    elif command in ("average", "train"):
        for step in (12, 16):
            shutil.rmtree(run_dir / f"checkpoints/step-{step}")
        os.truncate(run_dir / "checkpoints/step-20" / name, 40 << 30)
    else:
        os.truncate(run_dir / name, 40 << 30)
    commands = {
        "translate": lambda: run("translate", translate, [f"run_dir={run_dir}", "source=house"]),
        "average": lambda: run("average", average, [f"run_dir={run_dir}", "checkpoints=1"]),
        "train": lambda: small_runs.train(finished[1], f"run_dir={run_dir}"),
        "finetune": lambda: small_runs.train(finished[1], f"run_dir={tmp_path}/tuned", f"finetune_from={run_dir}"),
    }
    assert commands[command]() == 4
    message = capfd.readouterr().err.split("\n")[-2]
    assert message.startswith("error: ")
    assert ("model.safetensors" if name in GIANT_MODELS else name) in message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 300_000  # kilobytes


@pytest.mark.reliability(19)
def test_a_giant_checkpoint_is_left_out_of_the_mean(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its header promises the 40 GB that it has; averaged on request, and at the end of a training."""
    run_dir, held = tmp_path / "run", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shutil.copytree(finished[0], run_dir)
    path = run_dir / "checkpoints/step-16/model.safetensors"
    header = json.dumps({"x": {"dtype": "F32", "shape": [10 << 30], "data_offsets": [0, 40 << 30]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(path, 8 + len(header) + (40 << 30))
    again = [*finished[1], f"run_dir={run_dir}", "training.max_steps=21", "training.keep_checkpoints=9"]
    for command, steps in (
        (lambda: run("average", average, [f"run_dir={run_dir}", "checkpoints=2"]), "12, 20"),
        (lambda: small_runs.train(again), "12, 20, 21"),
    ):
        assert command() == 0
        error = capfd.readouterr().err
        assert f"passing over a damaged checkpoint: {path}: has fewer tensors than" in error
        assert f"model.safetensors: the mean of the checkpoints at steps {steps}" in error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 300_000  # kilobytes


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ["data/test.source", "data/test.target", "evaluation.json"])
def test_what_is_no_file_of_the_run_is_refused(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """A pipe would wait for ever."""
    shutil.copytree(finished[0], tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    assert run("evaluate", evaluate, [f"run_dir={tmp_path}/run", "split=test", "decoding.max_output_tokens=6"]) == 4
    assert capfd.readouterr().err.split("\n")[-2].startswith(f"error: {tmp_path}/run/{name}: ")


@pytest.mark.reliability(19)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.0])
def test_one_flipped_bit_in_the_delivered_model_is_found(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], share: float
) -> None:
    """It would translate, only otherwise."""
    path = finished[0] / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[int((len(content) - 1) * share)] ^= 0x40
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        assert run("translate", translate, [f"run_dir={finished[0]}", "source=house"]) == 4
    finally:
        path.write_bytes(whole)
    assert f"{path}: damaged" in capfd.readouterr().err


@pytest.mark.reliability(19)
def test_a_tokenizer_of_another_run_is_refused(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One of the same size would give fluent nonsense, with no other sign that it is wrong."""
    (tmp_path / "text").write_text("one two three four five six seven\n" * 9, encoding="utf-8")
    path = finished[0] / "tokenizer.model"
    content = path.read_bytes()
    size = Tokenizer.load(path).vocab_size
    for text, vocab_size in ((tmp_path / "text", 280), (tmp_path / "corpus/train.en", size)):
        small_runs.write_corpus(tmp_path / "corpus")
        options = {"character_coverage": 1.0, "byte_fallback": True, "input_sentence_size": 1000}
        train_tokenizer(text_files=[text], output=path, vocab_size=vocab_size, **options)
        try:
            assert run("translate", translate, [f"run_dir={finished[0]}", "source=house"]) == 4
        finally:
            path.write_bytes(content)
        assert f"{path}: missing, damaged or exchanged" in capfd.readouterr().err


@pytest.mark.reliability(19)
def test_a_model_of_another_run_is_refused(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One of the same sizes, trained on the same text by another seed, is not the one that the folder describes."""
    other = [*finished[1], f"run_dir={tmp_path}/other", "seed=2", "training.max_steps=1", "data.test=null"]
    assert small_runs.train(other) == 0
    path = finished[0] / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes((tmp_path / "other/model.safetensors").read_bytes())
    try:
        assert run("translate", translate, [f"run_dir={finished[0]}", "source=house"]) == 4
    finally:
        path.write_bytes(whole)
    assert f"{path}: of another run" in capfd.readouterr().err


@pytest.mark.reliability(19)
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"tokenizers": 5}', b'{"tokenizers": {}}', None])
def test_a_damaged_identity_is_a_bad_file(
    finished: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    path = finished[0] / "identity.json"
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    try:
        assert run("translate", translate, [f"run_dir={finished[0]}", "source=house"]) == 4
    finally:
        path.write_bytes(whole)
    assert "missing" in capfd.readouterr().err


def test_separate_vocabularies_work_to_the_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run", "tokenizer.shared_vocab=false"]
    assert small_runs.train(corpus, "training.max_steps=4", "training.tensorboard=true") == 0
    assert "the run ended inside its warm-up of 10 steps" in capfd.readouterr().err
    for name in ("tokenizer.model", "tokenizer.source.model", "evaluation.json"):
        assert (tmp_path / "run" / name).exists()
    assert list((tmp_path / "run/tensorboard").iterdir())
    assert run("translate", translate, [f"run_dir={tmp_path}/run", "source=house tree"]) == 0
    assert run("evaluate", evaluate, [f"run_dir={tmp_path}/run", "split=test"]) == 0
    assert small_runs.train(corpus, "training.max_steps=5") == 0
    assert averaged_steps(tmp_path / "run/model.safetensors") == [5]  # both are of the warm-up


def test_a_run_without_test_data_delivers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [f"run_dir={tmp_path}/run", "training.max_steps=12", "training.learning_rate=0.01"]
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), *words]
    assert small_runs.train(corpus, "data.test=null") == 0
    error = capfd.readouterr().err
    assert "peak learning rate 0.01 at step 10, to step 12" in error
    assert "inside its warm-up" not in error
    assert "warning: too long for 12 steps: training.warmup_steps=10, training.validate_every_steps=7, " in error
    assert "these would fit: training.warmup_steps=3 training.validate_every_steps=2 " in error
    assert not (tmp_path / "run/evaluation.json").exists()
    assert (tmp_path / "run/model.safetensors").exists()
    assert run("evaluate", evaluate, [f"run_dir={tmp_path}/run", "split=test"]) == 2
    assert "no test split" in capfd.readouterr().err
    assert run("evaluate", evaluate, [f"run_dir={tmp_path}/run", "split=validation"]) == 0
    assert small_runs.train(corpus, "data.test=null") == 0


@pytest.mark.parametrize("imported", [False, True], ids=["trained", "imported"])
def test_a_finished_run_without_checkpoints_is_not_free(
    finished: tuple[Path, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], imported: bool
) -> None:
    """Its tokenizer and identity stay, whatever other settings are tried in its folder."""
    run_dir = shutil.copytree(finished[0], tmp_path / "run")
    shutil.rmtree(run_dir / "checkpoints")
    if imported:
        note_imported(run_dir, {"special": {}, "tokens": 5})
    before = small_runs.outcome(run_dir)
    assert small_runs.train(finished[1], f"run_dir={run_dir}", "tokenizer.vocab_size=310") == 2
    message = "holds an imported model" if imported else "differs in tokenizer.vocab_size: 320 -> 310"
    assert message in capfd.readouterr().err
    assert small_runs.outcome(run_dir) == before


def test_a_beginning_that_failed_leaves_the_folder_free(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing has been trained: other settings may follow in the same folder."""
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/run", "training.max_steps=2"]
    assert small_runs.train(corpus, "data.filters.max_tokens=1") == 2
    assert "no training pairs are left" in capfd.readouterr().err
    assert small_runs.train(corpus, "tokenizer.vocab_size=310", "model.d_model=8") == 0
