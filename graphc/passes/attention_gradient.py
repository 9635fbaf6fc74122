"""The gradient of attention without a matrix of scores: every product with weights computes them again, block by block.

    p = exp(s - max(s)) / sum(exp(s - max(s)));  y = p @ v
    dv = p.mT @ dy;  ds = f(p, dy @ v.mT, sum(p * (dy @ v.mT)));  dq = ds @ k;  dk = ds.mT @ q

The forward pass becomes an ATTENTION that also gives max(s) and the sum; the products q @ k.mT and dy @ v.mT, under
everything elementwise that is as large as the scores, become SCORES; what sums over such weights becomes a WEIGHTED,
whatever the weights are, those that sum over the same axis together. The one sum over keys that stands in the way is
that of p * (dy @ v.mT), which is sum(dy * y), a sum over features.

All that is as large as the scores must end in such sums. If the user wants weights, or the gradient of a mask, the
matrix is made, as it is where `worth_computing_again` says that this is faster and not too large.

Dao et al., FlashAttention, 2022.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from msgspec import Struct, field

from graphc.ir.node import Node, const, make, rebuild, topological
from graphc.ir.ops import (
    ATTENTION, DIV, DOT, ELEMENTWISE, EXP, EXPAND, MUL, NEG, PERMUTE, REDUCE, RESHAPE, SCORES, SLICE, SUM, WEIGHTED, Op,
)
from graphc.passes.attention import MAX_OPERATIONS, Users, keeps_rows, paths, softmax_of, users_of
from graphc.passes.evaluate import worth_computing_again


MOST = 3        # sums that one kernel takes: their weights lie side by side in the memory of a group of work items


class _Region(Struct, eq=False):
    """All that is as large as the scores of one softmax.

    weights   the softmax; scores, of which it is one; largest and total, its reductions
    turned    of each node in the region, whether its last axis is that of the queries
    sums      reductions over keys besides those of the softmax
    ends      products with something small: the node, whether the region is its second factor
    """

    weights: Node
    scores: Node
    largest: Node
    total: Node
    turned: dict[Node, bool] = field(default_factory=dict)
    products: list[Node] = field(default_factory=list)
    sums: list[Node] = field(default_factory=list)
    ends: list[tuple[Node, bool]] = field(default_factory=list)


class _Substitute(Struct, eq=False):
    """What takes the place of a node: made from `needs`, given as they are in the new graph."""

    needs: Sequence[Node]
    make: Callable[[Callable[[Node], Node]], Node]


def recognise_gradient(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    order = topological(roots)
    if not any(n.op is EXP for n in order):
        return roots
    users = users_of(order, roots)
    position = {node: k for k, node in enumerate(order)}
    plan: dict[Node, _Substitute] = {}
    for node in order:
        found = softmax_of(node) if node.op is DIV else None
        region = None if found is None else _region(node, found, users)
        if region is not None and region.turned.keys().isdisjoint(plan):
            plan |= _substitutes(region, position)
    return _rebuilt(roots, plan) if plan else roots


# --------------------------------------------------------------------------------------------------------- the region

def _region(weights: Node, found, users: Users) -> _Region | None:
    scores, largest, total = found
    if scores.dtype.accumulator is not scores.dtype:
        return None
    for path in paths(scores):
        region = _Region(weights, scores, largest, total)
        if _grow(region, path, users) and _is_worth_it(region):
            return region
    return None


def _grow(region: _Region, path: list[Node], users: Users) -> bool:
    """Everything that depends on the products element by element; False if it ends in anything but sums."""
    turned = region.turned
    region.products.append(path[0])
    turned.update(dict.fromkeys(path, False))
    stack = list(path)
    while stack:
        node = stack.pop()
        for user in users[node]:
            if user is None or len(turned) > MAX_OPERATIONS:
                return False
            if user in turned:
                if user.op.kind == ELEMENTWISE and turned[user] != turned[node]:
                    return False
                continue
            if user.op is DOT:
                if (user, user.srcs[1] is node) not in region.ends:
                    region.ends.append((user, user.srcs[1] is node))
                continue
            if user.op.kind == REDUCE:
                if not _is_sum(user, node, region):
                    return False
                continue
            into = _into(user, node, turned[node])
            if into is None:
                return False
            turned[user] = into
            stack.append(user)
            if user.op.kind == ELEMENTWISE:
                stack += _factors(user, region)
    return not any(end.srcs[not second] in turned for end, second in region.ends)


def _is_sum(user: Node, node: Node, region: _Region) -> bool:
    if region.turned[node] or user.attrs[0] != len(node.shape) - 1 or len(user.attrs) != 2:
        return False
    if user is not region.largest and user is not region.total:
        region.sums.append(user)
    return user.op is SUM or user is region.largest


def _into(user: Node, node: Node, turned: bool) -> bool | None:
    """Whether a reader of the region in it is turned; None if it is no part of it."""
    if user.size != node.size:
        return None
    if user.op.kind == ELEMENTWISE:
        return turned
    if user.op is RESHAPE:
        return turned if keeps_rows(user) else None
    *lead, a, b = user.attrs[0] if user.op is PERMUTE else (0, 0)
    swapped = (*lead, b, a) == tuple(range(len(user.shape)))    # stacks that change places could meet themselves
    return not turned if user.op is PERMUTE and swapped else None


def _factors(user: Node, region: _Region) -> list[Node]:
    """The products of matrices beside the region, from which a node of it is computed: they become part of it."""
    found: list[Node] = []
    stack, seen = [s for s in user.srcs if s not in region.turned], set()
    while stack:
        node = stack.pop()
        if node in seen or node in region.turned or node.size != user.size or len(seen) > MAX_OPERATIONS:
            continue
        seen.add(node)
        if node.op is DOT and node.dtype is region.scores.dtype and not region.turned[user]:
            region.turned[node] = False
            region.products.append(node)
            found.append(node)
        elif node.op.kind == ELEMENTWISE or (node.op is RESHAPE and keeps_rows(node)):
            stack.extend(node.srcs)
    return found


def _is_worth_it(region: _Region) -> bool:
    """Whether there is a gradient, all of it can be taken over, and that is better than storing the scores."""
    if not any(not _is_result(end, region) for end, _ in region.ends):
        return False        # forward alone: passes/attention.py
    *lead, m, n = region.scores.shape
    if n < 2 or any(p.srcs[0].shape[-1] == 0 for p in region.products) or not region.scores.size:
        return False
    if any(end.dtype is not region.scores.dtype or s.dtype is not end.dtype for end, _ in region.ends
           for s in end.srcs):
        return False
    if len(region.products) > 2 or any(_sum_of(s, region) is None for s in region.sums):
        return False
    features = max(p.srcs[0].shape[-1] for p in region.products)
    return worth_computing_again(prod(lead), m, n, features, region.scores.dtype.itemsize)


def _is_result(end: Node, region: _Region) -> bool:
    """Whether a product is the attention's own."""
    weights = end.srcs[0]
    while weights.op is RESHAPE:
        weights = weights.srcs[0]
    return weights is region.weights


# ----------------------------------------------------------------------------------------- a sum over keys by features

class _Sum(Struct, frozen=True, eq=False):
    """sum(p * (dy @ v.mT) * rest) over keys is sum(dy * y) * rest: dy, v.mT and what is done with the sum, in order, as
    operations with a factor or divisor that is the same for all keys (NEG: None)."""

    dy: Node
    values: Node
    steps: tuple[tuple[Op, Node | None], ...]


def _sum_of(reduction: Node, region: _Region) -> _Sum | None:
    if len(region.products) != 2:
        return None
    product = region.products[1]
    factors: list[Node] = []

    def walk(node: Node) -> list | None:
        if node is region.weights or node in region.products:
            factors.append(node)
            return []
        if node.op is NEG:
            below = walk(node.srcs[0])
            return None if below is None else [*below, (NEG, None)]
        if node.op is not MUL and node.op is not DIV:
            return None
        a, b = node.srcs
        if node.op is MUL and _of_row(a) is not None:
            a, b = b, a
        left, other = walk(a), _of_row(b)
        if other is not None:
            return None if left is None else [*left, (node.op, other)]
        right = walk(b) if node.op is MUL else None
        return None if left is None or right is None else left + right

    steps = walk(reduction.srcs[0])
    if steps is None or sorted(map(id, factors)) != sorted(map(id, (region.weights, product))):
        return None
    return _Sum(*product.srcs, tuple(steps)) if product.shape == region.weights.shape else None


def _of_row(node: Node) -> Node | None:
    """What an expression is that is the same for all keys."""
    if node.op is EXPAND:
        node = node.srcs[0]
    return node if node.shape[-1:] in ((), (1,)) else None


# ------------------------------------------------------------------------------------------------------- the new graph

def _substitutes(region: _Region, position: dict[Node, int]) -> dict[Node, _Substitute]:
    plan = {p: _Substitute(p.srcs, lambda new, p=p: make(SCORES, p.dtype, p.shape, tuple(map(new, p.srcs)), (),
                                                         device=p.device, site=p.site)) for p in region.products}
    sums = {reduction: _sum_of(reduction, region) for reduction in region.sums}
    results = [end for end, _ in region.ends if _is_result(end, region)]
    if sums:
        values = _transposed(next(iter(sums.values())).values)
    elif results:
        values = results[0].srcs[1]
    else:       # nobody reads the result: the statistics alone
        dtype, keys = region.scores.dtype, region.scores.shape[-1]
        values = make(EXPAND, dtype, (keys, 1), (make(RESHAPE, dtype, (1, 1), (const(1, dtype),)),))
    result = next((end for end in results if end.srcs[1] is values), None)
    attention = _Attention(region, region.weights.shape if result is None else result.srcs[0].shape, values)
    plan[region.largest] = attention.statistic(0, region.largest.shape)
    plan[region.total] = attention.statistic(1, region.total.shape)
    plan |= {reduction: attention.sum_over_features(reduction.shape, found) for reduction, found in sums.items()}
    if result is not None:
        plan[result] = _Substitute(attention.needs, attention.result)
    for over_queries in (False, True):
        ends = [(end, second) for end, second in region.ends
                if end is not result and (region.turned[end.srcs[second]] ^ second) == over_queries]
        for together in _groups(ends, position):
            plan |= _weighted(together)
    return plan


class _Attention(Struct, eq=False):
    """The forward pass, which also gives its statistics. `shape`: of the weights as the product with values has it."""

    region: _Region
    shape: tuple[int, ...]
    values: Node

    @property
    def needs(self) -> tuple[Node, ...]:
        return self.region.scores, self.values

    def _columns(self, new, start: int, count: int) -> Node:
        s, v = new(self.region.scores), new(self.values)
        if s.shape != self.shape:
            s = make(RESHAPE, s.dtype, self.shape, (s,))
        lead = np.broadcast_shapes(s.shape[:-2], v.shape[:-2])
        node = make(ATTENTION, v.dtype, (*lead, s.shape[-2], v.shape[-1] + 2), (s, v), (2,),
                    site=self.region.weights.site)
        return _columns(node, start, count)

    def result(self, new) -> Node:
        return self._columns(new, 0, self.values.shape[-1])

    def statistic(self, k: int, shape: tuple[int, ...]) -> _Substitute:
        return _Substitute(self.needs, lambda new: _reshaped(
            self._columns(new, self.values.shape[-1] + k, 1), shape))

    def sum_over_features(self, shape: tuple[int, ...], found: _Sum) -> _Substitute:
        def of(new) -> Node:
            y = self.result(new)
            y = _reshaped(y, (*shape, y.shape[-1]))
            terms = make(MUL, y.dtype, y.shape, (new(found.dy), y))
            total = make(SUM, y.dtype, shape, (terms,), (len(shape), "inner"))
            total = _reshaped(total, (*shape, 1))
            for op, other in found.steps:
                total = make(op, y.dtype, total.shape, (total,) if other is None else (total, new(other)))
            return _reshaped(total, shape)
        return _Substitute((*self.needs, found.dy, *(other for _, other in found.steps if other is not None)), of)


def _groups(ends: list[tuple[Node, bool]], position: dict[Node, int]) -> list[list[tuple[Node, bool]]]:
    """Sums over one axis that one kernel can take, as none of them is computed from another."""
    groups: list[list[tuple[Node, bool]]] = []
    for end, second in sorted(ends, key=lambda e: position[e[0]]):
        for group in groups:
            others = [other for other, _ in group]
            first = min(position[o] for o in others)
            below = topological(end.srcs, is_leaf=lambda n, first=first: position[n] < first)
            if len(group) < MOST and _rows_of(end, second) == _rows_of(*group[0]) and set(others).isdisjoint(below):
                group.append((end, second))
                break
        else:
            groups.append([(end, second)])
    return groups


def _rows_of(end: Node, second: bool) -> tuple:
    """The shape of the weights, and of the result but for its columns."""
    *lead, m, e = end.shape
    weights = end.srcs[second].shape
    return (*lead, e if second else m), (*weights[:-2], *(weights[:-3:-1] if second else weights[-2:]))


def _weighted(group: list[tuple[Node, bool]]) -> dict[Node, _Substitute]:
    """One WEIGHTED in place of some products, each of which becomes some columns of it."""
    needs = tuple(s for end, _ in group for s in end.srcs)
    widths = [end.shape[-2 if second else -1] for end, second in group]

    def all_of(new) -> Node:
        srcs: list[Node] = []
        for end, second in group:
            a, b = map(new, end.srcs)
            srcs += (_transposed(b), _transposed(a)) if second else (a, b)
        rows, _ = _rows_of(*group[0])
        return make(WEIGHTED, group[0][0].dtype, (*rows, sum(widths)), tuple(srcs), (), site=group[0][0].site)

    def part(k: int) -> Callable:
        def of(new) -> Node:
            found = _columns(all_of(new), sum(widths[:k]), widths[k])
            return _transposed(found) if group[k][1] else found
        return of
    return {end: _Substitute(needs, part(k)) for k, (end, _) in enumerate(group)}


def _columns(node: Node, start: int, count: int) -> Node:
    """Some columns of a matrix."""
    if count == node.shape[-1]:
        return node
    rank = len(node.shape)
    return make(SLICE, node.dtype, (*node.shape[:-1], count), (node,), ((0,) * (rank - 1) + (start,), (1,) * rank))


def _transposed(node: Node) -> Node:
    """With the last two axes changed: one permutation, as simplification leaves it."""
    shape = (*node.shape[:-2], node.shape[-1], node.shape[-2])
    axes = node.attrs[0] if node.op is PERMUTE else tuple(range(len(shape)))
    src = node.srcs[0] if node.op is PERMUTE else node
    swapped = (*axes[:-2], axes[-1], axes[-2])
    return src if swapped == tuple(range(len(shape))) else make(PERMUTE, node.dtype, shape, (src,), (swapped,))


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    return node if node.shape == shape else make(RESHAPE, node.dtype, shape, (node,))


def _rebuilt(roots: tuple[Node, ...], plan: dict[Node, _Substitute]) -> tuple[Node, ...]:
    """The roots with substitutes in their places. What a substitute needs is made before it, wherever it stood; where
    that would be the substitute itself (values that are computed from statistics), nothing is changed."""
    new: dict[Node, Node] = {}
    waiting: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        needs = plan[node].needs if node in plan else node.srcs
        missing = [n for n in needs if n not in new]
        if node not in new and missing:
            waiting.add(node)
            if not waiting.isdisjoint(missing):
                return roots
            stack.extend(reversed(missing))
            continue
        stack.pop()
        waiting.discard(node)
        if node not in new:
            new[node] = plan[node].make(new.__getitem__) if node in plan else rebuild(node, map(new.get, node.srcs))
    return tuple(new[r] for r in roots)
