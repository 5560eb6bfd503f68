"""mt-translate: a sentence, a file or standard input, one line out for every line in."""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mt import build
from mt.config import TranslateConfig
from mt.data.lines import encode_lines, read_lines
from mt.errors import DiskError
from mt.jobs.messages import tell
from mt.training.metrics import format_seconds
from mt.translation import Translation


def translate(config: TranslateConfig) -> None:
    """Translate a sentence, a file or standard input, one line out for every line in."""
    translator = build.translator_of_run(Path(config.run_dir), config.decoding, config.device)
    lines = [config.source] if config.source is not None else read_lines(str(config.input))
    start = time.monotonic()
    count = 0
    with _output(config.output) as write:
        for count, translation in enumerate(translator.translate(lines), start=1):
            write(translation.text)
            _tell_split(count, translation)
    if config.source is None:
        seconds = time.monotonic() - start
        rate = f"{count / max(seconds, 1e-9):.1f} lines/s"
        tell(f"{config.run_dir}: lines: {count:,}, {format_seconds(seconds)}, {rate}")


def _tell_split(line: int, translation: Translation) -> None:
    if translation.parts > 1:
        tell(f"line {line}: longer than decoding.max_source_tokens, translated in {translation.parts} parts")


class _output:  # noqa: N801  used as a context manager
    """Where translated lines go: a file, written as they come, or standard output, flushed at every line."""

    def __init__(self, path: str) -> None:
        self.name = "standard output" if path == "-" else path
        self.stream = sys.stdout.buffer if path == "-" else Path(path).open("wb")  # noqa: SIM115

    def __enter__(self) -> Callable[[str], None]:
        return self.write

    def write(self, line: str) -> None:
        try:
            self.stream.write(encode_lines([line], at_file_start=False))
            self.stream.flush()
        except BrokenPipeError:
            raise  # the reader has enough
        except OSError as error:
            raise DiskError(f"cannot write {self.name}: {error.strerror}; the lines before are written") from error

    def __exit__(self, *error: object) -> None:
        if self.stream is not sys.stdout.buffer:
            with contextlib.suppress(OSError):  # of what could not be written
                self.stream.close()
