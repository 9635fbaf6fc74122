"""Attention to kernels: one Template over blocks of queries, with what it reads and what becomes of it as expressions.

Flat spaces: b, the stacks; m, the queries; n, the keys; c, what a score is summed over; e, the columns of the values.
The scores are an expression of m and n over the VALUE "score", the product itself. Where it selects -inf for all keys
beyond a diagonal, the template leaves out the blocks behind it and asks only on the diagonal.
"""
from __future__ import annotations

from math import prod

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, VALUE, Operand, Span, Store, Template, index_of, operands
from graphc.ir.node import Node, const, const_value, make, rebuild
from graphc.ir.ops import ADD, AND, CAST, CHECK_INDEX, CONST, INVERT, LE, LT, OR, SCORES, SUB, WHERE
from graphc.passes.contract import Contraction, nest
from graphc.passes.evaluate import QUERIES
from graphc.passes.place import place
from graphc.passes.read import Reader

SCORE = "score"
GROUP_QUERIES = {4: 64, 8: 32}      # of a group of work items, by bytes of a score: those of 64 keys fit shared memory


class _ScoreReader(Reader):
    """Notes at which index the product under the scores is read."""

    product: tuple[Node, tuple[Index, ...]]

    def _start(self, node, index, mask):
        if node.op is SCORES:
            self.product = node, index
            self.values[node] = SCORE
        return super()._start(node, index, mask)


class Attention(Contraction):
    reader_type = _ScoreReader

    def _position(self) -> list[Index]:
        *lead, m, e = self.node.shape
        return [*ix.unflatten(self._space("b", prod(lead)), tuple(lead)), self._space("m", m), self._space("e", e)]

    def build(self) -> None:
        self.prologue = [self._fold(node) for node in self.group.prologue]
        index = self._position()
        scores, values = self.node.srcs
        lead, (m, e) = index[:-2], index[-2:]
        n = self._space("n", values.shape[-2])
        score = self._factor(scores, lead, (m, n))
        product, at = self.reader.product
        q, k = product.srcs
        c = self._space("c", q.shape[-1])
        self.values = {"q": self._factor(q, list(at[:-2]), (m, c)), "k": self._factor(k, list(at[:-2]), (c, n)),
                       "v": self._factor(values, lead, (n, e)), "scores": score}
        self.plain, self.diagonal = self._split_causal(score)
        self._add_stores(index)

    # ---------------------------------------------------------------------------------------------- the diagonal

    def _split_causal(self, score: Node) -> tuple[Node, tuple[Node, int] | None]:
        """The score without its causal mask, and d and slope with which that leaves the keys n <= m * slope + d."""
        if score.op is ADD:
            for mask, other in (score.srcs, score.srcs[::-1]):
                if mask.op is WHERE and (found := self._masked(mask)) is not None and _is(found[0], 0):
                    _, d, rest = found
                    return other if rest is None else rebuild(score, (other, _select(rest, mask))), d
        if score.op is WHERE and (found := self._masked(score)) is not None:
            kept, d, rest = found
            return kept if rest is None else _select(rest, score), d
        return score, None

    def _masked(self, where: Node) -> tuple[Node, tuple[Node, int], Node | None] | None:
        """What a selection keeps, where not -inf: the value, d and slope, and what else has to hold."""
        condition, yes, no = where.srcs
        holds = _is(no, float("-inf"))
        if not holds and not _is(yes, float("-inf")):
            return None
        found = _diagonal(condition, self.spaces["m"][-1], self.spaces["n"][-1], holds)
        return None if found is None else (yes if holds else no, *found)

    # ------------------------------------------------------------------------------------------------ assembly

    def _matrix(self, name: str, value: Node, rows: str, columns: str, inner: str, renumber, known=()) -> Operand:
        outer = rows if inner == columns else columns
        at = ix.add(ix.mul(ix.of(self.spaces[rows][-1]), self.spaces[columns][-1].extent),
                    ix.of(self.spaces[columns][-1]))
        order = (*self.spaces[outer], *self.spaces[inner])
        body = nest(order, (Store(0, at, value, local=name),))
        return Operand(name, value.dtype, (rows, columns), (self.spaces[rows], self.spaces[columns]),
                       place(body, renumber, self.spaces[inner][-1] if known else None, known))

    def _template(self, renumber: dict[int, int]) -> Template:
        values = self.values
        operands = [self._matrix("q", values["q"], "m", "c", "c", renumber),
                    self._matrix("k", values["k"], "n", "c", "c", renumber),
                    self._matrix("v", values["v"], "n", "e", "e", renumber),
                    self._matrix("scores", values["scores"], "n", "m", "m", renumber, {SCORE})]
        d, slope = self.diagonal or (None, 1)
        if d is not None:
            operands.append(self._matrix("plain", self.plain, "n", "m", "m", renumber, {SCORE}))
        queries = QUERIES if not self.schedule.target.group else GROUP_QUERIES[self.node.dtype.accumulator.itemsize]
        blocks = Axis("mb", -(-self.node.shape[-2] // queries))
        spans = (Span("m", self.spaces["m"], blocks, queries), *(Span(s, self.spaces[s]) for s in "nce"))
        return Template("attention", self.result, self.node.dtype.accumulator, spans, tuple(operands),
                        self._epilogue("m", "e", renumber), (("diagonal", d), ("slope", slope)))

    def _part(self, operand: str) -> str:
        return ""       # all of them walk the same spaces

    def _nest_of_chunks(self, template: Template) -> tuple[tuple[Axis, ...], int]:
        return (*(a for a in self.spaces["b"] if a.extent != 1), template.span("m").block), 1

    def refinements(self) -> dict[str, tuple[int, ...]]:
        """Only the stacks are split: loops over queries and keys are the template's."""
        return {name: extents for name, extents in super().refinements().items() if name == "b"}


def _is(node: Node, value: float) -> bool:
    while node.op is CAST:
        node = node.srcs[0]
    return node.op is CONST and bool(const_value(node) == value)


def _select(condition: Node, where: Node) -> Node:
    """The same selection of a value or -inf by another condition."""
    _, yes, no = where.srcs
    return make(WHERE, where.dtype, (), (condition, yes, no) if _is(no, float("-inf")) else (condition, no, yes))


def _diagonal(condition: Node, m: Axis, n: Axis, holds: bool) -> tuple[tuple[Node, int], Node | None] | None:
    """A condition has the value `holds` exactly where n <= m * slope + d and the rest is true: d and slope, and the
    rest, if any."""
    op = condition.op
    if op is INVERT:
        return _diagonal(condition.srcs[0], m, n, not holds)
    if op is WHERE and condition.dtype.kind == "b":
        test, yes, no = condition.srcs
        if _is(yes, 1) and _is(no, 0):
            return _diagonal(test, m, n, holds)
        return _diagonal(test, m, n, not holds) if _is(yes, 0) and _is(no, 1) else None
    if op is (AND if holds else OR):
        for side, other in (condition.srcs, condition.srcs[::-1]):
            found = _diagonal(side, m, n, holds)
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
    stack = [expr]
    while stack:
        e = stack.pop()
        index = index_of(e)
        if e.op is CHECK_INDEX or e.op is VALUE or (index is not None and ix.axes_of(index) & axes):
            return False
        stack.extend(operands(e))
    return True
