"""Each noun after every preposition and determiner: where it is, what one sees, whose it is, with whom one comes."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import predicate, verb_clause
from mt.data.toy.features import Case, Clause, Form, Name, Noun, NounPhrase, Phrase, Sentence
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, sex_pronoun, subject, with_adjective
from mt.data.toy.places import place
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, BARE, POSSESSIVES, THE, THESE, THIS, A

DETERMINERS = (THE, THE, A, THIS, *POSSESSIVES.values(), *POSSESSIVES.values())
SURFACES = ("table", "kitchen table", "chair", "bed")
VESSELS = ("bottle", "glass", "cup", "bag")
THINGS = [
    noun
    for noun in NOUNS.values()
    if noun.english_plural
    and noun.classes & {"furniture", "building", "settlement", "vehicle", "tall_plant", "carried", "vessel"}
]
PEOPLE = [
    noun
    for noun in NOUNS.values()
    if noun.english and "human" in noun.classes and noun.classes & {"kin", "owned", "job", "young", "adult"}
]


def fitting(choice: Choice, noun: Noun, adjective: float) -> NounPhrase:
    """The noun with any determiner that it bears, in the singular."""
    known = DETERMINERS if noun.classes & {"owned", "furniture", "vessel"} else (THE, A, THIS)
    if "kin" in noun.classes:
        known = tuple(POSSESSIVES.values())
        known = tuple(one for one in known if noun.english not in ("husband", "wife") or one == POSSESSIVES["my"])
    plural = bool(noun.english_plural) and not noun.classes & {"building", "settlement"} and choice.chance(0.15)
    if plural:
        known = tuple(one for one in (*known, THESE) if one not in (A, THIS))
    return replace(with_adjective(choice, NounPhrase(noun, choice.pick(known), plural), adjective), intensified=False)


def where_exactly(choice: Choice) -> Sentence:
    """My bag is behind our kitchen table. There is a black cat under her bed: the dative of every noun."""
    noun = choice.rare(THINGS)
    prepositions = [] if "indoor" in noun.classes else ["next", "behind", "front"]
    prepositions += ["on", "on", "under", "under"] if noun.english in SURFACES else []
    prepositions += ["under"] if "vehicle" in noun.classes or "tall_plant" in noun.classes else []
    prepositions += ["in", "in", "in"] if noun.english in (*VESSELS, "car", "house", "flat") else []
    prepositions += ["in", "in", "close"] if noun.classes & {"building", "settlement"} else []
    phrase = fitting(choice, noun, 0.25)
    where = place(choice.pick(prepositions), phrase, english.nominal(phrase), direction=False)
    small = [other for other in nouns_of(("pet", "small_animal", "portable", "toy")) if other != noun]
    if choice.chance(0.4):
        there = replace(with_adjective(choice, NounPhrase(choice.rare(small), A), 0.5), intensified=False)
        told = f"{where.german} ist {german.nominal(there, 'nominative')}"
        return Phrase(f"there is {english.nominal(there)} {where.english}", told), "."
    who = noun_phrase(choice, choice.rare(small), "known", adjective=0.1)
    if choice.chance(0.4) and not noun.classes & {"vessel", "carried"}:
        who = noun_phrase(choice, choice.rare(PEOPLE), "known", adjective=0.1)
    return plain(Clause(who, BE, choice.pick(("present", "present", "past")), complements=(where,))), "."


def with_whom(choice: Choice) -> Sentence:
    """The red car belongs to our neighbour. I helped her grandfather. He is coming with our teacher."""
    person = fitting(choice, choice.rare(PEOPLE), 0.2)
    kind = choice.weighted((0.3, 0.3, 0.4))
    if kind == 0:
        things = nouns_of(("road", "wheels", "house", "flat", "pet", "carried", "clothes", "tool"))
        thing = with_adjective(choice, NounPhrase(choice.rare(things), choice.pick((THE, THIS))), 0.3)
        return plain(Clause(thing, entry("belong to").verb, dative=person)), "."
    who = subject(choice, ("adult",))
    pronoun = sex_pronoun(who)
    if pronoun is None or pronoun.possessive == person.determiner.english or getattr(who, "noun", None) == person.noun:
        return with_whom(choice)
    form: Form = choice.pick(("present", "progressive", "past", "past"))
    if kind == 1:
        return plain(Clause(who, entry("help").verb, form, dative=person)), "."
    verb = entry(choice.pick(("come", "dance", "work", "speak", "live", "play"))).verb
    word, wort = choice.pick((("with", "mit"), ("with", "mit"), ("without", "ohne")))
    told = german.preposition(wort, person, "dative" if wort == "mit" else "accusative")
    return plain(Clause(who, verb, form, company=Phrase(english.preposition(word, person), told))), "."


BESIDE: tuple[tuple[str, str, Case, tuple[str, ...]], ...] = (
    ("next to", "neben", "dative", ("sit", "stand", "live")),
    ("behind", "hinter", "dative", ("sit", "stand")),
    ("in front of", "vor", "dative", ("sit", "stand")),
    ("for", "auf", "accusative", ("wait",)),
    ("for", "auf", "accusative", ("wait",)),
    ("of", "an", "accusative", ("think",)),
    ("for", "für", "accusative", ("cook", "work")),
    ("to", "mit", "dative", ("speak",)),
    ("with", "mit", "dative", ("speak", "play", "go swimming", "go shopping", "live")),
)


def beside_whom(choice: Choice) -> Sentence:
    """I am sitting next to your older sister. We were waiting for our English teacher. The flowers are for her aunt."""
    person_there = fitting(choice, choice.rare(PEOPLE), 0.45)
    if choice.chance(0.2):
        name = choice.pick(("gift", "flower", "letter", "cake", "book", "dress", "picture", "bag", "soup"))
        thing = noun_phrase(choice, choice.rare(nouns_of((name,))), "known", adjective=0.15)
        thing = replace(thing, determiner=THIS if not thing.plural else THE, owner=None)
        word, wort = choice.pick((("for", "für"), ("for", "für"), ("from", "von")))
        told = german.preposition(wort, person_there, "dative" if word == "from" else "accusative")
        return plain(Clause(thing, BE, complements=(Phrase(english.preposition(word, person_there), told),))), "."
    who = subject(choice, ("adult",), "known")
    pronoun = sex_pronoun(who)
    if pronoun is None or getattr(who, "noun", None) == person_there.noun:
        return beside_whom(choice)
    word, wort, case, names = choice.pick(BESIDE)
    found = entry(choice.pick(names))
    lasting = found.name in ("live", "think", "work")
    form: Form = choice.pick(("present", "present", "past") if lasting else ("progressive", "progressive", "past"))
    told = german.preposition(wort, person_there, case, melted=False)
    body = Clause(who, found.verb, form, complements=(Phrase(english.preposition(word, person_there), told),))
    if who.person != 1 and choice.chance(0.15):
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def of_what(choice: Choice) -> Sentence:
    """The window of our kitchen is open. She lives near this old church: the genitive of every noun."""
    noun = choice.rare(THINGS)
    whole = fitting(choice, noun, 0.25)
    parts = ("door", "window") if noun.classes & {"building"} else ("name",) if noun.classes & {"settlement"} else ()
    if parts and choice.chance(0.5):
        part = NounPhrase(choice.pick(nouns_of(parts)), THE)
        whole = whole if whole.determiner != A else replace(whole, determiner=THIS)
        spoken = f"{english.nominal(part)} of {english.nominal(whole)}"
        named = Name(spoken, german=f"{german.nominal(part, 'nominative')} {german.nominal(whole, 'genitive')}")
        word = choice.pick(
            ("open", "closed") if part.noun.english in ("door", "window") else ("beautiful", "long", "short")
        )
        return plain(Clause(named, BE, complements=(predicate(ADJECTIVE[word]),))), "."
    if not noun.classes & {"building", "settlement", "tall_plant"} or noun.classes & {"indoor"}:
        return of_what(choice)
    told = Phrase(f"near {english.nominal(whole)}", f"in der Nähe {german.nominal(whole, 'genitive')}")
    who = subject(choice, ("adult",), "known")
    name, form = choice.pick(
        (("live", "present"), ("work", "present"), ("wait", "past"), ("meet", "past"), ("see", "past"))
    )
    body = Clause(who, entry(name).verb, form, complements=(told,))  # type: ignore[arg-type]
    if name in ("meet", "see"):
        body = replace(body, accusative=fitting(choice, choice.rare(PEOPLE), 0.2))
        if getattr(who, "noun", None) == getattr(body.accusative, "noun", 0):
            return of_what(choice)
    return plain(body), "."


def what_exactly(choice: Choice) -> Sentence:
    """I see your old kitchen table. She needs our car key: the accusative of every noun."""
    name, classes = choice.pick(SEEN)
    noun = choice.rare(nouns_of(classes))
    body = verb_clause(choice, entry=entry(name), rich=0.1, negation=0.1)
    phrase = fitting(choice, noun, 0.3) if not noun.mass else NounPhrase(noun, BARE)
    if body.dative or body.accusative is None or getattr(body.subject, "noun", None) == noun:
        return what_exactly(choice)
    kept = Clause(body.subject, body.verb, body.form, body.modal, accusative=phrase, time=body.time, hour=body.hour)
    return plain(kept), "."


SEEN = (
    ("see", ("building", "vehicle", "animal", "tall_plant", "outdoor", "settlement")),
    ("look for", ("tool", "carried", "clothes", "pet", "shop", "transport", "lodging")),
    ("need", ("tool", "clothes", "vehicle", "furniture", "device", "carried")),
    ("find", ("tool", "carried", "clothes", "toy")),
    ("repair", ("vehicle", "furniture", "device", "opening")),
    ("buy", ("clothes", "furniture", "vessel", "device", "house", "flat", "wheels", "road")),
    ("clean", ("indoor", "opening", "vessel", "shoe")),
    ("sell", ("house", "flat", "wheels", "road", "furniture", "device")),
)
