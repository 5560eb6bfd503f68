"""Questions whose preposition English leaves at the end: Who are you waiting for? Auf wen wartest du?"""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.features import Clause, Form, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import entries, nouns_of
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.places import FIXED
from mt.data.toy.times import coming_time, past_time, phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import CAN, HAVE_TO, THE, THESE, THIS, WANT

# verb | its particle in the question | who | what, where one asks for things too
TABLE = """
wait | for | auf wen | worauf
wait | for | auf wen | worauf
speak | to | mit wem |
speak | with | mit wem |
think | of | an wen | woran
look forward | to | auf wen | worauf
go/gehen | with | mit wem |
come | with | mit wem |
play | with | mit wem | womit
dance | with | mit wem |
work | for | für wen |
cook | for | für wen |
live | with | mit wem |
go shopping | with | mit wem |
go swimming | with | mit wem |
buy | for | für wen |
eat/essen | with | mit wem |
"""
LINES = [tuple(part.strip() for part in line.split("|")) for line in entries(TABLE)]
WENT_TO = ("to_school", "to_work", "to_the_mountains")
PLACED = (
    *phrases(
        "to the cinema/ins Kino, to the museum/ins Museum, to the park/in den Park, to the restaurant/ins Restaurant"
    ),
    *(FIXED[name] for name in WENT_TO[:2]),
)


def asking_apart(choice: Choice) -> Sentence:
    """What are you thinking of: Woran denkst du? Who did she go to the cinema with: Mit wem ist sie ins Kino gegangen?"""
    if choice.chance(0.15):
        return for_whom(choice)
    name, word, wen, wo = choice.pick(LINES)
    found = entry(*name.split("/"))
    ask, frage = choice.pick((("what", wo), ("who", wen))) if wo else ("who", wen)
    form: Form = choice.pick(("present", "progressive", "progressive", "past", "past", "modal"))
    if form == "progressive" and name == "live":
        form = "present"
    if form == "present" and name != "live":
        form = "progressive"
    modal = choice.pick((CAN, HAVE_TO, WANT)) if form == "modal" else None
    body = Clause(somebody_known(choice), found.verb, form, modal)
    if name == "buy":
        body = replace(body, accusative=noun_phrase(choice, choice.rare(nouns_of(("gift", "flower", "book"))), "known"))
    if name in ("go/gehen", "come"):
        where = choice.pick(PLACED) if name == "go/gehen" else choice.pick((FIXED["home"], *PLACED[:4]))
        body = replace(body, complements=(replace(where, direction=True),))
    time = None
    if choice.chance(0.35):
        time = (
            past_time(choice, long=False)
            if form == "past"
            else coming_time(choice, long=False)
            if form == "modal"
            else None
        )
    told = german.clause(replace(body, time=time), "question", front=frage)
    if name in ("wait", "think", "look forward", "speak"):
        verb = replace(found.verb, english_rest=f"{found.verb.english_rest} {word}".strip())
        return Phrase(f"{ask} {english.clause(replace(body, verb=verb, time=time), question=True)}", told), "?"
    spoken = f"{ask} {english.clause(body, question=True)} {word}"
    return Phrase(f"{spoken} {time.english}" if time else spoken, told), "?"


def for_whom(choice: Choice) -> Sentence:
    """Who is this letter from? Who are the flowers for: Für wen sind die Blumen?"""
    noun = choice.rare(nouns_of(("letter", "gift", "flower", "cake", "book", "picture", "coffee", "soup", "key")))
    plural = noun.english == "flower" or (bool(noun.english_plural) and choice.chance(0.2))
    thing = NounPhrase(noun, choice.pick((THE, THESE)) if plural else choice.pick((THE, THIS, THIS)), plural)
    be, sein = ("are", "sind") if plural else ("is", "ist")
    word, wort = choice.pick((("for", "für wen"), ("from", "von wem")))
    return Phrase(
        f"who {be} {english.nominal(thing)} {word}", f"{wort} {sein} {german.nominal(thing, 'nominative')}"
    ), "?"
