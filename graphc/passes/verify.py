"""Checks after every pass: what all later passes take for granted.

Graphs: sources, dtypes and shapes fit each operation. Schedules: roots are in memory, groups read what lies in memory
before them. Kernels: buffers fit their nodes, names are known where they are read, indices stay inside by their
ranges, and every output is stored. A failure is a bug of the pass that ran last, so the text says which it was.
"""
from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from graphc.ir import dtype as dt
from graphc.ir.index import Axis, Data, FloorDiv, Index, add, axes_of, mul, of, shift
from graphc.ir.kernel import (
    INDEX, LOAD, LOCAL, VALUE, Accumulate, If, Kernel, Let, Local, Loop, Store, Template, accumulations, below,
    index_of,
)
from graphc.ir.node import Node, topological
from graphc.ir.ops import (
    ATTENTION, BITCAST, BLOCKED, BUFFER, CAST, COMPLEX, CONCAT, CONST, CONTRACT, ELEMENTWISE, EXPAND, GATHER, LIBRARY,
    OTHER, PAD, PARAM, PART, PERMUTE, REDUCE, RESHAPE, SCAN, SLICE, SOURCE, TABLE, TAKE_ALONG, UPDATE, WHERE, WINDOW,
)
from graphc.ir.schedule import Schedule


class VerifyError(AssertionError):
    """A pass made something inconsistent."""


def _require(holds: bool, stage: str, what: str) -> None:
    if not holds:
        raise VerifyError(f"after {stage}: {what}")


# ------------------------------------------------------------------------------------------------------------- graphs

def verify_graph(roots: Iterable[Node], stage: str) -> None:
    for node in topological(roots, is_leaf=lambda n: n.op is BUFFER):
        try:
            problem = _node_problem(node)
        except ValueError as error:     # shapes that do not broadcast
            problem = str(error)
        _require(problem is None, stage, f"{node} {problem}")


def _node_problem(node: Node) -> str | None:
    op = node.op
    if TABLE.get(op.name) is not op:
        return "has an operation that is not in the table"
    if op.arity >= 0 and len(node.srcs) != op.arity:
        return f"has {len(node.srcs)} sources"
    if op.kind in (LIBRARY, OTHER):
        return None
    if any(isinstance(s.dtype, tuple) for s in node.srcs):
        return "reads several results at once"
    problem = _dtype_problem(node)
    if problem is not None or op.kind == SOURCE:
        return problem
    wanted = _SHAPES[op.kind](node) if op.kind in _SHAPES else _MOVEMENTS[op](node)
    return None if wanted is None or wanted == node.shape else f"should have the shape {wanted}"


def _dtype_problem(node: Node) -> str | None:
    op, dtypes = node.op, [s.dtype for s in node.srcs]
    if not dtypes or op is CAST:
        return None
    wanted = op.result(*dtypes) if op.result is not None else node.dtype
    if op.kind == REDUCE and len(node.attrs) == 3:      # results of blocks are not rounded
        wanted = wanted.accumulator
    elif op.kind == REDUCE and node.attrs[1] == "pairwise" and node.dtype.accumulator is wanted:    # these round them
        wanted = node.dtype
    if wanted is not node.dtype:
        return f"should be {wanted}"
    first = dtypes[1:] if op is WHERE else dtypes
    if op.kind == ELEMENTWISE and op is not BITCAST and len(set(first)) > 1:
        return f"mixes {', '.join(map(str, dtypes))}"
    if op is WHERE and dtypes[0] is not dt.bool:
        return f"chooses by {dtypes[0]}"
    if op is not COMPLEX and op.kind in (ELEMENTWISE, REDUCE, CONTRACT) and dtypes[0].kind not in op.dtypes:
        return f"does not take {dtypes[0]}"
    return None


def _elementwise(node: Node) -> tuple[int, ...]:
    """What the sources broadcast to. A result may be wider: an expanded source that was simplified away."""
    shape = np.broadcast_shapes(*(s.shape for s in node.srcs))
    return node.shape if np.broadcast_shapes(shape, node.shape) == node.shape else shape


def _reduced(node: Node) -> tuple[int, ...]:
    axis, shape = node.attrs[0], node.srcs[0].shape
    if len(node.attrs) == 3:        # in blocks: the axis stays, one element a block
        return (*shape[:axis], -(-shape[axis] // node.attrs[2]), *shape[axis + 1:])
    return shape[:axis] + shape[axis + 1:]


def _contracted(node: Node) -> tuple[int, ...]:
    return _product_shape(*(s.shape for s in node.srcs))


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if a[-1] != b[-2]:
        return ()
    return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def _gathered(node: Node) -> tuple[int, ...]:
    (shape, index), axis = (s.shape for s in node.srcs), node.attrs[0]
    if node.op is TAKE_ALONG:
        return index if index[:axis] + index[axis + 1:] == shape[:axis] + shape[axis + 1:] else ()
    return (*shape[:axis], *index, *shape[axis + 1:])


def _scattered(node: Node) -> tuple[int, ...] | None:
    base = node.srcs[0].shape
    if node.op is UPDATE:
        starts, steps = node.attrs
        return base if _region_fits(starts, steps, node.srcs[1].shape, base) else ()
    return base if node.srcs[2].shape == (*node.srcs[1].shape, *base[1:]) else ()


def _beside(node: Node) -> tuple[int, ...]:
    """Products side by side, and what an attention says of its rows; or a sum over blocks."""
    if node.op is BLOCKED:
        return node.srcs[0].shape[1:]
    shapes = [_product_shape(a.shape, b.shape) for a, b in zip(node.srcs[::2], node.srcs[1::2], strict=True)]
    if () in shapes or len({shape[:-1] for shape in shapes}) > 1:
        return ()
    return (*shapes[0][:-1], sum(shape[-1] for shape in shapes) + (node.attrs[0] if node.op is ATTENTION else 0))


_SHAPES = {ELEMENTWISE: _elementwise, REDUCE: _reduced, SCAN: lambda n: n.srcs[0].shape, CONTRACT: _beside,
           PART: _contracted, GATHER: _gathered, "scatter": _scattered}


def _region_fits(starts, steps, region: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether the elements start + i * step lie in an array of shape `whole`."""
    return len(starts) == len(steps) == len(region) == len(whole) and all(
        n == 0 or (0 <= start < size and 0 <= start + (n - 1) * step < size)
        for start, step, n, size in zip(starts, steps, region, whole, strict=True))


def _reshaped(node: Node) -> tuple[int, ...]:
    return node.shape if prod(node.shape) == prod(node.srcs[0].shape) else node.srcs[0].shape


def _permuted(node: Node) -> tuple[int, ...]:
    return tuple(node.srcs[0].shape[k] for k in node.attrs[0])


def _sliced(node: Node) -> tuple[int, ...]:
    return node.shape if _region_fits(*node.attrs, node.shape, node.srcs[0].shape) else ()


def _padded(node: Node) -> tuple[int, ...]:
    return node.shape if len(node.attrs[0]) == len(node.shape) == len(node.srcs[0].shape) else ()


def _joined(node: Node) -> tuple[int, ...]:
    axis, first = node.attrs[0], node.srcs[0].shape
    return (*first[:axis], sum(s.shape[axis] for s in node.srcs), *first[axis + 1:])


def _windowed(node: Node) -> tuple[int, ...]:
    (axis, stride, dilation), shape = node.attrs, node.srcs[0].shape
    count, size = node.shape[axis:axis + 2]
    inside = count == 0 or (count - 1) * stride + (size - 1) * dilation < shape[axis]
    return (*shape[:axis], count, size, *shape[axis + 1:]) if inside else ()


_MOVEMENTS = {RESHAPE: _reshaped, PERMUTE: _permuted, EXPAND: _elementwise, SLICE: _sliced, PAD: _padded,
              CONCAT: _joined, WINDOW: _windowed}


# ---------------------------------------------------------------------------------------------------------- schedules

def verify_schedule(schedule: Schedule) -> None:
    stage = "fuse"
    place = {group: k for k, group in enumerate(schedule.groups)}
    made: dict[Node, int] = {}
    for k, group in enumerate(schedule.groups):
        for node in group.outputs:
            _require(node not in made, stage, f"{node} is computed by two groups")
            made[node] = k
    for root in schedule.roots:
        known = root.op is BUFFER or root in schedule.stored or root.op.kind == OTHER
        _require(known, stage, f"the root {root} is not stored")
    for node, group in schedule.stored.items():
        if node.op.kind != OTHER:
            _require(node in group.outputs, stage, f"{node} is said to be stored by a group that does not compute it")
    for k, group in enumerate(schedule.groups):
        for node in group.reads:
            if node.op is BUFFER or node in group.outputs:
                continue
            source = schedule.stored.get(node)
            _require(source is not None, stage, f"{node} is read by group {k} but never stored")
            _require(place[source] < k, stage, f"{node} is read by group {k} before group {place[source]} stores it")


# ------------------------------------------------------------------------------------------------------------ kernels

def verify_kernels(steps: Iterable) -> None:
    """The kernels among lowered steps; library calls have none. They read what fusion knows of: no more is there. (An
    update may read its base where it writes, see passes/memory.py.)"""
    for step in steps:
        if hasattr(step, "kernel"):
            verify_kernel(step.kernel, step.nodes)
            for node, buffer in zip(step.nodes, step.kernel.buffers, strict=True):
                here = buffer.same is not None and node is step.nodes[buffer.same]
                _require(buffer.written or here or node in step.group.reads, f"lower ({step.kernel.name})",
                         f"{node} is read, of which the group knows nothing")


def verify_kernel(kernel: Kernel, nodes: tuple[Node, ...]) -> None:
    _require(len(nodes) == len(kernel.buffers), f"lower ({kernel.name})", "buffers and nodes do not match")
    for buffer, node in zip(kernel.buffers, nodes, strict=True):
        _require(buffer.dtype is node.dtype and buffer.size == node.size, f"lower ({kernel.name})",
                 f"buffer {buffer} is not {node}")
        if buffer.same is not None:
            over = kernel.buffers[buffer.same]
            _require(over.written and not buffer.written and (over.name, over.dtype, over.size)
                     == (buffer.name, buffer.dtype, buffer.size), f"memory ({kernel.name})",
                     f"{buffer} cannot lie in {over}")
    checker = _KernelChecker(kernel)
    checker.body(kernel.prologue, {}, set())
    fixed = kernel.parallel[:-1] if kernel.tiled else kernel.parallel      # the body loops over the last of a tiled one
    ranges = {axis: axis.bounds for axis in fixed}
    checker.body(kernel.body, ranges, set())
    stored = {b.name for k, b in enumerate(kernel.buffers) if k in checker.stored}
    missing = {b.name for b in kernel.buffers if b.written} - stored
    _require(not missing, f"lower ({kernel.name})", f"nothing is stored into {missing}")


Ranges = dict[Axis, tuple[int, int]]
Limits = dict[Axis, Index]


class _KernelChecker:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.known: set[str] = set()            # lets and accumulations
        self.limits: Limits = {}
        self.lets: dict[str, set[Axis]] = {}    # the axes that a let depends on
        self.locals: dict[str, Local] = {}
        self.stored: set[int] = set()

    def require(self, holds: bool, what: str) -> None:
        _require(holds, f"lower ({self.kernel.name})", what)

    def body(self, statements: tuple, ranges: Ranges, asked: set[Axis]) -> None:
        """`asked`: axes that an If around has decided something about, beyond what ranges say."""
        for s in statements:
            if type(s) is Loop:
                self._loop(s, ranges, asked)
            elif type(s) is If:
                self.expr(s.test, ranges, asked)
                inside = asked | self._axes_below(s.test)
                self.body(s.body, ranges, inside)
                self.body(s.otherwise, ranges, inside)
            elif type(s) is Local:
                self.locals[s.name] = s
            elif type(s) is Template:
                self._template(s, ranges, asked)
            else:
                self._statement(s, ranges, asked)

    def _loop(self, s: Loop, ranges: Ranges, asked: set[Axis]) -> None:
        self.require(s.axis not in ranges, f"two loops over {s.axis} are nested")
        low, high = 0, s.axis.extent - 1
        if s.start is not None:
            low = max(low, s.start.bounds[0])
        if s.limit is not None:
            self.limits[s.axis] = s.limit
            high = min(high, s.limit.bounds[1] - 1)
        if low > high:      # never runs; what it would accumulate stays at the identity
            self.known |= {a.name for a in accumulations(s.body)}
            return
        if s.kind == "reduce":
            orders = {a.order for a in accumulations(s.body)}
            self.require(len(orders) <= 1, f"one loop reduces in the orders {', '.join(sorted(orders))}")
        self.body(s.body, {**ranges, s.axis: (low, high)}, asked)

    def _template(self, s: Template, ranges: Ranges, asked: set[Axis]) -> None:
        if s.name in ("attention", "blocked"):
            self.known.add("score")
        if s.name == "weighted":
            facts = dict(s.facts)
            self.known.update(("score", *(f"score{k}" for k in range(1, facts["parts"])), *facts["rows"]))
        for operand in s.operands:
            rows, columns = (s.span(name).size for name in operand.spans)
            self.locals[operand.name] = Local(operand.name, operand.dtype, rows * columns)
            self.body(operand.body, ranges, asked)
        self.known.add(s.result)
        for span in s.spans:
            blocks = 1 if span.block is None else span.block.extent
            self.require(span.block is None or (blocks - 1) * span.length < span.size <= blocks * span.length,
                         f"the blocks of {span.name} do not cover it")
        self.body(s.epilogue, ranges, asked)

    def _statement(self, s, ranges: Ranges, asked: set[Axis]) -> None:
        if type(s) is Accumulate:
            self.known.add(s.name)      # a scan reads its own running value
        self.expr(s.value, ranges, asked)
        if type(s) is Accumulate and s.other is not None:
            self.expr(s.other, ranges, asked)
        if type(s) is Let:
            self.known.add(s.name)
            self.lets[s.name] = self._axes_below(s.value)
        if type(s) is not Store:
            return
        if s.local is not None:
            self._local(s.local, s.value, s.index, ranges)
            return
        buffer = self.kernel.buffers[s.buffer]
        self.require(buffer.written, f"{buffer.name} is stored into but is an input")
        self.require(buffer.dtype is s.value.dtype, f"{s.value} is stored into {buffer}")
        self._inside(s.index, buffer.size, buffer.name, ranges, asked)
        self.stored.add(s.buffer)

    def _local(self, name: str, value: Node, index: Index, ranges: Ranges) -> None:
        local = self.locals.get(name)
        self.require(local is not None and local.dtype is value.dtype, f"{name} is no scratch of {value.dtype}")
        if not self.kernel.tiled:       # in a tiled kernel it counts from the start of the segment
            self._inside(index, local.extent, name, ranges, set())

    def expr(self, root: Node, ranges: Ranges, asked: set[Axis]) -> None:
        for e in below([root]):
            self.require(e.shape == (), f"{e} is not a scalar")
            if e.op is VALUE:
                self.require(e.attrs[0] in self.known, f"{e.attrs[0]} is read before it is known")
            elif e.op is LOAD:
                self._load(e, ranges, asked)
            elif e.op is LOCAL:
                self._local(e.attrs[0], e, e.attrs[1], ranges)
            elif e.op is INDEX:
                self._axes(e.attrs[0], ranges)
            elif e.op not in (CONST, PARAM):
                problem = _dtype_problem(e)
                self.require(problem is None, f"{e} {problem}")

    def _load(self, e: Node, ranges: Ranges, asked: set[Axis]) -> None:
        number, index = e.attrs
        self.require(0 <= number < len(self.kernel.buffers), f"{e} reads a buffer that is not there")
        buffer = self.kernel.buffers[number]
        self.require(buffer.dtype is e.dtype, f"{buffer} is read as {e.dtype}")
        if e.srcs:
            self._axes(index, ranges)
        else:
            self._inside(index, buffer.size, buffer.name, ranges, asked)

    def _axes_below(self, root: Node) -> set[Axis]:
        found: set[Axis] = set()
        for e in below([root]):
            index = index_of(e)
            if index is not None:
                found |= axes_of(index)
            if e.op is VALUE:
                found |= self.lets.get(e.attrs[0], set())
        return found

    def _axes(self, index: Index, ranges: Ranges) -> None:
        for axis in axes_of(index):
            self.require(axis in ranges, f"the axis {axis} is used outside its loop, in {index}")

    def _inside(self, index: Index, size: int, name: str, ranges: Ranges, asked: set[Axis]) -> None:
        self._axes(index, ranges)
        low, high = bounds(index, ranges, self.limits)
        if axes_of(index) & asked:      # what was asked is not followed here
            return
        self.require(0 <= low and high < size, f"{name}[{index}] runs from {low} to {high}, of {size}")


def bounds(index: Index, ranges: Ranges, limits: Limits) -> tuple[int, int]:
    """The least and the greatest value when loops run over these ranges; as Index.bounds, which knows extents only.

    limits: where loops end that other axes shorten; the last iteration of such a loop is replaced by that.
    """
    return -_greatest(mul(index, -1), ranges, limits), _greatest(index, ranges, limits)


def _greatest(index: Index, ranges: Ranges, limits: Limits) -> int:
    high = index.const
    for atom, k in index.terms:
        a, b = _atom_bounds(atom, ranges, limits)
        high += k * (b if k > 0 else a)
    for axis, k in index.terms:
        if k > 0 and axis in limits:
            last = shift(add(index, mul(add(limits[axis], mul(of(axis), -1)), k)), -k)
            high = min(high, _greatest(last, ranges, limits))     # a limit names outer axes only: this ends
    for atom, k in index.terms:
        if type(atom) is FloorDiv and k > 0 and any(c % k == 0 for other, c in index.terms if other != atom):
            high = min(high, _inside_division(atom, k, index, ranges, limits))
    return high


def _inside_division(atom: FloorDiv, k: int, index: Index, ranges: Ranges, limits: Limits) -> int:
    """The greatest value of k*(a // n) + k*b + c as k*((a + n*b) // n) + c: a limit may hold for the sum only."""
    inside = Index(tuple((other, c // k) for other, c in index.terms if other != atom and c % k == 0))
    rest = Index(tuple((other, c) for other, c in index.terms if other != atom and c % k), index.const)
    whole = add(atom.numerator, mul(inside, atom.denominator))
    return _greatest(whole, ranges, limits) // atom.denominator * k + _greatest(rest, ranges, limits)


def _atom_bounds(atom, ranges: Ranges, limits: Limits) -> tuple[int, int]:
    if type(atom) is Axis:
        return ranges.get(atom, atom.bounds)
    if type(atom) is Data:
        return atom.bounds
    low, high = bounds(atom.numerator, ranges, limits)
    if type(atom) is FloorDiv:
        return low // atom.denominator, high // atom.denominator
    if low // atom.denominator == high // atom.denominator:
        return low % atom.denominator, high % atom.denominator
    return 0, atom.denominator - 1


# ----------------------------------------------------------------------------------------------------------- launches

def verify_batches(steps: Iterable) -> None:
    """The members of a launch run at the same time: none may touch what another writes."""
    for step in steps:
        writers: dict[Node, int] = {}
        members = getattr(step, "members", ())
        for k, member in enumerate(members):
            for node, buffer in zip(member.nodes, member.kernel.buffers, strict=True):
                if buffer.written:
                    _require(writers.setdefault(node, k) == k, "batch", f"two members write {node}")
        for k, member in enumerate(members):
            for node in member.nodes:
                _require(writers.get(node, k) == k, "batch", f"a member touches {node}, which another writes")
