"""The other systems in decoding: Hugging Face's `generate` and CTranslate2, both with the weights that our run has.

Sentences come and go as pieces, written out, so that every engine reads the same ones whatever its ids are.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from mt.benchmark.workers.decoding_task import Pieces, timed_translation
from mt.benchmark.workers.meter import versions
from mt.benchmark.workers.serve import Answer, Request, serve


class HuggingFace:
    """`MarianMTModel.generate`; its batches are cut from the sentences sorted by length, as its users do."""

    def __init__(self, task: Request) -> None:
        from transformers import MarianMTModel  # noqa: PLC0415  the other peer does without

        torch.set_num_threads(task["threads"])
        self.length_penalty = task["search"]["length_penalty"]
        self.early_stopping = task["search"]["early_stopping"]
        folder = Path(task["folder"])
        self.model: Any = MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.ids: dict[str, int] = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        self.pieces = {number: piece for piece, number in self.ids.items()}

    def translate(self, sentences: Sequence[Pieces], *, beam_size: int, batch: int, longest: int) -> list[Pieces]:
        """The best output of each sentence."""
        order = sorted(range(len(sentences)), key=lambda index: -len(sentences[index]))
        outputs: list[Pieces] = [[]] * len(sentences)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            found = self._batch([sentences[index] for index in chosen], beam_size=beam_size, longest=longest)
            for index, output in zip(chosen, found, strict=True):
                outputs[index] = output
        return outputs

    def _batch(self, sentences: list[Pieces], *, beam_size: int, longest: int) -> list[Pieces]:
        config = self.model.config
        rows = [[*map(self.ids.__getitem__, sentence), config.eos_token_id] for sentence in sentences]
        width = max(map(len, rows))
        padded = torch.tensor([[*row, *[config.pad_token_id] * (width - len(row))] for row in rows])
        with torch.inference_mode():
            found = self.model.generate(
                input_ids=padded,
                attention_mask=(padded != config.pad_token_id).long(),
                num_beams=beam_size,
                do_sample=False,
                length_penalty=self.length_penalty,
                early_stopping=bool(self.early_stopping),
                max_new_tokens=longest,
            )
        return [[self.pieces[number] for number in _until(row[1:], config.eos_token_id)] for row in found.tolist()]


class CTranslate2:
    """`ctranslate2.Translator` with `workers` parallel translators of `threads` threads each."""

    def __init__(self, task: Request) -> None:
        import ctranslate2  # noqa: PLC0415  the other peer does without

        self.length_penalty = task["search"]["length_penalty"]
        self.translator: Any = ctranslate2.Translator(
            task["folder"],
            device="cpu",
            compute_type=task["compute_type"],
            inter_threads=task["workers"],
            intra_threads=task["threads"],
        )

    def translate(self, sentences: Sequence[Pieces], *, beam_size: int, batch: int, longest: int) -> list[Pieces]:
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


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def prepare(task: Request) -> tuple[Answer, Any]:
    """Take `engine`, `folder`, `sentences`, `threads`, and for CTranslate2 `workers` and `compute_type`."""
    engine: Any = {"huggingface": HuggingFace, "ctranslate2": CTranslate2}[task["engine"]](task)
    package = {"huggingface": "transformers", "ctranslate2": "ctranslate2"}[task["engine"]]
    return versions("torch", package), timed_translation(engine.translate, task)


if __name__ == "__main__":
    serve(prepare)
