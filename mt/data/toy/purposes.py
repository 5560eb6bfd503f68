"""Infinitives with *to*: what for, what it is important to do, what one has time for or forgets, and two verbs at once."""

from dataclasses import replace

from mt.data.toy import english, german
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.comparisons import NICE
from mt.data.toy.features import Clause, Coordination, Form, Name, NounPhrase, Phrase, Pronoun, Sentence
from mt.data.toy.german_words import infinitive
from mt.data.toy.likings import LIKED
from mt.data.toy.nouns import NOUNS
from mt.data.toy.pairs import somebody
from mt.data.toy.scenes import effect_clause, person
from mt.data.toy.statements import REQUESTED
from mt.data.toy.times import phrases
from mt.data.toy.verbs import entry
from mt.data.toy.words import ADJECTIVE, BARE, CAN, HAVE_TO, MUST, NO, SHOULD, WANT, WE, WOULD_LIKE, I

# What one does | what for.
PURPOSES = [
    tuple(part.strip().split("; ") for part in line.split("|"))
    for line in """
go@supermarket:to; go@shop:into; go@city:to; take>bus | buy>bread,cheese,milk,apple,egg,potato,fish,meat; buy>coat,shirt,shoe,dress,hat; buy>book,newspaper; go shopping
go@home; hurry; stay@at_home | sleep; eat>soup,bread,cake; cook; watch television; read>book,newspaper; drink>tea,coffee; write>letter; help=>human; make>dinner,breakfast
go@park:to; go@garden:into; go@beach:an | play>football; read>book,newspaper; run; play; dance; sing>song; sit@tree:under
go@lake:an; take>train,bus; go@TO | swim; visit>kin,friend; see>kin,friend,sea,museum,church
go@TO; go@TO | visit>kin,friend; work; learn>speech; buy>car,house,picture; see>church,museum
go@kitchen:into; go@kitchen:into | cook>soup,egg,potato; drink>water,milk,juice; make>breakfast,dinner; eat>apple,cake; wash>cup,glass
need>money; work | buy>car,house,coat,computer,bicycle,guitar; go@TO
call>friend,kin,doctor; write>letter | ask; invite; help=>human
go@restaurant:to; go@hotel:to | eat>soup,fish,meat,cake; drink>wine,beer,coffee; order>soup,wine,juice; sleep; dance
come; come back | help=>human; eat; cook>soup,fish; see>kin,friend,house; work; repair>car,bicycle,computer; sing; play>football
go@to_school; go@office:to | learn>speech; work; write>letter; read>book
get up; go@station:zu | work; take>train,bus; pick up>friend,kin
""".strip().split("\n")
]
JUDGED = ("important", "difficult", "good", "nice", "interesting", "boring", "expensive", "beautiful")


def purpose(choice: Choice) -> Sentence:
    """She goes to the supermarket to buy bread: um Brot zu kaufen."""
    deeds, aims = choice.pick(PURPOSES)
    who, _ = person(choice)
    deed = choice.pick(deeds)
    forms: tuple[Form, ...] = ("present", "progressive", "past", "modal")
    form = choice.pick(forms if not deed.startswith("need") else ("present", "past"))
    body = effect_clause(choice, deed, who, "present" if form == "modal" else form)
    if form == "modal":
        body = replace(body, form="modal", modal=choice.pick((WANT, MUST, CAN, HAVE_TO, WOULD_LIKE, SHOULD)))
    aim = choice.pick(aims)
    if aim in ("ask", "invite"):
        aim += ">friend,kin,neighbour"
    inner = effect_clause(choice, aim, who, "present")
    spoken = f"{english.clause(body)} to {english.infinitive(inner)}"
    return Phrase(spoken, f"{german.clause(body, 'main')}, um {german.to_infinitive(inner)}"), "."


def deed_of(choice: Choice, who: Pronoun | None = None) -> Clause:
    """A deed without tense: open the window, drink a cup of tea, swim in the lake."""
    while True:
        found = choice.rare(LIKED if choice.chance(0.5) else REQUESTED)
        body = verb_clause(choice, entry=found, who=who or WE, form="present", rich=0.2, negation=0)
        if not body.verb.reflexive and body.middle is None and not isinstance(body.accusative, Pronoun):
            alone = body.manner is not None and body.manner.english == "together"
            return replace(body, time=None, hour=None, manner=None if alone else body.manner)


def judgement(choice: Choice) -> Sentence:
    """It is important to sleep well: Es ist wichtig, gut zu schlafen."""
    word = choice.pick(JUDGED)
    adjective = NICE if word == "nice" else ADJECTIVE[word]
    degree, grad = choice.pick((("", ""), ("", ""), ("very ", "sehr "), ("not ", "nicht ")))
    past = choice.chance(0.15)
    body = deed_of(choice)
    spoken = f"it {'was' if past else 'is'} {degree}{adjective.english} to {english.infinitive(body)}"
    return Phrase(spoken, f"es {'war' if past else 'ist'} {grad}{adjective.german}, {german.to_infinitive(body)}"), "."


def time_or_memory(choice: Choice) -> Sentence:
    """He has no time to cook. I forgot to close the window."""
    who, _ = person(choice)
    outer = Clause(who, entry("forget").verb, choice.pick(("past", "perfect", "past")))
    if choice.chance(0.55):
        time = NounPhrase(NOUNS["time"], choice.pick((NO, BARE)))
        outer = Clause(who, entry("have").verb, choice.pick(("present", "present", "past")), accusative=time)
        if time.determiner == BARE and choice.chance(0.4):
            outer = replace(outer, negated=True)
    body = replace(deed_of(choice), subject=who)
    if choice.chance(0.2) and outer.verb.english == "have" and who.person != 1 and outer.form == "present":
        spoken = f"{english.clause(outer, question=True)} to {english.infinitive(body)}"
        return Phrase(spoken, f"{german.clause(outer, 'question')}, {german.to_infinitive(body)}"), "?"
    spoken = f"{english.clause(outer)} to {english.infinitive(body)}"
    if outer.form == "past" and choice.chance(0.35):
        when = choice.pick(phrases("yesterday/gestern, this morning/heute Morgen, yesterday evening/gestern Abend"))
        spoken, outer = f"{spoken} {when.english}", replace(outer, time=when)
    return Phrase(spoken, f"{german.clause(outer, 'main')}, {german.to_infinitive(body)}"), "."


MODALS = (CAN, CAN, WANT, WANT, MUST, HAVE_TO, WOULD_LIKE, SHOULD)


def two_infinitives(choice: Choice) -> Sentence:
    """She can sing and dance. I want to drink coffee and eat cake."""
    who = somebody(choice, ("adult",))
    one, two = (replace(deed_of(choice), subject=who) for _ in range(2))
    while two.verb == one.verb or isinstance(one.accusative, Coordination):
        one, two = (replace(deed_of(choice), subject=who) for _ in range(2))
    one = replace(one, form="future") if choice.chance(0.25) else replace(one, form="modal", modal=choice.pick(MODALS))
    rest = f"{' '.join(german.midfield(two))} {infinitive(two.verb)}".strip()
    if choice.chance(0.2) and who not in (I, WE):
        word = choice.pick((Phrase("and", "und"), Phrase("or", "oder")))
        spoken = f"{english.clause(one, question=True)} {word.english} {english.infinitive(two)}"
        return Phrase(spoken, f"{german.clause(one, 'question')} {word.german} {rest}"), "?"
    spoken = f"{english.clause(one)} and {english.infinitive(two)}"
    return Phrase(spoken, f"{german.clause(one, 'main')} und {rest}"), "."


def without_doing(choice: Choice) -> Sentence:
    """He went to bed without eating anything: ohne etwas zu essen. She left without closing the door."""
    who, pronoun = person(choice)
    outer = verb_clause(choice, who=who, rich=0.3, negation=0, form=choice.pick(("past", "past", "present")))
    deed = deed_of(choice, pronoun)
    if choice.chance(0.25):
        thing = Name("anything", german="etwas", definite=False)
        deed = Clause(
            pronoun,
            entry(*choice.pick(("eat/essen", "drink", "buy", "find", "see", "read/lesen")).split("/")).verb,
            accusative=thing,
        )
    if outer.verb == deed.verb or outer.verb.stative:
        return without_doing(choice)
    outer = replace(outer, time=None, hour=None)
    doing = replace(deed, verb=replace(deed.verb, english=deed.verb.english_ing))
    return Phrase(
        f"{english.clause(outer)} without {english.infinitive(doing)}",
        f"{german.clause(outer, 'main')}, ohne {german.to_infinitive(deed)}",
    ), "."
