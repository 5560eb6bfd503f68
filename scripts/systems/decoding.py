"""The other systems of the decoding benchmark, with the weights of our run; run by `mt-benchmark-decode`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from mt.benchmark.timed_translation import Subwords, timed_translation
from mt.benchmark.worker import Answer, Handler, Request, serve, task_device, versions


class MarianMT:
    """`MarianMTModel.generate` of transformers; as its users do, batches are cut from sentences sorted by length."""

    def __init__(self, task: Request) -> None:
        from transformers import MarianMTModel  # CTranslate2 is measured without

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
        import ctranslate2  # transformers is measured without

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
