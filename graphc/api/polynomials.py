"""Polynomials as NumPy's functions have them: vectors of coefficients, from the highest power down."""
from __future__ import annotations

import numpy as np

from graphc.api.axes import an_int
from graphc.api.creation import arange, eye, ones, zeros
from graphc.api.elementwise import sqrt
from graphc.api.linalg import eigvals, inv, lstsq, outer
from graphc.api.manipulation import concat, expand_dims, reshape, stack
from graphc.api.padding import pad
from graphc.api.record import anew, as_float, as_tensor, cast, deciding
from graphc.api.reductions import sum
from graphc.api.samples import convolve
from graphc.errors import ArgumentError, ShapeError
from graphc.ir import dtype as dt


def _coefficients(p, name: str):
    p = as_tensor(p, None, name)
    if p.ndim != 1:
        raise ShapeError(f"coefficients of shape {p.shape} are no vector", op=name)
    return p


def polyval(p, x, /):
    """A polynomial's values at x, by Horner's rule; coefficients from the highest power down, as in NumPy.

    >>> import graphc as gc
    >>> gc.polyval([1, 2, 3], gc.asarray(2.0)).item()
    11.0
    """
    x, p = (as_tensor(values, None, "polyval", floats=True) for values in (x, p))
    found = x * 0
    for k in range(p.shape[0]):
        found = found * x + p[k]
    return found


def vander(x, /, N: int | None = None, increasing: bool = False):  # noqa: N803
    """The powers N - 1, ..., 1, 0 of a vector (N None: as many as it has elements) as columns; increasing: 0 first.
    Narrow integers and booleans have those of int64.

    >>> import graphc as gc
    >>> gc.vander([2, 3], 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = as_tensor(x, None, "vander")
    if x.ndim != 1:
        raise ShapeError(f"shape {x.shape} is no vector", op="vander")
    if x.dtype.kind in "biu" and x.dtype is not dt.uint64:
        x = cast(x, dt.int64)
    count = x.size if N is None else an_int(N, "vander", "N")
    columns = [ones(x.shape, dtype=x.dtype)][:count]
    while len(columns) < count:
        columns.append(columns[-1] * x)
    if not columns:
        return zeros((x.size, 0), dtype=x.dtype)
    return stack(columns if increasing else columns[::-1], -1)


def polyfit(x, y, /, deg: int, rcond: float | None = None, *, w=None, cov: bool | str = False):
    """The polynomial of degree `deg` with the least sum of (w * (polynomial(x) - y))**2: its deg + 1 coefficients.

    x: (n,). y: (n,), or (n, k) for k polynomials. w: (n,), one over the deviation of each y. rcond: singular values
    up to rcond times the largest count as 0, n * epsilon by default. cov: return the coefficients and their covariance
    (deg + 1, deg + 1[, k or 1]), scaled by the residuals, or "unscaled" where w is to be taken at its word. By singular
    values of the scaled Vandermonde matrix. Integers are taken in the default float.

    >>> import graphc as gc
    >>> gc.polyfit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], 1).round(9).tolist()
    [2.0, 1.0]
    """
    x, y = as_float(x, "polyfit"), as_float(y, "polyfit")
    count = an_int(deg, "polyfit", "the degree") + 1
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or y.shape[0] != x.size or count < 1:
        raise ShapeError(f"points {x.shape} and {y.shape} have no polynomial of degree {count - 1}", op="polyfit",
                         fix="give x (n,), y (n,) or (n, k), and a degree of at least 0")
    rows = vander(x, count)
    if w is not None:
        w = as_float(w, "polyfit")
        if w.shape != x.shape:
            raise ShapeError(f"weights of shape {w.shape} for points of shape {x.shape}", op="polyfit")
        rows, y = rows * expand_dims(w, -1), y * (expand_dims(w, -1) if y.ndim == 2 else w)
    scale = sqrt(sum(rows * rows, 0))
    rows = rows / scale
    found = lstsq(rows, y, x.size * float(dt.finfo(x.dtype).eps) if rcond is None else rcond)
    fitted = found.x / (expand_dims(scale, -1) if y.ndim == 2 else scale)
    if not cov:
        return fitted
    spread = inv(rows.mT @ rows) / outer(scale, scale)
    spread = expand_dims(spread, -1) if y.ndim == 2 else spread
    if cov == "unscaled":
        return fitted, spread
    if x.size <= count:
        raise ShapeError(f"{x.size} points do not scale the covariance of {count} coefficients", op="polyfit",
                         fix="give more points, or cov='unscaled'")
    return fitted, spread * (found.residuals / (x.size - count))


def polyadd(p1, p2, /):
    """The sum of two polynomials. Leading zeros stay.

    >>> import graphc as gc
    >>> gc.polyadd([1, 2], [9, 5, 4]).tolist()
    [9, 6, 6]
    """
    a, b = _coefficients(p1, "polyadd"), _coefficients(p2, "polyadd")
    n = max(a.size, b.size)
    return pad(a, (n - a.size, 0)) + pad(b, (n - b.size, 0))


def polysub(p1, p2, /):
    """The difference of two polynomials. Leading zeros stay."""
    a, b = _coefficients(p1, "polysub"), _coefficients(p2, "polysub")
    return polyadd(a, -cast(b, dt.promote(a.dtype, b.dtype)))


def polymul(p1, p2, /):
    """The product of two polynomials. Leading zeros stay; no coefficients at all are those of 0.

    >>> import graphc as gc
    >>> gc.polymul([1, 1], [1, -1]).tolist()
    [1, 0, -1]
    """
    factors = (_coefficients(p, "polymul") for p in (p1, p2))
    return convolve(*(p if p.size else zeros(1, dtype=p.dtype) for p in factors))


def polyder(p, /, m: int = 1):
    """The m-th derivative of a polynomial.

    >>> import graphc as gc
    >>> gc.polyder([1, 1, 1, 1]).tolist()
    [3, 2, 1]
    """
    p = anew(_coefficients(p, "polyder"))
    for _ in range(_times(m, "polyder")):
        p = p[:-1] * arange(p.size - 1, 0, -1)
    return p


def polyint(p, /, m: int = 1, k=None):
    """An m-th integral of a polynomial. k: one constant, or m, the first of the first integral; 0 if None.

    >>> import graphc as gc
    >>> gc.polyint([6.0, 2.0], k=5.0).tolist()
    [3.0, 2.0, 5.0]
    """
    p, m = anew(as_float(_coefficients(p, "polyint"), "polyint")), _times(m, "polyint")
    constants = [0] if k is None else np.atleast_1d(np.asarray(k)).tolist()
    if len(constants) not in (1, m):
        raise ShapeError(f"{len(constants)} constants for {m} integrals", op="polyint", fix="give one, or one for each")
    for constant in constants * (m if len(constants) == 1 else 1):
        p = concat([p / arange(p.size, 0, -1), reshape(as_tensor(constant, p), (1,))])
    return p


def _times(m: int, name: str) -> int:
    m = an_int(m, name, "m")
    if m < 0:
        raise ArgumentError(f"m must not be negative, as {m} is", op=name)
    return m


def roots(p, /):
    """The zeros of a polynomial, complex, as the eigenvalues of its companion matrix. The coefficients are realized:
    which of them are 0 decides the shape.

    >>> import graphc as gc
    >>> sorted(gc.roots([1.0, -3.0, 2.0]).real.round(9).tolist())
    [1.0, 2.0]
    """
    p = as_float(_coefficients(p, "roots"), "roots")
    known = np.flatnonzero(deciding(p, "roots", "find them outside of the traced function"))
    if not len(known):
        return zeros(0, dtype=dt.complex128)
    behind = p.size - 1 - int(known[-1])
    p = p[int(known[0]):int(known[-1]) + 1]
    nil = zeros(behind, dtype=dt.complex128)
    if p.size < 2:
        return nil
    companion = concat([expand_dims(-p[1:] / p[0], 0), eye(p.size - 2, p.size - 1, dtype=p.dtype)])
    found = eigvals(companion)
    return concat([found, cast(nil, found.dtype)])
