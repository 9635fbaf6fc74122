"""From recorded graphs to values: the one place where passes, code generation and the runtime meet.

    realize(nodes)  ->  canonical graph  ->  program cache?  ->  bind buffers and scalars, launch
                                              | miss
                                              v
          simplify -> split -> fuse -> lower -> plan memory -> render -> Program -> compile what the kernel cache lacks
"""
from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphc import canonical, program_cache
from graphc.config import settings
from graphc.errors import GraphcError
from graphc.ir.node import Node
from graphc.ir.ops import CONST
from graphc.ir.program import Program
from graphc.runtime import backend as backends
from graphc.runtime.backend import Backend, IndexFault
from graphc.runtime.buffers import Buffer
from graphc.runtime.counters import Counters
from graphc.runtime.counters import counters as _counters

PROGRAMS = 4096             # programs kept in memory; the least recently used goes first

observers: list[Callable] = []      # called with the Plan of every schedule that is realized for the first time


@dataclass(eq=False, slots=True)
class _Entry:
    executable: object
    aliases: tuple[int, ...]        # inputs whose buffers an output can take over


_programs: OrderedDict[tuple, _Entry] = OrderedDict()
_lock = threading.RLock()
_backends: dict[str, Backend] = {}
_current: str | None = None


# ----------------------------------------------------------------------------------------------------------- backends

def current_backend() -> Backend:
    """The backend that new tensors live on: what set_backend chose, else GRAPHC_BACKEND."""
    global _current
    if _current is None:
        chosen = backends.select()[0]
        _backends[chosen.name] = chosen
        _current = chosen.name
    return _backends[_current]


def default_device() -> str:
    return current_backend().name


def backend_of(device: str | None) -> Backend:
    if device is None:
        return current_backend()
    if device not in _backends:
        _backends[device] = backends.get(device)
    return _backends[device]


def set_backend(name: str) -> None:
    """Use this backend (or the first of a comma list that can run) for tensors made from now on.

    Raises BackendError, which lists what is available, if none can run.
    """
    global _current
    chosen = backends.select(name)[0]
    _backends[chosen.name] = chosen
    _current = chosen.name


def available() -> list[str]:
    """The names of the backends that can run here."""
    return [name for name, reason in backends.status().items() if reason is None]


def from_numpy(array: np.ndarray, device: str, copy: bool) -> Buffer:
    """The contiguous array as a buffer on a device; copy=False aliases it where the device is the host."""
    backend = backend_of(device)
    if not copy:
        return backend.from_numpy(array)
    buffer = backend.allocate(array.nbytes)
    if array.size:
        buffer.writable(array.dtype, array.shape)[...] = array
    return buffer


def counters() -> Counters:
    """What the process has done so far. The difference of two is a Counters too."""
    return _counters.snapshot()


# ------------------------------------------------------------------------------------------------------------ realize

def realize(nodes: Sequence[Node]) -> None:
    """Compute the nodes that have no value yet, in one schedule, and fulfil them. Constants take the current device."""
    pending = _pending(nodes)
    if not pending:
        return
    graph = canonical.canonicalize(pending)
    backend = backend_of(graph.key[0])
    if backend.dialect is None:
        values = _interpret(pending, backend)
    else:
        values = _run(graph, backend)
    for node, value in zip(pending, values, strict=True):
        if node.value is None:
            if node.device is None:
                node.device = backend.name
            node.fulfil(value)


def _pending(nodes: Sequence[Node]) -> list[Node]:
    """What has to be computed. A constant has its value in itself, and is shared by all who use it: it stays one."""
    return [n for n in dict.fromkeys(nodes) if n.value is None and n.op is not CONST]


def _interpret(nodes: Sequence[Node], backend: Backend) -> list[Buffer]:
    from graphc import reference
    out = []
    for array in reference.evaluate(nodes):
        array = np.asarray(array)
        buffer = backend.allocate(array.nbytes)
        if array.size:
            buffer.writable(array.dtype, array.shape)[...] = array
        out.append(buffer)
    return out


def _run(graph: canonical.Graph, backend: Backend) -> list[Buffer]:
    key = (backend.name, settings.disable, graph.key)
    entry = _programs.get(key)
    if entry is None:
        entry = _prepare(key, graph, backend)
    else:
        _counters.program_hits += 1
    try:
        if entry.aliases:
            return entry.executable.run([leaf.value for leaf in graph.leaves], graph.params, _donated(entry, graph))
        return entry.executable.run([leaf.value for leaf in graph.leaves], graph.params)
    except IndexFault as fault:
        raise _explain_fault(graph, fault) from None


def _prepare(key: tuple, graph: canonical.Graph, backend: Backend) -> _Entry:
    plan = None
    with _lock:
        entry = _programs.get(key)
        if entry is not None:
            return entry
        if observers:
            from graphc.build import build
            from graphc.report import make_plan
            _counters.program_misses += 1
            built = build(graph, backend.dialect)
            plan, program = make_plan(built, backend), built.program
        else:
            program = _program(key, graph, backend)
        entry = _Entry(backend.load(program), tuple(program.inputs.index(s.alias) for s in program.slots
                                                    if s.alias is not None))
        _programs[key] = entry
        if len(_programs) > PROGRAMS:
            _programs.popitem(last=False)
    for observer in observers if plan is not None else ():
        observer(plan)
    return entry


# What holds an updated leaf that nobody else needs: the sources of its update, the graph's list of leaves and of nodes,
# the variable below and the argument of getrefcount. Its buffer: the node, the list of inputs and the argument.
_LEAF_HOLDERS, _BUFFER_HOLDERS = 5, 3


def _donated(entry: _Entry, graph: canonical.Graph) -> list[int]:
    """The inputs that only the update to be run still refers to: `x[i] = v` then writes in place."""
    given = []
    for position in entry.aliases:
        leaf = graph.leaves[position]
        if (sys.getrefcount(leaf) == _LEAF_HOLDERS and sys.getrefcount(leaf.value) == _BUFFER_HOLDERS
                and not leaf.value.exports):
            given.append(position)
    return given


def _program(key: tuple, graph: canonical.Graph, backend: Backend) -> Program:
    """From the disk cache, or through the passes."""
    name = program_cache.name_of(key)
    program = program_cache.load(name)
    if program is not None:
        _counters.program_hits += 1
        return program
    from graphc.build import build
    _counters.program_misses += 1
    program = build(graph, backend.dialect).program
    program_cache.store(name, program)
    return program


def _explain_fault(graph: canonical.Graph, fault: IndexFault) -> Exception:
    """The error for a bad index in data: the reference finds which index it was and where the user wrote it."""
    from graphc import reference
    try:
        reference.evaluate(graph.roots)
    except GraphcError as error:
        return error
    return fault


def plan(nodes: Sequence[Node], backend: str | None = None):
    """The Plan of what `realize(nodes)` would run. Nothing runs and nothing is compiled."""
    from graphc.build import build
    from graphc.report import make_plan
    pending = _pending(nodes)
    graph = canonical.canonicalize(pending)
    chosen = backend_of(backend or graph.key[0])
    dialect = chosen.dialect
    if dialect is None:
        dialect = "c"       # the reference runs no kernels; show those of the CPU
    return make_plan(build(graph, dialect), chosen)


def forget_programs() -> None:
    """Empty the in-memory program cache (for tests)."""
    with _lock:
        _programs.clear()


