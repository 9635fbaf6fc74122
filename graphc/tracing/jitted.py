"""`jit`: a function is recorded once for each signature, and from then on is one check and one native call.

A `Jitted` reads its arguments into a key (shapes, dtypes, devices, static values, structure) and the tensors behind
them. For a key that it has met there is a `Replay` (replay.py), which knows what to run.
"""
from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from graphc import driver
from graphc.api.record import from_numpy
from graphc.errors import JitError
from graphc.ir.node import Node
from graphc.pytree import LEAF, flatten, unflatten
from graphc.tensor import Tensor, history
from graphc.tracing import Trace, Unfit, current, stand_for_values
from graphc.tracing.replay import FACTS, STATIC, Replay, record, spec_of
from graphc.tracing.steady import run_and_watch
from graphc.tracing.written_out import MISS, Known, written_out

VARIANTS = 8        # traces of one signature that differ in the tensors the function closes over
SIGNATURES = 1024   # of one function; the oldest goes first


def jit(f: Callable | None = None, *, static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (), check: bool = False,
        donate_argnums: int | Sequence[int] = ()) -> Callable:
    """A function that does what `f` does, recorded once for each signature and then run as one program.

    The signature: shapes, dtypes and devices of the tensors, the structure of the arguments (tuples, lists, dicts,
    dataclasses and namedtuples, nested), and the values of what is static. By kind of argument:

      Tensor             read at each call; what f assigns to it (`x += 1`, `x[i] = v`, `x.assign(y)`) the caller sees
      NumPy array        becomes a tensor, copied at each call
      int, float         a scalar argument of the program, weakly typed: a thousand learning rates compile nothing.
                         Its value is not known to f: where it has to be, as in a shape, name it in static_argnums.
                         What f is given stands for it, and is no int or float for isinstance
      bool, str, None    static, as are all arguments in static_argnums (positions) and static_argnames: hashable
                         values, for each of which f is traced anew
      a module           an object with `parameters()` or `state_dict()`: it counts as itself, its tensors as arguments;
                         traces live as long as it does (those of a static argument as long as the function)

    Tensors that f closes over are read at each call as well, and may be assigned to. Where another tensor has come into
    the place of one, f is traced anew: a global variable or a cell, a default value, an attribute, an element of a
    list, dict or deque, in f and in functions and objects that it names. (What it finds by other means, as a name that
    it puts together for globals(), is not looked at; better assign: `w.assign(y)`.) Modes of modules are noticed, too:
    after `model.eval()` another trace serves, and after `model.train()` the first one again. Random numbers go on from
    call to call, with the bits that f gives without jit. All else that f reads from outside, such as a Python number
    or a NumPy array in a global variable, or another function, is a constant of the trace. `check=True` traces at
    every call, and raises JitError where that gives another program: slow, for finding such a mistake.

    A call that fails assigns nothing. Where it had begun to write to a tensor in place, the values of that are lost,
    and reading it raises until it is assigned to; on a device that is so wherever it writes in place.

    donate_argnums gives tensors away: their memory may serve the results, and using them afterwards raises. A NumPy
    array that still shows that memory, or one tensor given twice, raises JitError.

    Gradients: `grad` and `backward` inside f are part of the program, with the `.grad` that they fill. A result that
    itself has a gradient (its history leads to a variable) can't come from a replay: f is then called as it is, and
    recorded. Return `x.detach()`, or call it in `no_grad`, where the history is not wanted. A loss that f calls
    `backward` on comes without a history.

    f returns tensors, numbers, NumPy arrays and what may be static, in tuples, lists, dicts and dataclasses; or one of
    its arguments. JitError for another object, whose tensors would not be found.

    A jitted function that is called by another one becomes part of it. `g.plan(*args)` shows what a call launches.
    Raises TracerError where f asks for a value: bool(), float(), int() or .numpy() of what depends on the arguments;
    JitError where f stores something else in a list, dict or dataclass that it is given.

    >>> import graphc as gc
    >>> @gc.jit
    ... def step(w, g, rate):
    ...     return w - rate * g
    >>> w = gc.asarray([1.0, 2.0])
    >>> step(w, gc.asarray([1.0, 1.0]), 0.5).tolist(), step(w, w, 0.25).tolist()
    ([0.5, 1.5], [0.75, 1.5])
    """
    options = {"static_argnums": static_argnums, "static_argnames": static_argnames, "check": check,
               "donate_argnums": donate_argnums}
    if f is None:
        return functools.partial(jit, **options)
    return Jitted(f, **options)


class Jitted:
    """A function with its traces. Made by `jit`."""

    def __init__(self, f: Callable, static_argnums, static_argnames, check: bool, donate_argnums):
        if not callable(f):
            raise JitError(f"a function is needed, not {f!r}", op="jit", fix="gc.jit(f), or @gc.jit above its def")
        functools.update_wrapper(self, f)
        self._f = f
        self._given = static_argnums, static_argnames, check, donate_argnums
        self._check = check
        self._static = _places_and_names(f, static_argnums, static_argnames, "static_argnums")
        self._donated = _places_and_names(f, donate_argnums, (), "donate_argnums")
        self._plain = not (self._static or self._donated or check)
        self._names = _names_in_order(f)
        self._replays: dict[tuple, list[Replay]] = {}
        self._fast: Callable = _never           # of the replay that ran last

    def __reduce__(self):
        """Under a name of its module it is that name, like a function; elsewhere it is made anew, without traces."""
        name = getattr(self, "__qualname__", "")
        found = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (Jitted, (self._f, *self._given))

    def __get__(self, instance, owner=None):
        """As a method: the instance is the first argument, so that it has to be a module or static."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        if kwargs:
            args, kwargs = self._in_order(args, kwargs)
        if not kwargs:
            result = self._fast(args)
            if result is not MISS:
                return result
        try:
            return self._call(args, kwargs)
        except Unfit:
            return self._f(*args, **kwargs)

    def _call(self, args: tuple, kwargs: dict):
        if current() is not None or history.writes is not None:
            return self._f(*args, **kwargs)     # it becomes part of what is being traced, by jit or for a loop
        if self._plain and not kwargs:
            result = self._call_plain(args)
            if result is not MISS:
                return result
        parts = self._parts(args, kwargs)
        if stand_for_values([tensor.node for part in parts for tensor in part.tensors]):
            return self._f(*args, **kwargs)     # it becomes part of what vmap or a loop records; or of shapes alone
        call = self._read(parts)
        if call.has_history and not history.paused:
            return self._f(*args, **kwargs)     # a gradient will ask how the results were made
        if self._check:
            self._compare(call)
        return self._run(call, args, kwargs)

    def _in_order(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Arguments that are given by name in their places, if all are: it is the same call, and the common one."""
        names = self._names[len(args):len(args) + len(kwargs)]
        if kwargs.keys() != set(names):
            return args, kwargs
        return (*args, *[kwargs[name] for name in names]), {}

    def _call_plain(self, args: tuple):
        """The result of a call with tensors in memory and numbers, by a replay that is there; else MISS.

        What holds on to a node keeps other threads from writing to its memory in place; they look, under the lock,
        whether anybody does.
        """
        key = driver.surroundings()
        handles: list[Tensor] = []
        nodes: list[Node] = []
        numbers: list = []
        with driver.lock:
            for arg in args:
                kind = arg.__class__
                if kind is Tensor:
                    node = arg.node
                    if node.value is None or node.tracked:
                        return MISS
                    handles.append(arg)
                    nodes.append(node)
                    key += (node.dtype, node.shape, node.device)
                elif kind is float or kind is int:
                    numbers.append(arg)
                    key.append(kind)
                else:
                    return MISS
            node, count = None, len(nodes)      # a replay counts who holds a node
            replays = self._replays.get(tuple(key), ())
            for place, replay in enumerate(replays):
                if replay.outside is not None and not replay.outside.holds():
                    continue
                if replay.steady is not None:
                    result = replay.steady.run(replay, handles, nodes, numbers)
                    if result is not MISS:
                        _to_front(replays, place)
                        return result
                if replay.accepts(handles, nodes):
                    _to_front(replays, place)
                    if replay.in_place and not replay.inline:
                        return run_and_watch(replay, handles, nodes, numbers, count)
                    break
            else:
                return MISS
        if replay.inline:
            return self._f(*args)
        self._be_quick(replay, [arg.__class__ for arg in args], nodes[:count], key)
        return replay.run(handles, nodes, numbers)

    def plan(self, *args, **kwargs):
        """The Plan of what a call with these arguments launches; nothing runs. None if it launches nothing."""
        call = self._read(self._parts(*self._in_order(args, kwargs)))
        return (self._find(call) or self._trace(call)).plan()

    def _parts(self, args: tuple, kwargs: dict) -> list[Part]:
        given = [*enumerate(args), *((name, kwargs[name]) for name in sorted(kwargs))]
        return [Part(which, arg, which in self._static, which in self._donated) for which, arg in given]

    def _read(self, parts: list[Part]) -> Call:
        driver.realize([tensor.node for part in parts for tensor in part.tensors], "jit")
        return Call(parts)

    def _run(self, call: Call, args: tuple, kwargs: dict):
        while True:
            known = self._find(call)
            replay = known or self._trace(call)
            if replay.inline:
                return self._f(*args, **kwargs)
            with driver.lock:
                handles = list(call.handles)
                nodes = [handle.node for handle in handles]
                count = len(nodes)
                accepted = replay.accepts(handles, nodes)
                if accepted and replay.in_place:
                    return replay.run(handles, nodes, call.numbers)
            if accepted:    # else another thread has just assigned to a tensor
                if known is not None and not (kwargs or self._donated or self._check):
                    self._be_quick(replay, [part.form() for part in call.parts], nodes[:count], call.key)
                return replay.run(handles, nodes, call.numbers)

    def _be_quick(self, replay: Replay, forms: Sequence, nodes: list[Node], key: Sequence) -> None:
        """The next call is probably like this one."""
        if replay.fast is None:
            replay.fast = written_out(replay, forms, nodes, tuple(key[:5])) or _never
        self._fast = replay.fast

    def _find(self, call: Call) -> Replay | None:
        """The replay that fits a call. Closed-over tensors that are not computed yet are realized for it."""
        for replay in tuple(self._replays.get(call.key, ())):
            closed = replay.closed_for(call.handles)
            outside = replay.outside
            if closed is None or outside is not None and not outside.holds():
                continue
            driver.realize([handle.node for handle in closed], "jit")
            if replay.accepts(list(call.handles), [handle.node for handle in call.handles]):
                return replay
        return None

    def _trace(self, call: Call) -> Replay:
        replay = Replay(record(self._f, call), call)
        with driver.lock:
            if call.key not in self._replays:
                for module in call.modules():
                    weakref.finalize(module, _forget, weakref.ref(self), call.key).atexit = False
            replays = self._replays.setdefault(call.key, [])
            # One that another tensor has been put in the place of holds on to its own in vain.
            there = [old for old in replays if old.outside is None or not old.outside.is_past()]
            replays[:] = [replay, *there][:VARIANTS]
            self._fast = _never     # it may be of one that is dropped
            if len(self._replays) > SIGNATURES:
                self._replays.pop(next(iter(self._replays)), None)
        return replay

    def _compare(self, call: Call) -> None:
        """Trace once more. What differs was read from outside, and has changed since."""
        known = self._find(call)
        if known is None or known.inline:       # which is called anew each time
            return
        for what, before, now in zip(FACTS, known.facts, Replay(record(self._f, call), call).facts, strict=True):
            if before != now:
                raise JitError(f"{self.__qualname__} does not do what it did when it was traced: its {what} differ",
                               op="jit", fix="pass what changes as an argument, or keep it in a tensor")


def _never(args: tuple):
    return MISS


def _forget(jitted: weakref.ref, key: tuple) -> None:
    """A module is gone, and with it what was traced for it: nobody can ask for that any more."""
    found = jitted()
    if found is not None:
        found._replays.pop(key, None)


def _to_front(replays: list[Replay], place: int) -> None:
    """To look through all that another one closes over takes longer than some programs. Under the lock."""
    if place:
        replays.insert(0, replays.pop(place))


def _names_in_order(f: Callable) -> tuple[str, ...]:
    """The names of arguments that may be given by position as well; "" for one that has to be."""
    try:
        parameters = inspect.signature(f, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):     # a builtin without a signature
        return ()
    return tuple(["" if p.kind is p.POSITIONAL_ONLY else p.name for p in parameters
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])


def _places_and_names(f: Callable, places, names, what: str) -> frozenset:
    """Arguments by position and by name: each in both ways, where the signature of f tells."""
    places = (places,) if isinstance(places, int) else tuple(places)
    names = (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(place, int) for place in places) or not all(isinstance(name, str) for name in names):
        raise JitError(f"{what} takes positions, not {places + names}", op="jit")
    try:
        parameters = inspect.signature(f).parameters
    except (TypeError, ValueError):     # a builtin without a signature
        parameters = {}
    kinds = {p.kind for p in parameters.values()}
    known = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    if any(place < 0 for place in places) and not known:
        raise JitError("positions from the end need a function with a signature", op="jit")
    none = [place for place in places if not -len(known) <= place < len(known)]
    none = [] if inspect.Parameter.VAR_POSITIONAL in kinds else none
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        none += [name for name in names if name not in parameters]
    if none and parameters:
        raise JitError(f"{what}: the function has no argument {none[0]!r}", op="jit",
                       fix=f"its arguments are {', '.join(parameters)}")
    places = tuple(place % len(known) if place < 0 else place for place in places)
    return frozenset((*places, *names, *(known[place] for place in places if place < len(known)),
                      *(known.index(name) for name in names if name in known)))


# --------------------------------------------------------------------------------------------------------------- calls

class Part:
    """One argument, taken apart. `tensors` are those of the caller among its leaves, those of modules included."""

    def __init__(self, which: int | str, arg, static: bool, donated: bool):
        self.which, self.donated = which, donated
        leaves, self.structure = ([arg], LEAF) if static else flatten(arg)
        self.leaves = [(arg, "static", ())] if static else [_leaf(value) for value in leaves]
        self.tensors = [tensor for _, _, tensors in self.leaves for tensor in tensors]

    def form(self):
        """Its class, or its structure with the classes of its leaves: as `written_out` takes it."""
        return _form(self.structure, iter(self.leaves))


def _form(structure, leaves: Iterator):
    if structure == LEAF:
        value, kind, _ = next(leaves)
        return Known(value) if kind == "static" else value.__class__
    kind, names, parts = structure
    return kind, names, [_form(part, leaves) for part in parts]


def _leaf(value) -> tuple[Any, str, Sequence[Tensor]]:
    """(what stands for it, its kind, the tensors that it brings)."""
    kind = value.__class__
    if isinstance(value, (np.ndarray, np.generic)):
        value, kind = from_numpy(np.asarray(value), name="jit"), Tensor
    if kind is Tensor:
        return value, "tensor", (value,)
    if kind is int or kind is float:
        return value, "number", ()
    if isinstance(value, STATIC):
        return value, "static", ()
    tensors = _module_tensors(value)
    if tensors is None:
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        raise JitError(f"an argument can't be a {name}", op="jit", fix="pass gc.asarray(x)"
                       if hasattr(value, "__dlpack__") or hasattr(value, "__array__") else
                       "pass tensors, numbers, and tuples, lists, dicts or dataclasses of them; name others in "
                       "static_argnums")
    return value, "module", tensors


def _module_tensors(value) -> list[Tensor] | None:
    """The tensors of an object with `parameters()` or `state_dict()`, each once; None for other objects."""
    found: list = []
    known = False
    for name in ("parameters", "state_dict"):
        method = getattr(value, name, None)
        if callable(method):
            known = True
            found += flatten(_plain(method()))[0]
    tensors = {id(tensor): tensor for tensor in found if isinstance(tensor, Tensor)}
    return list(tensors.values()) if known else None


def _plain(tensors):
    """What parameters() gives may be an iterator."""
    return tensors if isinstance(tensors, (dict, list, tuple)) else list(tensors)


class Call:
    """The arguments of one call.

    key      the signature
    handles  tensors: of the arguments, made of NumPy arrays, of modules (`kinds` says which)
    numbers  Python numbers that are scalar arguments
    donated  positions in handles
    has_history  an argument is what a gradient is taken by, or was computed from such
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.handles: list[Tensor] = []
        self.kinds: list[str] = []
        self.numbers: list = []
        self.donated: list[int] = []
        key = driver.surroundings()
        for part in parts:
            if isinstance(part.which, str):
                key.append(part.which)
            if part.structure != LEAF:
                key.append(part.structure)
            for value, kind, tensors in part.leaves:
                if kind == "number":
                    self.numbers.append(value)
                    key.append(value.__class__)
                elif kind == "static":
                    key += _static_key(value)
                elif kind == "module":
                    key += (_Same(value), getattr(value, "training", None), len(tensors))
                for tensor in tensors:
                    key += spec_of(tensor.node)
                    self.kinds.append(kind)
            if part.donated:
                self.donated += range(len(self.handles), len(self.handles) + len(part.tensors))
            self.handles += part.tensors
        self.has_history = any(handle.node.tracked for handle, kind in zip(self.handles, self.kinds, strict=True)
                               if kind == "tensor")
        self.key = tuple(key)

    def objects(self) -> list:
        """Arguments that are no tensors or numbers, and may hold tensors."""
        return [value for part in self.parts for value, kind, _ in part.leaves if kind in ("static", "module")]

    def modules(self) -> list:
        """Those among the arguments that tell when they go."""
        return [value for part in self.parts for value, kind, _ in part.leaves
                if kind == "module" and type(value).__weakrefoffset__]

    def arguments(self, trace: Trace, tensors: Iterator[Tensor]) -> tuple[list, dict]:
        """What the function is called with in a trace: these tensors, and Scalars for numbers."""
        args, kwargs = [], {}
        for part in self.parts:
            leaves = []
            for value, kind, brought in part.leaves:
                mine = [next(tensors) for _ in brought]
                leaves.append(mine[0] if kind == "tensor" else trace.argument(value) if kind == "number" else value)
            built = unflatten(part.structure, leaves)
            if isinstance(part.which, str):
                kwargs[part.which] = built
            else:
                args.append(built)
        return args, kwargs


def _static_key(value) -> tuple:
    try:
        hash(value)
    except TypeError:
        raise JitError(f"a static argument has to be hashable, and a {type(value).__name__} is not", op="jit",
                       fix="pass a tuple or a frozen dataclass, or each value as an argument of its own; an array "
                       "needs not be static") from None
    return type(value), _exactly(value)


def _exactly(value):
    """What equals another value only if both are the same: 1 == 1.0, 0.0 == -0.0, and nan != nan."""
    if isinstance(value, (tuple, frozenset)):
        return (tuple if isinstance(value, tuple) else frozenset)([(type(x), _exactly(x)) for x in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
        return value, _exactly(tuple([x for x in fields if isinstance(x, Hashable)]))
    if isinstance(value, np.generic):
        return value.dtype, value.tobytes()
    if type(value) is complex:
        return value.real.hex(), value.imag.hex()
    return value.hex() if type(value) is float else value


class _Same:
    """An object that equals itself alone. A key keeps it alive only if it can't tell when it goes."""

    __slots__ = ("_get", "_hash")

    def __init__(self, it):
        self._get, self._hash = (weakref.ref(it) if type(it).__weakrefoffset__ else lambda: it), id(it)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return isinstance(other, _Same) and other._hash == self._hash and other._get() is self._get() is not None
