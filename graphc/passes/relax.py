"""What `fast_math` allows: rewrites of marked nodes that change bits (docs/numerics.md).

They are made on the graph, and look at a node and its sources alone, so that a result depends on how it was written
and not on what it is fused with or who else reads it. What only a device can do faster is a matter of spelling, and of
the templates of products.
"""
from __future__ import annotations

from graphc.ir.node import Node, const, make, rewritten
from graphc.ir.ops import ADD, DIV, FAST, FMA, MUL, NEG, SUB


def relax(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same graph, with marked nodes in the form that is computed faster."""
    return rewritten(roots, _relaxed)


def _relaxed(node: Node) -> Node | None:
    rule = _RULES.get(node.op) if node.attrs == FAST else None
    return rule and rule(node)


# Each rule says what it matches in its first line.

def _sum(node: Node) -> Node | None:
    """a * b + c -> fma(a, b, c)"""
    x, y = node.srcs
    if _is_product(x, node):
        return _fma(node, *x.srcs, y)
    return _fma(node, *y.srcs, x) if _is_product(y, node) else None


def _difference(node: Node) -> Node | None:
    """a * b - c -> fma(a, b, -c); c - a * b -> fma(-a, b, c)"""
    x, y = node.srcs
    if _is_product(x, node):
        return _fma(node, *x.srcs, _negated(y))
    return _fma(node, _negated(y.srcs[0]), y.srcs[1], x) if _is_product(y, node) else None


def _is_product(src: Node, node: Node) -> bool:
    """Of the shape of the sum: a smaller one is computed fewer times as it is."""
    return src.op is MUL and src.attrs == FAST and src.shape == node.shape


def _fma(node: Node, a: Node, b: Node, c: Node) -> Node:
    return make(FMA, node.dtype, node.shape, (a, b, c), device=node.device, site=node.site)


def _negated(x: Node) -> Node:
    return make(NEG, x.dtype, x.shape, (x,), device=x.device, site=x.site)


def _quotient(node: Node) -> Node | None:
    """x / y -> x * (1 / y), for a y that neighbours share"""
    x, y = node.srcs
    if y.size == node.size or (y.shape and y.shape[-1] != 1):
        return None
    inverse = make(DIV, y.dtype, y.shape, (const(1, y.dtype), y), FAST, device=y.device, site=node.site)
    return make(MUL, node.dtype, node.shape, (x, inverse), FAST, device=node.device, site=node.site)


_RULES = {ADD: _sum, SUB: _difference, DIV: _quotient}
