"""Places that are asked for before they are read. A processor does so by itself, but late, and not beyond the page that
it reads from: what one loop reads from memory, one element after the other, waits at each page."""
from __future__ import annotations

from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import data_exprs
from graphc.ir.node import Node
from graphc.ir.target import LINE

LARGE = 1 << 22     # bytes of an array that is not expected in a cache,
HUGE = 48 << 20     # of one that no cache holds,
SOON = 8192         # and how many before it is read it is asked for: two pages


def soon(model, load: Node, axis: Axis, at: str, far: int = 0) -> dict | None:
    """What a loop over an axis reads SOON bytes or `far` elements later than at `at`; None where it does not go through
    a large array."""
    place = ahead(model, load, axis, at, far or SOON // load.dtype.itemsize) if is_large(model, load) else None
    return place and {**place, "rising": True, "huge": _bytes(model, load) >= HUGE}


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
