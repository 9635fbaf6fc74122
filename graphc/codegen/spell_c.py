"""Expressions of C kernels: as for every dialect, but for what GCC 12 does to pairs and to casts of casts."""
from __future__ import annotations

import functools

from graphc.codegen.spell import Dialect, Speller
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.kernel import VALUE, If, Kernel, Loop, Store, Template
from graphc.ir.node import Node
from graphc.ir.ops import ADD, MUL, SUB


class CSpeller(Speller):
    """Where neighbours in memory are stored in one turn of a loop, GCC 12 makes fused multiply-adds of a sum in one and
    a difference in the other, -ffp-contract=off or not. So their products are kept apart from what adds them. And where
    real numbers have become integers, it is kept from seeing that these become real numbers again.
    """

    divisions = "gc_place_floordiv_int64_t", "gc_place_remainder_int64_t"
    truncates = False       # whether a real number has become an integer

    def __init__(self, language: Dialect, kernel: Kernel):
        super().__init__(language, kernel)
        self.wide: dict[Node, str] = {}     # what is read -> where it lies already, in register form

    def _load(self, node: Node) -> str:
        return self.wide.get(node) or super()._load(node)

    def _convert(self, text: str, source: DType, target: DType) -> str:
        if source.kind in "iu" and source.itemsize >= 4 and target.kind in "fc" and self.truncates:
            helper = f"gc_whole_{self.language.register(source)}"
            self._need(helper)
            text = f"{helper}({text})"
        self.truncates |= source.kind in "fc" and target.kind in "iu"
        return super()._convert(text, source, target)

    @functools.cached_property
    def in_pairs(self) -> bool:
        return _stores_neighbours(self.kernel.body)

    def _operation(self, node: Node) -> str:
        if node.op not in (ADD, SUB) or node.dtype not in (dt.float32, dt.float64) or not self.in_pairs:
            return super()._operation(node)
        left, right = (self._apart(s) for s in node.srcs)
        return f"{left} {'+' if node.op is ADD else '-'} {right}"

    def _apart(self, node: Node) -> str:
        if node.op is not MUL and node.op is not VALUE:
            return self._operand(node)
        helper = f"gc_apart_{self.language.register(node.dtype)}"
        self._need(helper)
        return f"{helper}({self.expr(node)})"


def _stores_neighbours(body: tuple) -> bool:
    places = [s.buffer for s in body if type(s) is Store and s.local is None]
    if len(set(places)) < len(places):
        return True
    inner = [s.body for s in body if type(s) is Loop]
    inner += [part for s in body if type(s) is If for part in (s.body, s.otherwise)]
    inner += [s.epilogue for s in body if type(s) is Template]
    return any(map(_stores_neighbours, inner))
