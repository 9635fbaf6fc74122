"""Bounded laziness: a graph that grows too deep, too wide or too heavy is realized by itself.

A loop such as `x = x * 0.9 + y` that is never read would otherwise record without end, and its first read would
compile all of it at once. At a depth of GRAPHC_LAZY_LIMIT (0: no limit) everything of that depth that somebody holds or
that nothing has read yet is realized in one schedule: the states that a loop carries, and what it is in the middle of,
which would be computed again otherwise. The next time it is done at the same instruction of the user's, some way before
the limit, so that a loop cuts its graph into equal parts, whose program is compiled once. Everything that waits is
realized when it is MOST_NODES operations, or when it holds on to leaves that fill a quarter of the memory that is free:
`total = total + gc.asarray(batch)`.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from graphc import driver
from graphc.again import is_worth_it
from graphc.config import settings
from graphc.errors import GraphcError, TracerError
from graphc.ir.node import Node, interned, topological, untracked
from graphc.ir.ops import BUFFER, CONST, PARAM
from graphc.references import held, reads_of
from graphc.runtime import memory
from graphc.runtime.buffers import pool
from graphc.tensor import Tensor, history

SHORTEST = 16           # recording looks at the setting only beyond this depth; a smaller limit counts as this one
MOST_NODES = 10_000
LEAST_BYTES = 64 << 20  # what leaves may hold on any machine


class _State(threading.local):
    paused = 0
    cut: object = None      # where in the user's program the last deep graph was realized


class _Alarm:
    """The counts at which it is time to look again; cheap to compare with, and moved on after each look.

    While some thread is inside `no_grad`, `nodes` is below all counts, so that `check` sees every new tensor.
    """

    __slots__ = ("nodes", "most", "bytes", "watchers")

    def __init__(self) -> None:
        self.nodes = self.most = MOST_NODES
        self.bytes, self.watchers = LEAST_BYTES, 0

    def watch(self, change: int) -> None:
        self.watchers += change
        self.nodes = -1 if self.watchers else self.most

    def move(self, most: int) -> None:
        self.most = most
        self.watch(0)


_state = _State()
_watching = threading.RLock()
alarm = _Alarm()


def _after_fork() -> None:
    """In the child no other thread is inside of `no_grad`, nor holds the lock."""
    global _watching
    _watching = threading.RLock()
    alarm.watchers = 0
    alarm.watch(history.paused)


os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def unlimited() -> Iterator[None]:
    """No limit inside the block, in this thread: for code that records a graph to keep it (jit, grad, plan)."""
    _state.paused += 1
    try:
        yield
    finally:
        _state.paused -= 1


@contextmanager
def _no_history() -> Iterator[None]:
    history.paused += 1
    with _watching:
        alarm.watch(1)
    try:
        yield
    finally:
        history.paused -= 1
        with _watching:
            alarm.watch(-1)


def no_grad(function: Callable | None = None, /):
    """Record without history: no gradient passes through what is computed inside, in this thread. Also a decorator,
    with or without parentheses.

    >>> import graphc as gc
    >>> w = gc.Tensor([1.0, 2.0], requires_grad=True)
    >>> with gc.no_grad():
    ...     w -= 0.5
    >>> w.tolist(), w.requires_grad
    ([0.5, 1.5], True)
    """
    return _no_history() if function is None else _no_history()(function)


def check(tensor: Tensor) -> None:
    """Cut a new tensor off its history inside `no_grad`, and realize what waits if it has become too much.

    Recording calls this for each node that is deep, or one too many.
    """
    if history.paused:
        tensor.node = untracked(tensor.node)
    node = tensor.node
    limit = settings.lazy_limit
    if not limit or _state.paused:
        return
    enough = limit * 3 // 4 if node.site == _state.cut is not None else limit
    if node.depth >= enough and not _is_so_deep(node):
        _count_depths_anew()
    if node.depth >= enough:
        _state.cut = node.site
        _realize(_ends(node, limit // 2))
        driver.realize([node])      # what is wrong with this one is reported here
    elif len(interned) > alarm.most:
        _realize(_ends(node, 1))
        with _watching:
            alarm.move(max(MOST_NODES, 2 * len(interned)))  # what remains is read by others, or constant
    elif pool.in_use > alarm.bytes:
        check_leaves(node)


def _is_so_deep(node: Node) -> bool:
    """Whether one finds a way as long as the depth of a node was when it was recorded."""
    for depth in range(node.depth - 1, -1, -1):
        for src in node.srcs:
            if src.depth == depth:
                node = src
                break
        else:       # what lay on the way is a leaf by now
            return False
    return True


def _count_depths_anew() -> None:
    """What was realized after something had been recorded on it is a leaf now. In a training loop that is so in each
    step: its depth, as it was recorded, grows for ever, and what waits is never deeper than two steps."""
    with driver.lock:
        for n in topological([n for entry in list(interned.values()) if (n := entry()) is not None]):
            n.depth = 0 if n.value is not None else 1 + max((src.depth for src in n.srcs), default=-1)


def check_leaves(node: Node) -> None:
    """Realize what waits if its leaves hold too much memory. Called for each new leaf when memory has grown."""
    if not settings.lazy_limit or _state.paused:
        return
    room = max(LEAST_BYTES, memory.available_bytes() // 4)
    ends = _own(_ends(node, 1))
    leaves = {n for n in topological(ends) if n.value is not None}
    if sum(n.value.nbytes for n in leaves) > room:
        del leaves
        _realize(ends)
    alarm.bytes = pool.in_use + room // 4


def settle(node: Node) -> None:
    """Realize a node, and with it what was changed in place since the last schedule, unless all that may wait."""
    if settings.lazy_limit and not _state.paused and node.value is None:
        _realize([node])


def _realize(nodes: list[Node]) -> None:
    """Realize nodes that nobody has asked for. What fails keeps waiting: its error is for whoever reads it."""
    try:
        try:
            driver.realize(nodes)
        except TracerError:
            nodes = _own(nodes)
            driver.realize(nodes)
    except _OF_ONE:
        for node in nodes:
            with suppress(*_OF_ONE):
                driver.realize([node])


_OF_ONE = GraphcError, np.linalg.LinAlgError


def _ends(node: Node, depth: int) -> list[Node]:
    """All nodes at least this deep, on the device of this one, that wait and that no other node reads; of deep ones
    also those that somebody holds, if they are worth the memory."""
    with driver.lock:
        live = [n for n in [entry() for entry in list(interned.values())] if n is not None and n.depth >= depth]
        reads = reads_of(live)
        return [n for n, is_held in zip(live, held(live, reads), strict=True)
                if (id(n) not in reads or depth > 1 and is_held)
                and n.value is None and n.device == node.device and n.op is not CONST and not isinstance(n.dtype, tuple)
                and (id(n) not in reads or is_worth_it(n))]


def _own(nodes: list[Node]) -> list[Node]:
    """Nodes without those of others: what passes and traces make has numbered leaves, or such without memory."""
    with driver.lock:
        foreign: set[Node] = set()
        for n in topological(nodes):
            if n.op is PARAM or (n.op is BUFFER and n.value is None) or not foreign.isdisjoint(n.srcs):
                foreign.add(n)
        return [n for n in nodes if n not in foreign]
