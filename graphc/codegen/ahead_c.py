"""Places that are asked for before they are read. A processor does so by itself, but late, and not beyond the page that
it reads from: what one loop reads from memory, one element after the other, waits at each page."""
from __future__ import annotations

from graphc.codegen.halves_c import loads
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import Let, Loop, Store, data_exprs
from graphc.ir.node import Node
from graphc.ir.target import LINE

LARGE = 1 << 22     # bytes of an array that is not expected in a cache,
HUGE = 48 << 20     # of one that no cache holds,
SOON = 8192         # and how many before it is read it is asked for: two pages
SHORT = 2048        # bytes of rows of which each lies far from the one before,
MOST = 32           # and the most rows before it that such a row is asked for


def soon(model, load: Node, axis: Axis, at: str, far: int = 0) -> dict | None:
    """What a loop over an axis reads SOON bytes or `far` elements later than at `at`; None where it does not go through
    a large array."""
    place = ahead(model, load, axis, at, far or SOON // load.dtype.itemsize) if is_large(model, load) else None
    return place and {**place, "rising": True, "huge": _bytes(model, load) >= HUGE}


def soon_in_rows(model, load: Node, at: str) -> dict | None:
    """What a map over rows reads SOON bytes later, in the same row or in a later one."""
    axis, row = model.kernel.parallel[-1], model.kernel.parallel[-1].extent * load.dtype.itemsize
    return soon(model, load, axis, at, _later(model, load, SOON // row) if row <= SOON else 0)


def far_rows(model) -> list[dict]:
    """What a map reads in short rows that do not follow one another in a large array, some rows later."""
    axis, axes, found = model.kernel.parallel[-1], model.kernel.parallel[-2::-1], {}
    maps = [s for s in model.kernel.body if type(s) is Loop and s.axis == axis
            and all(type(x) in (Let, Store) for x in s.body)]
    for load in (x for s in maps for x in loads(s.body)):
        row, index = axis.extent * load.dtype.itemsize, load.attrs[1]
        if (axes and row <= SHORT and abs(index.coefficient(axes[0])) >= 2 * axis.extent and is_large(model, load)
                and (later := _later(model, load, SOON // row)) and (place := ahead(model, load, axis, "l", later))):
            found.setdefault((load.attrs[0], index.terms), place)
    return list(found.values())


def _later(model, load: Node, rows: int) -> int:
    """How far from an element that lies which is read so many rows later, or MOST; 0 if there are not so many."""
    rows = min(rows, MOST)
    for axis in model.kernel.parallel[-2::-1]:
        if axis.extent > rows:
            return load.attrs[1].coefficient(axis) * rows
        rows = -(-rows // axis.extent)
    return 0


def is_large(model, load: Node) -> bool:
    return _bytes(model, load) >= LARGE


def _bytes(model, load: Node) -> int:
    """Of the array that is read."""
    return model.kernel.buffers[load.attrs[0]].size * load.dtype.itemsize


def ahead(model, load: Node, axis: Axis, at: str, far: int) -> dict | None:
    """What is read `far` elements later than at `at`, and how many elements a line of the cache has."""
    number, index = load.attrs
    if load.srcs or index.coefficient(axis) != 1 or data_exprs(index):
        return None
    place = ix.add(ix.add(ix.shift(index, far), ix.mul(ix.of(axis), -1)), ix.of(Axis(at, axis.extent)))
    return {"step": LINE // load.dtype.itemsize, "rising": False, "huge": False,
            "place": f"{model.kernel.buffers[number].name}[{model.spell.index(place)}]"}


def between(statements: list[dict]) -> list[dict]:
    """The statements, of which a loop over the rows of a square that was turned asks for the next square, a row in each
    turn: processors have few lines on their way, and leave out what is asked for beyond that."""
    for k, square in enumerate(statements):
        after = (x for x in statements[k + 1:] if x["kind"] == "loop" and x.get("extent") == square.get("extent"))
        if square["kind"] == "turned" and square["next"] and (loop := next(after, None)):
            loop["body"].insert(0, {**square, "kind": "asked", "axis": loop["axis"]})
            square["next"] = 0
    return statements
