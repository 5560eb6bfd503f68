"""Text in, text out: a line for every line, in order, whatever the lines hold and however they are batched."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from reliability import Trials
from tiny_models import tiny_model
from torch import Tensor
from translators import make_translator, small_tokenizer

import mt.build
import mt.translation.translator
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer
from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.workers import Workers, can_fork
from mt.model.transformer import Transformer
from mt.translation.segments import split
from mt.translation.translator import Translator

TEXT = "a small dog runs over the green field while two men in red hats watch it quietly from an old bench"
WORDS = TEXT.split(" ")
LINES = [" ".join(WORDS[start : start + length]) + "." for start, length in [(0, 3), (2, 9), (5, 1), (1, 17), (4, 4)]]
LINES += ["", "The dog!", "two two two?", "   ", "a"]
HOSTILE = [
    "😀👩‍👩‍👧‍👦🏳️‍🌈",
    "שלום עולם مرحبا",
    "\u202ereversed\u202c",
    "\ud800 lone \udfff",
    "a\0b",
    "\0",
    "▁",
    "▁▁▁ ▁",
    "</s>",
    "a </s> b <s> <pad> <unk> <0x0A>",
    "\ufeffa dog",
    "\u2028\u2029\u0085\x0b\x0c",
    "\r",
    "\t\t",
    "e" + "\u0301" * 50,
    "ﷺ" * 20,
    "a" * 3000,
    "ドイツ語の文章。",
    "%s %d {} $HOME `x` \\n",
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"), LINES)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    return tiny_model(vocab_size=tokenizer.vocab_size, dropout=0.1)


def biased(tokenizer: Tokenizer, tokens: list[int], bias: float) -> Transformer:
    """A model that finds these tokens much more or much less probable than all others."""
    model = tiny_model(vocab_size=tokenizer.vocab_size, output_bias=True)
    with torch.no_grad():
        model.target_embedding.bias[tokens] = bias
    return model


def translator(model: Transformer, tokenizer: Tokenizer, **changes: Any) -> Translator:
    return make_translator([model], tokenizer, **({"beam_size": 1} | changes))


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The subwords of every source that reaches the model."""
    seen: list[list[int]] = []
    real = mt.translation.translator.source_tensor

    def noted(sentences: list[list[int]]) -> Tensor:
        seen.extend(sentences)
        return real(sentences)

    monkeypatch.setattr(mt.translation.translator, "source_tensor", noted)
    return seen


@pytest.mark.reliability(16)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_neighbours_and_batch_size_have_no_influence(
    model: Transformer, tokenizer: Tokenizer, beam_size: int, trials: Trials
) -> None:
    """Each line alone, in batches of every size, in two threads, as a stream: the same tokens in the same order."""
    lines = LINES * 2
    one = translator(model, tokenizer, beam_size=beam_size)
    alone = [one.translate_all([line])[0] for line in LINES] * 2
    assert len({translation.text for translation in alone}) > 5
    for batch_tokens in trials((1, 30, 4096)):
        threads = 2 if batch_tokens == 30 else 1
        several = translator(model, tokenizer, beam_size=beam_size, batch_tokens=batch_tokens, threads=threads)
        for together in (several.translate_all(lines), list(several.translate(iter(lines)))):
            assert [translation.tokens for translation in together] == [translation.tokens for translation in alone]
            assert [translation.text for translation in together] == [translation.text for translation in alone]
            for ours, theirs in zip(together, alone, strict=True):
                assert ours.score == pytest.approx(theirs.score, abs=1e-10)


@pytest.mark.reliability(16)
@pytest.mark.parametrize("beam_size", [pytest.param(1, marks=pytest.mark.long), 4])
def test_batches_of_64_give_the_tokens_of_batches_of_1_but_for_near_ties(
    tokenizer: Tokenizer, beam_size: int, trials: Trials
) -> None:
    """In fp32 sums of another order round differently: what comes out otherwise scores the same to rounding."""
    model = tiny_model(vocab_size=tokenizer.vocab_size, dtype=torch.float32)
    generator = random.Random(beam_size)
    lines = [" ".join(generator.choices(WORDS, k=generator.randint(1, 12))) for _ in range(64)]
    one = translator(model, tokenizer, precision=torch.float32, beam_size=beam_size, batch_tokens=2**20)
    together, alone = one.translate_all(lines), [one.translate_all([line])[0] for line in lines]
    for found, expected in trials(zip(together, alone, strict=True)):
        assert found.tokens == expected.tokens or found.score == pytest.approx(expected.score, abs=1e-4)
    assert sum(found.tokens == expected.tokens for found, expected in zip(together, alone, strict=True)) >= 60


@pytest.mark.skipif(not can_fork(), reason="processes are forked on Linux only")
@pytest.mark.parametrize("precision", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.long)])
def test_worker_processes_translate_as_threads_do(tokenizer: Tokenizer, precision: torch.dtype) -> None:
    model = tiny_model(vocab_size=tokenizer.vocab_size, dtype=torch.float32)
    settings: dict[str, Any] = {"precision": precision, "beam_size": 3, "threads": 2}
    in_threads = translator(model, tokenizer, **settings)
    in_processes = translator(model, tokenizer, **settings, processes=True)
    lines = LINES * 8  # so many that processes pay
    assert in_processes.translate_all(lines) == in_threads.translate_all(lines)
    assert isinstance(in_processes.run, Workers)
    [workers] = in_processes.run.workers.values()
    assert list(in_processes.translate(lines)) == list(in_threads.translate(lines))
    assert [*in_processes.run.workers.values()] == [workers], "forked once"
    workers.close()


@pytest.mark.parametrize("beam_size", [1, 2])
def test_batches_stay_within_the_budget(
    model: Transformer, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, beam_size: int
) -> None:
    shapes = []

    class Noted(BatchedDecoder):
        def __init__(self, model: PreparedModel, source: Tensor, **settings: Any) -> None:
            super().__init__(model, source, **settings)
            shapes.append(tuple(source.shape))

    monkeypatch.setattr("translators.BatchedDecoder", Noted)
    budget = 60 * beam_size  # the sources of a batch, once for each row of the beam
    translator(model, tokenizer, batch_tokens=budget, beam_size=beam_size).translate_all(LINES * 5)
    assert all(rows * length <= 60 or rows == 1 for rows, length in shapes)
    assert max(rows for rows, _ in shapes) > 5


@pytest.mark.parametrize("empty", ["", " ", "\t", "\u3000 \u00a0", "\u200b"])
def test_an_empty_line_is_an_empty_line(
    model: Transformer, tokenizer: Tokenizer, empty: str, given: list[list[int]]
) -> None:
    [translation] = translator(model, tokenizer).translate([empty])
    assert (translation.text, translation.tokens) == ("", [])
    assert given == []


def test_no_lines_give_no_lines(model: Transformer, tokenizer: Tokenizer) -> None:
    assert list(translator(model, tokenizer).translate([])) == []
    assert translator(model, tokenizer).translate_all([]) == []


def test_a_reader_who_types_gets_the_first_answer_before_the_second_line(
    model: Transformer, tokenizer: Tokenizer
) -> None:
    read = []

    def typed() -> Iterator[str]:
        for line in LINES:
            read.append(line)
            yield line

    answers = translator(model, tokenizer).translate(typed())
    next(answers)
    assert len(read) == 1
    assert len(list(answers)) == len(LINES) - 1


# ---------------------------------------------------------------------------- longer than the model takes


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("▁a ▁1 . 5 ▁b ▁2 . 5 ▁c", 7, "▁a ▁1 . 5 ▁b|▁2 . 5 ▁c"),
        ("▁a ▁b ▁3. 5 ▁c", 4, "▁a ▁b ▁3. 5|▁c"),
        ("▁a ▁b ▁3. 5 ▁c", 3, "▁a ▁b|▁3. 5 ▁c"),
        ("▁a ▁b . ▁c ▁d ▁e", 4, "▁a ▁b .|▁c ▁d ▁e"),
        ("▁a b c d ▁e", 4, "▁a b c d|▁e"),
        ("一 二 。 三 四", 4, "一 二 。|三 四"),
        ("a b c d e", 2, "a b|c d|e"),
    ],
)
def test_a_line_is_split_where_a_word_ends(text: str, longest: int, expected: str) -> None:
    subwords = text.split(" ")
    parts = split(list(range(len(subwords))), longest=longest, spell=lambda ids: [subwords[one] for one in ids])
    assert "|".join(" ".join(subwords[one] for one in part) for part in parts) == expected


def test_a_long_line_is_split_at_sentence_ends_and_joined_in_order(
    model: Transformer, tokenizer: Tokenizer, given: list[list[int]]
) -> None:
    sentences = ["a small dog runs over it.", "two men watch the green field!", "the old dog in red hats?"]
    longest = max(len(tokenizer.encode(sentence)) for sentence in sentences)
    whole = translator(model, tokenizer, max_source_tokens=longest)
    apart = whole.translate_all(sentences)
    given.clear()
    [plain, together] = whole.translate_all([sentences[0], " ".join(sentences)])
    assert (plain.segments, together.segments) == (1, 3)
    assert together.text == " ".join(translation.text for translation in apart)
    assert together.tokens == [token for translation in apart for token in translation.tokens]
    assert together.score == pytest.approx(sum(translation.score for translation in apart))
    assert sorted(given) == sorted(tokenizer.encode(sentence) for sentence in [*sentences, sentences[0]])


def test_languages_without_spaces_are_joined_without(model: Transformer, tokenizer: Tokenizer) -> None:
    lines = ["the dog runs over the field."] * 2
    longest = len(tokenizer.encode(lines[0]))
    [together] = translator(model, tokenizer, max_source_tokens=longest, separator="").translate([" ".join(lines)])
    [apart] = translator(model, tokenizer).translate(lines[:1])
    assert together.text == apart.text * 2


@pytest.mark.parametrize("max_source_tokens", [1, 2, 3, 7, 16])
def test_splitting_loses_no_subword_and_exceeds_no_limit(
    model: Transformer, tokenizer: Tokenizer, max_source_tokens: int, given: list[list[int]]
) -> None:
    line = " ".join([*LINES, "xyz" * 20, "ä, ö; 日本語。"])
    few = translator(model, tokenizer, max_source_tokens=max_source_tokens, max_extra_tokens=0)
    [translation] = few.translate([line])
    assert all(1 <= len(segment) <= max_source_tokens for segment in given)
    assert translation.segments == len(given)
    assert sorted(subword for segment in given for subword in segment) == sorted(tokenizer.encode(line))


def test_words_stay_whole_where_no_sentence_ends(
    model: Transformer, tokenizer: Tokenizer, given: list[list[int]]
) -> None:
    line = " ".join(WORDS * 4)
    translator(model, tokenizer, max_source_tokens=13).translate_all([line])
    assert len(given) > 5
    assert all(tokenizer.subwords(segment)[0].startswith("▁") for segment in given)


# ---------------------------------------------------------------------------- any text


@pytest.mark.reliability(15)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_hostile_lines_come_through_one_for_one(
    model: Transformer, tokenizer: Tokenizer, given: list[list[int]], beam_size: int, trials: Trials
) -> None:
    lines = [text for line in HOSTILE for text in (line, "the dog.")]
    many = translator(model, tokenizer, beam_size=beam_size, max_extra_tokens=2, batch_tokens=4096)
    [plain] = many.translate_all(["the dog."])
    given.clear()
    found = list(many.translate(lines))
    trials.add(len(HOSTILE))
    assert len(found) == len(lines)
    assert [translation.tokens for translation in found[1::2]] == [plain.tokens] * len(HOSTILE)
    for translation in found:
        assert "\n" not in translation.text
        assert "\r" not in translation.text
        assert not {PAD, UNKNOWN, BOS, EOS} & set(translation.tokens)
    typed = {subword for segment in given for subword in segment}
    assert not {PAD, UNKNOWN, BOS, EOS} & typed, "typed marks became special tokens"


def random_line(generator: random.Random) -> str:
    ascii_, letters, surrogates = (0, 0x7F), (0x61, 0x7A), (0xD800, 0xDFFF)
    planes = [ascii_, letters, surrogates, (0x80, 0x7FF), (0x800, 0xFFFF), (0x1F300, 0x1FAFF), (0, 0x10FFFF)]
    spans = [generator.choice(planes) for _ in range(generator.randrange(12))]
    return "".join(chr(generator.randint(*span)) for span in spans).replace("\n", "")


@pytest.mark.reliability(15)
@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_random_text_comes_through(model: Transformer, tokenizer: Tokenizer, count: int, trials: Trials) -> None:
    generator = random.Random(0)
    lines = [random_line(generator) for _ in range(count)]
    found = list(translator(model, tokenizer, max_extra_tokens=0, batch_tokens=4096).translate(lines))
    assert len(found) == count
    for line, translation in trials(zip(lines, found, strict=True)):
        assert not {"\n", "\r"} & set(translation.text)
        assert not {PAD, UNKNOWN, BOS, EOS} & set(translation.tokens)
        assert bool(translation.segments) == bool(tokenizer.encode(line))


@pytest.mark.reliability(15)
@pytest.mark.long
@pytest.mark.timeout(1800)  # a million subwords, one after the other, with shape checks
def test_one_word_of_a_megabyte(model: Transformer, tokenizer: Tokenizer) -> None:
    many = translator(model, tokenizer, max_source_tokens=1024, max_extra_tokens=0, batch_tokens=16_384)
    with torch.inference_mode():
        _, translation, _ = many.translate([LINES[0], "a" * 2**20, LINES[0]])
    assert translation.segments > 100
    assert "\n" not in translation.text


@pytest.mark.parametrize("beam_size", [1, 4])
def test_forbidden_tokens_never_appear_however_probable(tokenizer: Tokenizer, beam_size: int) -> None:
    forbidden = [PAD, BOS, UNKNOWN]
    model = biased(tokenizer, forbidden, 20.0)
    for translation in translator(model, tokenizer, beam_size=beam_size).translate_all(LINES):
        assert not set(forbidden) & set(translation.tokens)


@pytest.mark.parametrize("max_extra_tokens", [0, 3])
def test_the_longest_output_is_the_source_and_max_extra_tokens_more(
    tokenizer: Tokenizer, max_extra_tokens: int
) -> None:
    """A model that would never end by itself."""
    model = biased(tokenizer, [EOS], -1e4)
    lines = [line for line in LINES if line.strip()]
    for line, translation in zip(
        lines, translator(model, tokenizer, max_extra_tokens=max_extra_tokens).translate_all(lines), strict=True
    ):
        assert len(translation.tokens) == len(tokenizer.encode(line)) + max_extra_tokens
