"""Questions: yes or no, and those with a question word."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import STATES, predicate, verb_clause
from mt.data.toy.features import Clause, Coordination, Name, Nominal, Noun, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, subject
from mt.data.toy.predicates import any_clause, location_clause
from mt.data.toy.times import AFTER
from mt.data.toy.verbs import BE, ENTRIES, entry
from mt.data.toy.words import ADJECTIVE, ALREADY, HABITS, HOW_MANY, STILL, WHICH, YOU, I

ALIKE = (
    ("drink",),
    ("alcohol",),
    ("food",),
    ("snack",),
    ("vegetable",),
    ("dish",),
    ("clothes",),
    ("road", "wheels"),
    ("public",),
    ("pet",),
    ("farm",),
    ("surface",),
    ("device",),
    ("text",),
    ("kin",),
    ("friend", "neighbour", "teacher", "doctor"),
    ("pen", "key", "bag"),
    ("house", "flat"),
    ("city", "village"),
    ("culture",),
    ("lodging",),
)
TASTED = ("food", "dish", "drink", "alcohol", "text", "told", "lodging", "restaurant", "weather", "school")
OR = Phrase("or", "oder")
TRANSITIVE = [found for found in ENTRIES if any(frame.accusative for frame in found.frames)]
MOVING = [
    *(entry("go", "gehen"), entry("fly"), entry("drive"), entry("run")),
    *(entry("put", "legen"), entry("put", "stellen")),
]
STAYING = [entry(name) for name in ("live", "work", "wait", "sleep", "sit", "play", "eat", "swim", "meet")]
DEEDS = [found for found in ENTRIES if not found.verb.stative]
WHO_VERBS = [found for found in ENTRIES if found.frames[0].subjects[0] in ("adult", "human")]


def askable(body: Clause) -> bool:
    """One does not ask what one does oneself, unless whether one may; nor about the indefinite."""
    if body.subject == I or (isinstance(body.subject, Pronoun) and body.subject.english == "we"):
        return body.modal is not None and not body.modal.past and body.modal.english != "would like to"
    if isinstance(body.subject, NounPhrase) and body.subject.determiner.english in ("a", "many", "all"):
        return False
    lasting = body.verb == BE or body.form in ("perfect", "progressive")
    asked_of = (None, ALREADY, STILL) if lasting else (None, HABITS[0], HABITS[1])
    return body.middle in asked_of and (body.modal is None or body.modal.english not in ("could", "must"))


def asked(choice: Choice, make, **options) -> Clause:  # type: ignore[no-untyped-def]
    """A clause that can be asked about."""
    while True:
        body: Clause = make(choice, **options)
        if askable(body) and not body.negated:
            return body


def yes_no(choice: Choice) -> Sentence:
    """Do you like the old house? Is she tired?"""
    body = asked(choice, any_clause, rich=choice.pick((0.0, 0.0, 0.3)), negation=0)
    return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"


def similar(choice: Choice, noun: Noun) -> Noun:
    """Another noun of the same kind, or the noun itself where it stands alone."""
    for classes in ALIKE:
        if noun in nouns_of(classes):
            return choice.rare(nouns_of(classes))
    return noun


EITHER = (
    *("big small", "old new", "good bad", "expensive cheap", "clean dirty", "interesting boring"),
    *("long short", "red blue", "black white"),
)


def either(choice: Choice) -> Phrase:
    """Are you hungry or thirsty? Is the house old or new?"""
    if choice.chance(0.5):
        one, two = choice.pick(STATES), choice.pick(STATES)
        who: Nominal = subject(choice, ("adult", "young"), "known")
        who = YOU if who.person == 1 else who
    else:
        one, two = (ADJECTIVE[word] for word in choice.pick(EITHER).split())
        nouns = [noun for noun in NOUNS.values() if {one, two} <= set(adjectives_of(noun))]
        who = noun_phrase(choice, choice.rare(nouns), "known", adjective=0)
    if one == two:
        return either(choice)
    said = Phrase(f"{one.english} or {two.english}", f"{one.german} oder {two.german}")
    body = Clause(who, BE, choice.pick(("present", "present", "past")), complements=(said,))
    return Phrase(english.clause(body, question=True), german.clause(body, "question"))


def alternative(choice: Choice) -> Sentence:
    """Do you drink coffee or tea? Are you hungry or thirsty? Is the house old or new?"""
    if choice.chance(0.35):
        return either(choice), "?"
    while True:
        body = asked(
            choice,
            verb_clause,
            entry=choice.pick(
                (entry("drink"), entry("eat", "essen"), entry("need"), entry("like"), entry("order"), entry("buy"))
            ),
            rich=0.0,
            negation=0,
        )
        first = body.accusative
        if not isinstance(first, NounPhrase) or first.owner or first.measure or first.adjective:
            continue
        second = similar(choice, first.noun)
        if (
            second == first.noun
            or second.mass != first.noun.mass
            or (first.plural and not second.english_plural)
            or not second.english
        ):
            continue
        pair = Coordination(first, NounPhrase(second, first.determiner, first.plural), OR)
        body = replace(body, accusative=pair)
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"


def with_word(body: Clause, word: Phrase, missing: str) -> Phrase:
    """The question about the missing part."""
    body = replace(body, hour=None) if missing == "time" else body
    return Phrase(
        f"{word.english} {english.clause(body, question=True, without=missing)}",
        german.clause(body, "question", front=word.german, without=missing),
    )


def where(choice: Choice) -> Sentence:
    """Where is the book? Where do you live? Where are they going?"""
    kind = choice.weighted((0.5, 0.3, 0.2))
    if kind == 0:
        return with_word(
            replace(asked(choice, location_clause), middle=None), Phrase("where", "wo"), "complements"
        ), "?"
    word = Phrase("where", "wo") if kind == 1 else Phrase("where", "wohin")
    while True:
        body = asked(choice, verb_clause, entry=choice.pick(STAYING if kind == 1 else MOVING), rich=0.15, negation=0)
        preposition = body.complements[-1].english.split()[0] if body.complements else ""
        if preposition not in ("with", "for") and (kind == 1 or preposition):
            return with_word(body, word, "complements"), "?"


def when_why(choice: Choice) -> Sentence:
    """When does the film begin? Why are you sad?"""
    if choice.chance(0.5):
        while True:
            body = asked(choice, verb_clause, rich=0.1, negation=0)
            plain = not body.manner and not body.middle
            if not body.verb.stative and body.form != "perfect" and plain and body.verb.english != "live":
                break
        hourly = asks_the_hour(body) and choice.chance(0.6)
        return with_word(
            body, Phrase("what time", "um wie viel Uhr") if hourly else Phrase("when", "wann"), "time"
        ), "?"
    body = asked(choice, verb_clause, entry=choice.rare(DEEDS), rich=0.3, negation=0)
    if choice.chance(0.25):
        told = predicate(choice.pick(STATES), choice.pick(("", "", "so", "so")))
        body = Clause(body.subject, BE, choice.pick(("present", "past")), complements=(told,))
        if isinstance(body.subject, NounPhrase) and "human" not in body.subject.noun.classes:
            body = replace(body, subject=YOU)
        if body.form == "present" and choice.chance(0.5):
            body = replace(body, middle=HABITS[1], time=choice.pick(AFTER) if choice.chance(0.5) else None)
    negated = choice.chance(0.4) and body.modal is None and not isinstance(body.accusative, Coordination)
    body = replace(body, negated=negated and body.manner is None and askable_negated(body))
    return with_word(body, Phrase("why", "warum"), ""), "?"


def asks_the_hour(body: Clause) -> bool:
    """Whether one asks for the hour: what time does the shop open?"""
    name = f"{body.verb.english} {body.verb.english_rest}".strip()
    return name in ("get up", "leave", "begin", "arrive", "open", "close", "eat", "come back", "go")


def askable_negated(body: Clause) -> bool:
    """Whether the clause can be negated without ambiguity."""
    return not (isinstance(body.accusative, NounPhrase) and body.accusative.determiner.plural)


def who(choice: Choice) -> Sentence:
    """Who lives here?"""
    missing = Pronoun("who", "who", "wer", "wen", "wem", 3, False, "")
    while True:
        body = verb_clause(choice, entry=choice.rare(WHO_VERBS), who=missing, rich=0.45, negation=0)
        if not body.modal or body.modal.english in ("can", "must", "want to", "have to"):
            break
    return Phrase(english.clause(body), german.clause(body, "main")), "?"


def whom_what(choice: Choice) -> Sentence:
    """What are you reading? Who did they invite? Who are you helping?"""
    while True:
        body = asked(choice, verb_clause, entry=choice.rare(ENTRIES), rich=0.3, negation=0)
        target = body.accusative or body.dative
        if (
            target is None
            or (body.accusative and body.dative)
            or body.verb.english_rest in ("up", "on", "off")
            or body.verb.english in ("speak", "put")
        ):
            continue
        if isinstance(target, Coordination):
            continue
        human = isinstance(target, Pronoun | Name) or "human" in target.noun.classes
        if isinstance(target, Name) and not target.possessive:
            continue
        missing = "accusative" if body.accusative else "dative"
        word = "wem" if missing == "dative" else "wen" if human else "was"
        return with_word(body, Phrase("who" if human else "what", word), missing), "?"


def which(choice: Choice) -> Sentence:
    """Which book are you reading? How many apples did she buy?"""
    many = choice.chance(0.4)
    while True:
        body = asked(choice, verb_clause, entry=choice.rare(TRANSITIVE), rich=0.25, negation=0)
        target = body.accusative
        if not isinstance(target, NounPhrase) or target.noun.mass or body.dative:
            continue
        if target.noun.classes & {"kin", "opening"} or (many and not target.noun.english_plural):
            continue
        noun = NounPhrase(target.noun, HOW_MANY if many else WHICH, plural=many or target.plural)
        word = Phrase(english.nominal(noun), german.nominal(noun, "accusative"))
        return with_word(body, word, "accusative"), "?"


def how(choice: Choice) -> Sentence:
    """How old is your brother? How big is the house? How is the soup? How much does the shirt cost?"""
    kind = choice.weighted((0.5, 0.2, 0.3))
    if kind == 0:
        adjective, classes = choice.pick(
            (
                ("old", ("adult", "young", "building", "vehicle", "pet")),
                ("tall", ("young", "sibling")),
                ("big", ("building", "pet", "city", "garden")),
                ("long", ("film", "street", "river", "letter")),
                ("expensive", ("vehicle", "clothes", "device", "furniture")),
            )
        )
        person = adjective == "old" and choice.chance(0.5)
        about = (
            subject(choice, ("adult", "young"))
            if person
            else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0.1)
        )
        if about == I:
            about = YOU
        word = ADJECTIVE[adjective]
        body = Clause(about, BE, "present" if choice.chance(0.8) else "past")
        return with_word(body, Phrase(f"how {word.english}", f"wie {word.german}"), "complements"), "?"
    if kind == 1:
        return how_are_you(choice), "?"
    thing = noun_phrase(
        choice,
        choice.rare(nouns_of(("clothes", "device", "furniture", "road", "wheels", "book", "bag", "dish", "cake"))),
        "shown",
        adjective=0.35,
    )
    return price_of(thing), "?"


def price_of(thing: NounPhrase) -> Phrase:
    """How much does it cost, how much do they cost."""
    do, kosten = ("do", "kosten") if thing.plural else ("does", "kostet")
    told = f"wie viel {kosten} {german.nominal(thing, 'nominative')}"
    return Phrase(f"how much {do} {english.nominal(thing)} cost", told)


def how_are_you(choice: Choice) -> Phrase:
    """How are you: Wie geht es dir? But of things: Wie ist die Suppe?"""
    if choice.chance(0.5):
        who = subject(choice, ("adult", "young"), "known")
        who = YOU if who == I else who
        verb = english.be_form(who, past=False)
        return Phrase(f"how {verb} {english.nominal(who)}", f"wie geht es {german.nominal(who, 'dative')}")
    about = noun_phrase(choice, choice.rare(nouns_of(TASTED)), "known", adjective=0.1)
    body = Clause(about, BE, choice.pick(("present", "past")))
    return with_word(body, Phrase("how", "wie"), "complements")
