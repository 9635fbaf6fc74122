"""Store or recompute: how often each element of an expression would be computed if it were never stored.

Seen from its readers: an elementwise reader of the same shape shares one evaluation with the other readers; every
movement (a shifted slice, a reversal) reads at other places and so evaluates again; a broadcast along the last axes
is hoisted out of the inner loop. The decision is one function, `worth_storing`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod

from graphc.ir import index as ix
from graphc.ir.node import Node
from graphc.ir.ops import (
    BLOCKED, BUFFER, CONCAT, CONTRACT, DOT, ELEMENTWISE, EXPAND, GATHER, LIBRARY, M2, MOVEMENT, OTHER, PAD, PART,
    PERMUTE, REDUCE, RESHAPE, SCAN, SCATTER, SLICE, SOURCE, TAKE_ALONG, UPDATE, WINDOW,
)

# Writing an element and reading it again, in additions of the same width (measured: 8 bytes of memory traffic take as
# long as about two exponentials do on two cores).
STORE_COST = 20
UNROLLED = 16               # reductions up to this length may be expressions instead of loops,
UNROLLED_IN_ALL = 128       # such reductions of one another up to this many elements: gcc's time grows with the square,
WRITTEN_OUT = 4             # and contractions up to this one are: a product of matrices that small is no work
SMALL, STACKED = 12, 16     # nor are those of such a side, of which so many are stacked
MULTIPLY_ADD = 2            # a term of a contraction
POSITION_COST = 2           # an operation of index arithmetic
READ_COST = 1               # reading it once more instead of computing it
PART_COST = 3               # asking which part of a concatenation an element comes from
COPIED = 60                 # additions in the copies of an expression that is evaluated at several places
CONTRACTION_TILE = 256      # a contraction evaluates its left factor once for so many columns,
CONTRACTION_ROWS = 1024     # and its right one, a panel that all rows of a block meet, for so many rows
LEAST_SCORES = 160          # queries and keys for which scores are computed again (measured),
STORED_SCORES = 1 << 27     # and bytes of all scores beyond which they always are
PACKED = 1 << 14            # elements of a factor that take longer to pack than a launch does
ONE_BY_ONE = 4              # evaluations in vectors that take as long as one in a scatter of single elements
QUERIES = 96                # an attention reads keys and values once for this many queries


def inlined_costs(order: list[Node], stored: set[Node], windows: bool = True) -> dict[Node, float]:
    """What one element of each expression costs when what is under it, down to stored values, is computed in place;
    without `windows`, down to these too."""
    cost: dict[Node, float] = {}
    positions: set[Node] = set()        # integers from counters alone: loops have such arithmetic anyhow
    padded: set[Node] = set()           # of which some elements are those of an edge
    for node in order:
        op, srcs = node.op, node.srcs
        if op.kind == SOURCE or is_anchor(node) or (op is WINDOW and not windows):  # an anchor's result lies there
            cost[node] = 0.0
            if _is_position(node):
                positions.add(node)
        elif positions and _is_position(node) and positions.issuperset(srcs):
            positions.add(node)
            cost[node] = 0.0
        else:
            below = 0 if op.kind == MOVEMENT else op.cost
            if op is CONCAT:
                below = PART_COST * (len(srcs) - 1)
            for src in srcs if len(srcs) == 1 else dict.fromkeys(srcs):
                if src not in stored:
                    below += cost[src]
            if op is PAD or (op.kind != REDUCE and any(src in padded and src not in stored for src in srcs)):
                padded.add(node)
            if op is PAD and below or op.kind == REDUCE and srcs[0] in padded:      # what is read is asked for anyhow
                below += PART_COST
            if op.kind == REDUCE:
                below *= srcs[0].shape[node.attrs[0]]
            elif op is DOT:
                below = (below + MULTIPLY_ADD) * srcs[0].shape[-1]
            cost[node] = min(below, 1e9)
    return cost


def _is_position(node: Node) -> bool:
    """Whether it is an integer that costs no more than index arithmetic does, if its sources are."""
    cheap = node.op.kind in (SOURCE, MOVEMENT) or (node.op.kind == ELEMENTWISE and node.op.cost <= POSITION_COST)
    return cheap and node.dtype.kind in "iu" and node.op is not BUFFER


def worth_storing(evaluations: float, size: int, cost: float) -> bool:
    """True when computing the expression again costs more than one store and its re-reads."""
    return size > 0 and (evaluations / size - 1) * (cost - READ_COST) > STORE_COST


def is_long_text(copies: float, cost: float) -> bool:
    """Whether the copies of an expression, which few elements may need (the edges of a padded array), would be most of
    a kernel's text."""
    return (copies - 1) * cost > COPIED


def is_anchor(node: Node) -> bool:
    """True for what has a loop of its own and can't be an expression inside another kernel's loop.

    Short reductions can: whether they should, `short_reduction_inlined` says.
    """
    if node.op.kind == ELEMENTWISE:
        return False
    if node.op.kind == REDUCE:
        return not is_short(node)
    if node.op.kind == SCATTER and not node.srcs[-1].size:
        return False        # nothing is written: the same values as the base
    if node.op is DOT:
        length = node.srcs[0].shape[-1]
        return not _is_small(node, length) and (length > WRITTEN_OUT or (node.dtype.kind == "c" and length > 0))
    if node.op is UPDATE:
        return updates_in_place(node)
    return node.op.kind in (SCAN, CONTRACT, SCATTER, LIBRARY)


def _is_small(product: Node, length: int) -> bool:
    """Whether it is of a stack of matrices so small that packing them takes longer than multiplying."""
    *stack, m, n = product.shape
    side = max(m, n)
    return (prod(stack) >= STACKED and side <= SMALL and length <= 2 * SMALL and length * side <= SMALL * SMALL
            and product.dtype.kind != "c")


def is_short(node: Node) -> bool:
    """A reduction that may be unrolled into an expression."""
    return (node.op.kind == REDUCE and len(node.attrs) == 2 and node.attrs[1] != "pairwise"
            and node.op is not M2 and node.srcs[0].shape[node.attrs[0]] <= UNROLLED)


def is_of_short_rows(node: Node) -> bool:
    """Whether something is computed from what short rows, or windows, are reduced to."""
    while node.op is RESHAPE:
        node = node.srcs[0]
    return node.op.kind == ELEMENTWISE and any(is_short(src) for src in node.srcs)


def has_below(node: Node, asked: Callable[[Node], bool]) -> bool:
    """Whether that holds for something under an expression, down to memory and to what has loops of its own."""
    seen, stack = {node}, [node]
    while stack:
        below = stack.pop()
        if asked(below):
            return True
        if below.op.kind in (ELEMENTWISE, MOVEMENT) or is_short(below):
            new = set(below.srcs) - seen
            seen |= new
            stack += new
    return False


def has_many_parts(node: Node) -> bool:
    """Whether asking which part of a concatenation an element is of costs more than a store. Maps do not ask, as their
    loops are cut where parts meet (`ranges.py`); nor do reductions between few parts."""
    return node.op is CONCAT and PART_COST * (len(node.srcs) - 1) > STORE_COST


def sums_windows(node: Node) -> bool:
    """Whether it is computed from windows, in rows that are long enough for vectors."""
    return bool(node.shape) and node.shape[-1] > UNROLLED and has_below(node, lambda below: below.op is WINDOW)


def short_reduction_inlined(node: Node, evaluations: float, users: list[Node]) -> bool:
    """Unrolled where each element is needed once; a row statistic (kept axis, then broadcast) keeps its own loop."""
    if not node.srcs[0].shape[node.attrs[0]]:
        return True
    kept = any(u.op is RESHAPE and len(u.shape) == len(node.shape) + 1 for u in users)
    return not kept and evaluations <= node.size


def updates_in_place(node: Node) -> bool:
    """An update of stored memory writes its region only; an update of an expression is part of the expression."""
    base = node.srcs[0]
    return base.op is BUFFER or base.op.kind in (SCATTER, SCAN, CONTRACT, LIBRARY, OTHER)


def never_stored(order: list[Node]) -> set[Node]:
    """What an attention or its gradient computes block by block: the scores and weights, from their products up, and
    the masks that are computed from positions alone, which would be as large."""
    if not any(node.op.kind == PART for node in order):
        return set()
    scores: set[Node] = set()           # with a product of an attention under it
    computed: set[Node] = set()         # from no memory at all
    for node in order:
        if "blocks" not in node.op.traits and (node.op.kind == PART or any(s in scores for s in node.srcs)):
            scores.add(node)
        elif node.op is not BUFFER and not is_anchor(node) and all(s in computed for s in node.srcs):
            computed.add(node)
    in_memory = {s for n in order if n.op.kind in (LIBRARY, SCATTER) for s in n.srcs}
    stack = [s for n in scores if n.op.kind != PART for s in n.srcs if s in computed]
    masks: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in masks:
            masks.add(node)
            stack.extend(node.srcs)
    return (scores | masks) - in_memory


def worth_computing_again(stacks: int, queries: int, keys: int, features: int, itemsize: int) -> bool:
    """Whether the gradient of an attention computes scores and weights again, block by block, instead of storing them:
    three products more, of so many features, against matrices that are written and read a few times. So it is faster
    for long rows, and for more memory than it should take in any case."""
    least = max(LEAST_SCORES, 2 * features)
    return queries * keys >= least * least or stacks * queries * keys * itemsize > STORED_SCORES


class Readings:
    """Counts from the readers down. Feed nodes in reverse topological order."""

    def __init__(self):
        self._shared: dict[Node, float] = {}        # by elementwise readers: one evaluation serves all
        self._moved: dict[Node, float] = {}         # by readers at other places

    def of(self, node: Node) -> float:
        return self._shared.get(node, 0.0) + self._moved.get(node, 0.0)

    def _share(self, node: Node, count: float) -> None:
        if count > self._shared.get(node, 0.0):
            self._shared[node] = count

    def _move(self, node: Node, count: float) -> None:
        self._moved[node] = self._moved.get(node, 0.0) + count


class Copies(Readings):
    """At how many places an expression would stand in the text of a kernel."""

    def read_by(self, node: Node, count: float) -> None:
        """The node stands at `count` places; all taps of windows that are added up where they were read, at one."""
        if node.op is WINDOW:
            count = max(1, count / max(node.shape[node.attrs[0] + 1], 1))
        note = self._share if node.op.kind in (ELEMENTWISE, REDUCE) or node.op is EXPAND else self._move
        for src in node.srcs:
            note(src, count)


class Evaluations(Readings):
    """How many elements are computed."""

    def __init__(self):
        super().__init__()
        self._packed: set[Node] = set()     # computed where a contraction packs a factor, element by element
        self._taps: dict[Node, int] = {}    # read an element of an axis at a time, as windows are that are added up

    def read_by(self, node: Node, count: float, alone: bool) -> None:
        """The node is evaluated `count` times in all; note what that means for its sources. `alone`: as in
        `Repetitions`."""
        kind = node.op.kind
        shape = self._note_taps(node)
        packed = node in self._packed and not alone
        if packed or kind == CONTRACT:
            self._packed.update(src for src in node.srcs if packed or src.size >= PACKED)
        if kind == ELEMENTWISE or node.op is EXPAND:
            for src in node.srcs:
                alike = src.shape == node.shape or (packed and src.size > 1)
                once = _hoisted(src.shape, shape if is_of_short_rows(src) else node.shape)
                self._share(src, count if alike else count / once)
        elif kind == REDUCE:
            self._share(node.srcs[0], count * node.srcs[0].size / max(node.size, 1))
        elif kind in (CONTRACT, PART):
            self._note_factors(node)
        elif kind == GATHER:
            self._move(node.srcs[0], count)
            inner = 1 if node.op is TAKE_ALONG else prod(node.shape[node.attrs[0] + len(node.srcs[1].shape):])
            self._move(node.srcs[1], count / max(inner, 1))
        elif node.op in (CONCAT, PAD):      # a part of the elements comes from each source
            for src in node.srcs:
                self._move(src, count * min(1.0, src.size / max(node.size, 1)))
        elif kind == MOVEMENT:
            self._move(node.srcs[0], count)
        elif kind == SCATTER and prod(node.shape[1:]) == 1:
            for src in node.srcs:
                self._move(src, max(count, src.size) * (1 if src is node.srcs[0] else ONE_BY_ONE))
        else:
            for src in node.srcs:
                self._move(src, max(count, src.size))

    def _note_factors(self, node: Node) -> None:
        """What products of matrices read: scores and weights once, what is multiplied once for each tile."""
        kind, stacks, (rows, columns) = node.op.kind, prod(node.shape[:-2]), node.shape[-2:]
        if node.op is BLOCKED:
            self._share(node.srcs[0], node.srcs[0].size)
        elif "blocks" in node.op.traits:
            for s, v in zip(node.srcs[::2], node.srcs[1::2], strict=True):
                self._share(s, s.size)
                self._move(v, stacks * prod(v.shape[-2:]) * _blocks(node))
        elif kind == PART and node.dtype.kind == "f":
            q, k = node.srcs
            self._move(q, stacks * prod(q.shape[-2:]))
            self._move(k, stacks * prod(k.shape[-2:]) * _blocks(node))
        else:
            a, b = node.srcs
            inner = a.shape[-1] * stacks
            block = CONTRACTION_ROWS if is_anchor(node) else WRITTEN_OUT
            self._move(a, inner * rows * -(-columns // CONTRACTION_TILE))
            self._move(b, inner * columns * -(-rows // block))

    def _note_taps(self, node: Node) -> tuple[int, ...]:
        """Its shape without the axis that it is read by elements of; and the same is noted for its sources."""
        op, shape, axis = node.op, node.shape, self._taps.get(node)
        if op is SLICE:
            src = node.srcs[0].shape
            axis = next((k for k, n in enumerate(shape) if n == 1 < src[k]), axis)
        if axis is None:
            return shape
        if op is PERMUTE:
            self._taps[node.srcs[0]] = node.attrs[0][axis]
        elif op is RESHAPE:
            groups = ix.reshape_groups(node.srcs[0].shape, shape) if node.size else ()
            old = next((a for a, b in groups if axis in b), ())
            if len(old) == 1:
                self._taps[node.srcs[0]] = old[0]
        elif op.kind == ELEMENTWISE or op in (EXPAND, SLICE):
            self._taps |= {src: axis for src in node.srcs if len(src.shape) == len(shape)}
        return (*shape[:axis], 1, *shape[axis + 1:])


class Repetitions:
    """How often an expression stands in the text of a kernel because short reductions that read it are written out.
    Feed nodes in reverse topological order."""

    def __init__(self):
        self._found: dict[Node, tuple[int, bool]] = {}      # how often, and whether several elements read one of it

    def read_by(self, node: Node, alone: bool) -> None:
        """`alone`: the node's loops are its own."""
        times, several = (1, False) if alone else self._found.get(node, (1, False))
        if is_short(node):
            times, several = times * node.srcs[0].shape[node.attrs[0]], False
        if times == 1:
            return
        spreads = node.op.kind == ELEMENTWISE or node.op is EXPAND
        for src in node.srcs:
            before, shared = self._found.get(src, (1, False))
            self._found[src] = max(times, before), several or shared or (spreads and src.size < node.size)

    def too_many(self, node: Node, cost: float) -> bool:
        """Whether a short reduction would be most of a kernel's text: each result of which several elements read, as of
        the states of a recurrence, one under the other; or that others reduce, as over a batch and its pictures,
        in a loop over channels and not to one number."""
        times, several = self._found.get(node, (1, False))
        return (several and (times - 1) * cost > COPIED
                or times > 1 and node.size > UNROLLED and times * node.srcs[0].shape[node.attrs[0]] > UNROLLED_IN_ALL)


def _blocks(node: Node) -> float:
    """How often an attention evaluates keys and values, of which each is cheap beside a block's multiply-adds."""
    return max(1.0, node.shape[-2] / QUERIES / 16)


@functools.lru_cache(maxsize=4096)      # a graph has few shapes
def _hoisted(src: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """How many evaluations of the reader share one of the source because it is constant along the last axes."""
    shared = 1
    for k in range(1, len(shape) + 1):
        if k <= len(src) and src[-k] == shape[-k] and shape[-k] != 1:
            break
        shared *= shape[-k]
    return max(shared, 1)
