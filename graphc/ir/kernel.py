"""Kernels: loop trees over buffers, the last form before source text.

A `Kernel` is one parallel nest and so one launch on every backend. Its body is a tree of `Loop` and `If` over `Let`,
`Local`, `Accumulate` and `Store`. Expressions are graph nodes of shape () whose leaves are the four ops below: there
is one node type and one op table for graphs and kernels alike. A `Template` stands for loops that codegen writes in a
form of their own (a matrix product in tiles); what it reads and what is done with its result are such trees again.

The parallel axes are walked in row-major order and cut into chunks of `chunk` iterations. With `tiled`, the last
parallel axis is not fixed in the body: the body loops over the segment of it that belongs to the chunk (a `Loop` of
that very axis), and what is accumulated or let outside such a loop is an array over the segment.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.index import Axis, Data, FloorDiv, Index, Mod
from graphc.ir.node import Node, make
from graphc.ir.ops import MAX, MIN, OTHER, TABLE, Op
from graphc.ir.target import panel_bytes

INDEX = TABLE["index"] = Op("index", 0, OTHER)       # attrs (Index,): its value, int64
LOAD = TABLE["load"] = Op("load", -1, OTHER)         # attrs (buffer, Index), srcs () or (mask,): 0 where not mask
LOCAL = TABLE["local"] = Op("local", 0, OTHER)       # attrs (name, Index): an element of a local array
VALUE = TABLE["value"] = Op("value", 0, OTHER)       # attrs (name,): a Let or a finished Accumulate


class KernelBuffer(Struct, frozen=True):
    name: str
    dtype: DType
    size: int               # elements
    written: bool
    same: int | None = None     # an input: the output with which it shares memory and name (passes/inplace.py)


def buffers_of(inputs: Iterable[Node], outputs: Iterable[Node]) -> tuple[KernelBuffer, ...]:
    """The buffers of a kernel that reads some nodes and writes others."""
    read = [KernelBuffer(f"x{k}", n.dtype, n.size, False) for k, n in enumerate(inputs)]
    return (*read, *[KernelBuffer(f"y{k}", n.dtype, n.size, True) for k, n in enumerate(outputs)])


class Let(Struct, frozen=True):
    """Name a value for the rest of the enclosing loop."""

    name: str
    value: Node


class Local(Struct, frozen=True):
    """Scratch array of `extent` elements, private to an iteration of the parallel nest.

    In a tiled kernel it belongs to a segment, and its index counts from the segment's start.
    """

    name: str
    dtype: DType
    extent: int


class Accumulate(Struct, frozen=True):
    """Combine `value` over the enclosing reduction loop into `name`, in the tree that `order` names."""

    name: str
    op: Op                  # SUM, PROD, MAX, MIN, M2, DOT
    order: str              # "inner", "outer", "pairwise", "chain": docs/numerics.md; "scan": the value so far is read
    dtype: DType
    value: Node
    other: Node | None = None   # DOT: the second factor

    @property
    def is_exact(self) -> bool:
        """Whether the result depends on no order: maxima and minima, and what integers are summed to."""
        return self.op in (MAX, MIN) or self.dtype.kind in "biu"


class Store(Struct, frozen=True):
    buffer: int
    index: Index
    value: Node
    local: str | None = None    # set: the target is this local array instead of a buffer


class Loop(Struct, frozen=True):
    """kind: "vector" (iterations independent or a reduction, SIMD), "scalar" (independent, but too few to be worth the
    time that vectors take to compile), "serial" (in order), "reduce" (around Accumulate).

    `start` and `limit`: when given, the loop runs from start, and ends at min(extent, limit).
    """

    axis: Axis
    kind: str
    body: tuple
    limit: Index | None = None
    start: Index | None = None


class If(Struct, frozen=True):
    """One of two bodies, by a condition that is the same for all iterations of the loops inside.

    `share`: how often it holds, as it is counted; 1 where the other body is for edges
    """

    test: Node
    body: tuple
    otherwise: tuple
    share: float = 1.0


class Span(Struct, frozen=True):
    """A range of positions that a template goes over, walked in row-major order by `axes`, outermost first; those of an
    operand walk it by axes of its own.

    With `block`, an iteration of the parallel nest has `length` positions of it, from block * length on.
    """

    name: str
    axes: tuple[Axis, ...]
    block: Axis | None = None
    length: int = 0

    @property
    def size(self) -> int:
        return prod(a.extent for a in self.axes)


class Operand(Struct, frozen=True):
    """A matrix that a template reads. `body` is one nest of loops over two spans around a Store of one element into the
    local array `name`, at row * columns + column; the first of `spans` are the rows. `axes` walk them, each by as many
    as its index needs.

    The order of the loops says along which span memory is contiguous: the innermost one's.
    """

    name: str
    dtype: DType
    spans: tuple[str, str]
    axes: tuple[tuple[Axis, ...], tuple[Axis, ...]]
    body: tuple


class Template(Struct, frozen=True):
    """Loops over `spans` that codegen has a text of its own for; `name` says which.

    gemm    spans m, n, k; operands a (m, k) and b (k, n). For each m and n the sum over k of a * b, in the order
            "chain" of docs/numerics.md, is `result`; `epilogue` is a nest of loops over the axes of m and n that reads
            it as a VALUE. facts: symmetric, whether a is b transposed, and m and n have equal blocks: those on one
            side of the diagonal are computed.
    gemv    the same for few m, which are not cut into blocks: b is read once, in the order in which it lies.
    direct  the same for factors in memory that are not packed: the rows of b, each in one piece, fit the L1 cache.
    mma     the same on a matrix unit, in the order "mma"; the operands are of the dtype that it takes, float32
            being rounded to TF32.
    attention  spans m, n, c, e; operands q (m, c), k (n, c), v (n, e), and scores (n, m), an expression of the VALUE
            "score", the sum over c of q * k. `result` is the sum over n of softmax(scores) * v. facts: diagonal, None
            or the expression d with which scores are -inf for all n > m * slope + d, the slope being 0 or 1; operand
            plain (n, m) is without that; columns: 0, or 2 for a span r of two more columns, each row's largest score
            and the sum of its weights.
    weighted  spans r, s, e and c0, c1, ...; operands lanes0 (r, c0), rows0 (s, c0), lanes1 (r, c1), ..., row0 (r), ...,
            and weights (w, r), w being all s for each of some products: expressions of the VALUEs "score", "score1",
            ..., the sums over c0, c1, ... of lanes * rows, and of "row0", .... `result` is, product beside product, the
            sum over s of weight * values. facts: parts, the number of scores; rows, the names of row0, ...; values, the
            operand (s, c or e) that each product has as values; diagonal, None or the d with which weights are 0 unless
            s <= r * slope + d, or with keys unless r <= s * slope + d; operand plain is without that, and what weights
            are before it.
    blocked  spans m, n, k (all blocks, one after the other), r (blocks, m); operands a (m, k), b (k, n), and terms
            (r, n), an expression of the VALUE "score": the sum over a block's part of k of a * b, in int32. `result` is
            the sum of the terms over blocks, in the order "outer". facts: blocks, their number; bits, 4 or 8 if b is
            cut from words of int32, the first along k in the lowest bits: operand words (w, n); else 0.
    """

    name: str
    result: str
    dtype: DType            # in which it is added up
    spans: tuple[Span, ...]
    operands: tuple[Operand, ...]
    epilogue: tuple
    facts: tuple = ()       # (name, value) of what else the template knows

    def span(self, name: str) -> Span:
        return next(s for s in self.spans if s.name == name)

    def walked(self, operand: Operand | None = None) -> dict[str, Span]:
        """The spans by name as the nest of an operand, or the epilogue, walks them."""
        own = () if operand is None else zip(operand.spans, operand.axes, strict=True)
        return {x.name: x for x in self.spans} | {name: replace(self.span(name), axes=axes) for name, axes in own}


class Kernel(Struct, frozen=True):
    name: str
    buffers: tuple[KernelBuffer, ...]
    params: tuple[tuple[int, DType], ...]   # scalar arguments: the program's number and dtype; PARAM has the place here
    parallel: tuple[Axis, ...]
    tiled: bool
    width: int | None                   # tiled: the longest segment; None where any length will do
    chunk: int
    body: tuple
    unrolled: bool = False              # holds a short reduction as an expression
    strip: int = 32                     # elements that an operation of a long formula takes before the next one does
    streams: bool = False               # what it stores bypasses the caches, which are too small for it
    lanes: int = 0                      # of the vectors that short rows go by, each a whole one: the last may overlap
    panel: int = 0                      # bytes of a product's second factor that are packed at a time; 0: as fits
    prologue: tuple = ()                # run once for a range of chunks, before the parallel nest

    @property
    def iterations(self) -> int:
        return prod(a.extent for a in self.parallel)

    @property
    def chunks(self) -> int:
        return -(-self.iterations // self.chunk)


def index_value(index: Index, dtype: DType = dt.int64) -> Node:
    """The value of an index as an expression."""
    return make(INDEX, dtype, (), (), (index,))


def load(buffer: int, index: Index, dtype: DType, mask: Node | None = None) -> Node:
    return make(LOAD, dtype, (), () if mask is None else (mask,), (buffer, index))


def accumulations(body: tuple) -> list[Accumulate]:
    """Those of a loop, also over a tile inside of it."""
    found: list[Accumulate] = []
    for s in body:
        if type(s) is Accumulate:
            found.append(s)
        elif type(s) is Loop:
            found += accumulations(s.body)
    return found


def has_masked_load(expr: Node) -> bool:
    return expr.op is LOAD and bool(expr.srcs) or any(map(has_masked_load, expr.srcs))


def data_exprs(index: Index) -> list[Node]:
    """The expressions gathered inside an index."""
    found: list[Node] = []
    for atom, _ in index.terms:
        if type(atom) is Data:
            found.append(atom.expr)
        elif type(atom) in (FloorDiv, Mod):
            found += data_exprs(atom.numerator)
    return found


def index_of(expr: Node) -> Index | None:
    """The index inside an INDEX, LOAD or LOCAL expression."""
    if expr.op is INDEX:
        return expr.attrs[0]
    if expr.op is LOAD or expr.op is LOCAL:
        return expr.attrs[1]
    return None


def operands(expr: Node) -> tuple[Node, ...]:
    """The expressions that this one reads: its sources and what its index gathers."""
    index = index_of(expr)
    return expr.srcs if index is None else (*expr.srcs, *data_exprs(index))


def innermost(body: tuple) -> Loop:
    loop = next(x for x in body if type(x) is Loop)
    while any(type(x) is Loop for x in loop.body):
        loop = next(x for x in loop.body if type(x) is Loop)
    return loop


def statements(body: tuple) -> list:
    """What stands in a nest, without its loops."""
    found: list = []
    for x in body:
        found += statements(x.body) if type(x) is Loop else [x]
    return found


def in_panels(value: Node, n: tuple[Axis, ...], k: tuple[Axis, ...]) -> bool:
    """Whether a product's second factor, with columns n and rows k, is an array that passes/panels.py has laid out."""
    if value.op is not LOAD or value.srcs or len(n) != 2 or len(k) != 1:
        return False
    width, index = panel_bytes() // value.dtype.itemsize, value.attrs[1]
    return (n[1].extent == width and index.coefficient(n[1]) == 1 and index.coefficient(k[0]) == width
            and all(type(atom) is Axis for atom, _ in index.terms))


def below(roots: Iterable[Node], gathered: bool = True) -> Iterator[Node]:
    """All expressions under these, each once, in an order that depends on the structure alone: names are given in it.
    `gathered`: with those that stand inside of indices."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr not in seen:
            seen.add(expr)
            stack.extend(operands(expr) if gathered else expr.srcs)
            yield expr


def indices_of(roots: Iterable[Node], gathered: bool = True) -> list[Index]:
    """The indices at which the expressions under these read or count, each once."""
    return list(dict.fromkeys(i for i in map(index_of, below(roots, gathered)) if i is not None))
