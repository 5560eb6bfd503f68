"""Whose it is and where it is: has anyone seen it, it is mine, tell me everything, how much is it."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.company import attached
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, with_adjective
from mt.data.toy.questions import askable, price_of, with_word
from mt.data.toy.statements import plain
from mt.data.toy.things import it_for
from mt.data.toy.times import past_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    HAVE_TO,
    HE,
    NAMES,
    POLITE,
    POSSESSIVES,
    SHE,
    THAT,
    THE,
    THESE,
    THEY,
    THIS,
    WE,
    YOU,
    A,
    I,
)

ANYBODY = [
    Pronoun(word, word, "jemand", "jemanden", "jemandem", 3, False, "")
    for word in ("anybody", "anyone", "somebody", "someone")
]


def anyone(choice: Choice) -> Sentence:
    """Has anyone seen my keys? Hat jemand meine Schlüssel gesehen? Can anybody help me?"""
    who = choice.pick(ANYBODY)
    kind = choice.weighted((0.4, 0.2, 0.4))
    if kind == 0:
        thing = noun_phrase(
            choice, choice.rare(nouns_of(("tool", "carried", "clothes", "pet", "phone", "book"))), "known", I
        )
        name, form = choice.pick(
            (("see", "perfect"), ("see", "perfect"), ("find", "perfect"), ("see", "past"), ("take", "past"))
        )
        body = Clause(who, entry(name).verb, form, accusative=thing)  # type: ignore[arg-type]
    elif kind == 1:
        whom, could = choice.pick((I, I, WE)), choice.pick((CAN, CAN, POLITE))
        body = Clause(who, entry("help").verb, "modal", could, dative=whom)
        return Phrase(english.clause(body, question=True), f"{could.german[2]} {whom.dative} jemand helfen"), "?"
    else:
        while True:
            body = verb_clause(choice, who=who, rich=0.2, negation=0)
            if body.form in ("present", "past", "perfect") and not body.middle and not body.verb.stative:
                break
    return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"


MINE: tuple[tuple[str, Nominal], ...] = (
    ("mine", I),
    ("yours", YOU),
    ("hers", SHE),
    ("ours", WE),
    ("theirs", THEY),
)


def mine(choice: Choice) -> Sentence:
    """Is this hat yours? Gehört dieser Hut dir? That bag is not mine. These shoes are Anna's: gehören Anna."""
    noun = choice.rare(
        nouns_of(("clothes", "tool", "carried", "book", "phone", "road", "wheels", "pet", "cup", "ball"))
    )
    plural = choice.chance(0.25)
    thing = with_adjective(
        choice, NounPhrase(noun, THESE if plural else choice.pick((THIS, THIS, THAT, THE)), plural), 0.2
    )
    found = attached(choice, thing, 0.5)
    if thing.determiner == THE and isinstance(found, NounPhrase) and " of " not in english.nominal(found):
        thing = found
    word, who = choice.pick(MINE)
    if choice.chance(0.25):
        name = choice.pick(NAMES)
        word, who = english.genitive(name.word), name
    negated, be = choice.chance(0.25), "are" if plural else "is"
    body = Clause(thing, entry("belong to").verb, dative=who, negated=negated)
    if choice.chance(0.45):
        return Phrase(
            f"{be} {english.nominal(thing)} {word}", german.clause(replace(body, negated=False), "question")
        ), "?"
    return Phrase(f"{english.nominal(thing)} {be} {'not ' if negated else ''}{word}", german.clause(body, "main")), "."


EVERYTHING = (Name("everything", german="alles", definite=False), Name("something", german="etwas", definite=False))

NOTHING = Name("nothing", german="nichts", definite=False)

DONE_TO_ALL = (
    "eat",
    "drink",
    "buy",
    "understand",
    "forget",
    "hear",
    "see",
    "sell",
    "write",
    "bring",
    "find",
    "need",
    "learn",
    "like",
)


def everything(choice: Choice) -> Sentence:
    """She understood everything. I did not buy anything: nichts. Tell me everything! Did you hear something?"""
    if choice.chance(0.15):
        told = choice.pick((Clause(YOU, entry("tell").verb, dative=I), Clause(YOU, entry("show").verb, dative=I)))
        body = replace(told, accusative=EVERYTHING[0])
        please = choice.pick((Phrase("", ""), Phrase("please ", "bitte ")))
        return Phrase(please.english + english.imperative(body), please.german + german.imperative(body)), choice.pick(
            "!."
        )
    verb = entry(choice.pick(DONE_TO_ALL)).verb
    form: Form = choice.pick(("past", "past", "present", "perfect", "modal"))
    if verb.stative and form == "perfect":
        form = "past"
    modal = choice.pick((CAN, HAVE_TO)) if form == "modal" and not verb.stative else None
    form = form if modal or form != "modal" else "past"
    who = somebody(choice, ("adult",))
    thing = choice.pick((EVERYTHING[0], EVERYTHING[1], NOTHING))
    body = Clause(who, verb, form, modal, accusative=thing)
    if form == "past" and choice.chance(0.25):
        body = replace(body, time=past_time(choice, long=False))
    if thing == NOTHING and choice.chance(0.6):
        spoken = english.clause(replace(body, negated=True, accusative=Name("anything")))
        return Phrase(spoken, german.clause(body, "main")), "."
    if who.person != 1 and thing != NOTHING and choice.chance(0.3) and askable(body):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def how_much_is(choice: Choice) -> Sentence:
    """How much is this red dress? Wie viel kostet dieses rote Kleid? How much do these shoes cost?"""
    noun = choice.rare(
        nouns_of(("clothes", "book", "bag", "lamp", "dish", "road", "wheels", "flower", "picture", "room", "pet"))
    )
    plural = bool(noun.english_plural) and choice.chance(0.25)
    thing = with_adjective(
        choice, NounPhrase(noun, THESE if plural else choice.pick((THIS, THIS, THE, A)), plural), 0.4
    )
    asked = price_of(thing)
    if choice.chance(0.5):
        asked = Phrase(f"how much {'are' if plural else 'is'} {english.nominal(thing)}", asked.german)
    return asked, "?"


TOO_MUCH = (
    (("hot", "cold"), "eat", ("soup",)),
    (("hot", "cold"), "drink", ("coffee", "tea")),
    (("cold",), "drink", ("milk", "water", "juice")),
    (("difficult",), "understand", ("question", "word", "problem")),
    (("expensive",), "buy", ("clothes", "road", "wheels", "furniture", "picture")),
    (("small", "big"), "wear", ("coat", "dress", "shirt", "hat", "shoe")),
    (("old",), "repair", ("road", "wheels", "computer")),
    (("dirty",), "wear", ("coat", "dress", "shirt")),
)


def too_much(choice: Choice) -> Sentence:
    """The soup is too hot, I can't eat it: ich kann sie nicht essen."""
    words, name, classes = choice.pick(TOO_MUCH)
    noun = choice.rare(nouns_of(classes))
    plural = bool(noun.english_plural) and not noun.mass and choice.chance(0.25)
    thing = NounPhrase(
        noun, choice.pick((THE, THE, POSSESSIVES["my"] if "owned" in noun.classes and name != "buy" else THE)), plural
    )
    if name == "buy" and choice.chance(0.5):
        thing = replace(thing, determiner=THESE if plural else THIS)
    if choice.chance(0.25):
        said = plain(Clause(thing, BE, complements=(predicate(ADJECTIVE[choice.pick(words)], "too"),)))
        deed = f"um {it_for(thing).accusative} zu {entry(name, 'essen' if name == 'eat' else '').verb.german}"
        return Phrase(f"{said.english} to {name}", f"{said.german}, {deed}"), "."
    degree = choice.pick(("too", "too", "so"))
    state = Clause(thing, BE, complements=(predicate(ADJECTIVE[choice.pick(words)], degree),))
    who = I if thing.determiner == POSSESSIVES["my"] else choice.pick((I, I, WE, HE, SHE))
    can = Clause(who, entry(name, "essen" if name == "eat" else "").verb, "modal", CAN, negated=True)
    can = replace(can, accusative=it_for(thing))
    spoken, told = english.clause(state), german.clause(state, "main")
    if degree == "so":
        return Phrase(f"{spoken} that {english.clause(can)}", f"{told}, dass {german.clause(can, 'final')}"), "."
    if choice.chance(0.3):
        return Phrase(f"{spoken}, so {english.clause(can)}", f"{told}, also {german.clause(can, 'question')}"), "."
    return Phrase(f"{spoken}, {english.clause(can)}", f"{told}, {german.clause(can, 'main')}"), "."


HOW_MUCH = (
    ("have", ("time", "money", "bread", "milk", "cheese", "work")),
    ("need", ("time", "money", "milk", "water", "cheese")),
    ("drink", ("coffee", "tea", "water", "milk", "beer", "wine", "juice")),
    ("buy", ("bread", "meat", "cheese", "chocolate", "fish", "milk")),
    ("eat", ("bread", "meat", "cheese", "chocolate", "fish")),
)
EVERY_DAY = Phrase("every day", "jeden Tag")


def how_much_of_it(choice: Choice) -> Sentence:
    """How much time do we have? Wie viel Zeit haben wir? How much coffee does she drink every day?"""
    name, nouns = choice.pick(HOW_MUCH)
    noun = NOUNS[choice.pick(nouns)]
    word = Phrase(f"how much {noun.english}", f"wie viel {noun.german}")
    who = somebody_known(choice) if choice.chance(0.6) else choice.pick((WE, WE, YOU, I))
    form: Form = choice.pick(("present", "present", "past"))
    body = Clause(who, entry(name, "essen" if name == "eat" else "").verb, form, accusative=Name(noun.english))
    if name in ("drink", "eat", "buy") and choice.chance(0.5):
        body = replace(body, time=past_time(choice, long=False) if form == "past" else EVERY_DAY)
    return with_word(body, word, "accusative"), "?"
