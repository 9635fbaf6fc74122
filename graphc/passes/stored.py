"""What has to lie in memory: the roots, what library calls and scatters read, what would cost more to recompute than to
store (`evaluate.worth_storing`), and where expressions that are too large for one kernel are cut. Everything else is an
expression inside its readers.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphc.ir.node import Node
from graphc.ir.ops import (
    BUFFER, CONCAT, CONST, DOT, ELEMENTWISE, EXP, EXPAND, LIBRARY, MOVEMENT, OTHER, PAD, PARAM, PERMUTE, REDUCE,
    RESHAPE, SCATTER, SLICE, SOURCE, WINDOW,
)
from graphc.ir.target import Target
from graphc.passes.evaluate import (
    STORE_COST, UNROLLED, WRITTEN_OUT, Copies, Evaluations, Repetitions, has_below, has_many_parts, inlined_costs,
    is_anchor, is_long_text, is_of_short_rows, is_short, short_reduction_inlined, sums_windows, worth_storing,
)
from graphc.passes.ranges import MAX_TEXT
from graphc.passes.turned import Users, is_better_turned, readers

MAX_STATEMENTS = 400        # gcc's time grows faster than the body: 500 operations take 1 s, 2,000 take 9 s,
STATEMENTS_OF_A_CALL = 4    # and a sine as long as several: what is live is saved around it
MAX_TURNS = 4               # reshapes of turned axes that one index goes through: it more than doubles with each
MANY_TAPS = 16              # of a window of 5 x 5 for example: what is padded is worth a launch of its own
LANES, MASKED = 32, 6       # additions and products of a tap in the time of a vector's, alone and under a mask
MAX_UNROLLED_COST = 4 * MAX_STATEMENTS      # of a short reduction, in additions: sums of sums of 16 multiply


def stored_and_anchors(order: list[Node], roots: tuple[Node, ...], users: Users, target: Target
                       ) -> tuple[set[Node], set[Node]]:
    """Expressions that are written to memory, and what has loops of its own."""
    stored, anchors = _decide(order, roots, users)
    parts = _long_parts(order, stored, anchors)
    if parts:
        stored, anchors = _decide(order, (*roots, *parts), users)
    if not target.group:
        stored |= {node for node in order
                   if is_better_turned(node, users, anchors) or _has_many_taps_at_edges(node, users, anchors)}
    stored |= _cut_tangled(order, stored, anchors)
    stored |= _cut_large(order, stored, anchors, target.buffers)
    return stored, anchors


def _decide(order: list[Node], roots: tuple[Node, ...], users: Users) -> tuple[set[Node], set[Node]]:
    """What is stored, and the anchors. The cost of recomputing ends at what is stored, hence the second round."""
    kept = {r for r in roots if r.op is not BUFFER and r.op.kind != OTHER}
    windowed = any(node.op is WINDOW for node in order)

    def once(kept: set[Node], stored: set[Node]) -> tuple[set[Node], set[Node], set[Node], bool]:
        cost = inlined_costs(order, stored)
        return _decide_once(order, kept, users, cost, inlined_costs(order, stored, False) if windowed else cost)
    stored, anchors, spread, costly = once(kept, set())
    if costly:
        stored, anchors, _, _ = once(kept | spread, stored | anchors)
    return stored, anchors


def _decide_once(order: list[Node], kept: set[Node], users: Users, cost: dict[Node, float], text: dict[Node, float]
                 ) -> tuple[set[Node], set[Node], set[Node], bool]:
    """What is stored, with what is `kept` in any case; the anchors; what of the former is stored because something
    larger reads it; and whether that follows from a cost, which a lower one might not ask for. `text`: the cost down to
    windows: all their taps that one element reads are often one element of what they are of."""
    stored, spread = set(kept), set()
    anchors: set[Node] = set()
    costly = False
    counts, copies, repetitions = Evaluations(), Copies(), Repetitions()
    for node in reversed(order):
        kind = node.op.kind
        if node.op in (BUFFER, PARAM, CONST) or kind == OTHER:
            continue
        evaluations, places, size = counts.of(node), copies.of(node), node.size if kind != LIBRARY else 1
        if node in stored:
            evaluations = max(evaluations, size)
        if is_anchor(node):
            anchors.add(node)
        elif is_short(node) and (cost[node] > MAX_UNROLLED_COST or repetitions.too_many(node, cost[node])
                                 or not short_reduction_inlined(node, evaluations, users.get(node, []))):
            costly |= cost[node] > MAX_UNROLLED_COST
            written_out = cost[node] <= MAX_UNROLLED_COST and _of_windows(node)
            (stored if written_out else anchors).add(node)
        elif node not in stored:
            readers = users.get(node, ())
            if (_must_store(node, readers) or _interleaves(node, users, anchors)
                    or _asks_often(node, users, anchors) or _is_thinned(node, users, anchors)
                    or _is_multiplied_again(node, users, anchors)
                    or cost[node] > STORE_COST and _is_read_across(node, users, anchors)):
                stored.add(node)
            elif worth_storing(evaluations, size, cost[node]):
                stored.add(_under_windows(node))
                costly = True
            elif size and is_long_text(places, text[node]):
                part = _spread_part(node, cost)
                if part and not is_long_text(places, text[node] - text[part]):
                    spread.add(part)
                stored.add(part if part in spread else _under_windows(node))
                costly = True
        if node in anchors or node in stored:
            evaluations, places = size, 1
        alone = node in anchors or node in stored
        repetitions.read_by(node, alone)
        counts.read_by(node, evaluations, alone)
        copies.read_by(node, min(places, 1e9))
    return stored - anchors, anchors, spread, costly


def _spread_part(node: Node, cost: dict[Node, float]) -> Node | None:
    """The costliest expression of short rows, as the quotient in the gradient of a maximum over windows is, that is
    repeated along them to meet what they are of in this one: it is smaller, and can be stored as well."""
    found: dict[Node, None] = {}
    seen, stack = {node}, [node]
    while stack:
        for src in stack.pop().srcs:
            if (src.size == node.size and src.op.kind == ELEMENTWISE) or src.op in (EXPAND, RESHAPE, PERMUTE):
                if src not in seen:
                    seen.add(src)
                    stack.append(src)
            elif 2 * src.size <= node.size and is_of_short_rows(src):
                found[src] = None
    return max(found, key=lambda src: cost[src], default=None)


def _under_windows(node: Node) -> Node:
    """What windows are of, which has fewer elements."""
    below = node
    while below.op in (PERMUTE, WINDOW):
        below = below.srcs[0]
    return below if below.size < node.size and below.op.kind != SOURCE else node


def _of_windows(node: Node) -> bool:
    """Whether a reduction is over windows, whose elements do not lie in a row: then it is a map over what it gives."""
    while node.op.kind in (REDUCE, MOVEMENT) and node.op is not WINDOW:
        node = node.srcs[0]
    return node.op is WINDOW


def _asks_often(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether rows that are summed, or a product, would ask at each element which of many parts it is of, and compute
    all of them: the velocities of a lattice, each moved its own way, or results that are stacked to have their mean."""
    return has_many_parts(node) and (_is_summed(node, users, anchors) or _is_multiplied(node, users, anchors))


def _long_parts(order: list[Node], stored: set[Node], anchors: set[Node]) -> set[Node]:
    """Parts of concatenations that are too much text, all together, for loops that are cut where parts meet: the states
    of a recurrence, each computed from the first one again. They are stored, where one loop can compute several."""
    found: set[Node] = set()
    for node in order:
        if node.op is CONCAT and len(node.srcs) > 1:
            parts, room = [_below_movement(src) for src in node.srcs], MAX_TEXT
            for part in parts:
                room -= _text(part, stored, anchors, room)
                if room < 0:
                    found.update(part for part in parts if part.op.kind != SOURCE and part not in anchors)
                    break
    return found


def _below_movement(node: Node) -> Node:
    """What is computed, of which a part is a view."""
    while node.op in (RESHAPE, PERMUTE, EXPAND):
        node = node.srcs[0]
    return node


def _text(node: Node, stored: set[Node], anchors: set[Node], most: int) -> int:
    """How many expressions stand under one, down to what lies in memory, itself included, where short reductions are
    written out; hardly more than `most`."""
    seen, stack, text = {node}, [(node, 1)], 0
    while stack and text <= most:
        below, copies = stack.pop()
        text += copies
        if below.op.kind == SOURCE or below is not node and (below in stored or below in anchors):
            continue
        if is_short(below) and below not in anchors:
            copies *= below.srcs[0].shape[below.attrs[0]]
        new = set(below.srcs) - seen
        seen |= new
        stack += [(src, copies) for src in new]
    return text


def _interleaves(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether short last axes of an expression are dealt out among others, as the gradient of pooling is, or arrays
    that are stacked along an axis before them: a map of its own writes that out (`lower.is_narrow`), while rows that
    are summed over it would divide at each element, and a product would pack columns of a transposed convolution with
    a stride one by one."""
    if node.op not in (RESHAPE, SLICE) or any(user.op.kind == MOVEMENT for user in users.get(node, ())):
        return False
    top, turned, width = node, False, node.shape[-1] if node.shape else 0
    while node.op in (RESHAPE, PERMUTE, SLICE):
        turned |= node.op is PERMUTE and node.attrs[0][-1] != len(node.shape) - 1
        node = node.srcs[0]
    if node.op is CONCAT:
        axis, = node.attrs
        dealt = axis < len(node.shape) - 1 and 1 < len(node.srcs) == node.shape[axis] <= UNROLLED
    else:
        dealt = turned and node.op.kind == ELEMENTWISE and 1 < node.shape[-1] <= UNROLLED < width
    return dealt and (_is_summed(top, users, anchors)
                      or _is_multiplied(top, users, anchors) and has_below(node, _deals_columns))


def _is_thinned(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether a product would compute every second element of rows, as that of a convolution of 1 x 1 with strides
    does: packing takes these one by one, where a map of its own computes them in vectors."""
    if node.op is not SLICE or not node.shape or node.attrs[1][-1] == 1:
        return False
    src = node.srcs[0]
    while src.op in (RESHAPE, PERMUTE, SLICE):
        src = src.srcs[0]
    return src.op.kind == ELEMENTWISE and any(
        user.op is DOT and any(factor.size == node.size for factor in user.srcs)
        for user in readers(node, users, anchors, (RESHAPE, PERMUTE)))


def _is_multiplied(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether a product of matrices packs an expression, or windows of it."""
    return any(user.op is DOT for user in readers(node, users, anchors, (RESHAPE, PERMUTE, WINDOW, PAD)))


def _is_multiplied_again(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether a product of small matrices is a factor of the next one, which would compute a row of it number by number
    where a map of its own computes vectors; and the rows of a long chain are a long text."""
    return node.op is DOT and node.srcs[0].shape[-1] > WRITTEN_OUT and _is_multiplied(node, users, anchors)


def _deals_columns(node: Node) -> bool:
    """Whether columns that lie side by side come from several expressions."""
    return node.op is CONCAT and node.attrs[0] == len(node.shape) - 1 and node.shape[-1] == len(node.srcs)


def _is_read_across(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether it is computed from sums of windows, which lie in long rows, and rows that are summed go another way, as
    those of the channels of a depthwise convolution do."""
    if node.op.kind not in (ELEMENTWISE, REDUCE) and node.op is not RESHAPE:
        return False
    last = len(node.shape) - 1
    across = any(user.op is PERMUTE and user.attrs[0][-1] != last and _is_summed(user, users, anchors)
                 for user in users.get(node, ()))
    return across and sums_windows(node)


def _has_many_taps_at_edges(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether windows of a padded array are summed without a loop, as by a depthwise convolution, and computing one by
    one the elements whose windows see an edge takes longer than storing what is padded."""
    if node.op is not PAD or node in anchors or not node.srcs[0].size:
        return False
    found, stack, taps = {node}, [node], 1
    while stack:
        for user in users.get(stack.pop(), ()):
            if user in anchors or user.op is WINDOW and user.attrs[1] > 1:
                return False        # windows some elements apart are no vectors either way
            if user.op.kind in (MOVEMENT, ELEMENTWISE) and user.size >= node.size:
                if user not in found:
                    taps *= user.shape[user.attrs[0] + 1] if user.op is WINDOW else 1
                    found.add(user)
                    stack.append(user)
            elif user.op.kind != REDUCE:
                return False
    wide, source = node.shape, node.srcs[0].shape
    columns, *rows = (min((m - n) / n, 1) for m, n in zip(reversed(wide), reversed(source), strict=True))
    return taps >= MANY_TAPS and taps * (LANES * columns + MASKED * sum(rows)) > STORE_COST


def _is_summed(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether a loop over rows reads an expression, or what is computed from its elements one by one."""
    return any(user.op.kind == REDUCE for user in readers(node, users, anchors, (RESHAPE, PERMUTE)))


def _must_store(node: Node, users: Sequence[Node]) -> bool:
    """Library calls read memory, and scatters write into the memory of their base."""
    for user in users:
        kind = user.op.kind
        if kind == LIBRARY or (kind == SCATTER and is_anchor(user) and user.srcs[0] is node):
            return True
    return False


def _cut_large(order: list[Node], stored: set[Node], anchors: set[Node], most: int) -> set[Node]:
    """Expressions to store so that no kernel has too many statements or buffers.

    Walks the expressions in order and closes a segment when it is full: what crosses the border is stored.
    """
    cut: set[Node] = set()
    if len(order) <= most:
        return cut
    # expression -> bounds of the statements and the memory under it, and which expression of all is the first of these
    segment: dict[Node, tuple[int, set[Node], int]] = {}
    position = 0
    for node in order:
        if node.op.kind == SOURCE or node in anchors:
            continue
        own = length((node,))
        position += own
        statements, memory, first = own, set(), position - own + 1
        for src in dict.fromkeys(node.srcs):
            if src.op is BUFFER or src in stored or src in anchors or src in cut:
                memory.add(src)
            elif src in segment:
                count, below, start = segment[src]
                statements += count
                memory |= below
                first = min(first, start)
        statements = min(statements, position - first + 1)    # shared ones were counted once for each path
        if statements > MAX_STATEMENTS:
            statements = _distinct(node, segment, cut)
        if len(memory) > most or statements > MAX_STATEMENTS:
            for src in node.srcs:
                if src in segment and src.op.kind != SOURCE:
                    cut.add(src)
            statements, memory, first = own, {s for s in node.srcs if s.op.kind != SOURCE}, position - own + 1
        if node in stored:
            cut.discard(node)
        else:
            segment[node] = (statements, memory, first)
    return cut


def _cut_tangled(order: list[Node], stored: set[Node], anchors: set[Node]) -> set[Node]:
    """Views to store because indices through them would grow without bound: reshape, transpose, reshape, ..."""
    cut: set[Node] = set()
    if sum(node.op is RESHAPE for node in order) <= MAX_TURNS:
        return cut
    below: dict[Node, tuple[int, bool]] = {}    # reshapes under it, and whether axes were moved since the last
    for node in order:
        count, moved = 0, False
        if node.op.kind != SOURCE and node not in anchors and node not in stored:
            count, moved = max((below[s] for s in node.srcs), default=(0, False))
            if node.op is RESHAPE:
                if moved and [n for n in node.shape if n != 1] != [n for n in node.srcs[0].shape if n != 1]:
                    count, moved = count + 1, False
            elif node.op.kind != ELEMENTWISE and node.op is not EXPAND:
                moved = True
            if count > MAX_TURNS:
                cut.add(node)
                count = 0
        below[node] = count, moved
    return cut


def _distinct(node: Node, segment: dict, cut: set[Node]) -> int:
    """The statements of all expressions under a node in its segment, down to what is cut; stops past the limit."""
    seen, found, total = {node}, [node], 0
    for n in found:
        total += length((n,))
        if total > MAX_STATEMENTS:
            break
        for src in n.srcs:
            if src in segment and src not in seen and src not in cut:
                seen.add(src)
                found.append(src)
    return total


def length(nodes: Iterable[Node]) -> int:
    """What these operations add to the text of a kernel, in statements."""
    return sum(STATEMENTS_OF_A_CALL if node.op.cost >= EXP.cost else 1 for node in nodes)
