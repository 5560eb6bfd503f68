"""Choosing noun phrases: which noun, determiner, number and adjective make sense together."""

from dataclasses import replace
from functools import cache

from mt.data.toy.choice import Choice
from mt.data.toy.degrees import comparative, superlative
from mt.data.toy.features import Adjective, Determiner, Name, Nominal, Noun, NounPhrase, Pronoun
from mt.data.toy.nouns import fits, nouns_of
from mt.data.toy.words import (
    ADJECTIVES,
    ALL,
    BARE,
    COLOURS,
    HE,
    MANY,
    MUCH,
    NAMES,
    NUMBERS,
    ONE,
    ORDERED,
    PERSONAL,
    POSSESSIVES,
    SHE,
    SO_MANY,
    SOME,
    SOME_OF_IT,
    THAT,
    THE,
    THE_ADDED,
    THE_UNSAID,
    THESE,
    THEY,
    THIS,
    THOSE,
    TOWNS,
    WE,
    YOU,
    A,
    I,
)

SPOUSES = {"husband": ("my", "your", "her"), "wife": ("my", "your", "his")}
OWNERS = ("my", "my", "my", "your", "your", "his", "her", "our", "our", "their")
BEFORE_COLOURS = ("big", "small", "little", "old", "new", "beautiful", "clean", "dirty")
OWNABLE = frozenset({"owned", "sibling", "generation3", "asked", "told", "dish"})


@cache
def adjectives_of(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives said of a noun."""
    return tuple(adjective for adjective, classes in ADJECTIVES if fits(noun, classes))


def sex_pronoun(phrase: Nominal) -> Pronoun | None:
    """The pronoun that takes up a phrase in a later clause; none where English and German would differ."""
    if isinstance(phrase, Pronoun):
        return phrase
    if phrase.plural:
        return WE if phrase.person == 1 else THEY
    if isinstance(phrase, Name):
        return HE if phrase.possessive == "his" else SHE
    assert isinstance(phrase, NounPhrase)  # a coordination is plural
    return HE if "he" in phrase.noun.classes else SHE if "she" in phrase.noun.classes else None


def own(subject: Nominal | None) -> str | None:
    """The possessive that points back to the subject: she loves her dog."""
    pronoun = sex_pronoun(subject) if subject is not None else None
    return pronoun.possessive if pronoun else None


def possessive(choice: Choice, noun: Noun, subject: Nominal | None) -> Determiner:
    """my, your, …; mostly the subject's own. Where he or she is not settled (the child), neither is used."""
    back = own(subject)
    options: tuple[str, ...] = SPOUSES.get(noun.english, OWNERS)
    if "clothes" in noun.classes:  # one wears one's own coat
        options = ("my", "my", "your", "her") if noun.english.endswith("dress") else ("my", "my", "your", "his", "her")
    if (isinstance(subject, NounPhrase) and back is None) or back == "":
        options = tuple(word for word in options if word in ("my", "your", "our"))
    return POSSESSIVES[back if back and back in options and choice.chance(0.75) else choice.pick(options)]


def with_adjective(choice: Choice, phrase: NounPhrase, probability: float) -> NounPhrase:
    """The phrase with a fitting adjective, sometimes a very fitting one."""
    ordered = [found for found, classes in ORDERED if fits(phrase.noun, classes)]
    if ordered and phrase.determiner == THE and choice.chance(0.06):
        return replace(phrase, adjective=choice.pick(ordered))
    options = adjectives_of(phrase.noun)
    if not options or not choice.chance(probability) or phrase.measure or phrase.determiner == THE_ADDED:
        return phrase
    adjective = choice.rare(options)
    kin = phrase.determiner in POSSESSIVES.values() and "human" in phrase.noun.classes
    graded = bool(adjective.english_comparative and adjective.german_comparative)
    ours = phrase.determiner in POSSESSIVES.values() and not phrase.plural
    if (
        graded
        and ours
        and choice.chance(0.45 if adjective.english in ("old", "young", "good") else 0.0 if kin else 0.1)
    ):
        return replace(phrase, adjective=superlative(adjective))
    graded = graded and not kin
    if graded and phrase.determiner in (THE, A) and choice.chance(0.1):
        return replace(phrase, adjective=(superlative if phrase.determiner == THE else comparative)(adjective))
    intense = (
        not kin
        and adjective.english not in ("German", "French", "English")
        and phrase.determiner in (A, BARE)
        and choice.chance(0.17)
    )
    if not intense and adjective.english in BEFORE_COLOURS and choice.chance(0.55):
        colours = [other for other in options if other.english in COLOURS]
        return replace(phrase, adjective=adjective, colour=choice.pick(colours) if colours else None)
    return replace(phrase, adjective=adjective, intensified=intense)


def determiner(choice: Choice, noun: Noun, mode: str, subject: Nominal | None, *, plural: bool) -> Determiner:
    """A determiner for a count noun; `mode` is that of `noun_phrase`."""
    chosen = near_determiner(choice, noun, mode, subject, plural=plural)
    if chosen in (THIS, THESE) and choice.chance(0.4):
        return THAT if chosen == THIS else THOSE
    return chosen


def near_determiner(choice: Choice, noun: Noun, mode: str, subject: Nominal | None, *, plural: bool) -> Determiner:
    """The same with *this* where it could be *that*."""
    everyone = THE if noun.classes & {"owned", "kin"} else ALL
    numbers = (choice.pick(NUMBERS), choice.pick(NUMBERS[:3]))
    if mode == "new":
        return (
            choice.pick((*numbers, *numbers, MANY, BARE, SOME, choice.pick(SO_MANY)))
            if plural
            else choice.pick((A, A, A, A, A, ONE))
        )
    if "kin" in noun.classes:
        mine = possessive(choice, noun, subject)
        if plural and "generation3" not in noun.classes and choice.chance(0.12):
            both = choice.pick(("both", "both of"))
            return replace(mine, english=f"{both} {mine.english}", plural=True, then="beiden")
        return mine
    if "owned" in noun.classes and choice.chance({"given": 0.0, "shown": 0.0, "subject": 0.25}.get(mode, 0.35)):
        return possessive(choice, noun, subject)
    if plural:
        kinds = {
            "known": (THE,) * 6 + (THESE,),
            "shown": (THE, THE, THESE),
            "generic": (BARE,) * 5 + (THE, THE, THESE),
            "worn": (BARE, BARE, THE, THESE),
            "subject": (THE,) * 6 + (THESE, THESE, MANY, everyone, *numbers),
        }
        return choice.pick(kinds.get(mode, (THE, THE, BARE, BARE, BARE, THESE, MANY, SOME, *numbers)))
    article = A if noun.classes & {"human", "animal"} else THE
    kinds = {
        "known": (THE,) * 5 + (THIS,),
        "shown": (THE, THE, THIS),
        "generic": (THE,) * 4 + (THIS,),
        "subject": (THE,) * 10 + (THIS, article),
    }
    return choice.pick(kinds.get(mode, (THE, THE, THE, A, A, A, A, THIS)))


def noun_phrase(
    choice: Choice, noun: Noun, mode: str = "any", subject: Nominal | None = None, adjective: float = 0.3
) -> NounPhrase:
    """A phrase around the noun: number, determiner, adjective, sometimes an owner.

    Args:
        choice: the random stream.
        noun: the noun.
        mode: "known", "new", "generic", "given", "shown", "subject", "played" or "any".
        subject: the subject of the clause, for possessives that point back to it.
        adjective: the probability of an adjective.
    """
    if noun.mass:
        return mass_phrase(choice, noun, mode, subject, adjective)
    if mode == "played":
        return NounPhrase(noun, THE_UNSAID)
    if mode == "any" and "dish" in noun.classes and choice.chance(0.12):
        return NounPhrase(noun, SOME_OF_IT)  # some soup: Suppe
    plural = not noun.english or (bool(noun.english_plural) and choice.chance(plural_share(noun, mode)))
    chosen = determiner(choice, noun, mode, subject, plural=plural)
    phrase = NounPhrase(noun, chosen, plural)
    if (chosen == THE or "kin" in noun.classes) and noun.classes & OWNABLE and choice.chance(0.17) and mode != "new":
        whose = replace(phrase, owner=owner(choice, noun))
        options = [found for found in adjectives_of(noun) if not noun.classes & {"human"}]
        return replace(whose, adjective=choice.rare(options)) if options and choice.chance(0.45) else whose
    return with_adjective(choice, phrase, adjective)


def plural_share(noun: Noun, mode: str) -> float:
    """How often a noun stands in the plural."""
    if mode == "generic":
        return 0.5
    if "shoe" in noun.classes:
        return 0.8
    if mode == "worn":
        return 0.0
    return 0.2 if noun.classes & {"building", "nature", "settlement"} else 0.3


def mass_phrase(choice: Choice, noun: Noun, mode: str, subject: Nominal | None, adjective: float) -> NounPhrase:
    """A phrase around a noun without plural."""
    if "aid" in noun.classes:  # help, your help
        others = [word for word in ("your", "your", "his", "her", "my") if word != own(subject)]
        return NounPhrase(noun, choice.pick((BARE, BARE, POSSESSIVES[choice.pick(others)])))
    if "sight" in noun.classes:
        return NounPhrase(noun, possessive(choice, noun, subject))  # the glasses would be those one drinks from
    if "speech" in noun.classes or "sport" in noun.classes:
        return NounPhrase(noun, BARE)
    if noun.classes & {"weather", "sky"} or noun.english == "sea":
        return NounPhrase(noun, THE)
    chosen = THE if mode in ("known", "subject") or choice.chance(0.25) else BARE
    if noun.classes & {"meal", "labour"}:
        chosen = THE_ADDED if "meal" in noun.classes else BARE
    if noun.classes & {"owned"} and mode != "new" and choice.chance(0.5):
        chosen = possessive(choice, noun, subject)
    if "labour" in noun.classes:
        chosen = (
            possessive(choice, noun, subject) if mode != "new" else choice.pick((BARE, BARE, MUCH[1], MUCH[3], MUCH[4]))
        )
    if chosen == BARE and "labour" not in noun.classes and choice.chance(0.15):
        return NounPhrase(noun, choice.pick((SOME_OF_IT, SOME_OF_IT, *MUCH)))
    return with_adjective(choice, NounPhrase(noun, chosen), adjective if chosen != BARE else adjective * 0.8)


def measured(choice: Choice, noun: Noun) -> NounPhrase:
    """a cup of coffee, two glasses of water, the bottle of wine."""
    vessel = choice.pick(nouns_of(("cup",) if "hot" in noun.classes else ("glass", "bottle")))
    plural = choice.chance(0.4)
    chosen = choice.pick(NUMBERS[:4]) if plural else A
    return NounPhrase(vessel, chosen, plural, measure=noun.english, german_measure=noun.german)


def owner(choice: Choice, noun: Noun) -> NounPhrase | Name:
    """Anna, or my father, as the owner of something."""
    if choice.chance(0.5):
        return choice.pick([name for name in NAMES if not noun.english.endswith("dress") or name.possessive == "her"])
    if "kin" not in noun.classes and not noun.english.endswith("dress") and choice.chance(0.3):
        people = nouns_of(("teacher", "doctor", "man", "student", "neighbour", "girl"))
        return NounPhrase(choice.pick([other for other in people if other != noun]), THE)
    if "kin" in noun.classes:
        return NounPhrase(choice.pick(nouns_of(("friend", "neighbour", "teacher"))), POSSESSIVES[choice.pick(OWNERS)])
    kin = choice.rare(
        [other for other in nouns_of(("kin", "friend", "neighbour", "teacher")) if other.english not in SPOUSES]
    )
    plural = not kin.english or ("neighbour" in kin.english and choice.chance(0.5))
    return NounPhrase(kin, POSSESSIVES[choice.pick(OWNERS)], plural)


def subject(choice: Choice, classes: tuple[str, ...], mode: str = "subject") -> Nominal:
    """A subject of one of the classes; adults may be pronouns or names."""
    if "adult" in classes or "human" in classes:
        kind = choice.weighted((0.5, 0.12, 0.38))
        if kind == 0:
            return choice.rare(PERSONAL) if choice.chance(0.7) else choice.pick((I, I, HE, SHE, WE, YOU))
        if kind == 1:
            return choice.pick(NAMES)
    noun = choice.rare(nouns_of(classes))
    return noun_phrase(choice, noun, mode, adjective=0.18)


def object_phrase(choice: Choice, classes: tuple[str, ...], mode: str, subject: Nominal) -> Nominal:
    """An object of one of the classes that is neither the subject nor the same word."""
    if "person" in classes and choice.chance(0.4 if len(classes) == 1 else 0.25):
        kind = choice.chance(0.3)
        return choice.pick([name for name in NAMES if name != subject]) if kind else object_pronoun(choice, subject)
    if "town" in classes and choice.chance(0.12):
        town = choice.pick(TOWNS)
        return Name(town.english, german=town.german)
    wanted = tuple(part for name in classes for part in (("adult", "young") if name == "person" else (name,)))
    same = subject.noun if isinstance(subject, NounPhrase) else None
    he = sex_pronoun(subject) == HE or (isinstance(subject, NounPhrase) and "he" in subject.noun.classes)
    options = [noun for noun in nouns_of(wanted) if noun != same and not (he and noun.english.endswith("dress"))]
    noun = choice.rare(options)
    if noun.classes & {"drink", "alcohol"} and mode == "any" and choice.chance(0.3):
        return measured(choice, noun)
    phrase = noun_phrase(choice, noun, mode, subject)
    if subject.plural and "clothes" in noun.classes and not phrase.plural:
        return NounPhrase(noun, POSSESSIVES[own(subject) or "their"], plural=True, adjective=phrase.adjective)
    return phrase


def object_pronoun(choice: Choice, subject: Nominal) -> Pronoun:
    """me, him, them …, never the speaker acting on himself without *sich*."""
    first = subject.person == 1
    options = [pronoun for pronoun in PERSONAL if pronoun.person == 3 or pronoun.person != subject.person]
    options = [pronoun for pronoun in options if not (first and pronoun.person == 1)]
    return choice.rare(options)
