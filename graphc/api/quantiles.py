"""Order statistics: quantiles, the elements by their place in the order."""
from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from graphc.api.elementwise import isfinite, isnan, where
from graphc.api.manipulation import moveaxis, reshape, slice_axis, stack
from graphc.api.record import as_float, filled, normalize_axes
from graphc.api.sorting import sort
from graphc.errors import ArgumentError, DTypeError, GradientError
from graphc.tensor import Tensor


def _rows(x, axis, name: str) -> tuple:
    """x with the reduced axes made one, at the end; and the shape that a reduction leaves with keepdims."""
    axes = normalize_axes(axis, x.ndim, name)
    kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    x = moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    return reshape(x, (*rest, prod(x.shape[len(rest):]))), kept


def _straight(alpha: float, beta: float) -> Callable:
    """Hyndman & Fan's definitions without jumps."""
    return lambda m, n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


# Where, counted from 0, the quantile of a fraction q of n elements lies in their order: (functions, n, q) -> place.
_PLACES = {
    "linear": lambda m, n, q: (n - 1) * q,
    "lower": lambda m, n, q: m.floor((n - 1) * q),
    "higher": lambda m, n, q: m.ceil((n - 1) * q),
    "nearest": lambda m, n, q: m.rint((n - 1) * q),
    "midpoint": lambda m, n, q: (m.floor((n - 1) * q) + m.ceil((n - 1) * q)) / 2,
    "inverted_cdf": lambda m, n, q: m.ceil(n * q - 1),
    "averaged_inverted_cdf": lambda m, n, q: (m.floor(n * q) + m.ceil(n * q - 1)) / 2,
    "closest_observation": lambda m, n, q: m.rint(n * q) - 1,
    "interpolated_inverted_cdf": _straight(0, 1), "hazen": _straight(0.5, 0.5), "weibull": _straight(0, 0),
    "median_unbiased": _straight(1 / 3, 1 / 3), "normal_unbiased": _straight(3 / 8, 3 / 8),
}


def quantile(x, q, /, axis=None, *, method: str = "linear", keepdims: bool = False):
    """The value below which a fraction q of the elements lies, linear between neighbours (numpy.quantile's default).

    q: one number in 0..1 or an array of them, whose axes come first in the result; a tensor is realized here. NaN where
    there is a NaN. Beside an infinity it is what `median` gives: an element where q falls on one, the infinity between
    it and a number (numpy.quantile has NaN there), NaN between both.

    method: "linear", "lower", "higher", "nearest", "midpoint", or another of numpy.quantile's, which are the nine of
    Hyndman & Fan, "Sample quantiles in statistical packages" (1996); "linear" is their definition 7. Raises
    ArgumentError for another, and for q outside of 0..1.

    >>> import graphc as gc
    >>> gc.quantile(gc.asarray([1.0, 2.0, 3.0, 4.0]), 0.5).item()
    2.5
    >>> gc.quantile(gc.asarray([1.0, 2.0, 3.0, 4.0]), 0.5, method="lower").item()
    2.0
    """
    return of_fractions(x, q, axis, method, keepdims, "quantile", _between)


def of_fractions(x, q, axis, method: str, keepdims: bool, name: str, of_rows: Callable[..., list]):
    """of_rows: rows, fractions and the method's function -> the quantiles of all rows for each fraction."""
    if method not in _PLACES:
        raise ArgumentError(f"there is no method {method!r}", op=name, fix=f"use one of {', '.join(_PLACES)}")
    q = _known(q, name)
    if not ((q >= 0) & (q <= 1)).all():
        raise ArgumentError("quantiles must be between 0 and 1", op=name)
    x = as_float(x, name)
    if x.dtype.kind != "f":
        raise DTypeError(f"{x.dtype} has no order", op=name)
    rows, kept = _rows(x, axis, name)
    rest = kept if keepdims else rows.shape[:-1]
    if rows.shape[-1] == 0 or not q.size:
        return filled((*q.shape, *rest), float("nan"), x.dtype)
    found = [reshape(value, rest) for value in of_rows(rows, q.reshape(-1).tolist(), _PLACES[method])]
    return found[0] if q.ndim == 0 else reshape(stack(found), (*q.shape, *rest))


def _known(q, name: str) -> np.ndarray:
    """The fractions, whose values choose elements."""
    if isinstance(q, Tensor) and q.node.tracked:
        raise GradientError("no gradient passes to the fractions", op=name, fix="use q.detach()")
    return np.asarray(q, np.float64)


def part_way(below, above, part):
    """A part, in 0..1, of the way from one element to the next."""
    step = above - below
    # From the nearer side, as NumPy: the result never leaves the interval. Neighbours whose distance is no number, as
    # that of infinities, are weighed.
    found = where(part < 0.5, below + step * part, above - step * (1 - part))
    return where(isfinite(step), found, below * (1 - part) + above * part)


def _between(rows, fractions: list[float], place_of: Callable) -> list:
    rows, n = sort(rows), rows.shape[-1]
    missing = isnan(slice_axis(rows, rows.ndim - 1, n - 1, 1))     # NaN sorts last
    found = []
    for q in fractions:
        position = min(max(float(place_of(np, n, q)), 0.0), n - 1.0)
        low = int(position)
        part = position - low
        below = slice_axis(rows, rows.ndim - 1, low, 1)
        if part:
            below = part_way(below, slice_axis(rows, rows.ndim - 1, low + 1, 1), part)
        found.append(where(missing, float("nan"), below))
    return found


def median(x, /, axis=None, *, keepdims: bool = False):
    """The middle element, or the mean of the two middle ones; NaN where there is a NaN.

    >>> import graphc as gc
    >>> gc.median(gc.asarray([3, 1, 2, 10])).item()
    2.5
    """
    return quantile(x, 0.5, axis, keepdims=keepdims)


def percentile(x, q, /, axis=None, *, method: str = "linear", keepdims: bool = False):
    """As quantile, with q in 0..100."""
    return quantile(x, _known(q, "percentile") / 100, axis, method=method, keepdims=keepdims)
