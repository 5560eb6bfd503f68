"""Statements and requests: the plain clause, two subjects or objects, liking, wishing, asking for something."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.adjuncts import denied
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Clause, Coordination, Name, Nominal, NounPhrase, Phrase, Sentence
from mt.data.toy.likings import LIKED, liking_clause
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import AND, joined_objects
from mt.data.toy.phrases import noun_phrase, subject
from mt.data.toy.predicates import any_clause
from mt.data.toy.verbs import BE, ENTRIES, entry
from mt.data.toy.words import (
    BARE,
    HE,
    NAMES,
    NO,
    POSSESSIVES,
    SHE,
    THEY,
    WE,
    WOULD_LIKE,
    YOU,
    A,
    I,
)

PERSONS = ("adult", "human", "young", "feeling")
LISTED = [
    found
    for found in ENTRIES
    if any(frame.accusative for frame in found.frames) and found.verb.german != "fressen" and found.name != "put"
]
EVERYDAY = [*LIKED, *(entry(name) for name in ("see", "buy", "have", "need", "come", "ask", "give", "find"))]
GIVING = [found for found in ENTRIES if any(frame.dative and frame.accusative for frame in found.frames)]


def plain(body: Clause, *, front: bool = False) -> Phrase:
    """The clause as a statement, with its time first or in its place."""
    if not front or body.time is None:
        return Phrase(english.clause(body), german.clause(body, "main"))
    return Phrase(
        english.clause(body, front_time=True), german.clause(body, "main", front=body.time.german, without="time")
    )


def statement(choice: Choice) -> Sentence:
    """A main clause; where the time comes first, German puts the verb before the subject."""
    body = any_clause(choice)
    return plain(body, front=choice.chance(0.3)), "."


def short_statement(choice: Choice) -> Sentence:
    """The dog sleeps. We drank coffee yesterday."""
    return plain(any_clause(choice, rich=0.08)), "."


def paradigm(choice: Choice) -> Sentence:
    """A verb in one of its persons in the present: I bring, you bring."""
    body = verb_clause(
        choice,
        who=choice.rare((I, YOU, I, YOU, HE, SHE, WE, THEY)),
        rich=0.12,
        form="present",
        entry=choice.rare([found for found in ENTRIES if found.frames[0].subjects[0] in PERSONS]),
    )
    if choice.chance(0.15) and body.subject not in (I, WE) and not body.negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def everyday(choice: Choice) -> Sentence:
    """Somebody does what people do every day: She has eaten. We are reading."""
    found = choice.rare(EVERYDAY)
    who = choice.rare((I, YOU, HE, SHE, WE, THEY)) if choice.chance(0.5) else None
    return plain(verb_clause(choice, entry=found, who=who, rich=0.2)), "."


def giving(choice: Choice) -> Sentence:
    """Somebody gives somebody something, with both objects in their cases."""
    return plain(verb_clause(choice, entry=choice.rare(GIVING), rich=0.1)), "."


def two_subjects(choice: Choice) -> Sentence:
    """My brother and Anna are dancing."""
    first: Nominal = choice.pick(NAMES)
    kin = noun_phrase(choice, choice.rare(nouns_of(("kin", "friend", "neighbour"))), "subject", adjective=0)
    second: Nominal = kin if choice.chance(0.6) else choice.pick([name for name in NAMES if name != first])
    if isinstance(second, NounPhrase) and choice.chance(0.5):
        first, second = second, first
    if isinstance(first, NounPhrase) and first.owner:
        first = replace(first, owner=None, determiner=POSSESSIVES["my"])
    assert isinstance(first, Name | NounPhrase)
    assert isinstance(second, Name | NounPhrase)
    pair = Coordination(first, second, AND)
    while True:
        found = choice.rare(ENTRIES)
        if found.frames[0].subjects[0] in ("adult", "human"):
            body = verb_clause(choice, entry=found, who=pair, rich=0.2, negation=0)
            return plain(body), "."


def two_objects(choice: Choice) -> Sentence:
    """I buy bread and milk. She speaks German, English and French. They have no eggs and no milk."""
    while True:
        found = choice.rare(LISTED)
        body = verb_clause(choice, entry=found, rich=0.2, negation=0)
        frame = choice.pick([frame for frame in found.frames if frame.accusative])
        mode = choice.pick(("any", "known", "generic", "generic")) if frame.objects == "any" else frame.objects
        pair = joined_objects(choice, frame.accusative, mode, body.subject)
        if pair is None or body.accusative is None:
            continue
        body = replace(body, accusative=denied(pair) if choice.chance(0.12) and not body.middle else pair)
        if choice.chance(0.15) and body.subject.person != 1 and body.middle is None:
            return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
        return plain(body), "."


def liking(choice: Choice) -> Sentence:
    """She likes to swim: Sie schwimmt gern. Do you like reading?"""
    body = liking_clause(choice)
    if choice.chance(0.2) and not body.negated and body.subject.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def wish(choice: Choice) -> Sentence:
    """I would like a cup of tea. Do they want a new car?"""
    who = subject(choice, ("adult",))
    wanted = entry("buy") if choice.chance(0.5) else entry("drink")
    thing = verb_clause(choice, entry=wanted, who=who, rich=0, negation=0)
    while (
        thing.accusative is None
        or thing.dative
        or isinstance(thing.accusative, Name)
        or (isinstance(thing.accusative, NounPhrase | Coordination) and thing.accusative.definite)
        or no_wish(thing.accusative)
    ):
        thing = verb_clause(choice, entry=wanted, who=who, rich=0, negation=0)
    body = wished(who, thing.accusative)
    if choice.chance(0.25) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def wished(who: Nominal, thing: Nominal) -> Clause:
    """Somebody would like something: möchte, without a verb."""
    nothing = replace(BE, english="", german="", particle="")
    return Clause(who, nothing, "modal", replace(WOULD_LIKE, english="would like"), accusative=thing)


def no_wish(phrase: Nominal) -> bool:
    """Whether the phrase says no: one does not wish for it."""
    return (isinstance(phrase, NounPhrase) and phrase.determiner == NO) or (
        isinstance(phrase, Coordination) and no_wish(phrase.first)
    )


PLEASE = Phrase("please", "bitte")
REQUESTS = frozenset(
    """open, close, turn on, turn off, read, come, go, wait, sing, help, bring, give, show, wash, clean, buy,
take, eat, drink, call, ask, learn, write, get up, sit down, stay, put on, tell, pick up, look for, cook, forget, sleep, work,
play, visit, invite, put, take off""".replace("\n", " ").split(", ")
)
REQUESTED = [
    found
    for found in ENTRIES
    if found.name in REQUESTS and found.verb.german not in ("fressen", "fahren", "funktionieren")
]

TO_ME = [entry(name) for name in ("bring", "give", "show", "tell")]


def request(choice: Choice) -> Sentence:
    """Open the window! Please bring me the book. Do not forget your key!"""
    wanted = choice.rare(TO_ME) if choice.chance(0.15) else choice.rare(REQUESTED)
    body = verb_clause(choice, entry=wanted, who=YOU, rich=0.15, negation=0)
    while any(phrase.english.startswith("from ") for phrase in body.complements) or awkward(body):
        body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.15, negation=0)
    if wanted in TO_ME and body.verb == wanted.verb and body.accusative:
        body = replace(body, dative=choice.pick((I, I, WE)), receiver_last=False)
    negated = body.verb.english == "forget" or (choice.chance(0.12) and body.manner is None)
    body = replace(body, form="present", modal=None, middle=None, time=None, hour=None, negated=negated)
    spoken, told = english.imperative(body), german.imperative(body)
    if not negated and choice.chance(0.15):
        return Phrase(f"{spoken}, please", german.imperative(replace(body, middle=PLEASE))), choice.pick("!.")
    if not negated and choice.chance(0.35):
        return Phrase(f"please {spoken}", f"bitte {told}"), "."
    return Phrase(spoken, told), "!"


def awkward(body: Clause) -> bool:
    """Requests for things there are some or many of, which *not* would make ambiguous."""
    thing = body.accusative
    if not isinstance(thing, NounPhrase):
        return isinstance(thing, Coordination)
    return not thing.definite and thing.determiner not in (A, BARE)
