"""Windows as a factor of a product: in a convolution, an element of an image is in as many windows as the kernel has
elements.

An operand whose index has positions and those of a kernel only as sums (`ir/windows.py`) is evaluated once for each
sum, into a slab of memory. So a producer that is fused into the operand, or the padding of an image, costs as much as
the image has elements, and not windows. In the second factor positions are n: the slab is of the columns that are
packed at a time, and panels are filled from it; there neighbours along n are neighbours, and where k begins is a table.
In the first they are k: the slab is of a chunk of k, and nothing is packed; where m begins is one table, and how far k
is from there another.
"""
from __future__ import annotations

from math import prod

from msgspec.structs import replace

from graphc.codegen.copied_c import copied_from
from graphc.ir.index import Axis
from graphc.ir.kernel import INDEX, LOAD, Let, Loop, Operand, Template, index_value, innermost, load, statements
from graphc.ir.node import Node, rebuild
from graphc.ir.trees import CHUNKS
from graphc.ir.windows import Pair, Windows, windows_of

CHUNK = CHUNKS["chain"]
AHEAD = 2       # groups of k whose lines are asked for before they are read
LONG = 256      # rows of at least so many columns are laid out one by one
SEEN_ROWS = 48  # of a, at most, for which panels are read from the slab, across lines of the cache, and not filled


def shared_windows(s: Template, operand: Operand) -> Windows | None:
    """Those of the second factor along its columns; of the first along k, if the second has none."""
    walked = s.walked(operand)
    k, other = walked["k"].axes, walked[next(name for name in operand.spans if name != "k")].axes
    if operand.name == "b":
        return windows_of(operand.body, other, k)
    if any(shared_windows(s, x) for x in s.operands if x.name == "b"):
        return None
    return windows_of(operand.body, k, other)


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
    dealt = column.stride > 1
    seen = s.span("m").length <= SEEN_ROWS
    for name in ("spread", "joined", "laid", *(["viewed"] if seen else [])):
        spell.helpers[f"gc_tiles_{name}_{spell.language.register(s.dtype)}"] = None
    return {"slab": take(some * height * width), "places": take(2 * CHUNK * 8 // s.dtype.itemsize),
            "views": take(columns // 2), "rows": None, "seen": seen, "part": spell.arg(part) if dealt else None,
            "whole": take(width) if dealt else None, "width": spell.arg(width),
            **_lines(model, s, operand, w, long, "whole" if dealt else "line")}


def slab_of_rows(model, s: Template, operand: Operand, w: Windows, rows: int, take) -> dict:
    """The same of a slab in which tiles find `rows` rows of windows along a chunk of k."""
    spell, row, column = model.spell, w.row, w.column
    along, group = column.n.extent, row.size * column.size
    heads = prod(a.extent for a in w.heads)
    long = along >= CHUNK
    pieces = min((CHUNK - 2) // along + 2, heads * row.n.extent)        # of rows of images that a chunk may have,
    units = pieces if long else min((CHUNK - 2) // (along * row.n.extent) + 2, heads)       # and of images
    height = (pieces - units) * row.stride + units * row.reach
    width = (min(along, CHUNK) - 1) * column.stride + column.reach
    some = min(prod(a.extent for a in w.rest), (rows - 2) // group + 2)
    return {"slab": take(some * height * width), "places": take(CHUNK * 8 // s.dtype.itemsize),
            "rows": take(rows * 8 // s.dtype.itemsize), "height": spell.arg(height), "width": spell.arg(width),
            **_lines(model, s, operand, w, long, "line")}


def _lines(model, s: Template, operand: Operand, w: Windows, long: bool, target: str) -> dict:
    """How the lines of a slab are laid out. `long`: each row of an image has lines of its own."""
    spell, row, column = model.spell, w.row, w.column
    loop = innermost(operand.body)
    outer = [x for x in statements(operand.body) if type(x) is Let and x not in loop.body]
    line = Loop(column.sum, "vector", tuple(_summed_in(x, w) for x in loop.body))
    return {"group": spell.arg(row.size * column.size),
            "unit": spell.arg(column.n.extent * (1 if long else row.n.extent)),
            "heads": _digits(spell, w.heads), "rest": _digits(spell, w.rest),
            "row": _pair_model(spell, row), "column": _pair_model(spell, column),
            "outer": [model.statement(_summed_in(x, w), {}) for x in outer],
            "line": _line(model, line, s.dtype, target, w.rest)}


def _pair_model(spell, pair: Pair) -> dict:
    return {"name": pair.n.name, "extent": spell.extent(pair.n), "size": spell.arg(pair.size), "stride": pair.stride,
            "dilation": spell.arg(pair.dilation), "reach": spell.arg(pair.reach)}


def _digits(spell, axes: tuple[Axis, ...]) -> list[dict]:
    """The axes, the last first, with what a flat position is divided by for each."""
    return [{"name": axis.name, "extent": spell.extent(axis)} for axis in reversed(axes)]


def _summed_in(x, w: Windows):
    return replace(x, value=_summed(x.value, w))


def _line(model, x: Loop, dtype, target: str, rest: tuple[Axis, ...]) -> dict:
    """A line of a slab, along its columns from `left` to `right`. The same line of the kernel's position some further
    along the last of the `rest` is asked for meanwhile."""
    copied = copied_from(x, dtype)
    if copied is None:
        *lets, store = x.body
        return {"kind": "independent", "axis": x.axis.name, "start": "left", "stop": "right",
                "body": [*(model.statement(let, {}) for let in lets),
                         {"kind": "store", "target": f"{target}[{x.axis.name} - left]",
                          "value": model.spell.expr(store.value)}]}
    memory = model.spell.language.memory(dtype)
    model.spell.helpers[f"gc_runs_run_{memory}"] = None
    step = copied.load.attrs[1].coefficient(rest[-1]) if rest else 0
    return {"kind": "placed", "copier": f"gc_run_{memory}", "axis": x.axis.name, "start": "left",
            "count": "(right - left)", "target": target, "at": "0", **copied.model(model),
            "ahead": step and model.spell.arg(AHEAD * step), "size": dtype.itemsize}
