"""At table and before: asking for a glass of water, a table by the window, more soup when one is hungry."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Coordination, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import AND
from mt.data.toy.phrases import measured
from mt.data.toy.statements import PLEASE, wished
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    BARE,
    CAN,
    MAY,
    MUCH,
    NUMBERS,
    POLITE,
    SOME_OF_IT,
    THE,
    WE,
    A,
    I,
)

WITH_SIDES = (
    *(
        Phrase("with potatoes", "mit Kartoffeln"),
        Phrase("with bread", "mit Brot"),
        Phrase("without bread", "ohne Brot"),
    ),
    None,
    None,
)
WITH_MILK = (Phrase("without milk", "ohne Milch"), Phrase("with milk", "mit Milch"))


def something(choice: Choice) -> NounPhrase:
    """What one asks for at table: a glass of water, some bread, two eggs, more soup."""
    noun = choice.rare(nouns_of(("drink", "alcohol", "dish", "snack", "food")))
    if "liquid" in noun.classes and choice.chance(0.55):
        phrase = measured(choice, noun)
        mixed = "hot" in noun.classes and choice.chance(0.5)
        return replace(phrase, attached=choice.pick(WITH_MILK)) if mixed else phrase
    if noun.english in ("fish", "meat", "soup", "cheese") and choice.chance(0.4):
        return NounPhrase(noun, THE, attached=choice.pick(WITH_SIDES))
    if noun.mass:
        return NounPhrase(noun, choice.pick((BARE, SOME_OF_IT, SOME_OF_IT, *MUCH[:2])))
    if "dish" in noun.classes and choice.chance(0.4):
        return NounPhrase(noun, choice.pick((SOME_OF_IT, MUCH[0])))
    plural = choice.chance(0.4)
    return NounPhrase(noun, choice.pick(NUMBERS[:4]) if plural else A, plural)


def something_more(choice: Choice) -> NounPhrase | Coordination:
    """The same, sometimes two things: a cup of coffee and some chocolate cake."""
    one, two = something(choice), something(choice)
    same = one.noun == two.noun and one.measure == two.measure
    if same or one.attached or two.attached or choice.chance(0.75):
        return one
    return Coordination(one, two, AND)


RESERVED = [
    phrase_pair(pair)
    for pair in [
        "a table by the window/einen Tisch am Fenster",
        "a table in the garden/einen Tisch im Garten",
        "a table for two/einen Tisch für zwei",
        "a table for four/einen Tisch für vier",
        "a quiet table/einen ruhigen Tisch",
        "a table for two by the window/einen Tisch für zwei am Fenster",
        "a room for two/ein Zimmer für zwei",
        "a room with a big bed/ein Zimmer mit einem großen Bett",
        "a quiet room/ein ruhiges Zimmer",
        "a cheap room/ein billiges Zimmer",
        "a room by the sea/ein Zimmer am Meer",
        "the menu/die Speisekarte",
        "a table in the sun/einen Tisch in der Sonne",
    ]
]


def reserving(choice: Choice) -> Sentence:
    """We would like a table by the window, please. Can I have a room for two?"""
    thing, who = choice.pick(RESERVED), choice.pick((I, WE, WE))
    wish, may = ("möchte", "kann") if who == I else ("möchten", "können")
    ending, bitte = choice.pick((("", ""), (", please", " bitte")))
    part = "Nacht" if "room" in thing.english else "Abend"
    night = choice.pick((Phrase("", ""), Phrase("", ""), Phrase(" for tonight", f" für heute {part}")))
    if choice.chance(0.6):
        wanted = choice.pick(("would like", "would like to have"))
        told = f"{who.nominative} {wish}{bitte} {thing.german}{night.german}"
        told += " haben" if wanted.endswith("have") else ""
        return Phrase(f"{who.english} {wanted} {thing.english}{night.english}{ending}", told), "."
    return Phrase(
        f"can {who.english} have {thing.english}{night.english}{ending}",
        f"{may} {who.nominative}{bitte} {thing.german}{night.german} haben",
    ), "?"


def asking_for(choice: Choice) -> Sentence:
    """Can I have a glass of water, please? I would like some tea, please. Would you like more soup?"""
    kind = choice.weighted((0.5, 0.3, 0.2))
    if choice.chance(0.15):
        return reserving(choice)
    who = choice.pick((I, I, WE)) if kind < 2 else somebody_known(choice)
    thing = something_more(choice)
    if kind == 0:
        modal = choice.pick((CAN, CAN, POLITE, MAY))
        body = Clause(who, entry("have").verb, "modal", modal, accusative=thing)
        spoken = english.clause(body, question=True)
        if choice.chance(0.6):
            return Phrase(f"{spoken}, please", german.clause(replace(body, middle=PLEASE), "question")), "?"
        return Phrase(spoken, german.clause(body, "question")), "?"
    body = wished(who, thing)
    if kind == 2:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    told = german.clause(replace(body, middle=PLEASE), "main")
    return Phrase(f"{english.clause(body)}, please", told), "."


def also_at_once(choice: Choice) -> Sentence:
    """I am thirsty, can I have some water? We are hungry, could we have more soup, please?"""
    state, noun = choice.pick((("thirsty", ("drink", "alcohol")), ("hungry", ("dish", "snack", "food"))))
    who = choice.pick((I, I, WE))
    thing = something(choice)
    while not thing.noun.classes & set(noun) and not (thing.measure and state == "thirsty"):
        thing = something(choice)
    why = Clause(who, BE, complements=(predicate(ADJECTIVE[state], choice.pick(("", "", "very", "so"))),))
    body = Clause(who, entry("have").verb, "modal", choice.pick((CAN, CAN, POLITE)), accusative=thing)
    please = choice.chance(0.3)
    told = german.clause(replace(body, middle=PLEASE if please else None), "question")
    spoken = english.clause(body, question=True) + (", please" if please else "")
    return Phrase(f"{english.clause(why)}, {spoken}", f"{german.clause(why, 'main')}, {told}"), "?"
