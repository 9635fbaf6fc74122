"""How the parallel nest of a kernel is cut into chunks, which a thread or a group of work items takes one by one. No
result depends on it.
"""
from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphc.config import settings
from graphc.ir.ops import CONTRACT
from graphc.ir.target import rounded_up
from graphc.ir.trees import CHUNKS, LANES
from graphc.passes.tunable import chosen

if TYPE_CHECKING:
    from graphc.passes.lower import Lowering

MAP_CHUNK = 1 << 14         # elements of a map kernel that one thread takes at a time, if each costs no more
CHEAP = 24                  # than so many additions
LONG_CHUNK = 1 << 18        # of large arrays: long runs suit the memory
ROW_CHUNK = 1 << 15         # elements of a row kernel that one thread takes at a time
MANY_SQUARES = 16           # chunks for each thread, of large arrays: the next square is the same thread's
GATHERED = 256              # columns of a blocked map kernel: what it gathered should stay in the L1 cache
# Of a group of work items:
ITEMS = 8                   # elements that each takes of a large map: several loads are on their way at a time
LARGE_MAP = 1 << 20         # elements
SIDE_BY_SIDE = 32           # columns of which neighbouring items read neighbouring memory
SECTORS = 16, 8             # of these, those that memory gives together: long columns leave no more to a group where
MANY_GROUPS = 512           # there would be fewer groups than keep a large device busy, and the fewer of them where
SOME_GROUPS = 128           # there would be not even one for each multiprocessor
FEW_CHUNKS = 8              # of a column that one item can as well add up by itself


def chunk_of(lowering: Lowering, whole_rows: bool) -> int:
    """Iterations of the parallel nest that make a chunk."""
    total = prod(a.extent for a in lowering.axes)
    if lowering.schedule.target.group:
        return _of_group(lowering, total)
    power, chunk = chosen(lowering.choices, "chunk"), _of_thread(lowering, total)
    chunk = max(1, chunk << power if power > 0 else chunk >> -power)
    return rounded_up(chunk, lowering.axes[-1].extent) if whole_rows else chunk


def _of_thread(lowering: Lowering, total: int) -> int:
    width, row = lowering.width, lowering.axes[-1].extent
    if lowering.tiled and width is None:
        least = _least(lowering, total)
        chunk = max(least, min(LONG_CHUNK, total // 8))
        return chunk // row * row if row <= chunk else chunk    # whole rows
    if width == chosen(lowering.choices, "columns"):      # no result depends on the tile: one for each thread
        return max(64, min(width, -(-total // settings.num_threads)))
    if lowering.tiled and lowering.block is not None:
        return max(GATHERED, total // (MANY_SQUARES * settings.num_threads) // GATHERED * GATHERED)
    if lowering.tiled and not lowering.across:
        return width
    work = sum(prod(a.extent for a in stage.axes) for stage in lowering.stages)
    rows = max(1, min(ROW_CHUNK // max(work, 1), -(-total // 8)))
    if lowering.across:
        rows = max(rows, width)
        return rounded_up(rows, row) if row <= rows else rows   # whole rows of what lies side by side
    return rows


def _least(lowering: Lowering, total: int) -> int:
    """How many elements of a map a thread takes at least: fewer if they are costly, and as many as the others."""
    cost = sum(expr.op.cost for expr in lowering.computed())
    least = MAP_CHUNK * CHEAP // max(cost, CHEAP)
    chunks = -(-total // least)
    return -(-total // rounded_up(chunks, settings.num_threads)) if 1 < chunks < 8 and cost > CHEAP else least


def _of_group(lowering: Lowering, total: int) -> int:
    """Iterations for a group of work items: an item takes several elements, or several items share a row or column."""
    group, lengths = lowering.schedule.target.group, _reduced(lowering)
    if not lengths:
        return group * ITEMS if lowering.kind == "map" and total >= LARGE_MAP else group
    if not lowering.tiled:
        return rows_side_by_side(lowering)
    chunks = max(lengths) // CHUNKS["outer"]
    if chunks > group // SECTORS[-1] and total < SIDE_BY_SIDE * MANY_GROUPS:
        return next((n for n in SECTORS if total >= n * SOME_GROUPS), SECTORS[-1])
    return SIDE_BY_SIDE if chunks > FEW_CHUNKS and total < LARGE_MAP else group


def rows_side_by_side(lowering: Lowering) -> int:
    """Rows in a chunk of a group of work items: it takes a long row alone, several short ones together. 1 for a thread,
    which takes one after the other."""
    group, lengths = lowering.schedule.target.group, _reduced(lowering)
    if not group or not lengths:
        return 1
    longest = max(lengths)
    if longest > CHUNKS["inner"]:
        return 1
    return group // (LANES if longest > LANES // 2 else LANES // 2)


def _reduced(lowering: Lowering) -> list[int]:
    """The lengths of the sums and the like that are added up in loops."""
    if lowering.kind not in ("row", "column") or any(a.op.kind == CONTRACT for a in lowering.group.anchors):
        return []
    return [stage.axes[0].extent for stage in lowering.stages if stage.reduces]
