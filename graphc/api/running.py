"""Running extrema: of all elements up to each one."""
from __future__ import annotations

from graphc.api.record import as_tensor, check_dtype, normalize_axis, wrap
from graphc.errors import ArgumentError, user_site
from graphc.ir import ops
from graphc.ir.node import make


def cumulative_max(x, /, *, axis: int | None = None):
    """The largest of all elements up to and including each one, along an axis (None: only for one dimension); NaN from
    the first NaN on. NumPy's maximum.accumulate. The gradient goes to the last of equal elements.

    Raises ArgumentError, and DTypeError for complex numbers.

    >>> import graphc as gc
    >>> gc.cumulative_max(gc.asarray([1, 3, 2, 5])).tolist()
    [1, 3, 3, 5]
    """
    return _running(ops.CUMMAX, x, axis, "cumulative_max")


def cumulative_min(x, /, *, axis: int | None = None):
    """The smallest of all elements up to and including each one; otherwise as cumulative_max.

    >>> import graphc as gc
    >>> gc.cumulative_min(gc.asarray([4, 3, 5, 1])).tolist()
    [4, 3, 3, 1]
    """
    return _running(ops.CUMMIN, x, axis, "cumulative_min")


def _running(op: ops.Op, x, axis: int | None, name: str):
    x = as_tensor(x, None, name)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"axis must be given for an array of shape {x.shape}", op=name,
                            fix=f"{name}(ravel(x)), or name the axis")
    place = normalize_axis(0 if axis is None else axis, x.ndim, name)
    check_dtype(op, x.dtype, name)
    node = x.node
    return wrap(make(op, node.dtype, node.shape, (node,), (place,), device=node.device, site=user_site(2)))
