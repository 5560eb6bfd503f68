"""What had happened before, and until when it went on: because the train had left, after we had eaten, until he came."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.features import Clause, Nominal, Phrase, Sentence
from mt.data.toy.reported import HEAR, KNOW, SAY, THINK, joined
from mt.data.toy.scenes import SCENE_LIST, person, state_clause
from mt.data.toy.times import phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import ALREADY

EVENTS = [
    entry(*name.split("/"))
    for name in """lose, lose, forget, forget, buy, buy, sell, sell, find, find, eat/essen, eat/essen, drink, read/lesen,
write, see, repair, open, close, arrive, get up, come back, fall asleep, clean, wash, order, cook, learn, work, sleep,
visit, call, invite, meet, turn off, turn on, answer, leave/fahren, leave/gehen, leave/verlassen, go/gehen, go/fahren,
go shopping, put on, take off, show, give, send, tell, begin, make""".replace("\n", " ").split(", ")
]
COMINGS = [entry("come"), entry("arrive"), entry("come back"), entry("get up"), entry("come"), entry("call")]


def had_done(choice: Choice, who: Nominal | None = None, *, already: float = 0.4) -> Clause:
    """What somebody had done, without a time: Anna had already gone home."""
    body = verb_clause(choice, entry=choice.rare(EVENTS), who=who, rich=0.3, negation=0.12, form="past")
    middle = ALREADY if not body.negated and not body.manner and choice.chance(already) else None
    return replace(body, form="pluperfect", middle=middle, time=None, hour=None, ongoing=False)


def because_earlier(choice: Choice) -> Sentence:
    """We were tired because we had worked a lot. She took the bus because the train had already left."""
    who, pronoun = person(choice)
    if choice.chance(0.5):
        state = choice.rare(SCENE_LIST)[0]
        first = state_clause(choice, state, who, "past")
        if first.subject != who:
            return because_earlier(choice)
    else:
        first = verb_clause(choice, who=who, rich=0.3, negation=0.12, form="past")
        first = replace(first, time=None, hour=None)
    second = had_done(choice, pronoun if choice.chance(0.6) else None)
    return joined(first, Phrase("because", "weil"), english.clause(second), german.clause(second, "final")), "."


def after_earlier(choice: Choice) -> Sentence:
    """After we had eaten, we went to the park. He fell asleep after he had read the newspaper."""
    who, pronoun = person(choice)
    main_first, now = choice.chance(0.4), choice.chance(0.25)
    first = had_done(choice, pronoun if main_first else who, already=0.0)
    second = verb_clause(choice, who=who if main_first else pronoun, rich=0.3, negation=0.1, form="past")
    if first.negated or first.verb == second.verb:
        return after_earlier(choice)
    second = replace(second, time=None, hour=None, ongoing=False)
    said = replace(first, form="past") if choice.chance(0.5) else first  # after we ate: German looks back all the same
    if now and english.is_third_singular(first.subject) and not second.negated:
        first, said, second = (
            replace(first, form="perfect"),
            replace(first, form=choice.pick(("present", "present", "perfect"))),
            replace(second, form="present"),
        )
    spoken, told = english.clause(said), german.clause(first, "final")
    if main_first:
        return joined(second, Phrase("after", "nachdem"), spoken, told), "."
    return Phrase(
        f"after {spoken}, {english.clause(second)}", f"nachdem {told}, {german.clause(second, 'question')}"
    ), "."


def when_earlier(choice: Choice) -> Sentence:
    """When we arrived at the station, the train had already left: war der Zug schon abgefahren."""
    first = verb_clause(choice, entry=choice.pick(COMINGS), rich=0.5, negation=0, form="past")
    first = replace(first, middle=None, ongoing=False)
    second = had_done(choice, already=0.75)
    if second.subject == first.subject:
        return when_earlier(choice)
    return Phrase(
        f"when {english.clause(first)}, {english.clause(second)}",
        f"als {german.clause(first, 'final')}, {german.clause(second, 'question')}",
    ), "."


def reported_earlier(choice: Choice) -> Sentence:
    """I did not know that she had sold the house. He said that he had lost his key."""
    who, pronoun = person(choice)
    verb = choice.pick((KNOW, KNOW, THINK, SAY, SAY, HEAR))
    outer = Clause(who, verb, "past", negated=verb == KNOW and choice.chance(0.6))
    inner = had_done(choice, pronoun if choice.chance(0.5) and verb in (SAY, THINK) else None)
    if inner.subject == who and inner.subject != pronoun:
        return reported_earlier(choice)
    word = Phrase("" if choice.chance(0.2) else "that", "dass")
    return joined(outer, word, english.clause(inner), german.clause(inner, "final")), "."


LASTED = (
    "play",
    "work",
    "wait",
    "dance",
    "sing",
    "sleep",
    "stay",
    "read/lesen",
    "sit",
    "watch television",
    "learn",
    "swim",
)
ENDED = phrases(
    "it rained/es geregnet hat, it began to rain/es angefangen hat zu regnen, it was dark/es dunkel war, "
    "it was late/es spät war, the shops closed/die Läden zugemacht haben, it was too cold/es zu kalt war, "
    "it got dark/es dunkel geworden ist"
)


def until_then(choice: Choice) -> Sentence:
    """We played football until it rained. She waited until he came home: bis er nach Hause gekommen ist."""
    found = entry(*choice.pick(LASTED).split("/"))
    first = verb_clause(choice, entry=found, who=person(choice)[0], rich=0.5, negation=0, form="past")
    first = replace(first, time=None, hour=None, middle=None)
    end = choice.pick(ENDED)
    if choice.chance(0.6):
        second = verb_clause(choice, entry=choice.pick(COMINGS), rich=0.4, negation=0, form="past")
        second = replace(second, middle=None, time=None, hour=None, ongoing=False)
        if second.subject == first.subject:
            return until_then(choice)
        end = Phrase(english.clause(second), german.clause(second, "final"))
    return joined(first, Phrase("until", "bis"), end.english, end.german), "."


def earlier(choice: Choice) -> Sentence:
    """One of the five."""
    kinds = (
        until_then,
        because_earlier,
        because_earlier,
        after_earlier,
        after_earlier,
        when_earlier,
        when_earlier,
        reported_earlier,
    )
    return choice.pick(kinds)(choice)
