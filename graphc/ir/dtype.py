"""Data types and NumPy 2 promotion (Array API 2024.12, NEP 50: Python scalars are weak)."""
from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Hashable

import numpy as np

from graphc.errors import DTypeError


array: Callable = object         # the front end puts its own here


class DType:
    """One data type. There is exactly one object for each, so between them `is` and `==` are the same; names, NumPy's
    dtypes and Python's types are equal to what they stand for, so that `x.dtype == np.float32` means what it says."""

    __slots__ = ("name", "numpy", "itemsize", "kind", "bits")

    def __init__(self, name: str, numpy_dtype, kind: str, itemsize: int | None = None):
        self.name = name
        if numpy_dtype is not None:
            self.numpy = np.dtype(numpy_dtype)
        self.itemsize = itemsize or self.numpy.itemsize
        self.kind = kind  # b bool, i signed, u unsigned, f real floating, c complex
        self.bits = 8 * self.itemsize

    def __getattr__(self, name: str):
        """bfloat16's dtype in NumPy, at its first use: the import is 9 ms, which few processes need."""
        if name != "numpy":
            raise AttributeError(f"{self!r} has no {name!r}")
        import ml_dtypes
        self.numpy = np.dtype(ml_dtypes.bfloat16)
        _BY_NUMPY[self.numpy] = self
        return self.numpy

    def __eq__(self, other) -> builtins.bool:
        if other.__class__ is DType or not isinstance(other, str | type | np.dtype):
            return self is other
        try:
            return as_dtype(other) is self
        except DTypeError:
            return False

    __hash__ = object.__hash__

    @property
    def dtype(self) -> np.dtype:
        """NumPy's dtype, where NumPy looks for it: np.zeros(3, x.dtype)."""
        return self.numpy

    def __call__(self, value=0):
        """A tensor of this dtype, as NumPy's types make scalars and arrays: float32(0.5), int8([1, 2])."""
        return array(value, self)

    def __repr__(self) -> str:
        return f"graphc.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self):
        return (by_name, (self.name,))

    @property
    def real(self) -> DType:
        """The dtype of the real and imaginary parts."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def accumulator(self) -> DType:
        """The dtype in which sums and products of this dtype are carried: f16 and bf16 accumulate in float32."""
        return float32 if self is float16 or self is bfloat16 else self


bool = DType("bool", np.bool_, "b")
int8 = DType("int8", np.int8, "i")
int16 = DType("int16", np.int16, "i")
int32 = DType("int32", np.int32, "i")
int64 = DType("int64", np.int64, "i")
uint8 = DType("uint8", np.uint8, "u")
uint16 = DType("uint16", np.uint16, "u")
uint32 = DType("uint32", np.uint32, "u")
uint64 = DType("uint64", np.uint64, "u")
float16 = DType("float16", np.float16, "f")
bfloat16 = DType("bfloat16", None, "f", 2)
float32 = DType("float32", np.float32, "f")
float64 = DType("float64", np.float64, "f")
complex64 = DType("complex64", np.complex64, "c")
complex128 = DType("complex128", np.complex128, "c")

ALL = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
       float16, bfloat16, float32, float64, complex64, complex128)
_BY_NAME = {d.name: d for d in ALL}
_BY_NUMPY = {d.numpy: d for d in ALL if d is not bfloat16}
_FROM_PYTHON = {builtins.bool: bool, int: int64, complex: complex128}


def by_name(name: str) -> DType:
    return _BY_NAME[name]


@functools.lru_cache(maxsize=512)
def _convert(value) -> DType:
    if value is float:
        return default_float()
    if value in _FROM_PYTHON:
        return _FROM_PYTHON[value]
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    try:
        found = of_numpy(np.dtype(value))
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise _unknown(value)
    return found


def of_numpy(dtype: np.dtype) -> DType | None:
    """The data type of NumPy's dtype in any byte order; None for one that graphc does not have."""
    found = _BY_NUMPY.get(dtype) or _BY_NUMPY.get(dtype.newbyteorder("="))
    return bfloat16 if found is None and dtype.name == "bfloat16" and dtype == bfloat16.numpy else found


def unmasked(array: np.ndarray, name: str) -> np.ndarray:
    """The array itself. Raises DTypeError for one of NumPy's masked arrays of which some elements are masked."""
    if np.any(getattr(array, "mask", False)):
        raise DTypeError("a tensor has no mask: the masked elements would come in as they are", op=name,
                         fix="pass x.filled(value), or x.data and x.mask, for gc.where")
    return array


def _unknown(value) -> DTypeError:
    return DTypeError(f"{value!r} is not a data type that graphc has", op="dtype",
                      fix="give the shape as one argument, a tuple: zeros((2, 3))" if type(value) is int else
                      f"use one of {', '.join(_BY_NAME)}")


def as_dtype(value) -> DType:
    """Convert a DType, NumPy dtype, name or Python type to a DType. Raises DTypeError."""
    if type(value) is DType:
        return value
    if isinstance(value, Hashable):
        return _convert(value)
    raise _unknown(value)


def named(value) -> DType | None:
    """What as_dtype makes of a value; None for what is no data type."""
    try:
        return as_dtype(value)
    except DTypeError:
        return None


_default_float = float64


def default_float() -> DType:
    """The dtype of Python floats and of creation functions called without dtype: float64 unless set."""
    return _default_float


def set_default_float(dtype) -> None:
    """Set the default real dtype to float32 or float64."""
    global _default_float
    dtype = as_dtype(dtype)
    if dtype not in (float32, float64):
        raise DTypeError(f"{dtype} can't be the default", op="set_default_float", fix="use float32 or float64")
    _default_float = dtype
    _convert.cache_clear()


def _promote(a: DType, b: DType) -> DType:
    if bfloat16 in (a, b) and a is not b:
        other = b if a is bfloat16 else a
        if other.kind in "biu":
            return bfloat16
        return float32 if other is float16 else other
    return _BY_NUMPY[np.promote_types(a.numpy, b.numpy)]


# All pairs at once: 225 look-ups are cheaper than a cache with a miss path on the recording path.
PROMOTE: dict[tuple[DType, DType], DType] = {}


def promote(a: DType, b: DType) -> DType:
    """The dtype of a binary operation on arrays of dtypes a and b."""
    if a is b:
        return a
    found = PROMOTE.get((a, b))
    if found is None:
        found = PROMOTE[a, b] = _promote(a, b)
    return found


def of_scalar(value, other: DType) -> DType:
    """The dtype that a Python scalar takes beside an array of dtype `other`: weak, so only its kind counts."""
    kind = type(value)
    if kind is float:
        return other if other.kind in "fc" else default_float()
    if kind is complex:
        if other.kind == "c":
            return other
        return complex64 if other in (float32, float16, bfloat16) else complex128
    if kind is int:
        return int64 if other is bool else other
    return bool if other is bool else other


def iinfo(dtype) -> np.iinfo:
    return np.iinfo(as_dtype(dtype).numpy)


def finfo(dtype):
    d = as_dtype(dtype)
    if d is bfloat16:
        import ml_dtypes
        return ml_dtypes.finfo(d.numpy)
    return np.finfo(d.numpy)
