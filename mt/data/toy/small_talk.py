"""Small talk: what a beautiful garden, isn't it, I am sorry, and the name at the end."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, sex_pronoun
from mt.data.toy.predicates import any_clause
from mt.data.toy.questions import askable, when_why, whom_what, yes_no
from mt.data.toy.questions import where as where_question
from mt.data.toy.remarks import doing, polite
from mt.data.toy.statements import plain, request
from mt.data.toy.talk import what_one_wants
from mt.data.toy.times import past_time, phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import (
    BARE,
    CAN,
    IT,
    NAMES,
    NEVER,
    NEVER_YET,
    NO,
    PRONOUNS,
    THEY,
    WE,
    YOU,
    A,
    I,
)

EXCLAIMED = (
    *(
        "clothes",
        "house",
        "flat",
        "garden",
        "room",
        "flower",
        "picture",
        "pet",
        "city",
        "village",
        "lake",
        "beach",
        "park",
    ),
    *("story", "film", "book", "song", "game", "present", "restaurant", "hotel", "cake", "road", "question", "name"),
)

TELLING = (
    "beautiful",
    "nice",
    "big",
    "small",
    "funny",
    "interesting",
    "boring",
    "good",
    "bad",
    "expensive",
    "difficult",
    "clever",
    "old",
)


def exclamation(choice: Choice) -> Sentence:
    """What a beautiful garden! Was für ein schöner Garten! What big dogs you have: Was für große Hunde du hast!"""
    while True:
        noun = choice.rare(nouns_of(EXCLAIMED))
        options = [found for found in adjectives_of(noun) if found.english in TELLING]
        if options:
            break
    plural = bool(noun.english_plural) and choice.chance(0.3)
    thing = NounPhrase(noun, BARE if plural else A, plural, choice.pick(options))
    if choice.chance(0.6) and "owned" in noun.classes:
        who = choice.pick((YOU, YOU, YOU, THEY))
        have = german.clause(Clause(who, entry("have").verb), "final")
        return Phrase(
            f"what {english.nominal(thing)} {who.english} have", f"was für {german.nominal(thing, 'accusative')} {have}"
        ), "!"
    return Phrase(f"what {english.nominal(thing)}", f"was für {german.nominal(thing, 'nominative')}"), "!"


NEGATED_TAGS = {"will": "won't", "can": "can't", "am": "aren't"}


def tagged(choice: Choice) -> Sentence:
    """You like coffee, don't you? It isn't cold, is it? In German both times: oder?"""
    while True:
        body = any_clause(choice, rich=0.15, negation=0.3)
        pronoun = sex_pronoun(body.subject) if not isinstance(body.subject, NounPhrase) else tag_pronoun(body.subject)
        auxiliary, _ = english.verb_group(body, need_auxiliary=True)
        known = pronoun in PRONOUNS and body.middle not in (NEVER, NEVER_YET)
        if (
            known
            and body.subject.person != 1
            and askable(replace(body, negated=False))
            and auxiliary not in ("may", "must", "")
        ):
            break
    assert pronoun is not None
    tag = auxiliary if body.negated else NEGATED_TAGS.get(auxiliary, f"{auxiliary}n't")
    said = plain(body)
    return Phrase(f"{said.english}, {tag} {pronoun.english}", f"{said.german.rstrip(',')}, oder"), "?"


def tag_pronoun(phrase: NounPhrase) -> Pronoun | None:
    """The pronoun of an English tag: things are it, animals too."""
    return THEY if phrase.plural else sex_pronoun(phrase) or (None if "human" in phrase.noun.classes else IT)


def sorry(choice: Choice) -> Sentence:
    """I'm sorry, I have no time today: Es tut mir leid, ich habe heute keine Zeit. I'm sorry that I forgot your birthday."""
    we = choice.pick((I, I, I, WE))
    be, leid = ("am", "es tut mir leid") if we == I else ("are", "es tut uns leid")
    kind = choice.weighted((0.35, 0.25, 0.4))
    if kind == 0:
        time = choice.pick(
            phrases("today/heute, tomorrow/morgen, tonight/heute Abend, this weekend/dieses Wochenende, now/jetzt")
        )
        thing = NounPhrase(NOUNS[choice.pick(("time", "time", "money"))], NO)
        body = Clause(we, entry("have").verb, accusative=thing, time=time if thing.noun.english == "time" else None)
    else:
        form: Form = "modal" if kind == 1 else choice.pick(("past", "present", "past"))
        while True:
            body = verb_clause(choice, who=we, rich=0.3, negation=1 if form != "present" else 0.5, form="present")
            unable = form == "modal" and body.verb.stative
            if body.negated and body.form == "present" and not body.middle and not unable:
                break
        body = replace(body, form=form, modal=CAN if form == "modal" else None)
        if form == "past":
            body = replace(body, time=past_time(choice, long=False) if choice.chance(0.3) else None)
    joint = choice.weighted((0.45, 0.35, 0.2))
    spoken = f"{we.english} {be} sorry"
    if joint == 2:
        return Phrase(f"{spoken} that {english.clause(body)}", f"{leid}, dass {german.clause(body, 'final')}"), "."
    but, aber = ((", ", ", "), (", but ", ", aber "))[joint]
    return Phrase(f"{spoken}{but}{english.clause(body)}", f"{leid}{aber}{german.clause(body, 'main')}"), "."


def addressed(choice: Choice) -> Sentence:
    """Why didn't you call me, Julia? Close the window, please, Tom! Who said that: the name at the end."""
    kinds = (yes_no, request, when_why, where_question, polite, doing, what_one_wants, whom_what)
    said, mark = choice.pick(kinds)(choice)
    name = choice.pick(NAMES).word
    if name in said.english:
        return addressed(choice)
    return Phrase(f"{said.english}, {name}", f"{said.german.rstrip(',')}, {name}"), mark
