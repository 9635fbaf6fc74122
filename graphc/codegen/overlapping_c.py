"""Short rows by whole vectors, of which the last overlaps the one before: some elements are computed again.

    for j < n:  y[j] = x[2 j] + (x[2 j + 1] if b[j] else 0)

    for from < n by 8:  at = min(from, n - 8);  even = x[2 at :: 2];  odd = x[2 at + 1 :: 2];  words = b[at:]
                        for l < 8:  y[at + l] = even[l] + (odd[l] if words[l] else 0)

GCC 12 gives every type vectors of as many bytes. A loop of so few turns would have none of floats beside bytes, which
are words here.
"""
from __future__ import annotations

from graphc.codegen.edges_c import misleads
from graphc.codegen.halves_c import is_every, loads
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.dtype import DType
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import Loop, Store
from graphc.ir.node import Node

WRITTEN_OUT = 8     # turns of a loop that GCC writes out as scalars


def overlapping(model, s: Loop, start: str, stop: str, length: int) -> dict | None:
    """A short row, or a piece of one, of that length; None: it has fewer elements than half a vector."""
    lanes = model.lanes_of_row if length >= model.lanes_of_row else model.lanes_of_row // 2
    if not length >= lanes > 1 or misleads(s.body):
        return None
    row = _Row(model, s.axis, lanes)
    if lanes > 2:
        row.take_every_second(s.body, length)
        row.take_words(s.body)
    found = {"kind": "overlapping", "axis": s.axis.name, "start": start, "stop": stop, "lanes": lanes,
             "read": row.read, "written": row.written, "body": model.statements(s.body, {})}
    row.end()
    return found


class _Row:
    def __init__(self, model, axis: Axis, lanes: int):
        self.model, self.axis, self.lanes = model, axis, lanes
        self.read: list[dict] = []          # arrays of what a vector's lanes read, which are filled first,
        self.written: list[dict] = []       # and of what they store, which are stored last
        self.stores: list[tuple] = []

    def take_every_second(self, body: tuple, length: int) -> None:
        """What a loop reads of elements that lie two apart, as windows do. Of pairs, GCC splits vectors itself, if a
        row is longer than what it writes out."""
        halves = [x for x in loads(body)
                  if x.dtype in (dt.float32, dt.float64) and not x.srcs and is_every(x.attrs[1], self.axis, 2)]
        read = {x.attrs for x in halves}
        for load in halves:
            number, index = load.attrs
            far, left, right, further = ((number, ix.add(index, ix.constant(k))) in read for k in (-2, -1, 1, 2))
            if length <= WRITTEN_OUT or left == right or far or further:
                self._reads("every", load, load.dtype, f"gc_every_{self._type(load.dtype)}")

    def take_words(self, body: tuple) -> None:
        """Bytes, or halves of words, beside words."""
        memory, stores = self.model.kernel.buffers, [s for s in body if type(s) is Store and s.local is None]
        along = [(x, x.dtype, x.attrs[1], bool(x.srcs)) for x in loads(body)]
        along += [(s, memory[s.buffer].dtype, s.index, False) for s in stores]
        size = max((dtype.itemsize for _, dtype, index, _ in along if self.axis in ix.axes_of(index)), default=0)
        for x, dtype, index, masked in along:
            if size not in (4, 8) or dtype.itemsize > 2 or dtype.kind not in "biu" or masked or \
                    not is_every(index, self.axis, 1):
                continue
            word = {4: dt.int32, 8: dt.int64}[size]
            if type(x) is Store:
                self._writes(x, dtype, word)
            else:
                self._reads("words", x, word, f"gc_convert_{self._type(dtype)}_{self._type(word)}")

    def end(self) -> None:
        self.model.spell.wide.clear()
        for key in self.stores:
            del self.model.kept[key]

    def _reads(self, name: str, load: Node, register: DType, helper: str) -> None:
        number, index = load.attrs
        name = f"{name}{len(self.read)}"
        self.read.append(self._array(name, register, helper, number, index))
        self.model.spell.wide[load] = f"{name}[l]"

    def _writes(self, s: Store, dtype: DType, register: DType) -> None:
        name, helper = f"bytes{len(self.written)}", f"gc_convert_{self._type(register)}_{self._type(dtype)}"
        self.written.append(self._array(name, register, helper, s.buffer, s.index))
        self.model.kept[s.buffer, s.index] = name, f"{self.axis.name}_at", self.axis.name
        self.stores.append((s.buffer, s.index))

    def _array(self, name: str, register: DType, helper: str, number: int, index: Index) -> dict:
        """An array of what lies at the lanes' places, and the function that moves it."""
        self.model.spell.helpers[helper] = None
        place = self.model.spell.index(ix.renamed(index, self.axis, f"{self.axis.name}_at"), number)
        return {"name": name, "type": self._type(register), "by": f"{helper}_{self.lanes}",
                "place": f"{self.model.kernel.buffers[number].name}[{place}]"}

    def _type(self, dtype: DType) -> str:
        return self.model.spell.language.memory(dtype)
