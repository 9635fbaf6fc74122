"""Attention to kernels: one Template over blocks of queries, with what it reads and what becomes of it as expressions.

Flat spaces: b, the stacks; m, the queries; n, the keys; c, what a score is summed over; e, the columns of the values.
The scores are an expression of m and n over the VALUE "score", the product itself. Where it selects -inf for all keys
beyond a diagonal, the template leaves out the blocks behind it and asks only on the diagonal.
"""
from __future__ import annotations

from math import prod

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import Operand, Span, Store, Template
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import ADD, FMA, MUL, SCORES, WHERE
from graphc.ir.target import rows_of_group
from graphc.ir.trees import CHUNKS
from graphc.passes.contract import MANY_BLOCKS, Contraction, nest
from graphc.passes.diagonal import diagonal_of, is_const
from graphc.passes.evaluate import QUERIES
from graphc.passes.place import place
from graphc.passes.read import Reader

SCORE = "score"
MOST_SUMS = 4 * CHUNKS["attention"]     # bytes of the results of a query, where there are twice as many
GROUP_QUERIES = {4: 64, 8: 32}      # of a group of work items, by bytes of a score: those of 64 keys fit shared memory


class ScoreReader(Reader):
    """Notes at which index the products under scores and weights are read. The first one's value is SCORE, that of
    others has a number."""

    def __init__(self, memory, values):
        super().__init__(memory, values)
        self.products: dict[Node, tuple[Index, ...]] = {}

    def _start(self, node, index, mask):
        if node.op is SCORES:
            index = tuple(map(self._real, index))
            if self.products.setdefault(node, index) != index:
                raise AssertionError(f"{node} is read at two places")
            self.values.setdefault(node, f"{SCORE}{len(self.products) - 1 or ''}")
        return super()._start(node, index, mask)


class Attention(Contraction):
    reader_type = ScoreReader

    def _position(self) -> list[Index]:
        """The index of an element of the result, whose columns are "r": those of the values, "e", and perhaps more."""
        *lead, m, e = self.node.shape
        return [*ix.unflatten(self._space("b", prod(lead)), tuple(lead)), self._space("m", m),
                self._space("r" if self.node.attrs[0] else "e", e)]

    def build(self) -> None:
        self.prologue = [self.reader.fold(node) for node in self.group.prologue]
        index = self._position()
        scores, values = self.node.srcs
        lead, m, e = index[:-2], index[-2], self._space("e", values.shape[-1])
        n = self._space("n", values.shape[-2])
        score = self._factor(scores, lead, (m, n))
        ((product, at),) = self.reader.products.items()
        q, k = product.srcs
        c = self._space("c", q.shape[-1])
        self.values = {"q": self._factor(q, list(at[:-2]), (m, c)), "k": self._factor(k, list(at[:-2]), (c, n)),
                       "v": self._factor(values, lead, (n, e)), "scores": score}
        self.plain, self.diagonal = self._split_causal(score)
        self._add_stores(index)

    # ---------------------------------------------------------------------------------------------- the diagonal

    def _split_causal(self, score: Node) -> tuple[Node, tuple[Node, int] | None]:
        """The score without its causal mask, and d and slope with which that leaves the keys n <= m * slope + d."""
        for mask, *others in _sums(score):
            if mask.op is WHERE and (found := self._masked(mask)) is not None and is_const(found[0], 0):
                _, d, rest = found
                other = others[0] if score.op is ADD else make(MUL, score.dtype, (), tuple(others))
                return other if rest is None else rebuild(score, (*others, _select(rest, mask))), d
        if score.op is WHERE and (found := self._masked(score)) is not None:
            kept, d, rest = found
            return kept if rest is None else _select(rest, score), d
        return score, None

    def _masked(self, where: Node) -> tuple[Node, tuple[Node, int], Node | None] | None:
        """What a selection keeps, where not -inf: the value, d and slope, and what else has to hold."""
        condition, yes, no = where.srcs
        holds = is_const(no, float("-inf"))
        if not holds and not is_const(yes, float("-inf")):
            return None
        found = diagonal_of(condition, self.spaces["m"][-1], self.spaces["n"][-1], holds)
        return None if found is None else (yes if holds else no, *found)

    # ------------------------------------------------------------------------------------------------ assembly

    def _matrix(self, name: str, value: Node, rows: str, columns: str, inner: str, renumber, known=()) -> Operand:
        outer = rows if inner == columns else columns
        at = ix.of_axes((self.spaces[rows][-1], self.spaces[columns][-1]))
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
        queries = self._queries_of_a_chunk()
        blocks = Axis("mb", -(-self.node.shape[-2] // queries))
        more = self.node.attrs[0]
        names = "ncer" if more else "nce"
        spans = (Span("m", self.spaces["m"], blocks, queries), *(Span(s, self.spaces[s]) for s in names))
        return Template("attention", self.result, self.node.dtype.accumulator, spans, tuple(operands),
                        self._epilogue("m", names[-1], renumber),
                        (("diagonal", d), ("slope", slope), ("columns", more)))

    def _queries_of_a_chunk(self) -> int:
        """Of a group of work items twice as many where it may have more memory, its sums fit the registers, and that
        leaves work for all groups."""
        target, itemsize = self.schedule.target, self.node.dtype.accumulator.itemsize
        if not target.group:
            return QUERIES
        queries = GROUP_QUERIES[itemsize]
        blocks = prod(a.extent for a in self.spaces["b"]) * -(-self.node.shape[-2] // (2 * queries))
        if target.large and blocks >= MANY_BLOCKS and self.node.srcs[-1].shape[-1] * itemsize <= MOST_SUMS:
            queries *= 2
        return rows_of_group(queries, target.group)

    def _part(self, operand: str) -> str:
        return ""       # all of them walk the same spaces

    def _nest_of_chunks(self, template: Template) -> tuple[tuple[Axis, ...], int]:
        return (*(a for a in self.spaces["b"] if a.extent != 1), template.span("m").block), 1

    def refinements(self) -> dict[str, tuple[int, ...]]:
        """Only the stacks are split: loops over queries and keys are the template's."""
        return {name: extents for name, extents in super().refinements().items() if name == "b"}


def _sums(score: Node) -> list[tuple[Node, ...]]:
    """What is added up to a score: each source, and the others."""
    if score.op is FMA:
        a, b, c = score.srcs
        return [(c, a, b)]
    return [score.srcs, score.srcs[::-1]] if score.op is ADD else []


def _select(condition: Node, where: Node) -> Node:
    """The same selection of a value or -inf by another condition."""
    _, yes, no = where.srcs
    return make(WHERE, where.dtype, (), (condition, yes, no) if is_const(no, float("-inf")) else (condition, no, yes))
