"""German morphology: the declension of noun phrases, the conjugation of verbs."""

from mt.data.toy.features import (
    Case,
    Nominal,
    Noun,
    Verb,
)

# Endings by case, in the columns masculine, feminine, neuter, plural. "-" is no ending.
DEFINITE = {
    "nominative": "der die das die",
    "accusative": "den die das die",
    "dative": "dem der dem den",
    "genitive": "des der des der",
}
DER_ENDINGS = {"nominative": "er e es e", "accusative": "en e es e", "dative": "em er em en", "genitive": "es er es er"}
EIN_ENDINGS = {"nominative": "- e - e", "accusative": "en e - e", "dative": "em er em en", "genitive": "es er es er"}
WEAK = {"nominative": "e e e en", "accusative": "en e e en", "dative": "en en en en", "genitive": "en en en en"}
MIXED = {"nominative": "er e es en", "accusative": "en e es en", "dative": "en en en en", "genitive": "en en en en"}
STRONG = {"nominative": "er e es e", "accusative": "en e es e", "dative": "em er em en", "genitive": "en er en er"}
COLUMNS = ("masculine", "feminine", "neuter")
ADJECTIVE_ENDINGS = {"definite": WEAK, "der": WEAK, "ein": MIXED, "none": STRONG}
RELATIVE = DEFINITE | {"dative": "dem der dem denen"}
HABEN = ("habe", "hast", "hat", "haben")
SEIN = ("bin", "bist", "ist", "sind")
HATTE = ("hatte", "hattest", "hatte", "hatten")
WAR = ("war", "warst", "war", "waren")
WERDEN = ("werde", "wirst", "wird", "werden")
IRREGULAR_PRESENT = {
    "sein": SEIN,
    "werden": WERDEN,
    "haben": HABEN,
    "wissen": ("weiß", "weißt", "weiß", "wissen"),
    "mögen": ("mag", "magst", "mag", "mögen"),
    "wollen": ("will", "willst", "will", "wollen"),
    "möchten": ("möchte", "möchtest", "möchte", "möchten"),
}
PRETERITE_ENDINGS = {"war": ("", "st", "", "en"), "gab": ("", "st", "", "en")}


def cell(table: dict[str, str], case: Case, noun: Noun, plural: bool) -> str:
    """The ending in one cell of a declension."""
    column = 3 if plural else COLUMNS.index(noun.gender)
    ending = table[case].split()[column]
    return "" if ending == "-" else ending


def noun_form(noun: Noun, case: Case, plural: bool) -> str:
    """The noun with its case ending: den Kindern, den Jungen, des Vaters."""
    if plural:
        word = noun.german_plural
        return word if case != "dative" or word[-1] in "ns" else word + "n"
    if noun.weak and case != "nominative":
        return noun.german + ("n" if noun.german[-1] in "er" else "en")
    if case == "genitive" and noun.gender != "feminine":
        return noun.german + ("es" if noun.long_genitive else "s")
    return noun.german


def person_index(subject: Nominal) -> int:
    """Column of a paradigm: ich, du, er, and one form for wir and sie."""
    return 3 if subject.plural else subject.person - 1


def present(verb: Verb, index: int) -> str:
    """The finite present, without the particle."""
    if verb.german in IRREGULAR_PRESENT:
        return IRREGULAR_PRESENT[verb.german][index]
    if index == 3:
        return verb.german
    if index == 2:
        return verb.german_third
    if index == 0:
        return stem(verb) + "e"
    base = verb.german_third.removesuffix("t")
    return base + ("t" if base[-1] in "sßzx" else "st")


def stem(verb: Verb) -> str:
    """The stem that -e and the imperative are built on."""
    return verb.german.removesuffix("n") if verb.german.endswith("ern") else verb.german.removesuffix("en")


def preterite(verb: Verb, index: int) -> str:
    """war, warst, waren; hatte, hattest, hatten."""
    endings = PRETERITE_ENDINGS.get(verb.preterite, ("", "st", "", "n"))
    return verb.preterite + endings[index]


def infinitive(verb: Verb) -> str:
    """aufstehen, schwimmen gehen."""
    return verb.particle + verb.german
