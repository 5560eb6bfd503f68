import itertools
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from reliability import Trials

from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN, Tokenizer, train_tokenizer
from mt.errors import BadFileError, DiskError, UserError

WORDS = [
    "the",
    "old",
    "house",
    "stands",
    "near",
    "quiet",
    "rivers",
    "and",
    "seven",
    "children",
    "play",
    "in",
    "gardens",
]
LONG_WORD = "Donaudampfschifffahrtsgesellschaft"
HOSTILE = [
    "",
    " ",
    "</s>",
    "<s> <pad> <unk> </s></s>",
    "a\0b",
    "▁",
    "▁▁ a ▁",
    "x\u2028y\u0085z\x0b\x0c",
    "a\rb\r\n",
    "lone \ud800 and \udfff",
    "👩‍👩‍👧 🇩🇪 😀",
    "\u202eשלום עולם\u202c مرحبا",
    "日本語の文",
    "e\u0301" * 50,
    "\ufeffmark",
    "<0x0A>",
    LONG_WORD * 2000,
]


def sentences(count: int, *, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, size=random.integers(3, 12))) + "." for _ in range(count)]


def train(folder: Path, lines: list[str], **changes: object) -> Path:
    text, output = folder / "text", folder / "tokenizer.model"
    text.write_bytes("".join(line + "\n" for line in lines).encode())
    settings = {
        "text_files": [text],
        "vocab_size": 400,
        "character_coverage": 1.0,
        "byte_fallback": True,
        "input_sentence_size": 1_000_000,
    }
    train_tokenizer(output=output, **(settings | changes))
    return output


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("tokenizer"), [*sentences(300), "Äöü ß, é! <s>?"])


@pytest.fixture(scope="module")
def tokenizer(model_path: Path) -> Tokenizer:
    return Tokenizer.load(model_path)


def test_plain_text_survives_a_round_trip(tokenizer: Tokenizer) -> None:
    for text in [*sentences(200, seed=1), "Never seen: Zürich, 12 °, naïve 日本 😀"]:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert UNKNOWN not in ids  # byte fallback knows every text
        assert "".join(tokenizer.subwords(ids)).replace("▁", " ").strip() == text or not text.isascii()


def test_spaces_are_folded(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("  the\u00a0 old　house\t") == tokenizer.encode("the old house")


FORMS = ["今天，我们去公园吧！", "5 × 10⁶ m²", "1½ ﬁve … №", "ｶﾀｶﾅ １９９８年", "می‌خواهم"]


def test_what_looks_different_stays_different(tmp_path: Path) -> None:
    """nmt_nfkc, SentencePiece's default, makes a comma, 106 and 11⁄2 of them, which no model could undo."""
    tokenizer = Tokenizer.load(train(tmp_path, [*sentences(300), *FORMS]))
    assert [tokenizer.decode(tokenizer.encode(text)) for text in FORMS] == FORMS


def test_a_character_that_training_never_had_is_read_as_the_usual_ones(tokenizer: Tokenizer, tmp_path: Path) -> None:
    assert tokenizer.encode("the oﬃce… Ａ１") == tokenizer.encode("the office... A1")
    assert tokenizer.words_of_text("the oﬃce… old") == tokenizer.words_of_text("the office... old")
    knows = Tokenizer.load(train(tmp_path, [*sentences(300), "… ﬁ"]))
    assert knows.decode(knows.encode("the ﬁve… ﬂoor")) == "the ﬁve… floor"


@pytest.mark.parametrize("text", ["é", "Å", "ế", "ệ", "가", "각", "がぎ"])
def test_canonically_equal_texts_are_composed(tokenizer: Tokenizer, text: str) -> None:
    """With any part composed already, and the marks in any order."""
    composed = unicodedata.normalize("NFC", text)
    base, *marks = unicodedata.normalize("NFD", text)
    forms = {base + "".join(order) for order in itertools.permutations(marks)}
    forms |= {unicodedata.normalize("NFC", form[:-1]) + form[-1] for form in forms if len(form) > 1}
    equal = [form for form in {*forms, text} if unicodedata.normalize("NFC", form) == composed]
    assert len(equal) > 1
    assert {tokenizer.decode(tokenizer.encode(form)) for form in equal} == {composed}


@pytest.mark.parametrize(
    ("written", "alike"),
    [
        ("kọ́lọ́", ["ko\u0301\u0323lo\u0323\u0301", "kó\u0323ló\u0323"]),  # Yoruba, of which NFC composes one mark
        ("محمّٰد", ["محم\u0670\u0651د"]),
        ("সময\u09bc", ["সম\u09df"]),  # NFC composes none of Bengali's letters with a dot
        ("সম\u09df", ["সময\u09bc"]),
    ],
)
def test_marks_are_in_order_and_letters_as_training_has_them(tmp_path: Path, written: str, alike: list[str]) -> None:
    tokenizer = Tokenizer.load(train(tmp_path, [*sentences(300), written]))
    assert [tokenizer.decode(tokenizer.encode(text)) for text in [written, *alike]] == [written] * (1 + len(alike))


def test_what_is_invisible_vanishes(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("the\u200b ol\u200bd PCR\u200f.\ufeff") == tokenizer.encode("the old PCR.")


def test_halfwidth_kana_take_their_marks(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("ｶﾞｷﾞﾊﾟ ｶ")) == "ガギパ カ"


@pytest.mark.reliability(15)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_no_text_crashes_or_becomes_a_special_id(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert not {PAD, BOS, EOS} & set(ids)
    assert all(0 < i < tokenizer.vocab_size for i in ids)
    decoded = tokenizer.decode(ids)
    assert "\n" not in decoded
    assert tokenizer.encode(decoded) == ids
    assert tokenizer.encode_many([text, "the", text]) == [ids, tokenizer.encode("the"), ids]


def test_a_megabyte_of_one_word_takes_no_time(tokenizer: Tokenizer) -> None:
    for unit in ("a", LONG_WORD, "日", "\u0301"):
        text = unit * (1_000_000 // len(unit.encode()))
        assert tokenizer.decode(tokenizer.encode(text)).strip() == text


def test_any_list_of_ids_decodes_to_one_line(tokenizer: Tokenizer) -> None:
    line_break = tokenizer.encode("\0")[-1] + ord("\n")
    assert tokenizer.subwords([line_break]) == ["<0x0A>"]
    assert tokenizer.decode([*tokenizer.encode("the"), line_break, *tokenizer.encode("old")]) == "the  old"
    assert tokenizer.decode([PAD, BOS, *tokenizer.encode("the old"), EOS, PAD]) == "the old"
    assert tokenizer.decode([-1, tokenizer.vocab_size, 10**12]) == tokenizer.decode([UNKNOWN] * 3)
    random = np.random.default_rng(3)
    for _ in range(200):
        text = tokenizer.decode(random.integers(-5, tokenizer.vocab_size + 5, size=30))
        assert "\n" not in text
        text.encode()


def test_special_ids_are_the_documented_ones(tokenizer: Tokenizer) -> None:
    assert (PAD, UNKNOWN, BOS, EOS) == (0, 1, 2, 3)
    assert tokenizer.subwords([PAD, UNKNOWN, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    with pytest.raises(IndexError):
        tokenizer.subwords([tokenizer.vocab_size])


def test_dropout_is_decided_by_its_seed(tokenizer: Tokenizer) -> None:
    texts = sentences(30)
    samples = {seed: tokenizer.encode_sampled(texts, alpha=0.2, seed=seed) for seed in (0, 1, 2**32 - 1, 2**40)}
    tokenizer.encode_sampled(texts, alpha=0.5, seed=7)
    for seed, sample in samples.items():
        assert tokenizer.encode_sampled(texts, alpha=0.2, seed=seed) == sample
        assert [tokenizer.decode(ids) for ids in sample] == texts
    assert len({str(sample) for sample in samples.values()}) == len(samples)
    assert sum(map(len, samples[1])) > sum(map(len, tokenizer.encode_many(texts)))


def test_merges_without_dropout_are_sentencepieces(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """A probability so small that no merge is left out; without byte fallback too."""
    few = Tokenizer.load(train(tmp_path, sentences(100), byte_fallback=False, vocab_size=120))
    texts = [*(text for text in HOSTILE if len(text) < 1000), *sentences(300, seed=5), "Ünknown Ω ≈ dog", "ab▁cd ▁"]
    for one in (tokenizer, few):
        assert one.encode_sampled(texts, alpha=1e-15, seed=1) == one.encode_many(texts)


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_dropout_splits_a_word_as_often_as_sentencepiece(tokenizer: Tokenizer, model_path: Path, alpha: float) -> None:
    """Every way to split it, by an independent implementation."""
    draws = 10_000
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(model_path))
    for word in ("rivers", "and"):
        sampled = theirs.encode([word] * draws, enable_sampling=True, alpha=alpha, nbest_size=-1)
        expected = Counter(map(tuple, sampled))
        found = Counter(map(tuple, tokenizer.encode_sampled([word] * draws, alpha=alpha, seed=2)))
        apart = sum(abs(found[split] - expected[split]) for split in found | expected) / (2 * draws)
        assert apart < 0.06


def test_a_vocabulary_that_was_not_merged_is_not_sampled(tmp_path: Path) -> None:
    unigram = Tokenizer.load(train(tmp_path, sentences(300), model_type="unigram"))
    with pytest.raises(UserError, match=r"tokenizer\.bpe_dropout: this vocabulary was not learned by merging"):
        unigram.encode_sampled(["the old house"], alpha=0.1, seed=1)


def test_another_process_draws_the_same(tokenizer: Tokenizer, model_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from mt.data.tokenizer import Tokenizer\n"
        "print(Tokenizer.load(Path(sys.argv[1])).encode_sampled(sys.argv[2:], alpha=0.3, seed=5))"
    )
    texts = [*sentences(9), "Zürich 日本"]
    command = [sys.executable, "-c", program, str(model_path), *texts]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, check=True, cwd=root, capture_output=True, text=True, encoding="utf-8")
    assert result.stdout == f"{tokenizer.encode_sampled(texts, alpha=0.3, seed=5)}\n"


def test_dropout_of_one_leaves_characters(tokenizer: Tokenizer) -> None:
    texts = sentences(10)
    for text, ids in zip(texts, tokenizer.encode_sampled(texts, alpha=1.0, seed=1), strict=True):
        assert all(len(subword) == 1 for subword in tokenizer.subwords(ids))
        assert tokenizer.decode(ids) == text


def test_equal_text_gives_the_same_model_file(tmp_path: Path, model_path: Path) -> None:
    again = train(tmp_path, [*sentences(300), "Äöü ß, é! <s>?"])
    assert again.read_bytes() == model_path.read_bytes()
    assert Tokenizer.load(again).fingerprint == Tokenizer.load(model_path).fingerprint
    other = train(tmp_path, sentences(300, seed=2))
    assert Tokenizer.load(other).fingerprint != Tokenizer.load(model_path).fingerprint


def test_training_uses_lines_of_all_files_up_to_the_limit(tmp_path: Path) -> None:
    files = []
    for name, characters in (("first", "abcdefgh"), ("second", "ijklmnop")):
        files.append(tmp_path / name)
        files[-1].write_text("".join(f"{c} {c}{c}\n" for c in characters for _ in range(100)))
    train_tokenizer(
        text_files=files,
        output=tmp_path / "model",
        vocab_size=24,
        character_coverage=1.0,
        byte_fallback=False,
        input_sentence_size=16,
    )
    assert UNKNOWN not in Tokenizer.load(tmp_path / "model").encode("a b c d e f g h i j k l m n o p")


def test_lines_beyond_the_limit_are_not_used(tmp_path: Path) -> None:
    lines = sentences(100)
    lines[3] = "ж"
    settings = {"byte_fallback": False, "vocab_size": 60}
    for most, known in ((10, False), (99, True), (100, True), (10_000, True)):
        tokenizer = Tokenizer.load(train(tmp_path, lines, input_sentence_size=most, **settings))
        assert (UNKNOWN not in tokenizer.encode("ж")) == known


def test_a_long_line_is_learned_from_too(tmp_path: Path) -> None:
    lines = [*sentences(100), "word " * 20_000 + "ж"]
    tokenizer = Tokenizer.load(train(tmp_path, lines, byte_fallback=False, vocab_size=120))
    assert UNKNOWN not in tokenizer.encode("ж")


def test_odd_characters_in_the_training_text_do_no_harm(tmp_path: Path) -> None:
    hostile = [text for text in HOSTILE if "\n" not in text and "\ud800" not in text]
    tokenizer = Tokenizer.load(train(tmp_path, [*sentences(200), *hostile, "\u2585 \t"], vocab_size=700))
    assert tokenizer.decode(tokenizer.encode("the old house")) == "the old house"


def test_a_small_corpus_gives_a_smaller_vocabulary_and_a_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tokenizer = Tokenizer.load(train(tmp_path, sentences(200), vocab_size=8000))
    assert 256 < tokenizer.vocab_size < 8000
    said = f"supports {tokenizer.vocab_size} subwords, fewer than tokenizer.vocab_size=8000: using"
    assert capfd.readouterr().err.startswith(f"warning: the training text {said}")
    assert tokenizer.decode(tokenizer.encode("the old house")) == "the old house"


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        (["abc"], {"vocab_size": 100}, r"vocab_size=100 is too small .* give at least 26\d"),
        ([], {}, "no text to train a tokenizer on in .*text"),
        (["", " "], {}, "no text to train a tokenizer on in .*text"),
        (["abc"], {"text_files": []}, "no text to train a tokenizer on in an empty list"),
        (["abc"], {"text_files": [Path("missing")]}, "missing: no such file"),
    ],
)
def test_text_that_cannot_be_used_is_refused(tmp_path: Path, lines: list[str], changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        train(tmp_path, lines, **changes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tokenizer.model").exists()


def test_a_model_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the old house\n")
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match=r"cannot write .*/file/.* another run_dir"):
        train_tokenizer(
            text_files=[tmp_path / "text"],
            output=tmp_path / "file" / "model",
            vocab_size=300,
            character_coverage=1.0,
            byte_fallback=True,
            input_sentence_size=10,
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "text"]


def test_training_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    train(tmp_path, sentences(200), vocab_size=300)
    assert capfd.readouterr() == ("", "")


@pytest.mark.reliability(19)
@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 1000, b"\x80\x04cos\nsystem\n(S'touch canary'\ntR."])
def test_files_of_another_kind_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(BadFileError, match=r"tokenizer .*tokenizer\.model: .*; train it again"):
        Tokenizer.load(path)


@pytest.mark.parametrize("subword", [b"<unk>", b"</s>", b"stands"])
def test_subwords_that_are_not_text_are_refused(model_path: Path, subword: bytes) -> None:
    model = model_path.read_bytes()
    assert subword in model
    with pytest.raises(BadFileError, match="not a SentencePiece model, or a damaged one"):
        Tokenizer(model=model.replace(subword, subword[:-1] + b"\xff"))


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFileError, match=r"nowhere\.model: missing"):
        Tokenizer.load(tmp_path / "nowhere.model")


def test_a_model_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences(50)), model_writer=file, vocab_size=30, minloglevel=2
        )
    with pytest.raises(BadFileError, match=r"special ids are \(-1, 0, 1, 2\), not \(0, 1, 2, 3\)"):
        Tokenizer.load(path)


MUTATE = """
import random, sys
from pathlib import Path
from mt.data.tokenizer import Tokenizer
from mt.errors import BadFileError

model = Path(sys.argv[1]).read_bytes()
texts = ["Straße </s> a\\0b 😀 日本", "", "x" * 300, "the old house"]
refused = 0
for seed in range(int(sys.argv[2])):
    chance = random.Random(seed)
    damaged = bytearray(model)
    start = chance.randrange(len(damaged))
    match seed % 4:
        case 0:
            del damaged[start:]
        case 1:
            for _ in range(chance.choice((1, 3, 50))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        case 2:
            damaged[start : start + chance.randrange(200)] = chance.randbytes(chance.randrange(200))
        case 3:
            damaged[chance.randrange(200)] = chance.randrange(256)
    try:
        tokenizer = Tokenizer(model=bytes(damaged))
    except BadFileError:
        refused += 1
        continue
    for ids in tokenizer.encode_many(texts) + tokenizer.encode_sampled(texts, alpha=0.1, seed=1):
        assert all(0 <= i < tokenizer.vocab_size for i in ids)
        tokenizer.decode(ids), tokenizer.subwords(ids)
    tokenizer.decode(range(tokenizer.vocab_size))
assert refused > int(sys.argv[2]) / 4, refused
print("survived")
"""


@pytest.mark.reliability(19)
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_damaged_models_never_crash_the_process(model_path: Path, count: int, trials: Trials) -> None:
    command = [sys.executable, "-c", MUTATE, str(model_path), str(count)]
    root = Path(__file__).parents[2]
    result = subprocess.run(
        command, check=False, cwd=root, capture_output=True, text=True, encoding="utf-8", timeout=250
    )
    trials.add(count)
    assert (result.returncode, result.stdout) == (0, "survived\n"), result.stderr
