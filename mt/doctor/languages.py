"""Which language a text is in, from its most frequent little words, or from its alphabet where that tells enough."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "pl": "Polish",
    "cs": "Czech", "ro": "Romanian", "hu": "Hungarian", "tr": "Turkish",
}  # fmt: skip
_LITTLE_WORDS = {
    "en": "the of and to in is that it was for on are with as at be this from a",
    "de": "der die das und in den von zu mit sich auf für ist im dem nicht ein eine einem einer einen",
    "fr": "le la les de des et un une dans est du en que qui pour sur pas au avec ce",
    "es": "el la los las de y en que un una por con del para es se no su al como",
    "it": "il la di che e un una per del della è in con non sono gli nel le alla si",
    "pt": "o a os as de e do da em um uma que para com não no na por se dos",
    "nl": "de het een en van in is op te dat met voor zijn niet aan er ook bij",
    "sv": "och i att det som en på är av för med den till ett har inte om",
    "da": "og i at det er en på af til med som for den ikke et der har",
    "no": "og i at det er en på av til med som for den ikke et jeg har",
    "fi": "ja on ei se että oli hän mutta kun ovat joka mitä tämä niin",
    "pl": "i w na z się nie do to że jest jak po od przez za",
    "cs": "a v se na je že do s z k o ve pro jako který si ale",
    "ro": "și în de la un o cu pe nu din este că mai sunt care",
    "hu": "a az és egy hogy nem is van meg ez volt csak",
    "tr": "ve bir bu da de için ile çok ne var olarak daha",
}
LITTLE_WORDS = {language: frozenset(words.split()) for language, words in _LITTLE_WORDS.items()}

# A text in a language has about every fourth word in its list; by chance it is every twentieth.
LEAST_SHARE = 0.12
AS_GOOD = 0.9  # of the best language's share: then both are named


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return how often each word of letters alone occurs, in lower case, marks around it taken off."""
    words = (word.strip(".,;:!?\"'()„“”»«") for line in lines for word in line.lower().split())
    return Counter(word for word in words if word.isalpha())


def name_languages(words: Counter[str]) -> list[str]:
    """Return the codes of the languages that the words fit best; none when nothing fits."""
    total = words.total()
    if not total:
        return []
    shares = {code: sum(words[word] for word in little) / total for code, little in LITTLE_WORDS.items()}
    best = max(shares.values())
    if best < LEAST_SHARE:
        return []
    return [code for code, share in shares.items() if share >= AS_GOOD * best]


def describe(lines: Sequence[str]) -> str:
    """Return the name of the language of some lines as far as it can be told: a language, or a script."""
    script = _script(lines)
    if script not in ("LATIN", ""):
        return f"{script.capitalize()} script"
    return " or ".join(NAMES[code] for code in name_languages(count_words(lines)))


def _script(lines: Sequence[str]) -> str:
    """Return the first word of the Unicode names of most letters, such as LATIN, CYRILLIC or HIRAGANA."""
    letters = Counter(character for line in lines[:1000] for character in line if character.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "UNKNOWN").split()[0]] += count
    return scripts.most_common(1)[0][0] if scripts else ""
