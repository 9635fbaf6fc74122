"""Places that are asked for before they are read. A processor does so by itself, but late, and not beyond the page that
it reads from: what one loop reads from memory, one element after the other, waits at each page."""
from __future__ import annotations

from collections.abc import Sequence

from graphc.codegen.halves_c import loads
from graphc.ir import index as ix
from graphc.ir.index import Axis, Data
from graphc.ir.kernel import LOAD, VALUE, Accumulate, Let, Loop, Store, data_exprs
from graphc.ir.node import Node
from graphc.ir.ops import CAST, CHECK_INDEX
from graphc.ir.target import LINE

LARGE = 1 << 22     # bytes of an array that is not expected in a cache,
HUGE = 48 << 20     # of one that no cache holds,
SOON = 8192         # and how many before it is read it is asked for: two pages
SHORT = 2048        # bytes of rows of which each lies far from the one before,
MOST = 32           # and the most rows before it that such a row is asked for
NEIGHBOURS = 16     # elements between places in a row that are asked for as one
GATHERED = 64       # elements before it that one is asked for which an index stands for


def soon(model, load: Node, axis: Axis, at: str, far: int = 0) -> dict | None:
    """What a loop over an axis reads SOON bytes or `far` elements later than at `at`; None where it does not go through
    a large array."""
    along = load.attrs[1].coefficient(axis) * (SOON // load.dtype.itemsize)
    place = ahead(model, load, axis, at, far or along) if is_large(model, load) else None
    return place and {**place, "rising": True, "huge": _bytes(model, load) >= HUGE}


def soon_in_rows(model, load: Node, lets: dict[str, Node]) -> dict | None:
    """What a map over rows reads SOON bytes later, in the same row or in a later one, or gathers. lets: what its loop
    names."""
    axis, *axes = model.kernel.parallel[::-1]
    row = axis.extent * load.dtype.itemsize
    linear = soon(model, load, axis, "l", _later(load, axes, SOON // row) if row <= SOON else 0)
    return linear or _gathered(model, load, axis, axes, lets)


def far_rows(model) -> list[dict]:
    """What loops over rows, of a map that stores in the caches, or that reduce each row, read some rows later: short
    rows that do not follow one another in a large array, because they lie apart or are gathered."""
    tile, found = model.tile, []
    for s in model.kernel.body:
        if type(s) is not Loop or any(type(x) not in (Let, Store, Accumulate) for x in s.body):
            continue
        if s.axis == model.kernel.parallel[-1] if tile else s.kind == "reduce":
            for load in loads(s.body):
                if (place := _far_row(model, load, s.axis)) is not None:
                    start, stop = model.range_of(s)
                    found.append(({**place, "start": start, "stop": stop}, *load.attrs, start))
    return [place for k, (place, *row) in enumerate(found) if not any(_are_near(row, other) for _, *other in found[:k])]


def _are_near(row: list, other: list) -> bool:
    """Whether two rows begin in one line, or in neighbouring ones: buffer, index and where their loop starts."""
    (buffer, index, start), (same, beside, at) = row, other
    return (buffer, index.terms, start) == (same, beside.terms, at) and abs(index.const - beside.const) <= NEIGHBOURS


def _rows(model) -> tuple[Axis, ...]:
    """The parallel axes of rows, the innermost first."""
    return model.kernel.parallel[-2 if model.tile else -1::-1]


def _far_row(model, load: Node, axis: Axis) -> dict | None:
    if not lies_apart(model, load, axis):
        return None
    if data_exprs(load.attrs[1]):
        return _gathered(model, load, axis, _rows(model), model.lets)
    later = _later(load, _rows(model), SOON // (axis.extent * load.dtype.itemsize))
    return ahead(model, load, axis, "l", later) if later else None


def lies_apart(model, load: Node, axis: Axis) -> bool:
    """Whether a row along an axis is short, of a large array, and the next one lies elsewhere."""
    index, axes = load.attrs[1], _rows(model)
    if not axes or axis.extent * load.dtype.itemsize > SHORT or abs(index.coefficient(axis)) != 1:
        return False
    apart = abs(index.coefficient(axes[0])) >= 2 * axis.extent
    return is_large(model, load) and (apart or bool(data_exprs(index)))


def _later(load: Node, axes: Sequence[Axis], rows: int) -> int:
    """How far from an element that lies which is read so many rows later, or MOST; 0 if there are not so many. `axes`:
    of the rows, the innermost first."""
    rows = min(rows, MOST)
    for axis in axes:
        if axis.extent > rows:
            return load.attrs[1].coefficient(axis) * rows
        rows = -(-rows // axis.extent)
    return 0


def _gathered(model, load: Node, axis: Axis, axes: Sequence[Axis], lets: dict[str, Node]) -> dict | None:
    """What is gathered later: a row that one index stands for, or an element. `there` is that index."""
    index = load.attrs[1]
    found = [(atom, k) for atom, k in index.terms if type(atom) is Data]
    if load.srcs or not is_large(model, load) or len(found) != 1 or len(data_exprs(index)) != 1:
        return None
    (atom, k), = found
    size, source = None, _named(atom.expr, lets)
    if source.op is CHECK_INDEX:
        size, source = source.attrs[0], _named(source.srcs[0], lets)
    if source.op is not LOAD or source.srcs or not ix.is_linear(source.attrs[1]):
        return None
    along, each = index.coefficient(axis), source.attrs[1].coefficient(axis)
    if (abs(along), abs(each)) not in ((1, 0), (0, 1)):
        return None
    far = each * GATHERED or _later(source, axes, max(SOON // (axis.extent * load.dtype.itemsize), 1))
    if not far:
        return None
    there = _number(model, source, ix.renamed(ix.shift(source.attrs[1], far), axis, "l"))
    if size is not None:
        there = f"gc_check_index({there}, {model.spell.arg(size)}, 0, &(uint64_t){{0}})"
    return {"step": LINE // load.dtype.itemsize if along else 1, "there": there,
            "place": _there(model, load.attrs[0], ix.renamed(index, axis, "l"), atom, k)}


def scattered(model, s: Loop) -> dict | None:
    """Where a loop that goes through indices stores later, an element or a row of a large array."""
    first, *rest = s.body
    source = first.value if type(first) is Let else None
    inner = rest[0] if len(rest) == 1 and type(rest[0]) is Loop else None
    stores = inner.body if inner else rest
    if source is None or source.op is not LOAD or source.srcs or source.attrs[1].coefficient(s.axis) != 1 \
            or not ix.is_linear(source.attrs[1]) or len(stores) != 1 or type(stores[0]) is not Store:
        return None
    (store,) = stores
    buffer = model.kernel.buffers[store.buffer] if store.local is None else None
    found = [(atom, k) for atom, k in store.index.terms if type(atom) is Data]
    if buffer is None or buffer.size * buffer.dtype.itemsize < LARGE or len(found) != 1 \
            or _named(found[0][0].expr, {first.name: source}) is not source:
        return None
    start, stop, step, far, index = s.axis.name, f"{s.axis.name} + 1", 1, GATHERED, store.index
    if inner:
        if not model.tile or inner.axis != model.kernel.parallel[-1] or index.coefficient(inner.axis) != 1:
            return None
        start, stop, step = model.tile["start"], model.tile["stop"], LINE // buffer.dtype.itemsize
        far = min(max(SOON // (inner.axis.extent * buffer.dtype.itemsize), 1), MOST)
        index = ix.renamed(index, inner.axis, "l")
    return {"kind": "soon", "start": start, "stop": stop, "step": step,
            "there": _number(model, source, ix.shift(source.attrs[1], far)),
            "place": _there(model, store.buffer, index, *found[0])}


def _number(model, source: Node, index: ix.Index) -> str:
    """An index that is read, or the last one of all."""
    buffer = model.kernel.buffers[source.attrs[0]]
    return f"{buffer.name}[MIN(MAX({model.spell.index(index)}, 0), {model.spell.arg(buffer.size - 1)})]"


def _there(model, buffer: int, index: ix.Index, atom: Data, k: int) -> str:
    """A place where what an index says is `there`."""
    place = ix.add(ix.add(index, ix.mul(ix.of(atom), -k)), ix.mul(ix.of(Axis("there", 2 + atom.bounds[1])), k))
    return f"{model.kernel.buffers[buffer].name}[{model.spell.index(place)}]"


def _named(expr: Node, lets: dict[str, Node]) -> Node:
    """What a name stands for; integers of another width are the same index."""
    while (expr.op is VALUE and expr.attrs[0] in lets) or (expr.op is CAST and expr.srcs[0].dtype.kind in "iu"):
        expr = lets[expr.attrs[0]] if expr.op is VALUE else expr.srcs[0]
    return expr


def is_large(model, load: Node) -> bool:
    return _bytes(model, load) >= LARGE


def _bytes(model, load: Node) -> int:
    """Of the array that is read."""
    return model.kernel.buffers[load.attrs[0]].size * load.dtype.itemsize


def ahead(model, load: Node, axis: Axis, at: str, far: int) -> dict | None:
    """What is read `far` elements later than at `at`, and how many elements a line of the cache has."""
    number, index = load.attrs
    if load.srcs or index.coefficient(axis) not in (1, -1) or data_exprs(index):
        return None
    place = ix.renamed(ix.shift(index, far), axis, at)
    return {"step": LINE // load.dtype.itemsize, "rising": False, "huge": False, "there": None,
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
