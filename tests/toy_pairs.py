"""The built-in corpus made quickly: by a process without the checks of shapes that are on in tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

Pair = tuple[str, str]


def generated(hash_seed: str = "0", **arguments: int) -> dict[str, list[Pair]]:
    """The corpus made by an interpreter of its own: another hash seed, no shape checks."""
    code = f"import json; from mt.data.toy.corpus import generate; print(json.dumps(generate(**{arguments})))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    splits: dict[str, list[list[str]]] = json.loads(found.stdout)
    return {split: [(source, target) for source, target in pairs] for split, pairs in splits.items()}
