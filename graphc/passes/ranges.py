"""Loops without conditions: where padding and concatenation ask which part an element belongs to.

Along the vectorised axis the loop is cut at the places where an answer changes, and each piece has its own body. So is
one of the other axes, if no part of it is nearly all of it. For what is asked about axes beside these there are two
versions: one with the answers of the largest part, and one that asks.

    for j < n: y[j] = j < 1 ? x[0] : x[j - 1]      ->      for j < 1: y[j] = x[0];   for 1 <= j < n: y[j] = x[j - 1]
"""
from __future__ import annotations

from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.conditions import (
    MAX_CUTS, MAX_REPEATED, Edge, agreement, comparisons, cut, edges_of, usual, with_answers,
)
from graphc.ir.index import Axis
from graphc.ir.kernel import If, Loop, below
from graphc.ir.node import Node

USUAL = 7 / 8           # of an axis: what lies beside a part of that size is its edges
LEAST_VECTORS = 8       # elements of a piece that are worth the time that vectors take to compile
MAX_PIECES = 64         # of an axis, where they are short
MAX_TEXT = 600          # expressions of short pieces together,
MAX_LONG_TEXT = 1200    # and of what is nearly all of a loop together with what asks beside it
MAX_WORK = 20_000       # expressions that are looked at to find the pieces


def without_conditions(body: tuple, axis: Axis, other: tuple[Axis, ...]) -> tuple:
    """The stores of a map kernel as loops over `axis`, with as few conditions inside as is reasonable."""
    asked = comparisons(s.value for s in body)
    if not asked:
        return (Loop(axis, "vector", body),)
    parts, largest = _by_parts(body, axis, other, asked)
    if parts and largest <= USUAL:
        return parts
    usually = _usually(body, axis, other, asked)
    asks = len(body) > 1 and type(usually[0]) is not Loop     # several stores that ask are not vectorised
    return parts if parts and (asks or _size(parts) <= _size(usually)) else usually


def _by_parts(body: tuple, axis: Axis, other: tuple[Axis, ...], asked: list[Node]) -> tuple[tuple, float]:
    """The loops in each part of that axis of the others which has most of them, and the share of the largest part; ()
    if that is not reasonable."""
    across, edges = max(((a, edges_of(asked, a)) for a in other), key=lambda found: len(found[1]), default=(axis, {}))
    extent = across.extent
    pieces = cut(edges, 0, extent - 1, MAX_PIECES)
    if not edges or pieces is None or len(pieces) * _size(body) > MAX_WORK:
        return (), 1
    starts = [*(start or 0 for start, _, _ in pieces), extent]
    rest = tuple(a for a in other if a != across)
    found: tuple = ()
    for start, stop, answers in reversed(pieces):
        here = without_conditions(_resolved(body, answers), axis, rest)
        if stop is not None:        # what lies before has been asked about
            test = next(c for c, e in edges.items() if e.place == stop)
            share = (stop - (start or 0)) / (extent - (start or 0))
            here = (If(agreement({test: answers[test]}), here, found, share),)
        found = here
    largest = max(stop - start for start, stop in zip(starts, starts[1:], strict=False))
    return (found, largest / extent) if _size(found) <= MAX_TEXT else ((), 1)


def _usually(body: tuple, axis: Axis, other: tuple[Axis, ...], asked: list[Node]) -> tuple:
    along = edges_of(asked, axis)
    across = {expr: usual(expr) for a in other for expr in edges_of(asked, a)}
    if not across:
        return _pieces(body, axis, along)
    asking: tuple = (Loop(axis, "vector", body),)
    if _size(body) > MAX_LONG_TEXT:
        return asking
    inside = _pieces(_resolved(body, across), axis, along)
    together = _size(inside) + _size(body)
    return (If(agreement(across), inside, asking),) if together <= MAX_LONG_TEXT else asking


def _pieces(body: tuple, axis: Axis, along: dict[Node, Edge]) -> tuple:
    """The loop over the axis in pieces. If there were too many or they are too long: in three, if the one in the middle
    is nearly all, else whole."""
    whole, pieces = (Loop(axis, "vector", body),), cut(along, 0, axis.extent - 1, MAX_PIECES)
    if pieces is None or len(pieces) == 1 or len(pieces) * _size(body) > MAX_WORK:
        return whole
    ends = [(start or 0, stop or axis.extent, answers) for start, stop, answers in pieces]
    found = tuple(_piece(_resolved(body, answers), axis, start, stop) for start, stop, answers in ends)
    few = len(pieces) <= MAX_CUTS + 1 and _size(body) <= MAX_REPEATED
    if few or _size(found) <= MAX_TEXT:
        return found
    start, stop, answers = max(ends, key=lambda piece: piece[1] - piece[0])
    found = (_piece(_resolved(body, answers), axis, start, stop),
             *(_piece(body, axis, *end) for end in ((0, start), (stop, axis.extent)) if end[0] < end[1]))
    return found if stop - start > USUAL * axis.extent and _size(found) <= MAX_LONG_TEXT else whole


def _piece(body: tuple, axis: Axis, start: int, stop: int) -> Loop:
    kind = "scalar" if stop - start < min(LEAST_VECTORS, axis.extent // 2) else "vector"
    return Loop(axis, kind, body, ix.constant(stop), ix.constant(start))


def _size(body: tuple) -> int:
    """How many expressions a text has; what statements of a loop share is computed once."""
    nested = sum(_size((*s.body, *s.otherwise) if type(s) is If else s.body) for s in body if type(s) in (If, Loop))
    return nested + sum(1 for _ in below(s.value for s in body if type(s) not in (If, Loop)))


def _resolved(body: tuple, answers: dict[Node, Node]) -> tuple:
    return tuple(replace(s, value=with_answers(s.value, answers)) for s in body)
