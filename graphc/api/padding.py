"""pad: elements added around an array, from inside it or computed from it."""
from __future__ import annotations

import numpy as np

from graphc.api import record
from graphc.api.creation import linspace, stacked
from graphc.api.elementwise import round
from graphc.api.manipulation import _concat, _parts, _with, broadcast_to, flip, slice_axis, squeeze
from graphc.api.numbers import check_fits
from graphc.api.quantiles import median
from graphc.api.record import as_tensor, cast, movement, normalize_axis
from graphc.api.reductions import max as max_of
from graphc.api.reductions import mean
from graphc.api.reductions import min as min_of
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.ir import ops
from graphc.tensor import Tensor


def pad(x, /, pad_width, mode: str = "constant", *, constant_values=0, end_values=0, stat_length=None):
    """x with elements added before and after each axis.

    pad_width: n, (before, after), one such pair for each axis, or a dict of these for some axes. mode, each as in
    numpy.pad: "constant" (constant_values: one, a pair or one for each axis), "edge" (repeat the outermost element),
    "reflect" (mirror without repeating it), "symmetric" (mirror with it), "wrap" (come round from the other side),
    "maximum", "minimum", "mean" or "median" (of the axis, or of its stat_length outermost elements, given as
    constant_values), "linear_ramp" (in equal steps to end_values, as constant_values). constant_values and end_values
    may be tensors, which gradients pass to, and arguments of a jitted function.

    Raises ShapeError for widths that do not fit, or for an empty axis in a mode that reads elements; ArgumentError for
    negative widths and an unknown mode; IntegerOverflow for constant_values that the dtype of x cannot hold.

    >>> import graphc as gc
    >>> gc.pad(gc.asarray([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    >>> gc.pad(gc.asarray([4.0, 2.0]), 2, mode="linear_ramp").tolist()
    [0.0, 2.0, 4.0, 2.0, 1.0, 0.0]
    """
    x = as_tensor(x)
    widths = _widths(pad_width, x.shape)
    if mode == "constant" and record.holds_recorded(constant_values):
        for axis, (pair, ends) in enumerate(zip(widths.tolist(), _recorded(constant_values, x), strict=True)):
            left, right = (broadcast_to(end, _with(x.shape, axis, n)) for end, n in zip(ends, pair, strict=True))
            x = _concat([left, x, right], axis)
        return record.anew(x)
    if mode == "constant":
        values = _pairs(constant_values, x.shape, "values")
        if not isinstance(constant_values, np.ndarray | np.generic | Tensor):   # those wrap, as by astype
            check_fits(values, x.dtype, "pad")
        return _pad_constant(record.anew(x), widths.tolist(), values)
    if mode not in _MODES:
        raise ArgumentError(f"there is no mode {mode!r}", op="pad", fix=f"use constant, {', '.join(_MODES)}")
    lengths = [[n, n] for n in x.shape]
    ends = (_recorded(end_values, x) if record.holds_recorded(end_values)
            else _pairs(end_values, x.shape, "values").tolist())
    if stat_length is not None and x.ndim:
        lengths = np.minimum(_pairs(stat_length, x.shape, "lengths"), lengths).tolist()
    for axis, (before, after) in enumerate(widths.tolist()):
        n = x.shape[axis]
        if n == 0 and before + after:
            raise ShapeError(f"axis {axis} of shape {x.shape} is empty: mode {mode!r} has nothing to take", op="pad")
        if mode in _SOURCES:
            parts = _from_inside(x, axis, before, after, mode)
        elif mode in _STATISTICS:
            parts = _statistics(x, axis, (before, after), lengths[axis], mode)
        else:
            parts = _ramps(x, axis, (before, after), ends[axis])
        x = _concat([part for part in parts if part.shape[axis]], axis) if before + after else record.anew(x)
    return record.anew(x)


def _widths(given, shape: tuple[int, ...]) -> np.ndarray:
    """The widths before and after each axis. Raises DTypeError, ArgumentError, ShapeError."""
    if isinstance(given, dict):
        pairs = {normalize_axis(axis, len(shape), "pad"): _pairs(width, (1,), "widths")[0]
                 for axis, width in given.items()}
        given = np.array([pairs.get(axis, (0, 0)) for axis in range(len(shape))]).reshape(-1, 2)
        given = given if pairs else given.astype(np.int64)
    found = np.asarray(given)
    if found.dtype.kind not in "iu":
        raise DTypeError(f"widths {given} must be integers", op="pad")
    if found.min(initial=0) < 0:        # also those of no axis
        raise ArgumentError(f"widths {given} must not be negative", op="pad")
    return _pairs(found, shape, "widths")


def _pairs(values, shape: tuple[int, ...], what: str) -> np.ndarray:
    """One value, a pair, or a pair for each axis, as (axes, 2)."""
    try:
        return np.broadcast_to(np.asarray(values), (len(shape), 2))
    except ValueError:
        raise ShapeError(f"{what} {values} do not fit an array of shape {shape}", op="pad") from None


def _recorded(values, x) -> list:
    """What `_pairs` gives, of tensors and numbers that are more than their values: in the dtype of x, recorded."""
    given = stacked(values, x.dtype, "pad")
    try:
        pairs = broadcast_to(given, (x.ndim, 2))
    except ShapeError:
        raise ShapeError(f"values of shape {given.shape} do not fit an array of shape {x.shape}", op="pad") from None
    return [[pairs[axis, 0], pairs[axis, 1]] for axis in range(x.ndim)]


def _pad_constant(x, widths: list[list[int]], values: np.ndarray):
    """One PAD node if there is one fill; otherwise one for each side, in NumPy's order: later axes win the corners."""
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True))
    fills = values.astype(x.dtype.numpy)
    if len({fill.tobytes() for fill in fills.reshape(-1)}) <= 1:
        return _pad(x, tuple(a for a, _ in widths), shape, fills.reshape(-1)[0] if fills.size else 0)
    for axis, (before, after) in enumerate(widths):
        for first, width, fill in ((before, before, fills[axis, 0]), (0, after, fills[axis, 1])):
            befores = tuple(first if a == axis else 0 for a in range(x.ndim))
            x = _pad(x, befores, _with(x.shape, axis, x.shape[axis] + width), fill)
    return x


def _pad(x, befores: tuple[int, ...], shape: tuple[int, ...], fill):
    if shape == x.shape:
        return x
    return movement(ops.PAD, x, shape, (befores, np.asarray(fill, x.dtype.numpy).tobytes()))


def _mirrored(position: np.ndarray, n: int, period: int) -> np.ndarray:
    position = position % period
    return np.where(position < n, position, 2 * n - 1 - position if period == 2 * n else period - position)


# Which element of an axis of n stands at a position outside it.
_SOURCES = {
    "edge": lambda position, n: np.clip(position, 0, n - 1),
    "reflect": lambda position, n: _mirrored(position, n, max(2 * n - 2, 1)),
    "symmetric": lambda position, n: _mirrored(position, n, 2 * n),
    "wrap": lambda position, n: position % n,
}


_STATISTICS = {"maximum": max_of, "minimum": min_of, "mean": mean, "median": median}
_MODES = (*_SOURCES, *_STATISTICS, "linear_ramp")


def _from_inside(x, axis: int, before: int, after: int, mode: str) -> list:
    n = x.shape[axis]
    left = _SOURCES[mode](np.arange(-before, 0), n)
    right = _SOURCES[mode](np.arange(n, n + after), n)
    return [*_parts(x, axis, left), x, *_parts(x, axis, right)]


def _statistics(x, axis: int, widths: tuple[int, int], lengths: list[int], mode: str) -> list:
    if min(lengths) < 1:
        raise ArgumentError(f"stat_length must be positive, not {min(lengths)}", op="pad")
    found = []
    for start, length, width in zip((0, x.shape[axis] - lengths[1]), lengths, widths, strict=True):
        value = _STATISTICS[mode](slice_axis(x, axis, start, length), axis, keepdims=True)
        value = cast(round(value) if x.dtype.kind in "iu" else value, x.dtype)
        found.append(broadcast_to(value, _with(x.shape, axis, width)))
    return [found[0], x, found[1]]


def _ramps(x, axis: int, widths: tuple[int, int], ends: list) -> list:
    edges = [squeeze(slice_axis(x, axis, start, 1), axis) for start in (0, x.shape[axis] - 1)]
    left, right = (linspace(end, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
                   for end, edge, width in zip(ends, edges, widths, strict=True))
    return [left, x, flip(right, axis)]
