"""Where and where to: each group of places a verb can take, with the preposition that suits each place.

A member is `noun:preposition`, or the name of a fixed phrase. Groups in DIRECTIONS say where to: there the
prepositions of two cases take the accusative; in the others they take the dative.
"""

from functools import cache

from mt.data.toy import german
from mt.data.toy.features import Case, NounPhrase, Phrase
from mt.data.toy.nouns import entries
from mt.data.toy.words import COUNTRIES, TOWNS

PREPOSITIONS = {
    "in": ("in", "in"),
    "at": ("at", "an"),
    "on": ("on", "auf"),
    "under": ("under", "unter"),
    "behind": ("behind", "hinter"),
    "front": ("in front of", "vor"),
    "next": ("next to", "neben"),
    "to": ("to", "in"),
    "into": ("into", "in"),
    "zu": ("to", "zu"),
    "an": ("to", "an"),
    "from": ("from", "von"),
    "outof": ("from", "aus"),
    "aboard": ("on", "in"),
    "by": ("by", "an"),
    "inside": ("at", "in"),
    "with": ("with", "mit"),
    "close": ("near", "in der Nähe"),
}
ALWAYS_DATIVE = {"zu", "from", "with", "outof"}
FIXED = {
    "at_home": Phrase("at home", "zu Hause"),
    "with_milk": Phrase("with milk", "mit Milch"),
    "without_milk": Phrase("without milk", "ohne Milch"),
    "for_breakfast": Phrase("for breakfast", "zum Frühstück"),
    "for_dinner": Phrase("for dinner", "zum Abendessen"),
    "here": Phrase("here", "hier"),
    "there": Phrase("there", "dort"),
    "outside": Phrase("outside", "draußen"),
    "in_bed": Phrase("in bed", "im Bett"),
    "at_school": Phrase("at school", "in der Schule"),
    "home": Phrase("home", "nach Hause", direction=True),
    "to_school": Phrase("to school", "in die Schule", direction=True),
    "to_bed": Phrase("to bed", "ins Bett", direction=True),
    "to_work": Phrase("to work", "zur Arbeit", direction=True),
    "to_the_mountains": Phrase("to the mountains", "in die Berge", direction=True),
    "in_the_mountains": Phrase("in the mountains", "in den Bergen"),
    "near_the_mountains": Phrase("near the mountains", "in der Nähe der Berge"),
    "next_door": Phrase("next door", "nebenan"),
    "at_the_television": Phrase("in front of the television", "vor dem Fernseher"),
    "in_the_snow": Phrase("in the snow", "im Schnee"),
    "in_the_rain": Phrase("in the rain", "im Regen"),
    "in_the_sun": Phrase("in the sun", "in der Sonne"),
    "from_school": Phrase("from school", "von der Schule", direction=True),
    "from_work": Phrase("from work", "von der Arbeit", direction=True),
    "home_from_work": Phrase("home from work", "von der Arbeit nach Hause", direction=True),
    "home_from_school": Phrase("home from school", "aus der Schule nach Hause", direction=True),
    "home_from_the_office": Phrase("home from the office", "aus dem Büro nach Hause", direction=True),
    "home_from_the_hospital": Phrase("home from the hospital", "aus dem Krankenhaus nach Hause", direction=True),
}

TABLE = """
rest | at_home in_bed room:in garden:in hotel:in at_the_television here
work | station:close at_home office:in school:in hospital:in restaurant:in hotel:in NEAR_TOWN next_door hospital:inside restaurant:inside hotel:inside supermarket:inside museum:inside shop:in shop:in museum:in garden:in IN_TOWN here
leisure | outside park:in garden:in kitchen:in street:on church:in forest:in at_school
party | outside restaurant:in restaurant:inside kitchen:in garden:in park:in street:on beach:at at_home
water | lake:in sea:in here
play | outside outside outside in_the_snow in_the_rain garden:in park:in street:on room:in house:in at_school kitchen:in beach:at
meet | station:close station:at cinema:inside restaurant:inside museum:inside supermarket:inside office:inside at_school beach:at park:in restaurant:in hotel:in cinema:front school:front museum:front here church:front
stay | at_home here in_bed in_the_mountains hotel:in hotel:inside at_school IN_TOWN office:in room:in city:in village:in
dwell | IN_TOWN IN_TOWN IN_COUNTRY NEAR_TOWN next_door in_the_mountains near_the_mountains village:in city:in house:in flat:in here there street:in lake:close sea:close sea:by station:close park:close school:close forest:close church:close
arrival | station:at IN_TOWN hotel:inside office:inside at_school
waited_at | outside station:at station:at at_school hotel:in restaurant:in cinema:front school:front museum:front house:front hospital:in park:in here
seen_at | station:at station:at supermarket:inside cinema:inside park:in street:on city:in restaurant:in at_school beach:at museum:inside bus:aboard train:aboard garden:in lake:at
repaired_at | garden:in house:front street:on at_home
learned_at | at_school at_school at_home kitchen:in room:in office:in
spoken_at | at_school hospital:in station:at office:in restaurant:in park:in cinema:front
helped_at | kitchen:in garden:in at_home office:in shop:in restaurant:in
indoor | at_home kitchen:in room:in in_bed garden:in
eat | outside at_the_television for_breakfast for_dinner for_breakfast for_dinner at_home kitchen:in restaurant:in restaurant:inside at_school garden:in park:in office:in here
cook | at_home kitchen:in
shops | supermarket:in supermarket:inside shop:inside shop:in shop:in city:in here there IN_TOWN
eatery | restaurant:inside hotel:inside restaurant:in hotel:in here
animal_rest | at_the_television garden:in tree:under bed:under chair:on house:front kitchen:in
from | station:from from_school hotel:from hospital:from
seat | outside at_the_television chair:on bed:on table:at garden:in kitchen:in park:in tree:under window:at window:by restaurant:in cinema:in train:aboard bus:aboard
stand | outside in_the_rain in_the_snow door:at window:at window:by house:front school:front tree:behind car:next kitchen:in station:at street:on tree:under
lie | bed:on chair:on table:under bed:under tree:under garden:in in_the_sun house:front
surface | table:on chair:on bed:on bed:under bag:in kitchen:in room:in car:in
run | garden:into park:into forest:into house:into kitchen:into room:into station:zu home
come | home home HOME_FROM_TOWN HOME_FROM_COUNTRY home_from_work home_from_school home_from_the_office home_from_the_hospital TO_TOWN to_school to_work office:to restaurant:to village:to park:to beach:an station:zu
near | to_school to_bed home to_work garden:into kitchen:into park:to forest:into lake:an beach:an cinema:to museum:to church:to restaurant:to supermarket:to station:zu office:to hospital:to doctor:zu
far | TO_TOWN TO_TOWN TO_COUNTRY FROM_TOWN_TO_TOWN sea:an to_the_mountains
drive | home to_work TO_TOWN FROM_TOWN_TO_TOWN beach:an sea:an city:to village:to supermarket:zu station:zu lake:an hospital:zu
onto | table:on chair:on bed:on bag:in kitchen:in bed:under lamp:next
onto_table | table:on table:on kitchen:in bag:in
shoes_to | door:front bed:under house:front kitchen:in bed:on
stand_on | table:on chair:on kitchen:in lamp:next
sit_to | chair:on bed:on table:at tree:under window:at
film_at | at_home cinema:inside cinema:in IN_TOWN
read_at | outside at_home kitchen:in room:in in_bed garden:in park:in train:aboard bus:aboard beach:at office:in tree:under
left_at | at_home at_school at_school office:in office:inside car:in train:aboard bus:aboard train:in restaurant:in restaurant:inside hotel:in kitchen:in
lost_at | park:in station:at city:in beach:at street:on train:aboard at_school cinema:inside supermarket:inside
worn_at | at_school at_home office:in office:inside
visited_in | IN_TOWN IN_TOWN hospital:in
brought | home to_school to_school station:zu hospital:to
back | from_work from_school FROM_TOWN FROM_TOWN hospital:outof office:outof hotel:outof
animal_at | garden:in kitchen:in house:in table:under bed:under bed:on chair:on tree:behind door:front house:behind car:under street:on
thing_at | table:on chair:on bed:on bed:under bag:in kitchen:in room:in car:in lamp:next
person_at | outside in_bed in_bed next_door in_the_mountains cinema:inside restaurant:inside supermarket:inside hospital:inside museum:inside hotel:inside station:at beach:at lake:at church:in bus:aboard at_home at_school here there kitchen:in garden:in room:in office:in hospital:in park:in IN_TOWN restaurant:in train:aboard house:front
building_in | city:in village:in street:in IN_TOWN NEAR_TOWN in_the_mountains here there station:close hotel:close house:close
country_in | IN_COUNTRY IN_COUNTRY NEAR_TOWN in_the_mountains
building_inside | hotel:in restaurant:in museum:in supermarket:in office:in school:in garden:in park:in room:in beach:at train:aboard bus:aboard here kitchen:in
for_meal | for_breakfast for_breakfast for_dinner
fetched | supermarket:outof supermarket:outof shop:outof kitchen:outof city:outof
drink_in | bottle:in glass:in cup:in kitchen:in table:on
food_in | kitchen:in bag:in table:on chair:on car:in
young_in | garden:in kitchen:in park:in room:in school:in restaurant:in museum:in house:front
furniture_in | room:in kitchen:in office:in garden:in house:in flat:in
building_at | city:in village:in street:in IN_TOWN NEAR_TOWN in_the_mountains station:close park:close lake:close hotel:close park:next station:next church:behind sea:by lake:at
"""
GROUPS = {name.strip(): tuple(members.split()) for name, members in (line.split("|") for line in entries(TABLE))}
DIRECTIONS = {
    "run",
    "come",
    "near",
    "far",
    "drive",
    "onto",
    "onto_table",
    "shoes_to",
    "stand_on",
    "sit_to",
    "brought",
    "from",
    "back",
}


@cache
def fixed_places(member: str) -> tuple[Phrase, ...]:
    """The phrases a member stands for when it names no noun."""
    if member in FIXED:
        return (FIXED[member],)
    if member == "FROM_TOWN_TO_TOWN":
        return tuple(
            Phrase(f"from {a.english} to {b.english}", f"von {a.german} nach {b.german}", direction=True)
            for a in TOWNS
            for b in TOWNS
            if a != b
        )
    if member.startswith("HOME_"):
        return tuple(
            Phrase(f"home {found.english}", f"{found.german} nach Hause", direction=True)
            for found in fixed_places(member.removeprefix("HOME_"))
        )
    preposition, _, kind = member.partition("_")
    places = TOWNS if kind == "TOWN" else COUNTRIES
    german_preposition = {"IN": "in", "TO": "nach", "FROM": "aus", "NEAR": "in der Nähe von"}[preposition]
    return tuple(
        Phrase(
            f"{preposition.lower()} {place.english}",
            f"{german_preposition} {place.german}",
            direction=preposition in ("TO", "FROM"),
        )
        for place in places
    )


def place(preposition: str, phrase: NounPhrase, english: str, *, direction: bool) -> Phrase:
    """A prepositional phrase of place; `english` is the noun phrase in English."""
    words = PREPOSITIONS[preposition]
    if preposition == "close":
        return Phrase(f"{words[0]} {english}", f"{words[1]} {german.nominal(phrase, 'genitive')}", direction)
    case: Case = "accusative" if direction and preposition not in ALWAYS_DATIVE else "dative"
    return Phrase(f"{words[0]} {english}", german.preposition(words[1], phrase, case), direction)
