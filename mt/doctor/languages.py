"""Whether lines are in their side's language, learned from the corpus, and which language that is, by frequent words.

Cavnar and Trenkle (1994) recognise languages by character n-grams. Here each side teaches its own language, by trigrams
of the UTF-8 bytes of the lower-cased text, hashed, so that every script works.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32, Integer

LITTLE_WORDS = {
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
    "ru": "и в не на что я с он а как это по но из у от за к",
}
# A text in a language has about every fourth word in its list; by chance it is every twentieth.
_LEAST_SHARE = 0.12
_AS_GOOD = 0.9  # of the best language's share: then both are named

_BUCKETS = 1 << 16
_MULTIPLIER = np.uint32(2654435761)  # Knuth's multiplicative hashing
_LEAST_PAIRS = 200
_LEAST_TRIGRAMS = 15  # shorter lines are names and numbers as often as sentences
_LEAST_EVIDENCE = 8.0  # nats for the other language before a line is counted there
_TRIMMED_SHARE = 0.2

Table = Float32[np.ndarray, "65536"]  # a log probability, or a difference of two, for each trigram


def learn_difference(pairs: Sequence[tuple[str, str]]) -> Table | None:
    """Return how much likelier each trigram is in the target language; None when there are too few pairs to learn from.

    Pairs with equal sides must be left out: they belong to one language and are on both sides.
    """
    if len(pairs) < _LEAST_PAIRS:
        return None
    source, target = (_log_probabilities(side) for side in zip(*pairs, strict=True))
    return target - source


def in_other_language(lines: Sequence[str], towards_other: Table) -> Bool[np.ndarray, " lines"]:
    """Return which lines look like the other side's language; a short or doubtful line does not."""
    hashes, counts = _hash_trigrams(lines)
    return (_sums(towards_other, hashes, counts) > _LEAST_EVIDENCE) & (counts >= _LEAST_TRIGRAMS)


def recognise(lines: Sequence[str]) -> list[str]:
    """Return the codes of the languages that the lines may be in, none where no list of little words fits."""
    stripped = (word.strip(".,;:!?\"'()„“”»«") for line in lines for word in line.lower().split())
    words = Counter(word for word in stripped if word.isalpha())
    shares = {code: sum(words[word] for word in set(little.split())) for code, little in LITTLE_WORDS.items()}
    best = max(shares.values())
    if best < max(1, _LEAST_SHARE * words.total()):
        return []
    return [code for code, share in shares.items() if share >= _AS_GOOD * best]


def looks_like_other(here: Sequence[str], there: Sequence[str], *, own: str, other: str) -> bool:
    """Whether text that should be in `own` is rather in the language of the other side.

    `here` and `there` are what `recognise` says of it and of the other side: of two related languages the one without a
    list of words looks like the other, which says nothing where the other side is in that language.
    """
    return other in here and own not in here and (own in LITTLE_WORDS or other not in there)


def _log_probabilities(lines: Sequence[str]) -> Table:
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
    codes = np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)
    trigrams = (codes[:-2] << np.uint32(16)) | (codes[1:-1] << np.uint32(8)) | codes[2:]
    hashes = ((trigrams * _MULTIPLIER) >> np.uint32(16)).astype(np.intp)
    starts = np.flatnonzero(codes[:-2] == ord("\n"))
    return hashes, np.diff(np.append(starts, len(hashes)))


def _sums(
    table: Table, hashes: Integer[np.ndarray, " trigrams"], counts: Integer[np.ndarray, " lines"]
) -> Float32[np.ndarray, " lines"]:
    """Return the sum of the table's entries for the trigrams of each line."""
    return np.add.reduceat(table[hashes], np.cumsum(counts) - counts)
