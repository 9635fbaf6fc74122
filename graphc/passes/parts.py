"""An array of more parts than a kernel may read is written a part at a time.

    concat(a, b, c, ...)  ->  update(update(update(zeros, a), b), c), ...

Each part is a kernel, parts of one shape are one text, and what updates memory in place moves its own elements only.
"""
from __future__ import annotations

from graphc.ir.node import Node, const, make, replaced, topological
from graphc.ir.ops import BUFFER, CONCAT, EXPAND, SLICE, UPDATE
from graphc.ir.target import Target


def write_parts(roots: tuple[Node, ...], target: Target) -> tuple[Node, ...]:
    order = topological(roots, is_leaf=lambda n: n.op is BUFFER)
    many = {n for n in order if n.op is CONCAT and len(n.srcs) >= target.buffers}
    if not many or target.group:        # work items ask for one element each; a launch takes longer than that
        return roots
    whole = {*roots, *(src for node in order if node.op is not SLICE for src in node.srcs)}
    apart = many & whole                # of what is read in slices, only some parts may be needed

    def rule(node: Node, new: dict[Node, Node]) -> Node | None:
        return _written(node, [new[s] for s in node.srcs]) if node in apart else None
    return replaced(order, roots, rule)


def _written(node: Node, parts: list[Node]) -> Node:
    axis, shape = node.attrs[0], node.shape
    whole, start = make(EXPAND, node.dtype, shape, (const(0, node.dtype),), device=node.device, site=node.site), 0
    for part in parts:
        starts = tuple([start if a == axis else 0 for a in range(len(shape))])
        whole = make(UPDATE, node.dtype, shape, (whole, part), (starts, (1,) * len(shape)), device=node.device,
                     site=part.site)
        start += part.shape[axis]
    return whole
