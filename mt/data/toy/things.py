"""A thing said again: *it*, in German er, sie or es by the gender of the noun it stands for."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.adjuncts import counted
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.combining import two as joined_verbs
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, sex_pronoun
from mt.data.toy.reported import SAY, THINK, joined
from mt.data.toy.scenes import person
from mt.data.toy.times import habit_time, past_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import COLOURS, MANNERS, NO, THE, THEY, A


def it_for(phrase: NounPhrase) -> Pronoun:
    """The pronoun for a thing or an animal: it, in German er, sie or es by the gender of the noun."""
    if phrase.plural:
        return THEY
    forms = {"masculine": "er ihn ihm", "feminine": "sie sie ihr", "neuter": "es es ihm"}[phrase.noun.gender].split()
    return Pronoun("it", "it", *forms, 3, False, "its")  # type: ignore[call-arg,arg-type]


GOOD = (
    "big",
    "new",
    "good",
    "beautiful",
    "warm",
    "cheap",
    "interesting",
    "modern",
    "clean",
    "quiet",
    "fresh",
    "fast",
    "nice",
    "friendly",
    "clever",
    "funny",
    "small",
    "red",
    "blue",
    "green",
    "black",
    "white",
    "yellow",
)
BAD = (
    "old",
    "bad",
    "dirty",
    "boring",
    "expensive",
    "cold",
    "small",
    "difficult",
    "big",
    "dark",
    "short",
    "long",
    "empty",
    "hot",
)
LIKING = [
    entry(*name)
    for name in (
        ("like",),
        ("buy",),
        ("want",),
        ("take",),
        ("read",),
        ("wear",),
        ("eat", "essen"),
        ("need",),
        ("visit",),
        ("order",),
        ("drink",),
    )
]
LEAVING = [entry(*name) for name in (("sell",), ("wash",), ("clean",), ("repair",))]


def judged(choice: Choice, phrase: NounPhrase, words: tuple[str, ...]) -> Clause | None:
    """It is so, said of a thing."""
    options = [found for found in adjectives_of(phrase.noun) if found.english in words and found != phrase.adjective]
    if not options:
        return None
    found = choice.pick(options)
    degree = choice.pick(("", "", "", "very", "too", "a little") if words == BAD else ("", "", "", "very", "really"))
    if found.english in (*COLOURS, "empty"):
        degree = ""
    return Clause(it_for(phrase), BE, complements=(predicate(found, degree),))


def opinion(choice: Choice) -> Sentence:
    """I like the house because it is big. She has a new coat, but it is too small."""
    kind = choice.weighted((0.4, 0.2, 0.2, 0.2))
    form: Form = choice.pick(("present", "present", "past"))
    found = choice.rare(LEAVING if kind == 1 else LIKING)
    if kind == 2:
        found = entry("have") if choice.chance(0.5) else choice.pick((entry("buy"), entry("see"), entry("find")))
    body = verb_clause(choice, entry=found, rich=0, negation=0, form=form)
    thing = body.accusative
    if not isinstance(thing, NounPhrase) or thing.measure or thing.attached or thing.determiner == NO:
        return opinion(choice)
    if "human" in thing.noun.classes or body.middle or thing.noun.english in ("", "work", "time"):
        return opinion(choice)
    negative = kind == 0 and choice.chance(0.3) and thing.definite and not counted(body.subject)
    words = {"wash": ("dirty",), "clean": ("dirty",), "repair": ("old",)}.get(
        found.name, BAD if kind in (1, 2) or negative else GOOD
    )
    reason = judged(choice, thing, words)
    if reason is None or (kind != 2 and thing.determiner not in (THE, A) and not thing.definite):
        return opinion(choice)
    reason = replace(reason, form="past" if form == "past" else "present")
    body = replace(body, negated=negative)
    if kind == 3:
        return Phrase(
            f"{english.clause(body)} and {english.clause(reason)}",
            f"{german.clause(body, 'main')} und {german.clause(reason, 'main')}",
        ), "."
    thinker = sex_pronoun(body.subject)
    if kind == 2 and form == "present" and thinker is not None and choice.chance(0.4):
        outer = Clause(thinker, choice.pick((THINK, THINK, SAY)))
        told = joined(outer, Phrase(choice.pick(("that", "")), "dass"), *clauses_of(reason))
        return Phrase(
            f"{english.clause(body)}, but {told.english}", f"{german.clause(body, 'main')}, aber {told.german}"
        ), "."
    if kind == 2:
        return Phrase(
            f"{english.clause(body)}, but {english.clause(reason)}",
            f"{german.clause(body, 'main')}, aber {german.clause(reason, 'main')}",
        ), "."
    return Phrase(
        f"{english.clause(body)} because {english.clause(reason)}",
        f"{german.clause(body, 'main')}, weil {german.clause(reason, 'final')}",
    ), "."


def clauses_of(body: Clause) -> tuple[str, str]:
    """The clause in English, and in German with its verb at the end."""
    return english.clause(body), german.clause(body, "final")


HANDLED = (
    ("buy", "read", ("book", "newspaper")),
    ("learn", "speak", ("German", "English", "French")),
    ("find", "read", ("book", "newspaper", "letter")),
    ("cook", "eat", ("soup", "egg", "potato")),
    ("find", "take", ("key", "pen", "bag", "book")),
    ("open", "read", ("letter",)),
    ("take", "eat", ("apple", "cake")),
    ("write", "read", ("letter",)),
    ("wash", "eat", ("apple", "potato")),
    ("make", "drink", ("coffee", "tea")),
    ("order", "drink", ("wine", "beer", "juice", "water")),
    ("have", "love", ("dog", "cat", "house", "garden")),
    ("see", "like", ("car", "house", "dress", "dog")),
    ("repair", "sell", ("car", "bicycle", "computer")),
    ("buy", "wear", ("coat", "dress", "shirt", "hat")),
    ("lose", "look for", ("key", "pen", "bag", "hat")),
)


def handled(choice: Choice) -> Sentence:
    """He buys a newspaper and reads it: und liest sie."""
    if choice.chance(0.35):
        return passed_on(choice)
    first, second, words = choice.pick(HANDLED)
    who, _ = person(choice)
    thing = noun_phrase(choice, choice.rare(nouns_of(words)), "new" if choice.chance(0.6) else "given", who)
    if thing.owner or thing.measure or (thing.determiner.plural and choice.chance(0.6)):
        return handled(choice)
    pronoun = it_for(thing)
    past = choice.chance(0.45) and first != "have" and second not in ("love", "like", "speak")
    form: Form = "past" if past else "present"
    one = Clause(who, verb_of(first), form, accusative=thing)
    two = Clause(who, verb_of(second), form, accusative=pronoun)
    if second == "speak":
        manner = choice.pick((MANNERS["well"], MANNERS["badly"], Phrase("very well", "sehr gut")))
        two = replace(two, manner=manner if choice.chance(0.8) else None)
    groups = [frame.places for frame in entry(second, "essen" if second == "eat" else "").frames if frame.places]
    if groups and choice.chance(0.35):
        where = chosen_place(choice, groups[0], who)
        two = replace(two, complements=(where,) if where else ())
    if first in ("buy", "find", "order", "learn", "lose") and choice.chance(0.35):
        places = [frame.places for frame in entry(first).frames if frame.places]
        where = chosen_place(choice, places[0], who)
        one = replace(one, complements=(where,) if where else ())
    if choice.chance(0.35) and first != "have":
        one = replace(one, time=past_time(choice, long=False) if past else habit_time(choice, long=False))
    said = joined_verbs(one, two)
    if said.fronted and choice.chance(0.4):
        return Phrase(said.fronted, said.after_time), "."
    return Phrase(said.english, said.main), "."


PASSED_ON = (
    ("give", "eat", ("apple", "egg", "cake")),
    ("give", "read", ("book", "newspaper", "letter")),
    ("give", "drink", ("juice", "milk", "water", "tea")),
    ("send", "read", ("letter",)),
    ("buy", "wear", ("hat", "coat", "dress", "shirt")),
    ("show", "buy", ("house", "car", "bicycle", "picture")),
    ("give", "lose", ("key", "pen", "bag", "hat")),
    ("bring", "drink", ("wine", "beer", "coffee")),
)


def passed_on(choice: Choice) -> Sentence:
    """The woman gave the boy a red apple and he ate it: und er hat ihn gegessen."""
    first, second, words = choice.pick(PASSED_ON)
    who, _ = person(choice)
    receiver, pronoun = person(choice)
    thing = noun_phrase(choice, choice.rare(nouns_of(words)), "new" if choice.chance(0.7) else "given", who)
    several = isinstance(receiver, NounPhrase) and not receiver.definite
    if who == receiver or several or thing.owner or thing.measure or thing.determiner.plural or receiver.person == 1:
        return passed_on(choice)
    if sex_pronoun(who) == pronoun:
        return passed_on(choice)
    one = Clause(who, verb_of(first), "past", accusative=thing, dative=receiver)
    two = Clause(pronoun, verb_of(second), "past", accusative=it_for(thing))
    joint = (
        choice.pick((Phrase(" and", " und"), Phrase(", but", ", aber"))) if second == "lose" else Phrase(" and", " und")
    )
    return Phrase(
        f"{english.clause(one)}{joint.english} {english.clause(two)}",
        f"{german.clause(one, 'main')}{joint.german} {german.clause(two, 'main')}",
    ), "."


def verb_of(name: str):  # type: ignore[no-untyped-def]
    """The verb, of people."""
    return entry(name, "essen" if name == "eat" else "").verb
