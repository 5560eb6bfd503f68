"""What could be and what no longer is: if I were rich, I would rather, we used to, so cold that, we were allowed to."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Form, Modal, Nominal, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.nouns import NOUNS, entries
from mt.data.toy.places import FIXED
from mt.data.toy.purposes import deed_of
from mt.data.toy.scenes import IMPERSONAL, SCENE_LIST, effect_clause, person, scene_place, state_clause
from mt.data.toy.times import COMING, NOW, phrases
from mt.data.toy.verbs import BE, ENTRIES, ONCE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    HE,
    IT,
    MAY,
    MUCH,
    NO,
    POLITE,
    SHE,
    THE,
    THEY,
    WE,
    WOULD,
    YOU,
    A,
    I,
)

WERE = replace(BE, english="be", english_past="were", preterite="wäre")
HAD = replace(entry("have").verb, preterite="hätte")
RATHER = Modal("would rather", WOULD.german)
USED_TO = Modal("used to", ("", "", "", ""))
ALLOWED_THEN = Modal("", ("durfte", "durftest", "durfte", "durften"))

# How it is not | what one would do if it were.
IMAGINED_TABLE = """
rich | buy>house,car,garden; go@TO; -work; buy>coat,dress,picture; stay@at_home; sell>flat
young | learn>speech; go@TO; play>football; dance; run
tired | sleep; go@home; go@to_bed; drink>coffee; stay@at_home
sick | stay@at_home; call>doctor; sleep; stay@in_bed; -work
hungry | eat>bread,apple,soup,cake; cook>soup,egg; go@restaurant:to
TIME | read>book,newspaper; visit>kin,friend; learn>speech; cook; write>letter; watch television; go swimming
MONEY | buy>house,car,bicycle,computer,coat; go@TO; -work; buy>present,flower; invite>friend,kin
CAR | go@TO; visit>kin,friend; go@lake:an; go@beach:an; pick up>friend,kin
GARDEN | play@garden:in; sit@garden:in; buy>dog,flower; sit@tree:under
COLD | stay@at_home; drink>tea; wear>coat; close>window
WARM | go@beach:an; swim@lake:in; go swimming; sit@garden:in; open>window; go@park:to
FINE | go@beach:an; go@park:to; play>football; sit@garden:in; go swimming
"""
IMAGINED = [tuple(part.strip() for part in line.split("|")) for line in entries(IMAGINED_TABLE)]


def imagined_state(choice: Choice, state: str, who: Nominal) -> tuple[str, str]:
    """if I were rich, if it were warmer, if we had more time: both languages, the German verb last."""
    if state in ("TIME", "MONEY", "CAR", "GARDEN"):
        noun = NOUNS[state.lower()]
        thing = NounPhrase(noun, MUCH[0] if noun.mass else A)
        body = Clause(who, HAD, "past", accusative=thing)
        return f"if {english.clause(body)}", f"wenn {german.clause(body, 'final')}"
    if state == "FINE":
        spoken, told = choice.pick((("better", "besser"), ("nice", "schön"), ("nicer", "schöner")))
        return f"if the weather were {spoken}", f"wenn das Wetter {told} wäre"
    if state in ("COLD", "WARM"):
        word = {"COLD": ADJECTIVE["cold"], "WARM": ADJECTIVE["warm"]}[state]
        said = choice.pick(
            (Phrase(word.english, word.german), Phrase(word.english_comparative, word.german_comparative))
        )
        return f"if it were {said.english}", f"wenn es {said.german} wäre"
    body = Clause(who, WERE, "past", complements=(predicate(ADJECTIVE[state], choice.pick(("", "", "so"))),))
    spoken = f"{english.nominal(who)} were {body.complements[0].english}"
    return f"if {spoken}", f"wenn {german.clause(body, 'final')}"


def would_if(choice: Choice) -> Sentence:
    """If I were rich, I would buy a house: Wenn ich reich wäre, würde ich ein Haus kaufen. What would you do if …?"""
    state, deeds = choice.pick(IMAGINED)
    deed = choice.pick(deeds.split("; "))
    who: Pronoun = choice.pick((I, I, I, WE, WE, YOU, THEY, HE, SHE))
    spoken, told = imagined_state(choice, state, who)
    if choice.chance(0.15):
        asked = choice.pick((YOU, YOU, WE, THEY))
        spoken, told = imagined_state(choice, state, asked)
        wouldst = WOULD.german[1 if asked == YOU else 3]
        return Phrase(f"what would {asked.english} do {spoken}", f"was {wouldst} {asked.nominative} tun, {told}"), "?"
    effect = effect_clause(choice, deed, who, "present")
    effect = replace(effect, form="modal", modal=POLITE if choice.chance(0.2) and not effect.negated else WOULD)
    if choice.chance(0.65):
        return Phrase(f"{spoken}, {english.clause(effect)}", f"{told}, {german.clause(effect, 'question')}"), "."
    return Phrase(f"{english.clause(effect)} {spoken}", f"{german.clause(effect, 'main')}, {told}"), "."


GOING = (
    "park:to",
    "cinema:to",
    "museum:to",
    "restaurant:to",
    "beach:an",
    "lake:an",
    "to_bed",
    "supermarket:to",
    "church:to",
)


def would_rather(choice: Choice) -> Sentence:
    """I would rather stay at home: Ich würde lieber zu Hause bleiben. Would you rather drink tea?"""
    who, pronoun = choice.pick(((I, I), (I, I), person(choice)))
    while True:
        body = deed_of(choice, pronoun)
        known = getattr(body.accusative, "definite", False)
        if body.verb.english not in ("forget", "lose", "wake") and not body.manner and not known:
            break
    when = choice.pick((*COMING[:6], *NOW[:2])) if choice.chance(0.4) else None
    if choice.chance(0.2):
        places = [FIXED["home"], *(scene_place(choice, where, "go") for where in GOING)]
        one, two = choice.pick(places), choice.pick(places)
        if one == two:
            return would_rather(choice)
        either = Phrase(f"{one.english} or {two.english}", f"{one.german} oder {two.german}", direction=True)
        body = Clause(who, entry("go", "gehen").verb, complements=(either,))
    body = replace(body, subject=who, form="modal", modal=RATHER, time=when, hour=None)
    told = replace(body, middle=Phrase("", "lieber"))
    if who.person != 1 and choice.chance(0.3):
        return Phrase(english.clause(body, question=True), german.clause(told, "question")), "?"
    return Phrase(english.clause(body), german.clause(told, "main")), "."


LASTED = [
    found
    for found in ENTRIES
    if found.name not in ONCE
    and found.frames[0].subjects[0] in ("adult", "human")
    and found.name not in ("put on", "wake up", "hurry", "feel", "see", "find", "meet", "want", "understand", "get up")
]


EVERY = phrases(
    "every day/jeden Tag, every morning/jeden Morgen, every evening/jeden Abend, every week/jede Woche, "
    "every Sunday/jeden Sonntag, every Saturday/jeden Samstag, every summer/jeden Sommer, every year/jedes Jahr"
)


def used_to(choice: Choice) -> Sentence:
    """We used to live in a small village: Wir haben früher in einem kleinen Dorf gewohnt."""
    found = (
        entry("live") if choice.chance(0.25) else choice.pick((choice.rare(LASTED), entry("work"), choice.rare(LASTED)))
    )
    body = verb_clause(choice, entry=found, rich=0.5, negation=0, form="past")
    manner = None if body.manner and body.manner.english in ("early", "earlier", "late", "later") else body.manner
    body = replace(body, time=None, hour=None, middle=None, ongoing=False, manner=manner)
    habit = choice.pick(EVERY) if choice.chance(0.3) and not manner else Phrase("", "")
    told = german.clause(replace(body, time=Phrase("", f"früher {habit.german}".strip())), "main")
    spoken = english.clause(replace(body, form="modal", modal=USED_TO))
    return Phrase(f"{spoken} {habit.english}".strip(), told), "."


def so_that(choice: Choice) -> Sentence:
    """It was so cold that we stayed at home: Es war so kalt, dass wir zu Hause geblieben sind."""
    while True:
        state, effects, _ = choice.rare(SCENE_LIST)
        if state not in ("RAIN", "TIME", "MONEY", "late"):
            break
    who, pronoun = person(choice)
    form: Form = choice.pick(("past", "past", "present"))
    inner = effect_clause(choice, choice.pick(effects), who if state in IMPERSONAL else pronoun, form)
    if inner.modal and form == "past":
        return so_that(choice)
    said = state_clause(choice, state, who, form)
    if state in IMPERSONAL:
        word = {"COLD": "cold", "WARM": choice.pick(("warm", "hot")), "LATE": "late"}[state]
        told = Phrase("so late", "so spät") if word == "late" else predicate(ADJECTIVE[word], "so")
        said = replace(said, subject=IT, complements=(told,))
        if word != "late" and choice.chance(0.4):
            how = (
                choice.pick((("so bad", "so schlecht"), ("so cold", "so kalt")))
                if state == "COLD"
                else ("so nice", "so schön")
            )
            said = replace(said, subject=NounPhrase(NOUNS["weather"], THE), complements=(Phrase(*how),))
    else:
        said = replace(said, complements=(predicate(ADJECTIVE[state], "so"),))
    return Phrase(
        f"{english.clause(said)} that {english.clause(inner)}",
        f"{german.clause(said, 'main')}, dass {german.clause(inner, 'final')}",
    ), "."


def allowed(choice: Choice) -> Sentence:
    """The children were not allowed to play in the garden: durften nicht im Garten spielen. Are you allowed to swim?"""
    who, pronoun = person(choice)
    if choice.chance(0.4):
        children = choice.pick((NounPhrase(NOUNS["child"], THE, plural=True), NounPhrase(NOUNS["boy"], THE)))
        who, pronoun = children, THEY if children.plural else HE
    while True:
        body = deed_of(choice, pronoun)
        denied = isinstance(body.accusative, NounPhrase) and body.accusative.determiner == NO
        if body.verb.english not in ("forget", "need", "hurry", "help") and not denied:
            break
    past, negated = choice.chance(0.5), choice.chance(0.55)
    body = replace(
        body, subject=who, form="modal", modal=ALLOWED_THEN if past else MAY, negated=negated, time=None, hour=None
    )
    here = any(phrase.english in ("here", "there") for phrase in body.complements)
    if here or (isinstance(body.accusative, NounPhrase) and not body.accusative.definite):
        body = replace(body, negated=False)
    be = english.be_form(who, past=past)
    rest = f"{'not ' if body.negated else ''}allowed to {english.infinitive(body)}"
    if who.person != 1 and not body.negated and choice.chance(0.35):
        return Phrase(f"{be} {english.nominal(who)} {rest}", german.clause(body, "question")), "?"
    if past and choice.chance(0.3):
        child = choice.pick((("little", "klein"), ("a child", "ein Kind"), ("sick", "krank")))
        if isinstance(who, Pronoun) and who in (I, HE):
            start = f"when {who.english} was {child[0]}, "
            told = f"als {who.nominative} {child[1]} war, {german.clause(body, 'question')}"
            return Phrase(f"{start}{english.nominal(who)} {be} {rest}", told), "."
    return Phrase(f"{english.nominal(who)} {be} {rest}", german.clause(body, "main")), "."
