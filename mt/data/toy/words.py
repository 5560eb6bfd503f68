"""The small words: pronouns, names, determiners, numbers, adjectives, adverbs, times, modal verbs."""

from mt.data.toy.features import Adjective, Determiner, Modal, Name, Phrase, Pronoun, phrase_pair
from mt.data.toy.nouns import entries

I, YOU, HE, SHE, IT, WE, THEY = PRONOUNS = (  # noqa: E741 — the word itself
    Pronoun("I", "me", "ich", "mich", "mir", 1, False, "my"),
    Pronoun("you", "you", "du", "dich", "dir", 2, False, "your"),
    Pronoun("he", "him", "er", "ihn", "ihm", 3, False, "his"),
    Pronoun("she", "her", "sie", "sie", "ihr", 3, False, "her"),
    Pronoun("it", "it", "es", "es", "ihm", 3, False, ""),
    Pronoun("we", "us", "wir", "uns", "uns", 1, True, "our"),
    Pronoun("they", "them", "sie", "sie", "ihnen", 3, True, "their"),
)
NOBODY = Pronoun("nobody", "nobody", "niemand", "niemanden", "niemandem", 3, False, "")
EVERYBODY = Pronoun("everybody", "everybody", "jeder", "jeden", "jedem", 3, False, "")
SOMEBODY = Pronoun("somebody", "somebody", "jemand", "jemanden", "jemandem", 3, False, "")
PERSONAL = (I, YOU, HE, SHE, WE, THEY)
NAMES = [Name(word, "her") for word in ("Anna", "Maria", "Lisa", "Emma", "Julia")]
NAMES += [Name(word, "his") for word in ("Peter", "Paul", "Tom", "Martin", "Leon")]
TOWNS = [
    Phrase("Berlin", "Berlin"),
    Phrase("Hamburg", "Hamburg"),
    Phrase("Munich", "München"),
    Phrase("Vienna", "Wien"),
    Phrase("London", "London"),
    Phrase("Paris", "Paris"),
    Phrase("Rome", "Rom"),
]
COUNTRIES = [
    Phrase("Germany", "Deutschland"),
    Phrase("England", "England"),
    Phrase("France", "Frankreich"),
    Phrase("Italy", "Italien"),
]

THE = Determiner("the", "d", "definite", definite=True)
THE_ADDED = Determiner("", "d", "definite", definite=True)  # make dinner: das Abendessen machen
THE_UNSAID = Determiner("the", "", "none")  # play the piano: Klavier spielen
A = Determiner("a", "ein", "ein", plural=False)
ANY = Determiner("any", "", "none")  # not any: kein
BARE = Determiner("", "", "none")
NO = Determiner("no", "kein", "ein")
THIS = Determiner("this", "dies", "der", plural=False, definite=True)
THESE = Determiner("these", "dies", "der", plural=True, definite=True)
THAT = Determiner("that", "dies", "der", plural=False, definite=True)  # one seldom says jener
THOSE = Determiner("those", "dies", "der", plural=True, definite=True)
WHICH = Determiner("which", "welch", "der")
EVERY = Determiner("every", "jed", "der", plural=False, definite=True)
ALL = Determiner("all", "all", "der", plural=True, definite=True)
MANY = Determiner("many", "viele", "none", plural=True)
SOME = Determiner("some", "einige", "none", plural=True)
SOME_OF_IT = Determiner("some", "", "none")  # some bread: Brot
MUCH = [
    Determiner("more", "mehr", "none"),
    Determiner("a lot of", "viel", "none"),
    Determiner("less", "weniger", "none"),
    Determiner("too much", "zu viel", "none"),
    Determiner("so much", "so viel", "none"),
    Determiner("a little", "ein bisschen", "none"),
]
SO_MANY = [
    Determiner("more", "mehr", "none", plural=True),
    Determiner("a lot of", "viele", "none", plural=True),
    Determiner("too many", "zu viele", "none", plural=True),
    Determiner("so many", "so viele", "none", plural=True),
]
HOW_MANY = Determiner("how many", "wie viele", "none", plural=True)
POSSESSIVES = {
    word: Determiner(word, stem, "ein", definite=True)
    for word, stem in (
        ("my", "mein"),
        ("your", "dein"),
        ("his", "sein"),
        ("her", "ihr"),
        ("our", "unser"),
        ("their", "ihr"),
    )
}
NUMBER_WORDS = [
    tuple(pair.split("/"))
    for pair in [
        "two/zwei",
        "three/drei",
        "four/vier",
        "five/fünf",
        "six/sechs",
        "seven/sieben",
        "eight/acht",
        "nine/neun",
        "ten/zehn",
        "eleven/elf",
        "twelve/zwölf",
    ]
]
ONE = Determiner("one", "ein", "ein", plural=False)
TENS = [
    tuple(pair.split("/"))
    for pair in [
        "twenty/zwanzig",
        "thirty/dreißig",
        "forty/vierzig",
        "fifty/fünfzig",
        "sixty/sechzig",
        "seventy/siebzig",
        "eighty/achtzig",
        "ninety/neunzig",
    ]
]
NUMBERS = [Determiner(english, german, "none", plural=True) for english, german in NUMBER_WORDS]
ORDINALS = [
    phrase_pair(pair)
    for pair in [
        "first/ersten",
        "second/zweiten",
        "third/dritten",
        "fourth/vierten",
        "fifth/fünften",
        "sixth/sechsten",
        "seventh/siebten",
        "eighth/achten",
        "ninth/neunten",
        "tenth/zehnten",
    ]
]
MONTHS = [
    phrase_pair(pair)
    for pair in [
        "January/Januar",
        "February/Februar",
        "March/März",
        "April/April",
        "May/Mai",
        "June/Juni",
        "July/Juli",
        "August/August",
        "September/September",
        "October/Oktober",
        "November/November",
        "December/Dezember",
    ]
]
DAYS = [
    phrase_pair(pair)
    for pair in [
        "Monday/Montag",
        "Tuesday/Dienstag",
        "Wednesday/Mittwoch",
        "Thursday/Donnerstag",
        "Friday/Freitag",
        "Saturday/Samstag",
        "Sunday/Sonntag",
    ]
]

ADJECTIVE_TABLE = """
# English (comparative) | German, comparative | the noun classes it is of, before the noun; * : only after to be
big bigger | groß größer | animal sized furniture clothes carried vessel tree city garden room kitchen family sibling trouble coloured
small smaller | klein kleiner | pet farm sized furniture carried vessel tree garden room kitchen village shop gift
nice nicer | schön schöner | clothes city village flower gift garden house room flat picture beach park weather hotel song
little | klein | young infant pet small_animal sibling village house
old older | alt älter | man woman neighbour teacher doctor friend grandmother grandfather aunt uncle dog cat horse building furniture device clothes art text vehicle told city village carried tree
young younger | jung jünger | man woman teacher doctor student pet farm neighbour aunt uncle family
new newer | neu neuer | building furniture device clothes vehicle text tool carried instrument friend teacher neighbour toy watched
good better | gut besser | occasion food dish snack meal drink alcohol told text friend job eatery lodging instrument school watched
bad worse | schlecht schlechter | food dish told text weather watched eatery lodging wine coffee
dark darker | dunkel/dunkl dunkler | room kitchen street forest house church cinema
beautiful - | schön schöner | woman city village nature outdoor art flower clothes sung lodging weather animal culture
long longer | lang länger | season text told street watched asked
short shorter | kurz kürzer | text told watched asked
hot hotter | heiß heißer | hot
cold colder | kalt kälter | cold waters weather season
warm warmer | warm wärmer | warm weather season
expensive - | teuer/teur teurer | clothes road wheels device furniture eatery lodging wine meat present instrument
cheap cheaper | billig billiger | clothes road wheels device eatery hotel furniture
red | rot | clothes coloured road wheels flower
blue | blau | clothes coloured road wheels
green | grün | clothes coloured road wheels tree tea
white | weiß | pet clothes house furniture road flower
black | schwarz | pet clothes road wheels carried horse shoe coffee tea
yellow | gelb | clothes flower coloured road
friendly friendlier | freundlich freundlicher | adult young pet
nice nicer | nett netter | adult young family
clever cleverer | klug klüger | adult young pet
strong stronger | stark stärker | man boy horse
tall taller | groß größer | man woman boy
rich richer | reich reicher | man woman uncle aunt neighbour
sick | krank | child animal man woman
hungry | hungrig | animal child boy
tired | müde/müd | child man woman boy girl student
happy happier | glücklich glücklicher | child family man woman girl
funny funnier | lustig lustiger | told watched boy girl song uncle
interesting - | interessant interessanter | text told watched art culture city asked game
boring - | langweilig langweiliger | text told watched game
important - | wichtig wichtiger | asked letter word trouble
difficult - | schwierig schwieriger | asked word speech trouble game
fresh fresher | frisch | fresh
fast faster | schnell schneller | road wheels public horse
clean cleaner | sauber sauberer | garment room kitchen vessel window street waters lodging
dirty dirtier | schmutzig schmutziger | garment room kitchen vessel window street shoe pet
empty | leer | vessel room carried street restaurant
quiet quieter | ruhig ruhiger | street village lodging room child
modern - | modern moderner | building device furniture city
German | deutsch | eatery school watched text sung wine beer bread cheese city hotel
French | französisch | eatery school watched text sung wine cheese bread city hotel
English | englisch | school watched text sung city hotel beer newspaper
"""
# Which of several: only before the noun, after the definite article.
ORDERED = [
    (Adjective(english, german, german), frozenset(classes.split()))
    for english, german, classes in (
        (
            "other",
            "ander",
            "clothes furniture vessel text told watched road wheels lodging eatery carried child boy girl man woman",
        ),
        ("other", "ander", "student shop culture school room public"),
        ("last", "letzt", "asked told watched public text"),
        ("next", "nächst", "public asked"),
        ("nearest", "nächst", "shop lodging eatery transport hospital museum cinema church park"),
        ("first", "erst", "asked told watched text learned public"),
    )
]
STATES = ("tired", "hungry", "happy", "sick", "sad", "thirsty", "angry", "late")
PREDICATES = {
    "sad": Adjective("sad", "traurig", "traurig", "sadder", "trauriger"),
    "thirsty": Adjective("thirsty", "durstig", "durstig"),
    "angry": Adjective("angry", "wütend", "wütend"),
    "open": Adjective("open", "offen", "offen"),
    "closed": Adjective("closed", "geschlossen", "geschlossen"),
    "healthy": Adjective("healthy", "gesund", "gesund"),
    "alone": Adjective("alone", "allein", "allein"),
    "ready": Adjective("ready", "fertig", "fertig"),
    "busy": Adjective("busy", "beschäftigt", "beschäftigt"),
}


def parse(line: str) -> tuple[Adjective, frozenset[str]]:
    """One line of the table."""
    english, german, classes = (part.strip() for part in line.split("|"))
    word, *comparative = english.split()
    base, *german_comparative = german.split()
    predicative, _, stem = base.partition("/")
    compared = "".join(comparative).replace("_", " ").replace("-", f"more {word}")
    return (
        Adjective(word, predicative, stem or predicative, compared, "".join(german_comparative)),
        frozenset(classes.split()),
    )


ADJECTIVES = [parse(line) for line in entries(ADJECTIVE_TABLE)]
ADJECTIVE = {adjective.english: adjective for adjective, _ in ADJECTIVES} | PREDICATES

MANNERS = {
    english: Phrase(english, german)
    for english, german in (
        ("well", "gut"),
        ("badly", "schlecht"),
        ("fast", "schnell"),
        ("slowly", "langsam"),
        ("loudly", "laut"),
        ("together", "zusammen"),
        ("alone", "allein"),
        ("late", "spät"),
        ("early", "früh"),
        ("a lot", "viel"),
        ("on time", "pünktlich"),
    )
}
HABITS = [
    phrase_pair(pair)
    for pair in ["often/oft", "always/immer", "never/nie", "sometimes/manchmal", "usually/normalerweise"]
]
ALREADY, NEVER = Phrase("already", "schon"), HABITS[2]
NEVER_YET = Phrase("never", "noch nie")  # in the perfect
BOTH = Phrase("both", "beide")
ALSO, STILL = Phrase("also", "auch"), Phrase("still", "immer noch")

CAN = Modal("can", ("kann", "kannst", "kann", "können"))
COULD = Modal("could", ("konnte", "konntest", "konnte", "konnten"), past=True)
WOULD = Modal("would", ("würde", "würdest", "würde", "würden"))
POLITE = Modal("could", ("könnte", "könntest", "könnte", "könnten"))
MUST = Modal("must", ("muss", "musst", "muss", "müssen"))
MUST_NOT = Modal("must", ("darf", "darfst", "darf", "dürfen"))  # only negated: not muss nicht
MAY = Modal("may", ("darf", "darfst", "darf", "dürfen"))
SHOULD = Modal("should", ("sollte", "solltest", "sollte", "sollten"))
SHALL = Modal("shall", ("soll", "sollst", "soll", "sollen"))
WOULD_LIKE = Modal("would like to", ("möchte", "möchtest", "möchte", "möchten"))
WANT = Modal("want to", ("will", "willst", "will", "wollen"), inflected=True)
WANTED = Modal("want to", ("wollte", "wolltest", "wollte", "wollten"), inflected=True, past=True)
NEED_TO = Modal("need to", ("muss", "musst", "muss", "müssen"), inflected=True)
HAVE_TO = Modal("have to", ("muss", "musst", "muss", "müssen"), inflected=True)
HAD_TO = Modal("have to", ("musste", "musstest", "musste", "mussten"), inflected=True, past=True)
COLOURS = ("red", "blue", "green", "white", "black", "yellow")
LATE = Phrase("late", "spät dran")  # of people and trains; of the hour it is spät
