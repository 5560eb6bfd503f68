"""Another engine computes the same from what is exported, and what is not equal is not written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import nn

import mt.export.marian
from mt.api import empty_model, load_tokenizers, model_and_translator, trained_model, translator_of_run
from mt.commands import export as export_command
from mt.commands import import_model as import_command
from mt.commands.entry_point import run as run_command
from mt.commands.preparation import prepare
from mt.config.schema import ExportConfig
from mt.errors import UserError
from mt.export.huggingface import HuggingFaceEngine
from mt.model.inspection import unknown_part
from mt.model.residual import PreNorm
from mt.model.transformer import Transformer
from mt.runs.checkpoint import model_tensors
from mt.runs.delivery import model_file
from mt.runs.folder import load_run, run_identity
from small_runs import arguments, train, train_config, write_corpus

TYPED = [
    "a </s> b",
    "<pad> <unk> <s>",
    "</s>",
    "▁",
    "漢字 😀 ß",
    "tab\there",
    "ﬁ ½ Ａ",
    "<0x41>",
    ">> a",
    "x  y ",
    "\u200b",
]


def folder_of(corpus: list[str]) -> Path:
    return Path(next(word for word in corpus if word.startswith("data.cache_dir=")).partition("=")[2]).parent


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def make_run(tmp_path: Path, corpus: list[str]) -> Callable[..., Path]:
    """A run folder with random parameters, all of them far from their beginnings."""

    def make(*changes: str) -> Path:
        run_dir = tmp_path / "run"
        long = ["decoding.max_source_tokens=60", "decoding.max_output_tokens=null", "decoding.max_extra_tokens=3"]
        config = train_config(corpus, f"run_dir={run_dir}", *long, *changes)
        run_dir.mkdir()
        prepared = prepare(config, run_dir)
        lines = [*TYPED, *prepared.path("validation", "source").read_text(encoding="utf-8").split("\n")]
        (run_dir / "data/validation.source").write_text("\n".join(lines), encoding="utf-8")
        model = randomised(empty_model(config, load_tokenizers(config, run_dir), torch.device("cpu")))
        content = model_file(model_tensors(model), averaged_steps=[1], run=run_identity(run_dir))
        (run_dir / "model.safetensors").write_bytes(content)
        return run_dir

    return make


def randomised(model: Any) -> Any:
    torch.manual_seed(3)
    for parameter in model.parameters():
        nn.init.normal_(parameter, mean=float(parameter.ndim == 1) / 2, std=0.4)
    return model


def export(run_dir: Path, output: Path, **changes: Any) -> None:
    values = {"format": "huggingface", "quantization": "float32", "sentences": None}
    export_command.export(ExportConfig(run_dir=str(run_dir), output=str(output), **{**values, **changes}))


LANGUAGES = ["data.source_language=en", "data.target_language=de"]
DEEP_AND_SHALLOW = ["model.num_encoder_layers=3", "model.num_decoder_layers=2"]
TARGET_TIED = ["model.tied_embeddings=target"]
IMPORTED = ["model.activation=swish", "model.output_bias=true"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="own"),
        pytest.param(["tokenizer.shared_vocab=false"], id="two sides"),
        pytest.param(IMPORTED, id="as imported", marks=pytest.mark.long),
        pytest.param(DEEP_AND_SHALLOW, id="deep and shallow", marks=pytest.mark.long),
        pytest.param(TARGET_TIED, id="target tied", marks=pytest.mark.long),
    ],
)
def test_transformers_computes_the_same(
    make_run: Callable[..., Path], tmp_path: Path, changes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = make_run(*changes)
    sentences = run_dir / "data/validation.source"
    export(run_dir, tmp_path / "out")
    error = capsys.readouterr().err
    assert "then comparing what huggingface computes of it" in error
    assert "the same tokens in 100.00% of 25 sentences" in error
    engine = HuggingFaceEngine(tmp_path / "out")
    translator = translator_of_run(run_dir, device="cpu")
    assert engine.encode(TYPED) == translator.source_tokenizer.encode_many(TYPED)
    assert engine.model.generation_config.num_beams == translator.search.beam_size
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "the same tokens in 100.00% of 25 sentences, the same subwords in 100.00% of 25 sentences" in card
    if changes not in (["tokenizer.shared_vocab=false"], TARGET_TIED):  # an import has one embedding for both sides
        words = [f"folder={tmp_path / 'out'}", f"run_dir={tmp_path / 'back'}", f"sentences={sentences}", *LANGUAGES]
        assert run_command("import", import_command.import_model, words) == 0, capsys.readouterr().err
        before, after = (
            safetensors.torch.load_file(path / "model.safetensors") for path in (run_dir, tmp_path / "back")
        )
        for name, tensor in before.items():
            assert torch.equal(after[name], tensor), name


def test_transformers_stops_at_the_same_length(make_run: Callable[..., Path], tmp_path: Path) -> None:
    """By the folder's own configuration, of a model that does not stop by itself."""
    export(make_run("decoding.max_output_tokens=5", "decoding.beam_size=1"), tmp_path / "out")
    engine = HuggingFaceEngine(tmp_path / "out")
    for source in filter(None, engine.encode(TYPED)):
        [row] = engine.model.generate(torch.tensor([[*source, engine.eos]])).tolist()
        assert len(row) == 1 + 5 + 1
        assert (row[0], row[-1]) == (engine.start, engine.eos)


@pytest.mark.parametrize("changes", [IMPORTED, [*DEEP_AND_SHALLOW, *TARGET_TIED]], ids=["as imported", "variant"])
def test_ctranslate2_computes_the_same(make_run: Callable[..., Path], tmp_path: Path, changes: list[str]) -> None:
    export(make_run(*changes), tmp_path / "out", format="ctranslate2")
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "the same tokens in 100.00% of 25 sentences" in card
    settings = json.loads((tmp_path / "out/translate_batch.json").read_bytes())
    assert settings["suppress_sequences"] == [["<pad>"], ["<s>"]]


def test_small_types_are_proved_in_float32_and_counted(make_run: Callable[..., Path], tmp_path: Path) -> None:
    export(make_run("tokenizer.shared_vocab=false"), tmp_path / "out", format="ctranslate2", quantization="int8")
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "the same tokens in 100.00% of 25 sentences" in card
    assert "; in int8 the same tokens in " in card
    assert (tmp_path / "out/source_vocabulary.json").is_file()


@pytest.mark.parametrize("engine", ["huggingface", "ctranslate2"])
def test_what_is_not_equal_is_not_written(
    make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    run_dir = make_run()
    monkeypatch.setattr(mt.export.marian, "sines_then_cosines", torch.arange)
    table = torch.zeros if engine == "ctranslate2" else mt.export.ctranslate2.positional_encoding
    monkeypatch.setattr(mt.export.ctranslate2, "positional_encoding", table)
    with pytest.raises(UserError, match=r"not equal to the model: its logits differ by up to .*; nothing was written"):
        export(run_dir, tmp_path / "out", format=engine)
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def pre_norm(model: Transformer) -> None:
    model.decoder.layers[1].feed_forward_residual = PreNorm(norm=nn.LayerNorm(16), dropout=nn.Dropout(0.0))


def other_positions(model: Transformer) -> None:
    model.positions = nn.Identity()


def other_activation(model: Transformer) -> None:
    model.encoder.layers[0].feed_forward.activation = "gelu"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (pre_norm, "decoder.layers.1.feed_forward_residual is PreNorm: only post-norm"),
        (other_positions, "positions is Identity: only .* sinusoidal"),
        (other_activation, "encoder.layers.0.feed_forward.activation is gelu: only .* relu or swish"),
    ],
)
def test_a_model_that_the_engine_cannot_represent_is_refused_by_name(
    make_run: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Transformer], None],
    named: str,
) -> None:
    model, translator = model_and_translator(make_run("model.num_layers=2"))
    assert unknown_part(model) is None
    change(model)
    monkeypatch.setattr(export_command, "model_and_translator", lambda _: (model, translator))
    with pytest.raises(UserError, match=named):
        export(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_left_alone(make_run: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists already"):
        export(make_run(), tmp_path / "run")


# ---------------------------------------------------------------------------- import


def train_unigram(text: Path, model: Path) -> list[str]:
    """The subwords of a unigram model for one side, as OPUS-MT has them."""
    import sentencepiece  # noqa: PLC0415  only to write what others wrote

    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(model.with_suffix("")), vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    model.with_suffix(".model").rename(model)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


@pytest.fixture
def opus(tmp_path: Path, corpus: list[str]) -> Callable[..., Path]:
    """A folder in OPUS-MT's layout that transformers wrote; two subwords of the models are not in its vocabulary."""
    import transformers  # noqa: PLC0415  the writer

    def make(activation: str) -> Path:
        folder = tmp_path / "opus"
        folder.mkdir()
        sides = [
            train_unigram(folder_of(corpus) / f"train.{end}", folder / f"{side}.spm")
            for side, end in (("source", "en"), ("target", "de"))
        ]
        union = sorted({*sides[0], *sides[1]})[:-2]
        tokens = ["</s>", "<unk>", *union, "<pad>"]
        (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}), encoding="utf-8")
        pad = len(tokens) - 1
        config = transformers.MarianConfig(
            vocab_size=len(tokens), d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=128,
            activation_function=activation, scale_embedding=True, pad_token_id=pad, decoder_start_token_id=pad,
            eos_token_id=0, forced_eos_token_id=0,
        )  # fmt: skip
        model = randomised(transformers.MarianMTModel(config))
        with torch.no_grad():
            model.model.shared.weight[pad] = 0
        model.final_logits_bias = torch.randn(1, len(tokens))
        model.generation_config.update(num_beams=6, bad_words_ids=[[pad]], length_penalty=1.0)
        model.save_pretrained(folder)
        return folder

    return make


@pytest.mark.parametrize("activation", ["swish", pytest.param("relu", marks=pytest.mark.long)])
def test_what_transformers_wrote_is_imported_exported_and_finetuned(
    opus: Callable[..., Path], tmp_path: Path, corpus: list[str], activation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, run_dir = opus(activation), tmp_path / "imported"
    lines = folder_of(corpus) / "test.en"
    words = [f"folder={folder}", f"run_dir={run_dir}", f"sentences={lines}", *LANGUAGES]
    assert run_command("import", import_command.import_model, words) == 0, capsys.readouterr().err
    assert "the same tokens in 100.00% of 8 sentences" in capsys.readouterr().err
    decoding = load_run(run_dir).decoding
    assert (decoding.beam_size, decoding.length_penalty, decoding.length_penalty_form) == (6, 1.0, "power")

    export(run_dir, tmp_path / "again", sentences=str(lines))
    before, after = (safetensors.torch.load_file(path / "model.safetensors") for path in (folder, tmp_path / "again"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert json.loads((folder / "vocab.json").read_bytes()) == json.loads((tmp_path / "again/vocab.json").read_bytes())

    if activation == "swish":
        small = ["training.max_steps=2", "training.learning_rate_factor=1e-12", "training.checkpoint_every_steps=1"]
        sized = [word for word in corpus if not word.startswith(("model.", "tokenizer."))]
        assert train(sized, f"run_dir={tmp_path / 'tuned'}", f"finetune_from={run_dir}", *small) == 0
        imported, tuned = (trained_model(path, torch.device("cpu")) for path in (run_dir, tmp_path / "tuned"))
        for name, parameter in imported.named_parameters():
            torch.testing.assert_close(tuned.get_parameter(name), parameter, rtol=0, atol=1e-6)


def test_tied_weights_that_differ_are_refused_by_the_proof(opus: Callable[..., Path], tmp_path: Path) -> None:
    folder = opus("relu")
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.shared.weight"] + 1
    safetensors.torch.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    words = [f"folder={folder}", f"run_dir={tmp_path / 'imported'}", *LANGUAGES]
    assert run_command("import", import_command.import_model, words) == 2
    assert not (tmp_path / "imported").exists()


def test_a_training_on_no_data_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [f"run_dir={tmp_path / 'run'}", "data=none", *LANGUAGES]
    assert train(arguments(words)) == 2
    assert "give data=files" in capsys.readouterr().err
