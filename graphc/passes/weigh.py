"""Weights times values to kernels, as gradients of attention are: one Template over blocks of rows.

Flat spaces: b, the stacks; r, the rows of the result; s, what is summed over, the columns of the weights; e, the
columns of the result, those of all products side by side. The weights are expressions of r and s over the VALUEs of
products ("score", ...), each of which is summed over a c of its own. What in them depends on the row alone is computed
once for a block of rows. Where a causal mask makes all weights 0 on one side of a diagonal, the template leaves out
what it can.
"""
from __future__ import annotations

from math import prod

from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, VALUE, Operand, Span, Store, Template, index_of, operands
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import ADD, CAST, DIV, EXP, FMA, INVERT, MUL, NEG, SUB, WHERE
from graphc.ir.target import rows_of_group
from graphc.ir.trees import CHUNKS
from graphc.passes.attend import SCORE, Attention
from graphc.passes.contract import nest
from graphc.passes.diagonal import diagonal_of, is_const
from graphc.passes.evaluate import QUERIES
from graphc.passes.place import place

GROUP_ROWS = (64, 32, 16)       # of a group of work items
GROUP_COLUMNS = 65              # of its arrays in shared memory
GROUP_SUMS = 64                 # words of registers for the sums of a work item, each of whose rows has four columns


class Bound(Struct, frozen=True):
    """Weights are 0 but where key <= query * slope + d. `keys`: whether the rows are the keys, else the queries."""

    d: Node
    slope: int
    keys: bool


class Weighted(Attention):
    def _space(self, name: str, extent: int) -> Index:
        if name == "b":
            return super()._space(name, extent)
        self.spaces[name] = (axis,) = (Axis(name, extent),)     # each has a name of its own
        return ix.of(axis)

    def _position(self) -> list[Index]:
        *lead, r, e = self.node.shape
        return [*ix.unflatten(self._space("b", prod(lead)), tuple(lead)), self._space("r", r), self._space("e", e)]

    def build(self) -> None:
        self.prologue = [self.reader.fold(node) for node in self.group.prologue]
        index = self._position()
        lead, r = index[:-2], index[-2]
        s = self._space("s", self.node.srcs[0].shape[-1])
        weights = [self._factor(w, lead, (r, s)) for w in self.node.srcs[::2]]
        self.parts = [self._product(k, product, at, r) for k, (product, at) in enumerate(self.reader.products.items())]
        self.sources = [self._values(k, v, lead, s) for k, v in enumerate(self.node.srcs[1::2])]
        self.bound = self._bound(weights)
        self.rows: dict[Node, str] = {}     # what depends on the row alone -> its name
        self.weights = [self._by_row(w) for w in weights]
        self.plain = None if self.bound is None else [self._by_row(self._visible(w, {})) for w in weights]
        self.values |= {f"weights{k}": w for k, w in enumerate(weights)}
        self._add_stores(index)

    def _product(self, k: int, product: Node, at: tuple[Index, ...], r: Index) -> tuple[str, str]:
        """The names of the factors of a product under the weights: that along the rows, that along what is summed."""
        c = self._space(f"c{k}", product.srcs[0].shape[-1])
        left = self._factor(product.srcs[0], list(at[:-2]), (at[-2], c))
        right = self._factor(product.srcs[1], list(at[:-2]), (c, at[-1]))
        names = f"lanes{k}", f"rows{k}"
        self.values |= dict(zip(names if at[-2] == r else names[::-1], (left, right), strict=True))
        return names

    def _values(self, k: int, values: Node, lead: list[Index], s: Index) -> str:
        """The name of what is weighted: a factor of a product where it is the same."""
        for part, (_, name) in enumerate(self.parts):
            (axis,) = self.spaces[f"c{part}"]
            if axis.extent == values.shape[-1] and self._factor(values, lead, (s, ix.of(axis))) is self.values[name]:
                return name
        self.values[f"values{k}"] = self._factor(values, lead, (s, self._space(f"e{k}", values.shape[-1])))
        return f"values{k}"

    def _by_row(self, weight: Node) -> Node:
        """The weight with names for what depends on the row alone and is read from memory."""
        r, s = self.spaces["r"][-1], self.spaces["s"][-1]
        known: dict[Node, tuple[set[Axis], bool]] = {}      # the axes that it depends on, and whether it is loaded
        new: dict[Node, Node] = {}

        def fixed(expr: Node) -> bool:
            axes, loaded = known[expr]
            return loaded and r in axes and s not in axes and expr.dtype is weight.dtype
        for expr in _sources_first(weight):
            index = index_of(expr)
            axes = ix.axes_of(index) if index is not None else {r, s} if expr.op is VALUE else set()
            below = [known[o] for o in operands(expr)]
            known[expr] = set(axes).union(*(a for a, _ in below)), expr.op is LOAD or any(x for _, x in below)
            if expr.op is LOAD or not expr.srcs or fixed(expr):
                new[expr] = expr
                continue
            srcs = [make(VALUE, e.dtype, (), (), (self.rows.setdefault(e, f"row{len(self.rows)}"),)) if fixed(e)
                    else new[e] for e in expr.srcs]
            new[expr] = rebuild(expr, srcs)
        return new[weight]

    # ---------------------------------------------------------------------------------------------- the diagonal

    def _diagonal(self, condition: Node, holds: bool) -> tuple[Bound, Node | None] | None:
        r, s = self.spaces["r"][-1], self.spaces["s"][-1]
        for keys, m, n in ((False, r, s), (True, s, r)):
            found = diagonal_of(condition, m, n, holds)
            if found is not None:
                (d, slope), rest = found
                return Bound(d, slope, keys), rest
        return None

    def _bound(self, weights: list[Node]) -> Bound | None:
        bounds = {self._vanishes(w, 0.0) for w in weights}
        return bounds.pop() if len(bounds) == 1 else None

    def _vanishes(self, expr: Node, to: float) -> Bound | None:
        """The bound beyond which an expression is 0, or -inf."""
        op, srcs = expr.op, expr.srcs
        if op is CAST or (op is DIV and not to) or (op is SUB and to) or (op is NEG and not to):
            return self._vanishes(srcs[0], to)
        if op is EXP and not to:
            return self._vanishes(srcs[0], -float("inf"))
        if (op is MUL and not to) or (op is ADD and to):
            return self._vanishes(srcs[0], to) or self._vanishes(srcs[1], to)
        if op is FMA and to:        # of a product and what is added to it
            return self._vanishes(srcs[2], to)
        if op is WHERE:
            condition, yes, no = srcs
            for holds, kept, other in ((True, yes, no), (False, no, yes)):
                if is_const(other, to):
                    found = self._diagonal(condition, holds)
                    return found[0] if found else self._vanishes(kept, to)
        return None

    def _visible(self, expr: Node, known: dict[Node, Node]) -> Node:
        """The expression where the bound holds: without its condition."""
        for e in _sources_first(expr):
            known[e] = e if e.op is LOAD or not e.srcs else rebuild(e, [known[x] for x in e.srcs])
            if e.op is WHERE:
                condition, yes, no = e.srcs
                for holds, kept in ((True, yes), (False, no)):
                    found = self._diagonal(condition, holds)
                    if found is not None and found[0] == self.bound:
                        rest = found[1] if found[1] is None or holds else make(INVERT, found[1].dtype, (), (found[1],))
                        known[e] = known[kept] if rest is None else make(
                            WHERE, e.dtype, (), (rest, known[yes], known[no]))
                        break
        return known[expr]

    # ------------------------------------------------------------------------------------------------ assembly

    def _weights(self, name: str, weights: list[Node], renumber: dict[int, int]) -> Operand:
        """All weights as one matrix (products * s, r), so that they share what they have in common."""
        (r,), (s,), which = self.spaces["r"], self.spaces["s"], Axis("w", len(weights))
        at = ix.of_axes((s, r))
        stores = tuple(Store(0, ix.shift(at, k * s.extent * r.extent), w, local=name) for k, w in enumerate(weights))
        known = {SCORE, *(f"{SCORE}{k}" for k in range(1, len(self.parts))), *self.rows.values()}
        return Operand(name, weights[0].dtype, ("w", "r"), ((which, s), (r,)),
                       place(nest((s, r), stores), renumber, r, known))

    def _template(self, renumber: dict[int, int]) -> Template:
        carried = self.node.dtype.accumulator
        r, one = self.spaces["r"], Axis("one", 1)
        self.spaces["one"] = (one,)
        operands = []
        for k, (lanes, rows) in enumerate(self.parts):
            operands += [self._matrix(lanes, self.values[lanes], "r", f"c{k}", f"c{k}", renumber),
                         self._matrix(rows, self.values[rows], "s", f"c{k}", f"c{k}", renumber)]
        for k, name in enumerate(self.sources):
            if name not in {o.name for o in operands}:
                operands.append(self._matrix(name, self.values[name], "s", f"e{k}", f"e{k}", renumber))
        operands += [self._matrix(name, value, "r", "one", "r", renumber) for value, name in self.rows.items()]
        operands.append(self._weights("weights", self.weights, renumber))
        if self.bound is not None:
            operands.append(self._weights("plain", self.plain, renumber))
        spaces = [name for name in self.spaces if name not in ("b", "r")]
        length = self._rows_of_a_chunk()
        spans = (Span("r", r, Axis("rb", -(-self.node.shape[-2] // length)), length),
                 Span("w", (Axis("w", len(self.weights)), *self.spaces["s"])),
                 *(Span(name, self.spaces[name]) for name in spaces))
        d, slope, keys = (None, 1, False) if self.bound is None else (self.bound.d, self.bound.slope, self.bound.keys)
        facts = (("diagonal", d), ("slope", slope), ("keys", keys), ("parts", len(self.parts)),
                 ("rows", tuple(self.rows.values())), ("values", tuple(self.sources)))
        return Template("weighted", self.result, carried, spans, tuple(operands), self._epilogue("r", "e", renumber),
                        facts)

    def _rows_of_a_chunk(self) -> int:
        """As many as fit the memory of a group of work items, of each product and weight those of 64 columns, and their
        sums the registers."""
        target, itemsize = self.schedule.target, self.node.dtype.accumulator.itemsize
        if not target.group:
            return QUERIES
        bytes_of_a_row = max(len(self.parts), len(self.weights)) * GROUP_COLUMNS * itemsize
        words = sum(-(-v.shape[-1] // CHUNKS["attention"]) for v in self.node.srcs[1::2]) * itemsize    # for 16 rows
        rows = next((rows for rows in GROUP_ROWS if rows * bytes_of_a_row <= target.shared * 3 // 4
                     and rows // 16 * words <= GROUP_SUMS), GROUP_ROWS[-1])
        return rows_of_group(rows, target.group)

    def _nest_of_chunks(self, template: Template) -> tuple[tuple[Axis, ...], int]:
        return (*(a for a in self.spaces["b"] if a.extent != 1), template.span("r").block), 1


def _sources_first(expr: Node) -> list[Node]:
    """All expressions under one, operands before what reads them."""
    order: dict[Node, None] = {}
    stack = [expr]
    while stack:
        e = stack[-1]
        missing = [o for o in operands(e) if o not in order]
        if e in order or not missing:
            order[e] = None
            stack.pop()
        else:
            stack.extend(missing)
    return list(order)
