"""What a kernel moves and computes, counted from its loop extents.

Bytes read: for each buffer its distinct elements, times the sweeps over them whose reuse distance exceeds half of the
L2 cache. A loop that an index does not mention reads the same elements again; that costs memory traffic only if what
the kernel touches in one iteration of it no longer fits the cache.
"""
from __future__ import annotations

from math import gcd, prod

from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import (
    INDEX, LOAD, VALUE, Accumulate, If, Kernel, Let, Local, Loop, Store, Template, data_exprs, operands,
)
from graphc.ir.node import Node
from graphc.ir.ops import AND, BITCAST, CAST, CONTRACT, ELEMENTWISE, EQ, FENCE, FMA, LE, LT, M2

HALF_L2 = 1 << 18
_FREE = (FENCE, BITCAST, CAST)


class Cost(Struct, frozen=True):
    bytes_read: int
    bytes_written: int
    flops: int
    unit: str = ""      # the dtype of the factors of products on a matrix unit, if there are any


class _Access(Struct, frozen=True):
    buffer: int
    axes: frozenset[Axis]
    loops: tuple[Axis, ...]     # enclosing, outermost first
    stage: int                  # which top-level statement of the body
    gathered: bool
    itemsize: int
    phase: int                  # of interleaved accesses, which of them: x[2 i] and x[2 i + 1] are different elements

    def elements(self, within: tuple[Axis, ...]) -> int:
        axes = within if self.gathered else [a for a in within if a in self.axes]
        return prod(a.extent for a in axes)


def kernel_cost(kernel: Kernel) -> Cost:
    loads: list[_Access] = []
    stores: list[_Access] = []
    flops = 0.0
    asked: set[str] = set()     # names of what is asked about indices

    def visit(statements: tuple, loops: tuple[Axis, ...], stage: int | None, seen: set, share: float = 1.0) -> None:
        nonlocal flops
        for k, s in enumerate(statements):
            here = k if stage is None else stage
            if type(s) is Loop:
                piece = _piece(s)
                visit(s.body, loops if s.axis in loops else (*loops, s.axis), here, seen if piece == 1 else set(seen),
                      share * piece)
            elif type(s) is If:
                visit(s.body, loops, here, set(seen), share * s.share)
                if s.share < 1:
                    visit(s.otherwise, loops, here, set(seen), share * (1 - s.share))
            elif type(s) is Template:
                blocks = {x.block for x in s.spans}
                outer = tuple(a for a in loops if a not in blocks)
                flops += _multiply_adds(s) * 2 * prod(a.extent for a in outer)
                for body in (*(o.body for o in s.operands), s.epilogue):
                    visit(body, outer, here, seen, share)
            elif type(s) is not Local:
                flops += share * _statement(kernel, s, loops, here, loads, stores, seen, asked)

    visit(kernel.body, kernel.parallel, None, set())
    unit = next((s.operands[0].dtype.name for s in kernel.body if type(s) is Template and s.name == "mma"), "")
    return Cost(_read_bytes(kernel, loads), _distinct(kernel, stores), round(flops), unit)


def _piece(s: Loop) -> float:
    """How much of its axis a loop goes along, where that is known."""
    start, stop = (at.const if at is not None and at.is_const else usual
                   for at, usual in ((s.start, 0), (s.limit, s.axis.extent)))
    return (stop - start) / s.axis.extent


def _multiply_adds(s: Template) -> int:
    if s.name == "attention":       # two products; what lies behind a diagonal is counted too
        m, n, c, e = (s.span(name).size for name in "mnce")
        return m * n * (c + e)
    if s.name == "weighted":
        parts = sum(x.size for x in s.spans if x.name.startswith("c"))
        return s.span("r").size * s.span("s").size * (parts + s.span("e").size)
    m, n, k = (s.span(name).size for name in "mnk")
    return m * (m + 1) // 2 * k if dict(s.facts).get("symmetric") else m * n * k


def _statement(kernel: Kernel, s, loops, stage, loads, stores, seen, asked) -> int:
    times = prod(a.extent for a in loops)
    roots = [s.value]
    count = 0
    if type(s) is Accumulate:
        count = times * (2 if s.op.kind == CONTRACT else 4 if s.op is M2 else 1)
        if s.other is not None:
            roots.append(s.other)
    elif type(s) is Store and s.local is None:
        stores.append(_access(s.buffer, s.index, loops, stage, kernel))
    elif type(s) is Let and _is_of_indices(s.value, asked):
        asked.add(s.name)
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if (expr, loops) in seen:
            continue
        seen.add((expr, loops))
        if expr.op is LOAD:
            loads.append(_access(expr.attrs[0], expr.attrs[1], loops, stage, kernel))
        elif expr.op.kind == ELEMENTWISE and expr.op not in _FREE and not _is_of_indices(expr, asked):
            count += 2 * times if expr.op is FMA else times
        stack.extend(operands(expr))
    return count


def _is_of_indices(expr: Node, asked: set[str]) -> bool:
    """Whether it asks about indices alone."""
    if expr.op is AND:
        return all(_is_of_indices(src, asked) for src in expr.srcs)
    if expr.op is VALUE:
        return expr.attrs[0] in asked
    return expr.op in (LT, LE, EQ) and all(src.op is INDEX for src in expr.srcs)


def _access(buffer: int, index, loops, stage: int, kernel: Kernel) -> _Access:
    phase = index.const % gcd(*(k for _, k in index.terms)) if index.terms else 0
    return _Access(buffer, frozenset(ix.axes_of(index)), loops, stage, bool(data_exprs(index)),
                   kernel.buffers[buffer].dtype.itemsize, phase)


def _distinct(kernel: Kernel, accesses: list[_Access]) -> int:
    total = 0
    for number, buffer in enumerate(kernel.buffers):
        counts = {(a.axes, a.gathered, a.phase): a.elements(a.loops) for a in accesses if a.buffer == number}
        total += min(buffer.size, sum(counts.values())) * buffer.dtype.itemsize
    return total


def _read_bytes(kernel: Kernel, loads: list[_Access]) -> int:
    total = 0
    for number, buffer in enumerate(kernel.buffers):
        mine = [a for a in loads if a.buffer == number]
        if not mine:
            continue
        distinct = min(buffer.size, sum({(a.axes, a.stage, a.phase): a.elements(a.loops) for a in mine}.values()))
        sweeps = max(_resweeps(a, loads) for a in mine) * _stages(kernel, mine, loads)
        total += distinct * buffer.dtype.itemsize * sweeps
    return total


def _resweeps(access: _Access, loads: list[_Access]) -> int:
    """How often the elements come from memory again because of loops that the index does not mention."""
    times = 1
    for depth, axis in enumerate(access.loops):
        inner = access.loops[depth + 1:]
        if axis not in access.axes and not access.gathered and axis.extent > 1 and _footprint(inner, loads) > HALF_L2:
            times *= axis.extent
    return times


def _stages(kernel: Kernel, mine: list[_Access], loads: list[_Access]) -> int:
    """How many stages of a row sweep it, if a row does not fit the cache."""
    stages = {a.stage for a in mine}
    if len(stages) == 1:
        return 1
    outer = len(kernel.parallel)
    inner = max((a.loops[outer:] for a in mine), key=len)
    tile = 64 if kernel.tiled else 1
    return len(stages) if _footprint(inner, loads) * tile > HALF_L2 else 1


def _footprint(axes: tuple[Axis, ...], loads: list[_Access]) -> int:
    return sum({(a.buffer, a.axes): a.elements(axes) * a.itemsize for a in loads}.values())


