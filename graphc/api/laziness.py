"""Bounded laziness: a graph that grows too deep is realized by itself.

A loop such as `x = x * 0.9 + y` that is never read would otherwise record without end, and its first read would
compile all of it at once. At a depth of GRAPHC_LAZY_LIMIT (0: no limit) everything of that depth that a handle still
needs is realized in one schedule, so that several states carried by one loop are not computed one after the other.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from graphc import driver
from graphc.config import settings
from graphc.ir.node import Node
from graphc.ir.node import _table as interned

SHORTEST = 16  # recording looks at the setting only beyond this depth; a smaller limit counts as this one


class _State(threading.local):
    paused = 0


_state = _State()


@contextmanager
def unlimited() -> Iterator[None]:
    """No limit inside the block, in this thread: for code that records a graph to keep it (jit, grad, plan)."""
    _state.paused += 1
    try:
        yield
    finally:
        _state.paused -= 1


def check_depth(node: Node) -> None:
    """Realize the node, and what else is as deep, if it has reached the limit."""
    limit = settings.lazy_limit
    if limit and node.depth >= limit and not _state.paused:
        driver.realize(_ends(node, limit // 2))


def _ends(node: Node, depth: int) -> list[Node]:
    """The node, and all other nodes at least this deep on its device that no other node reads."""
    live = [n for entry in list(interned.values()) if (n := entry()) is not None and n.depth >= depth]
    read = {src for n in live for src in n.srcs}
    return [node] + [n for n in live if n is not node and n not in read and n.value is None and n.device == node.device
                     and not isinstance(n.dtype, tuple)]
