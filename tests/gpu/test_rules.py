"""The path for GPUs under CUDA's rules (`tests/cuda_rules.py`): nothing is refused, and the host waits seldom."""

import functools
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import torch
from cuda_rules import CUDA, CudaTensor, Device, pretended_cuda
from pairs import listed_pairs, random_pairs
from tiny_models import tiny_model
from torch import Tensor
from translators import make_translator, small_tokenizer

from mt.benchmark import ours_training
from mt.benchmark.timed_training import read_token_batches
from mt.benchmark.timed_translation import timed_translation
from mt.data.loader import TrainingOrder, validation_batches
from mt.data.tokenizer import Tokenizer
from mt.fast.chunked_loss import chunked_loss
from mt.fast.dropout import Dropout
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.fused_attention import fused_attention
from mt.model.cached_decoder import CachedDecoder
from mt.model.transformer import Transformer
from mt.runtime import autocast, choose_device
from mt.search.next_token import NextToken
from mt.search.sampling import Sampling
from mt.training import distributed
from mt.training.distributed import Distributed
from mt.training.processes import SINGLE_PROCESS
from mt.training.step import TrainingLoss, train_step
from mt.training.trainer import validation_loss
from mt.training.trial import largest_batches, try_batches
from mt.translation.translator import Translator

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU shows it itself: tests/gpu/test_cuda.py")
VOCAB_SIZE = 330
CORPUS = listed_pairs(random_pairs(60, longest=30, vocab_size=VOCAB_SIZE, seed=0))
LINES = ["the house", "my brother has a red book", "a dog", "the letter at the bridge by the river", "yes", "no"]


@pytest.fixture
def device() -> Iterator[Device]:
    with pretended_cuda() as pretended:
        yield pretended


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return small_tokenizer(tmp_path_factory.mktemp("tokenizer"), LINES)


def model(dtype: torch.dtype = torch.float32, **changes: Any) -> Transformer:
    fast = {"attention": fused_attention, "make_dropout": Dropout, "vocab_size": VOCAB_SIZE}
    return tiny_model(dtype=dtype, **fast, **changes)


ROWS, GAINS = torch.ones(2, 4), torch.ones(4)
REFUSED: dict[str, Callable[[Tensor], Any]] = {
    "a sum with a tensor of the host": lambda x: x + ROWS,
    "a product with one": lambda x: x @ ROWS.T,
    "a table of the host": lambda x: torch.nn.functional.embedding(x.long(), ROWS),
    "gathering by the host's indices": lambda x: x.gather(1, ROWS.long()),
    "joining with the host's rows": lambda x: torch.cat([x, ROWS]),
    "a number of the host in a product": lambda x: torch.stack([x.sum(), torch.tensor(1.0)]),
    "rows and gains of different types": lambda x: torch.nn.functional.layer_norm(x.bfloat16(), (4,), x[0], x[0]),
    "factors of different types": lambda x: x @ x.T.bfloat16(),
    "numpy": lambda x: x.numpy(),
}
WAITS: dict[str, tuple[int, Callable[[Tensor], Any]]] = {
    "item": (1, lambda x: x[0, 0].item()),
    "tolist": (1, lambda x: x.tolist()),
    "float": (1, lambda x: float(x.sum())),
    "a condition": (1, lambda x: bool(x[0, 0] > 0)),
    "to the host": (1, lambda x: x.cpu()),
    "nonzero": (1, lambda x: x.nonzero()),
    "a mask as index": (1, lambda x: x[x > 0]),
    "writing where a mask is": (1, lambda x: x.__setitem__(x > 0, x[0, 0])),
    "masked_select": (1, lambda x: x.masked_select(x > 0)),
    "unique": (1, lambda x: x.unique()),
    "repeat_interleave": (1, lambda x: x[0].repeat_interleave(x[0].long())),
    "to the device": (1, lambda _: torch.ones(3).to(CUDA)),
    "made of a list": (1, lambda _: torch.tensor([1, 2], device=CUDA)),
    "a list as index": (1, lambda x: x[[0, 1]]),
    "indices on the host": (1, lambda x: x[torch.tensor([0, 1])]),
    "to the device from pinned memory": (0, lambda _: torch.ones(3).pin_memory().to(CUDA, non_blocking=True)),
    "a number of the host": (0, lambda x: x + torch.tensor(1.0)),
    "filled, sliced, added, attended": (0, lambda x: (x[:, 1:].masked_fill_(x[:, 1:] > 0, 2.0) + 1).softmax(dim=1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_rules_refuse(case: str, device: Device) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        REFUSED[case](torch.ones(2, 4, device=CUDA))


@pytest.mark.parametrize("case", WAITS)
def test_the_rules_count(case: str, device: Device) -> None:
    number, action = WAITS[case]
    action(torch.ones(2, 4, device=CUDA))
    assert len(device.synchronisations) == number


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "order",
    [
        {"micro_batch_tokens": 256},
        {"micro_batch_tokens": 256, "pack_length": 64, "one_shape": True},
        {"micro_batch_tokens": 64, "pack_length": 64, "one_shape": True},
    ],
    ids=["padded", "packed", "accumulated"],
)
def test_a_training_step_waits_once(order: dict[str, Any], precision: torch.dtype, device: Device) -> None:
    stream = TrainingOrder(corpus_of_epoch=lambda _: CORPUS, batch_tokens=256, seed=0, pin=True, **order)
    steps = stream.steps(epoch=0, start=0)
    batches = [next(steps).micro_batches for _ in range(2)]
    steps.close()
    assert len(batches[0]) == (4 if order["micro_batch_tokens"] == 64 else 1)
    losses = []
    for place in (CUDA, torch.device("cpu")):
        learner = model().to(place).train()
        optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3, fused=True)
        loss = TrainingLoss(learner, label_smoothing=0.1, loss=chunked_loss)
        replica = SINGLE_PROCESS.wrap(loss, optimizer)
        cast = functools.partial(autocast, place, precision)
        try_batches(loss, optimizer, largest_batches(stream, epoch=0, micro_batch_tokens=64), autocast=cast)
        device.synchronisations.clear()
        losses += [train_step(replica, each, learning_rate=1e-3, autocast=cast).loss for each in batches]
        assert len(device.synchronisations) == (len(batches) if place == CUDA else 0), device.synchronisations
    assert losses[:2] == pytest.approx(losses[2:], rel=1e-5 if precision == torch.float32 else 0.01)
    assert not device.unpinned


def test_a_validation_waits_once(device: Device) -> None:
    loss = TrainingLoss(model(), label_smoothing=0.1, loss=chunked_loss)
    found = []
    for place in (torch.device("cpu"), CUDA):
        loss = loss.to(place)
        device.synchronisations.clear()
        cast = functools.partial(autocast, place, torch.float32)
        with torch.inference_mode():
            found += [*validation_loss(loss, validation_batches(CORPUS, batch_tokens=128), autocast=cast)]
    assert found[:2] == pytest.approx(found[2:], rel=1e-5)
    assert len(device.synchronisations) == 1, device.synchronisations


class Counted:
    """A next-token function that counts its calls."""

    def __init__(self, next_token: NextToken, calls: list[None]) -> None:
        self.next_token, self.calls = next_token, calls

    def __call__(self, tokens: Tensor) -> Tensor:
        self.calls.append(None)
        return self.next_token(tokens)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.next_token, name)


def counted(translator: Translator, calls: list[None]) -> Translator:
    def starting(start: Callable[..., NextToken]) -> Callable[..., Counted]:
        return lambda *arguments, **settings: Counted(start(*arguments, **settings), calls)

    return replace(translator, decoders=[starting(start) for start in translator.decoders])


SEARCHES: dict[str, dict[str, Any]] = {
    "beam": {},
    "greedy": {"beam_size": 1},
    "constrained": {"beam_size": 2, "min_output_tokens": 3, "no_repeat_ngram_size": 2},
    "sampling": {"sampling": Sampling(1.0, None, None, 0), "num_hypotheses": 2},
    "sampling with cuts": {"sampling": Sampling(1.5, 10, 0.9, 0)},
}
FIRST = {"beam", "constrained", "sampling with cuts"}  # the others are long


@pytest.mark.parametrize(
    ("search", "plain"),
    [pytest.param(search, False, marks=() if search in FIRST else pytest.mark.long) for search in SEARCHES]
    + [pytest.param(search, True, marks=() if search == "beam" else pytest.mark.long) for search in SEARCHES],
)
def test_a_search_waits_once_a_step(search: str, plain: bool, tokenizer: Tokenizer, device: Device) -> None:
    """Sampling looks every 8 steps at what has ended."""
    found, waits, calls, sampling = [], [], [], search.startswith("sampling")
    for place in (torch.device("cpu"), CUDA):
        learner = model(torch.float64, num_layers=1).to(place)
        sizes = (
            {"max_extra_tokens": 20, "batch_tokens": 999} if sampling else {"max_extra_tokens": 8, "batch_tokens": 100}
        )
        settings = {"precision": torch.float64, "alignments": not plain, **sizes}
        translator = make_translator([learner], tokenizer, **settings | SEARCHES[search])
        if plain:
            translator.decoders = [functools.partial(CachedDecoder, learner)]
        calls.clear()
        device.synchronisations.clear()
        prefixes = ["the", "", "", "a", "", ""] if search == "constrained" else None
        found.append(counted(translator, calls).translate_all(LINES, target_prefixes=prefixes))
        waits.append(list(device.synchronisations))
    assert [one.tokens for one in found[1]] == [one.tokens for one in found[0]]
    assert not waits[0]
    assert len(calls) > 12
    assert len(waits[1]) <= (len(calls) / 8 if sampling else len(calls)) + 6, waits[1]
    assert not device.unpinned


def test_the_engine_keeps_to_one_type(tokenizer: Tokenizer, device: Device) -> None:
    """Rows, gains and products in bf16, and logits in fp32."""
    seen = set()
    translator = make_translator([model().to(CUDA)], tokenizer, precision=torch.bfloat16, max_extra_tokens=4)
    [start] = translator.decoders

    def starting(*arguments: Any, **settings: Any) -> NextToken:
        decoder = start(*arguments, **settings)
        output = decoder.model.output
        decoder.model.output = lambda x: seen.add((x.dtype, (logits := output(x)).dtype)) or logits
        return decoder

    translator.decoders = [starting]
    translator.translate_all(LINES[:2])
    assert seen == {(torch.bfloat16, torch.float32)}
    assert PreparedModel(model().to(CUDA), precision=torch.bfloat16).decoder[0].norm.weight.dtype == torch.bfloat16


def gpu_tests() -> ModuleType:
    """The tests that a GPU runs, with the device that is pretended."""
    spec = importlib.util.spec_from_file_location("gpu_tests", Path(__file__).with_name("test_cuda.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.CUDA = CUDA  # type: ignore[attr-defined]
    return module


GPU_TESTS = gpu_tests()


@pytest.mark.parametrize("name", [name for name in vars(GPU_TESTS) if name.startswith("test_")])
def test_what_a_gpu_runs_can_run(name: str, device: Device) -> None:
    getattr(GPU_TESTS, name)()
    assert device.synchronisations


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_the_training_benchmark_is_on_the_device(packed: bool, tmp_path: Path, device: Device) -> None:
    batch = torch.randint(4, VOCAB_SIZE, (300, 30))
    batch[:, -1] = 3
    torch.save([(batch, batch, batch)] * 2, tmp_path / "batches.pt")
    sizes = {"vocab_size": VOCAB_SIZE, "num_layers": 1, "d_model": 16, "d_ff": 24, "num_heads": 2, "dropout": 0.0}
    task = {"device": str(CUDA), "batches": str(tmp_path / "batches.pt"), "label_smoothing": 0.1, "pack_length": 64}
    with (
        mock.patch("mt.benchmark.timed_training.best_product", return_value=1.0),
        mock.patch.object(torch, "set_float32_matmul_precision") as tf32,
    ):
        _, answer = ours_training.prepare({**task, "sizes": sizes, "packed": packed})
        answer({"precision": "bf16"})
        device.synchronisations.clear()
        answer({"precision": "bf16"})
    tf32.assert_called_with("high")
    assert not device.unpinned
    assert len(device.synchronisations) == 2 + 2, "two steps, and the clock is read twice when all is done"
    assert all(each.is_pinned() for each in read_token_batches(task["batches"], pin=True)[0])


def test_the_decoding_benchmark_waits_before_it_reads_the_clock(tmp_path: Path, device: Device) -> None:
    (tmp_path / "sentences.json").write_text(json.dumps([["a"]]), encoding="utf-8")
    task = {"sentences": str(tmp_path / "sentences.json"), "max_extra_tokens": 5, "device": str(CUDA)}
    timed_translation(lambda group, **_: group, task)({"beam_size": 1, "batch": 2, "sentences": 1})
    assert [each.split()[0] for each in device.synchronisations] == ["synchronize"] * 2


def test_cuda_multiplies_fp32_as_tf32(device: Device) -> None:
    with mock.patch.object(torch, "set_float32_matmul_precision") as tf32:
        assert choose_device("auto").type == "cuda"
        tf32.assert_called_once_with("high")
        assert not torch.backends.cuda.cudnn_sdp_enabled(), "it plans each new shape of a search for 40 ms"
        choose_device("cpu")
    tf32.assert_called_once()


def test_rank_zero_keeps_the_whole_model_on_the_host(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("init_device_mesh", "fully_shard", "distribute_tensor"):  # these need several GPUs
        monkeypatch.setattr(distributed, name, mock.Mock())
    loss = TrainingLoss(model().to(CUDA), label_smoothing=0.1)
    ranks = Distributed(
        environment={"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_PORT": "1", "MASTER_ADDR": "here"},
        fsdp=True,
    )
    replica = ranks.wrap(loss, torch.optim.Adam(loss.parameters(), fused=True))
    assert {parameter.device.type for parameter in replica.loss.parameters()} == {"cuda"}
    assert {parameter.device.type for parameter in replica.model.parameters()} == {"cpu"}
    assert isinstance(next(replica.loss.parameters()), CudaTensor)
