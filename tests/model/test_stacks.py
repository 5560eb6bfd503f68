"""Sections 3.1 and 5.4: where the normalisation and the dropout are."""

import torch
from tiny_models import tiny_model
from torch import nn

from mt.model.residual import PostNorm, PreNorm


def test_dropout_thins_the_sublayer_and_never_the_residual() -> None:
    torch.manual_seed(0)
    residual = PostNorm(norm=nn.LayerNorm(8), dropout=nn.Dropout(0.5))
    residual.norm = nn.Identity()
    x, sublayer = torch.randn(4, 50, 8), torch.ones(4, 50, 8)
    added = residual(x, lambda _: sublayer) - x
    torch.testing.assert_close(added, 2.0 * added.round().bool())
    assert 0.4 < float(added.round().bool().double().mean()) < 0.6


def test_the_normalisation_comes_after_the_sum() -> None:
    x = torch.randn(2, 3, 8)
    y = PostNorm(norm=nn.LayerNorm(8), dropout=nn.Dropout(0.0))(x, torch.sin)
    total = x + x.sin()
    centred = total - total.mean(-1, keepdim=True)
    torch.testing.assert_close(y, centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt())


def test_dropout_follows_each_sublayer_and_the_embeddings_only() -> None:
    """None on attention weights, none inside the feed-forward: one per residual, one for both embeddings."""
    model = tiny_model(num_layers=3, dropout=0.25)
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Dropout)]
    assert len(names) == 3 * 2 + 3 * 3 + 1
    assert all(name.endswith("residual.dropout") for name in names if name != "dropout")
    assert all(module.p == 0.25 for module in model.modules() if isinstance(module, nn.Dropout))


def test_before_a_sublayer_the_sum_stays_as_it_is() -> None:
    x = torch.randn(2, 3, 8)
    centred = x - x.mean(-1, keepdim=True)
    normalised = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    y = PreNorm(norm=nn.LayerNorm(8), dropout=nn.Dropout(0.0))(x, torch.sin)
    torch.testing.assert_close(y, x + normalised.sin())


def test_every_norm_of_a_model_is_of_the_chosen_kind() -> None:
    for kind, chosen in (("layer", nn.LayerNorm), ("rms", nn.RMSNorm)):
        model = tiny_model(norm="pre", norm_kind=kind)
        norms = [module for name, module in model.named_modules() if name.endswith("norm")]
        assert len(norms) == 2 * (2 + 3) + 2
        assert {type(norm) for norm in norms} == {chosen}
        assert {norm.eps for norm in norms} == {1e-5}


def test_rms_norm_has_no_mean() -> None:
    norm, x = tiny_model(norm_kind="rms").encoder.layers[0].feed_forward_residual.norm, torch.randn(3, 16).double()
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * norm.weight
    torch.testing.assert_close(norm(x), expected, rtol=0, atol=1e-12)


def test_stacks_may_differ_in_depth() -> None:
    model = tiny_model(num_layers=2, num_encoder_layers=5)
    assert [len(model.encoder.layers), len(model.decoder.layers)] == [5, 2]
    model = tiny_model(num_layers=2, num_decoder_layers=1)
    assert [len(model.encoder.layers), len(model.decoder.layers)] == [2, 1]
