"""Asking for things to be done with all that belongs to it: when, where, with whom, before what and if what."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.combining import Told, single
from mt.data.toy.daily import deed, told
from mt.data.toy.features import Clause, Coordination, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS
from mt.data.toy.scenes import effect_clause, person
from mt.data.toy.sequences import ASLEEP, circumstance
from mt.data.toy.statements import PLEASE, REQUESTED, TO_ME, awkward
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, CAN, POLITE, THE, WE, YOU, I

GOING = (
    *("go@to_bed", "go@to_work", "go@home", "go@to_school", "go shopping", "leave", "come@home", "get up", "eat"),
    *("come back", "go@to_bed", "sleep", "fall asleep"),
)
ASKED = [*REQUESTED, *TO_ME, *TO_ME]


def bidden(choice: Choice, *, rich: float = 0.45) -> Clause:
    """What one asks somebody to do: to buy bread at the supermarket after work."""
    while True:
        found = choice.rare(ASKED)
        body = verb_clause(choice, entry=found, who=YOU, rich=rich, negation=0, form="future")
        origin = any(phrase.english.startswith("from ") for phrase in body.complements)
        listed = isinstance(body.accusative, Coordination)
        if (
            origin
            or (awkward(body) and not listed)
            or body.middle
            or body.verb.english == "forget"
            or body.dative == YOU
        ):
            continue
        if found in TO_ME and choice.chance(0.7):
            body = replace(body, dative=choice.pick((I, I, WE)), receiver_last=False)
        return replace(body, form="present", ongoing=False)


def bidding(choice: Choice) -> Sentence:
    """Please pick up the children at four tomorrow! Can you buy some bread before you come home?"""
    one = bidden(choice)
    if choice.chance(0.07):
        one = Clause(YOU, BE, complements=(predicate(ADJECTIVE["quiet"]),))
    kind = choice.weighted((0.45, 0.4, 0.15))
    if kind == 2:
        return forbidding(choice, one)
    tail = (
        condition(choice, asked=True if kind == 1 else None if for_quiet(one) else False)
        if choice.chance(0.35) and tellable(one)
        else Phrase("", "")
    )
    if tail.english:
        one = replace(one, time=None, hour=None)
    if kind == 1:
        return asking(choice, one, tail)
    two = bidden(choice, rich=0.25) if choice.chance(0.3) else None
    if two is not None and (two.verb == one.verb or (tail.english and not tellable(two))):
        return bidding(choice)
    spoken, deutsch = english.imperative(one), german.imperative(one)
    start = choice.pick(("please ", "please ", ""))
    if not start and not tail.english and choice.chance(0.4):
        deutsch = german.imperative(replace(one, middle=PLEASE))
        ending = ", please"
    else:
        ending = ""
    if two is not None:
        two = replace(two, time=None, hour=None)
        spoken, deutsch = f"{spoken} and {english.imperative(two)}", f"{deutsch} und {german.imperative(two)}"
    bitte = "bitte " if start else ""
    said = Phrase(f"{start}{spoken}{tail.english}{ending}", f"{bitte}{deutsch}{tail.german}")
    return said, choice.pick(("!", "."))


def for_quiet(body: Clause) -> bool:
    """Whether it is done for somebody who sleeps or works: to close, to turn off, to be quiet."""
    return body.verb in (BE, entry("close").verb, entry("turn off").verb, entry("turn on").verb, entry("open").verb)


def tellable(body: Clause) -> bool:
    """Whether a condition can follow: not after ask, where if would be whether."""
    return body.verb.english not in ("ask", "tell")


def asking(choice: Choice, body: Clause, tail: Phrase) -> Sentence:
    """Could you please bring me a glass of water?"""
    modal = choice.pick((CAN, CAN, POLITE))
    asked = replace(body, form="modal", modal=modal)
    kind = choice.weighted((0.4, 0.35, 0 if tail.english else 0.25))
    deutsch = german.clause(replace(asked, middle=PLEASE) if kind else asked, "question") + tail.german
    if kind == 1:
        spoken = english.clause(replace(asked, middle=Phrase("please", "")), question=True) + tail.english
    else:
        spoken = english.clause(asked, question=True) + tail.english + (", please" if kind else "")
    return Phrase(spoken, deutsch), "?"


def forbidding(choice: Choice, body: Clause) -> Sentence:
    """Please do not open the window, it is too cold in here."""
    vague = isinstance(body.accusative, NounPhrase) and not body.accusative.definite
    if body.verb == BE or vague or isinstance(body.accusative, Coordination | Pronoun) or body.manner or body.dative:
        return bidding(choice)
    body = replace(body, negated=True, company=None, favour=None)
    start, bitte = choice.pick((("please ", "bitte "), ("", "")))
    tail = (
        condition(choice, asked=None if for_quiet(body) else False)
        if choice.chance(0.4) and tellable(body)
        else Phrase("", "")
    )
    if tail.english:
        body = replace(body, time=None, hour=None)
    said = Phrase(f"{start}{english.imperative(body)}{tail.english}", f"{bitte}{german.imperative(body)}{tail.german}")
    return said, choice.pick(("!", "!", "."))


def condition(choice: Choice, *, asked: bool | None = False) -> Phrase:
    """When or why it is to be done: before you go to bed; not asked but told, and for quiet: the baby is sleeping."""
    word, wort = choice.pick(
        (("before", "bevor"), ("before", "bevor"), ("because", "weil"), ("when", "wenn"), ("if", "wenn"))
    )
    if asked and word == "because":
        return condition(choice, asked=True)
    if asked is None and choice.chance(0.5):
        return reason(choice)
    inner: Told
    if word in ("before", "when") and choice.chance(0.6):
        inner = single(effect_clause(choice, choice.pick(GOING if word == "before" else GOING[:-2]), YOU, "present"))
    elif word in ("before", "when") or choice.chance(0.3):
        inner = single(deed(choice, YOU, "present", rich=0.3, plain=True))
    else:
        inner = single(circumstance(choice, "present"))
    if word == "because" and inner.subject == YOU:
        inner = told(choice, choice.pick((I, WE)), "modal", rich=0.3, double=0.1, plain=True)
    return Phrase(f" {word} {inner.english}", f", {wort} {inner.final}")


def reason(choice: Choice) -> Phrase:
    """Why it is to be done, without because: please be quiet, the baby is sleeping."""
    if choice.chance(0.5):
        said = single(circumstance(choice, "present"))
        return Phrase(f", {said.english}", f", {said.main}")
    who: Nominal = NounPhrase(NOUNS[choice.pick(("baby", "child", "baby"))], THE, choice.chance(0.3))
    verb = entry("sleep").verb
    if choice.chance(0.4):
        who, verb = person(choice)[0], entry(choice.pick(("sleep", "sleep", "work", "read"))).verb
    if who.person != 3:
        return reason(choice)
    said = single(Clause(who, verb, "progressive"))
    if choice.chance(0.3):
        said = single(Clause(who, ASLEEP))
    return Phrase(f", {said.english}", f", {said.main}")
