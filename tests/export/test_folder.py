"""A folder appears whole, and of one writer."""

from pathlib import Path

import pytest

from mt.errors import LockedError, UserError
from mt.export.folder import written_aside


@pytest.mark.reliability(6)
def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with written_aside(output) as aside:
        (aside / "a").write_text("first")
        with (
            pytest.raises(
                LockedError, match=r"another process is writing to .*out.part: .* choose another with output="
            ),
            written_aside(output) as other,
        ):
            (other / "b").write_text("second")
    assert [path.name for path in output.iterdir()] == ["a"]
    with pytest.raises(UserError, match="exists already"), written_aside(output):
        pytest.fail("entered")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.part/folder").mkdir(parents=True)
    (tmp_path / ".out.part/folder/old").write_text("half")
    with written_aside(tmp_path / "out") as aside:
        (aside / "a").write_text("new")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]


def test_what_a_link_points_to_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("kept")
    (tmp_path / ".out.part").symlink_to(tmp_path / "outside")
    with written_aside(tmp_path / "out") as aside:
        (aside / "a").write_text("new")
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["/", "a\udcff"])
def test_a_folder_needs_a_name_that_every_engine_reads(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="output: expected the name of a folder"), written_aside(tmp_path / name):
        pass
