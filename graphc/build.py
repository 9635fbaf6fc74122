"""A canonical graph through all passes to a Program: the pipeline, on one page."""
from __future__ import annotations

from dataclasses import dataclass

from graphc import debug
from graphc.canonical import Graph, rebuild_canonical
from graphc.codegen import Rendered, render
from graphc.config import settings
from graphc.errors import ConfigError
from graphc.ir.node import Node, make
from graphc.ir.ops import GET
from graphc.ir.program import Copy, KernelSource, Launch, Library, Operand, Program, Step
from graphc.ir.schedule import Schedule
from graphc.passes import GRAPH_PASSES, fuse, lower, plan_memory, verify
from graphc.passes.lower import LibraryCall, LoweredKernel
from graphc.passes.memory import CopyNode, MemoryPlan


@dataclass(eq=False, slots=True)
class Built:
    """A program with what it was made from, for plans and explanations."""

    program: Program
    schedule: Schedule
    steps: tuple[LoweredKernel | LibraryCall | CopyNode, ...]
    rendered: dict[LoweredKernel, Rendered]


@dataclass(eq=False, slots=True)
class Planned:
    """A graph through all passes, before there is any text. `results`: the GET nodes of each library call."""

    roots: tuple[Node, ...]
    leaves: tuple[Node, ...]
    schedule: Schedule
    results: dict[Node, list[Node]]
    memory: MemoryPlan


def build(graph: Graph, dialect: str) -> Built:
    planned = plan_graph(graph)
    memory = planned.memory
    rendered = {step: render(step.kernel, dialect) for step in memory.steps if isinstance(step, LoweredKernel)}
    program = _assemble(memory, rendered, planned.results, planned.roots, len(planned.leaves))
    return Built(program, planned.schedule, memory.steps, rendered)


def plan_graph(graph: Graph) -> Planned:
    unknown = settings.disable - {"fuse", *(name for name, _ in GRAPH_PASSES)}
    if unknown:
        names = ", ".join(name for name, _ in GRAPH_PASSES)
        raise ConfigError(f"there is no pass {min(unknown)!r}", op="GRAPHC_DISABLE", fix=f"use {names} or fuse")
    roots, leaves = rebuild_canonical(graph)
    show = settings.debug > 2
    if show:
        debug.show_graph(roots, "recorded")
    for name, graph_pass in GRAPH_PASSES:
        if name not in settings.disable:
            roots = graph_pass(roots)
            if show:
                debug.show_graph(roots, f"after {name}")
            if settings.verify:
                verify.verify_graph(roots, name)
    schedule = fuse(roots, disabled="fuse" in settings.disable)
    if show:
        debug.show_schedule(schedule)
    lowered = lower(schedule)
    if settings.verify:
        verify.verify_schedule(schedule)
        verify.verify_kernels(lowered)
    results = _library_results(schedule)
    return Planned(roots, leaves, schedule, results, plan_memory(lowered, roots, leaves, results))


def _library_results(schedule: Schedule) -> dict[Node, list[Node]]:
    """The GET nodes of each library call: a routine fills all its results, read or not."""
    return {call: [make(GET, dtype, shape, (call,), (i,), device=call.device)
                   for i, (dtype, shape) in enumerate(zip(call.dtype, call.shape, strict=True))]
            for group in schedule.groups if group.kind == "library" for call in group.anchors}


def _assemble(memory: MemoryPlan, rendered, results, roots: tuple[Node, ...], inputs: int) -> Program:
    kernels: dict[KernelSource, int] = {}
    steps: list[Step] = []
    labels: list[str] = []
    for step in memory.steps:
        if isinstance(step, CopyNode):
            steps.append(Copy(memory.slot_of[step.source], memory.slot_of[step.target], step.target.nbytes))
            labels.append("copy")
        elif isinstance(step, LibraryCall):
            steps.append(_library(step.node, results[step.node], memory))
            labels.append(step.node.attrs[0])
        else:
            r = rendered[step]
            number = kernels.setdefault(r.source, len(kernels))
            slots = tuple(memory.slot_of[n] for n in step.nodes)
            steps.append(Launch(number, slots, r.args, r.params, step.kernel.chunks, r.scratch))
            labels.append(step.kernel.name)
    outputs = tuple(memory.slot_of[r] for r in roots)
    return Program(memory.slots, tuple(steps), tuple(kernels), tuple(range(inputs)), outputs, memory.arena,
                   tuple(labels))


def _library(node: Node, results: list[Node], memory: MemoryPlan) -> Library:
    inputs = tuple(Operand(memory.slot_of[s], s.dtype.name, s.shape) for s in node.srcs)
    outputs = tuple(Operand(memory.slot_of[g], g.dtype.name, g.shape) for g in results)
    return Library(node.attrs[0], inputs, outputs, (("arguments", node.attrs[1]),))
