"""A trained model prepared for translating: the same function, with the weights as the machine wants them."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.engine.prepared_layers import FEW, PreparedDecoderLayer, PreparedEncoderLayer, cross_projection
from mt.fast.native.all_layers import DecoderInOneCall, EncoderInOneCall
from mt.fast.native.indexed_attention import CellAttention
from mt.fast.native.tiled_linear import Products
from mt.model.architecture import unknown_part
from mt.model.embedding import TokenEmbedding
from mt.model.positions import SinusoidalPositions, positional_encoding
from mt.model.transformer import Transformer
from mt.runtime import DecodingPrecision

# The type of the weights, and how `TiledLinear` forms products where that does not follow from it.
_ARITHMETIC: dict[DecodingPrecision, tuple[torch.dtype, Products | None]] = {
    "fp64": (torch.float64, None),
    "fp32": (torch.float32, None),
    "bf16": (torch.bfloat16, None),
    "int8": (torch.bfloat16, "int8"),
}


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to in each sentence: keys and values for each of its layers.

    `mask` is what attention adds to its scores: 0 where it may be attended, minus infinity elsewhere.
    """

    keys_values: Float[Tensor, "layers 2 sentences heads source d_k"]
    mask: Float[Tensor, "sentences 1 1 source"]


def unsupported(model: Transformer) -> str | None:
    """What of a model this engine does not compute, by name; None where it computes all of it."""
    return unknown_part(model)


class PreparedModel:
    """The weights of a trained model in `precision`; later training of that model does not reach them.

    In bf16 every sum of a product, a norm or a softmax is formed in fp32 and rounded once, those of the logits not at
    all: eight bits would make equals of many, and another order of more. Where `TiledLinear` cannot be had they take
    fp32 weights, from which oneDNN forms products of bf16 factors inside `mt.runtime.bf16_factors`; outside it computes
    them in fp32. int8 is bf16 with products of int8 limbs, where `TiledLinear` can be had.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, *, precision: DecodingPrecision) -> None:
        if (reason := unsupported(model)) is not None:
            raise ValueError(f"the fast engine does not support this model: {reason}")
        assert isinstance(model.positions, SinusoidalPositions)
        dtype, products = _ARITHMETIC[precision]
        self.pad = model.pad
        encoder: list[Any] = list(model.encoder.layers)
        decoder: list[Any] = list(model.decoder.layers)
        self.precision = dtype
        self.num_heads = decoder[0].self_attention.num_heads
        self.d_model = model.target_embedding.weight.shape[1]
        self.target_embedding = model.target_embedding.weight.detach().to(dtype, copy=True)
        self.source_embedding = self.target_embedding
        if model.source_embedding is not model.target_embedding:
            self.source_embedding = model.source_embedding.weight.detach().to(dtype, copy=True)
        arithmetic: dict[str, Any] = {"precision": dtype, "products": products}
        self.encoder = [PreparedEncoderLayer(layer, **arithmetic) for layer in encoder]
        self.decoder = [PreparedDecoderLayer(layer, **arithmetic) for layer in decoder]
        self.cross = cross_projection(decoder, **arithmetic)
        self.output, self.scored = _output(model.target_embedding, self.target_embedding, products)
        self.table = model.positions.table.to(dtype)
        self.cell_attention = CellAttention.of(
            num_heads=self.num_heads,
            d_k=self.d_model // self.num_heads,
            precision=dtype,
            device=self.target_embedding.device,
        )
        self.encoder_in_one_call = self.decoder_in_one_call = None
        encoder_parts, decoder_parts = ([layer.parts() for layer in layers] for layers in (self.encoder, self.decoder))
        if self.cell_attention is not None and all(layer.complete for layer in (*encoder_parts, *decoder_parts)):
            heads = {"num_heads": self.num_heads, "d_k": self.d_model // self.num_heads}
            self.encoder_in_one_call = EncoderInOneCall(encoder_parts, **heads)
            self.decoder_in_one_call = DecoderInOneCall(decoder_parts, **heads)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.target_embedding.device

    def encode(self, source: Int[Tensor, "sentences source"]) -> Memory:
        """The left side of figure 1, and what each decoder layer asks of it."""
        mask = torch.zeros_like(source, dtype=self.precision).masked_fill_(source == self.pad, -math.inf)[:, None, None]
        positions = self.positions(source.shape[1])[: source.shape[1]]
        x = self.embed(self.source_embedding, source, positions)
        lengths = (source != self.pad).sum(dim=1).to(torch.int32)
        if self.encoder_in_one_call is not None and x.shape[1] <= FEW:
            self.encoder_in_one_call(x, lengths)
        else:
            for layer in self.encoder:
                x = layer(x, mask, lengths, self.cell_attention)
        heads = self.cross(x).unflatten(-1, (len(self.decoder), 2, self.num_heads, -1)).permute(2, 3, 0, 4, 1, 5)
        return Memory(keys_values=heads, mask=mask)

    def embed(
        self,
        embedding: Float[Tensor, "vocabulary d_model"],
        tokens: Int[Tensor, "batch length"],
        positions: Float[Tensor, "*batch_length d_model"],
    ) -> Float[Tensor, "batch length d_model"]:
        """Scaled embeddings plus encoded positions (sections 3.4, 3.5)."""
        return torch.add(positions, torch.embedding(embedding, tokens), alpha=math.sqrt(self.d_model))

    def logits(self, x: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows vocabulary"]:
        """Scores of every piece, by the embedding matrix once more (section 3.4)."""
        return self.output(x.to(self.scored))

    def positions(self, length: int) -> Float[Tensor, "longer d_model"]:
        """The position table, at least so long."""
        table = self.table  # other threads may enlarge it too
        if length > table.shape[0]:
            self.table = table = positional_encoding(2 * length, self.d_model).to(table)
        return table


def _output(
    embedding: TokenEmbedding, copied: Float[Tensor, "vocabulary d_model"], products: Products | None
) -> tuple[PrepackedLinear, torch.dtype]:
    """What makes logits, and the precision it takes: those of a bf16 model on a CPU are fp32, if quickly formed.

    `copied` is the embedding matrix in the model's precision.
    """
    bias = None if embedding.bias is None else embedding.bias.detach().clone()
    if copied.device.type != "cpu" or copied.dtype != torch.bfloat16:
        return PrepackedLinear(copied, None if bias is None else bias.to(copied.dtype), products=products), copied.dtype
    exact = embedding.weight.detach().float()
    output = PrepackedLinear(exact, bias, precision=copied.dtype, products=products, out=torch.float32)
    if output.library == "tiles" or not torch.backends.mkldnn.is_available():
        return output, copied.dtype
    return PrepackedLinear(exact, None if bias is None else bias.float(), library="onednn"), torch.float32
