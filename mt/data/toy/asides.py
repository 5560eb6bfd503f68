"""Relative clauses that only add something: my sister, who lives in Rome, is visiting us."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import RELATIVE, cell
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of
from mt.data.toy.relatives import ACTIVE
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, BARE, NAMES, NUMBER_WORDS, POSSESSIVES, TENS

STATES = ("tired", "sick", "angry", "busy", "sad", "hungry", "happy", "old", "rich", "friendly", "young")


def known_person(choice: Choice) -> tuple[Name | NounPhrase, str]:
    """Somebody of whom everybody knows who it is, and the German relative pronoun."""
    if choice.chance(0.3):
        name = choice.pick(NAMES)
        return name, "die" if name.possessive == "her" else "der"
    noun = choice.rare([one for one in nouns_of(("kin", "friend", "neighbour", "teacher", "doctor")) if one.english])
    plural = bool(noun.english_plural) and choice.chance(0.15)
    owner = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "our", "their"))]
    return NounPhrase(noun, owner, plural), cell(RELATIVE, "nominative", noun, plural)


def added(choice: Choice, who: Nominal) -> Clause:
    """What is added: that one lives in Rome, is ninety years old, works in a hospital."""
    kind = choice.weighted((0.3, 0.15, 0.1, 0.15, 0.3))
    if kind < 2:
        name, group = (("live", "dwell"), ("work", "work"))[kind]
        where = chosen_place(choice, group, who)
        if where is not None:
            return Clause(who, entry(name).verb, complements=(where,))
    if kind == 2:
        number, zahl = choice.pick([*NUMBER_WORDS, *TENS])
        return Clause(who, BE, complements=(Phrase(f"{number} years old", f"{zahl} Jahre alt"),))
    if kind == 3:
        said = predicate(ADJECTIVE[choice.pick(STATES)], choice.pick(("", "very", "very")))
        return Clause(who, BE, choice.pick(("present", "past")), complements=(said,))
    while True:
        body = verb_clause(choice, entry=choice.rare(ACTIVE), who=who, rich=0.35, negation=0.08)
        if body.form in ("present", "past", "progressive", "perfect"):
            return body


def whose_aside(choice: Choice, who: Name | NounPhrase, pronoun: str) -> tuple[str, str, Clause]:
    """Tom, whose sister works in Paris: dessen Schwester in Paris arbeitet."""
    masculine = pronoun == "der" or getattr(getattr(who, "noun", None), "gender", "") == "neuter"
    theirs = [one for one in nouns_of(("kin", "friend", "car", "house", "flat", "dog", "child")) if one.english]
    noun = choice.rare([one for one in theirs if one != getattr(who, "noun", None)])
    plural = bool(noun.english_plural) and choice.chance(0.2)
    thing = NounPhrase(noun, BARE, plural)
    said = predicate(choice.pick(adjectives_of(noun)), choice.pick(("", "very")))
    inner = Clause(thing, BE, choice.pick(("present", "present", "past")), complements=(said,))
    if "human" in noun.classes and choice.chance(0.7):
        inner = added(choice, thing)
    dessen = "dessen" if masculine and not who.plural else "deren"
    return f"whose {english.clause(inner)}", f"{dessen} {german.clause(inner, 'final')}", inner


def aside(choice: Choice) -> Sentence:
    """My sister, who lives in Rome, is visiting us. I helped Anna, who was very tired."""
    who, pronoun = known_person(choice)
    inner = added(choice, who)
    told = f"{pronoun} {german.clause(inner, 'final', without='subject')}"
    spoken = f"who {english.clause(inner, with_subject=False)}"
    if choice.chance(0.15):
        spoken, told, inner = whose_aside(choice, who, pronoun)
    if choice.chance(0.25):
        other, _ = person(choice)
        verb = choice.pick(("visit", "call", "invite", "meet", "see", "ask", "help", "know"))
        form: Form = "present" if verb == "know" else choice.pick(("past", "past", "perfect", "future"))
        outer = Clause(other, entry(verb).verb, form)
        outer = replace(outer, dative=who) if verb == "help" else replace(outer, accusative=who)
        if isinstance(other, Name | NounPhrase) and getattr(other, "noun", other) == getattr(who, "noun", who):
            return aside(choice)
        return Phrase(f"{english.clause(outer)}, {spoken}", f"{german.clause(outer, 'main')}, {told}"), "."
    named = Name(
        f"{english.nominal(who)}, {spoken},", german=f"{german.nominal(who, 'nominative')}, {told},", plural=who.plural
    )
    while True:
        outer = verb_clause(choice, entry=choice.rare(ACTIVE), who=who, rich=0.4, negation=0.12)
        if outer.verb != inner.verb and not outer.verb.reflexive:
            break
    if choice.chance(0.2):
        state = predicate(ADJECTIVE[choice.pick(STATES)], choice.pick(("", "very", "too")))
        outer = Clause(who, BE, choice.pick(("present", "past", "present")), complements=(state,))
    return plain(replace(outer, subject=named)), "."
