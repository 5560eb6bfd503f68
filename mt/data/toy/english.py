"""English morphology and word order: features in, words out."""

import re
from dataclasses import replace

from mt.data.toy.features import Clause, Coordination, Name, Nominal, NounPhrase, Pronoun, Relative, Verb

VOWEL_SOUND = re.compile(r"[aeio]|un(?!i)|hour", re.IGNORECASE)


# why did your brother not: why didn't your brother
INVERTED = re.compile(
    r"^(why |)(is|are|was|were|do|does|did|has|have|could|should|can) "
    r"(I|you|he|she|it|we|they|[A-Z]\w+|(?:the|my|your|his|her|our|their|this|these) (?:(?!not)\w+ )?\w+) not\b"
)


def ends_in_s(word: str) -> str:
    """The plural of a regular noun, or the third person of a regular verb."""
    if re.search(r"(s|x|z|ch|sh|go|do)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + "s"


def is_third_singular(subject: Nominal) -> bool:
    """Whether the verb takes -s."""
    return subject.person == 3 and not subject.plural


def nominal(phrase: Nominal, *, subject: bool = True) -> str:
    """A noun phrase, name or pronoun as subject or object."""
    match phrase:
        case Pronoun():
            return phrase.english if subject else phrase.english_object
        case Name():
            return phrase.word
        case NounPhrase():
            return noun_phrase(phrase)
        case Coordination():
            first, second = (nominal(part, subject=subject) for part in (phrase.first, phrase.second))
            return f"{first} {phrase.conjunction.english} {second}".replace(" ,", ",")


def noun_phrase(phrase: NounPhrase) -> str:
    """Determiner or owner, adjectives, noun, measure, what is attached, relative clause."""
    words = [phrase.noun.english_plural if phrase.plural else phrase.noun.english]
    if phrase.colour:
        words.insert(0, phrase.colour.english)
    if phrase.adjective:
        words.insert(0, phrase.adjective.english)
        if phrase.intensified:
            words.insert(0, "very")
    if phrase.owner:
        words.insert(0, genitive(nominal(phrase.owner)))
    elif phrase.determiner.english == "a":
        words.insert(0, "an" if VOWEL_SOUND.match(words[0]) else "a")
    elif phrase.determiner.english:
        words.insert(0, phrase.determiner.english)
    if phrase.measure:
        words.append(f"of {phrase.measure}")
    if phrase.attached:
        words.append(phrase.attached.english)
    if phrase.relative:
        words.append(relative_clause(phrase, phrase.relative))
    return " ".join(words)


def genitive(owner: str) -> str:
    """The owner with its apostrophe."""
    return owner + ("'" if owner.endswith("s") else "'s")


def relative_clause(head: NounPhrase, relative: Relative) -> str:
    """who for people, that for the rest; in which after a preposition."""
    body = relative.clause
    if relative.role == "prepositional" and (relative.bare or relative.pronoun):  # the house (that) we live in
        return f"{relative.pronoun} {clause(body)}".strip()
    if relative.role == "prepositional":
        assert relative.preposition
        return f"{relative.preposition.english} which {clause(body)}"
    if relative.bare:
        return clause(body, without=relative.role)
    pronoun = relative.pronoun or ("who" if "human" in head.noun.classes else "that")
    if relative.role == "subject":
        words = clause(body, with_subject=False)
        return words.split(" ", 1)[1] if relative.reduced else f"{pronoun} {words}"
    return f"{pronoun} {clause(body, without=relative.role)}"


def third_person(verb: Verb) -> str:
    """goes, has, is."""
    return {"be": "is", "have": "has"}.get(verb.english) or ends_in_s(verb.english)


def be_form(subject: Nominal, *, past: bool) -> str:
    """am, is, are, was, were."""
    singular = not subject.plural and subject.person != 2
    if past:
        return "was" if singular else "were"
    if not singular:
        return "are"
    return "am" if subject.person == 1 else "is"


def verb_group(body: Clause, *, need_auxiliary: bool) -> tuple[str, str]:
    """The auxiliary that questions invert and *not* follows (or nothing), and the words after it."""
    subject, verb, third = body.subject, body.verb, is_third_singular(body.subject)
    if verb.english == "be" and body.form in ("present", "past"):
        return be_form(subject, past=body.form == "past"), ""
    if body.ongoing and body.form in ("past", "future"):
        past = body.form == "past"
        return be_form(subject, past=past), verb.english_ing if past else f"going to {verb.english}"
    match body.form:
        case "progressive":
            return be_form(subject, past=False), verb.english_ing
        case "perfect":
            return "has" if third else "have", verb.english_participle
        case "pluperfect":
            return "had", verb.english_participle
        case "future":
            return "will", verb.english
        case "modal" if body.modal and not body.modal.inflected:
            auxiliary, _, rest = body.modal.english.partition(" ")
            return auxiliary, f"{rest} {verb.english}".strip()
    head, rest, past = verb.english, "", body.form == "past"
    finite = verb.english_past if past else third_person(verb) if third else head
    if body.form in ("modal", "like to"):
        word = body.modal.english if body.modal else "like to"
        past = bool(body.modal and body.modal.past)
        head, rest = word.split(" ")[0], f" {verb.english_ing}" if body.gerund else f" to {verb.english}"
        inflected = {
            "want": ("wants", "wanted"),
            "need": ("needs", "needed"),
            "have": ("has", "had"),
            "like": ("likes", "liked"),
        }[head]
        finite = inflected[1] if past else inflected[0] if third else head
    if need_auxiliary:
        return "did" if past else "does" if third else "do", head + rest
    return "", finite + rest


def objects(body: Clause) -> list[str]:
    """What follows the verb: its particle, the indirect and the direct object."""
    receiver = [nominal(body.dative, subject=False)] if body.dative else []
    direct = [nominal(body.accusative, subject=False)] if body.accusative else []
    rest = [body.verb.english_rest] if body.verb.english_rest else []
    if rest and body.verb.movable_rest and isinstance(body.accusative, Pronoun):
        return receiver + direct + rest
    if body.receiver_last and receiver and direct:
        return [*rest, *direct, "to", *receiver]
    return rest + receiver + direct


def clause(
    body: Clause, *, question: bool = False, with_subject: bool = True, front_time: bool = False, without: str = ""
) -> str:
    """The clause in English order; `without` leaves out what a question word stands for.

    Args:
        body: the clause.
        question: invert the subject and the auxiliary.
        with_subject: false where a relative or question word is the subject.
        front_time: put the time before the subject.
        without: "accusative", "dative", "complements", "time" or "manner".
    """
    need_auxiliary = question or body.negated
    auxiliary, main = verb_group(body, need_auxiliary=need_auxiliary)
    if without in ("accusative", "dative"):
        body = replace(body, accusative=None) if without == "accusative" else replace(body, dative=None)
    subject = [nominal(body.subject)] if with_subject else []
    words = [auxiliary, *subject] if question else [*subject, auxiliary]
    if body.negated:
        words[-1:] = ["cannot"] if words[-1] == "can" else [words[-1], "not"]
    words += [body.middle.english] if body.middle else []
    words += [main, *objects(body)]
    manner = [body.manner.english] if body.manner and without != "manner" else []
    ordered = sorted(body.complements, key=lambda phrase: not phrase.direction)  # to Berlin by train
    complements = [phrase.english for phrase in ordered if without != "complements"]
    directed = any(phrase.direction for phrase in body.complements)
    company = [phrase.english for phrase in (body.favour, body.company) if phrase]
    words += [*complements, *company, *manner] if directed else [*manner, *company, *complements]
    if body.time:
        day = [body.time.english] if without != "time" else []
        hour = [body.hour.english] if body.hour else []
        if front_time:
            words = [*day, *words, *hour]
        else:
            words += [*hour, *day] if body.hour_first else [*day, *hour]
    return " ".join(word for word in words if word)


def imperative(body: Clause) -> str:
    """The clause as a request to *you*."""
    words = ["do not"] if body.negated else []
    words += [body.verb.english, *objects(body)]
    rest = (body.manner, body.favour, *body.complements, body.company, body.time, body.hour if body.time else None)
    return " ".join(words + [phrase.english for phrase in rest if phrase])


def infinitive(body: Clause) -> str:
    """The clause without subject and tense, as after *to*."""
    return imperative(replace(body, negated=False))


def contracted(sentence: str) -> str:
    """The same sentence as it is spoken: isn't, don't, I'm, I'll. *has* is never shortened, so that *'s* stays *is*."""
    for full, short in (("cannot", "can't"), ("will not", "won't")):
        sentence = re.sub(rf"\b{full}\b", short, sentence)
    sentence = re.sub(
        r"\b(is|are|was|were|do|does|did|has|have|had|could|should) not\b", r"\1n't", sentence, flags=re.IGNORECASE
    )
    sentence = INVERTED.sub(
        lambda found: f"{found[1]}{'can' if found[2] == 'can' else found[2] + 'n'}'t {found[3]}", sentence
    )
    pairs = (
        ("I am", "I'm"),
        ("he is", "he's"),
        ("she is", "she's"),
        ("it is", "it's"),
        ("you are", "you're"),
        ("we are", "we're"),
        ("they are", "they're"),
    )
    for full, short in pairs:
        sentence = re.sub(rf"^{full} ", f"{short} ", sentence, flags=re.IGNORECASE)
        sentence = re.sub(rf"\b(because|that|if|when|although|and|but) {full} ", rf"\1 {short} ", sentence)
    sentence = re.sub(r"\b(I|you|he|she|we|they) will ", r"\1'll ", sentence)
    sentence = re.sub(r"\b(I|you|he|she|we|they) would ", r"\1'd ", sentence)
    sentence = re.sub(r"\b(I|you|we|they) have (?=already|never|been)", r"\1've ", sentence)
    return re.sub(r"^(what|where|who|how|there|that) is ", r"\1's ", sentence)


def preposition(word: str, phrase: Nominal) -> str:
    """The prepositional phrase."""
    return f"{word} {nominal(phrase, subject=False)}"


def sentence_case(text: str, mark: str) -> str:
    """The first letter large, the mark at the end."""
    text = text[0].upper() + text[1:]
    return text + mark
