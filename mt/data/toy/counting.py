"""Numbers, dates, prices, the clock and the weather."""

import re
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.comparisons import NICE, rank
from mt.data.toy.features import Clause, Form, Name, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, subject
from mt.data.toy.places import FIXED, fixed_places
from mt.data.toy.scenes import RAIN_VERB, SNOW_VERB
from mt.data.toy.statements import plain
from mt.data.toy.times import NOW, clock, past_time, phrases
from mt.data.toy.verbs import BE
from mt.data.toy.words import (
    ADJECTIVE,
    ALREADY,
    DAYS,
    IT,
    MANNERS,
    MONTHS,
    NAMES,
    NUMBER_WORDS,
    ORDINALS,
    POSSESSIVES,
    STILL,
    TENS,
    THE,
)

INDOORS = phrases("in the house/im Haus, in the kitchen/in der Küche, in the room/im Zimmer")
OUTDOORS = phrases(
    "here/hier, there/dort, outside/draußen, outside/draußen, in Berlin/in Berlin, in Munich/in München, in Hamburg/in Hamburg, in London/in London, "
    "in Vienna/in Wien, in Rome/in Rom, in the mountains/in den Bergen, in the city/in der Stadt"
)
TODAY = phrases("today/heute, now/jetzt")
AHEAD = phrases("tomorrow/morgen, tonight/heute Abend, soon/bald, at the weekend/am Wochenende, on Sunday/am Sonntag")
BEFORE = phrases(
    "yesterday/gestern, this morning/heute Morgen, last week/letzte Woche, last winter/letzten Winter, "
    "last night/letzte Nacht, all day/den ganzen Tag, in March/im März, in May/im Mai"
)


def weather(choice: Choice) -> Sentence:
    """It is raining in Berlin. Yesterday it was very cold. The weather is good."""
    past = choice.chance(0.3)
    kind = choice.weighted((0.25, 0.3, 0.45))
    if kind == 0:
        return the_weather(choice)
    where = choice.chance(0.6)
    if kind == 1:
        when = choice.pick(OUTDOORS if where else BEFORE if past else TODAY)
        verb = choice.pick((RAIN_VERB, SNOW_VERB))
        body = Clause(IT, verb, "past" if past else "progressive", time=when)
        if choice.chance(0.2):
            body = replace(body, manner=MANNERS["a lot"])
        elif past:
            body = replace(body, ongoing=choice.chance(0.3))
    else:
        when = choice.pick([*OUTDOORS, *INDOORS] if where else BEFORE if past else TODAY)
        adjective = ADJECTIVE[choice.pick(("cold", "warm", "hot", "dark", "quiet"))]
        told = predicate(adjective, choice.pick(("", "", "very", "too")))
        body = Clause(IT, BE, "past" if past else "present", complements=(told,), time=when)
        if not past and choice.chance(0.2):
            return plain(replace(body, form="future", time=choice.pick(AHEAD)), front=choice.chance(0.4)), "."
        if where and when.english.startswith("in "):  # the place follows the predicate: Es ist kalt in Rom
            body = replace(body, complements=(told, when), time=None, hour=None)
            if choice.chance(0.3):
                body = replace(body, time=choice.pick(BEFORE if past else TODAY))
        elif not where and choice.chance(0.25):
            degree = "not " if choice.chance(0.2) and not told.english.startswith("too") else ""
            here = Phrase(f"{degree}{told.english} here", f"hier {'nicht ' if degree else ''}{told.german}")
            body = replace(body, complements=(here,))
            if degree:
                return plain(body), "."
    if choice.chance(0.2):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    body = replace(body, negated=choice.chance(0.2) and not re.search("too|here", english.clause(body)))
    return plain(body, front=not where and choice.chance(0.3)), "."


def numbers(choice: Choice) -> Sentence:
    """My son is five years old. The hat costs ten euros. Our holiday begins on the third of May. It is six o'clock."""
    kind = choice.weighted((0.3, 0.3, 0.36, 0.04))
    number, zahl = choice.pick(NUMBER_WORDS)
    if kind == 0:
        who = subject(choice, ("young", "pet") if choice.chance(0.5) else ("adult",), "known")
        if isinstance(who, NounPhrase) and rank(who.noun) > 1 and not who.noun.classes & {"animal"}:
            number, zahl = choice.pick(TENS)
        years, alt = choice.pick(((" years old", " Jahre alt"), (" years old", " Jahre alt"), ("", "")))
        body = Clause(who, BE, complements=(Phrase(number + years, zahl + alt),), negated=choice.chance(0.1))
        if choice.chance(0.15):
            body = replace(body, middle=choice.pick((ALREADY, STILL)) if not years else ALREADY, negated=False)
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
        number, zahl = choice.pick([*NUMBER_WORDS, *TENS])
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
    if choice.chance(0.5):
        kin = choice.rare([noun for noun in nouns_of(("kin", "friend", "neighbour", "teacher")) if noun.english])
        owner = choice.pick(NAMES) if choice.chance(0.4) else NounPhrase(kin, POSSESSIVES[word])
        feast = NounPhrase(NOUNS["birthday"], THE, owner=owner)
        return Phrase(
            f"{english.nominal(feast)} {past[0]} {when.english}",
            f"{german.nominal(feast, 'nominative')} {past[1]} {when.german}",
        ), "."
    return Phrase(f"{word} birthday {past[0]} {when.english}", f"{stem} Geburtstag {past[1]} {when.german}"), "."


WEATHERS = (NICE, *(ADJECTIVE[word] for word in ("good", "bad", "beautiful", "cold", "warm")))


def the_weather(choice: Choice) -> Sentence:
    """The weather is good today. Is the weather in Berlin bad?"""
    places = [*fixed_places("IN_TOWN"), *fixed_places("IN_COUNTRY"), FIXED["here"]]
    where = choice.pick(places) if choice.chance(0.6) else None
    if choice.chance(0.15):
        return weather_like(choice, where)
    told = predicate(
        choice.pick(WEATHERS),
        choice.pick(("", "", "very")),
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


def weather_like(choice: Choice, where: Phrase | None) -> Sentence:
    """What is the weather like today: Wie ist das Wetter heute? How was the weather in Rome?"""
    past = choice.chance(0.35)
    time = choice.pick(BEFORE if past else (*TODAY, *TODAY, *AHEAD[:1]))
    spoken, told = (f" {time.english}", f" {time.german}") if where is None or choice.chance(0.3) else ("", "")
    place, ort = (f" {where.english}", f" {where.german}") if where else ("", "")
    word, wort = ("was", "war") if past else ("is", "ist")
    if choice.chance(0.6):
        return Phrase(f"what {word} the weather like{place}{spoken}", f"wie {wort} das Wetter{told}{ort}"), "?"
    return Phrase(f"how {word} the weather{place}{spoken}", f"wie {wort} das Wetter{told}{ort}"), "?"
