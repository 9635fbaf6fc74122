"""Functions that reduce axes: sums, extrema, moments, positions of extrema, and scans.

`axis` is None (all axes), an int or a tuple; `keepdims` leaves the reduced axes with size 1. What is not a primitive is
a composite of primitives that the scheduler fuses: a variance or an argmax is one kernel.
"""
from __future__ import annotations

import functools
from math import prod as _product


from graphc.api import record
from graphc.api.axes import an_int
from graphc.api.elementwise import abs as _abs
from graphc.api.elementwise import exp, isfinite, isnan, log, maximum, minimum, sqrt, where
from graphc.api.manipulation import (
    atleast_2d,
    concat,
    matrix_transpose,
    ravel,
    reshape,
    slice_axis,
)
from graphc.api.record import (
    as_float,
    as_tensor,
    binary,
    cast,
    check_dtype,
    filled,
    normalize_axes,
    normalize_axis,
    reduce,
    reshape_to,
    wrap,
)
from graphc.errors import ArgumentError, DTypeError, ShapeError, user_site
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.node import const, make

# ---------------------------------------------------------------------------------------------------- sums and extrema


def _among(x, mask, rest, name: str):
    """x with `rest` in place of the elements that a mask leaves out, which broadcasts to x (None or True: none)."""
    x = as_tensor(x, None, name)
    if mask is None or mask is True:
        return x
    mask = as_tensor(mask, None, name)
    if mask.dtype is not dt.bool:
        raise DTypeError(f"where is a mask of bool, not {mask.dtype}", op=name)
    return where(record.expand_to(mask, x.shape, name), x, rest)


def sum(x, /, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=None):  # noqa: A001
    """The sum along axes. Integers narrower than 64 bits are added in int64 or uint64, as in NumPy; 0 for no elements.

    dtype: cast to it before adding. where: a mask that broadcasts to x, of the elements that count. initial: added to
    the result.

    >>> import graphc as gc
    >>> gc.sum(gc.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    >>> x = gc.asarray([1.0, float("nan"), 3.0])
    >>> gc.sum(x, where=~gc.isnan(x)).item()
    4.0
    """
    found = reduce(ops.SUM, _among(x, where, 0, "sum"), axis, keepdims, dtype, "sum")
    return found if initial is None else found + initial


def prod(x, /, axis=None, dtype=None, *, keepdims: bool = False, initial=None, where=None):
    """The product along axes, in the dtypes of `sum`; 1 for no elements. initial: a factor; where: as in `sum`.

    >>> import graphc as gc
    >>> gc.prod(gc.asarray([2, 3, 4])).item()
    24
    """
    found = reduce(ops.PROD, _among(x, where, 1, "prod"), axis, keepdims, dtype, "prod")
    return found if initial is None else found * initial


def _extremum(op: ops.Op, combine, x, axis, keepdims: bool, initial, mask, name: str):
    if initial is None:
        if mask is not None and mask is not True:
            raise ArgumentError(f"of no elements there is no {name}, and where may leave none", op=name,
                                fix="give initial, the result then")
        return reduce(op, x, axis, keepdims, None, name)
    x = as_tensor(x, None, name)
    shape, count = _reduced(x.shape, axis, keepdims, name)
    initial = cast(as_tensor(initial, x, name), x.dtype)
    if not count:
        return record.expand_to(initial, shape, name)
    return combine(reduce(op, _among(x, mask, initial, name), axis, keepdims, None, name), initial)


def max(x, /, axis=None, *, keepdims: bool = False, initial=None, where=None):  # noqa: A001
    """The largest element along axes; NaN if there is one. Raises ShapeError (a ValueError) for no elements.

    initial: counts as an element. where: a mask of the elements that count, beside `initial`.

    >>> import graphc as gc
    >>> gc.max(gc.asarray([[1, 5], [3, 4]]), axis=1).tolist()
    [5, 4]
    """
    return _extremum(ops.MAX, maximum, x, axis, keepdims, initial, where, "max")


def min(x, /, axis=None, *, keepdims: bool = False, initial=None, where=None):  # noqa: A001
    """The smallest element along axes; NaN if there is one. Raises ShapeError (a ValueError) for no elements.

    initial: counts as an element. where: a mask of the elements that count, beside `initial`.

    >>> import graphc as gc
    >>> gc.min(gc.asarray([[1, 5], [3, 4]]), axis=1).tolist()
    [1, 3]
    """
    return _extremum(ops.MIN, minimum, x, axis, keepdims, initial, where, "min")


amax, amin = max, min


def ptp(x, /, axis=None, *, keepdims: bool = False):
    """The largest element minus the smallest.

    >>> import graphc as gc
    >>> gc.ptp(gc.asarray([3, 9, 4])).item()
    6
    """
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


# --------------------------------------------------------------------------------------------------------- truth values


def _truth(x):
    x = as_tensor(x)
    return x if x.dtype is dt.bool else x != 0


def _reduced(shape: tuple[int, ...], axis, keepdims: bool, name: str) -> tuple[tuple[int, ...], int]:
    """The shape after a reduction and how many elements go into each of its elements."""
    return _left(shape, normalize_axes(axis, len(shape), name), keepdims)


@functools.lru_cache(maxsize=1024)
def _left(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[tuple[int, ...], int]:
    count = _product(shape[a] for a in axes)
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(shape)), count
    return tuple(n for a, n in enumerate(shape) if a not in axes), count


def any(x, /, axis=None, *, keepdims: bool = False, where=None):  # noqa: A001
    """Whether any element is true (not 0); False for no elements. where: as in `sum`.

    >>> import graphc as gc
    >>> gc.any(gc.asarray([[0, 1], [0, 0]]), axis=1).tolist()
    [True, False]
    """
    x = _among(_truth(x), where, False, "any")
    shape, count = _reduced(x.shape, axis, keepdims, "any")
    return reduce(ops.MAX, x, axis, keepdims, None, "any") if count else filled(shape, False, dt.bool)


def all(x, /, axis=None, *, keepdims: bool = False, where=None):  # noqa: A001
    """Whether all elements are true (not 0); True for no elements. where: as in `sum`.

    >>> import graphc as gc
    >>> gc.all(gc.asarray([[1, 1], [0, 1]]), axis=1).tolist()
    [True, False]
    """
    x = _among(_truth(x), where, True, "all")
    shape, count = _reduced(x.shape, axis, keepdims, "all")
    return reduce(ops.MIN, x, axis, keepdims, None, "all") if count else filled(shape, True, dt.bool)


def count_nonzero(x, /, axis=None, *, keepdims: bool = False):
    """How many elements are not 0, as int64.

    >>> import graphc as gc
    >>> gc.count_nonzero(gc.asarray([0, 1, 2])).item()
    2
    """
    return reduce(ops.SUM, _truth(x), axis, keepdims, dt.int64, "count_nonzero")


# -------------------------------------------------------------------------------------------------------------- moments


def mean(x, /, axis=None, dtype=None, *, keepdims: bool = False, where=None):
    """The arithmetic mean along axes; integers give the default float; NaN for no elements.

    float16 and bfloat16 are averaged in float32 and rounded once, so that the sum can't overflow. where: as in `sum`.
    dtype: a float or complex one, into which elements are cast first; DTypeError for any other.

    >>> import graphc as gc
    >>> gc.mean(gc.asarray([1, 2, 4, 5])).item()
    3.0
    """
    x = _floats(x, dtype, "mean")
    _, count = _reduced(x.shape, axis, keepdims, "mean")
    wide = _among(cast(x, x.dtype.accumulator), where, 0, "mean")
    count = float(count) if where is None or where is True else _counted(where, x, axis, keepdims)
    return cast(reduce(ops.SUM, wide, axis, keepdims, None, "mean") / count, x.dtype)


def _floats(x, dtype, name: str):
    """x as floats, in the dtype if there is one. Raises DTypeError if that is none of floats."""
    x = as_float(x, name) if dtype is None else cast(as_tensor(x, None, name), dt.as_dtype(dtype))
    if x.dtype.kind not in "fc":
        raise DTypeError(f"a {name} is no {x.dtype}", op=name, fix=f"round it, then .astype('{x.dtype}')")
    return x


def _counted(mask, x, axis, keepdims: bool):
    """How many elements of x a mask leaves."""
    return sum(record.expand_to(as_tensor(mask), x.shape, "where"), axis, x.dtype.accumulator.real, keepdims=keepdims)


def var(x, /, axis=None, dtype=None, *, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False,
        where=None, mean=None):
    """The mean squared deviation from the mean, over count - correction (`ddof` is NumPy's name). where: as in `sum`;
    dtype: as in `mean`. mean: the means, where they are known already; they broadcast to x, as with keepdims.

    One sweep: blocks are merged by the formulas of Chan, Golub and LeVeque, "Algorithms for computing the sample
    variance" (1983), so large means lose no digits. Complex: the variance of the real plus that of the imaginary part.

    >>> import graphc as gc
    >>> gc.var(gc.asarray([1.0, 2.0, 3.0]), correction=1).item()
    1.0
    """
    x, lost = _floats(x, dtype, "var"), correction if ddof is None else ddof
    if where is not None and where is not True or mean is not None:
        return _var_about(mean, x, axis, lost, keepdims, where)
    if x.dtype.kind == "c":
        parts = (record.unary(op, x, "var") for op in (ops.REAL, ops.IMAG))
        real, imag = (var(p, axis, correction=lost, keepdims=keepdims) for p in parts)
        return real + imag
    _, count = _reduced(x.shape, axis, keepdims, "var")
    divisor = count - lost
    wide = cast(x, x.dtype.accumulator)
    # Over no axes each element is its own mean.
    m2 = reduce(ops.M2, wide, axis, keepdims, None, "var") if normalize_axes(axis, x.ndim, "var") else wide - wide
    return cast(m2 / float(divisor if divisor > 0 else 0), x.dtype)


def squares(x):
    """|x|**2 as a smooth function: |x| * |x| would have the second derivative 0 at 0."""
    if x.dtype.kind != "c":
        return x * x
    real, imag = (record.unary(op, x, "squares") for op in (ops.REAL, ops.IMAG))
    return real * real + imag * imag


def _var_about(centre, x, axis, lost: float, keepdims: bool, mask):
    """The variance about means that are given (None: that of the elements), of the elements that a mask leaves."""
    wide = cast(x, x.dtype.accumulator)
    centre = mean(wide, axis, keepdims=True, where=mask) if centre is None else cast(as_tensor(centre, x), wide.dtype)
    off = _among(wide - centre, mask, 0, "var")
    if off.shape != x.shape:
        raise ShapeError(f"means of shape {centre.shape} do not broadcast to {x.shape}", op="var",
                         fix="take them with keepdims=True")
    every = mask is None or mask is True
    count = float(_reduced(x.shape, axis, keepdims, "var")[1]) if every else _counted(mask, x, axis, keepdims)
    divisor = count - lost if not every else float(count - lost if count > lost else 0)
    found = sum(squares(off), axis, keepdims=keepdims) / (divisor if every else maximum(divisor, 0.0))
    return cast(found, x.dtype.real)


def root(total, degree: float = 2, same=None):
    """The root of sums of powers of that degree. Where it is 0 its gradient is 0, one of many, as in PyTorch.

    same: () -> where else its gradient is 0.
    """
    def found(x):
        return sqrt(x) if degree == 2 else x ** (1.0 / degree)
    if not total.node.tracked or degree < 0:
        return found(total)
    nothing = total == 0 if same is None else (total == 0) | (same() & (total > 0))
    return where(nothing, 0.0 if same is None else found(total.detach()), found(where(nothing, 1.0, total)))


def all_equal(x, axis, keepdims: bool, mask=None):
    """Whether the elements along axes, of those that a mask leaves, are all the same number. False for none."""
    if x.dtype.kind == "c":
        return all_equal(x.real, axis, keepdims, mask) & all_equal(x.imag, axis, keepdims, mask)
    if mask is None and not _reduced(x.shape, axis, keepdims, "std")[1]:
        return filled(_reduced(x.shape, axis, keepdims, "std")[0], False, dt.bool)
    most, least = (None, None) if mask is None else (-float("inf"), float("inf"))
    return (max(x, axis, keepdims=keepdims, initial=most, where=mask)
            == min(x, axis, keepdims=keepdims, initial=least, where=mask))


def std(x, /, axis=None, dtype=None, *, correction: float = 0.0, ddof: float | None = None, keepdims: bool = False,
        where=None, mean=None):
    """The square root of `var`. Where nothing deviates its gradient is 0.

    >>> import graphc as gc
    >>> gc.std(gc.asarray([1.0, 3.0])).item()
    1.0
    """
    x = _floats(x, dtype, "std")
    result, x = x.dtype.real, cast(x, x.dtype.accumulator)
    spread = var(x, axis, correction=correction, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
    # The mean of equal numbers is rounded, so that the variance may be more than 0.
    return cast(root(spread, same=lambda: all_equal(x, axis, keepdims, None if where is True else where)), result)


def average(x, /, axis=None, weights=None, returned: bool = False, *, keepdims: bool = False):
    """The weighted mean. Weights have the shape of x, or of the one axis that is averaged.

    returned: (the mean, the sum of the weights, in its shape); without weights the number of elements.

    >>> import graphc as gc
    >>> gc.average(gc.asarray([1.0, 4.0]), weights=[2.0, 1.0]).item()
    2.0
    """
    x = as_float(x, "average")
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        count = _reduced(x.shape, axis, keepdims, "average")[1]
        return (found, filled(found.shape, float(count), found.dtype)) if returned else found
    weights = as_tensor(weights)
    if weights.shape != x.shape:
        if weights.ndim != 1 or not isinstance(axis, int):
            raise ShapeError(f"weights of shape {weights.shape} do not fit an array of shape {x.shape}", op="average",
                             fix="give axis, an int, for weights of one dimension")
        place = normalize_axis(axis, x.ndim, "average")
        if weights.size != x.shape[place]:
            raise ShapeError(f"{weights.size} weights do not fit axis {place} of shape {x.shape}", op="average")
        weights = reshape(weights, tuple(-1 if a == place else 1 for a in range(x.ndim)))
    result = dt.promote(x.dtype, weights.dtype)
    weights = cast(weights, result.accumulator)
    total = sum(record.expand_to(weights, x.shape, "average"), axis, keepdims=keepdims)
    found = cast(sum(x * weights, axis, keepdims=keepdims) / total, result)
    return (found, cast(total, result)) if returned else found


def logsumexp(x, /, axis=None, *, keepdims: bool = False):
    """log(sum(exp(x))) without overflow: the largest element is taken out first.

    >>> import graphc as gc
    >>> gc.logsumexp(gc.asarray([1000.0, 1000.0])).item()
    1000.6931471805599
    """
    x = as_float(x, "logsumexp")
    result, x = x.dtype, cast(x, x.dtype.accumulator)
    top = max(x, axis, keepdims=True).detach()
    top = where(isfinite(top), top, 0.0)      # inf - inf would be NaN
    found = cast(log(sum(exp(x - top), axis, keepdims=True)) + top, result)
    return found if keepdims else reshape(found, _reduced(x.shape, axis, False, "logsumexp")[0])


# ------------------------------------------------------------------------------------------------- positions of extrema


def _arg(op: ops.Op, x, axis, keepdims: bool, name: str):
    """The first position of the extremum: the least index of an element that equals it, or that is NaN."""
    x = as_tensor(x)
    check_dtype(op, x.dtype, name)
    shape = x.shape
    if axis is None:
        x, place = ravel(x), 0
        shape = (1,) * len(shape) if keepdims else ()
    else:
        place = normalize_axis(axis, x.ndim, name)
        shape = (*shape[:place], *((1,) if keepdims else ()), *shape[place + 1:])
    n = x.shape[place]
    found = binary(ops.EQ, x, reduce(op, x, place, True, None, name), name)
    if x.dtype.kind == "f":
        found = binary(ops.OR, found, isnan(x), name)   # beside a NaN the extremum is NaN, and equals nothing
    counter = dt.int32 if n < 2**31 else dt.int64
    index = reshape_to(wrap(make(ops.IOTA, counter, (n,))), (*(1,) * place, n, *(1,) * (x.ndim - 1 - place)))
    first = reduce(ops.MIN, where(found, index, wrap(const(n, counter))), place, False, None, name)
    return reshape_to(cast(first, dt.int64), shape)


def argmax(x, /, axis: int | None = None, *, keepdims: bool = False):
    """The index of the largest element along an axis (None: in the flattened array), as int64.

    The first of equal ones; the first NaN if there is one. Raises ShapeError (a ValueError) for no elements.

    >>> import graphc as gc
    >>> gc.argmax(gc.asarray([[1, 5, 5], [3, 2, 1]]), axis=1).tolist()
    [1, 0]
    """
    return _arg(ops.MAX, x, axis, keepdims, "argmax")


def argmin(x, /, axis: int | None = None, *, keepdims: bool = False):
    """The index of the smallest element along an axis, otherwise as argmax.

    >>> import graphc as gc
    >>> gc.argmin(gc.asarray([3, 1, 1])).item()
    1
    """
    return _arg(ops.MIN, x, axis, keepdims, "argmin")


# ---------------------------------------------------------------------------------------------------------------- scans


def _scan(op: ops.Op, x, axis, dtype, include_initial: bool, name: str):
    x = as_tensor(x)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"axis must be given for an array of shape {x.shape}", op=name,
                            fix=f"{name}(ravel(x)), or name the axis")
    place = normalize_axis(0 if axis is None else axis, x.ndim, name)
    if dtype is not None:
        x = cast(x, dt.as_dtype(dtype))
    elif x.dtype.kind in "biu":
        x = cast(x, dt.uint64 if x.dtype.kind == "u" else dt.int64)
    check_dtype(op, x.dtype, name)
    node = x.node
    found = wrap(make(op, node.dtype, node.shape, (node,), (place,), device=node.device, site=user_site(2)))
    if not include_initial:
        return found
    start = filled(tuple(1 if a == place else n for a, n in enumerate(x.shape)), int(op is ops.CUMPROD), x.dtype)
    return concat([start, found], axis=place)


def cumulative_sum(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Sums of all elements up to and including each one, along an axis (None: only for one dimension).

    include_initial: begin with 0, so that the axis grows by one. Dtypes as in `sum`.

    >>> import graphc as gc
    >>> gc.cumulative_sum(gc.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    return _scan(ops.CUMSUM, x, axis, dtype, include_initial, "cumulative_sum")


def cumulative_prod(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Products of all elements up to and including each one; otherwise as cumulative_sum.

    >>> import graphc as gc
    >>> gc.cumulative_prod(gc.asarray([1, 2, 3])).tolist()
    [1, 2, 6]
    """
    return _scan(ops.CUMPROD, x, axis, dtype, include_initial, "cumulative_prod")


def cumsum(x, /, axis: int | None = None, dtype=None):
    """NumPy's name for cumulative_sum; axis None flattens."""
    return _scan(ops.CUMSUM, ravel(x) if axis is None else x, axis or 0, dtype, False, "cumsum")


def cumprod(x, /, axis: int | None = None, dtype=None):
    """NumPy's name for cumulative_prod; axis None flattens."""
    return _scan(ops.CUMPROD, ravel(x) if axis is None else x, axis or 0, dtype, False, "cumprod")


def diff(x, /, n: int = 1, axis: int = -1, prepend=None, append=None):
    """Each element minus the one before it along an axis, `n` times over; bool gives "differs".

    prepend, append: values joined to the axis beforehand. Beside integers a Python number has a dtype of its own, as in
    NumPy, so that small ones do not wrap; beside floats it takes theirs.

    >>> import graphc as gc
    >>> gc.diff(gc.asarray([1, 4, 9, 16]), n=2).tolist()
    [2, 2]
    """
    x, n = as_tensor(x), an_int(n, "diff", "n")
    if n < 0:
        raise ArgumentError(f"n must not be negative: {n}", op="diff")
    place = normalize_axis(axis, x.ndim, "diff")
    if not n:
        return record.anew(x)       # as NumPy: nothing is joined either
    x = _joined(x, place, prepend, append)
    for _ in range(n):
        size = x.shape[place] - 1
        if size < 0:
            break
        later, earlier = slice_axis(x, place, 1, size), slice_axis(x, place, 0, size)
        x = later != earlier if x.dtype is dt.bool else later - earlier
    return record.anew(x)


def _joined(x, axis: int, before, after):
    parts = []
    for part in (before, x, after):
        if part is not None:
            part = as_tensor(part, x if x.dtype.kind in "fc" else None, "diff")
            one = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
            parts.append(part if part.ndim else record.expand_to(part, one, "diff"))
    return concat(parts, axis=axis)


# ----------------------------------------------------------------------------------------------------------- comparison


def isclose(a, b, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False):
    """|a - b| <= atol + rtol * |b|, elementwise. Infinities are close to themselves, NaN only with equal_nan.

    >>> import graphc as gc
    >>> gc.isclose(gc.asarray([1.0, 2.0]), gc.asarray([1.0 + 1e-9, 2.1])).tolist()
    [True, False]
    """
    a, b = as_float(a, "isclose"), as_float(b, "isclose")
    near = (_abs(a - b) <= atol + rtol * _abs(b)) & isfinite(b)
    found = near | (a == b)
    return found | (isnan(a) & isnan(b)) if equal_nan else found


def allclose(a, b, /, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False):
    """Whether all elements are close, as a tensor of one bool: `if gc.allclose(a, b)` realizes it."""
    return all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def array_equal(a, b, /, *, equal_nan: bool = False):
    """Whether shapes and all elements are equal, as a tensor of one bool.

    >>> import graphc as gc
    >>> bool(gc.array_equal(gc.asarray([1, 2]), gc.asarray([1, 2])))
    True
    """
    a, b = (as_tensor(x, None, "array_equal", floats=True) for x in (a, b))
    if a.shape != b.shape:
        return filled((), False, dt.bool)
    found = a == b
    if equal_nan and a.dtype.kind in "fc" and b.dtype.kind in "fc":
        found = found | (isnan(a) & isnan(b))
    return all(found)


# ---------------------------------------------------------------------------------------------------------- covariance


def cov(x, /, y=None, rowvar: bool = True, bias: bool = False, ddof: float | None = None, fweights=None, aweights=None,
        *, correction: float | None = None):
    """The covariance matrix of variables in rows, observations in columns; of one variable its variance, a 0-d
    tensor.

    y: more variables. rowvar=False: variables are in columns. The sums are divided by the number of observations less
    `correction` (ddof is NumPy's name for it), by default 1, or 0 with bias; NaN where that is not positive.

    fweights: how often each observation counts, integers. aweights: how much each counts, as numpy.cov divides then.
    Raises ShapeError, DTypeError.

    >>> import graphc as gc
    >>> gc.cov(gc.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    >>> gc.cov(gc.asarray([1.0, 2.0]), fweights=[1, 3]).item()
    0.25
    """
    from graphc.api.linalg import matmul

    x = _in_rows(x, rowvar)
    if y is not None:
        x = concat([x, _in_rows(y, rowvar)])
    result, x = x.dtype, cast(x, x.dtype.accumulator)
    shape = () if x.shape[0] == 1 else (x.shape[0],) * 2
    given = correction if ddof is None else ddof
    given = 1 - bias if given is None else given
    weights, freedom = _weights(x, fweights, aweights, given)
    centred = x - (mean(x, 1, keepdims=True) if weights is None else average(x, 1, weights, keepdims=True))
    other = record.unary(ops.CONJ, centred, "cov") if x.dtype.kind == "c" else centred
    other = other if weights is None else other * weights
    return cast(reshape(matmul(centred, matrix_transpose(other)) / freedom, shape), result)


def _weights(x, fweights, aweights, given: float) -> tuple:
    """The weight of each observation, None if all are 1; and what the sums of `cov` are divided by, at least 0."""
    if fweights is None and aweights is None:
        return None, float(x.shape[1] - given if x.shape[1] > given else 0)
    counts, shares = (None if w is None else as_tensor(w, None, "cov") for w in (fweights, aweights))
    for w in (counts, shares):
        if w is not None and w.shape != x.shape[1:]:
            raise ShapeError(f"weights of shape {w.shape} do not fit {x.shape[1]} observations", op="cov")
    if counts is not None and counts.dtype.kind not in "iu":
        raise DTypeError(f"fweights must be integers, not {counts.dtype}", op="cov", fix="give others as aweights")
    weights = cast(counts if shares is None else shares if counts is None else counts * shares, x.dtype.real)
    total = sum(weights)
    off = given if shares is None else given * sum(weights * cast(shares, weights.dtype)) / total
    return weights, maximum(total - off, 0.0)


def _in_rows(x, rowvar: bool):
    x = as_float(x, "cov")
    if x.ndim > 2:
        raise ShapeError(f"shape {x.shape} is not rows of observations", op="cov")
    return atleast_2d(x) if rowvar or x.ndim < 2 else matrix_transpose(x)


amax, amin = max, min        # NumPy's older names
