"""Adjectives without a noun, and who does it best: something cold, anything cheaper; who runs the fastest?"""

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.comparisons import COMPARED
from mt.data.toy.features import Clause, Form, Name, Phrase, Pronoun, Sentence, phrase_pair
from mt.data.toy.nouns import nouns_of
from mt.data.toy.phrases import noun_phrase
from mt.data.toy.places import fixed_places
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import ADJECTIVE, TOWNS, WE, YOU, I

SUCH = [
    "cold",
    "warm",
    "new",
    "interesting",
    "beautiful",
    "expensive",
    "cheap",
    "important",
    "good",
    "small",
    "big",
    "old",
    "fresh",
    "difficult",
    "funny",
    "modern",
]
AMOUNTS = (("something", "etwas"), ("anything", "etwas"), ("nothing", "nichts"))
BESTS = {
    "run": ("the fastest", "am schnellsten"),
    "swim": ("the fastest", "am schnellsten"),
    "drive": ("the slowest", "am langsamsten"),
    "sing": ("the loudest", "am lautesten"),
    "laugh": ("the loudest", "am lautesten"),
    "dance": ("the best", "am besten"),
    "cook": ("the best", "am besten"),
    "sleep": ("the longest", "am längsten"),
    "work": ("the most", "am meisten"),
    "learn": ("the most", "am meisten"),
}
LIKED = (("book", "picture", "film"), ("sung",), ("garment",), ("pet",), ("dish",), ("game",), ("lodging",))


def something_new(choice: Choice) -> Sentence:
    """I want to drink something cold: etwas Kaltes. Do you have anything cheaper: Hast du etwas Billigeres?"""
    amount, menge = choice.pick(AMOUNTS)
    adjective = ADJECTIVE[choice.pick(SUCH)]
    compared = bool(adjective.english_comparative and adjective.german_comparative) and choice.chance(0.4)
    spoken, told = (
        (adjective.english_comparative, adjective.german_comparative)
        if compared
        else (adjective.english, adjective.stem)
    )
    thing = Name(f"{amount} {spoken}", german=f"{menge} {told[0].upper()}{told[1:]}es", definite=False)
    if amount == "anything":
        who = choice.pick((YOU, YOU, WE))
        body = Clause(who, entry("have").verb, accusative=thing)
        if choice.chance(0.3):
            body = Clause(who, entry("see").verb, accusative=thing)
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    names: tuple[str, ...] = ("buy", "find", "read/lesen", "learn", "need", "have", "see", "hear", "cook", "want")
    if amount == "nothing":
        names, adjective = ("find", "learn", "hear", "see", "read/lesen", "buy"), ADJECTIVE["new"]
        thing = Name("nothing new", german="nichts Neues", definite=False)
    if adjective.english in ("cold", "warm", "fresh"):
        names = ("drink", "eat/essen", "want", "buy", "order")
    doer = choice.pick((I, WE, person(choice)[0]))
    form: Form = choice.pick(("past", "past", "present", "future"))
    return plain(Clause(doer, entry(*choice.pick(names).split("/")).verb, form, accusative=thing)), "."


def does_it_best(choice: Choice) -> Sentence:
    """Who can run the fastest? Which song do you like best: magst du am liebsten? Anna dances the best."""
    who, _ = person(choice)
    if choice.chance(0.4):
        noun = choice.rare(nouns_of(choice.pick(LIKED)))
        plural = bool(noun.english_plural) and choice.chance(0.15)
        article = {"masculine": "welchen", "feminine": "welche", "neuter": "welches"}[noun.gender]
        spoken = f"which {noun.english_plural if plural else noun.english}"
        told = f"{'welche' if plural else article} {noun.german_plural if plural else noun.german}"
        if who.person == 1:
            who = YOU
        body = Clause(who, entry("like").verb, manner=Phrase(choice.pick(("best", "best", "most")), "am liebsten"))
        return Phrase(
            f"{spoken} {english.clause(body, question=True)}", german.clause(body, "question", front=told)
        ), "?"
    name = choice.pick(tuple(BESTS))
    best = Phrase(*BESTS[name])
    if choice.chance(0.5):
        verb = entry(name).verb
        if choice.chance(0.5):
            return Phrase(f"who can {name} {best.english}", f"wer kann {best.german} {verb.german}"), "?"
        third = english.third_person(verb)
        return Phrase(f"who {third} {best.english}", f"wer {verb.german_third} {best.german}"), "?"
    return plain(Clause(who, entry(name).verb, choice.pick(("present", "past")), manner=best)), "."


def which_of_two(choice: Choice) -> Sentence:
    """Which city is bigger, Berlin or Munich? Who is older, Anna or your brother?"""
    if choice.chance(0.3):
        one, two = choice.pick(TOWNS), choice.pick(TOWNS)
        word = choice.pick(("big", "small", "beautiful", "old", "expensive", "interesting", "quiet"))
        spoken, told = "which city is", "welche Stadt ist"
    else:
        people = (person(choice)[0], person(choice)[0])
        one, two = (Phrase(english.nominal(who), german.nominal(who, "nominative")) for who in people)
        word = choice.pick(("old", "young", "tall", "strong", "friendly", "clever", "funny", "rich"))
        spoken, told = "who is", "wer ist"
        if any(isinstance(who, Pronoun) or who.plural for who in people):
            return which_of_two(choice)
    if one.english == two.english:
        return which_of_two(choice)
    adjective = ADJECTIVE[word]
    return Phrase(
        f"{spoken} {adjective.english_comparative}, {one.english} or {two.english}",
        f"{told} {adjective.german_comparative}, {one.german} oder {two.german}",
    ), "?"


def compared_by_time(choice: Choice) -> Sentence:
    """It was colder yesterday than today: Es war gestern kälter als heute."""
    word = ADJECTIVE[choice.pick(("cold", "warm", "hot", "dark", "quiet"))]
    now, then, past = choice.pick(THEN)
    what = choice.pick((Phrase("it", "es"), Phrase("it", "es"), Phrase("the weather", "das Wetter")))
    if what.english != "it":
        word = ADJECTIVE[choice.pick(("good", "bad", "warm", "cold"))]
    be, sein = ("was", "war") if past else ("is", "ist")
    return Phrase(
        f"{what.english} {be} {word.english_comparative} {now.english} than {then.english}",
        f"{what.german} {sein} {now.german} {word.german_comparative} als {then.german}",
    ), "."


THEN = tuple(
    (phrase_pair(now), phrase_pair(then), past)
    for now, then, past in (
        ("today/heute", "yesterday/gestern", False),
        ("today/heute", "yesterday/gestern", False),
        ("yesterday/gestern", "today/heute", True),
        ("this week/diese Woche", "last week/letzte Woche", False),
        ("last week/letzte Woche", "this week/diese Woche", True),
        ("in winter/im Winter", "in summer/im Sommer", False),
        ("in the evening/am Abend", "in the morning/am Morgen", False),
        ("this year/dieses Jahr", "last year/letztes Jahr", False),
    )
)


def compared_by_place(choice: Choice) -> Sentence:
    """The coffee is cheaper here than in Munich: ist hier billiger als in München."""
    words, classes = choice.pick(COMPARED[2:])
    adjective = ADJECTIVE[choice.pick([word for word in words if word in ADJECTIVE and word != "new"] or ["good"])]
    noun = choice.rare([*nouns_of(classes), *nouns_of(("drink", "weather"))])
    if noun.classes & {"drink"}:
        adjective = ADJECTIVE[choice.pick(("cheap", "expensive", "good"))]
    if "weather" in noun.classes:
        adjective = ADJECTIVE[choice.pick(("good", "bad", "warm", "cold"))]
    thing = noun_phrase(choice, noun, "known", adjective=0)
    if thing.determiner.english not in ("the", "this") or thing.owner or not adjective.german_comparative:
        return compared_by_place(choice)
    there = choice.pick((*fixed_places("IN_TOWN"), *fixed_places("IN_COUNTRY")))
    here = choice.pick((Phrase("here", "hier"), Phrase("here", "hier"), *fixed_places("IN_COUNTRY")))
    if here == there:
        return compared_by_place(choice)
    denied = choice.chance(0.1)
    said = Phrase(
        f"{'not ' if denied else ''}{adjective.english_comparative} {here.english} than {there.english}",
        f"{here.german} {'nicht ' if denied else ''}{adjective.german_comparative} als {there.german}",
    )
    body = Clause(thing, BE, complements=(said,))
    if choice.chance(0.2) and not denied:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."
