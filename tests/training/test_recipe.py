"""The paper's recipes as they are composed: every number line by line, then built and stepped."""

import logging
import math
from functools import reduce
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from composed import FILES, composed

from mt import build
from mt.api import empty_model, load_tokenizers
from mt.commands.preparation import filtered_text, train_tokenizers, training_order
from mt.config.schema import TrainConfig
from mt.data.loader import in_thread
from mt.data.text_cache import PreparedText
from mt.fast.workers import can_fork, made_in_process
from mt.model.architecture import Architecture
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, train_step

RECIPES = ("paper_base", "paper_big", "paper_big_en_fr")
# fmt: off
PAPER: list[tuple[str, str, tuple[Any, Any, Any]]] = [
    # where in the paper     key                              base       big        big, English-French
    ("Table 3, N",           "model.num_layers",              (6,        6,         6)),
    ("Table 3, d_model",     "model.d_model",                 (512,      1024,      1024)),
    ("Table 3, d_ff",        "model.d_ff",                    (2048,     4096,      4096)),
    ("Table 3, h",           "model.num_heads",               (8,        16,        16)),
    ("5.4, 6.1, P_drop",     "model.dropout",                 (0.1,      0.3,       0.1)),
    ("5.4, epsilon_ls",      "training.label_smoothing",      (0.1,      0.1,       0.1)),
    ("Table 3, steps",       "training.max_steps",            (100_000,  300_000,   300_000)),
    ("5.3, beta_1",          "training.adam_beta1",           (0.9,      0.9,       0.9)),
    ("5.3, beta_2",          "training.adam_beta2",           (0.98,     0.98,      0.98)),
    ("5.3, epsilon",         "training.adam_epsilon",         (1e-9,     1e-9,      1e-9)),
    ("5.3, no decay to zero", "training.decay_fraction",      (0.0,      0.0,       0.0)),
    ("5.3, warm-up",         "training.warmup_steps",         (4000,     4000,      4000)),
    ("5.3, equation (3)",    "training.learning_rate_factor", (1.0,      1.0,       1.0)),
    ("5.3, equation (3)",    "training.learning_rate",        (None,     None,      None)),
    ("5.1, batch",           "training.batch_tokens",         (25_000,   25_000,    25_000)),
    ("5.1, a forward each",  "training.micro_batch_tokens",   (25_000,   25_000,    25_000)),
    ("5.2, 6.1, ten minutes: steps of 0.4 s and 1.0 s",
                             "training.checkpoint_every_steps", (1500,   600,       600)),
    ("6.1, averaging",       "training.average_checkpoints",  (5,        20,        20)),
    ("to the last step",     "training.patience",             (None,     None,      None)),
    ("to the last step",     "training.max_minutes",          (None,     None,      None)),
    ("5.1, byte pairs; 37,000 as 289 * 128",
                             "tokenizer.vocab_size",          (36_992,   36_992,    32_000)),
    ("5.1, shared",          "tokenizer.shared_vocab",        (True,     True,      True)),
    ("5.1, plain encoding",  "tokenizer.bpe_dropout",         (0.0,      0.0,       0.0)),
    ("5.1, WMT 2014",        "data.path",                     ("wmt/wmt14",) * 3),
    ("5.1, WMT 2014",        "data.subset",                   ("de-en",  "de-en",   "fr-en")),
    ("5.1, from English",    "data.source_language",          ("en",     "en",      "en")),
    ("5.1",                  "data.target_language",          ("de",     "de",      "fr")),
    ("6, newstest2013",      "data.validation_split",         ("validation",) * 3),
    ("6, newstest2014",      "data.test_split",               ("test",) * 3),
    ("6.1, beam",            "decoding.beam_size",            (4,        4,         4)),
    ("6.1, alpha",           "decoding.length_penalty",       (0.6,      0.6,       0.6)),
    ("6.1, Wu et al. 2016",  "decoding.length_penalty_form",  ("gnmt",   "gnmt",    "gnmt")),
    ("6.1, input + 50",      "decoding.max_extra_tokens",     (50,       50,        50)),
    ("Table 2",              "expected.bleu",                 (27.3,     28.4,      41.8)),
    ("Table 2",              "expected.form",                 ("tokenised_compound_split",) * 3),
]
# fmt: on
TINY = ["tokenizer=wmt14_en_de", "device=cpu", "data.validation={source: v.en, target: v.de}"]


def config_of(*arguments: str) -> TrainConfig:
    config = composed("train", *arguments)
    assert isinstance(config, TrainConfig)
    return config


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_number_is_the_papers(recipe: str) -> None:
    config = config_of(f"experiment={recipe}")
    column = RECIPES.index(recipe)
    composed_values = {(where, key): reduce(getattr, key.split("."), config) for where, key, _ in PAPER}
    assert composed_values == {(where, key): values[column] for where, key, values in PAPER}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("recipe", "millions"), [("paper_base", 63), ("paper_big", 214), ("paper_big_en_fr", 209)])
def test_recipes_build(recipe: str, millions: int) -> None:
    config = config_of(f"experiment={recipe}")
    with torch.device("meta"):
        model = Architecture(vocab_size=config.tokenizer.vocab_size, pad=0, **vars(config.model)).transformer()
    assert round(sum(parameter.numel() for parameter in model.parameters()) / 1e6) == millions


def two_steps(config: TrainConfig) -> list[StepResult]:
    """Everything a run does up to its second update, on a corpus of a few lines."""
    run_dir = Path(config.run_dir)
    run_dir.mkdir(parents=True)
    text = filtered_text(config.data)
    train_tokenizers(config, text)
    model = empty_model(config, load_tokenizers(config, run_dir), torch.device("cpu")).train()
    optimizer = build.optimizer(config.training, model)
    loss = build.training_loss(model, config.training)
    replica = SINGLE_PROCESS.wrap(loss, optimizer)
    rate, results = build.schedule(config), []
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for step, (_, _, batches, *_) in enumerate(
        training_order(config, text, torch.device("cpu")).steps(epoch=0, start=0), start=1
    ):
        results.append(
            train_step(
                replica,
                batches,
                learning_rate=rate(step),
                autocast=build.training_autocast(config.training, torch.device("cpu")),
            )
        )
        if step == 2:
            break
    [group] = optimizer.param_groups
    assert (group["lr"], group["betas"], group["eps"]) == (rate(2), (0.9, 0.98), 1e-9)
    assert group["weight_decay"] == 0
    # Adam's first steps are as long as the rate, whatever the gradient.
    longest = max(float((a - b.detach()).abs().max()) for a, b in zip(before, model.parameters(), strict=True))
    assert 0.5 * (rate(1) + rate(2)) < longest < 2 * (rate(1) + rate(2))
    return results


def step_on_a_tiny_corpus(recipe: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # so small a text gives fewer subwords, with a warning
    sides = {"en": "line {0} of {1} has {2}dogs.\n", "de": "In Zeile {0} von {1} sind {2}Hunde.\n"}
    for language, line in sides.items():
        lines = [line.format(i, i * i, "many " * (i % 5)) for i in range(24)]
        (folder / f"a.{language}").write_text("".join(lines[:20]), "utf-8")
        (folder / f"v.{language}").write_text("".join(lines[20:]), "utf-8")
    config = config_of(f"experiment={recipe}", *FILES[:-1], *TINY)
    assert [config.model.d_model, config.model.num_layers] == [512 if recipe == "paper_base" else 1024, 6]
    for result in two_steps(config):
        assert result.finite
        assert result.target_tokens > 100
        assert 0.5 * math.log(100) < result.loss < 3 * math.log(1000)


@pytest.mark.long
def test_base_takes_steps(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    step_on_a_tiny_corpus("paper_base", folder, caplog)


@pytest.mark.long
def test_big_takes_steps(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    step_on_a_tiny_corpus("paper_big", folder, caplog)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("device", "prefetch"), [("cpu", in_thread), ("cuda", made_in_process)])
@pytest.mark.skipif(not can_fork(), reason="without forks a thread prepares them")
def test_a_gpu_gets_its_batches_from_a_process_and_pinned(
    monkeypatch: pytest.MonkeyPatch, device: str, prefetch: object
) -> None:
    monkeypatch.setattr(build, "can_compile_for_gpu", lambda: True)
    order = training_order(config_of("experiment=paper_base"), mock.Mock(spec=PreparedText), torch.device(device))
    assert order.prefetch is prefetch
    assert order.pin == (device == "cuda")


@pytest.mark.usefixtures("folder")
def test_a_weight_decay_is_adamws_and_only_grokking_has_one() -> None:
    training = config_of("experiment=grokking").training
    norm = torch.nn.LayerNorm(2)
    norm.weight.grad = torch.zeros(2)
    optimizer = build.optimizer(training, norm)
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.step()
    expected = torch.full((2,), 1 - 0.1 * training.weight_decay)  # Adam with a penalty in the loss would take 0.1
    torch.testing.assert_close(norm.weight.detach(), expected)
    conf = Path(__file__).parents[2] / "conf"
    set_in = {path.stem for path in conf.rglob("*.yaml") if "weight_decay:" in path.read_text(encoding="utf-8")}
    assert set_in == {"paper_base", "grokking"}
