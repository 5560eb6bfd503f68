"""Travel: where one is from, when the train to Munich leaves, going to work by bus."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import BY
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.places import fixed_places
from mt.data.toy.questions import with_word
from mt.data.toy.statements import plain
from mt.data.toy.times import NOW, clock, coming_time, habit_time, past_time, phrases
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    HABITS,
    LATE,
    THE,
)


def origin(choice: Choice) -> Sentence:
    """Where do you come from? Where is your wife from? She is from Vienna: Sie kommt aus Wien."""
    come = entry("come").verb
    if choice.chance(0.3):
        body = Clause(somebody_known(choice), come)
        told = german.clause(body, "question", front="woher")
        if choice.chance(0.5):
            return Phrase(f"where {english.clause(body, question=True)} from", told), "?"
        verb = english.be_form(body.subject, past=False)
        return Phrase(f"where {verb} {english.nominal(body.subject)} from", told), "?"
    where = choice.pick((*fixed_places("IN_TOWN"), *fixed_places("IN_COUNTRY")))
    home = Phrase(where.english.replace("in ", "from "), where.german.replace("in ", "aus "))
    who = somebody(choice, ("adult",), "known")
    asks = who.person != 1 and choice.chance(0.25)
    body = Clause(who, BE, complements=(home,), negated=not asks and choice.chance(0.12))
    comes = replace(body, verb=come)
    if asks:
        return Phrase(english.clause(body, question=True), german.clause(comes, "question")), "?"
    return Phrase(english.clause(body), german.clause(comes, "main")), "."


def timetable(choice: Choice) -> Sentence:
    """The train to Munich leaves at nine o'clock. Is the bus from Vienna late? When does the train to Rome arrive?"""
    noun = choice.pick(nouns_of(("public",)))
    where = choice.pick((*fixed_places("TO_TOWN"), *fixed_places("TO_TOWN"), *fixed_places("FROM_TOWN")))
    who = NounPhrase(noun, THE, attached=where)
    form: Form = choice.pick(("present", "present", "past"))
    if choice.chance(0.25):
        return said_or_asked(choice, Clause(who, BE, form, complements=(LATE,), negated=choice.chance(0.1)), 0.3)
    body = Clause(who, entry(choice.pick(("leave", "arrive", "leave"))).verb, form, time=clock(choice))
    if choice.chance(0.3):
        asked = choice.pick((Phrase("when", "wann"), Phrase("what time", "um wie viel Uhr")))
        if form == "present" and choice.chance(0.4):
            day = choice.pick(
                phrases("tomorrow/morgen, today/heute, on Sunday/am Sonntag, tomorrow morning/morgen früh")
            )
            return with_word(replace(body, time=day), asked, ""), "?"
        return with_word(body, asked, "time"), "?"
    return said_or_asked(choice, body, 0.15)


RIDES = (
    ("to work", "zur Arbeit"),
    ("to school", "in die Schule"),
    ("to the station", "zum Bahnhof"),
    ("to the supermarket", "zum Supermarkt"),
    ("to the lake", "an den See"),
    ("to the beach", "an den Strand"),
    ("to the office", "ins Büro"),
    ("to the museum", "ins Museum"),
)


def ride(choice: Choice) -> Sentence:
    """She always goes to work by bus: mit dem Bus zur Arbeit. Did he go to the lake by car?"""
    where = Phrase(*choice.pick(RIDES), direction=True)
    form: Form = choice.pick(("present", "present", "progressive", "past", "future"))
    body = Clause(somebody(choice, ("adult",)), entry("go", "fahren").verb, form, complements=(choice.pick(BY), where))
    if choice.chance(0.3):
        public = noun_phrase(choice, choice.rare(nouns_of(("public",))), "known", adjective=0.1)
        body = replace(body, subject=public, complements=(where,))
    if form == "present" and choice.chance(0.45):
        body = replace(body, middle=choice.pick(HABITS))
    elif choice.chance(0.4):
        times = {"past": past_time, "future": coming_time, "present": habit_time}.get(form)
        body = replace(body, time=times(choice, long=False) if times else choice.pick(NOW))
    return said_or_asked(choice, replace(body, negated=not body.middle and choice.chance(0.1)), 0.2)


def said_or_asked(choice: Choice, body: Clause, share: float) -> Sentence:
    """The clause as a statement, sometimes as a question."""
    indefinite = isinstance(body.subject, NounPhrase) and not body.subject.definite
    if body.subject.person != 1 and not body.negated and not indefinite and choice.chance(share):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body, front=choice.chance(0.15)), "."
