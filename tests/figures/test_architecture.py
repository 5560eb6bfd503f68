"""Figure 1 for any model: its boxes and lines for the paper's options, and none of an option without a mark on it."""

from dataclasses import fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from lxml import etree

from mt.config.schema import Model
from mt.figures.architecture import architecture_svg

PAPER = Model(
    family="encoder_decoder", num_layers=6, num_encoder_layers=None, num_decoder_layers=None, d_model=512, d_ff=2048,
    num_heads=8, d_k=None, d_v=None, dropout=0.1, initialisation="glorot", positions="sinusoidal", max_positions=2048,
    max_relative_positions=16, norm="post", norm_kind="layer", activation="relu", score="scaled_dot",
    tied_embeddings="all", output_bias=False, norm_epsilon=1e-5, scale_embedding=True,
)  # fmt: skip
# What is no part of the figure, or has an effect with another option only.
OTHERS: dict[str, dict[str, Any]] = {
    "max_positions": {"positions": "learned"},
    "max_relative_positions": {"positions": "relative"},
}


def texts(model: Model, *, shared_vocab: bool = True) -> list[str]:
    root = etree.fromstring(architecture_svg(model, shared_vocab=shared_vocab))
    return [element.text for element in root.iter("{*}text")]


def test_the_papers_model_has_the_boxes_of_figure_1_from_below() -> None:
    encoder = ["Inputs", "Input Embedding", "+", "Positional Encoding", "Multi-Head Attention", "Add & Norm"]
    encoder += ["Feed Forward", "Add & Norm", "6 ×"]
    decoder = ["Outputs (shifted right)", "Output Embedding", "+", "Positional Encoding", "Masked Multi-Head Attention"]
    decoder += ["Add & Norm", "Multi-Head Attention", "Add & Norm", "Feed Forward", "Add & Norm", "6 ×", "K, V"]
    decoder += ["Linear", "Softmax", "Output Probabilities"]
    found = texts(PAPER)
    assert [text for text in found if text in encoder + decoder] == encoder + decoder
    assert found.count("h = 8, d_k = 64, d_v = 64") == 3
    assert found.count("ReLU, d_ff = 2,048") == 2
    assert [text for text in found if "matrix" in text] == ["matrix E", "matrix E", "matrix Eᵀ"]
    assert [text for text in texts(PAPER, shared_vocab=False) if "matrix" in text] == [
        *("matrix E₁", "matrix E₂", "matrix E₂ᵀ"),
    ]


def changed(name: str, hint: Any) -> list[Any]:
    """Other values of an option."""
    value = getattr(PAPER, name)
    if get_origin(hint) is Literal:
        return [other for other in get_args(hint) if other != value]
    return [not value] if isinstance(value, bool) else [0.25] if isinstance(value, float) else [24]


@pytest.mark.parametrize("name", [field.name for field in fields(Model) if field.name != "initialisation"])
def test_every_value_of_an_option_is_seen(name: str) -> None:
    model = replace(PAPER, **OTHERS.get(name, {}))
    variants = [replace(model, **{name: other}) for other in changed(name, get_type_hints(Model)[name])]
    drawn = [architecture_svg(each, shared_vocab=True) for each in (model, *variants)]
    assert len(set(drawn)) == len(drawn) > 1
    for svg in drawn:
        etree.fromstring(svg)


def test_pre_norm_has_the_norm_in_front_and_one_at_the_end() -> None:
    found = [text for text in texts(replace(PAPER, norm="pre", family="decoder")) if "Norm" in text or text == "Add"]
    assert found == ["Norm", "Add", "Norm", "Add", "Norm"]
    assert texts(replace(PAPER, num_encoder_layers=12, num_decoder_layers=1)).count("12 ×") == 1


def test_an_encoder_alone_has_no_decoder() -> None:
    found = [text for text in texts(replace(PAPER, family="encoder")) if "=" not in text and text != "+"]
    below = ["One Text, or Two", "Embedding", "matrix E, and segments", "Positional Encoding", "Norm"]
    layer = ["Multi-Head Attention", "Add & Norm", "Feed Forward", "Add & Norm", "6 ×"]
    head = ["Linear, tanh", "of the first position", "Linear", "to the classes", "Softmax", "Output Probabilities"]
    assert found == below + layer + head
    svg = etree.fromstring(architecture_svg(replace(PAPER, family="encoder"), shared_vocab=True, classes=False))
    masked = [text for element in svg.iter("{*}text") if "=" not in (text := element.text) and text != "+"]
    head = ["Linear, GELU", "of the hidden tokens", "Norm", "Linear", "matrix Eᵀ", "Softmax", "Output Probabilities"]
    assert masked == below + layer + head
