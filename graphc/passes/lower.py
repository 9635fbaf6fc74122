"""From groups to kernels: choose the loops, read every expression at their indices, assemble the loop tree.

Each group iterates over flat spaces: `i`, the parallel coordinates, and `j`, what lies inside one of them. A space
starts as one axis. Where an index then needs a division (a broadcast in the middle, a reshape, a window), the space is
split there and the group is lowered again, so that loops run over the common refinement of all shapes involved.
"""
from __future__ import annotations

import sys
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.conditions import comparisons, edges_of
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import (
    LOAD, VALUE, Accumulate, Kernel, Loop, Store, below, buffers_of, index_value, indices_of,
)
from graphc.ir.node import Node, make
from graphc.ir.ops import ATTENTION, BLOCKED, CAST, CONTRACT, ELEMENTWISE, SCATTER, TABLE, WEIGHTED
from graphc.ir.schedule import Group, Schedule
from graphc.ir.target import LINE, vector_bytes
from graphc.passes.across import has_few_columns, lies_across, rows_of_tile
from graphc.passes.attend import Attention
from graphc.passes.blocked import Blocked
from graphc.passes.chunks import GATHERED, chunk_of, rows_side_by_side
from graphc.passes.contract import Contraction, lower_contraction
from graphc.passes.place import place
from graphc.passes.ranges import without_conditions
from graphc.passes.read import Reader
from graphc.passes.repeats import Repeats
from graphc.passes.scratch import contiguous_across, keep_columns, keep_rows, keep_turned, strided_reads
from graphc.passes.short_rows import ABREAST, has_short_rows, places_in_row
from graphc.passes.tunable import Choices, Choose, chosen, defaults
from graphc.passes.weigh import Weighted

STREAMED_ROW = 512          # bytes of a row that is stored past the caches, at least
TURNED = 64                 # columns of a block of rows: the lines that they lie in should stay there too
CONTRACT_TILE = 64          # of a contraction: the accumulators of one row stay in registers
STREAM = 48 << 20           # bytes that a map moves from which its results bypass the caches: beyond a large one,
READS = 2                   # if it reads at most so many for each that it writes: these are then not read first
MAX_REFINEMENTS = 8
NARROW = 4                  # the last axis of a map up to this length is written out, and the one before vectorised
SQUARE = 16                 # elements of several last axes that are written out, for vectors of such squares
WRITTEN_OUT = 400           # operations, with the rows of windows: gcc's time grows faster than the text
SHORT_ROW = 256             # bytes of a row that goes by whole vectors,
SHORT_SWEEP = 32            # elements of such a row, where it is all that goes over what was reduced,
SHORT_ROWS = 1 << 14        # where that is worth a text of its own: elements of the map
BLOCK = 64                  # rows for which a blocked map kernel uses what it gathered for its columns


class LoweredKernel(Struct, frozen=True, eq=False):
    """A kernel and the node behind each of its buffers. `base`: the node whose memory the output takes over."""

    kernel: Kernel
    nodes: tuple[Node, ...]
    group: Group
    base: Node | None = None


class LibraryCall(Struct, frozen=True, eq=False):
    node: Node
    group: Group


class Stage(Struct, eq=False):
    """Statements that share one inner loop; stages run in the order of their depth."""

    depth: int
    axes: tuple[Axis, ...]
    limit: Index | None
    reduces: bool
    order: str = ""         # of the reductions: one loop has one
    body: list = field(default_factory=list)
    locals: list = field(default_factory=list)      # scratch that starts to live here


def lower(schedule: Schedule, choose: Choose = defaults) -> list[LoweredKernel | LibraryCall]:
    """`choose` gives the numbers by which a group's work is cut; see passes/tunable.py."""
    steps: list[LoweredKernel | LibraryCall] = []
    repeats = Repeats(schedule, lower_group, choose)
    for group in schedule.groups:
        if group.kind == "library":
            steps.append(LibraryCall(group.anchors[0], group))
        elif any(node.size for node in group.outputs):
            steps.append(repeats.lower(group))
    return steps


def lower_group(group: Group, schedule: Schedule, choices: Choices) -> LoweredKernel:
    if group.kind == "contract":
        kind = {ATTENTION: Attention, WEIGHTED: Weighted, BLOCKED: Blocked}.get(group.anchors[0].op, Contraction)
        return LoweredKernel(*lower_contraction(group, schedule, _name(group), choices, kind), group)
    if has_short_rows(group, schedule):
        lowering, _ = _refined(group, schedule, choices, short_rows=True)
        if lowering.axes[-1].extent >= ABREAST and len(lowering.computed()) <= WRITTEN_OUT:
            return lowering.finish()
    lowering, factors = _refined(group, schedule, choices)
    if lies_across(lowering):
        return _refined(group, schedule, choices, across=True)[0].finish()
    if has_few_columns(lowering):
        lowering = Lowering(group, schedule, factors, choices, beside=True)
        lowering.build()
        return lowering.finish()
    blocks = None if schedule.target.group else lowering.blocks()
    if lowering.is_narrow():
        for axes in lowering.windows():
            written = Lowering(group, schedule, factors, choices, written_out=axes)
            written.build()
            if len(written.computed()) <= WRITTEN_OUT:
                break
        lowering = written
    elif blocks is not None:
        lowering = Lowering(group, schedule, factors, choices, blocks)
        lowering.build()
    return lowering.finish()


def _refined(group: Group, schedule: Schedule, choices: Choices, **form: bool) -> tuple[Lowering, dict]:
    """A group, built over axes that leave no divisions, where there are such, and these axes' factors."""
    factors: dict[tuple[str, int], tuple[int, ...]] = {}
    for _ in range(MAX_REFINEMENTS):
        lowering = Lowering(group, schedule, factors, choices, **form)
        lowering.build()
        wanted = lowering.refinements()
        if not wanted:
            break
        factors.update(wanted)
    return lowering, factors


class Lowering:
    def __init__(self, group: Group, schedule: Schedule, factors: dict, choices: Choices,
                 blocks: tuple[Axis, int] | None = None, written_out: tuple[Axis, ...] = (), short_rows: bool = False,
                 across: bool = False, beside: bool = False):
        self.group, self.schedule, self.factors, self.choices = group, schedule, factors, choices
        self.kind = "map" if short_rows else "column" if across else group.kind
        self.short_rows, self.across = short_rows, across
        self.block: Loop | None = None          # over the rows of a block, where there are such
        finished = group.anchors if self.kind in ("row", "column") else ()
        self.names = {a: f"{a.op.name}{k}" for k, a in enumerate(finished)}
        self.names |= {a: f"{a.op.name}_all{k}" for k, a in enumerate(group.prologue)}
        self.reader = Reader(schedule.in_memory(group), self.names)
        self.axes, i = self._space("i", max(prod(group.parallel), 1))
        if beside:      # the axis before the last is what vectors take
            self.axes = (*self.axes[:-2], self.axes[-1], self.axes[-2])
        if blocks is not None:
            i = self._into_blocks(blocks[0])
        self.places = self._write_out(written_out) if written_out else [i]  # of each element of these axes
        self.position = ix.unflatten(self.places[0], group.parallel)
        self.tiled = self.kind in ("map", "column", "update") or (self.kind in ("scan", "scatter") and self._across())
        self.width = blocks[1] if blocks is not None else self._width() if self.tiled else None
        self.stages: list[Stage] = []
        self.depths: dict[str, int] = {}
        self.indices: dict[Index, None] = {}    # all that were used, in a fixed order, to find refinements
        self.written: dict[Node, int] = {}      # stored node -> position among the outputs
        self.base: Node | None = None
        self.prologue: list[Loop] = []

    def _width(self) -> int | None:
        """The longest segment of the last parallel axis that a tiled kernel takes at a time."""
        if any(a.op.kind == CONTRACT for a in self.group.anchors):
            return CONTRACT_TILE
        if self.across:
            return rows_of_tile(self.group)
        return chosen(self.choices, "columns") if self.kind in ("column", "scan") else None

    # ------------------------------------------------------------------------------------------------ spaces

    def _space(self, name: str, extent: int) -> tuple[tuple[Axis, ...], Index]:
        """The axes of a flat space, outermost first, and the flat index that they make."""
        factors = self.factors.get((name, extent), (extent,))
        axes = tuple(Axis(name if len(factors) == 1 else f"{name}{k}", n) for k, n in enumerate(factors))
        return axes, ix.of_axes(axes)

    def blocks(self) -> tuple[Axis, int] | None:
        """Of a map that reads with a stride along its last axis, the rows of which a block is better computed before
        the next columns, and how many columns: the axis before it where that changes nothing in what is read, which is
        gathered once, into scratch; or the axis along which memory is contiguous, as in a transposition."""
        if self.kind != "map" or len(self.axes) < 2:
            return None
        *rows, column = self.axes
        if rows[-1].extent >= BLOCK // 4 and strided_reads(self.stages, column, rows[-1]):
            return rows[-1], GATHERED
        row = contiguous_across(self.stages, column, rows) if column.extent > NARROW else None
        return None if row is None else (row, GATHERED if row.extent < BLOCK else TURNED)

    def is_narrow(self) -> bool:
        """Whether the last axis of a map is too short to be vectorised, as the columns of a pooling window are, or each
        element along it is something else, as in an array that is stacked along it."""
        if self.kind != "map" or len(self.axes) < 2 or self.group.prologue:
            return False
        row, column = self.axes[-2:]
        if 1 < column.extent <= NARROW:
            near = any(a.extent > NARROW for a in self.axes[-3:-1]) or row.extent == NARROW and len(self.axes) > 2
            return near or self._small_squares() > 0
        if self.schedule.target.group:      # work items beside one another store neighbours
            return False
        asked = comparisons(s.value for stage in self.stages for s in stage.body)
        places = {e.place for e in edges_of(asked, column).values() if 0 < e.place < column.extent}
        return len(places) == column.extent - 1 > 0 and row.extent > NARROW and len(self.computed()) <= WRITTEN_OUT

    def computed(self) -> list[Node]:
        """The operations on elements, each once."""
        roots = [s.value for stage in self.stages for s in stage.body]
        return [expr for expr in below(roots, gathered=False) if expr.op.kind == ELEMENTWISE]

    def windows(self) -> list[tuple[Axis, ...]]:
        """Of a narrow map, the axes to write out, if the text is short enough, and otherwise: the last; with it the one
        before if that is as short, as in small matrices; or the one before the vectorised one, as the rows of a window
        are, where something is the same for all of these, or divides by how many they are."""
        if small := self._small_squares():
            return [self.axes[-small:], self.axes[-1:]]
        if self.axes[-2].extent <= NARROW < self.axes[-3].extent:
            return [self.axes[-2:]]
        if len(self.axes) > 2 and 1 < self.axes[-3].extent <= NARROW:
            row, column, last = self.axes[-3:]
            found = [(ix.axes_of(index), ix.is_linear(index)) for index in self.indices]
            if any(column in axes and row not in axes or row in axes and not linear for axes, linear in found):
                return [(row, last), (last,)]
        return [self.axes[-1:]]

    def _small_squares(self) -> int:
        """How many last axes are no more than a few elements together, as squares that are pooled to 2 x 2 are."""
        extents = [a.extent for a in self.axes]
        found = next((k for k in range(3, len(extents)) if extents[-k - 1] > SQUARE), 0)
        return found if prod(extents[-found:]) <= SQUARE else 0

    def _write_out(self, axes: tuple[Axis, ...]) -> list[Index]:
        """Take axes away: the flat index for each of their elements, whose stores stand one after the other."""
        places = [ix.ZERO]
        for axis, step in zip(self.axes, ix.strides(tuple(a.extent for a in self.axes)), strict=True):
            if axis in axes:
                places = [ix.shift(place, k * step) for place in places for k in range(axis.extent)]
            else:
                places = [ix.add(place, ix.mul(ix.of(axis), step)) for place in places]
        self.axes = tuple(a for a in self.axes if a not in axes)
        return places

    def _into_blocks(self, row: Axis) -> Index:
        """Split an axis into blocks of rows; the loop over a block's rows lies inside the kernel."""
        blocks, within = Axis(f"{row.name}b", -(-row.extent // BLOCK)), Axis(f"{row.name}r", min(BLOCK, row.extent))
        self.block = Loop(within, "serial", (), ix.shift(ix.mul(ix.of(blocks), -BLOCK), row.extent))
        at = ix.add(ix.mul(ix.of(blocks), BLOCK), ix.of(within))
        total = ix.flatten(tuple(at if axis == row else ix.of(axis) for axis in self.axes),
                           tuple(axis.extent for axis in self.axes))
        self.axes = tuple(blocks if axis == row else axis for axis in self.axes)
        return total

    def refinements(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """Splits of spaces that would remove divisions."""
        wanted = {}
        spaces = {("i", max(prod(self.group.parallel), 1)): self.axes}
        for stage in self.stages:
            if not stage.reduces:
                spaces["j", prod(a.extent for a in stage.axes)] = stage.axes
        for stage in self.stages:
            if stage.reduces:       # the tree of a reduction runs over one axis
                spaces.pop(("j", stage.axes[0].extent), None)
        for index in self.indices:
            for axis, inner in ix.refinements(index):
                for key, axes in spaces.items():
                    if axis in axes and key not in wanted:
                        k = axes.index(axis)
                        extents = [a.extent for a in axes]
                        wanted[key] = (*extents[:k], axis.extent // inner, inner, *extents[k + 1:])
        return wanted

    def _across(self) -> bool:
        """Whether a scan or scatter runs along an axis that is not the last, so that others can be vectorised."""
        anchor = self.group.anchors[0]
        if anchor.op.kind == SCATTER:       # of rows, or of single elements
            return prod(anchor.shape[1:]) > 1
        return anchor.attrs[0] != max((k for k, n in enumerate(anchor.shape) if n != 1), default=0)

    def _at(self, node: Node, inner: dict[int, Index]) -> tuple[Index, ...]:
        """The index of an element of a node: parallel coordinates, then `inner` for the other axes."""
        index = [inner.get(k, ix.ZERO) for k in range(len(node.shape))]
        for coordinate, axis in zip(self.position, self.group.coordinates[node], strict=True):
            index[axis] = coordinate
        return tuple(index)

    # ------------------------------------------------------------------------------------------------ stages

    def build(self) -> None:
        kind = self.kind
        self.prologue = [self.reader.fold(node) for node in self.group.prologue]
        self.depths.update((self.names[node], -1) for node in self.group.prologue)
        if kind == "scan":
            self._scan(self.group.anchors[0])
        elif kind == "update":
            self._update(self.group.anchors[0])
        elif kind == "scatter":
            self._scatter(self.group.anchors[0])
        else:
            for anchor in self.group.anchors if not self.short_rows else ():
                self._reduce(anchor)
            for place in self.places:
                self.position = ix.unflatten(place, self.group.parallel)
                for node in self.group.stores:
                    self._store(node)
            for anchor in self.group.anchors:
                if anchor in self.schedule.stored:
                    self._store_value(anchor)
        self._collect_indices()

    def _stage(self, depth: int, axes: tuple[Axis, ...], reduces: bool, limit: Index | None = None,
               order: str = "") -> Stage:
        for stage in self.stages:
            facts = stage.depth, stage.axes, stage.reduces, stage.limit, stage.order
            if facts == (depth, axes, reduces, limit, order):
                return stage
        self.stages.append(Stage(depth, axes, limit, reduces, order))
        return self.stages[-1]

    def _depth(self, *exprs: Node) -> int:
        """One more than the deepest accumulation that the expressions read."""
        if not self.depths:
            return 0
        return 1 + max((self.depths[expr.attrs[0]] for expr in below(exprs) if expr.op is VALUE), default=-1)

    def _reduce(self, node: Node) -> None:
        name = self.names[node]
        carried = node.dtype.accumulator
        limit = None
        if node.op.kind == CONTRACT:
            exprs, length, order = self._contract_operands(node)
        else:
            axis, order = node.attrs[:2]
            src = node.srcs[0]
            length = src.shape[axis]
            index = self._at(node, {})
            start = ix.ZERO
            if len(node.attrs) == 3:        # one element of the result is one block
                block = node.attrs[2]
                start = ix.mul(index[axis], block)
                limit = ix.shift(ix.mul(start, -1), length) if length % block else None
                length, rest = min(block, length), index[axis + 1:]
            else:
                rest = index[axis:]
            _, j = self._space("j", length)
            exprs = [self.reader.read(src, (*index[:axis], ix.add(start, j), *rest))]
        exprs = [e if e.dtype is carried else make(CAST, carried, (), (e,)) for e in exprs]
        depth = self._depth(*exprs)
        self.depths[name] = depth
        stage = self._stage(depth, self._space("j", length)[0], True, limit, order)
        stage.body.append(Accumulate(name, node.op, order, carried, *exprs))

    def _contract_operands(self, node: Node) -> tuple[list[Node], int, str]:
        a, b = node.srcs
        index = self._at(node, {})
        lead, (m, n) = index[:-2], index[-2:]
        length = a.shape[-1]
        _, j = self._space("j", length)

        def leading(src: Node) -> tuple[Index, ...]:
            own = src.shape[:-2]
            return tuple(ix.ZERO if e == 1 else i for e, i in zip(own, lead[len(lead) - len(own):], strict=True))
        return [self.reader.read(a, (*leading(a), m, j)), self.reader.read(b, (*leading(b), j, n))], length, "chain"

    def _inner(self, node: Node) -> tuple[tuple[Axis, ...], dict[int, Index]]:
        """The axes of a stored node that are not parallel coordinates."""
        own = [k for k, n in enumerate(node.shape) if n != 1 and k not in self.group.coordinates[node]]
        if not own:
            return (), {}
        extents = tuple(node.shape[k] for k in own)
        axes, j = self._space("j", prod(extents))
        return axes, dict(zip(own, ix.unflatten(j, extents), strict=True))

    def _store(self, node: Node) -> None:
        if node.size == 0:
            return
        axes, inner = self._inner(node) if not self.short_rows else ((), {})
        for there in places_in_row(node, self.group) if self.short_rows else (inner,):
            index = self._at(node, there)
            value = self.reader.read(node, index)
            store = self._write(node, ix.flatten(index, node.shape), value)
            self._stage(self._depth(value), axes, False).body.append(store)

    def _store_value(self, node: Node) -> None:
        index = self._at(node, {})
        value = self.reader.read(node, index)
        self._stage(self._depth(value), (), False).body.append(self._write(node, ix.flatten(index, node.shape), value))

    def _write(self, node: Node, index: Index, value: Node) -> Store:
        number = self.written.setdefault(node, len(self.written))
        return Store(-1 - number, index, value)     # outputs follow the inputs: numbered in finish()

    # ------------------------------------------------------------------------- anchors with a kernel of their own

    def _scan(self, node: Node) -> None:
        axis, src = node.attrs[0], node.srcs[0]
        carried = node.dtype.accumulator
        name = f"{node.op.name}0"
        axes, j = self._space("j", node.shape[axis])
        index = self._at(node, {axis: j})
        value = self.reader.read(src, index)
        value = value if value.dtype is carried else make(CAST, carried, (), (value,))
        running = make(VALUE, carried, (), (), (name,))
        running = running if carried is node.dtype else make(CAST, node.dtype, (), (running,))
        self.depths[name] = 0
        self._stage(0, axes, True).body += [Accumulate(name, node.op, "scan", carried, value),
                                            self._write(node, ix.flatten(index, node.shape), running)]

    def _update(self, node: Node) -> None:
        base, value = node.srcs
        starts, steps = node.attrs
        self.base = base
        _, i = self._space("i", max(value.size, 1))
        at = ix.unflatten(i, value.shape)
        target = tuple(ix.shift(ix.mul(k, t), s) for k, s, t in zip(at, starts, steps, strict=True))
        self._stage(0, (), False).body.append(
            self._write(node, ix.flatten(target, node.shape), self.reader.read(value, at)))

    def _scatter(self, node: Node) -> None:
        base, positions, values = node.srcs
        self.base = base
        width = prod(node.shape[1:])
        _, i = self._space("i", max(width, 1))
        axes, j = self._space("j", max(positions.shape[0], 1))
        rest = ix.unflatten(i, node.shape[1:])
        row = self.reader.read(positions, (j,))
        at = ix.of(ix.Data("row", row, (0, max(node.shape[0] - 1, 0))))
        target = ix.flatten((at, *rest), node.shape)
        value = self.reader.read(values, (j, *rest))
        number = self.written.setdefault(node, 0)
        if node.attrs[0] != "set":
            old = make(LOAD, node.dtype, (), (), (-1 - number, target))
            value = make(TABLE[node.attrs[0]], node.dtype, (), (old, value))
        self._stage(0, axes, True).body.append(Store(-1 - number, target, value))

    # ------------------------------------------------------------------------------------------------ assembly

    def _collect_indices(self) -> None:
        roots = []
        for stage in self.stages:
            for s in stage.body:
                roots += [s.value] + ([s.other] if type(s) is Accumulate and s.other is not None else [])
                if type(s) is Store:
                    self.indices[s.index] = None
                    roots += [index_value(s.index)]
        self.indices.update(dict.fromkeys(indices_of(roots)))

    def _loops(self, stage: Stage) -> tuple:
        """The loop nest of a stage around its statements."""
        body: tuple = tuple(stage.body)
        if stage.reduces and self.kind in ("scan", "scatter"):
            inner: tuple = (Loop(self.axes[-1], "vector", body),) if self.tiled else body
            return (Loop(stage.axes[0], "serial", inner),)
        nest = (*stage.axes, self.axes[-1]) if self.tiled else stage.axes
        if self.kind == "map":
            # Inside a block's loop, what is constant in it moves in front of it, so no test may stand between them.
            body = without_conditions(body, self.axes[-1], self.axes[:-1] if self.block is None else ())
        elif nest and not stage.reduces and not self.schedule.target.group:
            body = without_conditions(body, nest[-1], tuple(a for a in (*self.axes, *nest) if a != nest[-1]))
        elif self.tiled or nest and not stage.reduces:
            body = (Loop(nest[-1], "vector", body),)
        if self.block is not None and not stage.axes:
            return (replace(self.block, body=body),)
        if stage.reduces:
            return (Loop(stage.axes[0], "reduce", body, stage.limit),)
        for axis in reversed(nest[:-1]):
            body = (Loop(axis, "serial", body),)
        return body

    def _lanes(self) -> int:
        """Of a large map that goes by rows of few vectors, as those of small images are, and of what goes by such rows
        behind a reduction, the elements of a vector: a loop of two turns for each would cost GCC a pointer, on the
        stack, for each window."""
        if self.block is not None or self.schedule.target.group:
            return 0
        stages = self.stages if self.kind == "map" else [
            s for s in self.stages if not s.reduces and s.axes and (len(s.axes) > 1 or s.axes[0].extent <= SHORT_SWEEP)]
        nests = {self.axes if self.kind == "map" else (*self.axes, *s.axes) for s in stages}
        if self.kind not in ("map", "row") or len(nests) != 1 or len(nest := nests.pop()) == 1:
            return 0
        stored = [s for stage in stages for s in stage.body if type(s) is Store]
        along = [expr.dtype for expr in below([s.value for stage in stages for s in stage.body])
                 if expr.op is LOAD and nest[-1] in ix.axes_of(expr.attrs[1])]
        row, size = nest[-1].extent, max(d.itemsize for d in (*along, *(s.value.dtype for s in stored)))
        most = vector_bytes()
        lanes = next((n // size for n in (most, most // 2, most // 4) if n // size <= row), 0)
        few = 1 < lanes and row * size <= SHORT_ROW
        elements = prod(a.extent for a in nest) * len(self.places)
        return lanes if few and elements >= SHORT_ROWS else 0

    def _streams(self) -> bool:
        """Whether a map over one axis, or over rows or squares of whole lines of a cache, moves so much that no part of
        its results will stay in one. If it reads several times what it writes, they may, and little would be saved; but
        these loops alone ask early for a single array, or for what is gathered."""
        if self.kind != "map" or self.schedule.target.group:
            return False
        squares = self.block is not None and self.width == TURNED
        rows = [self.axes[-1].extent * n.dtype.itemsize for n in self.written]
        lines = all(row % LINE == 0 and (squares or row >= STREAMED_ROW) for row in rows)
        if len(self.axes) > 1 and not (lines and (squares or self.block is None)):
            return False
        most = prod(axis.extent for axis in self.axes) if len(self.axes) > 1 else sys.maxsize    # elements of an array
        read, written = (sum(min(n.size, most) * n.dtype.itemsize for n in nodes)
                         for nodes in (self.reader.buffers, self.written))
        asks = len(self.reader.buffers) == 1 or bool(self.reader.gathered)
        return read + written >= STREAM and (asks or read <= READS * written)

    def finish(self) -> LoweredKernel:
        inputs, outputs = list(self.reader.buffers), list(self.written)
        stages = sorted(self.stages, key=lambda s: (s.depth, not s.reduces))
        body: list = []
        if self.block is not None:
            body += keep_columns(stages, self.axes[-1], self.block.axis, GATHERED)
            body += keep_turned(stages, self.axes[-1], self.block, BLOCK, TURNED) if self.width == TURNED else []
        elif not self.tiled:
            keep_rows(stages, self.schedule.target.scratch // rows_side_by_side(self))
        for stage in stages:
            body += stage.locals
            body += self._loops(stage)
        renumber = {-1 - k: len(inputs) + k for k in range(len(outputs))}
        parallel = self.axes if self.tiled else tuple(a for a in self.axes if a.extent != 1)
        lanes = self._lanes()
        kernel = Kernel(
            name=_name(self.group), buffers=buffers_of(inputs, outputs), params=tuple(self.reader.params.items()),
            parallel=parallel, tiled=self.tiled, width=self.width,
            chunk=chunk_of(self, whole_rows=self.tiled and lanes > 0), strip=chosen(self.choices, "strip"),
            streams=self._streams(), lanes=lanes,
            body=place(tuple(body), renumber, self.axes[-1] if self.tiled else None), unrolled=self.reader.unrolled,
            prologue=place(tuple(self.prologue), renumber, None))
        return LoweredKernel(kernel, tuple(inputs + outputs), self.group, self.base)


def _name(group: Group) -> str:
    """A short name from what the kernel computes: the kind and up to four operations."""
    ops = [n.op.name for n in group.anchors] + [n.op.name for n in group.stores]
    names = list(dict.fromkeys(ops))[:4]
    prefix = [] if group.kind in names else [group.kind]
    return "_".join(prefix + names)


