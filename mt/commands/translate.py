"""mt-translate: a sentence, a file or standard input, one line out for every line in."""

import hashlib
import itertools
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from mt.api import translator_of_run
from mt.config.checks import shard_numbers
from mt.config.schema import TranslateConfig
from mt.data.known_words import load_known_words, unknown_words
from mt.data.lines import count_lines, read_lines
from mt.errors import UserError
from mt.fast.memory import keep_freed_memory
from mt.reporting import Progress, format_seconds, report
from mt.runs.folder import MODEL, source_words
from mt.translation.alignment import pharaoh
from mt.translation.output import FileOutput, StreamOutput
from mt.translation.records import JsonLines, PlainText, Records, Result, TabSeparated
from mt.translation.segments import Translation
from mt.translation.translator import Translator

Numbered = Iterator[tuple[int, str]]  # lines with their numbers in the input, from 1
Output = FileOutput | StreamOutput

_MOST_NAMED = 10  # lines or words of a message


def translate(config: TranslateConfig) -> None:
    """Translate the input in order; the same command resumes an interrupted output file after its last finished batch.

    Raises UserError for a line that does not fit its format, after the lines before it are translated.
    """
    keep_freed_memory()
    records = _records(config)
    texts = [config.source] if config.source is not None else read_lines(str(config.input))
    lines: Numbered = enumerate(texts, start=1)
    titles = records.titles(next(lines, (1, ""))[1]) if records.header else None
    before, count = _shard(config, header=records.header)
    translator = translator_of_run(
        Path(config.run_dir),
        config.decoding,
        config.device,
        ensemble=[Path(run_dir) for run_dir in config.ensemble],
        num_hypotheses=config.n_best or 1,
        alignments=config.alignments,
        processes=True,
    )
    titled = titles is not None and (config.shard is None or shard_numbers(config.shard)[0] == 1)
    with _output(config, titled=titled) as output:
        if titles is not None and titled and not output.begun:
            output.write([titles])
        if output.finished_lines:
            report(f"{config.output}: continued, finished lines: {output.finished_lines:,}")
        start = before + output.finished_lines
        own = itertools.islice(lines, start, None if count is None else before + count)
        left = None if count is None else count - output.finished_lines
        _translate(config, translator, records, own, output, first_number=1 + records.header + start, left=left)


def _translate(
    config: TranslateConfig,
    translator: Translator,
    records: Records,
    lines: Numbered,
    output: Output,
    *,
    first_number: int,
    left: int | None,
) -> None:
    """Translate lines into the output, `left` of them where that is known, and report the speed."""
    pending: deque[tuple[int, str]] = deque()
    failures: list[UserError] = []
    guesses = _Guesses(Path(config.run_dir))

    def texts() -> Iterator[str]:
        try:
            for number, line in lines:
                text = records.text(line, number)
                pending.append((number, line))
                guesses.look(number, text)
                yield text
        except UserError as error:
            failures.append(error)  # what is before it is translated first

    start = time.monotonic()
    count = tokens = 0
    shown = left is not None and config.source is None and not (config.output == "-" and sys.stdout.isatty())
    progress = Progress("translating", total=left or 0, unit="lines") if shown else None
    for translation in translator.translate(texts(), target_prefixes=config.target_prefix, first_number=first_number):
        number, line = pending.popleft()
        output.write(records.lines(line, number, _results(config, translation)))
        _report_oddities(number, translation)
        count, tokens = count + 1, tokens + len(translation.tokens)
        if progress is not None:
            progress.advance(1)
    if progress is not None:
        progress.close()
    guesses.report(lines=count)
    if failures:
        raise failures[0]
    if config.source is None:
        seconds = time.monotonic() - start
        rate = f"{count / max(seconds, 1e-9):.1f} lines/s, {tokens / max(seconds, 1e-9):,.0f} subwords/s"
        took = format_seconds(seconds) if seconds >= 60 else f"{seconds:.1f} s"
        report(f"{config.run_dir}: {count:,} {'line' if count == 1 else 'lines'} in {took}, {rate}")


class _Guesses:
    """The lines with words that training never saw, if the run lists those that it saw."""

    def __init__(self, run_dir: Path) -> None:
        self.known = load_known_words(source_words(run_dir))
        self.count = 0
        self.first: dict[int, list[str]] = {}  # the words of the first such lines, by number

    def look(self, number: int, text: str) -> None:
        if self.known is not None and (words := unknown_words(text, self.known)):
            self.count += 1
            if len(self.first) < _MOST_NAMED:
                self.first[number] = words

    def report(self, *, lines: int) -> None:
        """Report in one line which of the translations are guesses."""
        if self.count and lines == 1:
            [words] = self.first.values()
            named = ", ".join(words[:_MOST_NAMED]) + (", …" if len(words) > _MOST_NAMED else "")
            report(f"words that training never saw, so their translation is a guess: {named}")
        elif self.count:
            named = ", ".join(map(str, self.first)) + (", …" if self.count > _MOST_NAMED else "")
            have, which, their = ("has", "line", "its") if self.count == 1 else ("have", "lines", "their")
            what = f"{have} words that training never saw ({which} {named}); {their} translation is a guess"
            report(f"{self.count:,} of {lines:,} lines {what}")


def _results(config: TranslateConfig, translation: Translation) -> list[Result]:
    """What is written for a line: its translations under `translation_field`, their scores and alignments."""
    results = []
    for one in (translation, *translation.others):
        result: Result = {config.translation_field: one.text}
        if config.scores or config.n_best is not None:
            result["score"] = round(one.score, 6)
        if config.alignments:
            result["alignment"] = pharaoh(one.alignment or [])
        results.append(result)
    return results


def _records(config: TranslateConfig) -> Records:
    """The kind of file that the input is."""
    n_best = config.n_best is not None
    added = [config.translation_field]
    added += ["score"] if config.scores or n_best else []
    added += ["alignment"] if config.alignments else []
    if config.column is not None:
        return TabSeparated(str(config.input), column=config.column, added=added, n_best=n_best)
    if config.field is not None:
        return JsonLines(str(config.input), field=config.field, added=[*added, "n_best"] if n_best else added)
    return PlainText(n_best=n_best)


def _shard(config: TranslateConfig, *, header: bool) -> tuple[int, int | None]:
    """The number of lines before those of this shard, and the number of its lines where that is known; no titles."""
    if config.source is not None or not Path(str(config.input)).is_file():
        return 0, None
    total = max(count_lines(str(config.input)) - header, 0)
    number, count = (1, 1) if config.shard is None else shard_numbers(config.shard)
    before = total * (number - 1) // count
    return before, total * number // count - before


def _output(config: TranslateConfig, *, titled: bool) -> Output:
    """The output. What goes to a pipe or a terminal cannot be resumed."""
    path = Path(config.output)
    path = path.resolve() if path.is_symlink() and (path.is_file() or not path.exists()) else path
    if config.output == "-" or (path.exists() and not path.is_file()):
        return StreamOutput(config.output)
    if config.shard is not None:
        number, count = shard_numbers(config.shard)
        path = path.with_name(f"{path.name}.{number:0{len(str(count))}}-of-{count}")
    numbered = config.n_best is not None and config.field is None
    known = config.source is not None or Path(str(config.input)).is_file()
    return FileOutput(path, key=_key(config) if known else None, titled=titled, numbered=numbered)


def _key(config: TranslateConfig) -> str:
    """A text that differs when anything that decides the output differs."""
    options = asdict(config)
    del options["decoding"]["batch_tokens"]
    for name in ("run_dir", "ensemble", "device", "input", "output"):
        del options[name]
    files = [Path(run_dir) / MODEL for run_dir in (config.run_dir, *config.ensemble)]  # each carries its run's identity
    files += [Path(config.input)] if config.input is not None else []
    checksums = []
    for path in files:
        with path.open("rb") as file:
            checksums.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256(json.dumps([options, checksums]).encode()).hexdigest()[:8]


def _report_oddities(line: int, translation: Translation) -> None:
    if translation.segments > 0 and not translation.text.strip():
        report(f"line {line}: the model ended its translation before the first word, as with words it does not know")
    if translation.segments > 1:
        report(f"line {line}: longer than decoding.max_source_tokens, translated in {translation.segments} segments")
