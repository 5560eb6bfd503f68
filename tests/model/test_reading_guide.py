"""The steps of docs/reading_guide.py hold: each asserts that its plain lines equal a part of mt/model."""

import runpy
import sys
from pathlib import Path

import pytest
import torch

import mt.model.attention

GUIDE = Path(__file__).resolve().parents[2] / "docs/reading_guide.py"


def test_each_step_equals_its_part_and_the_picture_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(GUIDE), str(tmp_path / "picture.png")])
    runpy.run_path(str(GUIDE))
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_step_that_differs_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unscaled(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: object) -> torch.Tensor:
        return (query @ key.transpose(-2, -1)).softmax(-1) @ value

    monkeypatch.setattr(sys, "argv", [str(GUIDE), str(tmp_path / "picture.png")])
    monkeypatch.setattr(mt.model.attention, "attention", unscaled)
    with pytest.raises(AssertionError, match="not close"):
        runpy.run_path(str(GUIDE))
