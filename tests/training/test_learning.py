"""RELIABILITY 23: a small model learns to copy and to reverse, by our own step and decoded by our own search."""

import contextlib
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from pairs import listed_pairs
from reliability import Trials

from mt.data.batch import source_tensor
from mt.data.loader import TrainingOrder
from mt.data.tokenizer import BOS, EOS, PAD
from mt.model.architecture import Architecture
from mt.model.cached_decoder import CachedDecoder
from mt.model.transformer import Transformer
from mt.runtime import seed_everything
from mt.search.beam import beam_search
from mt.training.processes import SINGLE_PROCESS
from mt.training.schedule import learning_rate
from mt.training.step import TrainingLoss, train_step

SHORT, LONG = 1, 5
MOST_STEPS, STEPS_BETWEEN_LOOKS = 1000, 100
D_MODEL, SYMBOLS, LONGEST = 64, 10, 4
TASKS: dict[str, Callable[[list[int]], list[int]]] = {"copy": list, "reverse": lambda sentence: sentence[::-1]}
Sentences = list[list[int]]


def sentences(count: int, *, seed: int) -> Sentences:
    random = np.random.default_rng(seed)
    return [random.integers(4, 4 + SYMBOLS, length).tolist() for length in random.integers(1, LONGEST + 1, count)]


def exact_matches(model: Transformer, sources: Sentences, targets: Sentences) -> float:
    """The share of sentences that a beam of 2 gets right to the last token."""
    with torch.inference_mode():
        found = beam_search(
            next_token=CachedDecoder(model.eval(), source_tensor(sources), rows_per_sentence=2),
            beam_size=2,
            length_penalty=0.6,
            length_penalty_form="gnmt",
            max_lengths=torch.tensor([len(source) + 5 for source in sources]),
            bos=BOS,
            eos=EOS,
            forbidden=[PAD, BOS],
        )
    right = [hypotheses[0].tokens == target for hypotheses, target in zip(found, targets, strict=True)]
    return sum(right) / len(right)


def looks(task: Callable[[list[int]], list[int]], *, seed: int) -> Iterator[float]:
    """Train, and look every so many steps at sentences that are never trained on."""
    known = sentences(8000, seed=seed)
    seen = set(map(tuple, known))
    fresh = [sentence for sentence in sentences(2000, seed=seed + 100) if tuple(sentence) not in seen][:200]
    seed_everything(seed, 0)
    sizes = {"num_layers": 2, "d_model": D_MODEL, "d_ff": 128, "num_heads": 4}
    model = Architecture(vocab_size=4 + SYMBOLS, dropout=0.0, pad=PAD, initialisation="fan_in", **sizes).transformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    replica = SINGLE_PROCESS.wrap(TrainingLoss(model, label_smoothing=0.1), optimizer)
    corpus = listed_pairs([(sentence, task(sentence)) for sentence in known])
    order = TrainingOrder(corpus_of_epoch=lambda _: corpus, batch_tokens=400, micro_batch_tokens=400, seed=seed)
    with contextlib.closing(order.steps(epoch=0, start=0)) as batches:
        for step in range(1, MOST_STEPS + 1):
            model.train()
            train_step(
                replica,
                next(batches)[2],
                learning_rate=learning_rate(step, d_model=D_MODEL, warmup_steps=100, factor=0.25),
                autocast=contextlib.nullcontext,
            )
            if step % STEPS_BETWEEN_LOOKS == 0:
                yield exact_matches(model, fresh, list(map(task, fresh)))


@pytest.mark.reliability(23)
@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "seeds", [range(SHORT), pytest.param(range(SHORT, LONG), marks=pytest.mark.long)], ids=["short", "long"]
)
def test_a_task_is_learned_and_decoded(task: str, seeds: range, trials: Trials) -> None:
    """0.98 of unseen sentences come out exactly, soon."""
    for seed in trials(seeds):
        start = time.process_time()
        assert any(share >= 0.98 for share in looks(TASKS[task], seed=seed)), f"{task}, seed {seed}"
        assert time.process_time() - start < 60
