"""The methods of NumPy's ufuncs, on the functions of two operands: gc.add.reduce, gc.maximum.accumulate, gc.add.outer.

`at` is written in graphc/api/indexing.py.

>>> import graphc as gc
>>> gc.add.outer([1, 2], [10, 20]).tolist(), gc.maximum.accumulate(gc.asarray([1, 3, 2])).tolist()
([[11, 21], [12, 22]], [1, 3, 3])
"""
from __future__ import annotations

from collections.abc import Callable

from graphc.api import elementwise as el
from graphc.api import reductions as red
from graphc.api import running
from graphc.api.manipulation import reshape
from graphc.api.record import as_tensor
from graphc.errors import DTypeError

OF_TWO = (el.add, el.subtract, el.multiply, el.divide, el.floor_divide, el.remainder, el.pow, el.maximum, el.minimum,
          el.fmod, el.hypot, el.atan2, el.copysign, el.equal, el.not_equal, el.less, el.less_equal, el.greater,
          el.greater_equal, el.logical_and, el.logical_or, el.logical_xor, el.bitwise_and, el.bitwise_or,
          el.bitwise_xor, el.bitwise_left_shift, el.bitwise_right_shift)
REDUCED = {el.add: red.sum, el.multiply: red.prod, el.maximum: red.max, el.minimum: red.min, el.logical_and: red.all,
           el.logical_or: red.any}
ACCUMULATED = {el.add: red.cumsum, el.multiply: red.cumprod, el.maximum: running.cumulative_max,
               el.minimum: running.cumulative_min}


def _outer(function: Callable) -> Callable:
    def outer(x1, x2, /):
        """The function of every element of x1 with every one of x2: (*x1.shape, *x2.shape)."""
        x1, x2 = as_tensor(x1), as_tensor(x2)
        return function(reshape(x1, x1.shape + (1,) * x2.ndim), x2)
    return outer


def _along(function: Callable, name: str) -> Callable:
    def method(x, /, axis: int | None = 0, **options):
        return function(x, axis=axis, **options)
    method.__name__ = name
    method.__doc__ = f"gc.{function.__name__}, along axis 0 unless another is named."
    return method


IN_PARTS = ("reduce each part, e.g. gc.stack([gc.sum(part) for part in gc.split(x, places)]), or add by labels: "
            "gc.bincount(labels, weights=x)")


def _lacking(name: str, method: str, fix: str) -> Callable:
    def lacking(*_args, **_options):
        """Raises DTypeError: there is no such method."""
        raise DTypeError(f"a function has no {method}", op=f"{name}.{method}", fix=fix.format(name))
    return lacking


def install() -> None:
    for function in OF_TWO:
        name = function.__name__
        function.outer, function.reduceat = _outer(function), _lacking(name, "reduceat", IN_PARTS)
        function.reduce = _lacking(name, "reduce", "functools.reduce(gc.{0}, gc.unstack(x)), along axis 0")
        function.accumulate = _lacking(name, "accumulate",
                                       "gc.stack(list(itertools.accumulate(gc.unstack(x), gc.{0}))), along axis 0")
    for function, reduction in REDUCED.items():
        function.reduce = _along(reduction, "reduce")
    for function, scan in ACCUMULATED.items():
        function.accumulate = _along(scan, "accumulate")
