"""Memory plan: the order of the steps, and a slot for every node that lies in memory.

Kernels write over inputs that die in them where they may (passes/inplace.py), and updates over their base. Temporaries
are packed by their lifetimes: into outputs that are not written yet, else into one arena.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from graphc.ir.node import Node
from graphc.ir.ops import BUFFER, PARAM
from graphc.ir.program import Slot
from graphc.ir.target import rounded_up
from graphc.passes.batch import Batch
from graphc.passes.inplace import in_place
from graphc.passes.lower import LibraryCall, LoweredKernel
from graphc.passes.order import least_memory

ALIGNMENT = 64
HOSTS = 8           # outputs that may hold temporaries before they are written, the largest


class CopyNode(Struct, frozen=True):
    """Before an in-place step: the old value is still needed, so the step works on a copy."""

    source: Node
    target: Node


class MemoryPlan(Struct, frozen=True):
    slots: tuple[Slot, ...]
    slot_of: dict[Node, int]
    steps: tuple[Batch | LibraryCall | CopyNode, ...]
    arena: int


def plan_memory(steps: list[Batch | LibraryCall], roots: tuple[Node, ...], leaves: tuple[Node, ...],
                results: dict[Node, list[Node]], group: int) -> MemoryPlan:
    """`leaves` get the first slots, in order. `results` gives what a call fills: its GET nodes, and memory that it
    works in. `group`: see Target."""
    reads, writes = [_read(s) for s in steps], [_written(s, results) for s in steps]
    bases = [u.base if (u := _update(s)) is not None else None for s in steps]
    steps = [steps[k] for k in least_memory(reads, writes, bases, set(roots))]
    steps, owner = _share(steps, roots, group)
    ordered: list[Batch | LibraryCall | CopyNode] = []
    for step in steps:
        update = _update(step)
        if update is not None and owner(update.nodes[-1]) is not owner(update.base):
            ordered.append(CopyNode(update.base, update.nodes[-1]))
        ordered.append(step)
    return _assign(ordered, roots, leaves, results, owner)


def _beside_itself(step: Batch | LibraryCall, group: int) -> Batch | LibraryCall:
    """An update whose value reads elements of the base where they are written, and nowhere else, as x[3:5] += 1 does:
    it reads them where it writes, be that the base itself or a copy."""
    update = _update(step)
    if update is None:
        return step
    kernel, _ = in_place(update.kernel, update.nodes, lambda node: node is update.base, group)
    nodes = tuple(node if b.same is None else update.nodes[b.same]
                  for node, b in zip(update.nodes, kernel.buffers, strict=True))
    return replace(step, members=(replace(update, kernel=kernel, nodes=nodes),))


def _update(step) -> LoweredKernel | None:
    """The kernel of a launch that works on the memory of its base; it has no fellow members."""
    return step.members[0] if isinstance(step, Batch) and step.members[0].base is not None else None


def _read(step) -> list[Node]:
    if isinstance(step, CopyNode):
        return [step.source]
    if isinstance(step, LibraryCall):
        return [s for s in step.node.srcs if s.op is not PARAM]
    update = _update(step)
    return _buffers(step, written=False) + ([update.base] if update is not None else [])


def _buffers(step: Batch, written: bool) -> list[Node]:
    return [n for m in step.members for n, b in zip(m.nodes, m.kernel.buffers, strict=True) if b.written == written]


def _written(step, results) -> list[Node]:
    if isinstance(step, CopyNode):
        return [step.target]
    if isinstance(step, LibraryCall):
        return results.get(step.node, [])
    return _buffers(step, written=True)


def _share(steps: list[Batch | LibraryCall], roots: tuple[Node, ...], group: int):
    """Let outputs take over the memory of what dies in their step: an update that of its base, a kernel that of an
    input. Returns the steps and a function node -> owner of its memory."""
    last = {node: k for k, step in enumerate(steps) for node in _read(step)}
    kept = set(roots)
    parent: dict[Node, Node] = {}
    shared: list[Batch | LibraryCall] = []
    for k, step in enumerate(steps):
        def dies(node: Node, k: int = k) -> bool:
            return node.op is not BUFFER and node not in kept and last[node] == k
        step = _beside_itself(step, group)
        update = _update(step)
        # A kernel that reads its own base does so at places that it may have overwritten.
        if update is not None and dies(update.base) and update.base not in update.nodes:
            parent[update.nodes[-1]] = update.base
        if isinstance(step, Batch) and update is None:
            step, taken = _in_place(step, dies, group)
            parent |= taken
        shared.append(step)

    def owner(node: Node) -> Node:
        chain = []
        while node in parent:
            chain.append(node)
            node = parent[node]
        parent.update(dict.fromkeys(chain, node))      # or a long chain of updates is walked again by each of them
        return node
    return shared, owner


def _in_place(step: Batch, dies: Callable[[Node], bool], group: int) -> tuple[Batch, dict[Node, Node]]:
    """The launch with inputs written over: those that no other member reads, and in all members alike, for they share
    one text."""
    readers = Counter(node for m in step.members for node in set(m.nodes))
    found = [in_place(m.kernel, m.nodes, lambda node: readers[node] == 1 and dies(node), group) for m in step.members]
    if len({tuple(b.same for b in kernel.buffers) for kernel, _ in found}) > 1 or not found[0][1]:
        return step, {}
    members = tuple(replace(m, kernel=kernel) for m, (kernel, _) in zip(step.members, found, strict=True))
    return replace(step, members=members), {new: old for _, taken in found for new, old in taken.items()}


def _assign(steps, roots, leaves, results, owner) -> MemoryPlan:
    touched = [(_written(step, results), _read(step)) for step in steps]
    lives: dict[Node, list[int]] = {}       # first and last step
    for k, (written, read) in enumerate(touched):
        for node in (*written, *read):
            lives.setdefault(owner(node), [k, k])[1] = k
    slots: list[Slot] = [Slot("input", leaf.nbytes) for leaf in leaves]
    slot_of: dict[Node, int] = {leaf: k for k, leaf in enumerate(leaves)}
    takes_over = _updated_leaves(steps, [read for _, read in touched], owner, {owner(r) for r in roots})
    hosts: list[_Region] = []
    for root in dict.fromkeys(owner(r) for r in roots):
        if root not in slot_of:
            slot_of[root] = len(slots)
            slots.append(Slot("output", root.nbytes, alias=slot_of.get(takes_over.get(root))))
            if root in lives and root not in takes_over:
                hosts.append(_Region(slot_of[root], root.nbytes, lives[root][0]))
    temps = [n for n in lives if n not in slot_of]
    hosts = sorted(hosts, key=lambda r: -r.nbytes)[:HOSTS]
    places, arena = _pack(temps, lives, hosts)
    for node in temps:
        slot_of[node] = len(slots)
        host, offset = places[node]
        slots.append(Slot("temp", node.nbytes, offset, host=host))
    for written, read in touched:
        for node in (*written, *read):
            slot_of[node] = slot_of[owner(node)]
    for root in roots:
        slot_of[root] = slot_of[owner(root)]
    return MemoryPlan(tuple(slots), slot_of, tuple(steps), arena)


def _updated_leaves(steps, reads: list[list[Node]], owner, results: set[Node]) -> dict[Node, Node]:
    """Results that begin as a copy of a leaf which nothing reads afterwards, and which is no result itself (as x * 1
    is): if the caller donates the leaf, they take over its memory and the copy is nothing."""
    readers: dict[Node, list[int]] = {}
    for k, nodes in enumerate(reads):
        for node in nodes:
            readers.setdefault(node, []).append(k)
    found: dict[Node, Node] = {}
    for k, step in enumerate(steps):
        if isinstance(step, CopyNode) and step.source.op is BUFFER:
            later = sum(j > k for j in readers[step.source])
            in_kernel = step.source in _update(steps[k + 1]).nodes
            base_only = later == 1 and not in_kernel     # the update names its base once
            if base_only and step.source not in results and step.source not in found.values():
                found[owner(step.target)] = step.source
    return found


class _Region(Struct, eq=False):
    """Memory for temporaries: an output until it is written, or the arena (no slot, and as long as is needed)."""

    slot: int | None = None
    nbytes: int | None = None
    until: int | None = None        # the step in which something else begins there
    # By k, then by i: offset, end and life of what lives in the steps from i << k to below (i + 1) << k, but not within
    # one half of these. So what lives beside something short is found without a look at all the rest.
    placed: list[dict[int, list[tuple[int, int, Sequence[int]]]]] = field(default_factory=list)
    end: int = 0

    def find(self, size: int, life: Sequence[int]) -> int | None:
        """The lowest gap that is free during a life."""
        if self.until is not None and life[1] >= self.until:
            return None
        at = 0
        for offset, end, _ in self._beside(*life):
            if at + size <= offset:
                break
            at = max(at, end)
        return at if self.nbytes is None or at + size <= self.nbytes else None

    def _beside(self, first: int, last: int) -> list[tuple[int, int, Sequence[int]]]:
        """What lives during some of these steps, by offset."""
        found = []
        for k, spans in enumerate(self.placed):
            here = range(first >> k, (last >> k) + 1)
            for i in here if len(here) < len(spans) else spans:
                found += [p for p in spans.get(i, ()) if p[2][0] <= last and p[2][1] >= first]
        found.sort()
        return found

    def place(self, at: int, end: int, life: Sequence[int]) -> None:
        k = (life[0] ^ life[1]).bit_length()
        self.placed += [{} for _ in range(k + 1 - len(self.placed))]
        self.placed[k].setdefault(life[0] >> k, []).append((at, end, life))
        self.end = max(self.end, end)


def _pack(temps: list[Node], lives: dict[Node, list[int]], hosts: list[_Region]
          ) -> tuple[dict[Node, tuple[int | None, int]], int]:
    """Greedy by size: each temporary goes to the lowest gap that is free during its life (Pisarchyk & Lee 2020), in an
    output where there is one; of equal ones those that end last come first, because the outputs begin at the end.
    Returns node -> (slot of the output or None, offset), and the bytes of the arena."""
    arena = _Region()
    places: dict[Node, tuple[int | None, int]] = {}
    for node in sorted(temps, key=lambda n: (-n.nbytes, -lives[n][1])):
        room = rounded_up(max(node.nbytes, 1), ALIGNMENT)
        for region in (*hosts, arena):
            at = region.find(node.nbytes, lives[node])
            if at is not None:
                region.place(at, at + room, lives[node])
                places[node] = region.slot, at
                break
    return places, arena.end
