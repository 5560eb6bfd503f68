"""Clauses that compare, and clauses that say what somebody is: older than Peter, a good teacher."""

from dataclasses import replace
from functools import cache

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.company import attached
from mt.data.toy.degrees import superlative
from mt.data.toy.features import Adjective, Clause, Name, Nominal, Noun, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, fits, nouns_of
from mt.data.toy.phrases import noun_phrase, own, sex_pronoun, subject
from mt.data.toy.verbs import BE
from mt.data.toy.words import ADJECTIVE, ADJECTIVES, BARE, POSSESSIVES, SHE, TOWNS, A

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


def identity_clause(choice: Choice) -> tuple[Clause, NounPhrase]:
    """She is a teacher, with the phrase that names what she is."""
    noun = choice.rare([NOUNS[word] for word in FEMALE_JOBS])
    who = subject(choice, ("adult",))
    while isinstance(who, NounPhrase) and (
        who.noun == noun or who.plural or who.adjective or who.noun.classes & {"job", "owned"}
    ):
        who = subject(choice, ("adult",))
    noun = job(noun, female(who))
    personal = noun.english in ("friend", "neighbour") or (noun.english in ("teacher", "doctor") and choice.chance(0.4))
    chosen = BARE if who.plural else A
    if personal:
        chosen = POSSESSIVES[
            choice.pick(
                [word for word in POSSESSIVES if word != own(who) and not (who.person == 1 and word in ("my", "our"))]
            )
        ]
    predicate = NounPhrase(noun, chosen, who.plural)
    if choice.chance(0.35) and not personal:
        adjective = choice.pick([ADJECTIVE[word] for word in ("good", "young", "old", "new", "friendly", "clever")])
        predicate = replace(predicate, adjective=adjective, intensified=choice.chance(0.2))
    elif choice.chance(0.3) and personal and not who.plural:
        adjective = superlative(ADJECTIVE["good"]) if noun.english == "friend" else ADJECTIVE["new"]
        predicate = replace(predicate, adjective=adjective)
    bare = not personal and not predicate.adjective
    declined = german.noun_phrase(replace(predicate, determiner=BARE) if bare else predicate, "nominative")
    form = choice.pick(("present", "present", "present", "past"))
    said = Phrase(english.nominal(predicate), declined)
    return Clause(who, BE, form, complements=(said,)), predicate  # type: ignore[arg-type]


COMPARED = (
    (("old", "young", "tall", "strong", "rich", "clever", "friendly", "funny", "happy"), ("adult",)),
    (("big", "small", "fast", "clever", "strong"), ("animal",)),
    (
        ("big", "small", "old", "modern", "new"),
        ("hotel", "school", "hospital", "museum", "church", "restaurant", "supermarket", "station"),
    ),
    (("big", "small", "old", "new", "quiet"), ("house", "flat", "garden")),
    (("big", "small", "old", "quiet", "beautiful"), ("settlement",)),
    (("big", "old", "beautiful", "fast", "strong"), ("horse", "dog", "cow")),
    (("big", "small", "beautiful", "old", "dark", "clean"), ("room", "kitchen", "garden", "flat")),
    (("expensive", "cheap", "warm"), ("coat", "hat", "shirt", "dress")),
    (("fast", "new", "old", "modern"), ("car", "train", "bus")),
    (("fast", "new", "old", "expensive", "cheap", "beautiful"), ("car", "bicycle")),
    (("fast",), ("car", "bicycle", "train", "bus", "horse")),
    (("good", "interesting", "long", "short", "boring", "new"), ("book", "film", "story", "newspaper")),
    (("good", "expensive", "cheap", "cold"), ("juice", "beer", "wine", "milk")),
)


def names_compared(choice: Choice) -> Clause:
    """German is more difficult than English. Paris is as beautiful as Rome."""
    if choice.chance(0.5):
        names = [Name(noun.english, german=noun.german) for noun in nouns_of(("speech",))]
        words: tuple[str, ...] = ("difficult", "interesting", "beautiful", "important")
    else:
        names = [Name(town.english, german=town.german) for town in TOWNS]
        words = ("big", "small", "beautiful", "old", "expensive", "interesting", "nice")
    first = choice.pick(names)
    second = choice.pick([name for name in names if name != first])
    found = NICE if (word := choice.pick(words)) == "nice" else ADJECTIVE[word]
    if choice.chance(0.2):
        said = Phrase(f"as {found.english} as {second.word}", f"so {found.german} wie {second.german}")
    else:
        said = Phrase(
            f"{found.english_comparative} than {second.word}", f"{found.german_comparative} als {second.german}"
        )
    return Clause(first, BE, complements=(said,), negated=choice.chance(0.12))


NICE = Adjective("nice", "schön", "schön", "nicer", "schöner")  # of things; of people it is nett


def rank(noun: Noun) -> int:
    """The generation of a relative or the size of an animal, so that no son is older than his grandfather."""
    found = [name for name in sorted(noun.classes) if name[-1].isdigit()]
    return int(found[0][-1]) if found else -1


def compared(choice: Choice, words: tuple[str, ...], classes: tuple[str, ...]) -> tuple[Nominal, Nominal, str] | None:
    """Two phrases and what they are compared in, where the comparison makes sense."""
    first: Nominal = (
        subject(choice, classes)
        if classes == ("adult",)
        else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0.25)
    )
    second: Nominal = (
        subject(choice, classes)
        if classes == ("adult",)
        else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0.25)
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
        if akin(first.adjective, word) or akin(second.adjective, word):
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


SCALES = [
    set(line.split())
    for line in ("old oldest young youngest new newest", "big small little tall tallest biggest smallest")
]


def akin(adjective: Adjective | None, word: str) -> bool:
    """Whether an adjective says already what is compared: the old car is not older than the new car."""
    if adjective is None:
        return False
    said = adjective.english
    return said[:3] == word[:3] or " " in said or any({said, word} <= scale for scale in SCALES)


def uneven(first: Nominal, second: Nominal) -> bool:
    """Whether *as … as* would be odd, as between a mouse and a cow."""
    both = isinstance(first, NounPhrase) and isinstance(second, NounPhrase)
    return both and rank(first.noun) != rank(second.noun)  # type: ignore[union-attr]


def any_two(choice: Choice) -> tuple[Nominal, Nominal, str] | None:
    """Two nouns that an adjective is said of, whatever they are."""
    adjective, classes = choice.pick(GRADED)
    nouns = [noun for noun in NOUNS.values() if fits(noun, classes) and noun.english]
    first = noun_phrase(choice, choice.rare(nouns), "known", adjective=0)
    second = noun_phrase(choice, choice.rare(nouns), "known", adjective=0)
    ranks = {rank(first.noun), rank(second.noun)}
    one_kind = ("animal" in first.noun.classes) == ("animal" in second.noun.classes)
    if first == second or first.owner or second.owner or first.determiner.plural or second.determiner.plural:
        return None
    return (first, second, adjective.english) if len(ranks) == 1 and one_kind else None


GRADED: list[tuple[Adjective, frozenset[str]]] = [
    pair for pair in ADJECTIVES if pair[0].english_comparative and pair[0].german_comparative
]


def comparison_clause(choice: Choice) -> Clause:
    """My sister is older than Peter; the car is not as fast as the train."""
    found = None
    while found is None:
        found = any_two(choice) if choice.chance(0.15) else compared(choice, *choice.pick(COMPARED + COMPARED[:2]))
    first, second, word = found
    adjective = ADJECTIVE[word]
    second = attached(choice, second, 0.06) or second
    other, anderer = english.nominal(second, subject=False), german.nominal(second, "nominative")
    if uneven(first, second) or word in ("small", "young") or choice.chance(0.7):
        spoken, told = f"{adjective.english_comparative} than {other}", f"{adjective.german_comparative} als {anderer}"
        if choice.chance(0.08):
            spoken, told = f"much {spoken}", f"viel {told}"
    else:
        spoken, told = f"as {adjective.english} as {other}", f"so {adjective.german} wie {anderer}"
    negated = choice.chance(0.2) and not uneven(first, second) and not spoken.startswith("much")
    return Clause(first, BE, complements=(Phrase(spoken, told),), negated=negated)
