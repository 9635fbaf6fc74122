"""Sorting, searching and sets.

sort and argsort are library calls. Functions whose result has a size that depends on the data (nonzero, unique, ...)
realize what they need when they are called: inside jit, grad or plan they raise.
"""
from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from graphc.api import record
from graphc.api.axes import an_int, several
from graphc.api.creation import iota
from graphc.api.elementwise import clip, isnan, where
from graphc.api.indexing import scatter_rows, take, take_along_axis, take_checked
from graphc.api.library import library
from graphc.api.manipulation import concat, expand_dims, ravel, reshape, slice_axis, stack, unstack
from graphc.api.record import (
    anew, as_tensor, cast, deciding, elementwise, filled, from_numpy, normalize_axis, wrap,
)
from graphc.api.reductions import any as any_of
from graphc.api.reductions import max as max_of
from graphc.api.reductions import min as min_of
from graphc.api.reductions import sum as sum_of
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.node import const
from graphc.ir.routines import run_routine
from graphc.tensor import Tensor, refuse_followed

# -------------------------------------------------------------------------------------------------------------- sorting


_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _sortable(x, axis, name: str, kind: str | None = None) -> tuple:
    """x, flattened if there is no axis, and the axis counted from 0."""
    x = as_tensor(x, None, name)
    if kind not in _KINDS:
        raise ArgumentError(f"there is no kind {kind!r} of sorting", op=name,
                            fix=f"use one of {_KINDS}: all are stable")
    if axis is None:
        x, axis = ravel(x), 0
    if x.dtype.kind == "c":
        raise DTypeError(f"{x.dtype} has no order", op=name, fix="sort by real(x), imag(x) or abs(x)")
    return x, normalize_axis(axis, x.ndim, name)


def sort(x, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True):
    """The elements along an axis in rising order, NaN last (None: of the flattened array).

    descending: in falling order, NaN first. stable: elements that compare equal (0.0 and -0.0) keep their order. kind:
    any of NumPy's, which changes nothing: all are stable here. Raises ArgumentError for another.

    >>> import graphc as gc
    >>> gc.sort(gc.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    x, axis = _sortable(x, axis, "sort", kind)
    return anew(x) if x.shape[axis] < 2 else library("sort", (axis, bool(descending), bool(stable)), x)[0]


def argsort(x, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool = True):
    """The indices, as int64, that sort x along an axis; arguments as sort.

    >>> import graphc as gc
    >>> gc.argsort(gc.asarray([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    x, axis = _sortable(x, axis, "argsort", kind)
    return library("argsort", (axis, bool(descending), bool(stable)), x)[0]


def lexsort(keys, axis: int = -1):
    """The indices that sort by the last key, where it is equal by the one before, and so on: an indirect stable sort.

    keys: a sequence of arrays of one shape, or an array whose first axis they are.

    >>> import graphc as gc
    >>> gc.lexsort(([3, 1, 2], [1, 1, 0])).tolist()
    [2, 1, 0]
    """
    keys = [as_tensor(key, None, "lexsort") for key in (unstack(keys) if isinstance(keys, Tensor) else keys)]
    if not keys or len({key.shape for key in keys}) > 1 or not keys[0].ndim:
        raise ShapeError(f"keys of shapes {[key.shape for key in keys]}", op="lexsort",
                         fix="give one or more arrays of one shape")
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def partition(x, /, kth, axis: int | None = -1):
    """x with its kth element, counted in sorted order, where sorting would put it, smaller ones before and larger ones
    behind: here the whole is sorted. For the k largest or smallest see `topk`."""
    return sort(_kth(x, kth, axis, "partition"), axis)


def argpartition(x, /, kth, axis: int | None = -1):
    """The indices of `partition`."""
    return argsort(_kth(x, kth, axis, "argpartition"), axis)


def _kth(x, kth, axis: int | None, name: str):
    x = as_tensor(x, None, name)
    n = x.size if axis is None else x.shape[normalize_axis(axis, x.ndim, name)]
    for k in np.atleast_1d(kth).tolist():
        if not -n <= an_int(k, name, "kth") < n:
            raise ArgumentError(f"kth is {k} for {n} elements", op=name)
    return x


class TopK(NamedTuple):
    values: object
    indices: object


def topk(x, k: int, /, axis: int = -1, *, largest: bool = True) -> TopK:
    """The k largest (or smallest) elements along an axis in order, and their indices as int64. NaN counts as largest.

    Raises ArgumentError (a ValueError) if the axis has fewer than k elements.

    >>> import graphc as gc
    >>> values, indices = gc.topk(gc.asarray([3, 9, 4]), 2)
    >>> values.tolist(), indices.tolist()
    ([9, 4], [1, 2])
    """
    x, axis = _sortable(x, axis, "topk")
    k = an_int(k, "topk", "k")
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(f"axis {axis} of shape {x.shape} has no {k} elements", op="topk")
    indices = library("topk", (axis, k, bool(largest)), x)[0]
    return TopK(take_along_axis(x, indices, axis=axis), indices)


def searchsorted(x1, x2, /, side: str = "left", sorter=None):
    """Where each element of x2 would have to be put into the sorted vector x1 to keep it sorted, as int64.

    side: before ("left") or after ("right") equal elements. sorter: indices that sort x1.

    >>> import graphc as gc
    >>> gc.searchsorted(gc.asarray([1, 3, 5]), gc.asarray([3, 4]), side="right").tolist()
    [2, 2]
    """
    x1, x2 = (as_tensor(x, None, "searchsorted", floats=True) for x in (x1, x2))
    if x1.ndim != 1:
        raise ShapeError(f"the sorted array must have one dimension, not shape {x1.shape}", op="searchsorted")
    if side not in ("left", "right"):
        raise ArgumentError(f"side must be 'left' or 'right', not {side!r}", op="searchsorted")
    if sorter is not None:
        x1 = take(x1, as_tensor(sorter), axis=0)
    common = dt.promote(x1.dtype, x2.dtype)
    if common.kind == "c":
        raise DTypeError(f"{common} has no order", op="searchsorted")
    return cast(_place(cast(x1, common), cast(x2, common), side), dt.int64)


def _place(x1, x2, side: str):
    """How many elements of the rising vector x1 lie before each of x2: a binary search whose steps are the same for all
    elements (L. Shar's, in D. E. Knuth, *The Art of Computer Programming* 3, 6.2.1), and so one fused kernel."""
    n = x1.size
    if not n:
        return filled(x2.shape, 0, dt.int32)
    unknown = isnan(x2)

    def lies_before(element):       # NaN after all else
        if side == "left":
            return (element < x2) | (unknown & (element == element))
        return (element <= x2) | unknown

    step = 1 << n.bit_length() - 1
    found = where(lies_before(reshape(slice_axis(x1, 0, step - 1, 1), ())),
                  cast(as_tensor(n + 1 - step), dt.int32 if n < 1 << 31 else dt.int64), 0)
    while step > 1:
        step //= 2
        found = where(lies_before(take_checked(x1, found + (step - 1), 0)), found + step, found)
    return found


# ----------------------------------------------------------------------------------------------- sizes that data decide


_OUTSIDE = "call it outside, and pass what it gives; or choose by gc.where"


def _here(array: np.ndarray, x):
    """A NumPy result as a tensor on the device of x."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    return from_numpy(array, copy=False, device=x.node.device)


def nonzero(x, /) -> tuple:
    """The indices of the elements that are not 0: for each axis one int64 vector, in row-major order.

    Realizes x, because its values decide the size. Raises ShapeError (a ValueError) for 0 dimensions.

    >>> import graphc as gc
    >>> [i.tolist() for i in gc.nonzero(gc.asarray([[0, 1], [2, 0]]))]
    [[0, 1], [1, 0]]
    """
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("an array of 0 dimensions has no indices", op="nonzero", fix="atleast_1d(x)")
    return tuple(_here(i, x) for i in _places(deciding(x, "nonzero", _OUTSIDE)))


def _places(array: np.ndarray) -> list[np.ndarray]:
    """np.nonzero, which is ten times slower over several axes than over one."""
    *rows, last = array.shape
    if not rows or not array.size:
        return [i.astype(np.int64) for i in np.nonzero(array)]
    array = array.reshape(-1, last)
    counts = np.count_nonzero(array, axis=1)
    column = np.flatnonzero(array) - np.repeat(np.arange(counts.size) * last, counts)
    return [np.repeat(i, counts) for i in np.unravel_index(np.arange(counts.size), rows)] + [column]


def flatnonzero(x, /):
    """The indices of the elements of the flattened x that are not 0. Realizes x."""
    return nonzero(ravel(x))[0]


def argwhere(x, /):
    """The indices of the elements that are not 0, one row for each: shape (count, x.ndim), int64. Realizes x.

    >>> import graphc as gc
    >>> gc.argwhere(gc.asarray([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    x = as_tensor(x)
    array = deciding(x, "argwhere", _OUTSIDE)
    if not array.ndim:      # it has no axes, and one element or none
        return _here(np.argwhere(array).astype(np.int64), x)
    return _here(np.stack(_places(array), axis=1), x)


class UniqueAll(NamedTuple):
    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    values: object
    counts: object


class UniqueInverse(NamedTuple):
    values: object
    inverse_indices: object


def unique_all(x, /) -> UniqueAll:
    """The different elements in rising order, where each first stands, which of them each element is, and the counts.

    Thus x == values[inverse_indices]. Each NaN counts as different from all others, as the Array API asks. Realizes x.

    >>> import graphc as gc
    >>> gc.unique_all(gc.asarray([2, 1, 2])).counts.tolist()
    [1, 2]
    """
    return UniqueAll(*_unique(as_tensor(x), ("indices", "inverse", "counts"), equal_nan=False))


def _unique(x, asked: tuple[str, ...], equal_nan: bool) -> list:
    """The different elements, and what is asked for."""
    refuse_followed(x.node, "unique")
    array = deciding(x, "unique", _OUTSIDE).reshape(-1)
    if x.dtype.kind == "c":     # by real part, then by imaginary part; the routines know real numbers
        order = np.argsort(array, kind="stable")
        ordered = array[order]
    elif "indices" in asked or "inverse" in asked:
        order, = run_routine("argsort", (0, False, True), (array,))
        ordered = array[order]
    else:
        ordered, = run_routine("sort", (0, False, True), (array,))
    is_first = np.ones(ordered.shape, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    if equal_nan and ordered.dtype.kind not in "biu":
        unknown = np.isnan(ordered)
        is_first[1:] &= ~(unknown[1:] & unknown[:-1])
    found = [ordered[is_first]]
    for name in asked:
        if name == "counts":
            found.append(np.diff(np.flatnonzero(is_first), append=array.size))
        elif name == "indices":
            found.append(order[is_first])
        else:
            inverse = np.empty(array.shape, np.int64)
            inverse[order] = np.cumsum(is_first) - 1
            found.append(inverse.reshape(x.shape))
    return [_here(part, x) for part in found]


def unique_values(x, /):
    """The different elements in rising order, each NaN by itself. Realizes x.

    >>> import graphc as gc
    >>> gc.unique_values(gc.asarray([2, 1, 2])).tolist()
    [1, 2]
    """
    return _unique(as_tensor(x), (), equal_nan=False)[0]


def unique_counts(x, /) -> UniqueCounts:
    """The different elements in rising order and how often each occurs. Realizes x."""
    return UniqueCounts(*_unique(as_tensor(x), ("counts",), equal_nan=False))


def unique_inverse(x, /) -> UniqueInverse:
    """The different elements in rising order, and for each element of x which it is, in the shape of x. Realizes x."""
    return UniqueInverse(*_unique(as_tensor(x), ("inverse",), equal_nan=False))


def unique(x, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True):
    """NumPy's unique of the flattened x: values, then the parts that are asked for. NaN occurs once. Realizes x.

    axis: of the slices along this axis instead, by their first elements, then by their second ones and so on. Slices
    with a NaN are all different, as in NumPy.

    >>> import graphc as gc
    >>> values, counts = gc.unique(gc.asarray([2, 1, 2]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 2], [1, 2])
    >>> gc.unique(gc.asarray([[2, 1], [1, 3], [2, 1]]), axis=0).tolist()
    [[1, 3], [2, 1]]
    """
    if axis is not None:
        x = as_tensor(x, None, "unique")
        axis = normalize_axis(axis, x.ndim, "unique")
        refuse_followed(x.node, "unique")
        found = np.unique(deciding(x, "unique", _OUTSIDE), return_index, return_inverse, return_counts, axis)
        return tuple(_here(part, x) for part in found) if isinstance(found, tuple) else _here(found, x)
    parts = {"indices": return_index, "inverse": return_inverse, "counts": return_counts}
    found = _unique(as_tensor(x), tuple(name for name, wanted in parts.items() if wanted), equal_nan)
    return tuple(found) if len(found) > 1 else found[0]


# --------------------------------------------------------------------------------------------------- members and counts

_FEW = 16     # so many elements are compared one by one, in one fused kernel; more are sorted


def isin(x, test, /, *, invert: bool = False):
    """Whether each element of x is among those of `test`. NaN is among none.

    >>> import graphc as gc
    >>> gc.isin(gc.asarray([1, 2, 3]), gc.asarray([2, 4])).tolist()
    [False, True, False]
    """
    x, test = (as_tensor(values, None, "isin", floats=True) for values in (x, test))
    test = ravel(test)
    common, possible = dt.promote(x.dtype, test.dtype), True
    if common.kind == "f" and x.dtype.kind != "f" and test.dtype.kind != "f":       # int64 and uint64
        common, possible = dt.uint64, (x >= 0) & (x <= 2**63 - 1)       # what both have
    x, test = cast(x, common), cast(test, common)
    if test.size <= _FEW or common.kind == "c":
        found = any_of(expand_dims(x, -1) == test, -1)
    else:
        test = sort(test)
        found = take_checked(test, clip(_place(test, x, "left"), 0, test.size - 1), 0) == x
    found = found if possible is True else found & possible
    return record.unary(ops.INVERT, found, "isin") if invert else found


def _count_rows(n: int, index, values):
    """How much of `values` falls to each of the indices 0..n-1, in source order."""
    return scatter_rows(filled((n,), 0, values.dtype), index, values, "add")


def bincount(x, /, weights=None, minlength: int = 0, *, length: int | None = None):
    """How often each of 0, 1, 2, ... occurs in a vector of integers, or the sum of its weights.

    Realizes the largest element, which decides the size. Raises ArgumentError (a ValueError) for a negative element.
    length: the size, where it is known; then nothing is realized, so that it can be recorded inside jit too, and an
    element outside raises IndexError when the result is realized.

    >>> import graphc as gc
    >>> gc.bincount(gc.asarray([0, 2, 2])).tolist()
    [1, 0, 2]
    >>> gc.jit(lambda x: gc.bincount(x, length=4))(gc.asarray([0, 2, 2])).tolist()
    [1, 0, 2, 0]
    """
    x = as_tensor(x)
    if x.ndim != 1 or x.dtype.kind not in "biu":
        raise DTypeError(f"needs a vector of integers, not {x.dtype} of shape {x.shape}", op="bincount")
    minlength = an_int(minlength, "bincount", "minlength")
    if minlength < 0:
        raise ArgumentError(f"minlength must not be negative: {minlength}", op="bincount")
    x = cast(x, dt.int64)
    if length is not None:
        size = an_int(length, "bincount", "length")
        x = where(x < 0, size, x)       # none counts from the end
        x = elementwise(ops.CHECK_INDEX, "bincount", x, attrs=(size,))
    else:
        size = max(_largest(x) + 1, minlength)
    if weights is None:
        return _count_rows(size, x, filled(x.shape, 1, dt.int64))
    weights = as_tensor(weights, None, "bincount")
    if weights.shape != x.shape:
        raise ShapeError(f"weights of shape {weights.shape} do not fit shape {x.shape}", op="bincount")
    if weights.dtype.kind == "c":
        raise DTypeError("weights are real numbers", op="bincount",
                         fix="add up gc.real(weights) and gc.imag(weights) apart")
    weights = cast(weights, dt.float64)
    return _count_rows(size, x, weights)


def _largest(x) -> int:
    """The largest element of a vector of integers none of which may be negative; -1 if there is none."""
    if not x.size:
        return -1
    least, most = min_of(x), max_of(x)
    least, most = deciding(stack([least, most]), "bincount", "give the length: gc.bincount(x, length=n)").tolist()
    if least < 0:
        raise ArgumentError(f"there is a negative element: {least}", op="bincount")
    return most


def histogram(x, /, bins=10, range=None, *, density: bool = False, weights=None) -> tuple:  # noqa: A002
    """How many elements lie in each bin, and the edges of the bins; the last bin includes its upper edge.

    bins: a number of equal bins over `range` (None: from the least to the largest element), or the rising edges, or
    the name of a rule of numpy.histogram_bin_edges, such as "auto", "fd" or "sqrt", which realizes x. Counts are int64,
    or the weights' dtype; density divides by the total and the widths.

    >>> import graphc as gc
    >>> counts, edges = gc.histogram(gc.asarray([1.0, 2.0, 2.5]), bins=2, range=(1, 3))
    >>> counts.tolist(), edges.tolist()
    ([1, 2], [1.0, 2.0, 3.0])
    """
    x, edges = ravel(x), histogram_bin_edges(x, bins, range, weights)
    counts = _counts([x], [edges], weights)
    return _densities(counts, [edges]) if density else counts, edges


def histogram_bin_edges(x, /, bins=10, range=None, weights=None):  # noqa: A002
    """The edges of the bins of `histogram`, with its arguments.

    >>> import graphc as gc
    >>> gc.histogram_bin_edges(gc.asarray([1.0, 2.0, 2.5, 3.0]), bins="sqrt").tolist()
    [1.0, 2.0, 3.0]
    """
    x = ravel(x)
    if not isinstance(bins, str):
        return _edges(x, bins, range)
    try:
        edges = np.histogram_bin_edges(deciding(x, "histogram", "give the number of bins"), bins, range, weights)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"bins={bins!r}: {error}", op="histogram",
                            fix="give a number of bins, their edges, or 'auto', 'fd', 'doane', 'scott', 'rice', "
                            "'sturges' or 'sqrt', without weights") from None
    return _here(edges.astype(_edge_dtype(x).numpy), x)


def histogramdd(sample, /, bins=10, range=None, *, density: bool = False, weights=None) -> tuple:  # noqa: A002
    """How many points lie in each box of a grid, and the edges along each axis of the grid, as a tuple.

    sample: (points, axes), or a sequence of one vector for each axis. bins: a number of bins or edges, for all axes or
    for each (a list or tuple, or an array of as many); range: None, or (least, largest) for each axis, or None for
    some. Counts are the default float, as in NumPy; the rest is as for `histogram`.

    >>> import graphc as gc
    >>> counts, edges = gc.histogramdd(gc.asarray([[0.0, 1.0], [1.0, 0.0], [1.0, 0.2]]), bins=2)
    >>> counts.tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    axes = [ravel(x) for x in (sample if isinstance(sample, list | tuple) else unstack(as_tensor(sample), axis=1))]
    one_each = isinstance(bins, list | tuple) or several(bins) and len(bins) == len(axes)
    each = list(bins) if one_each else [bins] * len(axes)
    ranges = [None] * len(axes) if range is None else list(range)
    if not axes or len({x.size for x in axes}) > 1 or len(each) != len(axes) or len(ranges) != len(axes):
        raise ShapeError(f"{len(each)} bins and {len(ranges)} ranges for axes of sizes {[x.size for x in axes]}",
                         op="histogramdd", fix="give (points, axes), and bins and a range for each axis")
    edges = [_edges(x, *rest) for x, *rest in zip(axes, each, ranges, strict=True)]
    counts = _counts(axes, edges, weights)
    return (_densities if density else _floats)(counts, edges), tuple(edges)


def histogram2d(x, y, /, bins=10, range=None, *, density: bool = False, weights=None) -> tuple:  # noqa: A002
    """How many of the points (x, y) lie in each box of a grid: (counts, edges of x, edges of y); see `histogramdd`.

    bins: a number of bins or edges for both, or a list, tuple or array of two of these.

    >>> import graphc as gc
    >>> gc.histogram2d([0.0, 1.0, 1.0], [1.0, 0.0, 0.2], bins=2)[0].tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    same = isinstance(bins, list | tuple) and len(bins) != 2
    counts, edges = histogramdd([x, y], [bins, bins] if same else bins, range, density=density, weights=weights)
    return counts, *edges


def _counts(axes: list, edges: list, weights):
    """The points, or their weights, in each box between the edges along each axis."""
    box, inside = None, None
    for x, bounds in zip(axes, edges, strict=True):
        n = bounds.size - 1
        place = searchsorted(bounds, cast(x, dt.promote(x.dtype, bounds.dtype)), side="right") - 1
        here = (x >= slice_axis(bounds, 0, 0, 1)) & (x <= slice_axis(bounds, 0, n, 1))
        place = clip(place, 0, n - 1)
        box, inside = (place, here) if box is None else (box * n + place, inside & here)
    amount = wrap(const(1, dt.int64)) if weights is None else ravel(weights)
    if weights is not None and amount.size != axes[0].size:
        raise ShapeError(f"{amount.size} weights do not fit {axes[0].size} points", op="histogram")
    sizes = [bounds.size - 1 for bounds in edges]
    return reshape(_count_rows(prod(sizes), box, where(inside, amount, wrap(const(0, amount.dtype)))), sizes)


def _floats(counts, edges: list):
    return cast(counts, dt.default_float())


def _densities(counts, edges: list):
    """Counts over the total and the widths of their boxes."""
    result = edges[0].dtype
    found = cast(counts, result.accumulator)
    for axis, bounds in enumerate(edges):
        n = bounds.size - 1
        widths = slice_axis(bounds, 0, 1, n) - slice_axis(bounds, 0, 0, n)
        found = found / reshape(widths, (-1, *(1,) * (len(edges) - 1 - axis)))
    return cast(found / cast(sum_of(counts), found.dtype), result)


def _edges(x, bins, limits):
    """The edges of the bins of a histogram, as a vector of floats."""
    if several(bins):
        edges = as_tensor(bins)
        if edges.ndim != 1 or edges.size < 2:
            raise ShapeError(f"edges of shape {edges.shape} bound no bin", op="histogram")
        known = None if isinstance(bins, Tensor) else np.asarray(edges)     # those in a tensor may not be computed yet
        if known is not None and not (known[1:] >= known[:-1]).all():
            raise ArgumentError(f"the edges {known} do not rise", op="histogram")
        return cast(edges, dt.default_float()) if edges.dtype.kind in "biu" else anew(edges)
    bins = an_int(bins, "histogram", "the number of bins")
    if bins < 1:
        raise ArgumentError(f"there must be at least one bin, not {bins}", op="histogram")
    if limits is not None:
        low, high = map(float, limits)
        if not low <= high or np.isinf(low) or np.isinf(high):
            raise ArgumentError(f"range {limits} is not finite and rising", op="histogram")
        ends = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(*ends, bins + 1)
        return from_numpy(edges.astype(_edge_dtype(x).numpy), copy=False, device=x.node.device)
    if x.size == 0:
        return _edges(x, bins, (0.0, 1.0))
    low, high = cast(min_of(x), dt.float64), cast(max_of(x), dt.float64)
    flat = low == high
    low, high = where(flat, low - 0.5, low), where(flat, high + 0.5, high)
    step = (high - low) / float(bins)
    counter = cast(iota(bins), dt.float64)
    return cast(concat([counter * step + low, reshape(high, (1,))]), _edge_dtype(x))


def _edge_dtype(x) -> dt.DType:
    return x.dtype if x.dtype.kind == "f" else dt.default_float()
