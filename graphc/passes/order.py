"""The order of steps that hold the least memory at once.

A step may run when what it reads is there. Of those that may, the one goes next after which the least is alive, the
earlier one of two that are equal; so a branch is followed to its end before another begins (list scheduling, as for
registers: Goodman & Hsu, *Code scheduling and register allocation in large basic blocks*, ICS 1988). The other order
that is tried goes back from the ends, and of what a step needs follows the longest way first (Sethi & Ullman 1970): so
what a gradient computes again is computed when the gradient gets there. Both are heuristics, for the best order is
NP-hard (Sethi 1975): the order that fusion gave stays unless one of them holds less.
"""
from __future__ import annotations

import heapq
from collections.abc import Sequence

from graphc.ir.node import Node


def least_memory(reads: Sequence[list[Node]], writes: Sequence[list[Node]], bases: Sequence[Node | None],
                 kept: set[Node]) -> list[int]:
    """An order of the steps, as their numbers. What a step reads, writes, and updates; `kept` costs nothing: it has
    memory of its own from the beginning to the end."""
    given = list(range(len(reads)))
    if len(given) < 3:
        return given
    after = _followers(reads, writes, bases)
    orders = given, _greedy(reads, writes, after, kept), _longest_first(after)
    return min(orders, key=lambda order: peak(order, reads, writes, kept))      # of equal ones the first


def peak(order: Sequence[int], reads: Sequence[list[Node]], writes: Sequence[list[Node]], kept: set[Node]) -> int:
    """The most bytes of temporaries that are alive during one step."""
    last = {node: k for k, step in enumerate(order) for node in (*reads[step], *writes[step])}
    made = {node for nodes in writes for node in nodes} - kept
    ends: dict[int, int] = {}
    for node in made:
        ends[last[node]] = ends.get(last[node], 0) + node.nbytes
    alive = most = 0
    for k, step in enumerate(order):
        alive += sum(node.nbytes for node in writes[step] if node in made)
        most = max(most, alive)
        alive -= ends.get(k, 0)
    return most


def _followers(reads, writes, bases) -> list[set[int]]:
    """step -> the steps that wait for it."""
    writer = {node: k for k, nodes in enumerate(writes) for node in nodes}
    readers: dict[Node, set[int]] = {node: set() for node in writer}
    after: list[set[int]] = [set() for _ in reads]
    for k, nodes in enumerate(reads):
        for node in nodes:
            if node in writer:
                readers[node].add(k)
                after[writer[node]].add(k)
    for k, base in enumerate(bases):    # who reads the old values goes before the update that writes over them
        for reader in readers.get(base, ()):
            if reader < k:
                after[reader].add(k)
    return after


def _longest_first(after: list[set[int]]) -> list[int]:
    """From the ends back, depth first; of what a step waits for, the end of the longest way goes first. An end, for
    which nothing waits, goes as soon as it may. In the given order a step comes after what it waits for."""
    before: list[list[int]] = [[] for _ in after]
    depth = [0] * len(after)
    for k, steps in enumerate(after):
        for follower in sorted(steps):
            before[follower].append(k)
            depth[follower] = max(depth[follower], depth[k] + 1)
    waits = [len(steps) for steps in before]
    order: list[int] = []
    done: set[int] = set()
    stack = [(k, False) for k in reversed(range(len(after))) if not after[k]]
    while stack:
        k, ready = stack.pop()
        if k in done:
            continue
        if ready:
            todo = [k]
            while todo:
                step = todo.pop()
                done.add(step)
                order.append(step)
                for follower in after[step]:
                    waits[follower] -= 1
                todo += [f for f in sorted(after[step]) if not waits[f] and not after[f] and f not in done]
        else:
            stack.append((k, True))
            stack += [(j, False) for j in sorted(before[k], key=lambda j: depth[j])]     # the deepest on top
    return order


def _greedy(reads, writes, after: list[set[int]], kept: set[Node]) -> list[int]:
    writer = {node: k for k, nodes in enumerate(writes) for node in nodes}
    readers: dict[Node, set[int]] = {node: set() for node in writer}
    for k, nodes in enumerate(reads):
        for node in nodes:
            if node in writer:
                readers[node].add(k)
    waits = [0] * len(reads)
    for steps in after:
        for k in steps:
            waits[k] += 1
    left = {node: len(steps) for node, steps in readers.items()}

    def grows(k: int) -> int:
        """By how much the memory in use changes."""
        new = sum(n.nbytes for n in writes[k] if n not in kept and readers[n])
        return new - sum(n.nbytes for n in set(reads[k]) if n in writer and n not in kept and left[n] == 1)

    ready = [(grows(k), k) for k, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    done: set[int] = set()
    while ready:
        cost, k = heapq.heappop(ready)
        if k in done or cost != grows(k):       # it was entered again when its cost fell
            continue
        done.add(k)
        order.append(k)
        for node in set(reads[k]) & left.keys():
            left[node] -= 1
            if left[node] == 1:
                for reader in readers[node] - done:
                    if not waits[reader]:
                        heapq.heappush(ready, (grows(reader), reader))
        for k_after in after[k]:
            waits[k_after] -= 1
            if not waits[k_after]:
                heapq.heappush(ready, (grows(k_after), k_after))
    return order
