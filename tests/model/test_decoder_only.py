"""A decoder without an encoder: GPT-2 with the same weights, and source and target in one row."""

import pytest
import torch
from tiny_models import BOS, FIRST_PIECE, PAD, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn

from mt.fast.fused_attention import fused_attention
from mt.model.architecture import Architecture
from mt.model.cached_decoder import CachedContinuation, SlidingContext


def copy_linear(ours: nn.Linear, theirs: nn.Module) -> None:
    """GPT-2 has its matrices transposed."""
    ours.weight.copy_(theirs.weight.T)
    ours.bias.copy_(theirs.bias)


def copy_norm(ours: nn.Module, theirs: nn.Module) -> None:
    ours.weight.copy_(theirs.weight)
    ours.bias.copy_(theirs.bias)


@torch.no_grad()
def test_it_computes_what_gpt2_computes() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415  slow

    sizes = {"n_positions": 12, "n_embd": 16, "n_layer": 3, "n_head": 4, "n_inner": 24}
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB_SIZE, activation_function="gelu", **sizes)).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    choices = {"positions": "learned", "max_positions": 12, "norm": "pre", "activation": "gelu"}
    ours = Architecture(
        family="decoder", vocab_size=VOCAB_SIZE, pad=PAD, num_layers=3, d_model=16, d_ff=24, num_heads=4, dropout=0.0,
        tied_embeddings="none", attention=fused_attention, **choices,
    ).transformer()  # fmt: skip
    ours.target_embedding.weight.copy_(theirs.transformer.wte.weight / 4)  # ours are multiplied by √d_model
    ours.output_embedding.weight.copy_(theirs.transformer.wte.weight)
    ours.positions.weight.copy_(theirs.transformer.wpe.weight)
    copy_norm(ours.decoder.norm, theirs.transformer.ln_f)
    for layer, block in zip(ours.decoder.layers, theirs.transformer.h, strict=True):
        copy_linear(layer.self_attention.projection, block.attn.c_attn)
        copy_linear(layer.self_attention.output, block.attn.c_proj)
        copy_linear(layer.feed_forward.inner, block.mlp.c_fc)
        copy_linear(layer.feed_forward.outer, block.mlp.c_proj)
        copy_norm(layer.self_attention_residual.norm, block.ln_1)
        copy_norm(layer.feed_forward_residual.norm, block.ln_2)
    tokens = sentences([12, 12], seed=0)
    torch.testing.assert_close(ours(tokens[:, :0], tokens), theirs(tokens).logits, rtol=0, atol=1e-5)


def test_a_translation_is_a_continuation_of_its_source() -> None:
    """With one embedding for both sides it does not matter where in the row the target begins."""
    model = tiny_model(family="decoder", positions="rotary")
    row = sentences([9], seed=0)
    whole = model(row[:, :0], row)
    torch.testing.assert_close(model(row[:, :4], row[:, 4:]), whole[:, 4:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("end", [1, 3])
def test_the_source_sees_none_of_its_later_tokens(end: int) -> None:
    model = tiny_model(family="decoder")
    inputs: list[Tensor] = []
    model.decoder.register_forward_hook(lambda _, __, output: inputs.append(output))
    source, target = sentences([5], seed=0), sentences([4], seed=1, begin=BOS)
    changed = source.clone()
    changed[:, end:] = FIRST_PIECE + (changed[:, end:] + 5) % (VOCAB_SIZE - FIRST_PIECE)
    model(source, target), model(changed, target)
    torch.testing.assert_close(inputs[0][:, :end], inputs[1][:, :end], rtol=0, atol=1e-10)
    assert not torch.allclose(inputs[0][:, end:], inputs[1][:, end:], atol=1e-3)


def test_rows_of_sources_of_other_lengths_move_and_multiply_with_their_hypotheses() -> None:
    model = tiny_model(family="decoder", positions="relative", max_relative_positions=3)
    source, target = sentences([6, 2], seed=0), sentences([5, 5, 5], seed=1, begin=BOS)
    decoder = CachedContinuation(model, source, rows_per_sentence=2)
    for t in range(2):
        decoder(target[[0, 0, 1, 1], t])
    rows = torch.tensor([3, 3, 0])
    decoder.reorder(rows)
    prefixes = torch.cat([target[[0, 0, 1, 1]][rows, :2], target[:, 2:]], dim=1)
    for t in range(2, 5):
        expected = model(source[rows // 2], prefixes)[:, t]
        torch.testing.assert_close(decoder(prefixes[:, t]), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("window", [2, 3])
def test_the_shortest_windows_slide_too(window: int) -> None:
    decoder = SlidingContext(
        tiny_model(family="decoder", positions="learned", max_positions=window), rows=2, window=window
    )
    for token in sentences([8, 8], seed=0, begin=BOS).T:
        assert decoder(token).isfinite().all()


def test_a_text_longer_than_the_window_continues_from_its_newer_half() -> None:
    model = tiny_model(family="decoder", positions="learned", max_positions=6)
    text, empty = sentences([8, 8], seed=0, begin=BOS), torch.empty(2, 0, dtype=torch.int64)
    decoder = SlidingContext(model, rows=2, window=6)
    for t in range(8):
        if t == 4:
            decoder.reorder(torch.tensor([1, 0]))
            text = text.flip(0)
        context = text[:, : t + 1] if t < 6 else torch.cat([text[:, :1], text[:, 3 : t + 1]], dim=1)
        torch.testing.assert_close(decoder(text[:, t]), model(empty, context)[:, -1], rtol=0, atol=1e-10)
