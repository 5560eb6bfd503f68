"""What every test shares: shapes are checked, one thread, no accelerator where the machine has none."""

import copy
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import shape_checks
import yaml
from hydra._internal.hydra import Hydra
from jaxtyping import install_import_hook

SHAPE_CHECKS = install_import_hook("mt", "shape_checks.checked")  # before anything of mt is imported

import torch  # noqa: E402

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell starts background jobs so, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and children inherit that

collect_ignore = ["clients"]  # they have an environment of their own: make test-clients
pytest_plugins = ["reliability", "paths", "emulation"]

FSYNC = os.fsync


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs an accelerator, with the reason."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(skip)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every test checks shapes from its own first calls on, and waits for the disk only if it measures time."""
    shape_checks.forget_calls()
    os.fsync = FSYNC if "alone" in item.keywords else os.fstat  # which refuses a bad handle too


@pytest.fixture(scope="session", autouse=True)
def composed_once() -> Iterator[None]:
    """Hydra composes every configuration twice, first only to read `hydra.mode`, which no test sets."""
    with mock.patch.object(Hydra, "get_mode", return_value=None):
        yield


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    """The same text of a configuration is parsed once, not in each of a thousand tests."""
    parse, known = yaml.load, {}

    def load(stream: Any, Loader: type) -> Any:  # noqa: N803 (PyYAML's name)
        if not hasattr(stream, "read"):
            return parse(stream, Loader)
        begin = stream.tell()
        key = (Loader.__name__, stream.read())
        if key not in known:
            stream.seek(begin)
            known[key] = parse(stream, Loader)
        return copy.deepcopy(known[key])

    with mock.patch.object(yaml, "load", load):
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to type commands in, with a small corpus and a finished run."""
    for name in ("a.en", "a.de", "a.tsv", "run/tokenizer.model", "run/model.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    (tmp_path / "run/config.yaml").write_text("{}", encoding="utf-8")
    (tmp_path / "README.md").write_text("of something else\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
