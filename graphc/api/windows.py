"""Windows of an axis: `sliding_window_view` reads them, `overlap_add` puts them back; each is the other's adjoint."""
from __future__ import annotations

from collections.abc import Sequence

from graphc.api.axes import a_shape, an_int, ordered_axes
from graphc.api.creation import zeros
from graphc.api.manipulation import moveaxis, permute_dims, reshape, stack
from graphc.api.padding import pad
from graphc.api.record import as_tensor, movement, normalize_axis, wrap
from graphc.errors import ArgumentError, ShapeError, user_site
from graphc.ir import ops
from graphc.ir.node import make

UNROLLED = 32           # windows up to this size are added as shifted arrays, in one kernel


def sliding_window_view(x, /, window_shape, axis: int | Sequence[int] | None = None, *, stride: int = 1,
                        dilation: int = 1):
    """Every window of `window_shape` elements: its axes come last, and each axis shrinks to the number of windows.

    axis: the axes that the sizes belong to (None: all, in order). stride: from one window to the next; dilation: from
    one element of a window to the next. Nothing is copied.

    Raises ShapeError (a ValueError) if a window is larger than its axis.

    >>> import graphc as gc
    >>> gc.sliding_window_view(gc.arange(5), 3).sum(axis=-1).tolist()
    [3, 6, 9]
    """
    x, op = as_tensor(x), "sliding_window_view"
    sizes, axes = a_shape(window_shape, op), ordered_axes(axis, x.ndim, op)
    stride, dilation = an_int(stride, op, "stride"), an_int(dilation, op, "dilation")
    if len(sizes) != len(axes):
        raise ArgumentError(f"{len(sizes)} window sizes do not belong to {len(axes)} axes", op=op)
    if min(stride, dilation) < 1:
        raise ArgumentError(f"stride {stride} and dilation {dilation} must be positive", op=op)
    ndim = x.ndim
    place = list(range(ndim))           # where each axis of the argument stands now
    windows = []
    for a, size in zip(axes, sizes, strict=True):
        span = (size - 1) * dilation + 1 if size else 0
        n = x.shape[place[a]]
        if span > n:
            raise ShapeError(f"a window of {span} does not fit in axis {a} of size {n}", op=op)
        at, count = place[a], (n - span) // stride + 1
        x = movement(ops.WINDOW, x, (*x.shape[:at], count, size, *x.shape[at + 1:]), (at, stride, dilation))
        place = [p + 1 if p > at else p for p in place]
        windows = [w + 1 if w > at else w for w in windows] + [at + 1]
    return permute_dims(x, (*place, *windows))


def overlap_add(x, /, size: int, axis: int = -2, *, stride: int = 1, dilation: int = 1, padding: int = 0):
    """Windows put where `sliding_window_view` reads them, added where they overlap: its adjoint.

    x: (..., count, ..., k), `count` windows along `axis`, the k elements of each along the last axis. The result,
    (..., size, ...), has at position p of `axis` the sum of x[..., i, ..., t] over all i and t for which
    i * stride + t * dilation == p + padding. What lies outside of it is left out, as in torch.nn.functional.fold.

    Raises ArgumentError (a ValueError) if `axis` is the last one, or a number is too small.

    >>> import graphc as gc
    >>> windows = gc.sliding_window_view(gc.asarray([1.0, 2.0, 3.0, 4.0]), 3)
    >>> gc.overlap_add(windows, 4).tolist()
    [1.0, 4.0, 6.0, 4.0]
    """
    x, op = as_tensor(x), "overlap_add"
    size, stride, dilation = (an_int(n, op, name) for n, name in ((size, "size"), (stride, "stride"),
                                                                 (dilation, "dilation")))
    axis, padding = normalize_axis(axis, x.ndim, op), an_int(padding, op, "padding")
    if axis == x.ndim - 1:
        raise ArgumentError(f"axis {axis} of shape {x.shape} is that of the windows' elements, not of the windows",
                            op=op)
    if min(stride, dilation) < 1 or size < 0:
        raise ArgumentError(f"size {size} must not be negative, stride {stride} and dilation {dilation} positive",
                            op=op)
    y = _added(x, axis, size, stride, dilation, padding)
    if not y.node.tracked or not x.size:
        return y
    return wrap(make(ops.ALIAS, y.dtype, y.shape, (y.node, x.node), (op, axis, stride, dilation, padding),
                     device=y.node.device, site=user_site()))


def windows_of(g, x, axis: int, stride: int, dilation: int, padding: int):
    """The gradient of overlap_add."""
    count, k = x.shape[axis], x.shape[-1]
    g = _moved(g, axis, padding, (count - 1) * stride + (k - 1) * dilation + 1)
    return sliding_window_view(g, k, axis, stride=stride, dilation=dilation)


def _added(x, axis: int, size: int, stride: int, dilation: int, start: int):
    """overlap_add, with the first position at `start`. What is r after a multiple of the stride comes from some of the
    taps, as with stride 1: so no zeros are put between windows."""
    shape, k = (*x.shape[:axis], size, *x.shape[axis + 1:-1]), x.shape[-1]
    if stride == 1:
        return _shifted(x, axis, size, dilation, start)
    if stride == k and dilation == 1:       # disjoint: one after the other
        y = reshape(moveaxis(x, -1, axis + 1), (*shape[:axis], x.shape[axis] * k, *shape[axis + 1:]))
        return _moved(y, axis, -start, size)
    turns = -(-size // stride)
    phases = []
    for r in range(stride):
        taps = [t for t in range(k) if (r + start - t * dilation) % stride == 0]
        if taps:
            step = taps[1] - taps[0] if len(taps) > 1 else 1
            phases.append(_shifted(x[..., taps[0]:taps[-1] + 1:step], axis, turns, step * dilation // stride,
                                   (r + start - taps[0] * dilation) // stride))
        else:
            phases.append(zeros((*shape[:axis], turns, *shape[axis + 1:]), dtype=x.dtype, device=x.device))
    y = reshape(stack(phases, axis=axis + 1), (*shape[:axis], turns * stride, *shape[axis + 1:]))
    return _moved(y, axis, 0, size)


def _shifted(x, axis: int, size: int, dilation: int, start: int):
    """_added with stride 1."""
    count, k = x.shape[axis], x.shape[-1]
    if 0 < k <= UNROLLED and x.size:
        parts = [_moved(x[..., t], axis, t * dilation - start, size) for t in range(k)]
        return sum(parts[1:], parts[0])
    if not x.size:
        return zeros((*x.shape[:axis], size, *x.shape[axis + 1:-1]), dtype=x.dtype, device=x.device)
    # Row t shifted by t * dilation: rows of one length, laid end to end and cut anew into shorter ones.
    length = (k - 1) * dilation + count
    rows = _moved(moveaxis(x, -1, axis), axis + 1, 0, length + dilation)
    before, after = rows.shape[:axis], rows.shape[axis + 2:]
    flat = _moved(reshape(rows, (*before, k * (length + dilation), *after)), axis, 0, k * length)
    return _moved(reshape(flat, (*before, k, length, *after)).sum(axis=axis), axis, -start, size)


def _moved(x, axis: int, before: int, length: int):
    """`length` elements of an axis, after `before` zeros (or so many elements fewer), and zeros after its end."""
    n = x.shape[axis]
    first, last = max(-before, 0), min(n, length - before)
    if first >= last:       # nothing of it is left
        return zeros((*x.shape[:axis], length, *x.shape[axis + 1:]), dtype=x.dtype, device=x.device)
    if (first, last) != (0, n):
        x = x[(slice(None),) * axis + (slice(first, last),)]
    front = max(before, 0)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (front, length - front - (last - first))
    return pad(x, widths) if any(widths[axis]) else x
