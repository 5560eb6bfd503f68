"""Every option of the program: its name, its type, its bounds and its unit; the values are in `conf/`.

There are no defaults here, so that a value has one home. `mt.config.loading` turns a composed configuration
into these classes and refuses what does not fit. A key has the name of the argument it becomes, and of the
field of `metrics.jsonl` where it is logged. `docs/reference.md` is generated from this file and `conf/`.
"""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Literal

from mt.config.marks import Bounds, FilePath, Verbatim

Count = Annotated[int, Bounds(1, inf)]
CountOrZero = Annotated[int, Bounds(0, inf)]
Size = Annotated[int, Bounds(1, 1_000_000)]  # of a model or a search: beyond, no machine answers
Layers = Annotated[int, Bounds(1, 1000)]
Tokens = Annotated[int, Bounds(1, 1_000_000_000)]  # in a batch, padding counted
Coverage = Annotated[float, Bounds(0.98, 1)]
Fraction = Annotated[float, Bounds(0, 1, open_high=True)]
Share = Annotated[float, Bounds(0, 1)]
Percent = Annotated[float, Bounds(0, 100)]
Decay = Annotated[float, Bounds(0, inf, open_high=True)]
Positive = Annotated[float, Bounds(0, inf, open_low=True, open_high=True)]

File = Annotated[str, FilePath()]
Sentence = Annotated[str, Verbatim()]
Auto = Literal["auto"]
Device = Literal["auto", "cpu", "cuda", "mps"]


# ---------------------------------------------------------------------------- data and tokenizer


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which training pairs are left out; validation and test are never filtered."""

    max_tokens: Count  # longest side of a pair, in subwords
    max_length_ratio: Annotated[
        float, Bounds(1, inf)
    ]  # longer side over shorter side, in characters; 漢, あ and 한 count as three
    remove_copies: bool  # pairs whose source equals their target
    remove_duplicates: bool  # pairs that occurred before
    remove_held_out: bool  # pairs that occur in validation or test
    min_pair_score: Share | None  # pairs that pair_scorer finds less likely to be translations; null is off
    pair_scorer: File | None  # the run folder of a pair classifier (experiment=pair_classifier)


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Changes of the training text, drawn again every epoch; each rate is a share of the pairs, and 0 is off."""

    joined: Share  # with another pair after it
    upper_case: Share  # both sides in capitals
    title_case: Share  # a capital at the beginning of each word of both sides
    end_punctuation: Share  # of pairs that end in the same mark: it is lost on both sides, every fourth time doubled
    typos: Share  # one to three in the source: letters swapped, lost, doubled, or of a neighbouring key
    noise: Share  # a word of random characters in both sides
    copied_tokens: Share  # a URL, e-mail address, number, emoji or a word of code in both sides


@dataclass(frozen=True, kw_only=True)
class AnyData:
    """What every kind of data has."""

    name: str  # the run is called after it
    source_language: str  # such as en
    target_language: str  # such as de
    cache_dir: str  # prepared text and ids, shared by all runs
    filters: Filters
    augmentation: Augmentation


@dataclass(frozen=True, kw_only=True)
class BuiltinData(AnyData):
    """The English-German corpus that ships with the package."""

    kind: Literal["builtin"]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One parallel corpus on disk: two aligned text files, or one file with two columns.

    Text may be .gz, .xz or .bz2; `file` is .tsv, .jsonl (also compressed) or .parquet. Keys not written are null.
    """

    source: File | None  # text, one sentence per line
    target: File | None  # text, its translations
    file: File | None  # both sides in one file, instead of source and target
    source_column: str | None  # of the file: a number from 1 (TSV) or a name
    target_column: str | None  # of the file


@dataclass(frozen=True, kw_only=True)
class NamedTest(Corpus):
    """A further corpus to score a finished training on."""

    name: str  # of its folder under evaluations/, and for mt-evaluate split=NAME


@dataclass(frozen=True, kw_only=True)
class LabelledData(AnyData):
    """Texts with labels, for a text classifier: .tsv with two columns, or .jsonl with the fields text and label."""

    kind: Literal["labelled"]
    train: File  # also .gz, .xz, .bz2
    validation: File
    test: File | None
    labels: list[str] | None  # the classes, in their order; null: those of train, sorted


@dataclass(frozen=True, kw_only=True)
class FilesData(AnyData):
    """The user's own corpora; any number for training."""

    kind: Literal["files"]
    train: list[Corpus]
    validation: (
        Corpus | None
    )  # null: 1,000 pairs of train, at most a twentieth, and others for the test if that is null
    test: Corpus | None
    tests: list[NamedTest]  # more of them, each with a name


@dataclass(frozen=True, kw_only=True)
class HubData(AnyData):
    """A Hugging Face dataset: a `translation` feature keyed by language, or two columns if they are named."""

    kind: Literal["hub"]
    path: str  # the dataset's name, or a local folder of the same layout
    subset: str | None  # the dataset's configuration
    revision: str | None  # a commit; null is the newest
    train_split: str
    validation_split: str | None
    test_split: str | None
    source_column: str | None  # null: a `translation` column keyed by language
    target_column: str | None


@dataclass(frozen=True, kw_only=True)
class TextData(AnyData):
    """One text, on which a language model is trained: blocks of tokens, each read by itself."""

    kind: Literal["text"]
    text: File  # UTF-8, of any kind; also .gz, .xz, .bz2
    block_tokens: Annotated[int, Bounds(2, 1_000_000)]  # the context: the text in a row
    held_out_share: Annotated[float, Bounds(0, 1, open_low=True, open_high=True)]  # the end of the text, for validation


@dataclass(frozen=True, kw_only=True)
class TaskData(AnyData):
    """Sequences and what a rule makes of them, to see whether a model learned the rule: held-out ones are new."""

    kind: Literal["task"]
    task: Literal["copy", "reverse", "sort", "addition"]  # copy, reverse, sort letters, or addition modulo 97
    training_pairs: Count
    held_out_pairs: Count  # for validation, and as many others for the test


@dataclass(frozen=True, kw_only=True)
class NoData(AnyData):
    """The data of an imported run: none, only what a training from it would share with others."""

    kind: Literal["none"]


Data = BuiltinData | LabelledData | FilesData | HubData | TextData | TaskData | NoData


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """SentencePiece BPE, trained on the training split only (section 5.1)."""

    model_type: Literal["bpe", "char"]  # char: every character is a subword
    vocab_size: Annotated[int, Bounds(8, 10_000_000)]  # subwords, special tokens included
    shared_vocab: bool  # one vocabulary for both languages
    character_coverage: Coverage  # 1.0 for small alphabets, 0.9995 for Chinese, Japanese, Korean
    byte_fallback: bool  # unknown characters become bytes, never the unknown token
    bpe_dropout: Fraction  # share of merges left out in training, drawn again every epoch; 0 is off
    input_sentence_size: Count  # sentences that the tokenizer is trained on, at most


# ---------------------------------------------------------------------------- model and training


@dataclass(frozen=True, kw_only=True)
class Model:
    """Section 3, with the symbols of table 3: N, d_model, d_ff, h, P_drop."""

    family: Literal["encoder_decoder", "decoder", "encoder"]  # decoder: GPT, both sides in one row; encoder: BERT
    num_layers: Layers  # N, of the encoder and of the decoder
    num_encoder_layers: Layers | None  # null: num_layers
    num_decoder_layers: Layers | None  # null: num_layers; a shallow decoder translates faster
    d_model: Annotated[int, Bounds(1, 100_000)]  # width of the layers
    d_ff: Size  # inner width of the feed-forward networks
    num_heads: Size  # h, attention heads; they divide d_model unless d_k and d_v are given
    d_k: Size | None  # width of a head's queries and keys; null: d_model / num_heads
    d_v: Size | None  # width of a head's values; null: d_model / num_heads
    dropout: Fraction  # P_drop
    initialisation: Literal["glorot", "fan_in"]  # of the layers' matrices: Glorot-uniform, or uniform in ±1/√fan_in
    positions: Literal["sinusoidal", "learned", "relative", "rotary", "alibi", "none"]  # sinusoidal: section 3.5
    max_positions: Size  # of learned positions: the longest sentence, in subwords with its end
    max_relative_positions: Annotated[int, Bounds(1, 100_000)]  # of relative positions: further distances count as this
    norm: Literal["post", "pre"]  # after each residual sum, as in the paper, or before each sublayer and at the end
    norm_kind: Literal["layer", "rms"]  # LayerNorm or RMSNorm
    norm_epsilon: Annotated[float, Bounds(1e-30, 1)]  # added to the variance; BERT has 1e-12
    activation: Literal["relu", "gelu", "gelu_tanh", "swish", "swiglu", "squared_relu"]  # in the feed-forward networks
    score: Literal["scaled_dot", "dot", "general", "additive"]  # of a query and a key; scaled_dot is equation (1)
    tied_embeddings: Literal["all", "target", "none"]  # all: source (of a shared vocabulary), target and output
    scale_embedding: bool  # embeddings are times √d_model (section 3.4); GPT-2 and BERT do not have it
    output_bias: bool  # one per subword, added to its logit; the paper does not have it


@dataclass(frozen=True, kw_only=True)
class Training:
    """Section 5. A step is one update of the optimizer."""

    max_steps: Count  # the last step
    max_minutes: Positive | None  # of one command, evaluation included; the same command continues as long again
    batch_tokens: Tokens  # of source and of target in one step, each at most (fairseq's max-tokens)
    micro_batch_tokens: Tokens | Auto  # of source and of target in one forward; gradients accumulate to a step
    packing: bool | Auto  # several sentences in a row; false: one, similar lengths together; auto: on a GPU
    pack_length: Tokens  # of source and of target in a packed row
    compile: bool | Auto  # layers, on a GPU the loss too; auto: there alone, layers if packed and d_model ≥ 512
    warmup_steps: Count  # the rate rises to its peak over these
    learning_rate: Positive | None  # the peak, before any decay; null: learning_rate_factor sets it
    learning_rate_factor: Positive  # 1 is section 5.3: a peak of 1/√(d_model · warmup_steps)
    decay_fraction: Fraction  # the last share of max_steps, over which the rate falls linearly to zero; 0 is off
    optimizer: Literal["adam", "muon"]  # muon: for the matrices inside the layers, Adam for the rest
    adam_beta1: Fraction
    adam_beta2: Fraction
    adam_epsilon: Annotated[float, Bounds(1e-30, 1)]  # single precision rounds less to 0, and divides by it
    weight_decay: Decay  # AdamW's: a step takes learning rate times this of each weight; 0 is off
    label_smoothing: Fraction  # ε_ls
    consistency: Literal["none", "rdrop", "simcut"]  # of two passes over each batch: R-Drop, SimCut
    consistency_weight: Positive  # α: what the divergence of the passes weighs; 5 in R-Drop's paper, 3 in SimCut's
    cutoff: Fraction  # of simcut: the probability that a token's embedding is zero in the second pass
    precision: Literal["auto", "bf16", "fp32"]  # auto: bf16 where it is faster
    fsdp: bool  # each rank holds a shard of parameters and optimizer state (FSDP2)
    validate_every_steps: Count
    checkpoint_every_steps: Count
    average_checkpoints: Count  # the number of newest checkpoints in the delivered model (section 6.1)
    keep_checkpoints: Count  # the number of newest checkpoints on disk
    patience: Count | None  # validations without a better score (greedy BLEU) before training stops; null is off
    log_every_steps: Count
    tensorboard: bool  # also write events for TensorBoard


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Drawing the output token by token; first the temperature is applied, then top-k, then top-p."""

    temperature: Annotated[float, Bounds(0.01, 100)]  # divides the log-probabilities; 1 is the model's own
    top_k: Count | None  # draw among the k most probable tokens; null is all
    top_p: Annotated[float, Bounds(0, 1, open_low=True, open_high=True)] | None  # among the fewest with this share
    seed: CountOrZero  # a line's draws depend on the seed and its line number alone


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Section 6.1: beam search; a beam of 1 is greedy. What is null is off."""

    beam_size: Annotated[int, Bounds(1, 1000)]
    length_penalty: Annotated[float, Bounds(0, 10)]  # α; far higher ones overflow
    length_penalty_form: Literal["gnmt", "power"]  # ((5 + length) / 6)^α, or length^α
    max_extra_tokens: Annotated[int, Bounds(0, 100_000)]  # longest output = source length + this
    batch_tokens: Count | None  # padded source tokens times beam_size; null: 4096, on a GPU 32768
    max_source_tokens: Count  # longer lines are translated in segments
    min_output_tokens: Count | None  # the end not counted; wins over max_extra_tokens
    max_output_tokens: Count | None  # the end not counted; the longest output for any source
    precision: Literal["auto", "fp32", "bf16", "int8"]  # of matrix products; auto: bf16 on a GPU that has it, else fp32
    no_repeat_ngram_size: Count | None  # no n-gram of this length occurs twice in an output
    early_stopping: bool  # true ends a search at beam_size finished hypotheses, although a better one may come
    as_typed: bool  # capitals, end marks, URLs, emoji and numbers of a text are handled before and after the model
    spelling: bool  # a word that training never saw is read as a known one that it is a typo away from
    sampling: Sampling | None  # instead of a search; decoding=sampling sets it


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The score that a recipe promises, and what table 3 of the paper says besides; keys not written are null."""

    bleu: Percent  # on the test split
    tolerance: Percent  # how far from it the score may be
    form: Literal["sacrebleu", "tokenised_compound_split"]
    perplexity: Positive | None  # of validation, per subword
    parameters_millions: Count | None  # to the nearest million


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """`mt-train`, and `config.yaml` in a run folder."""

    name: str  # in messages, and of the folder under runs/, so without /
    run_dir: str  # the run folder: configuration, tokenizer, checkpoints, model, scores
    seed: CountOrZero
    device: Device
    finetune_from: File | None  # a run folder: begin with its model, tokenizer and sizes
    budget: str | None  # the time of the whole run, such as 30m, 2h, 1d, evaluation included; the rate follows it
    automatic: list[str]  # options that corpus, machine and budget choose, except those on the command line
    data: Data
    tokenizer: Tokenizer
    model: Model
    training: Training
    decoding: Decoding  # for the BLEU of validation and test
    expected: Expected | None


@dataclass(frozen=True, kw_only=True)
class InspectConfig(TrainConfig):
    """`mt-inspect`: the corpora of a training, so that its command line serves unchanged."""

    output: str  # a folder for report.html, report.json, architecture.svg


@dataclass(frozen=True, kw_only=True)
class ImportConfig(TrainConfig):
    """`mt-import`: a run as a training would have left it; model and tokenizer are those of the folder."""

    folder: str  # of Hugging Face's layout: MarianMT, GPT-2 or BERT (`docs/export.md`)
    sentences: File | None  # to prove the equality with; null is the text of the built-in corpus


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """`mt-export`: a finished run as a folder for another engine."""

    run_dir: str  # null is the newest finished run under runs/
    format: Literal["huggingface", "ctranslate2"]
    output: str | None  # a new folder; null is export/FORMAT in the run folder
    quantization: Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]
    sentences: File | None  # to prove the equality with; null is the run's validation and test text


@dataclass(frozen=True, kw_only=True)
class TranslateConfig:
    """`mt-translate`. Exactly one of `source`, `input` and `document` is given."""

    run_dir: str  # null is the newest finished run under runs/
    ensemble: list[str]  # more run folders with the same vocabulary; the mean of the probabilities decides
    device: Device
    source: Sentence | None  # the sentence itself
    input: str | None  # a file, or - for standard input
    document: str | None  # a file with its format: .docx .html .md .po .srt .txt .vtt
    column: str | None  # the input is TSV; a column's number counted from 1, or its name in the first line
    field: str | None  # the input is JSONL; the field with the text
    shard: str | None  # 3/16 translates the third of sixteen shards of the input, into OUTPUT.03-of-16
    output: str  # a file, or - for standard output
    translation_field: str  # the name of the column or field that is added
    n_best: Size | None  # the number of translations of each line: line number, rank, translation, score
    scores: bool  # adds a column or field
    alignments: bool  # adds a column or field with word alignments, such as 0-0 1-2 (source-target)
    target_prefix: Sentence | None  # every translation begins with it
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class GenerateConfig:
    """`mt-generate`: a language model, trained on `data=text`, continues a text; a masked one fills [MASK]."""

    run_dir: str  # null is the newest finished run under runs/
    device: Device
    prompt: Sentence  # the text to continue, or with [MASK] in it
    num_samples: Size | None  # the number of texts, null is 1; or of fillings of each [MASK], null is 5
    max_new_tokens: Size  # the tokens of each that follow the prompt
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class ServeConfig:
    """`mt-serve`: LibreTranslate's and DeepL's interfaces to finished runs."""

    run_dir: str  # null is the newest finished run under runs/
    runs: list[str]  # more run folders, for other language pairs
    device: Device
    host: str  # the address to listen on
    port: Annotated[int, Bounds(0, 65_535)]  # 0 chooses a free one
    max_texts: Count  # of one request
    max_characters: Count  # of one request
    max_alternatives: CountOrZero  # that a request may ask for
    max_document_bytes: Count  # of an uploaded document
    document_seconds: Positive  # after its upload a document is forgotten
    batch_tokens: Count | None  # source subwords in the largest batch; null: 1024 on a CPU, 2048 on a GPU
    queue_tokens: Count  # source subwords that may wait; beyond, requests get 503
    timeout_seconds: Positive  # a request that takes longer gets 503
    api_keys: File | None  # the SHA-256 of an API key on each line; null asks for no key
    requests_per_minute: Count | None  # of one client; null: any number
    cors_origins: list[str]  # web pages of other servers that may ask
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """`mt-evaluate`: a split of the run's data, or source and reference files, or hypothesis and reference files."""

    run_dir: str | None  # null is the newest finished run under runs/; a hypothesis is scored without a model
    device: Device
    split: str  # of the run's own data: test, validation, or the name of one of data.tests
    source: File | None  # text to translate and score, with a reference
    reference: File | None  # raw text, one line per line of the source or hypothesis
    hypothesis: File | None  # finished translations
    robustness: bool  # the text clean, in capitals, with typos and so on, and the words that are copied
    target_language: str | None  # null is that of the run; it chooses the tokenisation of BLEU
    decoding: Decoding


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """`mt-compare`: whether runs differ by more than chance, on the test sets that they share."""

    runs: list[str]  # run folders; the first is the baseline
    samples: Annotated[int, Bounds(100, 100_000)]  # of the paired bootstrap
    output: str  # a folder for comparison.md and comparison.png


@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """`mt-average`: the mean of the newest checkpoints' parameters (section 6.1)."""

    run_dir: str  # null is the newest run under runs/
    checkpoints: Count | None  # exactly these; null: what the training would deliver, chosen on validation


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """`mt-attention`: a picture and a page of what the model attends to for one source sentence."""

    run_dir: str  # null is the newest finished run under runs/
    source: Sentence
    output: str  # a .png file; the page for the browser is next to it, with .html
    decoding: Decoding
