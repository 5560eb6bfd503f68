"""A trained model prepared for translation: the same function, with prepacked weights, layer by layer of figure 1."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.native.layers import DecoderInOneCall, IndexedAttention, NormOfSum
from mt.fast.native.tiled_linear import COLUMNS, ComputeType, TiledLinear
from mt.model.decoder_only import AnyTransformer
from mt.model.embedding import TokenEmbedding
from mt.model.feed_forward import FeedForward
from mt.model.inspection import unknown_part
from mt.model.positions import SinusoidalPositions
from mt.model.residual import PostNorm
from mt.model.stacks import DecoderLayer, EncoderLayer
from mt.model.transformer import Transformer

WIDTH = 16  # what is attended to is a multiple: kernels take as long for 24 as for 32, and few different shapes occur


def attend(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch heads memory d_k"],
    value: Float[Tensor, "batch heads memory d_k"],
    mask: Float[Tensor, "batch 1 #query memory"] | None,
) -> Float[Tensor, "batch query d_model"]:
    """Equation (1) in every head, side by side; `mask` is 0 where it may be attended, else minus infinity."""
    heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return heads.transpose(1, 2).flatten(2)


class Prepacking:
    """How a model's layers are prepared: in which precision, and with which products (see `PrepackedLinear`)."""

    def __init__(self, precision: torch.dtype, compute_type: ComputeType | None) -> None:
        self.precision, self.compute_type = precision, compute_type

    def __call__(self, *linears: nn.Linear, rows: slice = slice(None)) -> PrepackedLinear:
        """A linear layer, or several as one, or these rows of their matrices."""
        weight, bias = (
            torch.cat([each.detach()[rows] for each in parameters])
            for parameters in zip(*((linear.weight, linear.bias) for linear in linears), strict=True)
        )
        return PrepackedLinear(weight, bias, precision=self.precision, compute_type=self.compute_type)


class PreparedNorm:
    """LayerNorm of a residual sum: by a kernel with fp32 gains, else by torch with gains in the model's precision."""

    def __init__(self, residual: nn.Module, prepack: Prepacking) -> None:
        assert isinstance(residual, PostNorm)
        norm = residual.norm
        assert isinstance(norm, nn.LayerNorm)
        self.shape, self.epsilon = norm.normalized_shape, norm.eps
        weight, bias = norm.weight.detach().clone(), norm.bias.detach().clone()
        self.of_sum = NormOfSum.of(weight, bias, self.epsilon, rows=prepack.precision)
        self.weight, self.bias = weight.to(prepack.precision), bias.to(prepack.precision)  # CUDA takes no other type

    def __call__(
        self, residual: Float[Tensor, "batch length d_model"], y: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(residual + y), which may overwrite `y`."""
        if self.of_sum is not None:
            return self.of_sum(residual, y)
        return functional.layer_norm(y.add_(residual), self.shape, self.weight, self.bias, self.epsilon)


class PreparedFeedForward:
    """Equation (2) with its residual sum and norm."""

    def __init__(self, feed_forward: nn.Module, residual: nn.Module, prepack: Prepacking) -> None:
        assert isinstance(feed_forward, FeedForward)
        self.inner, self.outer = prepack(feed_forward.inner), prepack(feed_forward.outer)
        self.norm = PreparedNorm(residual, prepack)
        self.activation = feed_forward.activation

    def __call__(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(x + FFN(x))."""
        return self.norm(x, self.outer(self.inner.activated(x, self.activation)))


class PreparedEncoderLayer:
    """One encoder layer."""

    def __init__(self, layer: EncoderLayer, prepack: Prepacking) -> None:
        self.num_heads = layer.self_attention.num_heads
        self.projection = prepack(layer.self_attention.projection)
        self.output = prepack(layer.self_attention.output)
        self.norm = PreparedNorm(layer.self_attention_residual, prepack)
        self.feed_forward = PreparedFeedForward(layer.feed_forward, layer.feed_forward_residual, prepack)

    def __call__(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Float[Tensor, "batch 1 1 source"] | None,
        lengths: Int[Tensor, " batch"],
        indexed_attention: IndexedAttention | None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Self-attention and feed-forward; the kernel takes `lengths` for the mask."""
        projected = self.projection(x)
        query, key, value = projected.unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if indexed_attention is not None:
            attended = indexed_attention(projected, key, value, lengths)
        else:
            attended = attend(query, key, value, mask)
        return self.feed_forward(self.norm(x, self.output(attended)))


class PreparedDecoderLayer:
    """One decoder layer, cut where the keys and values of the target and of the source come from a cache."""

    def __init__(self, layer: DecoderLayer, prepack: Prepacking) -> None:
        attention = layer.cross_attention
        self.projection = prepack(layer.self_attention.projection)
        self.output = prepack(layer.self_attention.output)
        self.norm = PreparedNorm(layer.self_attention_residual, prepack)
        self.cross_query = prepack(attention.projection, rows=slice(attention.d_model))
        self.cross_output = prepack(attention.output)
        self.cross_norm = PreparedNorm(layer.cross_attention_residual, prepack)
        self.feed_forward = PreparedFeedForward(layer.feed_forward, layer.feed_forward_residual, prepack)

    def kernels(self) -> list[TiledLinear | NormOfSum]:
        """Those of the layer's parts, from which it is computed in one call; none if one is missing, or for swish."""
        last = self.feed_forward
        linears = (self.projection, self.output, self.cross_query, self.cross_output, last.inner, last.outer)
        norms = (self.norm, self.cross_norm, last.norm)
        parts = (*(linear.tiles for linear in linears), *(norm.of_sum for norm in norms))
        found = [part for part in parts if part is not None]
        return found if len(found) == len(parts) and last.activation == "relu" else []


class PreparedModel:
    """The weights of a trained model in `precision`; later training of that model does not change them.

    In bf16 every sum of a product, a norm or a softmax is formed in fp32 and rounded once. Logits are not rounded:
    eight bits would make many of them equal, and reorder others. Without `TiledLinear` their weights are fp32.

    `compute_type` is that of `TiledLinear`, where it is available; None keeps the precision. Raises ValueError with the
    `unknown_part`.
    """

    @torch.no_grad()
    def __init__(
        self, model: AnyTransformer, *, precision: torch.dtype, compute_type: ComputeType | None = None
    ) -> None:
        if part := unknown_part(model):
            raise ValueError(f"the fast engine does not support this model: {part}")
        assert isinstance(model, Transformer)
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
        self.vocab_size = len(self.target_embedding)
        self.output = _output(model.target_embedding, self.target_embedding, compute_type)
        self.positions = SinusoidalPositions(d_model=self.d_model).to(self.target_embedding)
        self.positions.reserve(1)  # here, so that the first sentence does not wait for a GPU's copy
        d_k = self.d_model // self.num_heads
        self.indexed_attention = IndexedAttention.of(
            num_heads=self.num_heads, d_k=d_k, precision=precision, device=self.device
        )
        kernels = [layer.kernels() for layer in self.decoder]
        self.decoder_in_one_call = None
        if self.indexed_attention is not None and all(kernels):
            self.decoder_in_one_call = DecoderInOneCall(kernels, self.indexed_attention)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.target_embedding.device

    def encode(self, source: Int[Tensor, "sentences source"]) -> Float[Tensor, "layers 2 sentences heads width d_k"]:
        """The left side of figure 1, to the keys and values of each decoder layer over it.

        Where no kernel attends to the tokens of a sentence and to no others, sentences are padded to a multiple of
        `WIDTH`: libraries add in another order for other widths, and a sentence's company would decide its last digit.
        """
        mask = None
        if self.indexed_attention is None:
            source = functional.pad(source, (0, -source.shape[1] % WIDTH), value=self.pad)
            mask = torch.zeros_like(source, dtype=self.precision).masked_fill_(source == self.pad, -math.inf)
            mask = mask[:, None, None]
        positions = self.positions.encodings(source.shape[1])[: source.shape[1]]
        x = self.embed(self.source_embedding, source, positions)
        lengths = (source != self.pad).sum(dim=1).to(torch.int32)
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

    def logits(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows vocabulary"]:
        """The pre-softmax linear transformation."""
        logits = self.output(x)
        return logits[..., : self.vocab_size] if logits.shape[-1] > self.vocab_size else logits


def _output(
    embedding: TokenEmbedding, copied: Float[Tensor, "vocabulary d_model"], compute_type: ComputeType | None
) -> PrepackedLinear:
    """The layer that makes logits, fp32 ones of a bf16 model; `copied` is its matrix in the model's type.

    On a CPU rows of zeros fill it up to whole tiles, which any size of the vocabulary can then use.
    """
    precision = copied.dtype
    weight = embedding.weight.detach().float() if precision == torch.bfloat16 else copied
    filling = -len(weight) % COLUMNS if weight.is_cpu else 0
    bias = None
    if embedding.bias is not None:
        bias = functional.pad(embedding.bias.detach().to(weight.dtype), (0, filling))
    weight = functional.pad(weight, (0, 0, 0, filling))
    return PrepackedLinear(weight, bias, precision=precision, compute_type=compute_type, out=weight.dtype)
