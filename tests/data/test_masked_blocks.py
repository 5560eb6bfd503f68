"""Hidden tokens: how many, what replaces them, and that they are a pure function of seed, epoch and block."""

import numpy as np
import torch

from mt.data.batch import Pairs
from mt.data.loader import TrainingOrder, validation_batches
from mt.data.text_blocks import masked_blocks, text_blocks
from mt.data.tokenizer import BOS, EOS, PAD
from mt.training.trial import largest_batches

MASK, VOCAB_SIZE = 4, 2000
IDS = np.random.Generator(np.random.PCG64(1)).integers(5, VOCAB_SIZE, 50_000).astype(np.uint16)


def masked(*, epoch: int = 0, block_tokens: int = 100, ids: np.ndarray = IDS) -> Pairs:
    blocks = text_blocks(ids, block_tokens=block_tokens)
    return masked_blocks(blocks, mask=MASK, vocab_size=VOCAB_SIZE, seed=(7, epoch))


def test_of_fifteen_percent_eight_in_ten_are_masked_and_one_is_replaced() -> None:
    rows, chosen, found = masked(), [], []
    for index in range(500):
        row, text = rows.source(index), np.array([BOS, *IDS[100 * index : 100 * index + 100]])
        positions = np.flatnonzero(row < 0)
        assert len(positions) == 15 == rows.target_lengths[index] + 1
        assert (rows.target(index) == text[positions]).all()
        assert (row == text)[row >= 0].all()
        read = ~row[positions]
        chosen += positions.tolist()
        found += np.where(read == MASK, "mask", np.where(read == text[positions], "kept", "other")).tolist()
        assert ((read > EOS) & (read < VOCAB_SIZE)).all()
    shares = [found.count(kind) / len(found) for kind in ("mask", "other", "kept")]
    assert np.allclose(shares, (0.8, 0.1, 0.1), atol=0.015)  # of 7,500: some four standard deviations
    counts = np.bincount(chosen, minlength=101)
    assert counts[0] == 0
    assert counts[1:].min() > 40  # of 75 expected at every position: six standard deviations


def test_the_draw_depends_on_the_epoch_and_on_the_block() -> None:
    def sources(rows: Pairs) -> list[list[int]]:
        return [rows.source(index).tolist() for index in (3, 1, 3)]

    first, again, other = sources(masked()), sources(masked()), sources(masked(epoch=1))
    assert first == again
    assert first[0] == first[2] != other[0]
    alike = masked(ids=np.full(300, 9))
    assert alike.source(0).tolist() != alike.source(1).tolist()


def test_a_batch_asks_for_the_chosen_positions_alone() -> None:
    rows = masked(ids=np.arange(5, 34), block_tokens=20)
    [batch] = validation_batches(rows, batch_tokens=44)
    assert batch.source.shape == (2, 22)
    assert batch.source[:, 0].tolist() == [BOS, BOS]
    assert batch.source[0, 21] == batch.source[1, 10] == EOS
    assert batch.source.min() >= PAD
    assert (batch.target_tokens, batch.source_tokens) == (4, 22 + 11)  # 3 of 20, 1 of 9
    labels = batch.target_output.flatten()[batch.label_indices]
    positions = batch.target_input.flatten()[batch.label_indices]
    first_tokens = torch.tensor([5, 5, 5, 25])
    assert torch.equal(labels, first_tokens + positions - 1)


def test_the_tokens_of_a_step_are_those_asked_for_and_a_made_up_row_is_asked_everywhere() -> None:
    order = TrainingOrder(
        corpus_of_epoch=lambda epoch: masked(epoch=epoch, block_tokens=20, ids=IDS[:990]),
        batch_tokens=100,
        micro_batch_tokens=50,
        seed=1,
    )
    stream = order.steps(epoch=0, start=0)
    for _ in range(14):
        step = next(stream)
        assert step.target_tokens == sum(batch.target_tokens for batch in step.micro_batches)
        assert step.source_tokens == sum(batch.source_tokens for batch in step.micro_batches)
    stream.close()
    largest = largest_batches(order, epoch=0, micro_batch_tokens=50)[0]
    assert largest.source.shape == (2, 22)
    assert largest.target_tokens == 2 * 21
