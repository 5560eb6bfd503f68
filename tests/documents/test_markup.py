"""Tags come back: all of them, balanced, around the words that they were around."""

import html
import random
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from translators import small_api

pytest.importorskip("sentencex", reason="needs the extra documents: in the repository, pip install -e '.[documents]'")

from mt.documents.markup import MarkedText
from mt.documents.passages import sentence_spans
from mt.documents.tags import Markup, plain_text, structure
from mt.translation.segments import Translation

HTML = Markup(html=True)
XML = Markup(html=False, ignored=frozenset({"x"}), splitting=frozenset({"par"}))
Order = Callable[[list[int]], None]


def as_it_is(order: list[int]) -> None:
    """Leave the words in their order."""


def translated(text: str, markup: Markup = HTML, order: Order = as_it_is) -> str:
    """The text with its words in capital letters, in another order."""
    marked = MarkedText(text, markup, lambda plain: sentence_spans(plain, "en", at_lines=not markup.html))
    translations = []
    for sentence in marked.sentences:
        words = sentence.split()
        numbers = list(range(len(words)))
        order(numbers)
        links = sorted((source, target) for target, source in enumerate(numbers))
        translations.append(Translation(" ".join(words[i].upper() for i in numbers), 0.0, [], alignment=links))
    return marked.rebuilt(translations, " ")


@pytest.mark.parametrize(
    ("text", "expected", "backwards"),
    [
        ("Hi <b>big</b> dog.", "HI <b>BIG</b> DOG.", "DOG. <b>BIG</b> HI"),
        ("<a href='x&amp;y'>link</a>. ", "<a href='x&amp;y'>LINK</a>. ", None),
        ("(<b>a</b>), <i>b</i>!", "(<b>A</b>), <i>B</i>!", "<i>B</i>! (<b>A</b>),"),
        ("how <i>are <b>you</b></i>?", "HOW <i>ARE <b>YOU</b></i>?", "<i><b>YOU</b></i>? ARE HOW"),
        ("a &lt;b&gt; &amp; c&nbsp;d", "A &lt;B&gt; &amp; C D", None),
        ("a <img src=1> b", "A <img src=1> B", "B A <img src=1>"),
        ("a<br>b<br/>c", "A<br>B<br/>C", "A<br>B<br/>C"),
        ("<p>A b.</p>\n<li>c d</li>", "<p>A B.</p>\n<li>C D</li>", "<p>B. A</p>\n<li>D C</li>"),
        (" <b>a</b>\n c", " <b>A</b> C", " C <b>A</b>"),
        ("<!-- <b> --> a <code>x y</code> b", "<!-- <b> --> A <code>x y</code> B", None),
        ("a <span translate=no>x <span>y</span></span> b", "A <span translate=no>x <span>y</span></span> B", None),
        ("<script>if (a<b) c</script>d", "<script>if (a<b) c</script>D", None),
        ("a <b class='notranslate'>x</b>", "A <b class='notranslate'>x</b>", None),
        ("<b></b>", "<b></b>", None),
        ("<![if !supportLists]><b>1.</b> <![endif]>A b", "<![if !supportLists]><b>1.</b> <![endif]>A B", None),
        ("20 m<sup>2</sup> rose.<sup>[1]</sup>", "20 M<sup>2</sup> ROSE.<sup>[1]</sup>", None),
        ("a note<sup><a href='#1'>3</a></sup> b", "A NOTE<sup><a href='#1'>3</a></sup> B", None),
        ("$<b>30</b> or <b>30</b> x<sub>2</sub>y", "$<b>30</b> OR <b>30</b> <sub>X2Y</sub>", None),
        ("He has<b> 30</b> dogs, 20<b>24</b>", "HE HAS <b>30</b> DOGS, 20<b>24</b>", None),
        ("x <y and 1 < 2", "X &lt;Y AND 1 &lt; 2", None),
        ("a</b> c <b>d", "A</b> C <b>D", None),
        ("<b>a <i>b</i> c", "<b>A <i>B</i> C", None),
        ("<a href=http://x.y/>a b</a> c", "<a href=http://x.y/>A B</a> C", "C <a href=http://x.y/>B A</a>"),
        ("H<sub>2</sub>O rose", "H<sub>2</sub>O ROSE", None),
        ("a <i><b>HTTPS://</b>X.COM/A<b>/B</b></i> b", "A <i><b>HTTPS://</b>X.COM/A<b>/B</b></i> B", None),
        ("<b>un</b><i>do</i>", "<b>UNDO</b><i></i>", None),
        ("<b>u</b><i>ndo</i>", "<b></b><i>UNDO</i>", None),
        ("<a>Home</a><a id=1>About us</a>", "<a>HOME</a><a id=1>ABOUT US</a>", "<a>HOME</a><a id=1>US ABOUT</a>"),
        ("<b>Name</b><input><b>Age</b>", "<b>NAME</b><input><b>AGE</b>", None),
        ("<label>a</label><label>b c</label>", "<label>A</label><label>B C</label>", None),
        ("<ul><li translate=no>a<li>b</ul><p>c</p>", "<ul><li translate=no>a<li>B</ul><p>C</p>", None),
        ("<p translate=no>a<p>b<p>c", "<p translate=no>a<p>B<p>C", None),
        ("<b translate=no>a", "<b translate=no>a", None),
        ("<div translate=no><h2>a</h2><p>b</p>", "<div translate=no><h2>a</h2><p>b</p>", None),
        ("<li translate=no>a<ul><li>b</ul>c<li>d", "<li translate=no>a<ul><li>b</ul>c<li>D", None),
        ("a<a>1</a><a>2</a> b.", "A<a>1</a><a>2</a> B.", None),
        ("a<x/> b<y n='1'/> c<z />", "A<x/> B<y n='1'/> C<z />", "C<z /> B<y n='1'/> A<x/>"),
    ],
)
def test_tags_and_entities(text: str, expected: str, backwards: str | None) -> None:
    assert translated(text) == expected
    if backwards is not None:
        assert translated(text, order=list.reverse) == backwards


def test_a_tag_whose_words_have_no_translation_keeps_its_distance_to_the_next_word() -> None:
    marked = MarkedText("learn the <x>%s</x>.", HTML, lambda plain: sentence_spans(plain, "en"))
    translation = Translation("DAS LERNEN.", 0.0, [], alignment=[(1, 0), (0, 1)])
    assert marked.rebuilt([translation], " ") == "DAS <x></x> LERNEN."


def test_each_translation_of_a_text_has_the_tags_of_its_own_alignment() -> None:
    text = "<b>a</b><img n=1> <i>b</i><img n=2>"
    marked = MarkedText(text, HTML, lambda plain: sentence_spans(plain, "en"))
    ranks = [("A B", [(0, 0), (1, 1)]), ("B A", [(1, 0), (0, 1)]), ("C", [])]
    found = [marked.rebuilt([Translation(new, 0.0, [], alignment=links)], " ") for new, links in ranks]
    assert found[:2] == [text.replace("a<", "A<").replace("b<", "B<"), "<i>B</i><img n=2> <b>A</b><img n=1>"]
    assert found[2].index("n=1") < found[2].index("n=2")


def test_words_that_part_leave_their_element_around_the_longest_stretch() -> None:
    def apart(order: list[int]) -> None:
        order[:] = [1, 0, 2, 3]

    assert translated("a <b id=1>b c d</b>", order=apart) == "B A <b id=1>C D</b>"


@pytest.mark.parametrize("word", ["नमस्ते", "नमस्ते!", "שָׁלוֹם?", "e\u0301te\u0301."])
def test_marks_on_letters_stay_in_their_word(word: str) -> None:
    marked = MarkedText("<b>Hello</b>!", HTML, lambda plain: sentence_spans(plain, "en"))
    found = marked.rebuilt([Translation(word, 0.0, [], alignment=[(0, 0)])], " ")
    assert found.replace("!", "").replace("?", "").replace(".", "") == f"<b>{word.strip('!?.')}</b>"


def test_xml_has_the_tags_that_the_client_names() -> None:
    text = 'One <x id="1">%(name)s</x> two<G a="b"/>\n<par>three</par><p>four</p>'
    expected = 'ONE <x id="1">%(name)s</x> TWO<G a="b"/>\n<par>THREE</par><p>FOUR</p>'
    assert translated(text, XML) == expected
    marked = MarkedText("a<par>b</par><p>c</p>", XML, lambda plain: sentence_spans(plain, "en"))
    assert marked.sentences == ["a", "b", "c"]


def test_the_structure_of_xml_is_what_has_no_text_next_to_it() -> None:
    text = "<meta><title>A title</title></meta><content><par>One <b>word</b>.</par><par><x/></par></content>"
    assert structure([text]) == {"meta", "title", "content", "par", "x"}
    assert structure([text, "two <x/> lines"]) == {"meta", "title", "content", "par"}
    assert structure(["no <b>tag</b>", "</b>", "<!-- <i> -->"]) == set()


def test_text_without_tags_for_the_detection() -> None:
    assert plain_text("<p>a &lt; <b>b</b><!-- c --></p>").split() == ["a", "<", "b"]


class Outline(HTMLParser):
    """Whether tags are balanced, and each start tag as it is written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.balanced = True
        self.feed(text)
        self.close()
        self.balanced &= not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.append(str(self.get_starttag_text()))
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.balanced &= bool(self.open) and self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.append(str(self.get_starttag_text()))

    def handle_comment(self, data: str) -> None:
        self.tags.append(data)


def random_markup(chance: random.Random, depth: int = 0) -> str:
    """Well-formed markup, each start tag of which is unlike the others."""
    parts = []
    for _ in range(chance.randint(0, 4)):
        kind = chance.random()
        mark = chance.randrange(10**9)
        inner = random_markup(chance, depth + 1) if depth < 4 else "deep"
        if kind < 0.4:
            parts.append(chance.choice(["the", "river.", "house &amp;", "a &lt; b", "good!", "x", " ", "\n"]))
        elif kind < 0.7:
            name = chance.choice(["b", "i", "a", "span", "EM"])
            parts.append(f'<{name} id="{mark}">{inner}</{name}>')
        elif kind < 0.8:
            name = chance.choice(["p", "div", "li"])
            parts.append(f"<{name} n={mark}>{inner}</{name}>")
        elif kind < 0.9:
            parts.append(chance.choice([f"<br n={mark}>", f"<img n='{mark}'/>", f"<!--{mark}-->"]))
        else:
            parts.append(f'<span n="{mark}" translate="no">keep</span>')
        parts.append(chance.choice(["", " ", "  "]))
    return "".join(parts)


def check(text: str, found: str) -> None:
    before, after = Outline(text), Outline(found)
    assert before.balanced
    assert after.balanced, (text, found)
    assert sorted(before.tags) == sorted(after.tags), (text, found)
    assert text.count(">keep<") == found.count(">keep<")


def test_random_nestings_stay_balanced_and_whole() -> None:
    chance = random.Random(1)
    for _ in range(1000):
        text = random_markup(chance)
        check(text, translated(text, order=chance.choice([chance.shuffle, list.reverse, as_it_is])))


def words(text: str) -> list[str]:
    return html.unescape(re.sub("<[^<>]*>", " ", re.sub("<!--.*?-->|>keep<", "><", text))).split()


def test_every_word_of_the_translation_is_in_the_output() -> None:
    chance = random.Random(2)
    for _ in range(300):
        text = random_markup(chance)
        found = translated(text, order=chance.shuffle)
        assert sorted("".join(words(found))) == sorted("".join(words(text)).upper()), (text, found)


def test_random_nestings_with_the_alignments_of_a_model(tmp_path: Path) -> None:
    translator = small_api(tmp_path).with_settings(alignments=True)
    chance = random.Random(3)
    texts = [random_markup(chance) for _ in range(40)]
    marked = [MarkedText(text, HTML, lambda plain: sentence_spans(plain, "en", at_lines=False)) for text in texts]
    found = iter(translator.translate([sentence for one in marked for sentence in one.sentences]))
    for text, one in zip(texts, marked, strict=True):
        check(text, one.rebuilt([next(found) for _ in one.sentences], " "))


@pytest.mark.parametrize(
    "part",
    [
        "<code>a<br>",
        "<li translate=no>a",
        "<p translate=no>a",
        "<a",
        "<a ",
        "<!a",
        "<b>",
        "</b>",
        "<a '\"",
        "<code>",
        "a <x/> ",
        "!a",
        "<!--",
    ],
)
def test_no_text_takes_long(part: str) -> None:
    """Time that grows with the square of the length would be minutes."""
    text = part * (50_000 // len(part))
    if part == "<b>":
        with pytest.raises(Exception, match="inside each other"):
            translated(text)
    else:
        assert translated(text)
