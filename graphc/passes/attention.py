"""Attention: softmax(scores) @ v becomes one operation that never holds the scores in memory.

    e = exp(s - max(s));  (e / sum(e)) @ v      ->  attention(s', v)

where s is an elementwise expression of one product of matrices, which becomes a SCORES in s': scaled, masked by
addition or selection, causal, in whatever dtype the softmax was computed. Nothing else may read what lies between the
product and the result, since none of it is computed any more.

The result has other bits than the steps one by one (docs/numerics.md), so this is the one rewrite that is not exact.
Online softmax: Milakov & Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from graphc.ir.node import Node, make, rebuild, replaced, topological
from graphc.ir.ops import ATTENTION, CAST, DIV, DOT, ELEMENTWISE, EXP, MAX, RESHAPE, SCORES, SUB, SUM

MAX_OPERATIONS = 200        # between the product and the softmax, with all that the masks are computed from

Users = dict[Node, list[Node | None]]


def recognise_attention(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    order = topological(roots)
    if not any(n.op is EXP for n in order):
        return roots
    users = users_of(order, roots)
    return replaced(order, roots, lambda node, new: _attention(node, users, new) if node.op is DOT else None)


def users_of(order: list[Node], roots: tuple[Node, ...]) -> Users:
    """Who reads each node; None stands for the user, who reads the roots."""
    users: Users = {root: [None] for root in roots}
    for node in order:
        for src in dict.fromkeys(node.srcs):
            users.setdefault(src, []).append(node)
    return users


def _attention(node: Node, users: Users, new: dict[Node, Node]) -> Node | None:
    """The ATTENTION in place of a product, if its left factor is a softmax of scores."""
    weights, v = node.srcs
    found = _softmax(weights)
    if found is None:
        return None
    scores, between = found
    readers = {*between, node}
    path = next((p for p in paths(scores) if is_private(readers.union(p), node, users)), None)
    if path is None or scores.dtype.accumulator is not node.dtype.accumulator:
        return None
    for step in path:
        if step.op is DOT:
            srcs = tuple(new[s] for s in step.srcs)
            new[step] = make(SCORES, step.dtype, step.shape, srcs, (), device=step.device, site=step.site)
        else:
            new[step] = rebuild(step, [new[s] for s in step.srcs])
    s = new[scores]
    if s.shape != weights.shape:
        s = make(RESHAPE, s.dtype, weights.shape, (s,), device=s.device)
    return make(ATTENTION, node.dtype, node.shape, (s, new[v]), (0,), device=node.device, site=node.site)


def is_private(nodes: set[Node], last: Node, users: Users) -> bool:
    """Whether only these nodes read one another; what the last one gives is for everybody."""
    return all(user in nodes for n in nodes if n is not last for user in users[n])


def _softmax(weights: Node) -> tuple[Node, set[Node]] | None:
    """exp(s - max(s)) / sum(exp(s - max(s))) over the last axis: s, and the nodes between it and the weights."""
    between: set[Node] = set()
    while weights.op is RESHAPE or weights.op is CAST:
        if not keeps_rows(weights):
            return None
        between.add(weights)
        weights = weights.srcs[0]
    found = softmax_of(weights) if weights.op is DIV else None
    if found is None:
        return None
    s, largest, total = found
    e = weights.srcs[0]
    return s, between | {weights, e, weights.srcs[1], total, e.srcs[0], e.srcs[0].srcs[1], largest}


def softmax_of(weights: Node) -> tuple[Node, Node, Node] | None:
    """s, max(s) and sum(exp(s - max(s))), if a quotient is the softmax of s over the last axis."""
    e, total = weights.srcs
    if e.op is not EXP or not _is_statistic(total, SUM, e) or e.srcs[0].op is not SUB:
        return None
    s, largest = e.srcs[0].srcs
    if not _is_statistic(largest, MAX, s) or s.shape != weights.shape or s.shape[-1] < 2:
        return None
    return s, largest.srcs[0], total.srcs[0]


def _is_statistic(node: Node, op, of: Node) -> bool:
    """Whether a node is a reduction over the last axis of another, with that axis kept."""
    if node.op is not RESHAPE or node.shape != (*of.shape[:-1], 1):
        return False
    reduction = node.srcs[0]
    return reduction.op is op and reduction.srcs[0] is of and reduction.attrs[0] == len(of.shape) - 1


def keeps_rows(node: Node) -> bool:
    """Whether a reshape (or anything elementwise) leaves the last two axes as they are."""
    return node.shape[-2:] == node.srcs[0].shape[-2:] and node.size == node.srcs[0].size


def _fits(product: Node, scores: Node) -> bool:
    return (product.size == scores.size and product.shape[-2:] == scores.shape[-2:] and product.srcs[0].shape[-1] > 0
            and product.dtype.kind == "f" and product.dtype.accumulator is scores.dtype.accumulator)


def paths(scores: Node, fits: Callable[[Node, Node], bool] = _fits) -> Iterator[list[Node]]:
    """For each product of matrices that the scores are computed from, and that fits them: the nodes from it up to the
    scores."""
    below: dict[Node, None] = {}        # all that the scores are computed from, down to other loops
    products: list[Node] = []
    stack = [scores]
    while stack:
        node = stack.pop()
        if node in below:
            continue
        below[node] = None
        if len(below) > MAX_OPERATIONS:
            return
        if node.op is DOT and fits(node, scores):
            products.append(node)
        elif node.op.kind == ELEMENTWISE or node.op is RESHAPE:
            stack.extend(reversed(node.srcs))
    order = topological([scores], is_leaf=lambda n: n not in below or n.op is DOT)
    for product in products:
        path = {product: None}
        for node in order:
            if any(s in path for s in node.srcs) and node.op is not DOT:
                path[node] = None
        if all(n.op.kind == ELEMENTWISE or keeps_rows(n) for n in path if n is not product):
            yield list(path)
