"""A canonical graph through all passes to a Program: the pipeline, on one page. Bodies of loops go the same way."""
from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from graphc import build_loops, debug, tuning
from graphc.canonical import Graph, rebuild_canonical
from graphc.codegen import Rendered, render, render_for_members, target_of
from graphc.config import settings
from graphc.errors import ConfigError
from graphc.ir.kernel import Kernel
from graphc.ir.node import Node, const, const_words, make
from graphc.ir.ops import GET, LIBRARY_CALL
from graphc.ir.program import Copy, KernelSource, Launch, Library, Member, Operand, Program, Slot, Step
from graphc.ir.schedule import Schedule
from graphc.ir.target import Target
from graphc.passes import GRAPH_PASSES, NAMES, batch, follows, fuse, lower, plan_memory, verify
from graphc.passes.batch import Batch, alike, of_one_element
from graphc.passes.lower import LibraryCall, LoweredKernel
from graphc.passes.memory import CopyNode, MemoryPlan
from graphc.passes.tunable import defaults


class Built(Struct, eq=False):
    """A program with what it was made from, for plans and explanations."""

    program: Program
    schedule: Schedule
    steps: tuple[Batch | LibraryCall | CopyNode, ...]
    rendered: dict[LoweredKernel, Rendered]
    bodies: dict[Node, tuple[Built, ...]]       # of loops and branches


class Planned(Struct, eq=False):
    """A graph through all passes.

    results  what each call fills: its GET nodes, and memory that it works in
    drafts   the text of kernels that may share it with others, as it was before their memory was planned
    follows  for each step: see Launch.follows
    bodies   of loops and branches
    """

    roots: tuple[Node, ...]
    leaves: tuple[Node, ...]
    schedule: Schedule
    results: dict[Node, list[Node]]
    drafts: dict[LoweredKernel, Rendered]
    memory: MemoryPlan
    follows: list[bool]
    bodies: dict[Node, tuple[Planned, ...]]


def build(graph: Graph, dialect: str) -> Built:
    with _no_collector():
        return _written(plan_graph(graph, dialect), dialect)


def _written(planned: Planned, dialect: str) -> Built:
    memory = planned.memory
    bodies = {call: tuple(_written(p, dialect) for p in inside) for call, inside in planned.bodies.items()}
    rendered = _render(memory.steps, planned.drafts, dialect)
    program = _assemble(planned, rendered, bodies)
    return Built(program, planned.schedule, memory.steps, rendered, bodies)


def plan_graph(graph: Graph, dialect: str = "c") -> Planned:
    with _no_collector():
        return _plan(*rebuild_canonical(graph), dialect)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Passes make many objects and leave hardly a cycle: Python's search for cycles was a fifth of their time. Where
    two threads are inside, the first that leaves ends it for both."""
    global _paused
    if not gc.isenabled():
        yield
        return
    gc.disable()
    _paused = True
    try:
        yield
    finally:
        gc.enable()
        _paused = False


_paused = False     # whether a thread is in there, which would not exist in a forked child
os.register_at_fork(after_in_child=lambda: gc.enable() if _paused else None)


def _plan(roots: tuple[Node, ...], leaves: tuple[Node, ...], dialect: str, body: bool = False) -> Planned:
    target = target_of(dialect)
    roots = build_loops.stored(_through_graph_passes(roots, target))
    if body:
        roots = build_loops.fenced(roots)
    schedule = fuse(roots, "fuse" in settings.disable, target)
    roots = schedule.roots
    if settings.debug > 2:
        debug.show_schedule(schedule)
    lowered = lower(schedule, tuning.choose if not target.group else defaults)
    if settings.debug > 2:
        debug.show_kernels([step.kernel for step in lowered if isinstance(step, LoweredKernel)])
    if settings.verify:
        verify.verify_schedule(schedule)
        verify.verify_kernels(lowered)
    calls = [call for group in schedule.groups if group.kind == "library" for call in group.anchors]
    bodies = {call: tuple(_plan(b.roots, b.inputs, dialect, body=True) for b in build_loops.bodies_of(call))
              for call in calls if call.op is not LIBRARY_CALL}
    results = {call: [*_results(call), *(build_loops.room(call, bodies[call]) if call in bodies else ())]
               for call in calls}
    alone = "batch" in settings.disable or not target.members
    drafts = {} if alone else _drafts(alike(lowered), dialect)
    steps = batch(lowered, {step: r.source for step, r in drafts.items()},
                  {step: r.most for step, r in drafts.items()}, of_one_element(drafts), roots)
    if settings.verify:
        verify.verify_batches(steps)
    memory = plan_memory(steps, roots, leaves, results, target.group)
    if settings.verify:
        verify.verify_kernels(m for step in memory.steps if isinstance(step, Batch) for m in step.members)
    apart = body or target.group or "follow" in settings.disable    # a body's inputs and outputs may be one memory
    after = [False] * len(memory.steps) if apart else follows(memory)
    return Planned(roots, leaves, schedule, results, drafts, memory, after, bodies)


def _through_graph_passes(roots: tuple[Node, ...], target: Target) -> tuple[Node, ...]:
    unknown = settings.disable.difference(NAMES)
    if unknown:
        raise ConfigError(f"there is no pass {min(unknown)!r}", op="GRAPHC_DISABLE", fix=f"use {', '.join(NAMES)}")
    show = settings.debug > 2
    if show:
        debug.show_graph(roots, "recorded")
    for name, run, for_target, templates in GRAPH_PASSES:
        if settings.disable.isdisjoint((name, *templates)) and templates.issubset(target.templates):
            roots = run(roots, target) if for_target else run(roots)
            if show:
                debug.show_graph(roots, f"after {name}")
            if settings.verify:
                verify.verify_graph(roots, name)
    return roots


def _drafts(steps: list[LoweredKernel], dialect: str) -> dict[LoweredKernel, Rendered]:
    """The text of kernels that may share it."""
    known: dict[tuple, Rendered] = {}
    return {step: _once(step.kernel, dialect, known) for step in steps}


def _once(kernel: Kernel, dialect: str, known: dict[tuple, Rendered]) -> Rendered:
    """The text of a kernel. Groups that were lowered once are rendered once; their kernels are alive meanwhile."""
    form = (id(kernel.body), id(kernel.prologue), kernel.buffers)
    if form not in known:
        places = tuple((k, dtype) for k, (_, dtype) in enumerate(kernel.params))
        known[form] = render(replace(kernel, params=places), dialect)
    return known[form].with_params([number for number, _ in kernel.params])


def _render(steps, drafts: dict[LoweredKernel, Rendered], dialect: str) -> dict[LoweredKernel, Rendered]:
    """The text of each launch; `drafts` holds what was rendered before memory was planned."""
    rendered: dict[LoweredKernel, Rendered] = {}
    known: dict[tuple, Rendered] = {}
    for step in steps:
        for k, member in enumerate(step.members if isinstance(step, Batch) else ()):
            if k in step.singles:
                rendered[member] = rendered[step.members[0]].of_one_element(step.singles[k])
            else:
                rendered[member] = drafts.get(member) or _once(member.kernel, dialect, known)
        if isinstance(step, Batch) and len(step.members) > 1 and rendered[step.members[0]].most:
            first = step.members[0]
            rendered[first] = replace(rendered[first], source=render_for_members(first.kernel, dialect).source)
    return rendered


def _results(call: Node) -> list[Node]:
    """The GET nodes of a call: it fills all its results, read or not."""
    return [make(GET, dtype, shape, (call,), (i,), device=call.device)
            for i, (dtype, shape) in enumerate(zip(call.dtype, call.shape, strict=True))]


def _assemble(planned: Planned, rendered: dict[LoweredKernel, Rendered], bodies: dict[Node, tuple[Built, ...]]
              ) -> Program:
    memory, results = planned.memory, planned.results
    kernels: dict[KernelSource, int] = {}
    steps: list[Step] = []
    labels: list[str] = []
    for step, after in zip(memory.steps, planned.follows, strict=True):
        if isinstance(step, CopyNode):
            steps.append(Copy(memory.slot_of[step.source], memory.slot_of[step.target], step.target.nbytes))
            labels.append("copy")
        elif isinstance(step, LibraryCall):
            call = step.node
            if call in bodies:
                steps.append(build_loops.step_of(call, planned, tuple(b.program for b in bodies[call])))
            else:
                steps.append(_library(call, results[call], memory))
            labels.append(call.attrs[0] if call.op is LIBRARY_CALL else call.op.name)
        else:
            steps.append(_launch(step, rendered, kernels, memory.slot_of, after))
            labels.append(step.members[0].kernel.name)
    outputs = tuple(memory.slot_of[r] for r in planned.roots)
    return Program(memory.slots, tuple(steps), tuple(kernels), tuple(range(len(planned.leaves))), outputs, memory.arena,
                   tuple(labels))


def _launch(step: Batch, rendered: dict[LoweredKernel, Rendered], kernels: dict[KernelSource, int],
            slot_of: dict[Node, int], after: bool = False) -> Launch:
    members = tuple(Member(tuple(slot_of[n] for n in m.nodes), rendered[m].args, rendered[m].params, m.kernel.chunks)
                    for m in step.members)
    number = kernels.setdefault(rendered[step.members[0]].source, len(kernels))
    return Launch(number, members, max(rendered[m].scratch for m in step.members), after)


def program_of_one(step: LoweredKernel, rendered: Rendered) -> Program:
    """A program that runs a kernel by itself on arrays of the caller's. Its scalars are 1."""
    slots = tuple(Slot("output" if b.written else "input", node.nbytes)
                  for node, b in zip(step.nodes, step.kernel.buffers, strict=True))
    dtypes = dict(step.kernel.params)
    args = list(rendered.args)
    for word, number in rendered.params:
        args[word] = const_words(const(1, dtypes[number]))
    alone = replace(rendered, args=tuple(args), params=())
    launch = _launch(Batch((step,)), {step: alone}, {}, {node: k for k, node in enumerate(step.nodes)})
    inputs, outputs = (tuple(k for k, slot in enumerate(slots) if slot.role == role) for role in ("input", "output"))
    return Program(slots, (launch,), (rendered.source,), inputs, outputs, 0, (step.kernel.name,))


def _library(node: Node, results: list[Node], memory: MemoryPlan) -> Library:
    inputs = tuple(Operand(memory.slot_of[s], s.dtype.name, s.shape) for s in node.srcs)
    outputs = tuple(Operand(memory.slot_of[g], g.dtype.name, g.shape) for g in results)
    return Library(node.attrs[0], inputs, outputs, (("arguments", node.attrs[1]),))
