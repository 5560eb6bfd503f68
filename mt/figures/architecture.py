"""Figure 1 of the paper as SVG, drawn from the options of any model."""

from dataclasses import dataclass, field
from html import escape

from mt.config.schema import Model

_HALF, _LINE, _GAP = 100, 15, 16  # half a box's width; the height of a line of text; between boxes
_COLOURS = {"embedding": "#fce0e1", "attention": "#ffe2bb", "norm": "#f2f4c1", "feed_forward": "#c2e8f7"}
_ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU by tanh",
    "swish": "Swish",
    "swiglu": "SwiGLU",
    "squared_relu": "ReLU²",
}
_SCORES = {"scaled_dot": [], "dot": ["score q · k"], "general": ["score q W k"], "additive": ["score v · tanh(q + k)"]}
_MATRICES = {"all": ("E", "E", "E"), "target": ("E₁", "E₂", "E₂"), "none": ("E₁", "E₂", "E₃")}
_PAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {width} {height}" width="{width}" \
height="{height}" role="img" aria-label="The architecture of the model" font-family="system-ui, sans-serif" \
font-size="13" text-anchor="middle"><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" \
markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#333"/></marker>
<rect y="{top}" width="{width}" height="{height}" fill="#fff"/>{content}
<text x="{middle}" y="44">d_model = {d_model:,}, dropout {dropout:g}{epsilon}</text></svg>
"""


def architecture_svg(model: Model, *, shared_vocab: bool, classes: bool = True) -> str:
    """Return the figure: the paper's for its options, other boxes and connections for others.

    Without a shared vocabulary the source has an embedding matrix of its own. An encoder alone gives probabilities of
    `classes`, or else of the tokens that are hidden from it.
    """
    tied = "target" if model.tied_embeddings == "all" and not shared_vocab else model.tied_embeddings
    source, target, output = _MATRICES[tied]
    masked, own, cross = _attention(model, "Masked "), _attention(model), _attention(model, of_positions=False)
    feed_forward = ("feed_forward", "Feed Forward", f"{_ACTIVATIONS[model.activation]}, d_ff = {model.d_ff:,}")
    decoder = _Column(model, x=545 if model.family == "encoder_decoder" else 235, side=1)
    num_layers = model.num_decoder_layers or model.num_layers
    if model.family == "decoder":
        decoder.embed("Source, then Target", "Embedding", source if source == target else f"{source} and {target}")
        decoder.stack(num_layers, [masked, feed_forward])
    elif model.family == "encoder":
        decoder.embed("One Text, or Two", "Embedding", f"{target}, and segments")
        decoder.box("norm", "Norm")
        decoder.stack(model.num_encoder_layers or model.num_layers, [own, feed_forward])
        if classes:
            decoder.box("linear", "Linear, tanh", "of the first position")
        else:
            decoder.box("linear", "Linear, GELU", "of the hidden tokens")
            decoder.box("norm", "Norm")
    else:
        encoder = _Column(model, x=235, side=-1, shapes=decoder.shapes)
        encoder.embed("Inputs", "Input Embedding", source)
        encoder.stack(model.num_encoder_layers or model.num_layers, [own, feed_forward])
        decoder.embed("Outputs (shifted right)", "Output Embedding", target)
        _, memory, _ = decoder.stack(num_layers, [masked, cross, feed_forward])
        decoder.line(f"M{encoder.x} {encoder.y}v-{_GAP}H{decoder.x - 158}V{memory}H{decoder.x - _HALF}")
        decoder.text(-152, memory - 5, "K, V")
    matrix = f"matrix {output}ᵀ{', bias' if model.output_bias else ''}"
    decoder.box("linear", "Linear", "to the classes" if model.family == "encoder" and classes else matrix)
    decoder.box("softmax", "Softmax")
    decoder.line(f"M{decoder.x} {decoder.y}v-{_GAP}")
    decoder.text(0, decoder.y - _GAP - 6, "Output Probabilities")
    width, top, content = decoder.x + 235, decoder.y - 50, "\n".join(decoder.shapes)
    size = {"width": width, "middle": width // 2, "top": top, "height": 60 - top}
    epsilon = "" if model.norm_epsilon == 1e-5 else f", ε = {model.norm_epsilon:g}"  # torch's default
    return _PAGE.format(content=content, d_model=model.d_model, dropout=model.dropout, epsilon=epsilon, **size)


def _attention(model: Model, masked: str = "", *, of_positions: bool = True) -> tuple[str, ...]:
    """The kind and the lines of its box; a position scheme may act in self-attention."""
    shared, schemes = model.d_model // model.num_heads, {"rotary": "rotary positions", "alibi": "ALiBi"}
    schemes["relative"] = f"relative positions, ±{model.max_relative_positions:,}"
    widths = f"h = {model.num_heads}, d_k = {model.d_k or shared}, d_v = {model.d_v or shared}"
    scheme = [schemes[model.positions]] if of_positions and model.positions in schemes else []
    return "attention", f"{masked}Multi-Head Attention", widths, *_SCORES[model.score], *scheme


@dataclass
class _Column:
    """Boxes around a line upwards from the input, where y is 0; what leaves the line does so on a side, 1 or -1."""

    model: Model
    x: int
    side: int
    y: int = 0
    shapes: list[str] = field(default_factory=list)

    def line(self, path: str) -> None:
        self.shapes.append(f'<path d="{path}" fill="none" stroke="#333" marker-end="url(#arrow)"/>')

    def text(self, beside: int, y: int, text: str) -> None:
        """A text in the middle of the column, or away from it."""
        anchor = f' text-anchor="{"start" if self.side > 0 else "end"}"' if beside else ""
        self.shapes.append(f'<text x="{self.x + beside * self.side}" y="{y}"{anchor}>{escape(text)}</text>')

    def box(self, kind: str, *lines: str) -> int:
        """An arrow and a box on it; returns the height of its middle."""
        height = 8 + _LINE * len(lines)
        self.line(f"M{self.x} {self.y}v-{_GAP}")
        self.y -= _GAP + height
        area = f'x="{self.x - _HALF}" y="{self.y}" width="{2 * _HALF}" height="{height}"'
        self.shapes.append(f'<rect {area} rx="5" fill="{_COLOURS.get(kind, "#dcdfef")}" stroke="#333"/>')
        for number, line in enumerate(lines, start=1):
            self.text(0, self.y + _LINE * number, line)
        return self.y + height // 2

    def embed(self, tokens: str, name: str, matrices: str) -> None:
        """Tokens, their embeddings, and positions where those are added to them."""
        self.text(0, 16, tokens)
        self.box("embedding", name, f"matrix {matrices}{'' if self.model.scale_embedding else ', not scaled'}")
        added = {"sinusoidal": "Positional Encoding", "learned": f"{self.model.max_positions:,} learned positions"}
        if self.model.positions in added:
            self.line(f"M{self.x} {self.y}v-{_GAP}")
            self.line(f"M{self.x + 60 * self.side} {self.y - _GAP - 10}h{-50 * self.side}")
            self.y -= _GAP + 20
            self.shapes.append(f'<circle cx="{self.x}" cy="{self.y + 10}" r="10" fill="#fff" stroke="#333"/>')
            self.text(0, self.y + 15, "+")
            self.text(64, self.y + 15, added[self.model.positions])

    def stack(self, num_layers: int, sublayers: list[tuple[str, ...]]) -> list[int]:
        """N layers, each sublayer with its residual connection; returns the heights of the sublayers' middles."""
        pre, norm = self.model.norm == "pre", "Norm" if self.model.norm_kind == "layer" else "RMSNorm"
        below, bottom, middles = len(self.shapes), self.y - 5, []
        for sublayer in sublayers:
            start = self.y - 10
            if pre:
                self.box("norm", norm)
            middles.append(self.box(*sublayer))
            end = self.box("norm", "Add" if pre else f"Add & {norm}")
            self.line(f"M{self.x} {start}h{116 * self.side}V{end}h{-16 * self.side}")
        area = f'x="{self.x - 124}" y="{self.y - 11}" width="248" height="{bottom - self.y + 11}"'
        self.shapes.insert(below, f'<rect {area} rx="12" fill="#f3f3f4" stroke="#999"/>')
        self.text(132, (bottom + self.y) // 2, f"{num_layers} ×")
        if pre:
            self.box("norm", norm)
        return middles
