"""No one and nothing: I do not know anybody here, we have no bread or milk, he has not eaten since yesterday."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Coordination, Determiner, Form, Name, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, object_pronoun
from mt.data.toy.reported import TELL
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.talk import SINCE_WHEN
from mt.data.toy.times import past_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ANY, CAN, NO, NUMBER_WORDS, WANT, WE, I

NOT_ANYBODY = [Pronoun(word, word, "niemand", "niemanden", "niemandem", 3, False, "") for word in ("anybody", "anyone")]
HERE = (
    Phrase("here", "hier"),
    Phrase("in this city", "in dieser Stadt"),
    Phrase("in Berlin", "in Berlin"),
    Phrase("at the station", "am Bahnhof"),
)
AND_NO = Phrase("or", "und")


def not_anybody(choice: Choice) -> Sentence:
    """She does not know anybody here: Sie kennt hier niemanden. Why didn't anybody help him: Warum hat ihm niemand …?"""
    nobody = choice.pick(NOT_ANYBODY)
    if choice.chance(0.4):
        return nobody_did(choice, nobody)
    who, _ = person(choice)
    name = choice.pick(("know", "know", "see", "meet", "call", "ask", "invite", "help", "see"))
    form: Form = "present" if name == "know" else "past" if name in ("see", "meet") else choice.pick(("past", "modal"))
    modal = choice.pick((WANT, CAN)) if form == "modal" else None
    body = Clause(who, entry(name).verb, form, modal)
    said = replace(body, dative=nobody) if name == "help" else replace(body, accusative=nobody)
    if name in ("know", "see", "meet") and choice.chance(0.5):
        said = replace(said, complements=(choice.pick(HERE),))
    elif form == "past" and choice.chance(0.4):
        said = replace(said, time=past_time(choice, long=False))
    spoken = english.clause(replace(said, negated=True))
    told = Name("", german="niemandem" if name == "help" else "niemanden", definite=False)
    return Phrase(spoken, german.clause(replace(said, dative=None, accusative=told), "main")), "."


def nobody_did(choice: Choice, nobody: Pronoun) -> Sentence:
    """Why did nobody call me? Didn't anybody see you? Warum hat mich niemand angerufen?"""
    name = choice.pick(("help", "tell", "call", "ask", "see", "understand", "pick up", "invite", "know"))
    form: Form = "present" if name in ("understand", "know") else "past"
    found = entry(name)
    whom = choice.pick((I, I, WE, object_pronoun(choice, WE)))
    body = Clause(nobody, found.verb, form)
    if name == "tell":
        body = replace(body, verb=TELL, dative=whom)
    else:
        body = replace(body, dative=whom) if found.frames[0].dative else replace(body, accusative=whom)
    body = replace(body, negated=False)
    spoken = english.clause(body, question=True)
    spoken = spoken.replace("did ", "didn't ", 1).replace("does ", "doesn't ", 1)
    if choice.chance(0.4):
        spoken = english.clause(replace(body, subject=replace(nobody, english="nobody")), question=True)
    case = "dative" if body.dative else "accusative"
    weak = whom.dative if case == "dative" else whom.accusative
    finite, closing = german.verb_complex(body)
    it = "es " if name == "tell" else ""
    told = f"{finite} {it}{weak} niemand {closing}".strip()
    if choice.chance(0.75) or "nobody" in spoken:
        return Phrase(f"why {spoken}", f"warum {told}"), "?"
    return Phrase(spoken, told), "?"


def neither_of_two(choice: Choice) -> Sentence:
    """We do not have any bread or milk: Wir haben kein Brot und keine Milch. I do not eat meat or fish."""
    name, classes = choice.pick(
        (
            ("have", ("food", "drink")),
            ("have", ("snack", "vegetable")),
            ("eat", ("food", "snack", "vegetable")),
            ("drink", ("drink", "alcohol")),
            ("need", ("food", "drink")),
            ("have", ("sibling",)),
            ("have", ("pet",)),
            ("buy", ("food", "drink")),
        )
    )
    found = entry(name, "essen" if name == "eat" else "")
    nouns = [noun for noun in nouns_of(classes) if noun.english]
    one, two = choice.rare(nouns), choice.rare(nouns)
    who, _ = person(choice)
    form: Form = choice.pick(("present", "present", "past"))
    if one == two or getattr(who, "noun", None) in (one, two) or one.mass != two.mass:
        return neither_of_two(choice)
    known = ANY if choice.chance(0.5) or name == "have" else replace(ANY, english="")
    first = NounPhrase(one, known, not one.mass)
    second = NounPhrase(two, replace(known, english=""), not two.mass)
    spoken = Clause(who, found.verb, form, negated=True, accusative=Coordination(first, second, AND_NO))
    none = Coordination(replace(first, determiner=NO), replace(second, determiner=NO), AND_NO)
    return Phrase(english.clause(spoken), german.clause(replace(spoken, negated=False, accusative=none), "main")), "."


UNDONE = ("see", "see", "meet", "call", "visit", "sleep", "work", "eat", "drink", "cook", "dance", "watch television")
LONG_AGO = ("days", "Tagen"), ("weeks", "Wochen"), ("months", "Monaten"), ("years", "Jahren")


def not_since(choice: Choice) -> Sentence:
    """I have not seen her for two years: Ich habe sie seit zwei Jahren nicht gesehen. It has not rained since Monday."""
    who, _ = person(choice)
    found = entry(choice.pick(UNDONE))
    body = verb_clause(choice, entry=found, who=who, rich=0.15, negation=0, form="past")
    if found.name in ("see", "meet", "call", "visit"):
        body = Clause(
            who, found.verb, accusative=object_pronoun(choice, who) if choice.chance(0.6) else body.accusative
        )
    elif found.name in ("eat", "drink"):
        noun = choice.rare(nouns_of(("food",) if found.name == "eat" else ("drink", "alcohol")))
        body = Clause(who, found.verb, accusative=NounPhrase(noun, choice.pick((ANY, replace(ANY, english="")))))
    number, zahl = choice.pick(NUMBER_WORDS)
    unit, einheit = choice.pick(LONG_AGO if found.name not in ("sleep", "eat", "drink") else LONG_AGO[:1])
    time = Phrase(f"for {number} {unit}", f"seit {zahl} {einheit}")
    if choice.chance(0.12):
        time = Phrase("for a long time", "lange")
    elif choice.chance(0.4):
        named = choice.pick(SINCE_WHEN)
        time = Phrase(f"since {named.english}", f"seit {named.german}")
    vague = isinstance(body.accusative, Coordination) or (
        isinstance(body.accusative, NounPhrase)
        and bool(body.accusative.determiner.plural)
        and not body.accusative.definite
    )
    if vague or body.complements:
        return not_since(choice)
    kept = Clause(who, body.verb, "perfect", negated=True, accusative=body.accusative, dative=body.dative, time=time)
    if choice.chance(0.2) and who.person == 3 and not isinstance(who, Pronoun) and not body.accusative:
        who = somebody_known(choice)
        kept = replace(kept, subject=who)
    return plain(kept), "."


NOT_ALL = Determiner("not all", "nicht all", "der", plural=True)


def not_all(choice: Choice) -> Sentence:
    """Not all birds can fly: Nicht alle Vögel können fliegen. Not all teachers are friendly."""
    nouns = [
        noun
        for noun in nouns_of(("adult", "animal", "young", "text", "building"))
        if noun.english_plural and noun.english
    ]
    phrase = NounPhrase(choice.rare(nouns), NOT_ALL, plural=True)
    if choice.chance(0.6):
        said = predicate(choice.pick(adjectives_of(phrase.noun)))
        return plain(Clause(phrase, BE, choice.pick(("present", "present", "past")), complements=(said,))), "."
    found = choice.pick(("swim", "read/lesen", "sing", "sleep", "run", "work", "dance", "cook"))
    if "animal" in phrase.noun.classes:
        found = choice.pick(("swim", "sleep", "run"))
    elif "human" not in phrase.noun.classes:
        return not_all(choice)
    return plain(Clause(phrase, entry(*found.split("/")).verb, "modal", CAN)), "."
