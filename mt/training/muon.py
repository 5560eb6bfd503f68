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
        with_gradient = [matrix for matrix in self.matrices["params"] if matrix.grad is not None]
        for matrices in _computed_together(with_gradient):
            self._move(matrices)

    def _move(self, matrices: list[Tensor]) -> None:
        """Update matrices of one shape."""
        rate, decay = self.matrices["lr"], self.matrices["weight_decay"]
        for matrix in matrices:
            if not self.state[matrix]:
                self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        momenta = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
        torch._foreach_lerp_(momenta, gradients, 1 - _MOMENTUM)
        ahead = torch._foreach_lerp(gradients, momenta, _MOMENTUM)
        if len(matrices) == 1:
            directions = [orthogonalised(ahead[0], self.precision)]
        else:
            directions = list(orthogonalised(torch.stack(ahead), self.precision).to(ahead[0].dtype))
        torch._foreach_mul_(matrices, 1 - rate * decay)
        torch._foreach_add_(matrices, directions, alpha=-rate * _AS_ADAM * math.sqrt(max(matrices[0].shape)))


def _computed_together(matrices: Sequence[Tensor]) -> list[list[Tensor]]:
    """On a GPU, where a small product takes as long as starting it, all matrices of a shape; elsewhere each alone."""
    groups: dict[object, list[Tensor]] = {}
    for number, matrix in enumerate(matrices):
        groups.setdefault(matrix.shape if matrix.is_cuda else number, []).append(matrix)
    return list(groups.values())


def orthogonalised(
    matrices: Float[Tensor, "*count rows columns"], precision: torch.dtype
) -> Float[Tensor, "*count rows columns"]:
    """The same singular vectors, with singular values near one, but for the smallest: by Newton-Schulz iterations."""
    if matrices.shape[-2] > matrices.shape[-1]:
        return orthogonalised(matrices.mT, precision).mT
    a, b, c = _COEFFICIENTS
    multiply_and_add = torch.addmm if matrices.dim() == 2 else torch.baddbmm  # the first is faster
    x = matrices.to(precision)
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=_SMALLEST)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = multiply_and_add(x, multiply_and_add(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def hidden_matrices(model: nn.Module) -> list[Tensor]:
    """The weights of all linear layers; the tables of embeddings and of the output are not linear layers here."""
    return [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
