"""Launches of which a chunk needs of those before only what the same chunk of theirs has left run as one job: a thread
takes its rows through all of them, while they are in its caches, and waits for no other.

    h = tanh(x @ v); y = h @ w      a block of rows of y needs that block of rows of h alone

What a chunk touches of an array is known where every index is stride * row + rest and 0 <= rest < stride.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, Accumulate, If, Kernel, Local, Loop, Store, Template, below, data_exprs
from graphc.ir.ops import CHECK_INDEX
from graphc.ir.program import Slot
from graphc.passes.batch import Batch
from graphc.passes.memory import MemoryPlan

MOST = 64           # launches of a job
ARENA = -1


class _Piece(Struct, frozen=True):
    """What the chunks of a launch touch of memory: chunk k the bytes from begin + k * chunk on; None: any of them."""

    begin: int
    end: int
    chunk: int | None
    written: bool

    def collides(self, other: _Piece) -> bool:
        """Whether a chunk of one may touch what another chunk of the other one writes."""
        apart = self.end <= other.begin or other.end <= self.begin
        alike = self.begin == other.begin and self.chunk == other.chunk is not None
        return (self.written or other.written) and not apart and not alike


def follows(memory: MemoryPlan) -> list[bool]:
    """For each step what Launch.follows says of it."""
    launches = [_only(step) for step in memory.steps]
    chunks = [kernel.chunks if kernel is not None else 1 for kernel in launches]
    touched: dict[int, list[_Piece]] = {}       # by the launches since the last one that follows none: by memory
    found: list[bool] = []
    length = 0
    for k, step in enumerate(memory.steps):
        alone = chunks[k] == 1 or chunks[k] not in (*chunks[k - 1:k], *chunks[k + 1:k + 2])
        own = None if alone else _touched(step, memory)
        found.append(own is not None and 0 < length < MOST and chunks[k] == chunks[k - 1]
                     and not any(a.collides(b) for base, a in own for b in touched.get(base, ())))
        if not found[-1]:
            touched, length = {}, 0
        if own is not None:
            length += 1
            for base, piece in own:
                touched.setdefault(base, []).append(piece)
    return found


def _only(step) -> Kernel | None:
    return step.members[0].kernel if isinstance(step, Batch) and len(step.members) == 1 else None


def _touched(step: Batch, memory: MemoryPlan) -> list[tuple[int, _Piece]] | None:
    """Pieces of which memory a launch touches; None where it cannot be part of a job."""
    (member,) = step.members
    pieces = _bytes_of_chunk(member.kernel)
    if pieces is None:
        return None
    found = []
    for node, buffer, chunk in zip(member.nodes, member.kernel.buffers, pieces, strict=True):
        number = memory.slot_of[node]
        slot: Slot = memory.slots[number]
        if slot.alias is not None:      # of an input, where that is donated
            return None
        base = number if slot.role != "temp" else ARENA if slot.host is None else slot.host
        found.append((base, _Piece(slot.offset, slot.offset + slot.nbytes, chunk, buffer.written)))
    return found


def _bytes_of_chunk(kernel: Kernel) -> list[int | None] | None:
    """How many bytes of each buffer belong to a chunk, if it touches none but its own. None for a kernel that does more
    than its chunks, or may stop at a bad index: which launch failed first is told by their order."""
    nest = [a for a in kernel.parallel if a.extent > 1]
    inner = prod(a.extent for a in nest[1:])
    if not nest or kernel.chunk % inner or kernel.prologue:
        return None
    elements: list[set[int | None]] = [set() for _ in kernel.buffers]
    for s, axes, rows in _statements(kernel.body, tuple(nest[:1]), kernel.chunk // inner):
        roots = [s.test] if type(s) is If else [s.value, *([s.other] if type(s) is Accumulate and s.other else ())]
        if type(s) is Store:
            roots += data_exprs(s.index)
        exprs = list(below(roots))
        if any(e.op is CHECK_INDEX for e in exprs):
            return None
        places = [e.attrs for e in exprs if e.op is LOAD]
        if type(s) is Store and s.local is None:
            places.append((s.buffer, s.index))
        for buffer, index in places:
            stride = _stride(index, axes)
            elements[buffer].add(stride and stride * rows)
    return [k.pop() * b.dtype.itemsize if len(k) == 1 and None not in k else None
            for k, b in zip(elements, kernel.buffers, strict=True)]


def _statements(body: tuple, axes: tuple[Axis, ...], rows: int) -> Iterator[tuple]:
    """The statements that hold expressions, with the axes that walk the rows there and how many rows a chunk has."""
    for s in body:
        if type(s) is Loop:
            yield from _statements(s.body, axes, rows)
        elif type(s) is If:
            yield s, axes, rows
            yield from _statements((*s.body, *s.otherwise), axes, rows)
        elif type(s) is Template:
            for operand in (*s.operands, None):
                walked = s.walked(operand)
                span = next((x for x in walked.values() if x.block == axes[0]), None)
                own = (axes, rows) if span is None else (span.axes, rows * span.length)
                yield from _statements(s.epilogue if operand is None else operand.body, *own)
        elif type(s) is not Local:
            yield s, axes, rows


def _stride(index: Index, axes: tuple[Axis, ...]) -> int | None:
    """The k of an index that is k * row + rest with 0 <= rest < k, if `axes` walk the rows."""
    walk = [a for a in axes if a.extent > 1]
    if not walk:
        return None
    stride = index.coefficient(walk[-1])
    low, high = ix.add(index, ix.mul(ix.of_axes(tuple(walk)), -stride)).bounds
    return stride if 0 <= low and high < stride else None
