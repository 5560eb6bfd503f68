"""Our side of the decoding benchmark: the search of `mt-translate`, on the same subwords as the other systems."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from mt.api import translator_of_run
from mt.benchmark.timed_translation import Subwords, timed_translation
from mt.benchmark.worker import Answer, Handler, Request, serve, versions
from mt.config.schema import Decoding
from mt.fast.memory import give_back_freed_memory, keep_freed_memory
from mt.translation.segments import Segment
from mt.translation.translator import Translator


def prepare(task: Request) -> tuple[Answer, Handler]:
    """Take `folder` (a run), `search`, `precision`, `threads` and `device`, and what every system takes."""
    keep_freed_memory(large=False)
    torch.set_num_threads(task["threads"])
    of_text = {"as_typed": False, "spelling": False}  # subwords are given, as to the other systems
    settings = Decoding(**{**task["search"], **of_text, "precision": task["precision"]})
    loaded = translator_of_run(Path(task["folder"]), settings, task["device"], processes=True)
    give_back_freed_memory()  # as the first worker processes do
    tokenizer = loaded.source_tokenizer
    ids = {subword: number for number, subword in enumerate(tokenizer.subwords(range(tokenizer.vocab_size)))}

    @functools.cache  # a translator has worker processes
    def with_beam(beam_size: int) -> Translator:
        return replace(loaded, search=replace(loaded.search, beam_size=beam_size))

    def translate(
        sentences: Sequence[Subwords],
        *,
        beam_size: int,
        batch: int,
        longest: int,  # noqa: ARG001  it is in the search settings
    ) -> list[Subwords]:
        """The best output of each sentence; `batch` of them at a time in each thread, as CTranslate2 counts them."""
        segments = [Segment([ids[subword] for subword in sentence]) for sentence in sentences]
        found = with_beam(beam_size).translate_segments(segments, batch_size=batch)
        return [loaded.target_tokenizer.subwords(best[0].tokens) for best in found]

    return versions("torch"), timed_translation(translate, task)


if __name__ == "__main__":
    serve(prepare)
