"""Where translated lines go: standard output, or a file that is whole or clearly partial and can be continued."""

import contextlib
import fcntl
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from mt.data.lines import encode_lines
from mt.errors import DiskError, LockedError
from mt.reporting import report


class StreamOutput:
    """Standard output, or a special file such as a pipe: lines are handed to the system at once, none is continued.

    Raises DiskError where standard output is closed.
    """

    finished_lines = 0

    def __init__(self, path: str, *, mode: Literal["wb", "a+b"] = "wb") -> None:
        self._name = "standard output" if path == "-" else path
        if path == "-" and sys.__stdout__ is None:
            raise DiskError("cannot write standard output: it is closed; give output=FILE")
        self._stream: BinaryIO = sys.stdout.buffer if path == "-" else Path(path).open(mode)  # noqa: SIM115

    def write(self, lines: Sequence[str]) -> None:
        """Write lines. Raises DiskError."""
        try:
            self._stream.write(encode_lines(lines, at_file_start=False))
            self._stream.flush()
        except BrokenPipeError:
            raise  # the reader has enough
        except OSError as error:
            raise DiskError(f"cannot write {self._name}: {error.strerror}; the lines before are written") from error

    def __enter__(self) -> "StreamOutput":  # noqa: PYI034  the shape checks cannot read Self
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self._stream is not sys.stdout.buffer:
            with contextlib.suppress(OSError):  # of what could not be written
                self._stream.close()


class FileOutput(StreamOutput):
    """A file that grows under the name `PATH.KEY.part` and is called `PATH` when it is whole.

    An existing part with the same key is continued after the last input line that is certainly finished;
    `finished_lines` counts these lines. `key` identifies everything that the lines depend on; without it the file
    starts empty. With `numbered` several lines may belong to one input line, whose number they begin with.
    The permissions are those of the file that will be replaced, and its owner may always write. A part without a line
    is removed.

    Raises LockedError while another process writes the same part, DiskError where it cannot be locked.
    """

    def __init__(self, path: Path, *, key: str | None, numbered: bool) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.{key}.part" if key else f"{path.name}.part")
        self._continued = key is not None
        super().__init__(str(self._part), mode="a+b")
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._stream.close()
            raise LockedError(f"another process is writing {self._part}: wait for it or choose another") from error
        except OSError as error:  # a file system without locks
            self._stream.close()
            raise DiskError(f"cannot lock {self._part}: {error.strerror}: choose another output") from error
        if path.is_file():
            self._part.chmod(path.stat().st_mode & 0o777 | stat.S_IWUSR)
        self.finished_lines, end_bytes = finished(self._part, numbered=numbered) if key else (0, 0)
        self._stream.truncate(end_bytes)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is None:
            os.fsync(self._stream.fileno())
            self._part.replace(self._path)
        elif not os.fstat(self._stream.fileno()).st_size:
            self._part.unlink(missing_ok=True)
        else:
            advice = "; the same command continues there" if self._continued else ""
            report(f"{self._part} holds the lines that are finished{advice}")
        super().__exit__(kind, error, traceback)


def finished(part: Path, *, numbered: bool) -> tuple[int, int]:
    """Return how many lines of the input are finished in a partial output, and after how many bytes that ends."""
    count = end_bytes = line_bytes = 0
    number: bytes | None = None
    with part.open("rb") as rows:
        for row in rows:
            if not row.endswith(b"\n"):
                break
            if numbered:
                if row.partition(b"\t")[0] != number:  # the line before is whole, as far as it is there
                    count += number is not None
                    line_bytes = end_bytes
                    number = row.partition(b"\t")[0]
            else:
                count += 1
                line_bytes = end_bytes + len(row)
            end_bytes += len(row)
    return count, line_bytes
