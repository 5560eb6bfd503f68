"""RELIABILITY 1, 3, 4: a write that any call may end leaves the old or the new, whole."""

import functools
import hashlib
import itertools
import json
import os
from pathlib import Path

import pytest
from faults import MODES, RELIABILITY_ROW, Mode, failing_disk, succeeds
from reliability import Trials

from mt.errors import BadFileError, DiskError
from mt.runs.atomic import MANIFEST, read_folder, recover, remove_unfinished, replace_file, write_folder

OLD = {"a": b"old a", "b": b"old b" * 1000}
NEW = {"a": b"new a" * 1000, "c": b""}


@pytest.mark.reliability(1, 3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("old", [None, OLD], ids=["first", "replacing"])
def test_a_folder_is_old_or_new_whichever_call_fails(
    tmp_path: Path, mode: Mode, old: dict[str, bytes] | None, trials: Trials
) -> None:
    for fail_at in trials(itertools.count(1), row=RELIABILITY_ROW[mode]):
        folder = tmp_path / str(fail_at) / "folder"
        if old is not None:
            write_folder(folder, old)
        with failing_disk(folder.parent, fail_at=fail_at, mode=mode) as disk:
            written = succeeds(functools.partial(write_folder, folder, NEW), mode)
        if folder.parent.exists():
            recover(folder.parent)
            assert [path.name for path in folder.parent.iterdir()] in ([], ["folder"])
        if written:
            assert read_folder(folder) == NEW
        elif old is not None or folder.exists():
            assert read_folder(folder) in ([OLD, NEW] if old else [NEW])
        if not disk.failed:
            break
    assert fail_at > 15  # it was the whole path


@pytest.mark.reliability(1, 3)
@pytest.mark.parametrize("mode", MODES)
def test_a_file_is_old_or_new_whichever_call_fails(tmp_path: Path, mode: Mode, trials: Trials) -> None:
    path = tmp_path / "file"
    for fail_at in trials(itertools.count(1), row=RELIABILITY_ROW[mode]):
        path.write_bytes(b"old")
        with failing_disk(tmp_path, fail_at=fail_at, mode=mode) as disk:
            written = succeeds(functools.partial(replace_file, path, b"new" * 1000), mode)
        assert path.read_bytes() in ((b"new" * 1000,) if written else (b"old", b"new" * 1000))
        if not disk.failed:
            break
    assert path.read_bytes() == b"new" * 1000
    assert fail_at > 5


@pytest.mark.reliability(3)
def test_a_full_disk_is_named_and_given_back(tmp_path: Path) -> None:
    with failing_disk(tmp_path, fail_at=5, mode="full"), pytest.raises(DiskError, match="No space left on device"):
        write_folder(tmp_path / "folder", NEW)
    assert not list(tmp_path.iterdir())
    assert DiskError.exit_code == 5


NOTHING = hashlib.sha256().hexdigest()
HOSTILE_MANIFESTS = [
    b"",
    b"null",
    b"[]",
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"a": null}',
    b'{"a": 5}',
    b'{"a": {"sha256": ""}}',
    *(json.dumps({name: NOTHING}).encode() for name in ("../a", "/etc/passwd", "..", ".", "", "\0")),
    *(json.dumps({"a" * length: NOTHING}).encode() for length in (300, 2_000_000)),
]


@pytest.mark.reliability(19)
@pytest.mark.parametrize("manifest", HOSTILE_MANIFESTS, ids=range(len(HOSTILE_MANIFESTS)))
def test_a_hostile_manifest_is_a_bad_file(tmp_path: Path, manifest: bytes) -> None:
    write_folder(tmp_path / "folder", {"a": b"12345"})
    (tmp_path / "folder" / MANIFEST).write_bytes(manifest)
    with pytest.raises(BadFileError):
        read_folder(tmp_path / "folder")


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ["a", MANIFEST])
def test_what_is_no_file_is_not_read(tmp_path: Path, name: str) -> None:
    """A pipe would wait for ever, a device never end."""
    write_folder(tmp_path / "folder", {"a": b"12345"})
    (tmp_path / "folder" / name).unlink()
    os.mkfifo(tmp_path / "folder" / name)
    with pytest.raises(BadFileError):
        read_folder(tmp_path / "folder")
    (tmp_path / "folder" / name).unlink()
    (tmp_path / "folder" / name).symlink_to("/dev/zero")
    with pytest.raises(BadFileError):
        read_folder(tmp_path / "folder")


@pytest.mark.reliability(19)
def test_a_pipe_is_no_file_of_a_run(tmp_path: Path) -> None:
    """It would wait for a reader."""
    os.mkfifo(tmp_path / "evaluation.json")
    with pytest.raises(BadFileError, match=r"evaluation.json: is a pipe or a device"):
        replace_file(tmp_path / "evaluation.json", b"{}")
    assert (tmp_path / "evaluation.json").is_fifo()


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "elsewhere"
    link.symlink_to(target)
    for content in (b"first", b"second"):
        replace_file(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_a_file_keeps_its_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """While it is written too."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    modes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: modes.append(os.fstat(handle).st_mode & 0o777))
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == mode
    assert modes[0] == 0o600  # of the new content on its way to the disk


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, b"through", key="output")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    path.symlink_to(path)
    replace_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_what_a_killed_writer_left_is_removed_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    left, kept = [tmp_path / name for name in (".a.1.part", "data/.b.2.part")], tmp_path / "data" / "b"
    for path in (*left, kept):
        path.touch()
    remove_unfinished(tmp_path)
    assert [path for path in (*left, kept) if path.exists()] == [kept]
