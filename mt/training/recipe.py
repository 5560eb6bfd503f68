"""A recipe from a corpus, the speed of a machine and a time: what `experiment=auto` chooses, and why.

Figures without a source are this repository's (docs/results, docs/failed_experiments.md). Tokens are the target's.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice
from math import sqrt
from pathlib import Path
from typing import Any

from mt.data.lines import read_lines
from mt.data.text_cache import PreparedText

Options = dict[str, Any]  # their names, as they are typed, and values
Speed = Callable[[Options, int], float]  # tokens a second of a model with these sizes and this vocabulary

_BYTES_PER_SUBWORD = 4.5
_FILL = 0.95  # the share of real tokens in a batch
_GREEDY_SPEED = 0.4  # of a validation's translations, against training
_VALIDATION_SHARE = 0.05  # of the time, at most
_SAMPLE_LINES, _LEAST_SHARE = 2000, 0.1
_MANY_LINES, _COVERAGE = 20_000, 0.9995
_SPECIAL_AND_BYTES = 260
_MANY_CHARACTERS = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"}
_MUCH_LONGER, _MOST_JOINED = 1.2, 0.8  # a share of 0.8 makes sentences 1.8 times as long
_STEPS = 4000  # of a training with time for them; with less, batches are smaller


@dataclass(frozen=True)
class CorpusStatistics:
    """What decides a recipe, of the training text."""

    pairs: int
    source_bytes: int
    target_bytes: int
    shares_script: bool  # the sides are written with the same letters
    many_characters: bool  # one of them in Chinese, Japanese or Korean
    characters: int  # different ones that make up nearly all of the text, where there are many
    validation_bytes: int  # of the target side of the validation split, 1 without it
    validation_pairs: int

    @classmethod
    def of_text(cls, text: PreparedText) -> "CorpusStatistics":
        """Those of a text, of whose letters the first lines are looked at."""
        paths = [text.path("train", "source"), text.path("train", "target")]
        validation = text.path("validation", "target")
        source, target = map(_scripts, paths)
        many = bool((source | target) & _MANY_CHARACTERS)
        return cls(
            pairs=text.sizes["train"],
            source_bytes=paths[0].stat().st_size,
            target_bytes=paths[1].stat().st_size,
            shares_script=bool(source & target) or not (source and target),
            many_characters=many,
            characters=_frequent_characters(paths) if many else 0,
            validation_bytes=validation.stat().st_size if validation.exists() else 1,
            validation_pairs=text.sizes.get("validation", 0),
        )

    @property
    def tokens(self) -> int:
        """About how many tokens one pass over the corpus has."""
        return self.pairs + round(self.target_bytes / _BYTES_PER_SUBWORD)

    def most_batch_tokens(self, *, on_gpu: bool) -> int:
        """The largest batch that a recipe takes for it (Araabi and Monz 2020; 25,000: the paper).

        A GPU is idle for much of a step with 8,000 tokens (docs/results/training_speed.md), so that it gets 25,000 from
        3 million tokens of corpus on; the translations of both were not compared.
        """
        if self.tokens < 3e6:
            return 4096
        return 25_000 if on_gpu or self.tokens >= 3e7 else 8192

    @property
    def length_ratio(self) -> float:
        """How many times as long as the training sentences those of validation are; 1.0 without validation."""
        if not self.validation_pairs:
            return 1.0
        return (self.validation_bytes / self.validation_pairs) / (self.target_bytes / self.pairs)


def _scripts(path: Path) -> set[str]:
    """The scripts of a text, as Unicode names them, from its first lines; those of few letters are left out."""
    letters = Counter(filter(str.isalpha, "".join(islice(read_lines(str(path)), _SAMPLE_LINES))))
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "?").split()[0]] += count
    return {script for script, count in scripts.items() if count > _LEAST_SHARE * scripts.total()}


def _frequent_characters(paths: Sequence[Path]) -> int:
    """How many characters make up the share of the text that a vocabulary covers; of its first lines, if it is long."""
    counts = Counter(chain.from_iterable(line for path in paths for line in islice(read_lines(str(path)), _MANY_LINES)))
    covered = accumulate(count for _, count in counts.most_common())
    return sum(sum_ < _COVERAGE * counts.total() for sum_ in covered)


@dataclass(frozen=True)
class Size:
    """A size of model, with the tokens that the corpus and the whole training need to have for it."""

    num_layers: int
    d_model: int
    d_ff: int
    num_heads: int
    corpus_tokens: float
    trained_tokens: float
    source: str

    def options(self) -> Options:
        """As options of the model."""
        return {f"model.{name}": getattr(self, name) for name in ("num_layers", "d_model", "d_ff", "num_heads")}


SIZES = (
    Size(2, 128, 256, 4, 0, 0, "in a few minutes better here than four layers"),
    Size(4, 128, 256, 4, 0, 8e6, "Wu et al. 2021: the best of their sizes for 29,000 pairs"),
    Size(3, 256, 1024, 4, 1e6, 6e6, "model=small"),
    Size(6, 256, 1024, 4, 5e6, 40e6, "model=small, as deep as the paper's base"),
    Size(6, 384, 1536, 6, 10e6, 120e6, "between model=small and model=base"),
    Size(6, 512, 2048, 8, 10e6, 140e6, "Vaswani et al. 2017: base"),
    Size(6, 1024, 4096, 16, 100e6, 4e9, "Vaswani et al. 2017: big"),
)

REGULARISATION = (  # up to how many passes over the corpus: dropout, joined pairs, optimizer
    (4, 0.0, 0.0, "muon"),
    (10, 0.1, 0.0, "muon"),
    (20, 0.2, 0.0, "muon"),  # one training on a GPU, not compared with Adam (docs/results/kftt_ja_en.md)
    (40, 0.2, 0.0, "adam"),
    (float("inf"), 0.3, 0.3, "adam"),
)


@dataclass
class Recipe:
    """Every option that was chosen, after those that were given, and a line of reason for each group of them."""

    options: Options
    reasons: list[str] = field(default_factory=list)

    def choose(self, chosen: Options, reason: str) -> None:
        """Take what is not given, and note why."""
        new = {key: value for key, value in chosen.items() if key not in self.options}
        self.options |= new
        if new:
            self.reasons.append(" ".join(f"{key}={_typed(value)}" for key, value in new.items()) + f": {reason}")


def recipe(
    corpus: CorpusStatistics,
    speed: Speed,
    seconds: float,
    given: Mapping[str, Any],
    *,
    longest_row: int = 1,
    on_gpu: bool = False,
) -> Recipe:
    """The recipe for a training of `seconds` on a machine of this speed; the options that are `given` stay.

    A batch holds at least the `longest_row`, in tokens.
    """
    made = Recipe(dict(given))
    _choose_tokenizer(made, corpus)
    reason = "they cost 5 BLEU in 40 passes over 5,000 pairs here, and 8 in the time of 370 over 2,500"
    made.choose({"tokenizer.bpe_dropout": 0.0, "training.consistency": "none"}, reason)
    consistency = made.options["training.consistency"]
    weight = 3.0 if consistency == "simcut" else 5.0
    made.choose({"training.consistency_weight": weight}, "the paper's of SimCut, else of R-Drop")
    single = seconds if consistency == "none" else seconds / 2  # two passes over each batch take twice the time
    trained = single * _choose_size(made, corpus, speed, single)
    passes = trained / corpus.tokens
    dropout, joined, optimizer = next(row[1:] for row in REGULARISATION if passes < row[0])
    if consistency == "rdrop":
        dropout = max(dropout, 0.1)  # by which its two passes differ
    about = (
        f"about {passes:,.1f} passes over the corpus at {_BYTES_PER_SUBWORD} bytes a token, joined pairs not counted"
    )
    why = "Araabi and Monz 2020: 0.3 below 80,000 pairs; paper: 0.1; few passes need none"
    made.choose({"model.dropout": dropout}, f"{about} ({why})")
    made.choose(
        {"training.optimizer": optimizer},
        f"{about}: Muon had a lower loss in less than half a pass here, and no gain in 40",
    )
    _choose_joined(made, corpus, joined, about)
    made.choose({"training.label_smoothing": 0.1}, "the paper's; other values were not better here")
    most = corpus.most_batch_tokens(on_gpu=on_gpu)
    source = "a smaller one leaves a GPU idle" if on_gpu and most == 25_000 else "Araabi and Monz 2020"
    reason = f"at most {most:,} for this corpus ({source}), and small enough for {_STEPS:,} steps"
    made.choose({"training.batch_tokens": _batch_tokens(made, trained, most, longest_row)}, reason)
    _choose_steps(made, corpus, trained, seconds)
    return made


def _choose_tokenizer(made: Recipe, corpus: CorpusStatistics) -> None:
    size = (corpus.source_bytes + corpus.target_bytes) / 8e6
    by_size = min(max(63 * size ** (0.5 if size < 1 else 0.3), 8), 289)
    by_characters = (_SPECIAL_AND_BYTES + 1.5 * corpus.characters) / 128  # so that a third of them may be words
    made.choose(
        {"tokenizer.vocab_size": 128 * round(max(by_size, by_characters))},
        f"{8 * size:,.1f} MB of text (few subwords for little text: Sennrich and Zhang 2019, Gowda and May 2020; "
        "37,000 for WMT 2014: Vaswani et al. 2017)"
        + (", with room for its characters" if by_characters > by_size else ""),
    )
    scripts = "have the same letters" if corpus.shares_script else "have letters of their own"
    made.choose({"tokenizer.shared_vocab": corpus.shares_script}, f"the two sides {scripts}")
    many = "with thousands of characters rare ones become bytes" if corpus.many_characters else "an alphabet"
    made.choose(
        {"tokenizer.character_coverage": _COVERAGE if corpus.many_characters else 1.0}, f"{many} (SentencePiece)"
    )


def _choose_size(made: Recipe, corpus: CorpusStatistics, speed: Speed, seconds: float) -> float:
    """Choose the largest size for which corpus and time suffice; returns its tokens a second."""
    best, per_second = SIZES[0], 0.0
    measured: dict[str, float] = {}
    for size in SIZES:
        if size.corpus_tokens > corpus.tokens:
            break
        options = {key: made.options.get(key, value) for key, value in size.options().items()}
        if str(options) not in measured:
            measured[str(options)] = speed(options, made.options["tokenizer.vocab_size"])
        if measured[str(options)] * seconds < size.trained_tokens:
            break
        best, per_second = size, measured[str(options)]
    made.choose(
        best.options(),
        f"the corpus has about {corpus.tokens:,} tokens, and in the time about {per_second * seconds:,.0f} can be "
        f"trained on, {per_second:,.0f} a second ({best.source})",
    )
    return per_second


def _choose_joined(made: Recipe, corpus: CorpusStatistics, joined: float, about: str) -> None:
    """Choose how many pairs are joined: some for many passes, else until they are as long as those of validation."""
    reason = f"{about} (Nguyen et al. 2021; from 40 on perplexity was lower here, BLEU within chance)"
    ratio = corpus.length_ratio
    if ratio > _MUCH_LONGER:
        joined = max(joined, round(min(ratio - 1, _MOST_JOINED), 2))
        reason = f"validation's sentences are {ratio:.1f} times as long as those of training (Nguyen et al. 2021)"
    made.choose({"data.augmentation.joined": joined}, reason)


def _batch_tokens(made: Recipe, trained: float, most: int, longest_row: int) -> int:
    given = made.options.get("training.micro_batch_tokens")
    least = max(1024, longest_row, given if isinstance(given, int) else 0)
    return max(least, min(most, 256 * int(trained / _STEPS / 256)))


def _choose_steps(made: Recipe, corpus: CorpusStatistics, trained: float, seconds: float) -> None:
    """Choose all that is counted in steps."""
    batch = made.options["training.batch_tokens"]
    made.choose({"training.micro_batch_tokens": batch}, "a whole batch at a time")
    share = _FILL * min(1.0, corpus.target_bytes / corpus.source_bytes)
    made.choose({"training.max_steps": max(10, round(trained / (batch * share)))}, "as the speed says; time decides")
    steps, d_model = made.options["training.max_steps"], made.options["model.d_model"]
    made.choose(
        {"training.learning_rate": float(f"{5e-3 * (128 / d_model) ** 1.3 * sqrt(min(1, batch / 4096)):.2g}")},
        "5e-3 at width 128 (Wu et al. 2021), 8e-4 at 512 (the paper: 7e-4); of smaller batches by the square root "
        "(Malladi et al. 2022)",
    )
    made.choose({"training.warmup_steps": min(4000, max(1, steps // 5))}, "a fifth of the time (Wu et al.: a quarter)")
    made.choose({"training.decay_fraction": 0.6}, "a decay to zero (Zhai et al. 2022; Bergsma et al. 2025)")
    validation_seconds = corpus.validation_bytes / _BYTES_PER_SUBWORD / (_GREEDY_SPEED * trained / seconds)
    validations = min(max(round(min(seconds / 180, _VALIDATION_SHARE * seconds / validation_seconds)), 3), 20)
    made.choose(
        {
            "training.validate_every_steps": max(1, steps // validations),
            "training.checkpoint_every_steps": max(1, steps // 40),
            "training.log_every_steps": min(50, max(1, steps // 20)),
        },
        f"{validations} validations; the last checkpoints, which are averaged, are of the last tenth of the time",
    )


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
