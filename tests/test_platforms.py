"""Systems other than Linux: Windows is refused at once, others take the plain path."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from mt.fast.memory import keep_freed_memory
from mt.fast.workers import Workers

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", ["mt.errors", "scripts.train"])
def test_windows_is_refused_in_one_line(module: str) -> None:
    code = f"import sys; sys.platform = 'win32'; import {module}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: Windows is not supported: use Linux in WSL 2, or macOS\n"


def test_macos_has_no_forks_and_keeps_its_own_malloc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.delattr(os, "fork")
    workers = Workers(2, processes=True)
    assert workers(len, [("ab",), ("c",)], sentences=1000) == [2, 1]
    assert not workers.workers
    assert not keep_freed_memory()
