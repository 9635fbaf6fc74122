"""Kernels that write over an input which nobody needs afterwards.

A kernel may do so when each element of the input is read only by the iteration that writes its place, and before it
writes there. Then the two are one buffer, and C sees one pointer. Where work items share an iteration, as in the rows
of GPUs, one may write while another has yet to read: their sums are not written over inputs.
"""
from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, Accumulate, If, Kernel, Let, Local, Loop, Store, below, data_exprs, index_value
from graphc.ir.node import Node

_STATEMENTS = (Loop, If, Let, Local, Accumulate, Store)


class _Access(Struct, frozen=True):
    """A load or a store of a buffer."""

    index: Index
    masked: bool
    loops: tuple[tuple[int, Axis], ...]     # around it, outermost first; the numbers tell two over one axis apart


class _Accesses(Struct, eq=False):
    """What a kernel does to each buffer, in the order of its text. `known`: it has no statements but plain ones."""

    loads: dict[int, list[tuple[int, _Access]]] = field(default_factory=dict)
    stores: dict[int, list[tuple[int, _Access]]] = field(default_factory=dict)
    time: int = 0
    known: bool = True
    sums: bool = False

    def walk(self, statements: tuple, loops: tuple[tuple[int, Axis], ...]) -> None:
        for s in statements:
            self.time += 1
            if type(s) is Loop:
                self.walk(s.body, (*loops, (self.time, s.axis)))
            elif type(s) is If:
                self._expr(s.test, loops)
                self.walk(s.body, loops)
                self.walk(s.otherwise, loops)
            elif type(s) not in _STATEMENTS:
                self.known = False
            elif type(s) is not Local:
                self._expr(s.value, loops)
                self.sums |= type(s) is Accumulate
                if type(s) is Accumulate and s.other is not None:
                    self._expr(s.other, loops)
                if type(s) is Store and s.local is None:
                    self._expr(index_value(s.index), loops)
                    self.stores.setdefault(s.buffer, []).append((self.time, _Access(s.index, False, loops)))

    def _expr(self, root: Node, loops: tuple[tuple[int, Axis], ...]) -> None:
        for e in below([root]):
            if e.op is LOAD:
                number, index = e.attrs
                self.loads.setdefault(number, []).append((self.time, _Access(index, bool(e.srcs), loops)))


def in_place(kernel: Kernel, nodes: tuple[Node, ...], dies: Callable[[Node], bool], group: int = 0
             ) -> tuple[Kernel, dict[Node, Node]]:
    """The kernel with inputs and outputs made one where that is allowed, and output -> the input that it takes over.

    `dies` says whether a node's memory is free once this kernel has run. group: see Target.
    """
    written = [k for k, b in enumerate(kernel.buffers) if b.written]
    pairs = [(x, y) for x, b in enumerate(kernel.buffers) if not b.written and b.size for y in written
             if (b.dtype, b.size) == (kernel.buffers[y].dtype, kernel.buffers[y].size) and dies(nodes[x])]
    if not pairs:
        return kernel, {}
    accesses = _Accesses()
    accesses.walk(kernel.prologue, ())
    accesses.walk(kernel.body, ())
    if group and accesses.sums:
        return kernel, {}
    buffers, taken = list(kernel.buffers), {}
    for x, y in pairs:
        if buffers[x].same is None and nodes[y] not in taken and _may_share(kernel, accesses, x, y):
            buffers[x] = replace(buffers[x], name=buffers[y].name, same=y)
            taken[nodes[y]] = nodes[x]
    return (replace(kernel, buffers=tuple(buffers)) if taken else kernel), taken


def _may_share(kernel: Kernel, accesses: _Accesses, x: int, y: int) -> bool:
    """Whether every load of buffer x is of the place that the one store into y writes later in the same iteration."""
    stores = accesses.stores.get(y, [])
    if not accesses.known or len(stores) != 1 or y in accesses.loads:
        return False
    (stored, store), = stores
    within = ix.axes_of(store.index)
    if data_exprs(store.index):     # a place may be there twice
        return False
    if any(axis not in within for axis in kernel.parallel if axis.extent > 1):
        return False
    for loaded, load in accesses.loads.get(x, []):
        common = [a for (a, b) in zip(load.loops, store.loops, strict=False) if a == b]
        if load.masked or load.index != store.index or loaded > stored:
            return False
        if any(axis not in within for _, axis in common):   # a later turn of the loop would load what this one stored
            return False
    return True
