"""Rows of few elements, such as points, colours or the scores of some classes: which are written out.

    for i:  s = sum over j of x[i, j];  for j < 3: y[i, j] = x[i, j] / s
    ->  for i:  s = x[i, 0] + x[i, 1] + x[i, 2];  y[i, 0] = x[i, 0] / s;  y[i, 1] = x[i, 1] / s;  y[i, 2] = x[i, 2] / s

Then many rows are computed side by side, in the lanes of vectors, and none has loops of its own. The sums are those of
docs/numerics.md: a row's tree without its empty lanes.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphc.ir import index as ix
from graphc.ir.index import Index
from graphc.ir.node import Node
from graphc.ir.ops import REDUCE
from graphc.ir.schedule import Group, Schedule
from graphc.passes.evaluate import UNROLLED

ENOUGH = 1 << 14            # elements for which that is worth a longer text
STORED = 64                 # results of a row, at most
ABREAST = 16                # rows beside one another in memory: vectors of them


def has_short_rows(group: Group, schedule: Schedule) -> bool:
    """Whether the rows of a group may be written out."""
    if group.kind != "row" or schedule.target.group or group.prologue:
        return False
    if not all(a.op.kind == REDUCE and a.attrs[1:] == ("inner",) for a in group.anchors):
        return False
    lengths = [a.srcs[0].shape[a.attrs[0]] for a in group.anchors]
    results = sum(_results(node, group) for node in group.stores)
    return 0 < max(lengths) <= UNROLLED and prod(group.parallel) * max(lengths) >= ENOUGH and results <= STORED


def _own(node: Node, group: Group) -> list[int]:
    """The axes of a node that lie in a row."""
    return [k for k, n in enumerate(node.shape) if n != 1 and k not in group.coordinates[node]]


def _results(node: Node, group: Group) -> int:
    return prod(node.shape[k] for k in _own(node, group))


def places_in_row(node: Node, group: Group) -> Iterator[dict[int, Index]]:
    """Each element that a node has in a row, as an index for its axes there."""
    own = _own(node, group)
    extents = tuple(node.shape[k] for k in own)
    for at in range(prod(extents)):
        yield dict(zip(own, ix.unflatten(ix.constant(at), extents), strict=True))
