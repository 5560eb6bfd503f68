"""Whole sentences: each construction chooses clauses and says how both languages put them together."""

from collections.abc import Callable
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import any_clause, verb_clause
from mt.data.toy.features import Clause, Phrase

Sentence = tuple[Phrase, str]  # both texts without capital and mark, and the mark


def statement(choice: Choice) -> Sentence:
    """A main clause; the time may come first, and then German puts the verb before the subject."""
    body = any_clause(choice)
    front = body.time is not None and choice.chance(0.3)
    return plain(body, front=front), "."


def plain(body: Clause, *, front: bool = False) -> Phrase:
    if not front or body.time is None:
        return Phrase(english.clause(body), german.clause(body, "main"))
    return Phrase(english.clause(body, front_time=True),
                  german.clause(body, "main", front=body.time.german, without="time"))


def short_statement(choice: Choice) -> Sentence:
    return plain(any_clause(choice, rich=0.06, negation=0.12)), "."


def yes_no_question(choice: Choice) -> Sentence:
    body = any_clause(choice, rich=0.2, negation=0.04)
    body = unread(body)
    return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"


def unread(body: Clause) -> Clause:
    return body


CONSTRUCTIONS: list[tuple[float, Callable[[Choice], Sentence]]] = [
    (35, statement),
    (25, short_statement),
    (10, yes_no_question),
]
