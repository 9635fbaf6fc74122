"""What singular values tell of matrices: pseudo-inverse, rank, least squares, condition. gc.linalg has them."""
from __future__ import annotations

from math import inf, nan, prod
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from graphc.api import reductions as red
from graphc.api.creation import eye
from graphc.api.elementwise import abs as abs_
from graphc.api.elementwise import conj, isnan, where
from graphc.api.linalg import eigh, eigvalsh, inv, matrix_norm, slogdet, svd, svdvals, wide
from graphc.api.manipulation import expand_dims, matrix_transpose, reshape
from graphc.api.products import matmul, promoted
from graphc.api.record import as_tensor, cast, wrap
from graphc.custom_gradients import custom_vjp, with_gradient_of
from graphc.errors import ArgumentError, ShapeError
from graphc.ir import dtype as dt


def _cutoff(x, s, rtol):
    """The size below which a singular value counts as 0; one for each matrix."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(s.dtype.numpy).eps)
    rtol = as_tensor(rtol, s)
    top = red.max(s, -1, keepdims=True)
    return top * (expand_dims(rtol, -1) if rtol.ndim else rtol)


def _one_of(rtol, other, name: str, op: str):
    """The tolerance, which NumPy also calls by another name. Raises ArgumentError for both."""
    if rtol is not None and other is not None:
        raise ArgumentError(f"rtol and {name} are both given", op=op, fix="give one of them")
    return other if rtol is None else rtol


def pinv(x, /, rcond=None, hermitian: bool = False, *, rtol=None):
    """The Moore-Penrose pseudo-inverse. Singular values up to rtol times the largest count as 0.

    rtol: None is max(m, n) times the dtype's epsilon; or a number for each matrix. rcond is NumPy's older name for it.
    hermitian: the matrices are, and their eigenvalues are taken, of which the lower triangle is read. Raises
    ArgumentError for both rtol and rcond.

    >>> import graphc as gc
    >>> gc.linalg.pinv(gc.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    x, rtol = wide(x, "pinv", square=hermitian), _one_of(rtol, rcond, "rcond", "pinv")
    if 0 in x.shape[-2:]:
        return matrix_transpose(x)
    return _pinv(x, rtol, hermitian)


@custom_vjp
def _pinv(x, rtol, hermitian: bool):
    v, inverse, uh, _, _ = _inverted(x, rtol, hermitian)
    return matmul(v * cast(expand_dims(inverse, -2), v.dtype), uh)


def _pinv_gradient(given: tuple, g) -> tuple:
    """Golub & Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate" (1973), in products of the shorter side. Through the SVD equal singular values would divide by 0."""
    x, rtol, hermitian = given
    p, back = _pinv(x, rtol, hermitian), _adjoint(g)
    ph = _adjoint(p)
    if x.shape[-2] <= x.shape[-1]:
        k = matmul(back, p)
        both, side = matmul(p, k), matmul(k, ph)
        found = matmul(matmul(ph, p), back - matmul(k, x)) + side - matmul(matmul(x, p), side) - _adjoint(both)
    else:
        k = matmul(p, back)
        both, side = matmul(k, p), matmul(ph, k)
        found = matmul(back - matmul(x, k), matmul(p, ph)) + side - matmul(side, matmul(p, x)) - _adjoint(both)
    return (found + _adjoint(found)) / 2 if hermitian else found, None, None


_pinv.defvjp(lambda x, rtol, hermitian: (_pinv(x, rtol, hermitian), (x, rtol, hermitian)), _pinv_gradient)


def _adjoint(x):
    return conj(matrix_transpose(x))


def _inverted(x, rtol, hermitian: bool = False) -> tuple:
    """The factors of the pseudo-inverse by one SVD, V, 1 / s and U^H, then s and which of them count. Of Hermitian
    matrices by their eigenvectors, where s are the eigenvalues."""
    if hermitian:
        s, u = eigh(x)
        vh = _adjoint(u)
    else:
        u, s, vh = svd(x, full_matrices=False)
    keep = abs_(s) > _cutoff(x, abs_(s), rtol)
    inverse = where(keep, 1.0 / where(keep, s, 1.0), 0.0)
    return _adjoint(vh), inverse, _adjoint(u), s, keep


def matrix_rank(x, /, tol=None, hermitian: bool = False, *, rtol=None):
    """How many singular values are larger than rtol times the largest one (rtol, hermitian: see pinv), as int64.

    tol: how large they must be, absolutely; a number, or one for each matrix. Raises ArgumentError for both.

    >>> import graphc as gc
    >>> gc.linalg.matrix_rank(gc.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    _one_of(rtol, tol, "tol", "matrix_rank")
    x = wide(x, "matrix_rank", square=hermitian)
    if 0 in x.shape[-2:]:
        return red.count_nonzero(reshape(x, (*x.shape[:-2], 0)), -1)
    s = abs_(eigvalsh(x)) if hermitian else svdvals(x)
    least = _cutoff(x, s, rtol) if tol is None else expand_dims(as_tensor(tol, s), -1)
    return red.sum(s > least, -1, dtype=dt.int64)


class LeastSquares(NamedTuple):
    x: object
    residuals: object
    rank: object
    s: object


def lstsq(x1, x2, /, rcond: float | None = None, *, rtol=None) -> LeastSquares:
    """The x of least norm that minimises the norm of x1 @ x - x2, and what belongs to it, in NumPy's order.

    residuals: the squared norms of x1 @ x - x2, one for each column of x2 (also where NumPy leaves them out: where the
    rank of x1 is less than its columns, or it has no more rows). rank, s: the rank and the singular values of x1.
    rtol: singular values up to rtol times the largest count as 0, as in pinv; rcond is NumPy's name for it, where a
    negative number is the dtype's epsilon.

    >>> import graphc as gc
    >>> x, residuals, rank, s = gc.linalg.lstsq(gc.asarray([[1.0], [1.0]]), gc.asarray([1.0, 3.0]))
    >>> round(x.item(), 9), round(residuals.item(), 9), rank.item()
    (2.0, 2.0, 1)
    """
    x1, x2 = promoted("lstsq", wide(x1, "lstsq"), x2)
    rtol = rcond if rtol is None else rtol
    if isinstance(rtol, int | float) and rtol < 0:
        rtol = float(np.finfo(x1.dtype.real.numpy).eps)
    axis = -1 if x2.ndim == 1 else -2
    if 0 in x1.shape[-2:]:
        x, s, rank = matmul(pinv(x1), x2), svdvals(x1), matrix_rank(x1)
    else:
        v, inverse, uh, s, keep = _inverted(x1, rtol)
        part = matmul(uh, x2)       # and not by the pseudo-inverse, which is as large as x1
        x = matmul(v, part * cast(inverse if x2.ndim == 1 else expand_dims(inverse, -1), v.dtype))
        if x1.node.tracked:
            x = wrap(with_gradient_of(x.node, matmul(_pinv(x1, rtol, False), x2).node))
        rank = red.sum(keep, -1, dtype=dt.int64)
    off = abs_(x2 - matmul(x1, x))
    return LeastSquares(x, red.sum(off * off, axis, keepdims=axis == -1), rank, s)


def cond(x, /, p=None):
    """The condition number of matrices: the norm, 2 by default, times that of the inverse. That of singular ones, and
    of those with an infinity, is infinite. Raises LinAlgError for 0 x 0.

    >>> import graphc as gc
    >>> gc.linalg.cond(gc.asarray([[4.0, 0.0], [0.0, 2.0]])).item()
    2.0
    """
    x = wide(x, "cond")
    if not x.size and not prod(x.shape[-2:]):
        raise LinAlgError(str(ShapeError(f"matrices of shape {x.shape} have no condition", op="cond",
                                         fix="give them rows and columns")))
    if p in (None, 2, -2):
        s = svdvals(x)
        found = red.min(s, -1) / red.max(s, -1) if p == -2 else red.max(s, -1) / red.min(s, -1)
        return _unless_unknown(x, where(red.max(s, -1) == 0, inf, found))
    singular = slogdet(x).sign == 0
    regular = where(singular[..., None, None], eye(x.shape[-1], dtype=x.dtype), x)
    return _unless_unknown(x, where(singular, inf, matrix_norm(x, ord=p) * matrix_norm(inv(regular), ord=p)))


def _unless_unknown(x, found):
    """NaN where an element is; a condition that is NaN although none is has been infinity."""
    return where(red.any(isnan(x), (-2, -1)), nan, where(isnan(found), inf, found))
