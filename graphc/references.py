"""Who else holds an object, by Python's own count: what nobody else holds may be written over, or is soon gone."""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from graphc.ir.node import Node

COUNTED = next(map(sys.getrefcount, [object()]))   # of what only a list holds; Python's versions count differently


def references(things: Sequence) -> list[int]:
    """How many references there are to each of these beside that of this sequence."""
    return [count - COUNTED for count in map(sys.getrefcount, things)]


def reads_of(nodes: Iterable[Node]) -> Counter:
    """How often these nodes read each node, by its id."""
    return Counter(id(src) for node in nodes for src in node.srcs)


def held(nodes: Sequence[Node], known: Counter) -> list[bool]:
    """Whether each of these nodes is held by something else than this sequence and what is known, such as readers."""
    return [count > known[id(node)] for count, node in zip(references(nodes), nodes, strict=True)]
