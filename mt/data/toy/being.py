"""What somebody or something is: professions, presentations, what there is, comparison."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place
from mt.data.toy.comparisons import comparison_clause, identity_clause, names_compared
from mt.data.toy.features import NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import person_index, present, preterite
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, with_adjective
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE
from mt.data.toy.words import (
    ANY,
    BARE,
    MANY,
    MUCH,
    NO,
    NUMBERS,
    POSSESSIVES,
    SO_MANY,
    SOME,
    SOME_OF_IT,
    WANT,
    WOULD_LIKE,
    A,
)

BECOME = replace(BE, german="werden", german_third="wird", participle="geworden", preterite="")


def identity(choice: Choice) -> Sentence:
    """She is a teacher: Sie ist Lehrerin. Peter is a good friend. They are students."""
    body, predicate = identity_clause(choice)
    if predicate.determiner not in POSSESSIVES.values() and choice.chance(0.15):
        return plain(replace(body, verb=BECOME, form="modal", modal=choice.pick((WANT, WANT, WOULD_LIKE)))), "."
    negated = choice.chance(0.12) and predicate.determiner not in POSSESSIVES.values()
    if negated:
        declined = german.noun_phrase(predicate, "nominative", negated=True)
        body = replace(body, complements=(Phrase(body.complements[0].english, declined),))
    text = plain(body)
    if negated:
        text = Phrase(english.clause(replace(body, negated=True)), text.german)
    elif choice.chance(0.2) and body.subject.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return text, "."


def presentation(choice: Choice) -> Sentence:
    """This is my brother. These are new shoes. That is not his car."""
    noun = choice.rare(
        [noun for noun in NOUNS.values() if not noun.mass and not noun.classes & {"weather", "sky", "way"}]
    )
    mode = "subject" if "owned" in noun.classes or "kin" in noun.classes else "new"
    phrase = noun_phrase(choice, noun, mode, adjective=0.35)
    vague = ("this", "these", "many", "some", "all", "the", "every", *(one.english for one in SO_MANY))
    if phrase.determiner.english in vague and not phrase.owner:
        phrase = replace(phrase, determiner=BARE if phrase.plural else A)
    spoken = english.nominal(phrase)
    demonstrative = "these" if phrase.plural else choice.pick(("this", "this", "that"))
    verb, sein = ("are", "sind") if phrase.plural else ("is", "ist")
    negated = choice.chance(0.15) and not phrase.determiner.plural
    kein = negated and german.is_negatable(phrase)
    declined = german.noun_phrase(phrase, "nominative", negated=kein)
    if not negated and choice.chance(0.2):
        return Phrase(f"{verb} {demonstrative} {spoken}", f"{sein} das {declined}"), "?"
    return Phrase(
        f"{demonstrative} {verb} {'not ' if negated else ''}{spoken}",
        f"das {sein} {'nicht ' if negated and not kein else ''}{declined}",
    ), "."


STANDING = [
    Phrase("here", "hier"),
    Phrase("there", "dort"),
    Phrase("in Berlin", "in Berlin"),
    Phrase("in Munich", "in München"),
]

# What there is, where it is, and whether German says *es gibt* rather than *ist*.
EXISTING = (
    (
        (
            "school",
            "office",
            "hospital",
            "restaurant",
            "hotel",
            "museum",
            "cinema",
            "supermarket",
            "shop",
            "church",
            "station",
            "park",
        ),
        "building_in",
        True,
    ),
    (("lake", "forest", "beach", "village", "city"), "country_in", True),
    (("portable", "vessel"), "thing_at", False),
    (("snack", "vegetable"), "food_in", False),
    (("pet", "small_animal"), "animal_at", False),
    (("young", "man", "woman", "student"), "young_in", False),
    (("surface",), "furniture_in", False),
    (("drink", "alcohol", "food"), "drink_in", False),
)


def existence(choice: Choice) -> Sentence:
    """There is a cat in the kitchen: the place first. Of buildings one says es gibt."""
    classes, group, is_given = choice.pick(EXISTING)
    plural = choice.chance(0.5)
    chosen = choice.pick(
        (*NUMBERS[:3], NUMBERS[choice.weighted([1] * 8)], MANY, SOME, choice.pick(SO_MANY), NO)
        if plural
        else (A, A, A, A, NO)
    )
    noun = choice.rare(nouns_of(classes))
    if noun.mass:
        plural, chosen = False, choice.pick((NO, NO, SOME_OF_IT, *MUCH[1:]))
    phrase = with_adjective(choice, NounPhrase(noun, chosen, plural), 0.25)
    where = None
    while where is None:
        where = chosen_place(choice, group, phrase)
    past = choice.chance(0.2)
    spoken = english.be_form(phrase, past=past)
    told = present(BE, person_index(phrase)) if not past else preterite(BE, person_index(phrase))
    asked = choice.chance(0.3 if is_given else 0.2) and chosen != NO
    if asked and plural and choice.chance(0.35):
        phrase = replace(phrase, determiner=ANY)
    is_given = is_given or asked
    if is_given:
        told = "gab es" if past else "gibt es"
    declined = german.noun_phrase(phrase, "accusative" if is_given else "nominative")
    if asked:
        question = f"{spoken} there {english.nominal(phrase)} {where.english}"
        return Phrase(question, f"{told} {where.german} {declined}"), "?"
    return Phrase(f"there {spoken} {english.nominal(phrase)} {where.english}", f"{where.german} {told} {declined}"), "."


def comparison(choice: Choice) -> Sentence:
    """My sister is older than Peter. The car is as fast as the train."""
    body = names_compared(choice) if choice.chance(0.15) else comparison_clause(choice)
    if choice.chance(0.2) and not body.negated and body.subject.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."
