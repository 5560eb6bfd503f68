"""Muon (Jordan et al. 2024) for the matrices inside the layers, Adam for all other parameters, as one optimizer."""

from collections.abc import Sequence

import torch
from torch import nn


class MuonAndAdam(torch.optim.Optimizer):
    """Muon moves a matrix by the momentum of its gradient with all singular values near one, Adam the other parameters.

    Each entry of a matrix changes by about 0.2 of the rate, as Adam changes it, so that one rate does for both (Liu et
    al. 2025). Embeddings, biases and norms are Adam's, as Jordan et al. have it. The parts share `state`.
    """

    def __init__(self, matrices: Sequence[torch.Tensor], adam: torch.optim.Adam) -> None:
        super().__init__([*matrices, *(one for group in adam.param_groups for one in group["params"])], {})
        decay = adam.defaults["weight_decay"]
        muon = torch.optim.Muon(matrices, lr=0.0, weight_decay=decay, adjust_lr_fn="match_rms_adamw")
        self.parts: tuple[torch.optim.Optimizer, ...] = (muon, adam)
        self.param_groups = [group for part in self.parts for group in part.param_groups]
        for part in self.parts:
            part.state = self.state

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for part in self.parts:
            part.step()


def hidden_matrices(model: nn.Module) -> list[torch.Tensor]:
    """The weights of all linear layers; those of the embeddings are none, nor is the output layer tied to them."""
    return [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
