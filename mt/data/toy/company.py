"""Phrases beside the objects of a clause, with whom, without whom and for whom; and phrases inside noun phrases."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.features import Clause, Coordination, Name, Nominal, Noun, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, entries
from mt.data.toy.pairs import joined_people
from mt.data.toy.phrases import with_adjective
from mt.data.toy.places import FIXED, fixed_places, place
from mt.data.toy.verbs import Entry
from mt.data.toy.words import ALSO, BARE, POSSESSIVES, THE, A

# What people do with others.
SHARED = frozenset(
    """sing, dance, swim, come, go, fly, drive, live, go shopping, go swimming, watch television, sit, eat, drink, cook,
work, learn, listen to, come back, stay, play, wait, visit, watch, read, clean, repair, buy, write, make, order, wash""".replace(
        "\n", " "
    ).split(", ")
)
# What people do for others.
FAVOURS = frozenset(
    ["buy", "cook", "make", "order", "work", "sing", "write", "repair", "wash", "play", "clean", "look for"]
)


def with_company(choice: Choice, body: Clause, entry: Entry, probability: float) -> Clause:
    """The clause with its company, or with whom it is for, where the verb bears it."""
    human = isinstance(body.subject, Pronoun | Name | Coordination) or "human" in body.subject.noun.classes
    taken = any(phrase.english.startswith(("with ", "for ", "by ", "from ")) for phrase in body.complements)
    if not human or taken or body.dative or body.manner or entry.verb.german == "fressen":
        return body
    if entry.name in SHARED and choice.chance(probability):
        preposition = (
            "with" if body.negated or body.middle == ALSO else choice.pick(("with", "with", "with", "with", "without"))
        )
        who = joined_people(choice, body.subject)
        told = german.preposition("mit", who, "dative") if preposition == "with" else without(who)
        body = replace(body, company=Phrase(english.preposition(preposition, who), told))
    elif entry.name in FAVOURS and not body.negated and choice.chance(probability):
        who = joined_people(choice, body.subject)
        body = replace(
            body, favour=Phrase(english.preposition("for", who), german.preposition("für", who, "accusative"))
        )
    return body


def without(who: Nominal) -> str:
    """ohne ihn, ohne seinen Bruder."""
    return german.preposition("ohne", who, "accusative")


# nouns | what may be attached to them, as noun:preposition; OF genitives; IN_TOWN, TO_TOWN
ATTACHED_TABLE = """
man woman boy girl child student | hat:with bag:with dog:with guitar:with ball:with coat:in shirt:in window:at door:at table:at garden:in car:in house:front
woman girl | dress:in flower:with
house flat hotel restaurant school | sea:close lake:close station:close park:close church:close
village city | IN_COUNTRY IN_COUNTRY IN_COUNTRY sea:by sea:by sea:close lake:at lake:close
house flat hotel restaurant school | garden:with sea:by sea:by lake:at lake:by station:next park:next church:behind IN_TOWN
book newspaper letter picture key pen phone present bag | table:on bed:on chair:on kitchen:in car:in bag:in
apple egg bread cheese cake potato fish meat | table:on kitchen:in bag:in
bottle cup glass flower lamp | table:on kitchen:in window:at
dog cat bird horse cow | garden:in tree:under house:front street:on
table chair bed | kitchen:in room:in garden:in
table chair | window:by window:at
lamp door window computer bed picture | room:in room:in kitchen:in office:in
tree | garden:in house:behind house:front park:in
shop supermarket cinema museum church hospital | station:next city:in village:in street:in IN_TOWN
car bicycle | house:front street:on garden:in
train bus | TO_TOWN TO_TOWN FROM_TOWN to_work station:zu
coffee tea | with_milk with_milk without_milk
letter present | sister:from brother:from friend:from mother:from
park garden | school:behind school:behind house:behind station:next lake:close museum:next hotel:behind church:behind hospital:next
street | school:front house:front church:behind station:close
office | station:close city:in IN_TOWN
supermarket shop cinema museum | school:next hotel:next park:close station:close church:next
beach lake forest | village:close city:close hotel:close
weekend | lake:at sea:by beach:at IN_TOWN
picture letter house car | mother:of father:of daughter:of son:of brother:of sister:of teacher:of friend:of
door window room kitchen garden | house:of flat:of hotel:of school:of church:of
key | car:of house:of flat:of room:of car:zu house:zu flat:zu room:zu hotel_room:zu
name | street:of dog:of hotel:of teacher:of city:of film:of child:of school:of
teacher friend | daughter:of son:of brother:of sister:of
"""


def parse(table: str) -> dict[str, tuple[str, ...]]:
    """What may be attached to each noun; a noun of several lines takes what all of them say."""
    found: dict[str, tuple[str, ...]] = {}
    for nouns, members in (line.split("|") for line in entries(table)):
        for noun in nouns.split():
            found[noun] = (*found.get(noun, ()), *members.split())
    return found


ATTACHED = parse(ATTACHED_TABLE)


def attached(choice: Choice, phrase: Nominal | None, probability: float) -> Nominal | None:
    """The woman in the red coat, the key of the house: the phrase with another inside it, where it bears one."""
    if not isinstance(phrase, NounPhrase) or not choice.chance(probability):
        return phrase
    if phrase.measure in ("coffee", "tea") and not phrase.attached:
        return replace(phrase, attached=FIXED[choice.pick(("with_milk", "with_milk", "without_milk"))])
    busy = phrase.owner or phrase.relative or phrase.measure or phrase.attached or phrase.intensified
    options = ATTACHED.get(phrase.noun.english, ())
    if busy or not options or phrase.determiner not in (THE, A, *((BARE,) if phrase.noun.mass else ())):
        return phrase
    member = choice.pick(options)
    noun, _, preposition = member.partition(":")
    noun = noun.replace("_", " ")
    if not preposition:
        return replace(phrase, attached=choice.pick(fixed_places(member)))
    if NOUNS[noun] == phrase.noun:  # no bag in the bag
        return phrase
    return replace(phrase, attached=attachment(choice, NOUNS[noun], preposition))


def attachment(choice: Choice, noun: Noun, preposition: str) -> Phrase:
    """The phrase with its preposition, or in the genitive."""
    article = choice.pick((A, THE)) if preposition == "with" or "clothes" in noun.classes else THE
    own_room = noun.english in ("room", "kitchen", "office") and choice.chance(0.5)
    if "kin" in noun.classes or preposition == "zu" or noun.english == "friend" or own_room:
        article = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "their"))]
    inner = with_adjective(choice, NounPhrase(noun, article), 0.5 if article == A else 0.25)
    inner = replace(inner, intensified=False)
    if preposition == "of":
        return Phrase(f"of {english.nominal(inner)}", german.nominal(inner, "genitive"))
    found = place(preposition, inner, english.nominal(inner), direction=False)
    return Phrase(found.english, found.german)


def described(choice: Choice, body: Clause) -> Clause:
    """The clause with something attached to its subject or, where no phrase follows it, to its object."""
    who = attached(choice, body.subject, 0.1)
    assert who is not None
    body = replace(body, subject=who)
    followed = (
        body.verb.english in ("cook", "order", "make", "want", "bring")
        or body.complements
        or body.company
        or body.favour
    )
    denied = body.negated and not getattr(body.accusative, "definite", False)
    return body if followed or denied else replace(body, accusative=attached(choice, body.accusative, 0.35))
