"""Simple sentences beside the plain statement: what somebody is, what there is, numbers, comparison, requests."""

from dataclasses import replace
from functools import cache

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import any_clause, chosen_place, place_phrase, place_words, verb_clause
from mt.data.toy.features import Clause, Coordination, Name, Nominal, Noun, NounPhrase, Phrase, Pronoun
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import noun_phrase, object_phrase, sex_pronoun, subject, with_adjective
from mt.data.toy.questions import similar
from mt.data.toy.times import clock
from mt.data.toy.verbs import BE, ENTRIES, entry
from mt.data.toy.words import (
    A,
    ADJECTIVE,
    BARE,
    DAYS,
    IT,
    MANY,
    MONTHS,
    NAMES,
    NO,
    NUMBER_WORDS,
    NUMBERS,
    ORDINALS,
    POSSESSIVES,
    SHE,
    SOME,
    THE,
    WOULD_LIKE,
    YOU,
)

Sentence = tuple[Phrase, str]
AND = Phrase("and", "und")
FEMALE_JOBS = {"teacher": "Lehrerin", "doctor": "Ärztin", "student": "Studentin", "friend": "Freundin",
               "neighbour": "Nachbarin"}
LIKED = [entry(*name) for name in (("sleep",), ("work",), ("sing",), ("dance",), ("swim",), ("travel",), ("read",), ("cook",),
                                   ("eat", "essen"), ("drink",), ("listen to",), ("play",), ("go shopping",),
                                   ("go swimming",), ("watch television",), ("speak",), ("learn",), ("drive",), ("run",))]


def plain(body: Clause, *, front: bool = False) -> Phrase:
    """The clause as a statement, with its time first or in its place."""
    if not front or body.time is None:
        return Phrase(english.clause(body), german.clause(body, "main"))
    return Phrase(english.clause(body, front_time=True),
                  german.clause(body, "main", front=body.time.german, without="time"))


def statement(choice: Choice) -> Sentence:
    """A main clause; where the time comes first, German puts the verb before the subject."""
    body = any_clause(choice)
    return plain(body, front=choice.chance(0.3)), "."


def short_statement(choice: Choice) -> Sentence:
    """The dog sleeps. We drank coffee yesterday."""
    return plain(any_clause(choice, rich=0.08)), "."


def two_subjects(choice: Choice) -> Sentence:
    """My brother and Anna are dancing."""
    first: Nominal = choice.pick(NAMES)
    kin = noun_phrase(choice, choice.rare(nouns_of(("kin", "friend", "neighbour"))), "subject", adjective=0)
    second: Nominal = kin if choice.chance(0.6) else choice.pick([name for name in NAMES if name != first])
    if isinstance(second, NounPhrase) and choice.chance(0.5):
        first, second = second, first
    if isinstance(first, NounPhrase) and first.owner:
        first = replace(first, owner=None, determiner=POSSESSIVES["my"])
    assert not isinstance(first, Pronoun | Coordination) and not isinstance(second, Pronoun | Coordination)
    pair = Coordination(first, second, AND)
    while True:
        found = choice.rare(ENTRIES)
        if found.frames[0].subjects[0] in ("adult", "human"):
            body = verb_clause(choice, entry=found, who=pair, rich=0.2, negation=0)
            return plain(body), "."


def two_objects(choice: Choice) -> Sentence:
    """I buy bread and milk."""
    while True:
        body = verb_clause(choice, entry=entry(*choice.pick((("buy",), ("eat", "essen"), ("drink",), ("need",), ("like",), ("have",), ("see",), ("visit",), ("know",), ("invite",)))),
                           rich=0.2, negation=0)
        first = body.accusative
        if isinstance(first, Name) and not first.possessive:
            continue
        if isinstance(first, Pronoun) or first is None or body.dative:
            continue
        second = object_phrase(choice, ("person",), "known", body.subject) if isinstance(first, Name) else None
        if isinstance(first, NounPhrase):
            if first.measure or first.owner or body.middle:
                continue
            second = noun_phrase(choice, similar(choice, first.noun), "known" if first.definite else "new" if not first.noun.mass and first.determiner != BARE else "generic", body.subject)
            if first.determiner == BARE and (not isinstance(second, NounPhrase) or not second.noun.mass):
                continue
        if isinstance(second, Name | NounPhrase) and isinstance(first, Name | NounPhrase):
            if getattr(second, "noun", second) != getattr(first, "noun", first) and second.definite == first.definite:
                return plain(replace(body, accusative=Coordination(first, second, AND))), "."


def female(who: Nominal) -> bool:
    return sex_pronoun(who) == SHE and not who.plural


@cache
def job(noun: Noun, female_form: bool) -> Noun:
    """The noun as said of a woman: Lehrerin."""
    if not female_form:
        return noun
    return replace(noun, german=FEMALE_JOBS[noun.english], gender="feminine", weak=False)


def identity(choice: Choice) -> Sentence:
    """She is a teacher: Sie ist Lehrerin. Peter is a good friend. They are students."""
    noun = choice.rare([NOUNS[word] for word in FEMALE_JOBS])
    who = subject(choice, ("adult",))
    while isinstance(who, NounPhrase) and (who.noun == noun or who.plural or who.adjective or who.noun.classes & {"job", "owned"}):
        who = subject(choice, ("adult",))
    noun = job(noun, female(who))
    personal = noun.english in ("friend", "neighbour")
    chosen = BARE if who.plural else A
    if personal:
        chosen = POSSESSIVES[choice.pick([word for word in POSSESSIVES if word not in (getattr(who, "possessive", ""),)])]
    predicate = NounPhrase(noun, chosen, who.plural)
    if choice.chance(0.35) and not personal:
        adjective = choice.pick([ADJECTIVE[word] for word in ("good", "young", "old", "famous", "new", "friendly", "clever")])
        predicate = replace(predicate, adjective=adjective, intensified=choice.chance(0.2))
    spoken = english.nominal(predicate)
    bare = not personal and not predicate.adjective
    negated = choice.chance(0.12) and not personal
    declined = german.noun_phrase(replace(predicate, determiner=BARE) if bare else predicate, "nominative",
                                  negated=negated)
    form = choice.pick(("present", "present", "present", "past"))
    body = Clause(who, BE, form, complements=(Phrase(spoken, declined),))  # type: ignore[arg-type]
    text = plain(body)
    if negated:
        text = Phrase(english.clause(replace(body, negated=True)), text.german)
    elif choice.chance(0.2) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return text, "."


def presentation(choice: Choice) -> Sentence:
    """This is my brother. These are new shoes. That is not his car."""
    noun = choice.rare([noun for noun in NOUNS.values() if not noun.mass and not noun.classes & {"weather", "sky", "way"}])
    mode = "subject" if "owned" in noun.classes or "kin" in noun.classes else "new"
    phrase = noun_phrase(choice, noun, mode, adjective=0.35)
    if phrase.determiner.english in ("this", "these", "many", "some", "all", "the", "every") and not phrase.owner:
        phrase = replace(phrase, determiner=BARE if phrase.plural else A)
    spoken = english.nominal(phrase)
    demonstrative = "these" if phrase.plural else choice.pick(("this", "this", "that"))
    verb, sein = ("are", "sind") if phrase.plural else ("is", "ist")
    negated = choice.chance(0.15) and not phrase.determiner.plural
    kein = negated and german.is_negatable(phrase)
    declined = german.noun_phrase(phrase, "nominative", negated=kein)
    if not negated and choice.chance(0.2):
        return Phrase(f"{verb} {demonstrative} {spoken}", f"{sein} das {declined}"), "?"
    return Phrase(f"{demonstrative} {verb} {'not ' if negated else ''}{spoken}",
                  f"das {sein} {'nicht ' if negated and not kein else ''}{declined}"), "."


def existence(choice: Choice) -> Sentence:
    """There is a cat in the kitchen: the place first. Of buildings one says es gibt."""
    building = choice.chance(0.4)
    classes = ("building", "park", "lake", "river", "forest", "beach") if building else ("portable", "vessel", "pet", "small_animal", "young", "furniture", "snack")
    noun = choice.rare([noun for noun in nouns_of(classes) if noun.english not in ("house_", "kitchen", "room")])
    plural = choice.chance(0.45)
    chosen = choice.pick((*NUMBERS[:6], MANY, SOME, MANY, NO)) if plural else choice.pick((A, A, A, A, NO))
    phrase = with_adjective(choice, NounPhrase(noun, chosen, plural), 0.25)
    where = None
    while where is None:
        if building:
            where = choice.pick(STANDING) if choice.chance(0.15) else Phrase(*place_words(
                choice, "in", place_phrase(choice, NOUNS[choice.pick(("city", "village", "street"))], None), "building_at"))
        else:
            group = "thing_at" if not noun.classes & {"animal", "young"} else "animal_at"
            if noun.classes & {"young"}:
                where = Phrase(*place_words(choice, "in", place_phrase(choice, NOUNS[choice.pick(("garden", "kitchen", "park", "room", "school"))], None), "person_at"))
            elif "furniture" in noun.classes:
                where = Phrase(*place_words(choice, "in", place_phrase(choice, NOUNS[choice.pick(("room", "kitchen", "office", "garden"))], None), "person_at"))
            else:
                where = chosen_place(choice, group, phrase)
    past = choice.chance(0.2)
    spoken = {(0, 0): "is", (0, 1): "are", (1, 0): "was", (1, 1): "were"}[(int(past), int(plural))]
    told = {(0, 0): "ist", (0, 1): "sind", (1, 0): "war", (1, 1): "waren"}[(int(past), int(plural))]
    case = "nominative"
    if building:
        told, case = "gab es" if past else "gibt es", "accusative"
    declined = german.noun_phrase(phrase, case)  # type: ignore[arg-type]
    if choice.chance(0.2) and chosen != NO:
        return existence_question(phrase, where, spoken, declined, told)
    return Phrase(f"there {spoken} {english.nominal(phrase)} {where.english}", f"{where.german} {told} {declined}"), "."


STANDING = [Phrase("here", "hier"), Phrase("there", "dort"), Phrase("in Berlin", "in Berlin"), Phrase("in Munich", "in München")]


def existence_question(phrase: NounPhrase, where: Phrase, spoken: str, declined: str, told: str) -> Sentence:
    """Is there a hotel in this street?"""
    order = f"{told} {where.german} {declined}" if told.endswith("es") else f"{told} {where.german} {declined}"
    return Phrase(f"{spoken} there {english.nominal(phrase)} {where.english}", order), "?"


COMPARED = (
    (("old", "young", "tall", "strong", "rich", "clever", "friendly", "funny", "happy"), ("adult",)),
    (("big", "small", "fast", "clever", "strong"), ("animal",)),
    (("big", "small", "old", "beautiful_", "modern", "expensive_", "quiet"), ("building", "city")),
    (("expensive", "cheap", "warm"), ("coat", "jacket", "shirt", "dress")),
    (("fast", "expensive", "new", "old", "big", "slow_"), ("car", "train", "bus", "ship", "bicycle")),
    (("good", "interesting", "long", "short", "boring", "new"), ("book", "film", "story", "newspaper")),
    (("good", "expensive", "cheap", "cold"), ("juice", "beer", "wine", "milk")),
)


def rank(noun: Noun) -> int:
    """The generation of a relative or the size of an animal, so that no son is older than his grandfather."""
    found = [name for name in sorted(noun.classes) if name[-1].isdigit()]
    return int(found[0][-1]) if found else -1


def compared(choice: Choice, words: tuple[str, ...], classes: tuple[str, ...]) -> tuple[Nominal, Nominal, str] | None:
    first: Nominal = subject(choice, classes) if classes == ("adult",) else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0)
    second: Nominal = subject(choice, classes) if classes == ("adult",) else noun_phrase(choice, choice.rare(nouns_of(classes)), "known", adjective=0)
    word = choice.pick(words)
    if isinstance(second, Pronoun) and (isinstance(first, Pronoun) or second.plural) or word not in ADJECTIVE:
        return None
    if isinstance(first, NounPhrase) and isinstance(second, NounPhrase):
        if first.noun == second.noun or first.owner or second.owner or first.determiner.plural or second.determiner.plural:
            return None
        if second.adjective or first.adjective:
            return None
        ranks = (rank(first.noun), rank(second.noun))
        if min(ranks) >= 0 and ranks[0] != ranks[1]:
            if word in ("young", "small"):
                first, second = (first, second) if ranks[0] < ranks[1] else (second, first)
            elif word in ("old", "big", "strong", "tall"):
                first, second = (first, second) if ranks[0] > ranks[1] else (second, first)
            if abs(ranks[0] - ranks[1]) > 1 and word not in ("young", "small", "old", "big", "strong", "tall"):
                return None
    return (first, second, word) if first != second and ADJECTIVE[word].german_comparative else None


def uneven(first: Nominal, second: Nominal) -> bool:
    """Whether *as … as* would be odd, as between a mouse and a cow."""
    both = isinstance(first, NounPhrase) and isinstance(second, NounPhrase)
    return both and rank(first.noun) != rank(second.noun)  # type: ignore[union-attr]


def comparison(choice: Choice) -> Sentence:
    """My sister is older than Peter. The car is as fast as the train."""
    while True:
        found = compared(choice, *choice.pick(COMPARED + COMPARED[:2]))
        if found is not None:
            break
    first, second, word = found
    adjective = ADJECTIVE[word]
    other, anderer = english.nominal(second, subject=False), german.nominal(second, "nominative")
    kind = choice.weighted((0.7, 0.3))
    if kind == 0 or uneven(first, second):
        predicate = Phrase(f"{adjective.english_comparative} than {other}", f"{adjective.german_comparative} als {anderer}")
    else:
        predicate = Phrase(f"as {adjective.english} as {other}", f"so {adjective.german} wie {anderer}")
    body = Clause(first, BE, complements=(predicate,), negated=choice.chance(0.2))
    if choice.chance(0.2) and not body.negated and first.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def liking(choice: Choice) -> Sentence:
    """She likes to swim: Sie schwimmt gern."""
    while True:
        body = verb_clause(choice, entry=choice.rare(LIKED), rich=0.15, negation=0)
        target = body.accusative
        if target is not None and (target.definite if not isinstance(target, Pronoun) else True):
            continue
        if isinstance(target, NounPhrase) and target.determiner not in (BARE, A) and target.noun.english_plural:
            continue
        if isinstance(target, NounPhrase) and (target.measure or target.determiner == A):
            continue
        if sex_pronoun(body.subject) is None or body.manner and body.manner.english not in ("together", "alone", "fast"):
            continue
        body = replace(body, form="like to", modal=None, time=None, middle=None, negated=choice.chance(0.2))
        if choice.chance(0.2) and not body.negated and body.subject.person != 1:
            return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
        return plain(body), "."


def wish(choice: Choice) -> Sentence:
    """I would like a cup of tea. Do they want a new car?"""
    who = subject(choice, ("adult",))
    wanted = entry("buy") if choice.chance(0.5) else entry("drink")
    thing = verb_clause(choice, entry=wanted, who=who, rich=0, negation=0)
    while thing.accusative is None or thing.dative or isinstance(thing.accusative, Name) or (isinstance(thing.accusative, NounPhrase) and thing.accusative.definite):
        thing = verb_clause(choice, entry=wanted, who=who, rich=0, negation=0)
    bare = replace(WOULD_LIKE, english="would like")
    verb = replace(BE, english="", german="", particle="")
    body = Clause(who, verb, "modal", bare, accusative=thing.accusative)
    if choice.chance(0.25) and who.person != 1:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


REQUESTS = ("open", "close", "turn on", "turn off", "read", "come", "go", "wait", "sing", "help", "bring", "give", "show",
            "wash", "clean", "tidy up", "buy", "take", "eat", "drink", "call", "ask", "learn", "write", "get up", "sit down",
            "stay", "put on", "tell", "pick up", "look for", "cook", "forget", "sleep", "work", "play", "visit", "invite")


def request(choice: Choice) -> Sentence:
    """Open the window! Please bring me the book. Do not forget your key!"""
    while True:
        body = verb_clause(choice, entry=choice.rare([found for found in ENTRIES if found.name in REQUESTS and found.verb.german not in ("fressen", "fahren")]),
                           who=YOU, rich=0.15, negation=0)
        spoken = english.clause(replace(body, form="present", modal=None, middle=None, time=None))
        if body.verb.english == "come" and "from" in spoken or " your " in f"{spoken} " and choice.chance(0.5):
            continue
        break
    negated = body.verb.english == "forget" or choice.chance(0.12)
    indefinite = isinstance(body.accusative, NounPhrase) and not body.accusative.definite and body.accusative.determiner not in (A, BARE)
    negated = negated and not indefinite and not isinstance(body.accusative, Coordination) and body.manner is None
    body = replace(body, form="present", modal=None, middle=None, time=None, negated=negated)
    if body.verb.english == "forget" and not negated:
        return request(choice)
    spoken, told = english.imperative(body), german.imperative(body)
    if not negated and choice.chance(0.35):
        return Phrase(f"please {spoken}", f"bitte {told}"), "."
    return Phrase(spoken, told), "!"


def weather(choice: Choice) -> Sentence:
    """It is raining in Berlin. Yesterday it was very cold."""
    kind = choice.weighted((0.4, 0.6))
    past = choice.chance(0.3)
    time = choice.pick(("today/heute", "now/jetzt", "here/hier", "in Berlin/in Berlin", "in Munich/in München", "in Hamburg/in Hamburg", "in London/in London", "in Vienna/in Wien", "in Rome/in Rom", "there/dort", "in the mountains/in den Bergen", "in the city/in der Stadt", "in the house/im Haus", "in the kitchen/in der Küche"))
    if past:
        time = choice.pick(("yesterday/gestern", "this morning/heute Morgen", "last week/letzte Woche", "in the mountains/in den Bergen", "in London/in London", "in Rome/in Rom", "in March/im März", "in May/im Mai"))
    when = Phrase(*time.split("/"))
    if kind == 0:
        verb, regnen, part = choice.pick((("rain", "regnet", "geregnet"), ("snow", "schneit", "geschneit")))
        if "house" in when.english or "kitchen" in when.english:
            when = Phrase("today", "heute")
        negated = choice.chance(0.2)
        question = choice.chance(0.2)
        nicht = " nicht" if negated else ""
        if past:
            spoken = f"it did not {verb} {when.english}" if negated else f"it {verb}ed {when.english}"
            return Phrase(spoken, f"es hat {when.german}{nicht} {part}"), "."
        if question:
            return Phrase(f"is it {verb}ing {when.english}", f"{regnen} es {when.german}"), "?"
        return Phrase(f"it is {'not ' if negated else ''}{verb}ing {when.english}", f"es {regnen} {when.german}{nicht}"), "."
    adjective = ADJECTIVE[choice.pick(("cold", "warm", "hot", "dark", "quiet"))]
    degree, grad = choice.pick((("", ""), ("", ""), ("very ", "sehr "), ("too ", "zu ")))
    negated = choice.chance(0.2) and degree != "too "
    told = Phrase(degree + adjective.english, grad + adjective.german)
    somewhere = when.english.startswith("in ") and when.english not in ("in March", "in May")
    body = Clause(IT, BE, "past" if past else "present", time=None if somewhere else when, negated=negated,
                  complements=(told, when) if somewhere else (told,))
    if choice.chance(0.2) and not negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body, front=choice.chance(0.3) and "in " not in when.english), "."


def numbers(choice: Choice) -> Sentence:
    """My son is five years old. The hat costs ten euros. Our holiday begins on the third of May. It is six o'clock."""
    kind = choice.weighted((0.34, 0.3, 0.28, 0.08))
    number, zahl = choice.pick(NUMBER_WORDS)
    if kind == 0:
        who = subject(choice, ("young", "pet") if choice.chance(0.5) else ("adult",), "known")
        if isinstance(who, NounPhrase) and rank(who.noun) > 1 and not who.noun.classes & {"animal"}:
            number, zahl = choice.pick((("twenty", "zwanzig"), ("thirty", "dreißig"), ("forty", "vierzig"), ("fifty", "fünfzig")))
        body = Clause(who, BE, complements=(Phrase(f"{number} years old", f"{zahl} Jahre alt"),),
                      negated=choice.chance(0.1))
        return plain(body), "."
    if kind == 1:
        thing = noun_phrase(choice, choice.rare(nouns_of(("clothes", "book", "bag", "lamp", "clock", "dish", "newspaper", "flower", "ball", "pen"))), "known", adjective=0.3)
        verb, kosten = ("cost", "kosten") if thing.plural else ("costs", "kostet")
        number, zahl = choice.pick([*NUMBER_WORDS, ("twenty", "zwanzig"), ("thirty", "dreißig"), ("forty", "vierzig"), ("fifty", "fünfzig")])
        return Phrase(f"{english.nominal(thing)} {verb} {number} euros", f"{german.nominal(thing, 'nominative')} {kosten} {zahl} Euro"), "."
    if kind == 2:
        return calendar(choice)
    hour = clock(choice)
    when = choice.pick((("now", "jetzt"), ("already", "schon")))
    hours, uhr = hour.english.removeprefix("at "), hour.german.removeprefix("um ")
    if when[0] == "already":
        return Phrase(f"it is already {hours}", f"es ist schon {uhr}"), "."
    return Phrase(f"it is {hours}", f"es ist {uhr}"), "."


def calendar(choice: Choice) -> Sentence:
    """Today is the third of May: Heute ist der dritte Mai. My birthday is on Monday."""
    month, day = choice.pick(MONTHS), choice.pick(ORDINALS)
    if choice.chance(0.35):
        told = day.german.removesuffix("n")
        return Phrase(f"today is the {day.english} of {month.english}", f"heute ist der {told} {month.german}"), "."
    word = choice.pick(("my", "your", "his", "her"))
    stem = POSSESSIVES[word].german
    when = Phrase(f"on the {day.english} of {month.english}", f"am {day.german} {month.german}")
    if choice.chance(0.4):
        chosen = choice.pick([*((f"in {found.english}", f"im {found.german}") for found in MONTHS),
                              *((f"on {found.english}", f"am {found.german}") for found in DAYS)])
        when = Phrase(*chosen)
    past = choice.pick((("is", "ist"), ("is", "ist"), ("was", "war")))
    return Phrase(f"{word} birthday {past[0]} {when.english}", f"{stem} Geburtstag {past[1]} {when.german}"), "."


