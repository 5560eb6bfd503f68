"""More of two clauses: before and while, so, when, because, and and but with clauses of any kind."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import STATES, chosen_place, predicate, verb_clause
from mt.data.toy.counting import WEATHERS
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.likings import liking_clause
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, sex_pronoun
from mt.data.toy.predicates import any_clause
from mt.data.toy.reasons import EVERYDAY, ordered
from mt.data.toy.scenes import effect_clause, pair, person, state_clause
from mt.data.toy.verbs import BE, ENTRIES, NO_FUTURE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    ALREADY,
    BARE,
    CAN,
    DAYS,
    HAVE_TO,
    IT,
    LATE,
    MUST,
    NO,
    SHE,
    SOME_OF_IT,
    STILL,
    THE,
    WANT,
)

THEN = [
    Phrase("young", "jung"),
    Phrase("small", "klein"),
    Phrase("a child", "ein Kind"),
    Phrase("a student", "Student"),
]
DURING = [text for text in EVERYDAY if not text.endswith(("@home", "to_bed", "at_home"))]


def before_while(choice: Choice) -> Sentence:
    """Before he goes to bed, he reads a book. While she is cooking, her husband is sleeping."""
    word = choice.pick((Phrase("before", "bevor"), Phrase("while", "während")))
    form: Form = choice.pick(("present", "past") if word.english == "before" else ("progressive", "past", "present"))
    who, pronoun = person(choice)
    deeds = EVERYDAY if word.english == "before" else DURING
    inner = effect_clause(
        choice, choice.pick([*DURING, "go@home", "go@to_bed"] if deeds == EVERYDAY else DURING), who, form
    )
    outer = effect_clause(choice, choice.pick(deeds), who, form)
    while outer.verb == inner.verb:
        outer = effect_clause(choice, choice.pick(deeds), who, form)
    if word.english == "while" and form == "past":
        inner = replace(inner, ongoing=not inner.verb.stative and choice.chance(0.6))
        if choice.chance(0.3):
            outer = effect_clause(choice, choice.pick(("fall asleep", "call>friend,kin", "come@home")), who, form)
    if choice.chance(0.35):
        other, _ = person(choice)
        if other != who:
            return apart(choice, word, inner, replace(outer, subject=other)), "."
    return ordered(choice, word, inner, outer, pronoun, first=0.5), "."


def apart(choice: Choice, word: Phrase, inner: Clause, outer: Clause) -> Phrase:
    """Main and subordinate clause in either order, each with its own subject."""
    spoken, told = f"{word.english} {english.clause(inner)}", f"{word.german} {german.clause(inner, 'final')}"
    if choice.chance(0.4):
        return Phrase(f"{spoken}, {english.clause(outer)}", f"{told}, {german.clause(outer, 'question')}")
    return Phrase(f"{english.clause(outer)} {spoken}", f"{german.clause(outer, 'main')}, {told}")


def so(choice: Choice) -> Sentence:
    """It is raining, so we are staying at home: also bleiben wir zu Hause."""
    state, effect, pronoun = pair(choice)
    if state.subject != IT:
        effect = replace(effect, subject=pronoun)
    spoken = f"{english.clause(state)}, so {english.clause(effect)}"
    return Phrase(spoken, f"{german.clause(state, 'main')}, also {german.clause(effect, 'question')}"), "."


HAPPENING = [found for found in ENTRIES if found.frames[0].subjects[0] in ("adult", "human", "public", "event")]
ARRIVING = [
    entry(*name)
    for name in (
        ("arrive",),
        ("come",),
        ("come back",),
        ("leave",),
        ("begin",),
        ("go", "gehen"),
        ("get up",),
        ("need",),
        ("see",),
        ("find",),
    )
]
REASONS = [
    entry(*name)
    for name in (
        ("have",),
        ("want",),
        ("like",),
        ("need",),
        ("love",),
        ("know",),
        ("come",),
        ("arrive",),
        ("leave",),
        ("work",),
        ("sleep",),
        ("look for",),
        ("lose",),
        ("forget",),
        ("wait",),
        ("cook",),
        ("come back",),
        ("speak",),
    )
]


def event(choice: Choice, form: Form, entries=HAPPENING) -> Clause:  # type: ignore[no-untyped-def]
    """Something that happens, without a time of its own."""
    while True:
        found = choice.rare(entries)
        if form == "future" and found.name in NO_FUTURE:
            continue
        body = verb_clause(choice, entry=found, rich=choice.pick((0.1, 0.2, 0.6)), negation=0.08, form=form)
        if body.middle is None:
            return replace(body, time=None, hour=None)


def circumstance(choice: Choice, form: Form) -> Clause:
    """How or where somebody is, that a train is late, a shop closed, the weather bad."""
    tense: Form = "past" if form == "past" else "present"
    kind = choice.weighted((0.28, 0.15, 0.12, 0.18, 0.1, 0.1, 0.07))
    if kind == 6:
        return there_is(choice, tense)
    if kind == 5:
        told = predicate(choice.pick(WEATHERS))
        weather = NounPhrase(NOUNS["weather"], THE)
        tomorrow = Phrase("tomorrow", "morgen") if tense == "present" and choice.chance(0.35) else None
        return Clause(weather, BE, tense, negated=choice.chance(0.15), complements=(told,), time=tomorrow)
    if kind == 4:
        return state_clause(choice, choice.pick(("RAIN", "COLD", "WARM", "LATE")), IT, tense)
    negated = choice.chance(0.15)
    if kind == 1:
        public = noun_phrase(choice, choice.rare(nouns_of(("public",))), "known", adjective=0.1)
        return Clause(public, BE, tense, negated=negated, complements=(LATE,))
    if kind == 2:
        house = noun_phrase(choice, choice.rare(nouns_of(("shop", "culture", "eatery", "school", "hotel"))), "known")
        told = predicate(ADJECTIVE[choice.pick(("open", "closed"))])
        already = choice.pick((ALREADY, STILL)) if tense == "present" and choice.chance(0.35) else None
        opening = None
        if tense == "present" and not already and choice.chance(0.4):
            opening = choice.pick(CLOSED_ON)
        return Clause(
            house, BE, tense, negated=negated and not already, complements=(told,), middle=already, time=opening
        )
    who, _ = person(choice)
    if kind == 3:
        where = None
        while where is None:
            where = chosen_place(choice, "person_at", who)
        return Clause(who, BE, tense, negated=negated, complements=(where,))
    if who.person == 3 and choice.chance(0.12):
        middle = choice.pick((None, None, ALREADY, STILL)) if tense == "present" else None
        return Clause(who, ASLEEP, tense, middle=middle)
    told = LATE if choice.chance(0.1) else predicate(choice.pick(STATES), choice.pick(("", "", "very")))
    if form == "past" and choice.chance(0.25) and not who.plural and sex_pronoun(who) != SHE:
        told, negated = choice.pick(THEN), False
    if told.english.split()[-1] in ("ready", "alone", "healthy"):
        told = predicate(ADJECTIVE[told.english.split()[-1]])
    return Clause(who, BE, tense, negated=negated, complements=(told,))


CLOSED_ON = (
    *(Phrase(f"on {day.english}s", f"{day.german.lower()}s") for day in DAYS),
    *(Phrase("today", "heute"), Phrase("today", "heute"), Phrase("at the weekend", "am Wochenende")),
)
ASLEEP = replace(entry("sleep").verb, english="be", english_past="was", english_rest="asleep", stative=True)
THERE = Name("there", german="es")
EXIST = replace(BE, german="geben", german_third="gibt", preterite="gab", participle="gegeben", auxiliary="haben")
NOTHING = [
    Name(f"{spoken} to {deed}", german=f"{told} zu {tun}", definite=False)
    for spoken, told in (("nothing", "nichts"), ("something", "etwas"))
    for deed, tun in (("eat", "essen"), ("drink", "trinken"))
]


def there_is(choice: Choice, form: Form) -> Clause:
    """There is nothing to eat at home, there was no milk: Es gibt zu Hause nichts zu essen."""
    thing: Nominal = choice.pick(NOTHING)
    if choice.chance(0.6):
        noun = choice.rare(nouns_of(("food", "drink", "alcohol")))
        thing = NounPhrase(noun, choice.pick((NO, NO, BARE, SOME_OF_IT)))
    if choice.chance(0.15):
        thing = NounPhrase(choice.pick(nouns_of(("soup", "cake"))), SOME_OF_IT)
    where = choice.pick(
        (Phrase("at home", "zu Hause"), Phrase("in the kitchen", "in der Küche"), Phrase("here", "hier"))
    )
    return Clause(THERE, EXIST, form, accusative=thing, complements=(where,) if choice.chance(0.4) else ())


def when_anything(choice: Choice) -> Sentence:
    """When I arrive in Hamburg, I will call you. We will eat when the soup is hot. When the train came, he was asleep."""
    past = choice.chance(0.3)
    form: Form = "past" if past else "present"
    inner = (
        circumstance(choice, form)
        if choice.chance(0.35)
        else event(choice, form, ARRIVING if choice.chance(0.6) else HAPPENING)
    )
    word = Phrase("if", "wenn") if not past and choice.chance(0.3) else Phrase("when", "als" if past else "wenn")
    word = Phrase("as soon as", "sobald") if choice.chance(0.12) else word
    outer = event(choice, "past" if past else choice.pick(("future", "future", "present")))
    if not past and choice.chance(0.2):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, MUST, WANT, HAVE_TO)))
        if outer.negated or outer.verb.stative or (outer.subject.person == 3 and not sensible(outer.subject)):
            return when_anything(choice)
    if choice.chance(0.4) and sensible(inner.subject):
        pronoun = sex_pronoun(inner.subject)
        if pronoun is not None and sensible(outer.subject):
            outer = replace(outer, subject=inner.subject)
            if clash(inner, outer):
                return when_anything(choice)
            return ordered(choice, word, inner, outer, pronoun, first=0.6), "."
    return apart(choice, word, inner, outer), "."


def clash(inner: Clause, outer: Clause) -> bool:
    """Whether both clauses say the same verb, or one acts on its own subject."""
    targets = (inner.accusative, inner.dative, outer.accusative, outer.dative)
    return inner.verb == outer.verb or inner.subject in targets or any(isinstance(found, Pronoun) for found in targets)


def sensible(who: Nominal) -> bool:
    """Whether the subject is a person."""
    return not isinstance(who, NounPhrase) or "human" in who.noun.classes


def because_anything(choice: Choice) -> Sentence:
    """They are waiting because the train is late. I cannot come because my brother has my car."""
    word = choice.weighted((0.8, 0.2))
    form: Form = choice.pick(("present", "present", "past"))
    inner = circumstance(choice, form) if choice.chance(0.5) else event(choice, form, REASONS)
    if form == "present" and choice.chance(0.3):
        inner = liking_clause(choice)
    who, _ = person(choice)
    outer = effect_clause(
        choice, choice.pick(EVERYDAY), who, "past" if form == "past" else choice.pick(("present", "progressive"))
    )
    if inner.subject == who or (choice.chance(0.3) and form == "present"):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, MUST, HAVE_TO, WANT)))
    if choice.chance(0.2) and outer.modal not in (MUST, HAVE_TO) and not numbered(outer.accusative):
        outer = replace(outer, negated=True)
    joint = (Phrase("because", "weil"), Phrase("although", "obwohl"))[word]
    if inner.subject == who:
        return because_anything(choice)
    return apart(choice, joint, inner, outer), "."


def numbered(phrase: Nominal | None) -> bool:
    """Whether the phrase counts its things."""
    return isinstance(phrase, NounPhrase) and phrase.determiner.plural is True


def two_clauses(choice: Choice) -> Sentence:
    """My father works in a hospital and my mother is a teacher. He wants to buy a car, but he has no money."""
    one = any_clause(choice, rich=choice.pick((0.15, 0.25, 0.6)))
    pronoun = sex_pronoun(one.subject) if sensible(one.subject) else None
    if pronoun is not None and choice.chance(0.5):
        two = verb_clause(choice, who=pronoun, entry=choice.rare(HAPPENING[:-1]), rich=0.1)
    else:
        two = any_clause(choice, rich=0.15)
    people = (one.accusative, one.dative, two.accusative, two.dative)
    if two.verb == one.verb or one.subject in people or two.subject in people or not personal(two.subject):
        return two_clauses(choice)
    contrary = choice.chance(0.45)
    if not contrary and pronoun is not None and two.subject == pronoun and two.form != "progressive":
        return Phrase(
            f"{english.clause(one)} and {english.clause(two, with_subject=False)}",
            f"{german.clause(one, 'main')} und {german.clause(two, 'main', without='subject')}",
        ), "."
    spoken, told = (", but", ", aber") if contrary else (" and", " und")
    return Phrase(
        f"{english.clause(one)}{spoken} {english.clause(two)}",
        f"{german.clause(one, 'main')}{told} {german.clause(two, 'main')}",
    ), "."


def personal(who: Nominal) -> bool:
    """Whether the subject is somebody, or a thing one knows."""
    return not isinstance(who, NounPhrase) or who.definite
