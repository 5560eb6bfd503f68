"""More than mine, the best ever, and how much it is: Toms Fahrrad ist schneller als meins; der beste Kuchen, den ich je …"""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.asking import somebody_known
from mt.data.toy.choice import Choice
from mt.data.toy.comparisons import COMPARED
from mt.data.toy.degrees import superlative
from mt.data.toy.features import Clause, Name, NounPhrase, Phrase, Relative, Sentence
from mt.data.toy.german_words import DER_ENDINGS, cell
from mt.data.toy.nouns import NOUNS, nouns_of
from mt.data.toy.phrases import adjectives_of, noun_phrase, own
from mt.data.toy.scenes import person
from mt.data.toy.statements import plain
from mt.data.toy.verbs import BE, entry
from mt.data.toy.words import (
    ADJECTIVE,
    BARE,
    COLOURS,
    HE,
    NAMES,
    POSSESSIVES,
    SHE,
    THAT,
    THE,
    THESE,
    THEY,
    THIS,
    TOWNS,
    I,
)

MINE = (("mine", "mein"), ("yours", "dein"), ("his", "sein"), ("hers", "ihr"), ("ours", "unser"), ("theirs", "ihr"))
OWNED_BY = {"mine": "my", "yours": "your", "his": "his", "hers": "her", "ours": "our", "theirs": "their"}


def than_mine(choice: Choice) -> Sentence:
    """Tom's bicycle is faster than mine: schneller als meins. Is your house bigger than ours?"""
    words, classes = choice.pick([pair for pair in COMPARED if pair[1] not in (("adult",), ("animal",))])
    nouns = [noun for noun in nouns_of(classes) if "owned" in noun.classes and noun.english_plural]
    if not nouns:
        return than_mine(choice)
    noun, (word, mein) = choice.rare(nouns), choice.pick(MINE)
    by = ADJECTIVE[choice.pick([name for name in words if ADJECTIVE[name].german_comparative])]
    whose = choice.pick([name for name in POSSESSIVES if name != OWNED_BY[word]])
    first = NounPhrase(noun, POSSESSIVES[whose])
    if choice.chance(0.35):
        first = NounPhrase(noun, THE, owner=choice.pick(NAMES))
    ending = cell(DER_ENDINGS, "nominative", noun, plural=False)
    ending = "s" if ending == "es" and mein in ("mein", "dein", "sein") else ending
    said = Phrase(f"{by.english_comparative} than {word}", f"{by.german_comparative} als {mein}{ending}")
    if choice.chance(0.2):
        said = Phrase(f"as {by.english} as {word}", f"so {by.german} wie {mein}{ending}")
    body = Clause(first, BE, negated=said.english.startswith("as ") and choice.chance(0.6), complements=(said,))
    if choice.chance(0.2) and not body.negated:
        return Phrase(english.clause(body, question=True), german.clause(body, "question")), "?"
    return plain(body), "."


def like_more(choice: Choice) -> Sentence:
    """I like summer more than winter: lieber als. My coat is blue, but yours is black. This is not my bag, mine is red."""
    if choice.chance(0.4):
        return mine_is(choice)
    classes = choice.pick((("drink", "alcohol"), ("food",), ("tune", "sport"), ("speech",), ("season",), ("town",)))
    who, _ = person(choice)
    if classes == ("town",):
        known = [Name(town.english, german=town.german) for town in TOWNS]
        one, two = choice.pick(known), choice.pick(known)
    else:
        nouns = nouns_of(classes)
        article = replace(THE, english="") if classes == ("season",) else BARE
        one, two = (NounPhrase(choice.pick(nouns), article) for _ in range(2))  # type: ignore[assignment]
    if one == two:
        return like_more(choice)
    body = Clause(who, entry("like").verb, accusative=one)
    more = choice.pick(("more", "better"))
    told = german.clause(replace(body, manner=Phrase("", "lieber")), "main")
    spoken = f"{english.clause(body)} {more} than {english.nominal(two)}"
    return Phrase(spoken, f"{told} als {german.nominal(two, 'accusative')}"), "."


def mine_is(choice: Choice) -> Sentence:
    """My coat is blue, but yours is black: deiner. This is not my bag, mine is red: meine."""
    noun = choice.rare(
        [one for one in nouns_of(("clothes", "wheels", "road", "carried", "phone", "pet")) if one.english != "shoe"]
    )
    options = [found for found in adjectives_of(noun) if found.english in (*COLOURS, "old", "new", "big", "small")]
    first, second = choice.pick(options), choice.pick(options)
    coloured = (first.english in COLOURS) == (second.english in COLOURS)
    if (
        first == second
        or not coloured
        or {first.english, second.english} in ({"old", "big"}, {"old", "small"}, {"new", "big"})
    ):
        return mine_is(choice)
    (word, mein), whose = choice.pick(MINE), choice.pick(list(POSSESSIVES))
    if OWNED_BY[word] == whose:
        return mine_is(choice)
    ending = cell(DER_ENDINGS, "nominative", noun, plural=False)
    ending = "s" if ending == "es" and mein in ("mein", "dein", "sein") else ending
    if choice.chance(0.5):
        mine = NounPhrase(noun, POSSESSIVES[OWNED_BY[word]])
        return Phrase(
            f"{choice.pick(('this', 'that'))} is not {english.nominal(mine)}, {word} is {second.english}",
            f"das ist nicht {german.nominal(mine, 'nominative')}, {mein}{ending} ist {second.german}",
        ), "."
    other = NounPhrase(noun, POSSESSIVES[whose])
    joint, und = choice.pick(((" and", " und"), (", but", ", aber")))
    return Phrase(
        f"{english.nominal(other)} is {first.english}{joint} {word} is {second.english}",
        f"{german.nominal(other, 'nominative')} ist {first.german}{und} {mein}{ending} ist {second.german}",
    ), "."


EVER = (
    ("eat", "essen", ("cake", "soup", "cheese", "meat", "fish", "chocolate cake"), ("good", "bad")),
    ("drink", "", ("coffee", "tea", "wine", "beer", "juice"), ("good", "bad")),
    (
        "see",
        "",
        ("film", "picture", "city", "garden", "house", "dog", "church", "lake", "village"),
        ("beautiful", "big", "small"),
    ),
    ("see", "", ("film",), ("good", "bad", "boring", "funny", "interesting", "long")),
    ("read", "", ("book", "letter", "newspaper", "story"), ("good", "bad", "boring", "interesting", "long", "short")),
    ("hear", "", ("song", "story"), ("beautiful", "funny", "good", "bad")),
    ("buy", "", ("coat", "dress", "shirt", "hat", "car"), ("expensive", "beautiful", "cheap")),
    ("have", "", ("teacher", "dog", "bicycle", "friend"), ("good",)),
)


def best_ever(choice: Choice) -> Sentence:
    """This is the best cake I have ever eaten: der beste Kuchen, den ich je gegessen habe."""
    name, deutsch, nouns, words = choice.pick(EVER)
    noun_name = choice.pick([word for word in nouns if word in NOUNS])
    noun, by = NOUNS[noun_name], choice.pick(words)
    who = choice.pick((I, I, I, HE, SHE, THEY, somebody_known(choice)))
    verb = entry(name, deutsch).verb
    best = superlative(ADJECTIVE[by])
    head = NounPhrase(noun, THE, adjective=best)
    body = Clause(who, verb, "perfect", accusative=head, middle=Phrase("ever", "je"))
    relative = Relative(body, "accusative", bare=choice.chance(0.6))
    phrase = replace(head, relative=relative)
    be, sein = choice.pick(
        (("this is", "das ist"), ("this is", "das ist"), ("it is", "es ist"), ("that is", "das ist"))
    )
    return Phrase(f"{be} {english.nominal(phrase)}", f"{sein} {german.nominal(phrase, 'nominative')}".rstrip(",")), "."


OPENERS = (
    (Phrase("do you know", "weißt du"), "?"),
    (Phrase("can you tell me", "kannst du mir sagen"), "?"),
    (Phrase("can you tell us", "kannst du uns sagen"), "?"),
    (Phrase("could you tell me", "könntest du mir sagen"), "?"),
    (Phrase("I do not know", "ich weiß nicht"), "."),
    (Phrase("tell me", "sag mir"), "."),
    (Phrase("he asked me", "er hat mich gefragt"), "."),
    (Phrase("nobody knows", "niemand weiß"), "."),
)
SIZES = (
    (("old",), ("kin", "church", "house", "dog", "child", "teacher", "friend")),
    (("big",), ("house", "flat", "garden", "city", "room", "dog", "village")),
    (("long",), ("film", "book", "story")),
    (("expensive",), ("hotel", "restaurant", "dress", "coat", "car")),
    (("cold", "warm"), ("lake", "sea", "room")),
    (("tall",), ("man", "boy", "girl", "brother", "father")),
)


def know_how(choice: Choice) -> Sentence:
    """Can you tell me how much this shirt costs? Do you know how old she is? I do not know how many children he has."""
    opener, mark = choice.pick(OPENERS)
    kind = choice.weighted((0.4, 0.35, 0.25))
    if kind == 0:
        noun = choice.rare(
            nouns_of(("clothes", "book", "bag", "lamp", "dish", "road", "wheels", "flower", "picture", "room"))
        )
        plural = bool(noun.english_plural) and choice.chance(0.25)
        thing = NounPhrase(noun, THESE if plural else choice.pick((THIS, THIS, THAT, THE)), plural)
        cost, kosten = ("cost", "kosten") if plural else ("costs", "kostet")
        inner = Phrase(
            f"how much {english.nominal(thing)} {cost}", f"wie viel {german.nominal(thing, 'nominative')} {kosten}"
        )
    elif kind == 1:
        words, classes = choice.pick(SIZES)
        found = ADJECTIVE[choice.pick(words)]
        noun = choice.rare([one for one in nouns_of(classes) if one.english])
        who = noun_phrase(choice, noun, "known", adjective=0)
        if found.english == "old" and choice.chance(0.3):
            who = choice.pick((HE, SHE, *NAMES))  # type: ignore[assignment]
        be, sein = ("are", "sind") if who.plural else ("is", "ist")
        told = german.nominal(who, "nominative")
        inner = Phrase(f"how {found.english} {english.nominal(who)} {be}", f"wie {found.german} {told} {sein}")
    else:
        who_, _ = person(choice)
        noun = choice.rare(nouns_of(("child", "brother", "sister", "dog", "cat", "room", "book", "car", "horse")))
        if own(who_) is None or getattr(who_, "noun", None) == noun or who_.person == 2:
            return know_how(choice)
        word = f"how many {noun.english_plural}", f"wie viele {noun.german_plural}"
        verb = (
            choice.pick((entry("have"), entry("have"), entry("see"), entry("buy"))).verb
            if "human" not in noun.classes
            else entry("have").verb
        )
        body = Clause(who_, verb, "present" if verb.english == "have" else "past", accusative=Name("it"))
        inner = Phrase(
            f"{word[0]} {english.clause(body, without='accusative')}",
            f"{word[1]} {german.clause(body, 'final', without='accusative')}",
        )
    return Phrase(f"{opener.english} {inner.english}", f"{opener.german}, {inner.german}"), mark
