"""Whether lines are in their side's language, learned from the corpus, and which language that is, by frequent words.

Cavnar and Trenkle (1994) recognise languages by character n-grams. Here each side teaches its own language, by trigrams
of the UTF-8 bytes of the lower-cased text, hashed, so that every script works.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Integer

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
    "pl": "i w na z się nie do to że jest jak o po od przez za",
    "cs": "a v se na je že do s z k o ve pro jako který si ale",
    "ro": "și în de la un o cu pe nu din este că mai sunt care",
    "hu": "a az és egy hogy nem is van meg ez volt csak",
    "tr": "ve bir bu da de için ile çok ne var olarak daha",
}
# A text in a language has about every fourth word in its list; by chance it is every twentieth.
_LEAST_SHARE = 0.12
_AS_GOOD = 0.9  # of the best language's share: then both are named

_BUCKETS = 1 << 16
_MULTIPLIER = np.uint32(2654435761)  # Knuth's multiplicative hashing
_LEAST_LINES = 200
_LEAST_TRIGRAMS = 15  # shorter lines are names and numbers as often as sentences
_LEAST_EVIDENCE = 8.0  # nats for the other language before a line is counted there
_TRIMMED_SHARE = 0.2

Table = Float32[np.ndarray, "65536"]  # log probability of each trigram


@dataclass(frozen=True)
class SideLanguages:
    """The language of a side by name, where it is recognised, and what its lines are compared with."""

    name: str
    main: Table
    other_side: Table
    other_side_name: str


def learn_languages(sources: Sequence[str], targets: Sequence[str]) -> tuple[SideLanguages, SideLanguages] | None:
    """Return what to compare each side with, from a sample of pairs; None when there are too few to learn from.

    Pairs with equal sides must be left out: they belong to one language and are on both sides.
    """
    if len(sources) < _LEAST_LINES:
        return None
    source, target = _main_table(sources), _main_table(targets)
    source_name, target_name = _describe(sources[:5000]), _describe(targets[:5000])
    sides = SideLanguages(source_name, source, target, target_name)
    return sides, SideLanguages(target_name, target, source, source_name)


def in_other_language(lines: Sequence[str], languages: SideLanguages) -> Bool[np.ndarray, " lines"]:
    """Return which lines look like the other side's language; a short or doubtful line does not."""
    hashes, counts = _hash_trigrams(lines)
    evidence = _sums(languages.other_side - languages.main, hashes, counts)
    return (evidence > _LEAST_EVIDENCE) & (counts >= _LEAST_TRIGRAMS)


def _main_table(lines: Sequence[str]) -> Table:
    """Learn the side's language without the fifth of the lines that fits it least."""
    hashes, counts = _hash_trigrams(lines)
    chosen = np.ones(len(counts), dtype=bool)
    for _ in range(4):
        frequencies = np.bincount(hashes[np.repeat(chosen, counts)], minlength=_BUCKETS) + 0.1
        table = np.log(frequencies / frequencies.sum()).astype(np.float32)
        score = _sums(table, hashes, counts) / counts
        chosen = score >= np.quantile(score, _TRIMMED_SHARE)
    return table


def _hash_trigrams(lines: Sequence[str]) -> tuple[Integer[np.ndarray, " trigrams"], Integer[np.ndarray, " lines"]]:
    """Return the trigrams of all lines, and the number in each line; a line's beginning counts as a character."""
    text = "\n" + "\n".join(lines).lower() + "\n\n"
    codes = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8).astype(np.uint32)
    trigrams = (codes[:-2] << np.uint32(16)) | (codes[1:-1] << np.uint32(8)) | codes[2:]
    hashes = ((trigrams * _MULTIPLIER) >> np.uint32(16)).astype(np.intp)
    starts = np.flatnonzero(codes[:-2] == ord("\n"))
    return hashes, np.diff(np.append(starts, len(hashes)))


def _sums(
    table: Table, hashes: Integer[np.ndarray, " trigrams"], counts: Integer[np.ndarray, " lines"]
) -> Float32[np.ndarray, " lines"]:
    """Return the sum of the table's entries for the trigrams of each line."""
    return np.add.reduceat(table[hashes], np.cumsum(counts) - counts) if len(counts) else np.zeros(0, np.float32)


def _describe(lines: Sequence[str]) -> str:
    """Return the name of the language of some lines, of their script if it is not Latin, or nothing."""
    letters = Counter(character for line in lines[:1000] for character in line if character.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():  # the names of letters begin with LATIN, CYRILLIC, HIRAGANA …
        scripts[unicodedata.name(letter, "UNKNOWN").split()[0]] += count
    if scripts and (script := scripts.most_common(1)[0][0]) != "LATIN":
        return f"{script.capitalize()} script"
    stripped = (word.strip(".,;:!?\"'()„“”»«") for line in lines for word in line.lower().split())
    words = Counter(word for word in stripped if word.isalpha())
    shares = {code: sum(words[word] for word in set(little.split())) for code, little in _LITTLE_WORDS.items()}
    best = max(shares.values())
    if best < max(1, _LEAST_SHARE * words.total()):
        return ""
    return " or ".join(NAMES[code] for code, share in shares.items() if share >= _AS_GOOD * best)
