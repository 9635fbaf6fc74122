"""Scratch: what several stages of a row, or several rows of a tile, need is computed once and kept.

    sum over j of exp(x - m);  y[j] = exp(x - m) / sum     ->     e[j] = exp(x - m), sum over e;  y[j] = e[j] / sum

    y[i, n] = f(x[i], w[n * 16]) for many rows i           ->     c[n] = w[n * 16];  y[i, n] = f(x[i], c[n])
"""
from __future__ import annotations

from math import prod

from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, LOCAL, Accumulate, Local, Loop, Store, below, data_exprs, index_of, operands
from graphc.ir.node import Node, make, rebuild, topological
from graphc.ir.target import LINE

EXPENSIVE = 6               # cost of an operation from which on a load is cheaper


def keep_rows(stages: list, room: int) -> None:
    """Replace, in the later of two stages over the same axes, what the earlier one computed already. `room`: bytes."""
    kept = 0
    for later, stage in enumerate(stages):
        for earlier in stages[:later]:
            if not stage.axes or earlier.axes != stage.axes or earlier.limit is not None or stage.limit is not None:
                continue
            extent = prod(a.extent for a in stage.axes)
            shared = _expensive_shared(_roots(earlier), _roots(stage), set(stage.axes))
            for expr in shared:
                room -= extent * expr.dtype.itemsize
                if room < 0:
                    return
                _keep(expr, f"row{kept}", earlier, stages[later:], extent)
                kept += 1


def _roots(stage) -> list[Node]:
    found = []
    for s in stage.body:
        found.append(s.value)
        if type(s) is Accumulate and s.other is not None:
            found.append(s.other)
    return found


def _expensive_shared(first: list[Node], second: list[Node], axes: set[Axis]) -> list[Node]:
    """The largest expressions below both that hold an expensive operation on the row."""
    common = set(below(first))
    cost: dict[Node, tuple[bool, bool]] = {}    # expression -> (depends on the row, is expensive there)

    def facts(expr: Node) -> tuple[bool, bool]:
        stack = [expr]
        while stack:
            e = stack[-1]
            below = operands(e)
            missing = [o for o in below if o not in cost]
            if missing:
                stack.extend(missing)
                continue
            index = index_of(e)
            varies = any(cost[o][0] for o in below) or (index is not None and bool(ix.axes_of(index) & axes))
            heavy = varies and (e.op.cost >= EXPENSIVE or any(cost[o][1] for o in below))
            cost[e] = (varies, heavy)
            stack.pop()
        return cost[expr]

    found, seen, stack = [], set(), list(second)
    while stack:
        expr = stack.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if expr in common and expr.op is not LOCAL and facts(expr)[1]:
            found.append(expr)
        else:
            stack.extend(operands(expr))
    return found


def _keep(expr: Node, name: str, earlier, later: list, extent: int) -> None:
    flat = ix.of_axes(earlier.axes)
    earlier.locals.append(Local(name, expr.dtype, extent))
    earlier.body.insert(0, Store(0, flat, expr, local=name))
    kept = make(LOCAL, expr.dtype, (), (), (name, flat))
    for stage in later:
        if stage.axes == earlier.axes:
            stage.body[:] = [_substitute(s, expr, kept) for s in stage.body]


def _substitute(statement, old: Node, new: Node):
    changed = {"value": _replaced(statement.value, old, new)}
    if type(statement) is Accumulate and statement.other is not None:
        changed["other"] = _replaced(statement.other, old, new)
    return replace(statement, **changed)


def _replaced(root: Node, old: Node, new: Node) -> Node:
    """root with every occurrence of one expression replaced by another (not inside gathered indices)."""
    done: dict[Node, Node] = {}
    for expr in topological([root], is_leaf=lambda e: e is old):
        done[expr] = new if expr is old else rebuild(expr, [done[s] for s in expr.srcs])
    return done[root]


# --------------------------------------------------------------------------------------------------- tiles of columns

def is_strided(index: Index, axis: Axis) -> bool:
    """Whether neighbours along the axis are not neighbours in memory. A gathered index may depend on rows: no."""
    return axis in ix.axes_of(index) and index.coefficient(axis) not in (1, -1) and not data_exprs(index)


def strided_reads(stages: list, column: Axis, row: Axis) -> list[Node]:
    """The strided reads along a column that no condition guards and that do not depend on the row."""
    found: dict[Node, None] = {}
    for stage in stages:
        for root in _roots(stage):
            for expr in below([root]):
                if expr.op is LOAD and not expr.srcs and is_strided(expr.attrs[1], column) \
                        and row not in ix.axes_of(expr.attrs[1]):
                    found[expr] = None
    return list(found)


def contiguous_across(stages: list, column: Axis, rows: list[Axis]) -> Axis | None:
    """The axis whose neighbours lie side by side in memory, or nearly so, and are apart along a column."""
    for stage in stages:
        for expr in below(_roots(stage)):
            if expr.op is LOAD and is_strided(expr.attrs[1], column):
                near = [row for row in rows if _is_nearer(expr, row, column)]
                if near:
                    return min(near, key=lambda row: abs(expr.attrs[1].coefficient(row)))
    return None


def _is_nearer(load: Node, row: Axis, column: Axis) -> bool:
    """Whether neighbours along the rows share lines of memory, and lie closer than those along a column."""
    near, far = (abs(load.attrs[1].coefficient(axis)) for axis in (row, column))
    return 0 < near < far and near * load.dtype.itemsize < LINE


def keep_turned(stages: list, column: Axis, block: Loop, rows: int, tile: int) -> list:
    """Gather what lies side by side, or nearly so, along the rows of a block, and apart along its columns, into local
    arrays whose rows are contiguous: squares of words are turned in registers. Returns the statements."""
    row, found = block.axis, {}
    for stage in stages:
        for expr in below(_roots(stage)):
            if expr.op is LOAD and not expr.srcs and is_strided(expr.attrs[1], column) \
                    and _is_nearer(expr, row, column) and ix.is_linear(expr.attrs[1]):
                found.setdefault(expr, f"turned{len(found)}")
    size = next((expr.dtype.itemsize for expr in found), 0)
    statements: list = []
    at = ix.add(ix.mul(ix.of(row), tile), ix.of(column))
    for expr, name in found.items():
        if expr.dtype.itemsize == size:
            kept = make(LOCAL, expr.dtype, (), (), (name, at))
            for stage in stages:
                stage.body[:] = [_substitute(s, expr, kept) for s in stage.body]
            gather = replace(block, kind="vector", body=(Store(0, at, expr, local=name),))
            statements += [Local(name, expr.dtype, rows * tile), Loop(column, "serial", (gather,))]
    return statements


def keep_columns(stages: list, column: Axis, row: Axis, tile: int) -> list:
    """Gather strided reads that do not depend on the row into local arrays over the tile. Returns the statements."""
    found = {expr: f"column{k}" for k, expr in enumerate(strided_reads(stages, column, row))}
    at = ix.of(column)
    for expr, name in found.items():
        kept = make(LOCAL, expr.dtype, (), (), (name, at))
        for stage in stages:
            stage.body[:] = [_substitute(s, expr, kept) for s in stage.body]
    if not found:
        return []
    gather = tuple(Store(0, at, expr, local=name) for expr, name in found.items())
    return [*(Local(name, expr.dtype, tile) for expr, name in found.items()), Loop(column, "vector", gather)]
