"""From one attention head to the whole Transformer, step by step: .venv/bin/python docs/reading_guide.py

Each cell computes in a few plain lines what a part of mt/model computes, asserts that both are equal, and draws a panel
of reading_guide.png. Weights are random: only training makes a head look at what is useful.
"""

# %% A sentence of six words as vectors
import math
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.testing import assert_close

from mt.model.architecture import Architecture
from mt.model.attention import MultiHeadAttention, attention, attention_weights
from mt.model.feed_forward import FeedForward
from mt.model.masks import causal_mask, packed, padded
from mt.model.stacks import EncoderLayer

torch.manual_seed(1)
torch.set_num_threads(1)  # for matrices this small, the fastest
words = ["the", "teacher", "gives", "them", "a", "book"]
d_model, num_heads = 32, 4
x = torch.randn(len(words), d_model)
every_word = torch.ones(len(words), len(words), dtype=torch.bool)

figure = Figure(figsize=(12, 7.5), layout="constrained")
panels = iter(figure.subplots(2, 3).flat)


def draw(title: str, table: Tensor) -> None:
    """A heat map of how much each word (row) takes from each word (column)."""
    axes = next(panels)
    axes.imshow(table.detach().numpy(), cmap="Blues")
    axes.set_title(title, fontsize=10)
    labels = [words[i % len(words)] for i in range(len(table))]
    axes.set_yticks(range(len(table)), labels)
    axes.set_xticks(range(len(table)), labels, rotation=90)


# %% 1. One head, equation (1): a query scores all keys; the softmax of the scores weighs the values


def head(queries: Tensor, keys: Tensor, values: Tensor, may_attend: Tensor) -> Tensor:
    """Ten lines that are mt.model.attention.attention, for one sentence and one head."""
    gathered = []
    for query, allowed in zip(queries, may_attend, strict=True):
        total, weighted = 0.0, torch.zeros(values.shape[1])
        for key, value in zip(keys[allowed], values[allowed], strict=True):
            weight = math.exp(query @ key / math.sqrt(len(key)))
            total, weighted = total + weight, weighted + weight * value
        gathered.append(weighted / total)
    return torch.stack(gathered)


query, key, value = torch.randn(3, 1, 1, len(words), d_model // num_heads)  # one sentence, one head
ours = head(query[0, 0], key[0, 0], value[0, 0], every_word)
assert_close(ours, attention(query, key, value, None)[0, 0])
draw("1. one head: weights of equation (1)", attention_weights(query, key, None)[0, 0])

# %% 2. Attention is a graph: words are nodes, the mask is its adjacency matrix, each edge carries a weight
decoder = torch.tensor([[j <= i for j in range(len(words))] for i in range(len(words))])  # an edge to each earlier word
assert torch.equal(decoder, causal_mask(len(words)))
two_sentences = torch.tensor([[0, 0, 0, 1, 1, 1]])  # packed into one row: a graph of two components
apart = torch.block_diag(torch.ones(3, 3), torch.ones(3, 3)).bool()
assert torch.equal(packed(two_sentences, two_sentences).source_mask[0], apart)
# What a word may know after two layers is the square of the matrix. The decoder's has no new edges: no depth leaks.
assert torch.equal((decoder.float() @ decoder.float()) > 0, decoder)
window = decoder & ~decoder.tril(-2)  # each word and the one before: with every layer it sees one further back
assert not torch.equal((window.float() @ window.float()) > 0, window)
masked = attention_weights(query, key, decoder[None, None])[0, 0]
axes = next(panels)
axes.set_title("2. the decoder's mask as a graph", fontsize=10)
for i, j in decoder.nonzero().tolist():
    bend = f"arc3,rad={0.5 if i != j else 0}"
    arrow = {"arrowstyle": "->", "connectionstyle": bend, "alpha": 0.15 + 0.85 * float(masked[i, j]), "color": "C0"}
    axes.annotate("", xy=(j, 0), xytext=(i, 0), arrowprops=arrow)
for i, word in enumerate(words):
    axes.text(i, -0.25, word, ha="center", rotation=90, va="top")
axes.set(xlim=(-0.5, len(words) - 0.5), ylim=(-1.2, 2.0))
axes.axis("off")

# %% 3. Multi-head attention, section 3.2.2: the same head several times on narrow projections, side by side, then W^O


def multi_head(x: Tensor, memory: Tensor, part: MultiHeadAttention, may_attend: Tensor) -> Tensor:
    """Concat(head_1, …, head_h) W^O."""
    weights, biases = part.projection.weight.chunk(3), part.projection.bias.chunk(3)
    projected = [side @ w.T + b for side, w, b in zip((x, memory, memory), weights, biases, strict=True)]
    of_heads = zip(*(each.chunk(part.num_heads, dim=1) for each in projected), strict=True)
    return torch.cat([head(*each, may_attend) for each in of_heads], dim=1) @ part.output.weight.T + part.output.bias


model = Architecture(
    vocab_size=len(words), pad=-1, num_layers=2, d_model=d_model, d_ff=64, num_heads=num_heads, dropout=0.0
).transformer()
model.requires_grad_(False)
layer: EncoderLayer = model.encoder.layers[0]
ids = torch.arange(len(words))[None]
theirs = layer.self_attention(x[None], x[None], every_word[None], ids, ids)[0]
assert_close(multi_head(x, x, layer.self_attention, every_word), theirs, atol=1e-4, rtol=1e-4)
rows = layer.self_attention.projection(x).chunk(3, dim=1)[:2]
queries, keys = (side.unflatten(1, (num_heads, -1)).transpose(0, 1)[None] for side in rows)
upper_left, upper_right, lower_left, lower_right = attention_weights(queries, keys, None)[0]
four = torch.cat([torch.cat([upper_left, upper_right], 1), torch.cat([lower_left, lower_right], 1)])
draw("3. four heads of one layer", four)


# %% 4. A block, sections 3.1 and 3.3: attention mixes words, feed-forward works within each; both are added to x


def feed_forward(x: Tensor, part: FeedForward) -> Tensor:
    """Equation (2)."""
    return (x @ part.inner.weight.T + part.inner.bias).clamp(min=0) @ part.outer.weight.T + part.outer.bias


def block(x: Tensor, layer: EncoderLayer) -> Tensor:
    """The left half of figure 1."""
    x = layer.self_attention_residual.norm(x + multi_head(x, x, layer.self_attention, every_word))
    return layer.feed_forward_residual.norm(x + feed_forward(x, layer.feed_forward))


def influence(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """How much each output word changes with each input word: the size of the derivative."""
    return torch.autograd.functional.jacobian(function, x).norm(dim=(1, 3))


layout = padded(ids, ids, pad=-1)
assert_close(block(x, layer), layer(x[None], ids, every_word[None])[0], atol=1e-4, rtol=1e-4)
draw("4. a block: each word stays mostly itself", influence(lambda x: layer(x[None], ids, every_word[None])[0], x))

# %% 5. The whole, figure 1: an encoder that sees everything, a decoder that sees the encoder's result and its own past


def embedded(words: Tensor) -> Tensor:
    """Sections 3.4 and 3.5: rows of one matrix, times √d_model, plus sines and cosines of the position."""
    angles = [[pos / 10000 ** (i // 2 * 2 / d_model) for i in range(d_model)] for pos in range(len(words))]
    table = [[math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(row)] for row in angles]
    return model.target_embedding.weight[words] * math.sqrt(d_model) + torch.tensor(table)


def transformer(source: Tensor, target: Tensor) -> Tensor:
    """The logits of the word after each target word."""
    memory, y = embedded(source), embedded(target)
    for layer in model.encoder.layers:
        memory = block(memory, layer)
    for layer in model.decoder.layers:
        y = layer.self_attention_residual.norm(y + multi_head(y, y, layer.self_attention, decoder))
        y = layer.cross_attention_residual.norm(y + multi_head(y, memory, layer.cross_attention, every_word))
        y = layer.feed_forward_residual.norm(y + feed_forward(y, layer.feed_forward))
    return y @ model.target_embedding.weight.T


source, target = ids[0], ids[0].flip(0)
assert_close(transformer(source, target), model(source[None], target[None])[0], atol=1e-4, rtol=1e-4)
of_encoder = influence(lambda x: model.encoder(x[None], ids, every_word[None])[0], x)
memory = model.encode(source[None], layout)
of_decoder = influence(lambda y: model.decoder(y[None], memory, layout)[0], x)
assert torch.equal(of_decoder > 0, decoder)  # after any number of layers: the graph of step 2
draw("5. two encoder layers: words mix", of_encoder)
draw("5. two decoder layers: none sees a later word", of_decoder)

# %% The picture
path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
figure.savefig(path, dpi=80)
print(f"every step equals its part of mt/model: {path}")
