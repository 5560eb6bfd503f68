"""The corpus: distinct sentence pairs, split into training, validation and test.

`python -m mt.data.toy.corpus 100` prints a hundred pairs, `… words` every English word.
"""

import re
import sys

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.constructions import CONSTRUCTIONS
from mt.data.toy.features import Sentence
from mt.data.toy.phrase_book import SAYINGS
from mt.data.toy.verbs import ENTRIES

CONTRACTED_SHARE = 0.55
COMMA_SHARE = 0.2
TRAIN_STATION_SHARE = 0.4  # the train station: the same Bahnhof
FURTHER_SENTENCE_SHARE = 0.65
SHORT_CHARACTERS = 66
WORDS = 22  # people do not type longer sentences
FEW_WORDS, FEW_WORDS_SHARE = 5, 0.55
ROOM = 100  # characters after which nothing further is said
PARTICIPLES = sorted({found.verb.english_participle for found in ENTRIES})
HAVE_DONE = re.compile(rf"\b(I|you|we|they) have (?=(?:{'|'.join(PARTICIPLES)})\b)")
BOOK_SHARE = 0.05
Pair = tuple[str, str]


def utterance(choice: Choice) -> list[tuple[str, Pair]]:
    """What one says at once: a sentence and often one or two short ones more, each as `worded` gives it."""
    said = [anything(choice)]
    while not is_wanted(choice, said[0]):
        said = [anything(choice)]
    while len(said) < 3 and choice.chance(FURTHER_SENTENCE_SHARE) and sum(len(one[1][0]) for one in said) <= ROOM:
        further = anything(choice)
        while not is_short(further) or not is_wanted(choice, further):
            further = anything(choice)
        said.append(further)
    return said


def is_wanted(choice: Choice, said: tuple[str, Pair]) -> bool:
    """Whether the sentence has as many words as people type; half of the shortest are kept, which drill the forms."""
    words = said[1][0].count(" ") + 1
    if said[0] in COMMON:
        return True
    return words <= WORDS and (words > FEW_WORDS or choice.chance(FEW_WORDS_SHARE))


def is_short(said: tuple[str, Pair]) -> bool:
    """Whether another sentence may stand beside it."""
    return len(said[1][0]) <= SHORT_CHARACTERS


def anything(choice: Choice) -> tuple[str, Pair]:
    """A sentence of the grammar or, sometimes, of the phrase book."""
    if choice.chance(BOOK_SHARE):
        return worded(choice, choice.pick(SAYINGS))
    while True:
        index = choice.weighted([weight for weight, _ in CONSTRUCTIONS])
        said = worded(choice, CONSTRUCTIONS[index][1](choice))
        if said[0] not in COMMON:
            return said


def worded(choice: Choice, said: Sentence) -> tuple[str, Pair]:
    """The pair as it is spoken, and the key by which two English sentences count as the same."""
    phrase, mark = said
    spoken = phrase.english
    if choice.chance(CONTRACTED_SHARE):
        spoken = HAVE_DONE.sub(r"\1've ", english.contracted(spoken))
    if choice.chance(COMMA_SHARE):
        spoken = re.sub(r"(?<!,) because ", ", because ", spoken)
    if choice.chance(TRAIN_STATION_SHARE):
        spoken = re.sub(r"\bstation\b", "train station", spoken)
    return normalised(phrase.english), (english.sentence_case(spoken, mark), german.sentence_case(phrase.german, mark))


def normalised(text: str) -> str:
    """Lower case, letters and spaces only."""
    return re.sub(r"[^a-zäöüß ]", "", text.lower())


COMMON = frozenset(normalised(phrase.english) for phrase, _ in SAYINGS)


def generate(*, seed: int, train_pairs: int, validation_pairs: int, test_pairs: int) -> dict[str, list[Pair]]:
    """Distinct (English, German) pairs by split.

    No English sentence occurs twice, in whichever split, also when case, punctuation and contractions are ignored;
    but for those of the phrase book, which only training has, in pairs of which no two are the same.
    The same arguments give the same text on every Python.
    """
    choice, seen, pairs = Choice(seed), set[str](), list[Pair]()
    held_out = validation_pairs + test_pairs
    while len(pairs) < train_pairs + held_out:
        said = utterance(choice)
        grammars = [(key, pair) for key, pair in said if key not in COMMON]
        forms = [form for key, pair in grammars for form in {key, normalised(pair[0])}]
        forms += [" ".join(key for key, _ in said)] if len(grammars) < len(said) else []
        by_heart = len(grammars) < len(said) and len(pairs) < held_out
        if not by_heart and len(set(forms)) == len(forms) and seen.isdisjoint(forms):
            seen.update(forms)
            pairs.append((" ".join(pair[0] for _, pair in said), " ".join(pair[1] for _, pair in said)))
    return {"train": pairs[held_out:], "validation": pairs[:validation_pairs], "test": pairs[validation_pairs:held_out]}


def vocabulary(train_pairs: int = 44_000) -> list[str]:
    """Every English word of so many pairs, by default all of the default corpus, in alphabetical order."""
    pairs = generate(seed=1, train_pairs=train_pairs, validation_pairs=0, test_pairs=0)["train"]
    texts = (source for source, _ in pairs)
    words = {word for text in texts for word in re.findall(r"[\w']+", text)}
    return sorted(words - {word.capitalize() for word in words if word.islower()}, key=str.lower)


def main(arguments: list[str]) -> None:
    """Print so many pairs of a seed, English and German separated by a tab, or every English word.

    Exits with 2 where the arguments are neither `words` nor at most two numbers, the first of them above 0.
    """
    if arguments == ["words"]:
        print(" ".join(vocabulary()))
        return
    if len(arguments) > 2 or not all(re.fullmatch("[0-9]+", one) for one in arguments) or arguments[:1] == ["0"]:
        print("usage: python -m mt.data.toy.corpus [PAIRS [SEED]] | words", file=sys.stderr)
        raise SystemExit(2)
    count, seed = (*map(int, arguments), *(100, 1)[len(arguments) :])
    for source, target in generate(seed=seed, train_pairs=count, validation_pairs=0, test_pairs=0)["train"]:
        print(f"{source}\t{target}")


if __name__ == "__main__":
    main(sys.argv[1:])
