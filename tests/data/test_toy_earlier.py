"""The toy corpus: what had happened before, what is only added, what is done all the same."""

import re
from collections.abc import Callable

import pytest

from mt.data.toy import english, german
from mt.data.toy.abilities import let_in
from mt.data.toy.all_the_same import all_the_same, no_longer
from mt.data.toy.asides import aside
from mt.data.toy.beginnings import sometimes_first
from mt.data.toy.chatting import done_by
from mt.data.toy.choice import Choice
from mt.data.toy.clauses import verb_clause
from mt.data.toy.earlier import after_earlier, because_earlier, reported_earlier, until_then, when_earlier
from mt.data.toy.features import Clause, Name, NounPhrase, Sentence
from mt.data.toy.having_to_be import at_work, has_to_be, not_much, two_states, when_young, will_be_older
from mt.data.toy.longer import two_reasons
from mt.data.toy.not_any import not_all
from mt.data.toy.nouns import NOUNS
from mt.data.toy.purposes import without_doing
from mt.data.toy.ranking import compared_by_place, compared_by_time, does_it_best, something_new, which_of_two
from mt.data.toy.relatives import by_profession
from mt.data.toy.remarks import whose
from mt.data.toy.reported import said_would
from mt.data.toy.seeing import all_ours, gave_it, half_of_them, saw_doing
from mt.data.toy.verbs import entry
from mt.data.toy.words import ALREADY, THE, A

ANNA = Name("Anna", "her")
TRAIN = NounPhrase(NOUNS["train"], THE)
LETTER = NounPhrase(NOUNS["letter"], A)


@pytest.mark.parametrize(
    ("body", "spoken", "told"),
    [
        (
            Clause(TRAIN, entry("leave", "fahren").verb, "pluperfect", middle=ALREADY),
            "the train had already left",
            "der Zug schon abgefahren war",
        ),
        (
            Clause(ANNA, entry("write").verb, "pluperfect", accusative=LETTER, negated=True),
            "Anna had not written a letter",
            "Anna keinen Brief geschrieben hatte",
        ),
    ],
)
def test_the_pluperfect_has_hatte_or_war(body: Clause, spoken: str, told: str) -> None:
    """Had left: war abgefahren; had written: hatte geschrieben."""
    assert english.clause(body) == spoken
    assert german.clause(body, "final") == told


@pytest.mark.parametrize(
    ("construction", "spoken", "told"),
    [
        (because_earlier, r" because .*\bhad\b", r", weil .*( hatten?| hattest| war(en|st)?)$"),
        (when_earlier, r"^when .*, .*\bhad\b", r"^als .*, (hatten?|hattest|war(en|st)?) "),
        (after_earlier, r"^after .*, | after ", r"^nachdem .* (hatten?|hattest|war(en|st)?|hat|ist), |, nachdem "),
        (reported_earlier, r" had ", r", dass .*( hatten?| hattest| war(en|st)?)$"),
        (until_then, r" until ", r", bis .*( hat| haben| hast| habe| ist| sind| bin| bist| war|regnen)$"),
        (aside, r", who(se)? ", r", (der|die|das|dessen|deren) "),
        (all_the_same, r", but .* still ", r", aber .* (trotzdem|immer noch) "),
        (no_longer, r" left$| any longer$| anymore$", r" mehr da$| nicht mehr( |$)|noch .* da$"),
        (has_to_be, r"\bbe\b", r" sein$"),
        (when_young, r"^when .* (was|were) ", r"^als .* (war|warst|waren), "),
        (two_states, r" and ", r" und "),
        (will_be_older, r" will be ", r" (werde|wirst|wird|werden) .*( Jahre alt|[a-zäöüß]+)$"),
        (something_new, r"(some|any|no)thing ", r"(etwas|nichts) [A-ZÄÖÜ]\w+es\b"),
        (does_it_best, r" the \w+est$| best$| most$", r" am \w+(st|sten)\b"),
        (said_would, r" would ", r", dass .* (würde|würdest|würden)$"),
        (sometimes_first, r"^(sometimes|usually|tomorrow|yesterday|now) ", r"^[a-z]+ [a-zäöüß]+ "),
        (not_all, r"^not all \w+ ", r"^nicht alle \w+ "),
        (without_doing, r" without \w+ing\b", r", ohne .*zu"),
        (let_in, r" allowed ", r" erlaubt$"),
        (all_ours, r"\ball (my|your|his|her|our|their) ", r"\balle (meine|deine|seine|ihre|unsere) "),
        (gave_it, r" (it|them) to ", r" (es|sie) "),
        (two_reasons, r"(because|when) .* and ", r"(weil|als|wenn) .* und "),
        (at_work, r" is a | are | was a | were ", r" (Lehrer|Ärztin|Arzt|Student)|in "),
        (not_much, r" not .* (much|many) ", r" nicht viele? "),
        (which_of_two, r"\w+er, .* or |more \w+, .* or ", r"\w+er, .* oder "),
        (compared_by_time, r" than ", r" \w+er als "),
        (saw_doing, r" (saw|heard) .*\w+ing\b", r" (habe|hast|hat|haben) .*\w+ (sehen|hören)$"),
        (half_of_them, r"^half of the [\w ]+ (are|were) ", r"^die Hälfte der \w+ (ist|war) "),
        (compared_by_place, r" (here|in \w+) than in ", r" (hier|in \w+) (nicht )?\w+ als in "),
    ],
)
def test_the_german_follows_the_english(construction: Callable[[Choice], Sentence], spoken: str, told: str) -> None:
    """Every sentence of a construction has its two marks, in both languages."""
    choice = Choice(3)
    for _ in range(50):
        said, _ = construction(choice)
        assert re.search(spoken, said.english), said
        assert re.search(told, said.german), said


def test_what_is_added_agrees_with_whom_it_is_added_to() -> None:
    """My sister, who lives in Rome: die; Peter, who is tired: der."""
    choice, found = Choice(5), set()
    for _ in range(300):
        said, _ = aside(choice)
        for name, pronoun in (("Peter", "der"), ("Anna", "die"), ("sister", "die"), ("uncle", "der")):
            if re.search(rf"\b{name}, who ", said.english):
                assert re.search(rf"\w+, {pronoun} ", said.german), said
                found.add(name)
    assert found == {"Peter", "Anna", "sister", "uncle"}


def test_what_must_be_done_has_werden_at_its_end() -> None:
    """The lamp must be repaired: muss repariert werden."""
    choice, found = Choice(5), 0
    for _ in range(200):
        said, _ = done_by(choice)
        if re.search(r" (must|has to|have to|can) be ", said.english):
            assert re.search(r" (muss|müssen|kann|können) .*\w+t?(en|t) werden$", said.german), said
            found += 1
    assert found > 20


def test_whose_a_thing_is_ends_its_clause_with_the_verb() -> None:
    """Do you know whose bag this is: wessen Tasche das ist."""
    choice, found = Choice(5), 0
    for _ in range(200):
        said, _ = whose(choice)
        if not said.english.startswith("whose"):
            assert re.search(r" whose .* (is|are)$", said.english), said
            assert re.search(r", wessen .* das (ist|sind)$", said.german), said
            found += 1
    assert found > 20


def test_a_profession_takes_the_sex_of_the_person_described() -> None:
    """The woman … is a doctor: Ärztin; the man … is a doctor: Arzt."""
    choice = Choice(5)
    sayings = {
        sex: [by_profession(choice, NounPhrase(NOUNS[sex], THE)).german for _ in range(60)] for sex in ("man", "woman")
    }
    assert all(re.search(r"(Ärztin|Lehrerin|Studentin|Freundin|Nachbarin)$", told) for told in sayings["woman"])
    assert all(re.search(r"(Arzt|Lehrer|Student|Freund|Nachbar)$", told) for told in sayings["man"])


def test_people_do_what_people_do() -> None:
    """A person who works is never a device that functions, and eats as people eat."""
    choice = Choice(5)
    told = {verb_clause(choice, who=ANNA, rich=0, negation=0).verb.german for _ in range(300)}
    assert len(told) > 50
    assert told.isdisjoint({"funktionieren", "fressen"})
