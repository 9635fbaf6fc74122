"""Loops that divide by a few, as the gradient of pooling does: over stretches of so many elements, each written out.

    y[j] = x[j] == m[j / 2] ? g[j / 2] : 0   ->   y[q * 2] = x[q * 2] == m[q] ? g[q] : 0;
                                                  y[q * 2 + 1] = x[q * 2 + 1] == m[q] ? g[q] : 0

What is the same all along a stretch is computed once, and neighbours are read and stored together: GCC takes vectors of
them apart, where it would gather what lies at j / 2 element by element.
"""
from __future__ import annotations

from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from graphc.codegen.edges_c import loops, pieces, used
from graphc.codegen.overlapping_c import overlapping
from graphc.codegen.stretches_c import Substitution, divisions, indices
from graphc.ir import index as ix
from graphc.ir.conditions import FALSE, TRUE, with_answers
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, VALUE, Let, Loop, Store, below, data_exprs, index_of
from graphc.ir.node import Node, make
from graphc.ir.ops import CHECK_INDEX, CONST, EQ, LE, LT
from graphc.ir.trees import CHUNKS

MOST = 4            # elements of a stretch that are written out
WRITTEN_OUT = 400   # operations: gcc's time grows faster than the text


class ShortStretches(Struct, frozen=True):
    """A loop over `axis` as one over stretches of `length` elements, `outer`, with `body` for all of a stretch's.
    position = the axis + something fixed, which is outer * length + the place in a stretch."""

    axis: Axis
    outer: Axis
    length: int
    position: Index
    body: tuple

    def model(self, owner, start: str, stop: str, loop: Loop) -> dict:
        """`loop`: as it was, for what lies before the first whole stretch and after the last."""
        spell, name = owner.spell, f"{self.outer.name}_"
        fixed = ix.add(self.position, ix.mul(ix.of(self.axis), -1))
        ahead, back = (spell.index(k) for k in (fixed, ix.mul(fixed, -1))) if fixed != ix.ZERO else ("", "")
        edge = owner.statements(loop.body, {})
        with spell.stepping(self.outer):
            if parts := pieces(self.body, self.outer, owner.lets):
                inner = loops(owner, parts, self.outer, f"{name}from", f"{name}to")
            else:
                whole = Loop(self.outer, "vector", self.body)
                inner = [overlapping(owner, whole, f"{name}from", f"{name}to", self._count(loop, fixed))
                         or owner.counted(whole, f"{name}from", f"{name}to", {})]
        return {"kind": "short_stretches", "axis": self.axis.name, "start": start, "stop": stop, "outer": name,
                "length": self.length, "edge": edge, "body": inner, "begins": not ahead and (
                    start == "0" or (start == "first" and CHUNKS["inner"] % self.length == 0)),
                "ahead": f" + {ahead}" if ahead else "", "back": f" + ({back})" if back else ""}

    def _count(self, loop: Loop, fixed: Index) -> int:
        """How many whole stretches a loop has; 0 if that is not known."""
        edges = ix.ZERO if loop.start is None else loop.start, loop.limit or ix.constant(loop.axis.extent), fixed
        if not all(index.is_const for index in edges):
            return 0
        first, last = (edge.const + fixed.const for edge in edges[:2])
        return last // self.length + -first // self.length


def short_stretches(body: tuple, axis: Axis, arrays: Container[str]) -> ShortStretches | None:
    """None where no index divides by a few along the axis, or some would still divide if that was written out."""
    if not all(type(s) in (Let, Store) for s in body):
        return None
    divided = [atom for index in indices(body) for atom in divisions(index, axis)]
    if not divided:
        return None
    widest = max(divided, key=lambda atom: atom.denominator)
    position, length = widest.numerator, widest.denominator
    exprs = list(below(s.value for s in body))
    if length > MOST or length * len(exprs) > WRITTEN_OUT or position.coefficient(axis) != 1 or \
            position.bounds[0] < 0 or position.bounds[1] < 2 * length or data_exprs(position) or any(
                e.op is CHECK_INDEX or (e.op is VALUE and e.attrs[0] in arrays) for e in exprs):
        return None
    low, high = position.bounds
    before = -(-low // length)      # stretches that begin before the loop can
    position, outer = ix.shift(position, -before * length), Axis(f"{axis.name}_few", (high + 1) // length - before)
    first = ix.add(ix.mul(ix.of(outer), length), ix.mul(ix.add(position, ix.mul(ix.of(axis), -1)), -1))
    known: dict[Node, Node] = {}        # a value -> its name
    out: list = []
    for k in range(length):
        place = _Place(axis, ix.shift(first, k))
        for s in body:
            new = place.statement(s)
            if type(s) is Store:
                out.append(new)
                continue
            if new.value.op is CONST:
                known[new.value] = new.value
            elif new.value not in known:
                name = s.name if k == 0 else f"{s.name}_{k}"
                out.append(Let(name, new.value))
                known[new.value] = make(VALUE, new.value.dtype, (), (), (name,))
            place.named[s.name] = known[new.value]
    written = used(tuple(out))
    if any(divisions(index, a) for index in indices(written) for a in (axis, outer)):
        return None
    return ShortStretches(axis, outer, length, position, written)


class _Place(Substitution):
    """Expressions for one place of each stretch: with names of their own, and without questions that it answers."""

    def __init__(self, axis: Axis, new: Index):
        super().__init__(axis, new)
        self.named: dict[str, Node] = {}

    def expr(self, root: Node) -> Node:
        if root not in self.done and root.op is VALUE:
            return self.named.get(root.attrs[0], root)
        return super().expr(root)

    def statement(self, s):
        new = super().statement(s)
        answers = {expr: answer for expr in below([new.value]) if (answer := _answer(expr)) is not None}
        return replace(new, value=with_answers(new.value, answers))


def _answer(expr: Node) -> Node | None:
    """What a comparison of indices is for all elements, by their ranges."""
    if expr.op not in (LT, LE, EQ) or any(s.op is not INDEX for s in expr.srcs):
        return None
    (low, high), (least, most) = (index_of(s).bounds for s in expr.srcs)
    if expr.op is EQ:
        return FALSE if high < least or most < low else TRUE if low == high == least == most else None
    holds, may = (high < least, low < most) if expr.op is LT else (high <= least, low <= most)
    return TRUE if holds else None if may else FALSE
