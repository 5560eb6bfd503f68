"""What every test shares: shapes are checked, one thread, no accelerator where there is none."""

import pytest
from jaxtyping import install_import_hook

SHAPE_CHECKS = install_import_hook("mt", "beartype.beartype")  # before anything of mt is imported

import torch  # noqa: E402

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs an accelerator, with the reason."""
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(skip)
