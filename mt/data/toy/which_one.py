"""One of a kind without its noun: the old one, than the red one, than the one in Rome."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.comparisons import COMPARED
from mt.data.toy.features import Adjective, Clause, NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import noun_form
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, own, sex_pronoun
from mt.data.toy.places import fixed_places
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, COLOURS, ORDERED, POSSESSIVES, THE, THIS, WANT, A


def the_one(phrase: NounPhrase) -> Phrase:
    """The phrase without its noun: the old one, der alte; the one in Rome, das in Rom."""
    bare = replace(phrase, attached=None)
    noun, one = (phrase.noun.english_plural, "ones") if phrase.plural else (phrase.noun.english, "one")
    spoken = english.nominal(bare).removesuffix(noun) + one
    told = german.nominal(bare, "nominative").rsplit(" ", 1)[0]
    if phrase.attached:
        return Phrase(f"{spoken} {phrase.attached.english}", f"{told} {phrase.attached.german}")
    return Phrase(spoken, told)


REPLACED = ("clothes", "furniture", "carried")
WANTING = ("small", "big", "dirty")


def another_one(choice: Choice) -> Sentence:
    """My sister wants to buy a new bed because her old one is too small: weil ihr altes zu klein ist."""
    who, _ = person(choice)
    noun = choice.rare([noun for noun in nouns_of(REPLACED) if noun.english_plural and noun.english != "shoe"])
    faults = [found for found in adjectives_of(noun) if found.english in WANTING]
    owner = own(who)
    if not faults or owner is None:
        return another_one(choice)
    past = choice.chance(0.25)
    wanted = NounPhrase(noun, A, adjective=ADJECTIVE["new"])
    body = Clause(
        who, entry(choice.pick(("need", "buy", "buy"))).verb, "past" if past else "present", accusative=wanted
    )
    if body.verb.english == "buy" and not past:
        body = replace(body, form="modal", modal=WANT)
    old = the_one(NounPhrase(noun, POSSESSIVES[owner], adjective=ADJECTIVE["old"]))
    said = predicate(choice.pick(faults), "too")
    be, sein = ("was", "war") if past else ("is", "ist")
    if not past and choice.chance(0.45):
        mine = NounPhrase(noun, POSSESSIVES[owner])
        pronoun = sex_pronoun(who)
        assert pronoun is not None  # somebody's own things have been spoken of
        one = Clause(pronoun, body.verb, body.form, body.modal, accusative=wanted)
        spoken = english.clause(one).removesuffix(noun.english) + "one"
        told = german.clause(one, "main").replace(f" {noun_form(noun, 'accusative', plural=False)}", "", 1)
        fault = f"{english.nominal(mine)} {be} {said.english}"
        fehler = f"{german.nominal(mine, 'nominative')} {sein} {said.german}"
        if choice.chance(0.6):
            return Phrase(f"{fault}, {spoken}", f"{fehler}, {told}"), "."
        subject, finite, *rest = told.split(" ")
        return Phrase(f"{fault}, so {spoken}", f"{fehler}, also {finite} {subject} {' '.join(rest)}"), "."
    return Phrase(
        f"{english.clause(body)} because {old.english} {be} {said.english}",
        f"{german.clause(body, 'main')}, weil {old.german} {said.german} {sein}",
    ), "."


def said_of(noun_adjectives: tuple[Adjective, ...], word: str) -> list[Adjective]:
    """What may tell a thing from another of its kind, when they are compared by a word."""
    return [found for found in noun_adjectives if found.english not in (word, "good", "little", "new")]


def than_the_one(choice: Choice) -> Sentence:
    """This coat is cheaper than the red one. The hotel in Rome is better and bigger than the one in Paris."""
    words, classes = choice.pick([pair for pair in COMPARED if pair[1] not in (("adult",), ("animal",))])
    nouns = [noun for noun in nouns_of(classes) if noun.english_plural]
    if not nouns:
        return than_the_one(choice)
    noun = choice.rare(nouns)
    compared = [ADJECTIVE[word] for word in words if word in ADJECTIVE and ADJECTIVE[word].german_comparative]
    by = choice.pick(compared)
    in_towns = bool(noun.classes & {"building", "lodging", "shop", "eatery", "culture"})
    first, second = NounPhrase(noun, choice.pick((THIS, THE))), NounPhrase(noun, THE)
    if in_towns and choice.chance(0.5):
        here, there = choice.pick(fixed_places("IN_TOWN")), choice.pick(fixed_places("IN_TOWN"))
        if here == there:
            return than_the_one(choice)
        first = replace(first, determiner=THE, attached=here) if choice.chance(0.6) else replace(first, determiner=THIS)
        other = the_one(replace(second, attached=there))
    else:
        telling = said_of(adjectives_of(noun), by.english)
        telling += [ORDERED[0][0]] * 2
        if not telling:
            return than_the_one(choice)
        first = replace(first, determiner=THIS)
        other = the_one(replace(second, adjective=choice.pick(telling)))
    spoken, told = by.english_comparative, by.german_comparative
    more = [one for one in compared if one != by and not opposite(one, by)]
    if more and choice.chance(0.35):
        another = choice.pick(more)
        spoken, told = f"{spoken} and {another.english_comparative}", f"{told} und {another.german_comparative}"
    if choice.chance(0.3):
        other = Phrase(*whole_thing(choice, noun))
    body = Clause(first, BE, complements=(Phrase(f"{spoken} than {other.english}", f"{told} als {other.german}"),))
    return plain(body), "."


def but_the_other(choice: Choice) -> Sentence:
    """The red coat is nice, but the black one is cheaper. The old house was small, but the new one is big."""
    noun = choice.rare(nouns_of(("clothes", "furniture", "road", "wheels", "lodging", "shop", "text")))
    telling = [found for found in adjectives_of(noun) if found.english not in ("little", "good")]
    if len(telling) < 3 or not noun.english_plural or noun.english == "shoe":
        return but_the_other(choice)
    one, other = choice.pick(telling), choice.pick(telling)
    first, second = choice.pick(telling), choice.pick(telling)
    coloured = {one.english, first.english} <= set(COLOURS) or {other.english, second.english} <= set(COLOURS)
    if coloured or len({one, other, first, second}) < 4 or opposite(one, first) or opposite(other, second):
        return but_the_other(choice)
    phrase = NounPhrase(noun, THE, adjective=one)
    left = the_one(replace(phrase, adjective=other))
    degree = choice.pick(("", "very", "too")) if second.english_comparative else ""
    said = predicate(second, degree)
    if not degree and second.english_comparative and second.german_comparative and choice.chance(0.6):
        said = Phrase(second.english_comparative, second.german_comparative)
    spoken = f"{english.nominal(phrase)} is {first.english}, but {left.english} is {said.english}"
    told = f"{german.nominal(phrase, 'nominative')} ist {first.german}, aber {left.german} ist {said.german}"
    return Phrase(spoken, told), "."


def whole_thing(choice: Choice, noun) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    """Somebody's thing of the same kind: our house, my old car."""
    phrase = NounPhrase(noun, POSSESSIVES[choice.pick(("my", "your", "his", "her", "our", "their"))])
    return english.nominal(phrase), german.nominal(phrase, "nominative")


OPPOSITES = ({"big", "small"}, {"old", "new"}, {"old", "young"}, {"expensive", "cheap"}, {"long", "short"})


def opposite(one: Adjective, other: Adjective) -> bool:
    """Whether nothing can be both: old and new, good and boring."""
    words = {one.english, other.english}
    return words in OPPOSITES or words in ({"good", "boring"}, {"interesting", "boring"}, {"old", "modern"})
