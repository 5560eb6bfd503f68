"""What people like to do: she likes to swim, we do not like cooking; German says it by gern."""

from dataclasses import replace

from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Clause, NounPhrase, Pronoun
from mt.data.toy.phrases import sex_pronoun
from mt.data.toy.verbs import entry
from mt.data.toy.words import BARE, STILL, A

LIKED = [
    entry(*name)
    for name in (
        ("sleep",),
        ("work",),
        ("sing",),
        ("dance",),
        ("swim",),
        ("read",),
        ("cook",),
        ("eat", "essen"),
        ("drink",),
        ("listen to",),
        ("play",),
        ("go shopping",),
        ("go swimming",),
        ("watch television",),
        ("speak",),
        ("learn",),
        ("drive",),
        ("run",),
        ("write",),
        ("visit",),
        ("go", "gehen"),
        ("go", "fahren"),
        ("fly",),
        ("wear",),
        ("help",),
        ("sit",),
    )
]


def liking_clause(choice: Choice) -> Clause:
    """Somebody likes to do something, or does not."""
    while True:
        body = verb_clause(choice, entry=choice.rare(LIKED), rich=0.15, negation=0)
        if not fit_to_like(body):
            continue
        gerund, negated = choice.chance(0.4), choice.chance(0.25)
        still = STILL if not negated and choice.chance(0.1) else None
        return replace(
            body, form="like to", modal=None, time=None, hour=None, middle=still, gerund=gerund, negated=negated
        )


def fit_to_like(body: Clause) -> bool:
    """Whether one can like to do it as such: reading books, not reading this book."""
    target = body.accusative
    if target is not None and (target.definite if not isinstance(target, Pronoun) else True):
        return False
    if isinstance(target, NounPhrase):
        counted = target.determiner not in (BARE, A) and target.noun.english_plural
        if counted or target.measure or target.determiner == A:
            return False
    if body.company and body.company.english.startswith("without"):
        return False
    odd_manner = body.manner and body.manner.english not in ("together", "alone", "fast")
    return sex_pronoun(body.subject) is not None and not odd_manner
