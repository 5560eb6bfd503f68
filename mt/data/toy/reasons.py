"""Two clauses that belong together: why, although, when, if, and, but. Each scene lists what fits a state.

An effect is written `verb`, `verb>objects`, `verb@place`; `-` before it negates, `can't ` says that one cannot.
"""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Form, Nominal, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, object_phrase, sex_pronoun, subject, with_adjective
from mt.data.toy.places import FIXED, place
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, BARE, CAN, IT, MUST, NO, NUMBERS, THE, WANT, A

Sentence = tuple[Phrase, str]

# state | what follows from it | what one does all the same
SCENES = """
tired | sleep; go@to_bed; stay@at_home; -work; go@home; can't dance; can't run; fall asleep; -go shopping; want sleep; must sleep; drink>coffee; sit@chair:on | work; -sleep; read>book,newspaper; clean>kitchen; go@to_work; cook; help=>human; repair>car,bicycle
hungry | eat>bread,apple,egg,soup,cake; cook>soup,potato,egg; make>dinner,breakfast; buy>bread,cheese,apple; order>soup,cake; want eat; must eat; go@restaurant:to; can't work | -eat; work; -cook; wait@here; can't eat; stay@at_home
thirsty | drink>water,juice,tea,milk; need>water; order>juice,water,beer; buy>water,juice; want drink>water,juice | -drink; can't drink; -order>juice,water
sick | stay@at_home; stay@in_bed; -work; call>doctor; can't come; can't work; can't swim; -eat; sleep; need>doctor; go@home; -go@to_work; must stay@at_home | work; go@to_work; swim; play>football; go shopping; -call>doctor; go@TO; want dance
happy | laugh; sing; dance; sing>song; -cry; write>letter | -laugh; -sing; cry; -dance
sad | cry; -laugh; -sing; -eat; can't sleep; -dance; go@home; call>friend,mother; stay@at_home | laugh; sing; -cry; work; dance; cook
busy | can't come; -go shopping; can't help=>human; -watch television; work; -visit>kin,friend; must work; -call>friend; can't cook | help=>human; watch television; visit>kin,friend; cook; wait; call>friend
late | hurry; must hurry; can't wait; take>bus,train; -eat; call>friend | -hurry; drink>coffee; eat; wait; read>newspaper
TIME | can't come; can't wait; -read>book,newspaper; -visit>kin,friend; hurry; -cook; can't help=>human; must hurry; can't play@garden:in | help=>human; read>book; visit>kin,friend; cook; wait; watch television
MONEY | can't go@TO; -buy>car,house,coat,computer; must work; sell>car,bicycle,house; can't buy>car,house,shoe; need>work; -order>wine,cake | buy>car,house,coat,computer; go@TO; -work; order>wine,cake; go shopping
RAIN | stay@at_home; take>bus; -go@park:to; play@room:in; watch television; close>window; read@kitchen:in; -swim; need>coat; wear>coat,hat; can't play@garden:in; work@at_home | go@park:to; play@garden:in; swim@lake:in; -stay@at_home; run@park:into; go swimming; open>window
COLD | wear>coat,hat; stay@at_home; close>window,door; drink>tea; -swim; need>coat; put on>coat,hat; make>tea; -go swimming | swim@lake:in; open>window; go swimming; -wear>coat; play@garden:in; sit@garden:in
WARM | swim@lake:in; go@beach:an; open>window,door; drink>water,juice; sit@garden:in; sit@tree:under; go swimming; wear>hat; play@garden:in; -need>coat | stay@at_home; wear>coat; -swim; work; close>window; -go swimming
LATE | go@to_bed; go@home; hurry; sleep; must go@home; must sleep; turn off>lamp | work; -sleep; watch television; -go@home; read>book; cook; wait; play@room:in
"""


def parse(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    state, effects, contrary = (part.strip() for part in line.split("|"))
    return (
        state,
        tuple(part.strip() for part in effects.split(";")),
        tuple(part.strip() for part in contrary.split(";")),
    )


SCENE_LIST = [parse(line) for line in SCENES.strip().split("\n") if not line.startswith("#")]
IMPERSONAL = ("RAIN", "COLD", "WARM", "LATE")
FORMS: tuple[Form, ...] = ("present", "progressive", "past")
RAIN_VERB = replace(
    BE,
    english="rain",
    english_past="rained",
    english_participle="rained",
    english_ing="raining",
    german="regnen",
    german_third="regnet",
    participle="geregnet",
    auxiliary="haben",
    preterite="",
)
SNOW_VERB = replace(
    RAIN_VERB,
    english="snow",
    english_past="snowed",
    english_ing="snowing",
    german="schneien",
    german_third="schneit",
    participle="geschneit",
)


def state_clause(choice: Choice, state: str, who: Nominal, form: Form) -> Clause:
    """The clause that names the state."""
    past = form == "past"
    tense: Form = "past" if past else "present"
    if state == "RAIN":
        return Clause(IT, choice.pick((RAIN_VERB, RAIN_VERB, SNOW_VERB)), "past" if past else "progressive")
    if state in IMPERSONAL:
        words = {"COLD": ("cold",), "WARM": ("warm", "hot"), "LATE": ("late",)}[state]
        word = choice.pick(words)
        told = predicate(ADJECTIVE[word]) if word != "late" else Phrase("late", "spät")
        degree, grad = choice.pick((("", ""), ("", ""), ("very ", "sehr ")))
        return Clause(IT, BE, tense, complements=(Phrase(degree + told.english, grad + told.german),))
    if state in ("TIME", "MONEY"):
        return Clause(who, entry("have").verb, tense, accusative=NounPhrase(NOUNS[state.lower()], NO))
    degree = choice.pick(("", "", "very"))
    if state == "late":
        return Clause(who, BE, tense, complements=(Phrase("late", "spät dran"),))
    return Clause(who, BE, tense, complements=(predicate(ADJECTIVE[state], degree),))


def effect_clause(choice: Choice, text: str, who: Nominal, form: Form) -> Clause:
    """The clause an effect stands for, with this subject and tense."""
    negated, modal = text.startswith("-"), None
    text = text.removeprefix("-")
    for start, found in (("can't ", CAN), ("want ", WANT), ("must ", MUST)):
        if text.startswith(start):
            negated, modal, text = start == "can't ", found, text.removeprefix(start)
    text, _, where = text.partition("@")
    text, _, receiver = text.partition("=>")
    name, _, objects = text.partition(">")
    german_verb = {"eat": "essen", "go": "fahren" if where == "TO" else "gehen"}.get(name, "")
    verb = entry(name, german_verb).verb
    body = Clause(who, verb, form if not verb.stative or form == "past" else "present", negated=negated)
    if modal:
        body = replace(body, form="modal", modal=modal)
    if objects:
        body = replace(body, accusative=scene_object(choice, tuple(objects.split(",")), name, who))
    if receiver:
        body = replace(body, dative=object_phrase(choice, ("person",), "known", who))
    return replace(body, complements=(scene_place(choice, where, name),)) if where else body


def scene_object(choice: Choice, classes: tuple[str, ...], name: str, who: Nominal) -> Nominal:
    noun = choice.rare(nouns_of(classes))
    if name in ("take", "close", "open", "clean", "turn off", "repair", "call") and not noun.classes & {"owned", "kin"}:
        return NounPhrase(
            noun, THE, bool(noun.english_plural) and noun.english in ("window", "door") and choice.chance(0.5)
        )
    if noun.mass and "meal" not in noun.classes:
        return NounPhrase(noun, BARE)
    if noun.mass or name in ("visit", "call", "sell", "repair", "clean", "wash"):
        return noun_phrase(choice, noun, "known", who, adjective=0.08)
    eaten = bool(noun.classes & {"snack", "vegetable"}) and choice.chance(0.6)
    plural = eaten or noun.english == "shoe" or ("clothes" in noun.classes and who.plural)
    chosen = choice.pick((BARE, BARE, *NUMBERS[:2])) if eaten else BARE if plural else A
    return with_adjective(choice, NounPhrase(noun, chosen, plural), 0.1)


def scene_place(choice: Choice, where: str, name: str) -> Phrase:
    if where == "TO":
        return Phrase(
            *choice.pick(
                (
                    ("to Berlin", "nach Berlin"),
                    ("to Italy", "nach Italien"),
                    ("to Paris", "nach Paris"),
                    ("to Germany", "nach Deutschland"),
                    ("to Rome", "nach Rom"),
                    ("to London", "nach London"),
                )
            ),
            direction=True,
        )
    if where in FIXED:
        return FIXED[where]
    noun, _, preposition = where.partition(":")
    phrase = NounPhrase(NOUNS[noun], THE)
    directed = preposition in ("to", "into", "an", "zu") and name in ("go", "run")
    return place(preposition, phrase, english.nominal(phrase), direction=directed)


def person(choice: Choice) -> tuple[Nominal, Pronoun]:
    """A subject and the pronoun that takes it up."""
    while True:
        who = subject(choice, ("adult",))
        pronoun = sex_pronoun(who)
        if pronoun is not None and not (
            isinstance(who, NounPhrase) and (who.adjective or (who.determiner.plural and choice.chance(0.7)))
        ):
            return who, pronoun


def pair(choice: Choice, *, contrary: bool = False, form: Form | None = None) -> tuple[Clause, Clause, Pronoun]:
    """A state and what somebody does, as clauses with the same subject, and the pronoun for it."""
    state, effects, others = choice.rare(SCENE_LIST)
    text = choice.pick(others if contrary else effects)
    who, pronoun = person(choice)
    chosen = form or choice.pick(FORMS)
    if chosen == "progressive" and (text.startswith("can't") or entry_is_plain(text)):
        chosen = "present"
    if chosen == "past" and text.startswith(("can't", "want", "must")):
        chosen = "present"
    return state_clause(choice, state, who, chosen), effect_clause(choice, text, who, chosen), pronoun


def entry_is_plain(text: str) -> bool:
    return text.startswith(("want", "must", "need"))


def because(choice: Choice) -> Sentence:
    """I am staying at home because I am sick. Because it was raining, they took the bus."""
    contrary = choice.chance(0.35)
    word = Phrase("although", "obwohl") if contrary else Phrase("because", "weil")
    state, effect, pronoun = pair(choice, contrary=contrary)
    return ordered(choice, word, state, effect, pronoun, first=0.3), "."


def ordered(choice: Choice, word: Phrase, inner: Clause, outer: Clause, pronoun: Pronoun, *, first: float) -> Phrase:
    """Main and subordinate clause in either order; the second takes up the subject by its pronoun."""
    if choice.chance(first):
        outer = replace(outer, subject=pronoun)
        return Phrase(
            f"{word.english} {english.clause(inner)}, {english.clause(outer)}",
            f"{word.german} {german.clause(inner, 'final')}, {german.clause(outer, 'question')}",
        )
    if inner.subject != IT:
        inner = replace(inner, subject=pronoun)
    return Phrase(
        f"{english.clause(outer)} {word.english} {english.clause(inner)}",
        f"{german.clause(outer, 'main')}, {word.german} {german.clause(inner, 'final')}",
    )


def when_if(choice: Choice) -> Sentence:
    """When it is cold, we drink tea. If I am sick tomorrow, I will stay at home. When he was sad, he cried: Als er …"""
    kind = choice.weighted((0.4, 0.35, 0.25))
    if kind == 1:
        state, effect, pronoun = pair(choice, form="present")
        if effect.form == "present":
            effect = replace(effect, form="future")
        if state.verb in (RAIN_VERB, SNOW_VERB):
            state = replace(state, form="present")
        state = replace(state, time=Phrase("tomorrow", "morgen") if choice.chance(0.35) else None)
        return ordered(choice, Phrase("if", "wenn"), state, effect, pronoun, first=0.6), "."
    state, effect, pronoun = pair(choice, form="present" if kind == 0 else "past")
    while kind == 2 and effect.form != "past":
        state, effect, pronoun = pair(choice, form="past")
    if state.verb in (RAIN_VERB, SNOW_VERB) and state.form == "progressive":
        state = replace(state, form="present")
    word = Phrase("when", "wenn") if kind == 0 else Phrase("when", "als")
    return ordered(choice, word, state, effect, pronoun, first=0.6), "."


def and_but(choice: Choice) -> Sentence:
    """He is tired, but he is not sleeping. It is late and we are going home."""
    contrary = choice.chance(0.6)
    state, effect, pronoun = pair(choice, contrary=contrary)
    if contrary:
        effect = replace(effect, subject=pronoun)
        return Phrase(
            f"{english.clause(state)}, but {english.clause(effect)}",
            f"{german.clause(state, 'main')}, aber {german.clause(effect, 'main')}",
        ), "."
    if state.subject == IT:
        return Phrase(
            f"{english.clause(state)} and {english.clause(effect)}",
            f"{german.clause(state, 'main')} und {german.clause(effect, 'main')}",
        ), "."
    return Phrase(
        f"{english.clause(state)} and {english.clause(effect, with_subject=False)}",
        f"{german.clause(state, 'main')} und {german.clause(effect, 'main', without='subject')}",
    ), "."


EVERYDAY = [
    "read>book,newspaper",
    "drink>coffee,tea,water,juice,milk",
    "eat>bread,apple,egg,soup,cake,cheese",
    "cook>soup,egg,potato",
    "make>dinner,breakfast",
    "write>letter",
    "watch television",
    "clean>kitchen",
    "go@home",
    "go@to_bed",
    "sing>song",
    "listen to>music",
    "play>football",
    "play@garden:in",
    "work@office:in",
    "sit@garden:in",
    "sleep",
    "dance",
    "laugh",
    "read",
    "go@park:to",
    "go shopping",
    "go swimming",
    "help=>human",
    "wash>car",
    "buy>bread,cheese,milk,apple",
    "call>friend,doctor",
    "repair>car,bicycle",
    "visit>kin,friend",
    "wait@station:at",
    "stay@at_home",
    "clean>window",
]


def two_deeds(choice: Choice) -> Sentence:
    """My mother is cooking and my father is reading. He sits in the garden and drinks coffee."""
    form = choice.pick(FORMS)
    who, _ = person(choice)
    first, second = choice.pick(EVERYDAY), choice.pick(EVERYDAY)
    while second.split(">")[0].split("@")[0] == first.split(">")[0].split("@")[0] or "stay" in first:
        first, second = choice.pick(EVERYDAY), choice.pick(EVERYDAY)
    one = effect_clause(choice, first, who, form)
    if choice.chance(0.45):
        other, _ = person(choice)
        while other == who or (
            isinstance(other, NounPhrase) and isinstance(who, NounPhrase) and other.noun == who.noun
        ):
            other, _ = person(choice)
        two = effect_clause(choice, second, other, form)
        return Phrase(
            f"{english.clause(one)} and {english.clause(two)}",
            f"{german.clause(one, 'main')} und {german.clause(two, 'main')}",
        ), "."
    two = effect_clause(choice, second, who, form)
    told = german.clause(two, "main", without="subject")
    finite = german.verb_complex(one)[0]
    if form == "past" and german.verb_complex(two)[0] == finite:
        told = told.removeprefix(f"{finite} ")
    return Phrase(
        f"{english.clause(one)} and {english.clause(two, with_subject=False)}",
        f"{german.clause(one, 'main')} und {told}",
    ), "."
