"""What comes out of a document opens again, and differs from what went in by its text alone."""

import gettext
import io
import random
import re
import time
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

NEEDED = "needs the extra documents: in the repository, pip install -e '.[documents]'"
pytest.importorskip("lxml", reason=NEEDED)
pytest.importorskip("sentencex", reason=NEEDED)
polib = pytest.importorskip("polib", reason=NEEDED)
markdown_it = pytest.importorskip("markdown_it", reason=NEEDED)

from mt.documents import archive  # noqa: E402
from mt.documents.document import Work  # noqa: E402
from mt.documents.formats import FORMATS, parse  # noqa: E402
from mt.documents.passages import sentence_spans  # noqa: E402
from mt.errors import UserError  # noqa: E402
from mt.translation.segments import Translation  # noqa: E402

Order = Callable[[list[int]], None]
WORDPROCESSING = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
W = f"{{{WORDPROCESSING}}}"


def as_it_is(order: list[int]) -> None:
    """Leave the words in their order."""


def translated(name: str, content: str | bytes, order: Order = as_it_is) -> bytes:
    """The document with its words in the other case, in another order."""
    work = Work(parse(name, content.encode() if isinstance(content, str) else content), "en")
    translations = []
    for sentence in work.sentences:
        words = sentence.split()
        numbers = list(range(len(words)))
        order(numbers)
        links = sorted((source, target) for target, source in enumerate(numbers))
        text = " ".join(words[i].swapcase() for i in numbers)
        translations.append(Translation(text, 0.0, [], alignment=links))
    return work.written(translations, " ")


SRT = "1\n00:00:01,000 --> 00:00:02,500\n{\\an8}<i>i think\nso.</i>\n\n2\n0:00:03,0 --> 0:00:04,0\n- a\n- b"
VTT = """WEBVTT - title

NOTE no

STYLE
::cue { color: red }

id
00:01.000 --> 00:02.000 line:0
<v Bob>hi &amp; <c.x>you</c>

00:00:03 --> 00:04.000
no milliseconds
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "a b.\r\n\r\n  c d. e\tf    g\n---\n12\n", "A B.\r\n\r\n  C D. E\tF    G\n---\n12\n"),
        ("a.TXT", "\ufeffa b", "\ufeffA B"),
        ("a.txt", "see the file a.js.LICENSE here (now!)", "SEE THE FILE A.JS.license HERE (NOW!)"),
        (
            "a.html",
            "<p title='x'>a <b>b</b> &lt; c<!-- d --></p>\r\n",
            "<p title='x'>A <b>B</b> &lt; C<!-- d --></p>\r\n",
        ),
        ("a.srt", SRT.replace("\n", "\r\n"), "I THINK\r\nSO.</i>\r\n"),
        ("a.srt", SRT, "\n- A\n- B"),
        ("a.vtt", VTT, "\n<v Bob>HI &amp; <c.x>YOU</c>\n\n00:00:03 --> 00:04.000\nNO MILLISECONDS\n"),
        ("a.md", "# a *b* #\n\nc\n===\n", "# A *B* #\n\nC\n===\n"),
        ("a.md", "---\ntitle: x\n---\n- a `b` c\n  d\n  1. e\n", "---\ntitle: x\n---\n- A `b` C\n  D\n  1. E\n"),
        ("a.md", "> a **b\r\n> c** d  \r\n> e\r\n", "> A **B\r\n> C** D  \r\n> E\r\n"),
        (
            "a.md",
            '[a](b "c") ![d](e) [f][g] [h] <i>j</i>\n\n[g]: k\n[h]: l\n',
            '[A](b "c") ![d](e) [F][g] [H][h] <i>J</i>\n\n[g]: k\n[h]: l\n',
        ),
        ("a.md", "| a | b \\| c |\n|--|:-:|\n| d | `e` f |\n", "| A | b \\| c |\n|--|:-:|\n| D | `e` F |\n"),
        ("a.md", "| a | b |\n|--|--|\n| `c \\| b` | b |\n| b \\| c | b |\n", "| `c \\| b` | B |\n| b \\| c | B |\n"),
        ("a.md", "```\na\n```\n\n    b\n\n<div>c</div>\n\n***\n", "```\na\n```\n\n    b\n\n<div>c</div>\n\n***\n"),
        ("a.md", "a\\_b &amp; c \\* d https://e.f/g h@i.jk\n", "A\\_B &amp; C \\* D https://e.f/g h@i.jk\n"),
        ("a.md", "- [x] a[^1] {{b}}\n\n[^1]: c\n", "- [x] A[^1] {{b}}\n"),
        ("a.md", "> [!note]\n> a. B c\n", "> [!note]\n> A. b C\n"),
        ("a.md", ":::note\na\n:::\n", ":::note\nA\n:::\n"),
        ("a.md", "a b<br>c d\n", "A B<br>C D\n"),
        ("a.md", "| a<br>b |\n|--|\n| c |\n", "| A<br>B |\n"),
        ("a.srt", SRT.replace("- a", "a<br>c"), "\nA<br>C\n"),
    ],
)
def test_text_alone_changes(name: str, text: str, expected: str) -> None:
    """Case apart, nothing changes; and the text does."""
    found = translated(name, text).decode()
    assert found.lower() == text.replace(" [h] ", " [h][h] ").lower()
    assert expected in found


@pytest.mark.parametrize(
    ("text", "language", "gaps"),
    [
        ("word " * 2000, "en", 2),
        ("字" * 9000, "zh", 2),
        ("word " * 700 + "\nword", "en", 1),
        ("=" * 9000, "en", 0),
        ("=" * 9000 + " word", "en", 1),
        ("word " * 200_000, "en", 249),
    ],
)
def test_a_line_without_sentences_is_cut_between_words(text: str, language: str, gaps: int) -> None:
    """Which the model takes a few at a time."""
    spans = sentence_spans(text, language)
    assert len(spans) == gaps + 1
    assert "=" in text or max(end - start for start, end in spans) <= 4000
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == "".join(text.split())
    assert not any(text[start:end].startswith("ord") for start, end in spans)


def test_line_breaks_follow_their_words() -> None:
    assert translated("a.md", "> a b\n> c d\n", list.reverse) == b"> D C B\n> A\n"
    assert translated("a.srt", "1\n0:00:01,0 --> 0:00:02,0\na b\nc d\n", list.reverse).count(b"\n") == 4


# ------------------------------------------------------------------------------------------- PO

PO = """# comment
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#. to b
#: c.py:1
#, c-format
msgctxt "d"
msgid "e %s (%d%%)\\n"
"f <b>g</b>\\n"
msgstr ""

msgid "h"
msgstr "done"

#, python-format
msgid "one %(i)s"
msgid_plural "%(i)s j"
msgstr[0] ""
msgstr[1] ""

#~ msgid "k"
#~ msgstr ""
"""


def test_messages_without_a_translation_get_one() -> None:
    found = translated("a.po", PO).decode()
    assert '\nmsgstr ""\n"E %s (%d%%)\\n"\n"F <b>G</b>\\n"\n\nmsgid "h"\nmsgstr "done"\n' in found
    assert 'msgstr[0] "ONE %(i)s"\nmsgstr[1] "%(i)s J"\n\n#~ msgid "k"' in found
    before, after = polib.pofile(PO + "\n"), polib.pofile(found + "\n")
    for one, other in zip(before, after, strict=True):
        one.msgstr, one.msgstr_plural = other.msgstr, other.msgstr_plural
    assert str(before) == str(after)
    assert gettext.GNUTranslations(io.BytesIO(after.to_binary())).pgettext("d", before[0].msgid).startswith("E %s")
    assert translated("a.po", PO.replace("\n", "\r\n")) == found.replace("\n", "\r\n").encode()


def test_the_markup_of_a_message_is_that_of_html() -> None:
    text = 'msgid "<p>a b.</p><ul><li>c</li><li>d e</li></ul>"\nmsgstr ""\n'
    expected = 'msgstr "<p>A B.</p><ul><li>C</li><li>D E</li></ul>"'
    assert expected in translated("a.po", text).decode()


def test_a_width_is_a_part_of_its_placeholder() -> None:
    """Qt's %1 has a number too, and no letter."""
    found = translated("a.po", 'msgid "at %02d or %5.1f of %1 in %2dogs"\nmsgstr ""\n').decode()
    assert 'msgstr "AT %02d OR %5.1f OF %1 IN %2DOGS"' in found


def test_a_file_is_not_opened_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('msgid "a"\nmsgstr ""\n', encoding="utf-8")
    with pytest.raises(UserError, match="not a PO file"):
        parse("a.po", str(tmp_path / "secret").encode())


def test_a_message_whose_placeholders_would_change_stays_empty() -> None:
    document = parse("a.po", b'msgid "all %s"\nmsgstr ""\n')
    for text, filled in (('%s 100 %ig <x i="0"/>', False), ('100 % <x i="0"/>', False), ('100 <x i="0"/>', True)):
        assert (b'msgstr ""' not in document.write([text])) == filled


# ------------------------------------------------------------------------------------------- DOCX


def docx(
    body: str, *, prolog: str = "", name: str = "word/document.xml", compression: int = zipfile.ZIP_DEFLATED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        root = f'<w:document xmlns:w="{WORDPROCESSING}"><w:body>{body}</w:body></w:document>'
        packed.writestr(name, f"<?xml version='1.0' encoding='UTF-8' standalone='yes'?>{prolog}{root}")
        packed.writestr("word/media/image1.png", bytes(range(256)))
    return stream.getvalue()


def body_of(data: bytes) -> ET.Element:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        assert packed.testzip() is None
        return ET.fromstring(packed.read("word/document.xml"))  # noqa: S314


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties and f"<w:rPr>{properties}</w:rPr>"}<w:t xml:space="preserve">{text}</w:t></w:r>'


def runs_of(element: ET.Element) -> list[tuple[str, list[str]]]:
    """The text of each run and its properties; runs of the same are one."""
    found: list[tuple[str, list[str]]] = []
    for each in element.iter(f"{W}r"):
        properties = [one.tag.removeprefix(W) for one in each.findall(f"{W}rPr/*") if one.tag != f"{W}lang"]
        text = "".join(one.text or "" for one in each.iter(f"{W}t"))
        if found and found[-1][1] == properties:
            found[-1] = (found[-1][0] + text, properties)
        else:
            found.append((text, properties))
    return found


def test_formats_of_words_go_with_them() -> None:
    link = f'<w:hyperlink anchor="x">{run("link", "<w:u/>")}</w:hyperlink>'
    split = run("wo", '<w:lang val="en"/>') + '<w:proofErr type="spellStart"/>' + run("rd")
    data = docx(
        f"<w:p><w:pPr><w:jc/></w:pPr>{split}{run(' is ')}{run('bold', '<w:b/>')}{run(', see ')}{link}</w:p><w:sectPr/>"
    )
    found = body_of(translated("a.docx", data))
    assert runs_of(found) == [("WORD IS ", []), ("BOLD", ["b"]), (", SEE ", []), ("LINK", ["u"])]
    reversed_runs = runs_of(body_of(translated("a.docx", data, list.reverse)))
    assert [one for one in reversed_runs if one[1] in (["b"], ["u"])] == [("LINK", ["u"]), ("BOLD", ["b"])]
    assert found.find(f"{W}body/{W}p/{W}hyperlink/{W}r") is not None
    assert found.find(f"{W}body/{W}p")[0].tag == f"{W}pPr"  # type: ignore[index]


def test_everything_else_of_an_archive_is_as_it_was() -> None:
    data = docx(f"<w:p>{run('a')}</w:p><w:p><w:r><w:drawing/></w:r></w:p>")
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(io.BytesIO(translated("a.docx", data))) as after:
        assert before.namelist() == after.namelist()
        assert before.read("word/media/image1.png") == after.read("word/media/image1.png")
        assert b"standalone='yes'" in after.read("word/document.xml")


def test_tabs_breaks_and_fields_keep_their_order() -> None:
    aligned = docx(f"<w:p>{run('a')}<w:r><w:ptab/></w:r>{run('b')}</w:p>")
    assert Work(parse("a.docx", aligned), "en").sentences == ["a", "b"]
    field = "<w:r><w:fldChar/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar/></w:r>"
    data = docx(f"<w:p>{run('a b')}<w:r><w:tab/><w:t>c d</w:t><w:br/></w:r>{field}{run('e f')}</w:p>")
    elements = body_of(translated("a.docx", data, list.reverse)).iter()
    found = [one.tag.removeprefix(W) for one in elements if one.tag != f"{W}r"]
    names = ["document", "body", "p", "t", "tab", "t", "br", "fldChar", "instrText", "fldChar", "t"]
    assert found == names
    assert translated("a.docx", data, list.reverse).count(b"fldChar") == data.count(b"fldChar")


# ------------------------------------------------------------------------------------------- random documents


class Tags(HTMLParser):
    """How often each start tag is in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.found[str(self.get_starttag_text())] += 1


def random_text(chance: random.Random, marks: Callable[[random.Random, str], str], depth: int = 0) -> str:
    words = []
    for _ in range(chance.randint(1, 4)):
        word = chance.choice(["the", "river.", "house,", "a", "good!", "e.g.", "Tom's", "(x)"])
        words.append(
            marks(chance, random_text(chance, marks, depth + 1)) if chance.random() < 0.4 and depth < 3 else word
        )
    return " ".join(words)


def markdown_mark(chance: random.Random, inner: str) -> str:
    forms = [
        "*{}*",
        "**{}**",
        "~~{}~~",
        "[{}](x.y)",
        "`code` {}",
        "{} ![i](j)",
        "{}\\\n{}",
        "<b>{}</b>",
        "{}\n{}",
        "\\*{}",
    ]
    form = chance.choice(forms)
    return inner if "[" in inner and "[" in form else form.replace("{}", inner)


def subtitle_mark(chance: random.Random, inner: str) -> str:
    return chance.choice(["<i>{}</i>", "{{\\an8}}{}", "{}\n{}", '<font color="red">{}</font>', "<i>{}"]).format(
        inner, "z"
    )


def po_mark(chance: random.Random, inner: str) -> str:
    return chance.choice(
        [f"%s {inner}", f"{inner} (%d)", f"%(n)s {inner}", f"<a href='x'>{inner}</a>", f"{{}} {inner}", f"{inner}%%"]
    )


def test_random_markdown() -> None:
    chance, parser = random.Random(1), markdown_it.MarkdownIt("commonmark").enable(["strikethrough", "table"])
    for _ in range(50):
        blocks = [
            chance.choice(["{}", "- {}", "> {}", "# {}", "1. {}"]).format(random_text(chance, markdown_mark))
            for _ in range(3)
        ]
        text = "\n\n".join(blocks)
        found = translated("a.md", text, chance.choice([chance.shuffle, list.reverse, as_it_is])).decode()
        assert Tags(parser.render(found)).found == Tags(parser.render(text)).found, (text, found)
        letters = [Counter(re.sub(r"[\W_]", "", parser.render(each)).lower()) for each in (text, found)]
        assert letters[0] == letters[1], (text, found)


def test_random_subtitles() -> None:
    chance = random.Random(2)
    for _ in range(40):
        cues = [f"{i}\n00:00:0{i},000 --> 00:00:0{i},500\n{random_text(chance, subtitle_mark)}\n" for i in range(3)]
        text = "\n".join(cues)
        found = translated("a.srt", text, chance.choice([chance.shuffle, as_it_is])).decode()
        assert re.findall(r"\d\n.*-->.*", found) == re.findall(r"\d\n.*-->.*", text)
        assert found.count("\n\n") == text.count("\n\n")
        assert Counter(re.findall("<[^>]*>|{[^}]*}", found)) == Counter(re.findall("<[^>]*>|{[^}]*}", text))


MARKS = r"%(?:\(n\))?[sd%]|{}|<[^<>]*>"


def test_random_messages() -> None:
    chance = random.Random(3)
    for _ in range(60):
        message = random_text(chance, po_mark)
        order = chance.choice([chance.shuffle, list.reverse, as_it_is])
        found = polib.pofile(translated("a.po", f'msgid "{message}"\nmsgstr ""\n', order).decode() + "\n")[0].msgstr
        assert Counter(re.findall(MARKS, found)) == Counter(re.findall(MARKS, message))
        assert re.findall(r"%[sd]|{}", found) == re.findall(r"%[sd]|{}", message), (message, found)


def test_random_paragraphs() -> None:
    chance = random.Random(4)

    def content(depth: int = 0) -> str:
        parts = []
        for _ in range(chance.randint(1, 4)):
            kind = chance.random()
            if kind < 0.6 or depth == 3:
                properties = chance.choice(["", "<w:b/>", "<w:i/>"])
                parts.append(run(chance.choice(["the ", "ri", "ver. ", "good!"]), properties))
            elif kind < 0.8:
                parts.append(f"<w:ins>{content(depth + 1)}</w:ins>")
            else:
                parts.append(chance.choice(["<w:r><w:tab/></w:r>", f'<w:bookmarkStart n="{depth}"/>']))
        return "".join(parts)

    for _ in range(40):
        data = docx(f"<w:p>{content()}</w:p><w:p>{content()}</w:p>")
        before, after = body_of(data), body_of(translated("a.docx", data, chance.choice([chance.shuffle, as_it_is])))
        kinds = [
            Counter(one.tag for one in each.iter() if one.tag[-2:] not in ("}r", "}t", "Pr", "}b", "}i"))
            for each in (before, after)
        ]
        assert kinds[0] == kinds[1]
        texts = [Counter("".join(each.itertext()).replace(" ", "").lower()) for each in (before, after)]
        assert texts[0] == texts[1]


# ------------------------------------------------------------------------------------------- what is refused


def outcome(name: str, data: bytes | str) -> bytes | str:
    """The translated document, or why it is refused."""
    try:
        return translated(name, data)
    except UserError as error:
        return str(error)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"\x00", b"\xff\xfe.\x00"])
def test_files_without_text_stay_or_are_refused_in_one_line(ending: str, data: bytes) -> None:
    found = outcome(f"a{ending}", data)
    refused = isinstance(found, str) and found.startswith(f"a{ending}: ") and "\n" not in found
    assert refused if ending == ".docx" else refused or found == data


def test_unknown_formats_and_encodings_are_named() -> None:
    with pytest.raises(UserError, match=r"^a\.pdf: not a document .* one of \.docx \.htm"):
        parse("a.pdf", b"")
    with pytest.raises(UserError, match="not UTF-8 text: convert it"):
        parse("a.txt", "é".encode("latin-1"))
    latin = '<meta charset="iso-8859-1">ö'.encode("latin-1")
    document = parse("a.html", latin)
    assert document.write(document.texts) == latin
    assert document.write([f"{document.texts[0]}ő"]) == latin + b"&#337;"
    for name, kept in (("iso-8859-1", b"\x93a\x94"), ("us-ascii", b"\x92"), ("iso-8859-1", b"\x81")):
        page = f'<meta charset="{name}">'.encode() + kept
        document = parse("a.html", page)
        assert document.write(document.texts) == page
        assert document.texts[0].endswith(kept.decode("latin-1" if kept == b"\x81" else "windows-1252"))
    ascii_page = parse("a.html", b'<meta charset="us-ascii">')
    assert ascii_page.write(["„"]) == b"&#8222;"
    script = '<script charset="iso-8859-1"></script><meta charset="utf-8">ö'
    assert parse("a.html", script.encode()).texts == [script]
    po = parse("a.po", b'msgid ""\nmsgstr "charset=iso-8859-1"\n\nmsgid "a"\nmsgstr ""\n')
    with pytest.raises(UserError, match="in iso-8859-1, which lacks 'ő'"):
        po.write(["ő"])


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(10))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK not a zip", "damaged"),
        (docx("<w:p>"), "damaged: word/document.xml"),
        (docx("", name="other.xml"), "not a Word document"),
        (docx("<w:p>&x;</w:p>", prolog='<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "DOCTYPE"),
        (docx(f"<w:p>{run('&l9;')}</w:p>", prolog=f"<!DOCTYPE w [{LAUGHS}]>"), "damaged: word/document.xml"),
        (
            docx(f"<w:p>{run('a')}</w:p>").replace(
                b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
            ),
            "encrypted",
        ),
        (docx(f"<w:p>{run('a')}</w:p>", compression=zipfile.ZIP_BZIP2), "compressed in a way"),
        (docx("<w:p/>" * 3_000_000), "more than 16 MiB of text and tags"),
    ],
)
def test_hostile_archives(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        parse("a.docx", data)


def test_an_archive_is_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(1 << 20))
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 16)
    with pytest.raises(UserError, match="when it is unpacked"):
        parse("a.docx", stream.getvalue())


@pytest.mark.parametrize(
    "ending", [ending for ending in FORMATS if ending not in (".docx", ".htm", ".markdown", ".vtt")]
)
def test_no_document_takes_long(ending: str) -> None:
    """Time that grows with the square of the length would be minutes."""
    frames = {".srt": "1\n0:00:01,0 --> 0:00:02,0\n{}", ".po": 'msgid "{}"\nmsgstr ""\n'}
    for part in ("[", "*", "`", "a ", "a*", "<a", "![", "a\n", "{", "%", "(", '"', " "):
        start = time.thread_time()
        found = outcome(f"a{ending}", frames.get(ending, "{}").replace("{}", part * (20_000 // len(part))))
        assert isinstance(found, bytes) or "PO file" in found or "inside each other" in found
        assert time.thread_time() - start < 6, part


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.srt", f"1\n0:00:01,0 --> 0:00:02,0\na{' ' * 50_000}b\n"),
        ("a.po", f'msgid "a %1${"0" * 50_000}!"\nmsgstr ""\n'),
        ("a.po", f'msgid "a (%{"0" * 50_000}!"\nmsgstr ""\n'),
        ("a.po", f'msgid "a ({"%1$s" * 10_000}!"\nmsgstr ""\n'),
        ("a.md", f"a `b{' ' * 200_000}c` d\n"),
        ("a.md", f"[a]({' ' * 50_000}b\n\n[a]: c\n"),
        ("a.md", f"a <b{'b' * 50_000} c='>'>d\n"),
    ],
)
def test_long_runs_take_little_time(name: str, text: str) -> None:
    start = time.thread_time()
    assert isinstance(outcome(name, text), bytes)
    assert time.thread_time() - start < 3
