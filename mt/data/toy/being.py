"""What somebody or something is: professions, presentations, what there is, comparison."""

from dataclasses import replace
from functools import cache

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place
from mt.data.toy.features import Clause, Nominal, Noun, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.german_words import person_index, present, preterite
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, sex_pronoun, subject, with_adjective
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE
from mt.data.toy.words import (
    ADJECTIVE,
    BARE,
    MANY,
    NO,
    NUMBERS,
    POSSESSIVES,
    SHE,
    SOME,
    A,
)

FEMALE_JOBS = {
    "teacher": "Lehrerin",
    "doctor": "Ärztin",
    "student": "Studentin",
    "friend": "Freundin",
    "neighbour": "Nachbarin",
}


def female(who: Nominal) -> bool:
    """Whether the subject is a woman, so that her profession takes -in."""
    return sex_pronoun(who) == SHE and not who.plural


@cache
def job(noun: Noun, female_form: bool) -> Noun:
    """The noun as said of a woman: Lehrerin."""
    if not female_form:
        return noun
    return replace(noun, german=FEMALE_JOBS[noun.english], gender="feminine", weak=False)


def identity(choice: Choice) -> Sentence:
    """She is a teacher: Sie ist Lehrerin. Peter is a good friend. They are students."""
    noun = choice.rare([NOUNS[word] for word in FEMALE_JOBS])
    who = subject(choice, ("adult",))
    while isinstance(who, NounPhrase) and (
        who.noun == noun or who.plural or who.adjective or who.noun.classes & {"job", "owned"}
    ):
        who = subject(choice, ("adult",))
    noun = job(noun, female(who))
    personal = noun.english in ("friend", "neighbour")
    chosen = BARE if who.plural else A
    if personal:
        chosen = POSSESSIVES[choice.pick([word for word in POSSESSIVES if word != getattr(who, "possessive", "")])]
    predicate = NounPhrase(noun, chosen, who.plural)
    if choice.chance(0.35) and not personal:
        adjective = choice.pick([ADJECTIVE[word] for word in ("good", "young", "old", "new", "friendly", "clever")])
        predicate = replace(predicate, adjective=adjective, intensified=choice.chance(0.2))
    spoken = english.nominal(predicate)
    bare = not personal and not predicate.adjective
    negated = choice.chance(0.12) and not personal
    declined = german.noun_phrase(
        replace(predicate, determiner=BARE) if bare else predicate, "nominative", negated=negated
    )
    form = choice.pick(("present", "present", "present", "past"))
    body = Clause(who, BE, form, complements=(Phrase(spoken, declined),))  # type: ignore[arg-type]
    text = plain(body)
    if negated:
        text = Phrase(english.clause(replace(body, negated=True)), text.german)
    elif choice.chance(0.2) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return text, "."


def presentation(choice: Choice) -> Sentence:
    """This is my brother. These are new shoes. That is not his car."""
    noun = choice.rare(
        [noun for noun in NOUNS.values() if not noun.mass and not noun.classes & {"weather", "sky", "way"}]
    )
    mode = "subject" if "owned" in noun.classes or "kin" in noun.classes else "new"
    phrase = noun_phrase(choice, noun, mode, adjective=0.35)
    if phrase.determiner.english in ("this", "these", "many", "some", "all", "the", "every") and not phrase.owner:
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
)


def existence(choice: Choice) -> Sentence:
    """There is a cat in the kitchen: the place first. Of buildings one says es gibt."""
    classes, group, is_given = choice.pick(EXISTING)
    plural = choice.chance(0.5)
    chosen = choice.pick(
        (*NUMBERS[:3], NUMBERS[choice.weighted([1] * 8)], MANY, SOME, MANY, NO) if plural else (A, A, A, A, NO)
    )
    phrase = with_adjective(choice, NounPhrase(choice.rare(nouns_of(classes)), chosen, plural), 0.25)
    where = None
    while where is None:
        where = chosen_place(choice, group, phrase)
    past = choice.chance(0.2)
    spoken = english.be_form(phrase, past=past)
    told = present(BE, person_index(phrase)) if not past else preterite(BE, person_index(phrase))
    if is_given:
        told = "gab es" if past else "gibt es"
    declined = german.noun_phrase(phrase, "accusative" if is_given else "nominative")
    if choice.chance(0.2) and chosen != NO:
        question = f"{spoken} there {english.nominal(phrase)} {where.english}"
        return Phrase(question, f"{told} {where.german} {declined}"), "?"
    return Phrase(f"there {spoken} {english.nominal(phrase)} {where.english}", f"{where.german} {told} {declined}"), "."


COMPARED = (
    (("old", "young", "tall", "strong", "rich", "clever", "friendly", "funny", "happy"), ("adult",)),
    (("big", "small", "fast", "clever", "strong"), ("animal",)),
    (
        ("big", "small", "old", "modern", "new"),
        ("hotel", "school", "hospital", "museum", "church", "restaurant", "supermarket", "station"),
    ),
    (("big", "small", "old", "new", "quiet"), ("house", "flat", "garden")),
    (("big", "small", "old", "quiet"), ("settlement",)),
    (("expensive", "cheap", "warm"), ("coat", "hat", "shirt", "dress")),
    (("fast", "new", "old", "modern"), ("car", "train", "bus")),
    (("good", "interesting", "long", "short", "boring", "new"), ("book", "film", "story", "newspaper")),
    (("good", "expensive", "cheap", "cold"), ("juice", "beer", "wine", "milk")),
)


def rank(noun: Noun) -> int:
    """The generation of a relative or the size of an animal, so that no son is older than his grandfather."""
    found = [name for name in sorted(noun.classes) if name[-1].isdigit()]
    return int(found[0][-1]) if found else -1


def compared(choice: Choice, words: tuple[str, ...], classes: tuple[str, ...]) -> tuple[Nominal, Nominal, str] | None:
    """Two phrases and what they are compared in, where the comparison makes sense."""
    first: Nominal = (
        subject(choice, classes)
        if classes == ("adult",)
        else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0)
    )
    second: Nominal = (
        subject(choice, classes)
        if classes == ("adult",)
        else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0)
    )
    word = choice.pick(words)
    if (isinstance(second, Pronoun) and (isinstance(first, Pronoun) or second.plural)) or word not in ADJECTIVE:
        return None
    if isinstance(first, NounPhrase) and isinstance(second, NounPhrase):
        if (
            first.noun == second.noun
            or first.owner
            or second.owner
            or first.determiner.plural
            or second.determiner.plural
        ):
            return None
        if second.adjective or first.adjective:
            return None
        ranks = (rank(first.noun), rank(second.noun))
        if min(ranks) >= 0 and ranks[0] != ranks[1]:
            if word in ("young", "small"):
                first, second = (first, second) if ranks[0] < ranks[1] else (second, first)
            elif word in ("old", "big", "strong", "tall"):
                first, second = (first, second) if ranks[0] > ranks[1] else (second, first)
            if abs(ranks[0] - ranks[1]) > 1 and word not in ("young", "small", "old", "big", "strong", "tall"):
                return None
    return (first, second, word) if first != second and ADJECTIVE[word].german_comparative else None


def uneven(first: Nominal, second: Nominal) -> bool:
    """Whether *as … as* would be odd, as between a mouse and a cow."""
    both = isinstance(first, NounPhrase) and isinstance(second, NounPhrase)
    return both and rank(first.noun) != rank(second.noun)  # type: ignore[union-attr]


def comparison(choice: Choice) -> Sentence:
    """My sister is older than Peter. The car is as fast as the train."""
    while True:
        found = compared(choice, *choice.pick(COMPARED + COMPARED[:2]))
        if found is not None:
            break
    first, second, word = found
    adjective = ADJECTIVE[word]
    other, anderer = english.nominal(second, subject=False), german.nominal(second, "nominative")
    kind = choice.weighted((0.7, 0.3))
    if kind == 0 or uneven(first, second) or word in ("small", "young"):
        predicate = Phrase(
            f"{adjective.english_comparative} than {other}", f"{adjective.german_comparative} als {anderer}"
        )
    else:
        predicate = Phrase(f"as {adjective.english} as {other}", f"so {adjective.german} wie {anderer}")
    body = Clause(first, BE, complements=(predicate,), negated=choice.chance(0.2) and not uneven(first, second))
    if choice.chance(0.2) and not body.negated and first.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."
