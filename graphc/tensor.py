"""Tensor: a handle on a node of the graph.

A Tensor has one slot of weight, `node`. Operations make new nodes and wrap them; nothing runs. Assignment
(`x[i] = v`, `x += 1`, `x.assign(z)`) makes a new node and rebinds the slot, so whatever was made from the old node
still sees the old values.

The operators and the NumPy/PyTorch methods are the API functions themselves, attached by the tables of
graphc/api/methods.py; this file holds what is special to the handle: construction, conversion to Python and NumPy,
and printing.
"""
from __future__ import annotations

import math
import operator
import sys
import threading
import types
import weakref
from collections.abc import Sequence

import numpy as np

from graphc import again, driver
from graphc.errors import ArgumentError, BackendError, DTypeError, GradientError, ShapeError, TruthValueError, user_site
from graphc.ir import dtype as dtypes
from graphc.ir.dtype import DType
from graphc.ir.node import Node, const_value, topological, untracked, variable
from graphc.ir.ops import ALIAS, CONST, EXPAND, PERMUTE, RESHAPE, SLICE

_VIEWS = frozenset((ALIAS, RESHAPE, PERMUTE, EXPAND, SLICE))

LEAF = 1    # the bit of Node.tracked for `requires_grad`; gc.grad and its relatives use the higher ones
levels: dict[int, list[Node]] = {}      # the bits in use, but for LEAF, each with its variables
handles: weakref.WeakKeyDictionary[Node, weakref.ref] = weakref.WeakKeyDictionary()  # variable -> whose .grad it fills


class _History(threading.local):
    paused = 0      # blocks of `no_grad` that this thread is in
    writes: list | None = None      # (tensor, its node before, where) while a body is traced; see api/called.py


history = _History()


def host_view(node: Node, copied: bool = True) -> np.ndarray | None:
    """The values of a node as a NumPy view of memory that exists already, or None where that needs a computation.

    Follows reshape, permute, expand and slice down to a realized leaf or a constant. The result shares its memory, or
    the host's copy of a device's memory; a small part of what is large there is better taken out by the device.
    `copied`: whether such a copy may be made for it.
    """
    with driver.lock:       # another thread may compute the node meanwhile, or write in place to this memory
        return _host_view(node, node.nbytes if copied else 0)


def _host_view(node: Node, wanted: int) -> np.ndarray | None:
    path = []
    while node.value is None and node.op in _VIEWS:
        path.append(node)
        node = node.srcs[0]
    if node.value is not None:
        array = node.value.array(node.dtype.numpy, node.shape, wanted)
        if array is None:
            return None
    elif node.op is CONST:
        array = np.asarray(const_value(node))
    else:
        return None
    for view in reversed(path):
        if view.op is RESHAPE:
            try:
                array = np.reshape(array, view.shape, copy=False)
            except ValueError:  # the strides don't allow it
                return None
        else:
            try:
                array = view.op.numpy(view.attrs, view.dtype, view.shape, array)
            except ValueError:  # more bytes than NumPy can count
                return None
    return array


def refuse_followed(node: Node, asked: str) -> None:
    """Before NumPy gets the values of a node: raises GradientError where gc.grad or a relative of it follows them, for
    what NumPy makes of them would be constants to it."""
    if node.tracked <= LEAF or node.dtype.kind not in "fc":
        return
    for bit, variables in list(levels.items()):
        if bit & node.tracked:      # perhaps of a level that has ended, and had the same bit
            below = topological([node], is_leaf=lambda n, bit=bit: not n.tracked & bit)
            if not set(variables).isdisjoint(below):
                raise GradientError("the values depend on what is differentiated; no gradient passes through NumPy",
                                    op=asked, fix="use graphc's functions, or t.detach() first where none is to pass")


class _Rebinding:
    """Told of tensors that have come to stand for another node, for those who watch them (graphc/tracing/steady.py).

    A watcher has two attributes: `rebound` changes whenever one of its tensors has been rebound, `steady` is what it
    knows of them, which is dropped then. So who has read `rebound`, then looked at the tensors, and finds it unchanged
    need not look again.
    """

    def __init__(self):
        self._watchers: dict[int, tuple[weakref.ref, ...]] = {}     # by the id of a tensor
        self._most = 1024           # ids, with which those of watchers that are gone are taken out

    def watch(self, watcher, tensors: Sequence[Tensor]) -> None:
        """For as long as the watcher lives, which holds the tensors. Under the lock over graphs."""
        if len(self._watchers) > self._most:
            alive = {k: tuple([r for r in found if r() is not None]) for k, found in self._watchers.items()}
            self._watchers = {k: found for k, found in alive.items() if found}
            self._most = 2 * len(self._watchers) + 1024
        reference = weakref.ref(watcher)
        for tensor in tensors:
            self._watchers[id(tensor)] = (*self._watchers.get(id(tensor), ()), reference)

    def of(self, tensor: Tensor, but=None) -> None:
        """A tensor stands for another node, or for other values, from now on. but: who knows already."""
        for reference in self._watchers.get(id(tensor), ()):
            watcher = reference()
            if watcher is not None and watcher is not but:
                watcher.rebound += 1
                watcher.steady = None


rebinding = _Rebinding()


class Tensor:
    """A lazy array: shape, dtype and how to compute it.

    `Tensor(obj, dtype=None, device=None, copy=None)` is `graphc.asarray`; requires_grad=True makes it a variable that
    `backward` computes the gradient of.

    >>> import graphc as gc
    >>> t = gc.Tensor([1, 2, 3]) * 2
    >>> t.shape, t.dtype
    ((3,), graphc.int64)
    >>> t.tolist()
    [2, 4, 6]
    """

    __slots__ = ("node", "_grad", "_frozen", "__weakref__")

    node: Node

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method: str, *inputs, out=None, **options):
        """NumPy's elementwise functions of tensors are graphc's: np.exp(t) and array + t are recorded. An array that
        NumPy writes into, as in `array += t`, gets the values."""
        if out is not None and all(isinstance(array, np.ndarray) for array in out):
            return getattr(ufunc, method)(*(np.asarray(x) for x in inputs), out=out, **options)
        function = getattr(self.__array_namespace__(), ufunc.__name__, None)
        if function is None or method != "__call__" or out is not None or options:
            name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
            raise DTypeError(f"{name}{' with ' + ', '.join(options) if options else ''} does not take tensors", op=name,
                             fix="use a function of graphc's, or give it np.asarray(t)")
        return function(*inputs)

    def __init__(self, obj, dtype=None, device=None, copy=None, requires_grad=False):
        from graphc.api.creation import asarray
        self.node = asarray(obj, dtype=dtype, device=device, copy=copy).node
        if requires_grad:
            self.requires_grad = True

    # ---- what is known without computing

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> DType:
        return self.node.dtype

    @property
    def ndim(self) -> int:
        return len(self.node.shape)

    @property
    def size(self) -> int:
        return math.prod(self.node.shape)

    @property
    def itemsize(self) -> int:
        return self.node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.node.nbytes

    @property
    def device(self) -> str:
        """Where the values live or will live. A constant is at home on every device and reports the default one."""
        if self.node.device is None:
            return driver.default_device()
        return self.node.device

    def __contains__(self, value) -> bool:
        return bool((self == value).any())

    def __len__(self) -> int:
        if not self.node.shape:
            raise DTypeError("len() of a 0-d tensor", op="len", fix="use t.size")
        return self.node.shape[0]

    def __iter__(self):
        """Rows along axis 0, as views. Iterating realizes nothing, unless rows are realized one by one: then the whole
        is, with the second of them."""
        if not self.node.shape:
            raise DTypeError("a 0-d tensor can't be iterated over", op="iter", fix="use t.item()")
        return self._rows()

    def _rows(self):
        for i in range(self.node.shape[0]):
            row = self[i]
            yield row
            if i == 1 and (row.node.value is not None or row.node.met):
                self.realize()

    __hash__ = object.__hash__  # == is elementwise; a handle is itself, so that it can be a key

    # ---- values: these realize

    def realize(self) -> Tensor:
        """Compute the values now, unless they exist. Returns the tensor itself."""
        if self.node.value is None:
            driver.realize((self.node,))
        return self

    def numpy(self) -> np.ndarray:
        """The values as a read-only NumPy array without a copy; realizes if needed.

        A reshape, transpose or slice of realized values is read in place and launches nothing. Raises GradientError
        inside of what gc.grad, vjp or jvp differentiates, for values that depend on its arguments.

        >>> import graphc as gc
        >>> gc.arange(3).numpy()
        array([0, 1, 2])
        """
        refuse_followed(self.node, "numpy")
        return self._array("numpy")

    def _array(self, asked: str) -> np.ndarray:
        """asked: by which name, for the error where the values can't be had."""
        node = self.node        # another thread may assign to this handle meanwhile
        array = host_view(node)
        if array is None:
            driver.realize((node,), asked)
            array = host_view(node)
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return array

    def __bytes__(self) -> bytes:
        """The values as they lie in memory, row by row."""
        return self.numpy().tobytes()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ArgumentError(f"a {array.dtype} tensor can't be seen as {np.dtype(dtype)} without a copy",
                                    op="__array__", fix="leave copy=None")
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self, *index: int):
        """The only element as a Python number, or the one at an index, as in NumPy: t.item(3), t.item(1, 2) or
        t.item((1, 2)).

        Raises ShapeError if there is not one element, IndexOutOfRange for a bad index.
        """
        if len(index) == 1 and isinstance(index[0], tuple):
            index, = index
        if not index:
            return self._scalar("item").item()
        return (self.reshape(-1)[index[0]] if len(index) == 1 else self[index]).item()

    def tolist(self):
        """The values as nested lists of Python numbers."""
        return self._array("tolist").tolist()

    def _scalar(self, name: str) -> np.ndarray:
        if self.size != 1:
            raise ShapeError(f"a tensor of shape {self.shape} is not one number", op=name,
                             fix="index one element, or reduce it first, e.g. t.sum()")
        return self._array(name).reshape(())

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.node.dtype.kind not in "iu":
            raise DTypeError(f"a {self.dtype} tensor can't be an index", op="index", fix="use an integer dtype")
        return operator.index(self._scalar("index").item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise TruthValueError(f"the truth value of a tensor of shape {self.shape} is ambiguous", op="bool",
                                  fix="use t.any() or t.all()")
        return bool(self._scalar("bool"))

    # ---- handle

    def assign(self, value) -> Tensor:
        """Let this handle stand for `value`, which is broadcast to its shape and cast to its dtype.

        What was computed from the old value still sees the old value. Returns the tensor itself.

        >>> import graphc as gc
        >>> x = gc.zeros(2)
        >>> y = x + 1
        >>> x.assign([5.0, 6.0]).tolist(), y.tolist()
        ([5.0, 6.0], [1.0, 1.0])
        """
        from graphc.api.record import as_tensor, cast, expand_to
        value = cast(as_tensor(value, like=self), self.dtype)
        self.rebind(expand_to(value, self.shape, "assign").node)
        return self

    def rebind(self, node: Node) -> None:
        """Let this handle stand for another node of its shape and dtype. A variable stays one."""
        if history.writes is not None:
            history.writes.append((self, self.node, user_site()))
        else:
            again.note(self)
        if history.paused:
            node = untracked(node)
        if self.is_variable:
            if node.tracked & LEAF:
                raise GradientError("a tensor that requires a gradient is changed in place by values that depend on "
                                    "such a tensor", op="assign", fix="do it in `with gc.no_grad():`")
            self.node = node
            self.requires_grad = True
        else:
            self.node = node
        rebinding.of(self)

    # ---- gradients

    @property
    def is_variable(self) -> bool:
        """Is this a tensor that was told `requires_grad = True`, and so has a `.grad` of its own?"""
        return bool(self.node.tracked & LEAF) and self.node in handles

    @property
    def is_parameter(self) -> bool:
        """Is this a variable, or was it one until it was frozen by `requires_grad = False`?"""
        return self.is_variable or getattr(self, "_frozen", False)

    @property
    def requires_grad(self) -> bool:
        """Does `backward` reach a variable from here? Set it to make this tensor a variable, or no longer one."""
        return bool(self.node.tracked)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not wanted:
            if self.is_variable:
                self._frozen = True
            self.node = untracked(self.node, LEAF)
        elif not self.node.tracked & LEAF:
            if self.node.dtype.kind not in "fc":
                raise DTypeError(f"a {self.dtype} tensor has no gradient", op="requires_grad",
                                 fix="use a floating-point or complex dtype")
            self.node = variable(self.node, LEAF)
            handles[self.node] = weakref.ref(self)
        rebinding.of(self)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`, as PyTorch spells it. Returns the tensor itself."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """What `backward` has added up for this variable; None before."""
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise DTypeError(f"a gradient is a tensor or None, not a {type(value).__name__}", op="grad",
                                 fix="assign gc.asarray(gradient)")
            if value.shape != self.shape:
                raise ShapeError(f"a gradient of shape {value.shape} for a tensor of shape {self.shape}", op="grad")
        self._grad = value

    def backward(self, gradient=None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """See `graphc.backward`."""
        import graphc
        graphc.backward(self, gradient, retain_graph, create_graph)

    def detach(self) -> Tensor:
        """The same values without their history: no gradient passes.

        >>> import graphc as gc
        >>> x = gc.Tensor([2.0, 3.0], requires_grad=True)
        >>> (x * x.detach()).sum().backward()
        >>> x.grad.tolist()
        [2.0, 3.0]
        """
        from graphc.api.record import wrap
        return wrap(untracked(self.node))

    def to(self, device: str) -> Tensor:
        """This tensor on another device; itself where it is there already. Raises BackendError for what is none."""
        from graphc.api.record import to_device
        try:
            return to_device(self, device)
        except BackendError as error:
            dtype = dtypes.named(device)
            if dtype is None:
                raise
            raise BackendError(f"{device!r} is a dtype, and no device", op="to",
                               fix=f"write x.astype(gc.{dtype})") from error

    def to_device(self, device: str, /, *, stream=None) -> Tensor:
        """As `to`, by its name in the Array API. Streams are not offered."""
        if stream is not None:
            raise ArgumentError("graphc has no streams", op="to_device", fix="leave stream=None")
        return self.to(device)

    # ---- interchange

    def __array_namespace__(self, *, api_version: str | None = None):
        import graphc
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ArgumentError(f"Array API version {api_version!r} is unknown", op="__array_namespace__",
                                fix=f"use {graphc.__array_api_version__!r}")
        return graphc

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule that shares the (read-only) values, or a copy of them: in the device's memory where that can
        be shared and dl_device does not ask for the host, (1, 0)."""
        refuse_followed(self.node, "__dlpack__")
        lender = driver.lender(self.node.device)
        if lender is not None and dl_device != (1, 0):
            driver.realize((self.node,), "__dlpack__")
            if self.node.value is not None:     # a constant has none
                return lender.lend(self.node.value, self.node.dtype.numpy, self.shape, bool(copy), stream=stream,
                                   max_version=max_version)
        array = self.numpy()
        if copy or max_version is None or max_version[0] < 1:
            # Before DLPack 1.0 a capsule could not say that it is read-only, and NumPy refuses to make one.
            array = array.copy()
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        lender = None if self.node.op is CONST else driver.lender(self.node.device)
        return (1, 0) if lender is None else lender.dlpack_device

    def __reduce__(self):
        return _from_pickle, (np.array(self._array("pickle")), self.dtype, self.is_variable, self.is_parameter)

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo) -> Tensor:
        """A new handle on the same node: values never change, so there is nothing to copy. That of a variable is a
        variable of its own, as the copy of a model must be."""
        from graphc.api.record import wrap
        if not self.is_parameter:
            return wrap(self.node)
        copied = wrap(untracked(self.node, LEAF)).requires_grad_().requires_grad_(self.is_variable)
        copied.grad = self.grad if self.grad is None else wrap(self.grad.node)
        return copied

    # ---- printing: shows values, so it realizes

    def __repr__(self) -> str:
        if not self.size:
            return f"Tensor([], shape={self.shape}, dtype={self.dtype})"
        body = np.array2string(_printable(self), separator=", ", prefix="Tensor(")
        return f"Tensor({body}, dtype={self.dtype})"

    def __str__(self) -> str:
        return str(_printable(self))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)


class _Called(types.ModuleType):
    """This module, as `graphc.tensor`: in PyTorch that is a function."""

    def __call__(self, *args, **kwargs):
        raise DTypeError("graphc.tensor is a module, and no function", op="tensor",
                         fix="write gc.asarray(values, dtype), or gc.Tensor(values, dtype, requires_grad=True)")


sys.modules[__name__].__class__ = _Called


def _printable(tensor: Tensor) -> np.ndarray:
    array = tensor._array("print")
    return array.astype(np.float32) if tensor.dtype is dtypes.bfloat16 else array


def _from_pickle(array: np.ndarray, dtype: DType, requires_grad: bool = False, parameter: bool = False) -> Tensor:
    array.flags.writeable = False
    found = Tensor(array, dtype=dtype, requires_grad=requires_grad or parameter)
    return found.requires_grad_(requires_grad)
