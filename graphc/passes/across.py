"""Rows that lie across memory, side by side: windows that move along an array, planes that are added.

    for i:  y[i] = sum over j of x[i + 1000*j]

The elements of such a row are apart, or are those of the next row too, so a vector takes the elements of rows beside
one another: a tile of rows goes through them together, each in the lanes of its own tree (docs/numerics.md).
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ir import index as ix
from graphc.ir.index import Data
from graphc.ir.kernel import LOAD, Store, below
from graphc.ir.ops import M2, REDUCE

if TYPE_CHECKING:
    from graphc.ir.schedule import Group
    from graphc.passes.lower import Lowering

TILE = 256              # bytes beside one another of a tile: all 64 lanes of it stay in the L1 cache
ABREAST = 32            # rows that lie side by side, at least
SHORT = 256             # elements of a contiguous row, from which on it fills vectors by itself


def rows_of_tile(group: Group) -> int:
    """How many rows go through their elements together."""
    return TILE // max(a.dtype.accumulator.itemsize for a in group.anchors)


def lies_across(lowering: Lowering) -> bool:
    """Whether rows are reduced whose elements lie side by side with those of the next rows."""
    group = lowering.group
    if lowering.kind != "row" or lowering.schedule.target.group or lowering.axes[-1].extent < ABREAST:
        return False
    if not all(a.op.kind == REDUCE and a.op is not M2 and a.attrs[1:] == ("inner",) and a.dtype.kind != "c"
               for a in group.anchors):
        return False
    column, found = lowering.axes[-1], False
    for stage in lowering.stages:
        read = [expr.attrs[1] for expr in below([s.value for s in stage.body]) if expr.op is LOAD]
        written = [s.index for s in stage.body if type(s) is Store]
        for index in (*read, *written):
            if any(type(atom) is Data for atom, _ in index.terms):
                return False
            axes, step = ix.axes_of(index), index.coefficient(column)
            if column in axes and step not in (1, -1):
                return False
            row = stage.axes[0] if stage.reduces else None
            if row in axes and step:
                if abs(index.coefficient(row)) == 1 and row.extent > SHORT:
                    return False
                found = True
    return found
