"""Comparisons of indices with numbers, as padding and concatenation ask them: where they hold, and expressions in which
they are answered."""
from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, LOAD, below, data_exprs, index_of
from graphc.ir.node import Node, const, make, rebuild, topological
from graphc.ir.ops import AND, CONST, LE, LT, WHERE

MAX_CUTS = 4                # of a loop, where answers change: pieces of code grow with every cut
MAX_REPEATED = 200          # expressions of its body: larger ones are not repeated

TRUE, FALSE = const(True, dt.bool), const(False, dt.bool)


class Edge(Struct, frozen=True):
    """A comparison as one of axis + rest with `place`: it holds below, or from there on."""

    rest: Index
    place: int
    below: bool

    def answer(self, low: int) -> Node:
        """What it is at `low`, and up to the next edge."""
        return TRUE if (low < self.place) == self.below else FALSE


def is_comparison(expr: Node) -> bool:
    """Whether it compares an index with a number."""
    return expr.op in (LE, LT) and all(s.op is INDEX and s.dtype is dt.int64 for s in expr.srcs) \
        and sum(index_of(s).is_const for s in expr.srcs) == 1


def comparisons(roots: Iterable[Node]) -> list[Node]:
    """The comparisons of an index with a number in expressions."""
    return [e for e in below(roots) if is_comparison(e)]


def sides(expr: Node) -> tuple[Index, int, bool]:
    """A comparison as index < number, or index >= number if the last is False."""
    left, right = (index_of(s) for s in expr.srcs)
    if right.is_const:
        return left, right.const + (expr.op is LE), True
    return right, left.const + (expr.op is LT), False


def edge(expr: Node, axis: Axis) -> Edge | None:
    """Where along an axis a comparison changes; None: it does not, or in a way of its own."""
    moving, bound, under = sides(expr)
    k = moving.coefficient(axis)
    rest = ix.add(moving, ix.mul(ix.of(axis), -k))
    if not k or axis in ix.axes_of(rest) or data_exprs(rest) or (abs(k) > 1 and not rest.is_const):
        return None
    if k < 0:       # -axis + rest < bound: axis - rest >= 1 - bound
        rest, bound, under, k = ix.mul(rest, -1), 1 - bound, not under, -k
    place = -(-(bound - rest.const) // k)
    return Edge(ix.shift(rest, -rest.const), place, under)


def edges_of(asked: Iterable[Node], axis: Axis) -> dict[Node, Edge]:
    """Those comparisons that look at this axis alone."""
    return {expr: edge(expr, axis) for expr in asked if [atom for atom, _ in sides(expr)[0].terms] == [axis]}


def cut(edges: dict[Node, Edge], first: int, last: int,
        most: int = MAX_CUTS) -> list[tuple[int | None, int | None, dict[Node, Node]]] | None:
    """Where a loop from `first` to `last` is cut, so that none of these comparisons changes in a piece: the pieces'
    starts and ends (None: with the loop), and the answers. None: more often than `most`."""
    places = sorted({e.place for e in edges.values() if first < e.place <= last})
    if len(places) > most:
        return None
    return [(start, stop, {c: e.answer(first if start is None else start) for c, e in edges.items()})
            for start, stop in zip([None, *places], [*places, None], strict=True)]


def usual(expr: Node) -> Node:
    """The answer to a comparison that most elements get."""
    moving, bound, under = sides(expr)
    low, high = moving.bounds
    holds, fails = (bound - low, high + 1 - bound) if under else (high + 1 - bound, bound - low)
    return TRUE if holds > fails else FALSE


def agreement(answers: dict[Node, Node]) -> Node:
    """Whether all comparisons have these answers."""
    test = TRUE
    for condition, answer in answers.items():
        agrees = condition if answer is TRUE else make(WHERE, dt.bool, (), (condition, FALSE, TRUE))
        test = agrees if test is TRUE else make(AND, dt.bool, (), (test, agrees))
    return test


def with_answers(root: Node, answers: dict[Node, Node]) -> Node:
    """The expression when these conditions have known answers."""
    done: dict[Node, Node] = dict(answers)
    for expr in topological([root], is_leaf=answers.__contains__):
        if expr not in answers:
            done[expr] = _simpler(rebuild(expr, [done[s] for s in expr.srcs]))
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
