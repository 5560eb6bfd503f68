"""What one has to be, where one has to be, what one could do then, how old one will be."""

import re
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.being import BECOME
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.comparisons import female, job
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, subject
from mt.data.toy.relatives import ACTIVE
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import clock, coming_time, past_time, phrases
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    COULD,
    HAD_TO,
    HAVE_TO,
    MUST,
    NAMES,
    NEED_TO,
    NUMBER_WORDS,
    POSSESSIVES,
    SHOULD,
    TENS,
    THE,
    THEY,
    WANT,
    WANTED,
    WOULD_LIKE,
    A,
)

DAY = re.compile(r"(on|in|next) \w+( (weeks?|days?|months?))?|tomorrow|soon|on the \w+ of \w+")
BOUND = (MUST, HAVE_TO, HAVE_TO, HAVE_TO, HAD_TO, WANT, WANT, WANTED, SHOULD, NEED_TO, WOULD_LIKE, CAN)
ABLE = """swim, run, sing, dance, cook, read/lesen, write, play, play, sleep, repair, work, help, go shopping, speak, go/gehen,
go/fahren, wash, clean, learn, visit, drive, watch television, get up""".replace("\n", " ").split(", ")
OPPOSED = [
    frozenset(pair.split("/"))
    for pair in """old/young, old/new, big/small, small/tall, warm/cold, hot/cold, hot/warm, good/bad,
cheap/expensive, happy/sad, happy/angry, clean/dirty, short/long, interesting/boring, old/modern, new/modern,
tall/big, sick/healthy, good/beautiful, sad/funny, boring/funny, bad/beautiful, fresh/old""".replace("\n", " ").split(
        ", "
    )
]
NOT_JOINED = {
    "German",
    "French",
    "English",
    "little",
    "first",
    "last",
    "next",
    "whole",
    "open",
    "closed",
    "alone",
    "ready",
    "nice",
}
YOUNG = phrases("young/jung, little/klein, a child/ein Kind, small/klein")


def has_to_be(choice: Choice) -> Sentence:
    """The children have to be in bed at eight o'clock: müssen um acht Uhr im Bett sein. She wants to be alone."""
    who: Nominal = person(choice)[0]
    if choice.chance(0.2):
        who = NounPhrase(NOUNS["child"], THE, plural=True)
    modal = choice.pick(BOUND)
    negated = modal == CAN or (modal in (WANT, SHOULD, HAVE_TO) and choice.chance(0.2))
    time = None
    if choice.chance(0.65):
        where = chosen_place(choice, "person_at", who)
        if where is None:
            return has_to_be(choice)
        negated = negated and modal != SHOULD
        if choice.chance(0.65):
            later = past_time if modal.past else coming_time
            time = clock(choice) if choice.chance(0.6) else later(choice, long=False)
    else:
        words = ("quiet", "quiet", "ready", "friendly", "happy", "alone", "rich", "healthy", "strong", "clever")
        where = predicate(ADJECTIVE[choice.pick(words[:6] if modal == CAN else words)])
    body = Clause(who, BE, "modal", modal, negated=negated, complements=(where,), time=time)
    if choice.chance(0.2) and who.person != 1 and not negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def when_young(choice: Choice) -> Sentence:
    """When I was young, I could swim very well: konnte ich sehr gut schwimmen. She had to work a lot as well."""
    who, pronoun = person(choice)
    state = choice.pick(YOUNG)
    if who.plural and " " in state.english:
        return when_young(choice)
    first = Clause(who, BE, "past", complements=(state,))
    modal = choice.pick((COULD, COULD, HAD_TO, WANTED, None))
    found = entry(*choice.pick(ABLE).split("/")) if modal else choice.rare(ACTIVE)
    second = verb_clause(choice, entry=found, who=pronoun, rich=0.45, negation=0.12, form="past")
    second = replace(second, time=None, hour=None, ongoing=False)
    if modal:
        second = replace(second, form="modal", modal=modal, middle=None)
    return Phrase(
        f"when {english.clause(first)}, {english.clause(second)}",
        f"als {german.clause(first, 'final')}, {german.clause(second, 'question')}",
    ), "."


def will_be_older(choice: Choice) -> Sentence:
    """My daughter will be six next week: wird nächste Woche sechs. I'll be twenty in two weeks."""
    who = subject(choice, ("young",) if choice.chance(0.3) else ("adult",), "known")
    young = isinstance(who, NounPhrase) and "young" in who.noun.classes
    number, zahl = choice.pick(NUMBER_WORDS if young else (*NUMBER_WORDS, *TENS, *TENS))
    if not isinstance(who, Pronoun) and who.plural:
        who = THEY
    years, alt = choice.pick(((" years old", " Jahre alt"), ("", ""), ("", "")))
    said = Phrase(number + years, zahl + alt)
    time = coming_time(choice, long=True)
    if not DAY.fullmatch(time.english):
        return will_be_older(choice)
    body = Clause(who, BE, "future", complements=(said,), time=time)
    return Phrase(english.clause(body), german.clause(replace(body, verb=BECOME, form="present"), "main")), "."


STATES = ("tired", "hungry", "thirsty", "sick", "sad", "angry", "happy")
TRAITS = ("old", "young", "tall", "rich", "friendly", "clever", "strong", "funny")


def two_states(choice: Choice) -> Sentence:
    """I am hungry and thirsty. The flat was small and expensive. Is your brother tall and strong?"""
    who: Nominal = person(choice)[0]
    words = list(choice.pick((STATES, TRAITS)))
    if choice.chance(0.5):
        noun = choice.rare([noun for noun in NOUNS.values() if len(adjectives_of(noun)) > 4])
        who = noun_phrase(choice, noun, "known", adjective=0)
        words = [found.english for found in adjectives_of(noun) if found.english in ADJECTIVE]
    one, two = choice.pick(words), choice.pick(words)
    if one == two or {one, two} & NOT_JOINED or any({one, two} <= pair for pair in OPPOSED):
        return two_states(choice)
    first, second = (
        predicate(ADJECTIVE[word], choice.pick(degrees) if ADJECTIVE[word].english_comparative else "")
        for word, degrees in ((one, ("", "", "", "very")), (two, ("", "", "", "very", "a little")))
    )
    joined = Phrase(f"{first.english} and {second.english}", f"{first.german} und {second.german}")
    body = Clause(who, BE, choice.pick(("present", "present", "past")), complements=(joined,))
    if choice.chance(0.2) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def at_work(choice: Choice) -> Sentence:
    """My father works in a hospital, and my mother is a teacher: meine Mutter ist Lehrerin."""
    nouns = [
        one
        for one in nouns_of(("kin", "friend", "neighbour", "man", "woman"))
        if one.english and one.english != "parents"
    ]
    owner = POSSESSIVES[choice.pick(("my", "my", "my", "your", "his", "her", "our"))]
    first, second = choice.pick(nouns), choice.pick(nouns)
    halves = []
    for noun in (first, second):
        who: Nominal = NounPhrase(noun, THE if noun.english in ("man", "woman") else owner)
        if choice.chance(0.15):
            who = choice.pick(NAMES)
        profession = job(NOUNS[choice.pick(("teacher", "teacher", "doctor", "doctor", "student"))], female(who))
        said = Phrase(english.nominal(NounPhrase(profession, A)), profession.german)
        halves.append(Clause(who, BE, choice.pick(("present", "present", "past")), complements=(said,)))
    one, two = halves
    where = chosen_place(choice, "work", one.subject)
    if choice.chance(0.5) and where is not None:
        one = Clause(one.subject, entry("work").verb, one.form, complements=(where,))
    same = one.verb == two.verb and english.clause(one).split()[-1] == english.clause(two).split()[-1]
    if one.subject == two.subject or one.form != two.form or same:
        return at_work(choice)
    if choice.chance(0.3):
        return plain(two), "."
    word, wort = choice.pick(((" and", " und"), (", and", " und"), (", but", ", aber")))
    if word == ", but" and choice.chance(0.4):
        one, two = two, one
    return Phrase(
        f"{english.clause(one)}{word} {english.clause(two)}",
        f"{german.clause(one, 'main')}{wort} {german.clause(two, 'main')}",
    ), "."


def not_much(choice: Choice) -> Sentence:
    """I do not have much time: Ich habe nicht viel Zeit. We don't need many eggs: nicht viele Eier."""
    noun = choice.rare([*nouns_of(("food", "drink", "time", "money", "work")), *nouns_of(("snack", "book", "friend"))])
    many = not noun.mass and bool(noun.english_plural)
    spoken = f"many {noun.english_plural}" if many else f"much {noun.english}"
    told = f"nicht viele {noun.german_plural}" if many else f"nicht viel {noun.german}"
    names = {
        "time": ("have", "need"),
        "money": ("have", "need"),
        "work": ("have",),
        "friend": ("have",),
        "book": ("read/lesen", "have", "buy"),
    }
    drunk = (
        ("drink", "buy", "need", "have")
        if noun.classes & {"drink", "alcohol"}
        else ("eat/essen", "buy", "need", "have")
    )
    name = choice.pick(names.get(noun.english, drunk))
    who = person(choice)[0]
    form: Form = choice.pick(("present", "present", "past"))
    verb = entry(*name.split("/")).verb
    said = Clause(who, verb, form, negated=True, accusative=Name(spoken, definite=False))
    body = Clause(who, verb, form, accusative=Name(spoken, german=told, definite=False))
    return Phrase(english.clause(said), german.clause(body, "main")), "."
