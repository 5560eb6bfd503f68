"""The constructions with their weights: how often each kind of sentence is tried."""

from collections.abc import Callable

from mt.data.toy.choice import Choice
from mt.data.toy.features import Phrase
from mt.data.toy.questions import alternative, how, when_why, where, which, who, whom_what, yes_no
from mt.data.toy.reasons import and_but, because, two_deeds, when_if
from mt.data.toy.reported import embedded_question, relative_object, relative_place, relative_subject, reported, uncertain
from mt.data.toy.simple import (
    comparison,
    existence,
    identity,
    liking,
    numbers,
    presentation,
    request,
    short_statement,
    statement,
    two_objects,
    two_subjects,
    weather,
    wish,
)

# A pair as features put it into words (no capital, no mark yet), and the mark at its end.
Construction = Callable[[Choice], tuple[Phrase, str]]

CONSTRUCTIONS: list[tuple[float, Construction]] = [
    (22, statement),
    (14, short_statement),
    (9, yes_no),
    (1.2, alternative),
    (3, where),
    (2.4, when_why),
    (1.5, who),
    (2.5, whom_what),
    (2, which),
    (2, how),
    (2.4, identity),
    (2.5, presentation),
    (2.5, existence),
    (3, comparison),
    (1.8, liking),
    (1.5, wish),
    (2.2, request),
    (1.5, two_subjects),
    (1.8, two_objects),
    (1.4, weather),
    (2.2, numbers),
    (4, reported),
    (2, uncertain),
    (2, embedded_question),
    (2.5, relative_subject),
    (2.5, relative_object),
    (0.8, relative_place),
    (4, because),
    (3, when_if),
    (2, and_but),
    (2.5, two_deeds),
]
