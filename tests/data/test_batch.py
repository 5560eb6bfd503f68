"""The tensors of a batch: where BOS and EOS stand, and what is padding."""

import numpy as np
import torch

from mt.data.batch import make_batch, source_tensor
from mt.data.tokenizer import BOS, EOS, PAD


def test_the_decoder_reads_what_it_must_say_next_one_position_later() -> None:
    batch = make_batch([np.array([7, 8, 9]), np.array([4])], [np.array([5]), np.array([6, 7])])
    assert batch.source.tolist() == [[7, 8, 9, EOS], [4, EOS, PAD, PAD]]
    assert batch.target_input.tolist() == [[BOS, 5, PAD], [BOS, 6, 7]]
    assert batch.target_output.tolist() == [[5, EOS, PAD], [6, 7, EOS]]
    assert (batch.source_tokens, batch.target_tokens) == (6, 5)


def test_counts_are_of_real_tokens_and_types_are_indices() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        sides = [[random.integers(4, 2**16, n).astype(np.uint16) for n in random.integers(0, 9, 5)] for _ in range(2)]
        batch = make_batch(*sides)
        assert batch.source_tokens == int((batch.source != PAD).sum())
        assert batch.target_tokens == int((batch.target_output != PAD).sum()) == int((batch.target_input != PAD).sum())
        for tensor in (batch.source, batch.target_input, batch.target_output):
            assert tensor.dtype == torch.int64
        for row, subwords in zip(batch.source.tolist(), sides[0], strict=True):
            assert row[: len(subwords) + 1] == [*subwords.tolist(), EOS]
        for given, wanted in zip(batch.target_input.tolist(), batch.target_output.tolist(), strict=True):
            length = wanted.index(EOS)
            assert given[1 : length + 1] == wanted[:length]


def test_no_sentences_and_sentences_without_subwords() -> None:
    assert source_tensor([]).shape[0] == 0
    assert source_tensor([[], []]).tolist() == [[EOS], [EOS]]


def test_moving_keeps_everything() -> None:
    batch = make_batch([np.array([7, 8])], [np.array([5])])
    moved = batch.to(torch.device("cpu"))
    assert vars(moved).keys() == vars(batch).keys()
    assert torch.equal(moved.source, batch.source)
    assert torch.equal(moved.target_input, batch.target_input)
    assert torch.equal(moved.target_output, batch.target_output)
    assert (moved.source_tokens, moved.target_tokens) == (batch.source_tokens, batch.target_tokens)
