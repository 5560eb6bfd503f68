"""The constructions with their weights: how often each kind of sentence is tried."""

from collections.abc import Callable

from mt.data.toy.being import comparison, existence, identity, presentation
from mt.data.toy.choice import Choice
from mt.data.toy.counting import numbers, weather
from mt.data.toy.features import Sentence
from mt.data.toy.questions import alternative, how, when_why, where, which, who, whom_what, yes_no
from mt.data.toy.reasons import and_but, because, two_deeds, when_if
from mt.data.toy.relatives import relative_object, relative_place, relative_subject
from mt.data.toy.reported import embedded_question, reported, uncertain
from mt.data.toy.statements import (
    everyday,
    giving,
    liking,
    paradigm,
    request,
    short_statement,
    statement,
    two_objects,
    two_subjects,
    wish,
)

Construction = Callable[[Choice], Sentence]

CONSTRUCTIONS: list[tuple[float, Construction]] = [
    (26, statement),
    (14, short_statement),
    (16, paradigm),
    (4, everyday),
    (7, giving),
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
    (2.8, existence),
    (3, comparison),
    (1.8, liking),
    (1.5, wish),
    (2.2, request),
    (1.5, two_subjects),
    (1.8, two_objects),
    (2, weather),
    (4.5, numbers),
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
