"""NumPy's diagonal and trace, of any two axes: by default the first two. Those of gc.linalg take the last two."""
from __future__ import annotations

from graphc.api import linalg
from graphc.api.manipulation import moveaxis
from graphc.api.record import as_tensor
from graphc.errors import ShapeError


def _matrices(x, axis1: int, axis2: int, name: str):
    """x with the two axes last."""
    x = as_tensor(x, None, name)
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape} has no diagonal", op=name)
    return moveaxis(x, (axis1, axis2), (-2, -1))


def diagonal(x, /, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """The diagonals of the matrices that two axes form, as a new last axis; offset > 0 lies above the main diagonal.

    >>> import graphc as gc
    >>> gc.diagonal(gc.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    return linalg.diagonal(_matrices(x, axis1, axis2, "diagonal"), offset=offset)


def trace(x, /, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype=None):
    """The sums of the diagonals of the matrices that two axes form, in the dtypes of `sum`.

    >>> import graphc as gc
    >>> gc.trace(gc.asarray([[1, 2], [3, 4]])).item()
    5
    """
    return linalg.trace(_matrices(x, axis1, axis2, "trace"), offset=offset, dtype=dtype)
