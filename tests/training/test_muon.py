"""Muon for the matrices inside the layers, Adam for the rest."""

import math

import pytest
import torch
from composed import composed
from torch import nn

from mt import build
from mt.config.schema import TrainConfig
from mt.training import muon
from mt.training.muon import MuonAndAdam

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


@pytest.mark.parametrize("shape", [(24, 24), (72, 24), (24, 96)])
def test_in_bf16_it_is_torchs(shape: tuple[int, int]) -> None:
    start, gradients = torch.randn(shape), [torch.randn(shape) for _ in range(3)]
    ours, theirs = (nn.Parameter(start.clone()) for _ in range(2))
    bias = nn.Parameter(torch.zeros(1))
    optimizer = MuonAndAdam([ours], torch.optim.Adam([bias], lr=RATE, weight_decay=0.1), precision=torch.bfloat16)
    optimizer.param_groups[0]["lr"] = RATE
    torchs = torch.optim.Muon([theirs], lr=RATE, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for gradient in gradients:
        ours.grad, theirs.grad = gradient, gradient
        optimizer.step()
        torchs.step()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("folder")
def test_matrices_of_a_shape_move_together_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU they are computed together."""
    _, alone = after_one_step("muon")
    kinds = []

    def by_shape(matrices: list[nn.Parameter]) -> list[list[nn.Parameter]]:
        kinds[:] = sorted({matrix.shape for matrix in matrices})
        return [[matrix for matrix in matrices if matrix.shape == kind] for kind in kinds]

    monkeypatch.setattr(muon, "_computed_together", by_shape)
    _, together = after_one_step("muon")
    assert 1 < len(kinds) < len(list(alone.parameters())) / 4
    for one, other in zip(alone.parameters(), together.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


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
