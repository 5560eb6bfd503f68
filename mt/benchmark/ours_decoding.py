"""Our side of the decoding benchmark: the search of `mt-translate`, on the same subwords as the other systems."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mt.api import translator_of_run
from mt.benchmark.workers.decoding_task import Subwords, timed_translation
from mt.benchmark.workers.meter import versions
from mt.benchmark.workers.serve import Answer, Handler, Request, serve
from mt.config.schema import Decoding
from mt.fast.memory import keep_freed_memory
from mt.translation.segments import Segment
from mt.translation.translator import Translator


class Ours:
    """The translator of a run; `batch` sentences at a time in each thread, as CTranslate2 counts them."""

    def __init__(self, task: Request) -> None:
        keep_freed_memory()
        torch.set_num_threads(task["threads"])
        self.run_dir = Path(task["folder"])
        self.settings: dict[str, Any] = {**task["search"], "precision": task["precision"]}
        self.translator = translator_of_run(self.run_dir, Decoding(**self.settings), "cpu", processes=True)
        self.translators: dict[int, Translator] = {}
        tokenizer = self.translator.source_tokenizer
        self.ids = {subword: number for number, subword in enumerate(tokenizer.subwords(range(tokenizer.vocab_size)))}

    def translate(
        self,
        sentences: Sequence[Subwords],
        *,
        beam_size: int,
        batch: int,
        longest: int,  # noqa: ARG002  it is in the search settings
    ) -> list[Subwords]:
        """The best output of each sentence."""
        if beam_size not in self.translators:
            search = replace(self.translator.search, beam_size=beam_size)
            self.translators[beam_size] = replace(self.translator, search=search)
        translator = self.translators[beam_size]
        segments = [Segment([self.ids[subword] for subword in sentence]) for sentence in sentences]
        found = translator.translate_segments(segments, slots=batch)
        return [translator.target_tokenizer.subwords(best[0].tokens) for best in found]


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take `folder` (a run), `search`, `precision` and `threads`, and what every system takes."""
    return versions("torch"), timed_translation(Ours(task).translate, task)


if __name__ == "__main__":
    serve(prepare)
