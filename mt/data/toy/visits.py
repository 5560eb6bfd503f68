"""Having been somewhere, what is open, before you leave, all night."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.adjuncts import YEARS
from mt.data.toy.asking import order_of, somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import person_index, preterite
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, with_adjective
from mt.data.toy.places import fixed_places, place
from mt.data.toy.questions import askable
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import WHOLE, phrases
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    DAYS,
    HAVE_TO,
    THE,
    YOU,
)

BEEN_TO = ("museum", "cinema", "restaurant", "church", "park", "office", "hospital", "supermarket")


def been_to(choice: Choice) -> Sentence:
    """Have you ever been to Berlin? Warst du schon einmal in Berlin? We have never been to the new museum: noch nie."""
    if choice.chance(0.7):
        found = choice.pick((*fixed_places("IN_TOWN"), *fixed_places("IN_COUNTRY")))
        spoken, told = found.english.replace("in ", "to ", 1), found.german
    else:
        thing = with_adjective(choice, NounPhrase(NOUNS[choice.pick(BEEN_TO)], THE), 0.35)
        told = place("in", thing, "", direction=False).german
        spoken = f"to {english.nominal(thing)}"
    season = choice.pick(YEARS[1:]) if choice.chance(0.15) else Phrase("", "")
    if season.english:
        spoken, told = f"{spoken} {season.english}", f"{season.german} {told}"
    if choice.chance(0.2):
        others = noun_phrase(choice, choice.rare(nouns_of(("kin", "friend", "family"))), "known", adjective=0)
        spoken = f"{spoken} {english.preposition('with', others)}"
        told = f"{german.preposition('mit', others, 'dative')} {told}"
    kind = choice.weighted((0.45, 0.45, 0.1))
    if kind == 0:
        who = somebody_known(choice)
        was = preterite(BE, person_index(who))
        have = "has" if english.is_third_singular(who) else "have"
        ever, schon = choice.pick((("ever ", "schon einmal"), ("ever ", "schon einmal"), ("already ", "schon")))
        return Phrase(
            f"{have} {english.nominal(who)} {ever}been {spoken}",
            f"{was} {german.nominal(who, 'nominative')} {schon} {told}",
        ), "?"
    who = person(choice)[0]
    have = "has" if english.is_third_singular(who) else "have"
    was = preterite(BE, person_index(who))
    how, wie = (("never", "noch nie"), ("already", "schon"))[0 if kind == 1 else 1]
    return Phrase(
        f"{english.nominal(who)} {have} {how} been {spoken}", f"{german.nominal(who, 'nominative')} {was} {wie} {told}"
    ), "."


def opening_hours(choice: Choice) -> Sentence:
    """The supermarket is closed on Sundays: ist sonntags geschlossen. Is the museum open today?"""
    house = noun_phrase(choice, choice.rare(nouns_of(("shop", "culture", "eatery", "school"))), "known", adjective=0.1)
    day = choice.pick(DAYS)
    times = (
        Phrase(f"on {day.english}s", f"{day.german.lower()}s"),
        Phrase(f"on {day.english}s", f"{day.german.lower()}s"),
        *phrases("today/heute, tomorrow/morgen, at the weekend/am Wochenende, at night/nachts, now/jetzt"),
    )
    told = predicate(ADJECTIVE[choice.pick(("open", "closed"))])
    body = Clause(house, BE, complements=(told,), time=choice.pick(times), negated=choice.chance(0.15))
    if choice.chance(0.35):
        return Phrase(
            english.clause(replace(body, negated=False), question=True),
            german.clause(replace(body, negated=False), "question"),
        ), "?"
    return plain(body), "."


LEAVE = entry("leave", "gehen").verb


def leaving(choice: Choice) -> Sentence:
    """Turn off the lamp before you leave! I have to leave now: Ich muss jetzt gehen. She left early."""
    kind = choice.weighted((0.5, 0.5))
    word = choice.pick((Phrase("before", "bevor"), Phrase("before", "bevor"), Phrase("when", "wenn")))
    if kind == 0:
        body, inner = order_of(choice), Clause(YOU, LEAVE)
        if body.verb.english in ("be", "leave", "go", "stay", "come"):
            return leaving(choice)
        if choice.chance(0.4):
            place = NounPhrase(NOUNS[choice.pick(("house", "house", "flat", "room", "office", "hotel"))], THE)
            inner = Clause(YOU, entry("leave", "verlassen").verb, accusative=place)
        return Phrase(
            f"{english.imperative(body)} {word.english} {english.clause(inner)}",
            f"{german.imperative(body)}, {word.german} {german.clause(inner, 'final')}",
        ), choice.pick("!.")
    who = somebody(choice, ("adult",))
    form: Form = choice.pick(("past", "modal", "future", "progressive"))
    modal = choice.pick((HAVE_TO, HAVE_TO, CAN)) if form == "modal" else None
    times = "yesterday/gestern" if form == "past" else "now/jetzt, soon/bald, tomorrow/morgen, today/heute"
    body = Clause(who, LEAVE, form, modal, time=choice.pick(phrases(times)) if choice.chance(0.6) else None)
    if form == "past" and not body.time and choice.chance(0.8):
        body = replace(body, manner=choice.pick(phrases("early/früh, late/spät, alone/allein, too early/zu früh")))
    if who.person != 1 and choice.chance(0.3) and askable(body):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def all_night(choice: Choice) -> Sentence:
    """The baby cried all night: die ganze Nacht. They have been working all day."""
    who = somebody(choice, ("adult", "infant", "young"), "known")
    infant = isinstance(who, NounPhrase) and "infant" in who.noun.classes
    name = (
        "cry"
        if infant
        else choice.pick(("work", "sleep", "read", "dance", "wait", "watch television", "cook", "learn"))
    )
    body = Clause(who, entry(name).verb, "past", time=choice.pick(WHOLE), ongoing=choice.chance(0.25))
    if name == "work" and choice.chance(0.5):
        body = replace(
            body,
            complements=(
                Phrase("in the hospital", "im Krankenhaus") if choice.chance(0.5) else Phrase("at home", "zu Hause"),
            ),
        )
    return plain(body, front=choice.chance(0.1)), "."
