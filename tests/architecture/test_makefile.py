"""`make` hands over what was typed: any sentence, any folder; a missing .venv is made first, a present one is kept."""

import os
import re
import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = MAKEFILE.partition(".PHONY:")[2].split("\n")[0].split()
COMMANDS = sorted(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"])
# What is called, its arguments and, where it reads standard input, that.
COMMAND = """#!/usr/bin/env bash
printf '%s\\0' "$0" "$@"
case "$*" in *input=-*) cat ;; esac
"""


@dataclass
class Call:
    """What a command was given."""

    command: str
    arguments: list[str]
    standard_input: str


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is set up, whose commands only repeat what they were given."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "requirements-systems.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for environment in (".venv", ".venv-systems"):
        (tmp_path / environment / "bin").mkdir(parents=True)
        (tmp_path / environment / ".ready").touch()
        later = time.time() + 10
        os.utime(tmp_path / environment / ".ready", (later, later))
    for name in COMMANDS:
        (tmp_path / ".venv/bin" / name).write_text(COMMAND, encoding="utf-8")
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    return tmp_path


def make(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `make` says in that checkout, without the variables of a make around this test."""
    ours = ("MAKE", "MFLAGS", "MT_", "ARGS", "SRC", "RUN")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=checkout,
        env={**inherited, **environment},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


def call(checkout: Path, *arguments: str, **environment: str) -> Call:
    """The command that `make` runs."""
    done = make(checkout, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    command, *words, standard_input = done.stdout.split("\0")
    return Call(Path(command).name, words, standard_input)


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
    assert call(checkout, "translate", f"SRC={sentence}").standard_input == sentence + "\n"
    assert f"source={sentence}" in call(checkout, "attention", f"SRC={sentence}").arguments


def test_a_sentence_may_come_from_the_environment(checkout: Path) -> None:
    assert call(checkout, "translate", SRC="$(x) it's").standard_input == "$(x) it's\n"


GIVEN = {"translate": ["SRC=a"], "attention": ["SRC=a"], "import": ["FROM=a"]}  # without which a target asks for it


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_target_that_hands_over_folders_and_overrides(checkout: Path, command: str) -> None:
    target = command.removeprefix("mt-")
    words = [*GIVEN.get(target, []), "RUN=my runs/$x,1", "ARGS=seed=2 'data.train=[{source: a}]'"]
    given = call(checkout, target, *words)
    assert given.command == command
    assert given.arguments[-2:] == ["seed=2", "data.train=[{source: a}]"]
    if target not in ("benchmark", "compare"):  # a folder of its own, and several
        assert "run_dir=my runs/$x,1" in given.arguments


def test_the_other_folders_are_handed_over(checkout: Path) -> None:
    exported = call(checkout, "export", "FORMAT=ctranslate2", "OUT=my out/$x").arguments
    assert {"format=ctranslate2", "output=my out/$x"} <= set(exported)
    assert "folder=it's here" in call(checkout, "import", "FROM=it's here").arguments


@pytest.mark.parametrize("target", ["benchmark", "benchmark-decode"])
def test_benchmarks_get_the_environment_of_the_other_systems(checkout: Path, target: str) -> None:
    assert "systems_python=.venv-systems/bin/python" in call(checkout, target).arguments


@pytest.mark.parametrize(("target", "missing"), [("translate", "SRC"), ("attention", "SRC"), ("import", "FROM")])
def test_what_is_missing_is_asked_for(checkout: Path, target: str, missing: str) -> None:
    done = make(checkout, target)
    assert done.returncode == 2
    assert f"make {target} {missing}=" in done.stderr


def test_help_is_the_default_and_explains_every_target(checkout: Path) -> None:
    shown = make(checkout).stdout
    for target in TARGETS:
        assert re.search(rf"^  {target} +\w", shown, re.MULTILINE), target


def test_an_unsuitable_python_is_refused(checkout: Path) -> None:
    (checkout / ".venv/.ready").unlink()
    done = make(checkout, "setup", "PYTHON=false")
    assert done.returncode == 2
    assert "Python 3.11 or 3.12 is needed" in done.stderr
