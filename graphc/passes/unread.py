"""Loops without the results that nobody reads: what a scan keeps for its gradient is made only where one is taken."""
from __future__ import annotations

from graphc.ir.body import Body
from graphc.ir.node import Node, make, replaced, topological
from graphc.ir.ops import GET, LOOP


def drop_unread(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """GET(k) of a LOOP some of whose collected results have no GET -> the same of a LOOP without them."""
    order = topological(roots)
    read: dict[Node, set[int]] = {node: set(range(node.attrs[1])) for node in order if node.op is LOOP}
    for node in order:
        if node.op is GET and node.srcs[0].op is LOOP:
            read[node.srcs[0]].add(node.attrs[0])
    stays = {loop: sorted(numbers) for loop, numbers in read.items() if len(numbers) < len(loop.dtype)}
    if not stays:
        return roots

    def rule(node: Node, new: dict[Node, Node]) -> Node | None:
        if node in stays:
            return _reduced(node, [new[s] for s in node.srcs], stays[node])
        if node.op is GET and node.srcs[0] in stays:
            place = stays[node.srcs[0]].index(node.attrs[0])
            return make(GET, node.dtype, node.shape, (new[node.srcs[0]],), (place,), device=node.device, site=node.site)
        return None
    return replaced(order, roots, rule)


def _reduced(loop: Node, srcs: list[Node], numbers: list[int]) -> Node:
    """A loop with the results of these numbers, among them all that it carries."""
    body = loop.attrs[0]
    body = Body([body.roots[k] for k in numbers], body.inputs, body.scalars)
    dtypes, shapes = (tuple(facts[k] for k in numbers) for facts in (loop.dtype, loop.shape))
    return make(LOOP, dtypes, shapes, tuple(srcs), (body, *loop.attrs[1:]), device=loop.device, site=loop.site)
