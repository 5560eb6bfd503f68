"""A recipe by corpus, speed and time: bounded everywhere, monotone where it should be, and what is given stays."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
from composed import composed

from mt.commands import automatic
from mt.config.schema import TrainConfig
from mt.errors import UserError
from mt.training.recipe import SIZES, CorpusStatistics, Options, Recipe, recipe

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [1000, 5000, 29_000, 157_000, 440_000, 1_000_000, 4_500_000, 10_000_000]
MINUTES = [5, 20, 60, 180, 600, 2880]


def corpus(pairs: int, **changes: Any) -> CorpusStatistics:
    facts = {
        "source_bytes": 60 * pairs,
        "target_bytes": 66 * pairs,
        "shares_script": True,
        "many_characters": False,
        "characters": 0,
    }
    held_out = {"validation_bytes": 66_000, "validation_pairs": 1000}
    return CorpusStatistics(**{"pairs": pairs, **held_out, **facts, **changes})


def two_cores(options: Options, vocab_size: int) -> float:
    layer = 12 * options["model.d_model"] ** 2 + 4 * options["model.d_model"] * options["model.d_ff"]
    return 1 / (70e-6 + 7.5e-12 * (options["model.num_layers"] * layer + vocab_size * options["model.d_model"]))


def made(pairs: int, minutes: float, *, faster: float = 1.0, given: Options | None = None) -> Recipe:
    return recipe(corpus(pairs), lambda *size: faster * two_cores(*size), 60 * minutes, given or {})


def rank(options: Options) -> int:
    return next(number for number, size in enumerate(SIZES) if size.options().items() <= options.items())


@pytest.mark.parametrize("faster", [0.1, 1.0, 100.0])
def test_every_choice_is_bounded(faster: float) -> None:
    for pairs in PAIRS:
        for minutes in MINUTES:
            options = made(pairs, minutes, faster=faster).options
            steps = options["training.max_steps"]
            assert 1024 <= options["tokenizer.vocab_size"] <= 36_992
            assert options["tokenizer.vocab_size"] % 128 == 0
            assert options["model.d_model"] % options["model.num_heads"] == 0
            assert 0.0 <= options["model.dropout"] <= 0.3
            assert 1024 <= options["training.batch_tokens"] <= 25_000
            assert 3e-4 <= options["training.learning_rate"] <= 5e-3
            assert 0 < options["training.warmup_steps"] <= max(1, steps / 5)
            assert 0 < options["training.checkpoint_every_steps"] <= steps / 10
            assert 0 < options["training.validate_every_steps"] <= steps / 3


def test_more_text_or_time_makes_nothing_smaller() -> None:
    grows = ("tokenizer.vocab_size", "training.batch_tokens")
    for minutes in MINUTES:
        for less, more in pairwise(made(pairs, minutes).options for pairs in PAIRS):
            assert rank(less) <= rank(more)
            assert less["model.dropout"] >= more["model.dropout"]
            assert less["tokenizer.vocab_size"] <= more["tokenizer.vocab_size"]
    for pairs in PAIRS:
        for less, more in pairwise(made(pairs, minutes).options for minutes in MINUTES):
            assert rank(less) <= rank(more)
            if rank(less) == rank(more):
                assert less["model.dropout"] <= more["model.dropout"]
                assert all(less[name] <= more[name] for name in grows)


def test_a_corpus_that_is_known_gets_its_recipe() -> None:
    """Multi30k in an hour of two cores: close to the recipe that was tried by hand."""
    options = made(29_000, 60).options
    assert [options[f"model.{name}"] for name in ("num_layers", "d_model", "d_ff", "num_heads", "dropout")] == [
        *(4, 128, 256, 4, 0.3)
    ]
    assert options["training.batch_tokens"] == 4096
    assert options["training.learning_rate"] == 5e-3
    assert options["training.consistency"] == "none"
    assert options["training.warmup_steps"] / options["training.max_steps"] == pytest.approx(0.2, abs=1e-3)


def test_two_passes_are_for_those_who_ask_for_them() -> None:
    single, double = made(5000, 60).options, made(5000, 60, given={"training.consistency": "simcut"}).options
    assert (single["training.consistency"], single["tokenizer.bpe_dropout"]) == ("none", 0.0)
    assert double["training.consistency_weight"] == 3.0
    as_tokens = [one["training.max_steps"] * one["training.batch_tokens"] for one in (single, double)]
    assert as_tokens[1] == pytest.approx(as_tokens[0] / 2, rel=0.01)


def test_few_passes_over_the_text_need_muon_and_no_dropout() -> None:
    chosen = [made(pairs, 60).options for pairs in (440_000, 5000)]
    assert [(one["training.optimizer"], one["model.dropout"]) for one in chosen] == [("muon", 0.0), ("adam", 0.3)]


def test_rdrop_keeps_some_dropout_and_a_large_micro_batch_its_batch() -> None:
    few = {"training.consistency": "rdrop", "training.micro_batch_tokens": 2048}
    options = made(440_000, 20, given=few).options
    assert options["model.dropout"] == 0.1
    assert options["training.batch_tokens"] >= 2048


def test_what_is_given_stays_and_decides_the_rest() -> None:
    given = {"model.d_model": 512, "training.batch_tokens": 1000, "model.dropout": 0.0, "training.max_steps": 300}
    chosen = made(29_000, 60, given=given)
    assert {key: chosen.options[key] for key in given} == given
    assert not [line for line in chosen.reasons for key in given if f"{key}=" in line.split(": ")[0]]
    assert chosen.options["training.micro_batch_tokens"] == 1000
    assert chosen.options["training.learning_rate"] == pytest.approx(8.2e-4 * (1000 / 4096) ** 0.5, rel=0.02)
    assert chosen.options["training.warmup_steps"] == 60


def test_a_large_validation_split_is_looked_at_seldom() -> None:
    intervals = [
        recipe(corpus(29_000, validation_bytes=size), two_cores, 1200, {}).options for size in (1, 66_000, 10**6)
    ]
    number = [round(one["training.max_steps"] / one["training.validate_every_steps"]) for one in intervals]
    assert number == [7, 7, 3]


@pytest.mark.parametrize(
    ("validation_bytes", "minutes", "joined"),
    [(66_000, 2, 0.0), (78_000, 2, 0.0), (99_000, 2, 0.5), (660_000, 2, 0.8), (76_000, 600, 0.3), (85_000, 600, 0.3)],
)
def test_pairs_are_joined_until_they_are_as_long_as_those_of_validation(
    validation_bytes: int, minutes: float, joined: float
) -> None:
    facts = corpus(29_000, validation_bytes=validation_bytes)
    chosen = recipe(facts, two_cores, 60 * minutes, {})
    assert chosen.options["data.augmentation.joined"] == joined
    reason = next(line for line in chosen.reasons if line.startswith("data.augmentation.joined="))
    assert ("times as long" in reason) == (validation_bytes > 1.2 * 66_000)


def test_without_validation_nothing_is_known_of_lengths() -> None:
    facts = corpus(29_000, validation_bytes=1, validation_pairs=0)
    assert recipe(facts, two_cores, 120, {}).options["data.augmentation.joined"] == 0.0


def test_scripts_decide_the_vocabulary() -> None:
    facts = corpus(9000, shares_script=False, many_characters=True, characters=3000)
    options = recipe(facts, two_cores, 600, {}).options
    assert 3260 < options["tokenizer.vocab_size"] == 4736
    assert options["tokenizer.shared_vocab"] is False
    assert options["tokenizer.character_coverage"] == 0.9995


def test_the_experiment_leaves_open_what_a_recipe_chooses() -> None:
    with hydra.initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        left = hydra.compose("train", ["experiment=auto"])["automatic"]
    chosen = made(29_000, 60)
    assert set(left) == chosen.options.keys()
    assert {word.split("=")[0] for line in chosen.reasons for word in line.split(": ")[0].split()} == set(left)


@pytest.mark.parametrize(("on_gpu", "batch_tokens"), [(False, 8192), (True, 25_000)])
def test_a_gpu_gets_the_batch_that_it_can_use(on_gpu: bool, batch_tokens: int) -> None:
    """The speed and the time of nine minutes of half an H200 on KFTT, which the paper's base used best."""
    facts = corpus(423_874, source_bytes=48_000_000, target_bytes=57_500_000, shares_script=False)
    options = recipe(facts, lambda *_: 310_000, 0.93 * 535 - 12, {}, on_gpu=on_gpu).options
    assert options["training.batch_tokens"] == batch_tokens
    assert (options["model.d_model"], options["model.num_layers"]) == (512, 6)
    assert (options["training.optimizer"], options["model.dropout"]) == ("muon", 0.2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("room", "measured"), [(10**6, [25_000]), (7000, [25_000, 12_500, 6250]), (0, None)])
def test_a_trial_on_a_gpu_takes_the_batch_of_the_recipe_or_what_fits(
    monkeypatch: pytest.MonkeyPatch, room: int, measured: list[int] | None
) -> None:
    """A small batch would show how fast its kernels are started."""
    tried = []

    def speed(_: object, steps: Any, **__: object) -> float:
        [batch] = next(steps).micro_batches
        tried.append(batch.source.numel())
        if batch.source.numel() > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return 7.0

    monkeypatch.setattr(automatic, "target_tokens_per_second", speed)
    config = composed("train", "model=toy", "training=toy", "model.num_layers=1")
    assert isinstance(config, TrainConfig)
    large = corpus(2_000_000)
    assert large.most_batch_tokens(on_gpu=False) == 25_000
    if measured is None:
        with pytest.raises(UserError, match="micro-batches of 2048 tokens"):
            automatic._measured(config, large, torch.device("meta"), 100)
        return
    assert automatic._measured(config, large, torch.device("meta"), 100) == 7.0
    assert tried == pytest.approx(measured, rel=0.05)
