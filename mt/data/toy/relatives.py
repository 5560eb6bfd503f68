"""Relative clauses: the man who lives here, the book that he reads, the house in which we live."""

from dataclasses import replace
from typing import Literal

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.comparisons import job
from mt.data.toy.features import Adjective, Clause, Coordination, Form, Noun, NounPhrase, Phrase, Relative, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, object_phrase, owner, subject
from mt.data.toy.verbs import BE, ENTRIES, Entry, entry
from mt.data.toy.words import ADJECTIVE, BARE, HE, POSSESSIVES, SHE, THE, THEY, YOU, A

ACTIVE = [
    found
    for found in ENTRIES
    if found.frames[0].subjects[0] in ("adult", "human") and found.name not in ("hurry", "feel", "arrive")
]
KNOWING = [entry(name) for name in ("know", "see", "help", "visit", "ask", "like", "meet")]

NEAR_US = (
    *(Phrase("next to us", "neben uns"), Phrase("next to me", "neben mir"), Phrase("here", "hier")),
    *(Phrase("in our street", "in unserer Straße"), Phrase("near the station", "in der Nähe des Bahnhofs")),
    *(Phrase("near us", "in unserer Nähe"), Phrase("in this house", "in diesem Haus"), Phrase("alone", "allein")),
)


def head(choice: Choice, noun: Noun, *, plural: bool | None = None) -> NounPhrase:
    """The noun phrase a relative clause belongs to."""
    chosen = THE if "kin" not in noun.classes else POSSESSIVES["my"]
    many = bool(noun.english_plural) and choice.chance(0.25) if plural is None else plural
    return NounPhrase(noun, chosen, many)


def relative_subject(choice: Choice) -> Sentence:
    """The man who lives here is my teacher. I know the woman who sings."""
    noun = choice.rare(
        nouns_of(
            ("man", "woman", "boy", "girl", "child", "teacher", "doctor", "student", "neighbour", "friend", "guest")
        )
    )
    if choice.chance(0.35):
        noun = NOUNS[choice.pick(("man", "woman", "woman", "girl"))]
    bare = head(choice, noun)
    body = verb_clause(choice, entry=choice.rare(ACTIVE), who=bare, rich=0.25, negation=0.08)
    if choice.chance(0.12):
        body = Clause(bare, entry("live").verb, choice.pick(("present", "past")), complements=(choice.pick(NEAR_US),))
    while body.form == "future" or (isinstance(body.accusative, NounPhrase) and body.accusative.noun == noun):
        body = verb_clause(choice, entry=choice.rare(ACTIVE), who=bare, rich=0.25, negation=0.08)
    phrase = replace(bare, relative=Relative(body, "subject", pronoun=choice.pick(("", "", "that"))))
    if choice.chance(0.15):
        return known_to(choice, phrase)
    if body.form == "progressive" and not (body.negated or body.middle) and choice.chance(0.35):
        phrase = replace(phrase, relative=Relative(body, "subject", reduced=True))
    return about_person(choice, phrase), "."


def relative_thing(choice: Choice) -> Sentence:
    """The dog that is sleeping under the table belongs to our neighbour. The book that is on the bed is old."""
    animal = choice.chance(0.5)
    noun = choice.rare(nouns_of(("pet", "bird") if animal else ("portable",)))
    bare = head(choice, noun, plural=None if noun.english_plural else False)
    deed = choice.pick(("sleep", "sleep", "sit"))
    where = chosen_place(choice, "animal_rest" if animal else "thing_at", bare)
    if where is None:
        return relative_thing(choice)
    verb = entry(deed).verb if animal and choice.chance(0.75) else BE
    form: Form = choice.pick(("present", "past") if verb == BE else ("progressive", "progressive", "past"))
    phrase = replace(bare, relative=Relative(Clause(bare, verb, form, complements=(where,)), "subject"))
    kind = choice.weighted((0.45, 0.3, 0.25))
    if kind == 0 and "owned" in noun.classes:
        owner = object_phrase(choice, ("person",), "known", phrase)
        outer = Clause(phrase, entry("belong to").verb, dative=owner)
    elif kind < 2:
        adjective = choice.pick(adjectives_of(noun))
        said = predicate(adjective, choice.pick(("", "", "very")) if adjective.english_comparative else "")
        outer = Clause(phrase, BE, "past" if form == "past" else "present", complements=(said,))
    else:
        outer = Clause(
            subject(choice, ("adult",)), choice.pick((entry("like"), entry("look for"))).verb, accusative=phrase
        )
    return Phrase(english.clause(outer), german.clause(outer, "main")), "."


def about_person(choice: Choice, phrase: NounPhrase) -> Phrase:
    """A short main clause around somebody described by a relative clause."""
    kind = choice.weighted((0.28, 0.18, 0.2, 0.13, 0.21))
    if kind == 4:
        return by_profession(choice, phrase)
    if kind == 3:
        return named(choice, phrase)
    if kind == 0:
        from_adjective = choice.pick(
            [found for found in adjectives_of(phrase.noun) if found.english not in ("little", "big", "good", "new")]
            or adjectives_of(phrase.noun)
        )
        outer = Clause(
            phrase,
            BE,
            complements=(predicate(from_adjective, choice.pick(("", "", "very"))),),
            negated=choice.chance(0.1),
        )
    elif kind == 1:
        while True:
            outer = verb_clause(choice, entry=choice.rare(ACTIVE), who=phrase, rich=0.0, negation=0.08)
            bare = outer.form == "present" and not outer.accusative and not outer.complements
            if outer.form in ("future", "modal") or bare:
                continue
            if not isinstance(outer.accusative, NounPhrase) or outer.accusative.noun != phrase.noun:
                break
    else:
        found = choice.pick(KNOWING)
        who = subject(choice, ("adult",))
        while isinstance(who, NounPhrase) and who.noun == phrase.noun:
            who = subject(choice, ("adult",))
        dative = found.name == "help"
        outer = Clause(who, found.verb, accusative=None if dative else phrase, dative=phrase if dative else None)
    return Phrase(english.clause(outer), german.clause(outer, "main"))


def known_to(choice: Choice, phrase: NounPhrase) -> Sentence:
    """Do you know the woman who is sitting at the window: Kennst du die Frau, die am Fenster sitzt?"""
    who = choice.pick((YOU, YOU, YOU, HE, SHE, THEY))
    outer = Clause(who, entry("know").verb, accusative=phrase)
    return Phrase(english.clause(outer, question=True), german.clause(outer, "question")), "?"


def by_profession(choice: Choice, phrase: NounPhrase) -> Phrase:
    """The woman who lives next door is a doctor, is my new teacher: ist Ärztin, ist meine neue Lehrerin."""
    jobs = ("teacher", "teacher", "doctor", "doctor", "student", "friend", "neighbour")
    noun = NOUNS[choice.pick([word for word in jobs if word != phrase.noun.english])]
    owned = noun.english in ("friend", "neighbour") or choice.chance(0.35)
    mine = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our"))]
    noun = job(noun, phrase.noun.english in ("woman", "girl") and not phrase.plural)
    found = NounPhrase(noun, mine if owned else BARE if phrase.plural else A, phrase.plural)
    if choice.chance(0.3):
        found = replace(found, adjective=ADJECTIVE[choice.pick(("new", "old", "good", "young"))])
    unsaid = not owned and not found.adjective  # Sie ist Ärztin; but: Sie ist eine gute Ärztin
    said = Phrase(
        english.nominal(found), german.nominal(replace(found, determiner=BARE) if unsaid else found, "nominative")
    )
    outer = Clause(phrase, BE, choice.pick(("present", "present", "past")), complements=(said,))
    return Phrase(english.clause(outer), german.clause(outer, "main"))


def named(choice: Choice, phrase: NounPhrase) -> Phrase:
    """The boy who is playing there is my brother, my neighbour's son: who somebody is."""
    sex = {"he", "she"} & phrase.noun.classes
    kin = [noun for noun in nouns_of(("kin", "friend", "neighbour")) if noun.english and sex & noun.classes]
    noun = choice.pick(kin or [NOUNS["friend"]])
    if phrase.plural and not noun.english_plural:
        return about_person(choice, phrase)
    who = NounPhrase(noun, POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our"))], phrase.plural)
    if noun.classes & {"sibling", "generation3"} and choice.chance(0.45):
        who = replace(who, determiner=THE, owner=owner(choice, noun))
    said = Phrase(english.nominal(who), german.nominal(who, "nominative"))
    outer = Clause(phrase, BE, complements=(said,), negated=choice.chance(0.1))
    return Phrase(english.clause(outer), german.clause(outer, "main"))


MADE = [
    found
    for found in ENTRIES
    if (found.frames[-1].accusative or found.frames[-1].dative)
    and found.name
    in (
        "read",
        "write",
        "buy",
        "sell",
        "find",
        "look for",
        "see",
        "eat",
        "drink",
        "wear",
        "repair",
        "order",
        "like",
        "know",
        "need",
        "cook",
        "visit",
        "take",
        "wash",
        "open",
        "show",
        "give",
        "send",
        "lose",
        "help",
        "meet",
        "call",
        "invite",
    )
    and found.verb.german != "fressen"
]
HELPED = [entry("help"), entry("answer")]


def relative_object(choice: Choice) -> Sentence:
    """The book that he is reading is interesting. The man who we met yesterday is tired."""
    while True:
        found: Entry = choice.pick(HELPED) if choice.chance(0.2) else choice.rare(MADE)
        body = verb_clause(choice, entry=found, rich=0.12, negation=0.05)
        target = body.dative if found in HELPED else body.accusative
        if (
            not isinstance(target, NounPhrase)
            or target.measure
            or body.middle
            or not adjectives_of(target.noun)
            or "kin" in target.noun.classes
        ):
            continue
        if isinstance(body.subject, NounPhrase) and (body.subject.owner or body.subject.adjective):
            continue
        if body.subject == target or isinstance(body.subject, Coordination):
            continue
        break
    role: Literal["dative", "accusative"] = "dative" if found in HELPED else "accusative"
    relative = Relative(body, role, bare=choice.chance(0.3), pronoun=choice.pick(("", "that")))
    phrase = replace(head(choice, target.noun, plural=target.plural), relative=relative)
    if "human" in target.noun.classes:
        return about_person(choice, phrase), "."
    adjective = choice.pick(adjectives_of(target.noun))
    outer = Clause(
        phrase,
        BE,
        choice.pick(("present", "present", "past")),
        complements=(predicate(adjective, choice.pick(("", "", "very"))),),
        negated=choice.chance(0.12),
    )
    graded = [found for found in adjectives_of(phrase.noun) if found.english_comparative and found.german_comparative]
    if graded and choice.chance(0.2):
        outer = replace(outer, complements=(than_another(choice, phrase, choice.pick(graded)),), negated=False)
    elif choice.chance(0.2):
        outer = Clause(
            subject(choice, ("adult",)), choice.pick((entry("like"), entry("look for"))).verb, accusative=phrase
        )
    elif choice.chance(0.15):
        sein = "sind" if phrase.plural else "ist"
        spoken = "are" if phrase.plural else "is"
        return Phrase(
            f"where {spoken} {english.nominal(phrase)}", f"wo {sein} {german.nominal(phrase, 'nominative')}"
        ), "?"
    return Phrase(english.clause(outer), german.clause(outer, "main")), "."


def than_another(choice: Choice, phrase: NounPhrase, adjective: Adjective) -> Phrase:
    """more interesting than the film: another thing that can be so."""
    others = [
        noun for noun in NOUNS.values() if adjective in adjectives_of(noun) and noun != phrase.noun and noun.english
    ]
    classes = phrase.noun.classes - {"owned", "portable", "laid"}
    near = [noun for noun in others if noun.classes & classes] or others or [phrase.noun]
    other = noun_phrase(choice, choice.rare(near), "known", adjective=0)
    return Phrase(
        f"{adjective.english_comparative} than {english.nominal(other, subject=False)}",
        f"{adjective.german_comparative} als {german.nominal(other, 'nominative')}",
    )


FORMS: tuple[Form, ...] = ("present", "progressive", "past")
LIVED_IN = (
    ("live", ("house", "flat", "city", "village", "room")),
    ("work", ("office", "hospital", "school", "restaurant", "hotel", "shop", "museum")),
    ("sleep", ("bed", "room", "hotel")),
    ("play", ("garden", "park", "room")),
    ("eat", ("restaurant", "kitchen", "hotel")),
    ("swim", ("lake",)),
    ("wait", ("restaurant", "hotel", "room")),
)


def relative_place(choice: Choice) -> Sentence:
    """The house in which we live is old."""
    name, nouns = choice.pick(LIVED_IN)
    found = entry(name)
    phrase = head(choice, NOUNS[choice.pick(nouns)], plural=False)
    who = subject(choice, ("adult",))
    while isinstance(who, NounPhrase) and (who.adjective or who.owner):
        who = subject(choice, ("adult",))
    form = choice.pick(FORMS[:: 2 if name == "live" else 1])  # one lives, and is not living, in a house
    body = Clause(who, entry("eat", "essen").verb if name == "eat" else found.verb, form)
    phrase = replace(phrase, relative=Relative(body, "prepositional", Phrase("in", "in")))
    adjective = choice.pick([found for found in adjectives_of(phrase.noun) if found.english not in ("little", "good")])
    outer = Clause(
        phrase,
        BE,
        "present" if form != "past" else choice.pick(("present", "past")),
        complements=(predicate(adjective, choice.pick(("", "", "very"))),),
        negated=choice.chance(0.12),
    )
    return Phrase(english.clause(outer), german.clause(outer, "main")), "."
