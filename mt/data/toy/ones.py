"""A thing without its noun: a smaller one, the blue one, a black one and a white one, one for her son."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Adjective, Case, Clause, Name, NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import DER_ENDINGS, cell
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, own, sex_pronoun
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    NUMBERS,
    POSSESSIVES,
    THE,
    THIS,
    WANT,
    WE,
    YOU,
    A,
    I,
)


def one_like(phrase: NounPhrase, case: Case) -> Phrase:
    """The phrase without its noun: a smaller one, ein kleineres; one, eins."""
    spoken = english.nominal(phrase).removesuffix(phrase.noun.english).strip()
    if phrase.adjective is None:
        ending = cell(DER_ENDINGS, case, phrase.noun, plural=False)
        return Phrase("one", "ein" + ("s" if ending == "es" else ending))
    told = german.nominal(phrase, case).rsplit(" ", 1)[0]
    return Phrase(f"{spoken} one", told)


SIZED = ("clothes", "carried", "furniture", "cup", "glass")
OTHERS = {
    "big": ("smaller", "kleiner", "small", "klein"),
    "small": ("bigger", "größer", "big", "groß"),
    "expensive": ("cheaper", "billiger", "cheap", "billig"),
    "old": ("newer", "neuer", "new", "neu"),
    "dirty": ("cleaner", "sauberer", "clean", "sauber"),
}
ASKED = (
    Phrase("do you have {}", "hast du {}"),
    Phrase("do you have {}", "hast du {}"),
    Phrase("can I have {}", "kann ich {} haben"),
    Phrase("I want {}", "ich will {}"),
    Phrase("I need {}", "ich brauche {}"),
    Phrase("I would like {}", "ich möchte {}"),
    Phrase("we need {}", "wir brauchen {}"),
    Phrase("can you give me {}", "kannst du mir {} geben"),
)


def filled(frame: Phrase, one: Phrase) -> Phrase:
    """The frame around the one."""
    return Phrase(frame.english.format(one.english), frame.german.format(one.german))


def another_size(choice: Choice) -> Sentence:
    """This shirt is too big, do you have a smaller one? I do not like the red dress, I want the blue one."""
    noun = choice.rare([one for one in nouns_of(SIZED) if one.english != "shoe"])
    known = adjectives_of(noun)
    ask = choice.pick(ASKED)
    if choice.chance(0.45):
        faults = [found for found in known if found.english in OTHERS and found.english != "old"]
        if not faults:
            return another_size(choice)
        fault = choice.rare(faults)
        words = OTHERS[fault.english]
        spoken, told = words[:2] if choice.chance(0.7) else words[2:]
        one = one_like(NounPhrase(noun, A, adjective=Adjective(spoken, told, told)), "accusative")
        state = Clause(NounPhrase(noun, choice.pick((THIS, THE))), BE, complements=(predicate(fault, "too"),))
        said = filled(ask, one)
        start, mark = plain(state), "?" if ask.german.startswith(("hast", "kann")) else "."
        return Phrase(f"{start.english}, {said.english}", f"{start.german}, {said.german}"), mark
    pair = [found for found in known if found.english in ("red", "blue", "green", "black", "white", "yellow")]
    pair += [ADJECTIVE[word] for word in ("big", "small", "old", "new") if ADJECTIVE[word] in known]
    left, right = (choice.pick(pair), choice.pick(pair)) if pair else (None, None)
    if left is None or right is None or left == right or not alike(left, right):
        return another_size(choice)
    one = one_like(NounPhrase(noun, THE, adjective=right), "accusative")
    first = NounPhrase(noun, THE, adjective=left)
    who = person(choice)[0]
    if choice.chance(0.4):
        found = entry(choice.pick(("want", "like", "buy", "need")))
        form, modal = ("modal", WANT) if found.name == "buy" else ("present", None)
        body = Clause(YOU, found.verb, form, modal, accusative=first)  # type: ignore[arg-type]
        ending = " kaufen" if found.name == "buy" else ""
        told = german.clause(body, "question").removesuffix(ending)
        return Phrase(
            f"{english.clause(body, question=True)} or {one.english}", f"{told} oder {one.german}{ending}"
        ), "?"
    body = Clause(who, entry("like").verb, negated=True, accusative=first)
    pronoun = sex_pronoun(who) or I
    wants = Clause(pronoun, entry(choice.pick(("want", "like"))).verb, accusative=Name(one.english, german=one.german))
    joint = choice.pick((Phrase(",", ","), Phrase(", but", ", aber")))
    return Phrase(
        f"{english.clause(body)}{joint.english} {english.clause(wants)}",
        f"{german.clause(body, 'main')}{joint.german} {german.clause(wants, 'main')}",
    ), "."


def alike(one: Adjective, other: Adjective) -> bool:
    """Whether both name a colour, or one is the other's contrary."""
    words = {one.english, other.english}
    sizes = {"big", "small", "old", "new"}
    return not words & sizes or words in ({"big", "small"}, {"old", "new"})


def two_kinds(choice: Choice) -> Sentence:
    """They have two dogs, a black one and a white one. I have two pens, do you need one?"""
    noun = choice.rare(
        [
            one
            for one in nouns_of(("pet", "clothes", "carried", "tool", "road", "wheels", "ball", "cup"))
            if one.english and one.english != "shoe"
        ]
    )
    who, _ = person(choice)
    number = NUMBERS[0] if choice.chance(0.7) else choice.pick(NUMBERS[:4])
    some = NounPhrase(noun, number, True)
    if choice.chance(0.5):
        known = [
            found
            for found in adjectives_of(noun)
            if found.english in (*OTHERS, "new", "red", "blue", "green", "black", "white", "young")
        ]
        left, right = choice.pick(known), choice.pick(known)
        if left == right or not alike(left, right) or {left.english, right.english} & {"dirty", "expensive", "young"}:
            return two_kinds(choice)
        verb = choice.pick((entry("have"), entry("have"), entry("buy"), entry("see"))).verb
        body = Clause(
            who, verb, "present" if verb.english == "have" else "past", accusative=replace(some, determiner=NUMBERS[0])
        )
        one, two = (one_like(NounPhrase(noun, A, adjective=found), "accusative") for found in (left, right))
        said = plain(body)
        return Phrase(
            f"{said.english}, {one.english} and {two.english}", f"{said.german}, {one.german} und {two.german}"
        ), "."
    one = one_like(NounPhrase(noun, A), "accusative")
    have = Clause(choice.pick((I, I, WE)), entry("have").verb, accusative=some)
    tail, mark = choice.pick(OFFERS)
    said, rest = plain(have), filled(tail, one)
    return Phrase(f"{said.english}, {rest.english}", f"{said.german}, {rest.german}"), mark


OFFERS = (
    (Phrase("do you need {}", "brauchst du {}"), "?"),
    (Phrase("do you want {}", "willst du {}"), "?"),
    (Phrase("would you like {}", "möchtest du {}"), "?"),
    (Phrase("I can give you {}", "ich kann dir {} geben"), "."),
    (Phrase("you can have {}", "du kannst {} haben"), "."),
)


GIVEN = ("snack", "pen", "book", "picture", "flower", "ball", "cup", "bag")


def gave_one(choice: Choice) -> Sentence:
    """She bought three apples and gave one to her son. If you need a pen, I can give you one."""
    noun = choice.rare([one for one in nouns_of(GIVEN) if one.english and one.english_plural])
    one = one_like(NounPhrase(noun, A), "accusative")
    if choice.chance(0.35):
        word = choice.pick((Phrase("need", "brauchst"), Phrase("want", "willst"), Phrase("have no", "hast")))
        thing = NounPhrase(noun, A)
        spoken, told = english.nominal(thing), german.nominal(thing, "accusative")
        if word.english == "have no":
            spoken, told = noun.english, german.noun_phrase(thing, "accusative", negated=True)
        give = choice.pick(
            (
                Phrase("I can give you {}", "kann ich dir {} geben"),
                Phrase("you can buy {} here", "kannst du hier {} kaufen"),
                Phrase("I will bring you {}", "werde ich dir {} bringen"),
            )
        )
        rest = filled(give, one)
        return Phrase(
            f"if you {word.english} {spoken}, {rest.english}", f"wenn du {told} {word.german}, {rest.german}"
        ), "."
    who, _ = person(choice)
    whose = own(who)
    if whose is None:
        return gave_one(choice)
    receiver = NounPhrase(
        choice.rare(nouns_of(("son", "daughter", "friend", "brother", "sister", "mother", "neighbour"))),
        POSSESSIVES[whose],
    )
    got = choice.pick((("buy", "bought"), ("buy", "bought"), ("find", "found")))
    body = Clause(who, entry(got[0]).verb, "past", accusative=NounPhrase(noun, choice.pick(NUMBERS[:4]), True))
    said, tells = plain(body), german.nominal(receiver, "dative")
    spoken = (
        f"gave one to {english.nominal(receiver)}" if choice.chance(0.6) else f"gave {english.nominal(receiver)} one"
    )
    return Phrase(f"{said.english} and {spoken}", f"{said.german} und {tells} {one.german} gegeben"), "."
