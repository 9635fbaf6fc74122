"""Canonical graphs: the structure of a graph without its values, which is what the program cache is keyed by.

Leaves are numbered in the order in which they are reached, scalars become parameters, numbered by use and not by value
(lr=0.01 beside wd=0.01 is the same program as lr=0.02 beside wd=0.01). A few values are part of the structure, because
simplification looks at them: see `node._is_structural`, and small exponents.
"""
from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from graphc.ir.node import Node, buffer, const_of_words, const_words, is_exponent, make, rebuild, topological
from graphc.ir.ops import ALIAS, BUFFER, CONST, PARAM, POW, SLICE


class Graph(Struct, eq=False):
    """A graph seen by its structure.

    key     equal for graphs that one program can compute
    leaves  realized nodes, in the order in which the program takes their buffers
    params  the program's scalars as int64 words
    order   all nodes, sources first
    traced  it needs values that nobody has (gc.spec), or only a call of a jitted function: some of the leaves are
            without a buffer, or some of `params` are nodes
    parts   slices of leaves that are leaves themselves
    met     some of it was computed before, and not kept
    beside  how many of the roots, the last ones, are kept beside what was asked for (graphc/again.py)
    """

    key: tuple
    leaves: list[Node]
    params: list[int]
    order: list[Node]
    roots: Sequence[Node]
    traced: bool = False
    parts: dict[Node, Node] = field(default_factory=dict)
    met: bool = False
    beside: int = 0


def canonicalize(roots: Sequence[Node], whole: bool = False) -> Graph:
    """Walk the graph once; iterative. This runs for every realize, so it is written for speed.

    A slice of a leaf that lies in one piece, such as `x[i]`, is a leaf over that part of the memory: so where it starts
    is no part of the structure. Only where nothing else reads the leaf; else (whole) all of it is one input.
    """
    number: dict[Node, int] = {}
    known = number.get
    entries: list[tuple] = []
    leaves: list[Node] = []
    params: list[int] = []
    order: list[Node] = []
    parts: dict[Node, Node] = {}
    divided: set[Node] = set()      # the leaves that these are parts of
    device = None
    traced = met = False
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node is None:        # what the node below it reads is numbered
            node = stack.pop()
        else:
            if node in number:
                continue
            if device is None:
                device = node.device
            if node.value is not None or node.op is BUFFER:
                number[node] = len(entries)
                order.append(node)
                entries.append((BUFFER, node.dtype, node.shape))
                leaves.append(node)
                if node.value is None:
                    traced = True
                continue
            if node.op is SLICE and not whole and (offset := _offset(node)) is not None:
                src = node.srcs[0]
                if src in number or src in divided:
                    return canonicalize(roots, whole=True)
                divided.add(src)
                part = src.value.part(offset, node.nbytes)
                parts[node] = leaf = buffer(node.dtype, node.shape, part, node.device, node.site)
                number[node] = len(entries)
                order.append(node)
                entries.append((BUFFER, node.dtype, node.shape))
                leaves.append(leaf)
                continue
            if node.op is ALIAS:
                src = node.srcs[0]
                if src in number:
                    number[node] = number[src]
                    order.append(node)
                elif _scalar(node).op is PARAM:
                    traced = True       # a scalar of whatever reads it
                else:
                    stack += (node, src)
                continue
            waiting = False
            for src in node.srcs:
                if src in number:
                    continue
                if src.value is not None or src.op is BUFFER:   # as above, without its turn on the stack
                    number[src] = len(entries)
                    order.append(src)
                    entries.append((BUFFER, src.dtype, src.shape))
                    leaves.append(src)
                    traced = traced or src.value is None
                elif src.op is PARAM:
                    traced = True
                elif src.op is not CONST or src.attrs[1]:
                    if not waiting:
                        stack += (node, None)
                        waiting = True
                    stack.append(src)
            if waiting:
                continue
        ids = [*map(known, node.srcs)]
        if None in ids:
            _number_scalars(node, ids, params)
        elif node.op is PARAM:
            traced = True
        if node.met > 0:
            met = True
        number[node] = len(entries)
        order.append(node)
        entries.append((node.op, node.dtype, node.shape, node.attrs, *ids))
    if any(src in number for src in divided):
        return canonicalize(roots, whole=True)
    return Graph((device, tuple([number[r] for r in roots]), tuple(entries)), leaves, params, order, roots, traced,
                 parts, met)


def _offset(node: Node) -> int | None:
    """Where, in bytes, a slice begins in a leaf, if it is one piece of it."""
    src, (starts, steps) = node.srcs[0], node.attrs
    if src.value is None or not node.size:
        return None
    offset, rest, inner = 0, src.dtype.itemsize, True
    for start, step, length, n in zip(reversed(starts), reversed(steps), reversed(node.shape), reversed(src.shape),
                                      strict=True):
        if length != 1 and not inner or step != 1 and length != 1:
            return None
        inner = inner and length == n       # all axes further in are whole
        offset += start * rest
        rest *= n
    return offset


def _scalar(node: Node) -> Node:
    while node.op is ALIAS and node.value is None:
        node = node.srcs[0]
    return node


def _number_scalars(node: Node, ids: list, params: list[int]) -> None:
    """Make the constants among a node's sources parameters; small exponents keep their value in the key."""
    for position, src in enumerate(node.srcs):
        if ids[position] is None:
            value = _scalar(src)
            if value.op is PARAM:
                ids[position] = value.dtype
                params.append(value)
            elif node.op is POW and is_exponent(src):
                ids[position] = src.attrs
            else:
                ids[position] = src.dtype   # a comparison's own dtype does not tell what it compares
                params.append(const_words(src))


def rebuild_canonical(graph: Graph) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The same graph over numbered leaves and parameters: (roots, leaves)."""
    new: dict[Node, Node] = {}
    leaves: list[Node] = []
    count = 0
    for node in graph.order:
        if node.value is not None or node.op is BUFFER or node in graph.parts:
            new[node] = make(BUFFER, node.dtype, node.shape, (), (len(leaves),), device=node.device)
            leaves.append(new[node])
            continue
        if node.op is ALIAS:
            new[node] = new[node.srcs[0]]
            continue
        srcs = []
        for src in node.srcs:
            if src in new:
                srcs.append(new[src])
            elif node.op is POW and src.op is CONST and is_exponent(src):
                srcs.append(src)
            else:
                srcs.append(make(PARAM, src.dtype, (), (), (count,)))
                count += 1
        new[node] = make(node.op, node.dtype, node.shape, tuple(srcs), node.attrs, device=node.device, site=node.site)
    return tuple(new[r] for r in graph.roots), tuple(leaves)


def bound(roots: Sequence[Node], leaves: Sequence[Node], words: Sequence[int]) -> list[Node]:
    """The roots of `rebuild_canonical`, made once more over real leaves and the values of the parameters."""
    new: dict[Node, Node] = {}
    for node in topological(roots):
        if node.value is not None:
            new[node] = node
        elif node.op is BUFFER:
            new[node] = leaves[node.attrs[0]]
        elif node.op is PARAM:
            new[node] = const_of_words(words[node.attrs[0]], node.dtype)
        else:
            new[node] = rebuild(node, [new[src] for src in node.srcs])
    return [new[root] for root in roots]
