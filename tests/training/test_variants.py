"""Every variant of the model learns: the options of a command line, our own step, a batch learned by heart."""

from dataclasses import replace

import pytest
import torch
from composed import composed

from mt import build
from mt.config.schema import TrainConfig
from mt.data.batch import make_batch
from mt.model.decoder_only import AnyTransformer
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import StepResult, train_step

STEPS, VOCAB_SIZE = 25, 24
VARIANTS = {
    "paper": [],
    **{f"{kind} positions": [f"model.positions={kind}"] for kind in ("learned", "relative", "rotary", "alibi", "none")},
    "pre-norm": ["model.norm=pre"],
    "RMSNorm": ["model.norm_kind=rms"],
    "pre-norm, RMSNorm": ["model.norm=pre", "model.norm_kind=rms"],
    **{kind: [f"model.activation={kind}"] for kind in ("gelu", "swish", "swiglu", "squared_relu")},
    **{kind: [f"model.score={kind}"] for kind in ("dot", "general", "additive")},
    "free heads": ["model.d_k=6", "model.d_v=12"],
    "deep and shallow": ["model.num_encoder_layers=3", "model.num_decoder_layers=1"],
    "decoder only": ["model.family=decoder"],
    "decoder only, pre-norm": ["model.family=decoder", "model.positions=rotary", "model.norm=pre"],
    **{f"{kind} tied": [f"model.tied_embeddings={kind}"] for kind in ("target", "none")},
}

SHORT = {"paper", "rotary positions", "RMSNorm", "swiglu", "additive"}
SOME = [variant if variant in SHORT else pytest.param(variant, marks=pytest.mark.long) for variant in VARIANTS]


def config_of(variant: str) -> TrainConfig:
    sizes = ["model.num_layers=1", "model.d_model=32", "model.d_ff=48", "model.num_heads=4", "device=cpu"]
    config = composed("train", "model=toy", *sizes, "training.precision=fp32", *VARIANTS[variant])
    assert isinstance(config, TrainConfig)
    return config


def new_model(config: TrainConfig) -> AnyTransformer:
    return build.model(config, vocab_size=VOCAB_SIZE, source_vocab_size=None)


def steps(config: TrainConfig, model: AnyTransformer, count: int) -> list[StepResult]:
    """The first steps on one batch of four sentences and their reversals."""
    optimizer = build.optimizer(config.training, model)
    replica = SINGLE_PROCESS.wrap(build.training_loss(model.train(), config.training), optimizer)
    sources = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 14, 15], [16]]
    batch = make_batch(sources, [source[::-1] for source in sources])
    autocast = build.training_autocast(config.training, torch.device("cpu"))
    return [train_step(replica, [batch], learning_rate=5e-3, autocast=autocast) for _ in range(count)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("variant", SOME)
def test_the_loss_falls(variant: str) -> None:
    config = config_of(variant)
    model = new_model(config)
    first, *_, last = steps(config, model, STEPS)
    assert last.nll < 0.3 * first.nll
    for (name, after), before in zip(model.named_parameters(), new_model(config).parameters(), strict=True):
        assert not torch.equal(after, before), f"{name} learns nothing"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("variant", SOME)
def test_bf16_computes_nearly_the_same(variant: str) -> None:
    config = config_of(variant)
    [single] = steps(config, new_model(config), 1)
    config = replace(config, training=replace(config.training, precision="bf16"))
    [half] = steps(config, new_model(config), 1)
    assert half.nll == pytest.approx(single.nll, rel=0.02)
    assert half.nll != single.nll
    assert half.gradient_norm == pytest.approx(single.gradient_norm, rel=0.05)
