"""Elementwise functions: the Array API 2024.12 ones under their names, and NumPy's names for the same.

Dtypes follow NumPy 2: operands are promoted, Python numbers are weak. A function whose values are real by nature (exp,
sin, divide, ...) takes bool and integers in the default float. Most functions are one primitive and come from the four
makers below; a composite is written out where its special values (NaN, infinities, signed zeros) need care.
"""
from __future__ import annotations

import builtins
import math
from collections.abc import Callable

import numpy as np

from graphc.api import record
from graphc.api.axes import an_int, refuse
from graphc.api.numbers import bounds
from graphc.api.record import as_float, as_tensor, binary, cast, filled, operands, unary, wrap
from graphc.errors import ArgumentError, IntegerOverflow, PowerError
from graphc.ir import dtype as dtypes
from graphc.ir import ops
from graphc.ir.dtype import DType, default_float, promote
from graphc.ir.ops import Op
from graphc.tensor import Tensor
from graphc.tracing import Scalar

# ------------------------------------------------------------------------------------------------------------ makers


def _named(function: Callable, name: str, summary: str, example: str, result: str, dtype_rule: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}\n\n    {dtype_rule}\n\n    >>> gc.{example}.tolist()\n    {result}\n    "
    return function


_UNARY_REAL = "x: any shape; bool and integers are taken in the default float. The result has the shape of x."
_BINARY_REAL = ("Operands broadcast (ShapeError) and are promoted; bool and integers are taken in the default float.")
_UNARY_RULE = "The result has the shape and dtype of x; a dtype without this operation raises DTypeError."
_BINARY_RULE = "Operands broadcast (ShapeError) and are promoted; a dtype without this operation raises DTypeError."
_COMPARISON = "Operands broadcast (ShapeError) and are compared in their promoted dtype. The result is bool."
_LOGICAL = "Operands broadcast (ShapeError); nonzero counts as true. The result is bool."


def _real_unary(op: Op, name: str, summary: str, example: str, result: str) -> Callable:
    def function(x, /, **options):
        if options:
            refuse(options, name)
        if x.__class__ is Tensor and x.node.dtype.kind in "fc":
            return unary(op, x, name)
        return unary(op, as_float(x, name), name)
    return _named(function, name, summary, example, result, _UNARY_REAL)


def _unary(op: Op, name: str, summary: str, example: str, result: str) -> Callable:
    def function(x, /, **options):
        if options:
            refuse(options, name)
        return unary(op, x, name)
    return _named(function, name, summary, example, result, _UNARY_RULE)


def _real_binary(op: Op, name: str, summary: str, example: str, result: str) -> Callable:
    def function(x1, x2, /, **options):
        if options:
            refuse(options, name)
        if x1.__class__ is Tensor and x1.node.dtype.kind in "fc":
            return binary(op, x1, x2, name)
        return binary(op, *_float_operands(x1, x2, name), name)
    return _named(function, name, summary, example, result, _BINARY_REAL)


_NUMBERS = frozenset((bool, int, float, complex))


def _float_operands(a, b, name: str) -> tuple[Tensor, Tensor]:
    """Both operands as tensors, in the default float if neither is real or complex. A Python number takes the float
    that an integer beside it becomes, so that it need not fit the integer's dtype."""
    if a.__class__ in _NUMBERS and b.__class__ not in _NUMBERS:
        b = as_float(b, name)
    elif b.__class__ in _NUMBERS and a.__class__ not in _NUMBERS:
        a = as_float(a, name)
    na, nb = operands(a, b, name)
    if na.dtype.kind in "biu" and nb.dtype.kind in "biu":
        return cast(wrap(na), default_float()), cast(wrap(nb), default_float())
    return wrap(na), wrap(nb)


def _binary(op: Op, name: str, summary: str, example: str, result: str, *, bool_as: DType | None = None) -> Callable:
    """bool_as: the dtype in which two bools are taken, where NumPy's operation has no bool."""
    def function(x1, x2, /, **options):
        if options:
            refuse(options, name)
        return binary(op, x1, x2, name)

    def widening(x1, x2, /, **options):
        if options:
            refuse(options, name)
        if x1.__class__ is not Tensor or x1.node.dtype is dtypes.bool:
            na, nb = operands(x1, x2, name)
            if na.dtype is dtypes.bool and nb.dtype is dtypes.bool:
                x1, x2 = cast(wrap(na), bool_as), cast(wrap(nb), bool_as)
        return binary(op, x1, x2, name)
    return _named(widening if bool_as else function, name, summary, example, result, _BINARY_RULE)


# ------------------------------------------------------------------------------------------ powers, logarithms, angles

exp = _real_unary(ops.EXP, "exp", "e to the power x.", "exp([0.0])", "[1.0]")
exp2 = _real_unary(ops.EXP2, "exp2", "2 to the power x.", "exp2([3.0])", "[8.0]")
expm1 = _real_unary(ops.EXPM1, "expm1", "exp(x) - 1, accurate near 0.", "expm1([0.0])", "[0.0]")
log = _real_unary(ops.LOG, "log", "The natural logarithm; NaN below 0.", "log([1.0])", "[0.0]")
log2 = _real_unary(ops.LOG2, "log2", "The logarithm to base 2.", "log2([8.0])", "[3.0]")
log10 = _real_unary(ops.LOG10, "log10", "The logarithm to base 10.", "log10([100.0])", "[2.0]")
log1p = _real_unary(ops.LOG1P, "log1p", "log(1 + x), accurate near 0.", "log1p([0.0])", "[0.0]")
sqrt = _real_unary(ops.SQRT, "sqrt", "The square root; NaN below 0.", "sqrt([4, 9])", "[2.0, 3.0]")
cbrt = _real_unary(ops.CBRT, "cbrt", "The real cube root, also of negative numbers.", "cbrt([8.0, -1.0])",
                   "[2.0, -1.0]")
sin = _real_unary(ops.SIN, "sin", "The sine of an angle in radians.", "sin([0.0])", "[0.0]")
cos = _real_unary(ops.COS, "cos", "The cosine of an angle in radians.", "cos([0.0])", "[1.0]")
tan = _real_unary(ops.TAN, "tan", "The tangent of an angle in radians.", "tan([0.0])", "[0.0]")
asin = _real_unary(ops.ASIN, "asin", "The angle in -pi/2..pi/2 with this sine.", "asin([0.0])", "[0.0]")
acos = _real_unary(ops.ACOS, "acos", "The angle in 0..pi with this cosine.", "acos([1.0])", "[0.0]")
atan = _real_unary(ops.ATAN, "atan", "The angle in -pi/2..pi/2 with this tangent.", "atan([0.0])", "[0.0]")
sinh = _real_unary(ops.SINH, "sinh", "The hyperbolic sine.", "sinh([0.0])", "[0.0]")
cosh = _real_unary(ops.COSH, "cosh", "The hyperbolic cosine.", "cosh([0.0])", "[1.0]")
tanh = _real_unary(ops.TANH, "tanh", "The hyperbolic tangent.", "tanh([0.0])", "[0.0]")
asinh = _real_unary(ops.ASINH, "asinh", "The inverse hyperbolic sine.", "asinh([0.0])", "[0.0]")
acosh = _real_unary(ops.ACOSH, "acosh", "The inverse hyperbolic cosine; NaN below 1.", "acosh([1.0])", "[0.0]")
atanh = _real_unary(ops.ATANH, "atanh", "The inverse hyperbolic tangent; NaN outside -1..1.", "atanh([0.0])", "[0.0]")
erf = _real_unary(ops.ERF, "erf", "The error function 2/sqrt(pi) * integral of exp(-t**2) from 0 to x.",
                  "erf([0.0])", "[0.0]")

atan2 = _real_binary(ops.ATAN2, "atan2", "The angle in -pi..pi of the point with y = x1 and x = x2.",
                     "atan2([0.0], [1.0])", "[0.0]")
hypot = _real_binary(ops.HYPOT, "hypot", "sqrt(x1**2 + x2**2) without overflow on the way.", "hypot([3.0], [4.0])",
                     "[5.0]")
copysign = _real_binary(ops.COPYSIGN, "copysign", "The magnitude of x1 with the sign of x2.",
                        "copysign([1.0, 2.0], -0.0)", "[-1.0, -2.0]")
nextafter = _real_binary(ops.NEXTAFTER, "nextafter", "The next number of the dtype from x1 towards x2.",
                         "nextafter([0.0], 1.0)", "[5e-324]")
divide = _real_binary(ops.DIV, "divide", "x1 / x2. Integers are divided in the default float.", "divide([1, 3], 2)",
                      "[0.5, 1.5]")


def reciprocal(x, /, **options):
    """1 / x. bool and integers are taken in the default float (NumPy would divide integers without the fraction).

    >>> gc.reciprocal([2.0, 4.0]).tolist()
    [0.5, 0.25]
    """
    if options:
        refuse(options, "reciprocal")
    return divide(1, as_float(x, "reciprocal"))


def rsqrt(x, /, **options):
    """1 / sqrt(x). bool and integers are taken in the default float.

    >>> gc.rsqrt([4.0]).tolist()
    [0.5]
    """
    if options:
        refuse(options, "rsqrt")
    return divide(1, sqrt(x))


# --------------------------------------------------------------------------------------------------------- arithmetic

add = _binary(ops.ADD, "add", "x1 + x2; of bools, their or.", "add([1, 2], 3)", "[4, 5]")
subtract = _binary(ops.SUB, "subtract", "x1 - x2. Not for bools.", "subtract([1, 2], 3)", "[-2, -1]")
multiply = _binary(ops.MUL, "multiply", "x1 * x2; of bools, their and.", "multiply([1, 2], 3)", "[3, 6]")
floor_divide = _binary(ops.FLOORDIV, "floor_divide",
                       "The largest whole number not above x1 / x2; an integer by 0 is 0.",
                       "floor_divide([-7, 7], 2)", "[-4, 3]", bool_as=dtypes.int8)
remainder = _binary(ops.REMAINDER, "remainder", "x1 - x2 * floor(x1 / x2), with the sign of x2; an integer by 0 is 0.",
                    "remainder([-7, 7], 3)", "[2, 1]", bool_as=dtypes.int8)
fmod = _binary(ops.FMOD, "fmod", "The remainder of the division towards 0, with the sign of x1.", "fmod([-7, 7], 3)",
               "[-1, 1]", bool_as=dtypes.int8)
maximum = _binary(ops.MAXIMUM, "maximum", "The larger of two; NaN if either is NaN.", "maximum([1, 5], 3)", "[3, 5]")
minimum = _binary(ops.MINIMUM, "minimum", "The smaller of two; NaN if either is NaN.", "minimum([1, 5], 3)", "[1, 3]")
_power = _binary(ops.POW, "pow", "x1 to the power x2.", "pow([2, 3], 3)", "[8, 27]", bool_as=dtypes.int8)


def pow(x1, x2, /, **options):
    """x1 to the power x2. Operands broadcast (ShapeError) and are promoted.

    An integer to a negative Python integer raises PowerError (a ValueError), as in NumPy; where the negative exponent
    is data the result is the truncated reciprocal (0, except for bases 1 and -1). x ** 2 is exactly x * x.

    >>> gc.pow([2.0, 3.0], 2).tolist()
    [4.0, 9.0]
    """
    if options:
        refuse(options, "pow")
    if x2.__class__ is Scalar:
        return x2.__rpow__(x1)      # says that exponents have to be known: small ones are products
    kind = x1.node.dtype.kind if x1.__class__ is Tensor else None
    if kind and x2.__class__ in (int, float):
        if x2.__class__ is int and x2 < 0 and kind in "biu":
            raise PowerError(f"{x1.dtype} to the power {x2} is not an integer", op="pow",
                             fix="use a float: x.astype('float64') ** n, or x ** float(n)")
        if x2 == 2 and (kind in "fc" or x2.__class__ is int and kind != "b"):
            return binary(ops.MUL, x1, x1, "pow")
    return _power(x1, x2)


def _power_operator(x1, x2, /):
    """`x1 ** x2`: as pow, but like NumPy's operator it takes the exponents 0.5 and -1 by sqrt and reciprocal."""
    kind = x1.node.dtype.kind if x1.__class__ is Tensor else None
    if kind == "f" and x2.__class__ in (int, float) or kind and kind in "biu" and x2.__class__ is float:
        if x2 == 0.5:
            return sqrt(x1)
        if x2 == -1:
            return divide(1, x1)
    return pow(x1, x2)


def abs(x, /, **options):
    """The absolute value. Of a complex number its modulus, in the real dtype; of the smallest integer itself.

    >>> gc.abs([-1.5, 2.0]).tolist()
    [1.5, 2.0]
    """
    if options:
        refuse(options, "abs")
    x = as_tensor(x, None, "abs")
    return record.anew(x) if x.dtype.kind in "bu" else unary(ops.ABS, x, "abs")


negative = _unary(ops.NEG, "negative", "-x; unsigned integers wrap around. Not for bool.", "negative([1, -2])",
                  "[-1, 2]")


def positive(x, /, **options):
    """+x: the same values.

    >>> gc.positive([1, -2]).tolist()
    [1, -2]
    """
    if options:
        refuse(options, "positive")
    return wrap(as_tensor(x, None, "positive").node)


sign = _unary(ops.SIGN, "sign", "-1, 0 or 1; NaN for NaN; x / |x| for a complex number. Not for bool.",
              "sign([-2.0, 0.0, 5.0])", "[-1.0, 0.0, 1.0]")


def square(x, /, **options):
    """x * x, in the dtype of x (int8 for bool, as in NumPy).

    >>> gc.square([-3, 2]).tolist()
    [9, 4]
    """
    if options:
        refuse(options, "square")
    x = as_tensor(x, None, "square")
    if x.dtype is dtypes.bool:
        x = cast(x, dtypes.int8)
    return binary(ops.MUL, x, x, "square")


def clip(x, /, min=None, max=None, **options):
    """x limited to min..max (also called a_min and a_max), which broadcast to it; None is no limit. NaN stays NaN.

    A Python integer below or above all values of the dtype of x is no limit either. Where min > max, max wins.

    >>> gc.clip([1, 5, 9], 2, 6).tolist()
    [2, 5, 6]
    """
    if options:
        for limit, name in ((min, "a_min"), (max, "a_max")):
            if limit is not None and name in options:
                raise ArgumentError(f"{name} and {name[2:]} are the same limit", op="clip", fix="give one of them")
        min, max = options.pop("a_min", min), options.pop("a_max", max)
        if options:
            refuse(options, "clip")
    x = as_tensor(x, None, "clip")
    low, high = bounds(x.dtype)
    if min is not None and not (min.__class__ is int and low is not None and min <= low):
        x = binary(ops.MAXIMUM, x, min, "clip")
    if max is not None and not (max.__class__ is int and high is not None and max >= high):
        x = binary(ops.MINIMUM, x, max, "clip")
    return record.anew(x)


# ----------------------------------------------------------------------------------------------------------- rounding

def _rounding(op: Op, name: str, summary: str, result: str) -> Callable:
    def function(x, /, **options):
        if options:
            refuse(options, name)
        x = as_tensor(x, None, name)
        return record.anew(x) if x.node.dtype.kind in "biu" else unary(op, x, name)
    return _named(function, name, summary, f"{name}([-1.5, 2.5])", result,
                  "The result has the dtype of x; integers stay as they are. Not for complex (DTypeError).")


floor = _rounding(ops.FLOOR, "floor", "The largest whole number not above x.", "[-2.0, 2.0]")
ceil = _rounding(ops.CEIL, "ceil", "The smallest whole number not below x.", "[-1.0, 3.0]")
trunc = _rounding(ops.TRUNC, "trunc", "x without its fraction.", "[-1.0, 2.0]")
_rint = _rounding(ops.ROUND, "rint", "The nearest whole number; halves go to the even one.", "[-2.0, 2.0]")


def round(x, /, decimals: int = 0, **options):
    """The nearest whole number, or multiple of 10**-decimals; halves go to the even one.

    The result has the dtype of x. As in NumPy, x is scaled by a power of ten and scaled back.

    >>> gc.round([0.5, 1.5, 2.567]).tolist(), gc.round([2.567], 2).tolist()
    ([0.0, 2.0, 3.0], [2.57])
    """
    if options:
        refuse(options, "round")
    x, decimals = as_tensor(x, None, "round"), an_int(decimals, "round", "decimals")
    if x.dtype.kind == "c":
        return make_complex(round(real(x), decimals), round(imag(x), decimals))
    if decimals == 0 or x.dtype.kind in "biu" and decimals > 0:
        return _rint(x)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return divide(_rint(multiply(x, scale)), scale)
    return cast(multiply(_rint(divide(x, scale)), scale), x.dtype)


# --------------------------------------------------------------------------------------------------------- comparison

def _comparison(op: Op, name: str, summary: str, result: str, swapped: bool = False) -> Callable:
    def function(x1, x2, /, **options):
        if options:
            refuse(options, name)
        kind1, kind2 = x1.__class__, x2.__class__
        if kind1 is Tensor and kind2 is Tensor:
            if x1.node.dtype is not x2.node.dtype and {x1.node.dtype, x2.node.dtype} == _MIXED:
                return _compare_mixed(op, x1, x2, name, swapped)
        elif kind1 is not float and kind2 is not float:
            return _compare_any(op, x1, x2, name, swapped)
        return binary(op, x2, x1, name) if swapped else binary(op, x1, x2, name)
    return _named(function, name, summary, f"{name}([1, 2, 3], 2)", result, _COMPARISON)


_MIXED = {dtypes.uint64, dtypes.int64}
_HOLDS = {ops.EQ: lambda a, b: a == b, ops.NE: lambda a, b: a != b, ops.LT: lambda a, b: a < b,
          ops.LE: lambda a, b: a <= b}


def _compare_any(op: Op, x1, x2, name: str, swapped: bool) -> Tensor:
    """An integer outside the range of the dtype compares as the number it is: with all elements alike."""
    a, b = (x2, x1) if swapped else (x1, x2)
    if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
        a, b = as_tensor(a, None, name), as_tensor(b, None, name)
        if {a.dtype, b.dtype} == _MIXED:
            return _compare_mixed(op, a, b, name, False)
    try:
        return binary(op, a, b, name)
    except IntegerOverflow:
        left = isinstance(a, Tensor)
        answer = _HOLDS[op](0, b) if left else _HOLDS[op](a, 0)
        return filled((a if left else b).shape, answer, dtypes.bool)


def _compare_mixed(op: Op, x1: Tensor, x2: Tensor, name: str, swapped: bool) -> Tensor:
    """int64 with uint64: exact, though their promoted dtype is float64."""
    a, b = (x2, x1) if swapped else (x1, x2)
    signed, other = (a, b) if a.dtype is dtypes.int64 else (b, a)
    negative_one = binary(ops.LT, signed, 0, name)
    unsigned = cast(signed, dtypes.uint64)
    same = binary(op, unsigned, other, name) if signed is a else binary(op, other, unsigned, name)
    answer = _HOLDS[op](-1, 0) if signed is a else _HOLDS[op](0, -1)
    return where(negative_one, answer, same)


equal = _comparison(ops.EQ, "equal", "x1 == x2; NaN equals nothing.", "[False, True, False]")
not_equal = _comparison(ops.NE, "not_equal", "x1 != x2.", "[True, False, True]")
less = _comparison(ops.LT, "less", "x1 < x2.", "[True, False, False]")
less_equal = _comparison(ops.LE, "less_equal", "x1 <= x2.", "[True, True, False]")
greater = _comparison(ops.LT, "greater", "x1 > x2.", "[False, False, True]", swapped=True)
greater_equal = _comparison(ops.LE, "greater_equal", "x1 >= x2.", "[False, True, True]", swapped=True)


# ------------------------------------------------------------------------------------------------------ classification

def isnan(x, /, **options):
    """Is it NaN? False for bool and integers.

    >>> gc.isnan([1.0, float("nan")]).tolist()
    [False, True]
    """
    if options:
        refuse(options, "isnan")
    x = as_tensor(x, None, "isnan")
    return filled(x.shape, False, dtypes.bool) if x.dtype.kind in "biu" else unary(ops.ISNAN, x, "isnan")


def isinf(x, /, **options):
    """Is it infinite, in either part if complex? False for bool and integers.

    >>> gc.isinf([1.0, -float("inf")]).tolist()
    [False, True]
    """
    if options:
        refuse(options, "isinf")
    x = as_tensor(x, None, "isinf")
    if x.dtype.kind in "biu":
        return filled(x.shape, False, dtypes.bool)
    if x.dtype.kind == "c":
        return logical_or(isinf(real(x)), isinf(imag(x)))
    return binary(ops.EQ, unary(ops.ABS, x, "isinf"), math.inf, "isinf")


def isfinite(x, /, **options):
    """Is it neither infinite nor NaN, in both parts if complex? True for bool and integers.

    >>> gc.isfinite([1.0, float("inf"), float("nan")]).tolist()
    [True, False, False]
    """
    if options:
        refuse(options, "isfinite")
    x = as_tensor(x, None, "isfinite")
    if x.dtype.kind in "biu":
        return filled(x.shape, True, dtypes.bool)
    if x.dtype.kind == "c":
        return logical_and(isfinite(real(x)), isfinite(imag(x)))
    return binary(ops.LT, unary(ops.ABS, x, "isfinite"), math.inf, "isfinite")


def signbit(x, /, **options):
    """Is the sign bit set? True for -0.0 and for negative NaN; of integers, x < 0.

    >>> gc.signbit([-0.0, 0.0]).tolist()
    [True, False]
    """
    if options:
        refuse(options, "signbit")
    x = as_tensor(x, None, "signbit")
    if x.dtype.kind in "bu":
        return filled(x.shape, False, dtypes.bool)
    return less(x, 0) if x.dtype.kind == "i" else unary(ops.SIGNBIT, x, "signbit")


# ------------------------------------------------------------------------------------------------------ logic and bits

def _as_bool(x, name: str) -> Tensor:
    return cast(as_tensor(x, None, name), dtypes.bool)


def _logical(op: Op, name: str, summary: str, result: str) -> Callable:
    def function(x1, x2, /, **options):
        if options:
            refuse(options, name)
        return binary(op, _as_bool(x1, name), _as_bool(x2, name), name)
    return _named(function, name, summary, f"{name}([True, False], True)", result, _LOGICAL)


logical_and = _logical(ops.AND, "logical_and", "Are both true?", "[True, False]")
logical_or = _logical(ops.OR, "logical_or", "Is either true?", "[True, True]")
logical_xor = _logical(ops.XOR, "logical_xor", "Is exactly one true?", "[False, True]")


def logical_not(x, /, **options):
    """Is it false (zero)? The result is bool.

    >>> gc.logical_not([0, 2]).tolist()
    [True, False]
    """
    if options:
        refuse(options, "logical_not")
    return unary(ops.INVERT, _as_bool(x, "logical_not"), "logical_not")


bitwise_and = _binary(ops.AND, "bitwise_and", "The bits set in both. For bool and integers.",
                      "bitwise_and([6], 3)", "[2]")
bitwise_or = _binary(ops.OR, "bitwise_or", "The bits set in either. For bool and integers.",
                     "bitwise_or([6], 3)", "[7]")
bitwise_xor = _binary(ops.XOR, "bitwise_xor", "The bits set in one only. For bool and integers.", "bitwise_xor([6], 3)",
                      "[5]")
bitwise_left_shift = _binary(ops.SHL, "bitwise_left_shift", "x1 * 2**x2; 0 if x2 is the width of the dtype or more.",
                             "bitwise_left_shift([1], 4)", "[16]", bool_as=dtypes.int8)
bitwise_right_shift = _binary(ops.SHR, "bitwise_right_shift", "x1 // 2**x2; 0 or -1 if x2 is the width or more.",
                              "bitwise_right_shift([-5], 1)", "[-3]", bool_as=dtypes.int8)
bitwise_invert = _unary(ops.INVERT, "bitwise_invert", "All bits flipped; of bool, its negation.",
                        "bitwise_invert([0, 5])", "[-1, -6]")


# ------------------------------------------------------------------------------------------------------ complex numbers

def real(x, /):
    """The real part, in the real dtype; x itself if it is real.

    >>> gc.real([1 + 2j]).tolist()
    [1.0]
    """
    x = as_tensor(x, None, "real")
    return unary(ops.REAL, x, "real") if x.dtype.kind == "c" else record.anew(x)


def imag(x, /):
    """The imaginary part, in the real dtype; zeros if x is real.

    >>> gc.imag([1 + 2j]).tolist()
    [2.0]
    """
    x = as_tensor(x, None, "imag")
    if x.dtype.kind == "c":
        return unary(ops.IMAG, x, "imag")
    return filled(x.shape, 0, x.dtype)


def conj(x, /, **options):
    """The complex conjugate; x itself if it is real.

    >>> gc.conj([1 + 2j]).tolist()
    [(1-2j)]
    """
    if options:
        refuse(options, "conj")
    x = as_tensor(x, None, "conj")
    return unary(ops.CONJ, x, "conj") if x.dtype.kind == "c" else record.anew(x)


def make_complex(re, im, /):
    """The complex number with these parts, which broadcast: complex64 from float32, complex128 from float64.

    >>> gc.make_complex([1.0], 2.0).tolist()
    [(1+2j)]
    """
    a, b = _float_operands(re, im, "make_complex")
    common = dtypes.float64 if promote(a.dtype, b.dtype) is dtypes.float64 else dtypes.float32
    result = dtypes.complex128 if common is dtypes.float64 else dtypes.complex64
    return record.elementwise(ops.COMPLEX, "make_complex", cast(a, common), cast(b, common), dtype=result)


# ---------------------------------------------------------------------------------------------------------- selection

def where(condition, x1=None, x2=None, /):
    """x1 where condition is true (nonzero), else x2. All three broadcast; x1 and x2 are promoted.

    With one argument it is `nonzero`, whose shape depends on the values: it realizes.

    >>> gc.where([True, False], [1, 2], 0).tolist()
    [1, 0]
    """
    if x1 is None and x2 is None:
        from graphc.api.sorting import nonzero
        return nonzero(condition)
    if condition.__class__ is not Tensor or condition.node.dtype is not dtypes.bool:
        condition = _as_bool(condition, "where")
    na, nb = operands(x1, x2, "where")
    if na.dtype is not nb.dtype:
        common = promote(na.dtype, nb.dtype)
        na, nb = cast(wrap(na), common).node, cast(wrap(nb), common).node
    return record.elementwise_of(ops.WHERE, "where", (condition.node, na, nb))


# ------------------------------------------------------------------------------------------------------ NumPy's names

absolute = abs
arccos, arccosh, arcsin, arcsinh = acos, acosh, asin, asinh
arctan, arctan2, arctanh = atan, atan2, atanh
around = round
bitwise_not = invert = bitwise_invert
conjugate = conj
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
fix = trunc
mod = remainder
power = pow
rint = _rint
true_divide = divide
