"""German morphology and word order: the fields of the clause, case and agreement.

The order is a fixed function of the features (the topological fields of German grammars): before the finite verb one
phrase; after it pronouns, definite objects, time, *nicht* and its like, indefinite objects, manner, complements; at the
end the verb's other parts. In a subordinate clause the finite verb comes last.
"""

import re
from dataclasses import replace
from typing import Literal

from mt.data.toy.features import Case, Clause, Coordination, Name, Nominal, NounPhrase, Pronoun, Relative
from mt.data.toy.german_words import (
    ADJECTIVE_ENDINGS,
    DEFINITE,
    DER_ENDINGS,
    EIN_ENDINGS,
    HABEN,
    HATTE,
    RELATIVE,
    SEIN,
    WAR,
    WERDEN,
    cell,
    infinitive,
    noun_form,
    person_index,
    present,
    preterite,
    stem,
)
from mt.data.toy.words import THE_UNSAID

Order = Literal["main", "question", "final"]
CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "von dem": "vom",
    "bei dem": "beim",
}
KEIN_STEM = "kein"
# by the clock: nicht vor sieben, immer um acht
BEFORE_OBJECTS = ("normalerweise", "beide", "immer", "oft", "manchmal")  # immer die Zeitung, but: die Zeitung nie
CLOCK = re.compile(r"(at|before|after|until) (?!night|the |breakfast|dinner|work|school)")


def nominal(phrase: Nominal, case: Case) -> str:
    """A noun phrase, name or pronoun in a case."""
    match phrase:
        case Pronoun():
            return {"nominative": phrase.nominative, "accusative": phrase.accusative}.get(case, phrase.dative)
        case Name():
            return (phrase.german or phrase.word) + ("s" if case == "genitive" else "")
        case NounPhrase():
            return noun_phrase(phrase, case)
        case Coordination():
            joined = f"{nominal(phrase.first, case)} {phrase.conjunction.german} {nominal(phrase.second, case)}"
            return joined.replace(" ,", ",")


def noun_phrase(phrase: NounPhrase, case: Case, *, negated: bool = False) -> str:
    """The phrase declined; `negated` turns ein and no article into kein."""
    kind, words = phrase.determiner.kind, []
    if phrase.owner and isinstance(phrase.owner, Name):
        kind = "none"
        words.append(nominal(phrase.owner, "genitive"))
    elif phrase.owner:
        kind = "definite"
        words.append(cell(DEFINITE, case, phrase.noun, phrase.plural))
    elif negated:
        kind = "ein"
        words.append(KEIN_STEM + cell(EIN_ENDINGS, case, phrase.noun, phrase.plural))
    elif phrase.determiner.german:
        words.append(determiner(phrase, case))
        words += [phrase.determiner.then] if phrase.determiner.then else []
    if phrase.adjective:
        ending = cell(ADJECTIVE_ENDINGS[kind], case, phrase.noun, phrase.plural)
        words += ["sehr"] if phrase.intensified else []
        words.append(phrase.adjective.stem + ending)
    if phrase.colour:
        words.append(phrase.colour.stem + cell(ADJECTIVE_ENDINGS[kind], case, phrase.noun, phrase.plural))
    words.append(noun_form(phrase.noun, case, phrase.plural))
    if phrase.german_measure:
        words.append(phrase.german_measure)
    if phrase.owner and not isinstance(phrase.owner, Name):
        words.append(nominal(phrase.owner, "genitive"))
    if phrase.attached:
        words.append(phrase.attached.german)
    text = " ".join(words)
    return text + f", {relative_clause(phrase, phrase.relative)}," if phrase.relative else text


def determiner(phrase: NounPhrase, case: Case) -> str:
    """The determiner with its ending."""
    stem, kind = phrase.determiner.german, phrase.determiner.kind
    if kind == "none":
        return stem
    if kind == "definite":
        return cell(DEFINITE, case, phrase.noun, phrase.plural)
    return stem + cell(DER_ENDINGS if kind == "der" else EIN_ENDINGS, case, phrase.noun, phrase.plural)


def relative_clause(head: NounPhrase, relative: Relative) -> str:
    """The clause after its head: the pronoun takes gender and number from the head, case from the clause."""
    cases: dict[str, Case] = {
        "subject": "nominative",
        "accusative": "accusative",
        "dative": "dative",
        "prepositional": relative.case,
    }
    pronoun = cell(RELATIVE, cases[relative.role], head.noun, head.plural)
    if relative.role == "prepositional":
        assert relative.preposition
        return f"{relative.preposition.german} {pronoun} {clause(relative.clause, 'final')}"
    return f"{pronoun} {clause(relative.clause, 'final', without=relative.role)}"


def verb_complex(body: Clause) -> tuple[str, str]:
    """The finite verb, and what closes the clause: a particle, a participle or an infinitive."""
    verb, index = body.verb, person_index(body.subject)
    perfect = body.form == "perfect" or (body.form == "past" and not verb.preterite)
    if perfect:
        auxiliary = SEIN if verb.auxiliary == "sein" else HABEN
        return auxiliary[index], verb.participle
    if body.form == "pluperfect":
        auxiliary = WAR if verb.auxiliary == "sein" else HATTE
        return auxiliary[index], verb.participle
    match body.form:
        case "past":
            return preterite(verb, index), verb.particle.strip()
        case "future":
            return WERDEN[index], infinitive(verb)
        case "modal":
            assert body.modal
            return body.modal.german[index], infinitive(verb)
    return present(verb, index), verb.particle


def is_negatable(phrase: Nominal | None) -> bool:
    """Whether a negated clause says kein here, rather than nicht."""
    return isinstance(phrase, NounPhrase) and phrase.owner is None and phrase.determiner.german in ("", "ein")


def is_part_of_verb(phrase: NounPhrase) -> bool:
    """Fußball, Gitarre: what one plays stands right before the verb, behind the place."""
    return "sport" in phrase.noun.classes or phrase.determiner == THE_UNSAID


def midfield(body: Clause, *, without: str = "") -> list[str]:
    """Everything between the two verb positions but the subject."""
    receiver = body.dative if without != "dative" else None
    direct = body.accusative if without != "accusative" else None
    gern = body.form == "like to"
    says_kein = body.negated and is_negatable(direct) and not gern
    middle = [body.middle.german] if body.middle else []
    if body.negated and not says_kein:
        middle.append("nicht")
    if gern:
        middle.append("gern")
    pronouns = [reflexive(body)] if body.verb.reflexive else []
    receiving: list[str] = []
    known: list[str] = []
    new: list[str] = []
    last: list[str] = []
    if isinstance(direct, Pronoun):
        pronouns.append(nominal(direct, "accusative"))
    if isinstance(receiver, Pronoun):
        pronouns.append(nominal(receiver, "dative"))
    arguments: tuple[tuple[Nominal | None, Case], ...] = ((receiver, "dative"), (direct, "accusative"))
    for phrase, case in arguments:
        if isinstance(phrase, Name | NounPhrase) and phrase.definite:
            (known if phrase is direct else receiving).append(nominal(phrase, case))
        elif isinstance(phrase, Coordination):
            (known if phrase.definite else new).append(nominal(phrase, case))
        elif isinstance(phrase, Name):  # nothing to eat
            new.append(nominal(phrase, case))
        elif isinstance(phrase, NounPhrase):
            said = noun_phrase(phrase, case, negated=says_kein and case == "accusative")
            (last if is_part_of_verb(phrase) else new).append(said)
    manner = [body.manner.german] if body.manner and without != "manner" else []
    complements = [phrase.german for phrase in body.complements if without != "complements"]
    places: list[str] = []
    if new and body.complements and not any(phrase.direction for phrase in body.complements):
        places, complements = complements, []  # im Garten ein Buch lesen; but: ein Buch auf den Tisch legen
    if middle == ["bitte"]:
        receiving, middle = [*middle, *receiving], []
    frame = framed(known, *days_and_hours(body, without), middle)
    company = [body.company.german] if body.company else []
    favour = [body.favour.german] if body.favour else []
    return [*pronouns, *receiving, *frame, *company, *manner, *places, *new, *favour, *complements, *last]


def days_and_hours(body: Clause, without: str) -> tuple[list[str], list[str]]:
    """The day, and the hour, which stands behind not: am Sonntag nicht vor sieben; but: um acht nicht zu Hause sein."""
    if body.time is None:
        return [], []
    day = [body.time.german] if without != "time" else []
    hour = [body.hour.german] if body.hour else []
    if not hour and body.verb.german != "sein" and CLOCK.match(body.time.english):
        return [], day
    return day, hour


def framed(known: list[str], day: list[str], hour: list[str], middle: list[str]) -> list[str]:
    """The known objects, the time and often or not: das Auto heute nicht, normalerweise um sechs die Zeitung."""
    if len(middle) == 1 and middle[0] in BEFORE_OBJECTS:
        return [*middle, *day, *hour, *known] if middle[0] in BEFORE_OBJECTS[:2] else [*day, *middle, *hour, *known]
    return [*known, *day, *middle, *hour] if middle else [*day, *hour, *known]


def reflexive(body: Clause) -> str:
    """mich, dich, sich, uns."""
    if isinstance(body.subject, Coordination) and body.subject.person == 1:
        return "uns"
    if isinstance(body.subject, Pronoun) and body.subject.person < 3:
        return body.subject.accusative
    return "sich"


def clause(body: Clause, order: Order, *, front: str = "", without: str = "") -> str:
    """The clause in German order.

    Args:
        body: the clause.
        order: "main" (verb second), "question" (verb first, or after `front`), "final" (subordinate).
        front: a phrase before the verb, such as a question word or a time.
        without: "subject", "accusative", "dative", "complements", "time" or "manner": what is not said here.
    """
    finite, closing = verb_complex(body)
    subject = [] if without == "subject" else [nominal(body.subject, "nominative")]
    middle = midfield(body, without=without)
    if order == "final":
        words = [*subject, *middle, final_verb(body, finite, closing)]
    elif order == "question" or front:
        if body.verb.reflexive and subject and not (isinstance(body.subject, Pronoun) and body.subject.possessive):
            subject, middle = [middle[0], *subject], middle[1:]
        words = [front, finite, *subject, *middle, closing.strip()]
    else:
        words = [*subject, finite, *middle, closing.strip()]
    return " ".join(word for word in words if word)


def final_verb(body: Clause, finite: str, closing: str) -> str:
    """The verbs at the end of a subordinate clause: aufsteht, gesehen hat."""
    if closing and closing == body.verb.particle:
        return closing + finite
    return f"{closing} {finite}".strip()


def to_infinitive(body: Clause) -> str:
    """The clause without subject and tense, with zu: die Tür zuzumachen, schwimmen zu gehen."""
    particle = body.verb.particle
    closing = (
        f"{particle}zu {body.verb.german}"
        if not particle or particle.endswith(" ")
        else f"{particle}zu{body.verb.german}"
    )
    return " ".join([*midfield(replace(body, negated=False)), closing])


def imperative(body: Clause) -> str:
    """The clause as a request to du."""
    verb = body.verb
    third, base = verb.german_third, stem(verb)
    if verb.german == "sein":
        finite = "sei"
    elif "i" in third and "i" not in verb.german:
        finite = third.removesuffix("t")  # nehmen, nimmt: nimm
    else:
        finite = base + ("e" if third.endswith("et") else "")
    words = [finite, *midfield(body), verb.particle.strip()]
    return " ".join(word for word in words if word)


def preposition(word: str, phrase: Nominal, case: Case, *, melted: bool = True) -> str:
    """Preposition and phrase, melted where German melts them: im Park, zur Schule; but warten auf das Auto."""
    text = f"{word} {nominal(phrase, case)}"
    if (
        melted
        and isinstance(phrase, NounPhrase)
        and phrase.determiner.kind == "definite"
        and not isinstance(phrase.owner, Name)
    ):
        for long, short in CONTRACTIONS.items():
            text = re.sub(rf"^{long} ", f"{short} ", text)
    return text


def sentence_case(text: str, mark: str) -> str:
    """Commas tidied, first letter large, mark at the end."""
    text = re.sub(r",(?=,)|,$", "", text)
    text = text[0].upper() + text[1:]
    return text + mark
