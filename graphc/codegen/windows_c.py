"""Windows as the second factor of a product: in a convolution, an element of an image is in as many windows as the
kernel has elements.

An operand whose index has positions of n and of k only as the sum n * stride + k * dilation (`Pair`) is evaluated once
for each sum, into a slab of memory, for the columns that are packed at a time. Panels are filled from the slab:
there neighbours along n are neighbours, and where k begins is a table. So a producer that is fused into the operand, or
the padding of an image, costs as much as the image has elements, and not windows.
"""
from __future__ import annotations

from math import gcd, prod

from msgspec import Struct
from msgspec.structs import replace

from graphc.codegen.copied_c import copied_from
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import INDEX, LOAD, Let, Loop, Operand, Template, data_exprs, index_value, indices_of, load
from graphc.ir.node import Node, rebuild
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["chain"]
LONG = 64       # rows of at least so many columns are laid out one by one
SEEN_ROWS = 48  # of a, at most, for which panels are read from the slab, across lines of the cache, and not filled


class Pair(Struct, frozen=True):
    """A window along one axis: indices have n * stride + k * dilation. `size`: positions of k."""

    n: Axis
    size: int = 1
    stride: int = 1
    dilation: int = 0
    k: Axis | None = None

    @property
    def reach(self) -> int:
        """How much a window sees."""
        return (self.size - 1) * self.dilation + 1

    @property
    def sum(self) -> Axis:
        return Axis(self.n.name, (self.n.extent - 1) * self.stride + self.reach)

    def summed(self, index: Index) -> Index:
        """The index in terms of the sum."""
        step = index.coefficient(self.n)
        rest = Index(tuple(term for term in index.terms if term[0] not in (self.n, self.k)), index.const)
        return ix.add(rest, ix.mul(ix.of(self.sum), step // self.stride)) if step else rest


class Windows(Struct, frozen=True):
    """How an operand has windows along the last axis of n and the one before it; one of the two may be without."""

    row: Pair
    column: Pair
    heads: tuple[Axis, ...]     # the other axes of n
    rest: tuple[Axis, ...]      # and of k, which are before those of windows


def windows(s: Template, operand: Operand) -> Windows | None:
    """None where there are none that overlap."""
    walked = s.walked(operand)
    columns, sums = walked["n"].axes, list(walked["k"].axes)
    indices = indices_of((s.value for s in statements(operand.body)), gathered=False)
    if innermost(operand.body).axis not in (columns[-1], sums[-1]):
        return None
    if any(data_exprs(index) for index in indices):
        return None
    found = []
    for axis in (columns[-1], columns[-2] if len(columns) > 1 else Axis("row", 1)):
        pair = _pair(axis, sums[-1], indices) if sums else None
        found.append(pair or Pair(axis))
        if pair:
            sums.pop()
    column, row = found
    if column.k is None and (row.k is None or innermost(operand.body).axis in sums):
        return None
    return Windows(row, column, columns[:-2], tuple(sums))


def _pair(n: Axis, k: Axis, indices: list[Index]) -> Pair | None:
    ratios = set()
    for index in indices:
        if any({n, k} & ix.axes_of(Index(((atom, 1),))) for atom, _ in index.terms if type(atom) is not Axis):
            return None
        step, other = index.coefficient(n), index.coefficient(k)
        if step or other:
            common = gcd(step, other) * (-1 if step < 0 else 1)
            ratios.add((step // common, other // common))
    if len(ratios) != 1:
        return None
    (stride, dilation), = ratios
    overlap = 0 < stride <= dilation * (k.extent - 1) <= 2 * k.extent
    return Pair(n, k.extent, stride, dilation, k) if overlap and k.extent <= n.extent else None


def statements(body: tuple) -> list:
    """What stands in a nest, without its loops."""
    found: list = []
    for x in body:
        found += statements(x.body) if type(x) is Loop else [x]
    return found


def innermost(body: tuple) -> Loop:
    loop = next(x for x in body if type(x) is Loop)
    while any(type(x) is Loop for x in loop.body):
        loop = next(x for x in loop.body if type(x) is Loop)
    return loop


def _summed(expr: Node, w: Windows) -> Node:
    srcs = tuple(_summed(x, w) for x in expr.srcs)
    if expr.op is INDEX:
        return index_value(w.row.summed(w.column.summed(expr.attrs[0])), expr.dtype)
    if expr.op is LOAD:
        return load(expr.attrs[0], w.row.summed(w.column.summed(expr.attrs[1])), expr.dtype, *srcs)
    return rebuild(expr, srcs)


def slab(model, s: Template, operand: Operand, w: Windows, columns: int, take) -> dict:
    """The model of a slab from which `columns` columns are packed at a time; `take` gives memory for elements."""
    spell, row, column = model.spell, w.row, w.column
    long = column.n.extent >= LONG
    rows = 1 if long else min(row.n.extent, -(-(columns - 1) // column.n.extent) + 1)
    across = ((min(column.n.extent, columns) if long else column.n.extent) - 1) * column.stride + column.reach
    part = -(-across // column.stride)      # neighbours along n of one remainder by the stride
    height, width, group = (rows - 1) * row.stride + row.reach, part * column.stride, row.size * column.size
    some = min(prod(a.extent for a in w.rest), (CHUNK - 2) // group + 2)
    loop = innermost(operand.body)
    outer = [x for x in statements(operand.body) if type(x) is Let and x not in loop.body]
    line = Loop(column.sum, "vector", tuple(_summed_in(x, w) for x in loop.body))
    dealt = column.stride > 1
    seen = s.span("m").length <= SEEN_ROWS
    for name in ("spread", "joined", "laid", *(["viewed"] if seen else [])):
        spell.helpers[f"gc_tiles_{name}_{spell.language.register(s.dtype)}"] = None
    return {"slab": take(some * height * width), "places": take(2 * CHUNK * 8 // s.dtype.itemsize),
            "views": take(columns // 2), "seen": seen, "group": spell.arg(group), "width": spell.arg(width),
            "unit": spell.arg(column.n.extent * (1 if long else row.n.extent)),
            "part": spell.arg(part) if dealt else None,
            "whole": take(width) if dealt else None, "heads": _digits(spell, w.heads), "rest": _digits(spell, w.rest),
            "row": _pair_model(spell, row), "column": _pair_model(spell, column),
            "outer": [model.statement(_summed_in(x, w), {}) for x in outer],
            "line": _line(model, line, s.dtype, "whole" if dealt else "line")}


def _pair_model(spell, pair: Pair) -> dict:
    return {"name": pair.n.name, "extent": spell.extent(pair.n), "size": spell.arg(pair.size), "stride": pair.stride,
            "dilation": spell.arg(pair.dilation), "reach": spell.arg(pair.reach)}


def _digits(spell, axes: tuple[Axis, ...]) -> list[dict]:
    """The axes, the last first, with what a flat position is divided by for each."""
    return [{"name": axis.name, "extent": spell.extent(axis)} for axis in reversed(axes)]


def _summed_in(x, w: Windows):
    return replace(x, value=_summed(x.value, w))


def _line(model, x: Loop, dtype, target: str) -> dict:
    """A line of a slab, along its columns from `left` to `right`."""
    copied = copied_from(x, dtype)
    if copied is None:
        *lets, store = x.body
        return {"kind": "independent", "axis": x.axis.name, "start": "left", "stop": "right",
                "body": [*(model.statement(let, {}) for let in lets),
                         {"kind": "store", "target": f"{target}[{x.axis.name} - left]",
                          "value": model.spell.expr(store.value)}]}
    model.spell.helpers[f"gc_tiles_run_{model.spell.language.register(dtype)}"] = None
    return {"kind": "placed", "copier": "gc_run", "axis": x.axis.name, "start": "left", "count": "(right - left)",
            "target": target, "at": "0", **copied.model(model)}
