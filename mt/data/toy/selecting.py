"""One of several: which of these two coats, one of my friends."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Case, Clause, Determiner, Form, Name, Noun, NounPhrase, Phrase, Sentence
from mt.data.toy.german_words import DER_ENDINGS, cell
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, own
from mt.data.toy.questions import with_word
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, ENTRIES, entry
from mt.data.toy.words import (
    CAN,
    HAVE_TO,
    POSSESSIVES,
    SHOULD,
    THESE,
    WANT,
    WOULD_LIKE,
)

THESE_TWO = Determiner("these two", "dies", "der", plural=True, definite=True, then="beiden")
KIN = ("sibling", "friend", "neighbour", "teacher", "grandmother", "uncle", "aunt", "child")
GOODS = ("clothes", "text", "lodging", "road", "wheels", "furniture", "carried", "picture", "film", "song", "phone")
COMPARED = ("big", "small", "old", "new", "good", "nice", "cheap", "expensive", "warm", "long", "interesting", "clean")
LIVED = [
    found
    for found in ENTRIES
    if found.frames[0].subjects[0] in ("adult", "human") and found.name not in ("answer", "drive", "leave")
]


def several(choice: Choice, noun: Noun) -> NounPhrase:
    """All of those that one is chosen from: these two shirts, my brothers."""
    if "human" in noun.classes:
        return NounPhrase(noun, POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "their"))], True)
    options = (THESE, THESE, THESE_TWO, THESE_TWO, POSSESSIVES[choice.pick(("my", "your", "his", "her", "our"))])
    return NounPhrase(noun, choice.pick(options if "owned" in noun.classes else options[:4]), True)


def one_out(word: Phrase, phrase: NounPhrase, case: Case) -> Name:
    """Which of these shirts, one of my friends: welches dieser Hemden, einer meiner Freunde."""
    stem, ending = word.german, cell(DER_ENDINGS, case, phrase.noun, plural=False)
    told = stem + ("s" if stem == "ein" and ending == "es" else ending)
    sex = "his" if phrase.noun.gender == "masculine" else "her"
    spoken = f"{word.english} of {english.nominal(phrase)}"
    return Name(spoken, sex, german=f"{told} {german.nominal(phrase, 'genitive')}")


def which_of_these(choice: Choice) -> Sentence:
    """Which of these two coats is cheaper? Which of his brothers lives in Rome? Welches dieser Hemden willst du?"""
    which = Phrase("which", "welch")
    if choice.chance(0.35):
        who = one_out(which, several(choice, choice.rare([one for one in nouns_of(KIN) if one.english])), "nominative")
        body = verb_clause(choice, entry=choice.rare(LIVED), who=who, rich=0.35, negation=0)
        if any(word in english.clause(body).split() for word in ("his", "her", "their", "either")) or body.middle:
            return which_of_these(choice)
        return plain(body), "?"
    noun = choice.rare([one for one in nouns_of(GOODS) if one.english_plural])
    group = several(choice, noun)
    if choice.chance(0.35):
        said = [found for found in adjectives_of(noun) if found.english in COMPARED and found.german_comparative]
        if not said:
            return which_of_these(choice)
        found = choice.rare(said)
        told = Phrase(found.english_comparative, found.german_comparative)
        return plain(Clause(one_out(which, group, "nominative"), BE, complements=(told,))), "?"
    word = one_out(which, group, "accusative")
    name, forms = choice.pick(WANTED_OF)
    if name == "read" and "text" not in noun.classes:
        name, forms = WANTED_OF[0]
    if name == "wear" and "clothes" not in noun.classes:
        name, forms = WANTED_OF[2]
    form: Form = choice.pick(forms)
    modal = choice.pick((WANT, CAN, SHOULD, HAVE_TO, WOULD_LIKE)) if form == "modal" else None
    body = Clause(somebody_known(choice), entry(name).verb, form, modal, accusative=Name("it"))
    if name == "like" and choice.chance(0.4):
        body = replace(body, manner=Phrase("better", "lieber"))
    return with_word(body, Phrase(word.word, word.german), "accusative"), "?"


WANTED_OF: tuple[tuple[str, tuple[Form, ...]], ...] = (
    ("like", ("present",)),
    ("like", ("present",)),
    ("want", ("present",)),
    ("buy", ("past", "modal", "future")),
    ("wear", ("past", "modal")),
    ("read", ("past", "modal", "progressive")),
    ("see", ("past",)),
    ("sell", ("past", "modal")),
    ("know", ("present",)),
)


def one_of_them(choice: Choice) -> Sentence:
    """One of my friends works in a hospital. Yesterday we met one of your teachers."""
    one = Phrase("one", "ein")
    people = choice.chance(0.6)
    noun = choice.rare(
        [found for found in nouns_of(KIN if people else GOODS[:-3]) if found.english and found.english_plural]
    )
    group = replace(several(choice, noun), adjective=None)
    if people and choice.chance(0.65):
        who = one_out(one, group, "nominative")
        body = verb_clause(choice, entry=choice.rare(LIVED), who=who, rich=0.4, negation=0.08)
        return plain(body, front=choice.chance(0.15)), "."
    asks, who_, target = choice.chance(0.2), person(choice)[0], one_out(one, group, "accusative")
    names = ("meet", "visit", "call", "invite", "see", "know") if people else ("buy", "sell", "see", "like", "want")
    if own(who_) not in (None, group.determiner.english) and people and choice.chance(0.5):
        return one_of_them(choice)
    found = entry(choice.pick(names))
    form: Form = "present" if found.verb.stative and found.name != "see" else choice.pick(("past", "past", "future"))
    drawn = verb_clause(choice, entry=found, who=who_, rich=0.5, negation=0, form=form)
    body = Clause(who_, found.verb, form, accusative=target, time=drawn.time)
    if asks and who_.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body, front=choice.chance(0.2)), "."
