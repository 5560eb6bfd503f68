"""Sections 3.1 and 5.4: where the normalisation and the dropout stand."""

import torch
from tiny_models import tiny_model
from torch import nn

from mt.fast.dropout import Dropout
from mt.model.stacks import AddAndNorm


def test_dropout_thins_the_sublayer_and_never_the_residual() -> None:
    torch.manual_seed(0)
    layer = AddAndNorm(d_model=8, dropout=0.5)
    layer.norm = nn.Identity()
    x, sublayer = torch.randn(4, 50, 8), torch.ones(4, 50, 8)
    added = layer(x, sublayer) - x
    torch.testing.assert_close(added, 2.0 * added.round().bool())
    assert 0.4 < float(added.round().bool().double().mean()) < 0.6


def test_the_normalisation_comes_after_the_sum() -> None:
    x, sublayer = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    y = AddAndNorm(d_model=8, dropout=0.0)(x, sublayer)
    total = x + sublayer
    centred = total - total.mean(-1, keepdim=True)
    torch.testing.assert_close(y, centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt())


def test_dropout_stands_behind_each_sublayer_and_the_embeddings_only() -> None:
    """None on attention weights, none inside the feed-forward: one per AddAndNorm, one for both embeddings."""
    model = tiny_model(num_layers=3, dropout=0.25)
    names = [name for name, module in model.named_modules() if isinstance(module, Dropout | nn.Dropout)]
    assert len(names) == 3 * 2 + 3 * 3 + 1
    assert all(name.endswith("norm.dropout") for name in names if name != "positions.dropout")
    assert all(module.dropout == 0.25 for module in model.modules() if isinstance(module, Dropout))
