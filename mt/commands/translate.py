"""mt-translate: a sentence, a file or standard input, one line out for every line in; or a document.

Of a text classifier the lines out are labels with their probabilities.
"""

import hashlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from mt.api import translator_of_run
from mt.commands.classifier_run import classifier_of_run
from mt.config.checks import shard_numbers
from mt.config.schema import LabelledData, TranslateConfig
from mt.data.lines import arriving_blocks, count_lines, read_lines
from mt.errors import UserError
from mt.fast.memory import keep_freed_memory
from mt.reporting import Progress, format_seconds, report
from mt.runs.atomic import replace_file
from mt.runs.folder import MODEL, load_run, source_words
from mt.translation.alignment import pharaoh
from mt.translation.known_words import load_known_words
from mt.translation.output import FileOutput, StreamOutput
from mt.translation.records import JsonLines, PlainText, Records, Result, TabSeparated
from mt.translation.segments import Translation
from mt.translation.translator import Translator
from mt.translation.unseen_words import UnseenWords

_LARGEST_DOCUMENT = 1 << 28  # bytes
_MOST_ARRIVING = 20_000

Lines = Callable[..., Iterator[Translation]]  # of lines, the first of which has the number first_number


def translate(config: TranslateConfig) -> None:
    """Translate the input in order; the same command resumes an interrupted output file after its last finished batch.

    Raises UserError for what is not UTF-8 or does not fit its format, and as `translator_of_run` does.
    """
    keep_freed_memory(large=False)
    labels = isinstance(load_run(config.run_dir).data, LabelledData)
    if labels:
        config = _for_labels(config)
    if config.document is not None:
        _translate_document(config, config.document)
        return
    lines = iter([config.source]) if config.source is not None else read_lines(str(config.input))
    records, lines = _records(config, lines)
    before, count = _shard(config)
    translator = _classifier(config) if labels else _lines(config)
    with _output(config) as output:
        if output.finished_lines:
            report(f"{config.output}: continued, finished lines: {output.finished_lines:,}")
        start = before + output.finished_lines
        own = itertools.islice(lines, start, None if count is None else before + count)
        left = None if count is None else count - output.finished_lines
        _translate(config, translator, records, own, output, first_number=1 + start, left=left)


def _translator(config: TranslateConfig, *, alignments: bool) -> Translator:
    return translator_of_run(
        Path(config.run_dir),
        config.decoding,
        config.device,
        ensemble=[Path(run_dir) for run_dir in config.ensemble],
        num_hypotheses=config.n_best or 1,
        alignments=alignments,
        processes=True,
    )


def _lines(config: TranslateConfig) -> Lines:
    translator = _translator(config, alignments=config.alignments)
    return partial(translator.translate, target_prefixes=config.target_prefix)


def _classifier(config: TranslateConfig) -> Lines:
    classifier = classifier_of_run(Path(config.run_dir), config.device)

    def labelled(lines: Iterator[str], *, first_number: int) -> Iterator[Translation]:
        del first_number
        return classifier.translate(lines, most=config.n_best or 1)

    return labelled


def _for_labels(config: TranslateConfig) -> TranslateConfig:
    """The options as a text classifier understands them: the label and its probability are written."""
    for key in ("ensemble", "document", "alignments", "target_prefix"):
        if getattr(config, key):
            raise UserError(f"{key}: {config.run_dir} is a text classifier, which gives labels; leave it out")
    field = "label" if config.translation_field == "translation" else config.translation_field
    return replace(config, scores=True, translation_field=field)


def _translate(
    config: TranslateConfig,
    translator: Lines,
    records: Records,
    lines: Iterator[str],
    output: StreamOutput,
    *,
    first_number: int,
    left: int | None,
) -> None:
    """Translate lines into the output, `left` of them where that is known, and report the speed."""
    unseen = UnseenWords(load_known_words(source_words(Path(config.run_dir))))
    start, tokens, number = time.monotonic(), 0, first_number - 1
    # Who waits for the translation of a line before writing the next gets it.
    blocks: Iterable[Iterable[str]] = arriving_blocks(lines, _MOST_ARRIVING) if config.input == "-" else [lines]
    shown = left is not None and config.source is None and not (config.output == "-" and sys.stdout.isatty())
    progress = Progress("translating", total=left or 0, unit="lines", shown=shown)
    for block in blocks:
        texts = ((at, line, records.text(line, at)) for at, line in enumerate(block, start=number + 1))
        read, kept = itertools.tee(texts)
        translations = translator((text for *_, text in read), first_number=number + 1)
        for translation, (number, line, text) in zip(translations, kept, strict=True):
            results = [_result(config, one) for one in (translation, *translation.others)]
            output.write(records.lines(line, number, results))
            _report_oddities(number, translation)
            unseen.add(number, text, translation)
            tokens += len(translation.tokens)
            progress.advance(1)
    progress.close()
    unseen.report()
    if config.source is None:
        seconds = time.monotonic() - start
        rate = f"{unseen.count / max(seconds, 1e-9):.1f} lines/s, {tokens / max(seconds, 1e-9):,.0f} subwords/s"
        count = f"{unseen.count:,} {'line' if unseen.count == 1 else 'lines'}"
        report(f"{config.run_dir}: {count} in {format_seconds(seconds)}, {rate}")


def _read_document(path: Path) -> bytes:
    """The content of a document. Raises UserError for a pipe or a device, which might never end, and a huge file."""
    if path.exists() and not path.is_file():
        raise UserError(f"document={path}: not a regular file; save it to one first")
    with path.open("rb") as file:
        content = file.read(_LARGEST_DOCUMENT + 1)
    if len(content) > _LARGEST_DOCUMENT:
        raise UserError(f"document={path}: larger than {_LARGEST_DOCUMENT >> 20} MiB; cut it into parts")
    return content


def _translate_document(config: TranslateConfig, path: str) -> None:
    """Translate the text of a document; the output appears when it is whole."""
    try:
        from mt.documents.document import Work  # noqa: PLC0415  an optional package
        from mt.documents.formats import parse  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise UserError(
            f"{missing.name} is not installed: in the repository, pip install -e '.[documents]'"
        ) from missing
    document = parse(path, _read_document(Path(path)))
    work = Work(document, load_run(config.run_dir).data.source_language)
    translator = _translator(config, alignments=document.markup is not None)
    start, translations = time.monotonic(), []
    progress = Progress("translating", total=len(work.sentences), unit="sentences")
    for translation in translator.translate(work.sentences, first_number=1):
        translations.append(translation)
        progress.advance(1)
    progress.close()
    replace_file(Path(config.output), work.written(translations, translator.separator), key="output")
    if empty := sum(not one.text.strip() for one in translations):
        report(f"{config.output}: sentences for which the model gave no word, left as they are: {empty:,}")
    seconds = format_seconds(time.monotonic() - start)
    count = f"{len(translations):,} {'sentence' if len(translations) == 1 else 'sentences'}"
    report(f"{config.run_dir}: {count} of {path} in {seconds}, {config.output}")


def _result(config: TranslateConfig, one: Translation) -> Result:
    """What is written of a translation, by the names of columns or fields."""
    result: Result = {config.translation_field: one.text}
    if config.scores or config.n_best is not None:
        result["score"] = round(one.score, 6)
    if config.alignments:
        result["alignment"] = pharaoh(one.alignment or [])
    return result


def _records(config: TranslateConfig, lines: Iterator[str]) -> tuple[Records, Iterator[str]]:
    """The kind of file that the input is, and its lines, of which the first may name the columns."""
    path, n_best = str(config.input), config.n_best is not None
    added = list(_result(config, Translation("", 0.0, [])))
    if config.field is not None:
        return JsonLines(path, config.field, added, n_best), lines
    if config.column is None:
        return PlainText(n_best), lines
    first = list(itertools.islice(lines, 1))
    records = TabSeparated(path, column=config.column, first_line="".join(first), added=added, n_best=n_best)
    return records, itertools.chain(first, lines)


def _shard(config: TranslateConfig) -> tuple[int, int | None]:
    """The number of lines before those of this shard, and the number of its lines where that is known."""
    if config.source is not None or config.input == "-" or not Path(str(config.input)).is_file():
        if config.shard is not None:
            raise UserError("shard: needs an input that is a regular file, because its lines are counted first")
        return 0, None
    total = count_lines(str(config.input))
    number, count = (1, 1) if config.shard is None else shard_numbers(config.shard)
    before = total * (number - 1) // count
    return before, total * number // count - before


def _output(config: TranslateConfig) -> StreamOutput:
    """The output. What goes to a pipe or a terminal cannot be resumed."""
    path = Path(config.output)
    if config.output == "-" or (path.exists() and not path.is_file()):
        return StreamOutput(config.output)
    path = path.resolve() if path.is_symlink() else path
    if config.shard is not None:
        number, count = shard_numbers(config.shard)
        path = path.with_name(f"{path.name}.{number:0{len(str(count))}}-of-{count}")
    known = config.source is not None or (config.input != "-" and Path(str(config.input)).is_file())
    return FileOutput(
        path, key=_key(config) if known else None, numbered=config.n_best is not None and config.field is None
    )


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
