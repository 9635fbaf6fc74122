"""What a jitted function is recorded with: every tensor of the caller's stands for a placeholder meanwhile.

A `Trace` watches the slots of a Tensor, `node` and its gradient. A tensor that was there before, an argument as well as
one that the function closes over, shows a placeholder to the thread that traces; what is assigned to it is kept in the
trace and not in the tensor. So other threads see no change, an exception leaves nothing behind, and it is known
afterwards which tensors were read and which got new values: registers are handles, not values.

A Python number that is an argument becomes a `Scalar`. Arithmetic of Scalars is written down and done again by Python
at every call, so it has Python's bits; where a Scalar meets a tensor it is a parameter of the program, weakly typed as
the number would be.
"""
from __future__ import annotations

import functools
import itertools
import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from graphc import driver
from graphc.canonical import is_exponent
from graphc.errors import TracerError
from graphc.ir import dtype as dt
from graphc.ir.body import LOOPED
from graphc.ir.dtype import DType
from graphc.ir.node import Node, buffer, make, topological
from graphc.ir.ops import BUFFER, CAST, CONST, PARAM
from graphc.tensor import Tensor
from graphc.tensor import handles as variables
from graphc.tracing.places import Counted, Places, count_change, hold

_MASK = 2**64 - 1
_serial = itertools.count()
# The slots themselves, which stay usable while the class shows watched ones.
_slots = {name: Tensor.__dict__[name] for name in ("node", "_grad")}
_read, _write = _slots["node"].__get__, _slots["node"].__set__
_read_grad, _write_grad = _slots["_grad"].__get__, _slots["_grad"].__set__


class _State(threading.local):
    trace: Trace | None = None


_state = _State()
_lock = threading.RLock()
watchers = 0                       # threads that trace


def current() -> Trace | None:
    """The trace of this thread, if it is recording a jitted function."""
    return _state.trace if watchers else None


# ------------------------------------------------------------------------------------------------------------ scalars

class Scalar:
    """A Python number that is an argument of the function being traced, or was computed from one.

    trace     whose it is
    position  its place among the trace's numbers
    sample    its value in this trace: its class is the same at each call, the value is not
    """

    __slots__ = ("trace", "position", "sample")

    def __init__(self, trace: Trace, position: int, sample):
        self.trace, self.position, self.sample = trace, position, sample

    def node(self, dtype: DType) -> Node:
        """The parameter of the program that carries it in this dtype."""
        carrier = _CARRIERS.get(dtype.kind)
        if carrier is None:
            return self.trace.param(self.position, dtype)
        carrier = dt.float64 if type(self.sample) is float else carrier
        return make(CAST, dtype, (), (self.trace.param(self.position, carrier),))

    def _unknown(self, name: str, fix: str = ""):
        raise TracerError(f"the value of a number that is an argument of a jitted function was asked for by {name}",
                          op=name, fix="name the argument in static_argnums or static_argnames (one of its own, not a "
                          "dict or list that holds it): the function is then traced for each of its values" + fix)

    def __bool__(self) -> bool:
        return self._unknown("bool", "; or choose by gc.where")

    def __int__(self) -> int:
        return self._unknown("int")

    def __index__(self) -> int:
        return self._unknown("index")

    def __float__(self) -> float:
        return self._unknown("float")

    def __complex__(self) -> complex:
        return self._unknown("complex")

    def __round__(self, digits=None):
        return self._unknown("round")

    def __hash__(self) -> int:      # of an element of a set, or a key of a dict
        return self._unknown("hash")

    def __divmod__(self, other):
        return self // other, self % other

    def __getattr__(self, name: str):
        if hasattr(self.sample, name) and not name.startswith("_"):
            self._unknown(name)
        raise AttributeError(f"a number has no {name!r}")

    def __array__(self, dtype=None, copy=None):
        self._unknown("numpy", "; or use functions of graphc's")

    def __array_ufunc__(self, ufunc, method: str, *inputs, **options):
        from graphc.api.record import as_tensor
        return as_tensor(self).__array_ufunc__(ufunc, method, *inputs, **options)

    def __pow__(self, other):
        # The class of 2 ** n depends on the sign of n, and small exponents of tensors are products.
        return NotImplemented if isinstance(other, Tensor) else self._unknown("pow")

    def __rpow__(self, other):
        return self._unknown("pow")

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<traced {type(self.sample).__name__}>"


_CARRIERS = {"b": dt.int64, "c": dt.float64}    # kernels take no parameters of these kinds; these carry them exactly


def _arithmetic(function: Callable, swapped: bool = False) -> Callable:
    def method(self: Scalar, other):
        if isinstance(other, (np.ndarray, np.generic)):
            from graphc.api.record import as_tensor
            other = as_tensor(other)
            return function(other, self) if swapped else function(self, other)
        if not isinstance(other, (int, float, complex, Scalar)):
            return NotImplemented   # a tensor records it
        return self.trace.compute(function, other, self) if swapped else self.trace.compute(function, self, other)
    return method


for _name in "add sub mul truediv floordiv mod lshift rshift and_ or_ xor".split():
    setattr(Scalar, f"__{_name.rstrip('_')}__", _arithmetic(getattr(operator, _name)))
    setattr(Scalar, f"__r{_name.rstrip('_')}__", _arithmetic(getattr(operator, _name), swapped=True))
for _name in "lt le gt ge eq ne".split():
    setattr(Scalar, f"__{_name}__", _arithmetic(getattr(operator, _name)))
for _name in "neg pos abs invert".split():
    setattr(Scalar, f"__{_name}__", functools.partialmethod(lambda self, f: self.trace.compute(f, self),
                                                            getattr(operator, _name)))


# -------------------------------------------------------------------------------------------------------------- traces

class Trace:
    """One recording of a function.

    handles   tensors of the caller, in the order in which they were met: arguments first
    before    what each stands for at the beginning: a placeholder, or a constant
    after     what it stands for now
    grads     handle -> its gradient (a Tensor, or None) now; `looked` are those that were read before they were set
    tape      how numbers come about: ("argument", index), ("constant", value), ("draw", generator), or a function and
              the positions of its operands
    params    number of a PARAM -> (position on the tape, or None where it is the constant of a handle; that; dtype)
    draws     generators of random numbers -> how many were drawn
    finished  what `backward` was called on, without retain_graph
    modes     modules whose flag `training` was read before the function set it, by id, with its value
    """

    def __init__(self) -> None:
        self.handles: list[Tensor] = []
        self.before: list[Node] = []
        self.after: list[Node] = []
        self.grads: dict[int, Tensor | None] = {}
        self.looked: dict[int, Tensor | None] = {}
        self._place: dict[int, int] = {}        # id of a handle -> its number
        self._own: dict[int, Tensor] = {}       # tensors made by the function, kept so that no id is used again
        self.tape: list[tuple] = []
        self.params: dict[int, tuple[int | None, int | None, DType]] = {}
        self._param_of: dict[tuple[int, DType], Node] = {}
        self.arguments = 0
        self.draws: dict[object, int] = {}
        self.finished: set[Node] = set()
        self._states: dict[object, Scalar] = {}
        self.modes: dict[int, tuple[object, bool]] = {}
        self._moded: dict[int, object] = {}     # modules whose flag the function has set

    # ---- tensors

    def read(self, tensor: Tensor) -> Node:
        place = self._place.get(id(tensor))
        if place is not None:
            return self.after[place]
        node = _read(tensor)
        return node if id(tensor) in self._own else self.after[self.take(tensor, node)]

    def write(self, tensor: Tensor, node: Node) -> None:
        place = self._place.get(id(tensor))
        if place is None:
            if id(tensor) not in self._own:
                try:
                    place = self.take(tensor, _read(tensor))
                except AttributeError:      # it has no node yet: it is being made
                    self._own[id(tensor)] = tensor
        if place is None:
            _write(tensor, node)
        else:
            self.after[place] = node

    def take(self, tensor: Tensor, node: Node) -> int:
        """Count a tensor of the caller's among the handles."""
        place = self._place[id(tensor)] = len(self.handles)
        self.handles.append(tensor)
        if is_spec(node):
            pass                    # it has no value that a placeholder would stand for
        elif node.op is not CONST:
            node = _placeholder(node)
        elif not fixed(node):
            node = self._new_param(None, place, node.dtype)
        self.before.append(node)
        self.after.append(node)
        return place

    def read_grad(self, tensor: Tensor) -> Tensor | None:
        if id(tensor) in self._own:
            return _read_grad(tensor)
        self.read(tensor)
        place = self._place[id(tensor)]
        if place not in self.grads:
            self.grads[place] = self.looked[place] = grad_of(tensor)
        return self.grads[place]

    def write_grad(self, tensor: Tensor, value: Tensor | None) -> None:
        if id(tensor) in self._own:
            _write_grad(tensor, value)
        else:
            self.read(tensor)
            self.grads[self._place[id(tensor)]] = value

    def place_of(self, tensor: Tensor) -> int | None:
        return self._place.get(id(tensor))

    def owns(self, tensor: Tensor) -> bool:
        """Is it one that the function has made? Such a tensor is held by the trace."""
        return id(tensor) in self._own

    # ---- numbers

    def argument(self, value) -> Scalar:
        """The next number that is passed at each call."""
        self.arguments += 1
        return self._noted(("argument", self.arguments - 1), value)

    def compute(self, function: Callable, *operands) -> Scalar:
        """What Python makes of these numbers, now and at each call."""
        value = function(*[o.sample if isinstance(o, Scalar) else o for o in operands])
        places = [o.position if isinstance(o, Scalar) else self._noted(("constant", o), o).position for o in operands]
        return self._noted((function, *places), value)

    def _noted(self, entry: tuple, sample) -> Scalar:
        self.tape.append(entry)
        return Scalar(self, len(self.tape) - 1, sample)

    def param(self, position: int, dtype: DType) -> Node:
        """The number at this position as a parameter of the program."""
        node = self._param_of.get((position, dtype))
        if node is None:
            node = self._param_of[position, dtype] = self._new_param(position, None, dtype)
        return node

    def _new_param(self, position: int | None, handle: int | None, dtype: DType) -> Node:
        number = next(_serial)
        self.params[number] = position, handle, dtype
        return make(PARAM, dtype, (), (), (number, False))

    # ---- modules

    def read_mode(self, module, mode: bool) -> None:
        if id(module) not in self._moded:
            self.modes.setdefault(id(module), (module, mode))

    def write_mode(self, module) -> None:
        self._moded[id(module)] = module

    # ---- random numbers

    def draw(self, generator, count: int) -> tuple[Node, Node]:
        """The key and the offset of the next `count` numbers of a generator, as parameters."""
        if generator not in self.draws:
            self.draws[generator] = 0
            self._states[generator] = self._noted(("draw", generator), (0, 0))
        drawn = self.draws[generator]
        self.draws[generator] += count
        state = self._states[generator]
        return self.compute(_key, state).node(dt.uint64), self.compute(_offset, state, drawn).node(dt.uint64)


def grad_of(tensor: Tensor) -> Tensor | None:
    """The gradient itself, also while somebody traces."""
    try:
        return _read_grad(tensor)
    except AttributeError:
        return None


def is_spec(node: Node) -> bool:
    """Is it a tensor without values, of `gc.spec`?"""
    return node.op is BUFFER and node.value is None and node.attrs == ()


def stand_for_values(nodes: list[Node]) -> bool:
    """Is any of them computed from a tensor without values, or from what a function is traced with?"""
    return any(node.op is BUFFER and node.value is None and node.attrs in ((), driver.EXAMPLE, LOOPED)
               for node in topological(nodes))


def _placeholder(node: Node) -> Node:
    """What stands for a tensor. That of a variable is one, with the same handle to put its gradient into."""
    found = buffer(node.dtype, node.shape, None, node.device or driver.default_device(), node.site)
    found.attrs, found.tracked = driver.TRACED, node.tracked
    if node in variables:
        variables[found] = variables[node]
    return found


def _key(state: tuple[int, int]) -> int:
    return state[0]


def _offset(state: tuple[int, int], drawn: int) -> int:
    return (state[1] + drawn) & _MASK


def fixed(node: Node) -> bool:
    """Is the value of this constant part of a program's structure?"""
    return node.attrs[1] or is_exponent(node)


def numbers_of(tape: list[tuple], given: Sequence, draws: dict) -> list:
    """Every number of a tape at a call with these arguments. Generators move on by what the function draws."""
    values: list = []
    for kind, *rest in tape:
        if kind == "argument":
            values.append(given[rest[0]])
        elif kind == "constant":
            values.append(rest[0])
        elif kind == "draw":
            values.append(rest[0].advance(draws[rest[0]]))
        else:
            values.append(kind(*[values[place] for place in rest]))
    return values


class Unfit(Exception):
    """A number does not fit the dtype that a program takes it in: what the function makes of it depends on its value,
    as whether an unsigned integer is above -1. So the function is called as it is."""


def undraw(tape: list[tuple], values: list, draws: dict) -> None:
    """Let the generators give once more what was drawn for these numbers of a tape."""
    for (kind, *rest), value in zip(tape, values, strict=True):
        if kind == "draw":
            rest[0].retreat(value, draws[rest[0]])


# ------------------------------------------------------------------------------------------------------------- modules

class Outside:
    """What a function that was traced found outside: modules in training or in use, tensors in their places.

    seen   Counted.changes when all that is counted there was last found as it was
    loose  is there anything else, to be looked at by each call?
    """

    def __init__(self, modes: dict[int, tuple[object, bool]], places: Places, tensors: Sequence[Tensor]):
        self._modes, self.seen = [(weakref.ref(module), mode) for module, mode in modes.values()], -1
        self._loose, self._counted, self._sizes = places.leading_to(tensors)
        self.loose = bool(self._loose or self._sizes)

    def __bool__(self) -> bool:
        return bool(self._modes or self._counted or self.loose)

    def holds(self) -> bool:
        """Whether all of that is as it was."""
        now = Counted.changes
        if self.seen != now:
            modules = [(module(), mode) for module, mode in self._modes]
            if any(module is None or module.training != mode for module, mode in modules) or not hold(self._counted):
                return False
            self.seen = now
        return not self.loose or self.in_place()

    def is_past(self) -> bool:
        """Is there another tensor in some place?"""
        return not (hold(self._counted) and self.in_place())

    def in_place(self) -> bool:
        """Whether that which is not counted is as it was."""
        return hold(self._loose) and (
            not self._sizes or all([measure(held) == was for measure, held, was in self._sizes]))


def mode_of(module) -> bool:
    """The flag `training` of a module. A jitted function that reads it is traced anew when it has changed."""
    mode = vars(module).get("training", True)
    trace = current()
    if trace is not None:
        trace.read_mode(module, mode)
    return mode


def set_mode(module, mode: bool) -> None:
    """Let a module train, or be in use."""
    changes = vars(module).get("training", True) != mode
    vars(module)["training"] = mode
    if changes:
        count_change()
    trace = current()
    if trace is not None:
        trace.write_mode(module)


# ------------------------------------------------------------------------------------------------------------ watching

class _Watched:
    """A slot of Tensor while some thread traces."""

    def __init__(self, name: str):
        self._slot = _slots[name]
        self._traced = (Trace.read, Trace.write) if name == "node" else (Trace.read_grad, Trace.write_grad)

    def __get__(self, tensor: Tensor | None, owner=None):
        if tensor is None:
            return self
        trace = _state.trace
        return self._slot.__get__(tensor) if trace is None else self._traced[0](trace, tensor)

    def __set__(self, tensor: Tensor, value) -> None:
        trace = _state.trace
        if trace is None:
            self._slot.__set__(tensor, value)
        else:
            self._traced[1](trace, tensor, value)


_watched = {name: _Watched(name) for name in _slots}


def _show(slots: dict) -> None:
    for name, slot in slots.items():
        setattr(Tensor, name, slot)


@contextmanager
def recording(trace: Trace) -> Iterator[None]:
    """What this thread does with tensors in the block goes into the trace."""
    global watchers
    with _lock:
        watchers += 1
        _show(_watched)     # also if another has begun to: a signal handler may come in between
    _state.trace, driver.marks.tracing = trace, True
    try:
        yield
    finally:
        _state.trace, driver.marks.tracing = None, False
        with _lock:
            watchers -= 1
            if not watchers:
                _show(_slots)


def _after_fork() -> None:
    """In the child no other thread traces."""
    global _lock, watchers
    _lock = threading.RLock()
    watchers = int(_state.trace is not None)
    if not watchers:
        _show(_slots)


os.register_at_fork(after_in_child=_after_fork)
