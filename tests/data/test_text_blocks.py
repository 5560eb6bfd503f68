"""A text survives its tokenizer, and blocks hold every token of it once."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mt.data.loader import TrainingOrder, validation_batches
from mt.data.text_blocks import drawn_start, encode_text, prepare_single_text, text_blocks
from mt.data.tokenizer import BOS, PAD, Tokenizer, train_tokenizer
from mt.errors import UserError

TEXT = "".join(
    f"def f{i}(x):\n\treturn  ﬁ½ + {i}\n\n   indented,\u2028 {'many ' * (i % 4)}words and e\u0301 \r  \n"
    for i in range(60)
)


@pytest.mark.parametrize("model_type", ["bpe", "char"])
def test_nothing_in_a_text_is_lost(tmp_path: Path, model_type: str) -> None:
    (tmp_path / "book.txt").write_text(TEXT, encoding="utf-8", newline="")
    text = prepare_single_text(str(tmp_path / "book.txt"), held_out_share=0.2, cache_dir=tmp_path / "cache")
    parts = [text.path(split, "target") for split in ("train", "validation")]
    train_tokenizer(
        text_files=parts[:1], output=tmp_path / "model", vocab_size=330, character_coverage=1.0,
        byte_fallback=model_type == "bpe", input_sentence_size=1000, model_type=model_type, verbatim=True,
    )  # fmt: skip
    tokenizer = Tokenizer.load(tmp_path / "model")
    beginning, end = (encode_text(part, tokenizer) for part in parts)
    decoded = [tokenizer.decode_lines(ids) for ids in (beginning, end)]
    assert decoded[0][:-1] + decoded[1] == TEXT  # each part ends with a line break
    assert len(decoded[1].encode()) == pytest.approx(0.2 * len(TEXT.encode()), rel=0.05)
    longest = max(len(subword) for subword in tokenizer.subwords(np.unique(beginning)) if not subword.startswith("<0x"))
    assert (longest == 1) == (model_type == "char")


def test_an_epoch_has_every_token_after_its_start_once() -> None:
    ids = np.arange(4, 104)
    order = TrainingOrder(
        corpus_of_epoch=lambda epoch: text_blocks(ids, block_tokens=8, start=3 * epoch),
        batch_tokens=30,
        micro_batch_tokens=16,
        seed=1,
    )
    for epoch in (0, 1):
        stream, seen, tokens = order.steps(epoch=epoch, start=0), [], 0
        for step in stream:
            if step.epoch > epoch:
                break
            assert step.source_tokens == 0
            assert step.target_tokens == sum(batch.target_tokens for batch in step.micro_batches) <= 30
            for batch in step.micro_batches:
                assert batch.source.shape == (len(batch.target_output), 0)
                seen += batch.target_output.flatten()[batch.label_indices].tolist()
            tokens += step.target_tokens
        stream.close()
        assert sorted(seen) == ids[3 * epoch :].tolist()
        assert tokens == len(seen)


@pytest.mark.parametrize(("tokens", "latest"), [(1, 0), (100, 0), (256, 0), (300, 44), (511, 255), (100_000, 255)])
def test_an_epoch_of_a_short_text_has_a_whole_block(tokens: int, latest: int) -> None:
    drawn = {drawn_start(tokens, block_tokens=256, seed=(1, epoch)) for epoch in range(3000)}
    assert (min(drawn), max(drawn)) == (0, latest)


def test_a_block_is_predicted_from_its_beginning() -> None:
    blocks = text_blocks(np.arange(10, 21), block_tokens=4)
    [batch] = validation_batches(blocks, batch_tokens=16)
    expected = [[10, 11, 12, 13], [14, 15, 16, 17], [18, 19, 20, PAD]]
    assert sorted(batch.target_output.tolist()) == expected
    row = batch.target_output.tolist().index(expected[2])
    assert batch.target_input[row].tolist() == [BOS, 18, 19, PAD]
    assert batch.target_tokens == len(batch.label_indices) == 11
    assert torch.equal(batch.target_output.flatten()[batch.label_indices] != PAD, torch.ones(11, dtype=torch.bool))


@pytest.mark.parametrize("text", ["", "a", "\n\n\n"])
def test_too_little_text_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "book.txt").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"book\.txt"):
        prepare_single_text(str(tmp_path / "book.txt"), held_out_share=0.1, cache_dir=tmp_path / "cache")
