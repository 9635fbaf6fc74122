"""Arrays whose rows are columns in memory. A loop along such a row touches a line for each element, so a map turns
squares of them first where other loops would read them, and loops over rows never store them.
"""
from __future__ import annotations

from collections.abc import Collection
from math import prod

from graphc.ir.node import Node
from graphc.ir.ops import (
    BUFFER, CONCAT, DOT, ELEMENTWISE, EXPAND, GATHER, MOVEMENT, PAD, PERMUTE, REDUCE, RESHAPE, SCAN, SLICE, Op,
)
from graphc.passes.evaluate import UNROLLED, is_anchor, sums_windows

LARGE = 1 << 18             # bytes of an array that is turned before rows of it are summed (measured),
ROW = 128                   # and elements of its rows,
LONG_ROW = 1024             # of eight bytes,
HUGE = 1 << 24              # and bytes of one that is turned before it is gathered or padded
ONE_SET = 2048              # bytes: lines so far apart meet in few sets of the L1 cache

Users = dict[Node, list[Node]]


def is_turned(node: Node) -> bool:
    """Whether it is a large array whose rows are columns in memory: a loop along one of them touches a line for each
    element, and again for the next, as the L1 cache does not keep so many."""
    if node.op is not PERMUTE or node.nbytes < LARGE:
        return False
    order, src = node.attrs[0], node.srcs[0]
    wide = [k for k in order if src.shape[k] != 1]
    row = prod(src.shape[k] for k in wide[wide.index(max(wide)) + 1:])      # elements between neighbours in memory
    least = UNROLLED + 1 if _meets_in_sets(node) else ROW if node.dtype.itemsize <= 4 else LONG_ROW
    return row >= least and _lies_in_memory(src)    # shorter rows go side by side


def is_better_turned(node: Node, users: Users, anchors: set[Node]) -> bool:
    """Whether a map of its own should turn it: other loops read it than those of a map, and of a sum across its rows,
    which turn squares as well, and those of a product, which go along another factor's columns, unless this one is
    computed from straight arrays too. A running sum takes longer than the turning, unless all lines of a row meet in
    one set."""
    if not is_turned(node):
        return False
    found, meets = readers(node, users, anchors, (RESHAPE, SLICE)), _meets_in_sets(node)
    sums = {user for user in found if user.op.kind == REDUCE}
    if any(user.attrs[0] == len(user.srcs[0].shape) - 1 for user in sums):
        return True
    if any(not sums.isdisjoint(readers(user, users, anchors, (RESHAPE, EXPAND))) for user in sums):
        return True     # they sum across its rows one after the other
    return any((user.op is DOT and any(_is_mixed(factor, node) for factor in user.srcs))
               or (user.op.kind == SCAN and meets)
               or (user.op.kind == GATHER or user.op in (CONCAT, PAD)) and user.size > node.size // 4
               and (meets or node.nbytes >= HUGE) for user in found)


def stores_columns(node: Node, coordinates: tuple[int, ...]) -> bool:
    """Whether rows that are parallel in these coordinates would store a large array column by column, or the sums of
    windows, which are vectors along their own rows alone."""
    wide = [k for k, n in enumerate(node.shape) if n != 1]
    if not wide or wide[-1] not in coordinates or len(wide) == len(coordinates):
        return False
    row = prod(node.shape[k] for k in wide if k not in coordinates)
    return node.nbytes >= LARGE and row >= ROW or sums_windows(node)


def _lies_in_memory(node: Node) -> bool:
    """Whether an expression reads an array of its size, and not only what is repeated to it."""
    seen, stack = {node}, [node]
    while stack:
        below = stack.pop()
        if below.op is BUFFER or is_anchor(below):
            return True
        if below.op.kind == ELEMENTWISE or (below.op.kind == MOVEMENT and below.op is not EXPAND):
            new = {src for src in below.srcs if src.size >= node.size} - seen
            seen |= new
            stack += new
    return False


def _meets_in_sets(node: Node) -> bool:
    """Whether all lines that a row of a PERMUTE lies in meet in few sets of the L1 cache."""
    shape, axis = node.srcs[0].shape, next(k for k in reversed(node.attrs[0]) if node.srcs[0].shape[k] != 1)
    return prod(shape[axis + 1:]) * node.dtype.itemsize % ONE_SET == 0


def readers(node: Node, users: Users, anchors: set[Node], movements: Collection[Op]) -> set[Node]:
    """What has loops of its own, or moves elements otherwise, and reads most of an expression or what is computed from
    its elements one by one."""
    seen, stack, found = {node}, [node], set()
    while stack:
        for user in users.get(stack.pop(), ()):
            if user in anchors or not (user.op.kind == ELEMENTWISE or user.op in movements):
                found.add(user)
            elif user not in seen and user.size > node.size // 4:
                seen.add(user)
                stack.append(user)
    return found


def _is_mixed(factor: Node, turned: Node) -> bool:
    """Whether a factor is computed, element by element, from what is turned and from something that is not."""
    seen, stack, straight = {factor}, [factor], False
    while stack:
        node = stack.pop()
        if node.op.kind == ELEMENTWISE:
            new = [src for src in node.srcs if src.size == factor.size and src not in seen]
            seen.update(new)
            stack += new
        else:
            straight |= node.op is not PERMUTE
    return straight and turned in seen
