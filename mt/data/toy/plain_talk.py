"""What everybody says: good night, how is your mother, it was a long day, it is getting dark, I feel better."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.being import BECOME
from mt.data.toy.choice import Choice
from mt.data.toy.features import Adjective, Clause, Form, NounPhrase, Phrase, Sentence, phrase_pair
from mt.data.toy.german_words import ADJECTIVE_ENDINGS, cell
from mt.data.toy.nouns import NOUNS, nouns_of, parse
from mt.data.toy.phrases import noun_phrase, own
from mt.data.toy.reported import HOPE
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.times import phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import ADJECTIVE, HE, IT, NAMES, POSSESSIVES, SHE, THE, THEY, WE, YOU, A, I

WHOLE = [
    (phrase_pair(pair), mark)
    for pair, mark in (
        ("good night/gute Nacht", "!"),
        ("good night, sleep well/gute Nacht, schlaf gut", "!"),
        ("good morning/guten Morgen", "!"),
        ("good evening/guten Abend", "!"),
        ("hello/hallo", "!"),
        ("hello, how are you/hallo, wie geht es dir", "?"),
        ("how are you/wie geht es dir", "?"),
        ("how are you today/wie geht es dir heute", "?"),
        ("happy birthday/alles Gute zum Geburtstag", "!"),
        ("thank you/danke", "."),
        ("thank you very much/vielen Dank", "."),
        ("thank you for everything/danke für alles", "."),
        ("thank you for your help/danke für deine Hilfe", "."),
        ("see you tomorrow/bis morgen", "!"),
        ("see you soon/bis bald", "!"),
        ("see you later/bis später", "!"),
        ("see you on Sunday/bis Sonntag", "!"),
        ("see you on Monday/bis Montag", "!"),
        ("sleep well/schlaf gut", "!"),
        ("did you sleep well/hast du gut geschlafen", "?"),
        ("did you sleep well last night/hast du letzte Nacht gut geschlafen", "?"),
        ("I love you/ich liebe dich", "."),
        ("I love you very much/ich liebe dich sehr", "."),
        ("I do not know/ich weiß es nicht", "."),
        ("I do not understand/ich verstehe nicht", "."),
        ("I am sorry/es tut mir leid", "."),
        ("I am very sorry/es tut mir sehr leid", "."),
        ("yes, please/ja, bitte", "."),
        ("no, thank you/nein, danke", "."),
        ("I am well/mir geht es gut", "."),
        ("I am very well, thank you/mir geht es sehr gut, danke", "."),
        ("I think so/ich glaube schon", "."),
        ("I hope so/ich hoffe es", "."),
        ("excuse me, please/Entschuldigung, bitte", "."),
        ("come in, please/komm bitte herein", "!"),
        ("wait a moment, please/warte bitte einen Moment", "!"),
    )
]


def whole(choice: Choice) -> Sentence:
    """Good night, Anna! How is your mother: Wie geht es deiner Mutter? My father is not well: Meinem Vater geht es nicht gut."""
    if choice.chance(0.4):
        said, mark = choice.pick(WHOLE)
        name = choice.pick(NAMES).word if choice.chance(0.7) else ""
        return (Phrase(f"{said.english}, {name}", f"{said.german}, {name}") if name else said), mark
    who, _ = person(choice)
    told = german.nominal(who, "dative")
    be, day = (
        english.be_form(who, past=False),
        choice.pick((Phrase("", ""), Phrase("", ""), Phrase(" today", "heute "))),
    )
    if choice.chance(0.5) and who.person != 1:
        return Phrase(f"how {be} {english.nominal(who)}{day.english}", f"wie geht es {told} {day.german}".strip()), "?"
    how, wie = choice.pick(
        (("well", "gut"), ("very well", "sehr gut"), ("not well", "nicht gut"), ("not very well", "nicht sehr gut"))
    )
    return Phrase(f"{english.nominal(who)} {be} {how}{day.english}", f"{told} geht es {day.german}{wie}"), "."


TIMES_THAT_WERE = [
    parse(line)
    for line in (
        "day | der Tag+, Tage | when",
        "day | der Tag+, Tage | when",
        "evening | der Abend+, Abende | when",
        "morning | der Morgen, Morgen | when",
        "night | die Nacht, Nächte | when",
        "week | die Woche, Wochen | when",
        "year | das Jahr+, Jahre | when",
        "summer | der Sommer, Sommer | when",
        "winter | der Winter, Winter | when",
        "weekend | das Wochenende, Wochenenden | when",
    )
]
HOW_IT_WAS: tuple[str, ...] = (
    "long",
    "beautiful",
    "nice",
    "good",
    "bad",
    "cold",
    "hot",
    "warm",
    "difficult",
    "interesting",
    "quiet",
    "short",
)
PLEASANT = {"beautiful", "nice", "good", "warm", "interesting", "quiet", "long", "short"}


def it_was_a(choice: Choice) -> Sentence:
    """It was a long and difficult day. It is a small but beautiful flat: eine kleine, aber schöne Wohnung."""
    noun = choice.pick(TIMES_THAT_WERE)
    words = HOW_IT_WAS
    if choice.chance(0.3):
        noun = choice.rare(
            nouns_of(("house", "flat", "garden", "hotel", "village", "city", "room", "film", "book", "game"))
        )
        words = ("small", "big", "old", "beautiful", "quiet", "good", "interesting", "boring", "nice", "modern", "long")
        watched = bool(noun.classes & {"watched", "text", "played"})
        words = words[5:8] + words[10:] if watched else words[:5] + words[8:10]
    one, two = ADJECTIVE[choice.pick(words)], ADJECTIVE[choice.pick(words)]
    if "nice" in (one.english, two.english):
        one, two = (Adjective("nice", "schön", "schön") if found.english == "nice" else found for found in (one, two))
    said = one
    if choice.chance(0.4) and one.german != two.german:
        if {one.english, two.english} in (
            {"big", "small"},
            {"good", "boring"},
            {"interesting", "boring"},
            {"old", "modern"},
        ):
            return it_was_a(choice)
        pleasant = (one.english in PLEASANT) == (two.english in PLEASANT)
        joint, und = ("and", " und") if pleasant else ("but", ", aber")
        if {one.english, two.english} & {"good", "nice", "beautiful"} and {one.english, two.english} & {"bad"}:
            return it_was_a(choice)
        ending = cell(ADJECTIVE_ENDINGS["ein"], "nominative", noun, plural=False)
        said = Adjective(f"{one.english} {joint} {two.english}", "", f"{one.stem}{ending}{und} {two.stem}")
    thing = NounPhrase(noun, A, adjective=said, intensified=said is one and choice.chance(0.35))
    be, sein = choice.pick((("was", "war"), ("was", "war"), ("is", "ist")))
    spoken, told = english.nominal(thing), german.nominal(thing, "nominative")
    if "when" in noun.classes and be == "is":
        be, sein = "was", "war"
    if choice.chance(0.12):
        return Phrase(f"{be} it {spoken}", f"{sein} es {told}"), "?"
    return Phrase(f"it {be} {spoken}", f"es {sein} {told}"), "."


GET = replace(BECOME, english="get", english_past="got", english_participle="got", english_ing="getting", stative=False)


def getting(choice: Choice) -> Sentence:
    """It is getting dark: Es wird dunkel. It gets dark early in winter. The soup is getting cold. I am getting tired."""
    kind = choice.weighted((0.5, 0.25, 0.25))
    form: Form = choice.pick(("progressive", "progressive", "past", "present"))
    if kind == 0:
        word = choice.pick(("dark", "cold", "late", "warm", "hot", "colder", "warmer"))
        told = {"late": "spät", "colder": "kälter", "warmer": "wärmer"}.get(word) or ADJECTIVE[word].german
        body = Clause(IT, GET, form, complements=(Phrase(word, told),))
        if form == "present":
            early, season = choice.pick(EARLY), choice.pick(SEASONS)
            early = early if word == "dark" else Phrase("very " + word, "sehr " + told)
            said = Phrase(f"dark {early.english}", f"{early.german} dunkel") if word == "dark" else early
            if word in ("late", "colder", "warmer"):
                return getting(choice)
            body = replace(body, complements=(said,), time=season)
            return plain(body, front=choice.chance(0.4)), "."
        return plain(
            replace(body, time=Phrase("now", "jetzt") if form == "progressive" and choice.chance(0.2) else None)
        ), "."
    if kind == 1:
        noun = NOUNS[choice.pick(("soup", "coffee", "tea", "meat", "fish"))]
        thing = NounPhrase(noun, choice.pick((THE, THE, POSSESSIVES["your"])))
        return plain(
            Clause(thing, GET, "past" if form == "past" else "progressive", complements=(Phrase("cold", "kalt"),))
        ), "."
    who, _ = person(choice)
    word = choice.pick(("tired", "hungry", "sick", "angry", "thirsty", "old"))
    said = Phrase(word, ADJECTIVE[word].german)
    body = Clause(who, GET, form if form == "progressive" else "past", complements=(said,))
    return plain(body), "."


EARLY = phrases("early/früh, late/spät, very early/sehr früh, very late/sehr spät")
SEASONS = phrases("in winter/im Winter, in summer/im Sommer, in December/im Dezember, in July/im Juli")
FEELINGS = (
    ("better", "besser", False),
    ("better", "besser", False),
    ("well", "gut", True),
    ("much better", "viel besser", False),
    ("very well", "sehr gut", True),
    ("worse", "schlechter", False),
)


def feeling(choice: Choice) -> Sentence:
    """I do not feel well. I hope that you feel better soon. Do you feel better today?"""
    who, _ = person(choice)
    word, wort, negated = choice.pick(FEELINGS)
    verb = replace(entry("feel").verb, english_rest=word)
    time = choice.pick((None, None, *phrases("today/heute, now/jetzt, today/heute")))
    body = Clause(who, verb, "present", negated=negated, complements=(Phrase("", wort),), time=time)
    if choice.chance(0.25):
        other = choice.pick((YOU, YOU, HE, SHE, THEY))
        soon = replace(
            body, subject=other, negated=False, time=Phrase("soon", "bald"), verb=replace(verb, english_rest="better")
        )
        soon = replace(soon, complements=(Phrase("", "besser"),))
        we = choice.pick((I, I, WE))
        hope = Clause(we, HOPE)
        that = choice.pick((" that", ""))
        spoken = f"{english.clause(hope)}{that} {english.clause(soon)}"
        return Phrase(spoken, f"{german.clause(hope, 'main')}, dass {german.clause(soon, 'final')}"), "."
    if choice.chance(0.3) and who.person != 1 and not negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


RECEIVE = replace(
    entry("buy").verb,
    english="get",
    english_past="got",
    english_participle="got",
    english_ing="getting",
    german="bekommen",
    german_third="bekommt",
    participle="bekommen",
)


def received(choice: Choice) -> Sentence:
    """I got a letter from my sister yesterday: einen Brief von meiner Schwester bekommen. Did you get my letter?"""
    who, _ = person(choice)
    noun = choice.rare(nouns_of(("letter", "gift", "flower", "picture", "money", "book", "toy")))
    giver = NounPhrase(
        choice.rare([one for one in nouns_of(("kin", "friend", "teacher", "neighbour", "doctor")) if one.english]),
        POSSESSIVES[choice.pick(("my", "my", "your", "his", "her", "our", "their"))],
    )
    if giver.noun.english in ("husband", "wife"):
        giver = replace(giver, determiner=POSSESSIVES["my"])
    told = german.preposition("von", giver, "dative")
    origin = Phrase(f"from {english.nominal(giver)}", told)
    thing = noun_phrase(choice, noun, "new", who, adjective=0.3)
    if thing.determiner.english == "no" or getattr(who, "noun", None) == giver.noun or thing.owner:
        return received(choice)
    if choice.chance(0.25):
        where = choice.pick(
            phrases(
                "on the table/auf dem Tisch, on the kitchen table/auf dem Küchentisch, in your room/in deinem Zimmer,"
                " here/hier, on the chair/auf dem Stuhl, in the kitchen/in der Küche"
            )
        )
        here = replace(NounPhrase(choice.pick(nouns_of(("letter", "gift", "book", "picture"))), A), attached=origin)
        return Phrase(
            f"there is {english.nominal(here)} {where.english}",
            f"{where.german} ist {german.nominal(here, 'nominative')}",
        ), "."
    if choice.chance(0.2):
        mine = NounPhrase(
            choice.pick(nouns_of(("letter", "gift", "book", "picture"))),
            POSSESSIVES[choice.pick(("my", "our", "her", "his"))],
        )
        body = Clause(somebody_known(choice), RECEIVE, "past", accusative=mine)
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    time = choice.pick(
        (None, *phrases("yesterday/gestern, this morning/heute Morgen, last week/letzte Woche, today/heute"))
    )
    body = Clause(who, RECEIVE, "past", accusative=replace(thing, attached=origin), time=time)
    owner = own(who)
    if owner and choice.chance(0.35):
        when = Phrase(f"for {owner} birthday", "zum Geburtstag")
        form: Form = choice.pick(("past", "present", "present", "future"))
        return plain(Clause(who, RECEIVE, form, accusative=thing, time=when)), "."
    return plain(body, front=choice.chance(0.2)), "."
