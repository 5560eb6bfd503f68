"""Asking for something and telling somebody to do it, can you tell me where, can you help me do it."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Nominal, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, object_phrase, sex_pronoun
from mt.data.toy.purposes import deed_of
from mt.data.toy.reported import TELL, asked_about, joined, matrix
from mt.data.toy.scenes import effect_clause, person, state_clause
from mt.data.toy.statements import PLEASE, REQUESTED, awkward, plain
from mt.data.toy.times import coming_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    CAN,
    HAVE_TO,
    HE,
    POLITE,
    SHALL,
    SHE,
    SHOULD,
    THE,
    WANT,
    WE,
    WOULD_LIKE,
    YOU,
    I,
)


def somebody_known(choice: Choice) -> Nominal:
    """A subject that one can ask about."""
    while True:
        who = somebody(choice, ("adult",), "known")
        if who.person != 1 and not (isinstance(who, NounPhrase) and not who.definite):
            return who


def order_of(choice: Choice) -> Clause:
    """What one tells somebody to do: open the window, be quiet."""
    if choice.chance(0.06):
        return Clause(YOU, BE, complements=(predicate(ADJECTIVE[choice.pick(("quiet", "friendly", "nice"))]),))
    while True:
        body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.1, negation=0, form="present")
        origin = any(phrase.english.startswith("from ") for phrase in body.complements)
        if not origin and not awkward(body) and not body.middle:
            return replace(body, time=None, hour=None)


def two_requests(choice: Choice) -> Sentence:
    """Turn off the lamp and go to bed! Please sit down and listen to me."""
    one, two = order_of(choice), order_of(choice)
    while two.verb == one.verb:
        two = order_of(choice)
    spoken = f"{english.imperative(one)} and {english.imperative(two)}"
    told = f"{german.imperative(one)} und {german.imperative(two)}"
    if choice.chance(0.2):
        gently = german.imperative(replace(two, middle=PLEASE))
        return Phrase(f"{spoken}, please", f"{german.imperative(one)} und {gently}"), choice.pick("!.")
    if choice.chance(0.35):
        return Phrase(f"please {spoken}", f"bitte {told}"), "."
    return Phrase(spoken, told), "!"


# The state of things | what one asks for then.
REQUESTS_IN = [
    tuple(part.strip().split("; ") for part in line.split("|"))
    for line in """
COLD | close>window,door; put on>coat; make>tea; stay@here; come@home
WARM | open>window,door; drink>water; stay@here
LATE | go@to_bed; come@home; hurry; turn off>lamp,computer; sleep; go@home
RAIN | put on>coat; close>window; take>bus,train; stay@at_home; stay@here
tired | be quiet; cook; go@home; sleep; drink>coffee; turn off>lamp
hungry | cook>soup,egg,potato; make>dinner,breakfast; buy>bread,cheese; eat>apple,egg,soup
thirsty | make>tea,coffee; buy>water,juice; drink>water,juice
sick | call>doctor; stay@at_home; sleep; be quiet; go@home
baby | be quiet; close>door,window; go@garden:into; turn off>lamp
""".strip().split("\n")
]


def request_because(choice: Choice) -> Sentence:
    """Please close the door, it is cold. Be quiet, the baby is sleeping! Stay at home if you are sick!"""
    [state], deeds = choice.pick(REQUESTS_IN)
    deed = choice.pick(deeds)
    body = (
        Clause(YOU, BE, complements=(predicate(ADJECTIVE["quiet"]),))
        if deed == "be quiet"
        else effect_clause(choice, deed, YOU, "present")
    )
    if deed.startswith("turn off") and isinstance(body.accusative, NounPhrase):
        body = replace(body, accusative=replace(body.accusative, determiner=THE))
    if state == "baby":
        someone = noun_phrase(choice, choice.rare(nouns_of(("baby", "child", "kin"))), "known", adjective=0)
        why = Clause(someone, entry("sleep").verb, "progressive")
    else:
        own = deed.split(">")[0] in ("stay@at_home", "sleep", "drink", "eat", "go@home")
        why = state_clause(choice, state, YOU if own else choice.pick((I, I, WE)), "present")
    spoken, told = english.imperative(body), german.imperative(body)
    joint = choice.weighted((0.6, 0.25, 0.15))
    word = (None, Phrase("because", "weil"), Phrase("if", "wenn"))[joint if why.subject == YOU or joint < 2 else 0]
    if why.form == "progressive" and word and word.english == "if":
        word = None
    if word is None and choice.chance(0.3):
        gently = replace(body, middle=PLEASE)
        start = Phrase(f"{english.clause(why)}, so please ", f"{german.clause(why, 'main')}, also ")
        return Phrase(f"{start.english}{spoken}", f"{start.german}{german.imperative(gently)}"), choice.pick("!.")
    if word is None and choice.chance(0.4):
        before = Phrase(f"{english.clause(why)}, ", f"{german.clause(why, 'main')}, ")
        return Phrase(f"{before.english}please {spoken}", f"{before.german}bitte {told}"), choice.pick("!.")
    if word is None:
        reason = Phrase(f", {english.clause(why)}", f", {german.clause(why, 'main')}")
    else:
        reason = Phrase(f" {word.english} {english.clause(why)}", f", {word.german} {german.clause(why, 'final')}")
    if choice.chance(0.45):
        return Phrase(f"please {spoken}{reason.english}", f"bitte {told}{reason.german}"), "."
    return Phrase(spoken + reason.english, told + reason.german), "!"


def tell_me(choice: Choice) -> Sentence:
    """Can you tell me where the museum is? Tell me why you are sad."""
    word, body, missing = asked_about(choice)
    outer = Clause(YOU, TELL, dative=choice.pick((I, I, I, WE)))
    spoken, told = english.clause(body, without=missing), german.clause(body, "final", without=missing)
    if choice.chance(0.7):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, CAN, POLITE)))
        if choice.chance(0.3):
            gently = joined(replace(outer, middle=PLEASE), word, spoken, told, question=True)
            return Phrase(f"{joined(outer, word, spoken, told, question=True).english}, please", gently.german), "?"
        return joined(outer, word, spoken, told, question=True), "?"
    please = choice.chance(0.5)
    start = Phrase("please ", "bitte ") if please else Phrase("", "")
    return Phrase(
        f"{start.english}{english.imperative(outer)} {word.english} {spoken}",
        f"{start.german}{german.imperative(outer)}, {word.german} {told}",
    ), "."


HELPED = [
    entry(name) for name in ("find", "find", "find", "look for", "repair", "clean", "wash", "sell", "open", "write")
]


def thing_to_do(choice: Choice) -> Clause:
    """What one needs help with: to find the keys, to clean the kitchen."""
    while True:
        body = verb_clause(choice, entry=choice.pick(HELPED), who=WE, rich=0.15, negation=0, form="future")
        if isinstance(body.accusative, NounPhrase) and body.accusative.definite and not (body.middle or body.manner):
            return replace(body, time=None, hour=None, company=None, favour=None)


def helping(choice: Choice) -> Sentence:
    """Can you help me clean the kitchen? She helped her mother to cook: ihrer Mutter geholfen, zu kochen."""
    who = somebody(choice, ("adult",)) if choice.chance(0.6) else YOU
    receiver = object_phrase(choice, ("person",), "known", who)
    inner = deed_of(choice)
    while (
        inner.verb.english in ("help", "wear")
        or not isinstance(inner.accusative, NounPhrase)
        or inner.company
        or inner.manner
    ):
        inner = deed_of(choice)
    if choice.chance(0.4):
        inner = thing_to_do(choice)
    outer = Clause(who, entry("help").verb, choice.pick(("present", "past", "future")), dative=receiver)
    if choice.chance(0.4):
        outer = replace(outer, form="modal", modal=choice.pick((CAN, WANT, HAVE_TO, SHOULD, WOULD_LIKE)))
    asks = who.person != 1 and choice.chance(0.6 if who == YOU else 0.1)
    if asks and who == YOU:
        outer = replace(outer, form="modal", modal=choice.pick((CAN, CAN, POLITE)), dative=choice.pick((I, I, WE)))
    time = None
    if outer.form in ("modal", "future") and not (outer.modal and outer.modal.past) and choice.chance(0.35):
        time = coming_time(choice, long=False)
    if choice.chance(0.35):
        outer = replace(outer, complements=(choice.pick(HELPED_WITH),), time=time)
        said = (
            plain(outer) if not asks else Phrase(english.clause(outer, question=True), german.clause(outer, "question"))
        )
        return said, "?" if asks else "."
    joint = "to " if choice.chance(0.3) else ""
    spoken = f"{english.clause(outer, question=asks)} {joint}{english.infinitive(replace(inner, time=time))}"
    if asks and who == YOU and choice.chance(0.35):
        spoken, outer = f"{spoken}, please", replace(outer, middle=PLEASE)
    told = f"{german.clause(replace(outer, time=time), 'question' if asks else 'main')}, {german.to_infinitive(inner)}"
    return Phrase(spoken, told), "?" if asks else "."


HELPED_WITH = [
    phrase_pair(pair)
    for pair in [
        "in the kitchen/in der Küche",
        "in the garden/im Garten",
        "in the shop/im Laden",
        "in the office/im Büro",
        "at home/zu Hause",
        "with the computer/mit dem Computer",
        "with the work/bei der Arbeit",
        "with dinner/beim Abendessen",
        "with the dinner/beim Abendessen",
        "with the car/mit dem Auto",
        "with this problem/bei diesem Problem",
        "with this question/bei dieser Frage",
        "with the children/mit den Kindern",
    ]
]


ASK_TO = matrix("ask asked asked", "bitten bittet gebeten")


def told_to(choice: Choice) -> Sentence:
    """The doctor told me not to drink wine: dass ich keinen Wein trinken soll. My mother wants me to wait: will, dass …"""
    who, told_one = person(choice)[0], choice.pick((I, I, I, WE, HE, SHE, YOU))
    receiver: Nominal = told_one
    if choice.chance(0.35):
        receiver, told_one = person(choice)
    pronoun = sex_pronoun(who)
    same = getattr(who, "noun", 0) == getattr(receiver, "noun", None) or who.person == told_one.person == 1
    if pronoun is None or pronoun.possessive == told_one.possessive or same or who.person == told_one.person == 2:
        return told_to(choice)
    deed = replace(deed_of(choice, told_one), subject=told_one)
    kind, form = choice.weighted((0.35, 0.4, 0.25)), choice.pick(("past", "past", "present"))
    spoken = english.infinitive(deed)
    if kind == 0:
        outer = Clause(who, ASK_TO, form, accusative=receiver)  # type: ignore[arg-type]
        return Phrase(
            f"{english.clause(outer)} to {spoken}", f"{german.clause(outer, 'main')}, {german.to_infinitive(deed)}"
        ), "."
    if kind == 2:
        wanting = Clause(who, entry("want").verb, choice.pick(("present", "present", "past")), accusative=receiver)
        if who.person != 1 and wanting.form == "present" and choice.chance(0.4):
            asked = german.clause(replace(wanting, accusative=None), "question")
            return Phrase(
                f"{english.clause(wanting, question=True)} to {spoken}", f"{asked}, dass {german.clause(deed, 'final')}"
            ), "?"
        wish = german.clause(replace(wanting, accusative=None), "main")
        return Phrase(f"{english.clause(wanting)} to {spoken}", f"{wish}, dass {german.clause(deed, 'final')}"), "."
    if choice.chance(0.25) and not deed.manner and getattr(deed.accusative, "definite", deed.accusative is None):
        deed, spoken = replace(deed, negated=True), f"not to {spoken}"
    else:
        spoken = f"to {spoken}"
    outer = Clause(who, TELL, form, dative=receiver)  # type: ignore[arg-type]
    deed = replace(deed, form="modal", modal=SHALL)
    return Phrase(
        f"{english.clause(outer)} {spoken}", f"{german.clause(outer, 'main')}, dass {german.clause(deed, 'final')}"
    ), "."
