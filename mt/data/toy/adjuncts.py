"""What a clause may carry beside its objects: time, manner, negation, often and never, and no for not a."""

import re
from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.features import Clause, Coordination, Nominal, NounPhrase, Phrase, Pronoun
from mt.data.toy.times import NOW, clock, coming_time, duration, habit_time, hour_of, past_time
from mt.data.toy.verbs import ONCE, UNFINISHED, Entry, Frame
from mt.data.toy.words import (
    ALREADY,
    ALSO,
    ANY,
    BARE,
    BOTH,
    CAN,
    COULD,
    EVERYBODY,
    HABITS,
    MANNERS,
    MUCH,
    MUST,
    MUST_NOT,
    NEVER,
    NEVER_YET,
    NO,
    NOBODY,
    NUMBER_WORDS,
    SOMEBODY,
    STILL,
    WOULD_LIKE,
    A,
)

YEARS = [Phrase("now", "jetzt"), Phrase("in summer", "im Sommer"), Phrase("in winter", "im Winter")]
YEARS_AGO = [
    Phrase("last year", "letztes Jahr"),
    Phrase("two years ago", "vor zwei Jahren"),
    Phrase("ten years ago", "vor zehn Jahren"),
    Phrase("last summer", "letzten Sommer"),
]
DENIED = ("have", "need", "eat", "drink", "buy", "find", "see", "order", "want", "read", "wear")
LASTING = (
    "sleep",
    "work",
    "stay",
    "learn",
    "wait",
    "dance",
    "swim",
    "play",
    "read",
    "sing",
    "sit",
    "talk",
    "watch television",
    "drive",
)
LONG = ("stay", "work", "learn")
NOT_NEGATED = (WOULD_LIKE,)


LONG_UNITS = (("years", "Jahre"), ("years", "Jahre"), ("months", "Monate"), ("weeks", "Wochen"))


def lasting_time(choice: Choice, *, past: bool) -> Phrase:
    """When somebody lives somewhere: in years, not at eight o'clock."""
    if past and choice.chance(0.4):
        (number, zahl), (unit, einheit) = choice.pick(NUMBER_WORDS), choice.pick(LONG_UNITS)
        return Phrase(f"for {number} {unit}", f"{zahl} {einheit}")
    return choice.pick(YEARS_AGO if past else YEARS)


def chosen_time(choice: Choice, body: Clause, entry: Entry | None) -> Phrase | None:
    """A time that suits the form and the verb."""
    form, long = body.form, entry is not None and not entry.brief
    if entry and entry.name == "live" and form != "perfect":
        return lasting_time(choice, past=form == "past" or bool(body.modal and body.modal.past))
    if form == "past" or (body.modal and body.modal.past):
        if entry and entry.name in LASTING and choice.chance(0.35):
            return duration(choice, long=entry.name in LONG)
        time = past_time(choice, long=long)
        slept = entry is not None and entry.name == "sleep" and (choice.chance(0.4) or time.english == "last night")
        return Phrase("last night", "letzte Nacht") if slept else time
    if form == "present":
        if entry and entry.name in ONCE:
            opens = entry.name in ("open", "close") and body.accusative is None
            if opens and choice.chance(0.7):
                return clock(choice)
            return coming_time(choice, long=False) if opens or entry.name in ("leave", "begin", "arrive") else None
        return habit_time(choice, long=long)
    if entry and entry.name in LASTING and choice.chance(0.2) and (form in ("future", "modal")):
        lasting = duration(choice, long=entry.name in LONG)
        short = entry.name == "wait" and not body.complements and choice.chance(0.6)
        return Phrase(lasting.english.removeprefix("for "), lasting.german) if short else lasting
    if form == "progressive":
        return choice.pick(NOW) if choice.chance(0.65) or entry is None else coming_time(choice, long=long)
    return coming_time(choice, long=long) if form in ("future", "modal") else None


def with_no(choice: Choice, body: Clause, entry: Entry) -> Clause:
    """She has no car, for: she does not have a car; they eat no eggs and no milk."""
    every = body.time is not None and body.time.english.startswith("every")
    if entry.name not in DENIED or body.negated or body.modal or body.middle or every or not choice.chance(0.06):
        return body
    return replace(body, accusative=denied(body.accusative))


def denied(phrase: Nominal | None) -> Nominal | None:
    """The phrase with no, each part of a pair; unchanged where it is known or counted."""
    if isinstance(phrase, Coordination):
        first, second = denied(phrase.first), denied(phrase.second)
        if not isinstance(first, NounPhrase) or not isinstance(second, NounPhrase):
            return phrase
        return replace(phrase, first=first, second=second) if first.determiner == second.determiner == NO else phrase
    if not german.is_negatable(phrase) or phrase.measure or phrase.intensified:  # type: ignore[union-attr]
        return phrase
    return replace(phrase, determiner=NO)  # type: ignore[type-var]


def with_adjuncts(choice: Choice, body: Clause, entry: Entry, frame: Frame, *, rich: float, negation: float) -> Clause:
    """Negation, or an adverb of frequency; manner; time."""
    negated = choice.chance(negation) and body.modal not in NOT_NEGATED
    if counted(body.accusative) or counted(body.subject) or indefinite(body.subject):
        negated = False
    adverbs = [phrase for phrase in body.complements if phrase.english.split()[0] in ("here", "there", "home")]
    if frame.manners and not negated and not adverbs and choice.chance(rich):
        manner = choice.pick(frame.manners)
        if manner != "together" or body.subject.plural:
            body = replace(body, manner=graded(choice, MANNERS[manner]))
    if (
        entry.name in ("like", "love")
        and not negated
        and getattr(body.accusative, "definite", True)
        and choice.chance(0.12)
    ):
        body = replace(body, manner=Phrase("very much", "sehr"))
    if not negated and not body.manner and choice.chance(0.35 if body.form == "perfect" else 0.12):
        body = with_habit(choice, body, entry)
    share = max(rich, 0.4) if body.middle in HABITS else rich
    if choice.chance(share) and not body.verb.stative and not (body.middle and body.form == "perfect"):
        time = chosen_time(choice, body, entry)
        body = body if body.middle and not bears_time(time) else replace(body, time=time)
        body = with_hour(choice, body)
    if body.modal == COULD and not negated:
        body = replace(body, modal=CAN if not body.time else COULD)
    if negated and body.time and body.time.english.startswith("every"):
        body = replace(body, time=None, hour=None)
    if body.subject in (NOBODY, EVERYBODY) and body.middle in (NEVER, NEVER_YET):
        body = replace(body, middle=None)
    said = body.accusative
    if negated and isinstance(said, NounPhrase) and said.determiner == BARE and not said.owner and choice.chance(0.3):
        body = replace(body, accusative=replace(said, determiner=ANY))
    if negated and body.modal == MUST:
        body = replace(body, modal=MUST_NOT)
    return unambiguous(replace(body, negated=negated))


def with_hour(choice: Choice, body: Clause) -> Clause:
    """The clause with an hour behind its day, where its day bears one."""
    if body.time is None or not choice.chance(0.22):
        return body
    hour = hour_of(choice, body.time)
    lasting = hour is None or not hour.english.startswith(("until", "all")) or body.verb.english in LASTING
    return replace(
        body, hour=hour if lasting else None, hour_first=choice.chance(0.4) or getattr(hour, "english", "") == "again"
    )


def bears_time(time: Phrase | None) -> bool:
    """Times that go with often and never: in the evening, in summer; not: at eight o'clock, now, every day."""
    return (
        time is not None
        and re.match(r"(in the|in [A-Zsaw]|at (?!the mo)|after|before|until|on)\b", time.english) is not None
    )


AMOUNTS = (Phrase("too much", "zu viel"), Phrase("too little", "zu wenig"), Phrase("so much", "so viel"))
FASTER = {
    "well": ("better", "besser"),
    "badly": ("worse", "schlechter"),
    "fast": ("faster", "schneller"),
    "slowly": ("more slowly", "langsamer"),
    "loudly": ("more loudly", "lauter"),
    "late": ("later", "später"),
    "early": ("earlier", "früher"),
}


def graded(choice: Choice, manner: Phrase) -> Phrase:
    """well, very well, too late."""
    if manner.english in ("together", "alone", "on time") or not choice.chance(0.3):
        return manner
    if manner.english == "a lot":
        return choice.pick(AMOUNTS)
    if choice.chance(0.4):
        return Phrase(*FASTER[manner.english])
    degree, grad = choice.pick((("very", "sehr"), ("very", "sehr"), ("too", "zu")))
    return Phrase(f"{degree} {manner.english}", f"{grad} {manner.german}")


def with_habit(choice: Choice, body: Clause, entry: Entry) -> Clause:
    """The clause with often, never, already where it bears it."""
    if isinstance(body.subject, Pronoun | Coordination) and body.subject.plural and choice.chance(0.15):
        return replace(body, middle=BOTH)
    if body.form == "progressive":
        return replace(body, middle=STILL) if entry.name not in ONCE and choice.chance(0.3) else body
    if body.form in ("present", "past") and choice.chance(0.12):
        return replace(body, middle=ALSO)
    if body.form in ("present", "past") and not body.verb.stative and entry.name not in (*ONCE, "live"):
        return replace(body, middle=choice.pick(HABITS))
    if body.form == "perfect":
        options = [] if entry.name in UNFINISHED else [ALREADY, ALREADY]
        options += [] if entry.name in ONCE else [NEVER_YET]
        return replace(body, middle=choice.pick(options)) if options else body
    return body


def counted(phrase: Nominal | None) -> bool:
    """Phrases that a negation would make ambiguous: two, many, some, all, a subject with a."""
    if not isinstance(phrase, NounPhrase):
        return isinstance(phrase, Coordination) or phrase in (NOBODY, EVERYBODY, SOMEBODY)
    return (phrase.determiner.plural is True and phrase.determiner.english != "these") or phrase.determiner.english in (
        "no",
        "one",
        "some",
        *(one.english for one in MUCH),
    )


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
