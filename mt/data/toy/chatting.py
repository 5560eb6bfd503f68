"""Greetings, thanks, what time it is, have you seen it, do not forget that, and what was done by whom."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import tell_me
from mt.data.toy.at_table import asking_for
from mt.data.toy.being import existence
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.company import attached
from mt.data.toy.features import Clause, NounPhrase, Phrase, Sentence, Verb
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase, object_phrase, own
from mt.data.toy.places import fixed_places
from mt.data.toy.predicates import any_clause
from mt.data.toy.questions import where, with_word, yes_no
from mt.data.toy.remarks import polite
from mt.data.toy.reported import looks_back
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain, request
from mt.data.toy.talk import introduction, what_one_wants
from mt.data.toy.things import it_for
from mt.data.toy.times import past_time, phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import CAN, HAVE_TO, NAMES, POSSESSIVES, WANT, WE, YOU, I

GREETINGS = (
    Phrase("good morning", "guten Morgen"),
    Phrase("good evening", "guten Abend"),
    Phrase("hello", "hallo"),
    Phrase("excuse me", "Entschuldigung"),
    Phrase("excuse me", "Entschuldigung"),
)


def greeted(choice: Choice) -> Sentence:
    """Excuse me, where is the station? Hello, my name is Anna and I live in Berlin. Peter, can you help me, please?"""
    word = choice.pick(GREETINGS)
    kinds = (
        (where, where, polite, tell_me, is_there)
        if word.english == "excuse me"
        else (asking_for, introduction, polite, yes_no)
    )
    if choice.chance(0.25):
        name = choice.pick(NAMES)
        word, kinds = Phrase(name.word, name.word), (polite, request, what_one_wants, tell_me)
        if choice.chance(0.4):
            word = Phrase(f"hello {name.word}", f"hallo {name.word}")
    said, mark = choice.pick(kinds)(choice)
    if said.english.startswith("where ") and choice.chance(0.4):
        said = Phrase(f"{said.english}, please", f"{said.german}, bitte")
        if choice.chance(0.6):
            return said, mark
    return Phrase(f"{word.english}, {said.english}", f"{word.german}, {said.german}"), mark


def is_there(choice: Choice) -> Sentence:
    """Is there a good restaurant in this street?"""
    while True:
        said, mark = existence(choice)
        if mark == "?":
            return said, mark


def thanks(choice: Choice) -> Sentence:
    """Thank you for the beautiful flowers: Danke für die schönen Blumen."""
    noun = choice.rare(nouns_of(("gift", "text", "drink", "meal", "picture", "toy", "flower", "help", "answer")))
    thing = noun_phrase(choice, noun, "known", YOU, adjective=0.4)
    thing = NounPhrase(noun, POSSESSIVES["your"]) if noun.english == "help" else thing
    ending = choice.pick(("", "", ", Anna", ", Peter"))
    return Phrase(
        f"thank you for {english.nominal(thing)}{ending}", f"danke für {german.nominal(thing, 'accusative')}{ending}"
    ), choice.pick("!.")


ASKED_TIME = (
    (Phrase("what time is it", "wie spät ist es"), "?"),
    (Phrase("can you tell me what time it is", "kannst du mir sagen, wie spät es ist"), "?"),
    (Phrase("could you tell me what time it is", "könntest du mir sagen, wie spät es ist"), "?"),
    (Phrase("do you know what time it is", "weißt du, wie spät es ist"), "?"),
    (Phrase("I do not know what time it is", "ich weiß nicht, wie spät es ist"), "."),
    (Phrase("what time was it", "wie spät war es"), "?"),
    (Phrase("nobody knows what time it is", "niemand weiß, wie spät es ist"), "."),
)


def for_a_birthday(choice: Choice) -> Sentence:
    """He gave his wife a red flower for her birthday: zum Geburtstag. What does she want for her birthday?"""
    who, pronoun = person(choice)
    kind = choice.weighted((0.65, 0.35))
    if kind == 0:
        body = verb_clause(choice, entry=choice.pick((entry("give"), entry("buy"))), who=who, rich=0, negation=0)
        if body.verb.english == "give":
            body = replace(
                body, verb=replace(body.verb, german="schenken", german_third="schenkt", participle="geschenkt")
            )
        owner = own(body.dative)
        if body.dative is None or owner is None or body.middle or body.form == "progressive":
            return for_a_birthday(choice)
    else:
        thing = noun_phrase(choice, choice.rare(nouns_of(("gift", "toy", "pet", "clothes", "wheels"))), "new", who)
        body, owner = (
            Clause(who, entry("want").verb, choice.pick(("present", "past")), accusative=thing),
            pronoun.possessive,
        )
    when = Phrase(f"for {owner} birthday", "zum Geburtstag")
    if kind == 0 and body.verb.english != "give" and choice.chance(0.3):
        name = choice.pick(NAMES)
        when, body = Phrase(f"for {name.word}'s birthday", f"zu {name.word}s Geburtstag"), replace(body, dative=None)
        if name == who:
            return for_a_birthday(choice)
    body = replace(body, time=when, favour=None, receiver_last=False)
    if choice.chance(0.2) and who.person != 1:
        if choice.chance(0.5):
            return with_word(body, Phrase("what", "was"), "accusative"), "?"
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def what_time(choice: Choice) -> Sentence:
    """What time is it in London? Excuse me, do you know what time it is?"""
    (said, mark), spoken, told = choice.pick(ASKED_TIME), "", ""
    if choice.chance(0.4) and "," not in said.german:
        place = choice.pick(fixed_places("IN_TOWN"))
        spoken, told = f" {place.english}", f" {place.german}"
    start = choice.pick((Phrase("", ""), *(Phrase(f"{one.english}, ", f"{one.german}, ") for one in GREETINGS)))
    if choice.chance(0.3):
        start = choice.pick([Phrase(f"{name.word}, ", f"{name.word}, ") for name in NAMES])
    return Phrase(f"{start.english}{said.english}{spoken}", f"{start.german}{said.german}{told}"), mark


def keep_in_mind(choice: Choice) -> Sentence:
    """Do not forget that your sister is coming tomorrow!"""
    while True:
        body = any_clause(choice, rich=0.4, negation=0.1)
        if not looks_back(body) and body.subject != I:
            break
    who = Clause(YOU, entry("forget").verb, negated=True)
    return Phrase(
        f"{english.imperative(who)} that {english.clause(body)}",
        f"{german.imperative(who)}, dass {german.clause(body, 'final')}",
    ), "!"


def where_is_it(choice: Choice) -> Sentence:
    """I cannot find my key, do you know where it is? We cannot repair our car, can you help us?"""
    kind = choice.weighted((0.4, 0.35, 0.25))
    we = choice.pick((I, WE))
    who = we if kind == 2 else person(choice)[0]
    if who == YOU:
        return where_is_it(choice)
    classes = (
        ("tool", "carried", "clothes", "pet"),
        ("tool", "carried", "pet"),
        ("road", "wheels", "kitchen", "device"),
    )
    thing = noun_phrase(choice, choice.rare(nouns_of(classes[kind])), "known", who, adjective=0.15)
    it = it_for(thing)
    if kind == 0:
        body = Clause(who, entry("find").verb, "modal", CAN, negated=True, accusative=thing)
        be, sein = ("are", "sind") if it.plural else ("is", "ist")
        tag = Phrase(f"do you know where {it.english} {be}", f"weißt du, wo {it.nominative} {sein}")
    elif kind == 1:
        body = Clause(who, entry("look for").verb, "progressive", accusative=thing)
        tag = Phrase(f"have you seen {it.english_object}", f"hast du {it.accusative} gesehen")
    else:
        verb = entry("clean" if thing.noun.english == "kitchen" else choice.pick(("repair", "repair", "sell"))).verb
        modal = choice.pick((WANT, CAN, CAN, HAVE_TO))
        body = Clause(who, verb, "modal", modal, negated=modal == CAN, accusative=thing)
        if thing.noun.classes & {"wheels", "device"} and choice.chance(0.5):
            verb = entry("repair").verb
            body = Clause(thing, entry("work", "funktionieren").verb, "progressive", negated=True)
        tag = Phrase(f"can you help {we.english_object}", f"kannst du {we.dative} helfen")
        if body.subject == thing and choice.chance(0.5):
            tag = Phrase(f"can you repair {it.english_object}", f"kannst du {it.accusative} reparieren")
        elif body.subject == thing or choice.chance(0.4):
            tag = Phrase(f"who can {verb.english} {it.english_object}", f"wer kann {it.accusative} {verb.german}")
    return Phrase(f"{english.clause(body)}, {tag.english}", f"{german.clause(body, 'main')}, {tag.german}"), "?"


DONE = (
    ("write", ("letter", "book")),
    ("repair", ("road", "wheels", "device")),
    ("cook", ("soup", "egg", "potato")),
    ("sell", ("house", "flat", "car", "picture")),
    ("buy", ("house", "flat", "car", "picture")),
    ("clean", ("kitchen", "window", "room")),
    ("wash", ("garment", "car")),
    ("open", ("letter", "gift", "window", "door")),
    ("close", ("window", "door")),
    ("find", ("key", "bag", "phone")),
    ("bring", ("letter", "newspaper", "flower")),
    ("order", ("soup", "wine", "beer")),
    ("invite", ("kin", "friend", "neighbour")),
    ("send", ("letter", "flower")),
)


def done_by(choice: Choice) -> Sentence:
    """The letter was written by my grandfather: wurde von meinem Großvater geschrieben. Was the car sold?"""
    name, classes = choice.pick(DONE)
    verb = entry(name).verb
    thing = noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0.15)
    if thing.determiner.plural and not thing.definite:
        return done_by(choice)
    was, wurde = english.be_form(thing, past=True), "wurden" if thing.plural else "wurde"
    spoken, told = verb.english_participle, verb.participle
    if choice.chance(0.25):
        return must_be_done(choice, thing, verb)
    if choice.chance(0.55):
        agent = object_phrase(choice, ("person",), "known", thing)
        if isinstance(agent, NounPhrase) and (agent.noun == thing.noun or agent.owner):
            return done_by(choice)
        spoken = f"{spoken} {english.preposition('by', agent)}"
        told = f"{german.preposition('von', agent, 'dative')} {told}"
    if choice.chance(0.45):
        time = past_time(choice, long=False)
        spoken, told = f"{spoken} {time.english}", f"{time.german} {told}"
    elif told == verb.participle:
        return done_by(choice)
    theme, thema = english.nominal(thing), german.nominal(thing, "nominative")
    if choice.chance(0.2):
        return Phrase(f"{was} {theme} {spoken}", f"{wurde} {thema} {told}"), "?"
    return Phrase(f"{theme} {was} {spoken}", f"{thema} {wurde} {told}"), "."


MUST_BE = (
    ("must", "must", "muss", "müssen"),
    ("has to", "have to", "muss", "müssen"),
    ("can", "can", "kann", "können"),
)


def must_be_done(choice: Choice, thing: NounPhrase, verb: Verb) -> Sentence:
    """The lamp in the kitchen must be repaired: muss repariert werden."""
    word, words, modal, modals = choice.pick((*MUST_BE, *MUST_BE[:2]))
    time = choice.pick(phrases("today/heute, tomorrow/morgen, this week/diese Woche, on Monday/am Montag, soon/bald"))
    spoken, told = (f" {time.english}", f"{time.german} ") if choice.chance(0.3) else ("", "")
    whole = attached(choice, thing, 0.3) or thing
    return Phrase(
        f"{english.nominal(whole)} {words if thing.plural else word} be {verb.english_participle}{spoken}",
        f"{german.nominal(whole, 'nominative')} {modals if thing.plural else modal} {told}{verb.participle} werden",
    ), "."
