"""From graph nodes to kernel expressions: what is the value of this node at this index?

`Reader.read` pulls an index through the movement operations down to the memory that it reaches, and rebuilds the
elementwise operations over scalars on the way back. Equal questions have one answer, so shared expressions stay shared.
Iterative: every step is a generator that yields the questions it has, and `read` runs them on a stack of its own.
"""
from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.dtype import DType
from graphc.ir.index import Axis, Data, FloorDiv, Index
from graphc.ir.kernel import VALUE, Accumulate, Loop, index_value, load
from graphc.ir.node import Node, const, make
from graphc.ir.ops import (
    ADD, AND, CAST, CHECK_INDEX, CONCAT, CONST, DIV, DOT, ELEMENTWISE, EQ, EXPAND, FMA, GATHER, IOTA, LE, LT, M2, MUL,
    PAD, PARAM, PERMUTE, PROD, REDUCE, RESHAPE, SCATTER_ROWS, SLICE, SUB, TAKE_ALONG, UPDATE, WHERE, WINDOW,
)

Indices = tuple[Index, ...]
Question = tuple[Node, Indices, Node | None]        # node, index, mask (None: always inside)
Answer = Generator[Question, Node, Node]


class Reader:
    """Expressions of one kernel. `memory` tells what is loaded; `values` gives the names of finished anchors."""

    def __init__(self, memory, values: dict[Node, str]):
        self.memory = memory                        # node -> True when it lies in memory for this kernel
        self.values = values
        self.buffers: dict[Node, int] = {}          # in the order of first use
        self.params: dict[int, DType] = {}          # program parameter -> dtype, in the order of first use
        self._places: dict[int, int] = {}           # program parameter -> its place there, by which kernels name it
        self.unrolled = False                       # whether a short reduction became an expression
        self._answers: dict[tuple, Node] = {}
        self.gathered: dict[Node, str] = {}         # what stands for a place along an axis, and its name
        self._inside: dict[Axis, Index] = {}        # stand for indices that are inside wherever their value matters
        self._stand_in: dict[tuple[Index, int], Index] = {}

    def read(self, node: Node, index: Indices, mask: Node | None = None) -> Node:
        answers = self._answers
        key = (node, index, mask)
        if key in answers:
            return answers[key]
        stack = [(key, self._start(*key))]
        send: Node | None = None
        while stack:
            key, step = stack[-1]
            try:
                question = step.send(send)
            except StopIteration as done:
                send = answers[key] = done.value
                stack.pop()
                continue
            send = answers.get(question)
            if send is None:
                stack.append((question, self._start(*question)))
        return answers[key]

    def fold(self, node: Node) -> Loop:
        """A scalar from few partial results, as a loop before the parallel nest."""
        src, carried = node.srcs[0], node.dtype.accumulator
        axis = Axis("j", src.size)
        value = self.read(src, ix.unflatten(ix.of(axis), src.shape))
        value = value if value.dtype is carried else make(CAST, carried, (), (value,))
        return Loop(axis, "reduce", (Accumulate(self.values[node], node.op, "pairwise", carried, value),))

    def buffer(self, node: Node) -> int:
        return self.buffers.setdefault(node, len(self.buffers))

    # ------------------------------------------------------------------------------------------ one node at a time

    def _start(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        if node.size == 0:
            return self._nothing(node)
        if node in self.values:
            return self._value(node)
        if self.memory(node):
            return self._load(node, index, mask)
        op, kind = node.op, node.op.kind
        if kind == ELEMENTWISE:
            return self._elementwise(node, index, mask)
        if kind == REDUCE:
            return self._unrolled(node, index, mask)
        if kind == GATHER:
            return self._take(node, index, mask)
        return _STEPS[op](self, node, index, mask)

    def _nothing(self, node: Node) -> Answer:
        """Only a loop that never runs asks for an element of nothing. Not a load: it might be moved out of the loop."""
        yield from ()
        return const(0, node.dtype)

    def _value(self, node: Node) -> Answer:
        yield from ()
        value = make(VALUE, node.dtype.accumulator, (), (), (self.values[node],))
        return value if value.dtype is node.dtype else make(CAST, node.dtype, (), (value,))

    def _load(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        yield from ()
        return load(self.buffer(node), self._real(ix.flatten(index, node.shape)), node.dtype, mask)

    def _const(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        yield from ()
        return node

    def _param(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        yield from ()
        self.params.setdefault(node.attrs[0], node.dtype)
        place = self._places.setdefault(node.attrs[0], len(self._places))
        return make(PARAM, node.dtype, (), (), (place,))

    def _iota(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        yield from ()
        return index_value(self._real(index[0]), node.dtype)

    def _elementwise(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        srcs = []
        for src in node.srcs:
            srcs.append((yield src, _broadcast(index, src.shape), mask))
        if node.op is CHECK_INDEX and mask is not None:     # outside, whatever stands there is no index
            srcs[0] = make(WHERE, srcs[0].dtype, (), (mask, srcs[0], const(0, srcs[0].dtype)))
        return make(node.op, node.dtype, (), tuple(srcs), node.attrs, site=node.site)

    def _unrolled(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        """A short reduction as an expression, in the order of its tree (docs/numerics.md)."""
        self.unrolled = True
        axis, order = node.attrs
        src, carried = node.srcs[0], node.dtype.accumulator
        values = []
        for k in range(src.shape[axis]):
            value = yield src, (*index[:axis], ix.constant(k), *index[axis:]), mask
            values.append(value if value.dtype is carried else make(CAST, carried, (), (value,)))
        if not values:
            return const(1 if node.op is PROD else 0, node.dtype)
        if node.op is M2:
            mean = make(DIV, carried, (), (_folded(ADD, values), const(len(values), carried)))
            deviations = [make(SUB, carried, (), (value, mean)) for value in values]
            values = [make(MUL, carried, (), (d, d)) for d in deviations]
        op = node.op.combine
        total = _in_order(op, values) if order == "outer" else _folded(op, values)
        return total if carried is node.dtype else make(CAST, node.dtype, (), (total,))

    def _take(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        src, positions = node.srcs
        along = node.op is TAKE_ALONG
        axis, rank = node.attrs[0], 1 if along else len(positions.shape)
        expr = yield positions, index if along else index[axis:axis + rank], mask
        name = self.gathered.setdefault(expr, f"g{len(self.gathered)}")
        at = ix.of(Data(name, expr, (0, max(src.shape[axis] - 1, 0))))
        return (yield src, (*index[:axis], at, *index[axis + rank:]), mask)

    # ------------------------------------------------------------------------------------------------- movement

    def _reshape(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        src = node.srcs[0]
        return (yield src, ix.through_reshape(index, node.shape, src.shape), mask)

    def _permute(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        back = [ix.ZERO] * len(index)
        for k, axis in enumerate(node.attrs[0]):
            back[axis] = index[k]
        return (yield node.srcs[0], tuple(back), mask)

    def _expand(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        return (yield node.srcs[0], _broadcast(index, node.srcs[0].shape), mask)

    def _slice(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        starts, steps = node.attrs
        moved = tuple(ix.shift(ix.mul(i, t), s) for i, s, t in zip(index, starts, steps, strict=True))
        return (yield node.srcs[0], moved, mask)

    def _window(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        axis, stride, dilation = node.attrs
        at = ix.add(ix.mul(index[axis], stride), ix.mul(index[axis + 1], dilation))
        return (yield node.srcs[0], (*index[:axis], at, *index[axis + 2:]), mask)

    def _within(self, i: Index, n: int) -> Index:
        """What stands for an index while a mask leaves out where it is not below n: as an axis of that extent it takes
        no divisions to pass through reshapes."""
        if n == 1 or i.bounds[0] >= 0 and i.bounds[1] < n:
            return i
        if (i, n) not in self._stand_in:
            axis = Axis(f"inside{len(self._inside)}", n)
            self._inside[axis] = self._real(i)
            self._stand_in[i, n] = ix.of(axis)
        return self._stand_in[i, n]

    def _real(self, i: Index) -> Index:
        return ix.substituted(i, self._inside) if self._inside else i

    def _pad(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        befores, fill = node.attrs
        src = node.srcs[0]
        inside: Node | None = None
        moved = []
        for i, before, n in zip(index, befores, src.shape, strict=True):
            i = ix.shift(i, -before)
            inside = both(inside, in_range(i, 0, n, self._inside))
            moved.append(self._within(i, n))
        value = const(np.frombuffer(fill, node.dtype.numpy)[0], node.dtype)
        if src.size == 0 or (inside is not None and _is_false(inside)):
            return value
        own = yield src, tuple(moved), both(mask, inside)
        return own if inside is None else make(WHERE, node.dtype, (), (inside, own, value))

    def _concat(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        axis = node.attrs[0]
        parts, start = [], 0
        for src in node.srcs:
            i = ix.shift(index[axis], -start)
            inside = in_range(i, 0, src.shape[axis], self._inside) if src.shape[axis] else FALSE
            start += src.shape[axis]
            if inside is None or not _is_false(inside):
                parts.append((inside, (yield src, (*index[:axis], self._within(i, src.shape[axis]), *index[axis + 1:]),
                                       both(mask, inside))))
        if not parts:       # a place outside, which nobody asks for without a condition
            return const(0, node.dtype)
        result = parts[-1][1]
        for inside, value in reversed(parts[:-1]):
            result = make(WHERE, node.dtype, (), (inside, value, result))
        return result

    def _products(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        """A short contraction as an expression: one chain of fused multiply-adds, from 0 on; of integers, a sum."""
        self.unrolled = True
        a, b = node.srcs
        carried = node.dtype.accumulator
        total = const(0, carried)
        *lead, m, n = index
        for k in range(a.shape[-1]):
            x = yield a, (*_broadcast(lead, a.shape[:-2]), m, ix.constant(k)), mask
            y = yield b, (*_broadcast(lead, b.shape[:-2]), ix.constant(k), n), mask
            x, y = (v if v.dtype is carried else make(CAST, carried, (), (v,)) for v in (x, y))
            if carried.kind == "f":
                total = make(FMA, carried, (), (x, y, total))
            else:
                term = make(MUL, carried, (), (x, y))
                total = make(ADD, carried, (), (total, term)) if k else term
        return total if carried is node.dtype else make(CAST, node.dtype, (), (total,))

    def _scatter_nothing(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        """A scatter of no rows; all others have a kernel of their own."""
        return (yield node.srcs[0], index, mask)

    def _update(self, node: Node, index: Indices, mask: Node | None) -> Answer:
        base, value = node.srcs
        old = yield base, index, mask
        inside, moved = update_region(node, tuple(map(self._real, index)))
        if value.size == 0 or (inside is not None and _is_false(inside)):
            return old
        new = yield value, tuple(map(self._within, moved, value.shape)), both(mask, inside)
        return new if inside is None else make(WHERE, node.dtype, (), (inside, new, old))


_STEPS = {CONST: Reader._const, PARAM: Reader._param, IOTA: Reader._iota, RESHAPE: Reader._reshape,
          PERMUTE: Reader._permute, EXPAND: Reader._expand, SLICE: Reader._slice, WINDOW: Reader._window,
          PAD: Reader._pad, CONCAT: Reader._concat, UPDATE: Reader._update,
          SCATTER_ROWS: Reader._scatter_nothing, DOT: Reader._products}

FALSE = const(False, dt.bool)


def _is_false(condition: Node) -> bool:
    return condition is FALSE


def _broadcast(index: Indices, shape: tuple[int, ...]) -> Indices:
    offset = len(index) - len(shape)
    return tuple(ix.ZERO if n == 1 else index[offset + k] for k, n in enumerate(shape))


def both(a: Node | None, b: Node | None) -> Node | None:
    """The conjunction of two conditions; None is true."""
    if a is None or a is b:
        return b
    if b is None:
        return a
    return make(AND, dt.bool, (), (a, b))


def in_range(i: Index, low: int, high: int, instead: Mapping[Axis, Index] | None = None) -> Node | None:
    """The condition low <= i < high; None where the ranges prove it, FALSE where they refute it. `instead`: what it is
    asked of in place of some axes of i."""
    least, most = i.bounds
    if least >= low and most < high:
        return None
    if most < low or least >= high:
        return FALSE
    i = ix.substituted(i, instead) if instead else i
    lacks_low, lacks_high = least < low, most >= high
    while len(i.terms) == 1 and type(i.terms[0][0]) is FloorDiv and i.terms[0][1] == 1:
        # low <= x // n + c < high is n*(low - c) <= x < n*(high - c), and keeps the axes of x whole
        n, c = i.terms[0][0].denominator, i.const
        i, low, high = i.terms[0][0].numerator, n * (low - c), n * (high - c)
    # A constant goes to the other side, as comparisons with 0 are to be avoided: of what is negative GCC 12 takes the
    # signs for a mask, and then loads, in vectors of 32 bytes, what the mask leaves out, before an array for example.
    i, low, high = ix.shift(i, -i.const), low - i.const, high - i.const
    value = index_value(i)
    above = make(LE, dt.bool, (), (index_value(ix.constant(low)), value)) if lacks_low else None
    below = make(LT, dt.bool, (), (value, index_value(ix.constant(high)))) if lacks_high else None
    return both(above, below)


def update_region(node: Node, index: Indices) -> tuple[Node | None, Indices]:
    """Where an index into an updated array lies in the region, and which element of the value it is there."""
    starts, steps = node.attrs
    inside: Node | None = None
    moved = []
    for i, start, step, n in zip(index, starts, steps, node.srcs[1].shape, strict=True):
        offset = ix.shift(i, -start) if step > 0 else ix.shift(ix.mul(i, -1), start)
        at = ix.floordiv(offset, abs(step))
        rest = ix.mod(offset, abs(step))
        if rest.is_const and rest.const != 0:
            inside = FALSE
        elif not rest.is_const:
            inside = both(inside, make(EQ, dt.bool, (), (index_value(rest), index_value(ix.ZERO))))
        condition = in_range(at, 0, n)
        inside = FALSE if condition is FALSE or inside is FALSE else both(inside, condition)
        moved.append(at)
    return inside, tuple(moved)


def _in_order(op, values: list[Node]) -> Node:
    total = values[0]
    for value in values[1:]:
        total = make(op, value.dtype, (), (total, value))
    return total


def _folded(op, values: list[Node]) -> Node:
    """Element k meets element k + half, with half the next power of two halved again and again."""
    half = 1
    while half < len(values):
        half *= 2
    values = list(values)
    while half > 1:
        half //= 2
        for k in range(half):
            if k + half < len(values):
                values[k] = make(op, values[k].dtype, (), (values[k], values[k + half]))
        values = values[:half]
    return values[0]
