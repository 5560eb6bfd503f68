"""Numbers, dates, prices, the clock and the weather."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.being import rank
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Form, Name, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase, subject
from mt.data.toy.places import FIXED, fixed_places
from mt.data.toy.statements import plain
from mt.data.toy.times import NOW, clock, past_time
from mt.data.toy.verbs import BE
from mt.data.toy.words import (
    ADJECTIVE,
    DAYS,
    IT,
    MONTHS,
    NUMBER_WORDS,
    ORDINALS,
    POSSESSIVES,
)


def weather(choice: Choice) -> Sentence:
    """It is raining in Berlin. Yesterday it was very cold."""
    if choice.chance(0.25):
        return the_weather(choice)
    kind = choice.weighted((0.4, 0.6))
    past = choice.chance(0.3)
    time = choice.pick(
        (
            "today/heute",
            "now/jetzt",
            "here/hier",
            "in Berlin/in Berlin",
            "in Munich/in München",
            "in Hamburg/in Hamburg",
            "in London/in London",
            "in Vienna/in Wien",
            "in Rome/in Rom",
            "there/dort",
            "in the mountains/in den Bergen",
            "in the city/in der Stadt",
            "in the house/im Haus",
            "in the kitchen/in der Küche",
        )
    )
    if past:
        time = choice.pick(
            (
                "yesterday/gestern",
                "this morning/heute Morgen",
                "last week/letzte Woche",
                "in the mountains/in den Bergen",
                "in London/in London",
                "in Rome/in Rom",
                "in March/im März",
                "in May/im Mai",
            )
        )
    when = phrase_pair(time)
    if kind == 0:
        verb, regnen, part = choice.pick((("rain", "regnet", "geregnet"), ("snow", "schneit", "geschneit")))
        if "house" in when.english or "kitchen" in when.english:
            when = Phrase("today", "heute")
        negated = choice.chance(0.2)
        question = choice.chance(0.2)
        nicht = " nicht" if negated else ""
        if past:
            spoken = f"it did not {verb} {when.english}" if negated else f"it {verb}ed {when.english}"
            return Phrase(spoken, f"es hat {when.german}{nicht} {part}"), "."
        if question:
            return Phrase(f"is it {verb}ing {when.english}", f"{regnen} es {when.german}"), "?"
        return Phrase(
            f"it is {'not ' if negated else ''}{verb}ing {when.english}", f"es {regnen} {when.german}{nicht}"
        ), "."
    adjective = ADJECTIVE[choice.pick(("cold", "warm", "hot", "dark", "quiet"))]
    degree, grad = choice.pick((("", ""), ("", ""), ("very ", "sehr "), ("too ", "zu ")))
    negated = choice.chance(0.2) and degree != "too "
    told = Phrase(degree + adjective.english, grad + adjective.german)
    somewhere = when.english.startswith("in ") and when.english not in ("in March", "in May")
    body = Clause(
        IT,
        BE,
        "past" if past else "present",
        time=None if somewhere else when,
        negated=negated,
        complements=(told, when) if somewhere else (told,),
    )
    if choice.chance(0.2) and not negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body, front=choice.chance(0.3) and "in " not in when.english), "."


def numbers(choice: Choice) -> Sentence:
    """My son is five years old. The hat costs ten euros. Our holiday begins on the third of May. It is six o'clock."""
    kind = choice.weighted((0.3, 0.3, 0.36, 0.04))
    number, zahl = choice.pick(NUMBER_WORDS)
    if kind == 0:
        who = subject(choice, ("young", "pet") if choice.chance(0.5) else ("adult",), "known")
        if isinstance(who, NounPhrase) and rank(who.noun) > 1 and not who.noun.classes & {"animal"}:
            number, zahl = choice.pick(
                (("twenty", "zwanzig"), ("thirty", "dreißig"), ("forty", "vierzig"), ("fifty", "fünfzig"))
            )
        body = Clause(
            who, BE, complements=(Phrase(f"{number} years old", f"{zahl} Jahre alt"),), negated=choice.chance(0.1)
        )
        return plain(body), "."
    if kind == 1:
        thing = noun_phrase(
            choice,
            choice.rare(
                nouns_of(("clothes", "book", "bag", "lamp", "bag", "dish", "newspaper", "flower", "ball", "pen"))
            ),
            "shown",
            adjective=0.3,
        )
        verb, kosten = ("cost", "kosten") if thing.plural else ("costs", "kostet")
        number, zahl = choice.pick(
            [*NUMBER_WORDS, ("twenty", "zwanzig"), ("thirty", "dreißig"), ("forty", "vierzig"), ("fifty", "fünfzig")]
        )
        return Phrase(
            f"{english.nominal(thing)} {verb} {number} euros",
            f"{german.nominal(thing, 'nominative')} {kosten} {zahl} Euro",
        ), "."
    if kind == 2:
        return calendar(choice)
    hour = clock(choice)
    when = choice.pick((("now", "jetzt"), ("already", "schon")))
    hours, uhr = hour.english.removeprefix("at "), hour.german.removeprefix("um ")
    if when[0] == "already":
        return Phrase(f"it is already {hours}", f"es ist schon {uhr}"), "."
    return Phrase(f"it is {hours}", f"es ist {uhr}"), "."


def calendar(choice: Choice) -> Sentence:
    """Today is the third of May: Heute ist der dritte Mai. My birthday is on Monday."""
    month, day = choice.pick(MONTHS), choice.pick(ORDINALS)
    if choice.chance(0.35):
        told = day.german.removesuffix("n")
        return Phrase(f"today is the {day.english} of {month.english}", f"heute ist der {told} {month.german}"), "."
    word = choice.pick(("my", "your", "his", "her"))
    stem = POSSESSIVES[word].german
    when = Phrase(f"on the {day.english} of {month.english}", f"am {day.german} {month.german}")
    if choice.chance(0.4):
        chosen = choice.pick(
            [
                *((f"in {found.english}", f"im {found.german}") for found in MONTHS),
                *((f"on {found.english}", f"am {found.german}") for found in DAYS),
            ]
        )
        when = Phrase(*chosen)
    past = choice.pick((("is", "ist"), ("is", "ist"), ("was", "war")))
    return Phrase(f"{word} birthday {past[0]} {when.english}", f"{stem} Geburtstag {past[1]} {when.german}"), "."


def the_weather(choice: Choice) -> Sentence:
    """The weather is good today. Is the weather in Berlin bad?"""
    places = [*fixed_places("IN_TOWN"), *fixed_places("IN_COUNTRY"), FIXED["here"]]
    where = choice.pick(places) if choice.chance(0.6) else None
    told = predicate(
        ADJECTIVE[choice.pick(("good", "bad", "beautiful", "cold", "warm"))], choice.pick(("", "", "very"))
    )
    form: Form = choice.pick(("present", "present", "past"))
    time = past_time(choice, long=True) if form == "past" else choice.pick(NOW[:2])
    time_said = time if where is None or choice.chance(0.3) else None
    spoken, told_of = "the weather", "das Wetter"
    if where:
        spoken, told_of = f"{spoken} {where.english}", f"{told_of} {where.german}"
    body = Clause(Name(spoken, german=told_of), BE, form, complements=(told,), time=time_said)
    if choice.chance(0.25):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(replace(body, negated=choice.chance(0.15))), "."
