"""Functions of NumPy's, beyond the Array API, for samples of a signal or of a function: as composites of others."""
from __future__ import annotations

import math

import numpy as np

from graphc.api.axes import an_int
from graphc.api.composites import _as_real
from graphc.api.creation import arange, full, linspace, ones
from graphc.api.diagonals import diagonal
from graphc.api.elementwise import (
    abs, clip, conj, cos, equal, floor, imag, isnan, log10, make_complex, pow, real, remainder, sign, sin, sqrt, where,
)
from graphc.api.indexing import take
from graphc.api.manipulation import (
    broadcast_shapes, broadcast_to, concat, expand_dims, flip, moveaxis, reshape, slice_axis,
)
from graphc.api.padding import pad
from graphc.api.products import matmul, promoted
from graphc.api.record import as_float, as_tensor, cast, deciding, holds_recorded, normalize_axes
from graphc.api.reductions import cov, cumsum, diff, sum
from graphc.api.sorting import argsort, searchsorted
from graphc.api.windows import sliding_window_view
from graphc.errors import ArgumentError, ShapeError
from graphc.ir import dtype as dt
from graphc.tensor import Tensor
from graphc.tracing import Scalar


def nan_to_num(x, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None):
    """x with numbers in place of NaN and the infinities; by default 0 and the largest finite numbers of the dtype.

    >>> import graphc as gc
    >>> gc.nan_to_num(gc.asarray([float("nan"), 1.0, float("inf")]), posinf=9.0).tolist()
    [0.0, 1.0, 9.0]
    """
    x = as_tensor(x, None, "nan_to_num")
    if x.dtype.kind == "c":
        parts = (nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (real(x), imag(x)))
        return make_complex(*parts)
    if x.dtype.kind != "f":
        return cast(x, x.dtype)
    limits = dt.finfo(x.dtype)
    x = where(isnan(x), nan, x)
    x = where(equal(x, math.inf), float(limits.max) if posinf is None else posinf, x)
    return where(equal(x, -math.inf), float(limits.min) if neginf is None else neginf, x)


def logspace(start, stop, num: int = 50, endpoint: bool = True, base=10.0, dtype=None, axis: int = 0):
    """num powers of `base`, whose exponents go in equal steps from start to stop, in the default float unless dtype is
    given.

    start, stop, base: numbers, or arrays that broadcast: then the powers of each run along `axis` of the result.

    >>> import graphc as gc
    >>> gc.logspace(0, 2, 3).tolist(), gc.logspace(0, 2, 3, base=[2.0, 3.0], axis=-1).tolist()
    ([1.0, 10.0, 100.0], [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
    """
    base = cast(_as_real(base, "logspace"), dt.float64)
    if base.ndim:       # then the exponents have as many axes, and that of the samples
        start, stop = (broadcast_to(x, broadcast_shapes(np.shape(x), base.shape)) for x in (start, stop))
    powers = linspace(start, stop, num, dtype=dt.float64, endpoint=endpoint)
    return _as_asked(_samples_at(pow(base, powers), axis), dtype)


def geomspace(start, stop, num: int = 50, endpoint: bool = True, dtype=None, axis: int = 0):
    """num numbers with one ratio between neighbours, from start to stop: real numbers of one sign, or arrays of them
    that broadcast; then the numbers between each two run along `axis` of the result.

    Raises ArgumentError where there is no ratio; where that is only known when it is computed, the result is NaN.

    >>> import graphc as gc
    >>> gc.geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    given = start, stop
    start, stop = (cast(_as_real(x, "geomspace"), dt.float64) for x in given)
    known = [np.asarray(x, np.float64) for x in given if not (isinstance(x, Tensor) or holds_recorded(x))]
    if any((x == 0).any() for x in known) or len(known) == 2 and (np.sign(known[0]) != np.sign(known[1])).any():
        raise ArgumentError(f"there is no ratio from {known[0]} to {known[-1]}: both must have one sign, and none may "
                            "be 0", op="geomspace")
    signs, count = sign(start), an_int(num, "geomspace", "the number of samples")
    exponents = linspace(log10(abs(start)), log10(stop * signs), count, endpoint=endpoint, dtype=dt.float64)
    found = pow(10.0, exponents) * signs
    place = reshape(arange(count), (count, *(1,) * (found.ndim - 1)))
    found = where(place == 0, start, found)         # the ends are exact
    if endpoint and count > 1:
        found = where(place == count - 1, stop, found)
    return _as_asked(_samples_at(found, axis), dtype)


def _samples_at(x, axis: int):
    """x, whose samples run along its first axis, with these at `axis`."""
    return moveaxis(x, 0, axis) if axis else x


def _as_asked(x, dtype):
    dtype = dt.default_float() if dtype is None else dt.as_dtype(dtype)
    return cast(floor(x) if dtype.kind in "iu" else x, dtype)


def gradient(f, /, *spacing, axis=None, edge_order: int = 1):
    """Derivatives of samples: central differences of second order, one-sided ones of order `edge_order`, 1 or 2, at
    both ends; a tensor for each axis (one alone as it is).

    spacing: for all axes or for each one, the distance of samples, or their coordinates, a rising vector. Integers are
    taken in the default float. Central differences over unequal distances: Fornberg, "Generation of finite difference
    formulas on arbitrarily spaced grids" (1988).

    >>> import graphc as gc
    >>> gc.gradient(gc.asarray([1.0, 2.0, 4.0, 7.0])).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    f = as_float(f, "gradient")
    axes = normalize_axes(axis, f.ndim, "gradient")
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise ArgumentError(f"{len(steps)} distances for {len(axes)} axes", op="gradient",
                            fix="give one, or one an axis")
    if edge_order not in (1, 2):
        raise ArgumentError(f"edge_order must be 1 or 2, not {edge_order!r}", op="gradient")
    found = [moveaxis(_slopes(moveaxis(f, a, -1), step, edge_order), -1, a)
             for a, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f, step, edge_order: int):
    n = f.shape[-1]
    if n <= edge_order:
        raise ShapeError(f"an axis of length {n} has no slope of order {edge_order} at its ends", op="gradient",
                         fix=f"give at least {edge_order + 1} samples")
    if isinstance(step, Scalar) or np.ndim(step) == 0:
        inner = (f[..., 2:] - f[..., :-2]) / (2.0 * step)
        return concat(_with_ends(f, inner, [step] * edge_order, [step] * edge_order), axis=-1)
    at = cast(as_tensor(step), f.dtype)
    if at.shape != (n,):
        raise ShapeError(f"coordinates of shape {at.shape} for {n} samples", op="gradient")
    widths = at[1:] - at[:-1]
    before, after = widths[:-1], widths[1:]
    left, right = -after / (before * (before + after)), before / (after * (before + after))
    inner = left * f[..., :-2] + (after - before) / (before * after) * f[..., 1:-1] + right * f[..., 2:]
    return concat(_with_ends(f, inner, [widths[k] for k in range(edge_order)],
                             [widths[-1 - k] for k in range(edge_order)]), axis=-1)


def _with_ends(f, inner, before: list, after: list) -> list:
    """The slopes with those at both ends, from as many widths there, counted from outside, as their order."""
    if len(before) == 1:
        return [(f[..., 1:2] - f[..., :1]) / before[0], inner, (f[..., -1:] - f[..., -2:-1]) / after[0]]
    return [_end_slope(f, *before), inner, _end_slope(flip(f, -1), -after[0], -after[1])]


def _end_slope(f, a, b):
    """The derivative at the first sample, the next ones being a and then b further on."""
    return (-(2.0 * a + b) / (a * (a + b)) * f[..., :1] + (a + b) / (a * b) * f[..., 1:2]
            - a / (b * (a + b)) * f[..., 2:3])


def interp(x, xp, fp, /, left=None, right=None, period: float | None = None):
    """The piecewise linear function through the points (xp, fp), at x. left, right: its values below and above all of
    xp; by default those at the ends.

    xp: a rising vector. Integers are taken in the default float. period: that of the function, as which left and right
    count for nothing, and xp may have any order. Raises ShapeError; ArgumentError for a period of 0.

    >>> import graphc as gc
    >>> gc.interp([1.5, 9.0], [1.0, 2.0, 3.0], [10.0, 20.0, 0.0]).tolist()
    [15.0, 0.0]
    >>> gc.interp([-10.0, 355.0], [0.0, 90.0], [0.0, 9.0], period=360).round(9).tolist()
    [0.333333333, 0.166666667]
    """
    x, xp, fp = (as_float(a, "interp") for a in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"the points have shapes {xp.shape} and {fp.shape}", op="interp", fix="give two vectors of "
                         "one length, which is not 0")
    common = dt.promote(x.dtype, xp.dtype)
    x, xp = cast(x, common), cast(xp, common)
    if period is not None:
        x, xp, fp = _one_period(x, xp, fp, period)
        left = right = None
    below, above = (fp[0] if left is None else left), (fp[-1] if right is None else right)
    if xp.size == 1:
        return where(x < xp[0], below, where(x > xp[0], above, fp[0]))
    k = clip(searchsorted(xp, x, side="right") - 1, 0, xp.size - 2)
    x0, f0, x1, f1 = take(xp, k), take(fp, k), take(xp, k + 1), take(fp, k + 1)
    slope = (f1 - f0) / where(equal(x0, x1), 1.0, x1 - x0)
    inside = slope * (x - x0) + f0
    inside = where(equal(x, x1) | isnan(inside), slope * (x - x1) + f1, inside)
    of_ends = where(equal(x, x1), f1, where(equal(x, x0) | (equal(f0, f1) & equal(x, x)), f0, inside))
    inside = where(isnan(inside), of_ends, inside)      # a slope from or to an infinity
    return where(x < xp[0], below, where(x > xp[-1], above, inside))


def _one_period(x, xp, fp, period: float) -> tuple:
    """All places moved into one period, and the points in rising order, with one more at both ends."""
    if not period:
        raise ArgumentError("the period must not be 0", op="interp")
    period = math.fabs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    return x, concat([xp[-1:] - period, xp, xp[:1] + period]), concat([fp[-1:], fp, fp[:1]])


def convolve(a, v, /, mode: str = "full"):
    """The discrete convolution of two vectors, sum over k of a[n - k] v[k].

    mode: "full" (every overlap, len(a) + len(v) - 1), "same" (the longer length, centred), or "valid" (whole overlaps
    only). For images and channels see conv1d to conv3d; for very long vectors multiply in gc.fft.

    >>> import graphc as gc
    >>> gc.convolve([1, 2, 3], [0, 1, 10]).tolist()
    [0, 1, 12, 23, 30]
    """
    a, v = as_tensor(a), as_tensor(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeError(f"shapes {a.shape} and {v.shape} are not two vectors with elements", op="convolve")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"mode must be 'full', 'same' or 'valid', not {mode!r}", op="convolve")
    if v.size > a.size:
        a, v = v, a
    n = v.size
    before, after = {"full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2), "valid": (0, 0)}[mode]
    a, v = promoted("convolve", a, v)
    if a.dtype.kind not in "fc":
        return matmul(sliding_window_view(pad(a, ((before, after),)), n), flip(v))
    # At the ends, taps that lie beside a are left out: infinity times a zero there would be NaN.
    taps, parts, k = flip(v), [matmul(sliding_window_view(a, n), flip(v))], arange(n)
    if before:
        parts.insert(0, _overlap(pad(a[:n - 1], ((before, 0),)), taps, k >= expand_dims(before - arange(before), 1)))
    if after:
        parts.append(_overlap(pad(a[1 - n:], ((0, after),)), taps, k < expand_dims(n - 1 - arange(after), 1)))
    return concat(parts)


def _overlap(a, taps, inside):
    """Sums of products of the taps with windows of a, where both overlap."""
    products = sliding_window_view(a, taps.size) * taps
    return sum(where(inside, products, cast(as_tensor(0), products.dtype)), axis=1)


def correlate(a, v, /, mode: str = "valid"):
    """The cross-correlation of two vectors, sum over n of a[n + k] conj(v[n]); modes as for `convolve`.

    >>> import graphc as gc
    >>> gc.correlate([1, 2, 3], [0, 1]).tolist()
    [2, 3]
    """
    a, v = as_tensor(a), conj(as_tensor(v))
    if v.ndim == 1 and a.ndim == 1 and v.size > a.size:
        return flip(convolve(flip(a), v, mode))
    return convolve(a, flip(v), mode)


def corrcoef(x, /, y=None, rowvar: bool = True):
    """Pearson's correlation coefficients of variables in rows, observations in columns; of one variable a 0-d tensor.

    y: more variables. rowvar=False: variables are in columns.

    >>> import graphc as gc
    >>> gc.corrcoef(gc.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    x, y = as_float(x, "corrcoef"), None if y is None else as_float(y, "corrcoef")
    result = x.dtype if y is None else dt.promote(x.dtype, y.dtype)
    found = cov(cast(x, x.dtype.accumulator), y, rowvar)
    if found.ndim == 0:
        return cast(found / found, result)
    deviations = sqrt(abs(diagonal(found)))
    found = found / expand_dims(deviations, -1) / deviations
    if found.dtype.kind == "c":
        return found
    return cast(where(abs(found) > 1.0, sign(found), found), result)


def digitize(x, bins, /, right: bool = False):
    """The number of the bin of each element, as int64: i where bins[i-1] <= x < bins[i] (right: < and <=), with 0 below
    all edges.

    bins: a rising or a falling vector, which is realized.

    >>> import graphc as gc
    >>> gc.digitize([0.2, 6.4, 3.0], [0.0, 1.0, 2.5, 4.0]).tolist()
    [1, 4, 3]
    """
    edges = deciding(as_tensor(bins), "digitize", "use searchsorted, for edges that rise")
    if edges.ndim != 1:
        raise ShapeError(f"the edges must be a vector, not of shape {edges.shape}", op="digitize")
    steps = edges[1:] >= edges[:-1]
    side = "left" if right else "right"
    if steps.all():
        return searchsorted(as_tensor(bins), x, side=side)
    if (edges[1:] <= edges[:-1]).all():
        return edges.size - searchsorted(flip(as_tensor(bins)), x, side=side)
    raise ArgumentError("the edges neither rise nor fall", op="digitize", fix="sort them: gc.sort(bins)")


def trapezoid(y, /, x=None, dx: float = 1.0, axis: int = -1):
    """The integral of samples along an axis, by trapezoids between samples dx, or the differences of x, apart.

    >>> import graphc as gc
    >>> gc.trapezoid(gc.asarray([1.0, 2.0, 4.0]), [0.0, 1.0, 3.0]).item()
    7.5
    """
    y = moveaxis(as_float(y, "trapezoid"), axis, -1)
    if x is not None:
        x = as_float(x, "trapezoid")
        dx = diff(x) if x.ndim == 1 else diff(moveaxis(x, axis, -1))
    last, pieces = y.ndim - 1, max(y.shape[-1] - 1, 0)
    both = slice_axis(y, last, min(1, y.shape[-1]), pieces) + slice_axis(y, last, 0, pieces)
    return sum(dx * both / 2.0, -1)


def unwrap(p, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi):
    """Angles without jumps: each is moved by whole periods so that it is at most half a period from the one before.

    discont: what counts as a jump, at least half a period. Integers stay integers if the period is one.

    >>> import graphc as gc
    >>> gc.unwrap([0, 1, 2, -1, 0], period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    p = as_tensor(p, None, "unwrap")
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    p = moveaxis(p if whole else as_float(p, "unwrap"), axis, -1)
    steps = diff(p)
    high, halved = divmod(period, 2) if whole else (period / 2, 0)
    low = -high
    short = (steps - low) % period + low
    if not halved:
        short = where((short == low) & (steps > 0), high, short)
    moved = short - steps
    limit = period / 2 if discont is None else discont
    moved = where(abs(steps) < limit, 0, moved)
    start, rest = slice_axis(p, p.ndim - 1, 0, min(1, p.shape[-1])), slice_axis(p, p.ndim - 1, 1, steps.shape[-1])
    return moveaxis(concat([start, rest + cumsum(moved, -1, dtype=p.dtype)], -1) if steps.shape[-1] else p, -1, axis)


def sinc(x, /):
    """sin(pi x) / (pi x), 1 at 0.

    >>> import graphc as gc
    >>> gc.sinc([0.0, 0.5]).tolist()
    [1.0, 0.6366197723675814]
    """
    x = as_float(x, "sinc")
    angle = where(x == 0, 1.0, x * math.pi)
    small = where(x == 0, x * math.pi, 0.0)
    at_zero = 1.0 - small * small / 6 * (1.0 - small * small / 20)      # 1, with its derivatives
    return where(x == 0, at_zero, sin(angle) / angle)


def _cosines(count, name: str, *weights: float):
    """weights[0] + weights[1] cos(t) + weights[2] cos(2 t) + ... over one period, both ends included."""
    count = an_int(count, name, "the number of samples")
    if count < 2:
        return ones(max(count, 0), dtype=dt.float64)
    turn = 2 * math.pi / (count - 1) * arange(count, dtype=dt.float64)
    found = full(count, weights[0], dtype=dt.float64)
    for k, weight in enumerate(weights[1:], 1):
        found = found + weight * cos(k * turn)
    return found


def hanning(count: int, /):
    """A window of that many samples, float64: 0.5 - 0.5 cos(t).

    >>> import graphc as gc
    >>> gc.hanning(5).round(12).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _cosines(count, "hanning", 0.5, -0.5)


def hamming(count: int, /):
    """A window of that many samples, float64: 0.54 - 0.46 cos(t)."""
    return _cosines(count, "hamming", 0.54, -0.46)


def blackman(count: int, /):
    """A window of that many samples, float64: 0.42 - 0.5 cos(t) + 0.08 cos(2 t)."""
    return _cosines(count, "blackman", 0.42, -0.5, 0.08)


def bartlett(count: int, /):
    """A window of that many samples, float64: a triangle with 0 at both ends.

    >>> import graphc as gc
    >>> gc.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    count = an_int(count, "bartlett", "the number of samples")
    if count < 2:
        return ones(max(count, 0), dtype=dt.float64)
    return 1.0 - abs(arange(count, dtype=dt.float64) * (2 / (count - 1)) - 1.0)
