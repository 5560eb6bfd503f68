"""Two or three together: Anna and I, bread and milk, German, English and French."""

from mt.data.toy.choice import Choice
from mt.data.toy.features import Coordination, Name, Nominal, NounPhrase, Phrase
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase, object_phrase, subject, with_adjective
from mt.data.toy.words import NAMES, NUMBERS, POSSESSIVES, SOME, THE, A, I

AND = Phrase("and", "und")
COMMA = Phrase(",", ",")
Member = Name | NounPhrase


def two_people(choice: Choice) -> Coordination:
    """Anna and Peter, my brother and I, your mother and your father, the man and the woman."""
    kind = choice.weighted((0.2, 0.25, 0.2, 0.15, 0.2))
    owner = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "their"))]
    kin = [noun for noun in nouns_of(("kin", "friend", "neighbour")) if noun.english not in ("", "husband", "wife")]
    relative = NounPhrase(choice.rare(kin), owner, False)
    name = choice.pick(NAMES)
    if kind == 0:
        return Coordination(name, choice.pick([other for other in NAMES if other != name]), AND)
    if kind == 1:
        return Coordination(name, relative, AND) if choice.chance(0.5) else Coordination(relative, name, AND)
    if kind == 2:
        mine = NounPhrase(relative.noun, POSSESSIVES["my"], False)
        return Coordination(name if choice.chance(0.5) else mine, I, AND)
    if kind == 3:
        return Coordination(relative, NounPhrase(other_than(choice, relative, kin), owner, False), AND)
    people = nouns_of(("man", "woman", "boy", "girl", "child", "teacher", "student", "doctor"))
    article, plural = choice.pick(((THE, False), (THE, False), (THE, True), (A, False)))
    first = NounPhrase(choice.rare(people), article, plural)
    return Coordination(first, NounPhrase(other_than(choice, first, people), article, plural), AND)


def other_than(choice: Choice, phrase: NounPhrase, nouns):  # type: ignore[no-untyped-def]
    """A noun that is not that of the phrase."""
    return choice.pick([noun for noun in nouns if noun != phrase.noun])


def somebody(choice: Choice, classes: tuple[str, ...], mode: str = "subject") -> Nominal:
    """A subject of one of the classes; sometimes two people."""
    if classes[0] in ("adult", "human") and choice.chance(0.07):
        return two_people(choice)
    if classes[0] in ("adult", "human") and choice.chance(0.03):
        return called(choice)
    return subject(choice, classes, mode)


def called(choice: Choice) -> NounPhrase:
    """My friend Paul, his sister Anna."""
    name = choice.pick(NAMES)
    sex = "she" if name.possessive == "her" else "he"
    nouns = [one for one in nouns_of(("sibling", "uncle", "aunt")) if sex in one.classes]
    if sex == "he":
        nouns += nouns_of(("friend", "neighbour", "teacher"))
    owner = POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "their"))]
    return NounPhrase(choice.rare(nouns), owner, attached=Phrase(name.word, name.word))


def joined_objects(choice: Choice, classes: tuple[str, ...], mode: str, who: Nominal) -> Coordination | None:
    """Two, three or four objects of the same classes; none where those drawn do not go together."""
    members: list[Member] = []
    for _ in range(choice.weighted((0, 0, 0.52, 0.36, 0.12))):
        found = object_phrase(choice, classes, mode, who)
        if not isinstance(found, Name | NounPhrase) or not fits_beside(found, members):
            return None
        if isinstance(found, NounPhrase) and found.noun.mass and not found.adjective:
            found = with_adjective(choice, found, 0.3)
        members.append(found)
    listed: Member | Coordination = members[0]
    for member in members[1:-1]:
        listed = Coordination(listed, member, COMMA)
    return Coordination(listed, members[-1], AND)


def fits_beside(found: Member, members: list[Member]) -> bool:
    """Whether a phrase can stand in a list with those before it: another word, known where they are known."""
    if isinstance(found, NounPhrase) and (found.owner or found.intensified):
        return False
    words = [member.word if isinstance(member, Name) else member.noun.english for member in members]
    word = found.word if isinstance(found, Name) else found.noun.english
    towns = {isinstance(member, Name) and not member.possessive for member in (found, *members)}
    return word not in words and len(towns) == 1 and all(member.definite == found.definite for member in members)


def joined_people(choice: Choice, who: Nominal) -> Nominal:
    """Whom somebody is with: him, Anna, his brother and his sister."""
    if choice.chance(0.15):
        for _ in range(6):
            pair = joined_objects(choice, ("adult", "person"), "known", who)
            if pair is not None and not isinstance(pair.first, Coordination):
                return pair
    if choice.chance(0.08):
        friends = choice.rare(nouns_of(("friend", "child", "student", "girl", "boy", "teacher")))
        return with_adjective(choice, NounPhrase(friends, choice.pick((*NUMBERS[:5], SOME)), plural=True), 0.25)
    if choice.chance(0.04) and not isinstance(who, Name):
        return called(choice)
    classes = ("kin", "friend", "neighbour", "child") if choice.chance(0.45) else ("person",)
    if choice.chance(0.1) and not isinstance(who, Name):
        return noun_phrase(choice, choice.rare(nouns_of(("friend", "child", "dog"))), "known", who)
    return object_phrase(choice, classes, "known", who)
