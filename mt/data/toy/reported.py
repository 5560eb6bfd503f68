"""Clauses inside clauses: what somebody knows, says or asks, and relative clauses."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import any_clause, location_clause, predicate, verb_clause
from mt.data.toy.features import Clause, Coordination, Noun, NounPhrase, Phrase, Relative, Verb
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, subject
from mt.data.toy.questions import MOVING, STAYING, asked
from mt.data.toy.verbs import BE, ENTRIES, Entry, entry
from mt.data.toy.words import POSSESSIVES, THE, I

Sentence = tuple[Phrase, str]


def matrix(english_forms: str, german_forms: str, preterite: str = "") -> Verb:
    base, past, participle = english_forms.split()
    infinitive, third, german_participle = german_forms.split()
    return Verb(base, past, participle, "", "", infinitive, third, german_participle, stative=True, preterite=preterite)


KNOW = matrix("know knew known", "wissen weiß gewusst", "wusste")
THINK = matrix("think thought thought", "denken denkt gedacht", "dachte")
BELIEVE = matrix("believe believed believed", "glauben glaubt geglaubt")
HOPE = matrix("hope hoped hoped", "hoffen hofft gehofft")
SAY = matrix("say said said", "sagen sagt gesagt")
ASK = matrix("ask asked asked", "fragen fragt gefragt")
SEE = matrix("see saw seen", "sehen sieht gesehen")
HEAR = matrix("hear heard heard", "hören hört gehört")


def joined(outer: Clause, word: Phrase, spoken: str, told: str, *, question: bool = False) -> Phrase:
    """Main clause, conjunction, subordinate clause."""
    order = "question" if question else "main"
    return Phrase(
        f"{english.clause(outer, question=question)} {word.english} {spoken}",
        f"{german.clause(outer, order)}, {word.german} {told}",
    )  # type: ignore[arg-type]


def reported(choice: Choice) -> Sentence:
    """I think that he is tired. Anna said that the train was late."""
    verb = choice.pick((KNOW, THINK, BELIEVE, HOPE, SAY, SAY, SEE, HEAR))
    past = verb not in (HOPE, SEE) and choice.chance(0.25)
    who = subject(choice, ("adult",))
    while True:
        body = any_clause(choice, rich=0.22, negation=0.1)
        if (
            past == looks_back(body)
            and (
                verb != HOPE
                or (body.form in ("future", "present") and body.verb.english == "be")
                or (body.form == "future" and body.verb.english not in UNHOPED)
            )
            and body.subject not in (I, who)
        ):
            break
    outer = Clause(who, verb, "past" if past else "present")
    return joined(outer, Phrase("that", "dass"), english.clause(body), german.clause(body, "final")), "."


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
    kind = choice.weighted((0.5, 0.25, 0.25))
    if kind == 1:
        return Clause(who, ASK, choice.pick(("present", "past" if past else "present"))), False
    if kind == 2 and who.person != 1:
        return Clause(who, KNOW), True
    return Clause(who, KNOW, choice.pick(("present", "past" if past else "present")), negated=True), False


def mark(question: bool) -> str:
    return "?" if question else "."


def embedded_question(choice: Choice) -> Sentence:
    """Do you know where my keys are? She does not know when the film begins."""
    kind = choice.weighted((0.35, 0.2, 0.25, 0.2))
    missing = ""
    if kind == 0:
        word, missing = Phrase("where", "wo"), "complements"
        body = asked(choice, location_clause)
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
                asked(choice, verb_clause, entry=choice.pick(MOVING[:2]), rich=0.1, negation=0),
            )
        if body.complements and body.complements[0].english.split()[0] in ("with", "for"):
            return embedded_question(choice)
    elif kind == 2:
        word, body = Phrase("why", "warum"), asked(choice, any_clause, rich=0.15, negation=0)
    else:
        word, missing = Phrase("when", "wann"), "time"
        body = asked(choice, verb_clause, rich=0.1, negation=0)
        if body.verb.stative or body.form == "perfect":
            return embedded_question(choice)
    outer, question = doubting(choice, looks_back(body))
    if choice.chance(0.3):
        outer, question = replace(outer, negated=False, verb=KNOW), False
    return joined(
        outer,
        word,
        english.clause(body, without=missing),
        german.clause(body, "final", without=missing),
        question=question,
    ), mark(question)


UNHOPED = ("cry", "fall", "wake", "leave", "feel")
ACTIVE = [
    found
    for found in ENTRIES
    if found.frames[0].subjects[0] in ("adult", "human") and found.name not in ("hurry", "feel", "arrive")
]
KNOWING = [entry(name) for name in ("know", "see", "help", "visit", "ask", "like", "meet")]


def head(choice: Choice, noun: Noun, *, plural: bool | None = None) -> NounPhrase:
    chosen = THE if "kin" not in noun.classes else POSSESSIVES["my"]
    many = bool(noun.english_plural) and choice.chance(0.25) if plural is None else plural
    return NounPhrase(noun, chosen, many)


def relative_subject(choice: Choice) -> Sentence:
    """The man who lives here is my teacher. I know the woman who sings."""
    noun = choice.rare(
        nouns_of(
            ("man", "woman", "boy", "girl", "child", "teacher", "doctor", "student", "neighbour", "friend", "guest")
        )
    )
    bare = head(choice, noun)
    body = verb_clause(choice, entry=choice.rare(ACTIVE), who=bare, rich=0.25, negation=0.08)
    while body.form == "future" or (isinstance(body.accusative, NounPhrase) and body.accusative.noun == noun):
        body = verb_clause(choice, entry=choice.rare(ACTIVE), who=bare, rich=0.25, negation=0.08)
    phrase = replace(bare, relative=Relative(body, "subject"))
    return about_person(choice, phrase), "."


def about_person(choice: Choice, phrase: NounPhrase) -> Phrase:
    """A short main clause around somebody described by a relative clause."""
    kind = choice.weighted((0.45, 0.25, 0.3))
    if kind == 0:
        from_adjective = choice.pick(
            [found for found in adjectives_of(phrase.noun) if found.english not in ("little", "big", "good", "new")]
            or adjectives_of(phrase.noun)
        )
        outer = Clause(
            phrase,
            BE,
            complements=(predicate(from_adjective, choice.pick(("", "", "very"))),),
            negated=choice.chance(0.1),
        )
    elif kind == 1:
        while True:
            outer = verb_clause(choice, entry=choice.rare(ACTIVE), who=phrase, rich=0.0, negation=0.08)
            if outer.form in ("future", "modal"):
                continue
            if not isinstance(outer.accusative, NounPhrase) or outer.accusative.noun != phrase.noun:
                break
    else:
        found = choice.pick(KNOWING)
        who = subject(choice, ("adult",))
        while isinstance(who, NounPhrase) and who.noun == phrase.noun:
            who = subject(choice, ("adult",))
        dative = found.name == "help"
        outer = Clause(who, found.verb, accusative=None if dative else phrase, dative=phrase if dative else None)
    return Phrase(english.clause(outer), german.clause(outer, "main"))


MADE = [
    found
    for found in ENTRIES
    if found.frames[-1].accusative
    and found.name
    in (
        "read",
        "write",
        "buy",
        "sell",
        "find",
        "look for",
        "see",
        "eat",
        "drink",
        "wear",
        "repair",
        "order",
        "like",
        "know",
        "need",
        "cook",
        "visit",
        "take",
        "wash",
        "open",
        "show",
        "give",
        "send",
        "lose",
        "help",
        "meet",
        "call",
        "invite",
    )
    and found.verb.german != "fressen"
]


def relative_object(choice: Choice) -> Sentence:
    """The book that he is reading is interesting. The man who we met yesterday is tired."""
    while True:
        found: Entry = choice.rare(MADE)
        body = verb_clause(choice, entry=found, rich=0.12, negation=0.05)
        target, role = (body.accusative, "accusative")
        if found.name == "help":
            target, role = (body.dative, "dative")
        if not isinstance(target, NounPhrase) or target.measure or body.middle or not adjectives_of(target.noun):
            continue
        if isinstance(body.subject, NounPhrase) and (body.subject.owner or body.subject.adjective):
            continue
        if body.subject == target or isinstance(body.subject, Coordination):
            continue
        break
    phrase = replace(head(choice, target.noun, plural=target.plural), relative=Relative(body, role))  # type: ignore[arg-type]
    if "human" in target.noun.classes:
        return about_person(choice, phrase), "."
    adjective = choice.pick(adjectives_of(target.noun))
    outer = Clause(
        phrase,
        BE,
        choice.pick(("present", "present", "past")),
        complements=(predicate(adjective, choice.pick(("", "", "very"))),),
        negated=choice.chance(0.12),
    )
    if choice.chance(0.2):
        outer = Clause(
            subject(choice, ("adult",)), choice.pick((entry("like"), entry("look for"))).verb, accusative=phrase
        )
    elif choice.chance(0.15):
        sein = "sind" if phrase.plural else "ist"
        spoken = "are" if phrase.plural else "is"
        return Phrase(
            f"where {spoken} {english.nominal(phrase)}", f"wo {sein} {german.nominal(phrase, 'nominative')}"
        ), "?"
    return Phrase(english.clause(outer), german.clause(outer, "main")), "."


LIVED_IN = (
    ("live", ("house", "flat", "city", "village", "room")),
    ("work", ("office", "hospital", "school", "restaurant", "hotel", "shop", "museum")),
    ("sleep", ("bed", "room", "hotel")),
    ("play", ("garden", "park", "room")),
    ("eat", ("restaurant", "kitchen", "hotel")),
    ("swim", ("lake",)),
    ("wait", ("restaurant", "hotel", "room")),
)


def relative_place(choice: Choice) -> Sentence:
    """The house in which we live is old."""
    name, nouns = choice.pick(LIVED_IN)
    found = entry(name)
    phrase = head(choice, NOUNS[choice.pick(nouns)], plural=False)
    who = subject(choice, ("adult",))
    while isinstance(who, NounPhrase) and (who.adjective or who.owner):
        who = subject(choice, ("adult",))
    form = choice.pick(("present", "progressive", "past")) if name != "live" else choice.pick(("present", "past"))
    body = Clause(who, entry("eat", "essen").verb if name == "eat" else found.verb, form)  # type: ignore[arg-type]
    phrase = replace(phrase, relative=Relative(body, "prepositional", Phrase("in", "in")))
    adjective = choice.pick([found for found in adjectives_of(phrase.noun) if found.english not in ("little", "good")])
    outer = Clause(
        phrase,
        BE,
        "present" if form != "past" else choice.pick(("present", "past")),  # type: ignore[arg-type]
        complements=(predicate(adjective, choice.pick(("", "", "very"))),),
        negated=choice.chance(0.12),
    )
    return Phrase(english.clause(outer), german.clause(outer, "main")), "."
