"""The checks on single lines and pairs: what each looks for, from which share on it is a finding, and what removes it.

Text whose encoding was mistaken on the way is found here: UTF-8 read as something else, lost characters, control
characters. mt/doctor/examination.py does the checks that need the whole corpus.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PAIR = "pair"
LEAK, MOJIBAKE, REPLACEMENT, CONTROL = "held-out pair", "mojibake", "replacement character", "control character"
OTHER_LANGUAGE, BLANK, COPY, DUPLICATE = "language of the other side", "blank line", "copy", "duplicate pair"
LENGTH_RATIO = "length ratio"


@dataclass(frozen=True)
class Check:
    """One kind of suspect; every real corpus has some."""

    share: float
    """Of a corpus' pairs, or the lines of a side, from which on it is a finding; of leaks, of the held-out pairs."""
    what: str
    """The end of the sentence "17 lines (0.1 %) of the source side …"."""
    option: str = ""
    """What removes such pairs from the training data."""


CHECKS = {
    LEAK: Check(0.001, "are {split} pairs, case and punctuation aside", "data.filters.remove_held_out=true"),
    MOJIBAKE: Check(0.0005, 'are mojibake ("Ã¤" for "ä"): UTF-8 that was read in another encoding'),
    REPLACEMENT: Check(0.0005, "hold a replacement character: their encoding was damaged"),
    CONTROL: Check(0.0005, "hold a control character: their encoding was damaged"),
    OTHER_LANGUAGE: Check(0.01, "look like the other side's language: untranslated, or the sides swapped"),
    BLANK: Check(0.001, "are blank"),
    COPY: Check(0.005, "repeat the source as the target", "data.filters.remove_copies=true"),
    DUPLICATE: Check(0.05, "occurred before, word for word", "data.filters.remove_duplicates=true"),
    LENGTH_RATIO: Check(0.01, "differ in length beyond data.filters.max_length_ratio"),
}

# How the bytes 0x80 to 0xBF of UTF-8 look when they are read as Windows-1252 or Latin-1.
_FOLLOWING = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
# Two letters of Latin text ("Ã¤", "Â°"), a typographic mark ("â€™", "â„¢"), or two letters of another alphabet:
# a single "Ü“" or "É»" is undamaged text. The last line is the same in Mac Roman ("√§", "‚Äô").
_MOJIBAKE = (
    f"[ÂÃ][{_FOLLOWING}]|[ÄÅ][\u0080-\u009f\u00a1-\u00aa\u00ac-\u00b9\u00bc-\u00bfŸžœšƒˆ‡†]"
    f"|â[€„\u0080\u0084][{_FOLLOWING}]|(?:[Î-Ñ×ØÙÐ][{_FOLLOWING}]){{2}}|(?:[à-ï][{_FOLLOWING}]{{2}}){{2}}|ðŸ[{_FOLLOWING}]{{2}}"
    "|√[§©®†°±µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»]|‚Ä[ôòúùìî¶¢]"
)
_DAMAGE = {
    MOJIBAKE: re.compile(_MOJIBAKE),
    REPLACEMENT: re.compile("\ufffd"),
    CONTROL: re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]"),
}


def damaged_lines(lines: Sequence[str]) -> dict[str, set[int]]:
    """Return the indices of the damaged lines by kind of damage.

    A line with mojibake is not also counted for the control characters that come with it.
    """
    text = "\n".join(lines)
    ends = np.cumsum([len(line) + 1 for line in lines])
    found = {}
    for kind, pattern in _DAMAGE.items():
        at = np.fromiter((match.start() for match in pattern.finditer(text)), dtype=np.int64)
        found[kind] = set(np.searchsorted(ends, at, side="right").tolist())
    found[CONTROL] -= found[MOJIBAKE]
    return found
