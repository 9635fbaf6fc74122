"""Library routines: sorting, linear algebra, Fourier transforms. One table for front end, reference and runtime.

A `LIBRARY_CALL` node has attrs (routine, arguments), where `arguments` is a tuple of plain values, and reads its
results through GET. Its row here gives

    results(dtypes, shapes, arguments) -> (dtypes, shapes)     of the results, what the node is recorded with
    run(arguments, arrays, outputs)                            the meaning, and what the CPU executes: fills the outputs

The front end has checked ranks and dtypes before it records the node, so the rules here only compute. Arrays and
outputs are contiguous, and the outputs have exactly the recorded dtypes and shapes. Sorting and transforms are
done by several threads, which changes no bit; LAPACK has threads of its own (several callers wait for one lock).
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import Struct

from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType

Dtypes = tuple[DType, ...]
Shapes = tuple[tuple[int, ...], ...]


class Routine(Struct, frozen=True):
    name: str
    results: Callable[[Dtypes, Shapes, tuple], tuple[Dtypes, Shapes]]
    run: Callable[[tuple, tuple, tuple], None]


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
    given = tuple(dt.as_dtype(a.dtype) for a in arrays)
    dtypes, shapes = results(name, given, tuple(a.shape for a in arrays), arguments)
    outputs = tuple(np.empty(shape, dtype.numpy) for dtype, shape in zip(dtypes, shapes, strict=True))
    TABLE[name].run(arguments, tuple(np.ascontiguousarray(a).reshape(a.shape) for a in arrays), outputs)
    return outputs


def _giving(function: Callable[..., tuple]) -> Callable[[tuple, tuple, tuple], None]:
    """From function(arguments, *arrays) -> arrays, which cannot fill memory of others."""
    def run(arguments: tuple, arrays: tuple, outputs: tuple) -> None:
        with np.errstate(all="ignore"):
            found = function(arguments, *arrays)
        for output, value in zip(outputs, found, strict=True):
            if output.shape != value.shape:
                raise ValueError(f"a routine gave shape {value.shape}, where {output.shape} was expected")
            output[...] = value
    return run


# ---- threads

_LITTLE = 1 << 21       # elements for which threads are not worth while: NumPy sorts 300 million a second in vectors


def _is_much(x: np.ndarray) -> bool:
    return x.size >= _LITTLE and settings.num_threads > 1 and type(x) is np.ndarray


def _bounds(n: int) -> list[int]:
    """Where n elements are cut, for one piece a thread."""
    threads = settings.num_threads
    return [n * k // threads for k in range(threads + 1)]


def _at_once(work: Callable[..., None], axis: int, arrays: tuple) -> None:
    """work(*pieces) for pieces of the arrays along an axis, each in a thread. NumPy lets other threads run meanwhile.
    Arrays of CuPy stay whole."""
    n = arrays[0].shape[axis]
    if n < settings.num_threads or not _is_much(arrays[0]):
        work(*arrays)
        return
    from concurrent.futures import ThreadPoolExecutor   # new threads each time: they would not survive a fork

    before = (slice(None),) * axis
    with ThreadPoolExecutor(settings.num_threads) as pool:
        jobs = [pool.submit(work, *(a[(*before, slice(*ends))] for a in arrays)) for ends in pairwise(_bounds(n))]
    for job in jobs:
        job.result()


# ---- products, for GRAPHC_MATMUL=library

def _product_shape(dtypes: Dtypes, shapes: Shapes, arguments: tuple) -> tuple[Dtypes, Shapes]:
    a, b = ((*s[:-2], s[-1], s[-2]) if turned else s for s, turned in zip(shapes, arguments, strict=True))
    return dtypes[:1], ((*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1]),)


def _product(arguments: tuple, arrays: tuple, outputs: tuple) -> None:
    """arguments: for each factor, whether its last two axes change places."""
    a, b = (np.swapaxes(x, -1, -2) if turned else x for x, turned in zip(arrays, arguments, strict=True))
    (found,) = outputs
    with np.errstate(all="ignore"):
        if a.ndim == b.ndim == 2 and a.dtype == b.dtype == found.dtype:
            np.dot(a, b, out=found)     # CuPy's matmul has a copy made
        else:
            np.matmul(a, b, out=found)


_routine("matmul", _product_shape, _product)

# ---- sorting

def _like_first(dtypes, shapes, arguments):
    return dtypes[:1], shapes[:1]


def _indices_like_first(dtypes, shapes, arguments):
    return (dt.int64,), shapes[:1]


def _comparable(x: np.ndarray) -> np.ndarray:
    """NumPy sorts bfloat16 by its slow generic path and without a place for NaN; float32 holds all of its values."""
    return x.astype(np.float32) if x.dtype == dt.bfloat16.numpy else x


def _sortable(x: np.ndarray) -> np.ndarray:
    """CuPy sorts one dimension by bits, in which zeros and NaN differ: one of each, then."""
    if type(x) is np.ndarray or x.dtype.kind != "f":
        return x
    return np.where(x == x, x + x.dtype.type(0), x.dtype.type(np.nan))


def _other_axis(x: np.ndarray, axis: int) -> int:
    """The longest axis but one; that one if there is no other."""
    return max((k for k in range(x.ndim) if k != axis), key=lambda k: x.shape[k], default=axis)


def _in_rows(work: Callable[..., None], axis: int, arrays: tuple) -> None:
    """work on pieces of the arrays that are whole along an axis."""
    cut = _other_axis(arrays[0], axis)
    if cut == axis:
        work(*arrays)
    else:
        _at_once(work, cut, arrays)


def _sort_in_place(x: np.ndarray, axis: int) -> None:
    """Elements that compare equal may change places: which do depends on the number of threads."""
    cut = _other_axis(x, axis)
    if cut == axis and _is_much(x):
        x.partition(_bounds(x.size)[1:-1])      # each piece then holds what belongs there
    _at_once(lambda part: part.sort(axis), cut, (x,))


def _sort(arguments, arrays, outputs):
    axis, descending, _ = arguments     # always stable
    x, found = _comparable(arrays[0]), outputs[0]
    wide = found if x.dtype == found.dtype else np.empty_like(x)
    wide[...] = _sortable(x)
    _sort_in_place(wide, axis)
    if descending:
        wide[...] = np.flip(wide, axis).copy()
    if x.dtype.kind == "f" and x.size:      # most equal numbers cannot be told apart
        _in_rows(lambda *pieces: _restore(*pieces, axis, descending), axis, (wide, x))
    if wide is not found:
        found[...] = wide


def _restore(found: np.ndarray, x: np.ndarray, axis: int, descending: bool) -> None:
    """Put zeros, which have signs, and NaN, which have payloads, into the order in which they stand in x."""
    found, x = np.moveaxis(found, axis, -1), np.moveaxis(x, axis, -1)
    zeros = found == 0
    if zeros.any():
        found[zeros] = x[x == 0]        # as many in each row
    if np.isnan(found[..., 0 if descending else -1]).any():
        found[np.isnan(found)] = x[np.isnan(x)]


def _argsort(arguments, arrays, outputs):
    """Sorting integers in the order of the values, with the position in their last bits, is several times faster."""
    axis, descending, _ = arguments     # always stable
    x, found = _comparable(arrays[0]), outputs[0]
    if type(x) is not np.ndarray:
        _order(_sortable(x), found, axis, descending)   # CuPy's is stable, and has no other
        return
    digits = max(x.shape[axis] - 1, 0).bit_length()
    last = (1 << digits) - 1
    least, most = _range(x)
    whole = not (most - least) >> 63 - digits   # a rank and a position have room in an integer
    places = np.arange(x.shape[axis]).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    places = np.broadcast_to(places, x.shape)

    def keys(x: np.ndarray, places: np.ndarray, found: np.ndarray) -> None:
        _rank(x, found)
        if not whole:
            _wide(x, found, descending)
            found &= ~last
        else:
            if descending:
                np.subtract(_wrapped(most), found, out=found)
            else:
                found -= _wrapped(least)
            found <<= digits
        found |= places

    _at_once(keys, _other_axis(x, axis), (x, places, found))
    _sort_in_place(found, axis)
    if not whole:
        _in_rows(lambda *pieces: _settle(*pieces, axis, descending, digits), axis, (x, found))
    found &= last


FEW = 64    # times as many elements as are wanted: fewer are sorted


def _best_results(dtypes, shapes, arguments):
    axis, count, _ = arguments
    return (dt.int64,), ((*shapes[0][:axis], count, *shapes[0][axis + 1:]),)


def _topk(arguments, arrays, outputs):
    """The first of argsort's."""
    axis, count, largest = arguments
    x, (found,) = arrays[0], outputs
    if type(x) is not np.ndarray or count * FEW > x.shape[axis] or not found.size:
        _first(x, found, axis, largest)
    else:
        _in_rows(lambda x, found: _choose(np.moveaxis(x, axis, -1), np.moveaxis(found, axis, -1), largest), axis,
                 (_comparable(x), found))


def _first(x: np.ndarray, found: np.ndarray, axis: int, largest: bool) -> None:
    order = np.empty_like(x, np.int64)      # of CuPy's, where x is
    _argsort((axis, largest, True), (x,), (order,))
    found[...] = order[(*(slice(None),) * axis, slice(found.shape[axis]))]


def _choose(x: np.ndarray, found: np.ndarray, largest: bool) -> None:
    """Sort what is no worse than the one that is to come last, and nothing else."""
    rows, count = x.reshape(-1, x.shape[-1]), found.shape[-1]
    at = rows.shape[1] - count if largest else count - 1
    worst = np.partition(rows, at)[:, at:at + 1]     # which places NaN above all
    if largest:
        chosen = ~(rows < worst) & ((worst == worst) | (rows != rows))
    else:
        chosen = (rows <= worst) | (worst != worst)
    if np.count_nonzero(chosen) * 8 > chosen.size:
        _first(x, found, x.ndim - 1, largest)
        return
    row, place = np.nonzero(chosen)
    values, last = rows[row, place], worst[row, 0]
    if len(row) > found.size:       # of those that are as good as the last one, the first ones
        tied = (values == last) | (values != values) & (last != last)
        better, before = np.bincount(row[~tied], minlength=len(rows)), np.cumsum(tied)
        start = np.searchsorted(row, np.arange(len(rows)))
        rank = before - (before[start] - tied[start])[row]      # in their row, from 1 on
        kept = ~tied | (rank <= count - better[row])
        place, values = place[kept], values[kept]
    place, values = place.reshape(-1, count), values.reshape(-1, count)
    order, = run_routine("argsort", (1, largest, True), (values,))
    found[...] = np.take_along_axis(place, order, 1).reshape(found.shape)


def _wide(x: np.ndarray, ranks: np.ndarray, descending: bool) -> None:
    """Make the ranks of 64 bits signed, and turn them around for a descending order."""
    if x.dtype.kind == "u":
        ranks ^= -1 << 63
    if descending:
        np.invert(ranks, out=ranks)


def _settle(x: np.ndarray, found: np.ndarray, axis: int, descending: bool, digits: int) -> None:
    """Put in order what stands in the order of its first bits; the last ones, which were left out, tell ties apart."""
    x, found = np.moveaxis(x, axis, -1), np.moveaxis(found, axis, -1)
    same = (found[..., 1:] ^ found[..., :-1]) >> digits == 0
    if not same.any():
        return
    tied, first = np.zeros(found.shape, bool), np.ones(found.shape, bool)
    tied[..., 1:] = same
    tied[..., :-1] |= same
    first[..., 1:] = ~same
    last = (1 << digits) - 1
    places = found[tied] & last
    values = x[(*np.nonzero(tied)[:-1], places)]
    ranks = np.empty(values.shape, np.int64)
    _rank(values, ranks)
    _wide(values, ranks, descending)
    ranks &= last
    first = first[tied]
    if ((ranks[1:] != ranks[:-1]) & ~first[1:]).any():
        ranks |= np.cumsum(first) << digits
        found[tied] = places[np.argsort(ranks, kind="stable")]


def _range(x: np.ndarray) -> tuple[int, int]:
    """Bounds of the ranks of x; those of wide numbers that are not integers are the widest."""
    if x.dtype.kind == "f" and x.dtype.itemsize <= 4:
        return -(1 << 31), (1 << 31) - 1
    if x.dtype.kind == "b":
        return 0, 1
    if x.dtype.kind in "fc" or not x.size:
        return 0, 1 << 64
    if x.dtype.itemsize <= 4:
        return int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
    return int(x.min()), int(x.max())


def _wrapped(n: int) -> int:
    """n as an int64 that has its last 64 bits."""
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


def _rank(x: np.ndarray, found: np.ndarray) -> None:
    """Integers in the order of the values of x (of uint64: bits); of floats with one zero, and one NaN above all."""
    if x.dtype.kind != "f":
        found[...] = x.view(np.int64) if x.dtype.itemsize == 8 else x
        return
    narrow = x.dtype.itemsize <= 4
    with np.errstate(all="ignore"):
        x = x.astype(np.float32 if narrow else np.float64)
        x += 0
    np.copyto(x, np.nan, where=np.isnan(x))
    found[...] = x.view(np.int32 if narrow else np.int64)
    found ^= found >> 63 & (0x7FFFFFFF if narrow else (1 << 63) - 1)


def _order(x: np.ndarray, found: np.ndarray, axis: int, descending: bool) -> None:
    if descending:      # backwards, sorted, backwards again: equal elements are still in their first order
        backwards = np.argsort(np.flip(x, axis), axis)
        found[...] = x.shape[axis] - 1 - np.flip(backwards, axis)
    else:
        found[...] = np.argsort(x, axis)


_routine("sort", _like_first, _sort)                          # (axis, descending, stable)
_routine("argsort", _indices_like_first, _argsort)            # (axis, descending, stable)
_routine("topk", _best_results, _topk)                        # (axis, count, largest)


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
    if a.shape[:-2] != columns.shape[:-2]:
        stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
        a, columns = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, columns))
    found = np.linalg.solve(a, columns)
    return (found[..., 0] if b.ndim == 1 else found,)


def _det_results(dtypes, shapes, arguments):
    return dtypes[:1], (shapes[0][:-2],)


def _slogdet_results(dtypes, shapes, arguments):
    return (dtypes[0], dtypes[0].real), (shapes[0][:-2],) * 2


for _name, _results, _function in (
        ("cholesky", _like_first, lambda arguments, x: (np.linalg.cholesky(x),)),
        ("inv", _like_first, lambda arguments, x: (np.linalg.inv(x),)),
        ("solve", _solve_results, _solve),
        ("qr", _qr_results, lambda arguments, x: tuple(np.linalg.qr(x, "complete" if arguments[0] else "reduced"))),
        ("svd", _svd_results, lambda arguments, x: tuple(np.linalg.svd(x, full_matrices=arguments[0]))),
        ("svdvals", _svdvals_results, lambda arguments, x: (np.linalg.svd(x, compute_uv=False),)),
        ("eigh", _eigh_results, lambda arguments, x: tuple(np.linalg.eigh(x, UPLO=arguments[0]))),
        ("eigvalsh", lambda dtypes, shapes, arguments: ((dtypes[0].real,), (shapes[0][:-1],)),
         lambda arguments, x: (np.linalg.eigvalsh(x, UPLO=arguments[0]),)),
        ("eig", _eig_results, lambda arguments, x: tuple(np.linalg.eig(x))),
        ("eigvals", lambda dtypes, shapes, arguments: ((_complex(dtypes[0]),), (shapes[0][:-1],)),
         lambda arguments, x: (np.linalg.eigvals(x),)),
        ("det", _det_results, lambda arguments, x: (np.linalg.det(x),)),
        ("slogdet", _slogdet_results, lambda arguments, x: tuple(np.linalg.slogdet(x)))):
    _routine(_name, _results, _giving(_function))


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


_SHORT = 1 << 16        # elements below which SciPy's transforms gain less than importing them takes


def _fft(name, arguments, x):
    """SciPy's PocketFFT takes several rows at a time, and threads, which changes no bit. CuPy's arrays go to CuPy."""
    if x.size < _SHORT or type(x) is not np.ndarray:
        return (getattr(np.fft, name)(x, *arguments),)
    import scipy.fft

    return (getattr(scipy.fft, name)(x, *arguments, workers=settings.num_threads),)


for _name, _result, _size in (("fft", "complex", _whole), ("ifft", "complex", _whole), ("rfft", "complex", _half),
                              ("irfft", "real", _whole), ("hfft", "real", _whole), ("ihfft", "complex", _half)):
    _routine(_name, partial(_fft_results, _result, _size), _giving(partial(_fft, _name)))
for _name, _result, _size in (("fftn", "complex", _whole), ("ifftn", "complex", _whole), ("rfftn", "complex", _half),
                              ("irfftn", "real", _whole)):
    _routine(_name, partial(_fftn_results, _result, _size), _giving(partial(_fft, _name)))
