"""Products of bfloat16 and of bytes on a processor's matrix unit (AMX). Where there is none, or the compiler does not
know it, the same text does the unit's steps in plain C: that is what runs here then, and what the unit, or an emulated
one, is held against.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc import driver
from graphc.codegen import target_of
from graphc.ir.target import instruction_sets
from graphc.ir.trees import CHUNKS
from graphc.runtime import backend as backends
from graphc.runtime import compiler, cpu
from graphc.tolerances import equal_bits

STEP = 32       # products of bfloat16 in a step
BYTES = np.int8, np.uint8
SHAPES = [(3, 5, 9), (8, 32, 16), (17, 33, 15), (33, 100, 70), (70, 513, 129), (40, 64, 300), (1, 200, 20)]

pytestmark = [pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of x86-64"),
              pytest.mark.skipif("amx_tile" in instruction_sets() and not cpu.has_matrix_unit(), reason="not allowed"),
              pytest.mark.skipif(backends.status()["cpu"] is not None, reason="there is no C compiler")]


@pytest.fixture(autouse=True)
def tiles(monkeypatch) -> Iterator[None]:
    """The CPU with the dialect of such a processor."""
    monkeypatch.setattr(backends.get("cpu"), "dialect", "c-amx")
    driver.forget_programs()
    with gc.backend("cpu"):
        yield
    driver.forget_programs()


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def narrow(*shape: int) -> gc.Tensor:
    return gc.realize(gc.asarray(numbers(*shape)).astype(gc.bfloat16))


def exactly(tensor: gc.Tensor) -> np.ndarray:
    return tensor.astype(gc.float32).numpy()


def rounded(values: np.ndarray) -> np.ndarray:
    return gc.asarray(values).astype(gc.bfloat16).numpy()


def octets(dtype, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(shape).integers(info.min, info.max + 1, shape).astype(dtype)


def is_on_unit(*tensors: gc.Tensor) -> bool:
    (kernel,) = gc.plan(*tensors).kernels
    return "gc_mma(" in kernel.source


def in_steps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The order of docs/numerics.md: of each step the even products and the odd ones, then both to the sum so far.
    float64 holds a product of bfloat16, and nearly always its sum with a float32, exactly."""
    def fma(x, y, c):
        return (x.astype(np.float64) * y.astype(np.float64) + c).astype(np.float32)
    (m, k), n = a.shape, b.shape[1]
    total = None
    for first in range(0, k, CHUNKS["mma"]):
        part = np.zeros((m, n), np.float32)
        for step in range(first, min(first + CHUNKS["mma"], k), STEP):
            sums = [np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)]
            for p in range(step, min(step + STEP, k)):
                sums[p % 2] = fma(a[:, p, None], b[None, p], sums[p % 2])
            part = part + (sums[0] + sums[1])
        total = part if total is None else total + part
    return total


@pytest.mark.parametrize("m, k, n", [s for s in SHAPES if s[0] > 2])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_bfloat16_in_the_order_of_the_unit(m, k, n, turned):
    a, b = narrow(*((k, m) if turned[0] else (m, k))), narrow(*((n, k) if turned[1] else (k, n)))
    a, b = (x.mT if t else x for x, t in zip((a, b), turned, strict=True))
    assert is_on_unit(a @ b)
    assert equal_bits((a @ b).numpy(), rounded(in_steps(exactly(a), exactly(b))))


def test_long_sums_are_of_chunks():
    a, b = narrow(20, 2 * CHUNKS["mma"] + 77), narrow(2 * CHUNKS["mma"] + 77, 30)
    assert equal_bits((a @ b).numpy(), rounded(in_steps(exactly(a), exactly(b))))


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
@pytest.mark.parametrize("m, k, n", SHAPES)
@pytest.mark.parametrize("dialect", ["c-amx", "c-pairs", "c-bytes"])
def test_bytes_are_exact(dialect, left, right, m, k, n, monkeypatch):
    monkeypatch.setattr(backends.get("cpu"), "dialect", dialect)
    for turned in ((False, False), (True, False), (False, True), (True, True)):
        a, b = octets(left, *((k, m) if turned[0] else (m, k))), octets(right, *((n, k) if turned[1] else (k, n)))
        a, b = (x.T if t else x for x, t in zip((a, b), turned, strict=True))
        product = gc.asarray(a).astype(gc.int32) @ gc.asarray(b).astype(gc.int32)
        assert is_on_unit(product)
        assert equal_bits(product.numpy(), a.astype(np.int32) @ b.astype(np.int32))


def test_sums_of_bytes_wrap():
    k = 140_000
    a, b = np.full((5, k), 255, np.uint8), np.full((k, 9), 255, np.uint8)
    got = (gc.asarray(a).astype(gc.int32) @ gc.asarray(b).astype(gc.int32)).numpy()
    wrapped = (k * 255 * 255 + 2**31) % 2**32 - 2**31
    assert equal_bits(got, np.full((5, 9), wrapped, np.int64).astype(np.int32))
    a, b = (gc.realize(gc.full(s, 255, dtype=gc.uint8)) for s in ((140, k), (k, 3)))       # one product, of many chunks
    whole = a.astype(gc.int32) @ b.astype(gc.int32)
    assert is_on_unit(whole) and (whole.numpy() == wrapped).all()


def test_rows_and_columns_in_several_parts(monkeypatch):
    """Of what is laid out, as with a small cache."""
    from graphc.codegen import mma_c

    a, b = narrow(300, 700), narrow(700, 333)
    monkeypatch.setattr(mma_c, "l2_bytes", lambda: 1 << 18)
    monkeypatch.setattr(mma_c, "FAR", 1 << 17)
    assert equal_bits((a @ b).numpy(), rounded(in_steps(exactly(a), exactly(b))))


FUSED = {       # with what the product is of
    "computed factors": lambda a, b: (gc.relu(a + 1), b * 2),
    "a cast": lambda a, b: ((a.astype(gc.float32) * 0.3).astype(gc.bfloat16), b),
    "flipped": lambda a, b: (gc.flip(a, axis=1), gc.flip(b, axis=0)),
    "every other one": lambda a, b: (a[:, ::2], b[::2]),
    "repeated": lambda a, b: (gc.broadcast_to(a[:1], a.shape), b),
}


@pytest.mark.parametrize("name", FUSED)
def test_factors_are_computed_as_they_are_laid_out(name):
    a, b = FUSED[name](narrow(50, 90), narrow(90, 40))
    assert is_on_unit(a @ b)
    assert equal_bits((a @ b).numpy(), rounded(in_steps(exactly(a), exactly(b))))


def test_what_becomes_of_sums_is_in_the_same_kernel():
    a, b, bias = narrow(50, 90), narrow(90, 40), narrow(40)
    product = exactly(a @ b)
    found = gc.relu(a @ b + bias)
    assert is_on_unit(found)
    assert equal_bits(exactly(found), np.maximum(exactly(gc.asarray(product).astype(gc.bfloat16) + bias), 0))
    x, y = octets(np.int8, 30, 70), octets(np.int8, 70, 20)
    scaled = (gc.asarray(x).astype(gc.int32) @ gc.asarray(y).astype(gc.int32)).astype(gc.float32) * 0.5
    assert is_on_unit(scaled)
    assert equal_bits(scaled.numpy(), (x.astype(np.int32) @ y.astype(np.int32)).astype(np.float32) * np.float32(0.5))


def test_stacks():
    a, b = narrow(3, 20, 40), narrow(3, 40, 25)
    got = (a @ b).numpy()
    assert is_on_unit(a @ b)
    for s in range(3):
        assert equal_bits(got[s], rounded(in_steps(exactly(a)[s], exactly(b)[s])))
    shared = narrow(40, 25)
    assert equal_bits((a @ shared).numpy()[1], rounded(in_steps(exactly(a)[1], exactly(shared))))


@pytest.mark.parametrize("size", [(9, 8), (30, 41)])
@pytest.mark.parametrize("options", [{"padding": 1}, {"stride": 2}, {"padding": 2, "dilation": 2}])
def test_a_convolution(size, options):
    """Its windows are copied run by run."""
    x, w = narrow(2, 3, *size), narrow(12, 3, 3, 3)
    assert is_on_unit(gc.conv2d(x, w, **options))
    got = exactly(gc.conv2d(x, w, **options))
    rest = {"stride": 1, "dilation": 1} | options
    around = rest.pop("padding", 0)
    padded = gc.pad(x.astype(gc.float32), ((0, 0), (0, 0), (around, around), (around, around)))
    windows = gc.sliding_window_view(padded, (3, 3), (2, 3), **rest).numpy()     # image, channel, place, window
    columns = windows.transpose(1, 4, 5, 0, 2, 3).reshape(27, -1)
    want = rounded(in_steps(exactly(w).reshape(12, 27), columns)).astype(np.float32)
    assert equal_bits(got.transpose(1, 0, 2, 3).reshape(want.shape), want)


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("around, is_byte", [(0, True), (100, True), (300, False)])
def test_a_convolution_of_bytes_with_padding(left, around, is_byte):
    """What is around the image is int32, as the image is where it meets that; but it is a byte."""
    x, w = octets(left, 2, 3, 9, 21), octets(np.int8, 12, 3, 3, 3)
    wide = gc.asarray(x).astype(gc.int32)
    padded = gc.pad(wide, ((0, 0), (0, 0), (1, 1), (2, 2)), constant_values=around)
    found = gc.conv2d(padded, gc.asarray(w).astype(gc.int32))
    assert is_on_unit(found) == is_byte
    image = np.pad(x.astype(np.int32), ((0, 0), (0, 0), (1, 1), (2, 2)), constant_values=around)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    assert equal_bits(found.numpy(), np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int32)))
    if not around:
        assert is_on_unit(gc.conv2d(wide, gc.asarray(w).astype(gc.int32), padding=1))


@pytest.mark.filterwarnings("error")
def test_padding_of_widened_bytes_that_is_no_number():
    """Not looked at as a byte, of which NumPy would warn."""
    x, w = gc.realize(gc.asarray(octets(np.int8, 1, 4, 9, 9))).astype(gc.float32), gc.asarray(numbers(4, 4, 3, 3))
    found = gc.conv2d(gc.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan), w).numpy()
    assert np.isnan(found[..., 0, 0]).all() and np.isfinite(found[..., 1:-1, 1:-1]).all()


@pytest.mark.parametrize("padding", [2, 3])
def test_a_run_that_lies_in_padding_and_is_cut(padding):
    """Of a row above or below the image, at its left end, where a square of what is computed ends."""
    for size in range(9, 40):
        x, w = narrow(1, 8, 13, size), narrow(8, 8, 1, 1)
        around = np.pad(exactly(x), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
        want = rounded(in_steps(exactly(w).reshape(8, 8), around.reshape(8, -1)))
        got = gc.conv2d(x, w, padding=padding)
        assert is_on_unit(got)
        assert equal_bits(got.numpy().reshape(want.shape), want)


def test_small_numbers_are_the_same_for_any_number_of_threads():
    """Also where a subnormal factor, which the unit does not take, is somewhere near."""
    a = np.full((4200, 32), 2.0**-70, np.float32)
    a[-1, 0] = 2.0**-128
    a, b = gc.asarray(a).astype(gc.bfloat16), gc.asarray(np.full((32, 20), 2.0**-60, np.float32)).astype(gc.bfloat16)
    want = rounded(in_steps(exactly(a), exactly(b)))
    assert (exactly(gc.asarray(want))[:-1] == 32 * 2.0**-130).all()
    for threads in (1, 2, 3, 8):
        with gc.config.settings.override(num_threads=threads):
            driver.forget_programs()
            assert equal_bits((a @ b).numpy(), want)


@pytest.mark.parametrize("power", [50, 55, 60, 65, 70, 75])
def test_products_and_sums_below_the_normal_numbers(power):
    """Gradual underflow, as of the reference."""
    a, b = (gc.asarray(numbers(*s) * np.float32(2.0**-power)).astype(gc.bfloat16) for s in ((40, 70), (70, 50)))
    assert equal_bits((a @ b).numpy(), rounded(in_steps(exactly(a), exactly(b))))


def test_nan_and_infinity_stay():
    a, b = numbers(8, 40), np.abs(numbers(40, 8)) + 1
    a[0, 3], a[1, 35], a[2, 0], a[2, 1], a[3, 3] = np.nan, np.inf, np.inf, -np.inf, -np.inf
    got = exactly(gc.asarray(a).astype(gc.bfloat16) @ gc.asarray(b).astype(gc.bfloat16))
    assert np.isnan(got[[0, 2]]).all() and (got[1] == np.inf).all() and (got[3] == -np.inf).all()
    assert np.isfinite(got[4:]).all()


@pytest.mark.parametrize("where", ["a", "b"])
def test_subnormal_factors_count(where):
    """The unit takes them for 0, so that others have to multiply them."""
    small, large = np.where(numbers(40, 70) > 1, np.float32(2.0**-128), 0), numbers(70, 50) * np.float32(2.0**120)
    a, b = (gc.asarray(x).astype(gc.bfloat16) for x in ((small, large) if where == "a" else (large.T, small.T)))
    want = in_steps(exactly(a), exactly(b))
    assert is_on_unit(a @ b) and np.abs(want).max() > 2.0**-9
    assert equal_bits((a @ b).numpy(), rounded(want))


def test_threads_change_no_bit():
    a, b = narrow(150, 260), narrow(260, 170)
    found = []
    for threads in (1, 2, 3):
        with gc.config.settings.override(num_threads=threads):
            driver.forget_programs()
            found.append((a @ b).numpy())
    assert equal_bits(found[0], found[1]) and equal_bits(found[0], found[2])


def test_bytes_without_tiles(monkeypatch):
    """A process that may not use them would end at the first one."""
    monkeypatch.setattr(backends.get("cpu"), "dialect", "c-bytes")
    a, b = gc.zeros((20, 40), dtype=gc.int8), gc.zeros((40, 30), dtype=gc.int8)
    (kernel,) = gc.plan(gc.realize(a).astype(gc.int32) @ gc.realize(b).astype(gc.int32)).kernels
    assert "gc_mma(" in kernel.source and "tdp" not in kernel.source and "ldtilecfg" not in kernel.source


BITS = """
import ctypes
import hashlib
import sys
import numpy as np
import graphc as gc
from graphc import driver
driver.current_backend().dialect = sys.argv[1]
if len(sys.argv) > 2:
    assert ctypes.CDLL(sys.argv[2]).emulate() == 0
random, bits = np.random.default_rng(5), hashlib.sha256()


def hold(a, b, power=0):
    a, b = (gc.asarray((x * 2.0**power).astype("float32")).astype(gc.bfloat16) for x in (a, b))
    bits.update((a @ b).numpy().tobytes())


for m, k, n in ((17, 33, 15), (64, 128, 96), (40, 5000, 70)):
    a, b = random.standard_normal((m, k)), random.standard_normal((k, n))
    a[0, 0], a[1, 1], a[2, 2] = 0, np.inf, -np.inf
    hold(a, b)
    for left in ("int8", "uint8"):
        for right in ("int8", "uint8"):
            x, y = (gc.asarray(random.integers(-128, 256, s).astype(t)) for s, t in (((m, k), left), ((k, n), right)))
            bits.update((x.astype(gc.int32) @ y.astype(gc.int32)).numpy().tobytes())
for power in range(-75, -40):       # about where the products' last places are not normal numbers any more
    hold(a[:33, :100], b[:100, :33], power)
    hold(np.sign(a[:33, :100]) + np.eye(33, 100), np.sign(b[:100, :33]), power)     # all of one magnitude, or 0
for power in (-127, -130, 60):
    a, b = random.standard_normal((50, 70)), random.standard_normal((70, 40))
    a[random.integers(50), random.integers(70)] *= 2.0**power
    b[random.integers(70), random.integers(40)] *= 2.0**power
    hold(a, b)
small, large = np.where(random.standard_normal((40, 70)) > 1, 2.0**-130, 0), random.standard_normal((70, 40)) * 2.0**120
hold(small, large)
hold(large.T, small.T)
for m in range(129, 255):           # m**2 - (m - 1) * (m + 1): the last place of the products is all that is left
    a, b = np.zeros((20, 40)), np.zeros((40, 20))
    a[:, :2], b[:2] = (m, 1 - m), [[m], [m + 1]]
    hold(a / 128, b / 128, -55 - m % 4)
print(bits.hexdigest())
"""


@pytest.fixture(scope="module")
def bits(tmp_path_factory):
    """A hash of many results, where the C compiler is given some flags; perhaps with an emulated unit."""
    folder, cc = tmp_path_factory.mktemp("bits"), compiler.find_compiler()

    def found(*flags: str, unit: Path | None = None, dialect: str = "c-amx") -> str:
        own = {"GRAPHC_CACHE_DIR": str(folder / "cache"), "GRAPHC_BACKEND": "cpu",
               "GRAPHC_CC": " ".join([*cc.command, *flags])}
        done = subprocess.run([sys.executable, "-c", BITS, dialect, *([str(unit)] if unit else [])],
                              env=os.environ | own, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    found.plain = found("-U__AMX_TILE__")
    return found


@pytest.mark.parametrize("flags", [["-U__AVX512VNNI__"], ["-mno-avx512f"], ["-U__AVX2__"]])
def test_plain_c_has_the_same_bits_with_other_vectors(bits, flags):
    assert bits("-U__AMX_TILE__", *flags) == bits.plain


@pytest.mark.parametrize("flags", [[], ["-U__AVX512BF16__", "-U__AVX512VNNI__"], ["-mno-avx512f"]])
def test_pairs_are_chains_of_fma(bits, flags):
    """Whoever multiplies them, and however small they are: the bits of processors that have nothing for bfloat16."""
    assert bits(*flags, dialect="c-pairs") == bits(dialect="c")


@pytest.mark.skipif(not cpu.has_matrix_unit(), reason="the processor has no matrix unit")
def test_plain_c_has_the_bits_of_the_unit(bits):
    assert bits() == bits.plain


@pytest.mark.skipif(cpu.TILES <= instruction_sets(), reason="the processor has a matrix unit")
@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
def test_plain_c_has_the_bits_of_an_emulated_unit(bits, tmp_path):
    """Which takes all that is below the normal numbers for 0."""
    unit = tmp_path / "unit.so"
    done = subprocess.run([*compiler.find_compiler().command, "-O2", "-march=native", "-ffp-contract=off", "-fPIC",
                           "-shared", "-o", unit, Path(__file__).with_name("emulated_amx.c"), "-lm"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert bits("-D__AMX_TILE__", unit=unit) == bits.plain


def test_a_processor_that_has_no_tiles_or_may_not_use_them(monkeypatch):
    monkeypatch.setattr(cpu, "instruction_sets", lambda: frozenset({"avx512f", "amx_tile"}))
    assert cpu.CpuBackend().dialect == "c" and target_of("c").matrix == ()
    monkeypatch.setattr(cpu, "instruction_sets", lambda: frozenset({"avx512f", "avx512_vnni"}))
    assert cpu.CpuBackend().dialect == "c-bytes" and target_of("c-bytes").matrix == ("int8",)
    monkeypatch.setattr(cpu, "instruction_sets", lambda: frozenset({"avx512f", "avx512_vnni", "avx512_bf16"}))
    assert cpu.CpuBackend().dialect == "c-pairs" and target_of("c-pairs").matrix == ("int8",)
    assert target_of("c-pairs").pairs == ("bfloat16",) and target_of("c-amx").pairs == ()
    monkeypatch.setattr(cpu, "instruction_sets", lambda: frozenset({"avx2", "fma"}))
    assert cpu.CpuBackend().dialect == "c-bytes"
    assert target_of("c-amx").matrix == ("bfloat16", "int8")
