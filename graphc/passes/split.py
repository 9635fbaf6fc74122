"""Split reductions and contractions that leave too little parallel work into two: blocks, then the blocks' results.

A block is a power of two of the tree's chunks, hence a whole subtree of it, so that the split changes no bit
(docs/numerics.md). The first part keeps the axis, with one element a block; its attrs are (axis, order, block).

    sum(x[16M])  ->  sum_pairwise(sum_blocks(x))

A long contraction with few results becomes a stack of products, one for each chunk of k, whose results are added in
rising order, as the chunks of one product are:

    dot(a[8, 100000], b[100000, 8])  ->  cumsum(concat(dot(a[195, 8, 512], b[195, 512, 8]), dot(rest)))[-1]
"""
from __future__ import annotations

from graphc.ir.node import Node, const, make, rewritten
from graphc.ir.ops import (
    BUFFER, CONCAT, CONST, CUMSUM, DIV, DOT, ELEMENTWISE, EXPAND, M2, MUL, PARAM, PERMUTE, REDUCE, RESHAPE, SLICE, SUB,
    SUM,
)
from graphc.ir.target import CPU, Target
from graphc.ir.trees import CHUNKS

MIN_OUTPUTS = 64            # enough parallel work items without a split
MIN_ELEMENTS = 1 << 17      # below, one thread is as fast; of groups of work items several are,
MIN_OF_GROUPS = 1 << 15     # as one waits for memory again and again
FEW_COLUMNS = 1 << 10       # whose groups, which take some of them each, are too few to keep a large device busy,
MANY_ELEMENTS = 1 << 22     # if there is much to add up
MAX_BLOCKS, MAX_OF_GROUPS = 1024, 4096
SPLITTABLE = ("inner", "outer")
MOST_RESULTS = 1 << 12      # of a contraction that is split, in
MOST_COLUMNS = 128          # at most so many rows and columns, which are no work for several threads,
LEAST_TERMS = 1 << 21       # and at least so many multiply-adds
LEAST_CHUNKS = 8
WHOLE = (BUFFER, PARAM, CONST, PERMUTE, RESHAPE, EXPAND, SLICE)     # what may be under its factors


def block_length(order: str, length: int, most: int) -> int:
    """Elements a block: the smallest power of two of chunks that leaves at most so many blocks."""
    block = CHUNKS[order]
    while -(-length // block) > most:
        block *= 2
    return block


def split_reductions(roots: tuple[Node, ...], target: Target = CPU) -> tuple[Node, ...]:
    return rewritten(roots, lambda node: _halved(node, target.group > 0))


def _halved(node: Node, of_groups: bool) -> Node | None:
    if node.op is DOT:
        return _by_chunks(node) if _is_long(node) else None
    return _split(node, of_groups) if _wanted(node, of_groups) else None


def _wanted(node: Node, of_groups: bool) -> bool:
    if node.op.kind != REDUCE or len(node.attrs) == 3 or node.attrs[1] not in SPLITTABLE:
        return False
    src, (axis, order) = node.srcs[0], node.attrs
    if src.shape[axis] <= 2 * CHUNKS[order]:
        return False
    if not of_groups or node.op is M2:      # by two sweeps it has other bits: by its shape alone
        return node.size < MIN_OUTPUTS and src.size >= MIN_ELEMENTS
    return (node.size < MIN_OUTPUTS and src.size >= MIN_OF_GROUPS
            or order == "outer" and node.size < FEW_COLUMNS and src.size >= MANY_ELEMENTS)


def _split(node: Node, of_groups: bool) -> Node:
    if node.op is M2:
        return _two_sweeps(node, of_groups)
    src, (axis, order) = node.srcs[0], node.attrs
    length = src.shape[axis]
    block = block_length(order, length, MAX_OF_GROUPS if of_groups and node.size < MIN_OUTPUTS else MAX_BLOCKS)
    blocks = -(-length // block)
    shape = (*src.shape[:axis], blocks, *src.shape[axis + 1:])
    # f16 and bf16 are carried in float32 and rounded once, at the end of the whole tree.
    partial = make(node.op, node.dtype.accumulator, shape, (src,), (axis, order, block))
    return make(node.op, node.dtype, node.shape, (partial,), (axis, "pairwise"))


def _two_sweeps(node: Node, of_groups: bool) -> Node:
    """Sum of squared deviations of a long axis: the mean first, then the deviations."""
    src, (axis, order) = node.srcs[0], node.attrs
    total = _split(make(SUM, node.dtype, node.shape, (src,), (axis, order)), of_groups)
    mean = make(DIV, node.dtype, node.shape, (total, const(src.shape[axis], node.dtype)))
    kept = make(RESHAPE, node.dtype, (*node.shape[:axis], 1, *node.shape[axis:]), (mean,))
    spread = kept if kept.size > 1 else make(EXPAND, node.dtype, src.shape, (kept,))
    deviation = make(SUB, node.dtype, src.shape, (src, spread))
    square = make(MUL, node.dtype, src.shape, (deviation, deviation))
    return _split(make(SUM, node.dtype, node.shape, (square,), (axis, order)), of_groups)


def _is_long(node: Node) -> bool:
    """Whether a contraction has few results and a long k, which is an axis of memory: a cut through several axes that
    lie in one would ask for divisions."""
    m, n = node.shape[-2:]
    k = node.srcs[0].shape[-1]
    return (node.size == m * n <= MOST_RESULTS and max(m, n) <= MOST_COLUMNS and k >= LEAST_CHUNKS * CHUNKS["chain"]
            and k * m * n >= LEAST_TERMS and node.dtype.accumulator is node.dtype and not node.attrs
            and _is_whole(node.srcs[0], k) and _is_whole(node.srcs[1], k))


def _is_whole(src: Node, k: int) -> bool:
    """Whether everything under an operand has an axis of length k, down to memory."""
    stack = [src]
    while stack:
        node = stack.pop()
        if node.size > 1 and k not in node.shape or node.op.kind != ELEMENTWISE and node.op not in WHOLE:
            return False
        stack.extend(node.srcs)
    return True


def _by_chunks(node: Node) -> Node:
    a, b = node.srcs
    dtype, (*_, m, n), k, chunk = node.dtype, node.shape, a.shape[-1], CHUNKS["chain"]
    a, b = make(RESHAPE, dtype, (m, k), (a,)), make(RESHAPE, dtype, (k, n), (b,))
    count = k // chunk
    whole = count * chunk
    rows = make(RESHAPE, dtype, (m, count, chunk), (_part(a, 1, 0, whole),))
    rows = make(PERMUTE, dtype, (count, m, chunk), (rows,), ((1, 0, 2),))
    columns = make(RESHAPE, dtype, (count, chunk, n), (_part(b, 0, 0, whole),))
    sums = make(DOT, dtype, (count, m, n), (rows, columns), site=node.site)
    if whole < k:
        rest = make(DOT, dtype, (m, n), (_part(a, 1, whole, k), _part(b, 0, whole, k)), site=node.site)
        rest = make(RESHAPE, dtype, (1, m, n), (rest,))
        sums, count = make(CONCAT, dtype, (count + 1, m, n), (sums, rest), (0,)), count + 1
    added = make(CUMSUM, dtype, (count, m, n), (sums,), (0,), site=node.site)
    return make(RESHAPE, dtype, node.shape, (_part(added, 0, count - 1, count),))


def _part(x: Node, axis: int, start: int, stop: int) -> Node:
    """The elements start .. stop of an axis."""
    if (start, stop) == (0, x.shape[axis]):
        return x
    starts = tuple(start if a == axis else 0 for a in range(len(x.shape)))
    shape = tuple(stop - start if a == axis else n for a, n in enumerate(x.shape))
    return make(SLICE, x.dtype, shape, (x,), (starts, (1,) * len(shape)))
