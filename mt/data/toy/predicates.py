"""Clauses around *be*: how somebody is, where something is; and clauses of any kind."""

from dataclasses import replace
from functools import cache

from mt.data.toy import english, german
from mt.data.toy.adjuncts import chosen_time, counted
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import STATES, chosen_place, predicate, verb_clause
from mt.data.toy.comparisons import comparison_clause, identity_clause
from mt.data.toy.features import Adjective, Clause, Form, Noun, NounPhrase, Phrase
from mt.data.toy.likings import liking_clause
from mt.data.toy.nouns import NOUNS, fits, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import adjectives_of, noun_phrase, object_phrase
from mt.data.toy.scenes import IMPERSONAL, state_clause
from mt.data.toy.times import NOW, past_time
from mt.data.toy.verbs import BE
from mt.data.toy.words import (
    ADJECTIVE,
    ADJECTIVES,
    ALREADY,
    ALSO,
    BARE,
    COLOURS,
    HABITS,
    IT,
    LATE,
    STILL,
)

TRAITS = ("old", "young", "friendly", "nice", "clever", "strong", "tall", "rich", "funny", "beautiful", "quiet")


def copula_clause(choice: Choice, *, rich: float = 0.3, negation: float = 0.15) -> Clause:
    """Somebody or something is so: The soup is very hot, My sister was not tired."""
    degree = ("", "very", "too", "so", "really", "a little")[choice.weighted((0.61, 0.17, 0.07, 0.06, 0.05, 0.04))]
    if choice.chance(0.5):
        who = somebody(choice, ("adult", "young", "infant"), "known")
        adjective = choice.pick(STATES)
        if choice.chance(0.3):
            adjective = ADJECTIVE[choice.pick(TRAITS)]
            degree = "very" if degree == "too" else degree
    else:
        adjective, classes = choice.rare(ADJECTIVE_ENTRIES)
        nouns = nouns_for(classes)
        who = noun_phrase(choice, choice.rare(nouns), "known", adjective=0.0)
    degree = borne_degree(adjective, degree)
    form: Form = ("present", "past", "future")[choice.weighted((0.7, 0.27, 0.03))]
    if form == "future" and adjective not in STATES:
        form = "present"
    told = predicate(adjective, degree)
    if adjective.english_comparative and adjective.german_comparative and choice.chance(0.08):
        told = Phrase(adjective.english_comparative, adjective.german_comparative)
        return Clause(who, BE, form, complements=(told,))
    personal = bool({"human", "animal"} & set(getattr(getattr(who, "noun", None), "classes", {"human"})))
    if not personal and degree in ("too", "very") and choice.chance(0.35):
        whom = object_phrase(choice, ("person", "infant", "kin"), "known", who)
        if choice.chance(0.25):
            whom = NounPhrase(NOUNS[choice.pick(("child", "student", "man", "woman", "girl"))], BARE, plural=True)
        told = Phrase(
            f"{told.english} {english.preposition('for', whom)}",
            f"{told.german} {german.preposition('für', whom, 'accusative')}",
        )
        return Clause(who, BE, form, complements=(told,), negated=degree == "very" and choice.chance(0.2))
    body = Clause(who, BE, form, complements=(told,))
    if choice.chance(0.1):
        body = replace(body, complements=(two_predicates(choice, body, adjective),))
    elif choice.chance(0.04) and adjective in STATES:
        body = replace(body, complements=(LATE,))
    if adjective in STATES and choice.chance(rich):
        time = choice.pick(NOW[:2]) if form == "present" else chosen_time(choice, body, None)
        body = replace(body, time=time)
    elif adjective in STATES and form == "present" and choice.chance(0.15):
        return replace(body, middle=choice.pick((*HABITS, ALREADY, STILL, STILL)))
    elif adjective.english in ("open", "closed") and form == "present" and choice.chance(0.35):
        return replace(body, middle=choice.pick((ALREADY, STILL)))
    return body if counted(who) else usual_or_denied(choice, body, adjective, degree, negation)


def usual_or_denied(choice: Choice, body: Clause, adjective: Adjective, degree: str, negation: float) -> Clause:
    """It is often so, or it is not."""
    usually = body.form != "future" and choice.chance(0.07) and usual(adjective)
    return replace(
        body,
        middle=choice.pick(HABITS) if usually else None,
        negated=not usually and choice.chance(negation) and degree != "too",
    )


def usual(adjective: Adjective) -> bool:
    """What something can often or never be: boring, dirty; not: red, old."""
    return adjective not in STATES and adjective.english not in (*COLOURS, "old", "young", "new", "tall", "little")


def borne_degree(adjective: Adjective, degree: str) -> str:
    """The degree, if the adjective bears it: not very red, not too ready."""
    if adjective.english in (*COLOURS, "ready", "closed", "open", "alone", "healthy"):
        return ""
    graded = adjective.german_comparative or adjective in STATES
    return "very" if degree == "a little" and not graded else degree


OPPOSITES = [
    frozenset(pair.split())
    for pair in [
        "big small",
        " big little",
        " small little",
        " old young",
        " old new",
        " young new",
        " good bad",
        " long short",
        " hot cold",
        "\nwarm cold",
        " hot warm",
        " expensive cheap",
        " clean dirty",
        " open closed",
        " interesting boring",
        " sick healthy",
        " happy sad",
        " happy angry",
        "\ngood boring",
        " good dirty",
        " happy alone",
        " rich hungry",
        " beautiful dirty",
        " nice angry",
        " fast old",
        " friendly angry",
        " hungry thirsty",
    ]
]


def two_predicates(choice: Choice, body: Clause, first: Adjective) -> Phrase:
    """big and beautiful, old but friendly; the first alone where no second is found."""
    who = body.subject
    options = list(STATES) if first in STATES else [ADJECTIVE[word] for word in TRAITS]
    if isinstance(who, NounPhrase) and first not in STATES and "human" not in who.noun.classes:
        options = list(adjectives_of(who.noun))
    second = choice.pick(options or [first])
    word = choice.pick((Phrase("and", "und"), Phrase("and", "und"), Phrase("but", "aber")))
    clash = frozenset((first.english, second.english)) in OPPOSITES or second.english in (*COLOURS, "little")
    if clash or second == first or first.english in COLOURS:
        return body.complements[0]
    comma = "," if word.german == "aber" else ""
    said = body.complements[0]
    return Phrase(
        f"{said.english} {word.english} {second.english}", f"{said.german}{comma} {word.german} {second.german}"
    )


class Quality(tuple[Adjective, frozenset[str]]):  # an adjective with the classes it is said of, labelled for balance
    """An adjective with the classes it is said of, labelled for balance."""

    @property
    def label(self) -> str:
        """What the balance of words counts."""
        return self[0].english


ADJECTIVE_ENTRIES = [Quality(pair) for pair in ADJECTIVES if pair[0].english != "little"]


@cache
def nouns_for(classes: frozenset[str]) -> tuple[Noun, ...]:
    """The nouns an adjective is said of."""
    return tuple(noun for noun in NOUNS.values() if fits(noun, classes))


def location_clause(choice: Choice) -> Clause:
    """Somebody or something is somewhere: The keys are on the table."""
    groups = ("person_at", "animal_at", "thing_at", "building_at")
    classes = (("adult", "young"), ("pet", "small_animal"), ("portable", "vessel"), ("building_seen",))
    kind = choice.weighted((0.4, 0.2, 0.3, 0.1))
    wanted = classes[kind] if kind < 3 else ("hotel", "museum", "school", "church", "restaurant", "hospital", "station")
    who = (
        somebody(choice, wanted, "known") if kind == 0 else noun_phrase(choice, choice.rare(nouns_of(wanted)), "known")
    )
    found = None
    while found is None:
        found = chosen_place(choice, groups[kind], who)
    form: Form = ("present", "past")[choice.weighted((0.75, 0.25))] if kind < 3 else "present"
    body = Clause(who, BE, form, complements=(found,))
    if kind == 0 and choice.chance(0.25):
        body = replace(body, time=past_time(choice, long=False) if form == "past" else choice.pick(NOW[:2]))
    if form == "present" and choice.chance(0.12):
        return replace(body, middle=choice.pick((ALREADY, STILL, ALSO)))
    return replace(body, negated=choice.chance(0.12) and not counted(who))


FORMS_OF_WEATHER: tuple[Form, ...] = ("present", "past")


def any_clause(choice: Choice, *, rich: float = 0.35, negation: float = 0.13) -> Clause:
    """A clause of any kind, for the constructions that take every kind."""
    kind = choice.weighted((0.645, 0.15, 0.08, 0.04, 0.035, 0.02, 0.03))
    if kind == 6:
        return liking_clause(choice)
    if kind == 5:
        form = choice.pick(FORMS_OF_WEATHER)
        return state_clause(choice, choice.pick(IMPERSONAL), IT, form)
    if kind == 0:
        return verb_clause(choice, rich=rich, negation=negation)
    if kind == 3:
        return identity_clause(choice)[0]
    if kind == 4:
        return comparison_clause(choice)
    return copula_clause(choice, rich=rich, negation=negation) if kind == 1 else location_clause(choice)
