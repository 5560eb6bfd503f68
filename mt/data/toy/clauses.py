"""Choosing clauses: a verb frame with its arguments, tense and adjuncts, or a predicate after *be*."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.features import Adjective, Clause, Coordination, Form, Modal, Name, Nominal, Noun, NounPhrase, Phrase
from mt.data.toy.nouns import NOUNS
from mt.data.toy.phrases import object_phrase, possessive, subject, with_adjective
from mt.data.toy.places import DIRECTIONS, GROUPS, fixed_places, place
from mt.data.toy.times import NOW, coming_time, duration, habit_time, past_time
from mt.data.toy.verbs import ENTRIES, NO_FUTURE, NO_PROGRESSIVE, ONCE, UNFINISHED, Entry, Frame
from mt.data.toy.words import (
    ADJECTIVE,
    ALREADY,
    CAN,
    COULD,
    HABITS,
    HAD_TO,
    HAVE_TO,
    MANNERS,
    MAY,
    MUST,
    NEVER,
    SHOULD,
    THE,
    THIS,
    WANT,
    WANTED,
    WOULD_LIKE,
    A,
)

MODALS = (CAN, CAN, COULD, MUST, WANT, WANT, HAVE_TO, SHOULD, MAY, WOULD_LIKE, COULD, HAD_TO, WANTED)
NOT_NEGATED = (MUST, WOULD_LIKE)  # *must not* is not *muss nicht*
FORMS: tuple[Form, ...] = ("present", "progressive", "past", "perfect", "future", "modal")
LASTING = ("sleep", "work", "wait", "dance", "swim", "play", "read", "sing", "sit", "talk", "watch television", "drive")
PERSONAL = ("adult", "human", "feeling")  # classes of subjects that any person belongs to
YEARS_AGO = [
    Phrase("last year", "letztes Jahr"),
    Phrase("two years ago", "vor zwei Jahren"),
    Phrase("ten years ago", "vor zehn Jahren"),
    Phrase("last summer", "letzten Sommer"),
]
YEARS = [Phrase("now", "jetzt"), Phrase("in summer", "im Sommer"), Phrase("in winter", "im Winter")]
UNWILLED = ("fall asleep", "lose", "forget", "wake up", "arrive", "leave", "begin", "find")
UNWANTED = (
    *UNWILLED,
    "feel",
    "belong to",
    "want",
    "hurry",
    "cry",
    "remember",
    "need",
    "have",
    "like",
    "love",
    "know",
    "look forward",
)
BY = [
    Phrase(f"by {noun}", f"mit {article} {word}")
    for noun, article, word in (("train", "dem", "Zug"), ("bus", "dem", "Bus"), ("car", "dem", "Auto"))
]
STATES = [
    ADJECTIVE[word]
    for word in (
        "tired",
        "hungry",
        "happy",
        "sick",
        "sad",
        "thirsty",
        "angry",
        "healthy",
        "tired",
        "busy",
        "ready",
        "alone",
    )
]
FELT = [ADJECTIVE[word] for word in ("tired", "happy", "sick", "strong", "healthy", "old", "young", "alone")]


def chosen_place(choice: Choice, group: str, who: Nominal | None) -> Phrase | None:
    """One place of a group, none where it would repeat the subject's own noun."""
    member = choice.pick(GROUPS[group])
    noun_name, _, preposition = member.partition(":")
    if not preposition:
        return choice.pick(fixed_places(member))
    noun = NOUNS[noun_name]
    if isinstance(who, NounPhrase) and who.noun == noun:
        return None
    return Phrase(*place_words(preposition, place_phrase(choice, noun, who), group))


def place_phrase(choice: Choice, noun: Noun, who: Nominal | None) -> NounPhrase:
    """The noun of a place with its determiner."""
    kind = choice.weighted((0.66, 0.18, 0.08, 0.08))
    chosen = THE
    if kind == 1 and "owned" in noun.classes:
        chosen = possessive(choice, noun, who)
    elif kind == 2 and noun.classes & {"eatery", "lodging", "home", "plant", "seat"}:
        chosen = A
    elif kind == 3 and noun.english != "sea":
        chosen = THIS
    return with_adjective(choice, NounPhrase(noun, chosen), 0.15)


def place_words(preposition: str, phrase: NounPhrase, group: str) -> tuple[str, str, bool]:
    """English, German, and whether it says where to."""
    found = place(preposition, phrase, english.nominal(phrase), direction=group in DIRECTIONS)
    return found.english, found.german, found.direction


def tense(choice: Choice, entry: Entry, frame: Frame, *, third: bool) -> tuple[Form, Modal | None]:
    """A verb form that the verb bears."""
    weights = [0.34, 0.13, 0.22, 0.09, 0.07, 0.15]
    if entry.name in ONCE:
        weights = [0.28, 0.12, 0.26, 0.1, 0.09, 0.15]
    if entry.verb.stative:
        weights = [0.62, 0, 0.28, 0, 0.05, 0.05]
    if entry.name in NO_PROGRESSIVE:
        weights[1] = 0
    if entry.name in NO_FUTURE:
        weights[4] = 0
    if frame.event:
        weights[0] = 0.12 if third else 0
    if entry.name in UNWANTED or frame.subjects[0] not in ("adult", "human", "young"):
        weights[5] = 0
    form = FORMS[choice.weighted(weights)]
    modals = (CAN,) if entry.name in ("see", "hear", "understand") else MODALS
    return form, choice.pick(modals) if form == "modal" else None


def lasting_time(choice: Choice, *, past: bool) -> Phrase:
    """When somebody lives somewhere: in years, not at eight o'clock."""
    return choice.pick(YEARS_AGO if past else YEARS)


def chosen_time(choice: Choice, body: Clause, entry: Entry | None) -> Phrase | None:
    """A time that suits the form and the verb."""
    form, long = body.form, entry is not None and not entry.brief
    if entry and entry.name == "live" and form != "perfect":
        return lasting_time(choice, past=form == "past" or bool(body.modal and body.modal.past))
    if form == "past" or (body.modal and body.modal.past):
        if entry and entry.name in LASTING and choice.chance(0.25):
            return duration(choice)
        return past_time(choice, long=long)
    if form == "present":
        if entry and entry.name in ONCE:
            return coming_time(choice, long=False) if entry.name in ("leave", "begin", "arrive") else None
        return habit_time(choice, long=long)
    if form == "progressive":
        return choice.pick(NOW) if choice.chance(0.65) or entry is None else coming_time(choice, long=long)
    return coming_time(choice, long=long) if form in ("future", "modal") else None


def verb_clause(
    choice: Choice,
    *,
    entry: Entry | None = None,
    who: Nominal | None = None,
    rich: float = 0.35,
    negation: float = 0.13,
    form: Form | None = None,
) -> Clause:
    """A clause around a verb of the lexicon.

    Args:
        choice: the random stream.
        entry: the verb, or any.
        who: the subject, if it is already known.
        rich: the probability of each optional part.
        negation: the probability of a negated clause.
        form: the form of the verb, if it is already known.
    """
    entry = entry or choice.rare(ENTRIES)
    frames = [frame for frame in entry.frames if frame.subjects[0] in PERSONAL] if who else []
    frame = choice.pick(frames or entry.frames)
    who = who or subject(choice, frame.subjects if frame.subjects != ("feeling",) else ("adult",))
    chosen, modal = tense(choice, entry, frame, third=english.is_third_singular(who)) if form is None else (form, None)
    if form and frame.event and not english.is_third_singular(who):
        chosen = "progressive"
    body = Clause(who, entry.verb, chosen, modal)
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
    return with_adjuncts(choice, body, entry, frame, rich=rich, negation=negation)


def with_objects(choice: Choice, body: Clause, frame: Frame) -> Clause:
    """The clause with the objects its frame asks for."""
    mode = "played" if "instrument" in frame.accusative and body.verb.english == "play" else frame.objects
    if frame.accusative:
        accusative_mode = "given" if frame.dative and mode == "any" else mode
        body = replace(body, accusative=object_phrase(choice, frame.accusative, accusative_mode, body.subject))
    if frame.dative:
        receiver = object_phrase(choice, frame.dative, "known", body.subject)
        while receiver == body.accusative:
            receiver = object_phrase(choice, frame.dative, "known", body.subject)
        body = replace(body, dative=receiver)
    if frame.prepositional:
        word, wort = frame.prepositions
        phrase = town_or_phrase(choice, frame, body.subject)
        spoken = english.nominal(phrase, subject=False)
        complement = Phrase(
            f"{word} {spoken}".strip(), german.preposition(wort, phrase, frame.prepositional_case, melted=wort == "von")
        )
        body = replace(body, complements=(complement,))
    return body


def town_or_phrase(choice: Choice, frame: Frame, who: Nominal) -> Nominal:
    """The prepositional object: a town one comes from, or a phrase."""
    if frame.prepositional == ("town", "country"):
        found = choice.pick(fixed_places("IN_TOWN") + fixed_places("IN_COUNTRY"))
        return Name(found.english.removeprefix("in "), german=found.german.removeprefix("in "))
    return object_phrase(choice, frame.prepositional, frame.objects, who)


def with_adjuncts(choice: Choice, body: Clause, entry: Entry, frame: Frame, *, rich: float, negation: float) -> Clause:
    """Negation, or an adverb of frequency; manner; time."""
    negated = choice.chance(negation) and body.modal not in NOT_NEGATED
    if counted(body.accusative) or counted(body.subject) or indefinite(body.subject):
        negated = False
    adverbs = [phrase for phrase in body.complements if phrase.english in ("here", "there", "home")]
    if frame.manners and not negated and not adverbs and choice.chance(rich):
        manner = choice.pick(frame.manners)
        if manner != "together" or body.subject.plural:
            body = replace(body, manner=MANNERS[manner])
    if not negated and not body.manner and choice.chance(0.12):
        body = with_habit(choice, body, entry)
    if choice.chance(rich) and not (body.middle and body.form != "past") and not body.verb.stative:
        body = replace(body, time=chosen_time(choice, body, entry))
    if body.modal == COULD and not negated:
        body = replace(body, modal=CAN if not body.time else COULD)
    if negated and body.time and body.time.english.startswith("every"):
        body = replace(body, time=None)
    return unambiguous(replace(body, negated=negated))


def with_habit(choice: Choice, body: Clause, entry: Entry) -> Clause:
    """The clause with often, never, already where it bears it."""
    if body.form == "present" and not body.verb.stative and entry.name not in (*ONCE, "live"):
        return replace(body, middle=choice.pick(HABITS))
    if body.form == "perfect":
        options = [] if entry.name in UNFINISHED else [ALREADY, ALREADY]
        options += [] if entry.name in ONCE else [NEVER]
        return replace(body, middle=choice.pick(options)) if options else body
    return body


def counted(phrase: Nominal | None) -> bool:
    """Phrases that a negation would make ambiguous: two, many, some, all, a subject with a."""
    if not isinstance(phrase, NounPhrase):
        return isinstance(phrase, Coordination)
    return (
        phrase.determiner.plural is True and phrase.determiner.english != "these"
    ) or phrase.determiner.english == "no"


def indefinite(phrase: Nominal) -> bool:
    """Whether the phrase begins with a."""
    return isinstance(phrase, NounPhrase) and phrase.determiner == A


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
