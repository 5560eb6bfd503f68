"""The kernels for AMX, on processors that lack it compiled with an emulation of its tiles."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mt.fast.native import layers, library, tiled_linear

EMULATION = Path(__file__).parent / "fast/emulated_tiles.h"


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The library with tiles in plain C, and an empty header where the compiler has none for x86."""
    folder = tmp_path_factory.mktemp("emulated")
    if os.uname().machine != "x86_64":
        (folder / "immintrin.h").touch()
    options = f"-include {shlex.quote(str(EMULATION))} -I {shlex.quote(str(folder))}"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CC", f"{os.environ.get('CC', 'cc')} {options}")
        environment.setenv("MT_KERNELS_DIR", str(folder))
        built = library.kernels.__wrapped__()
    assert built is not None
    return built


@pytest.fixture
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What multiplies in tiles: the processor, else the emulation."""
    if library.kernels() is None:
        pytest.skip("no C compiler here")
    if "int8x8" not in tiled_linear.compute_types():
        found = request.getfixturevalue("emulated")
        for module in (tiled_linear, layers):
            monkeypatch.setattr(module, "kernels", lambda: found)
        tiled_linear.compute_types.cache_clear()
        assert "int8x8" in tiled_linear.compute_types()
    yield
    tiled_linear.compute_types.cache_clear()


@pytest.fixture(params=["tiles", "none"])
def tiles_and_none(request: pytest.FixtureRequest) -> None:
    """With AMX, used or emulated, and with the kernels that are compiled for this processor."""
    if library.kernels() is None:
        pytest.skip("no C compiler here")
    if request.param == "tiles":
        request.getfixturevalue("tiles")
