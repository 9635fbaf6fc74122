"""Functions that move elements and compute nothing: reshape, transpose, concat, pad, windows, ...

All of them are recorded as movement nodes, which are pulled through to the loads of whatever reads them: none copies by
itself. A movement that changes nothing returns its argument.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from graphc.api import record
from graphc.api.axes import a_shape, an_int, filled_in, ordered_axes, several
from graphc.api.record import as_tensor, cast, common_device, movement, normalize_axis, wrap
from graphc.errors import ArgumentError, AxisError, DTypeError, ShapeError, user_site
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.node import make

# ---------------------------------------------------------------------------------------------------------- primitives

def reshape(x, /, shape, order: str = "C", *, copy: bool | None = None):
    """The same elements, in row-major order, under another shape; one size may be -1.

    order: "C", or "F" for column-major order, in which the first index runs fastest, before and after. copy: taken for
    compatibility. A graphc tensor is never changed by writing to another one, so whether memory is shared cannot be
    seen.

    Raises ShapeError (a ValueError) if the number of elements differs.

    >>> import graphc as gc
    >>> gc.reshape(gc.arange(6), (2, -1)).tolist(), gc.reshape(gc.arange(6), (2, -1), order="F").tolist()
    ([[0, 1, 2], [3, 4, 5]], [[0, 2, 4], [1, 3, 5]])
    """
    x = as_tensor(x)
    shape = filled_in(shape, x.shape, "reshape")
    if order == "C":
        return _reshape(x, shape)
    return transpose(_reshape(_columns_first(x, order, "reshape"), shape[::-1]))


def _columns_first(x, order: str, name: str):
    """x with its axes reversed, so that its row-major order is the column-major one of x, for order "F"."""
    if order != "F":
        raise ArgumentError(f"order must be 'C' or 'F', not {order!r}", op=name,
                            fix=f"write x.reshape((*x.shape[:{order}], -1)) to join the last axes"
                            if isinstance(order, int) else
                            "a tensor has no order in memory that 'A' or 'K' could keep: name one")
    return transpose(x)


_reshape = record.reshape_to


def permute_dims(x, /, axes: Sequence[int]):
    """The axes in another order: axis i of the result is axis axes[i] of x.

    Raises AxisError if `axes` does not name every axis once.

    >>> import graphc as gc
    >>> gc.permute_dims(gc.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = as_tensor(x)
    order = ordered_axes(axes, x.ndim, "permute_dims")
    if len(order) != x.ndim or axes is None:
        raise AxisError(f"axes {axes} do not name each of the {x.ndim} axes of shape {x.shape}",
                        op="permute_dims")
    return _permute(x, order)


def _permute(x, axes: tuple[int, ...]):
    shape = x.node.shape
    return movement(ops.PERMUTE, x, tuple([shape[a] for a in axes]), (axes,))


def broadcast_to(x, /, shape):
    """x repeated along axes of size 1, and along new axes in front, until it has `shape`.

    Raises ShapeError if x does not broadcast to it.

    >>> import graphc as gc
    >>> gc.broadcast_to(gc.asarray([1, 2]), (3, 2)).sum(axis=0).tolist()
    [3, 6]
    """
    return record.expand_to(as_tensor(x), a_shape(shape, "broadcast_to"), "broadcast_to")


def _expand(x, shape: tuple[int, ...]):
    """As broadcast_to, for a shape known to fit."""
    return record.expand_to(x, shape, "broadcast_to")


def slice_axis(x, axis: int, start: int, length: int, step: int = 1):
    """`length` elements of one axis, from `start` by `step`. The caller has checked that they exist."""
    return movement(ops.SLICE, x, *_cut(x.node.shape, axis, start, length, step))


def _cut(shape: tuple[int, ...], axis: int, start: int, length: int, step: int = 1) -> tuple:
    """The shape and the attrs of a SLICE of one axis."""
    starts, steps = [0] * len(shape), [1] * len(shape)
    # The start of an empty slice is not read: one form for all of them.
    starts[axis], steps[axis] = (start, step if length > 1 else 1) if length else (0, 1)
    return _with(shape, axis, length), (tuple(starts), tuple(steps))


def _with(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    return (*shape[:axis], n, *shape[axis + 1:])


# ------------------------------------------------------------------------------------------------------- axes and ranks

def ravel(x, /, order: str = "C"):
    """x in one dimension, in row-major order ("C"), or in column-major order ("F").

    >>> import graphc as gc
    >>> gc.ravel(gc.asarray([[1, 2], [3, 4]]), order="F").tolist()
    [1, 3, 2, 4]
    """
    x = as_tensor(x)
    return _reshape(x if order == "C" else _columns_first(x, order, "ravel"), (x.size,))


flatten = ravel


def transpose(x, /, axes: Sequence[int] | None = None):
    """The axes in reverse order, or in the order given (NumPy's name for permute_dims).

    >>> import graphc as gc
    >>> gc.transpose(gc.zeros((2, 3))).shape
    (3, 2)
    """
    x = as_tensor(x)
    return _permute(x, _reversed(x.ndim)) if axes is None else permute_dims(x, axes)


@functools.cache
def _reversed(ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim - 1, -1, -1))


def matrix_transpose(x, /):
    """The last two axes exchanged. Raises ShapeError for fewer than two axes."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape} is not a stack of matrices", op="matrix_transpose")
    return _permute(x, _exchanged(x.ndim, x.ndim - 1, x.ndim - 2))


def swapaxes(x, /, axis1: int, axis2: int):
    """Two axes exchanged.

    >>> import graphc as gc
    >>> gc.swapaxes(gc.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = as_tensor(x)
    i, j = normalize_axis(axis1, x.ndim, "swapaxes"), normalize_axis(axis2, x.ndim, "swapaxes")
    return _permute(x, _exchanged(x.ndim, i, j))


@functools.cache
def _exchanged(ndim: int, i: int, j: int) -> tuple[int, ...]:
    order = list(range(ndim))
    order[i], order[j] = j, i
    return tuple(order)


def moveaxis(x, source, destination, /):
    """The axes `source` moved to the places `destination`; the others keep their order.

    >>> import graphc as gc
    >>> gc.moveaxis(gc.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_tensor(x)
    source = ordered_axes(source, x.ndim, "moveaxis")
    destination = ordered_axes(destination, x.ndim, "moveaxis")
    if len(source) != len(destination):
        raise ArgumentError(f"{len(source)} axes cannot move to {len(destination)} places", op="moveaxis")
    order = [a for a in range(x.ndim) if a not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return _permute(x, tuple(order))


def expand_dims(x, /, axis: int | Sequence[int] = 0):
    """New axes of size 1 at the places `axis` of the result.

    >>> import graphc as gc
    >>> gc.expand_dims(gc.zeros((2, 3)), axis=(0, -1)).shape
    (1, 2, 3, 1)
    """
    x = as_tensor(x)
    if axis is None:
        raise DTypeError("axis must be an integer or several, not None", op="expand_dims")
    if axis.__class__ is int:
        at = normalize_axis(axis, x.ndim + 1, "expand_dims")
        return _reshape(x, (*x.shape[:at], 1, *x.shape[at:]))
    count = len(axis) if isinstance(axis, Sequence) else 1
    places = ordered_axes(axis, x.ndim + count, "expand_dims")
    sizes = iter(x.shape)
    return _reshape(x, tuple(1 if a in places else next(sizes) for a in range(x.ndim + count)))


def squeeze(x, /, axis: int | Sequence[int] | None = None):
    """x without axes of size 1: those named, or all. Raises ShapeError (a ValueError) if one has another size.

    >>> import graphc as gc
    >>> gc.squeeze(gc.zeros((1, 2, 1)), axis=0).shape
    (2, 1)
    """
    x = as_tensor(x)
    if axis is None:
        return _reshape(x, tuple(n for n in x.shape if n != 1))
    places = ordered_axes(axis, x.ndim, "squeeze")
    for a in places:
        if x.shape[a] != 1:
            raise ShapeError(f"axis {a} of shape {x.shape} has size {x.shape[a]}, not 1", op="squeeze")
    return _reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in places))


def of_each(function: Callable) -> Callable:
    """The function of one array as one of several, whose results are a tuple then."""
    @functools.wraps(function)
    def of_several(x, /, *more):
        return (function(x), *map(function, more)) if more else function(x)
    return of_several


@of_each
def atleast_1d(x, /):
    """x with at least one axis; of several arrays a tuple of each."""
    x = as_tensor(x)
    return _reshape(x, x.shape or (1,))


@of_each
def atleast_2d(x, /):
    """x with at least two axes: a vector becomes one row; of several arrays a tuple of each.

    >>> import graphc as gc
    >>> [x.shape for x in gc.atleast_2d(gc.zeros(3), 1.0)]
    [(1, 3), (1, 1)]
    """
    x = as_tensor(x)
    return _reshape(x, x.shape if x.ndim >= 2 else (1, x.size))


def broadcast_arrays(*arrays) -> list:
    """All arrays broadcast to their common shape.

    >>> import graphc as gc
    >>> [a.shape for a in gc.broadcast_arrays(gc.zeros((3, 1)), gc.zeros(4))]
    [(3, 4), (3, 4)]
    """
    tensors = [as_tensor(x) for x in arrays]
    shape = record.broadcast_shapes("broadcast_arrays", *(x.shape for x in tensors))
    return [_expand(x, shape) for x in tensors]


def broadcast_shapes(*shapes) -> tuple[int, ...]:
    """The shape to which arrays of these shapes broadcast. Raises ShapeError."""
    return record.broadcast_shapes("broadcast_shapes", *(a_shape(s, "broadcast_shapes") for s in shapes))


# ------------------------------------------------------------------------------------------------ joining and splitting

def _each(arrays, name: str) -> list:
    """The arrays of a list, a tuple or the first axis of an array. Raises DTypeError."""
    if not hasattr(arrays, "__iter__") or getattr(arrays, "ndim", 1) == 0:
        raise DTypeError(f"needs a sequence of arrays, not one {type(arrays).__name__}", op=name,
                         fix="pass a list of them")
    return [as_tensor(x) for x in arrays]


def concat(arrays, /, axis: int | None = 0):
    """The arrays one after the other along an existing axis (None: flattened first). Their dtypes are promoted.

    Raises ShapeError (a ValueError) if there is no array, or if they differ in another axis.

    >>> import graphc as gc
    >>> gc.concat([gc.zeros((2, 3)), gc.ones((1, 3))]).shape
    (3, 3)
    """
    tensors = _each(arrays, "concat")
    if not tensors:
        raise ShapeError("there is no array to join", op="concat")
    if axis is None:
        tensors, axis = [ravel(x) for x in tensors], 0
    first = tensors[0]
    axis = normalize_axis(axis, first.ndim, "concat")
    for x in tensors[1:]:
        if x.ndim != first.ndim or _with(x.shape, axis, 0) != _with(first.shape, axis, 0):
            raise ShapeError(f"shapes {first.shape} and {x.shape} differ in more than axis {axis}", op="concat")
    return _concat(_promoted(tensors), axis)


def _promoted(tensors: list) -> list:
    common = functools.reduce(dt.promote, [x.node.dtype for x in tensors])
    return [x if x.dtype is common else cast(x, common) for x in tensors]


def _concat(tensors: list, axis: int):
    nodes = tuple([x.node for x in tensors if x.node.shape[axis]]) or (tensors[0].node,)
    if len(nodes) == 1:
        return wrap(nodes[0])
    shape = record.checked_size(_with(nodes[0].shape, axis, sum([n.shape[axis] for n in nodes])), "concat")
    device = common_device("concat", *nodes)
    return wrap(make(ops.CONCAT, nodes[0].dtype, shape, nodes, (axis,), device=device, site=user_site(2)))


concatenate = concat        # NumPy's name


def stack(arrays, /, axis: int = 0):
    """Arrays of one shape side by side along a new axis. Raises ShapeError if the shapes differ.

    >>> import graphc as gc
    >>> gc.stack([gc.zeros(3), gc.ones(3)], axis=1).shape
    (3, 2)
    """
    tensors = _each(arrays, "stack")
    if not tensors:
        raise ShapeError("there is no array to join", op="stack")
    for x in tensors[1:]:
        if x.shape != tensors[0].shape:
            raise ShapeError(f"shapes {tensors[0].shape} and {x.shape} differ", op="stack")
    axis = normalize_axis(axis, tensors[0].ndim + 1, "stack")
    return _concat([expand_dims(x, axis) for x in _promoted(tensors)], axis)


def hstack(arrays, /):
    """Arrays side by side: along axis 1, vectors along axis 0."""
    tensors = [atleast_1d(x) for x in _each(arrays, "hstack")]
    return concat(tensors, axis=0 if tensors and tensors[0].ndim == 1 else 1)


def vstack(arrays, /):
    """Arrays one below the other: along axis 0, where a vector is one row."""
    return concat([atleast_2d(x) for x in _each(arrays, "vstack")], axis=0)


def array_split(x, /, indices_or_sections, axis: int = 0) -> list:
    """Cut along an axis into a number of parts of nearly equal size, the first ones larger, or at a sequence of places.

    >>> import graphc as gc
    >>> [p.shape for p in gc.array_split(gc.zeros(7), 3)]
    [(3,), (2,), (2,)]
    """
    x = as_tensor(x)
    axis = normalize_axis(axis, x.ndim, "split")
    n = x.shape[axis]
    if several(indices_or_sections):
        # Places are slice bounds: negative ones count from the end, and they need not rise.
        places = [an_int(i, "split", "a place to cut") for i in indices_or_sections]
        bounds = list(zip([0, *places], [*places, n], strict=True))
        ranges = [range(*slice(a, b).indices(n)) for a, b in bounds]
        return [slice_axis(x, axis, r.start, len(r)) for r in ranges]
    parts = an_int(indices_or_sections, "split", "the number of parts")
    if parts < 1:
        raise ArgumentError(f"cannot cut into {parts} parts", op="split")
    each, larger = divmod(n, parts)
    starts = [i * each + min(i, larger) for i in range(parts + 1)]
    return [slice_axis(x, axis, a, b - a) for a, b in zip(starts, starts[1:], strict=False)]


def split(x, /, indices_or_sections, axis: int = 0) -> list:
    """As array_split, but a number of parts must divide the axis: otherwise ShapeError (a ValueError), as in NumPy.

    >>> import graphc as gc
    >>> [p.tolist() for p in gc.split(gc.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    x = as_tensor(x)
    if not several(indices_or_sections):
        n = x.shape[normalize_axis(axis, x.ndim, "split")]
        parts = an_int(indices_or_sections, "split", "the number of parts")
        if parts < 1 or n % parts:
            raise ShapeError(f"axis {axis} of shape {x.shape} does not split into {parts} equal parts", op="split",
                             fix="array_split takes unequal parts")
    return array_split(x, indices_or_sections, axis)


def unstack(x, /, axis: int = 0) -> tuple:
    """The slices along an axis, which they lose.

    >>> import graphc as gc
    >>> [a.tolist() for a in gc.unstack(gc.asarray([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    x = as_tensor(x)
    axis = normalize_axis(axis, x.ndim, "unstack")
    rest = x.shape[:axis] + x.shape[axis + 1:]
    return tuple(_reshape(slice_axis(x, axis, i, 1), rest) for i in range(x.shape[axis]))


# ------------------------------------------------------------------------------------------------ reordering, repeating

def flip(x, /, axis: int | Sequence[int] | None = None):
    """The elements in reverse order along the axes given, or along all.

    >>> import graphc as gc
    >>> gc.flip(gc.arange(3)).tolist()
    [2, 1, 0]
    """
    x = as_tensor(x)
    for a in ordered_axes(axis, x.ndim, "flip"):
        n = x.shape[a]
        if n > 1:
            x = slice_axis(x, a, n - 1, n, -1)
    return record.anew(x)


def roll(x, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None):
    """The elements moved on by `shift` places along each axis, the last ones coming round to the front.

    axis None: over the flattened array. Several shifts belong to several axes; one alone serves all of the other.

    >>> import graphc as gc
    >>> gc.roll(gc.arange(5), 2).tolist()
    [3, 4, 0, 1, 2]
    """
    x = as_tensor(x)
    if shift.__class__ is int and axis.__class__ is int:
        return _roll(x, shift, normalize_axis(axis, x.ndim, "roll"))
    if axis is None:
        total = sum(an_int(s, "roll", "shift") for s in (shift if several(shift) else (shift,)))
        return _reshape(_roll(ravel(x), total, 0), x.shape)
    axes, shifts = (tuple(given) if several(given) else (given,) for given in (axis, shift))
    count = max(len(axes), len(shifts))
    if {len(axes), len(shifts)} - {1, count}:
        raise ArgumentError(f"{len(shifts)} shifts do not belong to {len(axes)} axes", op="roll")
    for a, s in zip(axes * (count // len(axes)), shifts * (count // len(shifts)), strict=True):
        x = _roll(x, an_int(s, "roll", "shift"), normalize_axis(a, x.ndim, "roll"))
    return record.anew(x)


def _roll(x, shift: int, axis: int):
    parts = _turned(x.node.shape, shift, axis)
    return _concat([movement(ops.SLICE, x, *part) for part in parts], axis) if parts else record.anew(x)


@functools.lru_cache(maxsize=1024)
def _turned(shape: tuple[int, ...], shift: int, axis: int) -> tuple:
    """The two slices, each a shape and attrs, that change places; none if nothing moves."""
    n = shape[axis]
    cut = -shift % n if n else 0
    return (_cut(shape, axis, cut, n - cut), _cut(shape, axis, 0, cut)) if cut else ()


def repeat(x, repeats, /, axis: int | None = None):
    """Each element `repeats` times in a row along an axis (None: of the flattened array).

    repeats: an int, or one count for each element of the axis. The size of the result depends on the counts, so counts
    that are a tensor are realized here.

    >>> import graphc as gc
    >>> gc.repeat(gc.asarray([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    >>> gc.repeat(gc.asarray([1, 2]), [1, 3]).tolist()
    [1, 2, 2, 2]
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis(axis, x.ndim, "repeat")
    n = x.shape[axis]
    counts = record.to_array(repeats, "repeat")
    counts = counts if counts.size else counts.astype(np.int64)
    if counts.dtype.kind not in "biu":
        raise DTypeError(f"repeats must be integers, not {counts.dtype}", op="repeat")
    if (counts < 0).any():
        raise ArgumentError("repeats must not be negative", op="repeat")
    if counts.size == 1:
        times = int(counts.reshape(()))
        if times == 1:
            return record.anew(x)
        spread = _expand(expand_dims(x, axis + 1), (*x.shape[:axis + 1], times, *x.shape[axis + 1:]))
        return _reshape(spread, _with(x.shape, axis, n * times))
    if counts.shape != (n,):
        raise ShapeError(f"{counts.shape} counts do not fit axis {axis} of shape {x.shape}", op="repeat")
    return _selected(x, axis, np.repeat(np.arange(n), counts))


def tile(x, repetitions, /):
    """x laid side by side: `repetitions` times along each of the last axes, or along new axes in front.

    >>> import graphc as gc
    >>> gc.tile(gc.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x = as_tensor(x)
    times = a_shape(repetitions, "tile")
    ndim = max(len(times), x.ndim)
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    if set(times) <= {1}:
        return _reshape(x, shape)
    x = _reshape(x, tuple(n for size in shape for n in (1, size)))
    x = _expand(x, tuple(n for pair in zip(times, shape, strict=True) for n in pair))
    return _reshape(x, tuple(t * n for t, n in zip(times, shape, strict=True)))


# ------------------------------------------------------------------------------------------------------- selections

FEW = 16            # runs of elements up to which a selection is a concatenation of slices, and not a gather


def _selected(x, axis: int, index: np.ndarray):
    """x[index] along an axis."""
    return _concat(_parts(x, axis, index), axis)


def _parts(x, axis: int, index: np.ndarray) -> list:
    steps = np.diff(index)
    parted = np.abs(steps) > 1
    changes = np.count_nonzero(parted[1:] | (steps[1:] != steps[:-1])) + bool(parted[:1].any())
    if 1 + min(changes, np.count_nonzero(steps != 1)) <= FEW:
        return _pieces(x, axis, index)
    from graphc.api.indexing import take
    return [take(x, index, axis)]


def _pieces(x, axis: int, index: np.ndarray) -> list:
    """x[index] along an axis as few parts: runs of the index that rise, fall or stay are slices."""
    pieces, start = [], 0
    steps = np.diff(index)
    while start < len(index):
        step = int(steps[start]) if start < len(steps) and abs(steps[start]) <= 1 else 1
        differs = np.flatnonzero(steps[start:] != step)
        stop = start + int(differs[0]) + 1 if len(differs) else len(index)
        first, length = int(index[start]), stop - start
        if step == 0:
            pieces.append(_expand(slice_axis(x, axis, first, 1), _with(x.shape, axis, length)))
        else:
            pieces.append(slice_axis(x, axis, first, length, step))
        start = stop
    return pieces or [slice_axis(x, axis, 0, 0)]
