"""What every system is asked in the decoding benchmark, and what is measured."""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mt.benchmark.workers.meter import measured
from mt.benchmark.workers.serve import Answer, Handler, Request

Subwords = list[str]
Translate = Callable[..., list[Subwords]]


def timed_translation(translate: Translate, task: Request) -> Handler:
    """Answer requests with `beam_size` and `batch` over the sentences in the task's file.

    With a batch of 1 every sentence is a call of its own, and the answer has the median and the ninth decile of the
    latency. Generated tokens count the end of sentence.
    """
    sentences: list[Subwords] = json.loads(Path(task["sentences"]).read_text(encoding="utf-8"))

    def answer(request: Request) -> Answer:
        asked = sentences[: request["sentences"]]
        settings = {"beam_size": request["beam_size"], "batch": request["batch"]}
        outputs: list[Subwords] = []
        seconds: list[float] = []

        def run() -> None:
            for group in [[one] for one in asked] if request["batch"] == 1 else [asked]:
                start = time.perf_counter()
                outputs.extend(translate(group, longest=max(map(len, group)) + task["max_extra_tokens"], **settings))
                seconds.append(time.perf_counter() - start)

        figures: dict[str, Any] = measured(run, torch.device("cpu"))
        if request["batch"] == 1:
            figures["latency_p50"] = statistics.median(seconds)
            deciles = statistics.quantiles(seconds, n=10, method="inclusive") if seconds[1:] else seconds
            figures["latency_p90"] = deciles[-1]
        tokens = sum(len(output) + 1 for output in outputs)
        return {**figures, "sentences": len(asked), "tokens": tokens, "outputs": outputs}

    return answer
