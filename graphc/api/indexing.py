"""Indexing: reading and functional writing by integers, slices, ellipsis, None, boolean masks and integer arrays.

Both use the `Selection` that `graphc.api.keys` makes of a key: its region is one SLICE and one RESHAPE, its index
arrays are one TAKE over the axes that they select from, flattened.
"""
from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from math import prod

import numpy as np

from graphc.api import record
from graphc.api.creation import iota
from graphc.api.elementwise import add, clip, maximum, minimum, multiply, negative, remainder, subtract, where
from graphc.api.keys import Selection, checked, integer_in, positions, select
from graphc.api.numbers import scalar
from graphc.api.other_names import UPDATES, Elsewhere
from graphc.api.record import (
    anew, as_tensor, broadcast_shapes, cast, expand_to, movement, normalize_axis, reshape_to, wrap,
)
from graphc.errors import ArgumentError, DTypeError, ShapeError, user_site
from graphc.ir import dtype as dtypes
from graphc.ir import ops
from graphc.ir.node import Node, make, topological
from graphc.tensor import Tensor
from graphc.tracing import Scalar

# ------------------------------------------------------------------------------------------------------------ reading

def getitem(x: Tensor, key) -> Tensor:
    """`x[key]` with NumPy's meaning. A boolean mask is realized, because it decides the shape of the result.

    >>> x = gc.reshape(gc.arange(6), (2, 3))
    >>> x[1].tolist(), x[:, ::-1].tolist(), x[[0, 1], [2, 0]].tolist(), x[x > 3].tolist()
    ([3, 4, 5], [[2, 1, 0], [5, 4, 3]], [2, 3], [4, 5])
    """
    if key.__class__ is int and x.node.shape:
        return _row(x, key)
    x, chosen = _read(x, key, "getitem")
    region = _region(x, chosen)
    return _fetch(region, chosen) if chosen.arrays else region


def _read(x: Tensor, key, name: str) -> tuple[Tensor, Selection]:
    """x and its key, read. The axes of a mask are made one, for one index array."""
    if not _is_mask(key, x):
        return x, select(key, x.node.shape, name)
    shape = (prod(key.shape), *x.shape[key.ndim:])
    x = reshape_to(x, shape)
    return x, Selection((0,) * len(shape), (1,) * len(shape), shape, shape, {0: positions(key, name)}, 0)


_NO_ARRAYS = frozenset((tuple, slice, int, type(None), type(...)))


def _row(x: Tensor, index: int) -> Tensor:
    """`x[i]`, the commonest key, without the reading of keys."""
    shape = x.node.shape
    start = integer_in(index, shape[0], 0, "getitem")
    rest = len(shape) - 1
    row = movement(ops.SLICE, x, (1, *shape[1:]), ((start, *(0,) * rest), (1,) * (rest + 1)))
    return reshape_to(row, shape[1:])


def _region(x: Tensor, chosen: Selection) -> Tensor:
    x = movement(ops.SLICE, x, chosen.lengths, (chosen.starts, chosen.steps))
    return x if chosen.inner == chosen.lengths else reshape_to(x, chosen.inner)


def _fetch(region: Tensor, chosen: Selection) -> Tensor:
    """What the index arrays select from the region."""
    axis = chosen.place
    if tuple(chosen.arrays) == (axis, axis + 1) == (chosen.counted, region.ndim - 1):
        shape = region.shape[:-1]   # x[arange(n), index]: one of each row, which fuses with what is computed by rows
        if chosen.fetched == shape[-1:]:
            index = expand_to(expand_to(chosen.arrays[axis + 1], shape[-1:], "getitem"), shape, "getitem")
            return reshape_to(_take_along(region, reshape_to(index, (*shape, 1)), axis + 1), shape)
    rows = _together(region, chosen, axis)
    return take_checked(rows, _linear(chosen), axis)


def _together(region: Tensor, chosen: Selection, axis: int) -> Tensor:
    """The region with the axes that arrays select from made one, at `axis`."""
    moved = movement(ops.PERMUTE, region, tuple(region.shape[i] for i in chosen.order), (chosen.order,))
    sizes = moved.shape
    stop = axis + len(chosen.arrays)
    return reshape_to(moved, sizes[:axis] + (prod(sizes[axis:stop]),) + sizes[stop:])


def _linear(chosen: Selection) -> Tensor:
    """One index into the flattened axes from an index for each of them."""
    index = None
    for axis, part in chosen.arrays.items():
        index = part if index is None else add(multiply(index, chosen.inner[axis]), part)
    return expand_to(index, chosen.fetched, "getitem")


def take_checked(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """TAKE along an axis by indices that have been checked: the axis is replaced by the axes of the index."""
    source, where_ = x.node, index.node
    shape = record.checked_size(source.shape[:axis] + where_.shape + source.shape[axis + 1:], "take")
    device = record.common_device("take", source, where_)
    return wrap(make(ops.TAKE, source.dtype, shape, (source, where_), (axis,), device=device, site=user_site(2)))


def take(x, indices, /, axis: int | None = None, *, mode: str = "raise"):
    """The elements of x at these positions along an axis, which is replaced by the axes of `indices`.

    axis=None: of x flattened. mode: where an index lies outside, "raise" raises IndexOutOfRange, "wrap" comes round
    from the other side, "clip" takes the nearest element. Negative indices count from the end, but for "clip".

    >>> gc.take(gc.asarray([5, 6, 7]), [2, 0, -1]).tolist()
    [7, 5, 7]
    >>> gc.take(gc.asarray([5, 6, 7]), [4, -9], mode="clip").tolist()
    [7, 5]
    """
    x = as_tensor(x, None, "take")
    if axis is None:
        x, axis = reshape_to(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim, "take")
    return take_checked(x, by_mode(indices, x.shape[axis], mode, "take", axis), axis)


def by_mode(indices, n: int, mode: str, name: str, axis: int = 0, negative: bool = True) -> Tensor:
    """Indices into n elements, each of which "wrap" or "clip" brings inside; "raise" is what `checked` does."""
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"there is no mode {mode!r}", op=name, fix="use 'raise', 'wrap' or 'clip'")
    if mode != "raise" and n:
        indices = as_tensor(indices, None, name)
        indices = cast(indices, dtypes.int64) if not indices.size else indices
        indices = remainder(indices, n) if mode == "wrap" else clip(indices, 0, n - 1)
    return checked(indices, n, name, axis, negative)


def _alongside(x: Tensor, indices, axis: int, name: str) -> Tensor:
    """`indices`, checked and broadcast to the shape of x on all axes but one."""
    indices = as_tensor(indices, None, name)
    if indices.ndim != x.ndim:
        raise ShapeError(f"indices of shape {indices.shape} and an array of shape {x.shape} differ in rank", op=name)
    others = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    shape = broadcast_shapes(name, indices.shape, others)
    if any(n != size for i, (n, size) in enumerate(zip(shape, x.shape, strict=True)) if i != axis):
        raise ShapeError(f"indices of shape {indices.shape} do not fit shape {x.shape}", op=name)
    return expand_to(checked(indices, x.shape[axis], name, axis), shape, name)


def _along(x: Tensor, indices, axis: int, name: str) -> Tensor:
    """For each element of `indices` the position in x flattened, the other coordinates being its own."""
    index = _alongside(x, indices, axis, name)
    position = None
    for i, n in enumerate(x.shape):
        part = index if i == axis else iota(n, i, x.ndim)
        position = part if position is None else add(multiply(position, n), part)
    return expand_to(position, index.shape, name)


def take_along_axis(x, indices, /, axis: int | None = -1):
    """x at `indices` along an axis, the other coordinates being those of the index: what argsort and argmin give.

    `indices` has the rank of x and broadcasts to it except along the axis; axis=None takes x as a vector. Raises
    IndexOutOfRange, ShapeError.

    >>> gc.take_along_axis(gc.asarray([[3, 1], [4, 9]]), [[1], [0]], axis=1).tolist()
    [[1], [4]]
    """
    x = as_tensor(x, None, "take_along_axis")
    if axis is None:
        x, axis = reshape_to(x, (x.size,)), 0
    axis = normalize_axis(axis, x.ndim, "take_along_axis")
    return _take_along(x, _alongside(x, indices, axis, "take_along_axis"), axis)


def _take_along(x: Tensor, index: Tensor, axis: int) -> Tensor:
    device = record.common_device("take_along_axis", x.node, index.node)
    return wrap(make(ops.TAKE_ALONG, x.node.dtype, index.shape, (x.node, index.node), (axis,), device=device,
                     site=user_site(2)))


# ------------------------------------------------------------------------------------------------------------ writing

_rebinding = threading.RLock()     # a signal handler may write as well


def _after_fork() -> None:
    global _rebinding
    _rebinding = threading.RLock()  # it may be held by a thread that the child does not have


os.register_at_fork(after_in_child=_after_fork)


def setitem(x: Tensor, key, value) -> None:
    """`x[key] = value`: the handle x stands for new values from now on; whatever was made from the old ones keeps them.

    The value is cast to the dtype of x and broadcast. Where an index array repeats a position the last value wins.

    >>> x = gc.zeros(4)
    >>> y = x + 1
    >>> x[1:3] = 5
    >>> x.tolist(), y.tolist()
    ([0.0, 5.0, 5.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    """
    value = _value(x, value)
    _rebound(x, lambda: _masked(x, key, value) if _is_mask(key, x) else written(x, key, value, "set"))


def _rebound(x: Tensor, updated: Callable[[], Tensor]) -> None:
    """x stands for the updated tensor from now on."""
    while True:
        old = x.node
        new = updated().node
        with _rebinding:
            if x.node is old:       # else another thread has written meanwhile, perhaps elsewhere: both must stand
                x.rebind(new)
                return


def _is_mask(key, x: Tensor) -> bool:
    return (key.__class__ not in _NO_ARRAYS and isinstance(key, (Tensor, np.ndarray))
            and key.dtype in (dtypes.bool, np.bool_) and key.ndim > 0 and tuple(key.shape) == x.shape[:key.ndim])


def _masked(x: Tensor, mask, value: Tensor) -> Tensor:
    """x with the elements under a mask replaced: a select, unless there is one value for each true element."""
    rest = x.ndim - mask.ndim
    if value.ndim > rest and value.shape[:value.ndim - rest] != (1,):
        value = _fitted(value, (positions(mask, "setitem").size, *x.shape[mask.ndim:]))
        everywhere = None if x.node.tracked else _everywhere(value.node, mask)
        if everywhere is None:
            return written(x, mask, value, "set")
        value = wrap(everywhere)
    else:
        value = reshape_to(value, value.shape[max(value.ndim - rest, 0):])
        expand_to(value, x.shape[mask.ndim:], "setitem")  # only for its check
    mask = as_tensor(mask)
    return where(reshape_to(mask, mask.shape + (1,) * rest), value, x)


SPARSE = 16     # a mask that selects one element of more than these is worth the gather and the scatter


def _everywhere(value: Node, mask) -> Node | None:
    """What makes the elements that are written to `x[mask]`, for all elements: where `value` is an elementwise
    expression of `y[mask]`, as in `x[x < 0] *= -1`, it needs no positions, nor a program for each number of them.

    None for another expression, or if a gradient may be taken: beside the mask it may be no number.
    """
    count = value.shape[0]
    if count < 2 or count * SPARSE < mask.size or value.tracked:
        return None
    index, found = positions(mask, "setitem").node, {}

    def is_same(node: Node) -> bool:
        """Whether all elements of the mask have the same."""
        return len(node.shape) < value_axes or node.shape[0] != count

    value_axes = len(value.shape)
    for node in topological([value], lambda node: is_same(node) or node.op.kind != ops.ELEMENTWISE):
        shape = (*mask.shape, *node.shape[1:])
        if is_same(node):
            found[node] = node
        elif node.op is ops.TAKE and node.srcs[1] is index and node.attrs == (0,):
            found[node] = reshape_to(wrap(node.srcs[0]), shape).node
        elif node.op is ops.EXPAND and is_same(node.srcs[0]):
            found[node] = expand_to(wrap(node.srcs[0]), shape, "setitem").node
        elif node.op.kind == ops.ELEMENTWISE and node.op is not ops.CHECK_INDEX and node.value is None:
            found[node] = make(node.op, node.dtype, shape, tuple(found[src] for src in node.srcs), node.attrs,
                               device=node.device, site=node.site)
        else:
            return None
    return found[value]


def _value(x: Tensor, value) -> Tensor:
    number = value.sample if value.__class__ is Scalar else value
    if number.__class__ is complex and x.dtype.kind not in "bc":
        raise DTypeError(f"{value} can't be stored as {x.dtype}", op="setitem", fix="cast the tensor first")
    if number.__class__ is float and x.dtype.kind in "iu":
        return wrap(scalar(value, x.dtype, "setitem"))
    return cast(as_tensor(value, x, "setitem"), x.dtype)


_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}       # a number of one kind is no number of a lesser one


def _combined(x: Tensor, value, name: str) -> Tensor:
    """What an update combines with elements of x, in its dtype. Raises DTypeError, as `x += value` does, where that
    would drop a fraction or an imaginary part: each result would be rounded, and in which order is open."""
    found = as_tensor(value, x, name)
    if _KINDS[found.dtype.kind] > _KINDS[x.dtype.kind]:
        raise DTypeError(f"the result is {dtypes.promote(x.dtype, found.dtype)}, which can't be stored as {x.dtype}",
                         op=name, fix=f"cast the tensor first, or the value: gc.asarray(value).astype('{x.dtype}')")
    return cast(found, x.dtype)


_COMBINE = {"add": add, "maximum": maximum, "minimum": minimum}


def written(x: Tensor, key, value, mode: str) -> Tensor:
    """x with the elements that the key selects combined with the value, by the mode of SCATTER_ROWS."""
    whole, (x, chosen) = x.shape, _read(x, key, "setitem")
    value = _fitted(_value(x, value), chosen.result)
    if 0 not in chosen.result:
        if chosen.arrays:
            value = _scattered(_region(x, chosen), chosen, value, mode)
        elif mode != "set":
            value = _COMBINE[mode](_region(x, chosen), value)
        x = _updated(x, chosen, value)
    return anew(x) if x.shape == whole else reshape_to(x, whole)


def _fitted(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The value broadcast to the selected shape; leading axes of size 1 that it has too many are dropped."""
    if value.node.shape == shape:
        return value
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = reshape_to(value, value.shape[extra:])
    sizes = zip(reversed(value.shape), reversed(shape), strict=False)
    if value.ndim > len(shape) or any(n not in (1, size) for n, size in sizes):
        raise ShapeError(f"a value of shape {value.shape} does not fit the selected shape {shape}", op="setitem")
    return expand_to(value, shape, "setitem")


def _scattered(region: Tensor, chosen: Selection, value: Tensor, mode: str) -> Tensor:
    """The region with the value scattered to where the arrays point."""
    count, fetched = len(chosen.arrays), len(chosen.fetched)
    order = tuple(chosen.arrays) + tuple(i for i in range(region.ndim) if i not in chosen.arrays)
    moved = movement(ops.PERMUTE, region, tuple(region.shape[i] for i in order), (order,))
    rows = reshape_to(moved, (prod(moved.shape[:count]),) + moved.shape[count:])
    # The axes of the index come first, as one.
    front = tuple(range(chosen.place, chosen.place + fetched))
    axes = front + tuple(i for i in range(value.ndim) if i not in front)
    value = movement(ops.PERMUTE, value, tuple(value.shape[i] for i in axes), (axes,))
    value = reshape_to(value, (prod(chosen.fetched),) + rows.shape[1:])
    done = reshape_to(scatter_rows(rows, _linear(chosen), value, mode), moved.shape)
    back = tuple(np.argsort(order).tolist())
    return movement(ops.PERMUTE, done, region.shape, (back,))


def scatter_rows(base: Tensor, index: Tensor, values: Tensor, mode: str) -> Tensor:
    """SCATTER_ROWS by checked indices of any shape; values has that many rows."""
    index = reshape_to(index, (index.size,))
    nodes = (base.node, index.node, values.node)
    device = record.common_device("scatter", *nodes)
    return wrap(make(ops.SCATTER_ROWS, base.dtype, base.shape, nodes, (mode,), device=device, site=user_site(2)))


def _updated(x: Tensor, chosen: Selection, value: Tensor) -> Tensor:
    """x with its region replaced; negative steps become positive ones by flipping the value."""
    value = reshape_to(value, chosen.lengths)
    region, flip = _forward(chosen.starts, chosen.steps, chosen.lengths)
    if flip is not None:
        value = movement(ops.SLICE, value, chosen.lengths, flip)
    if chosen.lengths == x.shape:
        return value
    nodes = (x.node, value.node)
    device = record.common_device("setitem", *nodes)
    return wrap(make(ops.UPDATE, x.dtype, x.shape, nodes, region, device=device, site=user_site(2)))


@functools.lru_cache(maxsize=1024)
def _forward(starts: tuple[int, ...], steps: tuple[int, ...], lengths: tuple[int, ...]) -> tuple[tuple, tuple | None]:
    """The starts and steps of the same region by positive steps; and of the SLICE that turns its values round."""
    back = [step < 0 for step in steps]
    region = (tuple(s + (n - 1) * step if b else s for s, n, step, b in zip(starts, lengths, steps, back, strict=True)),
              tuple(abs(step) for step in steps))
    if not any(back):
        return region, None
    ends = tuple(n - 1 if b else 0 for n, b in zip(lengths, back, strict=True))
    return region, (ends, tuple(-1 if b else 1 for b in back))


def put(x: Tensor, indices, values, /, mode: str = "raise") -> None:
    """Set elements of x flattened; the handle x is rebound. Values repeat as often as needed, as in NumPy; where there
    are none nothing is set. mode: as for `take`. Raises IndexOutOfRange, ArgumentError.

    >>> x = gc.zeros((2, 2))
    >>> gc.put(x, [0, 3], [1, 2])
    >>> x.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    _writable(x, "put")
    values = _value(x, values)
    if not values.size:
        return
    index = by_mode(indices, x.size, mode, "put")
    values = reshape_to(values, (values.size,))
    if values.size != index.size:
        values = take_checked(values, as_tensor(np.arange(index.size) % values.size), 0)
    _rebound(x, lambda: reshape_to(scatter_rows(reshape_to(x, (x.size,)), index, values, "set"), x.shape))


def put_along_axis(x: Tensor, indices, values, /, axis: int | None = -1) -> None:
    """Set the elements of x that `take_along_axis(x, indices, axis=axis)` reads; the handle x is rebound. axis=None
    takes x as a vector.

    >>> x = gc.zeros((2, 2))
    >>> gc.put_along_axis(x, [[1], [0]], 5, axis=1)
    >>> x.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    _writable(x, "put_along_axis")
    rows = reshape_to(x, (x.size,)) if axis is None else x
    axis = normalize_axis(0 if axis is None else axis, rows.ndim, "put_along_axis")
    position = _along(rows, indices, axis, "put_along_axis")
    values = reshape_to(_fitted(_value(x, values), position.shape), (position.size,))
    _rebound(x, lambda: reshape_to(scatter_rows(reshape_to(x, (x.size,)), position, values, "set"), x.shape))


# ------------------------------------------------------------------------------------------------- x.at[...].add(...)

class At:
    """`x.at[key]`: updates that leave x alone and return a new tensor, as in JAX.

    >>> x = gc.zeros(3)
    >>> x.at[[0, 0, 2]].add(1.0).tolist(), x.tolist()
    ([2.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    """

    __slots__ = ("tensor", "key")

    def __init__(self, tensor: Tensor, key=Ellipsis):
        self.tensor = tensor
        self.key = key

    def __getitem__(self, key) -> At:
        return At(self.tensor, key)

    def get(self) -> Tensor:
        return getitem(self.tensor, self.key)

    def set(self, value) -> Tensor:
        return written(self.tensor, self.key, value, "set")

    def add(self, value) -> Tensor:
        """Duplicates are added one after the other, in the order of the index. Raises DTypeError for floats into
        integers, as all updates but `set` do."""
        return written(self.tensor, self.key, _combined(self.tensor, value, "add"), "add")

    def subtract(self, value) -> Tensor:
        return written(self.tensor, self.key, negative(_combined(self.tensor, value, "subtract")), "add")

    def max(self, value) -> Tensor:
        """The larger of the old element and all values that meet there; NaN if one of them is NaN.

        >>> gc.full(2, -gc.inf).at[[0, 1, 0]].max([3.0, 5.0, 4.0]).tolist()
        [4.0, 5.0]
        """
        return self._extreme(value, "maximum")

    def min(self, value) -> Tensor:
        """The smaller of the old element and all values that meet there."""
        return self._extreme(value, "minimum")

    def _extreme(self, value, mode: str) -> Tensor:
        record.check_dtype(ops.MAXIMUM, self.tensor.dtype, mode)
        return written(self.tensor, self.key, _combined(self.tensor, value, mode), mode)


for _name in UPDATES:
    setattr(At, _name, Elsewhere(_name, UPDATES))


def _writable(x, name: str) -> None:
    if not isinstance(x, Tensor):
        raise DTypeError(f"what is written into must be a tensor, not {type(x).__name__}", op=name,
                         fix="x = gc.asarray(x) first")


def _ufunc_at(update):
    def at(x: Tensor, indices, values, /) -> None:
        """As NumPy's ufunc.at: unbuffered, so that a repeated index counts each time. The handle x is rebound."""
        _writable(x, "at")
        _rebound(x, lambda: update(At(x, indices), values))
    return at


add.at = _ufunc_at(At.add)
subtract.at = _ufunc_at(At.subtract)
maximum.at = _ufunc_at(At.max)
minimum.at = _ufunc_at(At.min)
