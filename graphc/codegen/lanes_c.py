"""Expressions over one contiguous axis, spelled as vectors of GNU C: as many elements as a vector has float32 lanes.

GCC takes loops over narrow integers apart into vectors of different lengths and shuffles between them. Where a loop has
loads, casts, shifts, masks and arithmetic of 32 bits alone, as the unpacking of quantised weights has, it is spelled in
vectors of one length instead; narrow integers are held in lanes of 32 bits. The other loops stay plain C.
"""
from __future__ import annotations

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import LOAD, VALUE, Let, data_exprs, index_of, operands
from graphc.ir.node import Node
from graphc.ir.ops import ADD, AND, CAST, FENCE, MUL, NEG, OR, SHR, SUB, XOR

_INTEGERS = (dt.int8, dt.uint8, dt.int16, dt.uint16, dt.int32)      # held in lanes of int32, by value
_FLOATS = (dt.float16, dt.bfloat16, dt.float32)                     # held in lanes of float32
_SYMBOLS = {ADD: "+", SUB: "-", MUL: "*", AND: "&", OR: "|", XOR: "^"}


class Lanes:
    """Spells expressions for the loop over `axis`, whose variable is the first of the lanes."""

    def __init__(self, spell, axis: Axis):
        self.spell, self.axis = spell, axis
        self.vectors: set[str] = set()      # names of values that are vectors

    def spellable(self, lets: list[Let], value: Node) -> bool:
        """Whether the loop can be spelled in vectors. `lets` are then its names."""
        for let in lets:
            self.vectors.add(let.name)
            if not self._known(let.value):
                return False
        return self._known(value)

    def _varies(self, node: Node) -> bool:
        if node.op is VALUE:
            return node.attrs[0] in self.vectors
        index = index_of(node)
        if index is not None and (self.axis in ix.axes_of(index) or any(self._varies(e) for e in data_exprs(index))):
            return True
        return any(self._varies(s) for s in operands(node))

    def _known(self, node: Node) -> bool:
        op, dtype = node.op, node.dtype
        if dtype not in _INTEGERS and dtype not in _FLOATS:
            return False
        if not self._varies(node) or op is VALUE:
            return True
        if op is LOAD:
            index = node.attrs[1]
            rest = ix.add(index, ix.mul(ix.of(self.axis), -1))
            return not node.srcs and not data_exprs(index) and self.axis not in ix.axes_of(rest)
        if op is CAST:
            (source,) = node.srcs
            widens = dtype is dt.float32 or (dtype is dt.int32 and source.dtype in _INTEGERS)
            return widens and self._known(source)
        if op is SHR:
            return dtype in _INTEGERS and not self._varies(node.srcs[1]) and self._known(node.srcs[0])
        exact = {ADD: (dt.float32, dt.int32), SUB: (dt.float32, dt.int32), MUL: (dt.float32, dt.int32),
                 NEG: (dt.float32,), FENCE: _INTEGERS + _FLOATS, AND: _INTEGERS, OR: _INTEGERS, XOR: _INTEGERS}
        return dtype in exact.get(op, ()) and all(self._known(s) for s in node.srcs)

    # ------------------------------------------------------------------------------------------------ spelling

    def let(self, let: Let) -> dict:
        return {"kind": "let", "name": let.name, "value": self.expr(let.value),
                "type": "gc_vector" if let.value.dtype in _FLOATS else "gc_integers"}

    def expr(self, node: Node) -> str:
        if not self._varies(node):
            return self._same(node)
        op = node.op
        if op is VALUE:
            return node.attrs[0]
        if op is LOAD:
            number, index = node.attrs
            halves = ("gc_load_float16", "gc_tiles_halves_float") if node.dtype is dt.float16 else ()
            for name in ("gc_tiles_lanes_float", *halves):
                self.spell.helpers[name] = None
            return f"gc_lanes_{node.dtype.name}(&{self.spell.kernel.buffers[number].name}[{self.spell.index(index)}])"
        if op is CAST:
            text, source = self.expr(node.srcs[0]), node.srcs[0].dtype
            converts = node.dtype is dt.float32 and source in _INTEGERS
            return f"__builtin_convertvector({text}, gc_vector)" if converts else text
        if op is SHR:
            return f"gc_lanes_shr({self.expr(node.srcs[0])}, {self.spell.expr(node.srcs[1])})"
        if op is NEG:
            return f"(-{self.expr(node.srcs[0])})"
        if op is FENCE:
            return self.expr(node.srcs[0])
        left, right = (self.expr(s) for s in node.srcs)
        if node.dtype is dt.int32 and op in (ADD, SUB, MUL):
            return f"(gc_integers)((gc_naturals){left} {_SYMBOLS[op]} (gc_naturals){right})"
        return f"({left} {_SYMBOLS[op]} {right})"

    def _same(self, node: Node) -> str:
        """One value in all lanes."""
        if node.dtype in _FLOATS:
            return f"({self.spell.expr(node)} - (gc_vector){{0}})"
        return f"((int32_t)({self.spell.expr(node)}) - (gc_integers){{0}})"
