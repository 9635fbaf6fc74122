"""An array of many parts is written a part at a time.

A loop over a concatenation is cut where a part ends (passes/ranges.py), a few times. Beyond that it would ask for each
element which part it is of, and its text would name all of them.

    concat(a, b, c, ...)  ->  update(update(update(zeros, a), b), c), ...

Each part is a kernel, parts of one shape are one text, and what updates memory in place moves its own elements only.
"""
from __future__ import annotations

from graphc.ir.conditions import MAX_CUTS
from graphc.ir.node import Node, const, make, replaced, topological
from graphc.ir.ops import BUFFER, CONCAT, EXPAND, UPDATE
from graphc.ir.target import Target
from graphc.passes.evaluate import UNROLLED
from graphc.passes.stored import stored_and_anchors


def write_parts(roots: tuple[Node, ...], target: Target) -> tuple[Node, ...]:
    order = topological(roots, is_leaf=lambda n: n.op is BUFFER)
    many = [n for n in order if n.op is CONCAT and len(n.srcs) > MAX_CUTS + 1]
    if not many:
        return roots
    users: dict[Node, list[Node]] = {}
    for node in order:
        for src in node.srcs:
            users.setdefault(src, []).append(node)
    stored, _ = stored_and_anchors(order, roots, users, target.buffers)
    apart = {n for n in many if len(n.srcs) > UNROLLED or (n in stored and not target.group)}

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
