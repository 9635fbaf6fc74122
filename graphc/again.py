"""What is computed for the second time is kept.

Whatever a schedule computes between its inputs and its results is gone after it. In a loop that looks at a number,

    while float(norm(r)) > tolerance: ...

the state that somebody holds, and from which the next turn goes on, is between: each turn would compute all turns
before it once more. So nodes that a schedule has computed without keeping them are marked (`Node.met`: 1), and where
a later graph reads one, it becomes a result of that schedule, unless it isn't worth the memory (-1 from then on).
Nothing that is worth it is computed more than twice then, and what is read once costs no memory: the first schedule
stores only what was asked for.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphc.ir.node import Node
from graphc.ir.ops import ALIAS, CONCAT, CONST, ELEMENTWISE, EXPAND, FENCE, MOVEMENT, SOURCE, THREEFRY

LITTLE = 4              # elementwise operations that are computed again as quickly as a result is stored and read
LOOKED_AT = 10_000      # operations under a node that are counted at most


def mark(nodes: Iterable[Node]) -> None:
    """These have been computed, and those without a value were not kept."""
    for node in nodes:
        node.met = node.met or 1


def to_keep(roots: Sequence[Node]) -> list[Node]:
    """The nodes next under these roots that were computed before, and that are worth the memory."""
    found: dict[Node, None] = {}
    seen, stack = set(roots), [src for root in roots for src in root.srcs]
    while stack:
        node = stack.pop()
        if node in seen or node.value is not None:
            continue
        seen.add(node)
        if node.met > 0 and not node.tracked:       # gradients read much again, in one schedule
            if is_worth_it(node):
                found[node] = None
                continue
            node.met = -1
        stack.extend(node.srcs)
    return list(found)


def is_worth_it(node: Node) -> bool:
    """Whether a node is some work, and no larger than what it is computed from: no cube of distances is stored, and no
    matrix of scores, which an attention then would not compute by blocks. Nor what is counted, such as a mask."""
    is_view = node.op.kind == MOVEMENT and node.op is not CONCAT
    if is_view or node.op in (ALIAS, FENCE, CONST) or type(node.dtype) is tuple:
        return False
    leaves, work, is_counted = 0, 0, node.device is None
    seen, stack = {node}, [node]
    while stack and len(seen) <= LOOKED_AT:
        below = stack.pop()
        if below.value is not None or below.op.kind == SOURCE or (below.op is EXPAND and below.srcs[0].op is CONST):
            leaves += below.nbytes
            continue
        if below.op is THREEFRY:
            is_counted = False
        if below.op.kind != MOVEMENT:
            work += 1 if below.op.kind == ELEMENTWISE else LITTLE
        for src in below.srcs:
            if src not in seen:
                seen.add(src)
                stack.append(src)
    return work >= LITTLE and node.nbytes <= leaves and not is_counted
