"""What people say to each other all day: let us, do not forget to, I am cold, nothing to eat, when shall we meet."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import REQUESTS_IN, somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, verb_clause
from mt.data.toy.features import Clause, Coordination, Form, Name, Nominal, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.german_words import infinitive
from mt.data.toy.nouns import nouns_of
from mt.data.toy.pairs import somebody, two_people
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.places import fixed_places
from mt.data.toy.purposes import deed_of
from mt.data.toy.questions import with_word
from mt.data.toy.scenes import effect_clause, person
from mt.data.toy.sequences import circumstance
from mt.data.toy.statements import REQUESTED, awkward, plain
from mt.data.toy.times import clock, coming_time, habit_time, past_time
from mt.data.toy.verbs import entry
from mt.data.toy.words import CAN, HAVE_TO, MUST, NO, POLITE, SHALL, SHOULD, THE, THEY, WANT, WE, WOULD_LIKE, YOU, I


def let_us(choice: Choice) -> Sentence:
    """Let's go to the cinema tomorrow! Shall we go to the lake? We could watch a film tonight."""
    body = deed_of(choice)
    if choice.chance(0.6):
        body = replace(body, time=coming_time(choice, long=False))
    if choice.chance(0.45):
        start = choice.pick(("let's", "let's", "let us"))
        spoken = f"{start} {english.infinitive(body)}"
        told = " ".join(["lass uns", *german.midfield(body), infinitive(body.verb)])
        if choice.chance(0.35):
            why = circumstance(choice, "present")
            so = choice.pick((", ", ", ", ", so "))
            also = ", also " if "so" in so else ", "
            return Phrase(
                f"{english.clause(why)}{so}{spoken}", f"{german.clause(why, 'main')}{also}{told}"
            ), choice.pick("!.")
        return Phrase(spoken, told), choice.pick("!.")
    body = replace(body, subject=WE, form="modal", modal=choice.pick((POLITE, POLITE, SHALL, SHOULD)))
    if body.modal == SHALL:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    if choice.chance(0.4):
        state = circumstance(choice, "present")
        spoken, told = english.clause(state), german.clause(state, "final")
        return Phrase(f"if {spoken}, {english.clause(body)}", f"wenn {told}, {german.clause(body, 'question')}"), "."
    return plain(body), "."


def do_not_forget_to(choice: Choice) -> Sentence:
    """Don't forget to turn off the lamp before you go to bed! I must not forget to call my mother."""
    while True:
        body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.2, negation=0, form="present")
        target = body.accusative or body.dative
        if (
            target
            and (isinstance(target, Coordination) or not awkward(body))
            and not body.middle
            and body.verb.english != "forget"
        ):
            break
    body = replace(body, time=coming_time(choice, long=False) if choice.chance(0.25) else None)
    who, start = choice.pick(((YOU, ""), (YOU, ""), (YOU, "please "), (I, "")))
    spoken, told = f"{start}do not forget to", "bitte vergiss nicht" if start else "vergiss nicht"
    if who == I and target.person == 1:  # one does not forget to call oneself
        return do_not_forget_to(choice)
    if who == I:
        body = replace(body, subject=I)
        spoken, told = choice.pick(
            (("I must not forget to", "ich darf nicht vergessen"), ("I always forget to", "ich vergesse immer"))
        )
    spoken, told = f"{spoken} {english.infinitive(body)}", f"{told}, {german.to_infinitive(body)}"
    if not body.time and choice.chance(0.4):
        word = choice.pick((Phrase("before", "bevor"), Phrase("when", "wenn")))
        inner = effect_clause(choice, choice.pick(LEAVING), who, "present")
        spoken = f"{spoken} {word.english} {english.clause(inner)}"
        told = f"{told}, {word.german} {german.clause(inner, 'final')}"
    return Phrase(spoken, told), choice.pick("!.") if who == YOU else "."


LEAVING = (
    "leave",
    "leave>house",
    "leave>house,flat,room,office",
    "go@to_bed",
    "go@home",
    "go shopping",
    "come@home",
    "go swimming",
    "go@to_work",
    "go@to_school",
    "sleep",
)
WARMTH = (("cold", "kalt", "COLD"), ("cold", "kalt", "COLD"), ("warm", "warm", "WARM"), ("hot", "heiß", "WARM"))
DEGREES = (("", ""), ("", ""), ("very ", "sehr "), ("too ", "zu "), ("so ", "so "))


def feeling_cold(choice: Choice) -> Sentence:
    """I am cold: Mir ist kalt. Are you too hot? Please close the window, I am cold."""
    word, wort, state = choice.pick(WARMTH)
    degree, grad = choice.pick(DEGREES)
    said, told = degree + word, grad + wort
    past = choice.chance(0.2)
    who = choice.pick(
        (I, I, YOU, WE, somebody(choice, ("adult",), "known"), somebody(choice, ("infant", "young"), "known"))
    )
    whom, was = german.nominal(who, "dative"), "war" if past else "ist"
    spoken = f"{english.nominal(who)} {english.be_form(who, past=past)} {said}"
    kind = choice.weighted((0.4, 0.2, 0.4))
    if kind == 1 and who not in (I, WE):
        asks = f"{english.be_form(who, past=past)} {english.nominal(who)} {said}"
        return Phrase(asks, f"{was} {whom} {told}"), "?"
    if kind == 2 and (who in (I, WE) or isinstance(who, NounPhrase)) and not past:
        deeds = next(deeds for [name], deeds in REQUESTS_IN if name == state)
        deed = effect_clause(choice, choice.pick([one for one in deeds if "hat" not in one]), YOU, "present")
        request, bitte = f"please {english.imperative(deed)}", f"bitte {german.imperative(deed)}"
        if choice.chance(0.4):
            return Phrase(f"{spoken}, {request}", f"{whom} {was} {told}, {bitte}"), "."
        if choice.chance(0.4):
            return Phrase(f"{request} because {spoken}", f"{bitte}, weil {whom} {told} {was}"), "."
        return Phrase(f"{request}, {spoken}", f"{bitte}, {whom} {was} {told}"), "."
    if kind == 0 and choice.chance(0.45):
        around = circumstance(choice, "past" if past else "present")
        if around.subject != who:
            start = plain(around)
            return Phrase(f"{start.english} and {spoken}", f"{start.german} und {whom} {was} {told}"), "."
    return Phrase(spoken, f"{whom} {was} {told}"), "."


SOMETHING = [
    (phrase_pair(f"something to {deed}/etwas {tun}"), phrase_pair(f"nothing to {deed}/nichts {tun}"))
    for deed, tun in (
        ("eat", "zu essen"),
        ("eat", "zu essen"),
        ("drink", "zu trinken"),
        ("drink", "zu trinken"),
        ("read", "zu lesen"),
        ("wear", "anzuziehen"),
        ("do", "zu tun"),
    )
]
NO_MORE = replace(NO, english="no more")


def something_to_eat(choice: Choice) -> Sentence:
    """There is nothing to eat at home. Can I have something to drink, please? We have no more milk: keine Milch mehr."""
    something, nothing = choice.pick(SOMETHING)
    where = choice.pick((Phrase("", ""), Phrase("at home", "zu Hause"), Phrase("in the kitchen", "in der Küche")))
    kind = choice.weighted((0.2, 0.2, 0.3, 0.3))
    if kind == 0 and choice.chance(0.4):
        any_of_it = choice.pick((something.english, something.english.replace("something", "anything")))
        return Phrase(
            f"is there {any_of_it} {where.english}".strip(),
            " ".join(f"gibt es {where.german} {something.german}".split()),
        ), "?"
    if kind == 0:
        thing = choice.pick((nothing, nothing, something))
        told = f"{where.german} gibt es" if where.german else "es gibt"
        return Phrase(f"there is {thing.english} {where.english}".strip(), f"{told} {thing.german}"), "."
    if kind == 3:
        return no_more(choice)
    who = somebody(choice, ("adult",))
    while kind == 2 and something.english.endswith(" do"):
        something, nothing = choice.pick(SOMETHING)
    if kind == 1:
        thing = choice.pick((nothing, nothing, something))
        form: Form = choice.pick(("present", "present", "past"))
        body = Clause(
            who, entry("have").verb, form, accusative=Name(thing.english, german=thing.german, definite=False)
        )
        return plain(body), "."
    asks = choice.chance(0.6)
    name, modal = choice.pick((("have", CAN), ("have", POLITE), ("buy", WANT), ("eat", WOULD_LIKE)))
    who = choice.pick((I, WE)) if asks and name == "have" else somebody_known(choice) if asks else who
    body = Clause(
        who,
        entry(name).verb,
        "modal",
        modal,
        accusative=Name(something.english, german=something.german, definite=False),
    )
    if name == "eat":
        body = replace(body, verb=replace(body.verb, english="", german=""), modal=replace(modal, english="would like"))
    if asks:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def no_more(choice: Choice) -> Sentence:
    """There is no more bread. We have no more time. They had no more apples."""
    noun = choice.rare(nouns_of(("food", "drink", "alcohol", "snack", "vegetable", "money", "leisure")))
    thing = NounPhrase(noun, NO_MORE, not noun.mass)
    declined = german.nominal(thing, "accusative")
    if choice.chance(0.4) and "owned" not in noun.classes:
        be = "are" if thing.plural else "is"
        return Phrase(f"there {be} {english.nominal(thing)}", f"es gibt {declined} mehr"), "."
    form: Form = choice.pick(("present", "present", "past"))
    who, pronoun = person(choice)
    body = Clause(who, entry("have").verb, form, accusative=thing, favour=Phrase("", "mehr"))
    if form == "past" or choice.chance(0.5):
        return plain(body), "."
    deed = effect_clause(choice, choice.pick(WITHOUT), who, "present")
    deed = replace(deed, form="modal", modal=choice.pick((HAVE_TO, HAVE_TO, MUST, WANT)), negated=False)
    if choice.chance(0.5):
        body = replace(body, subject=pronoun)
        said, told = english.clause(body), german.clause(body, "final")
        return Phrase(f"{english.clause(deed)} because {said}", f"{german.clause(deed, 'main')}, weil {told}"), "."
    deed = replace(deed, subject=pronoun)
    spoken, also = english.clause(deed), german.clause(deed, "question")
    return Phrase(f"{english.clause(body)}, so {spoken}", f"{german.clause(body, 'main')}, also {also}"), "."


WITHOUT = ("go shopping", "go shopping", "go@supermarket:to", "go@city:to", "go@home", "hurry")


def meeting(choice: Choice) -> Sentence:
    """We are meeting at the cinema at half past seven: Wir treffen uns. Where shall we meet?"""
    verb = replace(entry("meet").verb, reflexive=True)
    people: tuple[Nominal, ...] = (WE, WE, WE, THEY, two_people(choice))
    who = choice.pick(people)
    form: Form = choice.pick(("present", "progressive", "past", "future", "modal"))
    modal = choice.pick((CAN, CAN, POLITE, SHALL, WANT, SHOULD)) if form == "modal" else None
    where = chosen_place(choice, "meet", who) if choice.chance(0.6) else None
    if choice.chance(0.15):
        when = choice.pick((clock(choice), coming_time(choice, long=False), None))
        body = Clause(WE, verb, complements=(where,) if where else (), time=when)
        return Phrase(f"let's {english.infinitive(body)}", german.clause(body, "question")), choice.pick("!.")
    times = {"past": past_time, "present": habit_time}.get(form, coming_time)
    time = choice.pick((clock(choice), times(choice, long=False), times(choice, long=False)))
    body = Clause(
        who, verb, form, modal, complements=(where,) if where else (), time=time if choice.chance(0.7) else None
    )
    if form == "present" and not body.time:
        body = replace(body, time=habit_time(choice, long=False))
    asks = modal in (SHALL, POLITE) or choice.chance(0.3 if who == WE else 0.15)
    if asks and choice.chance(0.4):
        word = choice.pick((Phrase("when", "wann"), Phrase("where", "wo"), Phrase("what time", "um wie viel Uhr")))
        body = replace(body, complements=() if word.english == "where" else body.complements)
        body = body if word.english == "where" else replace(body, time=None, hour=None)
        return with_word(body, word, "time" if word.english != "where" else "complements"), "?"
    if asks:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def hurrying(choice: Choice) -> Sentence:
    """Hurry up, the train leaves in ten minutes!"""
    noun = choice.pick(nouns_of(("public", "event")))
    where = choice.pick((*fixed_places("TO_TOWN"), None, None, None)) if "public" in noun.classes else None
    thing = noun_phrase(choice, noun, "known", adjective=0)
    if thing.owner or thing.determiner != THE:
        thing = NounPhrase(noun, THE)
    thing = replace(thing, plural=False, attached=where)
    verb = entry("leave").verb if "public" in noun.classes else entry("begin").verb
    time = choice.pick((coming_time(choice, long=False), clock(choice), Phrase("soon", "bald")))
    if time.english.split()[0] not in ("in", "at", "soon"):
        return hurrying(choice)
    body = Clause(thing, verb, time=time)
    hurry = choice.pick(("hurry", "hurry up", "hurry up", "please hurry"))
    start = "bitte beeil dich" if "please" in hurry else "beeil dich"
    return Phrase(f"{hurry}, {english.clause(body)}", f"{start}, {german.clause(body, 'main')}"), "!"
