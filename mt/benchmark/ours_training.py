"""Our side of the training benchmark: the step that `mt-train` makes, on the same pairs as the other systems.

Padded on a CPU, where these few pairs fill rows badly; packed and compiled on a GPU.
"""

import functools
from typing import Any

import numpy as np
import torch

from mt.benchmark.timed_training import TokenBatch, read_token_batches, timed_training
from mt.benchmark.worker import Answer, Handler, Request, serve, task_device, versions
from mt.data.batch import Batch, make_batch, make_packed_batch
from mt.data.batching import Lengths, pack, row_lengths, split_for_ranks
from mt.data.tokenizer import PAD
from mt.fast.chunked_loss import chunked_loss
from mt.fast.compiled import compile_layers
from mt.fast.dropout import Dropout
from mt.fast.fused_attention import fused_attention
from mt.fast.memory import keep_freed_memory
from mt.fast.step_threads import step_threads
from mt.model.architecture import Architecture
from mt.runtime import autocast
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import TrainingLoss, train_step

Pair = tuple[np.ndarray, np.ndarray]  # ids of source and target


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take what the task says of model, batches, loss, device and whether rows are `packed`."""
    keep_freed_memory()
    torch.manual_seed(1)
    device = task_device(task)
    torch.backends.cuda.enable_cudnn_sdp(False)  # as `choose_device` does
    on_gpu = device.type == "cuda"
    read = [_pairs(batch) for batch in read_token_batches(task["batches"])]
    threads = step_threads(device)
    parts = threads.count if threads else 1
    packed = task["packed"]
    batches = _packed(read, task["pack_length"], parts) if packed else [_padded(pairs, parts) for pairs in read]
    if on_gpu:
        batches = [[batch.pinned() for batch in micro_batches] for micro_batches in batches]
    fast: dict[str, Any] = {"attention": fused_attention, "make_dropout": Dropout}
    model = Architecture(**task["sizes"], **fast, pad=PAD).transformer().to(device).train()
    if on_gpu:
        compile_layers(model, static_shapes=packed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    smoothing = float(task["label_smoothing"])
    loss = TrainingLoss(model, label_smoothing=smoothing, loss=functools.partial(chunked_loss, compiled=on_gpu))
    replica = SINGLE_PROCESS.wrap(loss, optimizer)

    def step(micro_batches: list[Batch], precision: torch.dtype) -> float:
        cast = functools.partial(autocast, device, precision)
        return train_step(replica, micro_batches, learning_rate=1e-4, autocast=cast, side_by_side=threads).loss

    parameters = sum(parameter.numel() for parameter in model.parameters())
    return {**versions("torch"), "parameters": parameters}, timed_training(step, batches, task)


def _pairs(batch: TokenBatch) -> list[Pair]:
    """Subword ids without BOS and EOS."""
    rows = zip(batch.source.numpy(), batch.target_output.numpy(), strict=True)
    return [(source[: (source != PAD).sum() - 1], target[: (target != PAD).sum() - 1]) for source, target in rows]


def _lengths(pairs: list[Pair]) -> Lengths:
    return np.array([[len(pair[side]) + 1 for pair in pairs] for side in (0, 1)])


def _padded(pairs: list[Pair], parts: int) -> list[Batch]:
    """A batch in about equal parts."""
    lengths = _lengths(pairs)
    tokens = len(pairs) * int(lengths.max())
    cut = split_for_ranks(np.arange(len(pairs)), lengths, micro_batch_tokens=tokens, ranks=parts)
    return [make_batch(*zip(*(pairs[i] for i in part), strict=True)) for part in cut]


def _packed(batches: list[list[Pair]], pack_length: int, parts: int) -> list[list[Batch]]:
    """All their pairs in at most as many batches of packed rows, each in equal parts, the last ones filled up."""
    pairs = [pair for batch in batches for pair in batch]
    lengths = _lengths(pairs)
    longest = int(lengths.max())
    pack_length = row_lengths(longest, pack_length=pack_length, batch_tokens=max(longest, pack_length))[1]
    rows = pack(np.arange(len(pairs)), lengths, pack_length=pack_length)
    size = -(-len(rows) // (len(batches) * parts))
    read = [[pairs[i] for i in row] for row in rows]
    made = [
        make_packed_batch(read[start : start + size], pack_length=pack_length, rows=size)
        for start in range(0, len(read), size)
    ]
    return [made[start : start + parts] for start in range(0, len(made), parts)]


if __name__ == "__main__":
    serve(prepare)
