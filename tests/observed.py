"""An optimizer that shows the gradients of a step."""

import torch
from torch import Tensor


class Observed(torch.optim.SGD):
    """Remembers the gradients it is given and changes nothing."""

    gradients: list[Tensor]

    def step(self, closure: None = None) -> None:  # noqa: ARG002  torch's signature
        self.gradients = [parameter.grad.clone() for parameter in self.param_groups[0]["params"]]
