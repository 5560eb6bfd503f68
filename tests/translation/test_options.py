"""n-best, samples, prefixes, lengths, ensembles and word alignments of whole lines."""

import math
from functools import partial

import pytest
import torch
from tiny_models import tiny_model
from translators import make_translator, small_tokenizer

from mt.data.tokenizer import BOS, EOS, UNKNOWN, Tokenizer
from mt.errors import UserError
from mt.model.transformer import Transformer
from mt.search.sampling import Sampling
from mt.translation.alignment import pharaoh, word_alignment
from mt.translation.segments import Translation, join

TEXT = "a small dog runs over the green field while two men in red hats watch it from an old bench"
WORDS = TEXT.split(" ")
LINES = [" ".join(WORDS[start : start + length]) + "." for start, length in [(0, 3), (2, 9), (5, 1), (1, 15), (4, 4)]]
LINES += ["", "The dog!", "two two two?", "a"]
translator = partial(make_translator, batch_tokens=256)
SAMPLING = Sampling(temperature=1.0, top_k=None, top_p=None, seed=3)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"), LINES)


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer) -> list[Transformer]:
    return [tiny_model(vocab_size=tokenizer.vocab_size)]


def test_the_best_of_n_is_the_one_without(models: list[Transformer], tokenizer: Tokenizer) -> None:
    alone = translator(models, tokenizer).translate_all(LINES)
    several = translator(models, tokenizer, num_hypotheses=4).translate_all(LINES)
    for line, one, four in zip(LINES, alone, several, strict=True):
        assert (one.text, one.tokens, one.others) == (four.text, four.tokens, [])
        scores = [four.score, *(other.score for other in four.others)]
        assert scores == sorted(scores, reverse=True)
        tokens = {tuple(hypothesis.tokens) for hypothesis in (four, *four.others)}
        assert len(tokens) == len(scores) == (4 if line else 1)


def test_a_line_in_segments_has_the_best_combinations() -> None:
    first = [Translation("a", -1.0, [1]), Translation("b", -1.25, [2])]
    second = [Translation("x", -1.0, [3]), Translation("y", -1.5, [4])]
    best = join([first, second], separator=" ", aligned=False)
    assert (best.text, best.score, best.tokens, best.segments) == ("a x", -2.0, [1, 3], 2)
    assert [(other.text, other.score, other.segments) for other in best.others] == [("b x", -2.25, 2)]


@pytest.mark.parametrize("num_hypotheses", [1, 3])
def test_a_sample_depends_on_its_line_and_seed_alone(
    models: list[Transformer], tokenizer: Tokenizer, num_hypotheses: int
) -> None:
    """Whatever the batches; a line translated elsewhere, under its own number, is drawn alike."""
    options = {"beam_size": 1, "num_hypotheses": num_hypotheses}
    drawn = translator(models, tokenizer, sampling=SAMPLING, **options).translate_all(LINES)
    for batch_tokens in (1, 4096):
        one = translator(models, tokenizer, sampling=SAMPLING, batch_tokens=batch_tokens, **options)
        assert [each.tokens for each in one.translate(LINES)] == [each.tokens for each in drawn]
        [last] = one.translate(LINES[3:4], first_number=3)
        assert [last.tokens, *(other.tokens for other in last.others)] == [
            drawn[3].tokens,
            *(other.tokens for other in drawn[3].others),
        ]
    other_seed = Sampling(temperature=1.0, top_k=None, top_p=None, seed=4)
    others = translator(models, tokenizer, sampling=other_seed, **options).translate_all(LINES)
    assert sum(one.tokens != other.tokens for one, other in zip(drawn, others, strict=True)) > 4
    same_line = translator(models, tokenizer, sampling=SAMPLING, **options).translate_all([LINES[1]] * 9)
    assert len({tuple(one.tokens) for one in same_line}) > 4


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_begin_with_their_prefix(models: list[Transformer], tokenizer: Tokenizer, beam_size: int) -> None:
    prefixing = translator(models, tokenizer, beam_size=beam_size, max_extra_tokens=0)
    prefixes = ["two men in red hats watch the dog", "", "the small", "a", "old bench", "a", "x", "日本", "the"]
    for line, prefix, translation in zip(
        LINES, prefixes, prefixing.translate(LINES, target_prefixes=prefixes), strict=True
    ):
        forced = tokenizer.encode(prefix) if line else []
        assert translation.tokens[: len(forced)] == forced
    for line, translation in zip(LINES, prefixing.translate_all(LINES, target_prefixes="the green"), strict=True):
        assert translation.text.startswith("the green" if line else "")
    [long] = translator(models, tokenizer, max_source_tokens=8, beam_size=beam_size).translate(
        [" ".join(WORDS)], target_prefixes="red hats"
    )
    assert long.segments > 2
    assert long.text.count("red hats") == 1
    with pytest.raises(ValueError, match="shorter"):
        list(prefixing.translate(LINES, target_prefixes=["a"]))


def test_a_prefix_that_cannot_be_spelt_is_refused(models: list[Transformer], tokenizer: Tokenizer) -> None:
    refusing = translator(models, tokenizer)
    refusing.target_tokenizer = type("Foreign", (), {"encode": lambda *_: [UNKNOWN]})()
    with pytest.raises(UserError, match="the run's vocabulary cannot spell 'ß'"):
        refusing.translate_all(["a dog."], target_prefixes="ß")


def test_a_prefix_beyond_the_longest_output_is_refused(models: list[Transformer], tokenizer: Tokenizer) -> None:
    length = len(tokenizer.encode("the small dog"))
    [fitting] = translator(models, tokenizer, max_output_tokens=length).translate_all(
        ["a"], target_prefixes="the small dog"
    )
    assert fitting.text == "the small dog"
    with pytest.raises(
        UserError, match=f"'the small dog' is {length} subwords long, more than decoding.max_output_tok"
    ):
        translator(models, tokenizer, max_output_tokens=length - 1).translate_all(
            ["a"], target_prefixes="the small dog"
        )


@pytest.mark.parametrize("beam_size", [1, 3])
def test_lengths_and_repetitions_are_kept_within_bounds(
    models: list[Transformer], tokenizer: Tokenizer, beam_size: int
) -> None:
    bounded = {"beam_size": beam_size, "min_output_tokens": 6, "max_output_tokens": 9, "no_repeat_ngram_size": 2}
    for line, one in zip(LINES, translator(models, tokenizer, **bounded).translate_all(LINES), strict=True):
        if line:
            assert 6 <= len(one.tokens) <= 9
            bigrams = list(zip(one.tokens, one.tokens[1:], strict=False))
            assert len(bigrams) == len(set(bigrams))
    long = translator(models, tokenizer, beam_size=beam_size, min_output_tokens=70).translate_all(["a"])
    assert len(long[0].tokens) == 70


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_model_that_ends_at_once_is_held_to_the_shortest_output(tokenizer: Tokenizer, beam_size: int) -> None:
    model = tiny_model(vocab_size=tokenizer.vocab_size, output_bias=True)
    with torch.no_grad():
        model.target_embedding.bias[EOS] = 50.0
    held = translator([model], tokenizer, beam_size=beam_size, min_output_tokens=6).translate_all(LINES)
    assert [len(one.tokens) for one in held] == [6 if line else 0 for line in LINES]


def test_models_decide_together(models: list[Transformer], tokenizer: Tokenizer) -> None:
    """A model with itself is the model; with another it is another one, whatever their order."""
    two = [*models, tiny_model(seed=1, vocab_size=tokenizer.vocab_size)]
    alone = translator(models, tokenizer).translate_all(LINES)
    twice = translator(models * 2, tokenizer).translate_all(LINES)
    both, swapped = (translator(order, tokenizer).translate_all(LINES) for order in (two, two[::-1]))
    assert [one.tokens for one in twice] == [one.tokens for one in alone]
    assert [one.tokens for one in both] == [one.tokens for one in swapped]
    assert [one.tokens for one in both] != [one.tokens for one in alone]


# ---------------------------------------------------------------------------- word alignments


def test_links_go_to_the_word_with_the_most_attention() -> None:
    attention = torch.tensor([[0.3, 0.1, 0.25, 0.35], [0.4, 0.3, 0.2, 0.1], [0.0, 0.0, 0.4, 0.6], [0.9, 0.1, 0.0, 0.0]])
    # The second word has two subwords on either side; the last column and the last row are those of EOS.
    links = word_alignment(attention, source_words=[0, 1, 1], target_words=[0, 1, 1])
    assert links == [(1, 0), (1, 1)]
    assert word_alignment(attention, source_words=[4, 7, 9], target_words=[2, 2, 3]) == [(4, 2), (9, 3)]
    assert word_alignment(attention, source_words=[], target_words=[0]) == []
    assert pharaoh(links) == "1-0 1-1"


WORDY = ["a small dog", "  two   spaces ", "Ähnlich wie\u00a0dies\u3000und das", "😀 ok", "日本 語"]
ODD = ["½ ﷺ x", "\u200b", " ", "a▁b", "\x1c", "\ud800 x"]


@pytest.mark.parametrize("text", WORDY + ODD)
def test_words_of_subwords_are_the_words_of_the_text(tokenizer: Tokenizer, text: str) -> None:
    """As many words as spaces separate, each subword's own letters in its word."""
    subwords, words = tokenizer.subwords(tokenizer.encode(text)), tokenizer.words_of_text(text)
    assert len(words) == len(subwords)
    assert words == sorted(words)
    if text in WORDY:
        assert sorted(set(words)) == list(range(len(text.split())))
    ids = tokenizer.encode(text)
    back = tokenizer.words_of_output(ids)
    assert len(back) == len(ids) or not tokenizer.decode(ids).split()
    assert max(back, default=-1) < max(1, len(tokenizer.decode(ids).split()))


def test_alignments_name_words_of_line_and_text(models: list[Transformer], tokenizer: Tokenizer) -> None:
    """Each word of the translation has one link; of segments, into the words of the whole line."""
    line = "  " + " ".join(WORDS)
    for longest in (60, 8):
        aligned = translator(models, tokenizer, alignments=True, num_hypotheses=2, max_source_tokens=longest)
        [plain] = translator(models, tokenizer, max_source_tokens=longest).translate([line])
        [empty, translation] = aligned.translate_all(["", line])
        assert empty.alignment == []
        assert (translation.text, translation.tokens) == (plain.text, plain.tokens)
        assert translation.segments == (1 if longest == 60 else plain.segments)
        for one in (translation, *translation.others):
            assert one.alignment is not None
            assert sorted({target for _, target in one.alignment}) == list(range(len(one.text.split())))
            assert all(0 <= source < len(WORDS) for source, _ in one.alignment)
    assert plain.segments > 2
    assert max(source for source, _ in translation.alignment or []) > len(WORDS) // 2


def test_alignments_are_a_sentence_s_own_with_several_threads(models: list[Transformer], tokenizer: Tokenizer) -> None:
    """Searches that run side by side read the attention of the same model."""
    lines = [" ".join(WORDS[start : start + length]) for start in range(4) for length in range(1, 9)]
    alone = translator(models, tokenizer, alignments=True).translate_all(lines)
    together = translator(models, tokenizer, alignments=True, threads=4, batch_tokens=64)
    for _ in range(2):
        for ours, own in zip(together.translate_all(lines), alone, strict=True):
            assert (ours.text, ours.alignment) == (own.text, own.alignment)


# ---------------------------------------------------------------------------- probabilities


@torch.inference_mode()
@pytest.mark.parametrize("members", [1, 2])
def test_probabilities_are_those_by_which_the_search_decided(members: int, tokenizer: Tokenizer) -> None:
    """Their product and the probability of EOS give the score, of an ensemble too."""
    models = [tiny_model(seed=seed, vocab_size=tokenizer.vocab_size) for seed in range(members)]
    probable = translator(models, tokenizer, probabilities=True, length_penalty=0.0, num_hypotheses=2)
    *found, empty = probable.translate_all([*LINES[:4], ""])
    assert empty.probabilities == []
    for line, best in zip(LINES, found, strict=False):
        for one in (best, *best.others):
            assert one.probabilities is not None
            assert len(one.probabilities) == len(one.text.split()) > 0
            source = torch.tensor([[*tokenizer.encode(line), EOS]])
            logits = torch.stack([model(source, torch.tensor([[BOS, *one.tokens]]))[0, -1] for model in models])
            end = float(logits.softmax(dim=-1).mean(dim=0)[EOS])
            assert math.log(math.prod(one.probabilities) * end) == pytest.approx(one.score, abs=1e-4)


def test_words_that_two_segments_share_have_one_probability() -> None:
    def of(text: str, *probabilities: float) -> list[Translation]:
        return [Translation(text, 0.0, [], probabilities=list(probabilities))]

    def joined(separator: str, *segments: list[Translation]) -> list[float] | None:
        return join(segments, separator=separator, aligned=False, probable=True).probabilities

    assert joined(" ", of("a b", 0.5, 0.25), of("c", 0.5)) == [0.5, 0.25, 0.5]
    assert joined("", of("a b", 0.5, 0.25), of("c d", 0.5, 1.0)) == [0.5, 0.125, 1.0]
    assert joined("", of("a", 0.5), of(""), of("c", 0.5)) == [0.25]
    assert joined(" ") == []
