"""What everybody says word for word. Such a sentence may stand in many training pairs, but in none that is held out."""

from mt.data.toy.features import Phrase, Sentence
from mt.data.toy.nouns import entries

TABLE = """
what time is it? | Wie spät ist es?
what time is it, please? | Wie spät ist es, bitte?
excuse me, what time is it? | Entschuldigung, wie spät ist es?
what time is it now? | Wie spät ist es jetzt?
what is your name? | Wie heißt du?
my name is Anna. | Ich heiße Anna.
my name is Peter. | Ich heiße Peter.
how old are you? | Wie alt bist du?
how are you? | Wie geht es dir?
how are you today? | Wie geht es dir heute?
I am fine, thank you. | Mir geht es gut, danke.
I am fine. | Mir geht es gut.
where do you live? | Wo wohnst du?
where do you come from? | Woher kommst du?
where are you from? | Woher kommst du?
I come from England. | Ich komme aus England.
I am from Germany. | Ich komme aus Deutschland.
what are you doing? | Was machst du?
what are you doing here? | Was machst du hier?
what are you doing today? | Was machst du heute?
what are you doing tomorrow? | Was machst du morgen?
what is the weather like? | Wie ist das Wetter?
what is the weather like today? | Wie ist das Wetter heute?
how is the weather today? | Wie ist das Wetter heute?
the weather is nice today. | Das Wetter ist heute schön.
it is raining. | Es regnet.
it is cold today. | Es ist heute kalt.
do you speak English? | Sprichst du Englisch?
do you speak German? | Sprichst du Deutsch?
I speak a little German. | Ich spreche ein bisschen Deutsch.
I do not speak German. | Ich spreche kein Deutsch.
I do not understand you. | Ich verstehe dich nicht.
I do not understand. | Ich verstehe nicht.
I do not know. | Ich weiß es nicht.
I think so. | Ich glaube schon.
I think so too. | Das denke ich auch.
could you speak more slowly, please? | Könntest du bitte langsamer sprechen?
please speak more slowly. | Bitte sprich langsamer.
can you help me? | Kannst du mir helfen?
can you help me, please? | Kannst du mir bitte helfen?
where is the station? | Wo ist der Bahnhof?
excuse me, where is the station? | Entschuldigung, wo ist der Bahnhof?
where is the nearest supermarket? | Wo ist der nächste Supermarkt?
how much is it? | Was kostet das?
how much is this? | Was kostet das?
how much does it cost? | Was kostet das?
it is too expensive. | Das ist zu teuer.
can I have the menu, please? | Kann ich bitte die Speisekarte haben?
can I see the menu, please? | Kann ich bitte die Speisekarte sehen?
I would like a cup of coffee, please. | Ich möchte bitte eine Tasse Kaffee.
I would like a cup of tea without milk, please. | Ich möchte bitte eine Tasse Tee ohne Milch.
I would like a coffee, please. | Ich möchte bitte einen Kaffee.
a glass of water, please. | Ein Glas Wasser, bitte.
two beers, please. | Zwei Bier, bitte.
what would you like to drink? | Was möchtest du trinken?
what would you like to eat? | Was möchtest du essen?
there is nothing to eat at home. | Es gibt zu Hause nichts zu essen.
I have nothing to wear. | Ich habe nichts anzuziehen.
I am hungry. | Ich bin hungrig.
I am thirsty. | Ich bin durstig.
I am cold. | Mir ist kalt.
I am tired. | Ich bin müde.
I love you. | Ich liebe dich.
I like it. | Es gefällt mir.
I am sorry. | Es tut mir leid.
I am sorry, I am late. | Es tut mir leid, ich bin spät dran.
excuse me. | Entschuldigung.
thank you. | Danke.
thank you very much. | Vielen Dank.
thank you for your help. | Danke für deine Hilfe.
good morning! | Guten Morgen!
good evening! | Guten Abend!
good night! | Gute Nacht!
hello! | Hallo!
hello, how are you? | Hallo, wie geht es dir?
see you tomorrow! | Bis morgen!
see you soon! | Bis bald!
wait a moment. | Warte einen Moment.
wait a moment, please. | Warte bitte einen Moment.
please sit down. | Bitte setz dich.
let's go! | Gehen wir!
did you have a nice weekend? | Hattest du ein schönes Wochenende?
I have lost my phone. | Ich habe mein Telefon verloren.
I have lost my keys. | Ich habe meine Schlüssel verloren.
how long are you staying? | Wie lange bleibst du?
what did you say? | Was hast du gesagt?
what is that? | Was ist das?
what is this? | Was ist das?
who is that? | Wer ist das?
who are you? | Wer bist du?
where are you? | Wo bist du?
where are you going? | Wohin gehst du?
where were you yesterday? | Wo warst du gestern?
when are you coming home? | Wann kommst du nach Hause?
do you know that? | Weißt du das?
I know that. | Ich weiß das.
I did not know that. | Das wusste ich nicht.
yes, please. | Ja, bitte.
no, thank you. | Nein, danke.
"""
SAYINGS: list[Sentence] = [
    (Phrase(spoken[:-1], told[:-1]), spoken[-1])
    for spoken, told in ((part.strip() for part in line.split("|")) for line in entries(TABLE))
]
