"""Loops without conditions: where padding and concatenation ask which part an element belongs to.

Along the vectorised axis the loop is cut at the places where an answer changes, and each piece has its own body. For
conditions on the other axes there are two versions: one with the answers of the largest part, and one that asks.

    for j < n: y[j] = j < 1 ? x[0] : x[j - 1]      ->      for j < 1: y[j] = x[0];   for 1 <= j < n: y[j] = x[j - 1]
"""
from __future__ import annotations

from msgspec.structs import replace

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import INDEX, LOAD, If, Loop, below, index_of
from graphc.ir.node import Node, const, make, rebuild
from graphc.ir.ops import AND, CONST, LE, LT, WHERE

MAX_CUTS = 4                # pieces of code grow with every cut
MAX_STATEMENTS = 200        # larger bodies are not repeated
TRUE, FALSE = const(True, dt.bool), const(False, dt.bool)

Range = tuple[int, int]     # where a condition holds along its axis: low <= axis < high


def without_conditions(body: tuple, axis: Axis, other: tuple[Axis, ...]) -> tuple:
    """The stores of a map kernel as loops over `axis`, with as few conditions inside as is reasonable."""
    conditions, size = _conditions(body, (axis, *other))
    plain = (Loop(axis, "vector", body),)
    if not conditions or size > MAX_STATEMENTS:
        return plain
    along = {c: r for c, (a, r) in conditions.items() if a == axis}
    across = {c: (a, r) for c, (a, r) in conditions.items() if a != axis}
    usual = {c: TRUE if high - low > a.extent - (high - low) else FALSE for c, (a, (low, high)) in across.items()}
    fast = _pieces(tuple(_resolve(s, usual) for s in body), axis, along)
    if not across:
        return fast
    test = TRUE
    for condition, answer in usual.items():
        agrees = condition if answer is TRUE else make(WHERE, dt.bool, (), (condition, FALSE, TRUE))
        test = agrees if test is TRUE else make(AND, dt.bool, (), (test, agrees))
    return (If(test, fast, plain),)


def _conditions(body: tuple, axes: tuple[Axis, ...]) -> tuple[dict[Node, tuple[Axis, Range]], int]:
    """The comparisons in the stores that are about one axis, and how many expressions there are."""
    found: dict[Node, tuple[Axis, Range]] = {}
    exprs = list(below(s.value for s in body))
    for expr in exprs:
        if expr.op in (LE, LT) and all(s.op is INDEX and s.dtype is dt.int64 for s in expr.srcs):
            about = _range(expr, axes)
            if about is not None:
                found[expr] = about
    return found, len(exprs)


def _range(expr: Node, axes: tuple[Axis, ...]) -> tuple[Axis, Range] | None:
    """Where a comparison of k * axis + c with a constant holds."""
    left, right = (index_of(s) for s in expr.srcs)
    moving, fixed = (left, right) if right.is_const else (right, left)
    if not fixed.is_const or len(moving.terms) != 1:
        return None
    axis, k = moving.terms[0]
    if axis not in axes:
        return None
    above = (moving is left) == (k > 0)     # whether it bounds the axis from above
    bound = fixed.const - moving.const
    if (expr.op is LE) == above:
        bound += 1 if k > 0 else -1
    place = max(0, min(axis.extent, -(-bound // k)))
    return axis, ((0, place) if above else (place, axis.extent))


def _pieces(body: tuple, axis: Axis, along: dict[Node, Range]) -> tuple:
    cuts = sorted({p for r in along.values() for p in r} - {0, axis.extent})
    if len(cuts) > MAX_CUTS or not cuts:
        return (Loop(axis, "vector", body),)
    loops = []
    for low, high in zip([0, *cuts], [*cuts, axis.extent], strict=True):
        answers = {c: TRUE if r[0] <= low and high <= r[1] else FALSE for c, r in along.items()}
        loops.append(Loop(axis, "vector", tuple(_resolve(s, answers) for s in body),
                          limit=ix.constant(high), start=ix.constant(low)))
    return tuple(loops)


def _resolve(store, answers: dict[Node, Node]):
    return replace(store, value=_with_answers(store.value, answers))


def _with_answers(root: Node, answers: dict[Node, Node]) -> Node:
    """The expression when these conditions have known answers."""
    done: dict[Node, Node] = dict(answers)
    stack = [root]
    while stack:
        expr = stack[-1]
        missing = [s for s in expr.srcs if s not in done]
        if expr not in done and missing:
            stack.extend(missing)
            continue
        if expr not in done:
            done[expr] = _simpler(rebuild(expr, [done[s] for s in expr.srcs]) if expr.srcs else expr)
        stack.pop()
    return done[root]


def _simpler(expr: Node) -> Node:
    if expr.op is AND and expr.dtype is dt.bool:
        a, b = expr.srcs
        if FALSE in (a, b):
            return FALSE
        return b if a is TRUE else a if b is TRUE else expr
    if expr.op is WHERE and expr.srcs[0].op is CONST:
        return expr.srcs[1] if expr.srcs[0] is TRUE else expr.srcs[2]
    if expr.op is LOAD and expr.srcs:
        if expr.srcs[0] is TRUE:
            return make(LOAD, expr.dtype, (), (), expr.attrs)
        if expr.srcs[0] is FALSE:
            return const(0, expr.dtype)
    return expr
