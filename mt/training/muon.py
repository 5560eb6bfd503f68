"""Muon (Jordan et al. 2024) for the matrices inside the layers, Adam for all other parameters, as one optimizer."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

_MOMENTUM, _ITERATIONS, _COEFFICIENTS, _SMALLEST = 0.95, 5, (3.4445, -4.775, 2.0315), 1e-7  # as in Jordan et al.
_AS_ADAM = 0.2  # of the rate: how far each entry of a matrix moves, about as with Adam (Liu et al. 2025)


class MuonAndAdam(torch.optim.Optimizer):
    """Muon moves a matrix by the momentum of its gradient with all singular values near one; `adam` moves the rest.

    One rate does for both. Embeddings, biases and norms are Adam's, as Jordan et al. have it. `torch.optim.Muon`
    computes the same, but only in bf16, which is many times slower on processors without bf16 products.
    """

    def __init__(self, matrices: Sequence[Tensor], adam: torch.optim.Adam, *, precision: torch.dtype) -> None:
        super().__init__(matrices, {"lr": 0.0, "weight_decay": adam.defaults["weight_decay"]})
        [self.matrices] = self.param_groups
        self.adam, self.precision = adam, precision
        self.param_groups += adam.param_groups
        adam.state = self.state

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        self.adam.step()
        rate, decay = self.matrices["lr"], self.matrices["weight_decay"]
        for matrix in self.matrices["params"]:
            if matrix.grad is None:
                continue
            state = self.state[matrix]
            if not state:
                state["momentum_buffer"] = torch.zeros_like(matrix)
            momentum = state["momentum_buffer"]
            momentum.lerp_(matrix.grad, 1 - _MOMENTUM)
            direction = orthogonalised(matrix.grad.lerp(momentum, _MOMENTUM), self.precision)
            matrix.mul_(1 - rate * decay).add_(direction, alpha=-rate * _AS_ADAM * math.sqrt(max(matrix.shape)))


def orthogonalised(matrix: Float[Tensor, "rows columns"], precision: torch.dtype) -> Float[Tensor, "rows columns"]:
    """The same singular vectors, with singular values near one, but for the smallest: by Newton-Schulz iterations."""
    if len(matrix) > matrix.shape[1]:
        return orthogonalised(matrix.T, precision).T
    a, b, c = _COEFFICIENTS
    x = matrix.to(precision)
    x = x / x.norm().clamp(min=_SMALLEST)
    for _ in range(_ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def hidden_matrices(model: nn.Module) -> list[Tensor]:
    """The weights of all linear layers; the tables of embeddings and of the output are not linear layers here."""
    return [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
