"""Functions of whole matrices that are composites of products and solutions: gc.linalg has them under its names."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphc.api import reductions as red
from graphc.api.creation import eye
from graphc.api.elementwise import abs as abs_
from graphc.api.elementwise import ceil, clip, exp2, isfinite, log2, where
from graphc.api.linalg import inv, solve, wide
from graphc.api.manipulation import expand_dims, moveaxis, reshape
from graphc.api.products import matmul
from graphc.api.record import as_tensor, cast
from graphc.errors import ShapeError

SQUARINGS = 16
# The approximant of order 13 is exact to float64 up to this norm; its numerator is the sum of these times the powers.
_REACH = 5.371920351148152
_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)


def expm(x, /):
    """The exponential of square matrices, sum over k of x**k / k!: scipy.linalg.expm, torch.matrix_exp.

    By scaling, a Pade approximant of order 13, and squaring: Higham, "The scaling and squaring method for the matrix
    exponential revisited" (2005). As many squarings are recorded as a norm of 3.5e5 needs, so that jit, vmap and grad
    work; a matrix with a larger one gives NaN.

    >>> import graphc as gc
    >>> gc.linalg.expm(gc.asarray([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    given = as_tensor(x, None, "expm")
    x = wide(given, "expm", square=True)
    if not x.size:
        return x
    norm = red.max(red.sum(abs_(x), -2), -1).detach()
    halvings = clip(ceil(log2(norm / _REACH)), 0, SQUARINGS + 1)
    halvings = expand_dims(where(isfinite(norm), halvings, SQUARINGS + 1), (-2, -1))
    r = _approximant(x * cast(exp2(-halvings), x.dtype))
    for k in range(SQUARINGS):
        r = where(halvings > k, matmul(r, r), r)
    r = where(halvings > SQUARINGS, float("nan"), r)
    return cast(r, given.dtype) if given.dtype.kind in "fc" else r


def _approximant(a):
    b = [c / _PADE[0] for c in _PADE]
    a2 = matmul(a, a)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)
    unit = eye(a.shape[-1], dtype=a.dtype)
    odd = matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * unit
    even = matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * unit
    odd = matmul(a, odd)
    return unit + solve(even - odd, 2.0 * odd)      # (even + odd) / (even - odd), without rounding the 1


def multi_dot(arrays: Sequence, /):
    """The product of two or more matrices, in the order that takes the fewest multiplications. The first and the last
    may be vectors. Cormen et al., *Introduction to algorithms*, 15.2.

    >>> import graphc as gc
    >>> gc.linalg.multi_dot([gc.ones((2, 30)), gc.ones((30, 4)), gc.ones(4)]).tolist()
    [120.0, 120.0]
    """
    arrays = [as_tensor(x, None, "multi_dot") for x in arrays]
    wrong = [x.shape for k, x in enumerate(arrays) if x.ndim != 2 and (x.ndim != 1 or 0 < k < len(arrays) - 1)]
    if len(arrays) < 2 or wrong:
        raise ShapeError(f"{len(arrays)} arrays, of which {wrong} are no matrices", op="multi_dot",
                         fix="give at least two matrices; only the first and the last may be vectors")
    sizes = [1 if arrays[0].ndim == 1 else arrays[0].shape[0], *[x.shape[0] for x in arrays[1:]],
             1 if arrays[-1].ndim == 1 else arrays[-1].shape[1]]
    cut = _cuts(sizes)

    def product(first: int, last: int):
        if first == last:
            return arrays[first]
        k = cut[first, last]
        return matmul(product(first, k), product(k + 1, last))
    return product(0, len(arrays) - 1)


def _cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where the chain of matrices sizes[k] by sizes[k + 1] from i to j is cut best."""
    n = len(sizes) - 1
    cost, cut = {(k, k): 0 for k in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                        for k in range(i, j))
    return cut


def tensorsolve(a, b, /, axes: Sequence[int] | None = None):
    """x with tensordot(a, x, x.ndim) == b: a has the axes of b and then those of x, both of one size.

    axes: axes of a that are moved behind the others first.

    >>> import graphc as gc
    >>> gc.linalg.tensorsolve(2 * gc.eye(4).reshape(2, 2, 4), gc.ones((2, 2))).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    a, b = as_tensor(a, None, "tensorsolve"), as_tensor(b, None, "tensorsolve")
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim:]
    if a.size != b.size**2 or prod(shape) != b.size:
        raise ShapeError(f"shapes {a.shape} and {b.shape} do not fit", op="tensorsolve")
    return reshape(solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,))), shape)


def tensorinv(a, /, ind: int = 2):
    """The inverse of `tensordot(a, x, ind)`: a's first `ind` axes have the size of the others.

    >>> import graphc as gc
    >>> gc.linalg.tensorinv(gc.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    a = as_tensor(a, None, "tensorinv")
    before, behind = a.shape[:ind], a.shape[ind:]
    if ind < 1 or prod(before) != prod(behind):
        raise ShapeError(f"shape {a.shape} is not square after {ind} axes", op="tensorinv")
    return reshape(inv(reshape(a, (prod(before), prod(behind)))), (*behind, *before))
