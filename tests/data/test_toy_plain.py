"""The toy corpus: what people say plainly, with the rules of German that it needs."""

import re

import pytest
from toy_pairs import generated

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.daily import daily_reason, told
from mt.data.toy.features import Case, Clause, Name, NounPhrase, Phrase
from mt.data.toy.nouns import NOUNS
from mt.data.toy.ones import one_like
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.selecting import one_out
from mt.data.toy.verbs import entry
from mt.data.toy.words import ADJECTIVE, HABITS, POSSESSIVES, THE, THESE, A

ANNA = Name("Anna", "her")
NEWSPAPER = NounPhrase(NOUNS["newspaper"], THE)


@pytest.mark.parametrize(
    ("habit", "end"), [("always", "immer die Zeitung"), ("often", "oft die Zeitung"), ("never", "die Zeitung nie")]
)
def test_always_stands_before_the_known_object_and_never_behind_it(habit: str, end: str) -> None:
    """Immer die Zeitung, but: die Zeitung nie."""
    middle = next(phrase for phrase in HABITS if phrase.english == habit)
    body = Clause(ANNA, entry("read").verb, accusative=NEWSPAPER, middle=middle)
    assert german.clause(body, "main") == f"Anna liest {end}"


@pytest.mark.parametrize(
    ("spoken", "short"),
    [
        ("why did your little brother not call me", "why didn't your little brother call me"),
        ("are you not ready", "aren't you ready"),
        ("why can Anna not come", "why can't Anna come"),
        ("I know that you did not come", "I know that you didn't come"),
    ],
)
def test_a_negated_question_is_contracted_as_it_is_spoken(spoken: str, short: str) -> None:
    """The not moves to the verb before the subject."""
    assert english.contracted(spoken) == short


@pytest.mark.parametrize(
    ("noun", "case", "said"),
    [
        ("shirt", "nominative", "eins"),
        ("shirt", "accusative", "eins"),
        ("coat", "accusative", "einen"),
        ("bag", "dative", "einer"),
    ],
)
def test_one_takes_the_endings_of_its_noun(noun: str, case: Case, said: str) -> None:
    """One, for a shirt: eins; for a coat: einen."""
    assert one_like(NounPhrase(NOUNS[noun], A), case) == Phrase("one", said)


def test_a_thing_is_told_from_others_without_its_noun() -> None:
    """The blue one, a red one; one of my friends, which of these shirts."""
    blue = NounPhrase(NOUNS["dress"], THE, adjective=ADJECTIVE["blue"])
    red = NounPhrase(NOUNS["coat"], A, adjective=ADJECTIVE["red"])
    assert one_like(blue, "accusative") == Phrase("the blue one", "das blaue")
    assert one_like(red, "accusative") == Phrase("a red one", "einen roten")
    friends = NounPhrase(NOUNS["friend"], POSSESSIVES["my"], plural=True)
    shirts = NounPhrase(NOUNS["shirt"], THESE, plural=True)
    assert german.nominal(one_out(Phrase("one", "ein"), friends, "accusative"), "accusative") == "einen meiner Freunde"
    assert one_out(Phrase("which", "welch"), shirts, "nominative").german == "welches dieser Hemden"


def test_glasses_that_one_wears_are_somebodys_and_one_pair() -> None:
    """My glasses: meine Brille; never the glasses, which one drinks from."""
    choice = Choice(1)
    phrases = [noun_phrase(choice, NOUNS["glasses"], mode) for mode in ("any", "known", "new") for _ in range(10)]
    assert {phrase.determiner in POSSESSIVES.values() for phrase in phrases} == {True}
    assert german.nominal(NounPhrase(NOUNS["glasses"], POSSESSIVES["my"]), "accusative") == "meine Brille"


def test_only_what_must_not_be_done_is_darf() -> None:
    """Must and must: muss; a negated first deed leaves the second as it is."""
    choice = Choice(4)
    for _ in range(300):
        said = told(choice, ANNA, "modal", double=1.0)
        assert len(re.findall(r"\bmust not\b", said.english)) == len(re.findall(r"\bdarf\b", said.main)), said


def test_what_one_had_to_do_has_no_condition_in_the_present() -> None:
    """He had to go when it rained, als; never: he had to go when it rains, wenn."""
    choice = Choice(5)
    said = [daily_reason(choice)[0].german for _ in range(1500)]
    conditional = [text for text in said if re.search(r"\bwenn\b", text, re.IGNORECASE)]
    assert len(conditional) > 100
    assert [text for text in conditional if re.search(r"\b(muss|woll|konn)te", text)] == []


def test_plain_words_are_in_the_corpus() -> None:
    """What these sentences need is said often enough to be learned."""
    text = "\n".join(f"{source}\t{target}" for source, target in generate_some())
    for english_words, german_words in (
        (r"my glasses", "meine Brille"),
        (r"\bleft \w+ \w+ ", "vergessen"),
        (r"\boutside\b", "draußen"),
        (r"near here", "hier in der Nähe"),
        (r"(any|no)(body|one)\b", "niemand"),
        (r"getting (dark|late|cold)", "wird (dunkel|spät|kalt)"),
    ):
        found = [line for line in text.split("\n") if re.search(english_words, line.split("\t")[0])]
        assert any(re.search(german_words, line.split("\t")[1]) for line in found), english_words


def generate_some() -> list[tuple[str, str]]:
    """Enough pairs that no construction is missing."""
    return generated(seed=2, train_pairs=5000, validation_pairs=0, test_pairs=0)["train"]
