"""Every option of the program: its name, its type, its bounds and its unit; the values stand in `conf/`.

There are no defaults here, so that a value has one home. `mt.config.loading` turns a composed configuration
into these classes and refuses what does not fit. A key is named as the argument it becomes, and as the
field of `metrics.jsonl` where it is logged.
"""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Literal


@dataclass(frozen=True)
class Bounds:
    """The numbers an option may hold: low ≤ value ≤ high, without the ends named `open`."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    def hold(self, value: float) -> bool:
        """Whether the value lies inside; NaN never does."""
        above = self.low < value or (value == self.low and not self.open_low)
        below = value < self.high or (value == self.high and not self.open_high)
        return above and below

    def __str__(self) -> str:
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        high = f"{'below' if self.open_high else 'at most'} {self.high:g}"
        return low if self.high == inf else f"{low} and {high}"


class FilePath:
    """Marks a file of the user's; it is kept as an absolute path, so that a run folder works from anywhere."""


class Verbatim:
    """Marks text that the command line takes as it is typed, whatever Hydra's grammar would make of it."""


Count = Annotated[int, Bounds(1, inf)]
CountOrZero = Annotated[int, Bounds(0, inf)]
Size = Annotated[int, Bounds(1, 1_000_000)]  # of a model or a search: beyond, no machine answers
Tokens = Annotated[int, Bounds(1, 1_000_000_000)]  # in a batch, padding counted
Fraction = Annotated[float, Bounds(0, 1, open_high=True)]
Positive = Annotated[float, Bounds(0, inf, open_low=True, open_high=True)]

File = Annotated[str, FilePath()]
Sentence = Annotated[str, Verbatim()]
Auto = Literal["auto"]
# `ours` is padded on a CPU, packed and compiled on a GPU.
Ours = Literal["ours", "ours_padded", "ours_packed", "ours_compiled"]
System = Literal[Ours, "torch", "torch_compiled", "hf_marian", "hf_marian_compiled"]
DecodingSystem = Literal[
    "ours_fp32", "ours_bf16", "ours_int8", "huggingface", "ctranslate2_float32", "ctranslate2_int8"
]
Device = Literal["auto", "cpu", "cuda", "mps"]


# ---------------------------------------------------------------------------- data and tokenizer


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which training pairs are left out; validation and test are never filtered."""

    max_tokens: Count  # pieces on either side
    max_length_ratio: Annotated[float, Bounds(1, inf)]  # longer side over shorter side, in pieces
    remove_copies: bool  # source equals target
    remove_duplicates: bool
    remove_held_out: bool  # pairs whose source or target occurs in validation or test


@dataclass(frozen=True, kw_only=True)
class BuiltinData:
    """The English-German corpus that ships with the package."""

    kind: Literal["builtin"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One parallel corpus on disk: two aligned text files, or one file with two columns.

    Text files may be plain, .gz or .xz; `file` is .tsv, .jsonl (also .gz, .xz) or .parquet.
    Keys that are not written are null.
    """

    source: File | None
    target: File | None
    file: File | None
    source_column: str | None
    target_column: str | None


@dataclass(frozen=True, kw_only=True)
class FilesData:
    """The user's own corpora; any number for training."""

    kind: Literal["files"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters
    train: list[Corpus]
    validation: Corpus
    test: Corpus | None


@dataclass(frozen=True, kw_only=True)
class HubData:
    """A Hugging Face dataset: a `translation` feature keyed by language, or two columns if they are named."""

    kind: Literal["hub"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters
    path: str
    subset: str | None
    revision: str | None
    train_split: str
    validation_split: str | None
    test_split: str | None
    source_column: str | None
    target_column: str | None


@dataclass(frozen=True, kw_only=True)
class NoData:
    """The data of a run that was imported: none, only what a training from it would share with others."""

    kind: Literal["none"]
    name: str
    source_language: str
    target_language: str
    cache_dir: str
    filters: Filters


Data = BuiltinData | FilesData | HubData | NoData


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """SentencePiece BPE, trained on the training split only (section 5.1)."""

    vocab_size: Annotated[int, Bounds(8, 10_000_000)]  # pieces, special ones included
    shared_vocab: bool  # one vocabulary for both languages
    character_coverage: Annotated[
        float, Bounds(0.98, 1)
    ]  # 1.0 for small alphabets, 0.9995 for Chinese, Japanese, Korean
    byte_fallback: bool  # unknown characters become bytes, never <unk>
    bpe_dropout: Fraction  # 0 is off; training side only
    input_sentence_size: Count


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
    pack_length: Tokens  # of source and of target in such a row
    compile: bool | Auto  # the layers, by torch.compile; auto: on a GPU
    warmup_steps: Count
    learning_rate_factor: Positive  # 1 is the schedule of section 5.3
    decay_fraction: Fraction  # the last share of max_steps, over which the rate falls to nothing; 0 is off
    adam_beta1: Fraction
    adam_beta2: Fraction
    adam_epsilon: Annotated[float, Bounds(1e-30, 1)]  # single precision takes less for 0, and divides by it
    label_smoothing: Fraction
    precision: Literal["auto", "bf16", "fp32"]
    fsdp: bool  # each of several ranks holds a shard of parameters and optimizer (FSDP2)
    validate_every_steps: Count
    checkpoint_every_steps: Count
    average_checkpoints: Count  # how many of the newest make the delivered model (section 6.1)
    keep_checkpoints: Count
    patience: Count | None  # validations without a better loss; null is off
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
    finetune_from: File | None  # a run whose model, tokenizer and sizes this training begins with
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
    target_prefix: Sentence | None  # every translation begins with it
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


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(TrainConfig):
    """`mt-benchmark`: the step of a training against other systems' on the same batches."""

    systems: list[System]
    precisions: list[Literal["fp32", "bf16"]]
    rounds: Count
    steps_per_round: Count
    profile: bool  # one more step of ours, with a table of where its time goes
    systems_python: str  # of an environment with requirements-systems.txt
    output: str  # a folder


@dataclass(frozen=True, kw_only=True)
class BenchmarkDecodeConfig:
    """`mt-benchmark-decode`: a run's translations against other systems' with the same weights."""

    run_dir: str  # null in `conf/` stands for the newest finished run under runs/
    huggingface: str | None  # a folder of mt-export; null is export/huggingface in the run folder
    ctranslate2: str | None  # a folder of mt-export, in float32; null is export/ctranslate2 in the run folder
    systems: list[DecodingSystem]
    sentences: Count  # of the test split
    batches: list[Count]  # sentences at a time
    single_sentences: Count  # of the test split, where they come one by one
    beam_sizes: list[Count]
    rounds: Count
    threads: Count  # of each system
    systems_python: str  # of an environment with requirements-systems.txt
    output: str  # a folder
    decoding: Decoding
