"""What is done all the same, what is still so and what no longer: but we still played football, I am still hungry."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Coordination, Form, Nominal, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.scenes import IMPERSONAL, SCENE_LIST, effect_clause, person, state_clause
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, ANY, BARE, CAN, HAVE_TO, NO, STILL, WANT, WE, I

TROTZDEM = Phrase("still", "trotzdem")
ENDING = ("live", "work", "wait", "stay", "play", "learn", "sleep", "dance", "sing", "watch television", "cook", "run")
REMAINING = ("hungry", "thirsty", "tired", "sick", "busy", "sad", "angry", "happy", "alone")


def all_the_same(choice: Choice) -> Sentence:
    """It was raining, but we still played football in the park: haben trotzdem im Park Fußball gespielt."""
    if choice.chance(0.3):
        return still_so(choice)
    while True:
        state, _, contrary = choice.rare(SCENE_LIST)
        text = choice.pick(contrary)
        if not text.startswith(("-", "can't", "want", "must")):
            break
    who, pronoun = person(choice)
    first = state_clause(choice, state, who, "past")
    second = effect_clause(choice, text, who if state in IMPERSONAL else pronoun, "past")
    other = verb_clause(choice, who=second.subject, rich=0.35, negation=0, form="past")
    if choice.chance(0.5) and not other.verb.stative:  # he still knew it: immer noch
        second = other
    second = replace(second, middle=TROTZDEM, time=None, hour=None, ongoing=False)
    return but(first, plain(second)), "."


def but(first: Clause, second: Phrase) -> Phrase:
    """It was cold, but we still went out."""
    return Phrase(
        f"{english.clause(first)}, but {second.english}", f"{german.clause(first, 'main')}, aber {second.german}"
    )


def still_so(choice: Choice) -> Sentence:
    """The children have already eaten, but I am still hungry: aber ich bin immer noch hungrig."""
    who = person(choice)[0]
    form: Form = choice.pick(("past", "past", "perfect", "present"))
    first = replace(verb_clause(choice, who=who, rich=0.3, negation=0, form=form), time=None, hour=None)
    other = choice.pick((I, I, WE, person(choice)[0]))
    said = predicate(ADJECTIVE[choice.pick(REMAINING)], choice.pick(("", "", "very")))
    second = Clause(other, BE, choice.pick(("past", "present")), middle=STILL, complements=(said,))
    if other == who:
        return still_so(choice)
    if choice.chance(0.4):
        return but(first, still_not(choice)), "."
    return but(first, plain(second)), "."


def still_not(choice: Choice) -> Phrase:
    """I still do not understand this question: Ich verstehe diese Frage immer noch nicht."""
    found = entry(
        *choice.pick(
            ("understand", "understand", "know", "find", "sleep", "work", "like", "come", "read/lesen", "see", "answer")
        ).split("/")
    )
    who = choice.pick((I, WE, person(choice)[0]))
    form: Form = "present" if found.verb.stative else choice.pick(("present", "modal", "perfect"))
    body = verb_clause(choice, entry=found, who=who, rich=0.2, negation=0, form="past")
    body = replace(
        body,
        form=form,
        modal=CAN if form == "modal" else None,
        time=None,
        hour=None,
        middle=None,
        ongoing=False,
        manner=None,
    )
    if german.is_negatable(body.accusative) or isinstance(body.accusative, Coordination):
        return still_not(choice)
    told = german.clause(replace(body, middle=Phrase("", "immer noch nicht")), "main")
    rest = english.clause(replace(body, negated=True), with_subject=False)
    return Phrase(f"{english.nominal(who)} still {rest}", told)


def no_longer(choice: Choice) -> Sentence:
    """We cannot wait any longer: Wir können nicht mehr warten. There is no milk left: Es ist keine Milch mehr da."""
    if choice.chance(0.45):
        return nothing_left(choice)
    who: Nominal = person(choice)[0]
    form: Form = choice.pick(("modal", "modal", "present", "past"))
    modal = choice.pick((CAN, CAN, WANT, HAVE_TO)) if form == "modal" else None
    body = verb_clause(choice, entry=entry(choice.pick(ENDING)), who=who, rich=0.4, negation=0, form="past")
    if german.is_negatable(body.accusative) or isinstance(body.accusative, Coordination):  # keine Suppe mehr
        return no_longer(choice)
    body = replace(body, form=form, modal=modal, manner=None, middle=None, time=None, hour=None, ongoing=False)
    told = german.clause(replace(body, middle=Phrase("", "nicht mehr")), "main")
    spoken = english.clause(replace(body, negated=True))
    return Phrase(f"{spoken} {choice.pick(('any longer', 'anymore'))}", told), "."


def nothing_left(choice: Choice) -> Sentence:
    """There are no eggs left: Es sind keine Eier mehr da. Is there any milk left: Ist noch Milch da?"""
    noun = choice.rare(nouns_of(("food", "drink", "snack", "soup", "cake", "money")))
    thing = NounPhrase(noun, NO, plural=not noun.mass)
    if choice.chance(0.3):
        asked = english.nominal(replace(thing, determiner=ANY))
        told = german.nominal(replace(thing, determiner=BARE), "nominative")
        are, sind = ("are", "sind") if thing.plural else ("is", "ist")
        return Phrase(f"{are} there {asked} left", f"{sind} noch {told} da"), "?"
    tenses = (("is", "ist"), ("was", "war")), (("are", "sind"), ("were", "waren"))
    be, sein = tenses[thing.plural][choice.chance(0.3)]
    return Phrase(
        f"there {be} {english.nominal(thing)} left", f"es {sein} {german.nominal(thing, 'nominative')} mehr da"
    ), "."
