"""Clients from npm, unchanged; skipped where they are not installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = Path(sys.prefix) / "node_modules"
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not MODULES.exists(), reason="needs node, and npm when .venv-clients is made"
)


def run(script: str, *, module: bool) -> str:
    """What a script prints."""
    kind = "module" if module else "commonjs"
    done = subprocess.run(
        ["node", f"--input-type={kind}", "--eval", script],
        cwd=sys.prefix,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_libretranslate(server: str) -> None:
    call = f"translate({{ query: 'The house is in the garden.', source: 'en', target: 'de', apiurl: '{server}' }})"
    found = run(f"require('libretranslate').{call}.then((text) => console.log('OK', text));", module=False)
    assert found.startswith("OK ")
    assert "undefined" not in found


def test_translate(server: str) -> None:
    options = f"{{ engine: 'libre', url: '{server}/translate', key: 'any' }}"
    begin = f"import {{ Translate }} from 'translate'; const t = Translate({options});"
    found = run(
        f"{begin} console.log('OK', await t('The house is in the garden.', {{ from: 'en', to: 'de' }}));", module=True
    )
    assert found.startswith("OK ")
    refused = run(
        f"{begin} await t('house', {{ from: 'en', to: 'fr' }}).catch((e) => console.log(e.message));", module=True
    )
    assert "fr is not supported" in refused
