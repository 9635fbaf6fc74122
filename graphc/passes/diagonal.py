"""Causal bounds: which comparisons of counters leave the keys up to a diagonal, n <= m * slope + d."""
from __future__ import annotations

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, VALUE, below, index_of
from graphc.ir.node import Node, const, const_value, make
from graphc.ir.ops import ADD, AND, CAST, CHECK_INDEX, CONST, INVERT, LE, LT, OR, SUB, WHERE


def is_const(node: Node, value: float) -> bool:
    """Whether a kernel's expression is this number, whatever its dtype."""
    while node.op is CAST:
        node = node.srcs[0]
    return node.op is CONST and bool(const_value(node) == value)


def diagonal_of(condition: Node, m: Axis, n: Axis, holds: bool) -> tuple[tuple[Node, int], Node | None] | None:
    """A condition has the value `holds` exactly where n <= m * slope + d and the rest is true: d and slope, and the
    rest, if any."""
    op = condition.op
    if op is INVERT:
        return diagonal_of(condition.srcs[0], m, n, not holds)
    if op is WHERE and condition.dtype.kind == "b":
        test, yes, no = condition.srcs
        if is_const(yes, 1) and is_const(no, 0):
            return diagonal_of(test, m, n, holds)
        return diagonal_of(test, m, n, not holds) if is_const(yes, 0) and is_const(no, 1) else None
    if op is (AND if holds else OR):
        for side, other in (condition.srcs, condition.srcs[::-1]):
            found = diagonal_of(side, m, n, holds)
            if found is not None and found[1] is None:
                return found[0], other if holds else make(INVERT, other.dtype, (), (other,))
        return None
    d = _compared(condition, m, n, holds) if op in (LE, LT) else None
    return None if d is None else (d, None)


def _compared(condition: Node, m: Axis, n: Axis, holds: bool) -> tuple[Node, int] | None:
    """The d and the slope, 0 or 1, for which a comparison has the value `holds` exactly where n <= m * slope + d."""
    left, right = (_position(s, {m, n}) for s in condition.srcs)
    if left is None or right is None:
        return None
    op, (low, high) = condition.op, (left, right) if holds else (right, left)
    strict = (op is LT) == holds                    # low < high, or low <= high
    rest = ix.add(low[0], ix.mul(high[0], -1))
    slope = -rest.coefficient(m)
    if slope not in (0, 1) or dict(rest.terms) != ({n: 1, m: -1} if slope else {n: 1}):
        return None
    d = const(-rest.const - strict, dt.int64)
    for param in high[1]:
        d = make(ADD, dt.int64, (), (d, param))
    for param in low[1]:
        d = make(SUB, dt.int64, (), (d, param))
    return d, slope


def _position(expr: Node, axes: set[Axis]) -> tuple[Index, tuple[Node, ...]] | None:
    """An expression that is an index plus what does not depend on these axes; None for anything else."""
    if expr.op is INDEX:
        return expr.attrs[0], ()
    if expr.op is CONST and expr.dtype.kind in "iu":
        return ix.constant(int(const_value(expr))), ()
    if expr.dtype is not dt.int64:
        return None
    if _is_fixed(expr, axes):       # a scalar of the program, or how many keys a cache holds
        return ix.ZERO, (expr,)
    if expr.op is ADD:
        left, right = (_position(s, axes) for s in expr.srcs)
        return None if left is None or right is None else (ix.add(left[0], right[0]), (*left[1], *right[1]))
    return None


def _is_fixed(expr: Node, axes: set[Axis]) -> bool:
    """Whether an expression is the same all along these axes."""
    for e in below([expr]):
        index = index_of(e)
        if e.op is CHECK_INDEX or e.op is VALUE or (index is not None and ix.axes_of(index) & axes):
            return False
    return True
