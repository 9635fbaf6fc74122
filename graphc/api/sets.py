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


def intersect1d(x1, x2, /):
    """The values that both arrays have, each once.

    >>> import graphc as gc
    >>> gc.intersect1d(gc.asarray([3, 1, 1]), gc.asarray([1, 2])).tolist()
    [1]
    """
    x1, x2 = as_tensor(x1, None, "intersect1d"), as_tensor(x2, None, "intersect1d")
    found = unique(x1)
    return cast(found[isin(found, x2)], dt.promote(x1.dtype, x2.dtype))


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
