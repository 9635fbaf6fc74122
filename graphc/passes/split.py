"""Split reductions that leave too little parallel work into two: blocks, then the blocks' results.

A block is a power of two of the tree's chunks, hence a whole subtree of it, so that the split changes no bit
(docs/numerics.md). The first part keeps the axis, with one element a block; its attrs are (axis, order, block).

    sum(x[16M])  ->  sum_pairwise(sum_blocks(x))
"""
from __future__ import annotations

from graphc.ir.node import Node, const, make, rebuild, topological
from graphc.ir.ops import DIV, EXPAND, M2, MUL, REDUCE, RESHAPE, SUB, SUM
from graphc.ir.trees import CHUNKS

MIN_OUTPUTS = 64            # enough parallel work items without a split
MIN_ELEMENTS = 1 << 17      # below, one thread is as fast
MAX_BLOCKS = 1024
SPLITTABLE = ("inner", "outer")


def block_length(order: str, length: int) -> int:
    """Elements a block: the smallest power of two of chunks that leaves at most MAX_BLOCKS blocks."""
    block = CHUNKS[order]
    while -(-length // block) > MAX_BLOCKS:
        block *= 2
    return block


def split_reductions(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    new: dict[Node, Node] = {}
    for node in topological(roots):
        current = rebuild(node, [new[s] for s in node.srcs]) if node.srcs else node
        new[node] = _split(current) if _wanted(current) else current
    return tuple(new[r] for r in roots)


def _wanted(node: Node) -> bool:
    if node.op.kind != REDUCE or len(node.attrs) == 3 or node.attrs[1] not in SPLITTABLE:
        return False
    src, (axis, order) = node.srcs[0], node.attrs
    return node.size < MIN_OUTPUTS and src.size >= MIN_ELEMENTS and src.shape[axis] > 2 * CHUNKS[order]


def _split(node: Node) -> Node:
    if node.op is M2:
        return _two_sweeps(node)
    src, (axis, order) = node.srcs[0], node.attrs
    length = src.shape[axis]
    block = block_length(order, length)
    blocks = -(-length // block)
    shape = (*src.shape[:axis], blocks, *src.shape[axis + 1:])
    # f16 and bf16 are carried in float32 and rounded once, at the end of the whole tree.
    partial = make(node.op, node.dtype.accumulator, shape, (src,), (axis, order, block))
    return make(node.op, node.dtype, node.shape, (partial,), (axis, "pairwise"))


def _two_sweeps(node: Node) -> Node:
    """Sum of squared deviations of a long axis: the mean first, then the deviations."""
    src, (axis, order) = node.srcs[0], node.attrs
    total = _split(make(SUM, node.dtype, node.shape, (src,), (axis, order)))
    mean = make(DIV, node.dtype, node.shape, (total, const(src.shape[axis], node.dtype)))
    kept = make(RESHAPE, node.dtype, (*node.shape[:axis], 1, *node.shape[axis:]), (mean,))
    spread = kept if kept.size > 1 else make(EXPAND, node.dtype, src.shape, (kept,))
    deviation = make(SUB, node.dtype, src.shape, (src, spread))
    square = make(MUL, node.dtype, src.shape, (deviation, deviation))
    return _split(make(SUM, node.dtype, node.shape, (square,), (axis, order)))
