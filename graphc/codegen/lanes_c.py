"""Expressions over one contiguous axis, spelled as vectors of GNU C: as many elements as a vector has float32 lanes.

GCC takes loops over narrow integers apart into vectors of different lengths and shuffles between them. Where a loop has
loads, casts, shifts, masks and arithmetic of 32 bits alone, as the unpacking of quantised weights has, it is spelled in
vectors of one length instead; narrow integers are held in lanes of 32 bits. The other loops stay plain C.
"""
from __future__ import annotations

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import INDEX, LOAD, VALUE, Let, data_exprs, index_of, operands
from graphc.ir.node import Node, const_value
from graphc.ir.ops import ADD, AND, CAST, CONST, FENCE, FMA, MUL, NEG, OR, SHL, SHR, SUB, XOR

_INTEGERS = (dt.int8, dt.uint8, dt.int16, dt.uint16, dt.int32)      # held in lanes of int32, by value
_FLOATS = (dt.float16, dt.bfloat16, dt.float32)                     # held in lanes of float32
# Binary digits that values have at most. Products with bfloat16 may overflow: they count as any float32.
_DIGITS = {dt.int8: 8, dt.uint8: 8, dt.int16: 16, dt.uint16: 16, dt.int32: 32, dt.float16: 11, dt.bfloat16: 24,
           dt.float32: 24}
FLOAT_DIGITS = 24
_SYMBOLS = {ADD: "+", SUB: "-", MUL: "*", AND: "&", OR: "|", XOR: "^"}


def _constant(node: Node) -> int | None:
    """The value of an integer that is the same everywhere."""
    while node.op is CAST:
        node = node.srcs[0]
    index = index_of(node)
    if node.op is INDEX and index is not None and not index.terms:
        return index.const
    return int(const_value(node)) if node.op is CONST and node.dtype in _INTEGERS else None


class Lanes:
    """Spells expressions for the loop over `axis`, whose variable is the first of the lanes."""

    def __init__(self, spell, axis: Axis):
        self.spell, self.axis = spell, axis
        self.vectors: dict[str, Node] = {}  # names of values that are vectors
        self.used: set[str] = set()         # and those of them that were read

    def spellable(self, lets: list[Let], value: Node) -> bool:
        """Whether the loop can be spelled in vectors. `lets` are then its names."""
        for let in lets:
            self.vectors[let.name] = let.value
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
        if op is SHR or op is SHL and dtype is dt.int32:
            return dtype in _INTEGERS and not self._varies(node.srcs[1]) and self._known(node.srcs[0])
        exact = {ADD: (dt.float32, dt.int32), SUB: (dt.float32, dt.int32), MUL: (dt.float32, dt.int32),
                 NEG: (dt.float32,), FMA: (dt.float32,), FENCE: _INTEGERS + _FLOATS,
                 AND: _INTEGERS, OR: _INTEGERS, XOR: _INTEGERS}
        return dtype in exact.get(op, ()) and all(self._known(s) for s in node.srcs)

    # ------------------------------------------------------------------------------------------------ spelling

    def lets(self, lets: list[Let]) -> list[dict]:
        """Those that what was spelled before reads."""
        out: list[dict] = []
        for let in reversed(lets):
            if let.name in self.used:
                out.insert(0, {"kind": "let", "name": let.name, "value": self.expr(let.value),
                               "type": "gc_vector" if let.value.dtype in _FLOATS else "gc_integers"})
        return out

    def expr(self, node: Node) -> str:
        self.spell.helpers["gc_tiles_lanes_float"] = None
        if not self._varies(node):
            return self._same(node)
        op = node.op
        if op is VALUE:
            self.used.add(node.attrs[0])
            return node.attrs[0]
        if op is LOAD:
            number, index = node.attrs
            for name in ("gc_load_float16", "gc_tiles_halves_float") if node.dtype is dt.float16 else ():
                self.spell.helpers[name] = None
            return f"gc_lanes_{node.dtype.name}(&{self.spell.kernel.buffers[number].name}[{self.spell.index(index)}])"
        if op is CAST:
            if node.dtype is dt.float32 and (nibble := self._nibble(node.srcs[0])):
                return nibble
            text, source = self.expr(node.srcs[0]), node.srcs[0].dtype
            converts = node.dtype is dt.float32 and source in _INTEGERS
            return f"__builtin_convertvector({text}, gc_vector)" if converts else text
        if op in (SHL, SHR):
            return f"gc_lanes_{op.name}({self.expr(node.srcs[0])}, {self.spell.expr(node.srcs[1])})"
        if op is NEG:
            return f"(-{self.expr(node.srcs[0])})"
        if op is FENCE:
            return self.expr(node.srcs[0])
        if op is FMA:
            return f"gc_fma_vector({', '.join(map(self.expr, node.srcs))})"
        if op is ADD and (fused := self._fused(node)):
            return fused
        if op is AND and (masked := self._masked(node)):
            return masked
        left, right = (self.expr(s) for s in node.srcs)
        if node.dtype is dt.int32 and op in (ADD, SUB, MUL):
            return f"(gc_integers)((gc_naturals){left} {_SYMBOLS[op]} (gc_naturals){right})"
        return f"({left} {_SYMBOLS[op]} {right})"

    def _fused(self, node: Node) -> str | None:
        """A sum with a product in one rounding, if the product is exact: a narrow integer times a half for example."""
        for product, other in (node.srcs, node.srcs[::-1]):
            product = self.vectors.get(product.attrs[0], product) if product.op is VALUE else product
            if node.dtype is dt.float32 and product.op is MUL and sum(map(self._digits, product.srcs)) <= FLOAT_DIGITS:
                a, b = (self.expr(s) for s in product.srcs)
                return f"gc_fma_vector({a}, {b}, {self.expr(other)})"
        return None

    def _masked(self, node: Node) -> str | None:
        """The lowest digits of what is shifted down: where no others are left, they need no mask."""
        for shifted, mask in (node.srcs, node.srcs[::-1]):
            if shifted.op is SHR and mask.op is CONST and self._is_natural(shifted.srcs[0]):
                most = 2 ** self._digits(shifted.srcs[0]) - 1
                value, by = self.expr(shifted.srcs[0]), self.spell.expr(shifted.srcs[1])
                return f"gc_lanes_digits({value}, {by}, {most}, {self.spell.expr(mask)})"
        return None

    def _nibble(self, node: Node) -> str | None:
        """The lowest four bits of an integer as a number."""
        if node.op is AND and not self._masked(node):
            for source, mask in (node.srcs, node.srcs[::-1]):
                if _constant(mask) == 15:
                    return f"gc_lanes_nibble({self.expr(source)})"
        return None

    def _digits(self, node: Node) -> int:
        """In how many binary digits the values of an expression are exact, as far as its types tell."""
        if node.op is VALUE and node.attrs[0] in self.vectors:
            return self._digits(self.vectors[node.attrs[0]])
        if node.op is SHR and (by := _constant(node.srcs[1])) is not None and 0 <= by < 32:
            return max(1, min(self._digits(node.srcs[0]), _DIGITS[node.dtype] - by))
        if node.op is CONST and node.dtype in _INTEGERS:
            return int(const_value(node)).bit_length()
        if node.op in (CAST, FENCE, SHR):
            return min(self._digits(node.srcs[0]), _DIGITS[node.dtype])
        if node.op is AND:      # of what is not negative
            return min([self._digits(s) for s in node.srcs if self._is_natural(s)], default=_DIGITS[node.dtype])
        return _DIGITS[node.dtype]

    def _is_natural(self, node: Node) -> bool:
        if node.op is VALUE and node.attrs[0] in self.vectors:
            return self._is_natural(self.vectors[node.attrs[0]])
        if node.op is CONST:
            return node.dtype in _INTEGERS and const_value(node) >= 0
        return node.dtype in (dt.uint8, dt.uint16) or (node.op in (CAST, FENCE, SHR) and node.dtype in _INTEGERS
                                                      and self._is_natural(node.srcs[0]))

    def _same(self, node: Node) -> str:
        """One value in all lanes."""
        if node.dtype in _FLOATS:
            return f"({self.spell.expr(node)} - (gc_vector){{0}})"
        return f"((int32_t)({self.spell.expr(node)}) - (gc_integers){{0}})"
