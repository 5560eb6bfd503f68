"""What a right command line becomes: defaults, precedence, free text, sweeps, flags, exit codes, the run's copy."""

import contextlib
import copy
import errno
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
import yaml
from composed import FILES, Captured, composed
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from reliability import Trials

from mt import build
from mt.commands.entry_point import cores_of_quota, exit_code, run
from mt.config.loading import to_yaml
from mt.config.overrides import readable
from mt.config.schema import BuiltinData, EvaluateConfig, FilesData, TrainConfig, TranslateConfig
from mt.errors import BadFileError, DivergedError, LockedError, SignalledError, StoppedError, UserError
from mt.runs.folder import load_run
from mt.training.schedule import learning_rate

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("folder")


def save(config: TrainConfig, path: str) -> None:
    Path(path).write_text(to_yaml(config), encoding="utf-8", newline="\n")


def train_config(*arguments: str) -> TrainConfig:
    config = composed("train", *arguments)
    assert isinstance(config, TrainConfig)
    return config


@pytest.mark.parametrize(
    ("words", "on_gpu"),
    [
        (["model.d_model=512"], True),
        (["model.d_model=256"], False),
        (["model.d_model=512", "training.packing=false"], False),  # batches of all shapes
        (["training.packing=false", "training.compile=true"], True),
        (["training.compile=false"], False),
        (["experiment=language_model_small", "model=gpt", "model.d_model=512", f"data.text={__file__}"], True),
    ],
)
def test_what_is_compiled_of_itself_has_a_shape_that_repeats(
    words: list[str], on_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, cpu = train_config(*words), torch.device("cpu")
    monkeypatch.setattr(build, "can_compile_for_gpu", lambda: False)
    assert build.compiles(config, torch.device("cuda")) == (config.training.compile is True)
    monkeypatch.setattr(build, "can_compile_for_gpu", lambda: True)
    assert build.compiles(config, torch.device("cuda")) == on_gpu
    assert build.compiles(config, cpu) == (config.training.compile is True)
    assert build.search_batch_tokens(config.decoding, torch.device("cuda")) > 4096
    assert build.search_batch_tokens(config.decoding, cpu) == 4096
    assert build.search_batch_tokens(replace(config.decoding, batch_tokens=7), torch.device("cuda")) == 7


def test_data_brings_its_sizes_and_the_command_line_wins() -> None:
    plain, files = train_config(), train_config(*FILES)
    chosen = train_config("model=base", "training.max_steps=7", "seed=3")
    recipe = train_config("experiment=paper_big_en_fr", "model=toy", "model.num_heads=2")
    assert isinstance(plain.data, BuiltinData)
    assert isinstance(files.data, FilesData)
    assert (plain.run_dir, files.run_dir, recipe.run_dir) == ("runs/toy", "runs/files", "runs/paper_big_en_fr")
    assert plain.tokenizer.vocab_size < files.tokenizer.vocab_size < recipe.tokenizer.vocab_size
    assert train_config("~experiment") == plain
    assert (chosen.model.d_model, chosen.training.max_steps, chosen.seed) == (512, 7, 3)
    assert (recipe.model.num_layers, recipe.model.num_heads) == (plain.model.num_layers, 2)
    assert files.data.train[0].source == str(Path("a.en").absolute())


def test_what_fits_may_be_found_out_and_the_batch_stays_that_of_the_recipe() -> None:
    recipe = train_config("experiment=paper_base").training
    found = train_config("experiment=paper_base", "training.micro_batch_tokens=auto").training
    assert found == replace(recipe, micro_batch_tokens="auto")
    assert [train_config(f"training.compile={word}").training.compile for word in ("true", "false", "auto")] == [
        True,
        False,
        "auto",
    ]


def test_the_cache_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train_config().data.cache_dir == ".cache/mt"
    monkeypatch.setenv("MT_CACHE_DIR", "/elsewhere")
    assert train_config().data.cache_dir == "/elsewhere"
    assert train_config("data.cache_dir=here").data.cache_dir == "here"


SENTENCES = [
    "Hello, (world) = 5!",
    'It\'s $5 — "really"?',
    "${oc.env:HOME} \\${x} \\",
    "a: b, c",
    "[x] {y}",
    "null and void",
    "-",
    "1e3",
    "true",
    "",
    " two  spaces ",
    "Grüße 😀",
    "two\nlines",
    "~x",
    "'quoted' start",
    "\\",
    'x\\\\"',
    "= 5",
]
ALPHABET = ["\\", "$", "{", "}", '"', "'", ",", " ", "a", "=", "(", ")", "${", "\n", "[", "]", "é", ":", "#", "~", "!"]


@pytest.mark.parametrize(("source", "prefix"), list(zip(SENTENCES[::2], SENTENCES[1::2], strict=True)))
def test_a_sentence_arrives_as_typed(source: str, prefix: str) -> None:
    config = composed("translate", "run_dir=run", f"source={source}", f"target_prefix={prefix}")
    assert isinstance(config, TranslateConfig)
    assert (config.source, config.target_prefix) == (source, prefix)


def read_by_hydra(schema: type, key: str, text: str) -> object:
    """What Hydra and OmegaConf make of one override, without the rest of a configuration."""
    [word] = readable([f"{key}={text}"], schema, [])
    value = OmegaConf.create({key: OverridesParser.create().parse_override(word).value()})
    return str(OmegaConf.to_container(value, resolve=True)[key])  # type: ignore[call-overload, index]


def test_random_sentences_arrive_as_typed() -> None:
    generator = random.Random(1)
    for _ in range(300):
        text = "a" + "".join(generator.choices(ALPHABET, k=12))
        assert read_by_hydra(TranslateConfig, "source", text) == text


@pytest.mark.parametrize("name", ["lr=0.1,seed=2", "a (copy)", "0012", "5", "1e3", "true", "~x", "it's", "äöü"])
def test_any_folder_name_is_a_folder_name(name: str) -> None:
    assert read_by_hydra(TrainConfig, "run_dir", name) == name


def test_the_peak_of_the_learning_rate_may_be_given() -> None:
    given = train_config("training.learning_rate=1e-3", "model=base", "training=paper_base")
    rate = build.schedule(given)
    assert rate(4000) == pytest.approx(1e-3, rel=1e-12)
    assert rate(2000) == pytest.approx(5e-4, rel=1e-12)
    assert max(rate(step) for step in range(1, 9000, 7)) <= 1e-3
    factor = train_config("training.learning_rate_factor=2", "model=base", "training=paper_base")
    assert build.schedule(factor)(4000) == learning_rate(4000, d_model=512, warmup_steps=4000, factor=2.0)


def test_every_ending_that_is_read_is_accepted() -> None:
    files = ["a.tsv", "a.TSV.gz", "a.tsv.bz2", "a.jsonl.xz", "a.parquet"]
    for file in files:
        Path(file).touch()
    words = [word for word in FILES if not word.startswith("data.train")]
    listed = ", ".join(f"{{file: {file}}}" for file in files)
    assert train_config(*words, f"data.train=[{listed}]")


def test_interpolation_in_a_folder_name_stays() -> None:
    assert train_config("run_dir=runs/${name}-${seed}", "seed=4").run_dir == "runs/toy-4"


def test_the_newest_finished_run_is_taken() -> None:
    for position, name in enumerate(("old", "new", "unfinished")):
        Path("runs", name).mkdir(parents=True)
        for part in ("config.yaml", "tokenizer.model", "model.safetensors")[: 1 if name == "unfinished" else 3]:
            Path("runs", name, part).write_text("x", encoding="utf-8")
            os.utime(Path("runs", name, part), (position, position))
    translate = composed("translate", "source=a")
    assert isinstance(translate, TranslateConfig)
    assert translate.run_dir == "runs/new"
    scored = composed("evaluate", "hypothesis=a.de", "reference=a.de")
    assert isinstance(scored, EvaluateConfig)
    assert scored.run_dir is None


# ---------------------------------------------------------------------------- sweeps, flags, exit codes


def test_jobs_of_a_sweep_have_folders_of_their_own(capfd: pytest.CaptureFixture[str]) -> None:
    job = Captured()
    for fixed in ([], ["run_dir=x"], ["run_dir='x,y'"]):
        assert run("train", job, ["-m", "seed=1,2", *fixed]) == 2
        assert not job
        printed, message = capfd.readouterr()
        assert printed == ""
        assert message == (
            "error: run_dir: each job of a sweep needs a folder of its own, such as 'run_dir=runs/toy-${seed}'\n"
        )
    assert run("train", job, ["-m", "seed=1,2", "run_dir=x-${seed}"]) == 0
    assert run("train", job, ["-m", "run_dir=a,b"]) == 0
    assert run("train", job, ["-m", "experiment=copy,sort"]) == 0
    assert [config.run_dir for config in job] == ["x-1", "x-2", "a", "b", "runs/copy", "runs/sort"]


@pytest.mark.usefixtures("folder")
def test_the_file_of_labels_is_a_path_like_any_other() -> None:
    files = ["train (1).tsv", "Sätze.tsv"]
    for name in files:
        Path(name).write_text("a\tb\n", encoding="utf-8")
    words = ["data=labelled", "model=bert", "training.packing=false", f"data.train={files[0]}"]
    config = composed("train", *words, f"data.validation={files[1]}")
    assert [Path(path).name for path in (config.data.train, config.data.validation)] == files  # type: ignore[attr-defined]


def test_a_failed_job_ends_a_sweep_with_its_code(capfd: pytest.CaptureFixture[str]) -> None:
    seen = []

    def job(config: TrainConfig) -> None:
        seen.append(config.seed)
        raise DivergedError("the loss is not finite")

    assert run("train", job, ["-m", "seed=1,2", "run_dir=x-${seed}"]) == 3
    assert seen == [1]
    assert capfd.readouterr().err.endswith("error: the loss is not finite\n")


OUT_OF_MEMORY = (
    "error: out of memory: set training.micro_batch_tokens=auto or lower the size of the model to train, "
    "decoding.batch_tokens or decoding.beam_size to translate\n"
)
STOPPED = "stopped by {}: no unfinished file has replaced a finished one\n"
ERRORS = [
    (UserError("no"), 2, "error: no\n"),
    (DivergedError("no"), 3, "error: no\n"),
    (BadFileError("no\nnewlines"), 4, "error: no newlines\n"),
    (
        OSError(errno.ENOSPC, "No space left on device", "/x/y"),
        5,
        "error: cannot write /x/y: No space left on device; free some space and run it again\n",
    ),
    (OSError(errno.EACCES, "No", "/x"), 5, "error: /x: No; check who may read and write it\n"),
    (OSError(errno.ENAMETOOLONG, "File name too long", "/x"), 2, "error: /x: File name too long; check the path\n"),
    (MemoryError(), 2, OUT_OF_MEMORY),
    (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), 2, OUT_OF_MEMORY),
    (LockedError("no"), 6, "error: no\n"),
    (KeyboardInterrupt(), 130, STOPPED.format("SIGINT")),
    (SignalledError(signal.SIGTERM), 143, STOPPED.format("SIGTERM")),
    (SignalledError(signal.SIGUSR2), 143, STOPPED.format("SIGUSR2")),
    (
        OSError(errno.EFBIG, "File too large", "a", None, "b"),
        5,
        "error: cannot write b: File too large; free some space and run it again\n",
    ),
    (StoppedError("stopped", signal_number=signal.SIGTERM), 143, "stopped\n"),
    (copy.copy(StoppedError("of rank 0", signal_number=signal.SIGTERM)), 143, "of rank 0\n"),
]


@pytest.mark.parametrize(("error", "code", "message"), ERRORS, ids=lambda value: repr(value)[:40])
def test_exit_codes(error: BaseException, code: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    def job() -> None:
        raise error

    assert exit_code(job) == code
    assert capfd.readouterr().err == message


def test_closed_streams_end_in_no_traceback() -> None:
    script = f"{sys.executable} {ROOT / 'scripts/train.py'}"
    for command, code in ((f"{script} --cfg job >&-", 0), (f"{script} sed=1 2>&-", 2)):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_bug_shows_its_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    def job(_: TrainConfig) -> None:
        raise ValueError("a bug")

    assert run("train", job, []) == 1
    shown = capfd.readouterr().err
    assert "Traceback" in shown
    assert "ValueError: a bug" in shown


FLAGS = [
    (["--cfg", "job"], "max_steps:"),
    (["seed=7", "--cfg", "job", "-p", "model"], "d_model:"),
    (["--cfg", "job", "--resolve"], "run_dir: runs/toy"),
    (["--help"], "mt-train key=value"),
    (["--info", "defaults"], "model/toy"),
    (["--version"], "Hydra"),
    (["--shell-completion", "install=bash"], "complete"),
]


@pytest.mark.parametrize(("arguments", "shown"), FLAGS, ids=str)
def test_flags_of_hydra(arguments: list[str], shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    job = Captured()
    assert run("train", job, arguments) == 0
    assert shown in capfd.readouterr().out
    assert not job


def test_tab_completion(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for typed, completed in (("model=b", "model=base model=bert model=big"), ("training.max_s", "training.max_steps=")):
        monkeypatch.setenv("COMP_LINE", f"mt-train {typed}")
        monkeypatch.setenv("COMP_POINT", str(len(f"mt-train {typed}")))
        assert run("train", Captured(), ["--shell-completion", "query=bash"]) == 0
        assert capfd.readouterr().out.split() == completed.split()


def test_nothing_is_written_beside_the_run() -> None:
    before = sorted(Path().rglob("*"))
    train_config("seed=3")
    assert sorted(Path().rglob("*")) == before


def test_the_script_runs_as_a_file_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/train.py"), "--cfg", "job", "-p", "training"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "max_steps:" in done.stdout


# ---------------------------------------------------------------------------- the run's copy


def test_a_run_folder_gives_its_configuration_back() -> None:
    for arguments in ([], FILES, ["experiment=paper_big"], ["name=Größe: 'x' # 5", "training.max_minutes=0.5"]):
        config = train_config(*arguments)
        save(config, "run/config.yaml")
        assert load_run("run") == config


def test_a_run_is_read_where_its_data_is_gone() -> None:
    config = train_config(*FILES)
    save(config, "run/config.yaml")
    Path("a.en").unlink()
    assert load_run("run") == config


@pytest.mark.parametrize("lacking", ["seed", "training.label_smoothing", "expected"])
def test_a_run_that_lacks_an_option_is_refused_in_one_line(lacking: str) -> None:
    values = asdict(train_config(*FILES))
    group, _, name = lacking.rpartition(".")
    del (values[group] if group else values)[name]
    Path("run/config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(BadFileError) as caught:
        load_run("run")
    assert str(caught.value) == (
        f"run/config.yaml: {lacking}: is missing; an older version wrote it, or it is damaged: "
        "a missing option can be added there, as a file in conf/ has it; else train again"
    )


DAMAGE = [
    b"",
    b"\xff\xfe",
    b"seed: [",
    b"- a",
    b"seed: 1",
    b"!!python/object/apply:os.system ['touch canary']",
    b"[" * 5000,
    b"a: &a [x]\n"
    + b"".join(b"a%d: &a%d [*a%s, *a%s]\n" % (i, i, b"%d" % (i - 1) if i else b"", b"") for i in range(40)),
    b"seed: 2001-99-99",
    b"seed: " + b"9" * 6000,
    b"\x00",
    b"? {a: b}\n: c",
]


@pytest.mark.reliability(19)
def test_a_configuration_cut_at_a_line_end_is_refused() -> None:
    lines = to_yaml(train_config()).splitlines(keepends=True)
    for kept in range(len(lines)):
        Path("run/config.yaml").write_text("".join(lines[:kept]), encoding="utf-8")
        with pytest.raises(BadFileError, match=r"config\.yaml"):
            load_run("run")


@pytest.mark.reliability(19)
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda value: repr(value[:20]))
def test_a_damaged_configuration_is_refused(damage: bytes) -> None:
    Path("run/config.yaml").write_bytes(damage)
    started = time.process_time()  # of this process: the machine may be busy with others
    with pytest.raises(BadFileError, match=r"config\.yaml"):
        load_run("run")
    assert time.process_time() - started < 5
    assert not Path("canary").exists()


@pytest.mark.reliability(19)
def test_mutated_configurations_never_crash(trials: Trials) -> None:
    save(train_config(*FILES), "run/config.yaml")
    whole = Path("run/config.yaml").read_bytes()
    generator = random.Random(1)
    for _ in trials(range(100)):
        changed = bytearray(whole[: generator.randrange(1, len(whole))])
        for _ in range(generator.randrange(4)):
            changed[generator.randrange(len(changed))] = generator.randrange(256)
        Path("run/config.yaml").write_bytes(bytes(changed))
        with contextlib.suppress(BadFileError):
            load_run("run")


def test_a_folder_without_a_run_is_the_users_error() -> None:
    with pytest.raises(UserError, match="not a run folder"):
        load_run("nowhere")


def test_nothing_changes_after_loading() -> None:
    config = train_config()
    with pytest.raises(AttributeError):
        config.seed = 2  # type: ignore[misc]
    assert replace(config, seed=2).seed == 2


@pytest.mark.parametrize(
    ("written", "cores"),
    [("50000 100000\n", 1), ("250000 100000\n", 3), ("max 100000\n", None), ("x", None), (None, None)],
)
def test_a_containers_quota_counts_as_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str | None, cores: int | None
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    if written is not None:
        (tmp_path / "cpu.max").write_text(written, encoding="ascii")
    assert cores_of_quota(tmp_path / "cpu.max") == cores
