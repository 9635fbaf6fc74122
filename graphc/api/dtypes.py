"""Data type functions of the Array API."""
from __future__ import annotations

import builtins

from msgspec import Struct

from graphc.api.numbers import bounds
from graphc.api.record import as_tensor, cast
from graphc.errors import DTypeError
from graphc.ir import dtype as dtypes
from graphc.ir.dtype import DType, as_dtype, of_scalar, promote
from graphc.tensor import Tensor


def astype(x, dtype, /, *, copy: bool = True, device: str | None = None):
    """x in another dtype, as NumPy's astype: floats lose their fraction towards 0, complex its imaginary part.

    NaN, infinities and numbers outside the range have no integer: the result is unspecified there.

    >>> gc.astype([1.7, -1.7], gc.int32).tolist()
    [1, -1]
    """
    x = cast(as_tensor(x, None, "astype"), as_dtype(dtype))
    return x if device is None else x.to(device)


def _dtype_of(x) -> DType:
    """That of a tensor or an array, or the one that is named. NumPy's types have an attribute dtype that is none."""
    return x.dtype if isinstance(x, Tensor) else as_dtype(x if isinstance(x, type) else getattr(x, "dtype", x))


# Kinds in the order in which values of one fit the next, for casting by the rule "same_kind".
_RANK = {"b": 0, "u": 1, "i": 2, "f": 3, "c": 4}


def can_cast(from_, to, /, casting: str = "safe") -> builtins.bool:
    """Can a value of dtype (or tensor) from_ become `to` by the promotion rules? casting: "safe" or "same_kind".

    >>> gc.can_cast(gc.int32, gc.float64), gc.can_cast(gc.float64, gc.int32)
    (True, False)
    """
    source, target = _dtype_of(from_), _dtype_of(to)
    if casting == "same_kind" and _RANK[source.kind] <= _RANK[target.kind]:
        return True
    return promote(source, target) is target


def result_type(*arrays_and_dtypes) -> DType:
    """The dtype to which tensors, dtypes and Python numbers are promoted together; Python numbers are weak.

    >>> gc.result_type(gc.int32, gc.float32), gc.result_type(gc.float32, 1.5)
    (graphc.float64, graphc.float32)
    """
    if not arrays_and_dtypes:
        raise DTypeError("at least one array or dtype is needed", op="result_type")
    weak = [x for x in arrays_and_dtypes if type(x) in (builtins.bool, int, float, complex)]
    strong = [_dtype_of(x) for x in arrays_and_dtypes if type(x) not in (builtins.bool, int, float, complex)]
    found = strong[0] if strong else as_dtype(type(weak[0]))
    for dtype in strong[1:]:
        found = promote(found, dtype)
    for value in weak:
        dtype = of_scalar(value, found)
        found = dtype if dtype.kind in "fc" and found.kind in "biu" else promote(found, dtype)
    return found


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
          "complex floating": "c", "numeric": "iufc"}


def isdtype(dtype, kind) -> builtins.bool:
    """Is dtype of this kind? kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric", or a tuple of these.

    >>> gc.isdtype(gc.float32, ("integral", "real floating"))
    True
    """
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtype.kind in _KINDS[kind]
    if isinstance(kind, str) and kind not in {d.name for d in dtypes.ALL}:
        raise DTypeError(f"kind {kind!r} is unknown", op="isdtype", fix="use one of " + ", ".join(_KINDS))
    return dtype is as_dtype(kind)


class finfo_object(Struct, frozen=True):
    """What `finfo` tells of a real or complex dtype (of its parts): all numbers are Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        return self.smallest_normal


class iinfo_object(Struct, frozen=True):
    """What `iinfo` tells of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type, /) -> finfo_object:
    """Limits of a floating dtype, or of the dtype of a tensor. Raises DTypeError for others.

    >>> gc.finfo(gc.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of(type).real
    if dtype.kind != "f":
        raise DTypeError(f"{dtype} is not a floating dtype", op="finfo", fix="use iinfo")
    info = dtypes.finfo(dtype)
    return finfo_object(dtype.bits, *(float(v) for v in (info.eps, info.max, info.min, info.smallest_normal)), dtype)


def iinfo(type, /) -> iinfo_object:
    """Limits of an integer dtype, or of the dtype of a tensor. Raises DTypeError for others.

    >>> gc.iinfo(gc.uint8).max
    255
    """
    dtype = _dtype_of(type)
    low, high = bounds(dtype)
    if low is None:
        raise DTypeError(f"{dtype} is not an integer dtype", op="iinfo", fix="use finfo")
    return iinfo_object(dtype.bits, high, low, dtype)
