"""What is computed for the second time is kept, and from then on what is recorded at that place is kept at once.

Whatever a schedule computes between its inputs and its results is gone after it. In a loop that looks at a number,

    while float(norm(r)) > tolerance: ...

the state that somebody holds, and from which the next turn goes on, is between: each turn would compute all turns
before it once more. So nodes that a schedule has computed without keeping them are marked (`Node.met`: 1), and where
a later graph reads one, it becomes a result of that schedule, unless it isn't worth the memory (-1 from then on).
Nothing that is worth it is computed more than twice then, and what is read once costs no memory: the first schedule
stores only what was asked for.

A loop comes by again. Where a node had to be kept, its place in the user's program is remembered, and what is
recorded there becomes a result of the first schedule that computes it, if somebody holds it or a view of it: all
further turns are computed once.

A tensor that was changed in place waits for its values too. If they are made of what a schedule computes, as those of
parameters after a step are made of the loss that is printed, they are results of this schedule (`changed_with`).
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphc.ir.node import Node
from graphc.ir.ops import (
    ALIAS, BUFFER, CONCAT, CONST, ELEMENTWISE, EXPAND, FENCE, MOVEMENT, PARAM, RESHAPE, SOURCE, THREEFRY,
)
from graphc.references import held, reads_of

if TYPE_CHECKING:
    from graphc.canonical import Graph

LITTLE = 4              # elementwise operations that are computed again as quickly as a result is stored and read,
TINY = 4096             # bytes of what a loop carries that is kept for any work: counters would grow to chains
LOOKED_AT = 10_000      # operations under a node that are counted at most
MOST_PLACES = 1_000

MOST_CHANGED = 10_000


class _Changed(threading.local):
    """By their ids: tensors that were changed in place, or differentiated, since the last schedule of this thread."""

    def __init__(self) -> None:
        self.tensors: dict[int, weakref.ref] = {}


_changed = _Changed()
_places: dict[object, None] = {}    # where in users' programs something was recorded that had to be kept


def mark(nodes: Iterable[Node]) -> None:
    """These have been computed, and those without a value were not kept."""
    for node in nodes:
        node.met = node.met or 1


def note(tensor) -> None:
    """A tensor that is computed with what is read of the same: it stands for another node from now on, or gradients of
    it will be what others are changed by."""
    if len(_changed.tensors) >= MOST_CHANGED:
        _changed.tensors.clear()
    _changed.tensors[id(tensor)] = weakref.ref(tensor)


def changed_with(roots: Sequence[Node]) -> list[Node]:
    """What tensors stand for that were changed in place since the last schedule, if it is made of what the roots are
    made of, and its values can be had."""
    if not _changed.tensors:
        return []
    tensors, _changed.tensors = [reference() for reference in _changed.tensors.values()], {}
    waiting = [t.node for t in tensors if t is not None and t.node.value is None and t.node.device == roots[0].device]
    if not waiting:
        return []
    made, under = _made_of_the_same(waiting, roots)
    inside = under.difference(roots, made)
    return made + [node for node in dict.fromkeys(waiting) if node in inside and is_worth_it(node, carried=True)]


def _made_of_the_same(nodes: Iterable[Node], roots: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """Those of the nodes that are made of what the roots or others of them are made of, and whose values can be had;
    and all that has to be computed for these and the roots."""
    under, found, rest = _computed_under(roots, set()), [], list(dict.fromkeys(nodes))
    while rest := [node for node in rest if node not in under]:
        known = {node: not is_nothing(node) for node in under}  # whether it is made of that; None: it has no values
        new = [node for node in rest if _is_made_of(node, known)]
        if not new:
            break
        found += new
        under |= _computed_under(new, under)
    return found, under


def _computed_under(roots: Iterable[Node], known: set[Node]) -> set[Node]:
    """What has to be computed for these, beside what is known."""
    seen, stack = set(roots), list(roots)
    while stack:
        new = {src for src in stack.pop().srcs if src.value is None and src not in known} - seen
        seen |= new
        stack += new
    return seen


def _is_made_of(root: Node, known: dict[Node, bool | None]) -> bool:
    stack = [root]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        waiting = [src for src in node.srcs if src not in known and src.value is None]
        if waiting:
            stack += waiting
            continue
        found = [known[src] for src in node.srcs if src.value is None]
        lacking = node.op in (BUFFER, PARAM) or None in found
        known[node] = None if lacking else any(found)
        stack.pop()
    return bool(known[root])


def to_keep(graph: Graph) -> tuple[list[Node], list[Node], bool]:
    """The nodes that become results beside those of a graph: those computed before, and those that are recorded where
    such were; and whether a place is new among those remembered."""
    kept = _computed_before(graph.roots) if graph.met else []
    new = [node.site for node in kept if node.site is not None and node.site not in _places]
    if len(_places) > MOST_PLACES:
        _places.clear()
    _places.update(dict.fromkeys(new))
    return kept, _expected(graph, kept) if _places else [], bool(new)


def forget() -> None:
    _places.clear()


def _computed_before(roots: Sequence[Node]) -> list[Node]:
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


def _expected(graph: Graph, kept: Sequence[Node]) -> list[Node]:
    """Nodes that somebody holds, recorded where others had to be kept: what the next turn of a loop begins with."""
    if not any(is_watched(node) for node in graph.order):
        return []
    results = {*graph.roots, *kept}
    is_held = dict(zip(graph.order, held(graph.order, reads_of(graph.order)), strict=True))
    for node in reversed(graph.order):
        if is_held[node] and is_nothing(node) and node.srcs:    # a view; a variable, which gradients end at
            is_held[node.srcs[0]] = True
    return [node for node in graph.order if is_held[node] and is_watched(node) and node not in results
            and is_worth_it(node, carried=True)]


def is_watched(node: Node) -> bool:
    """Whether a node is kept if somebody holds it, and if it is worth it."""
    return node.site in _places and node.value is None and not node.tracked


def is_nothing(node: Node) -> bool:
    """Whether a node is no work at all, such as a view; or no array."""
    is_view = node.op.kind == MOVEMENT and node.op is not CONCAT
    return is_view or node.op in (ALIAS, FENCE, CONST) or type(node.dtype) is tuple


def is_full(node: Node) -> bool:
    """Whether a node is one number in all places, as of ones and zeros."""
    if node.op is not EXPAND:
        return False
    one = node.srcs[0]
    return (one.srcs[0] if one.op is RESHAPE else one).op is CONST


def is_worth_it(node: Node, carried: bool = False) -> bool:
    """Whether a node is some work (any, if it is tiny and a loop carries it), and no larger than what it is computed
    from: no cube of distances is stored, and no matrix of scores, which an attention then would not compute by blocks.
    Nor what is counted, such as a mask, but a state that began as one, such as zeros."""
    if is_nothing(node):
        return False
    least = 1 if carried and node.nbytes <= TINY else LITTLE
    leaves, work, is_counted = 0, 0, node.device is None
    seen, stack = {node}, [node]
    while stack and len(seen) <= LOOKED_AT:
        below = stack.pop()
        if below.value is not None or below.op.kind == SOURCE or is_full(below):
            leaves += below.nbytes
        else:
            if below.op is THREEFRY or (below.met < 0 and below is not node and not is_nothing(below)):
                is_counted = False      # random, or made of what a schedule before turned down: a state that began so
            if below.op.kind != MOVEMENT:
                work += 1 if below.op.kind == ELEMENTWISE else LITTLE
            for src in reversed(below.srcs):    # down the first, which is the old state in x = x + ...
                if src not in seen:
                    seen.add(src)
                    stack.append(src)
        if work >= least and node.nbytes <= leaves and not is_counted:
            return True     # a loop that holds all its rows asks for each of them: few steps, not the way to the start
    return False
