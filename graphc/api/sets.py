"""Sets of numbers, as vectors in rising order. How many there are depends on the values, so these realize."""
from __future__ import annotations

from graphc.api.manipulation import concat, ravel
from graphc.api.record import as_tensor, cast
from graphc.api.sorting import isin, sort, unique
from graphc.ir import dtype as dt


def union1d(x1, x2, /):
    """The values of either array, each once.

    >>> import graphc as gc
    >>> gc.union1d(gc.asarray([3, 1]), gc.asarray([1, 2])).tolist()
    [1, 2, 3]
    """
    return unique(concat([ravel(as_tensor(x, None, "union1d")) for x in (x1, x2)]))


def intersect1d(x1, x2, /, *, return_indices: bool = False):
    """The values that both arrays have, each once.

    return_indices: (the values, where each first stands in x1 flattened, and in x2).

    >>> import graphc as gc
    >>> gc.intersect1d(gc.asarray([3, 1, 1]), gc.asarray([1, 2])).tolist()
    [1]
    >>> [x.tolist() for x in gc.intersect1d(gc.asarray([3, 1, 1]), gc.asarray([1, 2]), return_indices=True)]
    [[1], [1], [0]]
    """
    x1, x2 = as_tensor(x1, None, "intersect1d"), as_tensor(x2, None, "intersect1d")
    found, *first = unique(x1, return_index=True) if return_indices else [unique(x1)]
    here = isin(found, x2)
    common = cast(found[here], dt.promote(x1.dtype, x2.dtype))
    if not return_indices:
        return common
    other, second = unique(x2, return_index=True)
    return common, first[0][here], second[isin(other, found)]


def setdiff1d(x1, x2, /):
    """The values of the first array that the second has not, each once.

    >>> import graphc as gc
    >>> gc.setdiff1d(gc.asarray([3, 1, 1]), gc.asarray([1, 2])).tolist()
    [3]
    """
    found = unique(as_tensor(x1, None, "setdiff1d"))
    return found[~isin(found, x2)]


def setxor1d(x1, x2, /):
    """The values that one of the arrays has and the other has not, each once.

    >>> import graphc as gc
    >>> gc.setxor1d(gc.asarray([3, 1]), gc.asarray([1, 2])).tolist()
    [2, 3]
    """
    return sort(concat([setdiff1d(x1, x2), setdiff1d(x2, x1)]))
