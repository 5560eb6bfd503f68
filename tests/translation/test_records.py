"""What a line holds besides its text comes back as it was written; what does not fit is named with its line."""

import json

import pytest

from mt.errors import UserError
from mt.translation.records import JsonLines, PlainText, TabSeparated

ONE = [{"translation": "eins"}]
SCORED = [{"translation": "eins", "score": -0.25, "alignment": "0-0"}]
TWO = [{"translation": "eins", "score": -0.25}, {"translation": "z\tw\tei", "score": -2.0}]


def test_plain_text_is_the_translation_alone_unless_more_is_asked_for():
    plain, ranked = PlainText(n_best=False), PlainText(n_best=True)
    assert plain.text("a\tb", 1) == "a\tb"
    assert plain.lines("x", 1, [{"translation": "a\tb"}]) == ["a\tb"]
    assert plain.lines("x", 1, SCORED) == ["eins\t-0.2500\t0-0"]
    assert ranked.lines("x", 7, TWO) == ["7\t1\teins\t-0.2500", "7\t2\tz w ei\t-2.0000"]


def columns(column, first_line, *added, n_best=False):
    return TabSeparated("f", column=column, first_line=first_line, added=["translation", *added], n_best=n_best)


def test_columns_are_kept_and_the_translation_comes_last():
    records = columns("2", " a\tone\t\u2028")
    assert records.text(" a\tone\t\u2028", 1) == "one"
    assert records.lines(" a\tone\t\u2028", 1, ONE) == [" a\tone\t\u2028\teins"]
    assert records.text("", 2) == ""
    assert records.lines("", 2, [{"translation": ""}]) == [""]
    ranked = columns("1", "one\tb", "score", n_best=True)
    assert ranked.lines("one\tb", 3, TWO) == ["3\t1\tone\tb\teins\t-0.2500", "3\t2\tone\tb\tz w ei\t-2.0000"]
    assert ranked.lines("", 4, [{"translation": "", "score": 0.0}]) == ["4\t1\t\t\t0.0000"]


def test_columns_by_name():
    records = columns("en", "id\ten", "score")
    assert records.text("id\ten", 1) == ""
    assert records.lines("id\ten", 1, TWO[:1]) == ["id\ten\ttranslation\tscore"]
    assert records.text("1\tone", 2) == "one"
    assert columns("en", "id\ten", n_best=True).lines("id\ten", 1, ONE) == ["line\trank\tid\ten\ttranslation"]


@pytest.mark.parametrize(
    ("column", "first_line", "message"),
    [
        ("3", "a\tb", "f, line 5: has only 2 tab-separated columns, no 3"),
        ("de", "id\ten", "f: has no column 'de'; its first line names 'id', 'en'"),
        ("en", "translation\ten", "f: has a column 'translation' already; choose another translation_field"),
        ("0", "a", "f: has no column '0'; .*numbers count from 1"),
    ],
)
def test_lines_that_do_not_fit_the_columns(column, first_line, message):
    with pytest.raises(UserError, match=message):
        columns(column, first_line).text(first_line, 5)


LINES = [
    '{"text": "one"}',
    '  {"id" : 1e400, "text": "one", "x": [1.10, {"}": "}"}], "id": 2}  ',
    '{"text": "a\\nb", "lone": "\\ud800", "big": 123456789012345678901234567890}',
]


@pytest.mark.parametrize("line", LINES)
def test_fields_are_kept_as_they_were_written(line):
    records = JsonLines("f", "text", ["translation", "score"], n_best=False)
    assert records.text(line, 1) in ("one", "a b")
    [out] = records.lines(line, 1, [{"translation": 'ei"ns\u2028', "score": -0.5}])
    assert out.startswith(line.rstrip()[:-1])
    assert list(json.loads(out).items())[-2:] == [("translation", 'ei"ns\u2028'), ("score", -0.5)]
    out.encode()


def test_all_results_are_in_one_object():
    records = JsonLines("f", "text", ["translation", "score"], n_best=True)
    [out] = records.lines('{"text": "one"}', 1, TWO)
    assert json.loads(out) == {"text": "one", **TWO[0], "n_best": TWO}
    assert records.lines(" ", 2, TWO) == [" "]
    assert records.text(" ", 2) == ""
    assert records.text('{"text": null}', 2) == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "f, line 4: not a JSON object"),
        ("[1]", "f, line 4: a JSON list, but every line must be an object"),
        ('{"a": 1}', "f, line 4: has no field 'text', only 'a'"),
        ('{"text": 5}', "f, line 4: found int where text belongs"),
        ('{"text": "a", "translation": {"en": "a"}}', "f, line 4: has a field 'translation' already"),
        ("[" * 100_000, "f, line 4: not a JSON object"),
    ],
)
def test_lines_that_do_not_fit_the_fields(line, message):
    with pytest.raises(UserError, match=message):
        JsonLines("f", "text", ["translation"], n_best=False).text(line, 4)
