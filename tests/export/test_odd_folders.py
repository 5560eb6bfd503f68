"""Odd and hostile folders: one line says what is wrong, no traceback, little memory (RELIABILITY row 19)."""

import json
import os
import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from pretrained_folders import BERT_TOKENS, write_bert, write_gpt2

from mt.commands.entry_point import exit_code
from mt.commands.entry_point import run as run_command
from mt.commands.import_model import import_model
from mt.config.schema import ImportConfig
from mt.errors import UserError
from mt.export.marian import layer_shapes
from mt.export.marian_folder import read_marian_folder
from mt.export.pretrained_folder import LAYOUTS, read_pretrained_folder
from small_runs import WORDS

Change = Callable[[Path], object]
TOKENS = {"</s>": 0, "<unk>": 1, **{f"▁{word}": i for i, word in enumerate(WORDS, start=2)}, "<pad>": 14}
SIZES = {"num_layers": (1, 1), "d_model": 4, "d_ff": 6}
CONFIG = {
    "model_type": "marian", "scale_embedding": True, "activation_function": "relu", "d_model": 4, "vocab_size": 15,
    "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 6, "decoder_ffn_dim": 6, "pad_token_id": 14, "decoder_start_token_id": 14, "eos_token_id": 0,
    "max_position_embeddings": 64, "num_beams": 2, "bad_words_ids": [[14]],
}  # fmt: skip
LANGUAGES = ["data.source_language=en", "data.target_language=de"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that can be imported."""
    import sentencepiece  # noqa: PLC0415  only to write what others wrote

    folder = tmp_path_factory.mktemp("sound")
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (folder / "vocab.json").write_text(json.dumps(TOKENS), encoding="utf-8")
    (folder / "text").write_text("\n".join(WORDS * 5), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "source"), vocab_size=40, hard_vocab_limit=False,
        model_type="bpe", minloglevel=2,
    )  # fmt: skip
    (folder / "source.model").rename(folder / "source.spm")
    shutil.copy(folder / "source.spm", folder / "target.spm")
    torch.manual_seed(2)
    shapes = {"model.shared.weight": (15, 4), "final_logits_bias": (1, 15), **layer_shapes(**SIZES)}
    weights = {name: torch.randn(shape) for name, shape in shapes.items()}
    weights["model.shared.weight"][14] = 0
    safetensors.torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> ImportConfig:
    configs: list[ImportConfig] = []
    folder = tmp_path_factory.mktemp("imported")
    (folder / "text").write_text("tree house\nriver bread stone\n", encoding="utf-8")
    words = [f"folder={folder}", f"run_dir={folder / 'run'}", f"sentences={folder / 'text'}", *LANGUAGES]
    assert run_command("import", configs.append, words) == 0
    return configs[0]


def imported(config: ImportConfig, folder: Path, run_dir: Path) -> int:
    return exit_code(lambda: import_model(replace(config, folder=str(folder), run_dir=str(run_dir))))


def content(name: str, text: str | bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def keys(name: str = "config.json", **values: Any) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        old = json.loads(path.read_bytes()) if path.exists() else {}
        path.write_text(json.dumps({key: value for key, value in {**old, **values}.items() if value != "GONE"}))

    return change


def weights(**values: Any) -> Change:
    def change(folder: Path) -> None:
        tensors = safetensors.torch.load((folder / "model.safetensors").read_bytes())
        tensors |= {name.replace("__", "."): tensor for name, tensor in values.items()}
        safetensors.torch.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return change


def header(text: bytes, length: int | None = None, size: int | None = None) -> Change:
    def change(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes((length or len(text)).to_bytes(8, "little") + text)
        if size is not None:
            os.truncate(folder / "model.safetensors", size)

    return change


def replaced(name: str, make: Callable[[Path], object]) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def vocabulary(tokens: dict[str, Any]) -> Change:
    return content("vocab.json", json.dumps(tokens))


def sparse(name: str) -> Change:
    return lambda folder: os.truncate(folder / name, 40 << 30)


NAN, INF = float("nan"), float("inf")
GIANT = json.dumps({"x": {"dtype": "F32", "shape": [10 << 30], "data_offsets": [0, 40 << 30]}}).encode()
VALUES: dict[str, list[Any]] = {
    "d_model": ["GONE", "4", [4], NAN, -4, 0, 5, 10**30, True, {}],
    "encoder_layers": [10**9],
    "encoder_ffn_dim": [0],
    "vocab_size": [10**12, None],
    "decoder_vocab_size": [10**12],
    "pad_token_id": [10**9],
    "eos_token_id": [[0]],
    "decoder_start_token_id": [-1],
    "dropout": ["much", [0.1], {}, NAN, None, 7],
    "activation_function": [["relu"], {}],
    "num_beams": ["four", [4], 10**12, -3, INF, {}],
    "length_penalty": ["x", [[1]], NAN, INF, -2],
    "bad_words_ids": [3, [3], ["a"], [[[1]]], {"a": 1}],
    "suppress_tokens": [5, [[1], {}]],
    "max_position_embeddings": [0, 10**12, 1.5],
    "model_type": [["marian"]],
    "normalize_before": [[[]]],
    "quantization_config": [{"quant_method": "x"}],
    "num_return_sequences": [7],
    "repetition_penalty": ["x"],
}
FILES = ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"]


def renamed(token: str) -> Change:
    return vocabulary({token if key == "▁house" else key: value for key, value in TOKENS.items()})


ODD: dict[str, Change] = {
    **{f"no {name}": lambda folder, name=name: (folder / name).unlink() for name in FILES},  # type: ignore[misc]
    **{f"{key} {value!r}"[:50]: keys(**{key: value}) for key, values in VALUES.items() for value in values},
    "two sizes of heads": keys(encoder_attention_heads=3, decoder_attention_heads=3),
    "a thousand layers": keys(encoder_layers=1000, decoder_layers=1000),
    "a giant model": keys(d_model=100_000, encoder_ffn_dim=10**6, decoder_ffn_dim=10**6),
    "config.json empty": content("config.json", ""),
    "config.json list": content("config.json", "[]"),
    "config.json number": content("config.json", "7"),
    "config.json cut": content("config.json", json.dumps(CONFIG)[:40]),
    "config.json Latin-1": content("config.json", b'{"model_type": "\xe9"}'),
    "config.json deep": content("config.json", "[" * 500_000),
    "config.json deep table": content("config.json", '{"a":' * 200_000),
    "config.json digits": content("config.json", '{"d_model": ' + "9" * 5000 + "}"),
    "config.json surrogate": keys(model_type="\ud800"),
    "config.json folder": replaced("config.json", Path.mkdir),
    "config.json pipe": replaced("config.json", os.mkfifo),
    "config.json broken link": replaced("config.json", lambda path: path.symlink_to("gone")),
    "config.json loop": replaced("config.json", lambda path: path.symlink_to(path)),
    "config.json device": replaced("config.json", lambda path: path.symlink_to("/dev/zero")),
    "config.json sparse": sparse("config.json"),
    "generation_config.json list": content("generation_config.json", "[1]"),
    "generation_config.json types": keys("generation_config.json", num_beams={}, bad_words_ids=7),
    "generation_config.json pipe": lambda folder: os.mkfifo(folder / "generation_config.json"),
    "tokenizer_config.json damaged": content("tokenizer_config.json", "{"),
    "tokenizer_config.json list": content("tokenizer_config.json", "[]"),
    "tokenizer_config.json pipe": lambda folder: os.mkfifo(folder / "tokenizer_config.json"),
    "vocab.json list": content("vocab.json", json.dumps(list(TOKENS))),
    "vocab.json sparse": sparse("vocab.json"),
    "vocab.json pipe": replaced("vocab.json", os.mkfifo),
    "vocab.json not UTF-8": content("vocab.json", b'{"\xff": 0}'),
    "vocabulary two of one id": vocabulary({**TOKENS, "▁house": 3}),
    "vocabulary texts": vocabulary({key: str(value) for key, value in TOKENS.items()}),
    "vocabulary nested": vocabulary({**TOKENS, "▁house": [2]}),
    "vocabulary negative": vocabulary({**TOKENS, "▁house": -1}),
    "vocabulary true": vocabulary({**TOKENS, "<unk>": True}),
    "vocabulary fractions": vocabulary({**TOKENS, "▁house": 2.0}),
    "vocabulary no specials": vocabulary({f"w{i}": i for i in range(15)}),
    "vocabulary one token twice": content("vocab.json", json.dumps(TOKENS).replace("tree", "house")),
    "vocabulary empty token": renamed(""),
    "vocabulary surrogate": renamed("\ud800"),
    "source.spm empty": content("source.spm", ""),
    "source.spm text": content("source.spm", "text"),
    "source.spm sparse": sparse("source.spm"),
    "target.spm pipe": replaced("target.spm", os.mkfifo),
    "target.spm folder": replaced("target.spm", Path.mkdir),
    "target.spm cut": lambda folder: os.truncate(folder / "target.spm", 500),
    "weights empty": content("model.safetensors", ""),
    "weights text": content("model.safetensors", "no weights at all"),
    "weights sparse": sparse("model.safetensors"),
    "weights giant": header(GIANT, size=8 + len(GIANT) + (40 << 30)),
    "weights header giant": header(b"{}", length=90_000_000, size=100_000_000),
    "weights header list": header(b"[]"),
    "weights header deep": header(b"[" * 90_000),
    "weights header not UTF-8": header(b'{"\xff": 1}'),
    "weights cut": lambda folder: os.truncate(folder / "model.safetensors", 2000),
    "weights pipe": replaced("model.safetensors", os.mkfifo),
    "weights device": replaced("model.safetensors", lambda path: path.symlink_to("/dev/zero")),
    "weights folder": replaced("model.safetensors", Path.mkdir),
    "weights none": content("model.safetensors", safetensors.torch.save({})),
    "weights of another shape": weights(model__decoder__layers__0__fc2__weight=torch.zeros(3)),
    "weights swapped": weights(model__encoder__layers__0__fc1__weight=torch.zeros(4, 6)),
    "bias of another shape": weights(final_logits_bias=torch.zeros(7)),
    "bias without shape": weights(final_logits_bias=torch.zeros(())),
    "copy of another shape": weights(lm_head__weight=torch.zeros(2)),
    "positions of another shape": weights(model__encoder__embed_positions__weight=torch.zeros(2, 2, 2)),
    "embedding of another shape": weights(model__shared__weight=torch.zeros(15)),
    "weights complex": weights(model__shared__weight=torch.zeros(15, 4, dtype=torch.complex64)),
    "weights whole numbers": weights(model__shared__weight=torch.zeros(15, 4, dtype=torch.int64)),
    "weights true": weights(model__shared__weight=torch.zeros(15, 4, dtype=torch.bool)),
    "weights NaN": weights(model__shared__weight=torch.full((15, 4), NAN)),
    "a further tensor": weights(more=torch.zeros(2)),
}  # fmt: skip


def test_a_sound_folder_is_imported(
    sound: Path, config: ImportConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert imported(config, sound, tmp_path / "run") == 0, capfd.readouterr().err


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ODD)
def test_an_odd_folder_is_refused_in_one_line(
    name: str, sound: Path, config: ImportConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused_in_one_line(ODD[name], sound, config, tmp_path, capfd)


def refused_in_one_line(
    change: Change, sound: Path, config: ImportConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(sound, folder)
    change(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = imported(config, folder, tmp_path / "run")
    message = capfd.readouterr().err
    assert code in (2, 4), message
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert len(message) < 1000
    assert str(folder) in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes


REFUSED = [
    ({"model_type": "m2m_100"}, "model_type='m2m_100'"),
    ({"scale_embedding": False}, "model.d_model"),
    ({"activation_function": "gelu"}, "only relu and swish (model.activation)"),
    ({"decoder_attention_heads": 4}, "model.num_heads"),
    ({"decoder_ffn_dim": 16}, "model.d_ff"),
    ({"normalize_before": True}, "the normalisation"),
    ({"share_encoder_decoder_embeddings": False}, "tokenizer.shared_vocab"),
    ({"decoder_start_token_id": 2}, "decoder_start_token_id=2"),
]


@pytest.mark.parametrize(("change", "named"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_represented_is_named(sound: Path, tmp_path: Path, change: dict[str, Any], named: str) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    keys(**change)(tmp_path)
    with pytest.raises(UserError) as refused:
        read_marian_folder(tmp_path)
    assert named in str(refused.value)


def test_a_file_that_could_run_code_is_refused(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"pytorch_model\.bin can run code"):
        read_marian_folder(tmp_path)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gpt2(tmp_path_factory.mktemp("gpt2") / "folder")


GPT2_VALUES: dict[str, list[Any]] = {
    "n_embd": ["GONE", "16", NAN, 0, 10**30],
    "n_layer": [None, 3, 1000, 10**9],
    "n_head": [0, 5, 10**7],
    "n_inner": [[], 17],
    "n_positions": [1, 10**12, 25],
    "vocab_size": [3, 10**6, 10**12],
    "layer_norm_epsilon": [0, "x", NAN],
    "resid_pdrop": [{}, 7],
    "activation_function": [["gelu"], "tanh"],
    "model_type": [["gpt2"], "gpt_neo", {}],
    "add_cross_attention": [True, [[]]],
}
SPECIAL = ("unk", "pad", "cls", "sep", "mask")
ODD_GPT2: dict[str, Change] = {
    **{f"no {name}": lambda folder, name=name: (folder / name).unlink()  # type: ignore[misc]
       for name in ("config.json", "vocab.json", "merges.txt", "model.safetensors")},
    **{f"{key} {value!r}"[:50]: keys(**{key: value}) for key, values in GPT2_VALUES.items() for value in values},
    "a giant model": keys(n_embd=100_000, n_inner=10**6, n_layer=20),
    "vocab.json list": content("vocab.json", "[1]"),
    "vocab.json empty": content("vocab.json", "{}"),
    "vocab.json deep": content("vocab.json", "[" * 500_000),
    "vocab.json sparse": sparse("vocab.json"),
    "vocab.json pipe": replaced("vocab.json", os.mkfifo),
    "vocab.json device": replaced("vocab.json", lambda path: path.symlink_to("/dev/zero")),
    "vocab.json broken link": replaced("vocab.json", lambda path: path.symlink_to("gone")),
    "vocab.json texts": keys("vocab.json", a="1"),
    "vocab.json negative": keys("vocab.json", a=-1),
    "vocab.json two of one id": keys("vocab.json", a=5, b=5),
    "vocab.json beyond": keys("vocab.json", new=10**6),
    "vocab.json giant id": keys("vocab.json", new=10**12),
    "vocab.json a name of ours": keys("vocab.json", **{"(unused 0)": 300}),
    "vocab.json surrogate": keys("vocab.json", **{"\ud800": 300}),
    "vocab.json no end": keys("vocab.json", **{"<|endoftext|>": "GONE"}),
    "merges.txt of another": content("merges.txt", "#version: 0.2\nxq zq\n"),
    "merges.txt three words": content("merges.txt", "a b c\n"),
    "merges.txt not UTF-8": content("merges.txt", b"\xff \xfe\n"),
    "merges.txt folder": replaced("merges.txt", Path.mkdir),
    "tokenizer.json damaged": content("tokenizer.json", "{"),
    "tokenizer.json list": content("tokenizer.json", "[]"),
    "tokenizer.json of another": content("tokenizer.json", '{"model": {"type": "Unigram", "vocab": [["a", 0.5]]}}'),
    "tokenizer_config.json list": content("tokenizer_config.json", "[]"),
    "more tokens than rows": content("tokenizer_config.json", json.dumps({f"{one}_token": one for one in SPECIAL})),
    "tokenizer_config.json types": content("tokenizer_config.json", '{"eos_token": 7, "added_tokens_decoder": [1]}'),
    "no token to begin with": content("tokenizer_config.json", '{"bos_token": null}'),
    "weights empty": content("model.safetensors", ""),
    "weights sparse": sparse("model.safetensors"),
    "weights giant": header(GIANT, size=8 + len(GIANT) + (40 << 30)),
    "weights cut": lambda folder: os.truncate(folder / "model.safetensors", 2000),
    "weights pipe": replaced("model.safetensors", os.mkfifo),
    "weights of another shape": weights(transformer__wpe__weight=torch.zeros(3)),
    "weights not transposed": weights(transformer__h__0__mlp__c_fc__weight=torch.zeros(64, 16)),
    "weights whole numbers": weights(transformer__ln_f__bias=torch.zeros(16, dtype=torch.int64)),
    "weights NaN": weights(transformer__wte__weight=torch.full((304, 16), NAN)),
    "one tensor by two names": weights(wpe__weight=torch.zeros(24, 16)),
    "tied weights that differ": weights(lm_head__weight=torch.zeros(304, 16)),
    "a further tensor": weights(more=torch.zeros(2)),
    "a further layer": weights(transformer__h__7__ln_1__bias=torch.zeros(16)),
}  # fmt: skip


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ODD_GPT2)
def test_an_odd_folder_of_gpt2_is_refused_in_one_line(
    name: str, gpt2: Path, config: ImportConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused_in_one_line(ODD_GPT2[name], gpt2, config, tmp_path, capfd)


REFUSED_GPT2 = [
    ({"add_cross_attention": True}, "add_cross_attention=True cannot be imported"),
    ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True cannot be imported"),
    ({"scale_attn_weights": False}, "model.score"),
    ({"tie_word_embeddings": False}, "model.tied_embeddings"),
    ({"activation_function": "tanh"}, "model.activation"),
]


@pytest.mark.parametrize(("change", "named"), REFUSED_GPT2, ids=lambda value: str(value)[:40])
def test_what_cannot_be_represented_of_gpt2_is_named(
    gpt2: Path, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    shutil.copytree(gpt2, tmp_path, dirs_exist_ok=True)
    keys(**change)(tmp_path)
    with pytest.raises(UserError) as refused:
        read_pretrained_folder(tmp_path, LAYOUTS["gpt2"])
    assert named in str(refused.value)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert") / "folder")


BERT_VALUES: dict[str, list[Any]] = {
    "hidden_size": ["GONE", 0, 10**30],
    "num_hidden_layers": [3, 1000],
    "num_attention_heads": [5],
    "max_position_embeddings": [3, 25],
    "vocab_size": [10**6],
    "layer_norm_eps": [0],
    "hidden_act": ["gelu_new", [[]]],
    "type_vocab_size": [1, 3],
    "is_decoder": [True],
    "position_embedding_type": ["relative_key"],
}
ODD_BERT: dict[str, Change] = {
    **{f"no {name}": lambda folder, name=name: (folder / name).unlink()  # type: ignore[misc]
       for name in ("vocab.txt", "model.safetensors")},
    **{f"{key} {value!r}"[:50]: keys(**{key: value}) for key, values in BERT_VALUES.items() for value in values},
    "vocab.txt empty": content("vocab.txt", ""),
    "vocab.txt not UTF-8": content("vocab.txt", b"\xff\n"),
    "vocab.txt long": content("vocab.txt", "\n".join([*BERT_TOKENS, "more"])),
    "vocab.txt sparse": sparse("vocab.txt"),
    "vocab.txt pipe": replaced("vocab.txt", os.mkfifo),
    "no mask": content("vocab.txt", "\n".join(BERT_TOKENS).replace("[MASK]", "[mask]")),
    "another mask": content("tokenizer_config.json", '{"mask_token": "fish"}'),
    "no token to begin with": content("tokenizer_config.json", '{"cls_token": null}'),
    "weights cut": lambda folder: os.truncate(folder / "model.safetensors", 2000),
    "weights of another shape": weights(cls__predictions__bias=torch.zeros(3)),
    "a further layer": weights(bert__encoder__layer__2__output__dense__bias=torch.zeros(16)),
}  # fmt: skip


@pytest.mark.reliability(19)
@pytest.mark.parametrize("name", ODD_BERT)
def test_an_odd_folder_of_bert_is_refused_in_one_line(
    name: str, bert: Path, config: ImportConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused_in_one_line(ODD_BERT[name], bert, config, tmp_path, capfd)
