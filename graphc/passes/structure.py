"""What a piece of the graph does, without its sizes."""
from __future__ import annotations

from collections.abc import Container, Sequence

from graphc.ir.node import Node, topological
from graphc.ir.ops import BUFFER, CHECK_INDEX, PARAM


def structure(roots: Sequence[Node], leaves: Container[Node]) -> tuple:
    """The operations from the leaves to the roots; equal for what differs only in shapes, leaves and scalars."""
    number: dict[Node, int] = {}
    entries: list = []
    for n in topological(roots, is_leaf=lambda n: n in leaves or n.op is BUFFER):
        number[n] = len(entries)
        if n.op is PARAM or n.op is BUFFER or n in leaves:
            entries.append((n.op is PARAM, n.dtype))
        else:
            attrs = n.attrs[1:] if n.op is CHECK_INDEX else n.attrs     # its bound is a size
            entries.append((n.op, n.dtype, attrs, *[number[s] for s in n.srcs]))
    return (*entries, *[number[r] for r in roots])
