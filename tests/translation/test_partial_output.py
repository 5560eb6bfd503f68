"""A partial output is continued after what is certainly finished, wherever the process died."""

import random
import sys
from pathlib import Path

import pytest

from mt.errors import DiskError, LockedError, UserError
from mt.translation.output import FileOutput, StreamOutput, finished


def lines_of(number: int, *, numbered: bool) -> list[str]:
    """What the line of that number becomes; with n-best a few rows."""
    return [f"{number}\t{rank}\tü{number}" for rank in range(1, 2 + number % 3)] if numbered else [f"ü{number}"]


@pytest.mark.parametrize("numbered", [False, True])
def test_whatever_byte_is_the_last_the_whole_is_the_same(tmp_path: Path, numbered: bool) -> None:
    path, first, last = tmp_path / "out", 3, 9  # as in the second shard of a file
    options = {"key": "abc", "numbered": numbered}

    def go_on() -> None:
        with FileOutput(path, **options) as output:
            for number in range(first + output.finished_lines, last + 1):
                output.write(lines_of(number, numbered=numbered))

    go_on()
    whole = path.read_bytes()
    assert whole.count(b"\n") > last - first
    for end in range(len(whole)):
        path.unlink()
        (tmp_path / "out.abc.part").write_bytes(whole[:end])
        go_on()
        assert path.read_bytes() == whole
        assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"a\nb\nc\nrest")
    assert finished(part, numbered=False) == (3, 6)
    part.write_bytes(b"5\t1\tx\n5\t2\ty\n6\t1\tz\n6\t2\tw\n")
    assert finished(part, numbered=True) == (1, 12)


def test_an_interrupted_output_is_clearly_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out"
    path.write_text("an older one\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt), FileOutput(path, key="abc", numbered=False) as output:
        output.write(["one", "two"])
        raise KeyboardInterrupt
    assert path.read_text(encoding="utf-8") == "an older one\n"
    assert (tmp_path / "out.abc.part").read_text(encoding="utf-8") == "one\ntwo\n"
    assert "out.abc.part holds the lines that are finished; the same command continues there" in capsys.readouterr().err


def test_no_part_is_left_of_an_input_that_was_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError), FileOutput(tmp_path / "out", key="abc", numbered=False):
        raise UserError
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_a_closed_standard_output_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "__stdout__", None)  # as Python finds it after >&-
    with pytest.raises(DiskError, match="cannot write standard output: it is closed; give output=FILE"):
        StreamOutput("-")


def test_the_output_keeps_the_permissions_of_the_older_one(tmp_path: Path) -> None:
    """From its first line on."""
    path = tmp_path / "out"
    path.touch(mode=0o600)
    with FileOutput(path, key="abc", numbered=False) as output:
        assert (tmp_path / "out.abc.part").stat().st_mode & 0o777 == 0o600
        output.write(["one"])
    assert path.stat().st_mode & 0o777 == 0o600


def test_parts_of_other_settings_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.abc.part").write_text("one\n", encoding="utf-8")
    for key in ("def", None):
        (tmp_path / "out.part").write_text("what standard input was\n", encoding="utf-8")
        with FileOutput(tmp_path / "out", key=key, numbered=False) as output:
            assert output.finished_lines == 0
            output.write(["eins"])
        assert (tmp_path / "out").read_text(encoding="utf-8") == "eins\n"
    assert (tmp_path / "out.abc.part").read_text(encoding="utf-8") == "one\n"


def test_two_processes_do_not_write_the_same_part(tmp_path: Path) -> None:
    with FileOutput(tmp_path / "out", key="abc", numbered=False):
        with pytest.raises(LockedError, match="another process is writing"):
            FileOutput(tmp_path / "out", key="abc", numbered=False)


def test_a_part_of_random_rows_never_loses_nor_doubles_a_line(tmp_path: Path) -> None:
    generator, part = random.Random(3), tmp_path / "part"
    for _ in range(200):
        rows = [row for number in range(1, 8) for row in lines_of(number, numbered=True)]
        whole = "".join(f"{row}\n" for row in rows).encode()
        part.write_bytes(whole[: generator.randrange(len(whole) + 1)])
        count, end = finished(part, numbered=True)
        kept = [row for number in range(1, count + 1) for row in lines_of(number, numbered=True)]
        assert whole[:end].decode().split("\n")[:-1] == kept
