"""Linear algebra: products through the DOT primitive, decompositions through LAPACK. Also the namespace gc.linalg.

Every function works on stacks of matrices, shape (..., m, n). Decompositions compute in float32, float64, complex64 or
complex128: integers become the default float; float16 and bfloat16 are computed in float32 and rounded at the end.
A matrix without the property that is needed (singular, not positive definite) raises numpy.linalg.LinAlgError when the
result is realized.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError    # what singular matrices raise

from graphc.api import record
from graphc.api import reductions as red
from graphc.api.axes import an_int, ordered_axes, several
from graphc.api.creation import eye, iota, zeros_like
from graphc.api.elementwise import abs as abs_
from graphc.api.elementwise import conj, where
from graphc.api.library import library
from graphc.api.manipulation import (
    concat,
    expand_dims,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    slice_axis,
)
from graphc.api.padding import pad
from graphc.api.products import matmul, promoted, sum_of_products
from graphc.api.record import as_float, as_tensor, broadcast_shapes, cast, normalize_axis
from graphc.errors import ArgumentError, ShapeError
from graphc.tracing import Scalar

__all__ = [
    "Eigh", "LeastSquares", "LinAlgError", "QR", "SVD", "Slogdet", "cholesky", "cond", "cross", "det", "diag",
    "diagonal", "dot", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inner", "inv", "kron", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vdot", "vecdot",
    "vector_norm",
]

# ------------------------------------------------------------------------------------------------------------- products


def dot(a, b, /):
    """NumPy's dot: a scalar multiplies; otherwise the last axis of a with the last but one (or the only one) of b.

    >>> import graphc as gc
    >>> gc.dot(gc.asarray([1, 2]), gc.asarray([3, 4])).item()
    11
    """
    a, b = promoted("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def vecdot(x1, x2, /, *, axis: int = -1):
    """The sum of conj(x1) * x2 along an axis; the others broadcast.

    >>> import graphc as gc
    >>> gc.vecdot(gc.asarray([[1, 2], [3, 4]]), gc.asarray([1, 1])).tolist()
    [3, 7]
    """
    x1, x2 = promoted("vecdot", x1, x2)
    a, b = normalize_axis(axis, x1.ndim, "vecdot"), normalize_axis(axis, x2.ndim, "vecdot")
    if x1.shape[a] != x2.shape[b]:
        raise ShapeError(f"shapes {x1.shape} and {x2.shape} do not fit along axis {axis}: "
                         f"{x1.shape[a]} is not {x2.shape[b]}", op="vecdot")
    if a - x1.ndim != b - x2.ndim:
        x1, x2, a = moveaxis(x1, a, -1), moveaxis(x2, b, -1), x1.ndim - 1
    return sum_of_products(conj(x1), x2, a - x1.ndim)


def vdot(a, b, /):
    """The sum of conj(a) * b over all elements of the flattened arrays."""
    return vecdot(ravel(a), ravel(b))


def inner(a, b, /):
    """Sums of products over the last axes of both: shape a.shape[:-1] + b.shape[:-1]."""
    a, b = promoted("inner", a, b)
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, axes=((-1,), (-1,)))


def tensordot(a, b, /, axes: int | Sequence = 2):
    """Sums of products over pairs of axes: the last `axes` of a with the first of b, or (axes of a, axes of b).

    The result has the remaining axes of a, then those of b. Raises ShapeError if the sizes differ.

    >>> import graphc as gc
    >>> gc.tensordot(gc.ones((2, 3, 4)), gc.ones((3, 4, 5))).shape
    (2, 5)
    """
    a, b = promoted("tensordot", a, b)
    if several(axes):
        left, right = ordered_axes(axes[0], a.ndim, "tensordot"), ordered_axes(axes[1], b.ndim, "tensordot")
    else:
        count = an_int(axes, "tensordot", "axes")
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ShapeError(f"shapes {a.shape} and {b.shape} do not have {count} axes each", op="tensordot")
        left, right = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if tuple(a.shape[i] for i in left) != tuple(b.shape[i] for i in right):
        raise ShapeError(f"shapes {a.shape} and {b.shape} do not fit along axes {left} and {right}", op="tensordot")
    rows, columns = [i for i in range(a.ndim) if i not in left], [i for i in range(b.ndim) if i not in right]
    shape = tuple(a.shape[i] for i in rows) + tuple(b.shape[i] for i in columns)
    m, k, n = (prod(x.shape[i] for i in part) for x, part in ((a, rows), (a, left), (b, columns)))
    a = reshape(permute_dims(a, (*rows, *left)), (m, k))
    return reshape(matmul(a, reshape(permute_dims(b, (*right, *columns)), (k, n))), shape)


def outer(x1, x2, /):
    """All products of two vectors (other shapes are flattened): shape (x1.size, x2.size).

    >>> import graphc as gc
    >>> gc.outer(gc.asarray([1, 2]), gc.asarray([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return expand_dims(ravel(x1), 1) * ravel(x2)


def kron(a, b, /):
    """The Kronecker product: every element of a times the whole of b.

    >>> import graphc as gc
    >>> gc.kron(gc.asarray([1, 10]), gc.asarray([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    a, b = as_tensor(a), as_tensor(b)
    ndim = max(a.ndim, b.ndim)
    first, second = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    a = reshape(a, tuple(n for size in first for n in (size, 1)))
    b = reshape(b, tuple(n for size in second for n in (1, size)))
    return reshape(a * b, tuple(m * n for m, n in zip(first, second, strict=True)))


def cross(x1, x2, /, axisa: int = -1, axisb: int = -1, axisc: int = -1, *, axis: int | None = None):
    """The vector product along axis axisa of x1 and axisb of x2, of size 3; the others broadcast. Raises ShapeError.

    axisc: where it lies in the result; axis: the same for all three. A vector of size 2 has 0 as its third part; of two
    such ones only the third part of the product is given, without an axis.

    >>> import graphc as gc
    >>> gc.cross(gc.asarray([1, 0, 0]), gc.asarray([0, 1, 0])).tolist(), gc.cross([1, 2], [3, 4]).item()
    ([0, 0, 1], -2)
    """
    x1, x2 = promoted("cross", x1, x2)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = normalize_axis(axisa, x1.ndim, "cross"), normalize_axis(axisb, x2.ndim, "cross")
    if not {x1.shape[a], x2.shape[b]} <= {2, 3}:
        raise ShapeError(f"shapes {x1.shape} and {x2.shape} need size 3, or 2, along axes {axisa} and {axisb}",
                         op="cross")
    u, v = _parts(x1, a), _parts(x2, b)
    if len(u) == len(v) == 2:
        return reshape(u[0] * v[1] - u[1] * v[0], broadcast_shapes("cross", u[0].shape, v[0].shape)[:-1])
    u, v = ([*w, zeros_like(w[0])] if len(w) == 2 else w for w in (u, v))
    product = concat([u[i - 2] * v[i - 1] - u[i - 1] * v[i - 2] for i in range(3)], axis=-1)
    return moveaxis(product, -1, axisc)


def _parts(x, axis: int) -> list:
    """The parts of vectors along an axis, which moves to the end."""
    return [slice_axis(moveaxis(x, axis, -1), x.ndim - 1, i, 1) for i in range(x.shape[axis])]


def matrix_power(x, n: int, /):
    """The n-th power of square matrices, by repeated squaring; a negative n takes the inverse.

    >>> import graphc as gc
    >>> gc.linalg.matrix_power(gc.asarray([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    x, n = _stack(x, "matrix_power", square=True), an_int(n, "matrix_power", "the exponent")
    if n < 0:
        x, n = inv(x), -n
    if n == 1:
        return record.anew(x)
    power = None
    while n:
        if n & 1:
            power = x if power is None else matmul(power, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    return record.expand_to(eye(x.shape[-1], dtype=x.dtype), x.shape, "matrix_power") if power is None else power


# ------------------------------------------------------------------------------------------------------------ diagonals


def diagonal(x, /, *, offset: int = 0):
    """The diagonal of each matrix; offset > 0 lies above the main one. gc.diagonal takes other axes.

    >>> import graphc as gc
    >>> gc.linalg.diagonal(gc.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape} has no diagonal", op="diagonal")
    offset = an_int(offset, "diagonal", "offset")
    rows, columns = x.ndim - 2, x.ndim - 1
    n = max(min(x.shape[rows] + min(offset, 0), x.shape[columns] - max(offset, 0)), 0)
    x = slice_axis(slice_axis(x, rows, max(-offset, 0), n), columns, max(offset, 0), n)
    return slice_axis(reshape(x, (*x.shape[:-2], n * n)), rows, 0, n, n + 1)


def diag(x, /, k: int = 0):
    """The matrix with vector x on its diagonal k, or the diagonal k of matrix x.

    >>> import graphc as gc
    >>> gc.diag(gc.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    x, k = as_tensor(x), an_int(k, "diag", "k")
    if x.ndim == 2:
        return diagonal(x, offset=k)
    if x.ndim != 1:
        raise ShapeError(f"shape {x.shape} is neither a vector nor a matrix", op="diag")
    rows = pad(x, (max(-k, 0), max(k, 0)))
    index = iota(rows.size)
    zero = cast(as_tensor(0), x.dtype)
    return where(expand_dims(index, 1) + k == index, expand_dims(rows, 1), zero)


def trace(x, /, *, offset: int = 0, dtype=None):
    """The sum of the diagonal of each matrix, in the dtypes of `sum`. gc.trace takes other axes.

    >>> import graphc as gc
    >>> gc.linalg.trace(gc.asarray([[1, 2], [3, 4]])).item()
    5
    """
    return red.sum(diagonal(x, offset=offset), -1, dtype=dtype)


# ---------------------------------------------------------------------------------------------------------------- norms


def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord: float = 2):  # noqa: A002
    """The norm of the elements along axes (None: all): 2, 1, inf, -inf, 0 (how many are not 0) or any other power.

    The gradient of a norm of zeros is 0, as in PyTorch.

    >>> import graphc as gc
    >>> gc.linalg.vector_norm(gc.asarray([3.0, 4.0])).item()
    5.0
    """
    x = as_float(x, "vector_norm")
    size = abs_(x)
    if not isinstance(ord, int | float | np.integer | np.floating | Scalar):
        raise ArgumentError(f"there is no vector norm {ord!r}", op="vector_norm",
                            fix="use inf, -inf, 0 or another number")
    if ord == inf:      # a number of a jitted function's arguments says here that it is not known
        return _largest(size, axis, keepdims)
    if ord == -inf:
        return red.min(size, axis, keepdims=keepdims)
    if ord == 0:
        return cast(red.count_nonzero(x, axis, keepdims=keepdims), size.dtype)
    if ord == 1:
        return red.sum(size, axis, keepdims=keepdims)
    if ord == 2:
        powers = red.squares(cast(x, x.dtype.accumulator))
    else:
        wide = cast(size, size.dtype.accumulator)
        if 0 < ord < 1:     # the slope at 0 is infinite: it takes part in no gradient
            powers = where(wide == 0, 0.0, where(wide == 0, 1.0, wide) ** ord)
        else:
            powers = wide ** ord
    return cast(red.root(red.sum(powers, axis, keepdims=keepdims), ord), size.dtype)


def _largest(size, axis, keepdims: bool):
    """The largest of norms; of none, 0."""
    return red.max(size, axis, keepdims=keepdims) if size.size else red.sum(size, axis, keepdims=keepdims)


def matrix_norm(x, /, *, keepdims: bool = False, ord="fro"):  # noqa: A002
    """The norm of each matrix: "fro", "nuc", or 1, -1, 2, -2, inf, -inf as in numpy.linalg.norm.

    >>> import graphc as gc
    >>> gc.linalg.matrix_norm(gc.asarray([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    x = _stack(as_float(x, "matrix_norm"), "matrix_norm")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, inf, -inf):
        along = -2 if ord in (1, -1) else -1
        sums = red.sum(abs_(x), along, keepdims=True)
        found = _largest(sums, (-2, -1), True) if ord > 0 else red.min(sums, (-2, -1), keepdims=True)
    elif ord in (2, -2, "nuc"):
        pick = {2: _largest, -2: red.min, "nuc": red.sum}[ord]
        found = expand_dims(pick(svdvals(x), axis=-1, keepdims=True), -1)
    else:
        raise ArgumentError(f"there is no matrix norm {ord!r}", op="matrix_norm",
                            fix="use fro, nuc, 1, -1, 2, -2, inf, -inf")
    return found if keepdims else reshape(found, x.shape[:-2])


def norm(x, /, ord=None, axis=None, *, keepdims: bool = False):  # noqa: A002
    """NumPy's norm: of the flattened array, of vectors along one axis, or of matrices along two.

    >>> import graphc as gc
    >>> gc.linalg.norm(gc.asarray([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    x = as_tensor(x)
    if axis is None:
        if ord is None:
            return vector_norm(x, keepdims=keepdims)
        axis = tuple(range(x.ndim))
    axes = ordered_axes(axis, x.ndim, "norm")
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ArgumentError(f"a norm is over one or two axes, not {len(axes)}", op="norm")
    found = matrix_norm(moveaxis(x, axes, (-2, -1)), keepdims=keepdims, ord="fro" if ord is None else ord)
    return moveaxis(found, (-2, -1), axes) if keepdims else found


# ------------------------------------------------------------------------------------------------------- decompositions


def _stack(x, name: str, square: bool = False):
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"shape {x.shape} is not a matrix or a stack of matrices", op=name)
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"the matrices of shape {x.shape} are not square", op=name)
    return x


def _lapack(name: str, arguments: tuple, *tensors) -> tuple:
    """The results of a routine in a dtype that LAPACK has, rounded to the dtype of the operands if that is narrower."""
    tensors = promoted(name, *(as_float(x, name) for x in tensors))
    narrow = tensors[0].dtype
    found = library(name, arguments, *(cast(x, narrow.accumulator) for x in tensors))
    return found if narrow.accumulator is narrow else tuple(cast(x, narrow) for x in found)


class QR(NamedTuple):
    Q: object
    R: object


class SVD(NamedTuple):
    U: object
    S: object
    Vh: object


class Eigh(NamedTuple):
    eigenvalues: object
    eigenvectors: object


class Slogdet(NamedTuple):
    sign: object
    logabsdet: object


def cholesky(x, /, *, upper: bool = False):
    """The triangular L with L @ conj(L).T == x, for Hermitian positive definite x; upper: conj(L).T instead.

    >>> import graphc as gc
    >>> gc.linalg.cholesky(gc.asarray([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    x = _stack(x, "cholesky", square=True)
    if upper:       # NumPy's routine reads the lower triangle, and here the upper one has the values
        return conj(matrix_transpose(cholesky(conj(matrix_transpose(x)))))
    return _lapack("cholesky", (), x)[0]


def inv(x, /):
    """The inverse of square matrices.

    >>> import graphc as gc
    >>> gc.linalg.inv(gc.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _lapack("inv", (), _stack(x, "inv", square=True))[0]


def solve(x1, x2, /):
    """y with x1 @ y == x2: x2 is one vector (only if it has one dimension) or a stack of matrices (..., n, k).

    >>> import graphc as gc
    >>> gc.linalg.solve(gc.asarray([[2.0, 0.0], [0.0, 4.0]]), gc.asarray([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    x1, x2 = _stack(x1, "solve", square=True), as_tensor(x2)
    if x2.ndim == 0 or x2.shape[max(x2.ndim - 2, 0)] != x1.shape[-1]:
        raise ShapeError(f"shapes {x1.shape} and {x2.shape} do not fit", op="solve")
    if x2.ndim > 1:
        broadcast_shapes("solve", x1.shape[:-2], x2.shape[:-2])
    return _lapack("solve", (), x1, x2)[0]


def qr(x, /, mode: str = "reduced"):
    """Q with orthonormal columns and upper triangular R, with Q @ R == x. mode "complete": Q is square; "r": R alone.

    >>> import graphc as gc
    >>> [part.shape for part in gc.linalg.qr(gc.ones((3, 2)))]
    [(3, 2), (2, 2)]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"mode must be 'reduced', 'complete' or 'r', not {mode!r}", op="qr")
    found = QR(*_lapack("qr", (mode == "complete",), _stack(x, "qr")))
    return found.R if mode == "r" else found


def svd(x, /, full_matrices: bool = True, compute_uv: bool = True):
    """The singular value decomposition U, S, Vh: x == U * S @ Vh (full_matrices=False), S falling. compute_uv=False: S
    alone, as by svdvals.

    >>> import graphc as gc
    >>> gc.linalg.svd(gc.asarray([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    return SVD(*_lapack("svd", (bool(full_matrices),), _stack(x, "svd"))) if compute_uv else svdvals(x)


def svdvals(x, /):
    """The singular values of each matrix in falling order."""
    return _lapack("svdvals", (), _stack(x, "svdvals"))[0]


def _triangle(which: str, name: str) -> str:
    if which not in ("L", "U", "l", "u"):
        raise ArgumentError(f"UPLO must be 'L' or 'U', not {which!r}", op=name)
    return which


def eigh(x, /, UPLO: str = "L") -> Eigh:  # noqa: N803
    """The eigenvalues, in rising order, and eigenvectors (columns) of Hermitian matrices; one triangle is read.

    >>> import graphc as gc
    >>> gc.linalg.eigh(gc.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    return Eigh(*_lapack("eigh", (_triangle(UPLO, "eigh"),), _stack(x, "eigh", square=True)))


def eigvalsh(x, /, UPLO: str = "L"):  # noqa: N803
    """The eigenvalues of Hermitian matrices in rising order."""
    return _lapack("eigvalsh", (_triangle(UPLO, "eigvalsh"),), _stack(x, "eigvalsh", square=True))[0]


def eig(x, /) -> Eigh:
    """The eigenvalues and eigenvectors of square matrices, always complex."""
    return Eigh(*library("eig", (), wide(x, "eig", square=True)))


def eigvals(x, /):
    """The eigenvalues of square matrices, always complex."""
    return library("eigvals", (), wide(x, "eigvals", square=True))[0]


def wide(x, name: str, square: bool = False):
    """Matrices as floats of at least 32 bits, which LAPACK has routines for."""
    x = as_float(_stack(x, name, square=square), name)
    return cast(x, x.dtype.accumulator)


def det(x, /):
    """The determinant of square matrices.

    >>> import graphc as gc
    >>> round(gc.linalg.det(gc.asarray([[2.0, 0.0], [0.0, 4.0]])).item(), 9)
    8.0
    """
    return _lapack("det", (), _stack(x, "det", square=True))[0]


def slogdet(x, /) -> Slogdet:
    """Sign and logarithm of the size of the determinant, which can't overflow."""
    return Slogdet(*_lapack("slogdet", (), _stack(x, "slogdet", square=True)))


# They are written with what is above, and are functions of gc.linalg.
from graphc.api.matrix_functions import expm, multi_dot, tensorinv, tensorsolve  # noqa: E402
from graphc.api.ranks import LeastSquares, cond, lstsq, matrix_rank, pinv  # noqa: E402
