"""One clause or two of one subject, in every order in which a sentence can need them."""

from dataclasses import dataclass, replace

from mt.data.toy import english, german
from mt.data.toy.features import Clause, Form, Nominal, Phrase, Pronoun

AND, BUT = Phrase(" and", " und"), Phrase(", but", ", aber")
COMPOUND: tuple[Form, ...] = ("future", "modal")


@dataclass(frozen=True)
class Told:
    """What somebody does, as a main clause, a question, after a time and after a conjunction."""

    subject: Nominal
    form: Form
    english: str  # she reads and sleeps
    asked: str  # does she read and sleep
    fronted: str  # in the evening she reads and sleeps; empty without a time
    main: str  # sie liest und schläft
    inverted: str  # liest sie und schläft
    after_time: str  # am Abend liest sie und schläft
    final: str  # sie liest und schläft: with the verbs last
    timed: bool = False
    verbs: tuple[str, ...] = ()  # their German infinitives


def single(body: Clause) -> Told:
    """A clause by itself."""
    early, nach = "", ""
    if body.time:
        early = english.clause(body, front_time=True)
        nach = german.clause(body, "main", front=body.time.german, without="time")
    return Told(
        subject=body.subject,
        form=body.form,
        english=english.clause(body),
        asked=english.clause(body, question=True),
        fronted=early,
        main=german.clause(body, "main"),
        inverted=german.clause(body, "question"),
        after_time=nach,
        final=german.clause(body, "final"),
        timed=body.time is not None,
        verbs=(body.verb.particle + body.verb.german,),
    )


def two(first: Clause, second: Clause, joint: Phrase = AND) -> Told:
    """Two clauses of one subject and form: the auxiliary that they share is said once.

    She has bought bread and gone home: Sie hat Brot gekauft und ist nach Hause gegangen. Where German says another
    finite verb, aber stands behind it and its pronouns: ist aber nicht gegangen, ruft ihn aber nicht an.
    """
    one, shared = single(first), shares_auxiliary(first, second)
    finite = german.verb_complex(first)[0]
    rest = german.clause(second, "main", without="subject")
    rest = rest.removeprefix(f"{finite} ") if shared else rest
    told = f"{joint.german} {rest}"
    if joint == BUT and not shared:
        pronouns = sum(isinstance(each, Pronoun) for each in (second.dative, second.accusative))
        words = rest.split(" ")
        words.insert(1 + pronouns + second.verb.reflexive, "aber")
        told = f", {' '.join(words)}"
    closed = one.final.removesuffix(f" {finite}") if shared else one.final
    spoken = f"{joint.english} {spoken_rest(first, second)}"
    asked = f"{joint.english} {bare_rest(first, second)}"
    return replace(
        one,
        english=one.english + spoken,
        asked=one.asked + asked,
        fronted=one.fronted and one.fronted + spoken,
        main=one.main + told,
        inverted=one.inverted + told,
        after_time=one.after_time and one.after_time + told,
        final=f"{closed}{joint.german} {german.clause(second, 'final', without='subject')}",
        timed=one.timed or second.time is not None,
        verbs=(*one.verbs, second.verb.particle + second.verb.german),
    )


def shares_auxiliary(first: Clause, second: Clause) -> bool:
    """Whether German says the finite verb once: hat gelesen und geschlafen, will lesen und schlafen."""
    if first.form != second.form or first.modal != second.modal:
        return False
    if first.form in COMPOUND:
        return True
    perfect = all(
        body.form == "perfect" or (body.form == "past" and not body.verb.preterite) for body in (first, second)
    )
    return perfect and first.verb.auxiliary == second.verb.auxiliary


def spoken_rest(first: Clause, second: Clause) -> str:
    """The second clause after a statement, without subject and shared auxiliary: and drinking tea, and cannot come."""
    alike = first.form == second.form and first.modal == second.modal
    if alike and second.form in COMPOUND:
        return english.infinitive(second)
    words = english.clause(second, with_subject=False)
    if alike and second.form in ("progressive", "perfect") and not second.negated:
        return words.removeprefix(f"{english.verb_group(second, need_auxiliary=False)[0]} ")
    return words


def bare_rest(first: Clause, second: Clause) -> str:
    """The second clause after a question: does he read and sleep, is he reading and drinking tea."""
    if second.form in ("progressive", "perfect"):
        return spoken_rest(first, second)
    return english.infinitive(second)
