"""Talk: polite questions, answers with yes and no, what one does, for how long, how often, whose, and who that is."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.company import attached
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Sentence, Verb
from mt.data.toy.german_words import person_index, present
from mt.data.toy.likings import LIKED
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, object_phrase, possessive, with_adjective
from mt.data.toy.predicates import any_clause
from mt.data.toy.questions import with_word
from mt.data.toy.statements import PLEASE, REQUESTED, awkward, plain
from mt.data.toy.times import coming_time, past_time
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, CAN, NAMES, POLITE, POSSESSIVES, THE, THESE, THIS, WE, WOULD, YOU, I

DO = Verb("do", "did", "done", "doing", "", "machen", "macht", "gemacht")


def polite(choice: Choice) -> Sentence:
    """Can you help me, please? Could you please open the window?"""
    body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.15, negation=0, form="present")
    while awkward(body) or body.middle:
        body = verb_clause(choice, entry=choice.rare(REQUESTED), who=YOU, rich=0.15, negation=0, form="present")
    body = replace(
        body, form="modal", modal=choice.pick((CAN, CAN, POLITE, WOULD)), time=None, hour=None, middle=PLEASE
    )
    told = german.clause(body, "question")
    if choice.chance(0.5):
        return Phrase(english.clause(body, question=True), told), "?"
    return Phrase(english.clause(replace(body, middle=None), question=True) + ", please", told), "?"


def answer(choice: Choice) -> Sentence:
    """Yes, I am tired. No, they do not live here."""
    body = any_clause(choice, rich=0.1, negation=0.4)
    word = Phrase("no", "nein") if body.negated else Phrase("yes", "ja")
    said = plain(body)
    return Phrase(f"{word.english}, {said.english}", f"{word.german}, {said.german}"), "."


def doing(choice: Choice) -> Sentence:
    """What are you doing? What did your brother do yesterday? What will they do at the weekend?"""
    who = somebody(choice, ("adult", "young"))
    while who == I or (isinstance(who, NounPhrase) and who.determiner.english in ("a", "many", "all")):
        who = somebody(choice, ("adult", "young"))
    form = choice.pick(("present", "progressive", "progressive", "past", "future"))
    thing = Name("what")
    body = Clause(who, DO, form, accusative=thing, ongoing=choice.chance(0.5))  # type: ignore[arg-type]
    if choice.chance(0.6):
        time = past_time(choice, long=False) if form == "past" else coming_time(choice, long=False)
        body = replace(body, time=time)
    if form in ("progressive", "present") and choice.chance(0.5):
        body = replace(body, complements=(place_of(choice, who),), time=None, hour=None)
    if form == "present" and not body.complements:
        body = replace(body, form="progressive")
    return with_word(body, Phrase("what", "was"), "accusative"), "?"


def place_of(choice: Choice, who) -> Phrase:  # type: ignore[no-untyped-def]
    """Where somebody is."""
    found = None
    while found is None:
        found = chosen_place(choice, "person_at", who)
    return found


def how_long_often(choice: Choice) -> Sentence:
    """How often do you go swimming? How long did they wait?"""
    long = choice.chance(0.4)
    lasting = (
        "sleep",
        "work",
        "wait",
        "dance",
        "swim",
        "play",
        "read",
        "sing",
        "sit",
        "watch television",
        "stay",
        "live",
    )
    while True:
        found = entry(choice.pick(lasting)) if long else choice.rare(LIKED)
        form = choice.pick(("past", "past", "present") if long else ("present", "present", "past"))
        body = verb_clause(choice, entry=found, rich=0.15, negation=0, form=form)  # type: ignore[arg-type]
        if body.subject != I and not body.middle and not body.manner:
            break
    body = replace(body, time=None, hour=None)
    word = Phrase("how long", "wie lange") if long else Phrase("how often", "wie oft")
    return with_word(body, word, "time"), "?"


OPENERS = (
    (Phrase("do you know", "weißt du"), "?"),
    (Phrase("do you know", "weißt du"), "?"),
    (Phrase("can you tell me", "kannst du mir sagen"), "?"),
    (Phrase("does she know", "weiß sie"), "?"),
    (Phrase("I do not know", "ich weiß nicht"), "."),
    (Phrase("nobody knows", "niemand weiß"), "."),
    (Phrase("he asked me", "er hat mich gefragt"), "."),
)


def whose(choice: Choice) -> Sentence:
    """Whose car is this? Whose dog is in the garden?"""
    noun = choice.rare(nouns_of(("owned",)))
    plural = bool(noun.english_plural) and choice.chance(0.25)
    phrase = NounPhrase(noun, THE, plural)
    spoken = f"whose {english.nominal(phrase).removeprefix('the ')}"
    told = f"wessen {german.nominal(phrase, 'nominative').split(' ', 1)[1]}"
    verb, sein = ("are", "sind") if plural else ("is", "ist")
    group = {"pet": "animal_at", "portable": "thing_at", "human": "person_at"}
    found = next((place for name, place in group.items() if name in noun.classes), "")
    where = chosen_place(choice, found, phrase) if found and choice.chance(0.6) else None
    if where is None or choice.chance(0.3):
        this = choice.pick(("these", "those") if plural else ("this", "that"))
        there, dort = (f" {where.english}", f" {where.german}") if where else ("", "")
        if choice.chance(0.4):
            start, mark = choice.pick(OPENERS)
            return Phrase(f"{start.english} {spoken} {this} {verb}", f"{start.german}, {told} das {sein}"), mark
        return Phrase(f"{spoken} {verb} {this}{there}", f"{told} {sein} das{dort}"), "?"
    return Phrase(f"{spoken} {verb} {where.english}", f"{told} {sein} {where.german}"), "?"


def who_is(choice: Choice) -> Sentence:
    """Who is the woman in the red dress? What is under the table? Who is at the door?"""
    kind = choice.weighted((0.6, 0.4))
    past = choice.chance(0.2)
    if kind == 0:
        nouns = nouns_of(("man", "woman", "boy", "girl", "child", "teacher", "doctor", "student"))
        phrase = NounPhrase(choice.rare(nouns), THE, choice.chance(0.2))
        if choice.chance(0.3):
            phrase = replace(phrase, determiner=THESE if phrase.plural else THIS)
        found = attached(choice, noun_phrase_with(choice, phrase), 0.8)
        assert found is not None
        sein = present(BE, person_index(found)) if not past else "waren" if found.plural else "war"
        verb = english.be_form(found, past=past)
        return Phrase(f"who {verb} {english.nominal(found)}", f"wer {sein} {german.nominal(found, 'nominative')}"), "?"
    group = choice.pick(("person_at", "thing_at", "animal_at"))
    where = chosen_place(choice, group, None)
    assert where is not None
    word = Phrase("who", "wer") if group == "person_at" else Phrase("what", "was")
    verb, sein = ("was", "war") if past else ("is", "ist")
    return Phrase(f"{word.english} {verb} {where.english}", f"{word.german} {sein} {where.german}"), "?"


def noun_phrase_with(choice: Choice, phrase: NounPhrase) -> NounPhrase:
    """The phrase, sometimes with an adjective."""

    return replace(with_adjective(choice, phrase, 0.3), intensified=False)


def name_of(choice: Choice) -> Sentence:
    """My name is Anna. What is your sister's name? My brother's name is Peter."""
    owner = POSSESSIVES[choice.pick(("my", "your", "his", "her"))]
    her = owner.english == "her" or (owner.english in ("my", "your") and choice.chance(0.5))
    phrase = NounPhrase(NOUNS["name"], owner)
    if choice.chance(0.5):
        kin = choice.rare(
            [noun for noun in nouns_of(("kin", "friend", "teacher", "neighbour", "dog", "cat")) if noun.english]
        )
        phrase = NounPhrase(NOUNS["name"], THE, owner=NounPhrase(kin, possessive(choice, kin, None)))
        her = "she" in kin.classes
    name = choice.pick([found for found in NAMES if found.possessive == ("her" if her else "his")])
    spoken, told = english.nominal(phrase), german.nominal(phrase, "nominative")
    if choice.chance(0.4) and (phrase.owner or owner.english != "my"):
        return Phrase(f"what is {spoken}", f"wie ist {told}"), "?"
    return Phrase(f"{spoken} is {name.word}", f"{told} ist {name.word}"), "."


MOVED_BY = (
    (("letter", "present", "song", "picture", "flower"), ("happy", "happy", "sad", "angry")),
    (("film", "book", "story", "music"), ("happy", "sad", "tired")),
    (("weather", "work", "winter"), ("tired", "sad", "sick")),
    (("question", "game", "problem", "word"), ("angry", "sad", "tired")),
    (("child", "friend", "daughter", "son", "husband", "teacher", "neighbour"), ("happy", "angry", "sad")),
)


def made_so(choice: Choice) -> Sentence:
    """Your letter made me very happy: Dein Brief hat mich sehr glücklich gemacht."""
    nouns, words = choice.pick(MOVED_BY)
    what = noun_phrase(choice, choice.rare(nouns_of(nouns)), "known", adjective=0.2)
    whom: Nominal = choice.pick((I, I, WE, YOU, object_phrase(choice, ("person",), "known", what)))
    if getattr(whom, "noun", None) == what.noun:
        return made_so(choice)
    how = predicate(ADJECTIVE[choice.pick(words)], choice.pick(("", "very", "so")))
    form: Form = choice.pick(("past", "past", "present", "future"))
    body = Clause(what, entry("make").verb, form, accusative=whom, complements=(how,))
    if what.determiner.english.startswith(("some", "many", "a lot")):
        return made_so(choice)
    return plain(body), "."
