"""Canonical graphs: the structure of a graph without its values, which is what the program cache is keyed by.

Leaves are numbered in the order in which they are reached, scalars become parameters, numbered by use and not by value
(lr=0.01 beside wd=0.01 is the same program as lr=0.02 beside wd=0.01). A few values are part of the structure, because
simplification looks at them: 0, 1, -1, 2, infinities, booleans, complex numbers, and small exponents.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphc.ir.node import Node, const_value, const_words, make
from graphc.ir.ops import BUFFER, CONST, PARAM, POW

LITERALS = (0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"))
EXPONENTS = tuple(float(k) for k in range(-4, 9))
_literal: dict[tuple, bool] = {}        # (dtype, bits) -> decided before


@dataclass(eq=False, slots=True)
class Graph:
    """A graph seen by its structure.

    key     equal for graphs that one program can compute
    leaves  realized nodes, in the order in which the program takes their buffers
    params  the program's scalars as int64 words
    order   all nodes, sources first
    """

    key: tuple
    leaves: list[Node]
    params: list[int]
    order: list[Node]
    roots: Sequence[Node]


def _is_literal(node: Node) -> bool:
    key = (node.dtype, node.attrs[0])
    known = _literal.get(key)
    if known is None:
        kind = node.dtype.kind
        if kind in "bc":
            known = True
        else:
            value = float(const_value(node))
            known = value in LITERALS or value != value
        if len(_literal) > 4096:
            _literal.clear()
        _literal[key] = known
    return known


def canonicalize(roots: Sequence[Node]) -> Graph:
    """Walk the graph once; iterative."""
    number: dict[Node, int] = {}
    entries: list[tuple] = []
    leaves: list[Node] = []
    params: list[int] = []
    order: list[Node] = []
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in number:
                stack.pop()
                continue
            if node.value is not None:
                stack.pop()
                number[node] = len(order)
                order.append(node)
                entries.append((BUFFER, node.dtype, node.shape))
                leaves.append(node)
                continue
            srcs = node.srcs
            waiting = False
            for src in reversed(srcs):
                if src not in number and (src.op is not CONST or _is_literal(src)):
                    stack.append(src)
                    waiting = True
            if waiting:
                continue
            stack.pop()
            ids = []
            for position, src in enumerate(srcs):
                if src.op is CONST and src not in number and not _exponent(node, position, src):
                    ids.append(-1)
                    params.append(const_words(src))
                elif src not in number:
                    ids.append(src.attrs)
                else:
                    ids.append(number[src])
            number[node] = len(order)
            order.append(node)
            entries.append((node.op, node.dtype, node.shape, node.attrs, *ids))
    device = next((n.device for n in order if n.device is not None), None)
    key = (device, tuple([number[r] for r in roots]), tuple(entries))
    return Graph(key, leaves, params, order, roots)


def _exponent(node: Node, position: int, src: Node) -> bool:
    """Small exponents are literal: powers of them become products."""
    return node.op is POW and position == 1 and float(const_value(src)) in EXPONENTS


def rebuild_canonical(graph: Graph) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The same graph over numbered leaves and parameters: (roots, leaves)."""
    new: dict[Node, Node] = {}
    leaves: list[Node] = []
    count = 0
    for node in graph.order:
        if node.value is not None:
            new[node] = make(BUFFER, node.dtype, node.shape, (), (len(leaves),), device=node.device)
            leaves.append(new[node])
            continue
        srcs = []
        for position, src in enumerate(node.srcs):
            if src in new:
                srcs.append(new[src])
            elif _exponent(node, position, src):
                srcs.append(src)
            else:
                srcs.append(make(PARAM, src.dtype, (), (), (count,)))
                count += 1
        new[node] = make(node.op, node.dtype, node.shape, tuple(srcs), node.attrs, device=node.device, site=node.site)
    return tuple(new[r] for r in graph.roots), tuple(leaves)
