"""Loops without conditions: where padding and concatenation ask which part an element belongs to.

Along the vectorised axis the loop is cut at the places where an answer changes, and each piece has its own body. For
conditions on the other axes there are two versions: one with the answers of the largest part, and one that asks.

    for j < n: y[j] = j < 1 ? x[0] : x[j - 1]      ->      for j < 1: y[j] = x[0];   for 1 <= j < n: y[j] = x[j - 1]
"""
from __future__ import annotations

from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.conditions import MAX_REPEATED, Edge, agreement, comparisons, cut, edge, sides, usual, with_answers
from graphc.ir.index import Axis
from graphc.ir.kernel import If, Loop, below
from graphc.ir.node import Node


def without_conditions(body: tuple, axis: Axis, other: tuple[Axis, ...]) -> tuple:
    """The stores of a map kernel as loops over `axis`, with as few conditions inside as is reasonable."""
    values = [s.value for s in body]
    along: dict[Node, Edge] = {}
    across: dict[Node, Node] = {}
    for expr in comparisons(values):
        moving = sides(expr)[0]
        (atom, _), one = moving.terms[0], len(moving.terms) == 1
        if one and atom == axis:
            along[expr] = edge(expr, axis)
        elif one and atom in other:
            across[expr] = usual(expr)
    plain = (Loop(axis, "vector", body),)
    if not along and not across or sum(1 for _ in below(values)) > MAX_REPEATED:
        return plain
    fast = _pieces(tuple(_resolve(s, across) for s in body), axis, along)
    return (If(agreement(across), fast, plain),) if across else fast


def _pieces(body: tuple, axis: Axis, along: dict[Node, Edge]) -> tuple:
    pieces = cut(along, 0, axis.extent - 1)
    if pieces is None or len(pieces) == 1:
        return (Loop(axis, "vector", body),)
    return tuple(Loop(axis, "vector", tuple(_resolve(s, answers) for s in body), ix.constant(stop or axis.extent),
                      ix.constant(start or 0)) for start, stop, answers in pieces)


def _resolve(store, answers: dict[Node, Node]):
    return replace(store, value=with_answers(store.value, answers))
