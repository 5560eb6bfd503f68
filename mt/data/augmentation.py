"""Training pairs changed at random: joined, and as people type: capitals, Title Case, typos, words to copy.

`joined` is random concatenation, with which a small corpus teaches longer sentences (Nguyen, Murray and Chiang 2021).
The other changes and their rates are those of Mozilla's translation models. Their own program, OpusTrainer, is a stream
between processes that draws from Python's global generator and pins another SentencePiece, so that a line's changes
would depend on all lines before it; here they depend on the seed, the epoch and the line alone.
"""

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mt.data.filters import Pair
from mt.data.lines import read_lines
from mt.data.spaces import main_language, separator
from mt.data.untranslatable import FORMS, token

COPIED = [kind for kind in FORMS if kind != "noise"]
_MARKS = (".。．।۔", "!！", "?？؟", "…", ":：", ";；؛")  # those of a group end sentences of the same kind
_NOT_BEFORE_A_MARK = tuple("".join(_MARKS) + ",，、")
_LETTER = r"[^\W\d_\u2e80-\U0010ffff]"  # of an alphabet: Chinese, Japanese and Korean are typed otherwise
_TWO_LETTERS = re.compile(f"(?={_LETTER}{{2}})")
_QWERTY = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LAYOUTS = {
    **dict.fromkeys(("de", "cs", "sk", "sl", "hr", "hu"), ("qwertzuiopü", "asdfghjklöä", "yxcvbnm")),
    "fr": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """Each rate is the share of pairs that get the change, in 0 to 1; of the two cases a pair gets one at most."""

    joined: float
    """With another pair after it."""
    upper_case: float
    title_case: float
    end_punctuation: float
    """Of pairs whose sides end in the same mark: three times of four it is lost, else doubled."""
    typos: float
    """One to three in the source."""
    noise: float
    copied_tokens: float
    source_language: str
    target_language: str

    def of_case(self) -> "Augmentation | None":
        """The changes of case alone, None without; the vocabulary has to have words in capitals too."""
        if not self.upper_case + self.title_case:
            return None
        return replace(self, joined=0.0, end_punctuation=0.0, typos=0.0, noise=0.0, copied_tokens=0.0)

    def all_changed(self, pairs: Sequence[Pair], *, first: int, seed: tuple[int, ...]) -> list[Pair]:
        """Pairs of a corpus from number `first` on, each changed as `seed` and its number say."""
        changed = []
        for number, pair in enumerate(pairs, start=first):
            chance = random.Random(f"{seed} pair {number}")
            changed.append(self.changed(*self.followed(pair, pairs, chance), chance))
        return changed

    def followed(self, pair: Pair, others: Sequence[Pair], chance: random.Random) -> Pair:
        """The pair, alone or with one of the `others` after it."""
        if not self.joined or chance.random() >= self.joined:
            return pair
        other = chance.choice(others)
        spaces = separator(self.source_language), separator(self.target_language)
        source, target = (space.join(sides) for space, *sides in zip(spaces, pair, other, strict=True))
        return source, target

    def changed(self, source: str, target: str, chance: random.Random) -> tuple[str, str]:
        """The pair as `chance` changes it."""
        case = chance.random()
        if case < self.upper_case + self.title_case and has_case(source):
            change = upper_case if case < self.upper_case else title_case
            source, target = change(source, self.source_language), change(target, self.target_language)
        if chance.random() < self.end_punctuation:
            source, target = end_marks(source, target, times=chance.choice((0, 0, 0, 2)))
        if chance.random() < self.typos:
            for _ in range(chance.randint(1, 3)):
                source = typo(source, chance, self.source_language)
        for rate, kinds in ((self.noise, ["noise"]), (self.copied_tokens, COPIED)):
            if chance.random() < rate:
                word, share = token(kinds, source, chance), chance.random()
                source, target = inserted(source, word, share=share), inserted(target, word, share=share)
        return source, target


def write_changed(augmentation: Augmentation, texts: Sequence[Path], outputs: Sequence[Path], *, seed: int) -> None:
    """Write the pairs of a source and a target text that change, as they are then, and no others."""
    pairs = zip(read_lines(str(texts[0])), read_lines(str(texts[1])), strict=True)
    with outputs[0].open("wb") as sources, outputs[1].open("wb") as targets:
        for number, pair in enumerate(pairs):
            changed = augmentation.changed(*pair, random.Random(f"{seed} vocabulary {number}"))
            if changed != pair:
                sources.write(f"{changed[0]}\n".encode())
                targets.write(f"{changed[1]}\n".encode())


def has_case(text: str) -> bool:
    """Whether most letters of a text have capitals; where they do not, a translation could not know of them."""
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(letter.lower() != letter.upper() for letter in letters) > len(letters)


def upper_case(text: str, language: str) -> str:
    """The text in capitals."""
    return _dotted(text, language).upper()


def lower_case(text: str, language: str) -> str:
    """The text without capitals."""
    return (text.replace("I", "ı").replace("İ", "i") if main_language(language) in ("tr", "az") else text).lower()


def title_case(text: str, language: str) -> str:
    """The text with a capital at the beginning of each word; other letters stay as they are."""
    return re.sub(r"(?<!\S)[^\w\s]*\w", lambda first: _dotted(first[0], language).title(), text)


def end_marks(source: str, target: str, *, times: int) -> tuple[str, str]:
    """The pair with its end mark this number of times; unchanged unless both sides end in one of the same kind."""
    sides = source.rstrip(), target.rstrip()
    for marks in _MARKS:
        if all(side.endswith(tuple(marks)) for side in sides):
            bare = [side[:-1].rstrip() for side in sides]
            if any(not side or side.endswith(_NOT_BEFORE_A_MARK) for side in bare):
                break  # an ellipsis, ?!, or nothing else
            first, second = (side + times * whole[-1] for side, whole in zip(bare, sides, strict=True))
            return first, second
    return source, target


def typo(text: str, chance: random.Random, language: str) -> str:
    """The text with one typo in a word of two letters or more; unchanged where there is none.

    Two letters are swapped, one is lost or doubled, or is that of a neighbouring key.
    """
    positions = [match.start() for match in _TWO_LETTERS.finditer(text)]
    if not positions:
        return text
    first = chance.choice(positions)
    one, two = text[first], text[first + 1]
    keys = [key.upper() if one.isupper() else key for key in _neighbours(main_language(language)).get(one.lower(), "")]
    forms = [two, one + one + two, *([two + one] if one != two else []), *([chance.choice(keys) + two] if keys else [])]
    return text[:first] + chance.choice(forms) + text[first + 2 :]


def inserted(text: str, token: str, *, share: float) -> str:
    """The text with a token between two words, after about this share of them."""
    words = text.split()
    words.insert(round(share * len(words)), token)
    return " ".join(words)


@functools.cache
def _neighbours(language: str) -> Mapping[str, Sequence[str]]:
    """The keys next to each letter's, on the keyboard of a language; a row begins half a key after that above."""
    keys = {
        (row, column): letter
        for row, letters in enumerate(_LAYOUTS.get(language, _QWERTY))
        for column, letter in enumerate(letters)
    }
    steps = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    return {
        letter: [keys[row + down, column + right] for down, right in steps if (row + down, column + right) in keys]
        for (row, column), letter in keys.items()
    }


def _dotted(text: str, language: str) -> str:
    """The text with the capital of i, where that has a dot."""
    return text.replace("i", "İ") if main_language(language) in ("tr", "az") else text
