"""BPE-dropout (Provilkov et al. 2020, section 4): words split at random, alike in every process for the same seed.

Merges are tried from the most to the least frequent, and each is left out with a probability; it is tried again once
a neighbour has grown. SentencePiece samples the same way, but its samples differ between processes for any seed.
"""

import functools
import itertools
import math
import random
import re
from collections.abc import Callable, Mapping

# A normalised text has "▁" for a space, before every word. The time to split a word grows with its square: what is
# longer than 100 characters is cut there.
_WORD = re.compile("▁[^▁]{0,99}|[^▁]{1,100}")
_REMEMBERED_WORDS = 1 << 17
_NONE = math.inf


class Segmenter:
    """Splits words into subwords by the merges of a vocabulary.

    `scores` gives the subwords that characters may merge into, the first merge having the largest; `ids` numbers
    every subword, and `spell` gives the ids of a character that is not in the vocabulary.
    """

    def __init__(
        self, *, scores: Mapping[str, float], ids: Mapping[str, int], spell: Callable[[str], list[int]]
    ) -> None:
        self._ranks = {subword: -score for subword, score in scores.items()}
        self._ids = ids
        self._spell = spell
        self._whole = functools.lru_cache(_REMEMBERED_WORDS)(self._without_dropout)

    def sample(self, text: str, *, alpha: float, chance: random.Random) -> list[int]:
        """The ids of a normalised text, each merge left out with probability `alpha`, in (0, 1]."""
        log_kept = math.log1p(-alpha) if alpha < 1 else -math.inf
        draw, ids = chance.random, []
        for word in _WORD.findall(text):
            tries, whole = self._whole(word)
            kept = math.log(1.0 - draw()) / log_kept  # merges before the first that is left out: geometric
            ids += whole if kept >= tries else self._with_dropout(word, int(kept), alpha, draw)
        return ids

    def _without_dropout(self, word: str) -> tuple[int, list[int]]:
        """The number of merges that are made, and the ids."""
        symbols = self._merged(word, itertools.repeat(False).__next__)
        return len(word) - len(symbols), self._numbered(symbols)

    def _with_dropout(self, word: str, kept: int, alpha: float, draw: Callable[[], float]) -> list[int]:
        """The ids when `kept` merges are made, the next is left out, and the others are left out by chance."""
        beginning = itertools.chain(itertools.repeat(False, kept), [True])
        rest = (draw() < alpha for _ in itertools.count())
        return self._numbered(self._merged(word, itertools.chain(beginning, rest).__next__))

    def _merged(self, word: str, left_out: Callable[[], bool]) -> list[str]:
        rank = self._ranks.get
        symbols = list(word)
        ranks = [rank(left + right, _NONE) for left, right in itertools.pairwise(symbols)]
        while ranks and (best := min(ranks)) < _NONE:
            index = ranks.index(best)
            if left_out():
                ranks[index] = _NONE
                continue
            symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]
            del ranks[index]
            if index:
                ranks[index - 1] = rank(symbols[index - 1] + symbols[index], _NONE)
            if index < len(ranks):
                ranks[index] = rank(symbols[index] + symbols[index + 1], _NONE)
        return symbols

    def _numbered(self, symbols: list[str]) -> list[int]:
        numbered: list[int] = []
        for symbol in symbols:
            known = self._ids.get(symbol)
            numbered += self._spell(symbol) if known is None else [known]
        return numbered
