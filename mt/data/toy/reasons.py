"""Two clauses that belong together: why, although, when, if, and, but. Each scene lists what fits a state.

An effect is written `verb`, `verb>objects`, `verb@place`; `-` before it negates, `can't ` says that one cannot.
"""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.scenes import FORMS, RAIN_VERB, SNOW_VERB, effect_clause, pair, person
from mt.data.toy.times import habit_time, past_time
from mt.data.toy.words import IT


def because(choice: Choice) -> Sentence:
    """I am staying at home because I am sick. Because it was raining, they took the bus."""
    contrary = choice.chance(0.35)
    word = Phrase("although", "obwohl") if contrary else Phrase("because", "weil")
    state, effect, pronoun = pair(choice, contrary=contrary)
    return ordered(choice, word, state, effect, pronoun, first=0.3), "."


def ordered(choice: Choice, word: Phrase, inner: Clause, outer: Clause, pronoun: Pronoun, *, first: float) -> Phrase:
    """Main and subordinate clause in either order; the second takes up the subject by its pronoun."""
    if choice.chance(first):
        outer = replace(outer, subject=pronoun)
        return Phrase(
            f"{word.english} {english.clause(inner)}, {english.clause(outer)}",
            f"{word.german} {german.clause(inner, 'final')}, {german.clause(outer, 'question')}",
        )
    if inner.subject != IT:
        inner = replace(inner, subject=pronoun)
    return Phrase(
        f"{english.clause(outer)} {word.english} {english.clause(inner)}",
        f"{german.clause(outer, 'main')}, {word.german} {german.clause(inner, 'final')}",
    )


def when_if(choice: Choice) -> Sentence:
    """When it is cold, we drink tea. If I am sick tomorrow, I will stay at home. When he was sad, he cried: Als er …"""
    kind = choice.weighted((0.4, 0.35, 0.25))
    if kind == 1:
        state, effect, pronoun = pair(choice, form="present")
        if effect.form == "present":
            effect = replace(effect, form="future")
        if state.verb in (RAIN_VERB, SNOW_VERB):
            state = replace(state, form="present")
        state = replace(state, time=Phrase("tomorrow", "morgen") if foreseen(state) and choice.chance(0.4) else None)
        return ordered(choice, Phrase("if", "wenn"), state, effect, pronoun, first=0.6), "."
    state, effect, pronoun = pair(choice, form="present" if kind == 0 else "past")
    while kind == 2 and effect.form != "past":
        state, effect, pronoun = pair(choice, form="past")
    if state.verb in (RAIN_VERB, SNOW_VERB) and state.form == "progressive":
        state = replace(state, form="present")
    word = Phrase("when", "wenn") if kind == 0 else Phrase("when", "als")
    return ordered(choice, word, state, effect, pronoun, first=0.6), "."


def and_but(choice: Choice) -> Sentence:
    """He is tired, but he is not sleeping. It is late and we are going home."""
    contrary = choice.chance(0.6)
    state, effect, pronoun = pair(choice, contrary=contrary)
    if contrary:
        effect = replace(effect, subject=pronoun)
        return Phrase(
            f"{english.clause(state)}, but {english.clause(effect)}",
            f"{german.clause(state, 'main')}, aber {german.clause(effect, 'main')}",
        ), "."
    if state.subject == IT:
        return Phrase(
            f"{english.clause(state)} and {english.clause(effect)}",
            f"{german.clause(state, 'main')} und {german.clause(effect, 'main')}",
        ), "."
    return Phrase(
        f"{english.clause(state)} and {english.clause(effect, with_subject=False)}",
        f"{german.clause(state, 'main')} und {german.clause(effect, 'main', without='subject')}",
    ), "."


EVERYDAY = [
    "read>book,newspaper",
    "drink>coffee,tea,water,juice,milk",
    "eat>bread,apple,egg,soup,cake,cheese",
    "cook>soup,egg,potato",
    "make>dinner,breakfast",
    "write>letter",
    "watch television",
    "clean>kitchen",
    "go@home",
    "go@to_bed",
    "sing>song",
    "listen to>music",
    "play>football",
    "play@garden:in",
    "work@office:in",
    "sit@garden:in",
    "sleep",
    "dance",
    "laugh",
    "read",
    "go@park:to",
    "go shopping",
    "go swimming",
    "help=>human",
    "wash>car",
    "buy>bread,cheese,milk,apple",
    "call>friend,doctor",
    "repair>car,bicycle",
    "visit>kin,friend",
    "wait@station:at",
    "stay@at_home",
    "clean>window",
]


# Deeds that one person does together, or one after the other.
TOGETHER = [
    tuple(line.split(" + "))
    for line in [
        "sit@garden:in + drink>coffee,tea,water,juice",
        "sit@garden:in + read>book,newspaper",
        "listen to>music + cook",
        "cook + sing",
        "stay@at_home + read>book,newspaper",
        "stay@at_home + watch television",
        "stay@at_home + sleep",
        "go@home + sleep",
        "go@home + cook",
        "go@home + eat>bread,apple,egg,soup,cake,cheese",
        "go@home + drink>coffee,tea,water,juice",
        "go shopping + cook>soup,egg,potato",
        "sing + dance",
        "laugh + dance",
        "wash>car + clean>window,kitchen",
        "buy>bread,cheese,milk,apple + go@home",
        "write>letter + drink>tea,coffee",
        "make>dinner,breakfast + drink>wine,coffee,tea",
        "read>newspaper + drink>coffee,tea",
        "go@to_bed + read>book",
        "drink>milk,water + go@to_bed",
        "open>window + listen to>music",
        "close>window,door + sleep",
        "go@park:to + play>football",
        "call>friend,doctor + wait@here",
        "eat>bread,apple,egg,soup + drink>water,juice,milk,tea",
        "wait@station:at + read>book,newspaper",
        "work@office:in + drink>coffee",
        "go swimming + eat>cake,apple",
        "buy>car,bicycle + go@home",
        "clean>kitchen + listen to>music",
        "turn off>lamp + sleep",
    ]
]


def two_deeds(choice: Choice) -> Sentence:
    """My mother is cooking and my father is reading. He sits in the garden and drinks coffee."""
    return one_does_both(choice) if choice.chance(0.55) else each_does_one(choice)


def one_does_both(choice: Choice) -> Sentence:
    """One subject, two verbs; in the perfect German says the same auxiliary once."""
    form: Form = choice.pick(("present", "past"))
    who, _ = person(choice)
    one, two = (effect_clause(choice, text, who, form) for text in choice.pick(TOGETHER))
    time = None
    if choice.chance(0.4):
        time = past_time(choice, long=False) if form == "past" else habit_time(choice, long=False)
    told = german.clause(two, "main", without="subject")
    finite = german.verb_complex(one)[0]
    if form == "past" and german.verb_complex(two)[0] == finite:
        told = told.removeprefix(f"{finite} ")
    rest = f"and {english.clause(two, with_subject=False)}"
    dated = replace(one, time=time)
    if time and choice.chance(0.35):
        spoken, first = english.clause(dated, front_time=True), german.clause(one, "question", front=time.german)
        return Phrase(f"{spoken} {rest}", f"{first} und {told}"), "."
    ending = f" {time.english}" if time else ""
    return Phrase(f"{english.clause(one)} {rest}{ending}", f"{german.clause(dated, 'main')} und {told}"), "."


def each_does_one(choice: Choice) -> Sentence:
    """Two subjects, each with its verb."""
    form = choice.pick(FORMS)
    (who, _), (other, _) = person(choice), person(choice)
    while other == who or (isinstance(other, NounPhrase) and isinstance(who, NounPhrase) and other.noun == who.noun):
        other, _ = person(choice)
    one = effect_clause(choice, choice.pick(EVERYDAY), who, form)
    two = effect_clause(choice, choice.pick(EVERYDAY), other, form)
    if one.verb == two.verb:
        return each_does_one(choice)
    spoken = f"{english.clause(one)} and {english.clause(two)}"
    return Phrase(spoken, f"{german.clause(one, 'main')} und {german.clause(two, 'main')}"), "."


def foreseen(state: Clause) -> bool:
    """States one can know of today that they come tomorrow."""
    words = {phrase.english for phrase in state.complements}
    return state.subject == IT or state.accusative is not None or bool(words & {"sick", "busy"})
