"""The verbs: their forms in both languages and their frames, that is who does it to what, and where.

A line reads `English base, past, participle (rest) | German infinitive, er-form, participle, marks | frames`.

- `rest` follows the inflected word: look (for), get (up); with `~` it moves behind a pronoun: pick him up.
- The separable particle stands before a slash (auf/stehen), with `_` when it is written apart (schwimmen_/gehen).
- Marks: `sein` the auxiliary, `sich` a reflexive verb, `=war` a simple past told by the preterite.

A frame lists classes of subjects, then `>` classes of direct objects, `=>` of receivers, `word:wort:case=` of
prepositional objects, `@` groups of places (`@!` where the place cannot be missing), `%` manners, `$state` for verbs
without a progressive, `$event` for those that say little in the bare present (I put the book on the table), `$known`, `$new` or
`$generic` for the determiners of the object.
"""

import re
from dataclasses import dataclass
from typing import Any

from mt.data.toy.features import Case, Verb
from mt.data.toy.nouns import entries

TABLE = """
sleep slept slept | schlafen schläft geschlafen | human @rest %well,badly,a_lot ; animal @animal_rest
work | arbeiten arbeitet gearbeitet | adult @work %alone,together,a_lot
work | funktionieren funktioniert funktioniert | device,wheels,lamp %well,badly
laugh | lachen lacht gelacht | human %loudly,a_lot @play
cry | weinen weint geweint | human %loudly @stand
sing sang sung | singen singt gesungen | adult,young >sung @leisure ; adult,young @leisure %well,loudly,together,badly
dance | tanzen tanzt getanzt | adult,young @party %well,together,alone,badly
swim swam swum | schwimmen schwimmt geschwommen sein | adult,young @water %well,fast,together
run ran run | rennen rennt gerannt sein | adult,young,pet %fast ; adult,young,pet @!run %fast
play | spielen spielt gespielt | young,pet,adult @play %together ; adult,young >sport @play ; adult >instrument @indoor %well,badly ; young with:mit:dative=toy,pet @play
wait | warten wartet gewartet | adult,young @meet ; adult for:auf:accusative=person,public @waited_at $known ; adult for:auf:accusative=person,public,awaited $known
come came come | kommen kommt gekommen sein | public %late,on_time ; adult %late,early,alone,together,on_time ; adult,young @!come %late,early,on_time ; adult from:aus:dative=town,country $state
go went gone | gehen geht gegangen sein | adult,young @!near %alone,together
go went gone | fahren fährt gefahren sein | adult @!far by %alone,together
drive drove driven | fahren fährt gefahren sein | adult @!drive %slowly,fast,alone
fly flew flown | fliegen fliegt geflogen sein | adult @!far ; bird %fast
stay | bleiben bleibt geblieben sein | adult,young @!stay
live | wohnen wohnt gewohnt | adult,group @!dwell %alone,together
get got got (up) | auf/stehen steht aufgestanden sein | adult,young %late,early
arrive | an/kommen kommt angekommen sein | adult,public @arrival %late,early,on_time
come came come (back) | zurück/kommen kommt zurückgekommen sein | adult @back %late,early
fall fell fallen (asleep) | ein/schlafen schläft eingeschlafen sein | human %late
go went gone (shopping) | einkaufen_/gehen geht einkaufen_gegangen sein | adult @shops %alone,together
go went gone (swimming) | schwimmen_/gehen geht schwimmen_gegangen sein | adult,young @water %alone,together
go went gone (to sleep) | schlafen_/gehen geht schlafen_gegangen sein | adult,young %late,early
have had had (breakfast) | frühstücken frühstückt gefrühstückt | adult,young @eatery %late,early,together,alone ; adult,young @cook
have had had (dinner) | zu_Abend_/essen isst zu_Abend_gegessen | adult @eatery %late,early,together,alone ; adult @cook
take took taken (pictures) | fotografieren fotografiert fotografiert | adult,young @leisure %alone,together
watch (television) | fern/sehen sieht ferngesehen | adult,young @indoor %together,alone
leave left left | ab/fahren fährt abgefahren sein | public %late,on_time
leave left left | gehen geht gegangen sein | adult %early,late,alone
leave left left | verlassen verlässt verlassen | adult >house,flat,office,hotel,school,museum,restaurant,city,room,hospital %early,late $known
begin began begun | an/fangen fängt angefangen | event %on_time,late
hurry | beeilen beeilt beeilt sich | adult
sit sat sat (down) | setzen setzt gesetzt sich | adult,young @sit_to
look | aus/sehen sieht ausgesehen | feeling $state
feel felt felt | fühlen fühlt gefühlt sich | feeling $state
look (forward) | freuen freut gefreut sich | adult to:auf:accusative=awaited,meal $state $known
lie lay lain | liegen liegt gelegen | adult,young,pet @!lie ; portable,clothes @!thing_at
sit sat sat | sitzen sitzt gesessen | adult,young,pet @!seat
stand stood stood | stehen steht gestanden | adult,young @!stand
eat ate eaten | essen isst gegessen | adult,young >food,dish,snack,vegetable @eat %slowly,fast
eat ate eaten | fressen frisst gefressen | animal %fast,slowly ; pet >prey
drink drank drunk | trinken trinkt getrunken | adult >drink,alcohol @eat ; young >drink ; infant >milk
cook | kochen kocht gekocht | adult >dinner $known ; adult >cooked =>person $known $given ; adult >cooked @cook ; adult >cooked @cook ; adult @cook %well,badly,together
make made made | machen macht gemacht | adult >meal,hot_drink ; adult >cake,meal,hot_drink =>person $known $given
read read read | lesen liest gelesen | adult,young >text @read_at ; adult,young @indoor %well,fast,a_lot
read read read | vor/lesen liest vorgelesen | adult >story,letter,book =>person $known
write wrote written | schreiben schreibt geschrieben | adult >written @indoor ; adult >letter =>person $known
watch | sehen sieht gesehen | adult,young >watched @indoor %together,alone ; adult,young >film @film_at %together,alone
see saw seen | sehen sieht gesehen | adult,young >person,infant,group,animal,watched,public,plant,building $state ; adult,young >person,infant,pet @seen_at $known
hear heard heard | hören hört gehört | adult,young >person,animal,sung $state $known
listen (to) | hören hört gehört | adult,young >tune,sung @indoor %together
listen (to) | zu/hören hört zugehört | adult,young =>person $known
buy bought bought | kaufen kauft gekauft | adult >food,drink,snack,dish @for_meal $given ; adult >bought @shops $given ; adult >gift,toy,book,newspaper,clothes =>person $given $known
sell sold sold | verkaufen verkauft verkauft | adult >sold ; adult >sold =>person $given
find found found | finden findet gefunden | adult,young >tool,device,carried,gift,money,sight @surface $given ; adult,young >tool,carried,money,pet @lost_at $given
lose lost lost | verlieren verliert verloren | adult,young >tool,carried,money,hat,toy,sight @lost_at
look (for) | suchen sucht gesucht | adult,young >tool,carried,pet,clothes,lodging,transport,person,sight ; adult,young >tool,carried,money,pet @surface $known
need | brauchen braucht gebraucht | adult >food,drink,snack,dish @for_meal $state $new ; adult >tool,device,furniture,clothes,road,wheels,money,leisure,doctor,food,drink,sight,aid,aid,reply $state
have had had | haben hat gehabt =hatte | adult,young >had_thing $state $new
like | mögen mag gemocht =mochte | adult,young >food,drink,alcohol,dish,person,animal,tune,settlement,liked_place,sung,watched,text,town $state $generic
want | wollen will gewollt =wollte | adult,young >drink,food,dish,snack,clothes,road,wheels,device,pet,flower,toy,money $state $new
love | lieben liebt geliebt | adult >kin,infant,group,pet,tune,nature,town,work $state $generic
know knew known | kennen kennt gekannt =kannte | adult,young >person,settlement,sung,told,town,lodging,way,label,reply $state $known
visit | besuchen besucht besucht | adult >person @visited_in $known ; adult >person,group,culture,settlement,town $known
meet met met | treffen trifft getroffen | adult >person @meet $known
help | helfen hilft geholfen | adult,young =>person @helped_at $known
take took taken | nehmen nimmt genommen | adult >public,carried,tool,money $known ; adult >public $given
take took taken | bringen bringt gebracht | adult >child,baby,kin,friend @!brought $known
bring brought brought | bringen bringt gebracht | adult >portable,drink,gift =>person $known ; adult >food,drink,gift,newspaper,letter,vessel =>person @fetched $given
repair | reparieren repariert repariert | adult >road,wheels,device,opening,furniture ; adult >road,wheels,furniture @repaired_at $known
clean | putzen putzt geputzt | adult >opening,shoe,kitchen,lamp $known
wash | waschen wäscht gewaschen | adult >garment,road,fruit,vessel $known ; adult >road @repaired_at $known
open | auf/machen macht aufgemacht | adult,young >opening,bottle,letter,gift,carried $known ; shop,culture,eatery
close | zu/machen macht zugemacht | adult,young >opening,bottle,carried $known ; shop,culture,eatery
turn (on) ~ | an/machen macht angemacht | adult,young >switched $known
turn (off) ~ | aus/machen macht ausgemacht | adult,young >switched $known
put put put (on) ~ | an/ziehen zieht angezogen | adult,young >coat,dress,shirt,shoe $event $worn
put put put (on) ~ | auf/setzen setzt aufgesetzt | adult,young >hat $event $worn
take took taken (off) ~ | aus/ziehen zieht ausgezogen | adult,young >coat,dress,shirt,shoe $event $worn
take took taken (off) ~ | ab/nehmen nimmt abgenommen | adult,young >hat $event $worn
wear wore worn | tragen trägt getragen | adult,young >clothes @worn_at $worn
call | an/rufen ruft angerufen | adult >person $known
invite | ein/laden lädt eingeladen | adult >person $known
pick (up) ~ | ab/holen holt abgeholt | adult >person,young @from $known
put put put | legen legt gelegt | adult >laid,coat,shirt,dress,hat,money @!onto $event ; adult >bread,cheese,meat,fish,chocolate @!onto_table $event $known
put put put | stellen stellt gestellt | adult >stood @!stand_on $event ; adult >drink,wine,beer,soup,cake @!stand_on $event $known ; adult >shoe @!shoes_to $event $known
forget forgot forgotten | vergessen vergisst vergessen | adult >tool,carried,label,word,gift,sight $known ; adult,young >tool,carried,clothes,gift,book,money @left_at $known
understand understood understood | verstehen versteht verstanden | adult,young >asked,reply,learned,speech,trouble,told,person $state $known
learn | lernen lernt gelernt | adult,young >word,speech @learned_at %fast,together
speak spoke spoken | sprechen spricht gesprochen | adult >speech %well,badly ; adult with:mit:dative=person @spoken_at $known
show showed shown | zeigen zeigt gezeigt | adult >art,text,lodging,garden,settlement,wheels =>person $known
give gave given | geben gibt gegeben | adult >portable,gift,money,food,snack =>person $known
send sent sent | schicken schickt geschickt | adult >letter,gift,flower,money =>person $known
tell told told | erzählen erzählt erzählt | adult >story =>person $known ; adult >story $new
ask | fragen fragt gefragt | adult,young >person $known
ask | stellen stellt gestellt | adult,young >question =>person $new
answer | antworten antwortet geantwortet | adult =>person $known ; adult
answer | beantworten beantwortet beantwortet | adult >asked,letter $known
order | bestellen bestellt bestellt | adult >drink,alcohol,dish @eatery $given
belong (to) | gehören gehört gehört | portable,road,wheels,pet,lodging =>person $state $known
think thought thought | denken denkt gedacht =dachte | adult of:an:accusative=person,topic $known
"""

IRREGULAR_ING = {"lie": "lying", "begin": "beginning", "forget": "forgetting"}
PLAIN = ("visit", "open", "order", "answer", "listen")


@dataclass(frozen=True)
class Frame:
    """One way to use a verb: the classes that may fill each of its places."""

    subjects: tuple[str, ...]
    accusative: tuple[str, ...] = ()
    dative: tuple[str, ...] = ()
    prepositional: tuple[str, ...] = ()
    prepositions: tuple[str, str] = ("", "")  # English, German
    prepositional_case: Case = "accusative"
    places: str = ""
    needs_place: bool = False
    by_vehicle: bool = False
    manners: tuple[str, ...] = ()
    event: bool = False
    objects: str = "any"  # known (the, my), new (a, two), generic (the dogs, dogs)


@dataclass(frozen=True)
class Entry:
    """A verb with its frames."""

    verb: Verb
    frames: tuple[Frame, ...]

    @property
    def name(self) -> str:
        """The English verb with its rest: look for."""
        return f"{self.verb.english} {self.verb.english_rest}".strip()

    @property
    def brief(self) -> bool:
        """Whether it is over within the hour."""
        return self.name in BRIEF and self.verb.german != "fahren"

    @property
    def label(self) -> str:
        """What tells the entry from all others."""
        return f"{self.name} {self.verb.german}"


def english_forms(text: str) -> tuple[str, str, str]:
    """Base, past and participle; the last two may be left to the rule."""
    words = text.split()
    if len(words) == 3:
        return words[0], words[1], words[2]
    base = words[0]
    past = base + "d" if base.endswith("e") else re.sub(r"(?<=[^aeiou])y$", "i", base) + "ed"
    return base, past, past


def ing(base: str) -> str:
    """writing, running, lying."""
    if base in IRREGULAR_ING:
        return IRREGULAR_ING[base]
    if re.search(r"[^e]e$", base) and base != "be":
        return base[:-1] + "ing"
    doubled = re.search(r"^[^aeiou]*[aeiou][bdgmnpt]$", base) and base not in PLAIN
    return base + (base[-1] if doubled else "") + "ing"


def parse_frame(text: str) -> tuple[Frame, bool]:
    """A frame, and whether it makes its verb stative."""
    first, *marks = text.split()
    found: dict[str, Any] = {"subjects": tuple(first.split(","))}
    for mark in marks:
        if mark.startswith("=>"):
            found["dative"] = tuple(mark[2:].split(","))
        elif mark.startswith(">"):
            found["accusative"] = tuple(mark[1:].split(","))
        elif mark.startswith("@"):
            found |= {"places": mark.lstrip("@!"), "needs_place": mark.startswith("@!")}
        elif mark.startswith("%"):
            found["manners"] = tuple(mark[1:].replace("_", " ").split(","))
        elif ":" in mark:
            words, _, classes = mark.partition("=")
            word, wort, case = words.split(":")
            found |= {
                "prepositions": (word, wort),
                "prepositional_case": case,
                "prepositional": tuple(classes.split(",")),
            }
        elif mark in ("$known", "$new", "$generic", "$given", "$worn"):
            found["objects"] = mark[1:]
        else:
            found |= {"by_vehicle": mark == "by", "event": mark == "$event"}
    return Frame(**found), "$state" in marks


def parse(line: str) -> Entry:
    """One line of the table."""
    english, german, frame_text = (part.strip() for part in line.split("|"))
    rest = re.search(r"\((.*)\)", english)
    base, past, participle = english_forms(re.sub(r"\(.*\)|~", "", english))
    whole, third, german_participle, *marks = (word.replace("_", " ") for word in german.split())
    particle, _, infinitive = whole.rpartition("/")
    frames = [parse_frame(text) for text in frame_text.split(";")]
    verb = Verb(
        english=base,
        english_past=past,
        english_participle=participle,
        english_ing=ing(base),
        english_rest=rest[1] if rest else "",
        movable_rest="~" in english,
        german=infinitive,
        german_third=third,
        participle=german_participle,
        particle=particle,
        auxiliary="sein" if "sein" in marks else "haben",
        reflexive="sich" in marks,
        stative=any(stative for _, stative in frames),
        preterite="".join(mark[1:] for mark in marks if mark.startswith("=")),
    )
    return Entry(verb, tuple(frame for frame, _ in frames))


# Deeds of a moment or an hour: they go with *tonight*, not with *next year*.
BRIEF = frozenset(
    """sit, stand, lie, fall asleep, wake up, get up, sit down, hurry, laugh, cry, turn on, turn off, open,
close, put, put on, take off, drink, eat, sleep, wait, feel, listen to, watch television, answer, run, bring, ask, thank, find, lose,
leave, begin, come back, arrive, pick up, go, stay, order, pay for, look for, wear, cook, make, wash, clean, tidy up, call,
help, talk, speak, tell, show, give, send, forget, take, read, dream, think, look forward, hear, see, come""".replace(
        "\n", " "
    ).split(", ")
)
# Deeds done once: no *often* and no *every day*.
ONCE = frozenset(
    """build, sell, lose, find, forget, repair, invite, show, give, send, tell, put, buy, arrive, leave, begin,
thank, look for, remember, feel, belong to, look forward, bring, open, close, paint, fall asleep, go to sleep, order, take, ask, answer,
pay for, hurry, sit down, lie, stand, write, think, dream""".replace("\n", " ").split(", ")
)
NO_PROGRESSIVE = ("lose", "find", "forget", "thank")
NO_FUTURE = ("lose", "find", "forget", "see", "hear", "like", "love", "know", "belong to", "need", "understand", "want")
# Deeds without an end in view: no *already*.
UNFINISHED = frozenset(
    """stay, live, sit, stand, lie, feel, wait, cry, laugh, dream, think, hurry, run, look forward, love,
like, have, need, know, belong to, travel, come, fly, drive, take, wear, look for, look, remember, dance, swim""".replace(
        "\n", " "
    ).split(", ")
)

ENTRIES = [parse(line) for line in entries(TABLE)]
BE = Verb("be", "was", "been", "being", "", "sein", "ist", "gewesen", auxiliary="sein", stative=True, preterite="war")


def entry(english: str, german: str = "") -> Entry:
    """The entry of an English verb with its rest (look for), picked by its German infinitive where there are two."""
    return next(found for found in ENTRIES if found.name == english and german in ("", found.verb.german))
