"""The toy corpus: clauses of two times, two deeds of one person, relative clauses that leave a preposition behind."""

import re

import pytest
from toy_pairs import generated

from mt.data.toy import english, german
from mt.data.toy.combining import BUT, two
from mt.data.toy.features import Clause, Form, Name, NounPhrase, Phrase, Relative
from mt.data.toy.nouns import NOUNS
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import BARE, CAN, HE, MUST, THE, THEY, WANT, I

ANNA = Name("Anna", "her")
SUNDAY, BEFORE_SEVEN = Phrase("on Sunday", "am Sonntag"), Phrase("before seven", "vor sieben")


@pytest.mark.parametrize(
    ("negated", "told"),
    [(False, "sie stehen am Sonntag vor sieben auf"), (True, "sie stehen am Sonntag nicht vor sieben auf")],
)
def test_the_hour_stands_behind_not(negated: bool, told: str) -> None:
    """The day before not, the hour behind it."""
    body = Clause(THEY, entry("get up").verb, negated=negated, time=SUNDAY, hour=BEFORE_SEVEN)
    assert german.clause(body, "main") == told


def test_an_hour_alone_stands_behind_not_but_before_a_predicate() -> None:
    """Nicht um acht kommen, but: um acht nicht zu Hause sein."""
    eight = Phrase("at eight", "um acht")
    coming = Clause(I, entry("come").verb, negated=True, time=eight)
    being = Clause(I, BE, negated=True, complements=(Phrase("at home", "zu Hause"),), time=eight)
    assert german.clause(coming, "main") == "ich komme nicht um acht"
    assert german.clause(being, "main") == "ich bin um acht nicht zu Hause"


def test_english_says_the_two_times_in_either_order() -> None:
    """On Sunday before seven, before seven on Sunday; before the clause only the day."""
    body = Clause(THEY, entry("get up").verb, time=SUNDAY, hour=BEFORE_SEVEN)
    late = Clause(THEY, entry("get up").verb, time=SUNDAY, hour=BEFORE_SEVEN, hour_first=True)
    assert english.clause(body) == "they get up on Sunday before seven"
    assert english.clause(late) == "they get up before seven on Sunday"
    assert english.clause(body, front_time=True) == "on Sunday they get up before seven"


BREAD = NounPhrase(NOUNS["bread"], BARE)


@pytest.mark.parametrize(
    ("form", "spoken", "finals"),
    [
        ("present", "Anna buys bread and sleeps", ("kauft Brot und schläft", "Brot kauft und schläft")),
        ("past", "Anna bought bread and slept", ("hat Brot gekauft und geschlafen", "Brot gekauft und geschlafen hat")),
        ("progressive", "Anna is buying bread and sleeping", ("kauft Brot und schläft", "Brot kauft und schläft")),
        ("future", "Anna will buy bread and sleep", ("wird Brot kaufen und schlafen", "Brot kaufen und schlafen wird")),
    ],
)
def test_two_deeds_share_their_auxiliary(form: Form, spoken: str, finals: tuple[str, str]) -> None:
    """What both verbs share is said once, in German at the end of a subordinate clause."""
    buying = Clause(ANNA, entry("buy").verb, form, accusative=BREAD)
    said = two(buying, Clause(ANNA, entry("sleep").verb, form))
    assert said.english == spoken
    assert (said.main, said.final) == tuple(f"Anna {words}" for words in finals)


def test_haben_and_sein_are_both_said() -> None:
    """Hat Brot gekauft und ist gegangen."""
    buying = Clause(ANNA, entry("buy").verb, "past", accusative=BREAD)
    said = two(buying, Clause(ANNA, entry("go", "gehen").verb, "past", complements=(Phrase("home", "nach Hause"),)))
    assert said.main == "Anna hat Brot gekauft und ist nach Hause gegangen"
    assert said.final == "Anna Brot gekauft hat und nach Hause gegangen ist"


def test_a_deed_and_what_one_cannot_do_share_nothing() -> None:
    """Has lost it and cannot go; works, but does not sleep; must work and wants to sleep."""
    working, sleeping = entry("work").verb, entry("sleep").verb
    cannot = two(Clause(ANNA, working, "perfect"), Clause(ANNA, sleeping, "modal", CAN, negated=True))
    assert (cannot.english, cannot.main) == (
        "Anna has worked and cannot sleep",
        "Anna hat gearbeitet und kann nicht schlafen",
    )
    but = two(Clause(ANNA, working), Clause(ANNA, sleeping, negated=True), BUT)
    assert (but.english, but.main) == ("Anna works, but does not sleep", "Anna arbeitet, schläft aber nicht")
    calling = two(Clause(ANNA, working), Clause(ANNA, entry("call").verb, accusative=HE, negated=True), BUT)
    assert calling.main == "Anna arbeitet, ruft ihn aber nicht an"
    wants = two(Clause(ANNA, working, "modal", MUST), Clause(ANNA, sleeping, "modal", WANT))
    assert (wants.english, wants.final) == (
        "Anna must work and wants to sleep",
        "Anna arbeiten muss und schlafen will",
    )


@pytest.mark.parametrize("pronoun", ["", "that", "who"])
def test_the_preposition_left_at_the_end_goes_before_the_german_pronoun(pronoun: str) -> None:
    """The woman you wait for: die Frau, auf die du wartest."""
    verb = entry("wait").verb
    body = Clause(ANNA, type(verb)(**{**vars(verb), "english_rest": "for"}))
    relative = Relative(body, "prepositional", Phrase("", "auf"), bare=not pronoun, pronoun=pronoun, case="accusative")
    woman = NounPhrase(NOUNS["woman"], THE, relative=relative)
    assert english.nominal(woman) == " ".join(f"the woman {pronoun} Anna waits for".split())
    assert german.nominal(woman, "nominative") == "die Frau, auf die Anna wartet,"


def test_must_not_is_darf_nicht() -> None:
    """The negated must, which never comes out as muss nicht."""
    pairs = generated(seed=3, train_pairs=4_000, validation_pairs=0, test_pairs=0)["train"]
    forbidden = [target for source, target in pairs if "must not" in source and "?" not in source]
    assert forbidden
    assert all(re.search(r"\b(darf|darfst|dürfen)\b", target) for target in forbidden)
