"""The corpus doctor names every planted fault with its count and lines, and reports nothing on a sound corpus."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from composed import composed
from pairs import builtin_pairs

from mt.commands.inspect_corpus import inspect
from mt.config.schema import InspectConfig
from mt.data.corpus import FileCorpus
from mt.doctor.checks import CONTROL, MOJIBAKE, REPLACEMENT, damaged_lines
from mt.doctor.examination import Examined, examine
from mt.doctor.findings import Finding, findings
from mt.doctor.shifts import align

Pair = tuple[str, str]
PAIRS = 4000


@pytest.fixture(scope="module")
def toy() -> dict[str, list[Pair]]:
    return builtin_pairs(train=PAIRS, validation=300, test=300)


def visit(
    folder: Path,
    splits: dict[str, list[Pair]],
    *,
    missing_target: int | None = None,
    languages: tuple[list[str], list[str]] | None = None,
    declared: tuple[str, str] = ("en", "de"),
) -> tuple[list[Examined], list[Finding]]:
    corpora = {}
    for split, pairs in splits.items():
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        if split == "train" and missing_target is not None:
            del sides[1][missing_target - 1]
        for name, lines in zip(("en", "de"), sides, strict=True):
            (folder / f"{split}.{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        corpora[split] = [
            FileCorpus(
                source=str(folder / f"{split}.en"),
                target=str(folder / f"{split}.de"),
                file=None,
                source_language="en",
                target_language="de",
                source_column=None,
                target_column=None,
            )
        ]
    examination = examine(corpora, max_length_ratio=3.0)
    if languages is not None:
        examination = replace(examination, languages=languages)
    return examination.corpora, findings(examination, declared=declared)


def test_a_sound_corpus_gives_no_finding(tmp_path: Path, toy: dict[str, list[Pair]]) -> None:
    corpora, found = visit(tmp_path, toy)
    assert found == []
    assert [one.lengths.shape for one in corpora] == [(2, PAIRS), (2, 300), (2, 300)]


def test_planted_faults_are_named_and_counted(tmp_path: Path, toy: dict[str, list[Pair]]) -> None:
    """RELIABILITY's planted faults, all at once but for the lost line."""
    random_numbers = random.Random(2)
    train = list(toy["train"])
    lines = iter(random_numbers.sample(range(PAIRS), PAIRS))
    for source, target in toy["test"][:50]:
        train[next(lines)] = source.upper().replace(" ", "  "), f"„{target.rstrip('.').lower()}“"
    untranslated = [next(lines) for _ in range(PAIRS // 20)]
    english = [source for source, _ in toy["validation"] if 30 <= len(source) <= 50]
    for line in untranslated:
        train[line] = train[line][0], random_numbers.choice(english)
    copied = [line for line in lines if len(train[line][0].split()) >= 3][: PAIRS * 3 // 100]
    for line in copied:
        train[line] = train[line][0], train[line][0]
    taken = {*untranslated, *copied}
    damaged = [n for n, (_, target) in enumerate(train) if n not in taken and "ü" in target and "„" not in target][:40]
    for line in damaged:
        train[line] = train[line][0], train[line][1].encode().decode("latin-1")
    corpora, messages = visit(tmp_path, {**toy, "train": train})
    found = {finding.kind: finding.message for finding in messages if finding.split == "train"}
    assert found.keys() == {"held-out pair", "language of the other side", "copy", "mojibake"}
    suspects = corpora[0].suspects
    assert len(suspects["held-out pair", "test"]) == 50
    assert found["held-out pair"].startswith("50 pairs (1.2 %) are test pairs, case and punctuation aside: ")
    assert suspects["copy", "pair"] == sorted(line + 1 for line in copied)
    assert suspects["mojibake", "target"] == [line + 1 for line in damaged]
    assert corpora[0].examples["mojibake", "target"] == [train[line][1] for line in damaged[:5]]
    in_english = set(suspects["language of the other side", "target"])
    assert len(in_english ^ {line + 1 for line in untranslated}) <= 0.05 * len(untranslated)
    assert "look like the other side's language: untranslated" in found["language of the other side"]


def test_blank_lines_duplicates_and_unequal_lengths_are_counted(tmp_path: Path, toy: dict[str, list[Pair]]) -> None:
    train = list(toy["train"])
    train[10:15] = [(source, " ") for source, _ in train[10:15]]
    train[100:400] = train[500:800]
    train[900:950] = [(source, f"{target} " * 9) for source, target in train[900:950]]
    test = toy["test"][:250] + toy["test"][:50]
    found = [finding.message for finding in visit(tmp_path, {**toy, "train": train, "test": test})[1]]
    advice = "; training drops them (data.filters.remove_duplicates=true)"
    assert found == [
        "5 lines (0.1 %) of the target side are blank: 11, 12, 13, 14, 15",
        f"300 pairs (7.5 %) occurred before, word for word: 501, 502, 503, 504, 505 ...{advice}",
        "50 pairs (16.7 %) occurred before, word for word: 251, 252, 253, 254, 255 ...",
        "50 pairs (1.2 %) differ in length beyond data.filters.max_length_ratio: 901, 902, 903, 904, 905 ...",
    ]


def test_lines_are_those_of_the_file_also_after_a_header(tmp_path: Path, toy: dict[str, list[Pair]]) -> None:
    rows = [("English", "German"), *toy["train"][:200]]
    rows[6] = rows[6][0], " "  # the seventh line
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    columns = {"source_column": "English", "target_column": "German"}
    corpus = FileCorpus(file=str(path), source_language="en", target_language="de", **columns)
    [examined] = examine({"train": [corpus]}, max_length_ratio=3.0).corpora
    assert examined.suspects["blank line", "target"] == [7]
    assert corpus.count_pairs() == 200


def test_a_side_in_another_language_than_declared_is_named(tmp_path: Path, toy: dict[str, list[Pair]]) -> None:
    swapped = {split: [(target, source) for source, target in pairs] for split, pairs in toy.items()}
    found = [finding.message for finding in visit(tmp_path, swapped)[1]]
    assert found == [
        "the source side looks like de, but data.source_language is en",
        "the target side looks like en, but data.target_language is de",
    ]


@pytest.mark.parametrize(("there", "warned"), [(["cs"], False), ([], True)])
def test_a_relative_of_the_other_language_is_not_called_that(
    tmp_path: Path, toy: dict[str, list[Pair]], there: list[str], *, warned: bool
) -> None:
    """Slovak has no list of words and looks like Czech; next to real Czech that says nothing."""
    found = visit(tmp_path, toy, languages=(["cs"], there), declared=("sk", "cs"))[1]
    assert [finding.kind for finding in found] == ["language"] * warned


@pytest.mark.parametrize("swapped", ["train", "validation"])
def test_only_the_split_whose_sides_are_swapped_is_named(
    tmp_path: Path, toy: dict[str, list[Pair]], swapped: str
) -> None:
    splits = {**toy, swapped: [(target, source) for source, target in toy[swapped]]}
    found = visit(tmp_path, splits)[1]
    assert len(found) == 2
    assert {finding.split for finding in found} == {swapped}


@pytest.mark.parametrize("split", ["validation", "test"])
def test_held_out_pairs_of_other_lengths_are_named(tmp_path: Path, toy: dict[str, list[Pair]], split: str) -> None:
    by_length = sorted(toy[split], key=lambda pair: len(pair[0]))
    [finding] = visit(tmp_path, {**toy, split: by_length[:60]})[1]
    assert (finding.kind, finding.split) == ("length", split)
    assert "characters on average and 176 in the training data" in finding.message


@pytest.mark.parametrize("missing", [400, 2000, 3500])
def test_a_lost_line_is_located(tmp_path: Path, toy: dict[str, list[Pair]], missing: int) -> None:
    corpora, found = visit(tmp_path, toy, missing_target=missing)
    unequal, shifted = found[:2]
    assert f"{PAIRS:,} lines" in unequal.message
    assert f"{PAIRS - 1:,}" in unequal.message
    assert "one line missing on the target side" in shifted.message
    [shift] = corpora[0].shifts
    assert shift.shift == -1
    assert abs(shift.line - missing) <= 20


def test_shifts_add_up_and_end() -> None:
    random_numbers = np.random.default_rng(1)
    source = random_numbers.integers(10, 120, 6000)
    target = (source * random_numbers.lognormal(0.1, 0.15, 6000)).astype(np.int64)
    moved = np.concatenate((target[:1000], target[1002:3000], target[2998:]))
    shifts = align(source[: len(moved)], moved)[1]
    assert [(shift.before, shift.shift) for shift in shifts] == [(0, -2), (-2, 0)]
    assert abs(shifts[0].line - 1000) < 20
    assert abs(shifts[1].line - 3000) < 20


def test_sorted_lines_are_not_called_shifted() -> None:
    random_numbers = np.random.default_rng(1)
    source = np.sort(random_numbers.integers(5, 200, 6000))
    target = (source * random_numbers.lognormal(0.1, 0.2, 6000)).astype(np.int64)
    assert align(source, target)[1] == []


def table_of_dates(lines: int) -> tuple[np.ndarray, np.ndarray]:
    """As in biographies: a long year next to a short one, then a short office next to a long one."""
    random_numbers = np.random.default_rng(2)
    columns = np.tile([60, 9], lines // 2), np.tile([10, 66], lines // 2)
    return columns[0] + random_numbers.integers(0, 3, lines), columns[1] + random_numbers.integers(0, 3, lines)


def test_a_table_of_long_and_short_lines_in_turn_is_not_called_shifted() -> None:
    random_numbers = np.random.default_rng(1)
    source = random_numbers.integers(10, 120, 6000)
    target = (source * random_numbers.lognormal(0.1, 0.15, 6000)).astype(np.int64)
    for start in (1000, 3000, 5000):
        source[start : start + 80], target[start : start + 80] = table_of_dates(80)
    assert align(source, target)[1] == []


def test_a_table_before_sorted_lines_which_fit_at_any_shift_is_not_called_shifted() -> None:
    random_numbers = np.random.default_rng(1)
    source = np.sort(random_numbers.integers(10, 120, 6000))
    target = (source * random_numbers.lognormal(0.1, 0.15, 6000)).astype(np.int64)
    source[100:260], target[100:260] = table_of_dates(160)
    assert align(source, target)[1] == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Ein MÃ¤dchen", MOJIBAKE),
        ("Er sagte â€žJaâ€œ", MOJIBAKE),
        ("It\u00e2\u0080\u0099s", MOJIBAKE),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", MOJIBAKE),
        ("Stra√üe und B√§r", MOJIBAKE),
        ("ein M\ufffddchen", REPLACEMENT),
        ("null\0byte", CONTROL),
        ("next\u0085line", CONTROL),
        ("»MENÜ« und „Übung“, „ÄÖÜ“ …", None),
        ("CAFÉ – à l'été", None),
        ("NÃO, 20 °C, naïve", None),
        ("Привет, мир", None),
        ("従古人之言来流老人之變", None),
        ("tab\there", None),
    ],
)
def test_damage(line: str, kind: str | None) -> None:
    found = damaged_lines(["before", line, "after"])
    assert {name: lines for name, lines in found.items() if lines} == ({kind: {1}} if kind else {})


def test_the_command_writes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = composed("inspect")
    assert isinstance(config, InspectConfig)
    assert config.output == "inspection/toy"
    inspect(replace(config, output="seen"))
    report = json.loads((tmp_path / "seen/report.json").read_text(encoding="utf-8"))
    assert report["findings"] == []
    assert report["suspects"]
    page = (tmp_path / "seen/report.html").read_text(encoding="utf-8")
    assert page.count("<h2>") == 3
    assert "no findings" in page
    assert "http" not in page
    assert "h = 4, d_k = 32, d_v = 32" in (tmp_path / "seen/architecture.svg").read_text(encoding="utf-8")
