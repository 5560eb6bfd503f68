"""Words that stay the same in a translation: left out of what the model reads, and put back where alignment says.

URLs, e-mail addresses, emoji and Weblate's placeholders (`[X1X]`) tell a model nothing; it spells them wrong and loses
its way, and of a line of punctuation alone it makes words. Numbers it reads, as it may write them in another form; a
line of which it lost the digits is translated again without that number.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from mt.data.untranslatable import ADDRESS
from mt.translation.segments import Translation

_SYMBOL = r"(?:[\U0001f1e6-\U0001f1ff]{2}|[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff])"
_TOKEN = re.compile(rf"(?:{ADDRESS}|\[X\d+X\]|(?:{_SYMBOL}[\ufe0f\u200d\U0001f3fb-\U0001f3ff]*+)++)")
_NUMBER = re.compile(r"[+$€£]?\d+(?:[.,:/-]\d+)*%?")
_DIGITS = re.compile(r"\d(?:[.,:/\s-]?\d)*")
_THOUSANDS = re.compile(r"(?<!\d)(?!0)\d{1,3}(?:[.,\s]\d{3})+(?!\d)")
_MARKS = ".,;:!?。，、！？"
_SIGNS = {  # and how languages write them out
    "+": r"\+|plus|плюс",
    "%": r"[%٪％]|p[eo]u?r ?cent|pro[zcs]ent|por ?cien|процент|відсот|yüzde|百分之|パーセント|퍼센트",
    "$": r"[$＄]|d[oó]l+[aá]r|доллар|долар|ドル|美元|달러",
    "€": r"€|e[uv]ro|евро|євро|ユーロ|欧元|유로",
    "£": r"[£￡]|pound|pfund|livre|libra|lir|sterlin|фунт|ポンド|英镑|파운드",
}


@dataclass(frozen=True)
class Copied:
    """A word left out after `before` of those that stay, and the marks that followed it."""

    token: str
    before: int
    marks: str
    moved: bool = False
    """Whether these marks follow the word before it in what the model reads."""


def leave_out(text: str, numbers: Collection[str] = ()) -> tuple[str, list[Copied]]:
    """The text without URLs, e-mail addresses, emoji, placeholders and the given numbers that are words of their own.

    Of a text without a letter or digit nothing is left.
    """
    if not any(map(str.isalnum, text)):
        return "", [Copied(word, before=0, marks="") for word in text.split()]
    kept, copied = list[str](), list[Copied]()
    for word in text.split():
        token = word.rstrip(_MARKS)
        if not _TOKEN.fullmatch(token) and token not in numbers:
            kept.append(word)
            continue
        marks = word[len(token) :]
        moved = bool(marks and kept) and not kept[-1].endswith(tuple(_MARKS))
        if moved:
            kept[-1] += marks
        copied.append(Copied(token, len(kept), marks, moved))
    return (" ".join(kept), copied) if copied else (text, [])


def lost_numbers(source: str, translation: str) -> list[str]:
    """The numbers of the source whose digits the translation does not have, or whose sign, as such or as a word."""
    numbers = [word for each in source.split() if _NUMBER.fullmatch(word := each.rstrip(_MARKS))]
    if not numbers:
        return []
    there = {reading for found in _DIGITS.findall(translation) for reading in _readings(found)}
    groups = set(_digit_groups(translation))
    signs = {sign for sign, words in _SIGNS.items() if not re.search(words, translation, re.IGNORECASE)}

    def is_there(number: str) -> bool:
        found = not there.isdisjoint(_readings(number)) or groups.issuperset(_digit_groups(number))
        return found and not signs.intersection(number)

    return [number for number in numbers if not is_there(number)]


def _readings(number: str) -> list[tuple[str, ...]]:
    """The groups of digits of a number, as they are and without marks that may separate thousands: 2.3 is never 23."""
    whole = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), number)
    return [tuple(_digit_groups(text)) for text in (number, whole)]


def put_back(translation: Translation, copied: Sequence[Copied], *, source_words: int, aligned: bool) -> Translation:
    """The translation with the words left out, each after the translation of the word that it followed.

    `source_words` is the number of words that stayed. Without an alignment a word keeps its share of the way;
    the result has one where it is to be `aligned`.
    """
    if not copied:
        return translation
    words = [(word, number) for number, word in enumerate(translation.text.split())]
    links = translation.alignment or []
    rows: list[tuple[str, int | Copied]] = []
    waiting = sorted(
        ((_position(one, links, source_words, len(words)), one) for one in copied), key=lambda pair: pair[0]
    )
    last = 0  # where the last word of the model is
    for number in range(len(words) + 1):
        while waiting and waiting[0][0] == number:
            one = waiting.pop(0)[1]
            if one.moved and number and not rows[last][0].rstrip(_MARKS):  # a word of its own, as in "à !"
                rows.insert(last, (one.token, one))
                last += 1
                continue
            if one.moved and number:  # they come after it instead
                rows[last] = (rows[last][0].rstrip(_MARKS), number - 1)
            rows.append((one.token + one.marks, one))
        last = len(rows)
        rows += words[number : number + 1]
    return replace(
        translation,
        text=" ".join(word for word, _ in rows),
        alignment=_links(links, rows, copied) if aligned else None,
        probabilities=_probabilities(translation.probabilities, rows),
        others=[put_back(other, copied, source_words=source_words, aligned=aligned) for other in translation.others],
    )


def _position(one: Copied, links: Sequence[tuple[int, int]], source_words: int, target_words: int) -> int:
    """How many words of the translation come before it."""
    if one.before in (0, source_words):
        return target_words if one.before else 0
    if after := [target + 1 for source, target in links if source == one.before - 1]:
        return max(after)
    before = [target for source, target in links if source == one.before]
    return min(before, default=round(one.before / source_words * target_words))


def _links(
    links: Sequence[tuple[int, int]], rows: Sequence[tuple[str, int | Copied]], copied: Sequence[Copied]
) -> list[tuple[int, int]]:
    """The alignment of all words, those left out included."""
    target_of = {old if isinstance(old, int) else id(old): new for new, (_, old) in enumerate(rows)}  # some are equal
    found = [(source + sum(one.before <= source for one in copied), target_of[target]) for source, target in links]
    return sorted([*found, *((one.before + number, target_of[id(one)]) for number, one in enumerate(copied))])


def _probabilities(values: list[float] | None, rows: Sequence[tuple[str, int | Copied]]) -> list[float] | None:
    if values is None:
        return None
    return [1.0 if isinstance(old, Copied) else values[old] for _, old in rows]


def _digit_groups(text: str) -> list[str]:
    """The runs of digits, as 0 to 9: languages have digits of their own."""
    return ["".join(str(int(digit)) for digit in group) for group in re.findall(r"\d+", text)]


def is_copied(token: str, text: str) -> bool:
    """Whether a text has exactly this token, not as a part of a longer one."""
    return _exactly(token).search(text) is not None


def left_out(token: str, text: str) -> str:
    """The text without the token, where it has exactly that."""
    return " ".join(_exactly(token).sub(" ", text, count=1).split())


def _exactly(token: str) -> re.Pattern[str]:
    before = r"(?<![\w@/$#%-])(?<!\w[.,:])" if token[0].isascii() else "(?<!\u200d)"
    after = r"(?![\w@/%\u200d\ufe0f\U0001f3fb-\U0001f3ff]|[.,:#?=-]\w)"
    return re.compile(f"{before}{re.escape(token)}{after}")
