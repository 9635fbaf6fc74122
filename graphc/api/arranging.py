"""NumPy's ways, beyond the Array API, to arrange arrays and to name places in them: composites of others."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import prod

import numpy as np

from graphc.api.axes import a_shape, an_int, ordered_axes
from graphc.api.creation import arange, asarray
from graphc.api.dtypes import result_type
from graphc.api.elementwise import floor_divide, remainder, where
from graphc.api.indexing import by_mode, checked
from graphc.api.linalg import diag
from graphc.api.manipulation import (
    _selected, atleast_2d, broadcast_to, concat, expand_dims, flip, matrix_transpose, moveaxis, of_each, ravel, reshape,
    split, stack, swapaxes,
)
from graphc.api.numbers import scalar, weak_dtype
from graphc.api.record import anew, as_tensor, cast, from_numpy, normalize_axis, to_array, wrap
from graphc.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from graphc.ir import dtype as dt
from graphc.tracing import Scalar


def fliplr(x, /):
    """The columns (axis 1) in reverse order."""
    return flip(x, 1)


def flipud(x, /):
    """The rows (axis 0) in reverse order."""
    return flip(x, 0)


def rot90(x, /, k: int = 1, axes: tuple[int, int] = (0, 1)):
    """Turned by k quarters in the plane of two axes, from the first towards the second.

    >>> import graphc as gc
    >>> gc.rot90(gc.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x = as_tensor(x)
    if len(axes) != 2:
        raise ShapeError(f"a plane has two axes, not {axes}", op="rot90")
    first, second = ordered_axes(axes, x.ndim, "rot90")
    k = an_int(k, "rot90", "k") % 4
    if k == 2:
        return flip(flip(x, first), second)
    if k == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if k else anew(x)


def column_stack(arrays, /):
    """Vectors as the columns of a matrix, beside matrices.

    >>> import graphc as gc
    >>> gc.column_stack([gc.asarray([1, 2]), gc.asarray([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    arrays = map(as_tensor, arrays)
    return concat([x if x.ndim > 1 else matrix_transpose(atleast_2d(x)) for x in arrays], 1)


def dstack(arrays, /):
    """Joined along axis 2, which vectors and matrices get as a last one of size 1."""
    arrays = [atleast_2d(x) for x in arrays]
    return concat([x if x.ndim > 2 else expand_dims(x, -1) for x in arrays], 2)


def append(x, values, /, axis: int | None = None):
    """x and then the values, along an axis; None: of both flattened."""
    return concat([ravel(x), ravel(values)]) if axis is None else concat([x, values], axis)


def select(conditions: Sequence, choices: Sequence, /, default=0):
    """Of the choices, element by element, the first whose condition holds; else the default.

    >>> import graphc as gc
    >>> x = gc.arange(4)
    >>> gc.select([x < 1, x < 3], [x * 10, -x]).tolist()
    [0, -1, -2, 0]
    """
    if len(conditions) != len(choices) or not len(conditions):
        raise ArgumentError(f"{len(conditions)} conditions and {len(choices)} choices", op="select",
                            fix="give one choice for each condition")
    *choices, found = _of_one_dtype([*choices, default])
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found


def _of_one_dtype(values: Sequence) -> Sequence:
    """The values in the dtype of all of them, in which Python numbers are weak. Numbers alone stay as they are."""
    numbers = [type(v) in (bool, int, float, complex, Scalar) for v in values]
    values = [v if number else as_tensor(v, None, "select") for v, number in zip(values, numbers, strict=True)]
    if all(numbers):
        return values
    common = result_type(*[v for v, number in zip(values, numbers, strict=True) if not number])
    for value in compress(values, numbers):
        dtype = weak_dtype(value, common)
        common = dtype if dtype.kind in "fc" and common.kind in "biu" else dt.promote(common, dtype)
    return [wrap(scalar(v, common, "select")) if number else cast(v, common)
            for v, number in zip(values, numbers, strict=True)]


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple:
    """The rows and the columns of what stands on and above the k-th diagonal of a matrix of (n, m or n)."""
    return tuple(from_numpy(i) for i in np.triu_indices(n, k, m))


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple:
    """The rows and the columns of what stands on and below the k-th diagonal of a matrix of (n, m or n)."""
    return tuple(from_numpy(i) for i in np.tril_indices(n, k, m))


def unravel_index(indices, shape, /, order: str = "C") -> tuple:
    """For positions in an array of this shape, flattened, the index along each axis, as int64.

    order: "C", or "F" where the first index runs fastest. Raises IndexError for a position outside, also a negative
    one, and ArgumentError for another order.

    >>> import graphc as gc
    >>> [i.item() for i in gc.unravel_index(5, (2, 3))]
    [1, 2]
    """
    shape = a_shape(shape, "unravel_index")
    rest, found = checked(indices, prod(shape), "unravel_index", negative=False), {}
    for axis in reversed(_fastest_last(len(shape), order, "unravel_index")):
        found[axis] = remainder(rest, shape[axis])
        rest = floor_divide(rest, shape[axis])
    return tuple(found[axis] for axis in range(len(shape)))


def _fastest_last(ndim: int, order: str, name: str) -> range:
    """The axes in the order in which their indices run ever faster."""
    if order not in ("C", "F"):
        raise ArgumentError(f"order must be 'C' or 'F', not {order!r}", op=name)
    return range(ndim) if order == "C" else range(ndim)[::-1]


def ravel_multi_index(indices: Sequence, shape: Sequence[int], /, mode: str | Sequence[str] = "raise",
                      order: str = "C"):
    """The positions in an array of this shape, flattened, of an index along each axis, as int64.

    mode: where an index lies outside, "raise" raises IndexError, also for a negative one; "wrap" comes round from the
    other side, "clip" takes the nearest place; one for all axes or for each. order: "C", or "F" where the first index
    runs fastest. Raises ShapeError, ArgumentError.

    >>> import graphc as gc
    >>> gc.ravel_multi_index(([0, 1], [2, 2]), (2, 3)).tolist()
    [2, 5]
    >>> gc.ravel_multi_index(([3, -1], [9, 1]), (2, 3), mode=("wrap", "clip"), order="F").tolist()
    [5, 3]
    """
    shape = a_shape(shape, "ravel_multi_index")
    modes = (mode,) * len(shape) if isinstance(mode, str) else tuple(mode)
    if len(indices) != len(shape) or len(modes) != len(shape):
        raise ShapeError(f"{len(indices)} indices and {len(modes)} modes for {len(shape)} axes", op="ravel_multi_index")
    found = None
    for axis in _fastest_last(len(shape), order, "ravel_multi_index"):
        part = by_mode(indices[axis], shape[axis], modes[axis], "ravel_multi_index", axis, negative=False)
        found = part if found is None else found * shape[axis] + part
    return found


def block(arrays, /):
    """Arrays put together from nested lists of blocks: the innermost lists along the last axis, those around them along
    the axes before it. Blocks of fewer axes get axes of size 1 in front. Raises ShapeError where the depths differ.

    >>> import graphc as gc
    >>> gc.block([[gc.ones((1, 1)), gc.zeros((1, 2))], [gc.zeros((2, 1)), gc.ones((2, 2))]]).shape
    (3, 3)
    """
    depths = {depth for depth, _ in _blocks(arrays, 0)}
    if len(depths) != 1:
        raise ShapeError(f"lists of depths {sorted(depths)}", op="block", fix="nest all blocks equally deep")
    depth = depths.pop()
    rank = max(depth, *(x.ndim for _, x in _blocks(arrays, 0)))
    return _joined(arrays, rank - depth, rank)


def _blocks(arrays, depth: int):
    if not isinstance(arrays, list):
        return [(depth, as_tensor(arrays, None, "block"))]
    if not arrays:
        raise ShapeError("a list of blocks is empty", op="block")
    return [found for part in arrays for found in _blocks(part, depth + 1)]


def _joined(arrays, axis: int, rank: int):
    if not isinstance(arrays, list):
        x = as_tensor(arrays, None, "block")
        return reshape(x, (1,) * (rank - x.ndim) + x.shape)
    return concat([_joined(part, axis + 1, rank) for part in arrays], axis=axis)


def diagflat(x, /, k: int = 0):
    """A matrix with all elements of x on diagonal k.

    >>> import graphc as gc
    >>> gc.diagflat(gc.asarray([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(as_tensor(x, None, "diagflat")), k)


def hsplit(x, sections, /):
    """The parts of x along axis 1 (of a vector, 0): as many equal ones, or cut before these positions."""
    x = as_tensor(x, None, "hsplit")
    return split(x, sections, axis=min(1, x.ndim - 1))


def vsplit(x, sections, /):
    """The parts of x along axis 0: as many equal ones, or cut before these positions.

    >>> import graphc as gc
    >>> [part.shape for part in gc.vsplit(gc.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return split(x, sections, axis=0)


def dsplit(x, sections, /):
    """The parts of x along axis 2: as many equal ones, or cut before these positions."""
    return split(x, sections, axis=2)


@of_each
def atleast_3d(x, /):
    """x with at least three axes: a vector of n elements becomes (1, n, 1), a matrix (m, n) becomes (m, n, 1); of
    several arrays a tuple of each.

    >>> import graphc as gc
    >>> gc.atleast_3d(gc.zeros((2, 3))).shape, gc.atleast_3d(gc.zeros(4)).shape
    ((2, 3, 1), (1, 4, 1))
    """
    x = as_tensor(x, None, "atleast_3d")
    return anew(x) if x.ndim > 2 else expand_dims(atleast_2d(x), -1)


# --------------------------------------------------------------------------------------------- putting in, leaving out

def _along(x, axis: int | None, name: str) -> tuple:
    x = as_tensor(x, None, name)
    return (ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim, name))


def _places(places, n: int, name: str) -> np.ndarray:
    """An int, a slice, a sequence of ints or a mask as positions from 0; insert may name the end."""
    if isinstance(places, slice):
        return np.arange(*places.indices(n))
    found = to_array(places, name)
    if found.dtype.kind == "b":
        if found.shape != (n,):
            raise ShapeError(f"a mask of shape {found.shape} for an axis of {n} elements", op=name)
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" and found.size or found.ndim > 1:
        raise DTypeError(f"positions are integers in a vector, not {found.dtype} of shape {found.shape}", op=name)
    found = found.astype(np.int64)
    wrong = (found < -n) | (found > n - (name == "delete"))
    if wrong.any():
        raise IndexOutOfRange(f"position {found[wrong].flat[0]} is out of range for an axis of {n} elements", op=name)
    return np.where(found < 0, found + n, found)


def insert(x, places, values, /, axis: int | None = None):
    """x with values put in before these positions along an axis (None: of x flattened), in x's dtype.

    places: an int, a slice, a vector of ints or a mask: they decide the shape, so those in a tensor are realized here.
    values: for one place any number of slices, for several places one each; they broadcast. Raises IndexError.

    >>> import graphc as gc
    >>> gc.insert(gc.asarray([1, 2, 3]), [0, 2], [10, 20]).tolist()
    [10, 1, 2, 20, 3]
    """
    x, axis = _along(x, axis, "insert")
    n, found = x.shape[axis], _places(places, x.shape[axis], "insert")
    values = asarray(values, dtype=x.dtype)
    if values.ndim > x.ndim:
        raise ShapeError(f"values of shape {values.shape} do not fit into shape {x.shape}", op="insert")
    values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape)
    if found.ndim == 0:
        values = moveaxis(values, 0, axis)
    count = values.shape[axis] if found.size == 1 else found.size
    values = broadcast_to(values, (*x.shape[:axis], count, *x.shape[axis + 1:]))
    before = found.reshape(()) if found.size == 1 else found
    return _selected(concat([x, values], axis), axis, np.insert(np.arange(n), before, n + np.arange(count)))


def delete(x, places, /, axis: int | None = None):
    """x without these positions along an axis (None: of x flattened).

    places: an int, a slice, a vector of ints or a mask: they decide the shape, so those in a tensor are realized here.
    Raises IndexError.

    >>> import graphc as gc
    >>> gc.delete(gc.asarray([[1, 2, 3], [4, 5, 6]]), 1, axis=1).tolist()
    [[1, 3], [4, 6]]
    """
    x, axis = _along(x, axis, "delete")
    n = x.shape[axis]
    return _selected(x, axis, np.delete(np.arange(n), _places(places, n, "delete")))


# ----------------------------------------------------------------------------------------------------- grids of indices

def indices(shape, /, dtype=None, sparse: bool = False):
    """The index along each axis, for every element of an array of this shape: (axes, *shape), int64 by default.
    sparse: a tuple of them, each with size 1 along the other axes.

    >>> import graphc as gc
    >>> gc.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = a_shape(shape, "indices")
    steps = [arange(n, dtype=dt.int64 if dtype is None else dtype) for n in shape]
    grids = tuple(reshape(step, (1,) * k + (step.size,) + (1,) * (len(shape) - 1 - k)) for k, step in enumerate(steps))
    if sparse:
        return grids
    if not grids:
        raise ShapeError("an array without axes has no indices", op="indices")
    return stack([broadcast_to(grid, shape) for grid in grids])


def ix_(*vectors) -> tuple:
    """Vectors of indices as an open grid: x[gc.ix_(rows, columns)] has every row with every column. Masks are realized.

    >>> import graphc as gc
    >>> x = gc.arange(12).reshape(3, 4)
    >>> x[gc.ix_([0, 2], [1, 3])].tolist()
    [[1, 3], [9, 11]]
    """
    found = []
    for k, vector in enumerate(vectors):
        v = to_array(vector, "ix_") if isinstance(vector, list | tuple) else vector
        v = from_numpy(np.flatnonzero(to_array(v, "ix_"))) if np.dtype(v.dtype).kind == "b" else as_tensor(v)
        if v.ndim != 1:
            raise ShapeError(f"indices of shape {v.shape} are no vector", op="ix_")
        v = cast(v, dt.int64) if not v.size else v
        found.append(reshape(v, (1,) * k + (v.size,) + (1,) * (len(vectors) - 1 - k)))
    return tuple(found)


def diag_indices(n: int, /, ndim: int = 2) -> tuple:
    """The indices of the main diagonal of an array with `ndim` axes of n elements.

    >>> import graphc as gc
    >>> gc.zeros((2, 2)).at[gc.diag_indices(2)].set(1.0).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return (arange(an_int(n, "diag_indices", "n")),) * an_int(ndim, "diag_indices", "ndim")
