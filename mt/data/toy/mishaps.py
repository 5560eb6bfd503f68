"""What happens to people: they leave their bag on the bus, fall off the bicycle, take off their shoes, begin to laugh."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place
from mt.data.toy.features import Clause, Form, Nominal, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, own
from mt.data.toy.places import place
from mt.data.toy.questions import with_word
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import GONE
from mt.data.toy.verbs import entry, parse
from mt.data.toy.words import POSSESSIVES, THE, YOU, A

LEAVE = replace(
    entry("forget").verb, english="leave", english_past="left", english_participle="left", english_ing="leaving"
)
LET = parse("leave left left | lassen lässt gelassen | adult").verb
FALL = parse("fall fell fallen | fallen fällt gefallen sein | adult").verb
LEFT_AT = (*("left_at",) * 3, "surface")
FALLEN = (
    ("bicycle", "off", "von"),
    ("horse", "off", "von"),
    ("chair", "off", "von"),
    ("bed", "out of", "aus"),
    ("tree", "out of", "von"),
    ("lake", "into", "in"),
)
DROPPED = (("table", "off", "von"), ("kitchen table", "off", "von"), ("chair", "off", "von"), ("bed", "off", "von"))
BREAKABLE = ("cup", "glass", "bottle", "book", "lamp", "egg", "apple", "plant", "phone", "pen", "hat", "key", "ball")


def left_behind(choice: Choice, who: Nominal, form: Form = "past") -> Clause:
    """Somebody left something somewhere: I left my bag on the bus: im Bus vergessen."""
    nouns = nouns_of(("tool", "carried", "clothes", "gift", "book", "money", "phone", "letter", "hat"))
    noun = choice.rare(nouns)
    thing = noun_phrase(choice, noun, "known", who, adjective=0.15)
    if "owned" in noun.classes and not thing.owner and choice.chance(0.7):
        whose = own(who) or "my"
        thing = NounPhrase(noun, POSSESSIVES[whose], thing.plural or noun.english == "shoe", thing.adjective)
    where = None
    while where is None:
        where = chosen_place(choice, choice.pick(LEFT_AT), who)
    return Clause(who, LEAVE, form, accusative=thing, complements=(where,))


def fallen(choice: Choice, who: Nominal) -> Clause:
    """Somebody fell off the bicycle, out of bed, into the lake: vom Fahrrad gefallen."""
    name, word, wort = choice.pick(FALLEN)
    return Clause(who, FALL, "past", complements=(off(choice, who, name, word, wort),))


def off(choice: Choice, who: Nominal, name: str, word: str, wort: str) -> Phrase:
    """Where something falls from, or into."""
    noun = NOUNS[name]
    whose = own(who) if noun.classes & {"wheels", "farm"} else None
    phrase = NounPhrase(noun, POSSESSIVES[whose] if whose and choice.chance(0.5) else THE)
    if name == "bed" and word == "out of":
        return Phrase("out of bed", "aus dem Bett", direction=True)
    told = place({"von": "from", "aus": "outof", "in": "into"}[wort], phrase, "", direction=True)
    return Phrase(f"{word} {english.nominal(phrase)}", told.german, direction=True)


def mishap(choice: Choice, who: Nominal) -> Clause:
    """Something that happened to somebody."""
    return left_behind(choice, who) if choice.chance(0.65) else fallen(choice, who)


def what_happened(choice: Choice) -> Sentence:
    """Did you leave your keys at home? The glass fell off the table. Where did you leave my bag: Wo hast du sie gelassen?"""
    kind = choice.weighted((0.3, 0.25, 0.15, 0.3))
    who, _ = person(choice)
    if kind == 0:
        body = left_behind(choice, who, choice.pick(("past", "past", "perfect")))
        if who.person != 1 and choice.chance(0.3):
            return asked(replace(body, form="past"))
        body = replace(body, time=choice.pick(GONE) if choice.chance(0.3) and body.form == "past" else None)
        return plain(body), "."
    if kind == 1:
        noun = choice.rare(nouns_of(BREAKABLE))
        thing = noun_phrase(choice, noun, "known", adjective=0.15)
        name, word, wort = choice.pick(DROPPED)
        return plain(Clause(thing, FALL, "past", complements=(off(choice, thing, name, word, wort),))), "."
    if kind == 2:
        asked_one = YOU if who.person == 1 else who
        drawn = left_behind(choice, asked_one)
        return with_word(replace(drawn, verb=LET, complements=()), Phrase("where", "wo"), ""), "?"
    young = NounPhrase(choice.rare(nouns_of(("child", "boy", "girl", "baby"))), choice.pick((THE, THE, A)))
    body = fallen(choice, choice.pick((who, young)))
    return plain(replace(body, time=choice.pick(GONE[:3]) if choice.chance(0.3) else None)), "."


def asked(body: Clause) -> Sentence:
    """The clause as a question."""
    return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
