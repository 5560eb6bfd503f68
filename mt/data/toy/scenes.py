"""What belongs together: a state and what one does in it, or all the same."""

from dataclasses import replace

from mt.data.toy import english
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.features import Clause, Form, Nominal, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, object_phrase, sex_pronoun, with_adjective
from mt.data.toy.places import FIXED, place
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, BARE, CAN, IT, LATE, MUST, NO, NUMBERS, THE, WANT, A

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
RAIN | stay@at_home; take>bus; -go@park:to; play@room:in; watch television; close>window; read@kitchen:in; -swim; need>coat; wear>coat; can't play@garden:in; work@at_home | go@park:to; play@garden:in; swim@lake:in; -stay@at_home; run@park:into; go swimming; open>window
COLD | wear>coat,hat; stay@at_home; close>window,door; drink>tea; -swim; need>coat; put on>coat,hat; make>tea; -go swimming | swim@lake:in; open>window; go swimming; -wear>coat; play@garden:in; sit@garden:in
WARM | swim@lake:in; go@beach:an; open>window,door; drink>water,juice; sit@garden:in; sit@tree:under; go swimming; wear>hat; play@garden:in; -need>coat | stay@at_home; wear>coat; -swim; work; close>window; -go swimming
LATE | go@to_bed; go@home; hurry; sleep; must go@home; must sleep; turn off>lamp | work; -sleep; watch television; -go@home; read>book; cook; wait; play@room:in
"""


def parse(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """One line of the table."""
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
        verb = choice.pick((RAIN_VERB, RAIN_VERB, SNOW_VERB))
        return Clause(IT, verb, "past" if past else "progressive", ongoing=past and choice.chance(0.5))
    if state in IMPERSONAL:
        words = {"COLD": ("cold",), "WARM": ("warm", "hot"), "LATE": ("late",)}[state]
        word = choice.pick(words)
        told = predicate(ADJECTIVE[word]) if word != "late" else Phrase("late", "spät")
        degree, grad = choice.pick((("", ""), ("", ""), ("very ", "sehr "), ("so ", "so ")))
        said = Phrase(degree + told.english, grad + told.german)
        if word != "late" and choice.chance(0.2):
            here, hier = choice.pick(
                (("here", "hier"), ("in here", "hier drin"), ("outside", "draußen"), ("outside", "draußen"))
            )
            said = Phrase(f"{said.english} {here}", f"{hier} {said.german}")
        return Clause(IT, BE, tense, complements=(said,))
    if state in ("TIME", "MONEY"):
        return Clause(who, entry("have").verb, tense, accusative=NounPhrase(NOUNS[state.lower()], NO))
    degree = choice.pick(("", "", "very"))
    if state == "late":
        return Clause(who, BE, tense, complements=(LATE,))
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
    german_verb = {
        "eat": "essen",
        "go": "fahren" if where == "TO" else "gehen",
        "leave": "verlassen" if objects else "gehen",
    }.get(name, "")
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
    """An object for what somebody does in a scene."""
    noun = choice.rare(nouns_of(classes))
    if name in ("take", "leave", "close", "open", "clean", "turn off", "repair", "call") and not noun.classes & {
        "owned",
        "kin",
    }:
        return NounPhrase(
            noun, THE, bool(noun.english_plural) and noun.english in ("window", "door") and choice.chance(0.5)
        )
    if noun.mass and "meal" not in noun.classes and name != "see":
        return NounPhrase(noun, BARE)
    if noun.mass or name in ("visit", "call", "ask", "invite", "see", "pick up", "sell", "repair", "clean", "wash"):
        return noun_phrase(choice, noun, "known", who, adjective=0.08)
    eaten = bool(noun.classes & {"snack", "vegetable"}) and (name in ("cook", "buy") or choice.chance(0.6))
    plural = eaten or noun.english == "shoe" or ("clothes" in noun.classes and who.plural)
    chosen = choice.pick((BARE, BARE, *NUMBERS[:2])) if eaten else BARE if plural else A
    return with_adjective(choice, NounPhrase(noun, chosen, plural), 0.1)


def scene_place(choice: Choice, where: str, name: str) -> Phrase:
    """A place or direction in a scene."""
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
        who = somebody(choice, ("adult",))
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
    chosen: Form = form if form is not None else choice.pick(FORMS)
    if chosen == "progressive" and (text.startswith("can't") or entry_is_plain(text)):
        chosen = "present"
    if chosen == "past" and text.startswith(("can't", "want", "must")):
        chosen = "present"
    return state_clause(choice, state, who, chosen), effect_clause(choice, text, who, chosen), pronoun


def entry_is_plain(text: str) -> bool:
    """Whether the effect has no progressive."""
    return text.startswith(("want", "must", "need"))
