"""Bodies: graphs that are attributes of a node, as what a loop does in one turn.

A body is written over numbered placeholders. Its nodes are interned like all others, on a device of their own so that
nobody else computes them; so equal bodies are equal attributes, and one program serves them.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc.errors import GradientError
from graphc.ir.dtype import DType
from graphc.ir.meaning import BadIndex
from graphc.ir.node import Node, buffer, const_value, is_exponent, is_variable, make, topological, untracked
from graphc.ir.ops import (
    ADD, ALIAS, BUFFER, CONST, CONTRACT, CUSTOM, EXP, FENCE, GET, IOTA, MOVEMENT, NEG, PARAM, POW, REDUCE, SCAN, SUB,
    TANH,
)

DEVICE = "body"
LOOPED = ("a function is being traced",)      # attrs of a placeholder while its function runs


def placeholder(node: Node, shape: tuple[int, ...], device: str, site=None) -> Node:
    """What stands for a value like `node`'s, of this shape, while a function is traced."""
    place = buffer(node.dtype, shape, None, device, site)
    place.attrs = LOOPED
    place.tracked = -1      # by whatever a gradient may be taken of: what the function cuts off stays cut off
    return place


def depending(roots: Sequence[Node], ends: set[Node]) -> set[Node]:
    """The nodes under the roots, and the ends, that are computed from one of the ends."""
    found = set(ends)
    for node in topological(roots, is_leaf=lambda n: n in ends or n.value is not None):
        if node not in found and not found.isdisjoint(node.srcs):
            found.add(node)
    return found


def substituted(roots: Sequence[Node], new: dict[Node, Node]) -> list[Node]:
    """The roots over other leaves. Devices are those of the leaves."""
    new = dict(new)
    for node in topological(roots, is_leaf=lambda n: n in new or n.value is not None):
        if node in new:
            continue
        srcs = tuple(new[s] for s in node.srcs) if node.value is None else ()
        if node.value is not None or node.op is BUFFER:
            new[node] = node
        elif node.op is ALIAS and node.attrs and len(srcs) == 1:
            # what cuts off a level that is over has nothing to cut off any more
            new[node] = untracked(*srcs, *node.attrs) if node.attrs == (-1,) else srcs[0]
        elif srcs and srcs == node.srcs and node.device != DEVICE:     # zeros in a body are at home everywhere outside
            new[node] = node
        else:
            new[node] = make(node.op, node.dtype, node.shape, srcs, node.attrs, site=node.site)
            if node.op is ALIAS and not node.attrs:
                new[node].tracked = srcs[-1].tracked
    return [new[root] for root in roots]


def differentiable(roots: Sequence[Node], placeholders: Sequence[Node], initial: Sequence[Node]) -> bool:
    """Whether a gradient can be asked for: of what placeholders stand for, or of what a body reads besides."""
    ends = set(placeholders)
    order = topological(roots, is_leaf=lambda n: n in ends or n.value is not None)
    varying = depending(roots, ends)
    return any(n.tracked for n in (*initial, *(n for n in order if n not in varying)))


def kept(roots: Sequence[Node], carried: Sequence[Node], elements: Sequence[Node]) -> list[Node]:
    """What a loop keeps of each turn for its gradient: the state before it, and what is dear to compute.

    That is what reductions, matrix products and calls give, or rather what a chain of sums and views makes of it. All
    else the gradient computes again. `roots`: the next state, of which only the last is known outside, then what is
    collected, which is known of each turn.
    """
    ends = {*carried, *elements}
    order = topological(roots, is_leaf=lambda n: n in ends or n.value is not None)
    varying = depending(roots, ends)
    readers: dict[Node, list[Node]] = {root: [root] for root in roots}      # a root is read from outside
    alive = set(roots)
    for node in reversed(order):
        if node in alive:
            for src in node.srcs[:1] if node.op is ALIAS else node.srcs:
                alive.add(src)
                readers.setdefault(src, []).append(node)
    found: dict[Node, None] = {}
    for node in order:
        if node in alive and node in varying and (node.op.kind in DEAR or node.op is GET):
            while len(readers[node]) == 1 and _goes_on(node, readers[node][0]):
                node, = readers[node]
            found[node] = None
    collected = roots[len(carried):]
    return [*(node for node in carried if node not in collected),
            *(node for node in found if node not in roots and node not in carried)]


def _goes_on(node: Node, reader: Node) -> bool:
    """Whether the reader's value does as well: its gradient asks for no other, and it is no larger."""
    return (reader is not node and (reader.op.kind == MOVEMENT or reader.op in BY_THE_RESULT)
            and reader.size == node.size and reader.dtype.itemsize <= node.dtype.itemsize)


BY_THE_RESULT = (ADD, SUB, NEG, TANH, EXP)      # their gradients need at most what they give
DEAR = (REDUCE, CONTRACT, SCAN)     # kinds
CHEAP = 8                           # operations one upon the other: random numbers are not


class Body:
    """What `roots` compute from numbered placeholders.

    inputs   BUFFER nodes with attrs (k,): arrays
    scalars  dtypes of the PARAM nodes with attrs (k,)
    history  the roots as gradients see them: with the ALIAS nodes that `roots` do without
    """

    __slots__ = ("roots", "inputs", "scalars", "history", "_hash", "_text", "_order")

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node], scalars: Sequence[DType],
                 history: Sequence[Node] | None = None):
        self.roots, self.inputs, self.scalars = tuple(roots), tuple(inputs), tuple(scalars)
        self.history = self.roots if history is None else tuple(history)
        self._hash = hash((self.roots, self.inputs, self.scalars, self.history))
        self._text: str | None = None
        self._order: list[Node] | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Body) and self._hash == other._hash and self.roots == other.roots
                                 and self.inputs == other.inputs and self.scalars == other.scalars
                                 and self.history == other.history)

    def __repr__(self) -> str:
        """A string literal with the graph as text, the same in every process; `parse` reads it."""
        return repr(self.text)

    def __reduce__(self):
        return parse, (self.text,)

    @property
    def text(self) -> str:
        if self._text is None:
            from graphc.ir.text import graph_text
            head = f"{len(self.inputs)} {','.join(d.name for d in self.scalars)}"
            self._text = head + "\n" + graph_text((*self.inputs, *self.roots))
        return self._text

    @property
    def order(self) -> list[Node]:
        """Its nodes, sources first."""
        if self._order is None:
            self._order = topological(self.roots)
        return self._order

    def over(self, arrays: Sequence[Node], scalars: Sequence[Node]) -> list[Node]:
        """The roots, as gradients see them, of these nodes."""
        new = dict(zip(self.inputs, arrays, strict=True))
        new |= {make(PARAM, d, (), (), (k,)): s for k, (d, s) in enumerate(zip(self.scalars, scalars, strict=True))}
        return substituted(self.history, new)

    def evaluate(self, arrays: Sequence[np.ndarray], scalars: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The values of the roots, by the NumPy meaning of each operation."""
        values: dict[Node, object] = {}
        for node in self.order:
            if node.op is BUFFER:
                values[node] = arrays[node.attrs[0]]
            elif node.op is PARAM:
                values[node] = np.asarray(scalars[node.attrs[0]])
            elif node.op is CONST:
                values[node] = np.asarray(const_value(node))
            else:
                values[node] = _apply(node, [values[s] for s in node.srcs])
        return [np.asarray(values[root]) for root in self.roots]


def _apply(node: Node, sources: list):
    try:
        result = node.op.numpy(node.attrs, node.dtype, node.shape, *sources)
    except (BadIndex, np.linalg.LinAlgError) as error:
        if not hasattr(error, "found"):     # the innermost line is the one to name
            error.found = node.attrs[0] if node.attrs else node.op.name, node.site
        raise
    return result if isinstance(result, tuple) else np.asarray(result)


def parse(text: str) -> Body:
    from graphc.ir import dtype as dt
    from graphc.ir.text import parse_graph
    head, graph = text.split("\n", 1)
    count, _, names = head.partition(" ")
    nodes = parse_graph(graph)
    scalars = [dt.by_name(name) for name in names.split(",") if name]
    return Body(nodes[int(count):], nodes[:int(count)], scalars)


# ------------------------------------------------------------------------------------------------------- closing over

def close(graphs: Sequence[Sequence[Node]], placeholders: Sequence[Node], hoist: bool = True
          ) -> tuple[list[Body], list[Node], list[Node]]:
    """Bodies of several graphs over the same placeholders, and what they take from outside: (bodies, arrays, scalars).

    hoist: what does not depend on a placeholder is computed once, outside, and becomes an input. Views of it are taken
    inside, where they cost nothing, and so are constants, counters and what a few operations make of them. Without it,
    only leaves come from outside.
    Scalars are numbered by use, as in canonical.py.
    """
    closing = _Closing(placeholders, hoist)
    closed = [(closing.graph(roots), closing.history(roots)) for roots in graphs]
    inputs = [make(BUFFER, p.dtype, p.shape, (), (k,), device=DEVICE)
              for k, p in enumerate([*placeholders, *closing.arrays])]
    scalars = [s.dtype for s in closing.scalars]
    return [Body(roots, inputs, scalars, history) for roots, history in closed], list(closing.arrays), closing.scalars


class _Closing:
    def __init__(self, placeholders: Sequence[Node], hoist: bool):
        self.count, self.hoist = len(placeholders), hoist
        self.arrays: dict[Node, int] = {}
        self.scalars: list[Node] = []
        self.new = {node: make(BUFFER, node.dtype, node.shape, (), (k,), device=DEVICE)
                    for k, node in enumerate(placeholders)}
        self.placeholders = set(placeholders)
        self.kept: dict[Node, Node] = {}        # as `new`, where ALIAS nodes make a difference

    def graph(self, roots: Sequence[Node]) -> list[Node]:
        """The roots over numbered placeholders."""
        order = topological(roots, is_leaf=lambda n: n.value is not None or n in self.placeholders)
        depending: set[Node] = set()    # on a placeholder
        varying: set[Node] = set()
        constant: set[Node] = set()
        for node in order:
            if node in self.placeholders or not depending.isdisjoint(node.srcs):
                depending.add(node)
                varying.add(node)
            elif (node.srcs or type(node.dtype) is tuple) and not self.hoist and not is_variable(node):
                varying.add(node)
            elif node.op in (CONST, IOTA) or (node.srcs and constant.issuperset(node.srcs) and node.depth < CHEAP
                                              and not is_variable(node)):
                constant.add(node)
        wanted: set[Node] = set()       # what the body computes: from the roots down to what comes from outside
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in wanted and (node in varying or node in constant or _is_view(node)):
                wanted.add(node)
                stack.extend(node.srcs)
        for node in order:
            if node not in wanted or node in self.new or node.op is CONST:
                continue
            if node.op is CUSTOM:
                raise GradientError("a function with its own gradient can't be differentiated inside a loop or branch",
                                    op="custom_vjp", site=node.site, fix="write it without custom_vjp there")
            if node.op is ALIAS:
                self.new[node] = self._source(node.srcs[0], node)
                parts = [self.new[node], *(self._source(s, node) for s in node.srcs[1:])]
                self.kept[node] = make(ALIAS, node.dtype, node.shape, self._kept(node, parts), node.attrs,
                                       device=DEVICE, site=node.site)
            else:
                srcs = tuple([self._source(s, node) for s in node.srcs])
                self.new[node] = make(node.op, node.dtype, node.shape, srcs, node.attrs, device=DEVICE, site=node.site)
                kept = self._kept(node, srcs)
                if kept != srcs:
                    self.kept[node] = make(node.op, node.dtype, node.shape, kept, node.attrs, device=DEVICE,
                                           site=node.site)
        return [self._root(root) for root in roots]

    def _kept(self, node: Node, srcs: Sequence[Node]) -> tuple[Node, ...]:
        """The sources with the ALIAS nodes under them."""
        return tuple(self.kept.get(old, new) for old, new in zip(node.srcs, srcs, strict=True))

    def history(self, roots: Sequence[Node]) -> list[Node]:
        return [self.kept.get(root) or self._root(root) for root in roots]

    def _source(self, node: Node, reader: Node) -> Node:
        structural = node.op is CONST and (node.attrs[1] or (reader.op is POW and is_exponent(node)))
        if structural:
            return node
        if node.op is CONST or node.op is PARAM:
            self.scalars.append(node)
            return make(PARAM, node.dtype, (), (), (len(self.scalars) - 1,))
        if node in self.new:
            return self.new[node]
        number = self.arrays.setdefault(node, len(self.arrays))
        return make(BUFFER, node.dtype, node.shape, (), (self.count + number,), device=DEVICE)

    def _root(self, node: Node) -> Node:
        """A scalar as a root becomes an operation, for roots lie in memory."""
        if node.op is not CONST and node.op is not PARAM:
            return self._source(node, node)
        return make(FENCE, node.dtype, node.shape, (self._source(node, node),), (0,), device=DEVICE, site=node.site)


def _is_view(node: Node) -> bool:
    return node.value is None and node.op.kind == MOVEMENT and len(node.srcs) == 1
