"""The decoding benchmark: what every system is asked, and the other systems, with the weights of our run.

Sentences come and go as written subwords, so that every system reads the same ones, though their ids differ.
"""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from mt.benchmark.workers.worker import Answer, Handler, Request, measured, serve, task_device, versions

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
                start = time.perf_counter()
                outputs.extend(translate(group, longest=max(map(len, group)) + task["max_extra_tokens"], **settings))
                seconds.append(time.perf_counter() - start)

        figures: Answer = measured(run, torch.device(task["device"]))
        if request["batch"] == 1:
            figures["latency"] = statistics.median(seconds)
        tokens = sum(len(output) + 1 for output in outputs)
        return {**figures, "sentences": len(asked), "tokens": tokens, "outputs": outputs}

    return answer


class MarianMT:
    """`MarianMTModel.generate` of transformers; as its users do, batches are cut from sentences sorted by length."""

    def __init__(self, task: Request) -> None:
        from transformers import MarianMTModel  # noqa: PLC0415  CTranslate2 is measured without

        torch.set_num_threads(task["threads"])
        self.search = task["search"]
        folder = Path(task["folder"])
        self.device = task_device(task)
        self.model: Any = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval().to(self.device)
        self.ids: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        self.subwords = {number: subword for subword, number in self.ids.items()}

    def translate(self, sentences: Sequence[Subwords], *, beam_size: int, batch: int, longest: int) -> list[Subwords]:
        """The best output of each sentence."""
        order = sorted(range(len(sentences)), key=lambda index: -len(sentences[index]))
        outputs: list[Subwords] = [[]] * len(sentences)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            found = self._batch([sentences[index] for index in chosen], beam_size=beam_size, longest=longest)
            for index, output in zip(chosen, found, strict=True):
                outputs[index] = output
        return outputs

    def _batch(self, sentences: list[Subwords], *, beam_size: int, longest: int) -> list[Subwords]:
        config = self.model.config
        rows = [[*map(self.ids.__getitem__, sentence), config.eos_token_id] for sentence in sentences]
        padded = pad_sequence([torch.tensor(row) for row in rows], True, config.pad_token_id).to(self.device)
        with torch.inference_mode():
            found = self.model.generate(
                input_ids=padded,
                attention_mask=(padded != config.pad_token_id).long(),
                num_beams=beam_size,
                do_sample=False,
                length_penalty=self.search["length_penalty"],
                early_stopping=self.search["early_stopping"],
                max_new_tokens=longest,
            )
        rows = [row[1:] for row in found.tolist()]
        ends = (row.index(config.eos_token_id) if config.eos_token_id in row else None for row in rows)
        return [[self.subwords[number] for number in row[:end]] for row, end in zip(rows, ends, strict=True)]


class CTranslate2:
    """`ctranslate2.Translator` with `workers` parallel translators of `threads` threads each."""

    def __init__(self, task: Request) -> None:
        import ctranslate2  # noqa: PLC0415  transformers is measured without

        self.length_penalty = task["search"]["length_penalty"]
        self.translator: Any = ctranslate2.Translator(
            task["folder"],
            device=task["device"],
            compute_type=task["compute_type"],
            inter_threads=task["workers"],
            intra_threads=task["threads"],
        )

    def translate(self, sentences: Sequence[Subwords], *, beam_size: int, batch: int, longest: int) -> list[Subwords]:
        """The best output of each sentence; the engine sorts them by length itself."""
        results = self.translator.translate_batch(
            list(sentences),
            beam_size=beam_size,
            length_penalty=self.length_penalty,
            max_batch_size=batch,
            max_input_length=0,
            max_decoding_length=longest,
        )
        return [result.hypotheses[0] for result in results]


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take `engine`, `folder`, `sentences`, `threads`, `device`, and for CTranslate2 `workers` and `compute_type`."""
    engine: MarianMT | CTranslate2
    if task["engine"] == "huggingface":
        engine, package = MarianMT(task), "transformers"
    else:
        engine, package = CTranslate2(task), "ctranslate2"
    return versions("torch", package), timed_translation(engine.translate, task)


if __name__ == "__main__":
    serve(prepare)
