"""What one cannot, must not or need not do, and what one learns to do: we could not find a hotel, he learns to swim."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, verb_clause
from mt.data.toy.features import Clause, Coordination, Form, Modal, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import coming_time, phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import BARE, CAN, COULD, HAVE_TO, MUST_NOT, NEED_TO, SHOULD, THE, WANT, YOU

UNABLE = """find, find, find, see, hear, understand, sleep, open, repair, come, work, eat/essen, buy, help, go/gehen, visit,
swim, play, read, answer, close, learn, wait, drive""".replace("\n", " ").split(", ")
FORBIDDEN = """go/gehen, play, drive, open, close, eat/essen, drink, forget, forget, lose, wait, come, sit, sing, swim, tell,
take/nehmen, turn on, turn off, put on, speak, stay, sleep, read, buy, sell, run, work""".replace("\n", " ").split(", ")
MODALS: tuple[tuple[Modal, float], ...] = (
    (CAN, 0.25),
    (COULD, 0.25),
    (MUST_NOT, 0.28),
    (HAVE_TO, 0.16),
    (NEED_TO, 0.06),
)


def unable_to(choice: Choice) -> Sentence:
    """We could not find a hotel. You must not drive so fast: darfst nicht. She does not have to work: muss nicht."""
    modal = MODALS[choice.weighted([weight for _, weight in MODALS])][0]
    who, _ = person(choice) if choice.chance(0.7) else (YOU, YOU)
    if choice.chance(0.12):
        who = NounPhrase(choice.pick(nouns_of(("child", "boy", "girl"))), THE, plural=choice.chance(0.5))
    found = entry(*choice.pick(UNABLE if modal in (CAN, COULD) else FORBIDDEN).split("/"))
    body = verb_clause(choice, entry=found, who=who, rich=0.4, negation=0, form="past" if modal.past else "future")
    counted = isinstance(body.accusative, NounPhrase) and body.accusative.determiner.plural is True
    many = counted and not (isinstance(body.accusative, NounPhrase) and body.accusative.definite)
    odd = many or isinstance(body.accusative, Coordination) or (modal == MUST_NOT and not known(body))
    if odd or body.middle or (body.company and body.company.english.startswith("without")):
        return unable_to(choice)
    manner = SO.get(body.manner.english) if body.manner else None
    body = replace(body, form="modal", modal=modal, ongoing=False, negated=True, manner=manner, favour=None)
    if body.time and body.time.english.startswith("every"):
        body = replace(body, time=None, hour=None)
    if modal in (CAN, COULD) and who.person != 1 and choice.chance(0.1):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


SO = {
    "fast": Phrase("so fast", "so schnell"),
    "loudly": Phrase("so loudly", "so laut"),
    "late": Phrase("so late", "so spät"),
    "a lot": Phrase("so much", "so viel"),
    "well": Phrase("well", "gut"),
    "slowly": Phrase("so slowly", "so langsam"),
}


def known(body: Clause) -> bool:
    """Whether the object, if there is one, is known: what must not be done is not done to a thing of many."""
    thing = body.accusative
    return not isinstance(thing, NounPhrase) or thing.definite or thing.noun.mass


LEARNED = phrases(
    "to swim/schwimmen, to read/lesen, to cook/kochen, to dance/tanzen, to write/schreiben, to sing/singen, to drive/Auto fahren, "
    "to play the guitar/Gitarre spielen, to play football/Fußball spielen, to speak German/Deutsch sprechen, to swim/schwimmen, "
    "to speak English/Englisch sprechen, to read and write/lesen und schreiben"
)


def learning_to(choice: Choice) -> Sentence:
    """My son is learning to swim: lernt schwimmen. I want to learn to cook. She learned to drive last year."""
    who, _ = person(choice)
    if choice.chance(0.3):
        who = noun_phrase(
            choice, choice.rare(nouns_of(("child", "boy", "girl", "son", "daughter"))), "known", adjective=0.15
        )
    what = choice.pick(LEARNED)
    learn = entry("learn").verb
    verb = replace(learn, english_rest=what.english, particle=f"{what.german} ", participle=f"{what.german} gelernt")
    form: Form = choice.pick(("progressive", "progressive", "present", "past", "past", "modal"))
    modal = choice.pick((WANT, WANT, HAVE_TO, SHOULD)) if form == "modal" else None
    time = None
    if form == "past" and choice.chance(0.6):
        time = choice.pick(
            phrases(
                "last year/letztes Jahr, last summer/letzten Sommer, at school/in der Schule, two years ago/vor zwei Jahren"
            )
        )
    elif form == "progressive" and choice.chance(0.3):
        time = choice.pick(phrases("now/jetzt, at the moment/im Moment, at school/in der Schule"))
    body = Clause(who, verb, form, modal, time=time)
    if choice.chance(0.2) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


LET = replace(
    entry("forget").verb,
    english="leave",
    english_ing="leaving",
    german="lassen",
    german_third="lässt",
    participle="gelassen",
)
PLACES = phrases(
    "here/hier, at home/zu Hause, in the car/im Auto, in the hotel room/im Hotelzimmer, on the table/auf dem Tisch, "
    "in the kitchen/in der Küche, at the hotel/im Hotel, in front of the door/vor der Tür, in the office/im Büro"
)


def leave_it(choice: Choice) -> Sentence:
    """Can I leave my bag here? Please leave your shoes in front of the door. You can leave the car at home: lassen."""
    nouns = nouns_of(("carried", "tool", "clothes", "wheels", "road", "present", "book", "phone"))
    who, _ = person(choice) if choice.chance(0.5) else (YOU, YOU)
    noun = choice.rare(nouns)
    thing = noun_phrase(choice, noun, "known", who, adjective=0.1)
    where = choice.pick(PLACES)
    if noun.classes & {"wheels", "road"}:
        where = choice.pick((PLACES[0], PLACES[1], PLACES[-2]))
    modal = choice.pick((CAN, CAN, HAVE_TO, WANT, SHOULD))
    body = Clause(who, LET, "modal", modal, accusative=thing, complements=(where,))
    if choice.chance(0.35):
        body = replace(body, subject=YOU, form="present", modal=None)
        start = choice.pick((Phrase("please ", "bitte "), Phrase("", "")))
        return Phrase(start.english + english.imperative(body), start.german + german.imperative(body)), choice.pick(
            "!."
        )
    if choice.chance(0.4):
        asked = replace(body, modal=CAN)
        return Phrase(english.clause(asked, question=True), german.clause(asked, "question")), "?"
    if choice.chance(0.2):
        body = replace(body, time=coming_time(choice, long=False))
    return plain(body), "."


def let_in(choice: Choice) -> Sentence:
    """Are dogs allowed in the hotel: Sind Hunde im Hotel erlaubt? Children are not allowed in this room."""
    noun = choice.rare(
        [one for one in nouns_of(("pet", "child", "car", "bicycle", "phone", "animal")) if one.english_plural]
    )
    who = NounPhrase(noun, BARE, plural=True)
    where = None
    while where is None or " with " in where.english:
        where = chosen_place(choice, "building_inside", who)
    spoken, told = english.nominal(who), german.nominal(who, "nominative")
    if choice.chance(0.6):
        return Phrase(f"are {spoken} allowed {where.english}", f"sind {told} {where.german} erlaubt"), "?"
    denied = choice.chance(0.75)
    return Phrase(
        f"{spoken} are {'not ' if denied else ''}allowed {where.english}",
        f"{told} sind {where.german} {'nicht ' if denied else ''}erlaubt",
    ), "."
