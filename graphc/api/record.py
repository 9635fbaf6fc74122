"""The recording layer: every API function ends here, and nothing here computes.

A call checks its operands (dtypes, shapes, devices: so that a mistake is reported at the call), inserts the casts of
NumPy 2 promotion, notes the user's site and makes one node. Elementwise operations broadcast implicitly: their sources
keep their own shapes, a scalar constant keeps shape ().
"""
from __future__ import annotations

import functools
import operator
from math import prod
from mmap import mmap

import numpy as np

from graphc import driver
from graphc.api.laziness import SHORTEST, alarm, check, check_leaves
from graphc.api.numbers import PYTHON_SCALARS, cached_scalars, fits, scalar, weak_dtype
from graphc.errors import (
    ArgumentError, AxisError, BackendError, DTypeError, IntegerOverflow, ShapeError, TracerError, user_site,
)
from graphc.ir import dtype as dtypes
from graphc.ir import ops
from graphc.ir.dtype import DType, as_dtype, promote
from graphc.ir.node import Node, buffer, const, interned, make
from graphc.ir.ops import Op
from graphc.runtime.buffers import Export, pool
from graphc.tensor import Tensor
from graphc.tracing import Scalar, current

# `user_site(2)` below: a record function and the API function that called it lie between user_site and the user. A
# composite adds frames, which user_site then skips one by one.

_blank = object.__new__


def wrap(node: Node) -> Tensor:
    """A new handle on a node."""
    tensor = _blank(Tensor)
    tensor.node = node
    if node.depth >= SHORTEST or len(interned) > alarm.nodes:
        check(tensor)
    return tensor


def anew(x: Tensor) -> Tensor:
    """x under a handle of its own. What a function returns is never its argument: writing to one leaves the other."""
    tensor = _blank(Tensor)
    tensor.node = x.node
    return tensor


# ------------------------------------------------------------------------------------------------------ into tensors

def as_tensor(x, like: Tensor | None = None, name: str = "asarray", floats: bool = False) -> Tensor:
    """x as a Tensor. A Python number beside `like` takes its dtype weakly (NEP 50); arrays are copied, see asarray.

    floats: take Python integers that fit no integer dtype as float64, as `like` does if it has floats; else they raise.
    """
    if isinstance(x, Tensor):
        return x
    if x.__class__ in PYTHON_SCALARS:
        dtype = weak_dtype(x, None if like is None else like.node.dtype)
        if floats and x.__class__ is int and dtype is dtypes.int64 and not fits(x, dtype):
            dtype = dtypes.float64
        return wrap(scalar(x, dtype, name))
    if isinstance(x, np.generic):
        return wrap(const(x, numpy_dtype(x.dtype, name)))
    if isinstance(x, (list, tuple)) and holds_recorded(x):
        from graphc.api.creation import stacked
        return stacked(x, None, name)
    floats = floats or like is not None and like.node.dtype.kind in "fc"
    return from_numpy(to_array(x, name, floats), name=name)


def as_float(x, name: str) -> Tensor:
    """x as real or complex floats: integers and bool become the default float, as in NumPy."""
    x = wrap(scalar(x, dtypes.default_float(), name)) if x.__class__ is int else as_tensor(x, None, name, floats=True)
    return cast(x, dtypes.default_float()) if x.node.dtype.kind in "biu" else x


def to_array(x, name: str = "asarray", floats: bool = False) -> np.ndarray:
    """Anything array-like as a NumPy array of a dtype that graphc has; floats: see `as_tensor`."""
    if isinstance(x, np.ndarray):
        return x if x.__class__ is np.ndarray else dtypes.unmasked(x, name)
    if hasattr(x, "__dlpack__") and (not hasattr(x, "__array__") or str(x.dtype) == "torch.bfloat16"):
        return of_dlpack(x)
    try:
        array = np.asarray(_nested(x))
    except (ValueError, TypeError) as error:  # ragged nesting, or an object that NumPy can't convert
        raise DTypeError(f"{type(x).__name__} can't become a tensor: {error}", op=name) from None
    if array.dtype == object:
        array = _of_objects(array, type(x).__name__, name, floats)
    if not array.size and array.dtype == np.float64:
        return array.astype(dtypes.default_float().numpy)
    return array


def of_dlpack(x) -> np.ndarray:
    """What lends its values by DLPack. NumPy has no name for torch's bfloat16: its values go by float32."""
    if str(getattr(x, "dtype", "")) == "torch.bfloat16":
        return np.asarray(x.cpu().float()).astype(dtypes.bfloat16.numpy)
    return np.from_dlpack(x)


def _of_objects(array: np.ndarray, kind: str, name: str, floats: bool) -> np.ndarray:
    """What NumPy took for objects: integers of more than 64 bits, where floats are beside them or are wanted; all else
    raises."""
    kinds = {type(item) for item in array.flat}
    if kinds and kinds <= _NUMBERS and (floats or kinds & {float, complex}):
        try:
            return array.astype(np.complex128 if complex in kinds else np.float64)
        except OverflowError as error:
            raise IntegerOverflow(str(error), op=name) from None
    if Scalar in kinds:
        raise TracerError(f"{kind} holds a number that is an argument of a jitted function", op=name,
                           fix="join such numbers by gc.stack, or name the argument in static_argnums")
    if kinds and kinds <= {bool, int}:
        raise IntegerOverflow(f"integers from {min(array.flat)} to {max(array.flat)} do not fit any dtype", op=name,
                               fix="pass floats")
    raise DTypeError(f"{kind} can't become a tensor: its elements are not numbers", op=name,
                     fix="pass numbers, nested lists of numbers, or an array")


_NUMBERS = frozenset((bool, int, float, complex))


def holds_recorded(x, depth: int = 0) -> bool:
    """Whether nested lists hold tensors that are more than their values: not computed yet, what a gradient may be
    taken of, what a traced function reads."""
    if isinstance(x, Tensor):
        return x.node.value is None or bool(x.node.tracked) or current() is not None
    if not isinstance(x, (list, tuple)):
        return x.__class__ is Scalar
    return depth < MOST_AXES and not _NUMBERS.issuperset(map(type, x)) and any(
        holds_recorded(item, depth + 1) for item in x)


def _nested(x, depth: int = 0):
    """Lists that hold tensors: their values, because NumPy would ask them element by element."""
    if isinstance(x, (list, tuple)):
        if depth == MOST_AXES:
            raise ValueError(f"lists are nested more than {MOST_AXES} deep")
        return [_nested(item, depth + 1) for item in x]
    return x.numpy() if isinstance(x, Tensor) else x


def numpy_dtype(dtype: np.dtype, name: str) -> DType:
    found = dtypes.of_numpy(dtype)
    if found is None:
        raise DTypeError(f"arrays of {dtype} are not supported", op=name,
                         fix="convert it first; graphc has " + ", ".join(d.name for d in dtypes.ALL))
    return found


def from_numpy(array: np.ndarray, *, dtype: DType | None = None, copy: bool | None = None, device: str | None = None,
               name: str = "asarray") -> Tensor:
    """A leaf over a NumPy array.

    copy=None: copies now what may still be written to, aliases a read-only contiguous array. copy=False: aliases, or
    raises ValueError where that is impossible. copy=True: copies.
    """
    source = numpy_dtype(array.dtype, name)
    dtype = dtype or source
    alias = dtype is source and array.dtype.isnative and array.flags.c_contiguous and array.flags.aligned
    if copy is False and not alias:
        raise ArgumentError("a copy is needed: the array is not contiguous or has another dtype", op=name,
                            fix="leave copy=None, or pass np.ascontiguousarray(a)")
    if copy is False or (copy is None and alias and _is_frozen(array)):
        copy = False
    else:
        copy = True
        if not alias:
            with np.errstate(all="ignore"):
                array, copy = np.array(array, dtype=dtype.numpy, order="C"), False
    device = driver.default_device() if device is None else device_name(device)
    leaf = buffer(dtype, array.shape, driver.from_numpy(array, device, copy=copy), device, user_site(2))
    if pool.in_use > alarm.bytes:
        check_leaves(leaf)
    return wrap(leaf)


def _is_frozen(array) -> bool:
    """Whether nobody can write to these values, also not through what this array is a view of: an array, bytes, a file
    mapped to be read, or memory of graphc's. Of anything else that is not known."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    if isinstance(array, mmap):
        return memoryview(array).readonly
    return array is None or isinstance(array, (bytes, Export))


# -------------------------------------------------------------------------------------------------------- elementwise

# What a binary op does with two dtypes: (the dtype both are cast to, the dtype of the result). Filled at first use.
_BINARY: dict[tuple[Op, DType, DType], tuple[DType, DType]] = {}
_UNARY: dict[tuple[Op, DType], DType] = {}


def binary(op: Op, a, b, name: str) -> Tensor:
    """Record an elementwise op of two operands; at least one is a Tensor, the other may be anything array-like."""
    if a.__class__ is Tensor and b.__class__ is Tensor:
        na, nb = a.node, b.node
    else:
        na, nb = operands(a, b, name)
    common, result = _BINARY.get((op, na.dtype, nb.dtype)) or _plan_binary(op, na.dtype, nb.dtype, name)
    if na.dtype is not common:
        na = _cast(na, common)
    if nb.dtype is not common:
        nb = _cast(nb, common)
    shape = na.shape
    if nb.shape != shape and nb.shape:
        shape = (_together(shape, nb.shape) or broadcast_shapes(name, shape, nb.shape)) if shape else nb.shape
    device = na.device
    if nb.device is not device and nb.device is not None:
        device = nb.device if device is None else common_device(name, na, nb)
    tensor = _blank(Tensor)  # as `wrap`, without its call
    tensor.node = node = make(op, result, shape, (na, nb), (), device=device, site=user_site(2))
    if node.depth >= SHORTEST or len(interned) > alarm.nodes:
        check(tensor)
    return tensor


def operands(a, b, name: str) -> tuple[Node, Node]:
    """Two operands of which any may be a Python number, taken weakly beside the other."""
    if a.__class__ is Tensor:       # the commonest cases first
        na = a.node
        if b.__class__ is Tensor:
            return na, b.node
        if b.__class__ is float and na.dtype.kind == "f" or b.__class__ is int and na.dtype.kind in "iuf":
            return na, cached_scalars.get((na.dtype, b)) or scalar(b, na.dtype, name)
    elif b.__class__ is Tensor:
        nb = b.node
        if a.__class__ is float and nb.dtype.kind == "f" or a.__class__ is int and nb.dtype.kind in "iuf":
            return cached_scalars.get((nb.dtype, a)) or scalar(a, nb.dtype, name), nb
    if a.__class__ in PYTHON_SCALARS and b.__class__ not in PYTHON_SCALARS:
        nb, na = _beside(as_tensor(b, None, name), a, name)
        return na, nb
    a = as_tensor(a, None, name)
    return _beside(a, b, name) if b.__class__ in PYTHON_SCALARS else (a.node, as_tensor(b, None, name).node)


def _beside(x: Tensor, value, name: str) -> tuple[Node, Node]:
    """A tensor and a Python number. Where the number decides the kind, integers become the default float with it."""
    dtype = weak_dtype(value, x.node.dtype)
    if dtype is dtypes.float32 and x.node.dtype.kind in "iu":
        x = cast(x, dtype)
    return x.node, scalar(value, dtype, name)


def _plan_binary(op: Op, a: DType, b: DType, name: str) -> tuple[DType, DType]:
    common = promote(a, b)
    check_dtype(op, common, name)
    plan = _BINARY[op, a, b] = common, op.result(common, common)
    return plan


def deciding(x: Tensor, name: str, fix: str) -> np.ndarray:
    """The values of x, which decide the size of a result. Where they are not known, the error says what to do."""
    try:
        return x._array(name)
    except TracerError as error:
        raise TracerError(f"data decide the size of the result: {error.message}", op=name, fix=fix) from None


def check_dtype(op: Op, dtype: DType, name: str) -> None:
    if dtype.kind not in op.dtypes:
        kinds = {"b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "real floating", "c": "complex"}
        raise DTypeError(f"{dtype} is not supported", op=name,
                         fix="use a dtype of kind " + ", ".join(kinds[k] for k in op.dtypes))


def unary(op: Op, x, name: str) -> Tensor:
    """Record an elementwise op of one operand."""
    node = x.node if x.__class__ is Tensor else as_tensor(x, None, name).node
    result = _UNARY.get((op, node.dtype))
    if result is None:
        check_dtype(op, node.dtype, name)
        result = _UNARY[op, node.dtype] = op.result(node.dtype)
    return wrap(make(op, result, node.shape, (node,), (), device=node.device, site=user_site(2)))


def elementwise(op: Op, name: str, *tensors: Tensor, dtype: DType | None = None, attrs: tuple = ()) -> Tensor:
    """Record an elementwise op of any number of Tensors that have the right dtypes already (WHERE, THREEFRY, ...)."""
    return elementwise_of(op, name, tuple([t.node for t in tensors]), dtype, attrs)


def elementwise_of(op: Op, name: str, nodes: tuple[Node, ...], dtype: DType | None = None, attrs: tuple = ()) -> Tensor:
    """The same of nodes."""
    shapes = {n.shape for n in nodes if n.shape}
    shape = broadcast_shapes(name, *[n.shape for n in nodes]) if len(shapes) > 1 else shapes.pop() if shapes else ()
    dtype = dtype or op.result(*[n.dtype for n in nodes])
    return wrap(make(op, dtype, shape, nodes, attrs, device=common_device(name, *nodes), site=user_site(2)))


def cast(x: Tensor, dtype: DType) -> Tensor:
    """x in another dtype; the same node, under a new handle, where it has it already."""
    return anew(x) if x.node.dtype is dtype else wrap(_cast(x.node, dtype))


def _cast(node: Node, dtype: DType) -> Node:
    return make(ops.CAST, dtype, node.shape, (node,), (), device=node.device, site=user_site(3))


@functools.lru_cache(maxsize=4096)
def _together(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two broadcast to; None if they don't, for `broadcast_shapes` to say why."""
    try:
        return broadcast_shapes("", a, b)
    except ShapeError:
        return None


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to. Raises ShapeError, which names the op and every shape."""
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if n != 1:
                if result[i] != 1 and result[i] != n:
                    raise ShapeError(f"shapes {_list(shapes)} do not broadcast: {result[i]} is not {n}", op=name,
                                     fix="sizes along an axis, counted from the right, must be equal or 1")
                result[i] = n
    return checked_size(tuple(result), name)


MOST_AXES = 64                  # as in NumPy
MOST_ELEMENTS = 2**59 - 1       # so that positions count the bytes of every dtype in an int64


def checked_size(shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """The shape. Raises ShapeError for more axes or elements than a tensor can have, computed or not."""
    if len(shape) > MOST_AXES:
        raise ShapeError(f"{len(shape)} axes are more than the {MOST_AXES} that a tensor can have", op=name)
    if prod(shape) > MOST_ELEMENTS:
        raise ShapeError(f"shape {shape} has {prod(shape):,} elements, and a tensor at most {MOST_ELEMENTS:,}", op=name)
    return shape


def _list(shapes) -> str:
    return " and ".join(map(str, shapes)) if len(shapes) < 3 else ", ".join(map(str, shapes))


def common_device(name: str, *nodes: Node) -> str | None:
    """The device of the sources; None if all are constants. Mixing raises."""
    found = None
    for node in nodes:
        if node.device != found and node.device is not None:
            if found is not None:
                devices = sorted({n.device for n in nodes if n.device is not None})
                raise BackendError(f"operands are on different devices: {', '.join(devices)}", op=name,
                                   fix=f"move one, e.g. x.to({devices[0]!r})")
            found = node.device
    return found


def device_name(device: str) -> str:
    """The proper name of a device, of which some have several. Raises BackendError if it is absent or unknown."""
    return driver.backend_of(device).name


def from_device(x, dtype: DType | None, copy: bool | None, device: str | None, name: str) -> Tensor | None:
    """A leaf over an array that lies in a device's memory, as DLPack says; None if it lies on the host.

    It is copied, unless copy=False; then its owner must not write to it.
    """
    kind = HOST if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack_device__") else int(x.__dlpack_device__()[0])
    if kind in (HOST, PINNED):
        return None
    home, memory, found, shape = driver.from_device(x, kind, copy is not False)
    own = numpy_dtype(found, name)
    leaf = wrap(buffer(own, shape, memory, home, user_site(2)))
    result = leaf if dtype in (None, own) else cast(leaf, dtype)
    return result if device is None else to_device(result, device)


HOST, PINNED = 1, 3     # kinds of devices in DLPack's header


def to_device(x: Tensor, device: str) -> Tensor:
    """x on a device: the move is a realized copy through the host."""
    device = device_name(device)
    if x.node.device is None or x.node.device == device:
        return x
    return from_numpy(x.numpy(), device=device, name="to")


# ----------------------------------------------------------------------------------------------------------- movement

def movement(op: Op, x: Tensor, shape: tuple[int, ...], attrs: tuple = ()) -> Tensor:
    """Record a movement op. A reshape, permute, expand or slice that changes nothing makes no node."""
    node = x.node
    if shape == node.shape and _changes_nothing(op, attrs):
        return anew(x)
    if op in _GROWING or len(shape) > MOST_AXES:
        checked_size(shape, op.name)
    tensor = _blank(Tensor)  # as `wrap`, without its call
    tensor.node = node = make(op, node.dtype, shape, (node,), attrs, device=node.device, site=user_site(2))
    if node.depth >= SHORTEST or len(interned) > alarm.nodes:
        check(tensor)
    return tensor


_GROWING = frozenset((ops.EXPAND, ops.PAD, ops.WINDOW))     # what may have more elements than its source


def _changes_nothing(op: Op, attrs: tuple) -> bool:
    """Of a movement op whose result has the shape of its source."""
    if op is ops.RESHAPE or op is ops.EXPAND:
        return True
    if op is ops.PERMUTE:
        return attrs[0] == tuple(range(len(attrs[0])))
    return op is ops.SLICE and not any(attrs[0]) and attrs[1] == (1,) * len(attrs[1])


def reshape_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """RESHAPE to a shape of the same size, already checked."""
    return movement(ops.RESHAPE, x, shape)


def expand_to(x: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    """x broadcast to exactly this shape. Raises ShapeError."""
    own = x.node.shape
    if own == shape:
        return anew(x)
    if (_together(own, shape) or broadcast_shapes(name, own, shape)) != shape:
        raise ShapeError(f"shape {own} does not broadcast to {shape}", op=name)
    if len(own) != len(shape):
        x = reshape_to(x, (1,) * (len(shape) - len(own)) + own)
    return movement(ops.EXPAND, x, shape)


def filled(shape: tuple[int, ...], value, dtype: DType) -> Tensor:
    """One value all over."""
    return expand_to(wrap(const(value, dtype)), shape, "full")


# --------------------------------------------------------------------------------------------------------- reductions

def normalize_axis(axis, ndim: int, name: str) -> int:
    """An axis as 0 .. ndim-1. Raises AxisError."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise DTypeError(f"axis must be an integer, not {axis!r}", op=name) from None
    if not -ndim <= index < ndim:
        raise AxisError(f"axis {index} is out of range for an array of {ndim} dimensions", op=name,
                        fix=f"use {-ndim} to {ndim - 1}" if ndim else "a 0-d array has no axes: leave axis=None")
    return index + ndim if index < 0 else index


def normalize_axes(axis, ndim: int, name: str) -> tuple[int, ...]:
    """None, an axis or several as a sorted tuple. Raises AxisError, also for an axis given twice."""
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int and 0 <= axis < ndim:
        return (axis,)
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(axis, ndim, name),)
    axes = sorted(normalize_axis(a, ndim, name) for a in axis)
    if len(set(axes)) != len(axes):
        raise AxisError(f"an axis is given twice in {tuple(axis)}", op=name)
    return tuple(axes)


@functools.lru_cache(maxsize=256)
def _runs(axes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Sorted axes as half-open runs of adjacent ones."""
    runs: list[tuple[int, int]] = []
    for axis in axes:
        if runs and runs[-1][1] == axis:
            runs[-1] = runs[-1][0], axis + 1
        else:
            runs.append((axis, axis + 1))
    return tuple(runs)


_NO_IDENTITY = frozenset((ops.MAX, ops.MIN))
_WIDENING = frozenset((ops.SUM, ops.PROD))


def reduce(op: Op, x, axis=None, keepdims: bool = False, dtype=None, name: str | None = None) -> Tensor:
    """Record a reduction over one axis, several or (None) all of them.

    Adjacent axes are first made one by a reshape; of several such runs the last goes first. Sums and products of bool
    and integers narrower than 64 bits are carried in int64 or uint64, as in NumPy, unless dtype is given.
    """
    name = name or op.name
    x = as_tensor(x, None, name)
    shape = x.node.shape
    axes = normalize_axes(axis, len(shape), name)
    if op in _NO_IDENTITY and 0 in [shape[i] for i in axes]:
        raise ShapeError(f"zero elements along the reduced axes of shape {shape} have no {op.name}", op=name)
    if dtype is not None:
        x = cast(x, as_dtype(dtype))
    elif op in _WIDENING and x.dtype.kind in "biu":
        x = cast(x, dtypes.uint64 if x.dtype.kind == "u" else dtypes.int64)
    check_dtype(op, x.dtype, name)
    result = x.dtype
    runs = _runs(axes)
    if len(runs) > 1:
        x = cast(x, result.accumulator)  # so that the partial results are not rounded
        if op is ops.M2:  # deviations from one mean: the runs can't be reduced one after the other
            x, runs = _gather_axes(x, axes)
    for start, stop in reversed(runs):
        x = _reduce_run(op, x, start, stop)
    if x.node.dtype is not result or not runs:
        x = cast(x, result)
    if keepdims:
        return reshape_to(x, tuple([1 if i in axes else n for i, n in enumerate(shape)]))
    return x


def _reduce_run(op: Op, x: Tensor, start: int, stop: int) -> Tensor:
    shape = x.node.shape
    rest = shape[stop:]
    if rest and rest == (1,) * len(rest):       # the elements are neighbours in memory: a reduction of rows
        return reshape_to(_reduce_run(op, x, start, len(shape)), shape[:start] + rest)
    if stop - start != 1:
        x = reshape_to(x, (*shape[:start], prod(shape[start:stop]), *rest))
    node = x.node
    order = "outer" if rest else "inner"
    shape = shape[:start] + rest
    return wrap(make(op, node.dtype, shape, (node,), (start, order), device=node.device, site=user_site(3)))


def _gather_axes(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, list[tuple[int, int]]]:
    """x with these axes moved to the end, and the run they form there."""
    order = tuple(i for i in range(x.ndim) if i not in axes) + axes
    x = movement(ops.PERMUTE, x, tuple(x.shape[i] for i in order), (order,))
    return x, [(x.ndim - len(axes), x.ndim)]
