"""Running extrema: of all elements up to each one."""
from __future__ import annotations

from graphc.api.elementwise import maximum, minimum
from graphc.api.manipulation import concat, slice_axis
from graphc.api.record import as_tensor, normalize_axis
from graphc.errors import ArgumentError


def cumulative_max(x, /, *, axis: int | None = None):
    """The largest of all elements up to and including each one, along an axis (None: only for one dimension); NaN from
    the first NaN on. NumPy's maximum.accumulate.

    Windows of 1, 2, 4, ... elements are joined, which is exact in any order: Hillis & Steele, "Data parallel
    algorithms" (1986). Raises ArgumentError.

    >>> import graphc as gc
    >>> gc.cumulative_max(gc.asarray([1, 3, 2, 5])).tolist()
    [1, 3, 3, 5]
    """
    return _running(maximum, x, axis, "cumulative_max")


def cumulative_min(x, /, *, axis: int | None = None):
    """The smallest of all elements up to and including each one; otherwise as cumulative_max.

    >>> import graphc as gc
    >>> gc.cumulative_min(gc.asarray([4, 3, 5, 1])).tolist()
    [4, 3, 3, 1]
    """
    return _running(minimum, x, axis, "cumulative_min")


def _running(combine, x, axis: int | None, name: str):
    x = as_tensor(x, None, name)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"axis must be given for an array of shape {x.shape}", op=name,
                            fix=f"{name}(ravel(x)), or name the axis")
    place = normalize_axis(0 if axis is None else axis, x.ndim, name)
    n, width = x.shape[place], 1
    while width < n:
        joined = combine(slice_axis(x, place, width, n - width), slice_axis(x, place, 0, n - width))
        x, width = concat([slice_axis(x, place, 0, width), joined], axis=place), 2 * width
    return x
