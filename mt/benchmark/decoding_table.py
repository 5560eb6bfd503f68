"""The results of the decoding benchmark: for each beam size and batch a table with a row for each system."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mt.benchmark.contest import Outcome
from mt.benchmark.report import label, ratio, spread, table

LEGEND = """Generated tokens count the end of sentence. Figures are the median of the rounds with their range; a
ratio is taken round by round. Latency is that of a call with one sentence. Peak memory is that of the process and its
worker processes, memory that they share counted once. The batch is the number of sentences that each translator of
CTranslate2, each thread of ours and each call of `generate` decodes at a time. `1 x 2` is one translator of two
threads, `2 x 1` two of one. HF MarianMT is MarianMTModel of transformers."""


@dataclass(frozen=True)
class Setting:
    """What all systems are asked at once."""

    beam_size: int
    batch: int

    def entry(self, system: str) -> str:
        """The name of a system's entry."""
        return f"{system}; beam {self.beam_size}, batch {self.batch}"

    def request(self, sentences: int, single_sentences: int) -> dict[str, Any]:
        """What a worker is asked: with a batch of 1 only `single_sentences`."""
        count = min(sentences, single_sentences) if self.batch == 1 else sentences
        return {"beam_size": self.beam_size, "batch": self.batch, "sentences": count}


def decoding_tables(outcome: Outcome, *, systems: Sequence[str], settings: Sequence[Setting]) -> str:
    """The contest as Markdown."""
    ours = [name for name in systems if name.startswith("ours")]
    sections = []
    for setting in settings:
        columns = ["system", "sentences/s", "tokens/s", "BLEU", "peak memory, MiB"]
        columns += [f"{label(name)} / this one" for name in ours]
        if setting.batch == 1:
            columns += ["median latency, ms", "ninth decile, ms"]
        rows = [_row(outcome, setting, name, ours) for name in systems if setting.entry(name) in outcome.answers]
        sections.append(f"## Beam {setting.beam_size}, batch {setting.batch}\n\n{table(columns, rows)}")
    failed = [f"- {entry}: {why}" for entry, why in outcome.failures.items()]
    return "\n\n".join([*sections, *(["Left the contest:\n\n" + "\n".join(failed)] if failed else [])])


def _row(outcome: Outcome, setting: Setting, name: str, ours: Sequence[str]) -> list[str]:
    entry = setting.entry(name)
    rates = _rates(outcome, entry)
    row = [
        label(name),
        spread(rates).text(1),
        spread(_rates(outcome, entry, "tokens")).text(),
        f"{outcome.values(entry, 'bleu')[0]:.2f}",
        f"{max(outcome.values(entry, 'peak_bytes')) / 2**20:,.0f}",
    ]
    for one in ours:
        own = setting.entry(one)
        row.append(ratio(_rates(outcome, own), rates).text(2) if own in outcome.answers and one != name else "–")
    if setting.batch == 1:
        row += [
            spread([1000 * value for value in outcome.values(entry, f"latency_{p}")]).text(1) for p in ("p50", "p90")
        ]
    return row


def _rates(outcome: Outcome, entry: str, what: str = "sentences") -> list[float]:
    counts, seconds = outcome.values(entry, what), outcome.values(entry, "seconds")
    return [count / time for count, time in zip(counts, seconds, strict=True)]
