"""The NumPy meaning of the primitives that are not simply a ufunc. The op table refers to these.

Every meaning is called as `meaning(attrs, dtype, shape, *arrays)`, with the dtype and shape of the result, and returns
an array of them. An elementwise meaning may return what broadcasts to the shape.
"""
from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from graphc.errors import CLASSES
from graphc.ir.dtype import DType


class BadIndex(IndexError):
    """An index outside its axis. The caller knows the node and turns it into IndexOutOfRange with the user's line."""

    def __init__(self, index: int, size: int, axis: int | str | None = None):
        super().__init__(index, size, axis)
        self.index = index
        self.size = size
        self.axis = axis


def _carried(dtype: DType, *arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays in the dtype in which sums of this dtype are carried (float32 for float16 and bfloat16)."""
    return [a.astype(dtype.accumulator.numpy, copy=False) for a in arrays]


# ---------------------------------------------------------------------------------------------------- elementwise

@functools.cache
def fma_of(real: DType) -> Callable:
    """a * b + c of numbers of this dtype with one rounding, from the C library."""
    import ctypes
    import ctypes.util
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), "fmaf" if real.itemsize == 4 else "fma")
    function.restype = ctypes.c_float if real.itemsize == 4 else ctypes.c_double
    function.argtypes = [function.restype] * 3
    return lambda a, b, c: real.numpy.type(function(float(a), float(b), float(c)))


def fma(attrs, dtype, shape, a, b, c):
    return np.asarray(np.frompyfunc(fma_of(dtype), 3, 1)(a, b, c)).astype(dtype.numpy)


def cast(attrs, dtype, shape, x):
    if x.dtype.kind == "c" and dtype.kind not in "bc":
        x = x.real
    with np.errstate(all="ignore"):
        return x.astype(dtype.numpy)


def bitcast(attrs, dtype, shape, x):
    return np.ascontiguousarray(x).view(dtype.numpy).reshape(shape)


def check_index(attrs, dtype, shape, index):
    n, *axis = attrs
    least = 0 if axis == [CLASSES] else -n
    bad = (index < least) | (index >= n) if index.dtype.kind == "i" else index >= n
    if bad.any():
        raise BadIndex(int(index[bad].flat[0]) if index.ndim else int(index), n, *axis)
    return np.where(index < 0, index + index.dtype.type(n), index) if index.dtype.kind == "i" else index


def log1p(x):
    """As NumPy, but accurate near 0 for complex numbers too, where it loses their digits."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    out = x.copy()
    out.real += 1       # 1 + x would lose the sign of a zero
    out = np.log(out, out)
    close = np.log1p(x.real * (x.real + 2) + x.imag * x.imag) / 2
    out.real = np.where(np.abs(out.real) < 0.5, close, out.real)
    return out


def make_complex(attrs, dtype, shape, real, imag):
    out = np.empty(shape, dtype.numpy)
    out.real, out.imag = real, imag
    return out


def power(attrs, dtype, shape, base, exponent):
    """As NumPy, but an integer to a negative integer, which NumPy refuses, is the truncated reciprocal power."""
    with np.errstate(all="ignore"):
        if dtype.kind != "i":
            return np.power(base, exponent)
        result = np.power(base, np.maximum(exponent, 0))
        odd = (exponent & 1).astype(bool)
        small = np.where(base == -1, np.where(odd, -1, 1), base == 1).astype(dtype.numpy)
        return np.where(exponent < 0, small, result)


_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def threefry(attrs, dtype, shape, key, counter):
    """Threefry-2x32 with 20 rounds. Word 0 of key, counter and result is the low half of the uint64.

    Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
    """
    key, counter = np.broadcast_arrays(np.atleast_1d(key), np.atleast_1d(counter))
    keys = [key.astype(np.uint32), (key >> np.uint64(32)).astype(np.uint32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    a = counter.astype(np.uint32) + keys[0]
    b = (counter >> np.uint64(32)).astype(np.uint32) + keys[1]
    for i in range(20):
        turn = _ROTATIONS[i % 8]
        a = a + b
        b = ((b << np.uint32(turn)) | (b >> np.uint32(32 - turn))) ^ a
        if i % 4 == 3:
            step = i // 4 + 1
            a = a + keys[step % 3]
            b = b + keys[(step + 1) % 3] + np.uint32(step)
    return (a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))).reshape(shape)


# ------------------------------------------------------------------------------------------------------- movement

def region(starts: tuple, steps: tuple, shape: tuple) -> tuple[slice, ...]:
    """The elements start + i * step, i < n, of each axis as slices."""
    slices = []
    for start, step, n in zip(starts, steps, shape, strict=True):
        if n == 0:
            slices.append(slice(0, 0))
            continue
        stop = start + n * step
        slices.append(slice(start, None if stop < 0 else stop, step) if n > 1 else slice(start, start + 1))
    return tuple(slices)


def strided_slice(attrs, dtype, shape, x):
    return x[region(attrs[0], attrs[1], shape)]


def pad(attrs, dtype, shape, x):
    befores, fill = attrs
    out = np.full(shape, np.frombuffer(fill, dtype.numpy)[0], dtype.numpy)
    inside, source = [], []
    for before, n, size in zip(befores, x.shape, shape, strict=True):
        start, stop = max(before, 0), max(min(before + n, size), 0)
        inside.append(slice(start, max(start, stop)))
        source.append(slice(start - before, max(start, stop) - before))
    out[tuple(inside)] = x[tuple(source)]
    return out


def window(attrs, dtype, shape, x):
    axis, stride, dilation = attrs
    count, size = shape[axis:axis + 2]
    return np.take(x, np.arange(count)[:, None] * stride + np.arange(size) * dilation, axis)


def nextafter(a, b):
    """Of equal numbers the second, as IEEE 754 and C have it, zeros among them: NumPy before 2.5 gives the first of
    float16."""
    with np.errstate(all="ignore"):
        return np.where(a == b, b, np.nextafter(a, b))


# ------------------------------------------------------------------------------------- reductions, scans, contraction

def extreme(ufunc: np.ufunc) -> Callable:
    """np.maximum or np.minimum with 0.0 above -0.0: which of them NumPy takes depends on the dtype and the order."""
    def of_zeros(a, b):     # one of them is 0.0 (-0.0): so is the sum
        return a + b if ufunc is np.maximum else -(-a + -b)

    def meaning(a, b):
        found = ufunc(a, b)
        if found.dtype.kind in "biu":
            return found
        return np.where((a == 0) & (b == 0), of_zeros(a, b), found)
    return meaning


def extreme_reduction(ufunc: np.ufunc) -> Callable:
    return _of_extremes(reduction(ufunc), ufunc, np.logical_or.reduce)


def extreme_scan(ufunc: np.ufunc) -> Callable:
    return _of_extremes(scan(ufunc), ufunc, np.logical_or.accumulate)


def _of_extremes(plain: Callable, ufunc: np.ufunc, met: Callable) -> Callable:
    """With 0.0 above -0.0. met: whether the zero that wins is among the elements of each result."""
    largest = ufunc is np.maximum

    def meaning(attrs, dtype, shape, x):
        found = plain(attrs, dtype, shape, x)
        if dtype.kind != "f":
            return found
        zero = np.asarray(0.0 if largest else -0.0, dtype.numpy)
        with np.errstate(all="ignore"):
            wins = met((x == 0) & (np.signbit(x) != largest), axis=attrs[0])
            return np.where(found == 0, np.where(wins, zero, -zero), found)
    return meaning


def reduction(ufunc: np.ufunc) -> Callable:
    def meaning(attrs, dtype, shape, x):
        # Along contiguous memory NumPy adds pairwise; along other axes it adds one after the other.
        rows, = _carried(dtype, np.ascontiguousarray(np.moveaxis(x, attrs[0], -1)))
        with np.errstate(all="ignore"):
            return ufunc.reduce(rows, axis=-1, dtype=rows.dtype).astype(dtype.numpy)
    return meaning


def m2(attrs, dtype, shape, x):
    rows, = _carried(dtype, np.ascontiguousarray(np.moveaxis(x, attrs[0], -1)))
    if not rows.shape[-1]:
        return np.zeros(shape, dtype.numpy)
    with np.errstate(all="ignore"):
        return np.square(rows - rows.mean(-1, keepdims=True)).sum(-1).astype(dtype.numpy)


def scan(ufunc: np.ufunc) -> Callable:
    def meaning(attrs, dtype, shape, x):
        x, = _carried(dtype, x)
        with np.errstate(all="ignore"):
            return ufunc.accumulate(x, axis=attrs[0], dtype=x.dtype).astype(dtype.numpy)
    return meaning


def dot(attrs, dtype, shape, a, b):
    a, b = _carried(dtype, a, b)
    if np.may_share_memory(a, b):       # x @ x.T goes by another routine of BLAS, with other bits
        b = b.copy()
    with np.errstate(all="ignore"):
        return np.matmul(a, b).astype(dtype.numpy)


def attention(attrs, dtype, shape, scores, values):
    scores, values = _carried(dtype, scores, values)
    with np.errstate(all="ignore"):
        top = scores.max(-1, keepdims=True)
        e = np.exp(scores - top)
        total = e.sum(-1, keepdims=True)
        found = np.matmul(e / total, values)
        if attrs[0]:
            found = np.concatenate([found, *(np.broadcast_to(x, (*found.shape[:-1], 1)) for x in (top, total))], -1)
        return found.astype(dtype.numpy)


def weighted(attrs, dtype, shape, *factors):
    pairs = zip(factors[::2], factors[1::2], strict=True)
    return np.concatenate([dot(attrs, dtype, shape, a, b) for a, b in pairs], -1)


def blocked(attrs, dtype, shape, terms):
    return reduction(np.add)((0, "outer"), dtype, shape, terms)


# --------------------------------------------------------------------------------------------------------- scatter

def update(attrs, dtype, shape, base, value):
    out = base.copy()
    out[region(attrs[0], attrs[1], value.shape)] = value
    return out


def scatter(attrs, dtype, shape, base, index, values):
    out, mode = base.copy(), attrs[0]
    with np.errstate(all="ignore"):
        if mode == "set":
            out[index] = values
        else:
            {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}[mode].at(out, index, values)
    if mode in ("set", "add") or dtype.kind != "f":
        return out
    largest = mode == "maximum"     # of zeros 0.0 is, and -0.0 the least, in any order
    zero = np.asarray(0.0 if largest else -0.0, dtype.numpy)
    wins = (base == 0) & (np.signbit(base) != largest)
    np.logical_or.at(wins, index, (values == 0) & (np.signbit(values) != largest))
    return np.where(out == 0, np.where(wins, zero, -zero), out)


# --------------------------------------------------------------------------------------------- several results

def get(attrs, dtype, shape, results):
    return results[attrs[0]]


def loop(attrs, dtypes, shapes, *arrays):
    """The carried arrays at the end, then what each turn gave, stacked. (body, carried, sliced, turns, reverse)"""
    body, carried, sliced, turns, reverse = attrs
    state, columns, fixed, scalars = _operands(body, arrays, carried, sliced)
    stacked = [np.empty(shape, d.numpy) for d, shape in zip(dtypes[carried:], shapes[carried:], strict=True)]
    for turn in range(turns - 1, -1, -1) if reverse else range(turns):
        results = body.evaluate([*state, *[x[turn] for x in columns], *fixed], scalars)
        state = results[:carried]
        for whole, part in zip(stacked, results[carried:], strict=True):
            whole[turn] = part
    return (*state, *stacked)


def while_loop(attrs, dtypes, shapes, *arrays):
    test, body, carried = attrs
    state, _, fixed, scalars = _operands(body, arrays, carried, 0)
    while test.evaluate([*state, *fixed], scalars)[0]:
        state = body.evaluate([*state, *fixed], scalars)
    return tuple(state)


def branch(attrs, dtypes, shapes, condition, *arrays):
    taken = attrs[0 if condition else 1]
    _, _, fixed, scalars = _operands(taken, arrays, 0, 0)
    return tuple(taken.evaluate(fixed, scalars))


def _operands(body, arrays, carried: int, sliced: int):
    """(carried, sliced, what stays, scalars) of a loop's sources."""
    scalars = len(arrays) - len(body.scalars)
    return (list(arrays[:carried]), arrays[carried:carried + sliced], arrays[carried + sliced:scalars],
            arrays[scalars:])


def library(attrs, dtypes, shapes, *arrays):
    """The results of the named routine as a tuple; attrs are (routine, arguments)."""
    from graphc.ir.routines import run_routine

    return run_routine(attrs[0], attrs[1], arrays)
