"""RELIABILITY 5: a signal to a command that is no training ends it in order: one line, the right code, no half file."""

import importlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from waiting import until

import small_runs
from mt.commands.entry_point import run
from mt.runs import signals
from small_runs import CODES

FINISHED = 600


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("finished")
    corpus = small_runs.write_corpus(folder / "corpus")
    assert small_runs.train(corpus, f"run_dir={folder}/run", "training.max_steps=4") == 0
    return folder / "run"


def command(words: list[str], log: Path) -> None:
    """mt-translate as its script starts it."""
    from mt.commands import entry_point  # noqa: PLC0415  in the process that needs it
    from mt.commands.translate import translate  # noqa: PLC0415

    with log.open("ab") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    sys.argv = ["mt-translate", *words]
    entry_point.command("translate")(translate)()


@pytest.mark.reliability(5)
@pytest.mark.parametrize("number", CODES)
def test_a_translation_that_is_stopped_keeps_what_is_finished(
    finished: Path, tmp_path: Path, number: signal.Signals
) -> None:
    given, output, log = tmp_path / "given", tmp_path / "output", tmp_path / "log"
    given.write_text("house tree\n" * FINISHED, encoding="utf-8")
    output.write_text("an older one\n", encoding="utf-8")
    words = [f"run_dir={finished}", f"input={given}", f"output={output}", "decoding.max_extra_tokens=3", "device=cpu"]
    process = small_runs.start(command, words, log)
    until(lambda: any(part.stat().st_size for part in tmp_path.glob("*.part")), seconds=120)
    os.kill(process.pid or 0, number)
    start = time.monotonic()
    assert small_runs.ended([process]) == [CODES[number]]
    assert time.monotonic() - start < 10
    reported = log.read_text(encoding="utf-8")
    assert f"stopped by {number.name}: no unfinished file has replaced a finished one\n" in reported
    assert "Traceback" not in reported
    [part] = tmp_path.glob("*.part")
    assert f"{part} holds the lines that are finished; the same command continues there" in reported
    assert output.read_text(encoding="utf-8") == "an older one\n"
    kept = part.read_bytes().count(b"\n")
    assert 0 < kept < FINISHED
    again = small_runs.start(command, words, log)
    assert small_runs.ended([again], within_seconds=120) == [0]
    assert f"continued, finished lines: {kept:,}" in log.read_text(encoding="utf-8")
    assert output.read_bytes().count(b"\n") == FINISHED
    assert len(set(output.read_bytes().split(b"\n")[:-1])) == 1


COMMANDS: dict[str, tuple[str, str, list[str]]] = {
    "attention": ("attention", "attention_picture", ["source=house", "output={folder}/new.png"]),
    "average": ("average", "deliver", []),
    "evaluate": ("evaluate", "score_split", []),
    "export": ("export", "write_huggingface", ["format=huggingface", "output={folder}/new"]),
    "inspect": ("inspect_corpus", "replace_file", ["output={folder}/new"]),
}


@pytest.mark.reliability(5)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_other_command_ends_in_order(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """In the middle of its work, before its result is whole."""
    module_name, work, words = COMMANDS[name]
    module = importlib.import_module(f"mt.commands.{module_name}")
    number = list(CODES)[list(COMMANDS).index(name) % len(CODES)]
    monkeypatch.setattr(module, work, lambda *_, **__: signal.raise_signal(number))
    corpus = small_runs.write_corpus(tmp_path / "corpus") if name == "inspect" else []
    words = [*corpus, *([] if corpus else [f"run_dir={finished}"]), *(word.format(folder=tmp_path) for word in words)]
    before, handlers = small_runs.outcome(finished), {each: signal.getsignal(each) for each in (*CODES, signal.SIGALRM)}
    try:
        signals.end_on_signals()
        assert run(name, getattr(module, name), words) == CODES[number]
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
    error = capfd.readouterr().err
    assert f"stopped by {number.name}: no unfinished file has replaced a finished one\n" in error
    assert "Traceback" not in error
    assert small_runs.outcome(finished) == before
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "corpus"]


def deaf(swallowed: list[type[BaseException]], log: Path) -> None:
    """A job in which something swallows what a signal raises, as an import or a library's callback may."""
    from mt.commands import entry_point  # noqa: PLC0415  in the process that needs it

    def job(_: object) -> None:
        for kind in swallowed:
            log.write_text("ready", encoding="utf-8")
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                if kind is not KeyboardInterrupt:
                    raise kind("half imported") from None
        time.sleep(60)

    with log.with_suffix(".err").open("ab") as stream:
        os.dup2(stream.fileno(), sys.stderr.fileno())
    sys.argv = ["mt-inspect"]
    entry_point.command("inspect")(job)()


@pytest.mark.reliability(5)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("swallowed", [KeyboardInterrupt, ImportError])
def test_a_signal_that_is_swallowed_is_raised_again(
    tmp_path: Path, number: signal.Signals, swallowed: type[BaseException]
) -> None:
    log = tmp_path / "log"
    process = small_runs.start(deaf, [swallowed], log)
    until(log.exists)
    os.kill(process.pid or 0, number)
    assert small_runs.ended([process], within_seconds=20) == [CODES[number]]
    reported = log.with_suffix(".err").read_text(encoding="utf-8")
    assert f"stopped by {number.name}" in reported
    assert "Traceback" not in reported
