"""Rows of several stretches, as an image's channel is over a batch, or a group of channels with a bias for each: loops
over stretches and over the elements of each, without divisions.

    x[j / n * s + j % n]   for j in a row   ->   x[q * s + t]   for t in a stretch, q = j / n
"""
from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from graphc.codegen.spell import FEW
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.conditions import is_comparison, sides
from graphc.ir.index import Axis, Data, FloorDiv, Index, Mod
from graphc.ir.kernel import INDEX, LOAD, LOCAL, Store, data_exprs, index_value, indices_of
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import LE, LT


class Stretches(Struct, frozen=True):
    """A loop over j, `axis`, as one over stretches `outer`, and `inner` in them: position = j + something fixed, which
    is outer * length + inner. `fixed`: quotients and remainders that are the same all along a stretch, by name."""

    axis: Axis
    outer: Axis
    inner: Axis
    position: Index
    fixed: dict[Index, Axis]
    body: tuple

    def model(self, spell, start: str, stop: str, body: list[dict]) -> dict:
        return {"kind": "stretched", "axis": self.axis.name, "start": start, "stop": stop, "body": body,
                "outer": self.outer.name, "length": spell.arg(self.inner.extent),
                "position": spell.index(self.position),
                "fixed": [{"name": axis.name, "value": spell.index(index)} for index, axis in self.fixed.items()]}


def stretches(body: tuple, axis: Axis) -> Stretches | None:
    """None where no index divides by what a stretch would make constant, or some would still divide at each element by
    more than a FEW."""
    divided = [atom for index in indices(body) for atom in divisions(index, axis)]
    long = [atom for atom in divided if atom.denominator > FEW and atom.numerator.coefficient(axis) == 1]
    if not long:
        return None
    shortest = min(long, key=lambda atom: atom.denominator)
    position, length = shortest.numerator, shortest.denominator
    low, high = position.bounds
    if low < 0 or data_exprs(position):
        return None
    outer, inner = Axis(f"{axis.name}_row", high // length + 1), Axis(f"{axis.name}_column", length)
    fixed = ix.add(position, ix.mul(ix.of(axis), -1))
    there = ix.add(ix.add(ix.mul(ix.of(outer), length), ix.of(inner)), ix.mul(fixed, -1))
    new = Substitution(axis, there)
    changed = tuple(new.statement(s) for s in body)
    left = [atom for index in indices(changed) for atom in (*divisions(index, inner), *divisions(index, axis))]
    if any(atom.denominator > FEW for atom in left):
        return None
    named = _Naming(outer, inner)
    return Stretches(axis, outer, inner, position, named.names, tuple(named.statement(s) for s in changed))


def indices(body: tuple) -> list[Index]:
    return [*(s.index for s in body if type(s) is Store), *indices_of(s.value for s in body)]


def divisions(index: Index, axis: Axis) -> list[FloorDiv | Mod]:
    """The quotients and remainders in an index, also those inside of others, that change along the axis."""
    found = []
    for atom, _ in index.terms:
        if type(atom) in (FloorDiv, Mod) and axis in ix.axes_of(atom.numerator):
            found += [atom, *divisions(atom.numerator, axis)]
    return found


class Substitution:
    """Expressions with an index for an axis."""

    def __init__(self, axis: Axis, new: Index):
        self.axis, self.new = axis, new
        self.done: dict[Node, Node] = {}

    def statement(self, s):
        changed = replace(s, value=self.expr(s.value))
        return replace(changed, index=self.index(s.index)) if type(s) is Store else changed

    def index(self, index: Index) -> Index:
        total = ix.constant(index.const)
        for atom, k in index.terms:
            total = ix.add(total, ix.mul(self._atom(atom), k))
        return total

    def _atom(self, atom) -> Index:
        if type(atom) is FloorDiv:
            return ix.floordiv(self.index(atom.numerator), atom.denominator)
        if type(atom) is Mod:
            return ix.mod(self.index(atom.numerator), atom.denominator)
        if type(atom) is Data:
            return ix.of(Data(atom.name, self.expr(atom.expr), atom.bounds))
        return self.new if atom == self.axis else ix.of(atom)

    def expr(self, root: Node) -> Node:
        if root not in self.done:
            new = rebuild(root, [self.expr(s) for s in root.srcs]) if root.srcs else root
            if root.op is INDEX:
                new = make(INDEX, root.dtype, (), (), (self.index(root.attrs[0]),))
            elif root.op is LOAD or root.op is LOCAL:
                new = make(root.op, root.dtype, (), new.srcs, (root.attrs[0], self.index(root.attrs[1])))
            self.done[root] = new
        return self.done[root]


class _Naming(Substitution):
    """Expressions with names for the quotients and remainders that change along one axis, but not along another."""

    def __init__(self, axis: Axis, inner: Axis):
        super().__init__(axis, ix.of(axis))
        self.inner = inner
        self.names: dict[Index, Axis] = {}

    def expr(self, root: Node) -> Node:
        if root not in self.done and root.op in (LT, LE) and is_comparison(new := super().expr(root)):
            self.done[root] = self._of_rows(new)
        return super().expr(root)

    def _of_rows(self, expr: Node) -> Node:
        """A comparison that asks for the stretch alone, without the place in it: row * n + column < k * n."""
        moving, bound, under = sides(expr)
        length, rest = self.inner.extent, ix.add(moving, ix.mul(ix.of(self.inner), -1))
        if moving.coefficient(self.inner) != 1 or self.inner in ix.axes_of(rest) or (bound - rest.const) % length or \
                not rest.terms or any(k % length for _, k in rest.terms):
            return expr
        row = index_value(Index(tuple((atom, k // length) for atom, k in rest.terms)))
        place = index_value(ix.constant((bound - rest.const) // length))
        return make(LT, dt.bool, (), (row, place)) if under else make(LE, dt.bool, (), (place, row))

    def _atom(self, atom) -> Index:
        axes = ix.axes_of(atom.numerator) if type(atom) in (FloorDiv, Mod) else ()
        if self.axis in axes and self.inner not in axes and atom.bounds[0] >= 0:
            name = Axis(f"{self.axis.name}{len(self.names)}", atom.bounds[1] + 1)
            return ix.of(self.names.setdefault(ix.of(atom), name))
        return super()._atom(atom)
