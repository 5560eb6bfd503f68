"""The map between our parameters and Marian's: nothing is lost on the way, and no bit changes."""

import pytest
import torch
from tiny_models import VOCAB_SIZE, tiny_model

from mt.export.marian import from_marian, layer_shapes, to_marian
from mt.export.vocabulary import OWN, SpecialIds, marian_ids, our_ids
from mt.runs.checkpoint import model_tensors

OPUS = SpecialIds(pad=21, unknown=1, start=21, eos=0)


def test_to_marian_and_back_is_the_same_bit_for_bit() -> None:
    tensors = model_tensors(tiny_model(dtype=torch.float32))
    rows = our_ids(OWN, VOCAB_SIZE)
    marian = to_marian(tensors, num_layers=(2, 2), source_rows=rows, target_rows=rows)
    back = from_marian(marian, num_layers=(2, 2), rows=torch.tensor(rows))
    assert back.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(back[name], tensor), name


def test_every_parameter_is_written_once() -> None:
    tensors = model_tensors(tiny_model(dtype=torch.float32, source_vocab_size=30))
    rows = range(30), range(VOCAB_SIZE)
    marian = to_marian(tensors, num_layers=(2, 2), source_rows=rows[0], target_rows=rows[1])
    d_ff, d_model = tensors["encoder.layers.0.feed_forward.inner.weight"].shape
    shapes = layer_shapes(num_layers=(2, 2), d_model=d_model, d_ff=d_ff)
    assert shapes == {name: tuple(marian[name].shape) for name in shapes}
    written = sum(tensor.numel() for tensor in marian.values()) - VOCAB_SIZE  # the bias of the logits is new
    assert written == sum(tensor.numel() for tensor in tensors.values())


@pytest.mark.parametrize(("special", "size"), [(OWN, 23), (OPUS, 22), (SpecialIds(5, 1, 6, 0), 23)])
def test_ids_map_to_marian_and_back(special: SpecialIds, size: int) -> None:
    ours = our_ids(special, size)
    theirs = marian_ids(special, size, vocab_size=23)
    assert [theirs[subword] for subword in ours] == list(range(size))
    assert len(set(ours)) == size


def test_subwords_that_the_folder_lacks_are_unknown_to_it() -> None:
    assert marian_ids(OPUS, 22, vocab_size=25)[-2:] == [OPUS.unknown] * 2
