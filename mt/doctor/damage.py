"""Text whose encoding was mistaken on the way: UTF-8 read as something else, lost characters, control characters."""

import re

import numpy as np
from jaxtyping import Integer

MOJIBAKE, REPLACEMENT, CONTROL = "mojibake", "replacement character", "control character"
DAMAGE = (MOJIBAKE, REPLACEMENT, CONTROL)

# How the bytes 0x80 to 0xBF of UTF-8 look when they are read as Windows-1252 or Latin-1.
_FOLLOWING = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
# Two letters of Latin text ("Ã¤", "Â°"), a typographic mark ("â€™", "â„¢"), or two letters of another alphabet:
# a single "Ü“" or "É»" is undamaged text. The last line is the same in Mac Roman ("√§", "‚Äô").
_MOJIBAKE = re.compile(
    f"[ÂÃ][{_FOLLOWING}]|[ÄÅ][\u0080-\u009f\u00a1-\u00aa\u00ac-\u00b9\u00bc-\u00bfŸžœšƒˆ‡†]"
    f"|â[€„\u0080\u0084][{_FOLLOWING}]|(?:[Î-Ñ×ØÙÐ][{_FOLLOWING}]){{2}}|(?:[à-ï][{_FOLLOWING}]{{2}}){{2}}|ðŸ[{_FOLLOWING}]{{2}}"
    "|√[§©®†°±µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»]|‚Ä[ôòúùìî¶¢]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REPLACEMENT = re.compile("\ufffd")


def damaged_lines(
    text: str, counts: Integer[np.ndarray, " codes"], starts: Integer[np.ndarray, " lines"]
) -> dict[str, set[int]]:
    """Return the indices of the damaged lines of `text` by kind of damage.

    `counts` has the frequency of each code point in `text`, and `starts` the index at which each line begins. A line
    with mojibake is not also counted for the control characters that come with it.
    """
    found: dict[str, set[int]] = {kind: set() for kind in DAMAGE}
    if counts[0x80:].any():
        found[MOJIBAKE] = _lines(_MOJIBAKE, text, starts)
    if counts[0xFFFD]:
        found[REPLACEMENT] = _lines(_REPLACEMENT, text, starts)
    if counts[:9].any() or counts[11:32].any() or counts[0x7F:0xA0].any():
        found[CONTROL] = _lines(_CONTROL, text, starts) - found[MOJIBAKE]
    return found


def _lines(pattern: re.Pattern[str], text: str, starts: Integer[np.ndarray, " lines"]) -> set[int]:
    found = np.fromiter((match.start() for match in pattern.finditer(text)), dtype=np.int64)
    return set((np.searchsorted(starts, found, side="right") - 1).tolist())
