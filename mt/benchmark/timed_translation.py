"""The decoding benchmark: what every system is asked, and what is measured of its answers.

Sentences come and go as written subwords, so that every system reads the same ones, though their ids differ.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mt.benchmark.worker import Answer, Handler, Request, measured

Subwords = list[str]
Translate = Callable[..., list[Subwords]]


def timed_translation(translate: Translate, task: Request) -> Handler:
    """Answer requests with `beam_size` and `batch` over the sentences in the task's file.

    With a batch of 1 every sentence is a call of its own, and the answer has the median latency. Outputs are lists, so
    a GPU has finished when a call returns. Generated tokens count the end of sentence.
    """
    sentences: list[Subwords] = json.loads(Path(task["sentences"]).read_text(encoding="utf-8"))

    def answer(request: Request) -> Answer:
        asked = sentences[: request["sentences"]]
        settings = {"beam_size": request["beam_size"], "batch": request["batch"]}
        outputs: list[Subwords] = []
        seconds: list[float] = []

        def run() -> None:
            for group in [[one] for one in asked] if request["batch"] == 1 else [asked]:
                longest = max(map(len, group)) + task["max_extra_tokens"] + 1  # the end counted
                start = time.perf_counter()
                outputs.extend(translate(group, longest=longest, **settings))
                seconds.append(time.perf_counter() - start)

        figures: Answer = measured(run, torch.device(task["device"]))
        if request["batch"] == 1:
            figures["latency"] = statistics.median(seconds)
        tokens = sum(len(output) + 1 for output in outputs)
        return {**figures, "sentences": len(asked), "tokens": tokens, "outputs": outputs}

    return answer
