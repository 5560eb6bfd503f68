"""What to say of the words in a text that training never saw: those that were guessed, and those read as others."""

from dataclasses import dataclass, field

from mt.reporting import report
from mt.translation.known_words import KnownWords
from mt.translation.notices import guessed_words, typos
from mt.translation.segments import Translation

_MOST_NAMED = 10  # lines or words of a message


@dataclass
class _Words:
    """The number of lines with words to report, and those of the first such lines by number."""

    lines: int = 0
    first: dict[int, list[str]] = field(default_factory=dict)

    def add(self, number: int, words: list[str]) -> None:
        """Note the words of a line, if it has any."""
        self.lines += bool(words)
        if words and self.lines <= _MOST_NAMED:
            self.first[number] = words


class UnseenWords:
    """Collects such words over the lines of a text; without `known` words only typos are recognised."""

    def __init__(self, known: KnownWords | None) -> None:
        self.known = known
        self.count = 0
        self._guesses, self._read_as = _Words(), _Words()

    def add(self, number: int, text: str, translation: Translation) -> None:
        """Note what a line has of them."""
        self.count += 1
        self._read_as.add(number, [notice.message for notice in typos(translation)])
        if self.known is not None:
            self._guesses.add(number, guessed_words(text, translation, self.known))

    def report(self) -> None:
        """Report in one line what was read as what, and in another which of the translations are guesses."""
        if words := [word for line in self._read_as.first.values() for word in line]:
            where = "" if self.count == 1 else f" in {self._read_as.lines:,} of {self.count:,} lines"
            report(f"words that training never saw{where}: {_first(words)}")
        guesses = self._guesses
        if self.count == 1 and guesses.lines:
            [words] = guesses.first.values()
            report(f"words that training never saw, so their translation is a guess: {_first(words)}")
        elif guesses.lines:
            named = ", ".join(map(str, guesses.first)) + (", …" if guesses.lines > _MOST_NAMED else "")
            report(
                f"lines with words that training never saw, a guess: {guesses.lines:,} of {self.count:,}, lines {named}"
            )


def _first(words: list[str]) -> str:
    return ", ".join(words[:_MOST_NAMED]) + (", …" if len(words) > _MOST_NAMED else "")
