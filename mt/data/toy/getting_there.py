"""Buses and trains by where they go, and how long it takes: Does this bus go to the station? Man braucht zwei Stunden."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import BY
from mt.data.toy.features import Clause, Form, Name, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of
from mt.data.toy.places import fixed_places
from mt.data.toy.questions import with_word
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import clock, phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import CAN, HABITS, HAVE_TO, NUMBER_WORDS, ORDERED, THE, THIS, WANT, WE, YOU, A, I

TARGETS = (
    "station",
    "museum",
    "hospital",
    "beach",
    "lake",
    "church",
    "hotel",
    "cinema",
    "supermarket",
    "park",
    "school",
)
DAYS_ON = phrases("tomorrow/morgen, today/heute, on Sunday/am Sonntag, tonight/heute Abend, now/jetzt, at night/nachts")


def destination(choice: Choice, towns: float = 0.35) -> Phrase:
    """Where a bus goes: zum Bahnhof, nach München, in die Stadt."""
    if choice.chance(towns):
        return choice.pick(fixed_places("TO_TOWN"))
    if choice.chance(0.12):
        return Phrase("to the city", "in die Stadt", direction=True)
    noun = NOUNS[choice.pick(TARGETS)]
    phrase = NounPhrase(noun, THE)
    return Phrase(f"to {english.nominal(phrase)}", german.preposition("zu", phrase, "dative"), direction=True)


def bus_to(choice: Choice) -> Sentence:
    """Does this bus go to the station? When does the next bus to the beach leave? Which train goes to Rome?"""
    where = destination(choice)
    noun = choice.pick(nouns_of(("public",)))
    go = entry("go", "fahren").verb
    kind = choice.weighted((0.28, 0.18, 0.23, 0.1, 0.21))
    if kind == 0:
        body = Clause(NounPhrase(noun, choice.pick((THIS, THIS, THE))), go, complements=(where,))
        if choice.chance(0.25):
            body = replace(body, time=choice.pick(DAYS_ON[:4]))
        if choice.chance(0.65):
            return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
        return plain(replace(body, negated=choice.chance(0.4) and not body.time)), "."
    if kind == 1 and choice.chance(0.5):
        told = f"welche{'n'} {noun.german} {{}}, um {where.german} zu kommen"
        do, finite = choice.pick((("do I have to", "muss ich"), ("do we have to", "müssen wir"), ("can I", "kann ich")))
        to = choice.pick(("get", "get", "go"))
        return Phrase(f"which {noun.english} {do} take to {to} {where.english}", told.format(f"{finite} nehmen")), "?"
    if kind == 1:
        word, wort = f"which {noun.english}", f"welche{'r'} {noun.german}"
        body = Clause(Name(word, german=wort), choice.pick((go, go, entry("leave").verb)), complements=(where,))
        if body.verb != go:
            body = replace(
                body, complements=(), subject=Name(f"{word} {where.english}", german=f"{wort} {where.german}")
            )
            body = replace(body, time=clock(choice))
        return plain(body), "?"
    following = choice.pick((None, ORDERED[3][0], ORDERED[3][0], ORDERED[2][0]))
    who = NounPhrase(noun, THE, adjective=following, attached=where)
    if kind == 2:
        body = Clause(who, entry(choice.pick(("leave", "leave", "arrive"))).verb, time=leaving_time(choice))
        if choice.chance(0.55):
            asked = choice.pick((Phrase("when", "wann"), Phrase("what time", "um wie viel Uhr")))
            day = choice.pick(DAYS_ON[:4]) if choice.chance(0.3) and following is None else None
            return with_word(replace(body, time=day), asked, ""), "?"
        return plain(body), "."
    if kind == 3:
        told = german.nominal(who, "nominative")
        return Phrase(f"is this {english.nominal(who)}", f"ist das {told}"), "?"
    return taking(choice, replace(who, adjective=following if choice.chance(0.3) else None))


def leaving_time(choice: Choice) -> Phrase:
    """in ten minutes, at half past nine."""
    if choice.chance(0.35):
        number, zahl = choice.pick((*NUMBER_WORDS, ("twenty", "zwanzig")))
        return Phrase(f"in {number} minutes", f"in {zahl} Minuten")
    return clock(choice)


def taking(choice: Choice, ridden: NounPhrase) -> Sentence:
    """We took the bus to the museum. I am waiting for the train to Munich. You have to take the bus to the lake."""
    who, _ = person(choice)
    form: Form = choice.pick(("present", "past", "past", "modal", "progressive"))
    modal = choice.pick((HAVE_TO, CAN, WANT)) if form == "modal" else None
    day = choice.pick((None, None, Phrase("today", "heute"), Phrase("every day", "jeden Tag")))
    day = day if form in ("present", "past") and (day is None or day.english == "today" or form == "present") else None
    if choice.chance(0.3):
        told = german.preposition("auf", ridden, "accusative", melted=False)
        waits = Phrase(f"for {english.nominal(ridden)}", told)
        waiting = "progressive" if form == "present" else form
        body = Clause(who, entry("wait").verb, waiting, modal, complements=(waits,))
    else:
        taken = "future" if form == "progressive" else form
        body = Clause(who, entry("take").verb, taken, modal, accusative=ridden, time=day)
    if form == "present" and body.time is None and body.form == "present":
        body = replace(body, middle=choice.pick(HABITS))
    if who.person != 1 and choice.chance(0.2) and not body.middle:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


LENGTHS = phrases(
    "ten minutes/zehn Minuten, twenty minutes/zwanzig Minuten, half an hour/eine halbe Stunde, an hour/eine Stunde, "
    "an hour/eine Stunde, two hours/zwei Stunden, three hours/drei Stunden, five hours/fünf Stunden, four hours/vier Stunden"
)


def how_long_it_takes(choice: Choice) -> Sentence:
    """How long does it take to get to Munich by train: Wie lange braucht man mit dem Zug nach München?"""
    where, verb = destination(choice, 0.5), choice.pick(("get", "get", "go", "drive"))
    by = choice.pick(BY) if verb != "drive" and choice.chance(0.45) else Phrase("", "")
    if verb == "drive":
        by = Phrase("", "mit dem Auto")
    start = Phrase(" from here", " von hier") if choice.chance(0.2) else Phrase("", "")
    spoken = f"to {verb}{start.english} {where.english} {by.english}".strip()
    told = " ".join(f"{by.german}{start.german} {where.german}".split())
    far = where.german.startswith("nach")
    if choice.chance(0.55):
        return Phrase(f"how long does it take {spoken}", f"wie lange braucht man {told}"), "?"
    length = choice.pick(LENGTHS[3:] if far else LENGTHS[:4])
    told = " ".join(f"man braucht {by.german} {length.german}{start.german} {where.german}".split())
    return Phrase(f"it takes {length.english} {spoken}", told), "."


def way_there(choice: Choice) -> Sentence:
    """How do I get to the station? How can we get to the museum from here? I do not know how to get there, please help."""
    who = choice.pick((I, I, WE, YOU))
    where = destination(choice, 0.25)
    start = Phrase(" from here", "von hier ") if choice.chance(0.3) else Phrase("", "")
    by = choice.pick(BY) if choice.chance(0.2) else None
    german_where = f"{start.german}{by.german + ' ' if by else ''}{where.german}"
    body = Clause(who, replace(entry("come").verb, english="get", english_ing="getting"))
    body = replace(
        body, complements=(Phrase(f"{where.english}{' ' + by.english if by else ''}{start.english}", german_where),)
    )
    if choice.chance(0.4):
        body = replace(body, form="modal", modal=CAN)
    if choice.chance(0.25) and who != YOU:
        opening = choice.pick(
            (
                Phrase("can you tell me", "kannst du mir sagen"),
                Phrase("could you tell us", "könntest du uns sagen"),
                Phrase("do you know", "weißt du"),
            )
        )
        return Phrase(
            f"{opening.english} how {english.clause(body)}", f"{opening.german}, wie {german.clause(body, 'final')}"
        ), "?"
    return Phrase(f"how {english.clause(body, question=True)}", german.clause(body, "question", front="wie")), "?"


def near_here(choice: Choice) -> Sentence:
    """Is there a cheap restaurant near here: Gibt es hier in der Nähe ein billiges Restaurant?"""
    noun = choice.rare(
        nouns_of(("shop", "eatery", "lodging", "culture", "transport", "hospital", "park", "school", "lake"))
    )
    if "home" in noun.classes:
        return near_here(choice)
    adjective = choice.pick((None, None, None, "good", "cheap", "big", "nice"))
    known = [found for found in adjectives_of(noun) if found.english == adjective]
    phrase = NounPhrase(noun, A, adjective=known[0] if known else None)
    near, nah = choice.pick(
        (
            ("near here", "hier in der Nähe"),
            ("near here", "hier in der Nähe"),
            ("here", "hier"),
            ("in this street", "in dieser Straße"),
            ("near the hotel", "in der Nähe des Hotels"),
            ("near the station", "in der Nähe des Bahnhofs"),
            ("in this village", "in diesem Dorf"),
        )
    )
    if noun.english in near:
        return near_here(choice)
    spoken, told = english.nominal(phrase), german.nominal(phrase, "accusative")
    kind = choice.weighted((0.6, 0.15, 0.25))
    if kind == 0:
        return Phrase(f"is there {spoken} {near}", f"gibt es {nah} {told}"), "?"
    if kind == 1:
        nothing = german.noun_phrase(phrase, "accusative", negated=True)
        no = english.nominal(replace(phrase, determiner=replace(A, english="no")))
        return Phrase(f"there is {no} {near}", f"{nah} gibt es {nothing}"), "."
    opening = choice.pick(
        (
            Phrase("do you know if there is", "weißt du, ob es"),
            Phrase("I do not know if there is", "ich weiß nicht, ob es"),
        )
    )
    mark = "?" if opening.english.startswith("do") else "."
    return Phrase(f"{opening.english} {spoken} {near}", f"{opening.german} {nah} {told} gibt"), mark
