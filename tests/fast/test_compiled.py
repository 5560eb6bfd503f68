"""torch.compile layer by layer: the same numbers, and after the first batch no program is made again.

The file runs itself in a process of its own, because the shape checks of the other tests would be compiled too.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from pairs import listed_pairs, random_pairs
from tiny_models import VOCAB_SIZE, tiny_model

from mt.data.batch import Batch
from mt.data.loader import TrainingOrder
from mt.fast.chunked_loss import chunked_loss
from mt.fast.compiled import compile_layers
from mt.fast.dropout import Dropout
from mt.fast.fused_attention import fused_attention
from mt.model.transformer import Transformer
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import TrainingLoss, train_step

ROOT = Path(__file__).resolve().parents[2]
NUM_LAYERS = 3


def packed_batches(count: int) -> list[list[Batch]]:
    corpus = listed_pairs(random_pairs(300, longest=30, vocab_size=VOCAB_SIZE, seed=0))
    order = TrainingOrder(
        corpus_of_epoch=lambda _: corpus,
        batch_tokens=512,
        micro_batch_tokens=256,
        seed=0,
        pack_length=128,
        one_shape=True,
    )
    with contextlib.closing(order.steps(epoch=0, start=0)) as stream:
        return [next(stream)[2] for _ in range(count)]


def model(backend: str | None, device: torch.device) -> Transformer:
    fast = {"attention": fused_attention, "make_dropout": Dropout}
    made = tiny_model(dtype=torch.float32, num_layers=NUM_LAYERS, **fast).to(device)
    if backend:
        compile_layers(made, static_shapes=True, backend=backend)
    return made


def programs_made() -> int:
    """The number of programs that torch.compile has made in this process."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def losses(of: Transformer, batches: list[list[Batch]], *, compiled: bool = False) -> list[float]:
    optimizer = torch.optim.Adam(of.train().parameters(), lr=0.0, fused=True)
    loss = functools.partial(chunked_loss, compiled=compiled)
    replica = SINGLE_PROCESS.wrap(TrainingLoss(of, label_smoothing=0.1, loss=loss), optimizer)
    settings: dict[str, Any] = {"learning_rate": 0.001, "autocast": contextlib.nullcontext}
    return [train_step(replica, micro_batches, **settings).loss for micro_batches in batches]


def validation_loss(of: Transformer, batch: Batch, device: torch.device) -> float:
    with torch.inference_mode():
        return float(TrainingLoss(of.eval(), label_smoothing=0.1, loss=chunked_loss)(batch.to(device))[0])


def observe(backend: str, device: torch.device) -> dict[str, Any]:
    torch.set_num_threads(1)
    batches = packed_batches(5)
    compiled = model(backend, device)
    found: dict[str, Any] = {"first": losses(compiled, batches[:1]), "warm": programs_made()}
    found["compiled"] = losses(compiled, batches[1:])
    with torch.compiler.set_stance("force_eager"):  # as the trainer validates
        validation = validation_loss(compiled, batches[0][0], device)
    found["programs"] = programs_made()
    plain = model(None, device)
    found["plain"] = [losses(plain, batches[:1]), losses(plain, batches[1:])]
    found["validation"] = [validation, validation_loss(plain, batches[0][0], device)]
    found["compiled_loss"] = losses(model(None, device), batches[1:], compiled=True)
    found["plain_loss"] = losses(model(None, device), batches[1:])
    found["names"] = list(compiled.state_dict()) == list(plain.state_dict())
    return found


@pytest.mark.parametrize(
    ("backend", "device"),
    [
        pytest.param("aot_eager", "cpu", marks=pytest.mark.long),
        pytest.param("inductor", "cpu", marks=pytest.mark.long),
        pytest.param("inductor", "cuda", marks=pytest.mark.gpu),
    ],
)
def test_packed_rows_are_compiled_once_and_validation_not_at_all(backend: str, device: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    command = [sys.executable, __file__, backend, device]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 2 <= found["warm"] <= 2 * NUM_LAYERS, "one for each kind of layer, or one for each layer"
    assert found["programs"] == found["warm"]
    assert found["first"] == pytest.approx(found["plain"][0], rel=1e-5)
    assert found["compiled"] == pytest.approx(found["plain"][1], rel=1e-4)
    assert found["validation"][0] == pytest.approx(found["validation"][1], rel=1e-4)
    assert found["compiled_loss"] == pytest.approx(found["plain_loss"], rel=1e-4)
    assert found["names"]


if __name__ == "__main__":
    print(json.dumps(observe(sys.argv[1], torch.device(sys.argv[2]))))
