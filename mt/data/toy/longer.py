"""Sentences of many parts: time and place and company in one clause, three clauses, so and its consequence."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Clause, Form, Nominal, Phrase, Sentence
from mt.data.toy.phrases import own
from mt.data.toy.predicates import any_clause
from mt.data.toy.reasons import EVERYDAY
from mt.data.toy.scenes import effect_clause, person
from mt.data.toy.sequences import circumstance, event, personal
from mt.data.toy.statements import plain
from mt.data.toy.times import WAITS
from mt.data.toy.verbs import entry
from mt.data.toy.words import CAN, HAVE_TO, MUST, WANT, WOULD_LIKE

JOINTS = (
    (Phrase("because", "weil"), 0.35),
    (Phrase("when", "wenn"), 0.2),
    (Phrase("if", "wenn"), 0.2),
    (Phrase("although", "obwohl"), 0.1),
    (Phrase("so", "also"), 0.15),
)


def long_statement(choice: Choice) -> Sentence:
    """Last summer my brother visited his aunt in Vienna with a friend."""
    return plain(any_clause(choice, rich=0.8, negation=0.06), front=choice.chance(0.35)), "."


def long_question(choice: Choice) -> Sentence:
    """Did your parents buy a new car in Berlin last week?"""
    while True:
        body = verb_clause(choice, rich=0.7, negation=0.04)
        if body.subject.person != 1 and personal(body.subject):
            return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"


def two_long(choice: Choice) -> Sentence:
    """I get up at six o'clock every morning, and my husband goes to work at seven."""
    one = any_clause(choice, rich=0.5, negation=0.08)
    two = any_clause(choice, rich=0.5, negation=0.08)
    people = (one.accusative, one.dative, two.accusative, two.dative)
    same = one.subject == two.subject or one.subject in people or two.subject in people
    if two.verb == one.verb or same or not (personal(one.subject) and personal(two.subject)):
        return two_long(choice)
    joint = choice.weighted((0.5, 0.3, 0.2))
    spoken, told = ((" and", " und"), (", but", ", aber"), (", and", " und"))[joint]
    return Phrase(
        f"{english.clause(one)}{spoken} {english.clause(two)}",
        f"{german.clause(one, 'main')}{told} {german.clause(two, 'main')}",
    ), "."


def two_deeds_of(choice: Choice, who: Nominal) -> tuple[Phrase, str, Form]:
    """What one person does: in English and German after another clause, in German as a main clause, and in which form.

    We went home and drank tea: sind wir nach Hause gegangen und haben Tee getrunken.
    """
    form: Form = choice.pick(("present", "past", "past", "future", "modal"))
    first = effect_clause(choice, choice.pick(EVERYDAY), who, "present" if form == "modal" else form)
    second = effect_clause(choice, choice.pick(EVERYDAY), who, "present" if form == "modal" else form)
    if first.verb == second.verb or "hurry" in (first.verb.english, second.verb.english):
        return two_deeds_of(choice, who)
    if form == "modal":
        modal = choice.pick((CAN, WANT, HAVE_TO, MUST, WOULD_LIKE))
        first, second = (replace(body, form="modal", modal=modal) for body in (first, second))
    told = german.clause(second, "main", without="subject")
    finite = german.verb_complex(second)[0]
    if form != "present" and finite == german.verb_complex(first)[0]:
        told = told.removeprefix(f"{finite} ")
    shared = form in ("future", "modal")
    rest = english.infinitive(second) if shared else english.clause(second, with_subject=False)
    said = Phrase(f"{english.clause(first)} and {rest}", f"{german.clause(first, 'question')} und {told}")
    return said, f"{german.clause(first, 'main')} und {told}", form


def three_clauses(choice: Choice) -> Sentence:
    """When it rained, we went home and drank tea. I will stay at home and read a book because it is cold."""
    who, _ = person(choice)
    said, main, form = two_deeds_of(choice, who)
    inner_form: Form = "past" if form == "past" else "present"
    inner = circumstance(choice, inner_form) if choice.chance(0.75) else event(choice, inner_form)
    if not apart_from(inner.subject, who):
        return three_clauses(choice)
    word = JOINTS[choice.weighted([weight for _, weight in JOINTS])][0]
    if form == "past" and word.german == "wenn":
        word = Phrase("when", "als")
    spoken, told = english.clause(inner), german.clause(inner, "final")
    if word.english == "so":
        return Phrase(f"{spoken}, so {said.english}", f"{german.clause(inner, 'main')}, also {said.german}"), "."
    if choice.chance(0.55):
        return Phrase(f"{word.english} {spoken}, {said.english}", f"{word.german} {told}, {said.german}"), "."
    return Phrase(f"{said.english} {word.english} {spoken}", f"{main}, {word.german} {told}"), "."


def because_but(choice: Choice) -> Sentence:
    """I can't come on Saturday because I have to work, but I have time on Sunday."""
    who, pronoun = person(choice)
    one = verb_clause(choice, who=who, rich=0.2, negation=0.35)
    two = any_clause(choice, rich=0.1, negation=0.15)
    three = verb_clause(choice, who=pronoun, rich=0.3, negation=0.15)
    if choice.chance(0.5):
        two = verb_clause(choice, who=pronoun, rich=0.15, negation=0.15)
    if len({one.verb, two.verb, three.verb}) < 3 or not apart_from(two.subject, who):
        return because_but(choice)
    return Phrase(
        f"{english.clause(one)} because {english.clause(two)}, but {english.clause(three)}",
        f"{german.clause(one, 'main')}, weil {german.clause(two, 'final')}, aber {german.clause(three, 'main')}",
    ), "."


def two_reasons(choice: Choice) -> Sentence:
    """We stayed at home because the weather was bad and my son was sick: weil … schlecht war und … krank war."""
    who, _ = person(choice)
    form: Form = choice.pick(("past", "past", "present"))
    main = verb_clause(choice, who=who, rich=0.3, negation=0.15, form=form)
    one, two = circumstance(choice, form), circumstance(choice, form)
    word = choice.pick(
        (Phrase("because", "weil"), Phrase("because", "weil"), Phrase("when", "als" if form == "past" else "wenn"))
    )
    if len({one.subject, two.subject, who}) < 3:
        return two_reasons(choice)
    main = replace(main, time=None, hour=None)
    spoken = f"{word.english} {english.clause(one)} and {english.clause(two)}"
    told = f"{word.german} {german.clause(one, 'final')} und {german.clause(two, 'final')}"
    if choice.chance(0.25):
        return Phrase(f"{spoken}, {english.clause(main)}", f"{told}, {german.clause(main, 'question')}"), "."
    return Phrase(f"{english.clause(main)} {spoken}", f"{german.clause(main, 'main')}, {told}"), "."


def apart_from(one: Nominal, other: Nominal) -> bool:
    """Whether two subjects are not the same person, nor taken for it."""
    return one != other and (own(one) is None or own(one) != own(other))


def so_anything(choice: Choice) -> Sentence:
    """The train is late, so we have to wait twenty minutes: also müssen wir zwanzig Minuten warten."""
    form: Form = choice.pick(("present", "present", "past"))
    state = circumstance(choice, form)
    if choice.chance(0.3):
        who, _ = person(choice)
        effect = Clause(who, entry("wait").verb, "past" if form == "past" else "present", time=choice.pick(WAITS))
    else:
        effect = event(choice, "past" if form == "past" else choice.pick(("present", "progressive", "future")))
    if effect.verb.stative and effect.form == "progressive":
        effect = replace(effect, form="present")
    if form == "present" and choice.chance(0.5) and not effect.verb.stative and not effect.negated:
        effect = replace(effect, form="modal", modal=choice.pick((CAN, MUST, HAVE_TO, HAVE_TO, WANT)), ongoing=False)
    if not personal(effect.subject) or not apart_from(state.subject, effect.subject):
        return so_anything(choice)
    return Phrase(
        f"{english.clause(state)}, so {english.clause(effect)}",
        f"{german.clause(state, 'main')}, also {german.clause(effect, 'question')}",
    ), "."
