"""A traced function, ready to be run again: its program, and where everything that goes in and comes out belongs."""
from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from graphc import canonical, driver
from graphc.api.laziness import unlimited
from graphc.api.numbers import scalar
from graphc.api.record import wrap
from graphc.config import settings
from graphc.errors import DTypeError, IntegerOverflow, JitError
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.node import Node, buffer, const_of_words, const_words
from graphc.ir.ops import ALIAS, BUFFER, CONST, PARAM
from graphc.pytree import LEAF, flatten, unflatten
from graphc.references import references
from graphc.runtime.backend import FAILURES
from graphc.runtime.buffers import Buffer
from graphc.tensor import Tensor, history, rebinding
from graphc.tensor import handles as variables
from graphc.tracing import Outside, Scalar, Trace, Unfit, fixed, grad_of, numbers_of, recording, undraw
from graphc.tracing.places import Places
from graphc.tracing.steady import Steady, fits

if TYPE_CHECKING:
    from graphc.tracing.jitted import Call

_blank = object.__new__


PENDING = ("pending",)      # of one that is still to be computed
STATIC = (bool, complex, str, bytes, type(None), type(Ellipsis), slice, DType, type, np.dtype)


def spec_of(node: Node) -> tuple:
    """What a program has to know of a tensor that it is given."""
    if node.value is not None:
        found = node.dtype, node.shape, node.device
        return (*found, node.tracked) if node.tracked else found
    if node.op is CONST:
        return "constant", node if fixed(node) else node.dtype
    return PENDING


# ----------------------------------------------------------------------------------------------------------- recording

class Recorded:
    """What a function did with the arguments of a call.

    handles    the tensors of a call, as the function saw them, then those that it closes over
    closed     the latter
    leaves     of what it returned, with their structure
    places     where it could find tensors, before it was called
    looked     handle -> its gradient, where the function looked at it before it set one
    filled     handle -> its gradient now, where the function set one
    """

    def __init__(self, f: Callable, call: Call, shared: Recorded | None = None):
        """The function sees copies of the caller's handles: so no argument is taken for a tensor that the function
        closes over, or for another argument, because they are one this time. Or (shared, which is what was recorded in
        that way) it sees the caller's tensors themselves."""
        self.shared = shared is not None
        self.places = shared.places if shared else Places([f, *call.objects()])
        self.trace = trace = Trace()
        seen = [tensor if shared or kind == "module" else wrap(tensor.node)
                for kind, tensor in zip(call.kinds, call.handles, strict=True)]
        with unlimited(), recording(trace):
            for tensor in seen:
                trace.read(tensor)
            args, kwargs = call.arguments(trace, iter(seen))
            given = [(arg, *flatten(arg)) for arg in (*args, *kwargs.values())]
            self.leaves, self.structure = flatten(f(*args, **kwargs))
            _refuse_stores(f, given)
            _refuse_objects(f, self.leaves, call)
            for value in self.leaves:
                if isinstance(value, Tensor):
                    trace.read(value)
        known = [*seen, *(shared.closed if shared else ())]
        ids = set(map(id, known))
        self.closed = [*known[len(seen):], *(tensor for tensor in trace.handles if id(tensor) not in ids)]
        self.handles = [*seen, *self.closed]
        # Where, among the handles, each handle of the trace stands; of one that is there twice, the first.
        self.position = {trace.place_of(tensor): k for k, tensor in reversed(list(enumerate(self.handles)))}
        self.position.pop(None, None)       # of a tensor that was not met this time
        self.looked = {self.position[place]: grad for place, grad in trace.looked.items()}
        self.filled = {self.position[place]: grad for place, grad in trace.grads.items()
                       if place not in trace.looked or grad is not trace.looked[place]}

    @property
    def written(self) -> list[int]:
        """The handles that stand for something else now."""
        trace = self.trace
        return [k for place, k in self.position.items() if trace.after[place] is not trace.before[place]]

    def now(self, k: int) -> Node:
        return self.trace.after[self.trace.place_of(self.handles[k])]

    def has_history(self) -> bool:
        """Would something that the function returns or assigns have a gradient?"""
        return any(n.tracked for n in self._made() if n not in self.trace.finished) or any(
            self.now(k).tracked for k in self.written if self.now(k) not in variables)

    def _made(self) -> list[Node]:
        given = [*self.leaves, *self.filled.values()]
        return [self.trace.read(t) for t in given if isinstance(t, Tensor) and self.trace.place_of(t) is None]

    def computed(self) -> tuple[Node, ...]:
        """What a call computes, over numbered leaves and parameters."""
        with driver.lock:
            wanted = driver.computed([*self._made(), *(value_of(self.now(k)) for k in self.written)])
            roots = [n for n in wanted if n.op is not BUFFER and n.op is not PARAM]
            return canonical.rebuild_canonical(canonical.canonicalize(roots))[0] if roots else ()


def _refuse_stores(f: Callable, given: Sequence[tuple]) -> None:
    """What f puts into a list, dict or dataclass that it is given, it puts into a copy, and in a trace alone."""
    for arg, leaves, structure in given:
        now, shape = flatten(arg)
        if shape != structure or any(a is not b for a, b in zip(now, leaves, strict=True)):
            raise JitError(f"{_name(f)} stores something else in a {type(arg).__name__} that is its argument, which "
                           "the caller would not see", op="jit", fix="return what is new; or assign to the tensor that "
                           "is there, as in state['w'].assign(y); or change a copy, as dict(state) is")


def _name(f: Callable) -> str:
    return getattr(f, "__qualname__", type(f).__name__)


def _refuse_objects(f: Callable, leaves: Sequence, call: Call) -> None:
    """Tensors that an object holds would not be found; the next call would give those of this one."""
    given = [value for part in call.parts for value, _, _ in part.leaves]
    for leaf in leaves:
        plain = isinstance(leaf, (Tensor, Scalar, int, float, np.ndarray, np.generic, *STATIC))
        if not plain and not any(leaf is value for value in given):
            raise JitError(f"{_name(f)} returns a {type(leaf).__name__}, and what that holds is not known at the next "
                           "call", op="jit",
                           fix="return tensors, numbers, and tuples, lists, dicts or dataclasses of them")


def record(f: Callable, call: Call) -> Recorded:
    recorded = Recorded(f, call)
    if (recorded.written or call.donated) and pattern_of([*call.handles, *recorded.closed]):
        recorded = Recorded(f, call, shared=recorded)
    return recorded


def value_of(node: Node) -> Node:
    """The node without the marks that only gradients look at."""
    while node.op is ALIAS and node.value is None:
        node = node.srcs[0]
    return node


def pattern_of(handles: Sequence[Tensor]) -> tuple[int, ...]:
    """Which of these are the same tensor: (), where none are."""
    ids = list(map(id, handles))
    return () if len(set(ids)) == len(ids) else tuple([ids.index(k) for k in ids])


# ------------------------------------------------------------------------------------------------------------- replays

class Replay:
    """One trace of a function.

    A call has a list of nodes: those of its own tensors, then those of `closed`, the tensors that f closes over. What a
    call gives or assigns is found in its pool: the results of the program, those nodes, extras.

    closed, specs  tensors that f closes over, and what the program knows of them
    roots          what is computed, over numbered leaves and parameters
    extras         constants of the trace, and (filled in by `scalars` at each call) numbers that became results
    inputs         for each input of the program its place among nodes and extras
    words          the scalars of the program; `patches` says which of them each call has to fill in: (word, Source)
    results        each once: ("tensor", place in the pool), ("handle", place of a handle), ("number", position on the
                   tape), ("array", an array, copied at each call), ("object", the object itself); `picks` are the
                   leaves of what f returns, in `structure`
    writes         (place of a handle, place in the pool, is it a variable): what f assigns
    looked         (place of a handle, has it a gradient) where f looks
    moving         (place in `closed`, place of the handle whose gradient that is)
    fills          (place of a handle, which result becomes its gradient, or None)
    inline         what f gives has a gradient, so it has to be recorded: it is called as it is
    pattern        which handles are the same tensor, where that matters: f assigns, or tensors are given away
    in_place       inputs of the program whose memory an output can take over
    outside        modes of modules and places of tensors, which a call has to find the same: None where there are none
    """

    def __init__(self, recorded: Recorded, call: Call):
        self.fast: Callable | None = None       # the common call; see written_out.py
        self.steady: Steady | None = None            # what the next call need not look at again; see steady.py
        self.quick = False                      # whether there can be such
        self.rebound = self.seen = 0            # tensors of `closed` that others have rebound; and before the last look
        self.left = -1                          # and after the last call
        self.closed, self.structure = recorded.closed, recorded.structure
        self.tape, self.draws = recorded.trace.tape, recorded.trace.draws
        self.inline: bool | None = None
        self.outside: Outside | None = None

        def read() -> None:
            if self.inline is None:
                self._read(recorded, call)

        driver.realize([handle.node for handle in self.closed], "jit", beside=read)
        read()
        self.specs = [spec_of(handle.node) for handle in self.closed]
        while PENDING in self.specs:        # of what another thread has assigned meanwhile
            driver.realize([handle.node for handle in self.closed], "jit")
            self.specs = [spec_of(handle.node) for handle in self.closed]
        self.facts = ("with a history",) * len(FACTS) if self.inline else self._facts()

    def _read(self, recorded: Recorded, call: Call) -> None:
        """What a call computes, gives and assigns, and the program for it."""
        self.no_grad = bool(history.paused) if any(handle.node.tracked for handle in self.closed) else None
        alone = not (recorded.shared or recorded.written or call.donated)
        self.pattern = None if alone else pattern_of([*call.handles, *self.closed])
        self.looked = [(k, grad is not None) for k, grad in recorded.looked.items()]
        self.moving = [(j, k) for k, grad in recorded.looked.items() for j, t in enumerate(self.closed) if t is grad]
        self.inline = recorded.has_history()
        if not self.inline:
            self.outside = Outside(recorded.trace.modes, recorded.places, self.closed) or None
        if self.inline:
            self.in_place = []
            self.roots = recorded.computed()    # for `plan`
            return
        filled = [grad for grad in recorded.filled.values() if grad is not None]
        results, picks = _results(recorded, [*recorded.leaves, *filled])
        self.picks = picks[:len(recorded.leaves)]
        others = iter(picks[len(recorded.leaves):])
        self.fills = [(k, None if grad is None else next(others)) for k, grad in recorded.filled.items()]
        written = {k: value_of(recorded.now(k)) for k in recorded.written}
        # What is returned comes first: where that fails, hardly anything has been written in place yet.
        wanted = [*(node for kind, node in results if kind == "tensor"), *written.values()]
        with driver.lock:
            roots = [n for n in driver.computed(wanted) if n.op is not BUFFER and n.op is not PARAM]
            pool = _Pool(roots, recorded)
            self._compile(roots, pool)
        self.results = [(kind, pool.place(what) if kind == "tensor" else what) for kind, what in results]
        self.writes = [(k, pool.place(node), recorded.now(k) in variables) for k, node in written.items()]
        self.extras = pool.extras
        self.scalars = [(k, pool.source(node)) for k, node in enumerate(pool.extras) if node.op is PARAM]
        self._own_memory(call.donated)
        plain = not (self.tape or self.scalars or self.writes or self.lost or self.patches or self.fills)
        # With nothing computed, the first place is an argument's.
        self.single = plain and bool(self.made) and self.structure == LEAF and self.results == [("tensor", 0)]
        self.quick = fits(self, len(call.handles))
        if self.quick:
            with driver.lock:
                rebinding.watch(self, self.closed)

    def _compile(self, roots: list[Node], pool: _Pool) -> None:
        self.roots: tuple[Node, ...] = ()
        self.made = [(root.dtype, root.shape, root.site) for root in roots]
        self.inputs: list[int] = []
        self.words: list[int] = []
        self.patches: list[tuple[int, Source]] = []
        self.entry = self.key = None
        if not roots:
            return
        graph = canonical.canonicalize(roots)
        self.key = graph.key
        self.roots = canonical.rebuild_canonical(graph)[0]
        self.inputs = [pool.place(leaf) - len(roots) for leaf in graph.leaves]
        self.words = [0 if isinstance(param, Node) else param for param in graph.params]
        self.patches = [(word, pool.source(p)) for word, p in enumerate(graph.params) if isinstance(p, Node)]
        backend = driver.backend_of(graph.key[0])
        self.device = backend.name
        if backend.dialect is not None:
            self.entry = driver.prepare(graph, backend)

    def _own_memory(self, donated: list[int]) -> None:
        """Which handles lose their value, and which inputs nobody needs after the run."""
        kept = {k for k, _, _ in self.writes} | {k for kind, k in self.results if kind == "handle"}
        self.donated = donated
        self.lost = [k for k in donated if k not in kept]
        free = {*self.lost, *(k for k, _, _ in self.writes)}
        shown = {place - len(self.made) for place in (*(p for _, p, _ in self.writes),
                                                     *(p for kind, p in self.results if kind == "tensor"))}
        aliases = self.entry.aliases if self.entry is not None else ()
        self.in_place = [p for p in aliases if self.inputs[p] in free and self.inputs[p] not in shown]

    # ---- one call

    def accepts(self, handles: list[Tensor], nodes: list[Node]) -> bool:
        """Does it serve this call? Then the tensors that f closes over are added to both lists. Under the lock."""
        self.seen = self.rebound
        closed = self.closed
        if self.looked:
            closed = self.closed_for(handles)
            if closed is None:
                return False
        if self.pattern is not None and pattern_of(handles + closed) != self.pattern:
            return False
        if closed:
            found = [handle.node for handle in closed]
            if [spec_of(node) for node in found] != self.specs:
                return False
            if self.no_grad is not None and self.no_grad is not bool(history.paused):
                return False
            handles += closed
            nodes += found
        return True

    def closed_for(self, handles: list[Tensor]) -> list[Tensor] | None:
        """The tensors that f closes over at a call with these: gradients are other ones each time. None if some are
        missing, or should be."""
        everything = handles + self.closed
        for k, present in self.looked:
            if (grad_of(everything[k]) is not None) != present:
                return None
        closed = self.closed.copy()
        for j, k in self.moving:
            closed[j] = grad_of(everything[k])
        return closed

    def run(self, handles: list[Tensor], nodes: list[Node], numbers: Sequence):
        """What f returns. Under the lock where `in_place`."""
        if self.single:
            dtype, shape, site = self.made[0]
            tensor = _blank(Tensor)
            tensor.node = buffer(dtype, shape, self._compute(handles, nodes, self.words, ())[0][0], self.device, site)
            return tensor
        for k in self.donated:
            _must_be_free(handles, nodes[k], k)
        self.steady = None
        for k in (*self.lost, *[k for k, _, _ in self.writes]):
            rebinding.of(handles[k], self)      # who holds on to its memory lets go
        given = [p for p in self.in_place if _is_free(nodes, self.inputs[p])]
        values = numbers_of(self.tape, numbers, self.draws)
        words = self.words.copy()
        pool = nodes + self.extras
        try:
            for word, source in self.patches:
                words[word] = source.word(values, nodes)
            for k, source in self.scalars:
                pool[len(nodes) + k] = source.node(values, nodes)
        except Unfit:
            undraw(self.tape, values, self.draws)
            raise
        raised = None
        if self.roots:
            buffers, raised = self._compute(handles, nodes, words, given)
            pool = [buffer(dtype, shape, value, self.device, site)
                    for (dtype, shape, site), value in zip(self.made, buffers, strict=True)] + pool
        for k, place, is_variable in self.writes:
            handles[k].node = pool[place]
            rebinding.of(handles[k], self)
            if is_variable:
                handles[k].requires_grad = True
        for k in self.lost:
            handles[k].node = driver.lost(nodes[k], driver.GIVEN_AWAY)
            rebinding.of(handles[k], self)
        made = [wrap(pool[what]) if kind == "tensor" else handles[what] if kind == "handle" else
                values[what] if kind == "number" else what.copy() if kind == "array" else what
                for kind, what in self.results]
        for k, which in self.fills:
            handles[k].grad = None if which is None else made[which]
        if raised is not None:
            raise raised
        return unflatten(self.structure, [made[k] for k in self.picks])

    def _compute(self, handles: list[Tensor], nodes: list[Node], words: list[int], given: Sequence[int]
                 ) -> tuple[Sequence[Buffer], BaseException | None]:
        """The results; and what a signal's handler raised after they were, in place, which is to be raised when they
        have been assigned."""
        if self.entry is None or settings.verify:
            return self.step_by_step(nodes, words), None
        there = nodes + self.extras if self.extras else nodes
        flight: list = []
        try:
            begun = (lambda *run: flight.extend(run)) if given else None
            return self.entry.executable.run([there[k].value for k in self.inputs], words, given, begun), None
        except FAILURES as error:
            return self.after(error, handles, nodes, words, given), None
        except BaseException as error:
            if not flight or not flight[1]():
                raise
            return flight[0], error

    def after(self, error: Exception, handles: list[Tensor], nodes: list[Node], words: list[int], given: Sequence[int]
              ) -> list[Buffer]:
        """The error of a run with the line of the user's that it belongs to; or the results, where memory was lacking
        and is there now. given: inputs that were to be written in place; if that had begun, they have lost their
        values."""
        program = self.entry.executable.program
        begun = program.overwritten(getattr(error, "ended_at", None)) if given else ()
        torn = [self.inputs[p] for p in given if program.inputs[p] in begun]
        if not torn:
            return self.step_by_step(nodes, words)
        self.steady = None
        try:
            self.step_by_step(nodes, words)
        finally:
            for k in torn:
                is_variable = handles[k].is_variable
                handles[k].node = driver.lost(nodes[k], driver.TORN)
                rebinding.of(handles[k], self)
                if is_variable:     # it stays a parameter, which can be loaded
                    handles[k].requires_grad = True
        raise error

    def step_by_step(self, nodes: list[Node], words: list[int]) -> list[Buffer]:
        """The same by way of the graph, as if it had been recorded by this call."""
        there = nodes + self.extras
        roots = canonical.bound(self.roots, [there[k] for k in self.inputs], words)
        driver.realize(roots)
        return [root.value for root in roots]

    def plan(self):
        with driver.lock:
            return driver.plan_of(canonical.canonicalize(self.roots)) if self.roots else None

    def _facts(self) -> tuple:
        """All that a second trace has to agree with; see `FACTS`."""
        arrays = [node.value.view(np.uint8, (node.value.nbytes,)).tobytes() for node in self.extras
                  if node.value is not None]
        others = [node.attrs for node in self.extras if node.op is CONST]
        objects = [(kind, what.tobytes() if isinstance(what, np.ndarray) else repr(what))
                   for kind, what in self.results]
        return (self.key, (self.words, repr(self.patches), repr(self.tape), others), arrays,
                (self.inputs, self.writes, [id(handle) for handle in self.closed]),
                (repr(self.structure), objects, self.picks))


FACTS = ("operations", "numbers", "arrays", "tensors that it reads or assigns to", "results")


# --------------------------------------------------------------------------------------------- what comes from where

class _Pool:
    """Where the values lie that a call gives or assigns: results of the program, then nodes, then extras."""

    def __init__(self, roots: list[Node], recorded: Recorded):
        trace = recorded.trace
        before = {trace.before[place]: k for place, k in recorded.position.items()}
        self.handles = {node: k for node, k in before.items() if node.op is not CONST}
        self.sources = {number: Source(position, None if place is None else recorded.position[place], dtype)
                        for number, (position, place, dtype) in trace.params.items()}
        self.roots = {root: k for k, root in enumerate(roots)}
        self.first = len(roots) + len(recorded.handles)
        self.extras: list[Node] = []

    def place(self, node: Node) -> int:
        if node in self.roots:
            return self.roots[node]
        if node in self.handles:
            return len(self.roots) + self.handles[node]
        if node not in self.extras:
            self.extras.append(node)
        return self.first + self.extras.index(node)

    def source(self, param: Node) -> Source:
        return self.sources[param.attrs[0]]


class Source(Struct, frozen=True):
    """Where the value of a parameter comes from: a number of the tape, or a handle that stands for a constant."""

    position: int | None
    handle: int | None
    dtype: DType

    def word(self, values: Sequence, nodes: list[Node]) -> int:
        if self.position is None:
            return const_words(nodes[self.handle])
        return word_of(values[self.position], self.dtype)

    def node(self, values: Sequence, nodes: list[Node]) -> Node:
        return const_of_words(self.word(values, nodes), self.dtype)


def word_of(value, dtype: DType) -> int:
    """A Python number as the word that a kernel takes: the bits of what `numbers.scalar` would make of it."""
    pack = _PACKED.get(dtype)
    if pack is not None:
        try:
            return _WORD.unpack(pack(value))[0]
        except (OverflowError, struct.error):   # infinite in float32, no integer or none that fits: as recorded
            pass
    try:
        return const_words(scalar(value, dtype, "jit"))
    except (IntegerOverflow, DTypeError):
        raise Unfit from None


_WORD = struct.Struct("<q")
_PACKED = {dt.float32: struct.Struct("<f4x").pack, dt.float64: struct.Struct("<d").pack, dt.int64: _WORD.pack,
           dt.uint64: struct.Struct("<Q").pack, dt.int32: struct.Struct("<i4x").pack}


def _results(recorded: Recorded, leaves: list) -> tuple[list[tuple[str, Any]], list[int]]:
    """These values of the trace, each tensor once, and which of those each one is."""
    trace = recorded.trace
    results: list[tuple[str, Any]] = []
    picks: list[int] = []
    met: dict[int, int] = {}
    for value in leaves:
        if isinstance(value, Tensor) and id(value) in met:
            picks.append(met[id(value)])
            continue
        picks.append(len(results))
        if isinstance(value, Tensor):
            met[id(value)] = len(results)
            place = trace.place_of(value)
            made = place is None
            results.append(("tensor", value_of(trace.read(value))) if made else ("handle", recorded.position[place]))
        elif isinstance(value, Scalar):
            results.append(("number", value.position))
        elif isinstance(value, np.ndarray):
            results.append(("array", value.copy()))
        else:
            results.append(("object", value))
    return results, picks


# --------------------------------------------------------------------------------------------------------------- memory

def _must_be_free(handles: list[Tensor], node: Node, k: int) -> None:
    """May this tensor be given away? Whether its memory is used, which others may share, is another question."""
    if sum(other is handles[k] for other in handles) > 1:
        raise JitError(f"a donated tensor of shape {node.shape} is given twice", op="jit",
                       fix="give it once, or leave it out of donate_argnums")
    if node.value is not None and node.value.exports:
        raise JitError(f"a donated tensor of shape {node.shape} can't be given away: a NumPy array still shows its "
                       "memory", op="jit", fix="drop the array, or copy it: np.array(t)")


def _is_free(nodes: list[Node], k: int) -> bool:
    """Whether only a handle and the call hold a node, and only that its buffer, which no array shows then."""
    return references([nodes[k], nodes[k].value]) == [2, 1]
