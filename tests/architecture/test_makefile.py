"""`make` hands over what was typed: any sentence, any folder; a missing .venv is made first, a present one is left."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ["help", "setup", "train", "translate", "evaluate", "average", "attention", "inspect"]
TARGETS += [
    "export",
    "import",
    "benchmark",
    "benchmark-decode",
    "benchmark-gpu",
    "check",
    "lint",
    "types",
    "test",
    "test-long",
    "clean",
]
COMMAND = """#!/usr/bin/env bash
printf '%s\\n' "$0" "$@"
case "$*" in *input=-*) cat ;; esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is set up, whose commands only repeat what they were given."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    commands = tmp_path / ".venv/bin"
    commands.mkdir(parents=True)
    doors = ("train", "translate", "evaluate", "average", "inspect", "export", "import")
    for name in (*(f"mt-{door}" for door in doors), "pytest"):
        (commands / name).write_text(COMMAND, encoding="utf-8")
        (commands / name).chmod(0o755)
    (tmp_path / ".venv/.ready").touch()
    later = time.time() + 10
    os.utime(tmp_path / ".venv/.ready", (later, later))
    return tmp_path


def make(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `make` says in that checkout, whatever the make around this test was told."""
    told = ("MAKE", "MFLAGS", "MT_", "ARGS", "SRC", "RUN")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(told)}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=checkout,
        env={**inherited, **environment},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


SENTENCES = [
    "A plain sentence.",
    "It's \"quoted\", isn't it?",
    "cost: $5 ($HOME) $(whoami) `whoami` ${x} $$",
    "a = (b, c); d & e | f > g # h",
    "back\\slash \\n %s %d",
    "-n",
    "Grüße 😀",
    "unfinished $(shell",
    "*",
    "two spaces  ",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_any_sentence_arrives(checkout: Path, sentence: str) -> None:
    done = make(checkout, "translate", f"SRC={sentence}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f".venv/bin/mt-translate\ninput=-\n{sentence}\n"


def test_a_sentence_may_come_from_the_environment(checkout: Path) -> None:
    assert make(checkout, "translate", SRC="$(x) it's").stdout.endswith("\n$(x) it's\n")


def test_a_run_and_overrides_are_handed_over(checkout: Path) -> None:
    done = make(checkout, "translate", "SRC=a", "RUN=my runs/$x,1", "ARGS=decoding=greedy 'data.train=[{source: a}]'")
    assert done.stdout.split("\n") == [
        ".venv/bin/mt-translate",
        "input=-",
        "run_dir=my runs/$x,1",
        "decoding=greedy",
        "data.train=[{source: a}]",
        "a",
        "",
    ]
    for target in ("train", "evaluate", "average", "inspect"):
        assert make(checkout, target, "ARGS=seed=2").stdout == f".venv/bin/mt-{target}\nseed=2\n"


def test_folders_are_handed_over_to_the_doors(checkout: Path) -> None:
    done = make(checkout, "export", "FORMAT=ctranslate2", "OUT=my out/$x", "ARGS=quantization=int8")
    assert done.stdout == ".venv/bin/mt-export\nformat=ctranslate2\noutput=my out/$x\nquantization=int8\n"
    done = make(checkout, "import", "FROM=it's here", "RUN=runs/a b")
    assert done.stdout == ".venv/bin/mt-import\nfolder=it's here\nrun_dir=runs/a b\n"
    assert "make import FROM=..." in make(checkout, "import").stderr


def test_a_missing_sentence_is_asked_for(checkout: Path) -> None:
    done = make(checkout, "translate")
    assert done.returncode == 2
    assert 'make translate SRC="..."' in done.stderr


def test_help_is_the_default_and_names_every_target(checkout: Path) -> None:
    shown = make(checkout).stdout
    for target in TARGETS:
        assert f"  {target} " in shown


def test_an_unsuitable_python_is_refused(checkout: Path) -> None:
    (checkout / ".venv/.ready").unlink()
    done = make(checkout, "setup", "PYTHON=false")
    assert done.returncode == 2
    assert "Python 3.11 or 3.12 is needed" in done.stderr
