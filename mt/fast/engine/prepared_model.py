"""A trained model prepared for translation: the same function, with prepacked weights."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.engine.prepared_layers import FEW, Prepacking, PreparedDecoderLayer, PreparedEncoderLayer
from mt.fast.native.layers import IndexedAttention, LayersInOneCall
from mt.fast.native.tiled_linear import ComputeType
from mt.model.architecture import unknown_part
from mt.model.embedding import TokenEmbedding
from mt.model.positions import SinusoidalPositions, positional_encoding
from mt.model.transformer import Transformer


class PreparedModel:
    """The weights of a trained model in `precision`; later training of that model does not change them.

    In bf16 every sum of a product, a norm or a softmax is formed in fp32 and rounded once. On a CPU logits are not
    rounded: eight bits would make many of them equal, and reorder others. Without `TiledLinear` their weights are fp32,
    and oneDNN rounds the factors to bf16 only inside `bf16_factors` and on processors with AMX.

    `compute_type` is that of `TiledLinear`, where it is available; None keeps the precision. Raises ValueError with the
    `unknown_part`.
    """

    @torch.no_grad()
    def __init__(self, model: Transformer, *, precision: torch.dtype, compute_type: ComputeType | None = None) -> None:
        if part := unknown_part(model):
            raise ValueError(f"the fast engine does not support this model: {part}")
        assert isinstance(model.positions, SinusoidalPositions)
        self.pad = model.pad
        self.precision = precision
        self.num_heads = model.decoder.layers[0].self_attention.num_heads
        self.d_model = model.target_embedding.weight.shape[1]
        self.target_embedding = model.target_embedding.weight.detach().to(precision, copy=True)
        self.source_embedding = self.target_embedding
        if model.source_embedding is not model.target_embedding:
            self.source_embedding = model.source_embedding.weight.detach().to(precision, copy=True)
        prepack = Prepacking(precision, compute_type)
        self.encoder = [PreparedEncoderLayer(layer, prepack) for layer in model.encoder.layers]
        self.decoder = [PreparedDecoderLayer(layer, prepack) for layer in model.decoder.layers]
        cross = (layer.cross_attention.projection for layer in model.decoder.layers)
        self.cross = prepack(*cross, rows=slice(self.d_model, None))  # keys and values of all layers as one product
        self.output = _output(model.target_embedding, self.target_embedding, compute_type)
        self.table = model.positions.table.to(precision)
        d_k = self.d_model // self.num_heads
        self.indexed_attention = IndexedAttention.of(
            num_heads=self.num_heads, d_k=d_k, precision=precision, device=self.device
        )
        encoder, decoder = ([layer.kernels() for layer in layers] for layers in (self.encoder, self.decoder))
        self.encoder_in_one_call = LayersInOneCall.of("encoder_layers", encoder, self.indexed_attention)
        self.decoder_in_one_call = LayersInOneCall.of("decoder_layers", decoder, self.indexed_attention)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.target_embedding.device

    def encode(self, source: Int[Tensor, "sentences source"]) -> Float[Tensor, "layers 2 sentences heads source d_k"]:
        """The left side of figure 1, to the keys and values of each decoder layer over it."""
        mask = torch.zeros_like(source, dtype=self.precision).masked_fill_(source == self.pad, -math.inf)[:, None, None]
        positions = self.positions(source.shape[1])[: source.shape[1]]
        x = self.embed(self.source_embedding, source, positions)
        lengths = (source != self.pad).sum(dim=1).to(torch.int32)
        if self.encoder_in_one_call is not None and x.shape[1] <= FEW:
            self.encoder_in_one_call(x, lengths.data_ptr())
        else:
            for layer in self.encoder:
                x = layer(x, mask, lengths, self.indexed_attention)
        return self.cross(x).unflatten(-1, (len(self.decoder), 2, self.num_heads, -1)).permute(2, 3, 0, 4, 1, 5)

    def embed(
        self,
        embedding: Float[Tensor, "vocabulary d_model"],
        tokens: Int[Tensor, "batch length"],
        positions: Float[Tensor, "*batch_length d_model"],
    ) -> Float[Tensor, "batch length d_model"]:
        """Scaled embeddings plus encoded positions (sections 3.4, 3.5)."""
        return torch.add(positions, torch.embedding(embedding, tokens), alpha=math.sqrt(self.d_model))

    def positions(self, length: int) -> Float[Tensor, "longer d_model"]:
        """The position table, of at least this length."""
        table = self.table  # other threads may replace it too
        if length > table.shape[0]:
            self.table = table = positional_encoding(2 * length, self.d_model).to(table)
        return table


def _output(
    embedding: TokenEmbedding, copied: Float[Tensor, "vocabulary d_model"], compute_type: ComputeType | None
) -> PrepackedLinear:
    """The layer that makes logits, fp32 ones of a bf16 model on a CPU; `copied` is its matrix in the model's type."""
    bias = None if embedding.bias is None else embedding.bias.detach().clone()
    if copied.device.type == "cpu" and copied.dtype == torch.bfloat16:
        exact = embedding.weight.detach().float()
        return PrepackedLinear(exact, bias, precision=copied.dtype, compute_type=compute_type, out=torch.float32)
    return PrepackedLinear(copied, None if bias is None else bias.to(copied.dtype), compute_type=compute_type)
