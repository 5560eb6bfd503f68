"""What began and what has changed: it began to rain, I used to work but now I sleep; and neither of two."""

import re
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.combining import Told, single
from mt.data.toy.daily import deed, told
from mt.data.toy.features import Clause, Coordination, Form, Name, NounPhrase, Phrase, Sentence, Verb
from mt.data.toy.imagined import USED_TO
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.scenes import RAIN_VERB, SNOW_VERB, person
from mt.data.toy.statements import PERSONS, plain
from mt.data.toy.times import phrases
from mt.data.toy.verbs import ENTRIES, ONCE, entry
from mt.data.toy.words import IT, NAMES, POSSESSIVES, THE

BEGIN = entry("begin").verb
BEGUN = ("cry", "laugh", "sing", "dance", "work", "cook", "read", "play")

LASTED = [
    entry(name)
    for name in """live, work, play, sing, dance, read, drink, sleep, cook, swim, watch television, learn, speak, visit, wear,
    drive, write, get up, go shopping, go swimming""".replace("\n    ", " ").split(", ")
]


def to_begin(verb: Verb) -> Verb:
    """To begin to do it, in the perfect: hat angefangen zu regnen."""
    return replace(
        BEGIN,
        english_rest=f"to {verb.english}",
        participle=f"{BEGIN.participle} zu {verb.german}",
        particle="",
    )


def beginning(choice: Choice) -> Sentence:
    """It began to rain. We were playing football when it began to snow: als es angefangen hat zu schneien."""
    if choice.chance(0.7):
        body = Clause(IT, to_begin(choice.pick((RAIN_VERB, RAIN_VERB, SNOW_VERB))), "past")
    else:
        who, _ = person(choice)
        child = NounPhrase(NOUNS[choice.pick(("baby", "child", "girl"))], THE)
        body = Clause(choice.pick((who, child)), to_begin(entry(choice.pick(BEGUN)).verb), "past")
    final = last_verbs(body)
    if choice.chance(0.15):
        return plain(body), "."
    other, _ = person(choice)
    if getattr(other, "noun", None) == getattr(body.subject, "noun", 0) or other == body.subject:
        return beginning(choice)
    said: Told = told(choice, other, "past", rich=0.4, double=0.2, plain=True)
    word, wort = choice.pick((("when", "als"), ("when", "als"), ("before", "bevor")))
    if choice.chance(0.5):
        return Phrase(f"{said.english} {word} {english.clause(body)}", f"{said.main}, {wort} {final}"), "."
    return Phrase(f"{word} {english.clause(body)}, {said.english}", f"{wort} {final}, {said.inverted}"), "."


def last_verbs(body: Clause) -> str:
    """The clause after a conjunction: es angefangen hat zu regnen."""
    begun, _, verb = body.verb.participle.partition(" ")
    plain_one = replace(body, verb=replace(body.verb, participle=begun))
    return f"{german.clause(plain_one, 'final')} {verb}"


def but_now(choice: Choice) -> Sentence:
    """My brother used to play football, but now he dances: aber jetzt tanzt er."""
    found = choice.rare(LASTED)
    who, pronoun = person(choice)
    body = verb_clause(choice, entry=found, who=who, rich=0.4, negation=0, form="past")
    manner = None if body.manner and body.manner.english in ("early", "earlier", "late", "later") else body.manner
    body = replace(body, time=None, hour=None, middle=None, ongoing=False, manner=manner)
    form: Form = choice.pick(("present", "present", "progressive"))
    deed_now = deed(choice, pronoun, form, rich=0.3, plain=True)
    if deed_now.verb == body.verb:
        return but_now(choice)
    now = single(deed_now)
    first = german.clause(replace(body, time=Phrase("", "früher")), "main")
    spoken = english.clause(replace(body, form="modal", modal=USED_TO))
    word = choice.pick(("but now ", "but today "))
    wort = {"but now ": "jetzt", "but today ": "heute"}[word]
    return Phrase(f"{spoken}, {word}{now.english}", f"{first}, aber {wort} {now.inverted}"), "."


def neither(choice: Choice) -> Sentence:
    """Neither my father nor my mother likes fish: Weder mein Vater noch meine Mutter mag Fisch."""
    kin = [noun for noun in nouns_of(("kin", "friend", "neighbour")) if noun.english not in ("", "husband", "wife")]
    owner = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our"))]
    one, two = choice.rare(kin), choice.rare(kin)
    name, mine = choice.pick(NAMES), NounPhrase(one, owner)
    other = NounPhrase(two, owner)
    pairs: tuple[tuple[Name | NounPhrase, Name | NounPhrase], ...] = ((name, mine), (mine, other), (mine, name))
    first, second = choice.pick(pairs)
    if one == two:
        return neither(choice)
    pair = Coordination(first, second, Phrase("nor", "noch"))
    found = choice.rare(NEITHER)
    body = verb_clause(choice, entry=found, who=pair, rich=0.3, negation=0)
    said = plain(replace(body, subject=replace(pair, plural=False), middle=None))
    if body.verb.reflexive or re.search(r"\b(their|some|together|no)\b", said.english):
        return neither(choice)
    return Phrase(f"neither {said.english}", f"weder {said.german}"), "."


NEITHER = [
    *(found for found in ENTRIES if found.frames[0].subjects[0] in PERSONS),
    *[entry(name) for name in ("like", "have", "speak", "know", "want", "work", "come", "drink")] * 3,
]


FIRST = phrases(
    "sometimes/manchmal, sometimes/manchmal, usually/normalerweise, tomorrow/morgen, yesterday/gestern, now/jetzt"
)


def sometimes_first(choice: Choice) -> Sentence:
    """Sometimes I feel alone in this big city: Manchmal fühle ich mich in dieser großen Stadt allein."""
    first = choice.pick(FIRST[:3]) if choice.chance(0.8) else choice.pick(FIRST)
    form: Form = {"yesterday": "past", "tomorrow": "future", "now": "progressive"}.get(first.english, "present")  # type: ignore[assignment]
    if first.english == "sometimes" and choice.chance(0.3):
        form = "past"
    body = verb_clause(choice, entry=choice.rare(ENTRIES), rich=0.45, negation=0.08, form=form)
    once = body.verb.stative and form == "progressive"
    if (
        once
        or (body.negated and first.english == "usually")
        or (first.english in ("sometimes", "usually") and body.verb.english in ONCE)
    ):
        return sometimes_first(choice)
    body = replace(body, time=None, hour=None, middle=None)
    return Phrase(f"{first.english} {english.clause(body)}", german.clause(body, "main", front=first.german)), "."
