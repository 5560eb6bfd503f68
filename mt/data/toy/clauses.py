"""Choosing clauses: a verb frame with its arguments, tense and adjuncts, or a predicate after *be*."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.adjuncts import with_adjuncts, with_no
from mt.data.toy.choice import Choice
from mt.data.toy.company import attached, described, with_company
from mt.data.toy.features import Adjective, Clause, Form, Modal, Name, Nominal, Noun, NounPhrase, Phrase
from mt.data.toy.nouns import NOUNS
from mt.data.toy.pairs import joined_objects, somebody
from mt.data.toy.phrases import object_phrase, own, owner, possessive, with_adjective
from mt.data.toy.places import DIRECTIONS, GROUPS, fixed_places, place
from mt.data.toy.verbs import ENTRIES, NO_FUTURE, NO_PROGRESSIVE, ONCE, Entry, Frame
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    COULD,
    DAYS,
    EVERYBODY,
    HAD_TO,
    HAVE_TO,
    MAY,
    MONTHS,
    MUST,
    NEED_TO,
    NOBODY,
    POSSESSIVES,
    SHOULD,
    SOMEBODY,
    THE,
    THIS,
    WANT,
    WANTED,
    WOULD_LIKE,
    A,
)

MODALS = (
    CAN,
    CAN,
    COULD,
    MUST,
    WANT,
    WANT,
    HAVE_TO,
    SHOULD,
    MAY,
    WOULD_LIKE,
    WOULD_LIKE,
    COULD,
    HAD_TO,
    WANTED,
    NEED_TO,
)
FORMS: tuple[Form, ...] = ("present", "progressive", "past", "perfect", "future", "modal")
PERSONAL = ("adult", "human", "feeling")  # classes of subjects that any person belongs to
DEEDS = [found for found in ENTRIES if found.frames[0].subjects[0] in PERSONAL]
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
    for noun, article, word in (
        ("train", "dem", "Zug"),
        ("bus", "dem", "Bus"),
        ("car", "dem", "Auto"),
        ("bicycle", "dem", "Fahrrad"),
    )
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


OWNED_PLACES = ("house", "flat", "room", "garden", "car", "office", "kitchen")
COMPOUNDS = {"table": "kitchen table", "window": "kitchen window", "room": "hotel room"}


def chosen_place(choice: Choice, group: str, who: Nominal | None) -> Phrase | None:
    """One place of a group, none where it would repeat the subject's own noun."""
    member = choice.pick(GROUPS[group])
    noun_name, _, preposition = member.partition(":")
    if not preposition:
        return choice.pick(fixed_places(member))
    noun = NOUNS[COMPOUNDS[noun_name] if noun_name in COMPOUNDS and choice.chance(0.25) else noun_name]
    if isinstance(who, NounPhrase) and who.noun == noun:
        return None
    return Phrase(*place_words(preposition, place_phrase(choice, noun, who), group))


def place_phrase(choice: Choice, noun: Noun, who: Nominal | None) -> NounPhrase:
    """The noun of a place with its determiner."""
    kind = choice.weighted((0.66, 0.18, 0.08, 0.08))
    chosen = THE
    if kind == 1 and "owned" in noun.classes:
        chosen = possessive(choice, noun, who)
    elif kind == 2 and not noun.classes & {"way", "indoor"} and noun.english not in ("sea", "station", "garden"):
        chosen = A
    elif kind == 3 and noun.english != "sea":
        chosen = THIS
    phrase = with_adjective(choice, NounPhrase(noun, chosen), 0.2)
    if kind == 0 and noun.english in OWNED_PLACES and not phrase.adjective and choice.chance(0.12):
        return replace(phrase, owner=owner(choice, noun))
    found = attached(choice, phrase, 0.22)
    return found if isinstance(found, NounPhrase) else phrase


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
        entry: the verb, or any; of those that people do, where the subject is known.
        who: the subject, if it is already known.
        rich: the probability of each optional part.
        negation: the probability of a negated clause.
        form: the form of the verb, if it is already known.
    """
    entry = entry or choice.rare(DEEDS if who else ENTRIES)
    frames = [frame for frame in entry.frames if frame.subjects[0] in PERSONAL] if who else []
    frame = choice.pick(frames or entry.frames)
    if who is None and frame.subjects[0] in ("adult", "human") and choice.chance(0.02):
        who = choice.pick((NOBODY, EVERYBODY, SOMEBODY))
    who = who or somebody(choice, frame.subjects if frame.subjects != ("feeling",) else ("adult",))
    chosen, modal = tense(choice, entry, frame, third=english.is_third_singular(who)) if form is None else (form, None)
    if form == "present" and frame.event and not english.is_third_singular(who):
        chosen = "progressive"
    body = Clause(who, entry.verb, chosen, modal)
    body = with_objects(choice, body, frame)
    if frame.subjects == ("feeling",):
        body = replace(body, complements=(predicate(choice.pick(FELT)),))
    elif frame.places and (frame.needs_place or choice.chance(rich)):
        found = None
        while found is None:
            found = chosen_place(choice, frame.places, who)
        body = replace(body, complements=placed(body, frame, found))
    if frame.by_vehicle and choice.chance(rich):
        body = replace(body, complements=(choice.pick(BY), *body.complements))
    if (
        entry.name in ("invite", "come")
        and frame.subjects[0] == "adult"
        and choice.chance(0.3)
        and not body.complements
    ):
        body = replace(body, complements=(feast(choice, body.subject, own_one=entry.name == "invite"),))
    body = with_adjuncts(choice, body, entry, frame, rich=rich, negation=negation)
    body = replace(body, ongoing=may_go_on(body, entry) and choice.chance(0.2 if body.form == "past" else 0.4))
    body = with_company(choice, body, entry, 0.5 * rich)
    return with_no(choice, described(choice, body), entry)


def placed(body: Clause, frame: Frame, where: Phrase) -> tuple[Phrase, ...]:
    """The complements with the place; German says it before a prepositional object: am Bahnhof auf ihn warten."""
    if not frame.prepositional or where.direction:
        return (*body.complements, where)
    (said,) = body.complements
    return (Phrase(f"{said.english} {where.english}", f"{where.german} {said.german}"),)


def feast(choice: Choice, who: Nominal, *, own_one: bool) -> Phrase:
    """What one invites to, or comes to as a guest: a birthday, dinner."""
    whose = own(who) if own_one else choice.pick([word for word in ("my", "your", "our") if word != own(who)])
    if whose and choice.chance(0.6):
        birthday = NounPhrase(NOUNS["birthday"], POSSESSIVES[whose])
        return Phrase(english.preposition("to", birthday), german.preposition("zu", birthday, "dative"), direction=True)
    return choice.pick(FEASTS)


FEASTS = (
    Phrase("to dinner", "zum Abendessen", direction=True),
    Phrase("for dinner", "zum Abendessen", direction=True),
    Phrase("to breakfast", "zum Frühstück", direction=True),
    Phrase("for coffee", "zum Kaffee", direction=True),
)
TIMES_OF_DEEDS = ("yesterday", "this morning", "yesterday evening", "last night", "today")


def may_go_on(body: Clause, entry: Entry) -> bool:
    """Whether English can say: was reading, is going to read."""
    if body.form == "future":
        return not body.verb.stative
    lasts = not body.verb.stative and entry.name not in (*ONCE, *NO_PROGRESSIVE, *UNWILLED)
    timely = body.time is None or body.time.english in TIMES_OF_DEEDS or body.time.english.startswith("at ")
    return body.form == "past" and lasts and timely and body.middle is None


def with_objects(choice: Choice, body: Clause, frame: Frame) -> Clause:
    """The clause with the objects its frame asks for."""
    mode = "played" if "instrument" in frame.accusative and body.verb.english == "play" else frame.objects
    if frame.accusative:
        if frame.dative:
            mode = choice.pick(("given", "known", "new", "any"))
        listed = joined_objects(choice, frame.accusative, mode, body.subject) if choice.chance(0.11) else None
        body = replace(body, accusative=listed or object_phrase(choice, frame.accusative, mode, body.subject))
    if frame.dative:
        receiver = object_phrase(choice, frame.dative, "known", body.subject)
        while receiver == body.accusative:
            receiver = object_phrase(choice, frame.dative, "known", body.subject)
        last = body.accusative is not None and body.verb.english not in FOR_SOMEBODY and choice.chance(0.3)
        body = replace(body, dative=receiver, receiver_last=last)
    if frame.prepositional:
        word, wort = frame.prepositions
        phrase = town_or_phrase(choice, frame, body.subject)
        phrase = attached(choice, phrase, 0.2) or phrase
        when = choice.pick(AWAITED) if body.verb.english_rest == "forward" and choice.chance(0.25) else Phrase("", "")
        spoken = f"{english.nominal(phrase, subject=False)} {when.english}".strip()
        told = german.preposition(wort, phrase, frame.prepositional_case, melted=wort == "von")
        complement = Phrase(f"{word} {spoken}".strip(), f"{told} {when.german}".strip())
        body = replace(body, complements=(complement,))
    return body


FOR_SOMEBODY = ("ask", "cook", "make", "buy")  # one buys it for somebody, not to
AWAITED = (
    *(Phrase(f"on {day.english}", f"am {day.german}") for day in DAYS),
    *(Phrase(f"in {month.english}", f"im {month.german}") for month in MONTHS),
    *(
        Phrase("next week", "nächste Woche"),
        Phrase("tomorrow", "morgen"),
        Phrase("next weekend", "nächstes Wochenende"),
    ),
)


def town_or_phrase(choice: Choice, frame: Frame, who: Nominal) -> Nominal:
    """The prepositional object: a town one comes from, or a phrase."""
    if frame.prepositional == ("town", "country"):
        found = choice.pick(fixed_places("IN_TOWN") + fixed_places("IN_COUNTRY"))
        return Name(found.english.removeprefix("in "), german=found.german.removeprefix("in "))
    return object_phrase(choice, frame.prepositional, frame.objects, who)


def predicate(adjective: Adjective, degree: str = "") -> Phrase:
    """tired, very tired, too tired."""
    word = {"": "", "very": "sehr", "too": "zu", "so": "so", "really": "wirklich", "a little": "ein bisschen"}[degree]
    return Phrase(f"{degree} {adjective.english}".strip(), f"{word} {adjective.german}".strip())
