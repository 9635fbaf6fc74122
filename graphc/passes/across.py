"""Which axis a reduction's vectors take where the last one doesn't suit: rows that lie across memory, side by side, as
windows that move along an array and planes that are added; and few columns of many results, as the forces on bodies.

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
FEW = 4                 # columns that are gone through one by one
SHORT = 256             # elements of a contiguous row, from which on it fills vectors by itself


def rows_of_tile(group: Group) -> int:
    """How many rows go through their elements together."""
    return TILE // max(a.dtype.accumulator.itemsize for a in group.anchors)


def has_few_columns(lowering: Lowering) -> bool:
    """Whether sums have a few columns each, of what is made for pairs of what the sum and the result go over:

        for i, c < 3:  y[i, c] = sum over j of (x[j, c] - x[i, c]) * w(x[j], x[i])

    Then results beside one another are vectors, and columns are gone through one by one. Not where an array has its
    elements for i and j, which would lie far apart."""
    group = lowering.group
    if lowering.kind != "column" or lowering.schedule.target.group or len(lowering.axes) < 2:
        return False
    *_, beside, column = lowering.axes
    if not 1 < column.extent <= FEW or beside.extent < ABREAST or any(a.op.kind != REDUCE for a in group.anchors):
        return False
    for stage in lowering.stages:
        for expr in below([s.value for s in stage.body]) if stage.reduces else ():
            if expr.op is LOAD:
                axes = ix.axes_of(expr.attrs[1])
                if any(type(atom) is Data for atom, _ in expr.attrs[1].terms) or {beside, stage.axes[0]} <= axes:
                    return False
    return True


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
