"""The nouns: English singular and plural, German with article and plural, and the classes that say what they can do.

`-` marks a missing plural (mass nouns) or singular (parents). `~` after the German noun: weak declension (den Jungen);
`+`: genitive in -es. English plurals are written only where irregular.
"""

from functools import cache

from mt.data.toy.english import ends_in_s
from mt.data.toy.features import Gender, Noun

TABLE = """
# people: human, adult (acts alone), he or she (for pronouns), kin (somebody's), owned (takes my, your)
man/men | der Mann+, Männer | human adult he generation2
woman/women | die Frau, Frauen | human adult she generation2
boy | der Junge~, Jungen | human young he generation1
girl | das Mädchen, Mädchen | human young generation1
child/children | das Kind+, Kinder | human young owned generation1
baby | das Baby, Babys | human infant owned generation0
friend | der Freund+, Freunde | human adult he owned
neighbour | der Nachbar~, Nachbarn | human adult he owned
teacher | der Lehrer, Lehrer | human adult he owned job
doctor | der Arzt+, Ärzte | human adult he owned job
English teacher | der Englischlehrer, Englischlehrer | human adult he owned
German teacher | der Deutschlehrer, Deutschlehrer | human adult he owned
student | der Student~, Studenten | human adult he job
mother/- | die Mutter, - | human adult she kin generation3
father/- | der Vater, - | human adult he kin generation3
parents/- | - Eltern | human adult kin generation3
brother | der Bruder, Brüder | human adult he kin sibling generation2
sister | die Schwester, Schwestern | human adult she kin sibling generation2
son | der Sohn+, Söhne | human adult he kin sibling generation1
daughter | die Tochter, Töchter | human adult she kin sibling generation1
grandmother | die Großmutter, Großmütter | human adult she kin generation4
grandfather | der Großvater, Großväter | human adult he kin generation4
uncle | der Onkel, Onkel | human adult he kin generation3
aunt | die Tante, Tanten | human adult she kin generation3
husband/- | der Mann+, - | human adult he kin generation2
wife/- | die Frau, - | human adult she kin generation2
family | die Familie, Familien | group owned

# animals
dog | der Hund+, Hunde | animal pet owned size3
cat | die Katze, Katzen | animal pet owned size2
bird | der Vogel, Vögel | animal small_animal size1
horse | das Pferd+, Pferde | animal owned farm size4
cow | die Kuh, Kühe | animal farm size4
mouse/mice | die Maus, Mäuse | animal small_animal size0

# food and drink
bread/- | das Brot+, - | food fresh
cheese/- | der Käse, - | food
meat/- | das Fleisch+, - | food fresh
fish/- | der Fisch+, - | food fresh
chocolate/- | die Schokolade, - | food
soup | die Suppe, Suppen | dish hot
apple | der Apfel, Äpfel | snack fresh coloured
egg | das Ei+, Eier | snack fresh
potato/potatoes | die Kartoffel, Kartoffeln | vegetable
cake | der Kuchen, Kuchen | dish
chocolate cake | der Schokoladenkuchen, Schokoladenkuchen | dish bought
birthday cake | der Geburtstagskuchen, Geburtstagskuchen | dish bought
milk/- | die Milch, - | drink fresh cold liquid
coffee/- | der Kaffee, - | drink hot liquid
tea/- | der Tee, - | drink hot liquid
water/- | das Wasser, - | drink cold liquid
juice/- | der Saft+, - | drink cold liquid
apple juice/- | der Apfelsaft+, - | drink cold liquid bought
beer/- | das Bier+, - | alcohol cold liquid
wine/- | der Wein+, - | alcohol liquid
red wine/- | der Rotwein+, - | alcohol cold liquid
white wine/- | der Weißwein+, - | alcohol cold liquid
breakfast/- | das Frühstück+, - | meal
dinner/- | das Abendessen, - | meal

# things to read, hear, see, say
book | das Buch+, Bücher | text owned portable laid
letter | der Brief+, Briefe | text owned portable laid written
newspaper | die Zeitung, Zeitungen | text owned portable laid
story/stories | die Geschichte, Geschichten | told
song | das Lied+, Lieder | sung told
film | der Film+, Filme | watched told
picture | das Bild+, Bilder | art owned portable
question | die Frage, Fragen | asked
answer | die Antwort, Antworten | reply owned
help/- | die Hilfe, - | aid
word | das Wort+, Wörter | learned
game | das Spiel+, Spiele | played
problem | das Problem+, Probleme | trouble owned
name | der Name~, Namen | label owned
German/- | das Deutsch, - | speech
English/- | das Englisch, - | speech
French/- | das Französisch, - | speech
music/- | die Musik, - | tune
guitar | die Gitarre, Gitarren | instrument owned portable
football/- | der Fußball+, - | sport

# things in the house
table | der Tisch+, Tische | furniture surface owned made
kitchen table | der Küchentisch+, Küchentische | furniture surface owned made bought
chair | der Stuhl+, Stühle | furniture seat surface owned made
bed | das Bett+, Betten | furniture surface owned made
lamp | die Lampe, Lampen | furniture portable stood owned switched
door | die Tür, Türen | opening made
window | das Fenster, Fenster | opening made
kitchen window | das Küchenfenster, Küchenfenster | opening made
phone | das Telefon+, Telefone | device portable owned laid
computer | der Computer, Computer | device owned switched
television | der Fernseher, Fernseher | device owned switched
key | der Schlüssel, Schlüssel | tool portable small laid owned
car key | der Autoschlüssel, Autoschlüssel | tool portable small laid owned
glasses/- | die Brille, - | sight owned
pen | der Stift+, Stifte | tool portable small laid owned coloured
bag | die Tasche, Taschen | carried portable owned coloured container
bottle | die Flasche, Flaschen | vessel portable stood
cup | die Tasse, Tassen | vessel portable stood coloured
glass | das Glas+, Gläser | vessel portable stood
ball | der Ball+, Bälle | toy portable owned coloured
flower | die Blume, Blumen | plant portable coloured
present | das Geschenk+, Geschenke | gift portable owned
birthday present | das Geburtstagsgeschenk+, Geburtstagsgeschenke | gift
money/- | das Geld+, - | money owned
time/- | die Zeit, - | leisure
work/- | die Arbeit, - | labour owned
coat | der Mantel, Mäntel | clothes warm owned
winter coat | der Wintermantel, Wintermäntel | clothes warm owned bought garment
dress | das Kleid+, Kleider | clothes owned
summer dress | das Sommerkleid+, Sommerkleider | clothes owned bought
shirt | das Hemd+, Hemden | clothes owned
hat | der Hut+, Hüte | clothes owned
shoe | der Schuh+, Schuhe | clothes shoe owned

# vehicles
car | das Auto, Autos | vehicle road owned
bicycle | das Fahrrad+, Fahrräder | vehicle wheels owned
train | der Zug+, Züge | vehicle public
bus/buses | der Bus, Busse | vehicle public

# places (the prepositions each takes are in places.py)
house | das Haus+, Häuser | building home owned made sized
flat | die Wohnung, Wohnungen | building home owned
room | das Zimmer, Zimmer | building indoor owned
hotel room | das Hotelzimmer, Hotelzimmer | building indoor owned
kitchen | die Küche, Küchen | building indoor owned
garden | der Garten, Gärten | outdoor owned
park | der Park, Parks | outdoor
street | die Straße, Straßen | outdoor way
forest | der Wald+, Wälder | outdoor nature
lake | der See, Seen | waters nature
beach | der Strand+, Strände | outdoor nature
sea/- | das Meer+, - | waters nature
city | die Stadt, Städte | settlement size5
village | das Dorf+, Dörfer | settlement size1
school | die Schule, Schulen | building institution owned
office | das Büro, Büros | building workplace owned
hospital | das Krankenhaus+, Krankenhäuser | building workplace institution
restaurant | das Restaurant, Restaurants | building eatery workplace
hotel | das Hotel, Hotels | building lodging workplace
museum | das Museum, Museen | building culture
cinema | das Kino, Kinos | building culture
supermarket | der Supermarkt, Supermärkte | building shop workplace
shop | der Laden, Läden | building shop workplace
station | der Bahnhof, Bahnhöfe | building transport
church | die Kirche, Kirchen | building culture
tree | der Baum+, Bäume | plant tall_plant

# time to look forward to
weekend | das Wochenende, Wochenenden | occasion
birthday | der Geburtstag+, Geburtstage | occasion owned
summer | der Sommer, Sommer | occasion season
winter | der Winter, Winter | occasion season

# the world
weather/- | das Wetter, - | weather
"""

GENDERS: dict[str, Gender] = {"der": "masculine", "die": "feminine", "das": "neuter", "-": "masculine"}


def parse(line: str) -> Noun:
    """One line of the table."""
    english, german, classes = (part.strip() for part in line.split("|"))
    singular, _, plural = english.partition("/")
    if plural in ("-", "") or german.startswith("- "):
        plural = "" if plural == "-" else ends_in_s(singular)
    article, _, forms = german.partition(" ")
    word, _, german_plural = (part.strip() for part in forms.partition(","))
    if article == "-":  # plural only
        singular, plural, word, german_plural = "", singular, "", word
    german_plural = german_plural.removeprefix("-")
    return Noun(
        singular,
        plural,
        word.rstrip("+~"),
        german_plural,
        GENDERS[article],
        frozenset(classes.split()),
        weak=word.endswith("~"),
        long_genitive=word.endswith("+"),
    )


def entries(table: str) -> list[str]:
    """The lines of a lexicon table that carry a word."""
    return [line for line in table.split("\n") if line.strip() and not line.startswith("#")]


GROUP_TABLE = """
topic | work film book weather family problem school music letter
awaited | answer letter present dinner film weekend weekend birthday summer winter
event | film game school
prey | meat fish bread
cooked | soup potato egg fish meat
hot_drink | coffee tea
written | letter book song story
bought | bread cheese meat fish chocolate apple egg potato milk juice wine cake coffee book newspaper coat dress shirt hat shoe table chair bed lamp phone computer bag flower ball car bicycle house flat guitar present
sold | car bicycle house flat table chair bed lamp computer phone picture horse guitar
garment | coat dress shirt
fruit | apple potato
lodging | house flat hotel
liked_place | house flat garden restaurant hotel school park museum beach lake forest
had_thing | pen key bag phone computer book car bicycle house flat garden room table bed lamp guitar coat hat money time question problem work dog cat horse bird child brother sister son daughter friend
"""


NOUNS = {noun.english or noun.english_plural: noun for noun in map(parse, entries(TABLE))}


GROUPS = {name.strip(): tuple(members.split()) for name, members in (line.split("|") for line in entries(GROUP_TABLE))}


def fits(noun: Noun, wanted: frozenset[str]) -> bool:
    """Whether a noun is named in `wanted`, itself or by one of its classes."""
    return (noun.english or noun.english_plural) in wanted or bool(noun.classes & wanted)


@cache
def nouns_of(classes: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of any of the classes or groups, in the order of the table."""
    wanted = frozenset(member for name in classes for member in (name, *GROUPS.get(name, ())))
    return tuple(noun for noun in NOUNS.values() if fits(noun, wanted))
