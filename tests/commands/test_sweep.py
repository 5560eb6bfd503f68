"""mt-sweep: what each training is given, what is trained again, what the table says."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from composed import composed
from waiting import until

import small_runs
from mt.commands.entry_point import exit_code, run
from mt.commands.sweep import sweep
from mt.config.loading import checked, expected_of
from mt.config.measurements import SweepConfig, SweepRow
from mt.config.schema import Model, TrainConfig
from mt.errors import UserError
from mt.model.architecture import Architecture
from mt.runs.folder import load_run
from mt.runs.results_table import figures, format_table, known_runs, note_run, table_figure

CONF = Path(__file__).resolve().parents[2] / "conf"
TABLE = '[{name: base, options: "", like: table3/base}, {name: wide, options: "model.d_ff=48", like: table3/c_ff4096}]'
TINY = ["training.max_steps=5", "training.validate_every_steps=5", "training.log_every_steps=2"]


class Trainings(list[Path]):
    """Remembers the runs, and trains the first as mt-train does; the others become copies of it, or end with `code`."""

    code = 0

    def __call__(self, words: Sequence[str]) -> int:
        from mt.commands.train import train  # noqa: PLC0415  after the shape checks are in place

        self.append(Path(words[-2].removeprefix("run_dir=")))
        if len(self) == 1:
            return run("train", train, words)
        if self.code == 0:
            shutil.copytree(self[0], self[-1], dirs_exist_ok=True)
        return self.code


def test_a_table_of_runs_is_made_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, trainings, configs = tmp_path / "sweep", Trainings(), list[SweepConfig]()
    corpus = small_runs.arguments([*small_runs.write_corpus(tmp_path / "corpus"), *TINY], f"run_dir={folder}")
    words = [*corpus, f"table={TABLE}", "shared=model.d_ff=24 model.num_heads=4", "model.num_heads=2", "seeds=[7]"]
    assert run("sweep", configs.append, words) == 0

    def swept(*more: str, rows: list[str] | None = None, code: int = 0, ends: int = 0) -> list[str]:
        """The names of the runs that are trained, where trainings end with `code`, and the sweep with `ends`."""
        trainings.code, before = code, len(trainings)
        monkeypatch.setattr(sys, "argv", ["mt-sweep", *words, *more])
        assert exit_code(lambda: sweep(replace(configs[0], rows=rows), trainings)) == ends
        return [path.name for path in trainings[before:]]

    assert swept(rows=["base"]) == ["base-7"]
    assert swept(code=143, ends=143) == ["wide-7"]
    assert swept(code=3, ends=2) == ["wide-7"]
    assert "1 of 2 trainings failed: wide-7 (exit code 3); the others are done" in capfd.readouterr().err
    assert swept() == ["wide-7"]
    assert swept() == []
    shutil.rmtree(folder / "wide-7")
    assert swept() == []
    (tmp_path / "moved").mkdir()
    shutil.copy(folder / "table.json", tmp_path / "moved")
    configs[0] = replace(configs[0], run_dir=f"{tmp_path}/moved")
    assert swept() == []
    configs[0] = replace(configs[0], run_dir=str(folder))
    printed = capfd.readouterr().out

    base, wide = json.loads((folder / "table.json").read_text())
    assert [(one["row"], one["seed"]) for one in (base, wide)] == [("base", 7), ("wide", 7)]
    config, d_ff = load_run(folder / "base-7"), {"base": "model.d_ff=32", "wide": "model.d_ff=48"}
    assert (config.model.d_ff, config.model.num_heads, config.seed, config.name) == (32, 2, 7, "base")
    for one in (base, wide):  # the row before the command line, which is before what is shared
        assert [word for word in one["options"] if word.startswith("model.d_ff")] == [d_ff[one["row"]]]
    scores = json.loads((folder / "base-7/evaluation.json").read_text())
    metrics = [json.loads(line) for line in (folder / "base-7/metrics.jsonl").read_text().split("\n") if line]
    [validation] = [line for line in metrics if line["kind"] == "validation"]
    seconds = [line["seconds"] for line in metrics if line["kind"] == "train"]
    assert (base["bleu"], base["perplexity"]) == (scores["bleu"], validation["perplexity"])
    assert base["sentences_per_second"] == scores["sentences"] / scores["seconds"]
    assert base["training_seconds"] == pytest.approx(sum(seconds) * 5 / 4)
    assert base["parameters"] == pytest.approx((320 * 16 + 3 * 1088 + 2 * 1072 + 5 * 32) / 1e6)
    assert (folder / "table.md").read_text() in printed
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")
    assert swept("training.max_steps=6", rows=["wide"]) == ["wide-7"]
    assert json.loads((folder / "table.json").read_text())[0] == base
    with (folder / "base-7/metrics.jsonl").open("a") as file:  # as a run ends that is out of time
        file.write(json.dumps({**validation, "kind": "unscheduled validation", "step": 6, "perplexity": 3.0}) + "\n")
    found = figures(folder / "base-7")
    assert found["perplexity"] == 3.0
    assert found["training_seconds"] == pytest.approx(sum(seconds) * 6 / 4)


def test_the_mean_of_a_row_is_of_runs_with_the_same_options(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    figures = dict.fromkeys(("parameters", "perplexity", "bleu", "training_seconds", "sentences_per_second"))
    likes = {"base": None, "wide": None}
    for row, seed, steps in (("base", 1, 5), ("wide", 1, 5), ("wide", 2, 5), ("wide", 3, 6)):
        options = [f"training.max_steps={steps}", f"name={row}", f"run_dir={row}-{seed}", f"seed={seed}"]
        note_run(tmp_path, {"row": row, "seed": seed, "options": options, **figures}, likes)
    assert [(run["row"], run["seed"]) for run in known_runs(tmp_path)] == [("base", 1), ("wide", 3)]
    assert "wide-1, wide-2 had other options than wide has now, and left the table" in capfd.readouterr().err


def test_cells_are_means_over_seeds_with_the_extremes() -> None:
    figures = {"parameters": 1.5, "perplexity": 5.0, "bleu": 30.0, "training_seconds": 60.0}
    runs = [
        {"row": "base", "seed": 1, **figures, "sentences_per_second": None},
        {"row": "base", "seed": 2, **figures, "bleu": 31.0, "sentences_per_second": None},
        {"row": "big", "seed": 2, **figures, "sentences_per_second": 9.0},
        {"row": "other", "seed": 2, **figures, "sentences_per_second": 9.0},
    ]
    likes = {"big": None, "none": None, "base": expected_of("table3/d_dropout_00")}
    heads, _, *rows = format_table(runs, likes).split("\n\n")[0].split("\n")
    assert rows == [
        "| big | 2 | 1.50 | 5.00 | 30.00 | 60 | 9.0 | — | — | — |",
        "| base | 1, 2 | 1.50 | 5.00 | 30.50 (30.00 to 31.00) | 60 | — | 65 | 5.77 | 24.6 |",
    ]
    likes = {"base": likes["base"], "big": expected_of("table3/big"), "other": None}
    axes = table_figure(runs, likes).axes  # two blocks, big and other, of five plots each
    assert [one.get_title() for one in axes] == [*heads.split(" | ")[2:7], *[""] * 5]
    points = {line.get_marker(): list(line.get_xdata()) for line in axes[2].get_lines()}
    assert points["o"] == [30.0]
    assert points["D"] == pytest.approx([30.5 + 26.4 - 24.6])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("table", ['[{"a": 1}]', '[{"row": "base", "seed": 1}]'])
def test_a_damaged_table_is_none(tmp_path: Path, table: str) -> None:
    config = composed("sweep")
    assert isinstance(config, SweepConfig)
    (tmp_path / "table.json").write_text(table)
    with pytest.raises(UserError, match="2 of 2 trainings failed"):
        sweep(replace(config, run_dir=str(tmp_path)), lambda _: 3)


WRONG = [
    (["a"], ["b"], "rows: the table has no row b; choose from a"),
    (["a", "a"], None, "table: 'a' must name one row"),
    (["../a"], None, "table: '../a' must name one row"),
]


@pytest.mark.usefixtures("folder")
def test_wrong_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trainings, config = Trainings(), composed("sweep")
    assert isinstance(config, SweepConfig)
    for names, rows, message in WRONG:
        table = [SweepRow(name=name, options="", like=None) for name in names]
        with pytest.raises(UserError, match=message):
            sweep(replace(config, table=table, rows=rows), trainings)
    for changes, message in (
        ({"seeds": []}, "nothing to train"),
        ({"rows": []}, "nothing to train"),
        ({"seeds": [1, 2, 1]}, "seeds: .* has a seed twice"),
        ({"shared": "a='b"}, "shared: the options a='b cannot be split: no closing quotation"),
        ({"shared": "model.norm"}, "shared: model.norm is not an option of a row"),
        ({"table": [SweepRow(name="a", options="seed=5", like=None)]}, "a: seed=5 is not an option of a row"),
    ):
        with pytest.raises(UserError, match=message):
            sweep(replace(config, **changes), trainings)
    monkeypatch.setattr(sys, "argv", ["mt-sweep", "seed=5"])
    with pytest.raises(UserError, match="seed: a sweep has several"):
        sweep(config, trainings)
    for recipe, message in (("table3/b", "recipe table3/b does not exist"), ("auto", "recipe auto expects no figures")):
        with pytest.raises(UserError, match=message):
            expected_of(recipe)
    assert not trainings


@pytest.mark.usefixtures("folder")
def test_rows_of_the_small_table_build() -> None:
    """Half the base model of the paper; the rows that promise it have as many parameters as base."""
    base = composed("train", "model=small")
    assert isinstance(base, TrainConfig)
    sizes: dict[str, int] = {}
    for row in yaml.safe_load((CONF / "sweep/table3_small.yaml").read_text(encoding="utf-8"))["table"]:
        options = dict(word.split("=") for word in row["options"].split())
        changed = {key.partition(".")[2]: yaml.safe_load(value) for key, value in options.items() if "model." in key}
        others = ("training.label_smoothing", "training.packing")
        assert changed.keys() == {key[6:] for key in options if key not in others}
        model = checked(Model, {**vars(base.model), **changed})
        assert bool(changed) == (model != base.model)
        if row["name"] in ("base", "g_swiglu", "g_decoder_only"):
            with torch.device("meta"):
                whole = Architecture(vocab_size=8064, pad=0, **vars(model)).transformer()
            sizes[row["name"]] = sum(parameter.numel() for parameter in whole.parameters())
        if "like" in row:
            assert expected_of(row["like"]).bleu
    paper = yaml.safe_load((CONF / "model/base.yaml").read_text(encoding="utf-8"))
    for name in ("num_layers", "d_model", "d_ff", "num_heads"):
        assert 2 * getattr(base.model, name) == paper[name]
    for row in ("g_swiglu", "g_decoder_only"):
        assert sizes[row] == pytest.approx(sizes["base"], rel=0.01)


@pytest.mark.long
def test_a_stopped_sweep_stops_its_training_and_continues(tmp_path: Path) -> None:
    """SIGTERM to mt-sweep alone: the training ends with its state saved, and the same command continues it."""
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), f"run_dir={tmp_path}/sweep", "seeds=[1]"]
    words = small_runs.arguments(corpus, "training.max_steps=4000", "training.validate_every_steps=4000")
    command = [sys.executable, str(CONF.parent / "scripts/sweep.py"), *words]
    checkpoints = tmp_path / "sweep/base-1/checkpoints"
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: list(checkpoints.glob("step-*")), seconds=200)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143, said
    assert "saved at step" in said
    step = re.search(r"saved at step ([\d,]+)", said)[1]
    more = f"training.max_steps={int(step.replace(',', '')) + 1}"
    done = subprocess.run([*command, more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"training continues after step {step}" in done.stderr
    assert "| base | 1 |" in done.stdout
