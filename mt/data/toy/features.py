"""Feature structures: what a word, a noun phrase and a clause are before either language puts them into words.

A sentence is chosen once, as features; `english` and `german` each realise the same structure. German is therefore
a function of the features, and the features that matter for German are all visible in the English sentence.
"""

from dataclasses import dataclass, field
from typing import Literal

Case = Literal["nominative", "accusative", "dative", "genitive"]
Gender = Literal["masculine", "feminine", "neuter"]
Form = Literal["present", "progressive", "past", "perfect", "pluperfect", "future", "modal", "like to"]


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `plural` is empty for mass nouns, `singular` for nouns without one (parents)."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: Gender
    classes: frozenset[str]
    weak: bool = False  # takes -n outside the nominative singular: der Junge, den Jungen
    long_genitive: bool = False  # des Mannes, against des Vaters

    @property
    def mass(self) -> bool:
        """Whether the noun is uncountable."""
        return not self.english_plural and "human" not in self.classes


@dataclass(frozen=True)
class Adjective:
    """An adjective; `stem` is what endings attach to (teuer, teur-e), empty comparatives mean: not compared."""

    english: str
    german: str
    stem: str
    english_comparative: str = ""
    german_comparative: str = ""


@dataclass(frozen=True)
class Determiner:
    """A determiner; `german` is a stem whose kind decides its own endings and those of the adjective after it."""

    english: str
    german: str
    kind: Literal["definite", "der", "ein", "none"]
    plural: bool | None = None  # None: fits both numbers
    definite: bool = False
    then: str = ""  # both my sisters: meine beiden Schwestern


@dataclass(frozen=True)
class Phrase:
    """A phrase that needs no more agreement: an adverb, a prepositional phrase, a predicate."""

    english: str
    german: str
    direction: bool = False  # to school: stands before the manner in English


def phrase_pair(text: str) -> Phrase:
    """The phrase written `English/German`."""
    english, german = text.split("/")
    return Phrase(english.strip(), german.strip())


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun with its possessive; `it` stands for no noun in particular and is always es."""

    english: str
    english_object: str
    nominative: str
    accusative: str
    dative: str
    person: int
    plural: bool
    possessive: str


@dataclass(frozen=True)
class Name:
    """The name of a person, the same in both languages, or of a town."""

    word: str
    possessive: str = ""  # his or her
    german: str = ""

    person: int = 3
    plural: bool = False
    definite: bool = True


@dataclass(frozen=True)
class NounPhrase:
    """Determiner, adjective, noun, and what follows the noun."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    intensified: bool = False  # a very old house
    owner: "NounPhrase | Name | None" = None  # my father's car; takes the determiner's place
    relative: "Relative | None" = None
    measure: str = ""  # a cup of coffee: the noun is the cup, the measure names what is in it
    german_measure: str = ""
    colour: Adjective | None = None  # a small black dog: a second adjective, behind the first
    attached: Phrase | None = None  # the woman in the red coat, the key of the house

    person: int = 3

    @property
    def definite(self) -> bool:
        """Whether the phrase is known to the hearer."""
        return self.owner is not None or self.determiner.definite


@dataclass(frozen=True)
class Coordination:
    """Phrases joined: my brother and Anna, coffee or tea; bread, milk and cheese, where the first is itself a pair."""

    first: "Pronoun | Name | NounPhrase | Coordination"
    second: "Pronoun | Name | NounPhrase"
    conjunction: Phrase

    plural: bool = True

    @property
    def person(self) -> int:
        """First where I am among them (Anna and I), else third."""
        return 1 if 1 in (self.first.person, self.second.person) else 3

    @property
    def definite(self) -> bool:
        """Whether the phrase is known to the hearer."""
        return self.first.definite if isinstance(self.first, NounPhrase | Coordination) else True


Nominal = Pronoun | Name | NounPhrase | Coordination


@dataclass(frozen=True)
class Verb:
    """A verb in both languages. `english_rest` follows the inflected word (look *for*, get *up*, go *swimming*)."""

    english: str
    english_past: str
    english_participle: str
    english_ing: str
    english_rest: str
    german: str  # infinitive without particle
    german_third: str  # er-form of the present
    participle: str
    particle: str = ""  # separable: auf(stehen); ending in a space when written apart: schwimmen (gehen)
    auxiliary: Literal["haben", "sein"] = "haben"
    reflexive: bool = False
    stative: bool = False  # no progressive form
    movable_rest: bool = False  # pick him up, against look for him
    preterite: str = ""  # verbs whose simple past is not told by the perfect: war, hatte, wusste


@dataclass(frozen=True)
class Modal:
    """A modal verb: English before the infinitive, German in ich-, du-, er-, wir-form."""

    english: str
    german: tuple[str, str, str, str]
    inflected: bool = False  # wants to, has to: takes do-support and third-person -s
    past: bool = False


@dataclass(frozen=True)
class Clause:
    """A clause: a verb with its arguments and adjuncts, not yet in any order."""

    subject: Nominal
    verb: Verb
    form: Form = "present"
    modal: Modal | None = None
    negated: bool = False
    accusative: Nominal | None = None
    dative: Nominal | None = None
    middle: Phrase | None = None  # often, never, already
    manner: Phrase | None = None
    complements: tuple[Phrase, ...] = field(default=())  # predicate, place, direction, prepositional object
    time: Phrase | None = None
    hour: Phrase | None = (
        None  # a second time behind the first: on Sunday, before seven; unsaid where there is no first
    )
    hour_first: bool = False  # before seven on Sunday, rather than: on Sunday before seven; German says both alike
    company: Phrase | None = None  # with Anna, without his brother
    favour: Phrase | None = None  # for my mother
    receiver_last: bool = False  # gives the book to Anna, rather than: gives Anna the book; German says both alike
    gerund: bool = False  # likes swimming, rather than: likes to swim; German says both alike
    ongoing: bool = False  # was reading, is going to read, rather than: read, will read; German says both alike


@dataclass(frozen=True)
class Relative:
    """A relative clause; `role` is what the missing noun phrase is in it, `preposition` set for *in which*."""

    clause: Clause
    role: Literal["subject", "accusative", "dative", "prepositional"]
    preposition: Phrase | None = None
    bare: bool = False  # the book he reads, rather than: the book that he reads
    reduced: bool = False  # the man standing there, rather than: the man who is standing there
    pronoun: str = ""  # the woman that, rather than: who; German says both alike
    case: Case = "dative"  # after the preposition


# What a construction makes: both texts without capital and mark, and the mark at their end.
Sentence = tuple[Phrase, str]
