"""Contractions to kernels: one Template of a matrix product, with what it reads and what becomes of it as expressions.

The axes of a contraction make four flat spaces: b, the stacks that both factors have; m and n, the rows of the one and
the columns of the other, with the stacks that only one of them has; k, what is summed. Columns are what the template
vectorises, so where there are hardly any, or where rows are what lies together in the results, the factors change
places. A space whose index needs a division is split, as in passes/lower.py.
"""
from __future__ import annotations

from math import prod
from operator import itemgetter

from graphc.config import settings
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index, Mod
from graphc.ir.kernel import (
    LOAD, Kernel, Loop, Operand, Span, Store, Template, below, buffers_of, data_exprs, in_panels, index_value,
    indices_of, innermost,
)
from graphc.ir.node import Node, const, const_value, make
from graphc.ir.ops import BUFFER, CAST, CONST, PERMUTE, RESHAPE, SLICE, WHERE
from graphc.ir.schedule import Group, Schedule
from graphc.ir.target import (
    FAR_ROWS, FEW_ROWS, SWEPT_ROWS, Target, l2_bytes, rounded_up, rows_of_group, unit_type, vector_bytes,
)
from graphc.ir.trees import CHUNKS
from graphc.ir.windows import windows, windows_of
from graphc.passes import track
from graphc.passes.place import place
from graphc.passes.read import Reader
from graphc.passes.tunable import Choices, chosen

MAX_REFINEMENTS = 8
OTHER_SPACE = {"m": "n", "n": "m", "am": "bn", "bn": "am", "ak": "bk", "bk": "ak"}  # when the factors change places
FEW = 8                     # columns of fewer than this are better taken as rows
LEAST_CHAINS, LONG_CHAIN = 9, 128           # results of fewer rows and columns, and k, for which a template pays
ROWS, COLUMNS = 1024, 1024  # positions of m and n that one iteration takes at most: its packed factors fit the caches
LEAST_ROWS, LEAST_COLUMNS = 16, 64          # and how few it is worth packing for,
LEAST_BESIDE = 16           # columns where the rows are windows
LEAST_SWEPT = 96            # positions of k and n for which more rows than few need no packing,
LANED_ROWS, LEAST_LANED = 21, 256           # rows that fill most of 16 or 8 lanes, and how deep columns meet these;
LEAST_FAR = 14 << 20        # bytes that no cache holds, for which yet more rows need none,
FAR_COLUMNS = 256           # and columns for each thread, as rows are not divided then
LONG_LINE = 256             # columns of windows that one row of the first factor meets where they lie
PACKING_A, PACKING_B = 12, 36               # multiply-adds in the time of packing an element,
NEAR_A, NEAR_B = 15, 13                     # and where both factors fit the L2 cache;
SHARED_A = 3                                # of one that windows share;
FEW_DIRECT = 5, 1           # rows or columns of factors that are packed nevertheless, in one product and in a stack,
NEAR = 1 << 14              # bytes of the second,
FEW_RESULTS = 64            # or rows and columns at most, of at least so many k;
PACKING_UNIT = 200                          # and of laying one out for a CPU's matrix unit,
UNIT_BLOCK, UNIT_SIDE = 2048, 32            # that takes so many rows and columns at most, rows by so many,
FEW_BESIDE_UNIT = 2                         # and for which so many rows are too few
LEAST_PAIRED = 16           # of k, for which pairs are laid out
LEAST_RUN = 16              # results that lie together, for which they are columns,
LEAST_SYMMETRIC = 160       # rows of a product with its own transpose of which half is computed,
SIDE, DIAGONAL = 64, 32     # what its blocks are multiples of, and columns of a row next to the diagonal for nothing
STRIPE = 2048               # columns of a product with few rows that are added up together
LARGE_BLOCK, SMALL_BLOCK = 128, 64         # rows and columns of the block that a group of work items computes
MOST_SLICES = 8             # work items that share a column's sum: more would read shorter pieces of rows of b
MANY_BLOCKS = 128           # that keep a large device busy
SMALL = 1 << 20             # multiply-adds that a chunk should have,
SMALL_STRIPE = 1 << 16      # and one of a product with few rows, which waits for memory
BYTES = dt.int8, dt.uint8
TEMPLATE_TYPES = (dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.int32, dt.uint32)


def has_template(node: Node, target: Target) -> bool:
    """Whether a contraction is worth a template: the others stay plain loops of a column kernel, in which few long
    chains wait for their own additions."""
    *_, m, n = node.shape
    k = node.srcs[0].shape[-1]
    waits = not target.group and node.size == m * n > LEAST_CHAINS and k >= LONG_CHAIN
    where = node.srcs if min(m, n) > 1 else node.srcs[m == 1:][:1]
    lie = not target.group and max(m, n) > 1 and k >= LONG_CHAIN and all(map(_lies, where))
    return "gemm" in target.templates and node.dtype in TEMPLATE_TYPES and (max(m, n) >= FEW or waits or lie)


def _lies(src: Node) -> bool:
    """Whether it is an array in memory, seen in some way."""
    while src.op in (PERMUTE, RESHAPE, SLICE):
        (src,) = src.srcs
    return src.op is BUFFER


def lower_contraction(group: Group, schedule: Schedule, name: str, choices: Choices,
                      kind: type[Contraction]) -> tuple[Kernel, tuple[Node, ...]]:
    factors: dict[str, tuple[int, ...]] = {}
    by_windows = False
    for _ in range(MAX_REFINEMENTS):
        lowering = kind(group, schedule, factors, choices, by_windows)
        lowering.build()
        wanted = lowering.refinements()
        if not wanted and kind is Contraction and lowering.columns_are_windows():
            by_windows, wanted = True, {OTHER_SPACE.get(x, x): extents for x, extents in factors.items()}
            factors = {}
        if not wanted:
            break
        factors |= wanted
    return lowering.finish(name)


class Contraction:
    """A product of matrices; attention, which is two of them, is a kind of its own (passes/attend.py)."""

    reader_type = Reader

    def __init__(self, group: Group, schedule: Schedule, factors: dict[str, tuple[int, ...]], choices: Choices,
                 by_windows: bool):
        self.group, self.schedule, self.factors, self.choices = group, schedule, factors, choices
        self.by_windows = by_windows    # rows are windows: the factors have changed places once more
        self.node = group.anchors[0]
        self.result = f"{self.node.op.name}0"
        names = {self.node: self.result} | {a: f"{a.op.name}_all{k}" for k, a in enumerate(group.prologue)}
        self.reader = self.reader_type(schedule.in_memory(group), names)
        self.stored = [n for n in group.outputs if n in schedule.stored]
        self.spaces: dict[str, tuple[Axis, ...]] = {}
        self.stores: list[tuple[Node, Index, Node]] = []
        self.values: dict[str, Node] = {}
        self.prologue: list[Loop] = []
        self.symmetric = False          # the factors are each other's transpose

    # ------------------------------------------------------------------------------------------------ spaces

    def _space(self, name: str, extent: int) -> Index:
        """The flat index of a space, which it makes at the first call. An operand walks spaces of its own: "ak" and
        "bk" are k, and differ in how they are split."""
        factors = self.factors.get(name, (extent,))
        letter = name[-1]
        axes = tuple(Axis(letter if len(factors) == 1 else f"{letter}{k}", n) for k, n in enumerate(factors))
        self.spaces[name] = axes
        return ix.of_axes(axes)

    def _roles(self) -> list[str]:
        """The space of each axis of the result."""
        a, b = self.node.srcs
        lead = len(self.node.shape) - 2

        def has(src: Node, axis: int) -> bool:
            own = axis - lead + len(src.shape) - 2
            return own >= 0 and src.shape[own] != 1
        roles = ["b" if has(a, k) and has(b, k) else "m" if has(a, k) else "n" if has(b, k) else "b"
                 for k in range(lead)] + ["m", "n"]
        sizes = {role: prod(n for n, r in zip(self.node.shape, roles, strict=True) if r == role) for role in "mn"}
        few = sizes["n"] < FEW and sizes["n"] < sizes["m"]
        self.turned = few or sizes["m"] >= FEW and not self.schedule.target.group and self._lies_across(roles)
        self.turned ^= self.by_windows
        return [{"m": "n", "n": "m"}.get(r, r) for r in roles] if self.turned else roles

    def _lies_across(self, roles: list[str]) -> bool:
        """Whether more results are stored with their rows contiguous than with their columns, as the gradient of a
        weight that is multiplied transposed."""
        axes = tuple(Axis(f"i{k}", n) for k, n in enumerate(self.node.shape))
        count = {"m": 0, "n": 0}
        for node in self.stored:
            at = track.forward(node, self.node, tuple(ix.of(axis) for axis in axes), self.group.reads)
            flat = ix.flatten(at, node.shape)
            for axis, role in zip(axes, roles, strict=True):
                if role in count and axis.extent > 1 and _runs_along(flat, axis):
                    count[role] += 1
        return count["m"] > count["n"]

    def _position(self, part: str = "") -> list[Index]:
        """The index of an element of the result, in terms of the spaces, of those of an operand for example."""
        shape, roles = self.node.shape, self._roles()
        index = [ix.ZERO] * len(shape)
        for role in "bmn":
            mine = [k for k, r in enumerate(roles) if r == role]
            extents = tuple(shape[k] for k in mine)
            flat = self._space(role if role == "b" else part + role, prod(extents))
            for k, i in zip(mine, ix.unflatten(flat, extents), strict=True):
                index[k] = i
        return index

    def refinements(self) -> dict[str, tuple[int, ...]]:
        """Splits of spaces that would remove divisions."""
        wanted: dict[str, tuple[int, ...]] = {}
        written = [index_value(index) for _, index, _ in self.stores]
        parts = {"": [*written, *(value for _, _, value in self.stores)]}
        for name, value in self.values.items():
            parts.setdefault(self._part(name), []).append(value)
        for part, roots in parts.items():
            for index in indices_of(roots):
                for axis, inner in ix.refinements(index):
                    for name, axes in self.spaces.items():
                        if axis in axes and name not in wanted and (name == "b" or name[:-1] == part):
                            k = axes.index(axis)
                            extents = [a.extent for a in axes]
                            wanted[name] = (*extents[:k], axis.extent // inner, inner, *extents[k + 1:])
        return wanted

    def _part(self, operand: str) -> str:
        """What the names of an operand's spaces begin with."""
        return operand

    # ------------------------------------------------------------------------------------------- expressions

    def build(self) -> None:
        self.prologue = [self.reader.fold(node) for node in self.group.prologue]
        index = self._position()
        for which, name in enumerate("ba" if self.turned else "ab"):
            *lead, m, n = self._position(name)
            k = self._space(name + "k", self.node.srcs[0].shape[-1])
            self.values[name] = self._factor(self.node.srcs[which], lead, (k, n) if which else (m, k))
            if not which:
                self.symmetric = self._is_symmetric(lead, m, k, self.values[name])
        self._add_stores(index)

    def _is_symmetric(self, lead: list[Index], m: Index, k: Index, value: Node) -> bool:
        """Whether the second factor is the first, whose value at m and k is this, transposed."""
        *_, rows, columns = self.node.shape
        return (rows == columns >= LEAST_SYMMETRIC and not self.schedule.target.group
                and set(self._roles()[:-2]) <= {"b"} and self._factor(self.node.srcs[1], lead, (k, m)) is value)

    def _add_stores(self, index: list[Index]) -> None:
        """What is written at an element of the result."""
        for node in self.stored:
            at = track.forward(node, self.node, tuple(index), self.group.reads)
            self.stores.append((node, ix.flatten(at, node.shape), self.reader.read(node, at)))

    def _factor(self, src: Node, lead: list[Index], last: tuple[Index, Index]) -> Node:
        own = src.shape[:-2]
        index = [ix.ZERO if n == 1 else i for n, i in zip(own, lead[len(lead) - len(own):], strict=True)]
        value = self.reader.read(src, (*index, *last))
        carried = self.node.dtype.accumulator
        return value if value.dtype is carried else make(CAST, carried, (), (value,))

    def _operand(self, name: str, rows: str, columns: str, renumber: dict[int, int]) -> Operand:
        """The nest that fills one packed factor: innermost is the span along which memory is contiguous."""
        spaces = {span: self.spaces[name + span] for span in (rows, columns)}
        outer = rows if rows != "k" else columns
        value, x, k = self.values[name], spaces[outer], spaces["k"]
        indices = _of_both(value, x, k)
        along, across = (sum(i.coefficient(axis) == 1 for i in indices) for axis in (k[-1], x[-1]))
        if along == across > 0 and k[-1].extent != x[-1].extent:      # windows: by the longer runs
            inner_is_k = k[-1].extent > x[-1].extent
        elif along != across:
            inner_is_k = along > across
        else:
            # from one element to the next, where none are neighbours; what one is read for all of is as near as can be
            steps = [min((abs(i.coefficient(axis)) or 1 for i in indices), default=1) for axis in (k[-1], x[-1])]
            inner_is_k = steps[0] < steps[1] or (steps[0] == steps[1] and name == "a")
        order = (*x, *k) if inner_is_k else (*x[:-1], *k, x[-1])
        store = Store(0, ix.of_axes((*spaces[rows], *spaces[columns])), value, local=name)
        return Operand(name, value.dtype, (rows, columns), (spaces[rows], spaces[columns]),
                       place(nest(order, (store,)), renumber, None))

    # ------------------------------------------------------------------------------------------------ assembly

    def columns_are_windows(self) -> bool:
        """Whether columns are windows along k, as in the gradient of a convolution's weights. As rows they need no
        packing: they are read from what they share (codegen/windows_c.py)."""
        if self.by_windows or self.schedule.target.group or prod(a.extent for a in self.spaces["m"]) < FEW:
            return False
        k, n, value = self.spaces["bk"], self.spaces["bn"], self.values["b"]
        indices = indices_of([value], gathered=False)
        return bool(_contiguous(value, k[-1]) + _contiguous(value, n[-1]) and windows(k, n, indices)
                    and not windows(n, k, indices))

    def _template(self, renumber: dict[int, int]) -> Template:
        on_unit = self._is_for_unit(prod(a.extent for a in self.spaces["m"]))
        if on_unit:     # it widens them itself
            self.values = self._bytes() or {
                name: value.srcs[0] if self.node.dtype.accumulator is not self.node.dtype else value
                for name, value in self.values.items()}
        a, b = self._operand("a", "m", "k", renumber), self._operand("b", "k", "n", renumber)
        m, n, k = (prod(a.extent for a in self.spaces[s]) for s in ("m", "n", "ak"))
        stacks = prod(a.extent for a in self.spaces["b"])
        if self.schedule.target.group:
            name, rows, columns, *facts = self._form_of_groups(m, n, k, stacks, on_unit)
        else:
            name, rows, columns, *facts = self._form(m, n, k, stacks, a, b, on_unit)
        mb, nb = Axis("mb", -(-m // rows)), Axis("nb", -(-n // columns))
        return Template(
            name, self.result, self.node.dtype.accumulator,
            (Span("m", self.spaces["m"], mb, rows), Span("n", self.spaces["n"], nb, columns),
             Span("k", (Axis("k", k),))),
            (a, b), self._epilogue(*("nm" if self.by_windows else "mn"), renumber), tuple(facts))

    def _form_of_groups(self, m: int, n: int, k: int, stacks: int, on_unit: bool) -> tuple:
        """The template, and the rows and columns that a group of work items takes."""
        target = self.schedule.target
        if on_unit:
            together = all(value.op is LOAD and not value.srcs and value.dtype.itemsize == 2
                           for value in self.values.values())
            return "mma", *_block_of_unit(m, n, stacks, together and target.warpgroup or target.block)
        if m <= FEW_ROWS and "gemv" in target.templates:
            return "gemv", *_strip_of_group(m, k, target.group)
        return "gemm", *_block_of_group(m, n, stacks, self.node.dtype.accumulator.itemsize, target.group)

    def _form(self, m: int, n: int, k: int, stacks: int, a: Operand, b: Operand, on_unit: bool) -> tuple:
        """The template, the rows and columns that an iteration takes, and facts for it."""
        most = self.choices.get("block_rows", ROWS), self.choices.get("block_columns", COLUMNS)
        streams = self.spaces["bn"] == (innermost(b.body).axis,)     # rows of b lie in one piece
        if on_unit:
            _, rows, columns = _block(m, n, stacks, PACKING_UNIT, PACKING_UNIT, LEAST_COLUMNS, UNIT_BLOCK, UNIT_BLOCK,
                                      side=UNIT_SIDE)
            return "mma", rows, columns
        if min(m, n) > FEW_DIRECT[stacks > 1 or k > CHUNKS["chain"]] and self._is_near(m, n, a, b):
            _, rows, columns = _block(m, n, stacks, NEAR_A, NEAR_B, LEAST_COLUMNS, *most)
            return "direct", rows, columns
        if self._has_few_rows(m, k, n, streams) and not self._shares(m, b):
            panel = self.spaces["bn"][-1].extent if len(self.spaces["bn"]) > 1 else 1
            return "gemv", m, _columns(n, stacks, m * k, streams, panel)
        near = k * (m + n) * self.node.dtype.accumulator.itemsize <= l2_bytes()
        pack_a, pack_b = (NEAR_A, NEAR_B) if near else (PACKING_A, PACKING_B)
        if near and in_panels(self.values["b"], self.spaces["bn"], self.spaces["bk"]):
            pack_b = 0
        pack_a, least = (SHARED_A, LEAST_BESIDE) if self.by_windows else (pack_a, LEAST_COLUMNS)
        time, rows, columns = _block(m, n, stacks, pack_a, pack_b, least, *most)
        if self.symmetric and not self._are_windows(a, b):
            half, side = _side(m, stacks, pack_a + pack_b, min(most))
            if half < time:         # not of so few blocks that threads have nothing to do
                return "gemm", side, side, ("symmetric", True)
        return "gemm", rows, columns

    def _is_near(self, m: int, n: int, a: Operand, b: Operand) -> bool:
        """Whether factors are not packed: the second lies in memory and fits the L1 cache, or results are so few that
        packing would take as long as they. Rows of the second lie together, or are computed together."""
        if "direct" not in self.schedule.target.templates or self.symmetric:
            return False
        deep, lies = prod(axis.extent for axis in self.spaces["bk"]), self._steps("a") != (0, 0)
        apart, column = self._steps("b")
        if max(m, n) <= FEW_RESULTS <= deep:
            by_rows = not column and (innermost(b.body).axis,) == self.spaces["bn"]
            return column == 1 or by_rows and not self._are_windows(a, b)
        near = deep * abs(apart) * self.node.dtype.accumulator.itemsize <= NEAR
        return lies and column == 1 and near and deep <= CHUNKS["chain"]

    def _steps(self, name: str) -> tuple[int, int]:
        """How far elements of a factor lie apart along k, and along the other axis, if one of them is 1, else zeros."""
        value, axes = self.values[name], (self.spaces[name + "k"], self.spaces["am" if name == "a" else "bn"])
        if (value.op is not LOAD or value.srcs or value.dtype is not self.node.dtype.accumulator
                or any(len(found) != 1 for found in axes)
                or any(type(atom) is not Axis for atom, _ in value.attrs[1].terms)):
            return 0, 0
        along, across = (value.attrs[1].coefficient(axis) for (axis,) in axes)
        return (along, across) if 1 in (along, across) else (0, 0)

    def _is_for_unit(self, m: int) -> bool:
        """Whether a matrix unit computes it. Sums of bytes are the same in any order, so that few rows may be."""
        target = self.schedule.target
        if self._bytes():
            return "int8" in target.matrix
        few = FEW_ROWS if target.group else FEW_BESIDE_UNIT
        factors = unit_type(self.node.dtype, self.node.attrs)
        return m > few and (factors in target.matrix or factors in target.pairs and self._suits_pairs())

    def _suits_pairs(self) -> bool:
        """Whether to lay out pairs of neighbours along k, twice as fast as other factors, takes less than they save: k
        fills tiles of 32, and windows are read where they lie in memory one behind the other."""
        if self.by_windows or prod(a.extent for a in self.spaces["ak"]) < LEAST_PAIRED:
            return False
        found = windows(self.spaces["bn"], self.spaces["bk"], indices_of([self.values["b"]], gathered=False))
        return found is None or found.column.stride == 1

    def _bytes(self) -> dict[str, Node]:
        """The factors as bytes, if they are bytes that are multiplied as int32."""
        if self.node.dtype is not dt.int32:
            return {}
        found = {name: _as_bytes(value) for name, value in self.values.items()}
        return {} if None in found.values() else found

    def _has_few_rows(self, m: int, k: int, n: int, streams: bool) -> bool:
        """Whether it is not worth packing the second factor for the rows of the first: they are few, or a few more
        where rows or columns of the second are contiguous and it is large enough."""
        value, axes = self.values["b"], self.spaces["bn" if streams else "bk"]
        if m <= FEW_ROWS or value.op is not LOAD or _contiguous(value, axes[-1]) != 1 or min(k, n) < LEAST_SWEPT:
            return m <= FEW_ROWS
        if len(self.spaces["bn"]) == len(self.spaces["bk"]) == 1:
            if k * n * value.dtype.itemsize > LEAST_FAR and n >= FAR_COLUMNS * settings.num_threads:
                return m <= FAR_ROWS
            if not streams:
                return vector_bytes() == 64 and LANED_ROWS <= m <= SWEPT_ROWS and k >= LEAST_LANED
        return streams and m <= SWEPT_ROWS

    def _shares(self, m: int, b: Operand) -> bool:
        """Whether a factor is windows that few rows too had better evaluate once (codegen/windows_c.py). One row alone
        meets them where they lie, along lines of an image that are long and as they are in memory."""
        n, value = self.spaces["bn"], self.values["b"]
        alone = m == 1 and value.op is LOAD and value.dtype is dt.float32 and n[-1].extent >= LONG_LINE
        return self.by_windows or not alone and windows_of(b.body, n, self.spaces["bk"]) is not None

    def _are_windows(self, a: Operand, b: Operand) -> bool:
        """Whether codegen fills a factor from what windows share, where blocks are not cut at the diagonal."""
        m, n, ak, bk = (self.spaces[name] for name in ("am", "bn", "ak", "bk"))
        return windows_of(b.body, n, bk) is not None or windows_of(a.body, ak, m) is not None

    def _epilogue(self, rows: str, columns: str, renumber: dict[int, int]) -> tuple:
        stores = tuple(Store(-1 - i, index, value) for i, (_, index, value) in enumerate(self.stores))
        return place(nest((*self.spaces[rows], *self.spaces[columns]), stores), renumber, self.spaces[columns][-1],
                     {self.result})

    def _nest_of_chunks(self, template: Template) -> tuple[tuple[Axis, ...], int]:
        """The parallel axes, and how many of their iterations make a chunk."""
        m, n, k = (template.span(s) for s in "mnk")
        stacks = prod(a.extent for a in self.spaces["b"])
        blocks, work = m.block.extent * n.block.extent, m.size * n.size * k.size
        chunk = 1 if self.schedule.target.group else _chunk(stacks, blocks, work)
        return (*(a for a in self.spaces["b"] if a.extent != 1), n.block, m.block), chunk

    def finish(self, name: str) -> tuple[Kernel, tuple[Node, ...]]:
        inputs = list(self.reader.buffers)
        outputs = [node for node, _, _ in self.stores]
        renumber = {-1 - k: len(inputs) + k for k in range(len(outputs))}
        template = self._template(renumber)
        parallel, chunk = self._nest_of_chunks(template)
        kernel = Kernel(
            name=name, buffers=buffers_of(inputs, outputs), params=tuple(self.reader.params.items()),
            parallel=parallel, tiled=False, width=None, chunk=chunk, body=(template,), unrolled=self.reader.unrolled,
            panel=chosen(self.choices, "panel"), prologue=place(tuple(self.prologue), renumber, None))
        return kernel, tuple(inputs + outputs)


def nest(axes: tuple[Axis, ...], body: tuple) -> tuple:
    for k, axis in enumerate(reversed(axes)):
        body = (Loop(axis, "serial" if k else "vector", body),)
    return body


def _of_both(value: Node, x: tuple[Axis, ...], k: tuple[Axis, ...]) -> list[Index]:
    """The indices of loads that change along both spans, of which there are many elements: all if there are none."""
    indices = [e.attrs[1] for e in below([value]) if e.op is LOAD and not data_exprs(e.attrs[1])]
    return [i for i in indices if not ix.axes_of(i).isdisjoint(x) and not ix.axes_of(i).isdisjoint(k)] or indices


def _contiguous(value: Node, axis: Axis) -> int:
    """How many loads of an expression are contiguous along an axis."""
    return sum(expr.op is LOAD and not data_exprs(expr.attrs[1]) and expr.attrs[1].coefficient(axis) == 1
               for expr in below([value]))


def _block(m: int, n: int, stacks: int, pack_a: int, pack_b: int, least: int, most_rows: int,
           most_columns: int, side: int = 12) -> tuple[int, int, int]:
    """How many rows and columns an iteration takes: those with which the threads are done first, behind that time, in
    multiply-adds for each element of k."""
    threads = settings.num_threads
    down, across = -(-m // most_rows), -(-n // most_columns)
    most = max(4 * threads, down * across)
    grids = ((i, j) for j in range(across, max(across, min(most // down, n // least)) + 1)
             for i in range(down, max(down, min(most // j, m // LEAST_ROWS)) + 1))

    def cut(i: int, j: int) -> tuple[int, int, int]:
        rows, columns = -(-m // i), rounded_up(-(-n // j), least)
        rows = rounded_up(rows, side if rows > FEW_ROWS else 4)
        blocks = -(-m // rows) * -(-n // columns) * stacks
        return -(-blocks // threads) * (rows * columns + pack_a * rows + pack_b * columns), rows, columns
    return min((cut(i, j) for i, j in grids), key=itemgetter(0))


def _runs_along(index: Index, axis: Axis) -> bool:
    """Whether what is beside it along an axis lies beside it, or most of it does: the axis is a long one of several."""
    return index.coefficient(axis) == 1 or any(
        type(atom) is Mod and step == 1 and atom.numerator == ix.of(axis) and atom.denominator >= LEAST_RUN
        for atom, step in index.terms)


def _as_bytes(value: Node) -> Node | None:
    """What is int32 before it was widened from bytes; padding, a constant elsewhere, is a byte too."""
    if value.op is CAST and value.srcs[0].dtype in BYTES:
        return value.srcs[0]
    if value.op is not WHERE or value.srcs[2].op is not CONST:
        return None
    test, inner, other = value.srcs
    byte, number = _as_bytes(inner), const_value(other)
    if byte is None or number != number.astype(byte.dtype.numpy):
        return None
    return make(WHERE, byte.dtype, (), (test, byte, const(number, byte.dtype)))


def _side(n: int, stacks: int, packing: int, most: int) -> tuple[int, int]:
    """The rows and columns of a symmetric product's blocks, half of which are computed, behind the time for them as
    `_block` counts it: an iteration takes one, or half of one on the diagonal."""
    threads = settings.num_threads
    down = -(-n // most)

    def cut(k: int) -> tuple[int, int]:
        side = rounded_up(-(-n // k), SIDE)
        whole, rest = divmod(n, side)
        kinds = ((whole, half(side)), (whole * (whole - 1) // 2, across(side, side)),       # how many take how long
                 (whole if rest else 0, across(side, rest)), (1 if rest else 0, half(rest)))
        longest = max(time for count, time in kinds if count)
        return max(-(-stacks * sum(count * time for count, time in kinds) // threads), longest), side

    def half(side: int) -> int:
        return side * (side // 2 + DIAGONAL + packing)

    def across(rows: int, columns: int) -> int:
        return rows * columns + packing * (rows + columns) // 2
    return min((cut(k) for k in range(down, down + 4 * threads)), key=itemgetter(0))


def _block_of_group(m: int, n: int, stacks: int, itemsize: int, group: int) -> tuple[int, int]:
    """The rows and columns of a group's block: more rows, then columns, where that still leaves work for all groups,
    and where the sums fit an item's registers. A smaller group has fewer rows, of as many for each item."""
    small, large = (rows_of_group(block, group) for block in (SMALL_BLOCK, LARGE_BLOCK))
    down = stacks * -(-m // large)
    if itemsize > 4 or down * -(-n // SMALL_BLOCK) < MANY_BLOCKS:
        return small, SMALL_BLOCK
    is_wide = group >= LARGE_BLOCK and down * -(-n // LARGE_BLOCK) >= MANY_BLOCKS
    return large, LARGE_BLOCK if is_wide else SMALL_BLOCK


def _block_of_unit(m: int, n: int, stacks: int, most: tuple[int, int]) -> tuple[int, int]:
    """The same for a matrix unit, which is fed with larger blocks, at most so large."""
    for rows, columns in (most, (LARGE_BLOCK, LARGE_BLOCK)):
        if stacks * -(-m // rows) * -(-n // columns) >= MANY_BLOCKS:
            return rows, columns
    return SMALL_BLOCK, SMALL_BLOCK


def _strip_of_group(m: int, k: int, group: int) -> tuple[int, int]:
    """The rows and columns of a group in a product with few rows: the items of a column share its chunks of k."""
    chunks = -(-k // CHUNKS["chain"])
    return _power(m), group // min(_power(chunks), MOST_SLICES)


def _power(n: int) -> int:
    """The power of two that is n or next above."""
    return 1 << (n - 1).bit_length()


def _columns(n: int, stacks: int, work: int, streams: bool, panel: int) -> int:
    """How many columns an iteration takes of a product with few rows: so many that all threads have as much to do, in
    two pieces, or in one with rows of b as long as can be if these are contiguous (`streams`). Where columns lie in
    panels, those of a part of one take half as long again: they are few sums, which wait for one another."""
    threads = settings.num_threads
    least = max(64, rounded_up(min(SMALL_STRIPE // max(work, 1), n), 32))
    pieces = -(-max((1 if streams else 2) * threads, rounded_up(-(-n // STRIPE), threads)) // max(stacks, 1))
    sizes = {min(max(rounded_up(-(-n // k), 32), least), STRIPE) for k in range(1, pieces + 1)}

    def longest(columns: int) -> int:
        return -(-stacks * -(-n // columns) // threads) * (columns + min(columns % panel, 32) // 2)
    return min(sizes, key=lambda columns: (longest(columns), columns if not streams else -columns))


def _chunk(stacks: int, blocks: int, work: int) -> int:
    """Iterations of the nest that make a chunk: several small products of a stack."""
    if blocks > 1:
        return 1
    return max(1, min(SMALL // max(work, 1), stacks // (4 * settings.num_threads)))
