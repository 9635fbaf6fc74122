"""Reductions over what is padded, wrapped or concatenated: elements are evaluated between edges, without conditions.

Across rows, the loop over columns is cut where an answer changes, as that of a map is (passes/ranges.py). Along a row,
elements are dealt to lanes, and an edge, or the end of a stretch (stretches_c.py), may cut a vector of them: there a
chunk is evaluated into an array first, piece by piece, and then reduced.

    sum += j < 1 ? x[0] : x[j - 1]   ->   for j < 1: v[j] = x[0];   for 1 <= j < n: v[j] = x[j - 1];   sum += v[j]
"""
from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from graphc.codegen.stretches_c import stretches
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.conditions import (
    MAX_REPEATED, Edge, agreement, comparisons, cut, edge, is_comparison, sides, usual, with_answers,
)
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, LOCAL, VALUE, Accumulate, Let, Loop, Store, below, data_exprs, has_masked_load
from graphc.ir.node import Node, make, rebuild
from graphc.ir.ops import ABS, AND, CONST, LE, LT, OR, WHERE


class Pieces(Struct, frozen=True):
    """The loop over an axis in `pieces`: where each begins and ends (None: with the loop), and its statements, if
    `test` holds for what is the same all along the axis; if not, `plain` goes all along it. No test: it holds."""

    pieces: list[tuple[Index | None, Index | None, tuple]]
    test: Node | None
    plain: tuple


def pieces(body: tuple, axis: Axis, lets: dict[str, Node], row: Axis | None = None) -> Pieces | None:
    """None where nothing is asked. `lets`: what is named outside of the loop; `row`: an axis inside of it."""
    lets = lets | {s.name: s.value for s in body if type(s) is Let}
    asked = {s.value: _asked(s.value, lets) for s in body}
    if sum(1 for _ in below(asked)) > MAX_REPEATED:
        return None
    along: dict[Node, Edge] = {}
    across: dict[Node, Node] = {}
    for expr in comparisons(asked.values()):
        moving = sides(expr)[0]
        if (there := edge(expr, axis)) is not None and row not in ix.axes_of(there.rest):
            along[expr] = there
        elif axis not in ix.axes_of(moving) and not data_exprs(moving):
            across[expr] = usual(expr)
    rests = [e.rest for e in along.values()]
    rest = max(rests, key=rests.count, default=ix.ZERO)     # of several only one is cut at: their order is not known
    along = {c: e for c, e in along.items() if e.rest == rest}
    parts = cut(along, *ix.add(ix.of(axis), rest).bounds)
    if parts is None or not along and not across:
        return None

    def at(place: int | None) -> Index | None:
        return None if place is None else ix.shift(ix.mul(rest, -1), place)
    found = [(at(start), at(stop), used(tuple(replace(s, value=with_answers(asked[s.value], across | answers))
                                               for s in body))) for start, stop, answers in parts]
    return Pieces(found, agreement(across) if across else None, body)


def misleads(body: tuple) -> bool:
    """Whether GCC 12, told that turns are independent, would vectorise loads under a condition wrongly."""
    written = sum(type(s) is not Let for s in body)     # by accumulators too
    return written > 1 and any(has_masked_load(s.value) for s in body)


class Near(Struct, frozen=True):
    """A name for an index that is kept between two places."""

    name: str
    index: Index
    low: int
    high: int

    def model(self, spell) -> dict:
        low, high = (spell.index(ix.constant(place)) for place in (self.low, self.high))
        return {"kind": "let", "name": self.name, "type": "int64_t",
                "value": f"MIN(MAX({spell.index(self.index)}, {low}), {high})"}


def near(model, body: tuple, axis: Axis, lets: dict[str, Node], names: dict[tuple, Near]) -> tuple:
    """The statements of a loop, reading under a condition only where something lies when it holds: a vector of which
    nothing is read costs hundreds of cycles outside of the memory that is mapped. `names` come before the loop; no two
    in a kernel are the same, as the index of one may be made of another's."""
    lets = lets | {s.name: s.value for s in body if type(s) is Let}
    answers: dict[Node, Node] = {}
    for load in below(s.value for s in body):
        if load.op is not LOAD or not load.srcs:
            continue
        number, index = load.attrs
        along = ix.mul(ix.of(axis), index.coefficient(axis))
        place = ix.add(index, ix.mul(along, -1))
        low, high = _bounds(place, _parts(_asked(load.srcs[0], lets)))
        if axis in ix.axes_of(place) or data_exprs(place) or (low, high) == place.bounds or low > high:
            continue
        if (place, low, high) not in names:
            names[place, low, high] = Near(f"near{next(model.nears)}", place, low, high)
        there = Axis(names[place, low, high].name, 2 + abs(high))       # an axis of one element would be 0
        there = ix.add(along, ix.of(there))
        answers[load] = make(LOAD, load.dtype, (), load.srcs, (number, there))
    return tuple(replace(s, value=with_answers(s.value, answers)) for s in body)


def _parts(expr: Node) -> list[Node]:
    """The comparisons that must all hold for a condition."""
    if expr.op is AND:
        return [x for s in expr.srcs for x in _parts(s)]
    return [expr] if is_comparison(expr) else []


def _bounds(index: Index, conditions: list[Node]) -> tuple[int, int]:
    """Between which numbers an index lies where conditions hold."""
    known: dict[Index, tuple[int, int]] = {}
    for expr in conditions:
        moving, bound, under = sides(expr)
        least, most = known.get(moving, moving.bounds)
        known[moving] = (least, min(most, bound - 1)) if under else (max(least, bound), most)
    low = high = 0
    for moving, bounds in known.items():
        atom, k = moving.terms[0]
        times = dict(index.terms).get(atom, 0) // k
        rest = ix.add(index, ix.mul(moving, -times))
        if len(rest.terms) == len(index.terms) - len(moving.terms):
            index = rest
            low, high = (x + y for x, y in zip((low, high), sorted(times * b for b in bounds), strict=True))
    return low + index.bounds[0], high + index.bounds[1]


def _asked(root: Node, lets: dict[str, Node]) -> Node:
    """The expression with conditions on indices written out instead of named."""
    done: dict[Node, Node] = {}

    def written(expr: Node) -> Node:
        if expr not in done:
            let = lets.get(expr.attrs[0]) if expr.op is VALUE else None
            if let is not None and _is_condition(let, lets):
                done[expr] = written(let)
            else:
                done[expr] = rebuild(expr, [written(s) for s in expr.srcs]) if expr.srcs else expr
        return done[expr]
    return written(root)


def _is_condition(expr: Node, lets: dict[str, Node]) -> bool:
    if expr.dtype is not dt.bool:
        return False
    if expr.op in (LT, LE):
        return is_comparison(expr)
    if expr.op is VALUE:
        return expr.attrs[0] in lets and _is_condition(lets[expr.attrs[0]], lets)
    return expr.op is CONST or (expr.op in (AND, OR, WHERE) and all(_is_condition(s, lets) for s in expr.srcs))


def used(body: tuple) -> tuple:
    """The statements without names that nothing reads."""
    read: set[str] = set()
    out: list = []
    for s in reversed(body):
        if type(s) is not Let or s.name in read:
            out.insert(0, s)
            read |= {e.attrs[0] for e in below([s.value]) if e.op is VALUE}
    return tuple(out)


def loops(model, parts: Pieces, axis: Axis, start: str, stop: str) -> list[dict]:
    """The statements of a loop in pieces, none of which is reduced."""
    def loop(low: str, high: str, body: tuple) -> dict:
        return model.counted(Loop(axis, "vector", body), low, high, {})
    fast = [loop(low, high, body) for low, high, body in between(model, parts, start, stop)]
    if parts.test is None:
        return fast
    names: dict[tuple, Near] = {}
    body = near(model, parts.plain, axis, model.lets, names)
    return [{"kind": "branch", "test": model.spell.expr(parts.test), "body": fast,
             "otherwise": [*(x.model(model.spell) for x in names.values()), loop(start, stop, body)]}]


def between(model, parts: Pieces, start: str, stop: str) -> list[tuple[str, str, tuple]]:
    """The pieces as text: where they start and stop."""
    spell = model.spell
    return [(start if low is None else f"MAX({start}, {spell.index(low)})",
             stop if high is None else f"MIN({stop}, {spell.index(high)})", body) for low, high, body in parts.pieces]


def evaluated(model, s: Loop, lets: dict[str, Node], chunk: int) -> tuple[Loop, dict] | None:
    """A reduction along rows as one of arrays, and the model of what fills them with the elements of a chunk."""
    there = ix.add(ix.of(s.axis), ix.mul(ix.of(Axis("first", s.axis.extent)), -1))
    names: dict[Node, str] = {}
    stores: list = []
    reduced = []
    for x in s.body:
        if type(x) is not Accumulate:
            stores.append(x)
            continue
        kept = x.value.srcs[0] if x.value.op is ABS else x.value    # a maximum of magnitudes is to be seen as such
        if kept not in names:
            names[kept] = f"{x.name}_value"
            stores.append(Store(0, there, kept, local=names[kept]))
        element = make(LOCAL, kept.dtype, (), (), (names[kept], there))
        reduced.append(replace(x, value=element if kept is x.value else rebuild(x.value, [element])))
    rows = stretches(tuple(stores), s.axis)
    parts = pieces(rows.body if rows else tuple(stores), rows.inner if rows else s.axis, lets)
    if rows is None and parts is None and model.by_few(tuple(stores), s.axis) is None:
        return None
    start, stop = "first", "first + count"
    body = [model.stretched(rows, start, stop, parts)] if rows else loops(model, parts, s.axis, start, stop) \
        if parts else [model.counted(Loop(s.axis, "vector", tuple(stores)), start, stop, {})]
    arrays = [{"name": name, "type": model.spell.language.register(value.dtype)} for value, name in names.items()]
    return replace(s, body=tuple(reduced)), {"arrays": arrays, "chunk": chunk, "body": body}
