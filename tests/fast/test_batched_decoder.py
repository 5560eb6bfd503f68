"""The prepared model, step by step and with sentences that leave, equals the whole plain model."""

from typing import Any, ClassVar

import pytest
import torch
from tiny_models import BOS, FIRST_PIECE, VOCAB_SIZE, sentences, tiny_model
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mt.fast.engine.batched_decoder import BatchedDecoder
from mt.fast.engine.prepared_model import PreparedModel
from mt.fast.native.layers import NormOfSum
from mt.fast.native.library import kernels
from mt.fast.native.tiled_linear import ComputeType
from mt.model.cached_decoder import CachedDecoder
from mt.model.inspection import unknown_part
from mt.model.transformer import Transformer

LENGTHS = [9, 9, 7, 6, 6, 5, 4, 3, 2, 2, 1, 7]


class Walk:
    """A random search: rows repeated and moved within their sentence, sentences dropped whole."""

    def __init__(self, model: Transformer, *, rows_per_sentence: int, seed: int) -> None:
        self.model, self.width = model, rows_per_sentence
        self.source = sentences(LENGTHS, seed=seed)
        self.random = torch.Generator().manual_seed(seed)
        self.alive = list(range(len(LENGTHS)))
        self.prefixes = [[BOS] for _ in range(len(LENGTHS) * rows_per_sentence)]

    def newest(self) -> Tensor:
        return torch.tensor([prefix[-1] for prefix in self.prefixes])

    def expected(self) -> Tensor:
        """The whole decoder's logits after every row's prefix."""
        owners = torch.tensor([sentence for sentence in self.alive for _ in range(self.width)])
        with torch.inference_mode():
            return self.model(self.source[owners], torch.tensor(self.prefixes))[:, -1]

    def move(self, decoder: BatchedDecoder) -> None:
        """One step of the search, reported to the decoder as searches do."""
        draw = lambda count: int(torch.randint(count, (), generator=self.random))  # noqa: E731
        staying = [rank for rank in range(len(self.alive)) if draw(16) > 0]
        rows = [rank * self.width + draw(self.width) for rank in staying for _ in range(self.width)]
        self.alive = [self.alive[rank] for rank in staying]
        self.prefixes = [[*self.prefixes[row], FIRST_PIECE + draw(VOCAB_SIZE - FIRST_PIECE)] for row in rows]
        decoder.reorder(torch.tensor(rows, dtype=torch.int64))


@pytest.mark.reliability(17)
@pytest.mark.parametrize("rows_per_sentence", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_step_by_step_equals_the_whole(rows_per_sentence: int, seed: int) -> None:
    """By torch's operations; long enough for the cache to be enlarged."""
    model = tiny_model(seed=rows_per_sentence)
    walk = Walk(model, rows_per_sentence=rows_per_sentence, seed=seed)
    prepared = PreparedModel(model, precision=torch.float64)
    decoder = BatchedDecoder(prepared, walk.source, rows_per_sentence=rows_per_sentence)
    steps = 0
    while walk.alive:
        torch.testing.assert_close(decoder(walk.newest()), walk.expected(), rtol=0, atol=1e-10)
        walk.move(decoder)
        steps += 1
    assert steps > 25


@pytest.mark.skipif(kernels() is None, reason="no C compiler here")
@pytest.mark.parametrize("rows_per_sentence", [1, 4])
@pytest.mark.parametrize(("num_heads", "d_model"), [(2, 32), (1, 64), (2, 256)])
def test_indexed_entries_equal_the_whole(rows_per_sentence: int, num_heads: int, d_model: int) -> None:
    """The kernels in C, in fp32; long enough for the cache to be enlarged twice."""
    model = tiny_model(d_model=d_model, num_heads=num_heads, dtype=torch.float32)
    walk = Walk(model, rows_per_sentence=rows_per_sentence, seed=d_model)
    decoder = BatchedDecoder(
        PreparedModel(model, precision=torch.float32), walk.source, rows_per_sentence=rows_per_sentence
    )
    assert decoder.cache.attention is not None
    for _ in range(70):
        if walk.alive:
            torch.testing.assert_close(decoder(walk.newest()), walk.expected(), rtol=0, atol=2e-4)
            walk.move(decoder)


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("rows_per_sentence", [1, 4])
@pytest.mark.parametrize(("num_heads", "d_model"), [(4, 64), (1, 64)])
def test_layers_in_one_call_equal_the_whole(rows_per_sentence: int, num_heads: int, d_model: int) -> None:
    """All of the decoder in C."""
    model = tiny_model(d_model=d_model, d_ff=192, num_heads=num_heads, dtype=torch.float32)
    walk = Walk(model, rows_per_sentence=rows_per_sentence, seed=d_model)
    prepared = PreparedModel(model, precision=torch.float32)
    assert prepared.decoder_in_one_call is not None
    decoder = BatchedDecoder(prepared, walk.source, rows_per_sentence=rows_per_sentence)
    for _ in range(40):
        if walk.alive:
            torch.testing.assert_close(decoder(walk.newest()), walk.expected(), rtol=0, atol=1e-5)
            walk.move(decoder)


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("rows_per_sentence", [1, 4])
@pytest.mark.parametrize(("compute_type", "tolerance"), [("int8", 0.05), ("bf16", 0.03)])
def test_reduced_precision_is_near_the_whole(
    rows_per_sentence: int, compute_type: ComputeType, tolerance: float
) -> None:
    """Relative to the largest logit, which no precision moves by more."""
    model = tiny_model(d_model=64, d_ff=192, num_heads=4, dtype=torch.float32)
    walk = Walk(model, rows_per_sentence=rows_per_sentence, seed=5)
    prepared = PreparedModel(model, precision=torch.bfloat16, compute_type=compute_type)
    decoder = BatchedDecoder(prepared, walk.source, rows_per_sentence=rows_per_sentence)
    worst = 0.0
    for _ in range(20):
        if walk.alive:
            expected = walk.expected()
            difference = (decoder(walk.newest()).float() - expected).abs().max() / expected.abs().max()
            worst = max(worst, float(difference))
            walk.move(decoder)
    assert 1e-6 < worst < tolerance, worst


def test_it_equals_the_plain_form_step_by_step() -> None:
    model, source = tiny_model(), sentences(LENGTHS, seed=0)
    plain = CachedDecoder(model, source, rows_per_sentence=2)
    batched = BatchedDecoder(PreparedModel(model, precision=torch.float64), source, rows_per_sentence=2)
    random = torch.Generator().manual_seed(0)
    tokens = torch.full((2 * len(LENGTHS),), BOS)
    for step in range(10):
        torch.testing.assert_close(batched(tokens), plain(tokens), rtol=0, atol=1e-10)
        firsts = torch.arange(0, len(tokens), 2)[step % 2 :, None]  # at every second step a sentence leaves
        rows = (firsts + torch.randint(2, (len(firsts), 2), generator=random)).flatten()
        for decoder in (batched, plain):
            decoder.reorder(rows)
        tokens = torch.randint(FIRST_PIECE, VOCAB_SIZE, rows.shape, generator=random)


def test_separate_vocabularies_swish_and_an_output_bias() -> None:
    model = tiny_model(source_vocab_size=50, activation="swish", output_bias=True)
    source = sentences(LENGTHS, seed=0) + 20 * (sentences(LENGTHS, seed=0) > 0)
    decoder = BatchedDecoder(PreparedModel(model, precision=torch.float64), source, rows_per_sentence=1)
    begin = torch.full((len(LENGTHS),), BOS)
    expected = model(source, begin[:, None])[:, 0]
    torch.testing.assert_close(decoder(begin), expected, rtol=0, atol=1e-10)


@pytest.mark.reliability(16)
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_heads", [2, 4], ids=["with a kernel", "without"])
@pytest.mark.parametrize("longest", [9, 70])
def test_a_sentence_is_computed_alike_in_any_company(precision: torch.dtype, num_heads: int, longest: int) -> None:
    """Bit for bit: alone, among shorter and among longer sentences."""
    model = tiny_model(dtype=torch.float32, num_heads=num_heads, d_model=32)
    prepared = PreparedModel(model, precision=precision)
    lengths = [longest, *range(1, 13), longest - 3]
    source = sentences(lengths, seed=0)
    together = BatchedDecoder(prepared, source, rows_per_sentence=2)
    alone = [
        BatchedDecoder(prepared, source[[index], :length], rows_per_sentence=2) for index, length in enumerate(lengths)
    ]
    for step in range(12):
        tokens = torch.tensor([BOS, BOS] if step == 0 else [FIRST_PIECE + step, FIRST_PIECE + 2])
        rows = together(tokens.repeat(len(lengths)))
        for index, decoder in enumerate(alone):
            assert torch.equal(rows[2 * index : 2 * index + 2], decoder(tokens)), (step, lengths[index])


@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.1)])
def test_other_precisions_are_close(precision: torch.dtype, tolerance: float) -> None:
    model = tiny_model(dtype=torch.float32)
    source = sentences(LENGTHS, seed=0)
    decoder = BatchedDecoder(PreparedModel(model, precision=precision), source, rows_per_sentence=1)
    tokens = torch.full((len(LENGTHS),), BOS)
    logits = decoder(tokens)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, model(source, tokens[:, None])[:, 0], rtol=0, atol=tolerance)


class NormTypes(TorchDispatchMode):
    """Notes the types of input, gains and biases of every LayerNorm that torch computes."""

    seen: ClassVar[set[tuple[torch.dtype, ...]]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.native_layer_norm.default:
            self.seen.add(tuple(args[i].dtype for i in (0, 2, 3)))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_rows_gains_and_biases_of_a_norm_are_of_one_type(
    precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA refuses anything else."""
    monkeypatch.setattr(NormOfSum, "of", lambda *_, **__: None)
    prepared = PreparedModel(tiny_model(dtype=torch.float32), precision=precision)
    monkeypatch.setattr(NormTypes, "seen", set())
    with NormTypes(), torch.no_grad():
        BatchedDecoder(prepared, sentences([3], seed=0), rows_per_sentence=1)(torch.tensor([BOS]))
    assert NormTypes.seen == {(precision,) * 3}


def test_what_the_engine_does_not_know_is_refused_by_name() -> None:
    """Attributes; classes are tested in tests/model/test_every_choice.py."""
    assert unknown_part(tiny_model()) is None
    changed = [tiny_model() for _ in range(2)]
    changed[0].encoder.layers[0].self_attention_residual = nn.Identity()
    changed[1].decoder.layers[1].feed_forward.activation = "gelu"
    parts = ["encoder.layers.0.self_attention_residual is Identity", "decoder.layers.1.feed_forward.activation is gelu"]
    for model, part in zip(changed, parts, strict=True):
        assert unknown_part(model) == part
        with pytest.raises(ValueError, match=f"the fast engine does not support this model: {part}"):
            PreparedModel(model, precision=torch.float32)


def test_later_training_does_not_reach_the_prepared_weights() -> None:
    model = tiny_model()
    prepared = PreparedModel(model, precision=torch.float64)
    source, tokens = sentences([3], seed=0), torch.tensor([BOS])
    before = BatchedDecoder(prepared, source, rows_per_sentence=1)(tokens)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(BatchedDecoder(prepared, source, rows_per_sentence=1)(tokens), before)
