"""When: time expressions by the verb forms they go with."""

import re

from mt.data.toy.choice import Choice
from mt.data.toy.features import Phrase, phrase_pair
from mt.data.toy.words import DAYS, MONTHS, NUMBER_WORDS, ORDINALS, TENS


def phrases(text: str) -> list[Phrase]:
    """Phrases written `English/German, English/German`."""
    return [phrase_pair(pair) for pair in text.split(",")]


AFTER = phrases(
    "before breakfast/vor dem Frühstück, after breakfast/nach dem Frühstück, after dinner/nach dem Abendessen, "
    "after work/nach der Arbeit, after school/nach der Schule, at dinner/beim Abendessen, at breakfast/beim Frühstück"
)
HABIT = (
    phrases(
        "every day/jeden Tag, every morning/jeden Morgen, every evening/jeden Abend, "
        "in the morning/am Morgen, in the evening/am Abend, in the afternoon/am Nachmittag, "
        "every day/jeden Tag, at the weekend/am Wochenende, again/wieder, at night/nachts"
    )
    + AFTER
)
LONG_HABIT = HABIT[2:5] + phrases(
    "every day/jeden Tag, every week/jede Woche, every year/jedes Jahr, in summer/im Sommer, in winter/im Winter, "
    "in spring/im Frühling, in autumn/im Herbst"
)
NOW = phrases("now/jetzt, today/heute, now/jetzt, today/heute, at the moment/im Moment")
COMING = phrases(
    "tomorrow/morgen, soon/bald, tonight/heute Abend, later/später, today/heute, tomorrow/morgen, again/wieder, "
    "this evening/heute Abend, this afternoon/heute Nachmittag, tomorrow morning/morgen früh, "
    "tomorrow evening/morgen Abend, next weekend/nächstes Wochenende"
)
LONG_COMING = COMING + phrases(
    "next week/nächste Woche, next weekend/nächstes Wochenende, this weekend/dieses Wochenende, next month/nächsten Monat, next year/nächstes Jahr, "
    "next summer/nächsten Sommer, at the weekend/am Wochenende, this week/diese Woche, this year/dieses Jahr, "
    "this summer/diesen Sommer, on my birthday/an meinem Geburtstag, on your birthday/an deinem Geburtstag, "
    "on his birthday/an seinem Geburtstag, on her birthday/an ihrem Geburtstag"
)
GONE = phrases(
    "yesterday/gestern, this morning/heute Morgen, today/heute, yesterday/gestern, yesterday/gestern, "
    "last night/gestern Abend, last weekend/letztes Wochenende, again/wieder, yesterday evening/gestern Abend, yesterday morning/gestern Morgen"
)
LONG_GONE = GONE + phrases(
    "last week/letzte Woche, last month/letzten Monat, last year/letztes Jahr, "
    "last summer/letzten Sommer, at the weekend/am Wochenende, on my birthday/an meinem Geburtstag, "
    "on your birthday/an deinem Geburtstag, "
    "on his birthday/an seinem Geburtstag, on her birthday/an ihrem Geburtstag"
)
UNITS = (
    ("minutes", "Minuten"),
    ("hours", "Stunden"),
    ("days", "Tagen"),
    ("weeks", "Wochen"),
    ("months", "Monaten"),
    ("years", "Jahren"),
)
LONG_UNITS = (("days", "Tage"), ("days", "Tage"), ("weeks", "Wochen"), ("months", "Monate"))
DURATION_UNITS = (("minutes", "Minuten"), ("hours", "Stunden"), ("hours", "Stunden"))
ONE_UNIT = (
    ("an hour", "einer Stunde"),
    ("a day", "einem Tag"),
    ("a week", "einer Woche"),
    ("a month", "einem Monat"),
    ("a year", "einem Jahr"),
)


# How long one waits, without for.
WAITS = phrases(
    "five minutes/fünf Minuten, ten minutes/zehn Minuten, twenty minutes/zwanzig Minuten, thirty minutes/dreißig Minuten, "
    "an hour/eine Stunde, half an hour/eine halbe Stunde, two hours/zwei Stunden, three hours/drei Stunden"
)
WHOLE = phrases(
    "for a long time/lange, all day/den ganzen Tag, all night/die ganze Nacht, all morning/den ganzen Morgen, all evening/den ganzen Abend"
)
PARTS = (
    (Phrase("in the morning", "morgens"), range(5, 12)),
    (Phrase("in the afternoon", "nachmittags"), range(2, 6)),
    (Phrase("in the evening", "abends"), range(6, 12)),
)


def clock(choice: Choice) -> Phrase:
    """at eight o'clock, at eight o'clock in the morning."""
    if choice.chance(0.25):
        return past_the_hour(choice)
    if choice.chance(0.08):
        (hour, uhr), word = choice.pick(NUMBER_WORDS), choice.pick((("before", "vor"), ("after", "nach")))
        return Phrase(f"{word[0]} {hour} o'clock", f"{word[1]} {uhr} Uhr")
    number = choice.weighted([1] * len(NUMBER_WORDS))
    english, german = NUMBER_WORDS[number]
    parts = [part for part, hours in PARTS if number + 2 in hours]  # the words begin with two
    if parts and choice.chance(0.25):
        part = choice.pick(parts)
        return Phrase(f"at {english} o'clock {part.english}", f"um {german} Uhr {part.german}")
    if choice.chance(0.3):
        return Phrase(f"at {english}", f"um {german}")
    return Phrase(f"at {english} o'clock", f"um {german} Uhr")


HOURS = (("one", "eins"), *NUMBER_WORDS, ("one", "eins"))


def past_the_hour(choice: Choice) -> Phrase:
    """at half past two: um halb drei; at a quarter to six: um Viertel vor sechs."""
    index = choice.weighted([1] * 12)
    (english, german), (_, next_hour) = HOURS[index], HOURS[index + 1]
    kind = choice.weighted((0.7, 0.15, 0.15))
    if kind == 0:
        return Phrase(f"at half past {english}", f"um halb {next_hour}")
    spoken, told = (("past", "nach"), ("to", "vor"))[kind - 1]
    return Phrase(f"at a quarter {spoken} {english}", f"um Viertel {told} {german}")


def weekday(choice: Choice, which: str = "", welchen: str = "") -> Phrase:
    """on Monday, on Friday evening; last Friday, if one may say so."""
    day = choice.pick(DAYS)
    if which and choice.chance(0.2):
        return Phrase(f"{which} {day.english}", f"{welchen} {day.german}")
    if choice.chance(0.2):
        part, teil = choice.pick((("morning", "morgen"), ("afternoon", "nachmittag"), ("evening", "abend")))
        return Phrase(f"on {day.english} {part}", f"am {day.german}{teil}")
    return Phrase(f"on {day.english}", f"am {day.german}")


def date(choice: Choice) -> Phrase:
    """on the third of May, or only in May."""
    month = choice.pick(MONTHS)
    if choice.chance(0.5):
        return Phrase(f"in {month.english}", f"im {month.german}")
    day = choice.pick(ORDINALS)
    return Phrase(f"on the {day.english} of {month.english}", f"am {day.german} {month.german}")


def distance(choice: Choice, *, past: bool, long: bool) -> Phrase:
    """two days ago, in an hour; weeks, months and years only where the event is long."""
    number, zahl = choice.pick(NUMBER_WORDS)
    unit, einheit = choice.pick(UNITS[2:] if long else UNITS[:2])
    if long and choice.chance(0.12):
        number, zahl = choice.pick(TENS[:4])
    english, german = f"{number} {unit}", f"{zahl} {einheit}"
    if choice.chance(0.3):
        english, german = choice.pick(ONE_UNIT[1:] if long else ONE_UNIT[:1])
    return Phrase(f"{english} ago", f"vor {german}") if past else Phrase(f"in {english}", f"in {german}")


# What follows a day: the part of the day decides which hours and meals may.
BY_PART = (
    (
        "morning",
        range(5, 12),
        phrases("before breakfast/vor dem Frühstück, after breakfast/nach dem Frühstück, before work/vor der Arbeit"),
    ),
    (
        "evening",
        range(6, 12),
        phrases("before dinner/vor dem Abendessen, after dinner/nach dem Abendessen, after work/nach der Arbeit"),
    ),
    ("night", range(8, 13), phrases("after dinner/nach dem Abendessen, after work/nach der Arbeit")),
    ("afternoon", range(2, 6), phrases("after school/nach der Schule, after work/nach der Arbeit")),
)
DAYLONG = re.compile(
    r"yesterday|today|tomorrow|tonight|on \w+day|every \w*day|(last|next) \w+day|.*(morning|evening|night|afternoon)$"
)


def hour_of(choice: Choice, day: Phrase) -> Phrase | None:
    """A second time behind the day: at six every morning, on Sunday before seven, yesterday after school."""
    if not DAYLONG.fullmatch(day.english) or day.english.startswith(("in the", "at ", "all ")):
        return None
    word = "evening" if day.english == "tonight" else day.english
    found = [part for part in BY_PART if word.endswith(part[0])]
    hours, meals = found[0][1:] if found else (range(2, 13), AFTER)
    kind = choice.weighted((0.6, 0.2, 0.2))
    if kind == 2 and not found and choice.chance(0.25):
        return Phrase("all day", "den ganzen Tag")
    if kind == 2 and not found and choice.chance(0.3):
        return Phrase("again", "wieder")
    if kind == 2:
        return choice.pick(meals)
    hour, uhr = NUMBER_WORDS[choice.weighted([number in hours for number in range(2, 13)])]
    spoken, told = choice.pick(((f"{hour} o'clock", f"{uhr} Uhr"), (hour, uhr)))
    if kind == 1:
        word, wort = choice.pick((("before", "vor"), ("before", "vor"), ("after", "nach"), ("until", "bis")))
        return Phrase(f"{word} {spoken}", f"{wort} {told}")
    if choice.chance(0.15) and hours.start == 2:
        return past_the_hour(choice)
    return Phrase(f"at {spoken}", f"um {told}")


def past_time(choice: Choice, *, long: bool) -> Phrase:
    """A time in the past; `long` allows weeks and years."""
    kind = choice.weighted((0.5, 0.15, 0.22 if long else 0, 0.14, 0.08, 0.05))
    if kind == 5:
        return choice.pick(AFTER)
    if kind == 0:
        return choice.pick(LONG_GONE if long else GONE)
    if kind == 1:
        return weekday(choice, "last", "letzten")
    if kind == 2:
        return date(choice)
    return distance(choice, past=True, long=long) if kind == 3 else clock(choice)


def coming_time(choice: Choice, *, long: bool) -> Phrase:
    """A time to come."""
    kind = choice.weighted((0.5, 0.15, 0.22 if long else 0, 0.12, 0.12, 0.05))
    if kind == 5:
        return choice.pick(AFTER)
    if kind == 0:
        return choice.pick(LONG_COMING if long else COMING)
    if kind == 1:
        return weekday(choice, "next", "nächsten")
    if kind == 2:
        return date(choice)
    if kind == 3:
        return distance(choice, past=False, long=long)
    hour = clock(choice)
    return hour if choice.chance(0.5) else Phrase(f"tomorrow {hour.english}", f"morgen {hour.german}")


def habit_time(choice: Choice, *, long: bool) -> Phrase:
    """A time of habit."""
    kind = choice.weighted((0.7, 0.17, 0.08, 0.05))
    if kind == 0:
        return choice.pick(LONG_HABIT if long else HABIT)
    if kind == 3:
        day = choice.pick(DAYS)
        if choice.chance(0.3):
            part, teil = choice.pick((("morning", "morgen"), ("evening", "abend"), ("afternoon", "nachmittag")))
            return Phrase(f"every {day.english} {part}", f"jeden {day.german}{teil}")
        return Phrase(f"every {day.english}", f"jeden {day.german}")
    if kind == 1 and choice.chance(0.4):
        day = choice.pick(DAYS)
        return Phrase(f"on {day.english}s", f"{day.german.lower()}s")
    return weekday(choice) if kind == 1 else clock(choice)


def until(choice: Choice) -> Phrase:
    """until ten o'clock, until Monday: bis zehn Uhr, bis Montag."""
    if choice.chance(0.25):
        day = choice.pick((*DAYS, Phrase("tomorrow", "morgen")))
        return Phrase(f"until {day.english}", f"bis {day.german}")
    hour = clock(choice)
    return Phrase(hour.english.replace("at ", "until ", 1), hour.german.replace("um ", "bis ", 1))


def duration(choice: Choice, *, long: bool = False) -> Phrase:
    """for two hours, all day; for three weeks, where it may be so long."""
    if long and choice.chance(0.6):
        (number, zahl), (unit, einheit) = choice.pick(NUMBER_WORDS[:6]), choice.pick(LONG_UNITS)
        if choice.chance(0.25):
            (number, zahl), (unit, einheit) = choice.pick(TENS[:4]), ("years", "Jahre")
        spoken, told = choice.pick(
            ((f"{number} {unit}", f"{zahl} {einheit}"), ("a week", "eine Woche"), ("a year", "ein Jahr"))
        )
        if choice.chance(0.7):
            spoken, told = f"{number} {unit}", f"{zahl} {einheit}"
        return Phrase(f"for {spoken}", told)
    if choice.chance(0.4):
        return choice.pick(WHOLE)
    if choice.chance(0.3):
        return until(choice)
    if choice.chance(0.3):
        wait = choice.pick(WAITS)
        return Phrase(f"for {wait.english}", wait.german)
    unit, einheit = choice.pick(DURATION_UNITS)
    number, zahl = choice.pick(NUMBER_WORDS)
    return Phrase(f"for {number} {unit}", f"{zahl} {einheit}")
