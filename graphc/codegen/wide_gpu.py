"""Maps of which an item takes several neighbours at a time: which kernels are fit for that, and what is moved so.

Neighbours along the last axis lie together in most arrays. Where all that a kernel reads and writes along it does, an
item moves up to 16 bytes of each array at a time. Whether addresses are multiples of that is seen when it runs; if not,
and for what is left over at the end, it goes on one by one.
"""
from __future__ import annotations


from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.index import Axis, Data, Index
from graphc.ir.kernel import LOAD, Kernel, Let, Loop, Store, below

BYTES = 16                  # that one instruction moves at most
WORDS = {16: "uint4", 8: "uint2", 4: "uint32_t", 2: "uint16_t"}
MOST = 100                  # operations of a kernel that waits for the memory too


class Moved(Struct, frozen=True):
    """What is read, or written, for several neighbours at once."""

    name: str
    buffer: int
    index: Index


class Wide(Struct, frozen=True):
    """
    count   neighbours that an item takes
    axis    along which they lie
    even    whether all rows begin at multiples of count
    """

    count: int
    axis: Axis
    even: bool
    loads: tuple[Moved, ...]
    stores: tuple[Moved, ...]

    def name_of_load(self, buffer: int, index: Index) -> str | None:
        return next((m.name for m in self.loads if (m.buffer, m.index) == (buffer, index)), None)

    def name_of_store(self, buffer: int) -> str:
        return next(m.name for m in self.stores if m.buffer == buffer)


def wide(kernel: Kernel, group: int) -> Wide | None:
    """How a kernel is run several neighbours at a time; None if it should not be."""
    each = kernel.chunk // group
    statements = _statements(kernel) if each > 1 and kernel.parallel else None
    if not statements:
        return None
    axis = kernel.parallel[-1]
    exprs = list(below(s.value for s in statements))
    reads = dict.fromkeys((e.attrs[0], e.attrs[1]) for e in exprs if e.op is LOAD and moves(e.attrs[1], axis))
    stores = [s for s in statements if type(s) is Store]
    fit = (len(exprs) <= MOST and len({s.buffer for s in stores}) == len(stores)
           and all(is_along(s.index, axis) for s in stores) and all(is_along(index, axis) for _, index in reads)
           and not any(e.op is LOAD and e.srcs for e in exprs))
    loads = tuple(Moved(f"v{k}", buffer, index) for k, (buffer, index) in enumerate(reads))
    stored = tuple(Moved(f"w{k}", s.buffer, s.index) for k, s in enumerate(stores))
    sizes = [kernel.buffers[m.buffer].dtype.itemsize for m in (*loads, *stored)]
    count = min(BYTES // max(sizes, default=BYTES), each)
    if not fit or count < 2:
        return None
    even = all(is_even(m.index, axis, count) for m in (*loads, *stored))
    rows = len(kernel.parallel) > 1
    return Wide(count, axis, even and not (rows and axis.extent % count), loads, stored)


def _statements(kernel: Kernel) -> list | None:
    """What is done with each element; None if that holds a loop, a condition or an array."""
    out: list = []
    for s in kernel.body:
        inside = (s,)
        if type(s) is Loop:
            if s.axis != kernel.parallel[-1] or s.start is not None or s.limit is not None:
                return None
            inside = s.body
        if not all(type(x) is Let or (type(x) is Store and x.local is None) for x in inside):
            return None
        out += inside
    return out


def moves(index: Index, axis: Axis) -> bool:
    """Whether neighbours along the axis are read from neighbouring places, or nearly."""
    return index.coefficient(axis) in (1, -1) or (axis in ix.axes_of(index) and not index.coefficient(axis))


def is_along(index: Index, axis: Axis) -> bool:
    """Whether neighbours along the axis are neighbours in memory. Of shifts by one they are, but not aligned."""
    others = Index(tuple(term for term in index.terms if term[0] != axis))
    return (index.coefficient(axis) == 1 and axis not in ix.axes_of(others) and index.const not in (1, -1)
            and not any(type(atom) is Data for atom, _ in index.terms))


def is_even(index: Index, axis: Axis, count: int) -> bool:
    return index.const % count == 0 and all(k % count == 0 for atom, k in index.terms if atom != axis)


def first_of(index: Index, axis: Axis) -> Index:
    """The index of the first neighbour."""
    first = ix.of(Axis(f"{axis.name}_first", axis.extent))
    return ix.add(Index(tuple(term for term in index.terms if term[0] != axis), index.const), first)
