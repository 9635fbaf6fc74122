"""Functions of integers that are composites of others."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from graphc.api.elementwise import abs as abs_
from graphc.api.elementwise import bitwise_and, floor_divide, multiply, remainder, right_shift, where
from graphc.api.loops import while_loop
from graphc.api.manipulation import broadcast_arrays, concat, moveaxis, reshape
from graphc.api.record import as_tensor, cast, filled, normalize_axes, operands, wrap
from graphc.api.reductions import any as any_
from graphc.errors import DTypeError, ShapeError
from graphc.ir import dtype as dt


def _integers(x1, x2, name: str) -> tuple:
    a, b = map(wrap, operands(x1, x2, name))
    common = dt.promote(a.dtype, b.dtype)
    if common.kind not in "iu":
        raise DTypeError(f"needs integers, not {a.dtype} and {b.dtype}", op=name)
    return (*broadcast_arrays(cast(a, common), cast(b, common)), common)


def gcd(x1, x2, /):
    """The greatest common divisor of |x1| and |x2|, 0 of two zeros: Euclid's algorithm, as far as any pair needs it.

    The operands broadcast. Raises DTypeError for floats.

    >>> import graphc as gc
    >>> gc.gcd([12, -9, 0], [18, 6, 5]).tolist()
    [6, 3, 5]
    """
    a, b, result = _integers(x1, x2, "gcd")
    return cast(_gcd(_size(a), _size(b)), result)


def lcm(x1, x2, /):
    """The least common multiple of |x1| and |x2|, 0 where one of them is 0; what is too large wraps around.

    As `gcd` in all else.

    >>> import graphc as gc
    >>> gc.lcm([4, 0], 6).tolist()
    [12, 0]
    """
    a, b, result = _integers(x1, x2, "lcm")
    a, b = _size(a), _size(b)
    return cast(multiply(floor_divide(a, _gcd(a, b)), b), result)


def _reduced(function: Callable, nothing: int | None) -> Callable:
    """function.reduce: of halves, until one is left. nothing: what is found of no elements; None raises."""
    def reduce(x, /, axis: int | Sequence[int] | None = 0, *, keepdims: bool = False):
        """As NumPy's ufunc.reduce: of all elements along axes (None: all). Raises DTypeError for floats."""
        x = as_tensor(x, None, function.__name__)
        if x.dtype.kind not in "iu":
            raise DTypeError(f"needs integers, not {x.dtype}", op=function.__name__)
        axes = normalize_axes(axis, x.ndim, function.__name__)
        kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
        rest = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        x = x if nothing is None else abs_(x)       # of one element as well
        x = reshape(moveaxis(x, axes, tuple(range(len(axes)))), (prod(x.shape[a] for a in axes), *rest))
        if not x.shape[0] and nothing is None:
            raise ShapeError(f"of no elements there is no {function.__name__}", op=function.__name__)
        while x.shape[0] > 1:
            half = x.shape[0] // 2
            x = concat([function(x[:half], x[half:2 * half]), x[2 * half:]])
        found = x[0] if x.shape[0] else filled(rest, nothing, x.dtype)
        return reshape(found, kept if keepdims else rest)
    return reduce


gcd.reduce, lcm.reduce = _reduced(gcd, 0), _reduced(lcm, None)


def _size(x):
    """|x| as an unsigned integer, which has room for the least one too."""
    return cast(abs_(x), dt.by_name(f"uint{8 * x.dtype.itemsize}"))


def _gcd(a, b):
    def turn(state):
        a, b = state
        return where(b == 0, a, b), where(b == 0, 0, remainder(a, b))
    return while_loop(lambda state: any_(state[1] != 0), turn, (a, b))[0]


def bitwise_count(x, /):
    """The number of 1s in the binary form of |x|, as uint8. By adding neighbouring groups of bits: Warren, *Hacker's
    delight* (2002).

    >>> import graphc as gc
    >>> gc.bitwise_count([0, 7, -8]).tolist()
    [0, 3, 1]
    """
    x = as_tensor(x, None, "bitwise_count")
    if x.dtype.kind not in "iu":
        raise DTypeError(f"needs integers, not {x.dtype}", op="bitwise_count")
    x = cast(_size(x), dt.uint64)
    x = x - bitwise_and(right_shift(x, 1), 0x5555555555555555)
    x = bitwise_and(x, 0x3333333333333333) + bitwise_and(right_shift(x, 2), 0x3333333333333333)
    x = bitwise_and(x + right_shift(x, 4), 0x0F0F0F0F0F0F0F0F)
    return cast(right_shift(x * 0x0101010101010101, 56), dt.uint8)
