"""Library routines: sorting, linear algebra, Fourier transforms. One table for front end, reference and runtime.

A `LIBRARY_CALL` node has attrs (routine, arguments), where `arguments` is a tuple of plain values, and reads its
results through GET. Its row here gives

    results(dtypes, shapes, arguments) -> (dtypes, shapes)     of the results, what the node is recorded with
    run(arguments, *arrays) -> tuple of arrays                 the meaning, and what the CPU executes

The front end has checked ranks and dtypes before it records the node, so the rules here only compute. Routines run on
contiguous arrays; `run_routine` returns contiguous arrays of exactly the recorded dtypes and shapes.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec import Struct

from graphc.ir import dtype as dt
from graphc.ir.dtype import DType

Dtypes = tuple[DType, ...]
Shapes = tuple[tuple[int, ...], ...]


class Routine(Struct, frozen=True):
    name: str
    results: Callable[[Dtypes, Shapes, tuple], tuple[Dtypes, Shapes]]
    run: Callable[..., tuple]


TABLE: dict[str, Routine] = {}


def _routine(name: str, results, run) -> None:
    TABLE[name] = Routine(name, results, run)


def results(name: str, dtypes: Dtypes, shapes: Shapes, arguments: tuple) -> tuple[Dtypes, Shapes]:
    """The dtypes and shapes of the results of a routine on sources of these dtypes and shapes."""
    return TABLE[name].results(dtypes, shapes, arguments)


def run_routine(name: str, arguments: tuple, arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Run a routine on NumPy arrays. Raises numpy.linalg.LinAlgError, as NumPy does, e.g. for a singular matrix.

    >>> run_routine("sort", (0, True, True), (np.array([2, 3, 1]),))
    (array([3, 2, 1]),)
    """
    routine = TABLE[name]
    dtypes, _ = routine.results(tuple(dt.as_dtype(a.dtype) for a in arrays), tuple(a.shape for a in arrays), arguments)
    with np.errstate(all="ignore"):
        found = routine.run(arguments, *arrays)
    return tuple(np.ascontiguousarray(a, d.numpy).reshape(np.shape(a)) for a, d in zip(found, dtypes, strict=True))


# ---- products, for GRAPHC_MATMUL=library

def _product_shape(dtypes: Dtypes, shapes: Shapes, arguments: tuple) -> tuple[Dtypes, Shapes]:
    a, b = ((*s[:-2], s[-1], s[-2]) if turned else s for s, turned in zip(shapes, arguments, strict=True))
    return dtypes[:1], ((*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1]),)


def _product(arguments: tuple, *arrays: np.ndarray) -> tuple:
    """arguments: for each factor, whether its last two axes change places."""
    return (np.matmul(*(np.swapaxes(x, -1, -2) if turned else x for x, turned in zip(arrays, arguments, strict=True))),)


_routine("matmul", _product_shape, _product)

# ---- sorting

def _like_first(dtypes, shapes, arguments):
    return dtypes[:1], shapes[:1]


def _indices_like_first(dtypes, shapes, arguments):
    return (dt.int64,), shapes[:1]


def _comparable(x: np.ndarray) -> np.ndarray:
    """NumPy sorts bfloat16 by its slow generic path and without a place for NaN; float32 holds all of its values."""
    return x.astype(np.float32) if x.dtype == dt.bfloat16.numpy else x


def _sort(arguments, x):
    axis, descending, stable = arguments
    x = _comparable(x)
    if stable and x.dtype.kind == "c":
        found = np.sort(x, axis, kind="stable")
    else:
        found = np.sort(x, axis)    # ten times faster; most equal numbers cannot be told apart
        if stable and x.dtype.kind == "f":
            _restore(found, x, axis)
    return (np.flip(found, axis) if descending else found,)


def _restore(found: np.ndarray, x: np.ndarray, axis: int) -> None:
    """Put zeros, which have signs, and NaN, which have payloads, into the order in which they stand in x."""
    found, x = np.moveaxis(found, axis, -1), np.moveaxis(x, axis, -1)
    for is_one in (lambda array: array == 0, np.isnan):
        here = is_one(found)
        if here.any():
            found[here] = x[is_one(x)]      # as many in each row


def _argsort(arguments, x):
    axis, descending, stable = arguments
    order = _stable_order if stable and type(x) is np.ndarray else np.argsort   # CuPy's is stable, and has no other
    x = _comparable(x)
    if not descending:
        return (order(x, axis),)
    # Backwards, sorted, backwards again: descending, with equal elements still in their first order.
    return (x.shape[axis] - 1 - np.flip(order(np.flip(x, axis), axis), axis),)


def _stable_order(x: np.ndarray, axis: int) -> np.ndarray:
    """np.argsort(x, axis, kind="stable"). What has at most 32 bits is sorted as one integer with its position below it,
    which is several times faster."""
    if x.dtype.itemsize > 4 or x.dtype.kind == "c":
        return np.argsort(x, axis, kind="stable")
    if x.dtype.kind == "f":     # its bits in the order of its values; one zero, and one NaN above all
        bits = np.where(np.isnan(x), np.float32(np.nan), x.astype(np.float32) + np.float32(0)).view(np.int32)
        x = bits ^ (bits >> 31 & 0x7FFFFFFF)
    shape = [1] * x.ndim
    shape[axis] = -1
    middle = 1 << 31 if x.dtype.kind == "u" else 0      # what is shifted has to lie in the range of int32
    keys = x.astype(np.int64) - middle << 32 | np.arange(x.shape[axis]).reshape(shape)
    return np.sort(keys, axis) & 0xFFFFFFFF


def _searchsorted(arguments, sorted_x, values):
    side, = arguments
    return (np.searchsorted(_comparable(sorted_x), _comparable(values), side),)


_routine("sort", _like_first, _sort)                          # (axis, descending, stable)
_routine("argsort", _indices_like_first, _argsort)            # (axis, descending, stable)
_routine("searchsorted", lambda dtypes, shapes, arguments: ((dt.int64,), (shapes[1],)), _searchsorted)    # (side,)


# ---- linear algebra on stacks of matrices (..., m, n); LAPACK through NumPy

def _solve_results(dtypes, shapes, arguments):
    a, b = shapes
    if len(b) == 1:
        return dtypes[:1], (a[:-1],)
    return dtypes[:1], (np.broadcast_shapes(a[:-2], b[:-2]) + b[-2:],)


def _qr_results(dtypes, shapes, arguments):
    complete, = arguments
    *stack, m, n = shapes[0]
    k = m if complete else min(m, n)
    return dtypes[:1] * 2, ((*stack, m, k), (*stack, k, n))


def _svd_results(dtypes, shapes, arguments):
    full, = arguments
    *stack, m, n = shapes[0]
    k = min(m, n)
    d = dtypes[0]
    return (d, d.real, d), ((*stack, m, m if full else k), (*stack, k), (*stack, n if full else k, n))


def _svdvals_results(dtypes, shapes, arguments):
    *stack, m, n = shapes[0]
    return (dtypes[0].real,), ((*stack, min(m, n)),)


def _eigh_results(dtypes, shapes, arguments):
    return (dtypes[0].real, dtypes[0]), (shapes[0][:-1], shapes[0])


def _complex(d: DType) -> DType:
    return dt.promote(d, dt.complex64)


def _eig_results(dtypes, shapes, arguments):
    return (_complex(dtypes[0]),) * 2, (shapes[0][:-1], shapes[0])


def _solve(arguments, a, b):
    """CuPy has no broadcasting here, and some of its versions take b for a stack of vectors."""
    columns = b[:, None] if b.ndim == 1 else b
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    found = np.linalg.solve(*(np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, columns)))
    return (found[..., 0] if b.ndim == 1 else found,)


def _det_results(dtypes, shapes, arguments):
    return dtypes[:1], (shapes[0][:-2],)


def _slogdet_results(dtypes, shapes, arguments):
    return (dtypes[0], dtypes[0].real), (shapes[0][:-2],) * 2


_routine("cholesky", _like_first, lambda arguments, x: (np.linalg.cholesky(x),))
_routine("inv", _like_first, lambda arguments, x: (np.linalg.inv(x),))
_routine("solve", _solve_results, _solve)
_routine("qr", _qr_results, lambda arguments, x: tuple(np.linalg.qr(x, "complete" if arguments[0] else "reduced")))
_routine("svd", _svd_results, lambda arguments, x: tuple(np.linalg.svd(x, full_matrices=arguments[0])))
_routine("svdvals", _svdvals_results, lambda arguments, x: (np.linalg.svd(x, compute_uv=False),))
_routine("eigh", _eigh_results, lambda arguments, x: tuple(np.linalg.eigh(x, UPLO=arguments[0])))
_routine("eigvalsh", lambda dtypes, shapes, arguments: ((dtypes[0].real,), (shapes[0][:-1],)),
         lambda arguments, x: (np.linalg.eigvalsh(x, UPLO=arguments[0]),))
_routine("eig", _eig_results, lambda arguments, x: tuple(np.linalg.eig(x)))
_routine("eigvals", lambda dtypes, shapes, arguments: ((_complex(dtypes[0]),), (shapes[0][:-1],)),
         lambda arguments, x: (np.linalg.eigvals(x),))
_routine("det", _det_results, lambda arguments, x: (np.linalg.det(x),))
_routine("slogdet", _slogdet_results, lambda arguments, x: tuple(np.linalg.slogdet(x)))


# ---- Fourier transforms: arguments (n, axis, norm) or, over several axes, (sizes, axes, norm)

def _resized(shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    found = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        found[axis] = size
    return tuple(found)


def _fft_results(result: str, size, dtypes, shapes, arguments):
    n, axis, _ = arguments
    d = _complex(dtypes[0]) if result == "complex" else dtypes[0].real
    return (d,), (_resized(shapes[0], (axis,), (size(n),)),)


def _fftn_results(result: str, last, dtypes, shapes, arguments):
    sizes, axes, _ = arguments
    d = _complex(dtypes[0]) if result == "complex" else dtypes[0].real
    return (d,), (_resized(shapes[0], axes, (*sizes[:-1], last(sizes[-1]))),)


def _whole(n: int) -> int:
    return n


def _half(n: int) -> int:
    """The number of frequencies of a real signal of length n: the others are their conjugates."""
    return n // 2 + 1


def _fft(name, arguments, x):
    return (getattr(np.fft, name)(x, *arguments),)


for _name, _result, _size in (("fft", "complex", _whole), ("ifft", "complex", _whole), ("rfft", "complex", _half),
                              ("irfft", "real", _whole), ("hfft", "real", _whole), ("ihfft", "complex", _half)):
    _routine(_name, partial(_fft_results, _result, _size), partial(_fft, _name))
for _name, _result, _size in (("fftn", "complex", _whole), ("ifftn", "complex", _whole), ("rfftn", "complex", _half),
                              ("irfftn", "real", _whole)):
    _routine(_name, partial(_fftn_results, _result, _size), partial(_fft, _name))
