"""NumPy's ways, beyond the Array API, to arrange arrays and to name places in them: composites of others."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from graphc.api.axes import an_int
from graphc.api.elementwise import floor_divide, remainder, where
from graphc.api.indexing import checked
from graphc.api.linalg import diag
from graphc.api.manipulation import (
    atleast_2d, concat, expand_dims, flip, matrix_transpose, ravel, reshape, split, swapaxes,
)
from graphc.api.record import as_tensor, from_numpy
from graphc.errors import ShapeError


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
    first, second = axes
    k = an_int(k, "rot90", "k") % 4
    if k == 2:
        return flip(flip(x, first), second)
    if k == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if k else as_tensor(x)


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


def select(conditions: Sequence, choices: Sequence, default=0, /):
    """Of the choices, element by element, the first whose condition holds; else the default.

    >>> import graphc as gc
    >>> x = gc.arange(4)
    >>> gc.select([x < 1, x < 3], [x * 10, -x]).tolist()
    [0, -1, -2, 0]
    """
    if len(conditions) != len(choices) or not len(conditions):
        raise ShapeError(f"{len(conditions)} conditions and {len(choices)} choices", op="select",
                         fix="give one choice for each condition")
    found = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple:
    """The rows and the columns of what stands on and above the k-th diagonal of a matrix of (n, m or n)."""
    return tuple(from_numpy(i) for i in np.triu_indices(n, k, m))


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple:
    """The rows and the columns of what stands on and below the k-th diagonal of a matrix of (n, m or n)."""
    return tuple(from_numpy(i) for i in np.tril_indices(n, k, m))


def unravel_index(indices, shape, /) -> tuple:
    """For positions in an array of this shape, flattened, the index along each axis. Raises IndexError.

    >>> import graphc as gc
    >>> [i.item() for i in gc.unravel_index(5, (2, 3))]
    [1, 2]
    """
    shape = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    rest, found = checked(indices, prod(shape), "unravel_index"), []
    for n in reversed(shape):
        found.append(remainder(rest, n))
        rest = floor_divide(rest, n)
    return tuple(reversed(found))


def ravel_multi_index(indices: Sequence, shape: Sequence[int], /):
    """The positions in an array of this shape, flattened, of an index along each axis. Raises IndexError.

    >>> import graphc as gc
    >>> gc.ravel_multi_index(([0, 1], [2, 2]), (2, 3)).tolist()
    [2, 5]
    """
    if len(indices) != len(shape):
        raise ShapeError(f"{len(indices)} indices for {len(shape)} axes", op="ravel_multi_index")
    found = None
    for index, n in zip(indices, shape, strict=True):
        part = checked(index, n, "ravel_multi_index")
        found = part if found is None else found * n + part
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
