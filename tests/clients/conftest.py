"""A server for clients of other makers, which have an environment of their own: `make test-clients`."""

import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("MT_BIN", ROOT / ".venv/bin"))
WORDS = {"house": "Haus", "tree": "Baum", "river": "Fluss", "bread": "Brot", "water": "Wasser", "garden": "Garten"}
SMALL = [
    *("device=cpu", "data=files", "data.test=null", "tokenizer.vocab_size=320", "model.num_layers=1"),
    *("model.d_model=32", "model.d_ff=64", "model.num_heads=2", "training.max_steps=120", "training.warmup_steps=40"),
    "data.filters.max_tokens=60",
]


def small_run(folder: Path, source: str, target: str) -> Path:
    """A run that has learned a few words; what it says does not matter to a client."""
    chance, corpus = random.Random(1), []
    for split in ("train", "validation"):
        pairs = [chance.choices(list(WORDS.items()), k=chance.randint(2, 6)) for _ in range(40)]
        for side, index in (("en", 0), ("de", 1)):
            lines = [" ".join(pair[index] for pair in line) + ".\n" for line in pairs]
            (folder / f"{split}.{side}").write_text("".join(lines), encoding="utf-8")
        corpus.append(f"{{source: {folder}/{split}.{source}, target: {folder}/{split}.{target}}}")
    run = folder / f"{source}-{target}"
    languages = [f"data.source_language={source}", f"data.target_language={target}"]
    data = [f"data.train=[{corpus[0]}]", f"data.validation={corpus[1]}", f"data.cache_dir={folder}/cache"]
    subprocess.run([BIN / "mt-train", f"run_dir={run}", *SMALL, *languages, *data], check=True)
    return run


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of $MT_RUN, else of two small ones; in the end it is asked to stop, and does."""
    folder = tmp_path_factory.mktemp("server")
    trained = os.environ.get("MT_RUN")
    runs = [Path(trained)] if trained else [small_run(folder, "en", "de"), small_run(folder, "de", "en")]
    words = [f"run_dir={runs[0]}", f"runs=[{','.join(map(str, runs[1:]))}]", "port=0", "device=cpu"]
    log = folder / "log"
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen([BIN / "mt-serve", *words], stderr=stream)
    deadline = time.monotonic() + 120
    while not (found := re.search(r"serving on (\S+)", log.read_text(encoding="utf-8"))):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield found[1]
    process.terminate()
    assert process.wait(60) == 0
    failures = [line for line in log.read_text(encoding="utf-8").split("\n") if '"status": 5' in line]
    assert not failures, failures
