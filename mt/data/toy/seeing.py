"""What one sees and hears others do, and half of them: I saw the children playing in the park."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.features import Case, Clause, Form, Name, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.german_words import HABEN, infinitive, person_index
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, object_phrase
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import CAN, HAVE_TO, IT, PERSONAL, POSSESSIVES, THE, THEY, WANT, WE, I

SENSES = {
    ("see saw", "sehen"): "play dance swim run work sleep sit stand wait cook read/lesen cry eat/essen come",
    ("hear heard", "hören"): "sing sing laugh cry play speak come",
}


def saw_doing(choice: Choice) -> Sentence:
    """I saw the children playing in the park: Ich habe die Kinder im Park spielen sehen."""
    (forms, sense), deeds = choice.pick(tuple(SENSES.items()))
    who, _ = person(choice)
    classes = ("child", "boy", "girl", "kin", "friend", "teacher", "neighbour") if choice.chance(0.7) else ("person",)
    other = (
        object_phrase(choice, classes, "known", who)
        if classes == ("person",)
        else noun_phrase(
            choice, choice.rare([one for one in nouns_of(classes) if one.english]), "known", who, adjective=0.15
        )
    )
    found = entry(*choice.pick(deeds.split()).split("/"))
    deed = verb_clause(choice, entry=found, who=other, rich=0.5, negation=0, form="past")
    unfit = deed.middle or deed.company or deed.favour or deed.dative or deed.manner
    if unfit or other == who or getattr(other, "relative", None) or english.nominal(other) == english.nominal(who):
        return saw_doing(choice)
    deed = replace(deed, time=None, hour=None)
    doing = replace(deed, verb=replace(deed.verb, english=deed.verb.english_ing))
    _, saw = forms.split()
    seen = " ".join([german.nominal(other, "accusative"), *german.midfield(deed), infinitive(deed.verb), sense])
    return Phrase(
        f"{english.nominal(who)} {saw} {english.nominal(other, subject=False)} {english.infinitive(doing)}",
        f"{german.nominal(who, 'nominative')} {HABEN[person_index(who)]} {seen}",
    ), "."


def half_of_them(choice: Choice) -> Sentence:
    """Half of the students were not here: Die Hälfte der Studenten war nicht hier."""
    nouns = nouns_of(
        ("child", "boy", "girl", "student", "teacher", "friend", "text", "building", "snack", "vessel", "clothes")
    )
    noun = choice.rare([one for one in nouns if one.english_plural and one.english])
    phrase = NounPhrase(noun, THE, plural=True)
    said = predicate(choice.pick(adjectives_of(noun)))
    if "human" in noun.classes and choice.chance(0.6):
        said = chosen_place(choice, "person_at", phrase) or said
    form: Form = choice.pick(("present", "past"))
    negated = choice.chance(0.25)
    told = Name("", german=f"die Hälfte {german.nominal(phrase, 'genitive')}")
    spoken = Name(f"half of {english.nominal(phrase)}", plural=True)
    body = Clause(told, BE, form, negated=negated, complements=(said,))
    return Phrase(plain(replace(body, subject=spoken)).english, plain(body).german), "."


def all_ours(choice: Choice) -> Sentence:
    """All my friends live in Berlin: Alle meine Freunde. The birds ate all our apples: alle unsere Äpfel."""
    who = person(choice)[0]
    owner = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "our", "their"))]
    acting = choice.chance(0.45)
    classes = ("friend", "child", "sibling", "student", "neighbour", "uncle", "aunt", "teacher", "pet")
    things = ("snack", "book", "key", "letter", "clothes", "picture", "flower", "asked", "toy", "pen", "bag", "window")
    noun = choice.rare([one for one in nouns_of(classes if acting else things) if one.english_plural and one.english])
    phrase = NounPhrase(noun, owner, plural=True)
    case: Case = "nominative" if acting else "accusative"
    named = Name(f"all {english.nominal(phrase)}", german=f"alle {german.nominal(phrase, case)}", plural=True)
    if acting:
        deeds = ("live", "work", "sleep", "play", "come", "sing") if "human" in noun.classes else ("sleep", "run")
        body = verb_clause(choice, entry=entry(choice.pick(deeds)), who=phrase, rich=0.5, negation=0, form=None)
        if choice.chance(0.3):
            body = Clause(
                phrase, BE, choice.pick(("present", "past")), complements=(predicate(choice.pick(adjectives_of(noun))),)
            )
        return plain(replace(body, subject=named, middle=None)), "."
    done = {
        "snack": ("eat/essen", "buy", "need"),
        "asked": ("answer/beantworten", "understand"),
        "window": ("clean", "open", "close"),
    }
    found = next((deeds for name, deeds in done.items() if name in noun.classes or name == noun.english), None)
    name = choice.pick(found or ("lose", "find", "forget", "sell"))
    form: Form = choice.pick(("past", "past", "perfect"))
    return plain(Clause(who, entry(*name.split("/")).verb, form, accusative=named)), "."


HANDED = ("give", "give", "give", "show", "sell", "send", "bring")


def gave_it(choice: Choice) -> Sentence:
    """She gave it to him: Sie hat es ihm gegeben. Can you show it to me? I sold them to my neighbour."""
    who = person(choice)[0]
    other = object_phrase(choice, ("person",), "known", who)
    if choice.chance(0.6):
        other = choice.pick([one for one in PERSONAL if one != who])
    thing = choice.pick((IT, IT, THEY))
    name = choice.pick(HANDED)
    form: Form = choice.pick(("past", "past", "perfect", "future", "modal"))
    modal = choice.pick((CAN, WANT, HAVE_TO)) if form == "modal" else None
    body = Clause(who, entry(name).verb, form, modal, accusative=thing, dative=other, receiver_last=True)
    if english.nominal(other) == english.nominal(who) or {who, other} <= {I, WE}:
        return gave_it(choice)
    if isinstance(other, Pronoun) and isinstance(who, Pronoun) and other.person == who.person != 3:
        return gave_it(choice)
    if choice.chance(0.2) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(replace(body, negated=choice.chance(0.12))), "."
