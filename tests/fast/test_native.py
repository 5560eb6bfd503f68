"""The kernels in C against the operations of torch that replace them elsewhere."""

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from mt.fast.engine.prepacked_linear import PrepackedLinear
from mt.fast.native import library
from mt.fast.native.layers import IndexedAttention, NormOfSum
from mt.fast.native.ranking import ranked_extensions
from mt.fast.native.tiled_linear import ComputeType, TiledLinear, compute_types, fits_tiles
from mt.search.candidates import best_extensions

compiled = pytest.mark.skipif(library.kernels() is None, reason="no C compiler here")
CPU = torch.device("cpu")
TOLERANCES = [(torch.float32, 2e-6), (torch.bfloat16, 2e-2)]


def attention(num_heads: int, d_k: int, precision: torch.dtype) -> IndexedAttention:
    found = IndexedAttention.of(num_heads=num_heads, d_k=d_k, precision=precision, device=CPU)
    assert found is not None
    return found


def expected_attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """In fp32, by torch; query: slots, rows, heads, d_k."""
    heads = functional.scaled_dot_product_attention(
        query.float().transpose(1, 2), keys.float(), values.float(), attn_mask=mask
    )
    return heads.transpose(1, 2).flatten(2)


@compiled
@pytest.mark.parametrize(("precision", "tolerance"), TOLERANCES)
@pytest.mark.parametrize(("num_heads", "d_k"), [(4, 64), (3, 16), (2, 32), (1, 256)])
def test_attention_to_the_first_entries(precision: torch.dtype, tolerance: float, num_heads: int, d_k: int) -> None:
    torch.manual_seed(d_k)
    slots, rows, entries = 5, 3, 37
    query = torch.randn(slots, rows, num_heads, d_k).to(precision)
    keys, values = torch.randn(2, slots, num_heads, entries, d_k).to(precision)
    counts = torch.tensor([1, 15, 16, 17, 37], dtype=torch.int32)
    mask = torch.arange(entries)[None] < counts[:, None]
    found = attention(num_heads, d_k, precision)(query.flatten(2), keys, values, counts)
    wanted = expected_attention(query, keys, values, mask[:, None, None])
    torch.testing.assert_close(found.float(), wanted, rtol=tolerance, atol=tolerance)


@compiled
@pytest.mark.parametrize(("precision", "tolerance"), TOLERANCES)
def test_attention_to_indexed_entries_takes_in_the_newest(precision: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    slots, rows, heads, d_k, entries = 4, 2, 2, 64, 30
    projected = torch.randn(slots, rows, 3, heads, d_k).to(precision)
    cache = torch.full((2, slots, entries, heads * d_k), math.nan).to(precision)  # what is not indexed is not read
    indexed = torch.zeros(slots, rows, 12, dtype=torch.int32)
    counts = torch.tensor([12, 7, 1, 0], dtype=torch.int32)
    mask = torch.zeros(slots, rows, entries, dtype=torch.bool)
    for slot, count in enumerate(counts.tolist()):
        shared = torch.randperm(entries - rows)[: count - 1] if count else torch.empty(0, dtype=torch.int64)
        cache[:, slot, shared] = torch.randn(2, len(shared), heads * d_k).to(precision)
        for row in range(rows if count else 0):
            own = torch.cat([shared, torch.tensor([entries - rows + row])])
            indexed[slot, row, :count] = own.int()
            mask[slot, row, own] = True
    keys, values = cache.unflatten(-1, (heads, d_k)).transpose(2, 3)
    found = attention(heads, d_k, precision)(projected.flatten(2), keys, values, counts, indexed)
    assert torch.equal(cache[0, 0, -rows:], projected[0, :, 1].flatten(1))
    assert torch.equal(cache[1, 0, -rows:], projected[0, :, 2].flatten(1))
    wanted = expected_attention(
        projected[:, :, 0], keys[:slots].nan_to_num(), values[:slots].nan_to_num(), mask[:, None]
    )
    torch.testing.assert_close(found[:3].float(), wanted[:3], rtol=tolerance, atol=tolerance)
    assert not found[3].any()  # a slot without a sentence


@compiled
@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 4e-2)])
@pytest.mark.parametrize("d_model", [16, 256])
def test_norm_of_a_sum(precision: torch.dtype, tolerance: float, d_model: int) -> None:
    torch.manual_seed(1)
    x, y = (torch.randn(2, 7, d_model).mul_(3).add_(1).to(precision) for _ in range(2))
    weight, bias = torch.randn(2, d_model)
    norm = NormOfSum.of(weight, bias, 1e-3, rows=precision)
    assert norm is not None
    wanted = functional.layer_norm(x.float() + y.float(), (d_model,), weight, bias, 1e-3)
    torch.testing.assert_close(norm(x, y).float(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("rows", [1, 4, 5, 16, 17, 33, 150])
@pytest.mark.parametrize(
    ("in_features", "out_features"), [(32, 32), (96, 64), (64, 96), (256, 1024), (704, 64), (2080, 32)]
)
@pytest.mark.parametrize("relu", [False, True])
def test_products_in_tiles(rows: int, in_features: int, out_features: int, relu: bool) -> None:
    """One bf16 number gives what fp32 gives of rounded factors, fp32 or three limbs what it gives of all bits."""
    torch.manual_seed(rows)
    x, bias = torch.randn(rows, in_features), torch.randn(out_features)
    weight = torch.randn(out_features, in_features) / in_features**0.5

    def expected(x: Tensor, weight: Tensor) -> Tensor:
        y = functional.linear(x.double(), weight.double(), bias.double())
        return (y.relu() if relu else y).float()

    rounded = (x.bfloat16(), weight.bfloat16())
    for out, tolerance in ((torch.float32, 3e-5), (torch.bfloat16, 2e-2)) if "bf16" in compute_types() else ():
        linear = tiled(rounded[1], bias, "bf16", out)
        for given in (x, rounded[0]):
            y = linear(given, relu=relu)
            assert y.dtype == out
            torch.testing.assert_close(y.float(), expected(*rounded), rtol=tolerance, atol=tolerance)
    if in_features % 64:
        assert not fits_tiles(weight, compute_type="int8x8", out=torch.float32)
    if in_features % 64 and "int8x8" in compute_types():
        return
    for out, tolerance in ((torch.float32, 3e-6), (torch.bfloat16, 2e-2)):
        linear, without = (
            tiled(weight, each, "int8x8" if "int8x8" in compute_types() else "fp32", out) for each in (bias, None)
        )
        for given in (x, rounded[0]):
            y = linear(given, relu=relu)
            assert y.dtype == out
            torch.testing.assert_close(y.float(), expected(given, weight), rtol=tolerance, atol=tolerance)
        y = without(x).float() + bias
        torch.testing.assert_close(y.relu() if relu else y, expected(x, weight), rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("in_features", [256, 512, 2048])
@pytest.mark.parametrize(("spread", "units"), [(0, 4), (3, 7)])
def test_limbs_are_exact_to_the_largest_number(in_features: int, spread: float, units: float) -> None:
    """Against float64, in units of 2^-24: fp32 libraries were at 5 to 6, whether a row's numbers differ much or not."""
    torch.manual_seed(0)
    x = torch.randn(128, in_features) * 10 ** torch.empty(128, in_features).uniform_(-spread, spread / 3)
    weight = torch.randn(512, in_features)
    exact = functional.linear(x.double(), weight.double())
    found = tiled(weight, None, "int8x8", torch.float32)(x).double() - exact
    assert found.pow(2).mean().sqrt() < units * 2**-24 * exact.pow(2).mean().sqrt()


def error_beside_fp32(linear: TiledLinear | PrepackedLinear, x: Tensor, weight: Tensor) -> float:
    """The largest error, in those that fp32 may make: 2^-24 for each of the products it adds up."""
    exact = functional.linear(x.double(), weight.double())
    return float(((linear(x).double() - exact).abs() / functional.linear(x.abs(), weight.abs())).max() * 2**24)


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("in_features", [64, 512])
def test_outliers_are_left_to_others_where_limbs_would_lose_what_is_beside_them(in_features: int) -> None:
    """Limbs are exact to the row's largest number; where weights make up for it, only fp32 is exact enough."""
    torch.manual_seed(0)
    x, weight = torch.randn(40, in_features), torch.randn(64, in_features)
    x[:, 3] *= 1e6
    error = tiled(weight, None, "int8x8", torch.float32)(x).double() - functional.linear(x.double(), weight.double())
    largest = x.abs().amax(dim=1, keepdim=True) * weight.abs().amax(dim=1)
    assert (error.abs() / largest).max() < 2**-24 * in_features**0.5
    made_up_for = weight * torch.ones(in_features).index_fill(0, torch.tensor(3), 1e-6)
    limbs = TiledLinear(made_up_for, None, compute_type="int8x8", out=torch.float32)
    assert error_beside_fp32(limbs, x, made_up_for) > 1e4
    for small in (made_up_for, weight.index_fill(1, torch.tensor(3), 0.0)):
        assert not fits_tiles(small, compute_type="int8x8", out=torch.float32)
        assert error_beside_fp32(PrepackedLinear(small, None), x, small) < in_features
    assert fits_tiles(made_up_for, compute_type="bf16", out=torch.float32)


@pytest.mark.usefixtures("tiles")
def test_limbs_at_their_ends() -> None:
    """The largest numbers of all signs and sizes, which rounding must not carry over, and rows of nothing."""
    x = torch.tensor([1.0, -1.0]).repeat(32)[None] * 10.0 ** torch.arange(-20, 20)[:, None].float()
    x = torch.cat([x, torch.nextafter(x, torch.zeros(())), torch.rand(40, 1) * x.sign(), torch.zeros(1, 64)])
    x = torch.cat([x, torch.full((1, 64), 1e37)])
    weight = torch.cat([x[:16], x[40:56]]).flip(0)
    found = tiled(weight, None, "int8x8", torch.float32)(x).double()
    exact = functional.linear(x.double(), weight.double())
    assert (found - exact).abs().max(dim=1).values.le(1e-6 * exact.abs().max(dim=1).values).all()


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("compute_type", ["fp32", "bf16", "int8", "int8x8"])
@pytest.mark.parametrize("in_features", [64, 512, 704, 4096])
@pytest.mark.parametrize("biased", [False, True])
def test_a_row_of_tiles_does_not_depend_on_the_others(
    compute_type: ComputeType, in_features: int, biased: bool
) -> None:
    """For any number of rows at any position: rows and inner numbers are taken in stretches."""
    if compute_type not in compute_types():
        pytest.skip(f"no kernels for {compute_type} here")
    torch.manual_seed(0)
    x, bias = torch.randn(300, in_features), torch.randn(64) if biased else None
    linear = tiled(torch.randn(64, in_features), bias, compute_type, torch.float32)
    for relu in (False, True):
        whole = linear(x, relu=relu)
        for start, end in ((0, 1), (3, 20), (100, 233), (299, 300)):
            assert torch.equal(linear(x[start:end], relu=relu), whole[start:end])


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("rows", [1, 17, 33])
def test_products_of_whole_numbers(rows: int) -> None:
    """Numbers of 127 steps come out exactly; any others rounded to them, the rows each by its own largest.

    Of two neighbours in a column of weights the sizes add up to 127 steps at most, which is what AVX2 can take.
    """
    if "int8" not in compute_types():
        pytest.skip("no kernels for int8 here")
    torch.manual_seed(rows)
    whole = torch.randint(-127, 128, (rows, 128)).float()
    weight, bias = torch.randint(-127, 128, (64, 128)).float(), torch.randn(64)
    left = 127 - weight[:, ::2].abs()
    weight[:, 1::2] = weight[:, 1::2].minimum(left).maximum(-left)
    whole[0], weight[1, ::2], weight[1, 1::2] = 127, -64, -63
    whole[:, 0], weight[:, 0], weight[:, 1] = 127, 127, 0
    scale, step = torch.rand(rows, 1) + 0.1, torch.rand(64, 1) + 0.1
    exact = tiled(weight * step, bias, "int8", torch.float32)(whole * scale)
    wanted = (functional.linear(whole, weight).double() * scale * step.T + bias).float()
    torch.testing.assert_close(exact, wanted, rtol=1e-5, atol=1e-3)
    x, other = torch.randn(rows, 256), torch.randn(64, 256) / 16
    rounded = tiled(other, bias, "int8", torch.float32)(x)
    assert (rounded - functional.linear(x, other, bias)).abs().max() < 0.06
    largest = tiled(torch.ones(64, 256), bias, "int8", torch.float32)(torch.ones(rows, 256))
    torch.testing.assert_close(largest, (256 + bias).expand(rows, -1), rtol=0.01, atol=0)
    x[0, 5] = math.nan
    assert tiled(other, bias, "int8", torch.float32)(x)[0].isnan().all()


@pytest.mark.usefixtures("tiles_and_none")
@pytest.mark.parametrize("compute_type", ["fp32", "bf16", "int8", "int8x8"])
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FFFFFFF, -1])
def test_nan_comes_through_products(compute_type: ComputeType, bits: int) -> None:
    """From x, a weight or a bias, also behind the cut at zero, however it is written."""
    if compute_type not in compute_types():
        pytest.skip(f"no kernels for {compute_type} here")
    none = torch.tensor(bits, dtype=torch.int32).view(torch.float32)
    for spoilt in range(3):
        x, weight, bias = torch.ones(3, 64), torch.ones(32, 64), torch.ones(32)
        (x[1], weight[5], bias[5:])[spoilt][0] = none
        for out in (torch.float32, torch.bfloat16):
            y = tiled(weight, bias, compute_type, out)(x, relu=True)
            assert (y[1] if spoilt == 0 else y[:, 5]).isnan().all()


@compiled
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FFFFFFF, -1])
def test_nan_comes_through_norms(bits: int) -> None:
    weight, bias = torch.ones(2, 32)
    bias[3] = torch.tensor(bits, dtype=torch.int32).view(torch.float32)
    for precision in (torch.float32, torch.bfloat16):
        norm = NormOfSum.of(weight, bias, 1e-5, rows=precision)
        assert norm is not None
        assert norm(torch.ones(2, 32).to(precision), torch.ones(2, 32).to(precision))[:, 3].isnan().all()


@pytest.mark.skipif(os.environ.get("MT_NATIVE") == "0", reason="MT_NATIVE=0 asks for no kernels")
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc").split()[0]) is None, reason="no C compiler here")
def test_a_compiler_makes_kernels() -> None:
    """Otherwise all tests of kernels would be skipped, and a fault in them would pass."""
    assert library.kernels() is not None
    if torch.backends.cpu.get_cpu_capability() == "AVX2" or "-DLANES=8" in os.environ.get("CC", ""):
        assert "int8" in compute_types()


def test_heads_that_are_too_wide_are_left_to_torch() -> None:
    for d_k in (272, 512, 24):
        assert IndexedAttention.of(num_heads=1, d_k=d_k, precision=torch.float32, device=CPU) is None


def tiled(weight: Tensor, bias: Tensor | None, compute_type: ComputeType, out: torch.dtype) -> TiledLinear:
    assert fits_tiles(weight, compute_type=compute_type, out=out)
    return TiledLinear(weight, bias, compute_type=compute_type, out=out)


def test_sizes_that_fill_no_tiles_are_left_to_others() -> None:
    for shape, compute_type in (((40, 32), "bf16"), ((32, 40), "bf16"), ((32, 96), "int8"), ((64, 96), "int8x8")):
        assert not fits_tiles(torch.zeros(shape), compute_type=compute_type, out=torch.float32)
    assert not fits_tiles(torch.zeros(32, 32, dtype=torch.float64), compute_type="bf16", out=torch.float32)


@compiled
@pytest.mark.parametrize("vocab_size", [1, 5, 16, 127, 128, 300, 8064])
@pytest.mark.parametrize("beam", [1, 4])
def test_ranking_is_that_of_torch(vocab_size: int, beam: int) -> None:
    """Order, ties, dead beam, forbidden tokens, rows that must end; fewer extensions than asked for."""
    eos, sentences, generator = min(2, vocab_size - 1), 6, torch.Generator().manual_seed(vocab_size)
    forbidden = [] if vocab_size < 5 else [0, 3]
    for coarse in (False, True):
        logits = torch.randn(sentences * beam, vocab_size, generator=generator) * 3
        totals = -torch.rand(sentences, beam, generator=generator) * 5
        logits, totals = (logits.round(), totals * 0) if coarse else (logits, totals)
        totals[0, 1:] = -math.inf
        end_only = torch.arange(sentences * beam) // beam == 1
        count = 2 * beam - 1
        settings = {"forbidden": forbidden, "eos": eos, "end_only": end_only}
        wanted, extensions = best_extensions(logits.clone(), totals.numpy(), count, **settings)
        wider = functional.pad(logits, (0, 5), value=9.0)[:, :vocab_size]  # as rows that fill tiles up leave it
        found, chosen = ranked_extensions(wider, totals.numpy(), count, **settings)
        finite = found > -math.inf
        assert (finite[:, : wanted.shape[1]] == np.isfinite(wanted)).all()
        width = wanted.shape[1]
        np.testing.assert_allclose(found[:, :width], wanted, atol=4e-6)
        if not coarse:  # log-probabilities that are equal in fp32 may be rounded apart by torch
            assert (chosen[:, :width] == extensions)[finite[:, :width]].all()
        else:
            for values, ranked in zip(found, chosen, strict=True):
                order = np.lexsort((ranked, -values))
                assert (order == np.arange(len(order)))[values > -math.inf].all()


@compiled
def test_nan_has_no_extension() -> None:
    logits = torch.randn(3, 300)
    logits[0, 7], logits[1, 299] = math.nan, math.nan
    found, _ = ranked_extensions(logits, np.zeros((3, 1), np.float32), 1, forbidden=[], eos=2, end_only=None)
    assert (found[:2] == -math.inf).all()
    assert found[2] > -math.inf


def test_what_is_not_contiguous_fp32_is_ranked_by_the_plain_form() -> None:
    logits, settings = torch.randn(300, 4), {"forbidden": [0], "eos": 2, "end_only": None}
    for given in (logits.T, logits.T.double().contiguous()):
        wanted = best_extensions(given.clone(), np.zeros((2, 2)), 3, **settings)
        for found, expected in zip(ranked_extensions(given, np.zeros((2, 2)), 3, **settings), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


WITHOUT = "from mt.fast.native.library import kernels; kernels(); raise SystemExit(kernels() is not None)"


@pytest.mark.reliability(25)
@pytest.mark.parametrize(
    "environment",
    [{"MT_NATIVE": "0"}, {"CC": "there-is-no-such-compiler"}, {"CC": "false"}, {"CC": "true"}, {"CC": "FOREIGN"}],
    ids=["refused", "missing", "failing", "idle", "foreign"],
)
def test_without_a_compiler_there_are_no_kernels(environment: dict[str, str], tmp_path: Path) -> None:
    """Also where it makes a library that is not ours. One line says so, unless that was asked for."""
    if environment.get("CC") == "FOREIGN":
        foreign = tmp_path / "foreign"
        foreign.write_text('#!/bin/sh\nfor one; do [ "$last" = -o ] && made=$one; last=$one; done\n', encoding="utf-8")
        with foreign.open("a", encoding="utf-8") as script:
            script.write('echo "int x;" | cc -shared -x c -o "$made" -\n')
        foreign.chmod(0o755)
        environment = {"CC": str(foreign)}
    settings = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(sys.path),
        "MT_KERNELS_DIR": str(tmp_path),
    } | environment
    done = subprocess.run([sys.executable, "-c", WITHOUT], check=False, env=settings, capture_output=True, text=True)
    assert done.returncode == 0
    assert not list(tmp_path.glob("*.so"))
    reported = r"compiled kernels are not available \(.+\); torch's operations are used, more slowly\n"
    assert re.fullmatch("" if "MT_NATIVE" in environment else reported, done.stderr), done.stderr


@compiled
def test_structures_of_other_sizes_are_refused(monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    monkeypatch.setattr(library, "_STRUCTURES", (library.Norm, *library._STRUCTURES[1:]))
    with pytest.raises(OSError, match="structures of other sizes"):
        library._opened(built)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as a new process compiles it into its cache, with a compiler that has options."""
    folder = tmp_path_factory.mktemp("built")
    assert has_kernels(
        {"CC": "cc -g0 -Ofast -funsafe-math-optimizations -ffinite-math-only", "MT_KERNELS_DIR": str(folder)}
    )
    [library_file] = folder.iterdir()
    return library_file


@pytest.fixture
def copying(built: Path, tmp_path: Path) -> str:
    """A compiler that copies what was built."""
    script = tmp_path / "copying"
    script.write_text(f'#!/bin/sh\nfor one; do [ "$last" = -o ] && cp {built} "$one"; last=$one; done\n', "utf-8")
    script.chmod(0o755)
    return str(script)


def has_kernels(settings: dict[str, str]) -> bool:
    """Whether a new process with these settings has the kernels."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)} | settings
    code = subprocess.run([sys.executable, "-c", WITHOUT], check=False, env=environment).returncode
    assert code in (0, 1)
    return code == 1


@compiled
def test_a_compiler_may_have_options_but_none_changes_results(built: Path, tmp_path: Path) -> None:
    assert built.name.startswith("kernels-")
    assert has_kernels({"CC": "cc", "MT_KERNELS_DIR": str(tmp_path)})
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [built.read_bytes()]


def test_another_version_of_the_compiler_builds_another_library(tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    marks = set()
    for version in ("12", "13"):
        compiler.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        compiler.chmod(0o755)
        marks.add(library._mark([str(compiler)]))
    assert len(marks) == 2


@pytest.mark.reliability(25)
@compiled
@pytest.mark.parametrize("exposed", ["nothing", "folder", "file", "link", "linked folder"])
def test_a_library_that_others_could_plant_is_not_loaded(
    tmp_path: Path, copying: str, exposed: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """It would run code of its own when it is loaded. In a folder of the user's alone it is taken, as it must be."""
    (tmp_path / "hostile.c").write_text(
        f'#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ fclose(fopen("{tmp_path}/ran", "w")); }}\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "hostile.so", tmp_path / "hostile.c"], check=True)
    hostile, cache = (tmp_path / "hostile.so").read_bytes(), tmp_path / "cache"
    cache.mkdir(mode=0o700)
    planted = cache / f"kernels-{library._mark([copying])}-{library._digest(hostile)}.so"
    planted.write_bytes(hostile)
    planted.chmod(0o720 if exposed == "file" else 0o700)
    if exposed == "folder":
        cache.chmod(0o720)
    elif exposed == "link":
        planted.symlink_to(planted.rename(tmp_path / "elsewhere"))
    elif exposed == "linked folder":
        cache.symlink_to(cache.rename(tmp_path / "elsewhere"))
    assert has_kernels({"CC": copying, "MT_KERNELS_DIR": str(cache)})
    assert (tmp_path / "ran").exists() == (exposed == "nothing")
    refused = f"{cache}: open to others, so kernels are compiled for this process only"
    assert (refused in capfd.readouterr().err) == ("folder" in exposed)
    assert len(list(cache.iterdir())) == (1 if "folder" in exposed else 2)


@pytest.mark.reliability(25)
@compiled
def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path, copying: str) -> None:
    (tmp_path / "file").touch()
    for folder, cached in (("cache", 1), ("cache", 1), ("file/beneath", 0)):
        assert has_kernels({"CC": copying, "MT_KERNELS_DIR": str(tmp_path / folder)})
        assert len(list((tmp_path / folder).glob("*"))) == cached
    assert has_kernels({"CC": copying, "MT_KERNELS_DIR": str(tmp_path / ("a" * 300))})  # not even looked at


@compiled
def test_a_library_is_built_where_it_stays(tmp_path: Path, copying: str) -> None:
    """And not in /tmp, from which some systems load nothing; there only if no room is left."""
    script, cache = Path(copying), tmp_path / "cache"
    script.write_text(script.read_text("utf-8").replace("cp ", f'[ "${{one#{cache}/}}" != "$one" ] && cp '), "utf-8")
    assert has_kernels({"CC": copying, "MT_KERNELS_DIR": str(cache)})
    [cached] = cache.iterdir()
    cached.unlink()
    script.write_text(script.read_text("utf-8").replace('!= "$one"', '= "$one"'), "utf-8")
    assert has_kernels({"CC": copying, "MT_KERNELS_DIR": str(cache)})


@pytest.mark.reliability(25)
@compiled
def test_a_damaged_library_is_built_again(tmp_path: Path, copying: str) -> None:
    settings = {"CC": copying, "MT_KERNELS_DIR": str(tmp_path / "cache")}
    assert has_kernels(settings)
    [cached] = (tmp_path / "cache").iterdir()
    whole = cached.read_bytes()
    for damaged in (b"", whole[:1000], b"text"):
        cached.write_bytes(damaged)
        assert has_kernels(settings)
        assert cached.read_bytes() == whole
