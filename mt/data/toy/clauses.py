"""Choosing clauses: a verb frame with its arguments, tense and adjuncts, or a predicate after *be*."""

from dataclasses import replace
from functools import cache

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.features import Adjective, Clause, Form, Modal, Name, Nominal, Noun, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, fits, nouns_of
from mt.data.toy.phrases import noun_phrase, object_phrase, possessive, subject, with_adjective
from mt.data.toy.places import DIRECTIONS, GROUPS, fixed_places, place
from mt.data.toy.times import NOW, coming_time, habit_time, past_time
from mt.data.toy.verbs import BE, ENTRIES, Entry, Frame
from mt.data.toy.words import (
    A, ADJECTIVE, ADJECTIVES, ALREADY, CAN, COULD, HABITS, HAD_TO, HAVE_TO, MANNERS, MAY, MUST, PERSONAL, SHOULD, THE,
    THIS, WANT, WANTED, WOULD_LIKE,
)

MODALS = (CAN, CAN, MUST, WANT, WANT, HAVE_TO, SHOULD, MAY, WOULD_LIKE, COULD, HAD_TO, WANTED)
NOT_NEGATED = (MUST, WOULD_LIKE)  # *must not* is not *muss nicht*
UNWILLED = ("fall asleep", "lose", "forget", "wake up", "arrive", "leave", "begin", "find")
UNWANTED = UNWILLED + ("feel", "belong to", "hurry", "cry", "remember", "need", "have", "like", "love", "know", "look forward")
BY = [Phrase(f"by {noun}", f"mit {article} {word}") for noun, article, word in (
    ("train", "dem", "Zug"), ("bus", "dem", "Bus"), ("car", "dem", "Auto"), ("ship", "dem", "Schiff"))]
STATES = [ADJECTIVE[word] for word in ("tired", "hungry", "happy", "sick", "sad", "thirsty", "angry", "healthy", "tired",
                                      "busy", "ready", "alone")]
FELT = [ADJECTIVE[word] for word in ("tired", "happy", "sick", "strong", "healthy", "old", "young", "alone")]
TRAITS = ("old", "young", "friendly", "nice", "clever", "strong", "tall", "rich", "poor", "famous", "funny", "beautiful",
          "quiet")


def full_name(entry: Entry) -> str:
    return f"{entry.verb.english} {entry.verb.english_rest}".strip()


def chosen_place(choice: Choice, group: str, who: Nominal | None) -> Phrase | None:
    """One place of a group, none where it would repeat the subject's own noun."""
    member = choice.pick(GROUPS[group])
    noun_name, _, preposition = member.partition(":")
    if not preposition:
        return choice.pick(fixed_places(member))
    noun = NOUNS[noun_name]
    if isinstance(who, NounPhrase) and who.noun == noun:
        return None
    return Phrase(*place_words(choice, preposition, place_phrase(choice, noun, who), group))


def place_phrase(choice: Choice, noun: Noun, who: Nominal | None) -> NounPhrase:
    kind = choice.weighted((0.62, 0.16, 0.12, 0.1))
    found = possessive(choice, noun, who) if "owned" in noun.classes and kind == 1 else None
    chosen = found or (A if kind == 2 and noun.english not in ("sea", "station") else THIS if kind == 3 else THE)
    if noun.english in ("sea",):
        chosen = THE
    return with_adjective(choice, NounPhrase(noun, chosen), 0.15)


def place_words(choice: Choice, preposition: str, phrase: NounPhrase, group: str) -> tuple[str, str, bool]:
    found = place(preposition, phrase, english.nominal(phrase), direction=group in DIRECTIONS)
    return found.english, found.german, found.direction


def tense(choice: Choice, entry: Entry, frame: Frame) -> tuple[Form, Modal | None]:
    """A verb form that the verb bears."""
    name = full_name(entry)
    if entry.verb.stative:
        kind = choice.weighted((0.62, 0, 0.28, 0, 0.05, 0.05))
    else:
        kind = choice.weighted((0.26, 0.15, 0.24, 0.1, 0.08, 0.17))
    form: Form = ("present", "progressive", "past", "perfect", "future", "modal")[kind]  # type: ignore[assignment]
    if frame.event and form == "present":
        form = "past"
    if form == "modal" and (name in UNWANTED or frame.subjects[0] not in ("adult", "young", "human")):
        form = "present" if not frame.event else "past"
    return form, choice.pick(MODALS) if form == "modal" else None


def chosen_time(choice: Choice, form: Form, modal: Modal | None) -> Phrase | None:
    """A time that suits the form."""
    if form in ("past",) or (modal and modal.past):
        return past_time(choice)
    if form == "present":
        return habit_time(choice)
    if form == "progressive":
        return choice.pick(NOW) if choice.chance(0.65) else coming_time(choice)
    if form in ("future", "modal"):
        return coming_time(choice)
    return None


@cache
def entries_for(kind: str) -> tuple[Entry, ...]:
    if kind == "any":
        return tuple(ENTRIES)
    return tuple(entry for entry in ENTRIES if any(frame.accusative for frame in entry.frames))


def verb_clause(choice: Choice, *, entry: Entry | None = None, who: Nominal | None = None, rich: float = 0.35,
                negation: float = 0.13) -> Clause:
    """A clause around a verb of the lexicon.

    Args:
        choice: the random stream.
        entry: the verb, or any.
        who: the subject, if it is already known.
        rich: the probability of each optional part.
        negation: the probability of a negated clause.
    """
    entry = entry or choice.rare(ENTRIES)
    frame = choice.pick(entry.frames)
    who = who or subject(choice, frame.subjects if frame.subjects != ("feeling",) else ("adult",))
    form, modal = tense(choice, entry, frame)
    body = Clause(who, entry.verb, form, modal)
    body = with_objects(choice, body, frame)
    if frame.subjects == ("feeling",):
        body = replace(body, complements=(predicate(choice.pick(FELT)),))
    elif frame.places and (frame.needs_place or choice.chance(rich)):
        found = None
        while found is None:
            found = chosen_place(choice, frame.places, who)
        body = replace(body, complements=(*body.complements, found))
    if frame.by_vehicle and choice.chance(rich):
        body = replace(body, complements=(choice.pick(BY), *body.complements))
    return with_adjuncts(choice, body, frame, rich, negation)


def with_objects(choice: Choice, body: Clause, frame: Frame) -> Clause:
    """The clause with the objects its frame asks for."""
    mode = "played" if "instrument" in frame.accusative and body.verb.english == "play" else frame.objects
    if frame.accusative:
        accusative_mode = "any" if frame.dative else mode
        body = replace(body, accusative=object_phrase(choice, frame.accusative, accusative_mode, body.subject))
    if frame.dative:
        receiver = object_phrase(choice, frame.dative, "known", body.subject)
        while receiver == body.accusative:
            receiver = object_phrase(choice, frame.dative, "known", body.subject)
        body = replace(body, dative=receiver)
    if frame.prepositional:
        word, wort, case = frame.prepositions
        phrase = town_or_phrase(choice, frame, body.subject)
        spoken = english.nominal(phrase, subject=False)
        complement = Phrase(f"{word} {spoken}".strip(), german.preposition(wort, phrase, case))  # type: ignore[arg-type]
        body = replace(body, complements=(complement,))
    return body


def town_or_phrase(choice: Choice, frame: Frame, who: Nominal) -> Nominal:
    if frame.prepositional == ("town", "country"):
        found = choice.pick(fixed_places("IN_TOWN") + fixed_places("IN_COUNTRY"))
        return Name(found.english.removeprefix("in "), german=found.german.removeprefix("in "))
    return object_phrase(choice, frame.prepositional, frame.objects, who)


def with_adjuncts(choice: Choice, body: Clause, frame: Frame, rich: float, negation: float) -> Clause:
    """Negation, or an adverb of frequency; manner; time."""
    plural_subject = body.subject.plural
    negated = choice.chance(negation) and body.modal not in NOT_NEGATED and not counted(body.accusative)
    negated = negated and not counted(body.subject)
    if frame.manners and not negated and choice.chance(rich):
        manner = choice.pick(frame.manners)
        if manner != "together" or plural_subject:
            body = replace(body, manner=MANNERS[manner])
    if not negated and not body.manner and choice.chance(0.12):
        body = with_habit(choice, body)
    if not body.verb.stative and choice.chance(rich) and not (body.middle and body.form != "past"):
        body = replace(body, time=chosen_time(choice, body.form, body.modal))
    return unambiguous(replace(body, negated=negated))


def with_habit(choice: Choice, body: Clause) -> Clause:
    if body.form == "present" and not body.verb.stative:
        return replace(body, middle=choice.pick(HABITS))
    if body.form == "perfect":
        return replace(body, middle=choice.pick((ALREADY, ALREADY, HABITS[2])))
    return body


def counted(phrase: Nominal | None) -> bool:
    """Phrases that a negation would make ambiguous: two, many, some, all, or an adjective made stronger."""
    if not isinstance(phrase, NounPhrase):
        return False
    return phrase.determiner.plural is True and phrase.determiner.english != "these" or phrase.determiner.english == "no"


def unambiguous(body: Clause) -> Clause:
    """read and put: where the past looks like the present, only a time or the third person tells them apart."""
    verb = body.verb
    same = verb.english == verb.english_past and not body.negated
    if not same or english.is_third_singular(body.subject):
        return body
    if verb.english == "read" and body.form == "past" and not body.time:
        return replace(body, form="perfect")
    return body


def predicate(adjective: Adjective, degree: str = "") -> Phrase:
    """tired, very tired, too tired."""
    word = {"": "", "very": "sehr", "too": "zu"}[degree]
    return Phrase(f"{degree} {adjective.english}".strip(), f"{word} {adjective.german}".strip())


def copula_clause(choice: Choice, *, rich: float = 0.3, negation: float = 0.15) -> Clause:
    """Somebody or something is so: The soup is very hot, My sister was not tired."""
    degree = ("", "very", "too")[choice.weighted((0.7, 0.22, 0.08))]
    if choice.chance(0.5):
        who = subject(choice, ("adult", "young"))
        adjective = choice.pick(STATES)
        if choice.chance(0.3):
            adjective = ADJECTIVE[choice.pick(TRAITS)]
            degree = "very" if degree == "too" else degree
    else:
        adjective, classes = choice.rare(ADJECTIVE_ENTRIES)
        nouns = nouns_for(classes)
        who = noun_phrase(choice, choice.rare(nouns), "subject", adjective=0.0)
    if adjective.english in ("ready", "closed", "open", "alone", "healthy") and degree:
        degree = ""
    form: Form = ("present", "past", "future")[choice.weighted((0.7, 0.27, 0.03))]  # type: ignore[assignment]
    body = Clause(who, BE, form, complements=(predicate(adjective, degree),))
    if adjective in STATES and choice.chance(rich):
        time = choice.pick(NOW[1:2] + NOW[:1]) if form == "present" else chosen_time(choice, form, None)
        body = replace(body, time=time)
    elif adjective in STATES and form == "present" and choice.chance(0.15):
        return replace(body, middle=choice.pick(HABITS))
    return replace(body, negated=choice.chance(negation) and not counted(who) and degree != "too")


class Quality(tuple):  # an adjective with the classes it is said of, labelled for balance
    @property
    def label(self) -> str:
        return self[0].english


ADJECTIVE_ENTRIES = [Quality(pair) for pair in ADJECTIVES if pair[0].english != "little"]


@cache
def nouns_for(classes: frozenset[str]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS.values() if fits(noun, classes))


def location_clause(choice: Choice) -> Clause:
    """Somebody or something is somewhere: The keys are on the table."""
    groups = ("person_at", "animal_at", "thing_at", "building_at")
    classes = (("adult", "young"), ("pet", "small_animal"), ("portable", "vessel"), ("building_seen",))
    kind = choice.weighted((0.4, 0.2, 0.3, 0.1))
    wanted = classes[kind] if kind < 3 else ("hotel", "museum", "school", "church", "restaurant", "hospital", "station")
    who = subject(choice, wanted)
    found = None
    while found is None:
        found = chosen_place(choice, groups[kind], who)
    form: Form = ("present", "past")[choice.weighted((0.75, 0.25))] if kind < 3 else "present"  # type: ignore[assignment]
    body = Clause(who, BE, form, complements=(found,))
    if kind == 0 and choice.chance(0.25):
        body = replace(body, time=past_time(choice) if form == "past" else choice.pick(NOW[:2]))
    return replace(body, negated=choice.chance(0.12) and not counted(who))


def any_clause(choice: Choice, *, rich: float = 0.35, negation: float = 0.13) -> Clause:
    """A clause of any kind, for the constructions that take every kind."""
    kind = choice.weighted((0.78, 0.14, 0.08))
    if kind == 0:
        return verb_clause(choice, rich=rich, negation=negation)
    return copula_clause(choice, rich=rich, negation=negation) if kind == 1 else location_clause(choice)


def is_personal(phrase: Nominal) -> bool:
    return isinstance(phrase, Pronoun) and phrase in PERSONAL
