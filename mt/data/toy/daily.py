"""What people say of their days: deeds with time, place and company, two in a row, and in clauses of all kinds."""

import re
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import STATES, predicate, verb_clause
from mt.data.toy.combining import AND, BUT, Told, single, two
from mt.data.toy.features import Clause, Coordination, Form, Modal, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.longer import apart_from
from mt.data.toy.mishaps import mishap
from mt.data.toy.phrases import object_pronoun
from mt.data.toy.reported import BELIEVE, HEAR, HOPE, KNOW, SAY, TELL, THINK, joined
from mt.data.toy.scenes import person
from mt.data.toy.sequences import circumstance, there_is
from mt.data.toy.verbs import BE, NO_FUTURE, NO_PROGRESSIVE, ONCE, Entry, entry
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    COULD,
    HAD_TO,
    HAVE_TO,
    IT,
    MUST,
    MUST_NOT,
    NEED_TO,
    SHOULD,
    WANT,
    WANTED,
    WOULD_LIKE,
    YOU,
    I,
)

DAILY = [
    entry(*name.split("/"))
    for name in """eat/essen, eat/essen, drink, drink, read, read, cook, cook, work, work, go/gehen, go/gehen, go/fahren,
    watch television, listen to, clean, wash, write, visit, visit, call, buy, buy, play, play, sing, dance, help, sleep, sleep,
    go shopping, go swimming, meet, wait, wait, learn, get up, come back, come, drive, stay, stay, speak, look for, repair,
    watch, make, sit, find, lose, forget, bring, invite, pick up, take/nehmen, order, live, see, fall asleep, give, open,
    put/legen, put/stellen, take off, turn off, wear, sell, send, show, arrive, swim, put on, run, stand, lie""".replace(
        "\n    ", " "
    ).split(", ")
]
TENSES: tuple[Form, ...] = ("present", "progressive", "past", "perfect", "future", "modal")
WEIGHTS = (0.27, 0.13, 0.32, 0.06, 0.08, 0.14)
NOW_MODALS = (CAN, CAN, WANT, WANT, HAVE_TO, HAVE_TO, MUST, SHOULD, SHOULD, WOULD_LIKE, NEED_TO)
THEN_MODALS = (HAD_TO, WANTED, COULD, HAD_TO, WANTED)
UNWILLED = ("lose", "forget", "find", "fall asleep", "arrive", "see")


def deed(
    choice: Choice, who: Nominal, form: Form, *, modal: Modal | None = None, rich: float = 0.55, plain: bool = False
) -> Clause:
    """One thing that somebody does, with what belongs to it; `plain` without a time or a negation."""
    if form == "past" and modal is None and choice.chance(0.05):
        return mishap(choice, who)
    while True:
        found: Entry = choice.rare(DAILY)
        unfit = form == "progressive" and (found.name in NO_PROGRESSIVE or found.verb.stative)
        if unfit or (form in ("future", "modal") and (found.name in NO_FUTURE or found.name in UNWILLED)):
            continue
        drawn: Form = form if modal is None else "past" if modal.past else "future"
        if found.name == "see" and drawn == "present":
            continue
        negation = 0.0 if plain else 0.12
        body = verb_clause(choice, entry=found, who=who, rich=rich, negation=negation, form=drawn)
        body = replace(body, time=None, hour=None, middle=None) if plain else body
        bare = body.form == "present" and found.name in ONCE and not body.time
        if body.form != drawn or (bare and choice.chance(0.85)):
            continue
        if modal is not None:
            forbidden = modal == MUST and body.negated
            body = replace(body, form="modal", modal=MUST_NOT if forbidden else modal, ongoing=False)
        return body


def told(
    choice: Choice,
    who: Nominal,
    form: Form,
    *,
    rich: float = 0.55,
    double: float = 0.35,
    plain: bool = False,
    now: bool = False,
) -> Told:
    """One deed, or two of the same person in a row; `now` keeps them out of the past, which another clause is not in."""
    modal = None
    if form == "modal":
        modal = choice.pick(NOW_MODALS if now or choice.chance(0.7) else THEN_MODALS)
    first = deed(choice, who, form, modal=modal, rich=rich, plain=plain)
    if not choice.chance(double):
        return single(first)
    if (form in ("present", "perfect", "past") or first.negated) and choice.chance(0.25) and not plain:
        past = form == "past" or (modal is not None and modal.past)
        able = first.negated or choice.chance(0.4)
        second = stated(choice, who, past=past) if able else unable(choice, who, past=past)
        return two(replace(first, ongoing=False), second)
    second = deed(choice, who, form, modal=modal, rich=0.3, plain=plain)
    contrary = form in ("present", "past") and not plain and choice.chance(0.12)
    second = replace(second, negated=contrary, ongoing=False, time=second.time if not first.time else None)
    second = replace(second, modal=MUST) if second.modal == MUST_NOT else second
    listed = isinstance(first.accusative, Coordination) or isinstance(second.accusative, Coordination)
    same = first.verb.german == second.verb.german or first.verb.english == second.verb.english
    many = isinstance(second.accusative, NounPhrase) and second.accusative.determiner.plural
    if same or listed or first.negated or (contrary and (many or second.middle or second.manner)):
        return told(choice, who, form, rich=rich, double=double, plain=plain, now=now)
    if form in ("progressive", "perfect", "future", "modal"):
        second = replace(second, middle=None)
    return two(replace(first, ongoing=False), second, BUT if contrary else AND)


def unable(choice: Choice, who: Nominal, *, past: bool) -> Clause:
    """What somebody cannot, must or wants to do after what has been said: and cannot drive to work."""
    modal = choice.pick((COULD, HAD_TO, WANTED) if past else (CAN, CAN, CAN, HAVE_TO, WANT, WANT))
    body = deed(choice, who, "future", rich=0.2, plain=True)
    many = isinstance(body.accusative, NounPhrase) and bool(body.accusative.determiner.plural)
    negated = modal in (CAN, COULD) and not many
    return replace(body, form="modal", modal=modal, ongoing=False, negated=negated, manner=None)


def stated(choice: Choice, who: Nominal, *, past: bool) -> Clause:
    """How somebody is after what has been said: cannot find it and is very angry."""
    told_so = predicate(choice.pick(STATES), choice.pick(("", "very", "very", "so")))
    return Clause(who, BE, "past" if past else "present", complements=(told_so,))


def tense(choice: Choice) -> Form:
    """A form for what people do."""
    return TENSES[choice.weighted(WEIGHTS)]


def daily(choice: Choice) -> Sentence:
    """My sister met her friend at the station yesterday evening. On Sundays we sit in the garden and read."""
    who, _ = person(choice)
    said = told(choice, who, tense(choice), rich=0.65)
    if said.timed and said.fronted and choice.chance(0.35):
        return Phrase(said.fronted, said.after_time), "."
    return Phrase(said.english, said.main), "."


def daily_question(choice: Choice) -> Sentence:
    """Did your parents work in the garden and clean the kitchen on Saturday? Why didn't you call me?"""
    who, _ = person(choice) if choice.chance(0.55) else (YOU, YOU)
    if who.person == 1:
        return daily_question(choice)
    said = told(choice, who, tense(choice), double=0.15)
    if ", but" in said.asked or re.search(r" and (be|can|could|want|have|wants|has|had|not) ", said.asked):
        return daily_question(choice)
    if choice.chance(0.2):
        return Phrase(f"why {said.asked}", f"warum {said.inverted}"), "?"
    return Phrase(said.asked, said.inverted), "?"


def daily_pair(choice: Choice) -> Sentence:
    """After dinner my father reads the newspaper and my mother listens to music."""
    (who, _), (other, _) = person(choice), person(choice)
    same = isinstance(who, NounPhrase) and isinstance(other, NounPhrase) and who.noun == other.noun
    if same or not apart_from(who, other):
        return daily_pair(choice)
    form = tense(choice)
    one = told(choice, who, form, rich=0.45, double=0.1)
    two_ = told(choice, other, form if choice.chance(0.7) else tense(choice), rich=0.35, double=0.15)
    joint = choice.pick((AND, AND, AND, BUT, Phrase(", and", " und")))
    spoken, deutsch = (one.fronted, one.after_time) if one.fronted and choice.chance(0.5) else (one.english, one.main)
    rest = Phrase(two_.english, two_.main)
    if two_.fronted and choice.chance(0.5):
        rest = Phrase(two_.fronted, two_.after_time)
    return Phrase(f"{spoken}{joint.english} {rest.english}", f"{deutsch}{joint.german} {rest.german}"), "."


JOINTS = {
    "past": (
        "because/weil",
        "because/weil",
        "when/als",
        "when/als",
        "although/obwohl",
        "before/bevor",
        "while/während",
    ),
    "present": (
        *("because/weil", "because/weil", "because/weil", "when/wenn", "when/wenn", "if/wenn", "if/wenn", "if/wenn"),
        *("although/obwohl", "before/bevor", "before/bevor", "while/während"),
    ),
}


def daily_reason(choice: Choice) -> Sentence:
    """If the weather is good on Sunday, we will go to the lake and swim. I was cooking when my brother came home."""
    past = choice.chance(0.4)
    spoken, deutsch = choice.pick(JOINTS["past" if past else "present"]).split("/")
    (who, pronoun), (other, _) = person(choice), person(choice)
    same = choice.chance(0.45)
    inner = inner_clause(choice, who, spoken, past=past)
    if spoken == "if" and choice.chance(0.12):
        needs = Clause(who, BE, complements=(predicate(ADJECTIVE[choice.pick(("hungry", "thirsty"))]),))
        have = single(there_is(choice, "present"))
        return Phrase(
            f"if {single(needs).english}, {have.english}", f"wenn {single(needs).final}, {have.inverted}"
        ), "."
    weights = {"if": (0.12, 0.45, 0.43, 0), "when": (0.4, 0.35, 0.25, 0), "before": (0.4, 0.25, 0.35, 0)}
    forms: tuple[Form, ...] = ("present", "future", "modal", "progressive")
    outer_form = "past" if past else forms[choice.weighted(weights.get(spoken, (0.35, 0.1, 0.35, 0.2)))]
    first = choice.chance(0.5)
    subject = (pronoun if first else who) if same and inner.subject == who else other
    if subject == other and (not apart_from(other, who) or other == inner.subject):
        return daily_reason(choice)
    outer = told(choice, subject, outer_form, rich=0.4 if not inner.timed else 0.25, double=0.25, now=True)
    if (outer.timed and inner.timed) or set(outer.verbs) & set(inner.verbs):
        return daily_reason(choice)
    if first:
        return Phrase(f"{spoken} {inner.english}, {outer.english}", f"{deutsch} {inner.final}, {outer.inverted}"), "."
    if same and inner.subject == who:
        inner = inner_again(inner, who, pronoun)
    return Phrase(f"{outer.english} {spoken} {inner.english}", f"{outer.main}, {deutsch} {inner.final}"), "."


def inner_clause(choice: Choice, who: Nominal, word: str, *, past: bool) -> Told:
    """What stands after the conjunction: how things are, or what somebody does."""
    state = word in ("because", "if", "when", "although") and choice.chance(0.4)
    if state:
        return single(circumstance(choice, "past" if past else "present"))
    form: Form = "past" if past else "present"
    if word == "because" and not past and choice.chance(0.4):
        form = "modal"
    return told(choice, who, form, rich=0.4, double=0.15, plain=word in ("before", "while", "when"), now=True)


def inner_again(inner: Told, who: Nominal, pronoun: Pronoun) -> Told:
    """The clause with its subject taken up by a pronoun."""
    long, lang = english.nominal(who), german.nominal(who, "nominative")
    kurz = german.nominal(pronoun, "nominative")
    return replace(
        inner,
        english=english.nominal(pronoun) + inner.english.removeprefix(long),
        final=kurz + inner.final.removeprefix(lang),
    )


def daily_reported(choice: Choice) -> Sentence:
    """My mother says that we should go to bed and sleep. I don't think he is coming on Sunday: Ich glaube nicht, dass …"""
    past = choice.chance(0.25)
    who, _ = person(choice)
    verb = choice.pick((KNOW, THINK, THINK, BELIEVE, HOPE, SAY, SAY, SAY, HEAR))
    outer = Clause(who, verb, "past" if past else "present")
    kind = choice.weighted((0.6, 0.25, 0.15)) if not past else 0
    question = False
    if kind == 1:
        outer = Clause(choice.pick((I, I, who)), BELIEVE, negated=True)
        spoken_verb = choice.pick((THINK, THINK, BELIEVE))
    elif kind == 2:
        outer, question = Clause(YOU, BELIEVE), True
        spoken_verb = choice.pick((THINK, THINK, BELIEVE))
    else:
        spoken_verb = verb
        if verb == SAY and choice.chance(0.4):
            outer = replace(outer, verb=TELL, dative=object_pronoun(choice, who))
            spoken_verb = TELL
    other, _ = person(choice)
    form: Form = "past" if past else choice.pick(("present", "past", "future", "modal", "modal", "progressive"))
    if verb == HOPE and kind == 0:
        form = "past" if past else "future"
    if other.person == 1 and outer.subject.person == 1 and kind == 1:
        return daily_reported(choice)
    said = single(circumstance(choice, form)) if form in ("present", "past") and choice.chance(0.35) else None
    said = said or told(choice, other, form, rich=0.4, double=0.3)
    if said.subject == IT or apart_from(said.subject, outer.subject) or said.subject.person == 2:
        word = "" if spoken_verb in (THINK, BELIEVE, HOPE, SAY, KNOW) and choice.chance(0.45) else "that"
        shown = joined(
            replace(outer, verb=spoken_verb), Phrase(word, "dass"), said.english, said.final, question=question
        )
        meant = joined(outer, Phrase(word, "dass"), said.english, said.final, question=question)
        return Phrase(shown.english, meant.german), "?" if question else "."
    return daily_reported(choice)
