"""What animals do and why: The dog is sleeping because it is tired. The cat ran home when it saw him."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.places import FIXED
from mt.data.toy.things import it_for
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, THE

# What animals do in a state.
ANIMAL_DEEDS = (("tired", "sleep"), ("old", "sleep"), ("sick", "sleep"), ("hungry", "eat"), ("thirsty", "drink"))
RESTING_PLACES = (
    FIXED["here"],
    FIXED["in_the_sun"],
    Phrase("in the garden", "im Garten"),
    Phrase("under the tree", "unter dem Baum"),
)


def animal_reason(choice: Choice) -> Sentence:
    """The dog is sleeping because it is tired."""
    who = noun_phrase(choice, choice.rare(nouns_of(("pet", "horse", "cow", "bird"))), "known", adjective=0.1)
    state, deed = choice.pick((*ANIMAL_DEEDS, ANIMAL_DEEDS[-2]))
    form: Form = choice.pick(("present", "progressive", "past"))
    body = Clause(who, entry(deed, "fressen" if deed == "eat" else "").verb, form)
    if deed == "sleep" and choice.chance(0.4):
        body = replace(body, negated=choice.chance(0.1), complements=(choice.pick(RESTING_PLACES),))
    elif deed != "sleep":
        food = ("meat", "fish") if "pet" in who.noun.classes else ("bread", "apple")
        thing = NounPhrase(choice.pick(nouns_of(food if deed == "eat" else ("water", "milk"))), THE)
        if choice.chance(0.5):
            thing = noun_phrase(choice, thing.noun, "generic", adjective=0)
        body = replace(body, accusative=thing)
    if "pet" in who.noun.classes and choice.chance(0.3):
        return saw_it(choice, who), "."
    reason = Clause(
        it_for(who),
        BE,
        "past" if form == "past" else "present",
        complements=(predicate(ADJECTIVE[state], choice.pick(("", "very"))),),
    )
    word = (
        choice.pick((Phrase("because", "weil"), Phrase("when", "als" if form == "past" else "wenn")))
        if form != "progressive"
        else Phrase("because", "weil")
    )
    return Phrase(
        f"{english.clause(body)} {word.english} {english.clause(reason)}",
        f"{german.clause(body, 'main')}, {word.german} {german.clause(reason, 'final')}",
    ), "."


RAN = (
    Phrase("into the garden", "in den Garten", direction=True),
    Phrase("into the house", "ins Haus", direction=True),
    Phrase("into the kitchen", "in die Küche", direction=True),
    Phrase("home", "nach Hause", direction=True),
)


def saw_it(choice: Choice, who: NounPhrase) -> Phrase:
    """The dog ran into the garden when it saw the cat."""
    seen = NounPhrase(choice.pick([noun for noun in nouns_of(("animal", "boy", "child")) if noun != who.noun]), THE)
    ran = Clause(who, entry("run").verb, "past", complements=(choice.pick(RAN),))
    saw = Clause(it_for(who), entry(choice.pick(("see", "see", "hear"))).verb, "past", accusative=seen)
    word = choice.pick((Phrase("when", "als"), Phrase("when", "als"), Phrase("because", "weil")))
    if choice.chance(0.3):
        ran = replace(ran, subject=it_for(who))
        saw = replace(saw, subject=who)
        return Phrase(
            f"{word.english} {english.clause(saw)}, {english.clause(ran)}",
            f"{word.german} {german.clause(saw, 'final')}, {german.clause(ran, 'question')}",
        )
    return Phrase(
        f"{english.clause(ran)} {word.english} {english.clause(saw)}",
        f"{german.clause(ran, 'main')}, {word.german} {german.clause(saw, 'final')}",
    )
