"""Arguments as users write them: numbers, axes in a given order, sizes, -1 in a shape. Shared by the API families."""
from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from math import prod

import numpy as np

from graphc.api.record import checked_size, normalize_axis
from graphc.errors import AxisError, DTypeError, ShapeError
from graphc.tensor import Tensor
from graphc.tracing import Scalar


def an_int(value, name: str, what: str) -> int:
    """`value` as an int, or a DTypeError that says what was expected to be one."""
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(f"{what} must be an integer, not {value!r}", op=name) from None


def a_number(value, name: str, what: str):
    """A parameter that is one number or a tensor; NumPy's numbers as Python's, which change no dtype. DTypeError."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float | Scalar | Tensor):
        raise DTypeError(f"{what} must be a number or a tensor, not {value!r}", op=name)
    return value


def several(value) -> bool:
    """Is it a sequence, or an array, of sizes or axes?"""
    return isinstance(value, Sequence) or isinstance(value, np.ndarray | Tensor) and value.ndim > 0


def ordered_axes(axis, ndim: int, name: str) -> tuple[int, ...]:
    """`axis` (None: all; an int; a sequence) as a tuple of axes counted from 0, in the order given."""
    if axis is None:
        return tuple(range(ndim))
    if not several(axis):
        return (normalize_axis(axis, ndim, name),)
    found = axis
    if axis.__class__ is not tuple or not all([a.__class__ is int and 0 <= a < ndim for a in axis]):
        found = tuple([normalize_axis(a, ndim, name) for a in axis])
    if len(set(found)) != len(found):
        raise AxisError(f"an axis is given twice in {tuple(axis)}", op=name)
    return found


def _sizes(shape, name: str) -> tuple[int, ...]:
    if shape.__class__ is tuple and all([n.__class__ is int for n in shape]):
        return shape
    return tuple(an_int(n, name, "a size") for n in (shape if several(shape) else (shape,)))


def a_shape(shape, name: str) -> tuple[int, ...]:
    """An int or a sequence of ints as a shape. Raises ShapeError for a negative size."""
    found = _sizes(shape, name)
    if any(n < 0 for n in found):
        raise ShapeError(f"negative size in shape {found}", op=name)
    return checked_size(found, name)


def filled_in(shape, old: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The shape to which an array of shape `old` is reshaped: one -1 stands for whatever fits. Raises ShapeError."""
    return _filled_in(_sizes(shape, name), old, name)


@functools.lru_cache(maxsize=4096)
def _filled_in(new: tuple[int, ...], old: tuple[int, ...], name: str) -> tuple[int, ...]:
    size = prod(old)
    if new.count(-1) == 1:
        rest = -prod(new)
        if rest > 0 and size % rest == 0:
            return tuple(size // rest if n == -1 else n for n in new)
    elif min(new, default=0) >= 0 and prod(new) == size:
        return new
    raise ShapeError(f"an array of shape {old} and size {size} has no shape {new}", op=name,
                     fix="the product of the sizes must stay the same; at most one of them is -1")


def refuse(options: dict, name: str) -> None:
    """For what NumPy's elementwise functions take besides their operands, and none here does: raises DTypeError."""
    option = next(iter(options))
    fixes = {"out": f"y[...] = gc.{name}(...), or use the result",
             "where": f"gc.where(mask, gc.{name}(...), what stands elsewhere)",
             "dtype": f"gc.{name}(...).astype(dtype)"}
    raise DTypeError(f"there is no argument {option!r}" + (": a tensor is not written into" if option == "out" else ""),
                     op=name, fix=fixes.get(option))
