"""An encoder without a decoder: BERT with the same weights, and rows of one text or of two."""

from typing import Any

import pytest
import torch
from tiny_models import EOS, PAD, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn

from mt.fast.fused_attention import fused_attention
from mt.model.architecture import Architecture
from mt.model.encoder_only import EncoderOnly
from mt.model.masks import padded

SIZES = {"max_position_embeddings": 12, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4}
LENGTHS = [12, 5]


def copy(ours: nn.Module, *theirs: nn.Module) -> None:
    """Linear layers of theirs, stacked, or a norm."""
    ours.weight.copy_(torch.cat([one.weight for one in theirs]))
    ours.bias.copy_(torch.cat([one.bias for one in theirs]))


def ours_and_theirs(**choices: Any) -> tuple[EncoderOnly, Any]:
    """The same weights in ours and in BERT for masked language modelling or, with classes, for classification."""
    import transformers  # noqa: PLC0415  slow

    torch.manual_seed(0)
    kind = transformers.BertForSequenceClassification if "num_classes" in choices else transformers.BertForMaskedLM
    sizes = {**SIZES, "intermediate_size": 24, "num_labels": choices.get("num_classes", 2)}
    theirs = kind(transformers.BertConfig(vocab_size=VOCAB_SIZE, layer_norm_eps=1e-5, **sizes)).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = Architecture(
        family="encoder", vocab_size=VOCAB_SIZE, pad=PAD, num_layers=3, d_model=16, d_ff=24, num_heads=4, dropout=0.0,
        positions="learned", max_positions=12, activation="gelu", attention=fused_attention, **choices,
    ).transformer()  # fmt: skip
    assert isinstance(ours, EncoderOnly)
    embeddings = theirs.bert.embeddings
    ours.target_embedding.weight.copy_(embeddings.word_embeddings.weight / 4)  # ours are multiplied by √d_model
    ours.segment_embedding.weight.copy_(embeddings.token_type_embeddings.weight / 4)
    ours.positions.weight.copy_(embeddings.position_embeddings.weight)
    copy(ours.norm, embeddings.LayerNorm)
    for layer, block in zip(ours.encoder.layers, theirs.bert.encoder.layer, strict=True):
        attention = block.attention.self
        copy(layer.self_attention.projection, attention.query, attention.key, attention.value)
        copy(layer.self_attention.output, block.attention.output.dense)
        copy(layer.self_attention_residual.norm, block.attention.output.LayerNorm)
        copy(layer.feed_forward.inner, block.intermediate.dense)
        copy(layer.feed_forward.outer, block.output.dense)
        copy(layer.feed_forward_residual.norm, block.output.LayerNorm)
    return ours, theirs


def row_of_two() -> tuple[Tensor, Tensor]:
    """A row of two texts and a shorter one, with their token types."""
    tokens = sentences(LENGTHS, seed=0)
    tokens[:, 3] = tokens[0, 11] = EOS
    return tokens, (torch.arange(12) > 3).long().expand(2, 12)


@torch.no_grad()
def test_it_computes_what_bert_computes() -> None:
    ours, theirs = ours_and_theirs(num_classes=3)
    copy(ours.head[0], theirs.bert.pooler.dense)
    copy(ours.output_embedding, theirs.classifier)
    tokens, types = row_of_two()
    theirs_of = {"attention_mask": (tokens != PAD).long(), "token_type_ids": types}
    first = torch.zeros(2, 1, dtype=torch.int64)
    states = ours.encode(tokens, padded(tokens, first, pad=PAD))
    expected = theirs.bert(tokens, **theirs_of)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(states[row, :length], expected[0][row, :length], rtol=0, atol=1e-5)
    torch.testing.assert_close(ours.hidden(tokens, first)[:, 0], expected.pooler_output, rtol=0, atol=1e-5)
    torch.testing.assert_close(ours(tokens, first)[:, 0], theirs(tokens, **theirs_of).logits, rtol=0, atol=1e-5)


@torch.no_grad()
def test_it_predicts_what_berts_masked_language_model_predicts() -> None:
    ours, theirs = ours_and_theirs(tied_embeddings="none", output_bias=True)
    transform = theirs.cls.predictions.transform
    copy(ours.head[0], transform.dense), copy(ours.head[2], transform.LayerNorm)
    copy(ours.output_embedding, theirs.cls.predictions.decoder)
    tokens = sentences(LENGTHS, seed=0)
    logits = theirs(tokens, attention_mask=(tokens != PAD).long()).logits
    positions = torch.tensor([[3, 11], [0, 4]])
    expected = torch.stack([row[asked] for row, asked in zip(logits, positions, strict=True)])
    torch.testing.assert_close(ours(tokens, positions), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("changed", [0, 5])
def test_every_position_sees_every_other(changed: int) -> None:
    model = tiny_model(family="encoder")
    tokens, positions = sentences([6], seed=0), torch.arange(6)[None]
    other = tokens.clone()
    other[0, changed] = 4 + (other[0, changed] + 5) % (VOCAB_SIZE - 4)
    assert ((model(tokens, positions) - model(other, positions)).abs().amax(-1) > 1e-3).all()
