"""Muon for the matrices inside the layers, Adam for the rest."""

import math

import pytest
import torch
from composed import composed
from torch import nn

from mt import build
from mt.config.schema import TrainConfig

RATE = 0.01


def after_one_step(chosen: str) -> tuple[nn.Module, nn.Module]:
    """A small Transformer before and after one step with random gradients, which are the same for any optimizer."""
    config = composed("train", "model=toy", "device=cpu", f"training.optimizer={chosen}")
    assert isinstance(config, TrainConfig)
    before, model = (build.model(config, vocab_size=24, source_vocab_size=None) for _ in range(2))
    model.load_state_dict(before.state_dict())
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizer = build.optimizer(config.training, model)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    optimizer.step()
    return before, model


@pytest.mark.usefixtures("folder")
def test_matrices_move_by_orthogonal_ones_and_the_rest_as_with_adam() -> None:
    before, model = after_one_step("muon")
    with_adam = dict(after_one_step("adam")[1].named_parameters())
    matrices = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    assert matrices
    for (name, new), old in zip(model.named_parameters(), before.parameters(), strict=True):
        if name not in matrices:
            assert torch.equal(new, with_adam[name]), name
            continue
        scale = math.sqrt(max(new.shape))
        change = (new - old).detach() / (RATE * 0.2 * scale)
        singular = torch.linalg.svdvals(change)
        assert singular.max() < 1.3, name  # five iterations bring them near one, all but the smallest
        assert singular.quantile(0.1) > 0.6, name
        assert change.square().mean().sqrt() * scale == pytest.approx(0.9, abs=0.15)  # as far as Adam, about
