"""Functions that make tensors: from data, filled, counting, and by position (eye, tril, meshgrid).

Only `asarray` and its relatives touch memory. The others are recorded as constants and counters, which cost nothing
until a kernel reads them, and then nothing in memory.
"""
from __future__ import annotations

import math

import numpy as np

from graphc.api import record
from graphc.api.axes import a_shape, an_int
from graphc.api.elementwise import add, equal, floor, greater_equal, less_equal, multiply, where
from graphc.api.numbers import check_fits, scalar
from graphc.api.record import as_tensor, cast, expand_to, movement, reshape_to, wrap
from graphc.errors import ArgumentError, DTypeError, ShapeError, TracerError, user_site
from graphc.ir import dtype as dtypes
from graphc.ir import ops
from graphc.ir.dtype import DType, as_dtype, default_float
from graphc.ir.node import make
from graphc.tensor import Tensor
from graphc.tracing import Scalar, current

# ---------------------------------------------------------------------------------------------------------- from data


def asarray(obj, /, dtype=None, *, device: str | None = None, copy: bool | None = None):
    """A tensor of what `obj` holds: a number, nested sequences of numbers, a NumPy array, a Tensor, or anything with
    DLPack, `__array__` or the buffer protocol.

    copy=None: a writable array is copied now, so that later writes to it change nothing that was recorded; a read-only
    contiguous one is aliased. copy=False: always aliased; raises ArgumentError (a ValueError) where that is impossible,
    and it is on you not to write to the array while tensors made from it live. copy=True: always copied.

    Python floats get the default float, integers int64; a Python integer that does not fit dtype raises OverflowError.

    >>> gc.asarray([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> gc.asarray([1, 2], dtype=gc.float32).dtype
    graphc.float32
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Tensor):
        return _from_tensor(obj, dtype, device, copy)
    if isinstance(obj, (bool, int, float, complex, np.generic, Scalar)) and not copy:
        return _from_number(obj, dtype, copy)
    if isinstance(obj, (list, tuple)):
        return _from_sequence(obj, dtype, device, copy)
    lying_there = record.from_device(obj, dtype, copy, device, "asarray")
    if lying_there is not None:
        return lying_there
    borrowed = hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray)
    # What DLPack lends as read-only may still be written to by its owner: None must copy.
    copied = True if borrowed and copy is None else copy
    return _shared(record.from_numpy(record.to_array(obj), dtype=dtype, copy=copied, device=device), copy)


def _shared(tensor: Tensor, copy: bool | None) -> Tensor:
    """The tensor that was made of somebody's memory, if that is what was asked for."""
    if copy is False and tensor.node.value.remote:
        raise ArgumentError(f"a copy is needed: {tensor.device} has memory of its own", op="asarray",
                            fix="leave copy=None")
    return tensor


def _from_tensor(tensor: Tensor, dtype: DType | None, device: str | None, copy: bool | None) -> Tensor:
    """The tensor itself where there is nothing to do, as in NumPy; else, or for a copy, a new handle: values never
    change."""
    if copy is False and dtype not in (None, tensor.dtype):
        raise ArgumentError(f"{tensor.dtype} can't become {dtype} without a copy", op="asarray", fix="leave copy=None")
    if not copy and dtype in (None, tensor.dtype) and device in (None, tensor.device):
        return tensor
    result = cast(tensor, dtype or tensor.dtype)
    return result if device is None else result.to(device)


def _from_number(value, dtype: DType | None, copy: bool | None) -> Tensor:
    if copy is False:
        raise ArgumentError("a number has no memory to share", op="asarray", fix="leave copy=None")
    if dtype is None or isinstance(value, np.generic):
        return cast(as_tensor(value), dtype or as_tensor(value).dtype)
    if isinstance(value.sample if isinstance(value, Scalar) else value, complex) and dtype.kind in "biuf":
        raise DTypeError(f"a complex number can't become {dtype}", op="asarray", fix="take its real part first")
    return wrap(scalar(value, dtype, "asarray"))


def _from_sequence(values, dtype: DType | None, device: str | None, copy: bool | None) -> Tensor:
    if copy is False:
        raise ArgumentError("a list has no memory to share", op="asarray", fix="leave copy=None")
    if record.holds_recorded(values):
        joined = stacked(values, dtype, "asarray")
        return joined if device is None else joined.to(device)
    array = record.to_array(values, floats=dtype is not None and dtype.kind in "fc")
    if dtype is None and array.dtype == np.float64:
        dtype = default_float()
    if dtype is not None:
        check_fits(array, dtype, "asarray")
    # The array was made here, nobody else can write to it.
    fresh = array.flags.c_contiguous and (dtype is None or dtype.numpy == array.dtype)
    return record.from_numpy(array, dtype=dtype, copy=False if fresh else None, device=device)


MANY = 64       # tensors in a list: more are sooner read one by one than by one program with as many inputs


def stacked(values, dtype: DType | None, name: str, depth: int = 0) -> Tensor:
    """Nested lists of tensors and numbers as one tensor, recorded: gradients go through, and what the elements have in
    common is computed once."""
    from graphc.api.manipulation import stack
    if not isinstance(values, (list, tuple)):
        return asarray(values, dtype)
    if depth == record.MOST_AXES:
        raise DTypeError(f"lists are nested more than {depth} deep", op=name)
    if len(values) > MANY and current() is None and not any(isinstance(x, Tensor) and x.node.tracked for x in values):
        try:
            return record.from_numpy(record.to_array(values, name), dtype=dtype, name=name)
        except TracerError:         # no values: these are examples of vmap's, or what a loop carries
            pass
    parts = [stacked(value, dtype, name, depth + 1) for value in values]
    if not parts:
        return asarray([], dtype)
    if any(part.shape != parts[0].shape for part in parts):
        shapes = ", ".join(map(str, dict.fromkeys(part.shape for part in parts)))
        raise DTypeError(f"{type(values).__name__} can't become a tensor: its elements have shapes {shapes}", op=name)
    return stack(parts)


def array(obj, /, dtype=None, *, copy: bool | None = True, ndmin: int = 0, device: str | None = None):
    """`asarray` as NumPy spells it: copies unless copy=None or False. ndmin: how many axes it has at least; new ones of
    size 1 come first.

    >>> gc.array([1.5]).tolist(), gc.array([1.5], ndmin=2).tolist()
    ([1.5], [[1.5]])
    """
    x = asarray(obj, dtype=dtype, copy=copy if isinstance(obj, (np.ndarray, Tensor)) else None, device=device)
    missing = an_int(ndmin, "array", "ndmin") - x.ndim
    return x if missing <= 0 else reshape_to(x, record.checked_size((1,) * missing + x.shape, "array"))


dtypes.array = array


def from_dlpack(x, /, *, device: str | None = None, copy: bool | None = None):
    """A tensor from any object with `__dlpack__`. Copied unless copy=False, since its owner may write to it.

    An array in the memory of a GPU, such as CuPy's or torch's, becomes a tensor on that device.

    >>> gc.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    lying_there = record.from_device(x, None, copy, device, "from_dlpack")
    if lying_there is not None:
        return lying_there
    tensor = record.from_numpy(record.of_dlpack(x), copy=copy is not False, device=device, name="from_dlpack")
    return _shared(tensor, copy)


def copy(x, /):
    """A new handle with the values of x; since values never change nothing is copied in memory.

    >>> gc.copy(gc.ones(2)).tolist()
    [1.0, 1.0]
    """
    return wrap(as_tensor(x).node)


# -------------------------------------------------------------------------------------------------------------- filled

def full(shape, fill_value, dtype=None, *, device: str | None = None):
    """A tensor filled with one value, or with a tensor that broadcasts to the shape.

    dtype: that of the value by default; int64, the default float or complex for Python numbers.

    >>> gc.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    value = asarray(fill_value, dtype=dtype)
    return _placed(expand_to(value, a_shape(shape, "full"), "full"), device)


def _placed(x: Tensor, device: str | None) -> Tensor:
    """x, a tree of constants, at home on the device that was asked for."""
    node = x.node
    if device is None or node.device is not None or not node.srcs:
        return x
    device = record.device_name(device)
    return wrap(make(node.op, node.dtype, node.shape, node.srcs, node.attrs, device=device, site=node.site))


def _default(dtype) -> DType:
    return default_float() if dtype is None else as_dtype(dtype)


def zeros(shape, dtype=None, *, device: str | None = None):
    """A tensor of zeros, in the default float unless dtype is given.

    >>> gc.zeros((2,)).tolist()
    [0.0, 0.0]
    """
    return full(shape, 0, dtype=_default(dtype), device=device)


def ones(shape, dtype=None, *, device: str | None = None):
    """A tensor of ones, in the default float unless dtype is given.

    >>> gc.ones(2, dtype=gc.int8).tolist()
    [1, 1]
    """
    return full(shape, 1, dtype=_default(dtype), device=device)


def empty(shape, dtype=None, *, device: str | None = None):
    """A tensor of the shape with unspecified values (they are zeros).

    >>> gc.empty((0, 3)).shape
    (0, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x, /, fill_value, dtype=None, *, device: str | None = None, shape=None):
    """`full` with the shape, dtype and device of x.

    >>> gc.full_like(gc.zeros(2), 3).tolist()
    [3.0, 3.0]
    """
    x = as_tensor(x)
    return full(x.shape if shape is None else shape, fill_value, dtype=x.dtype if dtype is None else dtype,
                device=x.node.device if device is None else device)


def zeros_like(x, /, dtype=None, *, device: str | None = None, shape=None):
    """Zeros with the shape and dtype of x.

    >>> gc.zeros_like(gc.arange(2)).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device, shape=shape)


def ones_like(x, /, dtype=None, *, device: str | None = None, shape=None):
    """Ones with the shape and dtype of x.

    >>> gc.ones_like(gc.arange(2)).tolist()
    [1, 1]
    """
    return full_like(x, 1, dtype=dtype, device=device, shape=shape)


def empty_like(x, /, dtype=None, *, device: str | None = None, shape=None):
    """A tensor with the shape and dtype of x and unspecified values.

    >>> gc.empty_like(gc.arange(2)).shape
    (2,)
    """
    return full_like(x, 0, dtype=dtype, device=device, shape=shape)


# ------------------------------------------------------------------------------------------------------------ counting

def iota(n: int, axis: int = 0, ndim: int = 1, device: str | None = None) -> Tensor:
    """0, 1, ..., n-1 in int64 along one axis of ndim, the other axes having size 1."""
    device = None if device is None else record.device_name(device)
    counter = wrap(make(ops.IOTA, dtypes.int64, record.checked_size((n,), "arange"), device=device, site=user_site(2)))
    return reshape_to(counter, tuple(n if i == axis else 1 for i in range(ndim)))


def _real_number(value, name: str) -> None:
    if isinstance(value, Scalar):
        float(value)    # raises: how many numbers there are is part of the program
    if not isinstance(value, int | float):
        raise DTypeError(f"{value!r} is not a real number", op=name)
    if not math.isfinite(value):
        raise ArgumentError(f"{value} has no place in a row of numbers", op=name)


def arange(start, /, stop=None, step=1, *, dtype=None, device: str | None = None):
    """start, start + step, ... up to but without stop; `arange(n)` counts from 0.

    The dtype is int64 for integers and the default float otherwise. Raises ZeroDivisionError for step 0.

    >>> gc.arange(5).tolist(), gc.arange(1.0, 0.0, -0.25).tolist()
    ([0, 1, 2, 3, 4], [1.0, 0.75, 0.5, 0.25])
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = (v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (start, stop, step))
    for v in (start, stop, step):
        _real_number(v, "arange")
    whole = all(isinstance(v, int) for v in (start, stop, step))
    dtype = (dtypes.int64 if whole else default_float()) if dtype is None else as_dtype(dtype)
    n = max(-((start - stop) // step) if whole else math.ceil((stop - start) / step), 0)
    counter = iota(n, device=device)
    if whole and dtype.kind in "iu":
        return cast(_affine(counter, start, step), dtype)
    # As NumPy does it: in the dtype itself, with the step that separates the first two values.
    carried = dtype.accumulator if dtype.kind in "fc" else dtypes.float64
    first = carried.numpy.type(start)
    delta = carried.numpy.type(start + step) - first
    return cast(_affine(cast(counter, carried), first.item(), delta.item()), dtype)


def _affine(counter: Tensor, start, step) -> Tensor:
    """start + counter * step, without the operations that change nothing."""
    if step != 1:
        counter = multiply(counter, step)
    return counter if start == 0 else add(counter, start)


def linspace(start, stop, num: int = 50, *, dtype=None, device: str | None = None, endpoint: bool = True,
             retstep: bool = False, axis: int = 0):
    """num numbers at equal distances from start to stop, which is the last one if endpoint.

    start, stop: numbers, or arrays that broadcast: then the numbers between each two run along `axis` of the result.
    The dtype is the default float (complex if either is) unless given. retstep: (the numbers, their distance).

    >>> gc.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> gc.linspace([0, 10], 20, 3).tolist()
    [[0.0, 10.0], [10.0, 15.0], [20.0, 20.0]]
    """
    num = an_int(num, "linspace", "the number of samples")
    if num < 0:
        raise ArgumentError(f"the number of samples, {num}, must not be negative", op="linspace")
    start, stop = _end(start), _end(stop)
    is_complex = any(isinstance(v, complex) or isinstance(v, Tensor) and v.dtype.kind == "c" for v in (start, stop))
    carried = dtypes.complex128 if is_complex else dtypes.float64
    natural = dtypes.complex64 if is_complex and default_float() is dtypes.float32 else carried
    dtype = (natural if is_complex else default_float()) if dtype is None else as_dtype(dtype)
    intervals = num - 1 if endpoint else num
    delta = stop - start
    count = iota(num, 0, 1 + getattr(delta, "ndim", 0), device)
    step = delta / intervals if intervals > 0 else math.nan
    points = cast(count, carried)
    if intervals <= 0:
        points = multiply(points, delta)
    elif isinstance(step, Tensor):
        points = where(equal(step, 0), multiply(points / intervals, delta), multiply(points, step))
    else:       # a difference so small that the step underflows is scaled afterwards
        points = multiply(points, step) if step != 0 else multiply(points / intervals, delta)
    points = add(points, start)
    if endpoint and num > 1:
        points = where(equal(count, num - 1), stop, points)
    points = cast(floor(points) if dtype.kind in "iu" else points, dtype)
    if axis != 0:
        from graphc.api.manipulation import moveaxis
        points = moveaxis(points, 0, axis)
    return (points, step) if retstep else points


def _end(value):
    """One end of a linspace: a Python number, or a tensor of float64 or complex128."""
    if isinstance(value, Scalar):
        return asarray(value, dtypes.complex128 if isinstance(value.sample, complex) else dtypes.float64)
    if isinstance(value, (list, tuple, Tensor)) or getattr(value, "ndim", 0):
        value = as_tensor(value, None, "linspace")
        return cast(value, dtypes.complex128 if value.dtype.kind == "c" else dtypes.float64)
    value = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    if not isinstance(value, int | float | complex):
        raise DTypeError(f"{value!r} is not a number", op="linspace")
    return value


# --------------------------------------------------------------------------------------------------------- by position

def _grid(n_rows: int, n_cols: int | None, k: int, device: str | None, name: str) -> tuple[Tensor, Tensor, int]:
    """Counters of the rows and of the columns of a matrix, and the number of a diagonal."""
    rows, columns = a_shape((n_rows, n_rows if n_cols is None else n_cols), name)
    k = max(-rows, min(an_int(k, name, "k"), columns))     # beyond the corners it makes no difference
    return iota(rows, 0, 2, device), iota(columns, 1, 2, device), k


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype=None, *, device: str | None = None):
    """Ones on the k-th diagonal (above the main one if positive), zeros elsewhere.

    >>> gc.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows, columns, k = _grid(n_rows, n_cols, k, device, "eye")
    return cast(equal(add(rows, k), columns), _default(dtype))


identity = eye


def tri(n_rows: int, n_cols: int | None = None, k: int = 0, dtype=None, *, device: str | None = None):
    """Ones on and below the k-th diagonal, zeros above.

    >>> gc.tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    rows, columns, k = _grid(n_rows, n_cols, k, device, "tri")
    return cast(greater_equal(add(rows, k), columns), _default(dtype))


def _triangle(x, k: int, name: str, keep) -> Tensor:
    x = as_tensor(x, None, name)
    if x.ndim < 2:
        raise ShapeError(f"a matrix is needed, not shape {x.shape}", op=name, fix="give it at least two axes")
    rows, columns, k = _grid(*x.shape[-2:], k, None, name)
    return where(keep(columns, add(rows, k)), x, wrap(scalar(0, x.dtype, name) if x.dtype.kind != "b"
                                                      else scalar(False, x.dtype, name)))


def tril(x, /, k: int = 0):
    """x with zeros above the k-th diagonal of its last two axes. Raises ShapeError below two axes.

    >>> gc.tril(gc.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle(x, k, "tril", less_equal)


def triu(x, /, k: int = 0):
    """x with zeros below the k-th diagonal of its last two axes. Raises ShapeError below two axes.

    >>> gc.triu(gc.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _triangle(x, k, "triu", greater_equal)


def meshgrid(*arrays, indexing: str = "xy", sparse: bool = False) -> list:
    """Coordinate grids from 1-D coordinates: each of n arrays broadcast over n axes.

    indexing: "ij" gives shape (n0, n1, ...), "xy" swaps the first two axes. The dtypes must be equal. sparse: leave the
    other axes at size 1, as broadcasting takes them.

    >>> [g.tolist() for g in gc.meshgrid(gc.arange(2), gc.arange(3), indexing="ij")]
    [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"indexing {indexing!r} is unknown", op="meshgrid", fix="use 'xy' or 'ij'")
    tensors = [as_tensor(a, None, "meshgrid") for a in arrays]
    for t in tensors:
        if t.ndim > 1:
            raise ShapeError(f"coordinates must have one axis, not shape {t.shape}", op="meshgrid")
    places = list(range(len(tensors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = 1, 0
    shape = [1] * len(tensors)
    for t, place in zip(tensors, places, strict=True):
        shape[place] = t.size
    grids = [reshape_to(t, tuple(t.size if i == place else 1 for i in range(len(tensors))))
             for t, place in zip(tensors, places, strict=True)]
    return grids if sparse else [movement(ops.EXPAND, grid, tuple(shape)) for grid in grids]
