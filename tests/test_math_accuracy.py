"""Transcendental functions on the cpu backend: how far off they are, special values, and bits that no loop changes.

`pytest -s` prints the table of errors. A long run (.ci/long --programs 20000) goes through all float32 values.
"""
from __future__ import annotations

import ctypes
import math
import os
import platform
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import graphc as gc
from graphc.codegen import environment, helpers_c
from graphc.ir.dtype import by_name
from graphc.ir.ops import get
from graphc.runtime.build import build
from graphc.runtime.compiler import Job, find_compiler
from graphc.tolerances import ULPS, spacing, words

ONE = [name for name in ULPS if get(name).arity == 1]
TWO = [name for name in ULPS if get(name).arity == 2]
# Bounds of the functions that are inlined (docs/math.md); the others are the C library's and have the table's bound.
INLINED = {("exp", "float32"): 2.2, ("exp2", "float32"): 1.7, ("expm1", "float32"): 1.7, ("log1p", "float32"): 1.7,
           ("tanh", "float32"): 2.5, ("erf", "float32"): 2.5, ("exp", "float64"): 2,
           ("cbrt", "float32"): 0.8, ("cbrt", "float64"): 0.8}
NUMPY = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
LENGTHS = [*range(1, 20), 31, 33, 63, 64, 65, 127, 129, 255, 1000, 1027]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-3, 20.0, -20.0, math.inf, -math.inf, math.nan]


@pytest.fixture(autouse=True)
def only_cpu(backend):
    if backend != "cpu":
        pytest.skip("about generated C")


def truth(name: str, *arrays: np.ndarray) -> np.ndarray:
    """In the next wider type."""
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64 if a.dtype == np.float32 or name == "erf" else np.longdouble) for a in arrays]
        return get(name).numpy((), by_name(str(arrays[0].dtype)), arrays[0].shape, *wide)


def errors(name: str, *arrays: np.ndarray) -> np.ndarray:
    """In units of the last place; infinite where one is NaN and the other is not, or a zero has the wrong sign."""
    dtype = by_name(str(arrays[0].dtype))
    got, want = getattr(gc, name)(*map(gc.asarray, arrays)).numpy(), truth(name, *arrays)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        off = np.abs(got - want) / spacing(want, dtype)
        edge = np.isinf(got) & (np.abs(want) >= np.finfo(got.dtype).max)         # one ulp decides on infinity
    off = np.where((got == rounded) | (np.isnan(got) & np.isnan(rounded)), np.where(np.isfinite(off), off, 0), off)
    off = np.where(edge & (np.sign(got) == np.sign(want)), np.minimum(off, 1), off)
    off = np.where((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)), np.inf, off)
    return np.where(np.isnan(off), np.inf, off).astype(np.float64)


def doubles(count: int, seed: int) -> np.ndarray:
    """Numbers of all sizes, ordinary ones and some near 1."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        parts = (rng.integers(0, 1 << 64, count, np.uint64).view(np.float64), rng.normal(0, 10, count),
                 rng.uniform(0, 1000, count), 1 + rng.normal(0, 1e-3, count), rng.uniform(-750, 750, count))
    return np.concatenate(parts)


# ----------------------------------------------------------------------------------------------------- accuracy

def report(name: str, dtype: str, off: float, at) -> None:
    bound = INLINED.get((name, dtype), ULPS[name][dtype])
    print(f"\n{name:8}{dtype:10}{off:6.2f} ulp at {at}, bound {bound}", end="")
    assert off <= bound, f"{name} of {dtype} is {off:.2f} ulp off at {at}"


@pytest.mark.parametrize("name", ONE)
@pytest.mark.timeout(7200)
def test_float32(name, programs):
    step = 1 if programs >= 20_000 else 4093
    worst, at = 0.0, None
    for first in range(0, 1 << 32, 1 << 24 if step == 1 else 1 << 32):
        last = first + (1 << 24) if step == 1 else 1 << 32
        x = np.arange(first, last, step, dtype=np.uint64).astype(np.uint32).view(np.float32)
        off = errors(name, x)
        k = int(off.argmax())
        if off[k] > worst:
            worst, at = float(off[k]), x[k]
    report(name, "float32", worst, at)


@pytest.mark.parametrize("name", ONE)
def test_float64(name):
    x = doubles(100_000, 1)
    off = errors(name, x)
    report(name, "float64", float(off.max()), x[off.argmax()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TWO)
def test_of_two(name, dtype):
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 10, (2, 200_000)).astype(dtype)
    if name == "pow":
        x = np.abs(x)
    off = errors(name, x, y)
    report(name, dtype, float(off.max()), (x[off.argmax()], y[off.argmax()]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hypot_of_numbers_of_all_sizes(dtype):
    """Squares overflow from half of the exponents on, and below half of them they vanish."""
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    x, y = rng.normal(0, 1, (2, 200_000)).astype(dtype)
    power = rng.integers(info.minexp - info.nmant, info.maxexp, x.size)
    with np.errstate(over="ignore"):
        x, y = np.ldexp(x, power), np.ldexp(y, power + rng.integers(-info.nmant, info.nmant, x.size))
    off = errors("hypot", x, y)
    assert off.max() <= 1.25, (x[off.argmax()], y[off.argmax()])
    x, y = (part.ravel().copy() for part in np.meshgrid(edges(dtype), edges(dtype)))
    assert errors("hypot", x, y).max() <= 1.25


# ----------------------------------------------------------------------------------------------- special values

def edges(dtype) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = np.array([info.max, info.tiny, info.smallest_subnormal, info.tiny / 2, info.eps], dtype)
    near = [np.log(info.max), np.log(info.tiny), np.log(info.smallest_subnormal), np.log2(info.max), info.minexp, 1]
    near = np.array(near, dtype)
    return np.concatenate([np.array(SPECIAL, dtype), sizes, -sizes, near, np.nextafter(near, dtype(np.inf)),
                           np.nextafter(near, dtype(-np.inf))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONE)
def test_special_values(name, dtype):
    x = edges(dtype)
    got, off = getattr(gc, name)(gc.asarray(x)).numpy(), errors(name, x)
    assert off.max() <= ULPS[name][np.dtype(dtype).name], f"{got[off.argmax()]} at {x[off.argmax()]!r}"
    with np.errstate(all="ignore"):
        want = get(name).numpy((), by_name(str(x.dtype)), x.shape, x)
    exact = np.isnan(want) | (want == 0) & (x == 0) | np.isinf(want) & np.isinf(x)
    np.testing.assert_array_equal(words(got[exact]), words(want[exact]))


# --------------------------------------------------------------------------------- the same bits, whatever the loop

@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_bits_do_not_depend_on_length_or_offset(name, dtype):
    x = np.concatenate([edges(np.dtype(dtype).type), np.random.default_rng(3).normal(0, 5, 1100).astype(dtype)])
    function, data = getattr(gc, name), gc.asarray(x)
    whole = words(function(data).numpy())
    for n in LENGTHS:
        for offset in (0, 1, 7):
            part = words(function(data[offset:offset + n]).numpy())
            np.testing.assert_array_equal(part, whole[offset:offset + n], f"{n} elements from {offset}")


def loop(name: str, c_type: str, flags: tuple[str, ...]):
    """The compiled loop y[i] = name(x[i])."""
    parts = helpers_c.helper_texts(environment(), SimpleNamespace(helpers={f"gc_{name}_{c_type}": None}))
    integers = [f"typedef __{u}INT{b}_TYPE__ {u.lower()}int{b}_t;" for u in ("", "U") for b in (32, 64)]
    text = "\n".join([*integers, *parts, f"""
void run(const {c_type} *restrict x, {c_type} *restrict y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) y[i] = gc_{name}_{c_type}(x[i]);
}}
"""])
    compiler = find_compiler()
    job = Job(f"loop_{name}_{c_type}", text, (*compiler.flags, *flags), compiler.libraries)
    library = ctypes.CDLL(str(build(compiler, [job])[job]))
    library.run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]

    def run(x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        library.run(x.ctypes.data, y.ctypes.data, x.size)
        return y

    return run


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_constant_gives_the_bits_of_an_element(dtype):
    """The C compiler knows the mathematical functions too, and rounds better than the library."""
    names = "exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt".split()
    if not dtype.startswith("complex"):
        names.append("cbrt")
    values = np.random.default_rng(5).uniform(0.1, 0.9, 6) * (1 + 1j if dtype.startswith("complex") else 1)
    values = values.astype(dtype)
    arrays = gc.realize(*[getattr(gc, name)(gc.asarray(values)) for name in names])
    constants = gc.realize(*[gc.stack([gc.zeros(2, dtype=dtype) + getattr(gc, name)(gc.asarray(v)) for v in values])
                             for name in names])
    for name, one, other in zip(names, arrays, constants, strict=True):
        assert all(one.numpy().tobytes() == other[:, k].numpy().tobytes() for k in (0, 1)), name
        with np.errstate(invalid="ignore"):
            expected = getattr(np, NUMPY.get(name, name))(values)
        assert np.allclose(one.numpy(), expected, rtol=1e-5, equal_nan=True), name


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an option of compilers for x86-64")
def test_cube_roots_of_the_largest_numbers_without_fma(tmp_path):
    """Where a product is rounded before something is added, what would be compared must not overflow."""
    script = """
import numpy as np
import graphc as gc
for dtype, bits in (("float32", "uint32"), ("float64", "uint64")):
    largest = np.finfo(dtype).max.view(bits) - np.arange(100_000, dtype=bits)
    x = largest.view(dtype)
    found, expected = gc.cbrt(gc.asarray(x)).numpy(), np.cbrt(x.astype(np.longdouble))
    assert (abs(found - expected) < 1.5 * np.spacing(found)).all()
"""
    environ = {"GRAPHC_CACHE_DIR": str(tmp_path / "cache"), "GRAPHC_BACKEND": "cpu",
               "GRAPHC_CC": " ".join([*find_compiler().command, "-mno-fma -mno-avx512f"])}
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_a_vectorised_loop_gives_the_bits_of_a_scalar_one(name, dtype):
    c_type = {"float32": "float", "float64": "double"}[dtype]
    if dtype == "float32":
        x = np.arange(0, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    else:
        x = doubles(20_000, 4)
    vectorised, scalar = loop(name, c_type, ()), loop(name, c_type, ("-fno-tree-vectorize",))
    np.testing.assert_array_equal(words(vectorised(x)), words(scalar(x)))


@pytest.mark.parametrize(("name", "dtype"), INLINED)
def test_without_a_fused_multiply_add(name, dtype):
    """The other branch of gc_mad: the bits differ, the bound holds."""
    c_type = {"float32": "float", "float64": "double"}[dtype]
    if dtype == "float32":
        x = np.arange(0, 1 << 32, 40_009, dtype=np.uint64).astype(np.uint32).view(np.float32)
    else:
        x = doubles(20_000, 5)
    got, want = loop(name, c_type, ("-U__FMA__", "-U__ARM_FEATURE_FMA"))(x), truth(name, x)
    with np.errstate(all="ignore"):
        off = np.abs(got - want) / spacing(want, by_name(dtype))
        same = (got == want.astype(dtype)) | np.isnan(got) & np.isnan(want)
    assert np.all(same | (off <= ULPS[name][dtype]))
