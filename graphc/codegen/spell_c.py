"""Expressions of C kernels: as for every dialect, but for what GCC 12 does to pairs, to casts of casts, and to
functions under a condition."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from graphc.codegen.spell import Dialect, Speller
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.index import Axis, Data
from graphc.ir.kernel import VALUE, Accumulate, If, Kernel, Let, Loop, Store, Template, below, operands
from graphc.ir.node import Node
from graphc.ir.ops import ADD, AND, CAST, CONST, ELEMENTWISE, MAXIMUM, MINIMUM, MUL, NEG, OR, SUB, WHERE, XOR

FUNCTION = 8        # cost of an operation from which on it may be a call
# Of truth values and constants these make no more than two values, or what a compiler takes apart into such and others.
_KEEP_TRUTH = frozenset((CAST, WHERE, ADD, SUB, MUL, NEG, MAXIMUM, MINIMUM, AND, OR, XOR))


class CSpeller(Speller):
    """Where neighbours in memory are stored in one turn of a loop, as the parts of a complex number are, GCC 12 makes
    fused multiply-adds of a sum in one and a difference in the other, -ffp-contract=off or not. So their products are
    kept apart from what adds them.

    Where real numbers have become integers, it is kept from seeing that these become real numbers again.

    In a loop that calls a function, a choice between values is one between their bits: GCC would call the function
    under the condition, and no such loop becomes vectors.

    A real number that becomes an integer of one or two bytes only to be widened again wraps in a word: GCC would pack
    vectors of bytes, and take them apart element by element.

    A truth value that is an index is kept from being seen as such: for AVX-512, GCC 12 takes the bits of a mask for
    indices, eight at a time, and reads elsewhere.
    """

    divisions = "gc_place_floordiv_int64_t", "gc_place_remainder_int64_t"
    truncates = False       # whether a real number has become an integer

    def __init__(self, language: Dialect, kernel: Kernel):
        super().__init__(language, kernel)
        self.wide: dict[Node, str] = {}     # what is read -> where it lies already, in register form
        self.calls = False                  # whether the innermost loop calls a function
        self.words: set[str] = set()        # names in it of narrow integers that are words
        self.truths: set[str] = set()       # names of integers that are truth values

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
        return any(b.dtype.kind == "c" for b in self.kernel.buffers) or _stores_neighbours(self.kernel.body)

    @contextmanager
    def stepping(self, axis: Axis) -> Iterator[None]:
        """Where each turn of a loop over the axis stores several neighbours, as the kernel's own loops may not."""
        outside = self.in_pairs, self.steps
        self.in_pairs, self.steps = True, axis
        yield
        self.in_pairs, self.steps = outside

    @contextmanager
    def inside(self, body: tuple) -> Iterator[None]:
        """Where the statements of a loop are spelled."""
        outside, values = (self.calls, self.words), [s.value for s in body if type(s) in (Let, Store, Accumulate)]
        for s in body:
            if type(s) is Let and _is_truth(s.value, self.truths):
                self.truths.add(s.name)
        computed = (expr for expr in below(values) if expr.op.kind == ELEMENTWISE)
        self.calls = any(expr.op.cost >= FUNCTION and expr.srcs[0].dtype.kind == "f" for expr in computed)
        self.words = _words(body, values)
        yield
        self.calls, self.words = outside

    def let(self, s: Let) -> tuple[str, str]:
        return ("int32_t", self._wrapped(s.value)) if s.name in self.words else super().let(s)

    def _atom(self, atom) -> str:
        text = super()._atom(atom)
        if type(atom) is not Data or not _is_truth(atom.expr, self.truths):
            return text
        self._need("gc_place_of_int64_t")
        return f"gc_place_of_int64_t({text})"

    def _wrapped(self, cast: Node) -> str:
        """What `_narrows`, as a word."""
        self.truncates, shift = True, 32 - cast.dtype.bits
        return f"(int32_t)((uint32_t)(int32_t){self._operand(cast.srcs[0])} << {shift}) >> {shift}"

    def _operation(self, node: Node) -> str:
        if node.op is WHERE and (self.calls or node.dtype.kind == "c"):
            helper = f"gc_{'c' if node.dtype.kind == 'c' else ''}select_{self.language.register(node.dtype)}"
            self._need(helper)
            return f"{helper}({', '.join(map(self.expr, node.srcs))})"
        if node.op is CAST and node.dtype.itemsize >= 4 and _narrows(node.srcs[0]):
            return self._convert(self._wrapped(node.srcs[0]), node.srcs[0].dtype, node.dtype)
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


def _narrows(node: Node) -> bool:
    """Whether a real number becomes a signed integer of one or two bytes."""
    return node.op is CAST and node.dtype in (dt.int8, dt.int16) and node.srcs[0].dtype.kind == "f"


def _is_truth(node: Node, names: set[str]) -> bool:
    """Whether a compiler may find that an integer is a truth value, or one of two constants."""
    if node.op is VALUE:
        return node.attrs[0] in names
    if node.dtype is dt.bool:
        return True
    chosen = node.srcs[1:] if node.op is WHERE else node.srcs
    return node.dtype.kind in "iu" and node.op in _KEEP_TRUTH and all(
        s.op is CONST or _is_truth(s, names) for s in chosen)


def _words(body: tuple, values: list[Node]) -> set[str]:
    """The names in a loop of what `_narrows` and is widened again."""
    found = {s.name for s in body if type(s) is Let and _narrows(s.value)}
    if not found or any(type(s) not in (Let, Store, Accumulate) for s in body):
        return set()
    kept = {value.attrs[0] for value in values if value.op is VALUE}
    for expr in below(values):
        if expr.op is not CAST or expr.dtype.itemsize < 4:
            kept |= {src.attrs[0] for src in operands(expr) if src.op is VALUE}
    return found - kept


def _stores_neighbours(body: tuple) -> bool:
    places = [s.buffer for s in body if type(s) is Store and s.local is None]
    if len(set(places)) < len(places):
        return True
    inner = [s.body for s in body if type(s) is Loop]
    inner += [part for s in body if type(s) is If for part in (s.body, s.otherwise)]
    inner += [s.epilogue for s in body if type(s) is Template]
    return any(map(_stores_neighbours, inner))
