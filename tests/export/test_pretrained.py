"""Folders of GPT-2's layout, as transformers writes them, become runs that compute the same, generate and train on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from pretrained_folders import BERT_TOKENS, END, LONGEST, TEXTS, write_bert, write_gpt2

import small_runs
from mt.api import load_tokenizers, trained_model
from mt.commands.entry_point import run as run_command
from mt.commands.export import export
from mt.commands.generate import generate
from mt.commands.import_model import import_model
from mt.data.tokenizer import BOS, EOS, PAD, UNKNOWN
from mt.runs.folder import load_run


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gpt2(tmp_path_factory.mktemp("gpt2") / "folder")


def texts_file(folder: Path) -> str:
    (folder / "texts").write_text("\n".join(TEXTS), encoding="utf-8")
    return f"sentences={folder / 'texts'}"


def imported(folder: Path, run_dir: Path) -> int:
    return run_command("import", import_model, [f"folder={folder}", f"run_dir={run_dir}", texts_file(run_dir.parent)])


@pytest.fixture(scope="module")
def run_dir(gpt2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("imported") / "run"
    assert imported(gpt2, run_dir) == 0
    return run_dir


def theirs(folder: Path) -> tuple[Any, Any]:
    import transformers  # noqa: PLC0415

    model = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
    return model, transformers.GPT2Tokenizer.from_pretrained(folder)


def ids_of(folder: Path, tokens: list[str]) -> list[int]:
    return theirs(folder)[1].convert_tokens_to_ids(tokens)


def test_tokens_texts_and_logits_are_those_of_transformers(gpt2: Path, run_dir: Path) -> None:
    model, tokenizer = (
        trained_model(run_dir, torch.device("cpu")).eval(),
        load_tokenizers(load_run(run_dir), run_dir)[1],
    )
    their_model, their_tokenizer = theirs(gpt2)
    end = their_tokenizer.eos_token_id
    ours_of = {their_tokenizer.convert_ids_to_tokens(i): i for i in range(len(their_tokenizer))}
    assert tokenizer.vocab_size == len(their_tokenizer) + 4 + 3  # padding, unknown and BOS are ours alone
    assert tokenizer.subwords([EOS]) == [END]
    for text in [*TEXTS, "\ud800", f"a{END}b", "\x00\u2028\U0010ffff", "İß ﬁ½", "한국어 ไทย e\u0301"]:
        valid = text.encode("utf-8", "replace").decode() if text != "\ud800" else "\ufffd"
        ours, given = tokenizer.encode(text), their_tokenizer(valid, split_special_tokens=True)["input_ids"]
        assert [ours_of[token] for token in tokenizer.subwords(ours)] == given
        assert not {PAD, UNKNOWN, BOS, EOS} & set(ours)
        assert tokenizer.decode_lines(ours) == their_tokenizer.decode(given) == valid
        ours, given = [BOS, *ours][:LONGEST], [end, *given][:LONGEST]
        with torch.inference_mode():
            logits = model(torch.empty(1, 0, dtype=torch.int64), torch.tensor([ours]))[0]
            expected = their_model(torch.tensor([given])).logits[0]
        same = [token for token in range(4, tokenizer.vocab_size) if tokenizer.subwords([token])[0] in ours_of]
        rows = [ours_of[token] for token in tokenizer.subwords(same)]
        torch.testing.assert_close(logits[:, same], expected[:, rows], rtol=0, atol=1e-5)
        torch.testing.assert_close(logits[:, EOS], expected[:, end], rtol=0, atol=1e-5)
        torch.testing.assert_close(logits.logsumexp(-1), expected.logsumexp(-1), rtol=0, atol=1e-5)


def test_special_tokens_of_its_own_get_our_ids(gpt2: Path, tmp_path: Path) -> None:
    shutil.copytree(gpt2, tmp_path / "folder")
    names = {"pad_token": "<nothing>", "unk_token": "<what>"}  # two of the rows without a token
    (tmp_path / "folder/tokenizer_config.json").write_text(json.dumps(names), encoding="utf-8")
    assert imported(tmp_path / "folder", tmp_path / "run") == 0
    tokenizer = load_tokenizers(load_run(tmp_path / "run"), tmp_path / "run")[1]
    assert tokenizer.vocab_size == 300 + 4 + 1  # BOS is ours alone
    assert tokenizer.subwords([PAD, UNKNOWN, EOS]) == ["<nothing>", "<what>", END]
    weights = trained_model(tmp_path / "run", torch.device("cpu"))
    given = safetensors.torch.load_file(gpt2 / "model.safetensors")["transformer.wte.weight"]
    rows = ids_of(tmp_path / "folder", [*names.values(), END, END])
    assert torch.equal(weights.target_embedding.weight[: EOS + 1], given[rows])


def test_a_text_is_cut_into_the_same_tokens_as_a_whole(run_dir: Path, tmp_path: Path) -> None:
    from mt.data.text_blocks import encode_text  # noqa: PLC0415

    tokenizer = load_tokenizers(load_run(run_dir), run_dir)[1]
    text = "red fish\n\n\n  blue\tfish \nx\n \ny\n\n"
    (tmp_path / "text").write_text(text, encoding="utf-8")
    assert encode_text(tmp_path / "text", tokenizer).tolist() == tokenizer.encode(text)


def test_it_generates_as_transformers_does(gpt2: Path, run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [f"run_dir={run_dir}", "prompt=the red", "max_new_tokens=12", "decoding=greedy"]
    assert run_command("generate", generate, words) == 0
    printed = capfd.readouterr().out
    model, tokenizer = theirs(gpt2)
    ids = [tokenizer.eos_token_id, *tokenizer("the red")["input_ids"]]
    with torch.inference_mode():
        for _ in range(12):
            logits = model(torch.tensor([ids])).logits[0, -1, : len(tokenizer)]
            logits[tokenizer.eos_token_id] = -torch.inf  # a text is as long as it is asked to be
            ids.append(int(logits.argmax()))
    assert printed == tokenizer.decode(ids[1:]) + "\n"


def test_it_is_finetuned_on_a_text_and_resumes(
    run_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book.txt").write_text(40 * "one fish, two fïshes,\n\tred fish,  blue fish.\n", encoding="utf-8")
    settings = [
        *("data=text", f"data.text={tmp_path}/book.txt", f"data.cache_dir={tmp_path}/cache", "data.block_tokens=16"),
        *("training.batch_tokens=128", "training.warmup_steps=2", "training.learning_rate=1e-2", "device=cpu"),
        *("training.validate_every_steps=5", "training.checkpoint_every_steps=5", "training.precision=fp32"),
        *(f"finetune_from={run_dir}", f"run_dir={tmp_path}/tuned"),
    ]
    for max_steps in (5, 10):
        assert small_runs.train(small_runs.arguments(settings), f"training.max_steps={max_steps}") == 0
    assert not (tmp_path / "tuned/tokenizer.model").exists()
    assert (tmp_path / "tuned/tokenizer.json").read_bytes() == (run_dir / "tokenizer.json").read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "tuned/metrics.jsonl").read_text("utf-8").split("\n") if line]
    found = [line["bits_per_byte"] for line in lines if line["kind"] == "validation"]
    assert found[-1] < found[0] - 0.1
    imported, tuned = (trained_model(path, torch.device("cpu")) for path in (run_dir, tmp_path / "tuned"))
    for name, parameter in imported.named_parameters():  # 10 steps of Adam at a rate of 0.01
        torch.testing.assert_close(tuned.get_parameter(name), parameter, rtol=0, atol=0.15)


def test_an_imported_language_model_is_not_exported(run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command("export", export, [f"run_dir={run_dir}", "format=huggingface"]) == 2
    assert "mt-generate" in capfd.readouterr().err


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert") / "folder")


@pytest.fixture(scope="module")
def bert_run(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("imported") / "run"
    assert imported(bert, run_dir) == 0
    return run_dir


def test_a_bert_computes_what_transformers_computes(bert: Path, bert_run: Path) -> None:
    import transformers  # noqa: PLC0415

    their_model = transformers.BertForMaskedLM.from_pretrained(bert, attn_implementation="eager").eval()
    their_tokenizer = transformers.BertTokenizer.from_pretrained(bert)
    config = load_run(bert_run)
    model, tokenizer = trained_model(bert_run, torch.device("cpu")).eval(), load_tokenizers(config, bert_run)[1]
    assert tokenizer.vocab_size == len(BERT_TOKENS)
    assert tokenizer.subwords([PAD, UNKNOWN, BOS, EOS, tokenizer.mask]) == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    every = [BERT_TOKENS.index(token) for token in tokenizer.subwords(range(tokenizer.vocab_size))]
    for first in [*TEXTS, "a [MASK] [SEP] fish", "Fïsh FISH e\u0301", "漢字\u200b \x00 \ufffd"]:
        for second in (None, "the two fish."):
            ours = [BOS, *tokenizer.encode(first), EOS]
            ours += [] if second is None else [*tokenizer.encode(second), EOS]
            given = their_tokenizer(first, second, split_special_tokens=True)
            assert [every[token] for token in ours] == given["input_ids"]
            if len(ours) > LONGEST:
                continue
            with torch.inference_mode():
                logits = model(torch.tensor([ours]), torch.arange(len(ours))[None])
                expected = their_model(**{name: torch.tensor([row]) for name, row in given.items()}).logits
            torch.testing.assert_close(logits, expected[:, :, every], rtol=0, atol=1e-5)


def test_a_bert_fills_masks_and_is_finetuned(
    bert: Path, bert_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import transformers  # noqa: PLC0415

    capfd.readouterr()
    assert run_command("generate", generate, [f"run_dir={bert_run}", "prompt=the red [MASK].", "num_samples=3"]) == 0
    printed = [line.split() for line in capfd.readouterr().out.strip().split("\n")]
    tokenizer = transformers.BertTokenizer.from_pretrained(bert)
    given = tokenizer("the red [MASK].", return_tensors="pt")
    with torch.inference_mode():
        logits = transformers.BertForMaskedLM.from_pretrained(bert).eval()(**given).logits[0]
    best = logits[given["input_ids"][0] == tokenizer.mask_token_id][0].softmax(-1).topk(3).values.tolist()
    assert [float(probability) for probability, _ in printed] == pytest.approx(best, abs=1e-4)
    (tmp_path / "book.txt").write_text(60 * "the red fish, the two fish.\n", encoding="utf-8")
    settings = [
        *("data=text", "model=bert", f"data.text={tmp_path}/book.txt", f"data.cache_dir={tmp_path}/cache"),
        *("data.block_tokens=16", "training.batch_tokens=128", "training.warmup_steps=2", "training.max_steps=10"),
        *("training.validate_every_steps=5", "training.checkpoint_every_steps=5", "training.learning_rate=1e-2"),
        *("training.precision=fp32", "device=cpu", f"finetune_from={bert_run}", f"run_dir={tmp_path}/tuned"),
    ]
    assert small_runs.train(small_runs.arguments(settings)) == 0
    lines = [json.loads(line) for line in (tmp_path / "tuned/metrics.jsonl").read_text("utf-8").split("\n") if line]
    found = [line["nll"] for line in lines if line["kind"] == "validation"]
    assert found[-1] < found[0]
