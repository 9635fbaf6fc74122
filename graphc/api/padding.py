"""pad: elements added around an array, from inside it or computed from it."""
from __future__ import annotations

import numpy as np

from graphc.api import record
from graphc.api.manipulation import _concat, _parts, _with
from graphc.api.record import as_tensor, movement
from graphc.errors import DTypeError, ShapeError
from graphc.ir import ops


def pad(x, /, pad_width, mode: str = "constant", *, constant_values=0):
    """x with elements added before and after each axis.

    pad_width: n, (before, after) or one such pair for each axis. mode: "constant" (constant_values: one, or as
    pad_width), "edge" (repeat the outermost element), "reflect" (mirror without repeating it), "symmetric" (mirror with
    it) or "wrap" (come round from the other side), each as in numpy.pad.

    Raises ShapeError for widths that do not fit, or for an empty axis in a mode that reads elements.

    >>> import graphc as gc
    >>> gc.pad(gc.asarray([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    x = as_tensor(x)
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
        values = np.broadcast_to(np.asarray(constant_values), (x.ndim, 2))
    except ValueError:
        raise ShapeError(f"widths {pad_width} do not fit an array of shape {x.shape}", op="pad") from None
    if widths.dtype.kind not in "iu":
        raise DTypeError(f"widths {pad_width} must be integers", op="pad")
    if widths.min(initial=0) < 0:
        raise ShapeError(f"widths {pad_width} must not be negative", op="pad")
    x = record.anew(x)
    if mode == "constant":
        return _pad_constant(x, widths.tolist(), values)
    if mode not in _SOURCES:
        raise ShapeError(f"there is no mode {mode!r}", op="pad", fix=f"use constant, {', '.join(_SOURCES)}")
    for axis, (before, after) in enumerate(widths.tolist()):
        x = _pad_from_inside(x, axis, before, after, mode)
    return x


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


def _pad_from_inside(x, axis: int, before: int, after: int, mode: str):
    if before == after == 0:
        return x
    n = x.shape[axis]
    if n == 0:
        raise ShapeError(f"axis {axis} of shape {x.shape} is empty: mode {mode!r} has nothing to take", op="pad")
    left = _SOURCES[mode](np.arange(-before, 0), n)
    right = _SOURCES[mode](np.arange(n, n + after), n)
    return _concat([*_parts(x, axis, left), x, *_parts(x, axis, right)], axis)
