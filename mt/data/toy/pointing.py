"""Which thing or person is meant, told at the end: Have you read the letter that my sister sent me?"""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, verb_clause
from mt.data.toy.daily import deed
from mt.data.toy.features import Clause, Form, Nominal, Noun, NounPhrase, Phrase, Pronoun, Relative, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import object_pronoun, with_adjective
from mt.data.toy.relatives import NEAR_US
from mt.data.toy.scenes import person
from mt.data.toy.verbs import BE, Entry, entry
from mt.data.toy.words import ALREADY, THE, YOU, I

# What one does with a thing or a person that needs to be pointed out.
DONE = [
    entry(name)
    for name in """read, eat, drink, find, buy, sell, wear, see, look for, forget, lose, like, know, visit, take, open, answer, wash,
    repair, watch, need, help, call, invite, meet, ask, clean, understand""".replace("\n    ", " ").split(", ")
]
# How it came to be known.
KNOWN_BY = [
    entry(name)
    for name in ("buy", "find", "write", "make", "see", "give", "send", "bring", "show", "lose", "forget", "order")
]
RECEIVED = ("give", "send", "bring", "show", "make", "write")
MISSING = Pronoun("who", "who", "wer", "wen", "wem", 3, False, "")
TENSES: tuple[Form, ...] = ("present", "progressive", "past", "past", "perfect")


def pointing(choice: Choice) -> Sentence:
    """Who ate the cake that was on the table? I know the man who lives next to us."""
    found: Entry = choice.rare(DONE)
    kind = choice.weighted((0.5, 0.3, 0.2))
    who: Nominal = (person(choice)[0], YOU, MISSING)[kind]
    form = choice.pick(TENSES)
    if form == "progressive" and (found.verb.stative or found.name in ("find", "lose", "forget")):
        return pointing(choice)
    body = verb_clause(choice, entry=found, who=who, rich=0, negation=0.12 if kind < 2 else 0, form=form)
    asked_of_many = "dative" if found.name in ("help", "answer") and body.dative else "accusative"
    target = body.dative if asked_of_many == "dative" else body.accusative
    other = body.accusative if asked_of_many == "dative" else body.dative
    if (
        not isinstance(target, NounPhrase)
        or other
        or body.middle
        or body.complements
        or "kin" in target.noun.classes
        or target.noun.mass
    ):
        return pointing(choice)
    bare = NounPhrase(target.noun, THE, target.plural and "human" not in target.noun.classes)
    relative = described_by(choice, bare, body)
    if relative is None:
        return pointing(choice)
    bare = replace(with_adjective(choice, bare, 0.2), intensified=False)
    body = replace(body, dative=bare) if asked_of_many == "dative" else replace(body, accusative=bare)
    if form == "perfect" and kind == 1:
        body = replace(body, middle=ALREADY if choice.chance(0.4) else None, negated=False)
    asks = kind == 1
    if asks and body.negated:
        return pointing(choice)
    spoken = english.clause(body, question=asks)
    deutsch = german.clause(body, "question" if asks else "main")
    rest = Phrase(english.relative_clause(bare, relative), german.relative_clause(bare, relative))
    return Phrase(f"{spoken} {rest.english}", f"{deutsch}, {rest.german}"), "." if kind == 0 else "?"


def described_by(choice: Choice, bare: NounPhrase, body: Clause) -> Relative | None:
    """The clause that points the thing out: that was on the table, that I bought yesterday, who lives next to us."""
    if "human" in bare.noun.classes:
        if choice.chance(0.3):
            return Relative(Clause(bare, entry("live").verb, complements=(choice.pick(NEAR_US),)), "subject")
        form: Form = choice.pick(("present", "progressive", "past", "past"))
        return Relative(
            deed(choice, bare, form, rich=0.3, plain=True), "subject", pronoun=choice.pick(("", "", "that"))
        )
    places = "thing_at" if "portable" in bare.noun.classes else "building_at" if "building" in bare.noun.classes else ""
    if places and choice.chance(0.4):
        where = chosen_place(choice, places, bare)
        past = body.form in ("past", "perfect") and places == "thing_at"
        if where is None:
            return None
        return Relative(Clause(bare, BE, "past" if past else "present", complements=(where,)), "subject")
    options = [found for found in KNOWN_BY if takes(found, bare.noun) and found.verb.german != body.verb.german]
    if not options:
        return None
    return given(choice, bare, body, choice.pick(options))


def given(choice: Choice, bare: NounPhrase, body: Clause, found: Entry) -> Relative:
    """That you gave me, that we bought yesterday."""
    who, _ = person(choice)
    if who == body.subject or who.person == 2 == body.subject.person:
        who = I
    inner = Clause(who, found.verb, choice.pick(("past", "past", "past", "perfect")), accusative=bare)
    if found.name in RECEIVED and (found.name in RECEIVED[:4] or choice.chance(0.3)):
        inner = replace(inner, dative=object_pronoun(choice, who))
    elif inner.form == "past" and choice.chance(0.4):
        inner = replace(inner, time=choice.pick(WHEN))
    return Relative(inner, "accusative", bare=choice.chance(0.35), pronoun=choice.pick(("", "that")))


def takes(found: Entry, noun: Noun) -> bool:
    """Whether one can do it with the thing."""
    return any(noun in nouns_of(frame.accusative) for frame in found.frames if frame.accusative)


WHEN = (
    Phrase("yesterday", "gestern"),
    Phrase("last week", "letzte Woche"),
    Phrase("this morning", "heute Morgen"),
    Phrase("yesterday evening", "gestern Abend"),
    Phrase("on Saturday", "am Samstag"),
)
