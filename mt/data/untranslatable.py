"""Words that a translation copies: URLs, e-mail addresses, numbers, emoji, code, and noise; all drawn at random."""

import random
import re
from collections.abc import Sequence

# In a form 9 is a digit, {w} a word, {W} one in capitals, {e} the end of a host, {m} an emoji, {h} a hand, {t} its
# skin tone, {f} a letter of a flag, {n} characters of one script.
_NUMBERS = "9 99 999 9999 99999 9.9 9,99 99.99% 99% 9,999 99.999 9,999,999.99 99:99 9999-99-99 99/99/9999 99.99.9999"
FORMS = {
    "URLs": (
        *("https://{w}.{e}", "http://www.{w}-{w}.{e}/", "www.{w}.{e}", "https://{w}.{w}.{e}/{w}", "{w}.{e}/{w}.html"),
        *("http://{w}.{e}/{w}/{w}/99", "https://www.{w}.{e}/{w}-{w}.php?{w}=999", "https://{w}.{e}/{w}#{w}"),
    ),
    "numbers": (*_NUMBERS.split(), "+99-999-999999", "$99", "€9.99", "£999", "9.9.99", "99999-999"),
    "e-mail addresses": ("{w}@{w}.{e}", "{w}.{w}@{w}.{e}", "{w}_{w}@{w}.{e}", "{w}-{w}99@{w}.{e}", "{w}@{w}-{w}.{e}"),
    "emoji": ("{m}", "{m}", "{m}", "{h}{t}", "{f}{f}"),
    "code": (
        *("{w}_{w}", "{w}.{w}()", "`{w}`", "--{w}", "--{w}={w}", "{{{w}}}", "${W}", "%{w}", "<{w}>", "</{w}>", "@{w}"),
        *("/{w}/{w}.py", "#{w}", "{W}-999", "{w}{W}", "{w}[9]"),
    ),
    "noise": ("{n}",),
}
# How addresses of pages and of mail are written.
ADDRESS = (
    r"\b(?:https?://|www\.)[^\s<>\"']{0,2000}[\w/]|\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.\w{1,64})+"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,10}/[^\s<>\"']{0,2000}[\w/]"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_COMMON = (
    *("example", "test", "news", "info", "mail", "shop", "docs", "blog", "index", "home", "page", "user", "contact"),
    *("john", "anna", "smith", "office", "data", "file", "login", "search", "image", "product", "order", "support"),
)
_ENDS = ("com", "com", "org", "net", "de", "fr", "cz", "jp", "co.uk", "eu", "io", "info", "edu")
_EMOJI = ((0x1F600, 0x1F64F), (0x1F300, 0x1F5FF), (0x1F680, 0x1F6C5), (0x1F90C, 0x1F9FF), (0x2600, 0x26FF))
# Latin-1, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Hiragana, Chinese, Hangul, punctuation.
_SCRIPTS = (
    *((0xE0, 0xF6), (0x3B1, 0x3C9), (0x430, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939)),
    *((0x3041, 0x3096), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x21, 0x2F)),
)


def token(kinds: Sequence[str], sentence: str, chance: random.Random) -> str:
    """A token of one of these kinds; parts of it may be words of the sentence, which are not translated there."""
    words = re.findall(r"[A-Za-z]{2,}", sentence)
    return re.sub(
        r"\{(\w)\}|9", lambda match: _part(match[1], words, chance), chance.choice(FORMS[chance.choice(kinds)])
    )


def _part(name: str | None, words: Sequence[str], chance: random.Random) -> str:
    """What is in a form for {name}, or for a digit without."""
    match name:
        case "w" | "W":
            known = chance.choice(words).lower() if words and chance.random() < 0.6 else chance.choice(_COMMON)
            drawn = "".join(chance.choices(_LETTERS, k=chance.randint(2, 9)))
            word = known if chance.random() < 0.6 else drawn
            return word.upper() if name == "W" else word
        case "e":
            return chance.choice(_ENDS)
        case "m":
            symbol = chance.randint(*chance.choice(_EMOJI))
            return chr(symbol) + ("\ufe0f" if symbol < 0x3000 else "")
        case "h":
            return chr(chance.randint(0x1F446, 0x1F450))
        case "t":
            return chance.choice(["", *map(chr, range(0x1F3FB, 0x1F400))])
        case "f":
            return chr(chance.randint(0x1F1E6, 0x1F1FF))
        case "n":
            script = chance.choice(_SCRIPTS)
            return "".join(chr(chance.randint(*script)) for _ in range(chance.randint(2, 5)))
    return chance.choice("0123456789")
