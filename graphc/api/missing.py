"""Statistics of the elements that are not NaN, as NumPy's: composites of others."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphc.api import elementwise as el
from graphc.api.elementwise import clip, equal, floor, isnan, logical_not, where
from graphc.api.indexing import take_along_axis
from graphc.api.quantiles import of_fractions, part_way
from graphc.api.record import as_float, as_tensor, cast, reduce
from graphc.api.reductions import all_equal, argmax, argmin, cumprod, cumsum, min, prod, root, squares, sum
from graphc.api.sorting import sort
from graphc.ir import dtype as dt
from graphc.ir import ops


def _replaced(x, value: float, name: str):
    x = as_tensor(x, None, name)
    return where(isnan(x), value, x) if x.dtype.kind in "fc" else x


def nansum(x, /, axis=None, *, keepdims: bool = False):
    """The sum, NaN counting as 0."""
    return sum(_replaced(x, 0.0, "nansum"), axis, keepdims=keepdims)


def nanprod(x, /, axis=None, *, keepdims: bool = False):
    """The product, NaN counting as 1."""
    return prod(_replaced(x, 1.0, "nanprod"), axis, keepdims=keepdims)


def nanmean(x, /, axis=None, *, keepdims: bool = False):
    """The mean of the elements that are not NaN; NaN where there is none.

    >>> import graphc as gc
    >>> gc.nanmean(gc.asarray([1.0, float("nan"), 3.0])).item()
    2.0
    """
    x = as_float(x, "nanmean")
    carried = x.dtype.accumulator
    total = nansum(cast(x, carried), axis, keepdims=keepdims)
    count = sum(logical_not(isnan(x)), axis, dtype=carried, keepdims=keepdims)
    return cast(total / count, x.dtype)


def _nan_extremum(op: ops.Op, worst: float, x, axis, keepdims: bool, name: str):
    x = as_tensor(x)
    if x.dtype.kind != "f":
        return reduce(op, x, axis, keepdims, None, name)
    found = reduce(op, where(isnan(x), worst, x), axis, keepdims, None, name)
    alike = dt.int64 if x.dtype is dt.float64 else dt.int32      # lanes as wide as those of x
    return where(equal(min(cast(isnan(x), alike), axis, keepdims=keepdims), 1), float("nan"), found)


def nanmax(x, /, axis=None, *, keepdims: bool = False):
    """The largest element that is not NaN; NaN where all are. Raises ShapeError for no elements."""
    return _nan_extremum(ops.MAX, float("-inf"), x, axis, keepdims, "nanmax")


def nanmin(x, /, axis=None, *, keepdims: bool = False):
    """The smallest element that is not NaN; NaN where all are. Raises ShapeError for no elements."""
    return _nan_extremum(ops.MIN, float("inf"), x, axis, keepdims, "nanmin")


def nanargmax(x, /, axis: int | None = None, *, keepdims: bool = False):
    """The index of the largest element that is not NaN, as argmax; 0 where all are.

    >>> import graphc as gc
    >>> gc.nanargmax(gc.asarray([1.0, float("nan"), 3.0])).item()
    2
    """
    return argmax(_replaced(x, float("-inf"), "nanargmax"), axis, keepdims=keepdims)


def nanargmin(x, /, axis: int | None = None, *, keepdims: bool = False):
    """The index of the smallest element that is not NaN, as argmin; 0 where all are."""
    return argmin(_replaced(x, float("inf"), "nanargmin"), axis, keepdims=keepdims)


def nancumsum(x, /, axis: int | None = None):
    """Cumulative sums, NaN counting as 0."""
    return cumsum(_replaced(x, 0.0, "nancumsum"), axis)


def nancumprod(x, /, axis: int | None = None):
    """Cumulative products, NaN counting as 1."""
    return cumprod(_replaced(x, 1.0, "nancumprod"), axis)


def nanvar(x, /, axis=None, *, ddof: float = 0.0, keepdims: bool = False):
    """The variance of the elements that are not NaN; NaN where there are not more of them than `ddof`.

    >>> import graphc as gc
    >>> gc.nanvar(gc.asarray([1.0, float("nan"), 3.0])).item()
    1.0
    """
    x = as_float(x, "nanvar")
    result, x = x.dtype.real, cast(x, x.dtype.accumulator)
    unknown = isnan(x)
    off = squares(where(unknown, 0, x - nanmean(x, axis, keepdims=True)))
    count = sum(cast(~unknown, off.dtype), axis, keepdims=keepdims)
    found = sum(off, axis, keepdims=keepdims) / (count - ddof)
    return cast(where(count > ddof, found, float("nan")), result)


def nanstd(x, /, axis=None, *, ddof: float = 0.0, keepdims: bool = False):
    """The square root of nanvar."""
    x = as_float(x, "nanstd")
    result, x = x.dtype.real, cast(x, x.dtype.accumulator)
    spread = nanvar(x, axis, ddof=ddof, keepdims=keepdims)
    return cast(root(spread, same=lambda: all_equal(x, axis, keepdims, ~isnan(x))), result)


def nanquantile(x, q, /, axis=None, *, method: str = "linear", keepdims: bool = False):
    """As quantile, of the elements that are not NaN; NaN where there are none.

    >>> import graphc as gc
    >>> gc.nanquantile(gc.asarray([1.0, float("nan"), 3.0, 2.0]), [0.5, 0.75]).tolist()
    [2.0, 2.5]
    """
    return of_fractions(x, q, axis, method, keepdims, "nanquantile", _between_known)


def _between_known(rows, fractions: list[float], place_of: Callable) -> list:
    rows, count = sort(rows), sum(cast(~isnan(rows), dt.int64), -1, keepdims=True)      # NaN sorts last
    last = clip(count - 1, 0, None)
    return [where(count == 0, float("nan"), _at(rows, last, clip(place_of(el, cast(count, dt.float64), q), 0, last)))
            for q in fractions]


def _at(rows, last, position):
    """Between the two of the first last + 1 elements of each row that lie around a position, as `quantile` does."""
    low = cast(floor(position), dt.int64)
    part = cast(position - floor(position), rows.dtype)
    below, above = (take_along_axis(rows, k, axis=-1) for k in (low, where(low < last, low + 1, last)))
    return where(part == 0, below, part_way(below, above, part))


def nanmedian(x, /, axis=None, *, keepdims: bool = False):
    """As median, of the elements that are not NaN; NaN where there are none."""
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def nanpercentile(x, q, /, axis=None, *, method: str = "linear", keepdims: bool = False):
    """As nanquantile, with q in 0..100."""
    return nanquantile(x, np.asarray(q, np.float64) / 100, axis, method=method, keepdims=keepdims)
