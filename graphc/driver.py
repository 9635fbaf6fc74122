"""From recorded graphs to values: the backend of each, its programs, and their runs.

    realize(nodes)  ->  canonical graph  ->  a program in memory?  ->  bind buffers and scalars, launch
                                               | no                     ^
                                               v                        |
          on disk (program_cache.py), or by build.py: passes -> kernels -> memory -> source -> Program;
          the backend compiles what the kernel cache lacks
"""
from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from graphc import again, canonical, familiar, program_cache
from graphc.config import settings
from graphc.errors import CompileError, GraphcError, OutOfMemory, TracerError
from graphc.ir import dtype as dt
from graphc.ir.body import LOOPED
from graphc.ir.node import Node
from graphc.ir.node import buffer as make_leaf
from graphc.ir.ops import CHECK_INDEX, CONST, LIBRARY
from graphc.ir.program import Program
from graphc.references import held, reads_of, references
from graphc.runtime import backend as backends
from graphc.runtime.backend import FAILURES, Backend, Executable, IndexFault
from graphc.runtime.buffers import Buffer
from graphc.runtime.counters import Counters
from graphc.runtime.counters import counters as _counters

if TYPE_CHECKING:
    from graphc.build import Built, Planned

# What a leaf without a buffer says of itself in its attrs; one of gc.spec says nothing.
TRACED = ("traced",)            # it stands for what a call of a jitted function brings
EXAMPLE = ("an example",)       # it stands for any of a batch of vmap
GIVEN_AWAY = ("given away",)    # a donated tensor after the call
TORN = ("torn",)                # a tensor that a call wrote to in place when it failed
PROGRAMS = 4096             # programs kept in memory; the oldest goes first

observers: list[Callable] = []      # called with the Plan of every schedule that is realized for the first time
shown_dialect: str | None = None    # in which observers see the kernels; None: that of the backend which runs them


class Entry(Struct, eq=False):
    """A program that is loaded."""

    executable: Executable
    aliases: tuple[int, ...]        # inputs whose buffers an output can take over
    met: int = 0                    # how often a walk over a graph has led here


_programs: OrderedDict[tuple, Entry] = OrderedDict()
lock = threading.RLock()    # held while a graph is read or changed
_backends: dict[str, Backend] = {}
_current: str | None = None


# ----------------------------------------------------------------------------------------------------------- backends

def current_backend() -> Backend:
    """The backend that new tensors live on: that of a block around, what set_backend chose, or GRAPHC_BACKEND."""
    global _current
    name = marks.backend or _current
    if name is None:
        _current = name = _selected(None)
    return _backends[name]


def _selected(name: str | None) -> str:
    chosen = backends.select(name)[0]
    _backends[chosen.name] = chosen
    return chosen.name


def _import_pipeline() -> None:
    """Passes, Jinja and the frame of the kernels, which a process with an empty cache is going to need."""
    import graphc.build  # noqa: F401
    from graphc import codegen
    codegen.prepare()


backends.meanwhile.append(_import_pipeline)


class _Marks(threading.local):
    inside = 0          # blocks of `fast_math` that this thread is in
    backend = None      # name of the backend of the innermost `with backend(...)` that this thread is in
    tracing = False     # whether it records a jitted function


marks = _Marks()


def surroundings() -> list:
    """What besides its arguments decides how a function is recorded and what becomes of it: the start of its key.
    (tracing/written_out.py spells the same five as a guard.)"""
    return [marks.backend or _current, settings.disable, settings.matmul, dt._default_float, not marks.inside]


def default_device() -> str:
    return current_backend().name


def backend_of(device: str | None) -> Backend:
    if device is None:
        return current_backend()
    if device not in _backends:
        _backends[device] = backends.get(device)
    return _backends[device]


def set_backend(name: str) -> None:
    """Use this backend (or the first of a comma list that can run) for tensors made from now on, until the block ends
    that this thread is in.

    Raises BackendError, which lists what is available, if none can run.
    """
    global _current
    if marks.backend is None:
        _current = _selected(name)
    else:
        marks.backend = _selected(name)


@contextlib.contextmanager
def in_block(name: str) -> Iterator[None]:
    """Use another backend in this thread inside a `with` block."""
    before, marks.backend = marks.backend, _selected(name)
    try:
        yield
    finally:
        marks.backend = before


def available() -> list[str]:
    """The names of the backends that can run here."""
    return [name for name, reason in backends.status().items() if reason is None]


def from_numpy(array: np.ndarray, device: str, copy: bool) -> Buffer:
    """The contiguous array as a buffer on a device; copy=False aliases it where the device is the host."""
    backend = backend_of(device)
    if not copy:
        return backend.from_numpy(array)
    buffer = backend.allocate(array.nbytes)
    buffer.fill(array)
    return buffer


def from_device(array, dlpack: int, copy: bool) -> tuple[str, Buffer, np.dtype, tuple[int, ...]]:
    """An array in a device's memory: (backend, memory, dtype, shape). It is shared where copy=False."""
    backend = backends.sharing(dlpack)
    _backends[backend.name] = backend
    return (backend.name, *backend.from_array(array, copy))


def lender(device: str | None) -> Backend | None:
    """The backend of a device if it gives its memory to other libraries as it is; None for the host's."""
    backend = backend_of(device)
    return backend if getattr(backend, "dlpack", None) is not None else None


def counters() -> Counters:
    """What the process has done so far. The difference of two is a Counters too."""
    return _counters.snapshot()


# ------------------------------------------------------------------------------------------------------------ realize

def realize(nodes: Sequence[Node], asked: str = "realize", beside: Callable[[], None] | None = None) -> None:
    """Compute the nodes that have no value yet, in one schedule, and fulfil them. Constants take the current device.

    asked   by which name the user asked for the values; for the error where they cannot be had
    beside  called while compilers work on the kernels, if they have to. It may prepare a program, whose kernels are
            then compiled together with these

    Several threads may realize nodes that they share. While one reads or changes a graph it holds the lock; it lets go
    of it to compile and to run, for what these need no longer changes.
    """
    with lock:
        if _flight is not None:
            _land()
        pending = computed(nodes)
        if not pending:
            return
        changed = again.changed_with(pending)
        together = pending + changed
        known = familiar.find(together)
    if known is not None and _run_familiar(together, *known):
        return
    try:
        _realize(together, asked, beside)
    except (GraphcError, np.linalg.LinAlgError):
        if not changed:
            raise
        _realize(pending, asked, beside)    # what is wrong with another tensor is reported where that is read


# A run that writes in place: its nodes, their values, and what tells whether these are computed. Under the lock; but
# handlers of signals that come in this thread meanwhile run before its values are kept, and may ask for them.
_flight: tuple | None = None


def _take_off(*flight) -> None:
    global _flight
    _flight = flight


def _land() -> None:
    """Keep the values of a run that has written in place."""
    if _flight is not None and _flight[-1]():
        _fulfil(*_flight[:-1])


def _realize(nodes: Sequence[Node], asked: str, beside: Callable[[], None] | None) -> None:
    global _flight
    with lock:
        pending = computed(nodes)
        if not pending:     # another thread was faster
            return
        graph, pending = _graph(pending)
        if graph.traced:
            raise _unknown_value(graph, asked)
        backend = backend_of(graph.key[0])
        if backend.dialect is None:
            _fulfil(pending, _interpret(pending, backend), backend)
            again.mark(graph.order)
            return
        key, entry, program = _look_up(graph, backend)
    if entry is None:
        if beside is not None:
            backend.warm_up(program.all_kernels)
            beside()
        entry = _load(key, program, graph, backend)
    if entry.aliases or settings.verify:    # nobody may take hold of a leaf that is written in place
        with lock:
            if _is_as_it_was(graph):
                before = _flight
                try:
                    values = _run(entry, graph, lambda values, done: _take_off(pending, values, backend, done))
                finally:    # also if a handler raised: what was written over cannot be computed again
                    _land()
                    _flight = before
                if settings.verify:
                    from graphc import live_check
                    live_check.check(pending, values, backend)
                _fulfil(pending, values, backend)
                again.mark(graph.order)
                return
        return _realize(nodes, asked, beside)       # another thread computed some of it: what is left is another graph
    values = _run(entry, graph)
    with lock:
        _fulfil(pending, values, backend)
        again.mark(graph.order)


def _is_as_it_was(graph: canonical.Graph) -> bool:
    """Whether nothing of a graph has been computed since it was read."""
    known = {*graph.leaves, *graph.parts, *graph.parts.values()}
    return all(node.value is None or node in known for node in graph.order)


def _graph(pending: list[Node]) -> tuple[canonical.Graph, list[Node]]:
    """The graph of what has to be computed, and that with what is kept beside it (graphc/again.py)."""
    graph = canonical.canonicalize(pending)
    before, beside, is_new = again.to_keep(graph)
    if is_new:
        familiar.forget()       # these would be computed without what is kept from now on
    if before or beside:
        pending = [*pending, *before, *beside]
        graph = canonical.canonicalize(pending)
        graph.beside = len(beside)
    graph.met = bool(before)    # to be looked at in each turn; what else was met is not worth it
    return graph, pending


def _run_familiar(pending: Sequence[Node], run: Callable, inputs: list[Buffer], params: list, beside: list[Node]
                  ) -> bool:
    """Whether a graph that is run so often that its program is at hand has been run; an error is left to the long way,
    which finds out whose line it is."""
    try:
        values = run(inputs, params)
    except FAILURES:
        return False
    _counters.program_hits += 1
    with lock:
        if len(values) > 1:
            _fulfil([*pending, *beside], values, backend_of(pending[0].device))
        elif pending[0].value is None:      # as _fulfil, without its loop; it has a device, or would not be familiar
            pending[0].fulfil(values[0])
    return True


def _look_up(graph: canonical.Graph, backend: Backend) -> tuple[tuple, Entry | None, Program | None]:
    """(key, what is ready to run, the program where that is not). Under the lock."""
    key = (backend.name, settings.disable, settings.matmul, graph.key)
    entry = _programs.get(key)
    if entry is None:
        return key, None, _program(key, graph, backend)
    _counters.program_hits += 1
    entry.met += 1
    if entry.met & (entry.met - 1) == 0 and entry.met >= familiar.often(graph) and not entry.aliases:
        familiar.learn(graph, entry.executable)     # and again if it was forgotten
    return key, entry, None


def prepare(graph: canonical.Graph, backend: Backend) -> Entry:
    """The program of a graph, ready to run: how a jitted function gets its own."""
    with lock:
        key, entry, program = _look_up(graph, backend)
    return entry or _load(key, program, graph, backend)


def lost(node: Node, why: tuple[str]) -> Node:
    """What a tensor stands for that has lost its values, GIVEN_AWAY or TORN: reading it raises."""
    gone = make_leaf(node.dtype, node.shape, None, node.device, node.site)
    gone.attrs = why
    return gone


def _unknown_value(graph: canonical.Graph, asked: str) -> TracerError:
    reasons = {leaf.attrs for leaf in graph.leaves if leaf.value is None}
    if () in reasons:
        return TracerError("the value depends on a tensor without values (gc.spec)", op=asked,
                           fix="choose by gc.where or gc.cond instead of if; or give a real tensor: gc.zeros(shape)",
                           site=graph.roots[0].site)
    if LOOPED in reasons:
        return TracerError("the value depends on what a loop or branch is given, and is not known while its function "
                           "is traced", op=asked, fix="choose by gc.where or gc.cond instead of if, and compute by "
                           "functions of graphc's; to see it, return it")
    if EXAMPLE in reasons:
        return TracerError("the value differs by example of vmap's batch", op=asked,
                           fix="choose by gc.where or gc.cond instead of if, and compute by functions of graphc's; "
                           "to see it, return it; pass what steers the function with in_axes=None")
    if GIVEN_AWAY in reasons:
        return TracerError("the tensor was given away to a jitted function (donate_argnums), or depends on such a one",
                           op=asked, fix="use what the function returned, or don't donate the argument")
    if TORN in reasons:
        return TracerError("a jitted call failed while it wrote to the tensor in place, which has lost its values; or "
                           "the value depends on such a tensor", op=asked, fix="assign to it anew: x.assign(values)")
    if not marks.tracing:
        return TracerError("this tensor was made inside a jitted function and kept outside of it, without a value",
                           op=asked, fix="return it instead; or assign to a tensor that was there before: x.assign(y)",
                           site=graph.roots[0].site)
    return TracerError("the value depends on the arguments of a jitted function, and is not known while that is traced",
                       op=asked, fix="to see it, return it; choose by gc.where instead of if; or compute the value "
                       "outside of the jitted function and pass it, as a Python number (t.item()) that is named in "
                       "static_argnums where it steers the program")


def _fulfil(nodes: Sequence[Node], values: Sequence[Buffer], backend: Backend) -> None:
    for node, value in zip(nodes, values, strict=True):
        if node.value is None:
            node.fulfil(value)
            if node.device is None:
                node.device = backend.name


def computed(nodes: Sequence[Node]) -> list[Node]:
    """What has to be computed. A constant has its value in itself, and is shared by all who use it: it stays one."""
    if len(nodes) == 1:     # as below, without its dictionary
        return [] if nodes[0].value is not None or nodes[0].op is CONST else [nodes[0]]
    return [n for n in dict.fromkeys(nodes) if n.value is None and n.op is not CONST]


def _interpret(nodes: Sequence[Node], backend: Backend) -> list[Buffer]:
    from graphc import reference
    out = []
    for array in reference.evaluate(nodes):
        array = np.asarray(array)
        buffer = backend.allocate(array.nbytes)
        buffer.fill(array)
        out.append(buffer)
    return out


def _run(entry: Entry, graph: canonical.Graph, begun: Callable | None = None) -> list[Buffer]:
    try:
        if entry.aliases and not settings.verify:
            inputs = [leaf.value for leaf in graph.leaves]
            donated = _donated(entry.aliases, graph)
            return entry.executable.run(inputs, graph.params, donated, begun if donated else None)
        return entry.executable.run([leaf.value for leaf in graph.leaves], graph.params)
    except (IndexFault, np.linalg.LinAlgError) as error:
        raise _with_site(graph, error) from None
    except OutOfMemory as error:
        raise _with_largest(graph, error) from None


def _load(key: tuple, program: Program, graph: canonical.Graph, backend: Backend) -> Entry:
    """Compile what the kernel cache lacks. Where several threads need one program, they share the first's."""
    try:
        entry = Entry(backend.load(program), _aliases(program))
    except CompileError as error:
        raise _with_lines(graph, backend, error) from None
    except OutOfMemory as error:
        raise _with_largest(graph, error) from None
    with lock:
        entry = _programs.setdefault(key, entry)
        if len(_programs) > PROGRAMS:
            _programs.popitem(last=False)
    return entry


def _aliases(program: Program) -> tuple[int, ...]:
    return tuple(program.inputs.index(s.alias) for s in program.slots if s.alias is not None)


def _donated(aliases: Sequence[int], graph: canonical.Graph) -> list[int]:
    """The inputs that only the updates to be run still refer to: `x[i] = v` then writes in place. A node that somebody
    holds and that is not computed now would find its source overwritten later; and so would other results if the run
    failed, as they are computed once more then."""
    if len(graph.roots) > 1 and any(node.op is CHECK_INDEX or node.op.kind == LIBRARY for node in graph.order):
        return []
    buffers = references([leaf.value for leaf in graph.leaves])
    known = reads_of(graph.order)
    known.update(map(id, graph.leaves))
    roots = set(graph.roots)
    seen = set(graph.parts.values())    # these, what somebody else holds, and what that is computed from
    for node, is_held in zip(reversed(graph.order), reversed(held(graph.order, known)), strict=True):
        if is_held and node not in roots:
            seen.add(node)
        if node in seen and node not in roots:
            seen.update(node.srcs)
    # held by the leaf and by the inputs of the run
    return [k for k in aliases if buffers[k] == 2 and graph.leaves[k] not in seen]


def _program(key: tuple, graph: canonical.Graph, backend: Backend) -> Program:
    """From the disk cache, or through the passes; through the passes in any case where somebody wants to see them."""
    name = program_cache.name_of(key, backend.dialect)
    program = program_cache.load(name)
    if program is not None:
        _counters.program_hits += 1
    else:
        _counters.program_misses += 1
        backend.warm_up()
    if settings.debug:
        from graphc import debug
        debug.show_miss(key, graph, on_disk=program is not None)
    shown = observers or settings.debug > 1
    tune = settings.tune and not (program is not None and program.tuned)
    if program is not None and not shown and not tune:
        return program
    from graphc.build import build
    if tune:
        from graphc import tuner
        tune = tuner.tune(graph, backend)
    built = build(graph, backend.dialect)
    if program is None or tune:
        program_cache.store(name, replace(built.program, tuned=tune))
    if shown:
        _show(graph, backend, built)
    return built.program


def _show(graph: canonical.Graph, backend: Backend, built: Built) -> None:
    """Tell the observers of a schedule."""
    from graphc import debug
    from graphc.build import build
    from graphc.report import make_plan
    if shown_dialect not in (None, backend.dialect):
        built = build(graph, shown_dialect)
    plan = make_plan(built, backend)
    for observer in (*observers, debug.show_plan) if settings.debug > 1 else observers:
        observer(plan)


def _with_site(graph: canonical.Graph, error: Exception) -> Exception:
    """The error for bad data, such as an index or a singular matrix: the reference finds where the user asked."""
    from graphc import reference
    try:
        with lock:
            reference.evaluate(graph.roots)
    except (GraphcError, np.linalg.LinAlgError) as found:
        return found
    return error


def _with_lines(graph: canonical.Graph, backend: Backend, error: CompileError) -> CompileError:
    """The error with the lines that the refused kernel comes from."""
    from graphc.build import build
    from graphc.report import lines_of
    with lock:
        lines = lines_of(build(canonical.canonicalize(computed(graph.roots)), backend.dialect), error.message)
    return CompileError(error.message + (f"; the kernel comes from {lines}" if lines else ""), op="realize",
                        fix=error.fix, site=graph.roots[0].site)


def _with_largest(graph: canonical.Graph, error: OutOfMemory) -> Exception:
    """The error with the largest arrays that the run has to hold, and the lines that asked for them."""
    from graphc.build import build
    from graphc.report import largest
    with lock:
        built = build(canonical.canonicalize(computed(graph.roots)), "c")
    return OutOfMemory(f"{error.message}; the largest arrays: {largest(built)}", op="realize", fix=error.fix,
                       site=graph.roots[0].site)


def plan(nodes: Sequence[Node], backend: str | None = None):
    """The Plan of what `realize(nodes)` would run. Nothing runs and nothing is compiled."""
    with lock:
        graph, _ = _graph(computed(nodes))
    return plan_of(graph, backend)


def plan_of(graph: canonical.Graph, backend: str | None = None):
    """The Plan of a canonical graph."""
    from graphc.build import build
    from graphc.report import make_plan
    with lock:
        chosen = backend_of(backend or graph.key[0])
        # The reference runs no kernels; show those of the CPU.
        built = build(graph, chosen.dialect or "c")
        inputs = [leaf.value for leaf in graph.leaves]      # a run holds them too
        donated = _donated(_aliases(built.program), graph)
        del inputs
        return make_plan(built, chosen, donated)


def planned(nodes: Sequence[Node]) -> tuple[Planned, list[Node]]:
    """The memory plan of what `realize(nodes)` would run, and the leaves that it would read."""
    from graphc.build import plan_graph
    with lock:
        graph = canonical.canonicalize(nodes)
        return plan_graph(graph, backend_of(graph.key[0]).dialect or "c"), graph.leaves


def forget_programs() -> None:
    """Empty the in-memory program cache (for tests)."""
    with lock:
        _programs.clear()
        familiar.forget()


def _after_fork() -> None:
    """In the child the lock may be held by a thread that does not exist here."""
    global lock
    lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
