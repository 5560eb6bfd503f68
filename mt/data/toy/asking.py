"""Asking for something and telling somebody to do it, can you tell me where, can you help me do it."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Nominal, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import measured, noun_phrase, object_phrase
from mt.data.toy.purposes import deed_of
from mt.data.toy.remarks import PLEASE
from mt.data.toy.reported import TELL, asked_about, joined
from mt.data.toy.scenes import effect_clause, state_clause
from mt.data.toy.statements import REQUESTED, awkward, wished
from mt.data.toy.times import coming_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    BARE,
    CAN,
    HAVE_TO,
    MAY,
    MUCH,
    NUMBERS,
    POLITE,
    SHOULD,
    SOME_OF_IT,
    THE,
    WANT,
    WE,
    WOULD_LIKE,
    YOU,
    A,
    I,
)


def somebody_known(choice: Choice) -> Nominal:
    """A subject that one can ask about."""
    while True:
        who = somebody(choice, ("adult",), "known")
        if who.person != 1 and not (isinstance(who, NounPhrase) and not who.definite):
            return who


WITH_MILK = (Phrase("without milk", "ohne Milch"), Phrase("with milk", "mit Milch"))


def something(choice: Choice) -> NounPhrase:
    """What one asks for at table: a glass of water, some bread, two eggs, more soup."""
    noun = choice.rare(nouns_of(("drink", "alcohol", "dish", "snack", "food")))
    if "liquid" in noun.classes and choice.chance(0.55):
        phrase = measured(choice, noun)
        mixed = "hot" in noun.classes and choice.chance(0.35)
        return replace(phrase, attached=choice.pick(WITH_MILK)) if mixed else phrase
    if noun.mass:
        return NounPhrase(noun, choice.pick((BARE, SOME_OF_IT, SOME_OF_IT, *MUCH[:2])))
    plural = choice.chance(0.4)
    return NounPhrase(noun, choice.pick(NUMBERS[:4]) if plural else A, plural)


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
    if kind == 0:
        modal = choice.pick((CAN, CAN, POLITE, MAY))
        body = Clause(who, entry("have").verb, "modal", modal, accusative=something(choice))
        spoken = english.clause(body, question=True)
        if choice.chance(0.6):
            return Phrase(f"{spoken}, please", german.clause(replace(body, middle=PLEASE), "question")), "?"
        return Phrase(spoken, german.clause(body, "question")), "?"
    body = wished(who, something(choice))
    if kind == 2:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    told = german.clause(replace(body, middle=PLEASE), "main")
    return Phrase(f"{english.clause(body)}, please", told), "."


def order_of(choice: Choice) -> Clause:
    """What one tells somebody to do: open the window, be quiet."""
    if choice.chance(0.06):
        return Clause(YOU, BE, complements=(predicate(ADJECTIVE[choice.pick(("quiet", "friendly", "nice"))]),))
    while True:
        body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.1, negation=0, form="present")
        origin = any(phrase.english.startswith("from ") for phrase in body.complements)
        if not origin and not awkward(body) and not body.middle:
            return replace(body, time=None)


def two_requests(choice: Choice) -> Sentence:
    """Turn off the lamp and go to bed! Please sit down and listen to me."""
    one, two = order_of(choice), order_of(choice)
    while two.verb == one.verb:
        two = order_of(choice)
    spoken = f"{english.imperative(one)} and {english.imperative(two)}"
    told = f"{german.imperative(one)} und {german.imperative(two)}"
    if choice.chance(0.35):
        return Phrase(f"please {spoken}", f"bitte {told}"), "."
    return Phrase(spoken, told), "!"


# The state of things | what one asks for then.
REQUESTS_IN = [
    tuple(part.strip().split("; ") for part in line.split("|"))
    for line in """
COLD | close>window,door; put on>coat,hat; make>tea; stay@here; come@home
WARM | open>window,door; put on>hat; drink>water; stay@here
LATE | go@to_bed; come@home; hurry; turn off>lamp,computer; sleep; go@home
RAIN | put on>coat,hat; close>window; take>bus,train; stay@at_home; stay@here
tired | be quiet; cook; go@home; sleep; drink>coffee; turn off>lamp
hungry | cook>soup,egg,potato; make>dinner,breakfast; buy>bread,cheese; eat>apple,egg,soup
thirsty | make>tea,coffee; buy>water,juice; drink>water,juice
sick | call>doctor; stay@at_home; sleep; be quiet; go@home
baby | be quiet; close>door,window; go@garden:into; turn off>lamp
""".strip().split("\n")
]


def request_because(choice: Choice) -> Sentence:
    """Please close the door, it is cold. Be quiet, the baby is sleeping! Stay at home if you are sick!"""
    [state], deeds = choice.pick(REQUESTS_IN)
    deed = choice.pick(deeds)
    body = (
        Clause(YOU, BE, complements=(predicate(ADJECTIVE["quiet"]),))
        if deed == "be quiet"
        else effect_clause(choice, deed, YOU, "present")
    )
    if deed.startswith("turn off") and isinstance(body.accusative, NounPhrase):
        body = replace(body, accusative=replace(body.accusative, determiner=THE))
    if state == "baby":
        someone = noun_phrase(choice, choice.rare(nouns_of(("baby", "child", "kin"))), "known", adjective=0)
        why = Clause(someone, entry("sleep").verb, "progressive")
    else:
        own = deed.split(">")[0] in ("stay@at_home", "sleep", "drink", "eat", "go@home")
        why = state_clause(choice, state, YOU if own else choice.pick((I, I, WE)), "present")
    spoken, told = english.imperative(body), german.imperative(body)
    joint = choice.weighted((0.6, 0.25, 0.15))
    word = (None, Phrase("because", "weil"), Phrase("if", "wenn"))[joint if why.subject == YOU or joint < 2 else 0]
    if why.form == "progressive" and word and word.english == "if":
        word = None
    if word is None and choice.chance(0.4):
        before = Phrase(f"{english.clause(why)}, ", f"{german.clause(why, 'main')}, ")
        return Phrase(f"{before.english}please {spoken}", f"{before.german}bitte {told}"), choice.pick("!.")
    if word is None:
        reason = Phrase(f", {english.clause(why)}", f", {german.clause(why, 'main')}")
    else:
        reason = Phrase(f" {word.english} {english.clause(why)}", f", {word.german} {german.clause(why, 'final')}")
    if choice.chance(0.45):
        return Phrase(f"please {spoken}{reason.english}", f"bitte {told}{reason.german}"), "."
    return Phrase(spoken + reason.english, told + reason.german), "!"


def tell_me(choice: Choice) -> Sentence:
    """Can you tell me where the museum is? Tell me why you are sad."""
    word, body, missing = asked_about(choice)
    outer = Clause(YOU, TELL, dative=choice.pick((I, I, I, WE)))
    spoken, told = english.clause(body, without=missing), german.clause(body, "final", without=missing)
    if choice.chance(0.7):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, CAN, POLITE)))
        return joined(outer, word, spoken, told, question=True), "?"
    please = choice.chance(0.5)
    start = Phrase("please ", "bitte ") if please else Phrase("", "")
    return Phrase(
        f"{start.english}{english.imperative(outer)} {word.english} {spoken}",
        f"{start.german}{german.imperative(outer)}, {word.german} {told}",
    ), "."


def helping(choice: Choice) -> Sentence:
    """Can you help me clean the kitchen? She helped her mother to cook: ihrer Mutter geholfen, zu kochen."""
    who = somebody(choice, ("adult",)) if choice.chance(0.6) else YOU
    receiver = object_phrase(choice, ("person",), "known", who)
    inner = deed_of(choice)
    while (
        inner.verb.english in ("help", "wear")
        or not isinstance(inner.accusative, NounPhrase)
        or inner.company
        or inner.manner
    ):
        inner = deed_of(choice)
    outer = Clause(who, entry("help").verb, choice.pick(("present", "past", "future")), dative=receiver)
    if choice.chance(0.4):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, WANT, HAVE_TO, SHOULD, WOULD_LIKE)))
    asks = who.person != 1 and choice.chance(0.6 if who == YOU else 0.1)
    if asks and who == YOU:
        outer = replace(outer, form="modal", modal=choice.pick((CAN, CAN, POLITE)), dative=choice.pick((I, I, WE)))
    if outer.form in ("modal", "future") and not (outer.modal and outer.modal.past) and choice.chance(0.35):
        inner = replace(inner, time=coming_time(choice, long=False))
    joint = "to " if choice.chance(0.3) else ""
    spoken = f"{english.clause(outer, question=asks)} {joint}{english.infinitive(inner)}"
    told = f"{german.clause(outer, 'question' if asks else 'main')}, {german.to_infinitive(inner)}"
    return Phrase(spoken, told), "?" if asks else "."


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
