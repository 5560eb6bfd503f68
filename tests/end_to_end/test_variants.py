"""A run of a model that is not the paper's, by its commands: what serves it, and what refuses it by name."""

from pathlib import Path

import pytest

import small_runs
from mt import build
from mt.commands.attention import attention
from mt.commands.entry_point import run
from mt.commands.export import export
from mt.commands.translate import translate

VARIANTS = {
    "all at once": [
        "model.positions=rotary",
        "model.norm=pre",
        "model.norm_kind=rms",
        "model.activation=swiglu",
        "model.tied_embeddings=none",
        "model.num_encoder_layers=2",
        "model.d_k=6",
        "model.d_v=10",
    ],
    "learned positions, packed": [
        "model.positions=learned",
        "model.max_positions=80",
        "model.score=additive",
        "training.packing=true",
        "training.pack_length=100",
        "decoding.max_source_tokens=60",
    ],
    "decoder only": ["model.family=decoder", "training.packing=true", "training.pack_length=100"],
}
UNKNOWN = {
    "all at once": "output_embedding is not tied to target_embedding",
    "learned positions, packed": "positions is LearnedPositions",
    "decoder only": "the model is DecoderOnly",
}


@pytest.mark.parametrize("variant", ["all at once", pytest.param("learned positions, packed", marks=pytest.mark.long)])
def test_a_variant_trains_and_translates_and_is_not_exported(
    variant: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_dir = f"run_dir={tmp_path}/run"
    corpus = [*small_runs.write_corpus(tmp_path / "corpus"), run_dir]
    assert small_runs.train(corpus, *VARIANTS[variant], "training.max_steps=8") == 0
    build._report_once.cache_clear()
    capfd.readouterr()
    short = ["source=house tree.", "decoding.max_source_tokens=20"]
    aligned = [] if variant == "decoder only" else ["alignments=true"]
    assert run("translate", translate, [run_dir, *short, *aligned]) == 0
    line = f"decoding without the fast engine, which does not support the model: {UNKNOWN[variant]}"
    assert capfd.readouterr().err.count(line) == 1
    picture = [run_dir, *short, f"output={tmp_path}/attention.png"]
    if variant == "decoder only":
        for command, job, words in (
            ("attention", attention, picture),
            ("translate", translate, [run_dir, *short, "alignments=true"]),
        ):
            assert run(command, job, words) == 2
            assert "model.family=decoder has no attention over an encoder" in capfd.readouterr().err
    else:
        assert run("attention", attention, picture) == 0
        assert (tmp_path / "attention.png").stat().st_size
        assert '"source": "house tree."' in (tmp_path / "attention.html").read_text(encoding="utf-8")
    capfd.readouterr()
    assert run("export", export, [run_dir, "format=huggingface"]) == 2
    assert f"the model cannot be exported: {UNKNOWN[variant]}" in capfd.readouterr().err
