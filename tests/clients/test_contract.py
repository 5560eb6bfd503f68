"""Requests made from the server's own description, valid and not: none is answered with 5xx."""

import subprocess
import sys
from pathlib import Path


def test_no_request_from_the_description_is_a_server_error(server: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(Path(sys.prefix) / "bin" / "schemathesis", "run", f"{server}/spec"),
            *("--checks", "not_a_server_error", "--max-examples", "60", "--seed", "1"),
            *("--report", "junit", "--report-dir", tmp_path),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
