"""Our side of the training contest: the step that `mt-train` makes, on the same batches as the other systems."""

import functools

import numpy as np
import torch
from torch.profiler import profile

from mt.benchmark.workers.meter import measured, versions
from mt.benchmark.workers.serve import Answer, Request, serve
from mt.benchmark.workers.token_batches import TokenBatch, read_token_batches
from mt.data.batch import Batch, make_batch, make_packed_batch
from mt.data.packing import pack, row_lengths, split_evenly
from mt.data.tokenizer import PAD
from mt.fast.compiled import compile_layers
from mt.fast.memory import keep_freed_memory
from mt.model.transformer import Transformer
from mt.runtime import autocast
from mt.training.step import StepResult, train_step

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
# (tiles, compiled); without a name neither on a CPU, where these few pairs fill tiles badly, and both on a GPU.
_VARIANTS = {"padded": (False, False), "tiles": (True, False), "compiled": (True, True)}


class Training:
    """A model in training over batches of a file; one call is a round, a step for each batch."""

    def __init__(self, task: Request) -> None:
        torch.manual_seed(1)
        self.device = torch.device(task["device"])
        batches = read_token_batches(task["batches"])
        on_gpu = self.device.type == "cuda"
        tiles, compiled = _VARIANTS.get(task["variant"], (on_gpu, on_gpu))
        self.batches = _tiles(batches, task["pack_length"]) if tiles else [_batch(batch) for batch in batches]
        self.model = Transformer(**task["sizes"], pad=PAD).to(self.device).train()
        if compiled:
            compile_layers(self.model, static_shapes=tiles)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.label_smoothing = float(task["label_smoothing"])

    def __call__(self, request: Request) -> Answer:
        """Seconds, real tokens, places, peak memory of the round's steps, and the last loss per target token.

        With `profile` a table of where the time goes comes instead.
        """
        results: list[StepResult] = []
        steps = functools.partial(self._steps, _TYPES[request["precision"]], results)
        if request.get("profile"):
            with profile(profile_memory=False) as seen:
                steps()
            sort = f"self_{'cuda' if self.device.type == 'cuda' else 'cpu'}_time_total"
            return {"table": seen.key_averages().table(sort_by=sort, row_limit=25, max_name_column_width=45)}
        return {
            **measured(steps, self.device),
            "source_tokens": sum(result.source_tokens for result in results),
            "target_tokens": sum(result.target_tokens for result in results),
            "places": sum(batch.source.numel() + batch.target_input.numel() for batch in self.batches),
            "loss": results[-1].loss,
        }

    def _steps(self, precision: torch.dtype, results: list[StepResult]) -> None:
        for batch in self.batches:
            result = train_step(
                self.model,
                self.optimizer,
                [batch],
                learning_rate=1e-4,
                label_smoothing=self.label_smoothing,
                autocast=functools.partial(autocast, self.device, precision),
            )
            results.append(result)


def _batch(batch: TokenBatch) -> Batch:
    return make_batch(*zip(*_pairs(batch), strict=True))


def _pairs(batch: TokenBatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """Piece ids without BOS and EOS."""
    rows = zip(batch.source, batch.target_output, strict=True)
    return [(source[: (source != PAD).sum() - 1], target[: (target != PAD).sum() - 1]) for source, target in rows]


def _tiles(batches: list[TokenBatch], pack_length: int) -> list[Batch]:
    """All their pairs in as many batches of packed tiles."""
    pairs = [pair for batch in batches for pair in _pairs(batch)]
    lengths = [np.array([len(pair[side]) + 1 for pair in pairs]) for side in (0, 1)]
    longest = int(max(side.max() for side in lengths))
    pack_length = row_lengths(longest, pack_length=pack_length, batch_tokens=max(longest, pack_length))[1]
    tiles = pack(np.arange(len(pairs)), *lengths, pack_length=pack_length)
    rows = split_evenly(len(tiles), most=-(-len(tiles) // len(batches)))
    taken = (tiles[start : start + rows] for start in range(0, len(tiles), rows))
    return [
        make_packed_batch([[pairs[i] for i in tile] for tile in part], pack_length=pack_length, rows=rows)
        for part in taken
    ]


def prepare(task: Request) -> tuple[Answer, Training]:
    """Take `variant` (empty or of `_VARIANTS`) and what the task says of model, batches, loss and device."""
    keep_freed_memory()
    training = Training(task)
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    return {**versions("torch"), "parameters": parameters}, training


if __name__ == "__main__":
    serve(prepare)
