"""Fusion: from a graph to groups of nodes, each of which becomes one kernel.

1. Decide what has to lie in memory (passes/stored.py). Everything else is an expression inside its readers.
2. Walk the units of work (anchors and stored expressions), sources first, and put each into the group it may join.
3. What several kernels would then compute is stored, if that is cheaper, and the units are placed once more.

A unit may join a group when every parallel coordinate of what it reads from the group is the same coordinate of its
own (`track` finds them), and when all else it depends on has a lower level than the group, so that no path leaves the
group and returns. Levels make that check local: a group's level never changes.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphc.ir.index import Axis, of
from graphc.ir.node import Node, topological
from graphc.ir.ops import BUFFER, DOT, ELEMENTWISE, MOVEMENT, OTHER, REDUCE, SOURCE, UPDATE, WEIGHTED
from graphc.ir.schedule import Group, Schedule
from graphc.ir.target import CPU, Target
from graphc.passes import track
from graphc.passes.contract import has_template
from graphc.passes.evaluate import has_many_parts, inlined_costs, never_stored
from graphc.passes.parts import write_parts
from graphc.passes.stored import MAX_STATEMENTS, STATEMENTS_OF_A_CALL, length, stored_and_anchors
from graphc.passes.turned import is_turned, stores_columns
from graphc.passes.units import Unit, Units

MAX_COLUMN_ANCHORS = 16     # each keeps a few arrays over the tile on the stack
MAX_ROW_ANCHORS = 8         # each of them has loops of its own: gcc takes a tenth of a second for it
MAX_SERIAL_ANCHORS = 3      # where there is one row, which stays near
SERIAL_ELEMENTS = 1 << 14   # a group without parallel coordinates may be this large
MAX_ROUNDS = 4              # of placing units and then storing what several kernels would compute
SHARE_COST = 40             # storing for another kernel is one write and one read of memory
SHARE_SCALAR = 400          # of a scalar: what a launch costs, for it would be a kernel by itself
KNOWN_ANYWHERE = 4          # operations of a number that is a result and yet computed by each kernel that needs it
MIN_PARALLEL = 8            # fewer rows than this are not worth a row kernel when rows are long


def fuse(roots: tuple[Node, ...], disabled: bool = False, target: Target = CPU) -> Schedule:
    roots = write_parts(roots, target)
    order = topological(roots, is_leaf=lambda n: n.op is BUFFER)
    users: dict[Node, list[Node]] = {}
    for node in order:
        for src in node.srcs:
            users.setdefault(src, []).append(node)
    stored, anchors = stored_and_anchors(order, roots, users, target)
    if disabled:
        stored |= {n for n in order if n.op.kind == ELEMENTWISE}
    stored -= never_stored(order) - set(roots)
    known = set() if disabled else {r for r in roots if _is_known_anywhere(r, users.get(r, ()))}
    folded = {n for n in anchors if _folds_anywhere(n) and n not in roots}
    shared = {n for n, readers in users.items() if len(readers) > 1}
    units: dict[Node, Unit] = {}
    for _ in range(MAX_ROUNDS):
        memory = {*(stored - known), *anchors, *[n for n in order if n.op is BUFFER or n.op.kind == OTHER]}
        builder = _place_all(order, anchors, memory, folded, known, Units(memory, folded, shared), units, target)
        more = set() if disabled else builder.worth_sharing(order, stored) - stored
        if not more:
            break
        stored |= more
        units = {node: unit for node, unit in units.items() if more.isdisjoint(unit.inside)}
    return builder.finish(roots, known)


def _place_all(order: list[Node], anchors: set[Node], memory: set[Node], folded: set[Node], known: set[Node],
               make: Units, units: dict[Node, Unit], target: Target) -> _Builder:
    """`units`: those that are known from the round before; the others are added."""
    builder = _Builder(target)
    for node in order:
        if node not in memory:
            make.note(node)
        elif node.op.kind == OTHER:
            builder.home[node] = builder.home[node.srcs[0]]
        elif node.op is not BUFFER and node not in folded:
            if node not in units:
                units[node] = make.of(node, node in anchors)
            builder.place(units[node])
    for node in filter(known.__contains__, order):
        builder.place_number(make.of(node, False))
    return builder


def _folds_anywhere(node: Node) -> bool:
    """A scalar whose partial results are few: every kernel that needs it folds them itself, which saves a launch."""
    return node.op.kind == REDUCE and node.attrs[1] == "pairwise" and node.size == 1


def _is_known_anywhere(node: Node, users: Sequence[Node]) -> bool:
    """A number of which little more is known than memory says, as the steps that an optimiser has taken: every kernel
    that needs it computes it itself, so that none waits for the one that stores it. What reads memory, as the
    libraries, loops and updates do, has to wait."""
    if node.size != 1 or node.op is BUFFER or not users or any(n.op.kind != ELEMENTWISE for n in users):
        return False
    found, stack = {node}, [node]
    while stack and len(found) <= KNOWN_ANYWHERE:
        for src in stack.pop().srcs:
            if src.op is not BUFFER and src not in found:
                found.add(src)
                stack.append(src)
    return len(found) <= KNOWN_ANYWHERE and all(n.op.kind in (ELEMENTWISE, MOVEMENT, SOURCE) for n in found)


class _Builder:
    """Places units into groups, in topological order."""

    def __init__(self, target: Target):
        self.target = target
        self.groups: list[Group] = []
        self.home: dict[Node, Group] = {}
        self.notes: list[str] = []
        self._by_shape: dict[tuple, list[Group]] = {}   # where independent units of one shape meet
        self._elements: dict[Group, int] = {}
        self._operations: dict[Group, set[Node]] = {}   # what each kernel computes,
        self._evaluated: dict[Group, set[Node]] = {}    # and the expressions among it that all its elements need
        self._units: dict[Group, list[Unit]] = {}

    def place(self, unit: Unit) -> None:
        sources = list(dict.fromkeys(self.home[n] for n in unit.reads if n in self.home))
        level = 1 + max((group.level for group in sources), default=0)
        kind = _kind(unit, self.target)
        group = None
        if kind in ("map", "row", "column"):    # a contraction begins a group, which maps may join
            group = self._join_producer(unit, kind, sources) or self._join_neighbour(unit, kind, level)
        if group is None:
            group = self._new(unit, kind, level)
        self._add(unit, group)

    def place_number(self, unit: Unit) -> None:
        """A number that nobody reads from memory is stored by any kernel that computes numbers, late as it may be."""
        level = 1 + max((self.home[n].level for n in unit.reads if n in self.home), default=0)
        for group in self.groups:
            if (group.kind in ("map", "row") and not group.parallel and group.level >= level
                    and not self._too_many(unit, group) and not self._too_long(unit, group)):
                group.coordinates[unit.node] = ()
                break
        else:
            group = self._new(unit, "map", level)
        self._add(unit, group)

    def _new(self, unit: Unit, kind: str, level: int) -> Group:
        coordinates = _own_coordinates(unit.node, kind)
        shape = unit.node.srcs[1].shape if kind == "update" else unit.node.shape     # only the region is written
        parallel = tuple(shape[k] for k in coordinates)
        group = Group(kind, parallel, level, coordinates={unit.node: coordinates})
        self.groups.append(group)
        self._by_shape.setdefault((kind, parallel), []).append(group)
        return group

    def _add(self, unit: Unit, group: Group) -> None:
        (group.anchors if unit.anchor else group.stores).append(unit.node)
        group.prologue += [n for n in unit.prologue if n not in group.prologue]
        group.reads.update(n for n in unit.reads if self.home.get(n) is not group)
        self._elements[group] = max(self._elements.get(group, 0), unit.elements)
        self.home[unit.node] = group
        if "blocks" not in unit.node.op.traits:
            self._evaluated.setdefault(group, set()).update(unit.inside.keys() - unit.picked)
        self._operations.setdefault(group, set()).update(unit.inside, (unit.node,))
        self._units.setdefault(group, []).append(unit)

    def _too_many(self, unit: Unit, group: Group) -> bool:
        """Whether the kernel would have more buffers than the target allows."""
        free = self.target.buffers - len(group.reads) - len(group.outputs)
        return len(unit.reads) > free and len(unit.reads.keys() - group.reads) > free

    def _too_long(self, unit: Unit, group: Group) -> bool:
        """Whether the kernel would have more operations than a compiler likes."""
        own = self._operations[group]
        if STATEMENTS_OF_A_CALL * (len(own) + len(unit.inside)) < MAX_STATEMENTS:
            return False
        return length(own.union(unit.inside)) >= MAX_STATEMENTS

    def worth_sharing(self, order: list[Node], stored: set[Node]) -> set[Node]:
        """Expressions that several kernels evaluate although storing them once would be cheaper: of those the
        outermost, which no other shared expression reads for all of the same kernels."""
        kernels: dict[Node, set[Group]] = {}        # that evaluate an expression
        for group, nodes in self._evaluated.items():
            for node in nodes:
                kernels.setdefault(node, set()).add(group)
        several = [n for n in reversed(order) if len(kernels.get(n, ())) > 1 and n.op.kind in (ELEMENTWISE, REDUCE)]
        cost = inlined_costs(order, stored) if several else {}
        by_another = self._ends_of_kernels(order) if any(n.size == 1 for n in several) else set()
        wanted = [n for n in several if cost[n] > (SHARE_COST / (len(kernels[n]) - 1)
                                                   if n.size > 1 or n in by_another else SHARE_SCALAR)]
        covered: set[Node] = set()
        for node in wanted:
            stack = list(node.srcs)
            while stack:
                src = stack.pop()
                if src not in covered and kernels.get(src, set()) <= kernels[node]:
                    covered.add(src)
                    stack.extend(src.srcs)
        return set(wanted) - covered

    def _ends_of_kernels(self, order: list[Node]) -> set[Node]:
        """The numbers that the kernel could store whose sum they need last, as the next bias of a descent does: that is
        no launch more. Else each step of such a loop is a kernel of its own text, with all the steps before it."""
        last: dict[Node, Group | None] = {}         # None: memory alone
        found = set()
        for node in order:
            if node.op is BUFFER:
                last[node] = None
            elif node in self.home:
                last[node] = self.home[node]
            elif all(src in last for src in node.srcs):
                groups = {last[src] for src in node.srcs} - {None}
                level = max((group.level for group in groups), default=0)
                groups = {group for group in groups if group.level == level}
                if len(groups) > 1:
                    continue        # it would wait for both
                last[node] = group = next(iter(groups), None)
                if node.size == 1 and group is not None and group.kind == "row" and not group.parallel:
                    found.add(node)
        return found

    def _join_producer(self, unit: Unit, kind: str, sources: list[Group]) -> Group | None:
        """Row fusion: the group of something the unit reads, if the parallel coordinates agree."""
        candidates = sorted(sources, key=lambda g: (-g.level, -self._elements[g]))
        last = [group.level for group in candidates[:2]]
        for group in candidates:
            before = group.kind, group.parallel, group.coordinates
            if group.kind == "map" and kind == "row":
                self._as_rows(unit, group)
            if group.kind not in ("row", "column", "contract") and group.kind != kind:
                continue
            reason = "it depends on work that has to come after that kernel"
            if group is candidates[0] and last[0] not in last[1:]:
                reason = self._refusal(unit, kind, group)
            if reason is None:
                return group
            if group.kind != before[0]:     # rows that nothing sums: a map has the better loops
                self._become(group, *before)
            self.notes.append(f"{unit.node.op.name} {unit.node.shape} not fused with "
                              f"{group.outputs[0].op.name} {group.outputs[0].shape}: {reason}")
        return None

    def _refusal(self, unit: Unit, kind: str, group: Group) -> str | None:
        """Why the unit can't join the group; None, with the unit's coordinates noted, if it can."""
        if kind != "map" and kind != group.kind:
            return "one reduces along rows, the other across them, or it is a contraction"
        if self._too_many(unit, group):
            return "too many buffers for one kernel"
        if self._too_long(unit, group):
            return "too many operations for one kernel"
        if unit.anchor and len(group.anchors) >= _most_anchors(group):
            return "too many sums for one kernel"
        work = max(self._elements[group], unit.elements)
        if group.kind in ("row", "column") and prod(group.parallel) < MIN_PARALLEL and work > SERIAL_ELEMENTS:
            return "too few independent rows to keep the threads busy"
        if group.kind == "contract":
            return self._refusal_of_contraction(unit, group)
        coordinates = None
        for node, dims in unit.reads.items():
            if self.home.get(node) is not group:
                continue
            if dims is None or node not in group.coordinates:
                return "it reads that result at several places"
            if node in group.stores and track.OTHER in dims:
                return "it reads a stored result at other places than it is computed"
            found = tuple(dims[k] for k in group.coordinates[node])
            if any(k < 0 for k in found) or len(set(found)) != len(found):
                return "an element of it needs results of more than one row"
            if coordinates is not None and coordinates != found:
                return "it reads two results of that kernel at different rows"
            coordinates = found
        return self._check_extents(unit, group, coordinates)

    def _refusal_of_contraction(self, unit: Unit, group: Group) -> str | None:
        """What becomes of each element of a contraction may be stored under another shape, or turned."""
        (anchor,) = group.anchors
        index = tuple(of(Axis(f"c{k}", n)) for k, n in enumerate(anchor.shape))
        outside = {n for n in unit.reads if self.home.get(n) is not group}
        if track.forward(unit.node, anchor, index, outside) is None:
            return "an element of it needs others than one element of the contraction"
        group.coordinates[unit.node] = ()
        return None

    def _check_extents(self, unit: Unit, group: Group, coordinates) -> str | None:
        own = unit.node.shape
        rank = len(own)
        if any(k >= rank for k in coordinates) or tuple(own[k] for k in coordinates) != group.parallel:
            return "its rows are others than the rows of that kernel"
        if (unit.anchor or group.kind == "map") and {k for k, n in enumerate(own) if n != 1} != set(coordinates):
            return "its result has more elements than that kernel has rows"
        if group.kind == "column" and not self.target.group and max((k for k, n in enumerate(own) if n != 1),
                                                                    default=0) not in coordinates:
            return "its rows lie across the columns of that kernel"
        if group.kind == "row" and not self.target.group and stores_columns(unit.node, coordinates):
            return "its columns lie along the rows of that kernel"
        group.coordinates[unit.node] = coordinates
        return None

    def _as_rows(self, unit: Unit, group: Group) -> None:
        """A map kernel whose stores are rows of what the unit reduces becomes a row kernel that stores them too."""
        if not self.target.group and (any(map(is_turned, group.stores)) or self._has_many_parts(group)):
            return
        own = [k for k, n in enumerate(unit.node.shape) if n != 1]
        coordinates: dict[Node, tuple[int, ...]] = {}
        mine = [n for n in unit.reads if self.home.get(n) is group]
        for store in group.stores:
            dims = unit.reads[mine[0]]
            if dims is None or store.shape != mine[0].shape or set(own) - set(dims):
                return
            coordinates[store] = tuple(dims.index(k) for k in own)
            if not self.target.group and stores_columns(store, coordinates[store]):
                return
        parallel = tuple(unit.node.shape[k] for k in own)
        if prod(parallel) < MIN_PARALLEL and self._elements[group] > SERIAL_ELEMENTS:
            return
        self._become(group, "row", parallel, coordinates)

    def _has_many_parts(self, group: Group) -> bool:
        """Whether it evaluates a concatenation that only the loops of a map go through part by part."""
        return any(has_many_parts(node) for unit in self._units[group] for node in (unit.node, *unit.inside))

    def _become(self, group: Group, kind: str, parallel: tuple[int, ...], coordinates: dict) -> None:
        self._by_shape[group.kind, group.parallel].remove(group)
        group.kind, group.parallel, group.coordinates = kind, parallel, coordinates
        self._by_shape.setdefault((kind, parallel), []).append(group)

    def _join_neighbour(self, unit: Unit, kind: str, level: int) -> Group | None:
        """Independent work of one shape shares a kernel: several outputs, several statistics of one array."""
        coordinates = tuple(k for k, n in enumerate(unit.node.shape) if n != 1)
        parallel = tuple(unit.node.shape[k] for k in coordinates)
        near = [group for group in reversed(self._by_shape.get((kind, parallel), [])[-8:]) if group.level >= level]
        for group in sorted(near, key=lambda group: not self._share(unit, group)):
            if self._is_twin(unit, group) or self._too_many(unit, group):
                continue
            if self._too_long(unit, group) or (kind == "column" and len(group.anchors) >= MAX_COLUMN_ANCHORS):
                continue
            if kind != "map" and not _same_sweep(unit.node, group):
                continue
            group.coordinates[unit.node] = coordinates
            return group
        return None

    def _share(self, unit: Unit, group: Group) -> bool:
        """Whether both read the same array, so that one kernel reads it once."""
        return any(n.size > 1 and n.size >= unit.node.size for n in group.reads.intersection(unit.reads))

    def _is_twin(self, unit: Unit, group: Group) -> bool:
        """Whether the kernel does the same already to other arrays, as for another parameter of an optimiser, perhaps
        in another dtype. Then members of a launch (passes/batch.py) are better than a kernel with everything twice."""
        return not self._share(unit, group) and any(
            len(unit.inside) == len(other.inside) and (unit.node.dtype is not other.node.dtype
                                                       or unit.structure == other.structure)
            for other in self._units[group])

    def _join_leftovers(self) -> None:
        """Elementwise work of one shape is one kernel after all, where twins were kept apart but not for many members:
        exp of a, exp of b and sin of c, all alike in shape."""
        of_level: dict[int, list[Group]] = {}
        for group in self.groups:
            if group.kind == "map":
                of_level.setdefault(group.level, []).append(group)
        for groups in of_level.values():
            if len({g.parallel for g in groups}) == len(groups):
                continue
            kinds = {g: tuple(u.structure for u in self._units[g]) for g in groups}
            shapes: dict[tuple, set] = {}
            for group in groups:
                shapes.setdefault(kinds[group], set()).add(group.parallel)
            for parallel in dict.fromkeys(g.parallel for g in groups):
                together = [g for g in groups if g.parallel == parallel]
                if len({kinds[g] for g in together}) > 1 and all(len(shapes[kinds[g]]) == 1 for g in together):
                    self._merge(together)

    def _merge(self, groups: list[Group]) -> None:
        """Make independent map groups of one shape one, if that gives no kernel too large."""
        first, *others = groups
        reads = set().union(*(g.reads for g in groups))
        operations = set().union(*(self._operations[g] for g in groups))
        if (len(reads) + sum(len(g.outputs) for g in groups) > self.target.buffers
                or length(operations) >= MAX_STATEMENTS):
            return
        for group in others:
            self.groups.remove(group)
            for unit in self._units[group]:
                first.coordinates[unit.node] = group.coordinates[unit.node]
                self._add(unit, first)

    def finish(self, roots: tuple[Node, ...], known: set[Node]) -> Schedule:
        """Order the groups and note which anchors are read from outside and so have to be written to memory."""
        self._join_leftovers()
        in_memory = {r: self.home[r] for r in roots if r in self.home}
        for group in self.groups:
            for node in group.reads:
                if node in self.home:
                    in_memory[node] = self.home[node]
            for node in group.stores:
                in_memory[node] = group
            if group.kind in ("scan", "update", "scatter", "library"):
                in_memory.update((n, group) for n in group.anchors)
            self.notes += [f"{n.op.name} {n.shape} computes weights {n.srcs[0].shape} again, block by block, which is "
                           "better than storing them" for n in group.anchors if n.op is WEIGHTED]
        order = sorted(range(len(self.groups)), key=lambda k: (self.groups[k].level, k))
        return Schedule(roots, [self.groups[k] for k in order], in_memory, self.notes, known, self.target)


def _most_anchors(group: Group) -> int:
    """How many reductions may follow one another in a kernel."""
    if group.kind == "column":
        return MAX_COLUMN_ANCHORS
    return MAX_ROW_ANCHORS if prod(group.parallel) > 1 else MAX_SERIAL_ANCHORS


def _kind(unit: Unit, target: Target) -> str:
    node = unit.node
    if not unit.anchor:
        return "map"
    if node.op.kind == REDUCE:
        # A block of an inner reduction is a row as well; "pairwise" runs over few elements in any layout.
        last = node.attrs[0] == len(node.srcs[0].shape) - 1
        return "row" if node.attrs[1] == "inner" or (node.attrs[1] == "pairwise" and last) else "column"
    if node.op is UPDATE:
        return "update"
    if node.op is DOT and not has_template(node, target):
        return "column"
    return node.op.kind


def _own_coordinates(node: Node, kind: str) -> tuple[int, ...]:
    """The axes over which a group that begins with this node is parallel."""
    if kind == "library":
        return ()
    if kind == "scatter":       # rows are added in order; what is parallel lies inside a row
        return tuple(k for k, n in enumerate(node.shape) if n != 1 and k > 0)
    along = node.attrs[0] if kind == "scan" else None
    return tuple(k for k, n in enumerate(node.shape) if n != 1 and k != along)


def _same_sweep(node: Node, group: Group) -> bool:
    """Reductions share a kernel when they run over equally many elements, in the same blocks."""
    if node.op.kind != REDUCE or not group.anchors:
        return False
    other = group.anchors[0]
    return other.op.kind == REDUCE and node.attrs == other.attrs and node.srcs[0].shape == other.srcs[0].shape
