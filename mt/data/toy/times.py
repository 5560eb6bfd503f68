"""When: time expressions by the verb forms they go with."""

from mt.data.toy.choice import Choice
from mt.data.toy.features import Phrase
from mt.data.toy.words import DAYS, MONTHS, NUMBER_WORDS, ORDINALS


def phrases(text: str) -> list[Phrase]:
    return [Phrase(*(part.strip() for part in pair.split("/"))) for pair in text.split(",")]


HABIT = phrases("every day/jeden Tag, every morning/jeden Morgen, every evening/jeden Abend, every week/jede Woche, "
                "in the morning/am Morgen, in the evening/am Abend, in the afternoon/am Nachmittag, at night/in der Nacht, "
                "at the weekend/am Wochenende, every year/jedes Jahr, in summer/im Sommer, in winter/im Winter, "
                "in spring/im Frühling, in autumn/im Herbst")
NOW = phrases("now/jetzt, today/heute, now/jetzt, today/heute, at the moment/im Moment")
COMING = phrases("tomorrow/morgen, soon/bald, tonight/heute Abend, next week/nächste Woche, next month/nächsten Monat, "
                 "next year/nächstes Jahr, next summer/nächsten Sommer, later/später, at the weekend/am Wochenende, "
                 "today/heute, tomorrow/morgen")
GONE = phrases("yesterday/gestern, last week/letzte Woche, last month/letzten Monat, last year/letztes Jahr, "
               "last summer/letzten Sommer, this morning/heute Morgen, today/heute, at the weekend/am Wochenende, "
               "yesterday/gestern, last night/letzte Nacht, yesterday/gestern")
UNITS = (("minutes", "Minuten"), ("hours", "Stunden"), ("days", "Tagen"), ("weeks", "Wochen"), ("months", "Monaten"),
         ("years", "Jahren"))
ONE_UNIT = (("an hour", "einer Stunde"), ("a day", "einem Tag"), ("a week", "einer Woche"), ("a month", "einem Monat"),
            ("a year", "einem Jahr"))


def clock(choice: Choice) -> Phrase:
    english, german = choice.pick(NUMBER_WORDS)
    return Phrase(f"at {english} o'clock", f"um {german} Uhr")


def weekday(choice: Choice) -> Phrase:
    day = choice.pick(DAYS)
    return Phrase(f"on {day.english}", f"am {day.german}")


def date(choice: Choice) -> Phrase:
    """on the third of May, or only in May."""
    month = choice.pick(MONTHS)
    if choice.chance(0.5):
        return Phrase(f"in {month.english}", f"im {month.german}")
    day = choice.pick(ORDINALS)
    return Phrase(f"on the {day.english} of {month.english}", f"am {day.german} {month.german}")


def distance(choice: Choice, *, past: bool) -> Phrase:
    """two days ago, in an hour."""
    number, zahl = choice.pick(NUMBER_WORDS)
    unit, einheit = choice.pick(UNITS)
    english, german = f"{number} {unit}", f"{zahl} {einheit}"
    if choice.chance(0.3):
        english, german = choice.pick(ONE_UNIT)
    return Phrase(f"{english} ago", f"vor {german}") if past else Phrase(f"in {english}", f"in {german}")


def past_time(choice: Choice) -> Phrase:
    kind = choice.weighted((0.55, 0.15, 0.1, 0.12, 0.08))
    if kind == 0:
        return choice.pick(GONE)
    if kind == 1:
        return weekday(choice)
    if kind == 2:
        return date(choice)
    return distance(choice, past=True) if kind == 3 else clock(choice)


def coming_time(choice: Choice) -> Phrase:
    kind = choice.weighted((0.55, 0.15, 0.08, 0.1, 0.12))
    if kind == 0:
        return choice.pick(COMING)
    if kind == 1:
        return weekday(choice)
    if kind == 2:
        return date(choice)
    if kind == 3:
        return distance(choice, past=False)
    hour = clock(choice)
    return hour if choice.chance(0.5) else Phrase(f"tomorrow {hour.english}", f"morgen {hour.german}")


def habit_time(choice: Choice) -> Phrase:
    kind = choice.weighted((0.75, 0.15, 0.1))
    return (choice.pick(HABIT), weekday(choice), clock(choice))[kind]
