"""More talk: what there is, since when, better than, too … to, my name is, what one wants, to whom."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import chosen_place, predicate, verb_clause
from mt.data.toy.features import Clause, Form, Name, Nominal, NounPhrase, Phrase, Pronoun, Sentence, phrase_pair
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.pairs import somebody
from mt.data.toy.phrases import noun_phrase, object_pronoun, subject
from mt.data.toy.questions import asked, with_word
from mt.data.toy.remarks import DO
from mt.data.toy.scenes import effect_clause
from mt.data.toy.statements import GIVING, plain
from mt.data.toy.times import GONE, NOW, ONE_UNIT, UNITS, phrases
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    ANY,
    BARE,
    CAN,
    DAYS,
    HAVE_TO,
    HE,
    IT,
    MONTHS,
    MUCH,
    NAMES,
    NO,
    NUMBER_WORDS,
    SHE,
    SHOULD,
    SOME_OF_IT,
    WANT,
    WE,
    WOULD_LIKE,
    I,
)


def supplies(choice: Choice) -> Sentence:
    """There is no milk in the kitchen. Is there any bread? There is some cheese on the table."""
    noun = choice.rare(nouns_of(("food", "drink", "alcohol")))
    where = chosen_place(choice, "food_in", None) if choice.chance(0.7) else None
    asked_for = choice.chance(0.35)
    chosen = choice.pick((ANY, ANY, BARE, SOME_OF_IT) if asked_for else (NO, NO, BARE, SOME_OF_IT, *MUCH))
    phrase = NounPhrase(noun, chosen)
    if choice.chance(0.15):
        phrase = NounPhrase(choice.pick(nouns_of(("soup", "cake", "chocolate cake"))), SOME_OF_IT)
    spoken = english.nominal(phrase)
    told = german.nominal(phrase, "nominative" if where else "accusative")
    if where is None:
        if asked_for:
            return Phrase(f"is there {spoken}", f"gibt es {told}"), "?"
        return Phrase(f"there is {spoken}", f"es gibt {told}"), "."
    if asked_for:
        return Phrase(f"is there {spoken} {where.english}", f"ist {where.german} {told}"), "?"
    return Phrase(f"there is {spoken} {where.english}", f"{where.german} ist {told}"), "."


SINCE = (("live", 5), ("work", 4), ("wait", 0), ("learn", 4), ("know", 5), ("sleep", 1), ("play", 4), ("wait", 1))


def lasting(choice: Choice) -> tuple[Clause, int]:
    """What somebody still does, and the unit its time is told in."""
    while True:
        name, unit = choice.pick(SINCE)
        who = somebody(choice, ("adult",))
        body = verb_clause(choice, entry=entry(name), who=who, rich=0.75, negation=0, form="present")
        if name == "know":
            body = replace(body, accusative=object_pronoun(choice, who))
        if name == "learn" and not (isinstance(body.accusative, NounPhrase) and body.accusative.noun.mass):
            continue
        if name == "play" and not (
            isinstance(body.accusative, NounPhrase) and "instrument" in body.accusative.noun.classes
        ):
            continue
        return replace(body, time=None, hour=None, middle=None, manner=None, company=None), unit


def since(choice: Choice) -> Sentence:
    """My parents have lived in Berlin for twenty years: seit zwanzig Jahren. How long have you been waiting?"""
    body, unit = lasting(choice)
    going_on = body.verb.english in ("wait", "sleep", "learn") or (not body.verb.stative and choice.chance(0.35))
    verb = replace(body.verb, english_participle=f"been {body.verb.english_ing}") if going_on else body.verb
    if choice.chance(0.22) and body.subject.person != 1:
        spoken = english.clause(replace(body, form="perfect", verb=verb), question=True)
        told = german.clause(replace(body, middle=Phrase("", "schon")), "question", front="wie lange")
        return Phrase(f"how long {spoken}", told), "?"
    unit_name, einheit = UNITS[max(0, unit - (1 if choice.chance(0.3) else 0))]
    number, zahl = choice.pick((*NUMBER_WORDS, ("twenty", "zwanzig"), ("thirty", "dreißig")))
    time = Phrase(f"for {number} {unit_name}", f"seit {zahl} {einheit}")
    if choice.chance(0.2):
        one, ein = choice.pick(ONE_OF_IT[max(0, unit - 1) : unit + 2] if unit else HALF_HOUR)
        time = Phrase(f"for {one}", f"seit {ein}")
    elif choice.chance(0.1):
        time = Phrase("for a long time", "schon lange")
    elif choice.chance(0.25):
        named = choice.pick((*DAYS, *MONTHS, *SINCE_WHEN, *SINCE_WHEN))
        time = Phrase(f"since {named.english}", f"seit {named.german}")
    if choice.chance(0.35) and not body.verb.stative:
        dauer = LASTED.get(unit_name, unit_name)
        over = replace(body, form="past", time=Phrase(f"for {number} {unit_name}", f"{zahl} {dauer}"))
        return plain(over), "."
    body = replace(body, time=time)
    return Phrase(english.clause(replace(body, form="perfect", verb=verb)), german.clause(body, "main")), "."


HALF_HOUR = (("half an hour", "einer halben Stunde"), ("an hour", "einer Stunde"), ("ten minutes", "zehn Minuten"))
ONE_OF_IT = (HALF_HOUR[0], *ONE_UNIT)  # in the order of the units
SINCE_WHEN = phrases(
    "yesterday/gestern, this morning/heute Morgen, last summer/letztem Sommer, last winter/letztem Winter, "
    "last week/letzter Woche, last year/letztem Jahr, last month/letztem Monat, yesterday evening/gestern Abend, "
    "last Monday/letztem Montag, last weekend/letztem Wochenende"
)
LASTED = {
    "days": "Tage",
    "weeks": "Wochen",
    "months": "Monate",
    "years": "Jahre",
    "hours": "Stunden",
    "minutes": "Minuten",
}


BETTER = (
    ("sing", "better/besser louder/lauter"),
    ("dance", "better/besser"),
    ("swim", "better/besser faster/schneller"),
    ("run", "faster/schneller"),
    ("cook", "better/besser"),
    ("speak", "better/besser"),
    ("play", "better/besser"),
    ("read", "faster/schneller better/besser"),
    ("drive", "faster/schneller better/besser"),
    ("learn", "faster/schneller"),
    ("work", "better/besser faster/schneller"),
    ("write", "better/besser faster/schneller"),
)


def better_than(choice: Choice) -> Sentence:
    """Anna sings better than Maria. My sister can play the guitar better than me."""
    name, words = choice.pick(BETTER)
    manner = phrase_pair(choice.pick(words.split()))
    who, other = subject(choice, ("adult",), "known"), subject(choice, ("adult",), "known")
    same = isinstance(who, NounPhrase) and isinstance(other, NounPhrase) and who.noun == other.noun
    if who == other or same or (isinstance(other, Pronoun) and other.plural and isinstance(who, Pronoun)):
        return better_than(choice)
    verb = entry(name).verb
    form: Form = choice.pick(("present", "present", "past", "modal"))
    body = Clause(who, verb, form, CAN if form == "modal" else None, manner=manner)
    if name == "speak":
        body = replace(body, accusative=NounPhrase(choice.pick(nouns_of(("speech",))), BARE))
    elif name == "play":
        thing = choice.pick((NounPhrase(NOUNS["football"], BARE), noun_phrase(choice, NOUNS["guitar"], "played")))
        body = replace(body, accusative=thing)
    asks = who.person != 1 and choice.chance(0.2)
    than = english.nominal(other, subject=False), german.nominal(other, "nominative")
    spoken = f"{english.clause(body, question=asks)} than {than[0]}"
    return Phrase(spoken, f"{german.clause(body, 'question' if asks else 'main')} als {than[1]}"), "?" if asks else "."


TOO = [
    tuple(part.strip().split("; ") for part in line.split("|"))
    for line in """
tired | work; dance; cook; read>book,newspaper; go swimming; go shopping; eat; sing; write>letter; clean>kitchen; come; learn
sick | work; come; swim; sing; eat; dance; go@to_school; go@to_work; play>football; help=>human; cook
busy | help=>human; cook; come; visit>kin,friend; read>book; watch television; go shopping; call>friend,kin
sad | laugh; sing; dance; eat; work; cook
young | drink>wine,beer; work; read>newspaper; understand; cook; go@cinema:to
old | dance; work; play>football; run; learn>speech; swim
cold | swim; sit@garden:in; play@garden:in; go swimming; wait@here; sleep; open>window
hot | work; sleep; run; cook; play>football; wear>coat; dance; sit@garden:in
dark | read; play@garden:in; work; write>letter; see>street,house
late | go@home; call>friend,kin; cook; eat; visit>kin,friend; go@park:to; take>bus,train; go shopping
""".strip().split("\n")
]


def too_to(choice: Choice) -> Sentence:
    """She is too tired to work: um zu arbeiten. It is too cold to swim."""
    [name], deeds = choice.pick(TOO)
    deed = choice.pick([one for one in deeds if one != "understand"])
    weather = name in ("cold", "hot", "dark", "late")
    who: Nominal = IT if weather else somebody(choice, ("adult",), "known")
    said = Phrase("too late", "zu spät") if name == "late" else predicate(ADJECTIVE[name], "too")
    form: Form = choice.pick(("present", "present", "past"))
    body = Clause(who, BE, form, complements=(said,))
    inner = effect_clause(choice, deed, WE if weather else who, "present")
    if isinstance(who, NounPhrase) and isinstance(inner.accusative, NounPhrase) and inner.accusative.noun == who.noun:
        return too_to(choice)
    asks = who.person != 1 and choice.chance(0.12)
    when = ""
    if not weather and choice.chance(0.35):
        body = replace(body, time=choice.pick(GONE[:4] if form == "past" else NOW[:2]))
        when = f" {body.time.english}" if body.time else ""
    spoken = (
        f"{english.clause(replace(body, time=None, hour=None), question=asks)} to {english.infinitive(inner)}{when}"
    )
    told = f"{german.clause(body, 'question' if asks else 'main')}, um {german.to_infinitive(inner)}"
    return Phrase(spoken, told), "?" if asks else "."


def introduction(choice: Choice) -> Sentence:
    """My name is Anna and I live in Berlin. His name is Peter and he is twelve years old."""
    name = choice.pick(NAMES)
    word, mein, who = choice.pick((("my", "mein", I), ("my", "mein", I), ("his", "sein", None)))
    if who is None:
        her = name.possessive == "her"
        word, mein, who = ("her", "ihr", SHE) if her else ("his", "sein", HE)
    if choice.chance(0.25):
        number, zahl = choice.pick((*NUMBER_WORDS, ("twenty", "zwanzig"), ("thirty", "dreißig")))
        body = Clause(who, BE, complements=(Phrase(f"{number} years old", f"{zahl} Jahre alt"),))
    else:
        found = entry(choice.pick(("live", "live", "work", "learn", "come", "play", "like", "have", "speak")))
        body = verb_clause(choice, entry=found, who=who, rich=0.6, negation=0, form="present")
    body = replace(body, time=None, hour=None, middle=None)
    return Phrase(
        f"{word} name is {name.word} and {english.clause(body)}",
        f"{mein} Name ist {name.word} und {german.clause(body, 'main')}",
    ), "."


WANTED = (
    *(entry("eat", "essen"), entry("drink"), entry("read"), entry("cook"), entry("buy"), entry("wear")),
    *(entry("learn"), entry("see"), entry("order"), entry("write"), entry("bring"), entry("sell")),
)


def what_one_wants(choice: Choice) -> Sentence:
    """What do you want to drink? What would she like to eat? What do they like to read: Was lesen sie gern?"""
    verb = DO if choice.chance(0.25) else choice.pick(WANTED).verb
    body = Clause(somebody_known(choice), verb, accusative=Name("what"))
    if choice.chance(0.2) and verb != DO and verb.english not in ("see", "bring", "sell"):
        body = replace(body, form="like to")
    else:
        body = replace(body, form="modal", modal=choice.pick((WANT, WANT, WOULD_LIKE, CAN, HAVE_TO, SHOULD)))
        if choice.chance(0.3):
            time = choice.pick(
                (("today", "heute"), ("tomorrow", "morgen"), ("tonight", "heute Abend"), ("now", "jetzt"))
            )
            body = replace(body, time=Phrase(*time))
    return with_word(body, Phrase("what", "was"), "accusative"), "?"


def to_whom(choice: Choice) -> Sentence:
    """Who did you give the money to? Wem hast du das Geld gegeben?"""
    while True:
        body = asked(choice, verb_clause, entry=choice.rare(GIVING), rich=0, negation=0)
        if (
            body.verb.english != "buy"
            and body.accusative
            and body.dative
            and not body.middle
            and body.form != "perfect"
        ):
            break
    body = replace(body, time=None, hour=None, favour=None, company=None)
    told = german.clause(body, "question", front="wem", without="dative")
    return Phrase(f"who {english.clause(body, question=True, without='dative')} to", told), "?"
