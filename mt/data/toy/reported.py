"""Clauses inside clauses: what somebody knows, says or asks, and relative clauses."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Clause, Form, Phrase, Pronoun, Sentence, Verb
from mt.data.toy.phrases import object_pronoun, sex_pronoun, subject
from mt.data.toy.predicates import any_clause, location_clause
from mt.data.toy.questions import DEEDS, MOVING, STAYING, asked
from mt.data.toy.scenes import RAIN_VERB, SNOW_VERB
from mt.data.toy.times import COMING
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, HABITS, IT, WANT, WOULD, I


def matrix(english_forms: str, german_forms: str, preterite: str = "") -> Verb:
    """A verb that takes a clause."""
    base, past, participle = english_forms.split()
    infinitive, third, german_participle = german_forms.split()
    return Verb(base, past, participle, "", "", infinitive, third, german_participle, stative=True, preterite=preterite)


KNOW = matrix("know knew known", "wissen weiß gewusst", "wusste")
THINK = matrix("think thought thought", "denken denkt gedacht", "dachte")
BELIEVE = matrix("believe believed believed", "glauben glaubt geglaubt")
HOPE = matrix("hope hoped hoped", "hoffen hofft gehofft")
SAY = matrix("say said said", "sagen sagt gesagt")
TELL = matrix("tell told told", "sagen sagt gesagt")
ASK = matrix("ask asked asked", "fragen fragt gefragt")
SEE = matrix("see saw seen", "sehen sieht gesehen")
HEAR = matrix("hear heard heard", "hören hört gehört")


def joined(outer: Clause, word: Phrase, spoken: str, told: str, *, question: bool = False) -> Phrase:
    """Main clause, conjunction, subordinate clause."""
    order: german.Order = "question" if question else "main"
    return Phrase(
        " ".join(filter(None, (english.clause(outer, question=question), word.english, spoken))),
        f"{german.clause(outer, order)}, {word.german} {told}",
    )


def reported(choice: Choice) -> Sentence:
    """I think that he is tired. Anna said that the train was late."""
    verb = choice.pick((KNOW, THINK, BELIEVE, HOPE, SAY, SAY, SEE, HEAR))
    past = verb not in (HOPE, SEE) and choice.chance(0.25)
    who = subject(choice, ("adult",))
    if not past and verb in (THINK, BELIEVE, HOPE, SAY, HEAR) and choice.chance(0.1):
        return will_rain(choice, Clause(who, verb))
    while True:
        body = any_clause(choice, rich=0.22, negation=0.1 if verb != HOPE else 0)
        if past == looks_back(body) and body.subject not in (I, who) and (verb != HOPE or is_hopeful(body)):
            break
    outer = Clause(who, verb, "past" if past else "present")
    if verb == SAY and choice.chance(0.4):
        outer = replace(outer, verb=TELL, dative=object_pronoun(choice, who))
    word = "" if verb in (THINK, BELIEVE, HOPE, SAY, KNOW) and choice.chance(0.35) else "that"
    return joined(outer, Phrase(word, "dass"), english.clause(body), german.clause(body, "final")), "."


def will_rain(choice: Choice, outer: Clause) -> Sentence:
    """I hope it will snow tomorrow: dass es morgen schneien wird."""
    rain = choice.pick((RAIN_VERB, RAIN_VERB, SNOW_VERB))
    body = Clause(IT, rain, "future", negated=choice.chance(0.2), time=choice.pick((None, *COMING)))
    if choice.chance(0.35):
        warm = predicate(ADJECTIVE[choice.pick(("cold", "warm", "hot", "dark"))], choice.pick(("", "", "very")))
        body = replace(body, verb=BE, complements=(warm,))
    word = Phrase(choice.pick(("", "", "that")), "dass")
    return joined(outer, word, english.clause(body), german.clause(body, "final")), "."


UNHOPED = ("cry", "fall", "leave", "feel")
UNWELCOME = {
    "tired",
    "sad",
    "sick",
    "hungry",
    "thirsty",
    "angry",
    "busy",
    "alone",
    "bad",
    "dirty",
    "difficult",
    "boring",
    "too",
}


def is_hopeful(body: Clause) -> bool:
    """What one may hope: things to come, and that somebody is well or somewhere."""
    if body.verb == BE:
        return not UNWELCOME & {word for phrase in body.complements for word in phrase.english.split()}
    return body.form == "future" and body.verb.english not in UNHOPED


def said_would(choice: Choice) -> Sentence:
    """Tom said he would bring something to eat: dass er etwas bringen würde. I thought that it would be warm."""
    who = subject(choice, ("adult",))
    pronoun = sex_pronoun(who)
    inner = verb_clause(choice, who=pronoun if choice.chance(0.55) else None, rich=0.35, negation=0.12, form="future")
    if choice.chance(0.15):
        verb = choice.pick((RAIN_VERB, RAIN_VERB, SNOW_VERB))
        inner = Clause(IT, verb, "future", time=choice.pick((None, *COMING)))
    elif choice.chance(0.15):
        inner = Clause(IT, BE, complements=(predicate(ADJECTIVE[choice.pick(("cold", "warm", "dark", "hot"))]),))
    if inner.middle or inner.subject == who != pronoun:
        return said_would(choice)
    outer = Clause(who, choice.pick((SAY, SAY, THINK, KNOW)), "past")
    if outer.verb == SAY and choice.chance(0.4):
        outer = replace(outer, verb=TELL, dative=object_pronoun(choice, who))
    inner = replace(inner, form="modal", modal=WOULD, ongoing=False)
    word = "" if choice.chance(0.4) else "that"
    return joined(outer, Phrase(word, "dass"), english.clause(inner), german.clause(inner, "final")), "."


def uncertain(choice: Choice) -> Sentence:
    """I do not know if she is coming. He asks whether the shop is open. Do you know if it is closed?"""
    word = choice.pick((Phrase("if", "ob"), Phrase("whether", "ob")))
    body = asked(choice, any_clause, rich=0.2, negation=0)
    while body.form == "perfect" and body.middle:
        body = asked(choice, any_clause, rich=0.2, negation=0)
    outer, question = doubting(choice, looks_back(body))
    return joined(outer, word, english.clause(body), german.clause(body, "final"), question=question), mark(question)


def looks_back(body: Clause) -> bool:
    """Whether the clause is told in the simple past, so that what it hangs on can be past too."""
    return body.form == "past" or (body.modal is not None and body.modal.past)


def doubting(choice: Choice, past: bool) -> tuple[Clause, bool]:
    """Somebody who does not know, or asks; or you are asked whether you know."""
    who = subject(choice, ("adult",))
    kind = choice.weighted((0.37, 0.28, 0.22, 0.13))
    if kind == 3 and who.person == 3:
        return Clause(who, TELL, "past", dative=object_pronoun(choice, who)), True
    if kind == 1:
        asked_one = object_pronoun(choice, who) if choice.chance(0.5) else None
        form: Form = "past" if past and choice.chance(0.8) else "present"
        return Clause(who, ASK, form, accusative=asked_one), False
    if kind == 2 and who.person != 1:
        return Clause(who, KNOW), True
    return Clause(who, KNOW, choice.pick(("present", "past" if past else "present")), negated=True), False


def mark(question: bool) -> str:
    """The mark of a question or a statement."""
    return "?" if question else "."


def embedded_question(choice: Choice) -> Sentence:
    """Do you know where my keys are? She does not know when the film begins."""
    word, body, missing = asked_about(choice)
    outer, question = doubting(choice, looks_back(body))
    if choice.chance(0.3):
        outer, question = replace(outer, negated=False, verb=KNOW, accusative=None, dative=None), False
    if choice.chance(0.15) and not looks_back(body):
        outer = replace(outer, verb=KNOW, form="modal", modal=WANT, negated=False, accusative=None, dative=None)
    return joined(
        outer,
        word,
        english.clause(body, without=missing),
        german.clause(body, "final", without=missing),
        question=question,
    ), mark(question)


WHO = [found for found in DEEDS if found.frames[0].subjects[0] in ("adult", "human") and found.name != "hurry"]
WHAT = [
    *(
        entry(name)
        for name in ("buy", "cook", "drink", "read", "write", "need", "want", "order", "sell", "wear", "find")
    ),
    *(entry("eat", "essen"), entry("bring"), entry("lose")),
]


def asked_about(choice: Choice) -> tuple[Phrase, Clause, str]:
    """The question word, the clause, and what the word stands for in it."""
    kind = choice.weighted((0.27, 0.15, 0.18, 0.15, 0.13, 0.12))
    missing = ""
    if kind == 0:
        word, missing = Phrase("where", "wo"), "complements"
        body = replace(asked(choice, location_clause), middle=None)
    elif kind == 1:
        word, missing = Phrase("where", "wo"), "complements"
        body = asked(
            choice,
            verb_clause,
            entry=entry("live") if choice.chance(0.5) else choice.pick(STAYING[1:6]),
            rich=0.1,
            negation=0,
        )
        if choice.chance(0.3):
            word, body = (
                Phrase("where", "wohin"),
                asked(
                    choice,
                    verb_clause,
                    entry=choice.pick((*MOVING[:2], *MOVING[-2:], *MOVING[-2:])),
                    rich=0.1,
                    negation=0,
                ),
            )
        if body.complements and body.complements[0].english.split()[0] in ("with", "for"):
            return asked_about(choice)
    elif kind == 2:
        word, body = Phrase("why", "warum"), asked(choice, verb_clause, entry=choice.rare(DEEDS), rich=0.15, negation=0)
        if body.form == "present" and not (body.verb.stative or body.middle or body.time) and choice.chance(0.4):
            body = replace(body, middle=choice.pick(HABITS))
    elif kind == 5:
        who = Pronoun("", "", "", "", "", 3, False, "")
        word, body = Phrase("who", "wer"), verb_clause(choice, entry=choice.rare(WHO), who=who, rich=0.4, negation=0.05)
        if body.modal and body.modal.english in ("may", "would like to", "could"):
            return asked_about(choice)
    elif kind == 4:
        word, missing = Phrase("what", "was"), "accusative"
        body = asked(choice, verb_clause, entry=choice.rare(WHAT), rich=0.15, negation=0)
        if body.accusative is None or body.favour or body.manner or body.middle:
            return asked_about(choice)
    else:
        word, missing = Phrase("when", "wann"), "time"
        body = asked(choice, verb_clause, rich=0.1, negation=0)
        if body.verb.stative or body.form == "perfect" or body.manner or body.middle or body.verb.english == "live":
            return asked_about(choice)
        body = replace(body, hour=None)
    return word, body, missing
