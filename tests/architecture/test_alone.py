"""What measures time is alone, and tests that share the machine do not keep it waiting for ever."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOME_TESTS = """
import time
from pathlib import Path
import pytest

@pytest.fixture(autouse=True)
def log(request):
    start = time.monotonic()
    yield
    Path(request.node.name).write_text(f"{start} {time.monotonic()}")

@pytest.mark.parametrize("number", range(8))
def test_shares(number):
    time.sleep(0.2)

@pytest.mark.alone
@pytest.mark.parametrize("number", range(3))
def test_alone(number):
    time.sleep(0.2)

@pytest.mark.parametrize("number", range(8, 16))
def test_shares_too(number):
    time.sleep(0.2)
"""


def test_nothing_runs_beside_a_test_that_is_alone(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(SOME_TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "alone", "-n2", "--dist=worksteal"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TESTS"))}
    environment |= {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    spans = {path.name: tuple(map(float, path.read_text().split())) for path in tmp_path.glob("test_*]")}
    assert len(spans) == 19

    def overlap(one: str, other: str) -> bool:
        return spans[one][0] < spans[other][1] and spans[other][0] < spans[one][1]

    assert any(overlap(one, other) for one in spans for other in spans if one < other)
    for one in spans:
        if "alone" in one:
            assert not any(overlap(one, other) for other in spans if other != one)
