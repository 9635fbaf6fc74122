"""Memory plan: a slot for every node that lies in memory, temporaries packed into one arena by their lifetimes."""
from __future__ import annotations

from dataclasses import dataclass

from graphc.ir.node import Node
from graphc.ir.ops import BUFFER
from graphc.ir.program import Slot
from graphc.passes.lower import LibraryCall, LoweredKernel

ALIGNMENT = 64

LoweredStep = LoweredKernel | LibraryCall


@dataclass(frozen=True, slots=True)
class CopyNode:
    """Before an in-place step: the old value is still needed, so the step works on a copy."""

    source: Node
    target: Node


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    slots: tuple[Slot, ...]
    slot_of: dict[Node, int]
    steps: tuple[LoweredStep | CopyNode, ...]
    arena: int


def plan_memory(steps: list[LoweredStep], roots: tuple[Node, ...], leaves: tuple[Node, ...],
                results: dict[Node, list[Node]]) -> MemoryPlan:
    """`leaves` get the first slots, in order. `results` gives the GET nodes of a library call that are read."""
    reads, writes = _accesses(steps, results)
    owner = _share_updates(steps, roots, reads)
    ordered: list[LoweredStep | CopyNode] = []
    for step in steps:
        if isinstance(step, LoweredKernel) and step.base is not None:
            target = step.nodes[-1]
            if owner(target) is not owner(step.base):
                ordered.append(CopyNode(step.base, target))
        ordered.append(step)
    return _assign(ordered, roots, leaves, results, owner)


def _accesses(steps, results) -> tuple[dict[Node, list[int]], dict[Node, int]]:
    reads: dict[Node, list[int]] = {}
    writes: dict[Node, int] = {}
    for k, step in enumerate(steps):
        for node in _read(step):
            reads.setdefault(node, []).append(k)
        for node in _written(step, results):
            writes[node] = k
    return reads, writes


def _read(step) -> list[Node]:
    if isinstance(step, CopyNode):
        return [step.source]
    if isinstance(step, LibraryCall):
        return list(step.node.srcs)
    found = [n for n, b in zip(step.nodes, step.kernel.buffers, strict=True) if not b.written]
    return found + ([step.base] if step.base is not None else [])


def _written(step, results) -> list[Node]:
    if isinstance(step, CopyNode):
        return [step.target]
    if isinstance(step, LibraryCall):
        return results.get(step.node, [])
    return [n for n, b in zip(step.nodes, step.kernel.buffers, strict=True) if b.written]


def _share_updates(steps, roots, reads):
    """An update takes over its base's memory when nobody reads the base afterwards. Returns node -> owner of memory."""
    parent: dict[Node, Node] = {}

    def owner(node: Node) -> Node:
        while node in parent:
            node = parent[node]
        return node

    kept = set(roots)
    for k, step in enumerate(steps):
        if isinstance(step, LoweredKernel) and step.base is not None:
            base, target = step.base, step.nodes[-1]
            last = max((r for r in reads.get(base, []) if r != k), default=-1)
            inside = base in step.nodes     # read by the kernel itself, at places that it may have overwritten
            if base.op is not BUFFER and base not in kept and last < k and not inside:
                parent[target] = base
    return owner


def _assign(steps, roots, leaves, results, owner) -> MemoryPlan:
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    for k, step in enumerate(steps):
        for node in [*_written(step, results), *_read(step)]:
            first.setdefault(owner(node), k)
            last[owner(node)] = k
    outputs = {owner(r) for r in roots}
    slots: list[Slot] = [Slot("input", leaf.nbytes) for leaf in leaves]
    slot_of: dict[Node, int] = {leaf: k for k, leaf in enumerate(leaves)}
    takes_over = _updated_leaves(steps, results, owner)
    for root in dict.fromkeys(owner(r) for r in roots):
        if root not in slot_of:
            slot_of[root] = len(slots)
            slots.append(Slot("output", root.nbytes, alias=slot_of.get(takes_over.get(root))))
    temps = [n for n in first if n not in slot_of and n not in outputs]
    offsets, arena = _pack(temps, first, last)
    for node in temps:
        slot_of[node] = len(slots)
        slots.append(Slot("temp", node.nbytes, offsets[node]))
    for step in steps:
        for node in [*_written(step, results), *_read(step)]:
            slot_of[node] = slot_of[owner(node)]
    for root in roots:
        slot_of[root] = slot_of[owner(root)]
    return MemoryPlan(tuple(slots), slot_of, tuple(steps), arena)


def _updated_leaves(steps, results, owner) -> dict[Node, Node]:
    """Results that begin as a copy of a leaf which nothing reads afterwards: if the caller donates the leaf, they take
    over its memory and the copy is nothing."""
    found: dict[Node, Node] = {}
    for k, step in enumerate(steps):
        if isinstance(step, CopyNode) and step.source.op is BUFFER:
            later = [n for s in steps[k + 1:] for n in _read(s)]
            in_kernel = isinstance(steps[k + 1], LoweredKernel) and step.source in steps[k + 1].nodes
            base_only = later.count(step.source) == 1 and not in_kernel     # the update names its base once
            if base_only and step.source not in found.values():
                found[owner(step.target)] = step.source
    return found


def _pack(temps: list[Node], first: dict[Node, int], last: dict[Node, int]) -> tuple[dict[Node, int], int]:
    """Greedy by size: each temporary goes to the lowest gap that is free during its life (Pisarchyk & Lee 2020)."""
    placed: list[tuple[int, int, Node]] = []    # offset, end
    offsets: dict[Node, int] = {}
    arena = 0
    for node in sorted(temps, key=lambda n: -n.nbytes):
        size = -(-max(node.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        at = 0
        for offset, end, other in placed:
            if last[other] < first[node] or first[other] > last[node]:
                continue
            if at + size <= offset:
                break
            at = max(at, end)
        offsets[node] = at
        placed.append((at, at + size, node))
        placed.sort(key=lambda p: p[0])
        arena = max(arena, at + size)
    return offsets, arena
