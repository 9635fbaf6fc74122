"""Python numbers as constants of a graph: which dtype they take beside a tensor, and whether it can hold them."""
from __future__ import annotations

from math import copysign, isfinite

import numpy as np

from graphc.errors import DTypeError, IntegerOverflow
from graphc.ir import dtype as dtypes
from graphc.ir.dtype import DType, as_dtype, of_scalar
from graphc.ir.node import Node, const
from graphc.tracing import Scalar

PYTHON_SCALARS = frozenset((bool, int, float, complex, Scalar))
_BOUNDS = {d: (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max)) for d in dtypes.ALL if d.kind in "iu"}
cached_scalars: dict[tuple, Node] = {}  # (dtype, value) -> constant, for `binary`; no zeros, because 0.0 == -0.0
_zeros: dict[DType, Node] = {}    # the constant of the integer 0
_SCALAR_CACHE = 1024


def scalar(value, dtype: DType, name: str) -> Node:
    """A constant node. A Python integer that the dtype can't hold raises OverflowError, as in NumPy; so does a float
    whose whole part is one, and NaN or an infinity raise DTypeError."""
    if value.__class__ is Scalar:
        return value.node(dtype)
    if not value and (value.__class__ is int or value.__class__ is float and copysign(1.0, value) > 0):
        node = _zeros.get(dtype)
        if node is None:
            node = _zeros[dtype] = const(value, dtype)
        return node
    node = _scalar(value, dtype, name)
    if value and value == value:
        if len(cached_scalars) >= _SCALAR_CACHE:
            cached_scalars.clear()
        cached_scalars[dtype, value] = node
    return node


def _scalar(value, dtype: DType, name: str) -> Node:
    if value.__class__ is float and dtype.kind in "iu":
        value = _whole(value, dtype, name)
    if value.__class__ is int:
        if dtype.kind in "iu":
            if not fits(value, dtype):
                raise IntegerOverflow(f"the integer {value} does not fit {dtype}", op=name,
                                      fix=f"cast the tensor first, e.g. x.astype({_smallest_int(value, dtype)!r})")
        elif dtype.kind in "fc":
            try:
                value = float(value)
            except OverflowError:
                raise IntegerOverflow(f"an integer of {value.bit_length()} bits fits no {dtype}", op=name) from None
    elif value.__class__ is float and not -6e4 < value < 6e4:
        with np.errstate(over="ignore"):  # 1e300 as float32 is inf, silently
            return const(value, dtype)
    return const(value, dtype)


def weak_dtype(value, beside: DType | None) -> DType:
    """The dtype that a Python number takes beside a tensor of that dtype, or (None) by itself."""
    if beside is None and value.__class__ is int and _BOUNDS[dtypes.int64][1] < value <= _BOUNDS[dtypes.uint64][1]:
        return dtypes.uint64
    sample = value.sample if value.__class__ is Scalar else value
    return as_dtype(sample.__class__) if beside is None else of_scalar(sample, beside)


def _whole(value: float, dtype: DType, name: str) -> int:
    """What integers of this dtype keep of a number: no fraction."""
    if not isfinite(value):
        raise DTypeError(f"{value} can't be stored as {dtype}", op=name, fix="use a dtype of floats")
    if not fits(int(value), dtype):
        raise IntegerOverflow(f"{value} does not fit {dtype}", op=name, fix="use a wider dtype, or one of floats")
    return int(value)


def fits(value: int, dtype: DType) -> bool:
    return _BOUNDS[dtype][0] <= value <= _BOUNDS[dtype][1]


def check_fits(array: np.ndarray, dtype: DType, name: str) -> None:
    """Raise IntegerOverflow, or DTypeError for NaN and infinities, where an array of a user's Python numbers does not
    fit the integers that they shall become."""
    if dtype in _BOUNDS and array.dtype.kind in "iuf" and array.size:
        least, most = array.min().item(), array.max().item()
        if array.dtype.kind == "f":
            _whole(least, dtype, name), _whole(most, dtype, name)
        elif not (fits(least, dtype) and fits(most, dtype)):
            raise IntegerOverflow(f"integers from {least} to {most} do not fit {dtype}", op=name)


def bounds(dtype: DType) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer dtype; None, None for others."""
    return _BOUNDS.get(dtype, (None, None))


def _smallest_int(value: int, beside: DType) -> str:
    fitting = (d.name for d in _BOUNDS if fits(value, d) and all(fits(bound, d) for bound in _BOUNDS[beside]))
    return next(fitting, "float64")
