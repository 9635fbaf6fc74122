"""How far a result may be from the truth: the one table that every test of every backend uses.

An operation that has no row here is exact: it gives the bits of the reference. For the others, the operation's own
operands are given, so that errors of earlier operations play no part; the truth is computed in a wider type.
u is the unit roundoff of the type that is computed in (float32 for float16 and bfloat16, which are rounded once more).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

import numpy as np

from graphc.ir.dtype import DType
from graphc.ir.ops import FAST
from graphc.ir.target import unit_type

# op -> ulps, by the dtype of the result. float16 and bfloat16 are computed in float32 and rounded: 1 ulp.
TRANSCENDENTAL = {"float32": 4, "float64": 4, "float16": 1, "bfloat16": 1}
ULPS = dict.fromkeys(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf pow atan2"
    " hypot cbrt".split(), TRANSCENDENTAL)
# Additions on the longest way through the tree of a sum of n: 16 in a lane or a chunk of rows, 6 folds, then pairwise.
TREE = 22
CHAIN = 512         # multiply-adds in a row of a contraction,
UNIT = 4096         # and on a matrix unit, which may truncate: two roundings each
TF32 = 2.0**-10     # of two factors that a matrix unit rounds to 11 digits
ATTENTION = 512         # roundings of the largest magnitude by which an attention may differ from its steps
NARROW_ATTENTION = 8    # the same for a narrow dtype, to which the steps round scores and weights
COMPLEX = 8         # roundings of a complex operation, relative to the modulus
INVERTED = 3        # ulps of a marked quotient: a reciprocal within 2 of them, and a product
APPROXIMATE = 4     # ulps of marked functions; or, near the zeros of sines and logarithms:
ABSOLUTE = 2.0**-21


def mismatch(op, attrs, dtype: DType, shape, got: np.ndarray, sources: list[np.ndarray],
             matrix: Sequence[str] = ()) -> str | None:
    """What is wrong with the result of one operation on these operands; None if it is as close as it has to be.
    `matrix`: the dtypes whose products a matrix unit takes there (Target.matrix)."""
    if got.shape != shape or got.dtype != dtype.numpy:
        return f"it is {got.dtype}{list(got.shape)} instead of {dtype}{list(shape)}"
    if got.size == 0:
        return None
    arguments = op, attrs, dtype, shape, sources
    if attrs == FAST and op.name in _MARKED and (dtype.name == "float32" or op.name not in ULPS):
        truth, bound, good = _MARKED[op.name](*arguments)
        return _compare(got, truth, bound, dtype, good=good)
    if dtype.kind == "c" and op.kind == "elementwise" and op.name not in _COMPLEX_EXACT:
        good = _as_numpy(*arguments, got) if op.name == "div" else False
        return _compare(got, *_complex(*arguments), good=good)
    if dtype.kind in "fc" and op.kind == "reduce" and op.name in _REDUCTIONS:
        return _compare(got, *_REDUCTIONS[op.name](*arguments))
    if dtype.kind in "fc" and op.name == "dot":
        return _compare(got, *_dot(*arguments, unit_type(dtype, attrs), matrix))
    if op.name == "abs" and sources[0].dtype.kind == "c":
        return _compare(got, *_modulus(dtype, sources[0]))
    if dtype.kind == "f" and op.name in ULPS:
        return _compare(got, *_function(*arguments))
    want = np.broadcast_to(op.numpy(attrs, dtype, shape, *sources), shape)
    return None if equal_bits(got, want) else _describe(got, want, "exactly")


def attention_mismatch(got: np.ndarray, steps: np.ndarray, dtype: DType, largest: float) -> str | None:
    """What is wrong with an attention or its gradient, beside its steps computed one after the other. `largest`: of the
    products among these."""
    with np.errstate(all="ignore"):
        want, roundings = steps.astype(np.float64), ATTENTION * unit(dtype)
        if dtype.accumulator is not dtype:
            roundings = NARROW_ATTENTION * 2.0 ** -_digits(dtype)
        close = np.abs(got.astype(np.float64) - want) <= roundings * _finite(want).max(initial=largest)
    if (close | (words(got) == words(steps))).all():
        return None
    return _describe(got, steps, f"within {roundings:.1e} of the largest")


_COMPLEX_EXACT = {"add", "sub", "neg", "conj", "complex", "cast", "bitcast", "where", "fence"}


LOOP_RTOL = {"float16": 5e-2, "bfloat16": 3e-1, "float32": 1e-3, "float64": 1e-8}


def loop_mismatch(found: np.ndarray, want: np.ndarray) -> str | None:
    """What is wrong with a result of a loop or branch. Its turns build on one another, so that errors of single
    operations grow; the tolerance is relative to the largest element, and generous. Integers are exact."""
    if found.shape != want.shape or found.dtype != want.dtype:
        return f"{found.dtype}{list(found.shape)} instead of {want.dtype}{list(want.shape)}"
    real = found.real.dtype
    if real.name not in LOOP_RTOL:
        return None if equal_bits(found, want) else "the integers differ"
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (found, want))
    rtol = LOOP_RTOL[real.name]
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = finite.max() if finite.size else 0.0
    same = np.isclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True)
    wrong = int((~same).sum())
    return f"{wrong} of {a.size} elements differ by more than {rtol:g} of the largest" if wrong else None


def equal_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal as bit patterns, except that all NaN are one: which operand's payload survives, IEEE 754 leaves open."""
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.array_equal(words(a), words(b)))


def words(a: np.ndarray) -> np.ndarray:
    """The bit patterns of an array, with every NaN made the same."""
    a = np.ascontiguousarray(a)
    if a.dtype.kind == "c":
        a = a.view(a.real.dtype)
    if a.dtype.kind in "biu":
        return a
    with np.errstate(all="ignore"):
        nan = np.isnan(a)
    bits = a.view(f"u{a.dtype.itemsize}").copy()
    bits[nan] = np.iinfo(bits.dtype).max
    return bits


# ------------------------------------------------------------------------------------------- the truth and how close

def _function(op, attrs, dtype, shape, sources):
    wide = [s.astype(_wider(dtype)) if s.dtype.kind == "f" or s.dtype.name == "bfloat16" else s for s in sources]
    if op.name == "erf":
        wide = [s.astype(np.float64) for s in wide]
    truth = np.broadcast_to(op.numpy(attrs, dtype, shape, *wide), shape)
    return truth, ULPS[op.name][dtype.name] * spacing(truth, dtype), dtype


def _modulus(dtype, z):
    truth = np.hypot(z.real.astype(_wider(dtype)), z.imag.astype(_wider(dtype)))
    return truth, ULPS["hypot"][dtype.name] * spacing(truth, dtype), dtype


def _sum(op, attrs, dtype, shape, sources):
    x = _wide(sources[0], dtype)
    n = max(x.shape[attrs[0]], 1)
    with np.errstate(all="ignore"):
        truth, size = x.sum(attrs[0]), _finite(x).sum(attrs[0])
    return truth, (TREE + ceil(log2(n))) * unit(dtype) * size + _final(truth, dtype), dtype, size


def _prod(op, attrs, dtype, shape, sources):
    x = _wide(sources[0], dtype)
    n = max(x.shape[attrs[0]], 1)
    with np.errstate(all="ignore"):
        truth = x.prod(attrs[0])
        steps = np.where(np.isfinite(x) & (x != 0), np.abs(np.log2(np.abs(x))), 0).sum(attrs[0])
    # Whether a partial product overflows or underflows depends on the order.
    size = np.where(steps < -_lowest(dtype.real.accumulator) - 30, 0, np.finfo(dtype.real.accumulator.numpy).max)
    rounding = COMPLEX if dtype.kind == "c" else 1
    return truth, n * rounding * unit(dtype) * np.abs(truth) + _final(truth, dtype), dtype, size


def _m2(op, attrs, dtype, shape, sources):
    x = _wide(sources[0], dtype)
    n = max(x.shape[attrs[0]], 1)
    with np.errstate(all="ignore"):
        deviation = x - x.sum(attrs[0], keepdims=True) / n
        truth = np.square(deviation).sum(attrs[0])
        error = (TREE + ceil(log2(n))) * unit(dtype)
        slip = error * _finite(x).max(attrs[0], initial=0)          # of a mean
        bound = 4 * (error * truth + n * slip**2 + slip * np.sqrt(n * truth))
        size = n * np.square(_finite(x)).sum(attrs[0])
    return truth, bound + _final(truth, dtype), dtype, size


def _dot(op, attrs, dtype, shape, sources, factors: str, matrix: Sequence[str]):
    a, b = (_wide(s, dtype) for s in sources)
    k = a.shape[-1]
    with np.errstate(all="ignore"):
        truth, size = np.matmul(a, b), np.matmul(_finite(a), _finite(b))
    rounding, chain = COMPLEX if dtype.kind == "c" else 1, CHAIN
    error = 0.0
    if factors in matrix:
        rounding, chain, error = 2, UNIT, TF32 * (factors == "tf32")
    error += (min(k, chain) + k / chain + 1) * rounding * unit(dtype)
    carried = (dtype if dtype.kind == "c" else dtype.accumulator).real.numpy
    lost = k * np.longdouble(np.finfo(carried).smallest_subnormal)      # by underflow, half of it at each step
    return truth, error * size + lost + _final(truth, dtype), dtype, size


def _complex(op, attrs, dtype, shape, sources):
    wide = [s.astype(np.complex128 if dtype.name == "complex64" else np.clongdouble) for s in sources]
    truth = np.broadcast_to(op.numpy(attrs, dtype, shape, *wide), shape)
    with np.errstate(all="ignore"):
        size = np.abs(truth)
        bound = COMPLEX * 2 * unit(dtype) * size + np.finfo(dtype.real.numpy).tiny
        return truth, bound, dtype, _finite(truth) if op.name == "mul" else None


def _as_numpy(op, attrs, dtype, shape, sources, got):
    """Where a result is NumPy's by the same formula in the dtype itself: near the end of the range both overflow."""
    with np.errstate(all="ignore"):
        want = op.numpy(attrs, dtype, shape, *sources)
    return (got == want) | (np.isnan(got) & np.isnan(want))


def _marked_sum(op, attrs, dtype, shape, sources):
    """One source may be a product that was not rounded, and overflowed only when it was."""
    a, b = (_wide(s, dtype) for s in sources)
    with np.errstate(all="ignore"):
        truth, larger = op.numpy(attrs, dtype, shape, a, b), np.maximum(_finite(a), _finite(b))
        bound = unit(dtype) * larger + spacing(truth, dtype)
    return truth, bound, np.isinf(a) | np.isinf(b)


def _marked_quotient(op, attrs, dtype, shape, sources):
    """Nothing is promised of a divisor whose reciprocal is no normal number."""
    a, b = (_wide(s, dtype) for s in sources)
    with np.errstate(all="ignore"):
        truth, size, edge = a / b, np.abs(b), np.ldexp(1.0, -_lowest(dtype) - 1)
        return truth, INVERTED * spacing(truth, dtype), (size >= edge) | (size <= 1 / edge)


def _marked_function(op, attrs, dtype, shape, sources):
    """The approximations of GPUs (CUDA C++ programming guide, intrinsic functions). Sines are promised up to pi."""
    (x,) = (s.astype(np.float64) for s in sources)
    truth = np.broadcast_to(op.numpy(attrs, dtype, shape, x), shape)
    with np.errstate(all="ignore"):
        bound, good = APPROXIMATE * spacing(truth, dtype), False
        if op.name == "exp":
            bound = bound + 1.2 * np.abs(x) * spacing(truth, dtype)
        elif op.name in ("sin", "cos"):
            bound, good = np.maximum(bound, ABSOLUTE), (np.abs(x) > np.pi) & np.isfinite(x)
        else:
            bound = np.maximum(bound, ABSOLUTE * ((x >= 0.5) & (x <= 2)))
    return truth, bound, good


_MARKED = dict.fromkeys("exp log log2 log10 sin cos".split(), _marked_function)
_MARKED |= {"add": _marked_sum, "sub": _marked_sum, "div": _marked_quotient}
_REDUCTIONS = {"sum": _sum, "prod": _prod, "m2": _m2}


def _compare(got, truth, bound, dtype: DType, size=None, good=False) -> str | None:
    """`good`: where the result is right in any case. `size`: where it comes near the end of the range, a partial result
    may overflow, and nothing is promised."""
    limit = float(np.finfo(dtype.real.accumulator.numpy).max)
    with np.errstate(all="ignore"):
        wide = got.astype(truth.dtype)
        rounded = truth.astype(dtype.numpy).astype(truth.dtype)
        close = np.abs(wide - truth) <= bound
        same = (wide == rounded) | (np.isnan(wide) & np.isnan(rounded))
        # On the edge of the range, one ulp decides between the largest number and infinity.
        edge = np.isinf(wide) & (np.abs(truth) + bound >= _largest(dtype)) & (np.sign(wide.real) == np.sign(truth.real))
        good = good | close | same | edge
        if size is not None:
            good |= size >= limit / 4
    return None if good.all() else _describe(got, truth, "closely enough", good)


def _describe(got, want, how: str, good=None) -> str:
    if good is None:
        same = words(got).reshape(-1) == words(want).reshape(-1)
        good = same.reshape(*got.shape, -1).all(-1)
    at = tuple(int(k) for k in np.argwhere(~good)[0])
    return f"{int((~good).sum())} of {got.size} elements do not agree {how}; at {at} {got[at]!r}, not {want[at]!r}"


# ------------------------------------------------------------------------------------------------------- arithmetic

def spacing(truth: np.ndarray, dtype: DType) -> np.ndarray:
    """The ulp of each value in a dtype, at least the smallest subnormal."""
    digits, lowest = _digits(dtype), _lowest(dtype)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(truth), truth, 1))
    return np.ldexp(np.ones_like(truth), np.maximum(exponent, lowest) - digits)


def unit(dtype: DType) -> float:
    """The unit roundoff of the type that sums of this dtype are carried in."""
    return 2.0 ** -_digits(dtype.real.accumulator)


def _finite(x: np.ndarray) -> np.ndarray:
    """Magnitudes, without those of NaN and infinities: what finite numbers may overflow to."""
    return np.where(np.isfinite(x), np.abs(x), 0)


def _final(truth: np.ndarray, dtype: DType) -> np.ndarray | float:
    """The one rounding of a narrow result."""
    return 0.0 if dtype.accumulator is dtype else spacing(truth, dtype)


_FORMATS = {"float16": (11, -13), "bfloat16": (8, -125), "float32": (24, -125), "float64": (53, -1021)}


def _digits(dtype: DType) -> int:
    return _FORMATS[dtype.real.name][0]


def _lowest(dtype: DType) -> int:
    """The exponent of the smallest normal number as frexp counts it."""
    return _FORMATS[dtype.real.name][1]


def _largest(dtype: DType) -> float:
    digits, lowest = _FORMATS[dtype.real.name]
    return (2.0 - 2.0 ** (1 - digits)) * 2.0 ** (2 - lowest) if dtype.real.name != "float64" else 1.797e308


def _wider(dtype: DType) -> type:
    return np.longdouble if dtype.name == "float64" else np.float64


def _wide(x: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.kind == "c":
        return x.astype(np.clongdouble)
    return x.astype(np.longdouble)
