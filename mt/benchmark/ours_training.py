"""Our side of the training benchmark: the step that `mt-train` makes, on the same batches as the other systems."""

import functools
from typing import Any

import numpy as np
import torch
from torch.profiler import profile

from mt.benchmark.workers.meter import versions
from mt.benchmark.workers.serve import Answer, Handler, Request, serve
from mt.benchmark.workers.training_task import TokenBatch, read_token_batches, run_steps, timed_training
from mt.data.batch import Batch, make_batch, make_packed_batch
from mt.data.packing import pack, row_lengths, split_evenly
from mt.data.tokenizer import PAD
from mt.fast.chunked_loss import chunked_loss
from mt.fast.compiled import compile_layers
from mt.fast.dropout import Dropout
from mt.fast.fused_attention import fused_attention
from mt.fast.memory import keep_freed_memory
from mt.model.transformer import make_transformer
from mt.runtime import autocast
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import TrainingLoss, train_step

# (packed, compiled); without a name neither on a CPU, where these few pairs fill rows badly, and both on a GPU.
VARIANTS = {"padded": (False, False), "packed": (True, False), "compiled": (True, True)}


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take `variant` (empty or of `VARIANTS`) and what the task says of model, batches, loss and device.

    With `profile` a request is answered by a table of where the time goes.
    """
    keep_freed_memory()
    torch.manual_seed(1)
    device = torch.device(task["device"])
    on_gpu = device.type == "cuda"
    packed, compiled = VARIANTS[task["variant"]] if task["variant"] else (on_gpu, on_gpu)
    read = read_token_batches(task["batches"])
    batches = (
        _packed(read, task["pack_length"]) if packed else [make_batch(*zip(*_pairs(b), strict=True)) for b in read]
    )
    fast: dict[str, Any] = {"attention": fused_attention, "make_dropout": Dropout}
    model = make_transformer(**task["sizes"], **fast, pad=PAD).to(device).train()
    if compiled:
        compile_layers(model, static_shapes=packed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    loss = TrainingLoss(model, label_smoothing=float(task["label_smoothing"]), loss=chunked_loss)
    replica = SINGLE_PROCESS.wrap(loss, optimizer)

    def step(batch: Batch, precision: torch.dtype) -> float:
        cast = functools.partial(autocast, device, precision)
        return train_step(replica, [batch], learning_rate=1e-4, autocast=cast).loss

    positions = sum(batch.source.numel() + batch.target_input.numel() for batch in batches)
    timed = timed_training(step, batches, task, positions=positions)

    def answer(request: Request) -> Answer:
        if not request.get("profile"):
            return timed(request)
        with profile(profile_memory=False) as seen:
            run_steps(step, batches, request, [])
        sort = f"self_{'cuda' if on_gpu else 'cpu'}_time_total"
        return {"table": seen.key_averages().table(sort_by=sort, row_limit=25, max_name_column_width=45)}

    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {**versions("torch"), "parameters": parameters}, answer


def _pairs(batch: TokenBatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """Subword ids without BOS and EOS."""
    rows = zip(batch.source, batch.target_output, strict=True)
    return [(source[: (source != PAD).sum() - 1], target[: (target != PAD).sum() - 1]) for source, target in rows]


def _packed(batches: list[TokenBatch], pack_length: int) -> list[Batch]:
    """All their pairs in the same number of batches of packed rows."""
    pairs = [pair for batch in batches for pair in _pairs(batch)]
    lengths = np.array([[len(pair[side]) + 1 for pair in pairs] for side in (0, 1)])
    longest = int(lengths.max())
    pack_length = row_lengths(longest, pack_length=pack_length, batch_tokens=max(longest, pack_length))[1]
    rows = pack(np.arange(len(pairs)), lengths, pack_length=pack_length)
    size = split_evenly(len(rows), most=-(-len(rows) // len(batches)))
    return [
        make_packed_batch(
            [[pairs[i] for i in row] for row in rows[start : start + size]], pack_length=pack_length, rows=size
        )
        for start in range(0, len(rows), size)
    ]


if __name__ == "__main__":
    serve(prepare)
