"""mt-translate: a sentence, a file or standard input, one line out for every line in."""

import hashlib
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from mt.api import translator_of_run
from mt.config.checks import shard_numbers
from mt.config.schema import TranslateConfig
from mt.data.lines import count_lines, read_lines
from mt.fast.memory import keep_freed_memory
from mt.reporting import Progress, format_seconds, report
from mt.runs.folder import MODEL
from mt.translation.alignment import pharaoh
from mt.translation.output import FileOutput, StreamOutput
from mt.translation.segments import Translation
from mt.translation.translator import Translator

Output = FileOutput | StreamOutput


def translate(config: TranslateConfig) -> None:
    """Translate the input in order; the same command resumes an interrupted output file after its last finished batch.

    Raises UserError for input that is not UTF-8, and as `translator_of_run` does.
    """
    keep_freed_memory()
    lines = iter([config.source]) if config.source is not None else read_lines(str(config.input))
    before, count = _shard(config)
    translator = translator_of_run(
        Path(config.run_dir),
        config.decoding,
        config.device,
        ensemble=[Path(run_dir) for run_dir in config.ensemble],
        num_hypotheses=config.n_best or 1,
        alignments=config.alignments,
        processes=True,
    )
    with _output(config) as output:
        if output.finished_lines:
            report(f"{config.output}: continued, finished lines: {output.finished_lines:,}")
        start = before + output.finished_lines
        own = itertools.islice(lines, start, None if count is None else before + count)
        left = None if count is None else count - output.finished_lines
        _translate(config, translator, own, output, first_number=1 + start, left=left)


def _translate(
    config: TranslateConfig,
    translator: Translator,
    lines: Iterator[str],
    output: Output,
    *,
    first_number: int,
    left: int | None,
) -> None:
    """Translate lines into the output, `left` of them where that is known, and report the speed."""
    start = time.monotonic()
    count = tokens = 0
    shown = left is not None and config.source is None and not (config.output == "-" and sys.stdout.isatty())
    progress = Progress("translating", total=left or 0, unit="lines", shown=shown)
    for translation in translator.translate(lines, target_prefixes=config.target_prefix, first_number=first_number):
        number = first_number + count
        output.write(_rows(config, number, translation))
        _report_oddities(number, translation)
        count, tokens = count + 1, tokens + len(translation.tokens)
        progress.advance(1)
    progress.close()
    if config.source is None:
        seconds = time.monotonic() - start
        rate = f"{count / max(seconds, 1e-9):.1f} lines/s, {tokens / max(seconds, 1e-9):,.0f} subwords/s"
        took = format_seconds(seconds) if seconds >= 60 else f"{seconds:.1f} s"
        report(f"{config.run_dir}: {count:,} {'line' if count == 1 else 'lines'} in {took}, {rate}")


def _rows(config: TranslateConfig, number: int, translation: Translation) -> list[str]:
    """The translation of a line: its text alone, or tab-separated columns; with n-best a row for each."""
    if config.n_best is None and not config.alignments:
        return [translation.text]
    rows = []
    for rank, one in enumerate((translation, *translation.others), start=1):
        columns = [one.text.replace("\t", " ")]
        if config.n_best is not None:
            columns = [str(number), str(rank), *columns, f"{one.score:.4f}"]
        if config.alignments:
            columns.append(pharaoh(one.alignment or []))
        rows.append("\t".join(columns))
    return rows


def _shard(config: TranslateConfig) -> tuple[int, int | None]:
    """The number of lines before those of this shard, and the number of its lines where that is known."""
    if config.source is not None or not Path(str(config.input)).is_file():
        return 0, None
    total = count_lines(str(config.input))
    number, count = (1, 1) if config.shard is None else shard_numbers(config.shard)
    before = total * (number - 1) // count
    return before, total * number // count - before


def _output(config: TranslateConfig) -> Output:
    """The output. What goes to a pipe or a terminal cannot be resumed."""
    path = Path(config.output)
    if config.output == "-" or (path.exists() and not path.is_file()):
        return StreamOutput(config.output)
    if config.shard is not None:
        number, count = shard_numbers(config.shard)
        path = path.with_name(f"{path.name}.{number:0{len(str(count))}}-of-{count}")
    known = config.source is not None or Path(str(config.input)).is_file()
    return FileOutput(path, key=_key(config) if known else None, numbered=config.n_best is not None)


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
