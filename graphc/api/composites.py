"""Elementwise functions composed of others, with the special values of NumPy's."""
from __future__ import annotations

import math

from graphc.api.elementwise import (
    _float_operands, abs, add, atan2, copysign, equal, exp, exp2, floor_divide, greater, greater_equal, imag, isfinite,
    isinf, isnan, log1p, logical_and, maximum, minimum, multiply, negative, pow, real, remainder, subtract, trunc,
    where,
)
from graphc.api.record import as_float, as_tensor, cast, operands, wrap
from graphc.errors import DTypeError
from graphc.ir.dtype import complex128, float64, promote


def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2)) without overflow on the way. Operands broadcast; integers are taken in the default float.

    >>> gc.logaddexp([-float("inf")], 1.0).tolist()
    [1.0]
    """
    a, b = _float_operands(x1, x2, "logaddexp")
    result = promote(a.dtype, b.dtype)
    a, b = cast(a, result.accumulator), cast(b, result.accumulator)  # the terms cancel where the result is near 0
    larger, below = _larger(a, b)
    return cast(add(larger, log1p(exp(below))), result)


def _larger(a, b) -> tuple:
    """(the larger of two numbers, -|a - b|), as smooth pieces: of equal numbers second derivatives are right as well.

    Equal infinities have no difference, and half of the gradient each, by the maximum.
    """
    first = greater_equal(a, b)
    apart = where(logical_and(equal(a, b), isinf(a)), 0.0, subtract(a, b))
    return (where(logical_and(first, isfinite(a)), a, maximum(a, b)), where(first, negative(apart), apart))


def _as_real(x, name: str):
    x = as_float(x, name)
    if x.dtype.kind == "c":
        raise DTypeError(f"{x.dtype} is not supported", op=name, fix="give the real or the imaginary part")
    return x


def degrees(x, /):
    """An angle in radians as degrees.

    >>> gc.degrees([0.0]).tolist()
    [0.0]
    """
    return multiply(_as_real(x, "degrees"), 180 / math.pi)


def radians(x, /):
    """An angle in degrees as radians.

    >>> gc.radians([0.0]).tolist()
    [0.0]
    """
    return multiply(_as_real(x, "radians"), math.pi / 180)


def divmod(x1, x2, /):
    """(floor_divide(x1, x2), remainder(x1, x2)).

    >>> [t.tolist() for t in gc.divmod([7], 3)]
    [[2], [1]]
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def fmax(x1, x2, /):
    """The larger of two; of a number and NaN, the number.

    >>> gc.fmax([1.0, float("nan")], 0.5).tolist()
    [1.0, 0.5]
    """
    a, b = map(wrap, operands(x1, x2, "fmax"))
    return where(isnan(a), b, where(isnan(b), a, maximum(a, b)))


def fmin(x1, x2, /):
    """The smaller of two; of a number and NaN, the number.

    >>> gc.fmin([1.0, float("nan")], 2.0).tolist()
    [1.0, 2.0]
    """
    a, b = map(wrap, operands(x1, x2, "fmin"))
    return where(isnan(a), b, where(isnan(b), a, minimum(a, b)))


def heaviside(x1, x2, /):
    """0 below 0, x2 at 0, 1 above; NaN for NaN.

    >>> gc.heaviside([-1.0, 0.0, 2.0], 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    a, b = _float_operands(x1, x2, "heaviside")
    result = promote(a.dtype, b.dtype)
    a, b = (_as_real(cast(x, result), "heaviside") for x in (a, b))
    return where(equal(a, 0), b, where(isnan(a), a, cast(greater(a, 0), result)))


def isposinf(x, /):
    """Is it plus infinity?

    >>> gc.isposinf([1.0, float("inf")]).tolist()
    [False, True]
    """
    return equal(_as_real(x, "isposinf"), math.inf)


def isneginf(x, /):
    """Is it minus infinity?

    >>> gc.isneginf([1.0, -float("inf")]).tolist()
    [False, True]
    """
    return equal(_as_real(x, "isneginf"), -math.inf)


def angle(x, /, deg: bool = False):
    """The argument of a complex number in radians, -pi..pi; deg: in degrees.

    >>> gc.angle([1 + 0j]).tolist(), gc.angle([1j, -1], deg=True).tolist()
    ([0.0], [90.0, 180.0])
    """
    x = as_float(x, "angle")
    found = atan2(imag(x), real(x))
    return degrees(found) if deg else found


def logaddexp2(x1, x2, /):
    """log2(2**x1 + 2**x2) without overflow on the way.

    >>> gc.logaddexp2([3.0], 3.0).tolist()
    [4.0]
    """
    a, b = _float_operands(x1, x2, "logaddexp2")
    result = promote(a.dtype, b.dtype)
    a, b = cast(a, result.accumulator), cast(b, result.accumulator)
    larger, below = _larger(a, b)
    return cast(add(larger, multiply(log1p(exp2(below)), 1 / math.log(2))), result)


def float_power(x1, x2, /):
    """x1**x2 in float64, or complex128 for complex numbers.

    >>> gc.float_power([2, 4], -1).tolist()
    [0.5, 0.25]
    """
    powers = [as_tensor(x, None, "float_power", floats=True) for x in (x1, x2)]
    wide = complex128 if any(x.dtype.kind == "c" for x in powers) else float64
    return pow(*(cast(x, wide) for x in powers))


def modf(x, /) -> tuple:
    """(the part behind the point, the part before it), both with the sign of x.

    >>> [t.tolist() for t in gc.modf([1.25, -2.5])]
    [[0.25, -0.5], [1.0, -2.0]]
    """
    x = _as_real(x, "modf")
    whole = trunc(x)
    return copysign(where(equal(abs(x), math.inf), 0.0, subtract(x, whole)), x), whole


def fabs(x, /):
    """The absolute value of real numbers, as floats."""
    return abs(_as_real(x, "fabs"))


deg2rad, rad2deg = radians, degrees
