"""Every option of the program: its name, its type, its bounds and its unit; the values stand in `conf/`.

There are no defaults here, so that a value has one home. `mt.loading` turns a composed configuration
into these classes and refuses what does not fit. A key is named as the argument it becomes, and as the
field of `metrics.jsonl` where it is logged.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from mt.data_options import Data
from mt.option_types import (
    Auto,
    Bounds,
    Count,
    CountOrZero,
    Device,
    File,
    Fraction,
    Positive,
    Sentence,
    Size,
    Tokens,
)


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """SentencePiece BPE, trained on the training split only (section 5.1)."""

    vocabulary_size: Annotated[int, Bounds(8, 10_000_000)]  # pieces, special ones included
    joint: bool  # one vocabulary for both languages
    character_coverage: Annotated[
        float, Bounds(0.98, 1)
    ]  # 1.0 for small alphabets, 0.9995 for Chinese, Japanese, Korean
    byte_fallback: bool  # unknown characters become bytes, never <unk>
    bpe_dropout: Fraction  # 0 is off; training side only
    max_training_sentences: Count


# ---------------------------------------------------------------------------- model and training


@dataclass(frozen=True, kw_only=True)
class Model:
    """Section 3, with the symbols of table 3: N, d_model, d_ff, h, P_drop."""

    num_layers: Annotated[int, Bounds(1, 1000)]
    d_model: Annotated[int, Bounds(1, 100_000)]
    d_ff: Size
    num_heads: Size
    dropout: Fraction
    initialisation: Literal["glorot", "fan_in"]  # of the layers' matrices: Glorot-uniform, or uniform in ±1/√fan_in
    activation: Literal["relu", "swish"]  # in the feed-forward networks; relu is the paper's
    output_bias: bool  # one per piece, added to its logit; the paper has none


@dataclass(frozen=True, kw_only=True)
class Training:
    """Section 5. A step is one update of the optimizer."""

    max_steps: Count
    max_minutes: Positive | None  # stop by the clock, with the state saved
    batch_tokens: Tokens  # of source and of target in one step, each at most
    micro_batch_tokens: Tokens | Auto  # of source and of target in one forward; gradients accumulate to a step
    packing: bool | Auto  # several sentences in a row; auto: on a GPU
    tile_tokens: Tokens  # of source and of target in such a row
    compile: bool | Auto  # the layers, by torch.compile; auto: on a GPU
    warmup_steps: Count
    learning_rate_factor: Positive  # 1 is the schedule of section 5.3
    cooldown: Fraction  # the last share of max_steps, over which the rate falls to nothing; 0 is off
    adam_beta1: Fraction
    adam_beta2: Fraction
    adam_epsilon: Annotated[float, Bounds(1e-30, 1)]  # single precision takes less for 0, and divides by it
    label_smoothing: Fraction
    precision: Literal["auto", "bf16", "fp32"]
    sharding: Literal["none", "full"]  # full: each of several ranks holds a part of parameters and optimizer (FSDP)
    validate_every_steps: Count
    checkpoint_every_steps: Count
    average_checkpoints: Count  # how many of the newest make the delivered model (section 6.1)
    keep_checkpoints: Count
    early_stopping_validations: Count | None  # validations without a better loss; null is off
    log_every_steps: Count
    tensorboard: bool


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Drawing the output piece by piece; first the temperature is applied, then top-k, then top-p."""

    temperature: Annotated[float, Bounds(0.01, 100)]  # divides the log-probabilities; 1 is the model's own
    top_k: Count | None  # draw among so many of the most probable pieces; null is all
    top_p: Annotated[float, Bounds(0, 1, open_low=True, open_high=True)] | None  # among the fewest with this share
    seed: CountOrZero  # each line draws by the seed and its number, whatever is translated beside it


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Section 6.1: beam search; a beam of 1 is greedy. What is null is off, also where an older run lacks it."""

    beam_size: Annotated[int, Bounds(1, 1000)]
    length_penalty: Annotated[float, Bounds(0, 10)]  # α; far higher ones overflow
    length_penalty_form: Literal["gnmt", "power"]  # ((5 + length) / 6)^α, or length^α
    max_extra_tokens: Annotated[int, Bounds(0, 100_000)]  # longest output = source length + this
    batch_tokens: Count  # padded source tokens, times beam_size
    max_source_tokens: Count
    min_output_tokens: Count | None  # the end not counted
    max_output_tokens: Count | None  # the end not counted; the longest output whatever the source
    precision: Literal["auto", "fp32", "bf16", "int8"] | None  # of matrix products; null is auto
    no_repeat_ngram_size: Count | None  # so many successive pieces never occur twice in an output
    early_stopping: bool | None  # beam_size hypotheses that ended end a search, although a better one may be left
    sampling: Sampling | None  # instead of a search


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The score a recipe promises, and which BLEU that is."""

    bleu: Annotated[float, Bounds(0, 100)]
    tolerance: Annotated[float, Bounds(0, 100)]
    form: Literal["sacrebleu", "tokenised_compound_split"]


# ---------------------------------------------------------------------------- one class per command


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """`mt-train`, and `config.yaml` in a run folder."""

    name: str
    run_dir: str
    resume: bool  # false refuses a folder that holds a run
    seed: CountOrZero
    device: Device
    initialise_from: File | None  # a run whose model, tokenizer and sizes this training begins with
    data: Data
    tokenizer: Tokenizer
    model: Model
    training: Training
    decoding: Decoding  # for the BLEU of validation and test
    expected: Expected | None


@dataclass(frozen=True, kw_only=True)
class InspectConfig(TrainConfig):
    """`mt-inspect`: the corpora of a training, so that its command line serves unchanged."""

    output: str  # a folder


@dataclass(frozen=True, kw_only=True)
class ImportConfig(TrainConfig):
    """`mt-import`: a run as a training would have left it; model and tokenizer are those of the folder."""

    folder: str  # of the Hugging Face layout, with a Marian model
    sentences: File | None  # to prove the equality with; null is the text of the built-in corpus


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """`mt-export`: a finished run as a folder for another engine."""

    run_dir: str  # null in `conf/` stands for the newest finished run under runs/
    format: Literal["huggingface", "ctranslate2"]
    output: str | None  # a new folder; null is export/ in the run folder
    quantization: Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]
    sentences: File | None  # to prove the equality with; null is the run's validation and test text


@dataclass(frozen=True, kw_only=True)
class TranslateConfig:
    """`mt-translate`. Exactly one of `source` and `input` is given."""

    run_dir: str  # null in `conf/` stands for the newest finished run under runs/
    ensemble: list[str]  # further run folders with the same vocabulary; the mean of the probabilities decides
    device: Device
    source: Sentence | None  # the sentence itself
    input: str | None  # a file, or - for standard input
    column: str | None  # the input is TSV; a column's number counted from 1, or its name in the first line
    field: str | None  # the input is JSONL; the field with the text
    shard: str | None  # number/count: of that many parts of the input, this one
    output: str  # a file, or - for standard output
    translation_field: str  # the name of what is added to TSV with names and to JSONL
    n_best: Size | None  # so many translations of each line, with their scores
    scores: bool
    alignments: bool  # word alignments in Pharaoh format
    prefix: Sentence | None  # every translation begins with it
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """`mt-evaluate`: a split of the run's data, or source and reference files, or hypothesis and reference files."""

    run_dir: str | None  # None only where a hypothesis is scored, which needs no model
    device: Device
    split: Literal["test", "validation"]
    source: File | None
    reference: File | None
    hypothesis: File | None
    target_language: str | None  # null is that of the run; it chooses the tokenisation of BLEU
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """`mt-average`: the mean of the newest checkpoints' parameters (section 6.1)."""

    run_dir: str  # null in `conf/` stands for the newest run under runs/
    checkpoints: Count
    output: str | None  # null is model.safetensors in the run folder


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """`mt-attention`: a picture of the decoder's attention over one source sentence."""

    run_dir: str  # null in `conf/` stands for the newest finished run under runs/
    source: Sentence
    output: str  # a .png file
    decoding: Decoding
