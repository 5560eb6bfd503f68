"""Relative clauses whose preposition English leaves at the end: the woman you are waiting for, the house they live in."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate
from mt.data.toy.daily import tense
from mt.data.toy.features import Case, Clause, Form, Modal, NounPhrase, Phrase, Relative, Sentence
from mt.data.toy.nouns import entries, nouns_of
from mt.data.toy.phrases import adjectives_of, with_adjective
from mt.data.toy.relatives import about_person, head
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import CAN, HAVE_TO, WANT

# verb | English and German preposition, case | what it is about
TABLE = """
wait | for auf accusative | man woman child student teacher doctor friend girl boy bus train letter neighbour
wait | for auf accusative | man woman friend bus train
speak | with mit dative | man woman student teacher doctor friend girl boy neighbour
speak | to mit dative | man woman student teacher doctor friend girl neighbour
play | with mit dative | child boy girl friend dog cat ball
dance | with mit dative | man woman boy girl friend student
work | with mit dative | man woman student friend teacher doctor
work | for für accusative | man woman doctor teacher hotel
live | in in dative | house flat city village street room
live | with mit dative | friend family man woman
work | in in dative | office hospital school restaurant hotel shop museum city
sit | on auf dative | chair bed
sleep | in in dative | bed room hotel
swim | in in dative | lake sea
come | from aus dative | city village
think | of an accusative | man woman friend boy girl problem
look forward | to auf accusative | film letter game
cook | for für accusative | man woman child friend family
"""
LINES = [tuple(part.strip() for part in line.split("|")) for line in entries(TABLE)]


def relative_apart(choice: Choice) -> Sentence:
    """Who is the tall woman that you are waiting for? The house we live in is old: in dem wir wohnen."""
    name, joint, nouns = choice.pick(LINES)
    word, wort, case = joint.split()
    noun = choice.rare(nouns_of(tuple(nouns.split())))
    phrase = replace(
        with_adjective(choice, head(choice, noun, plural=None if "human" in noun.classes else False), 0.25),
        intensified=False,
    )
    who, _ = person(choice)
    if (who.plural and choice.chance(0.3)) or getattr(who, "noun", None) == noun:
        return relative_apart(choice)
    verb = replace(entry(name).verb, english_rest=f"{entry(name).verb.english_rest} {word}".strip())
    form: Form = tense(choice)
    modal: Modal | None = choice.pick((CAN, WANT, HAVE_TO)) if form == "modal" else None
    if verb.stative or name in ("live", "come"):
        form, modal = choice.pick(("present", "present", "past")), None
    time = choice.pick((Phrase("yesterday", "gestern"), Phrase("last week", "letzte Woche")))
    body = Clause(who, verb, form, modal, time=time if form == "past" and name not in ("live", "come") else None)
    body = replace(body, time=body.time if choice.chance(0.3) else None)
    pronoun = choice.pick(("that", "that", "", "", "who" if "human" in noun.classes else "that"))
    relative = Relative(body, "prepositional", Phrase("", wort), bare=not pronoun, pronoun=pronoun, case=_case(case))
    return about(choice, replace(phrase, relative=relative))


def _case(name: str) -> Case:
    return "dative" if name == "dative" else "accusative"


def about(choice: Choice, phrase: NounPhrase) -> Sentence:
    """What is said or asked about somebody or something that a clause describes."""
    human = "human" in phrase.noun.classes
    if choice.chance(0.3):
        asks = Phrase("who", "wer") if human else Phrase("where", "wo")
        asks = choice.pick((asks, Phrase("where", "wo")))
        sein, be = ("sind", "are") if phrase.plural else ("ist", "is")
        told = german.nominal(phrase, "nominative").rstrip(",")
        return Phrase(f"{asks.english} {be} {english.nominal(phrase)}", f"{asks.german} {sein} {told}"), "?"
    if human:
        return about_person(choice, phrase), "."
    if choice.chance(0.25):
        who, _ = person(choice)
        return plain(
            Clause(who, choice.pick((entry("know"), entry("like"), entry("see"))).verb, accusative=phrase)
        ), "."
    options = [found for found in adjectives_of(phrase.noun) if found.english not in ("little", "good")]
    if not options or phrase.adjective:
        return about(choice, replace(phrase, adjective=None, colour=None)) if options else about_known(choice, phrase)
    degree = choice.pick(("", "", "very"))
    return plain(Clause(phrase, BE, complements=(predicate(choice.pick(options), degree),))), "."


def about_known(choice: Choice, phrase: NounPhrase) -> Sentence:
    """Somebody sees it."""
    who, _ = person(choice)
    return plain(Clause(who, entry("see").verb, accusative=phrase)), "."
