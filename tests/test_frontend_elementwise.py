"""Elementwise functions against NumPy: every function, dtype and special value; promotion against np.result_type."""
from __future__ import annotations

import itertools
import math

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import graphc as gc
from graphc.errors import DTypeError, IntegerOverflow, PowerError, ShapeError
from graphc.ir import ops
from graphc.ir.dtype import ALL, by_name
from graphc.tolerances import mismatch

NUMPY_NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
               "atanh": "arctanh", "atan2": "arctan2", "pow": "power", "bitwise_invert": "invert",
               "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}

# Functions of real values with their tolerance in units of the last place (0: every bit).
REAL = dict.fromkeys("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh"
                     " atanh".split(), 4) | {"sqrt": 0}
REAL_BINARY = {"atan2": 4, "hypot": 4, "copysign": 0, "nextafter": 0, "divide": 0, "logaddexp": 4}
EXACT = "floor ceil trunc isnan isinf isfinite signbit square negative positive abs sign rint".split()
ARITHMETIC = "add subtract multiply maximum minimum fmax fmin floor_divide remainder fmod".split()
COMPARISON = "equal not_equal less less_equal greater greater_equal".split()
LOGICAL = "logical_and logical_or logical_xor".split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()

FLOATS = [d for d in ALL if d.kind == "f"]
INTEGERS = [d for d in ALL if d.kind in "iu"]


def numpy_of(name: str):
    return getattr(np, NUMPY_NAMES.get(name, name))


def values(dtype) -> np.ndarray:
    """Special and ordinary values of a dtype."""
    dtype = by_name(dtype) if isinstance(dtype, str) else dtype
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype.numpy)
        low = [info.min, info.min + 1, -7, -2, -1] if dtype.kind == "i" else []
        return np.array([*low, 0, 1, 2, 3, 5, 7, 8, 31, 64, info.max - 1, info.max], dtype.numpy)
    info = gc.finfo(dtype)
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.0, 0.1, -3.7, 88.5, math.inf, -math.inf, math.nan,
             info.max, info.min, info.smallest_normal, info.smallest_normal / 2, info.eps]
    reals = np.array(reals).astype(dtype.numpy)
    if dtype.kind == "f":
        return reals
    parts = reals[:8]
    return (parts[:, None] + 1j * parts).ravel().astype(dtype.numpy)


def agree(found: gc.Tensor, expected: np.ndarray, ulp: float = 0) -> None:
    """Equal, NaN with NaN and 0.0 not with -0.0, or within some units of the last place."""
    array = np.asarray(found)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype, f"{array.dtype} is not {expected.dtype}"
    if expected.dtype.kind == "c":
        agree_real(array.real, expected.real, ulp)
        agree_real(array.imag, expected.imag, ulp)
    else:
        agree_real(array, expected, ulp)


def agree_real(array: np.ndarray, expected: np.ndarray, ulp: float) -> None:
    info = gc.finfo(str(expected.dtype)) if expected.dtype.kind not in "biu" else None
    if expected.dtype == gc.bfloat16.numpy:  # which NumPy's own comparisons don't know
        array, expected = array.astype(np.float32), expected.astype(np.float32)
    if not ulp or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(array, expected)
        if expected.dtype.kind not in "biu":
            keep = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(array)[keep], np.signbit(expected)[keep])
        return
    wide, right = array.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(wide - right) <= ulp * info.eps * np.maximum(np.abs(right), info.smallest_normal)
        # The largest numbers may round to infinity on one side only.
        near |= np.isinf(wide) & (np.abs(right) >= info.max * (1 - ulp * info.eps))
    same = (wide == right) | (np.isnan(wide) & np.isnan(right))
    bad = ~(near | same)
    assert not bad.any(), f"{wide[bad][:5]} is not {right[bad][:5]}"


def quietly(function, *arrays):
    with np.errstate(all="ignore"):
        return np.asarray(function(*arrays))


# ------------------------------------------------------------------------------------------------ one operand

@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REAL)
def test_real_functions(name, dtype):
    x = values(dtype)
    if name in ("sin", "cos", "tan"):  # far out the period itself decides, and libraries reduce differently
        x = x[~(np.abs(x.astype(np.float64)) > 1e4) | ~np.isfinite(x.astype(np.float64))]
    # NumPy rounds float16 functions from float32 just as bfloat16 here.
    agree(getattr(gc, name)(gc.asarray(x)), quietly(numpy_of(name), x), REAL[name])


@pytest.mark.parametrize("name", REAL)
def test_real_functions_take_integers_in_the_default_float(name):
    x = np.array([0, 1, 1, 0], np.int16)
    agree(getattr(gc, name)(gc.asarray(x)), quietly(numpy_of(name), x.astype(np.float64)), REAL[name])
    assert getattr(gc, name)(gc.asarray([True])).dtype is gc.float64


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind != "c"], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name, dtype):
    x = values(dtype)
    if dtype is gc.bool and name in ("negative", "sign"):
        with pytest.raises(DTypeError):
            getattr(gc, name)(gc.asarray(x))
        return
    if dtype is gc.bool and name in ("positive", "rint", "floor", "ceil", "trunc", "signbit"):
        expected = np.zeros(x.shape, bool) if name == "signbit" else x
    elif dtype.kind in "iu" and name in ("rint", "floor", "ceil", "trunc"):
        expected = x
    else:
        expected = quietly(numpy_of(name), x)
        if name == "sign" and dtype is gc.bfloat16:     # ml_dtypes keeps the sign of -0.0, NumPy drops it
            expected = quietly(numpy_of(name), x.astype(np.float32)).astype(x.dtype)
    agree(getattr(gc, name)(gc.asarray(x)), expected)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", "abs negative conj real imag isnan isinf isfinite square positive".split())
def test_complex_functions(name, dtype):
    x = values(dtype)
    agree(getattr(gc, name)(gc.asarray(x)), quietly(numpy_of(name), x), 4 if name == "abs" else 0)


def edges(dtype) -> np.ndarray:
    """Complex numbers whose parts are special, at the ends of the range, or on the unit circle."""
    info, big = gc.finfo(dtype), math.log(gc.finfo(dtype).max)
    parts = np.array([0.0, -0.0, 1, -1, 0.5, -2, 1 + info.eps, math.inf, -math.inf, math.nan, info.smallest_normal,
                      -info.smallest_normal / 2, info.max, -info.max, info.max / 2, big, big + 0.3, -big, 1e-5, 1e5])
    angle = np.linspace(0, 7, 501)
    z = np.empty(parts.size**2 + angle.size, dtype)
    z.real = np.append(np.repeat(parts, parts.size), np.cos(angle))
    z.imag = np.append(np.tile(parts, parts.size), np.sin(angle))
    return z


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", "exp expm1 log log2 log10 log1p sqrt sign".split())
def test_functions_of_complex_numbers_at_the_edges(name, dtype):
    z = edges(dtype)
    if name == "sign":      # NumPy's divides by a modulus that overflows
        z = z[quietly(np.isfinite, np.abs(z)) | np.isinf(z.real) | np.isinf(z.imag)]
    found = np.asarray(getattr(gc, name)(gc.asarray(z)))
    assert mismatch(getattr(ops, name.upper()), (), by_name(dtype), z.shape, found, [z]) is None


def test_the_reference_takes_a_single_complex_number():
    with gc.backend("reference"):
        assert gc.log1p(gc.asarray(0j)).item() == 0


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_of_complex_numbers_are_numpys(dtype):
    z = edges(dtype)[::3]
    a, b = np.repeat(z, z.size), np.tile(z, z.size)
    agree(gc.asarray(a) / gc.asarray(b), quietly(np.divide, a, b))


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
def test_small_powers_are_products(dtype, backend):
    x = (np.arange(1, 20) * (0.5 - 0.75j if dtype.startswith("complex") else 1)).astype(dtype)
    t = gc.asarray(x)
    for n in (1, 2, 3, 4, 5, 8, -1, -3):
        found, want = np.asarray(t ** n), x ** np.asarray(n, x.dtype)
        np.testing.assert_allclose(found, want, rtol=1e-5 if x.real.dtype == np.float32 else 1e-13)
    if backend != "reference":
        assert "pow" not in gc.plan(t ** 3).kernels[0].source


@pytest.mark.parametrize("decimals", [0, 1, 2, -1])
def test_round(decimals):
    x = np.array([0.5, 1.5, 2.5, -0.5, 1.25, 12.345, -15.0, 25.0, np.nan, np.inf])
    agree(gc.round(gc.asarray(x), decimals), np.round(x, decimals))
    i = np.array([15, 25, -15, 7])
    agree(gc.round(gc.asarray(i), decimals), np.round(i, decimals))


def test_invert_and_logical_not():
    agree(gc.bitwise_invert(gc.asarray([True, False])), np.array([False, True]))
    agree(~gc.asarray(np.array([0, 5], np.uint8)), ~np.array([0, 5], np.uint8))
    agree(gc.logical_not(gc.asarray([0.0, np.nan, -0.0])), np.array([True, False, True]))


# ------------------------------------------------------------------------------------------------ two operands

def pairs(dtype) -> tuple[np.ndarray, np.ndarray]:
    x = values(dtype)
    return np.repeat(x, x.size), np.tile(x, x.size)


def with_words(a: np.ndarray, b: np.ndarray, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays, and behind them pairs of any bits and of any sizes: quotients from none to the largest."""
    if dtype is gc.bfloat16:    # ml_dtypes rounds some operations twice
        return a, b
    rng, count = np.random.default_rng(3), 3000
    first, second = rng.integers(0, 256, (2, count, dtype.itemsize), dtype=np.uint8).view(dtype.numpy)[..., 0]
    if dtype.kind == "f":
        first[:count // 2], second[:count // 2] = 100 * rng.normal(size=count // 2), 3 * rng.normal(size=count // 2)
    else:
        second = second >> rng.integers(0, dtype.bits - 1, count).astype(dtype.numpy)
        first[:count // 2] >>= rng.integers(dtype.bits // 4, dtype.bits - 1, count // 2).astype(dtype.numpy)
        second[:count // 4] >>= dtype.numpy.type(dtype.bits // 4)
    return np.append(a, first), np.append(b, second)


@pytest.mark.parametrize("dtype", [d for d in ALL if d.kind in "iuf"], ids=str)
@pytest.mark.parametrize("name", ARITHMETIC + COMPARISON)
def test_arithmetic(name, dtype):
    a, b = with_words(*pairs(dtype), dtype)
    with np.errstate(all="ignore"):
        expected = numpy_of(name)(a, b)
    if name.endswith(("max", "min", "imum")) and dtype.kind == "f":
        # Which zero is the larger is left open: NumPy's own answer depends on the dtype.
        expected = expected + dtype.numpy.type(0)
        agree(getattr(gc, name)(gc.asarray(a), gc.asarray(b)) + 0.0, expected)
        return
    agree(getattr(gc, name)(gc.asarray(a), gc.asarray(b)), expected, 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", REAL_BINARY)
def test_real_binary(name, dtype):
    a, b = pairs(dtype)
    expected = quietly(numpy_of(name), a, b)
    if name == "nextafter":
        expected = np.where(a == b, b, expected)  # of zeros too, which NumPy before 2.5 has otherwise for float16
    if name == "nextafter" and dtype is gc.bfloat16:
        keep = np.isfinite(a.astype(np.float32))  # ml_dtypes steps out of infinity in its own way
        a, b, expected = a[keep], b[keep], expected[keep]
    agree(getattr(gc, name)(gc.asarray(a), gc.asarray(b)), expected, REAL_BINARY[name])


@pytest.mark.parametrize("dtype", INTEGERS + [gc.bool], ids=str)
@pytest.mark.parametrize("name", LOGICAL + BITS)
def test_logic_and_bits(name, dtype):
    a, b = pairs(dtype)
    if "shift" in name and dtype.kind == "i":
        keep = b >= 0  # a negative shift means nothing
        a, b = a[keep], b[keep]
    agree(getattr(gc, name)(gc.asarray(a), gc.asarray(b)), quietly(numpy_of(name), a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pow(dtype):
    a, b = pairs(dtype)
    agree(gc.pow(gc.asarray(a), gc.asarray(b)), quietly(np.power, a, b), 4)
    x = values(dtype)
    for exponent in (2, 1, 3, -1, 0.5, 2.0, -2, 0):
        agree(gc.asarray(x) ** exponent, quietly(lambda x, e=exponent: x ** e, x), 4)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_pow(dtype):
    a, b = pairs(dtype)
    keep = b >= 0
    agree(gc.pow(gc.asarray(a[keep]), gc.asarray(b[keep])), np.power(a[keep], b[keep]))


def test_reflected_operators():
    x = np.array([1.0, 2.0, 4.0])
    t = gc.asarray(x)
    for found, expected in [(1 - t, 1 - x), (1 / t, 1 / x), (7 // t, 7 // x), (7 % t, 7 % x), (2 ** t, 2 ** x),
                            (x + t, x + x), (x - t, x - x), (np.float64(3) * t, 3 * x), (divmod(7, t)[1], 7 % x)]:
        assert isinstance(found, gc.Tensor)
        agree(found, expected)


def test_clip_fmax_heaviside_where():
    x = np.array([-1.0, 0.0, 0.5, 2.0, np.nan, np.inf])
    t = gc.asarray(x)
    agree(gc.clip(t, 0, 1), np.clip(x, 0, 1))
    agree(gc.clip(t, None, gc.asarray([1.0])), np.clip(x, None, 1.0))
    agree(gc.clip(gc.asarray(np.array([0, 255], np.uint8)), -5, 300), np.array([0, 255], np.uint8))
    agree(gc.heaviside(t, 0.5), np.heaviside(x, 0.5))
    agree(gc.where(t > 0, t, 0), np.where(x > 0, x, 0))
    agree(gc.where(gc.asarray([1, 0]), 1.5, 2), np.where([1, 0], 1.5, 2))
    agree(gc.where(t > 0, gc.asarray(np.float32(1)), 2.0), np.where(x > 0, np.float32(1), 2.0).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_extremes_of_zeros_and_nan(dtype):
    """0.0 is larger than -0.0 and NaN wins, in vectors, in their remainders, between scalars and in reductions."""
    def larger(a, b):
        return a + b if a != a or b != b else max((a, math.copysign(1, a)), (b, math.copysign(1, b)))[0]

    def same(tensor, want):
        found = tensor.astype("float64").numpy()
        np.testing.assert_array_equal(found, np.full(found.shape, want), f"{a}, {b}")
        assert np.all(np.signbit(found) == np.signbit(want)) or want != want, f"{a}, {b}"

    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
    for a, b in itertools.product(special, special):
        most, least = larger(a, b), -larger(-a, -b)
        for length in (1, 70):
            x, y = (gc.asarray(np.full(length, v)).astype(dtype) for v in (a, b))
            same(gc.maximum(x, y), most)
            same(gc.minimum(x, y), least)
            both = gc.asarray(np.array([a] * length + [b] + [a] * 30)).astype(dtype)
            same(gc.max(both), most)
            same(gc.min(both), least)


# -------------------------------------------------------------------------------------------------- promotion

NUMPY_DTYPES = [d for d in ALL if d is not gc.bfloat16]


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NUMPY_DTYPES, repeat=2)), ids=str)
def test_promotion_of_arrays(a, b):
    expected = np.result_type(a.numpy, b.numpy)
    x, y = gc.zeros((), dtype=a), gc.zeros((), dtype=b)
    assert gc.add(x, y).dtype.numpy == expected
    assert gc.result_type(a, b).numpy == expected
    assert gc.where(True, x, y).dtype.numpy == expected


@pytest.mark.parametrize("value", [True, 1, 1.5, 1j])
@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_promotion_of_python_numbers(dtype, value):
    expected = (np.zeros(2, dtype.numpy) + value).dtype
    assert (gc.zeros(2, dtype=dtype) + value).dtype.numpy == expected
    assert (value + gc.zeros(2, dtype=dtype)).dtype.numpy == expected
    assert gc.result_type(dtype, value).numpy == expected


def test_promotion_of_bfloat16():
    rows = {"bool": "bfloat16", "int8": "bfloat16", "uint64": "bfloat16", "float16": "float32", "float32": "float32",
            "float64": "float64", "complex64": "complex64", "bfloat16": "bfloat16"}
    for other, expected in rows.items():
        assert gc.result_type(gc.bfloat16, by_name(other)) is by_name(expected)
    assert (gc.zeros(1, dtype=gc.bfloat16) + 1.5).dtype is gc.bfloat16


def test_numpy_scalars_are_strong():
    assert (gc.ones(2, dtype=gc.float32) + np.float64(1)).dtype is gc.float64
    assert (gc.ones(2, dtype=gc.float32) + 1.0).dtype is gc.float32


def test_mixed_64_bit_comparison_is_exact():
    a = np.array([-1, 0, 2**62 + 1, 2**63 - 1])
    b = np.array([2**64 - 1, 0, 2**62, 2**63 - 1], np.uint64)
    for name in COMPARISON:
        agree(getattr(gc, name)(gc.asarray(a), gc.asarray(b)), numpy_of(name)(a, b))
        agree(getattr(gc, name)(gc.asarray(b), gc.asarray(a)), numpy_of(name)(b, a))


def test_comparison_with_integers_out_of_range():
    x = gc.asarray(np.array([0, 200], np.uint8))
    assert (x < 300).tolist() == [True, True]
    assert (x == -1).tolist() == [False, False]
    assert (x > -1).tolist() == [True, True]


# ----------------------------------------------------------------------------------------- random arrays, shapes

@st.composite
def operands(draw):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4, min_side=0))
    dtypes = st.sampled_from([np.int8, np.uint8, np.int32, np.uint16, np.float32, np.float64, np.bool_])
    return [draw(hnp.arrays(draw(dtypes), shape)) for shape in shapes.input_shapes]


@given(operands(), st.sampled_from("add multiply maximum divide less equal logical_and".split()))
def test_random_operands(arrays, name):
    a, b = arrays
    expected = quietly(numpy_of(name), a, b)
    if name == "divide" and a.dtype.kind in "bui" and b.dtype.kind in "bui":
        expected = quietly(np.divide, a.astype(np.float64), b.astype(np.float64))
    found = getattr(gc, name)(gc.asarray(a), gc.asarray(b))
    if name == "maximum" and expected.dtype.kind == "f":  # of 0.0 and -0.0 NumPy takes the second
        found, expected = found.numpy() + 0.0, expected + 0.0
    if expected.dtype == np.float16:  # NumPy has float16 for small integers beside float16 only
        return
    agree(found, expected)


# ------------------------------------------------------------------------------------------------------ errors

def message(error) -> str:
    return str(error.value)


def test_shape_error_names_op_shapes_and_line():
    with pytest.raises(ShapeError) as error:
        gc.zeros((2, 3)) * gc.zeros((2, 4))
    text = message(error)
    assert "[multiply]" in text and "(2, 3)" in text and "(2, 4)" in text
    assert "test_frontend_elementwise.py:" in text and "gc.zeros((2, 3)) * gc.zeros((2, 4))" in text
    assert isinstance(error.value, ValueError)


def test_dtype_error_names_op_dtype_and_line():
    for call in (lambda: gc.asarray([True]) - gc.asarray([True]), lambda: gc.bitwise_and(gc.ones(2), 1),
                 lambda: gc.maximum(gc.asarray([1j]), 0), lambda: gc.floor(gc.asarray([1j]))):
        with pytest.raises(DTypeError) as error:
            call()
        assert "is not supported" in message(error) and "test_frontend_elementwise.py:" in message(error)
        assert isinstance(error.value, TypeError)


def test_integer_overflow():
    with pytest.raises(IntegerOverflow) as error:
        gc.asarray(np.array([1], np.uint8)) + 300
    assert "300 does not fit uint8" in message(error) and "int16" in message(error)
    assert isinstance(error.value, OverflowError)
    with pytest.raises(OverflowError):
        gc.full(2, -1, dtype=gc.uint8)


def test_integer_to_a_negative_power():
    with pytest.raises(PowerError, match="int64 to the power -1"):
        gc.arange(3) ** -1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float64"])
def test_a_root_by_the_operator_is_rounded_once(dtype):
    """As NumPy's, which is the square root too."""
    x = np.arange(2 if dtype == "bool" else 100).astype(dtype)
    assert (gc.asarray(x) ** 0.5).tolist() == (x ** 0.5).tolist()
    with np.errstate(divide="ignore"):
        assert (gc.asarray(x) ** -1.0).tolist() == (x ** -1.0).tolist()
    if dtype.startswith("int"):
        assert np.isnan((gc.asarray(-x[1:]) ** 0.5).numpy()).all()


def test_unknown_operands_are_left_to_the_other_side():
    class Other:
        def __radd__(self, other):
            return "mine"

    assert gc.ones(2) + Other() == "mine"
    with pytest.raises(TypeError):
        gc.ones(2) + object()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (), (0,)])
def test_integers_larger_than_any_beside_floats(dtype, shape):
    x = np.full(shape, 2.5, dtype)
    t = gc.asarray(x)
    with np.errstate(over="ignore"):
        for name in ("fmax", "fmin", "maximum", "minimum", "float_power"):
            for value in (10**20, -10**20, 2**63):
                weak = float(value) if name == "float_power" else x.dtype.type(value)
                ulp = 4 if name == "float_power" else 0  # NumPy's own varies by processor
                agree(getattr(gc, name)(t, value), getattr(np, name)(x, weak), ulp)
                if value > 0:
                    agree(getattr(gc, name)(value, t), getattr(np, name)(weak, x), ulp)
    agree(gc.sqrt(10**20), np.float64(1e10))


def test_extremes_beside_nan_take_numbers_weakly():
    for dtype in ("int8", "uint64", "float32"):
        x = np.arange(3, dtype=dtype)
        agree(gc.fmax(gc.asarray(x), 1), np.fmax(x, 1))
        agree(gc.fmin(1, gc.asarray(x)), np.fmin(1, x))
    agree(gc.fmax(gc.asarray(np.array([1, 2], np.int8)), 1.5), np.fmax(np.array([1, 2], np.int8), 1.5))
    with pytest.raises(IntegerOverflow):
        gc.fmax(gc.asarray(np.array([1], np.int8)), 300)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_clip_by_numpys_older_names(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    for options in ({"a_min": 1, "a_max": 3}, {"a_min": None, "a_max": 3}, {"a_min": 2, "a_max": None}):
        agree(gc.clip(gc.asarray(x), **options), np.clip(x, **options))
        agree(gc.asarray(x).clip(options["a_min"], a_max=options["a_max"]), np.clip(x, **options))
    with pytest.raises(ValueError, match=r"\[clip\] a_max and max are the same limit"):
        gc.clip(gc.asarray(x), 1, 2, a_max=3)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int16"])
@pytest.mark.parametrize("deg", [False, True])
def test_angle(dtype, deg):
    x = np.array([1, -1, 0, 7]).astype(dtype)
    x = x * np.complex64(1 + 1j) if dtype == "complex64" else x
    np.testing.assert_allclose(gc.angle(gc.asarray(x), deg).numpy(), np.angle(x, deg), rtol=1e-6)
