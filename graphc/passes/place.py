"""Name shared values, each in the outermost loop in which it is constant.

Takes a loop tree whose statements hold whole expressions and returns one in which a value that is used twice, or that
does not change in the innermost loop, is a `Let` of its own. What is left reads like a formula.
"""
from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.index import Axis, Data, FloorDiv, Index, Mod
from graphc.ir.kernel import (
    INDEX, LOAD, LOCAL, VALUE, Accumulate, If, Let, Local, Loop, Store, data_exprs, index_of, operands,
)
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import CHECK_INDEX, CONST, PARAM

MAX_HEIGHT = 5      # deeper formulas are cut into several lines


class _Scope(Struct, eq=False):
    """One loop body while it is rewritten."""

    depth: int
    axes: dict[Axis, int]                   # loop axis -> depth of the scope in which it varies
    values: dict[str, int]                  # name of an accumulation -> depth in which it varies
    body: list = field(default_factory=list)
    named: dict[Node, Node] = field(default_factory=dict)
    done: dict[Node, tuple[Node, int]] = field(default_factory=dict)    # -> (rewritten, depth in which it varies)


def place(body: tuple, renumber: dict[int, int], tile: Axis | None, arrays: Iterable[str] = ()) -> tuple:
    """`renumber` maps provisional buffer numbers to final ones; `tile`: the parallel axis that the body loops over;
    `arrays`: values that are known beforehand and differ along the tile."""
    return _Placer(body, renumber, tile).run(body, dict.fromkeys(arrays, -1))


class _Placer:
    def __init__(self, body: tuple, renumber: dict[int, int], tile: Axis | None):
        self.renumber, self.tile = renumber, tile
        self.uses = _count_uses(body)
        self.count = 0
        self.heights: dict[Node, int] = {}

    def run(self, body: tuple, values: dict[str, int]) -> tuple:
        scope = _Scope(0, {}, values)
        self._body(body, [scope])
        return tuple(scope.body)

    def _body(self, statements: tuple, scopes: list[_Scope]) -> None:
        scope = scopes[-1]
        for s in statements:
            if type(s) is Loop:
                inner = _Scope(scope.depth + 1, {**scope.axes, s.axis: scope.depth + 1}, dict(scope.values))
                self._body(s.body, [*scopes, inner])
                scope.body.append(replace(s, body=tuple(inner.body)))
                for name in inner.values:       # finished: fixed from here on, but an array over the tile
                    scope.values[name] = -1 if self.tile is not None else scope.depth
                scope.done.clear()
            elif type(s) is If:
                test = self._expr(s.test, scopes)
                scope.body.append(replace(s, test=test, body=self._branch(s.body, scopes),
                                          otherwise=self._branch(s.otherwise, scopes)))
            elif type(s) is Local:
                scope.body.append(s)
            else:
                self._statement(s, scopes)

    def _branch(self, statements: tuple, scopes: list[_Scope]) -> tuple:
        """A block of its own: what is named in it is not known behind it."""
        outer = scopes[-1]
        inner = _Scope(outer.depth, outer.axes, dict(outer.values), named=dict(outer.named))
        self._body(statements, [*scopes[:-1], inner])
        return tuple(inner.body)

    def _statement(self, s, scopes: list[_Scope]) -> None:
        if type(s) is Accumulate:
            value = self._expr(s.value, scopes)
            other = None if s.other is None else self._expr(s.other, scopes)
            scopes[-1].body.append(replace(s, value=value, other=other))
            scopes[-1].values[s.name] = scopes[-1].depth
        else:
            index = self._index(s.index, scopes)
            value = self._expr(s.value, scopes)
            buffer = self.renumber.get(s.buffer, s.buffer)
            scopes[-1].body.append(Store(buffer, index, value, s.local))

    # ------------------------------------------------------------------------------------------- expressions

    def _expr(self, root: Node, scopes: list[_Scope]) -> Node:
        """The expression with everything that deserves a name replaced by that name. Iterative."""
        done = scopes[-1].done
        stack = [root]
        while stack:
            expr = stack[-1]
            if expr in done:
                stack.pop()
                continue
            below = operands(expr)
            missing = [o for o in below if o not in done]
            if missing:
                stack.extend(reversed(missing))    # the first operand first: values live shorter
                continue
            stack.pop()
            done[expr] = self._one(expr, below, done, scopes)
        rewritten, depth = done[root]
        return self._name(root, rewritten, depth, scopes) if depth < scopes[-1].depth else rewritten

    def _one(self, expr: Node, below: tuple[Node, ...], done: dict, scopes: list[_Scope]) -> tuple[Node, int]:
        depth = max([self._own_depth(expr, scopes), *[done[o][1] for o in below]])
        for scope in scopes[:depth + 1]:
            if expr in scope.named:
                return scope.named[expr], depth
        # A source that is constant in an outer loop is named there, so that this loop only reads it.
        srcs = [self._name(s, done[s][0], done[s][1], scopes) if done[s][1] < depth else done[s][0] for s in expr.srcs]
        index = index_of(expr)
        if index is not None and data_exprs(index):
            index = self._map_data(index, done)
        new = self._rebuild(expr, srcs, index)
        self.heights[new] = 1 + max([self.heights.get(s, 0) for s in new.srcs], default=0)
        if self.uses.get(expr, 0) > 1 or self.heights[new] > MAX_HEIGHT or expr.op is CHECK_INDEX:
            return self._name(expr, new, depth, scopes), depth
        return new, depth

    def _rebuild(self, expr: Node, srcs: list[Node], index: Index | None) -> Node:
        if expr.op is LOAD:
            number = self.renumber.get(expr.attrs[0], expr.attrs[0])
            return make(LOAD, expr.dtype, (), tuple(srcs), (number, index))
        if index is not None:
            attrs = (index,) if expr.op is INDEX else (expr.attrs[0], index)
            return make(expr.op, expr.dtype, (), (), attrs)
        return rebuild(expr, srcs)

    def _name(self, expr: Node, rewritten: Node, depth: int, scopes: list[_Scope]) -> Node:
        """A Let for the expression in the scope of its depth, unless it is as short as a name."""
        if rewritten.op in (CONST, PARAM, VALUE) or (rewritten.op is INDEX and not data_exprs(rewritten.attrs[0])):
            return rewritten
        scope = scopes[depth]
        if expr in scope.named:
            return scope.named[expr]
        name = f"t{self.count}"
        self.count += 1
        scope.body.append(Let(name, rewritten))
        value = scope.named[expr] = make(VALUE, expr.dtype, (), (), (name,))
        return value

    def _own_depth(self, expr: Node, scopes: list[_Scope]) -> int:
        scope = scopes[-1]
        if expr.op is VALUE:
            depth = scope.values.get(expr.attrs[0], 0)
            return depth if depth >= 0 else scope.axes.get(self.tile, scope.depth)
        index = index_of(expr)
        if index is None:
            return 0
        depth = max((scope.axes.get(axis, 0) for axis in ix.axes_of(index)), default=0)
        if expr.op is LOCAL or (expr.op is LOAD and expr.attrs[0] < 0):     # memory that this loop writes
            return scope.depth
        return depth

    # ----------------------------------------------------------------------------------------------- indices

    def _index(self, index: Index, scopes: list[_Scope]) -> Index:
        exprs = data_exprs(index)
        if not exprs:
            return index
        return self._map_data(index, {e: (self._expr(e, scopes), 0) for e in exprs})

    def _map_data(self, index: Index, done: dict) -> Index:
        """The index with the expressions that it gathers replaced by their rewritten forms."""
        def atom(a):
            if type(a) is Data:
                return Data(a.name, done[a.expr][0], a.bounds)
            if type(a) in (FloorDiv, Mod):
                return type(a)(self._map_data(a.numerator, done), a.denominator)
            return a
        return Index(tuple((atom(a), k) for a, k in index.terms), index.const)


def _count_uses(body: tuple) -> dict[Node, int]:
    """How many expressions and statements read each expression."""
    uses: dict[Node, int] = {}
    seen: set[Node] = set()

    def note(root: Node) -> None:
        uses[root] = uses.get(root, 0) + 1
        stack = [root]
        while stack:
            expr = stack.pop()
            if expr in seen:
                continue
            seen.add(expr)
            for o in operands(expr):
                uses[o] = uses.get(o, 0) + 1
                stack.append(o)

    def visit(statements: tuple) -> None:
        for s in statements:
            if type(s) is Loop:
                visit(s.body)
            elif type(s) is If:
                note(s.test)
                visit(s.body)
                visit(s.otherwise)
            elif type(s) is not Local:
                note(s.value)
                if type(s) is Accumulate and s.other is not None:
                    note(s.other)
                if type(s) is Store:
                    for e in data_exprs(s.index):
                        note(e)
    visit(body)
    return uses
