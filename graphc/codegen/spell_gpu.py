"""Expressions for the GPU family: what OpenCL C and the C++ of CUDA and HIP spell alike, and C otherwise."""
from __future__ import annotations

import numpy as np

from graphc.codegen.spell import NARROW, Speller
from graphc.codegen.wide_gpu import Wide
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.index import FloorDiv, Index, Mod
from graphc.ir.node import Node

REAL = {"cfloat": "float", "cdouble": "double"}
WORDS = {"float": "uint32_t", "double": "uint64_t"}


class GpuSpeller(Speller):
    """Numbers and conversions that have no common builtin; division of indices in 32 bits where they fit.

    wide    what is read beforehand, and stands in a variable
    read    how an element of a buffer that the kernel does not write is read
    """

    wide: Wide | None = None
    read = "{0}"

    def _atom(self, atom) -> str:
        if type(atom) not in (FloorDiv, Mod) or atom.numerator.bounds[0] < 0:
            return super()._atom(atom)
        name = "gc_quotient" if type(atom) is FloorDiv else "gc_rest"
        return f"{name}({self.index(atom.numerator)}, {self.arg(atom.denominator)})"

    def _load(self, node: Node) -> str:
        number, index = node.attrs
        buffer, place = self.kernel.buffers[number], self.place(number, index)
        in_memory = place.startswith(f"{buffer.name}[")
        if in_memory and not buffer.written and buffer.same is None and buffer.dtype.kind != "c":
            place = self.read.format(place)
        text = self.fetch(place, node.dtype)
        if node.srcs:
            return f"{self._operand(node.srcs[0])} ? {text} : {self.zero(node.dtype)}"
        return text

    def place(self, number: int, index: Index) -> str:
        """Where an element is read: in memory, or in the variable that it was read into."""
        if self.wide is not None and (read := self.wide.name_of_load(number, index)):
            return read
        return f"{self.kernel.buffers[number].name}[{self.index(index, number)}]"

    def local(self, name: str, index) -> str:
        return f"{name}[{self.index(index)}]"

    def zero(self, dtype: DType) -> str:
        return self.number("0", dtype) if dtype.kind == "c" else "0"

    def number(self, text: str, dtype: DType) -> str:
        """A real number as one of the dtype."""
        if dtype.kind != "c":
            return text
        real = REAL[self.language.register(dtype)]
        return f"GC_COMPLEX({real}, ({real}){text}, ({real})0)"

    def _convert(self, text: str, source: DType, target: DType) -> str:
        if source.kind != "c" and target.kind != "c":
            return super()._convert(text, source, target)
        name = self.language.register(target)
        if source.kind != "c":
            return self.number(f"({text})", target)
        if target is dt.bool:
            return f"{self.helper('gc_cnonzero_' + self.language.register(source))}({text})"
        if target.kind == "c":
            return text if source is target else f"{self.helper('gc_convert_' + name)}({text})"
        return super()._convert(f"{self.helper('gc_real_' + self.language.register(source))}({text})", source.real,
                                target)

    def helper(self, name: str) -> str:
        self._need(name)
        return name

    def _literal(self, value, dtype: DType) -> str:
        if dtype.kind == "c":
            real, imag = self._literal(value.real, dtype.real), self._literal(value.imag, dtype.real)
            return f"GC_COMPLEX({REAL[self.language.register(dtype)]}, {real}, {imag})"
        return super()._literal(value, dtype)

    def _float(self, value: float, dtype: DType, exact) -> str:
        register = self.language.register(dtype)
        if value - value == 0:
            return super()._float(value, dtype, exact)
        kept = np.float32(value) if dtype in NARROW else np.asarray(exact, dtype.numpy)
        return self.infinite(register, int(np.asarray(kept).view(f"u{np.asarray(kept).itemsize}")))

    def infinite(self, register: str, word: int) -> str:
        return f"{self.helper('gc_bits_' + register)}(0x{word:x}u)"
