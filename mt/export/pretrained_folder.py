"""Reading a GPT-2 or BERT folder of Hugging Face's layout as far as this project can represent it.

A layout is what is asked of config.json, and the names of the parameters there. The tokenizer is the one that
transformers makes of the folder, with other ids: the special tokens first, as everywhere in this project.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import torch
from torch import Tensor

from mt.config.loading import checked
from mt.config.marks import Bounds
from mt.config.schema import Fraction, Layers, Model, Size
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN
from mt.errors import BadFileError, UserError
from mt.export.reading import (
    CONFIG_FILE,
    LARGEST_VOCABULARY_BYTES,
    WEIGHTS,
    Required,
    check_required,
    held_tensors,
    read_fp32,
    taken,
)
from mt.model.architecture import Architecture
from mt.runs.atomic import read_file, read_json

_NEVER = -1e4  # the output bias of an id that the folder does not have: GPT-2's own logits may be below -100
_EMBEDDING, _BIAS = "target_embedding.weight", "target_embedding.bias"
_TOKENIZER_FILES = (
    *("vocab.json", "merges.txt", "vocab.txt", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json"),
)
_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}
# The options of every imported model; the import's command line cannot change them.
_COMMON: dict[str, Any] = {
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers", "d_k", "d_v")),
    "positions": "learned",
    "norm_kind": "layer",
    "score": "scaled_dot",
    "tied_embeddings": "all",
    "output_bias": True,
    "scale_embedding": False,
}


@dataclass(frozen=True, kw_only=True)
class _Gpt2Config:
    """What is taken from the config.json of GPT-2."""

    vocab_size: Size
    n_positions: Annotated[int, Bounds(2, 1 << 16)]
    n_embd: Annotated[int, Bounds(1, 100_000)]
    n_layer: Layers
    n_head: Size
    n_inner: Size | None
    activation_function: str
    resid_pdrop: Fraction
    layer_norm_epsilon: Annotated[float, Bounds(1e-30, 1)]


@dataclass(frozen=True, kw_only=True)
class _BertConfig:
    """What is taken from the config.json of BERT."""

    vocab_size: Size
    max_position_embeddings: Annotated[int, Bounds(4, 1 << 16)]
    hidden_size: Annotated[int, Bounds(1, 100_000)]
    num_hidden_layers: Layers
    num_attention_heads: Size
    intermediate_size: Size
    hidden_dropout_prob: Fraction
    hidden_act: str
    layer_norm_eps: Annotated[float, Bounds(1e-30, 1)]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A kind of folder: classes of transformers, what config.json must say, and our names with theirs.

    `options` are the keys of config.json for our options of `model`, `fixed` the options that all such folders have.
    Several parameters of theirs are blocks of rows of ours. Weights of the modules in `transposed` have their axes
    exchanged.
    """

    model_class: str
    tokenizer_class: str
    vocabulary: str  # or tokenizer.json
    config: Any
    options: Mapping[str, str]
    fixed: Mapping[str, str]
    absent: Mapping[str, Any]
    required: Required
    prefix: str  # some writers leave it out
    modules: Mapping[str, Sequence[str]]  # or parameters
    layers: tuple[str, str]
    layer_modules: Mapping[str, Sequence[str]]
    transposed: Collection[str]
    ignored: tuple[str, ...]  # buffers, and what is tied, by the end of their name
    special: Mapping[int, str]  # the attribute of the tokenizer for each of our special ids

    def is_transposed(self, name: str) -> bool:
        """Whether a tensor has its axes the other way."""
        *_, module, end = name.split(".")
        return module in self.transposed and end == "weight"


LAYOUTS = {
    "gpt2": Layout(
        model_class="GPT2LMHeadModel",
        tokenizer_class="GPT2Tokenizer",
        vocabulary="vocab.json",
        config=_Gpt2Config,
        options={
            "num_layers": "n_layer",
            "d_model": "n_embd",
            "d_ff": "n_inner",
            "num_heads": "n_head",
            "dropout": "resid_pdrop",
            "max_positions": "n_positions",
            "norm_epsilon": "layer_norm_epsilon",
            "activation": "activation_function",
        },
        fixed={"family": "decoder", "norm": "pre"},
        absent={"activation_function": "gelu_new", "resid_pdrop": 0.1, "layer_norm_epsilon": 1e-5, "n_inner": None},
        required=(
            ("add_cross_attention", False, False, "the architecture: no encoder to attend to"),
            ("scale_attn_weights", True, True, "model.score"),
            ("scale_attn_by_inverse_layer_idx", False, False, "model.score"),
            ("tie_word_embeddings", True, True, "model.tied_embeddings"),
            ("quantization_config", None, None, "the type of the parameters"),
        ),
        prefix="transformer.",
        modules={_EMBEDDING: ["wte.weight"], "positions.weight": ["wpe.weight"], "decoder.norm": ["ln_f"]},
        layers=("decoder.layers", "h"),
        layer_modules={
            "self_attention_residual.norm": ["ln_1"],
            "self_attention.projection": ["attn.c_attn"],
            "self_attention.output": ["attn.c_proj"],
            "feed_forward_residual.norm": ["ln_2"],
            "feed_forward.inner": ["mlp.c_fc"],
            "feed_forward.outer": ["mlp.c_proj"],
        },
        transposed=("c_attn", "c_proj", "c_fc"),
        ignored=(".attn.bias", ".attn.masked_bias", "lm_head.weight"),
        special={PAD: "pad_token_id", UNKNOWN: "unk_token_id", BOS: "bos_token_id", EOS: "eos_token_id"},
    ),
    "bert": Layout(
        model_class="BertForMaskedLM",
        tokenizer_class="BertTokenizer",
        vocabulary="vocab.txt",
        config=_BertConfig,
        options={
            "num_layers": "num_hidden_layers",
            "d_model": "hidden_size",
            "d_ff": "intermediate_size",
            "num_heads": "num_attention_heads",
            "dropout": "hidden_dropout_prob",
            "max_positions": "max_position_embeddings",
            "norm_epsilon": "layer_norm_eps",
            "activation": "hidden_act",
        },
        fixed={"family": "encoder", "norm": "post"},
        absent={"hidden_dropout_prob": 0.1, "hidden_act": "gelu", "layer_norm_eps": 1e-12},
        required=(
            ("is_decoder", False, False, "the architecture: an encoder"),
            ("add_cross_attention", False, False, "the architecture: no other text to attend to"),
            ("position_embedding_type", "absolute", "absolute", "model.positions"),
            ("type_vocab_size", 2, 2, "the segments: one text or two"),
            ("hidden_act", "gelu", "gelu", "model.activation"),
            ("tie_word_embeddings", True, True, "model.tied_embeddings"),
            ("quantization_config", None, None, "the type of the parameters"),
        ),
        prefix="bert.",
        modules={
            _EMBEDDING: ["embeddings.word_embeddings.weight"],
            _BIAS: ["cls.predictions.bias"],
            "positions.weight": ["embeddings.position_embeddings.weight"],
            "segment_embedding.weight": ["embeddings.token_type_embeddings.weight"],
            "norm": ["embeddings.LayerNorm"],
            "head.0": ["cls.predictions.transform.dense"],
            "head.2": ["cls.predictions.transform.LayerNorm"],
        },
        layers=("encoder.layers", "encoder.layer"),
        layer_modules={
            "self_attention.projection": ["attention.self.query", "attention.self.key", "attention.self.value"],
            "self_attention.output": ["attention.output.dense"],
            "self_attention_residual.norm": ["attention.output.LayerNorm"],
            "feed_forward.inner": ["intermediate.dense"],
            "feed_forward.outer": ["output.dense"],
            "feed_forward_residual.norm": ["output.LayerNorm"],
        },
        transposed=(),
        ignored=(
            *("cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "embeddings.position_ids"),
            *("pooler.dense.weight", "pooler.dense.bias"),  # of the sentence pairs that BERT was also trained on
            *("cls.seq_relationship.weight", "cls.seq_relationship.bias"),
        ),
        special={PAD: "pad_token_id", UNKNOWN: "unk_token_id", BOS: "cls_token_id", EOS: "sep_token_id"},
    ),
}


@dataclass(frozen=True)
class PretrainedFolder:
    """What a folder holds: the options of its model, its parameters under our names, and its number of tokens."""

    model_options: dict[str, Any]
    vocab_size: int
    tensors: dict[str, Tensor]

    def parameters(self, numbering: "Numbering") -> dict[str, Tensor]:
        """The parameters with the rows of our ids, those that the folder does not have being zero and never chosen."""
        found = dict(self.tensors)
        rows = torch.tensor([-1 if row is None else row for row in numbering.rows])
        found[_EMBEDDING] = found[_EMBEDDING][rows].masked_fill((rows < 0)[:, None], 0.0)
        found[_BIAS] = found.get(_BIAS, torch.zeros(self.vocab_size))[rows]
        found[_BIAS][sorted(numbering.never)] = _NEVER
        return found


@dataclass(frozen=True)
class Numbering:
    """For each of our ids the folder's, and the ids that no text and no output has; two may have one row."""

    rows: list[int | None]
    never: frozenset[int]


def read_pretrained_folder(folder: Path, layout: Layout) -> PretrainedFolder:
    """Read the folder. Raises UserError naming the option for what cannot be represented, BadFileError."""
    path = folder / CONFIG_FILE
    values = read_json(path)
    check_required(values, layout.required, path)
    config = taken(layout.config, values, layout.absent, path)
    options = {**_COMMON, **layout.fixed, **{ours: getattr(config, key) for ours, key in layout.options.items()}}
    options["d_ff"] = options["d_ff"] or 4 * options["d_model"]
    if options["activation"] not in _ACTIVATIONS:
        raise UserError(
            f"{path}: {layout.options['activation']}={options['activation'][:40]!r} cannot be imported, only "
            f"{', '.join(_ACTIVATIONS)} (model.activation)"
        )
    options["activation"] = _ACTIVATIONS[options["activation"]]
    _check_ids(folder, layout.vocabulary, config.vocab_size)
    held = held_tensors(folder, layout.model_class)
    if len(held) < options["num_layers"]:
        raise BadFileError(
            f"{folder / WEIGHTS}: has fewer tensors than config.json has layers: {options['num_layers']}"
        )
    try:
        model = checked(Model, {**options, "initialisation": "fan_in", "max_relative_positions": 1})
    except UserError as error:
        raise BadFileError(f"{path}: {error}; this cannot be imported") from error
    with torch.device("meta"):
        empty = Architecture(**asdict(model), vocab_size=config.vocab_size, pad=PAD).transformer()
    tensors = _tensors(folder, layout, held, empty, options["num_layers"])
    return PretrainedFolder(options, config.vocab_size, tensors)


def _check_ids(folder: Path, vocabulary: str, vocab_size: int) -> None:
    """Raise BadFileError where a vocabulary has ids beyond the embedding; the library would count up to them."""
    files = [folder / name for name in (vocabulary, "tokenizer.json") if (folder / name).exists()]
    if not files:
        raise BadFileError(f"{folder / vocabulary}: missing, and so is tokenizer.json; fetch it again")
    for path in files:
        if path.suffix == ".txt":  # a token is a line
            lines = read_file(path, LARGEST_VOCABULARY_BYTES).removesuffix(b"\n").count(b"\n") + 1
            ids: Iterable[object] = range(lines)
        else:
            values = read_json(path, LARGEST_VOCABULARY_BYTES)
            model = values.get("model") if path.name == "tokenizer.json" else {"vocab": values}
            table = model.get("vocab") if isinstance(model, dict) else None
            ids = table.values() if isinstance(table, dict) else [None]
        if any(type(each) is not int or not 0 <= each < vocab_size for each in ids):
            raise BadFileError(f"{path}: its tokens do not have ids below vocab_size={vocab_size} of {CONFIG_FILE}")


def numbered(tokenizer: Any, layout: Layout, vocab_size: int) -> tuple[bytes, Numbering]:
    """The tokenizer of transformers as a `tokenizer.json` with our ids, and these. Raises UserError, BadFileError."""
    described = json.loads(tokenizer.backend_tokenizer.to_str())
    ids: dict[str, int] = described["model"]["vocab"]
    added = described["added_tokens"]
    names = {number: token for token, number in ids.items()} | {each["id"]: each["content"] for each in added}
    if len({*ids, *(each["content"] for each in added)}) != len(names) or max(names, default=0) >= vocab_size:
        raise BadFileError(f"the ids of its tokenizer are not different ones below vocab_size={vocab_size}")
    special = {ours: getattr(tokenizer, name) for ours, name in layout.special.items()}
    for ours in (UNKNOWN, PAD):  # one id may be all of them; then text never has these
        if special[ours] in [special[other] for other in (BOS, EOS, UNKNOWN) if other != ours]:
            special[ours] = None
    if None in (special[BOS], special[EOS]):
        raise UserError(f"its tokenizer has no {layout.special[BOS]} or no {layout.special[EOS]} to begin or end with")
    outside = [each["id"] for each in added if each["content"] not in ids]  # numbered behind the others, in order
    others = [number for number in range(vocab_size) if number not in special.values()]
    rows = [special[ours] for ours in range(len(special))]
    rows += sorted(others, key=lambda number: (number in outside, number))
    never = {ours for ours in range(len(special)) if rows[ours] is None or (ours == BOS and rows[BOS] == rows[EOS])}
    unnamed = {ours for ours, row in enumerate(rows) if ours in never or row not in names}
    written = [f"(unused {ours})" if ours in unnamed else names[rows[ours]] for ours in range(len(rows))]
    ours_of = {token: ours for ours, token in enumerate(written)}
    described["model"]["vocab"] = {
        token: ours for token, ours in ours_of.items() if ours < len(special) or rows[ours] not in outside
    }
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokens = [{**each, "id": ours_of[each["content"]]} for each in added]
    tokens += [{"id": ours, "content": written[ours], **plain} for ours in sorted(unnamed)]
    described["added_tokens"] = sorted(tokens, key=lambda each: each["id"])
    described |= dict.fromkeys(("post_processor", "padding", "truncation"))
    return json.dumps(described, ensure_ascii=False).encode("utf-8"), Numbering(rows, frozenset(never))


@contextmanager
def only_what_is_read(folder: Path) -> Iterator[Path]:
    """A folder with only the files that an import knows, for transformers, which would read others too.

    Raises BadFileError for a file that is too large or not a file.
    """
    with TemporaryDirectory(prefix="mt-import-") as name:
        copy = Path(name)
        for file in (CONFIG_FILE, *_TOKENIZER_FILES):
            if (folder / file).exists() or (folder / file).is_symlink():
                (copy / file).write_bytes(read_file(folder / file, LARGEST_VOCABULARY_BYTES))
        (copy / WEIGHTS).symlink_to((folder / WEIGHTS).resolve())
        yield copy


def _parameters(layout: Layout, model: torch.nn.Module, num_layers: int) -> Iterator[tuple[str, list[str], Tensor]]:
    """Each parameter of ours, the names of theirs of which it is made, and the shape of ours."""
    own = dict(model.named_parameters())
    modules = dict(layout.modules)
    for layer in range(num_layers):
        for name, theirs in layout.layer_modules.items():
            modules[f"{layout.layers[0]}.{layer}.{name}"] = [f"{layout.layers[1]}.{layer}.{each}" for each in theirs]
    for name, theirs in modules.items():
        for end in [""] if name in own else [".weight", ".bias"]:
            yield name + end, [each + end for each in theirs], own[name + end]


def _tensors(
    folder: Path, layout: Layout, held: Mapping[str, Tensor], empty: torch.nn.Module, num_layers: int
) -> dict[str, Tensor]:
    """The parameters under our names, the embedding's rows being in the folder's order."""
    in_file = {  # gamma and beta in what was converted from TensorFlow
        name.removeprefix(layout.prefix).replace(".gamma", ".weight").replace(".beta", ".bias"): name for name in held
    }
    known: dict[str, list[int]] = {}
    sources: dict[str, list[str]] = {}
    for ours, theirs, parameter in _parameters(layout, empty, num_layers):
        rows, *columns = parameter.shape
        shape = [rows // len(theirs), *columns]
        sources[ours] = [in_file.get(name, name) for name in theirs]
        known |= dict.fromkeys(sources[ours], shape[::-1] if layout.is_transposed(theirs[0]) else shape)
    ignored = {name for name in held if name.endswith(layout.ignored)}
    tensors = read_fp32(folder / WEIGHTS, held, known=known, ignored=ignored)
    return {
        ours: torch.cat([tensors[name].T if layout.is_transposed(name) else tensors[name] for name in names])
        for ours, names in sources.items()
    }
