"""The degrees of adjectives before a noun: a bigger house, the oldest church."""

import re

from mt.data.toy.features import Adjective

ENGLISH_BEST = {"better": "best", "worse": "worst"}
GERMAN_BEST = {"besser": "best", "größer": "größt", "teurer": "teuerst", "dunkler": "dunkelst", "neuer": "neuest"}


def comparative(adjective: Adjective) -> Adjective:
    """bigger, more beautiful; the German comparative takes the endings of any adjective."""
    told = adjective.german_comparative
    return Adjective(adjective.english_comparative, told, told)


def superlative(adjective: Adjective) -> Adjective:
    """biggest, most beautiful; German adds -st, after d, t, s, ß, z and sch -est."""
    compared, told = adjective.english_comparative, adjective.german_comparative
    spoken = ENGLISH_BEST.get(compared) or re.sub(r"^more ", "most ", re.sub(r"er$", "est", compared))
    stem = told.removesuffix("er")
    ending = "est" if re.search(r"(d|t|s|ß|z|sch)$", stem) else "st"
    best = GERMAN_BEST.get(told, stem + ending)
    return Adjective(spoken, best, best)
