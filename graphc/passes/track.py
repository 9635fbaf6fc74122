"""Axis tracking: which axis of a reader carries each axis of what it reads.

A cheap companion of the index algebra, enough to decide fusion. For a node read by a unit of work, each of the node's
axes is described by the number of the unit's iteration axis that indexes it exactly (from 0, step 1, same extent),
by ONE for an axis of extent 1, or by OTHER for anything else.
"""
from __future__ import annotations

import functools
from collections.abc import Container

from graphc.ir.index import ZERO, Index, reshape_groups, through_reshape
from graphc.ir.node import Node
from graphc.ir.ops import (
    CONCAT, CONTRACT, DOT, ELEMENTWISE, EXPAND, GATHER, PAD, PERMUTE, REDUCE, RESHAPE, SCORES, SLICE, TAKE_ALONG,
    UPDATE, WINDOW,
)

ONE, OTHER = -1, -2
Dims = tuple[int, ...]


def identity(shape: tuple[int, ...]) -> Dims:
    return tuple(k if n != 1 else ONE for k, n in enumerate(shape))


@functools.lru_cache(maxsize=4096)      # a graph has few shapes, and many nodes of each
def broadcast(dims: Dims, shape: tuple[int, ...], src: tuple[int, ...]) -> Dims:
    """The dims of a source of shape `src` of an elementwise node of this shape."""
    offset = len(shape) - len(src)
    return tuple(ONE if n == 1 else dims[offset + k] for k, n in enumerate(src))


@functools.lru_cache(maxsize=4096)
def _reshape(dims: Dims, new: tuple[int, ...], old: tuple[int, ...]) -> Dims:
    out = [ONE if n == 1 else OTHER for n in old]
    if 0 in old:
        return tuple(out)
    for a, b in reshape_groups(old, new):
        wide_a = [k for k in a if old[k] != 1]
        wide_b = [k for k in b if new[k] != 1]
        if len(wide_a) == 1 and len(wide_b) == 1:
            out[wide_a[0]] = dims[wide_b[0]]
    return tuple(out)


def sources(node: Node, dims: Dims) -> list[tuple[Node, Dims]]:
    """The sources of a node read at `dims`, each with its own dims."""
    kind, op = node.op.kind, node.op
    if kind == ELEMENTWISE:
        shape = node.shape
        plain = 1 not in shape      # most are: the same axes, then
        return [(s, dims if plain and s.shape == shape else broadcast(dims, shape, s.shape)) for s in node.srcs]
    if kind == REDUCE:
        axis, src = node.attrs[0], node.srcs[0]
        return [(src, (*dims[:axis], OTHER, *dims[axis:]))]
    if op is TAKE_ALONG:
        src, index = node.srcs
        axis = node.attrs[0]
        moved = (*dims[:axis], OTHER if src.shape[axis] != 1 else ONE, *dims[axis + 1:])
        return [(src, moved), (index, dims)]
    if kind == GATHER:
        src, index = node.srcs
        axis, rank = node.attrs[0], len(index.shape)
        return [(src, (*dims[:axis], OTHER if src.shape[axis] != 1 else ONE, *dims[axis + rank:])),
                (index, dims[axis:axis + rank])]
    if op in (SCORES, DOT):
        return _contracted(node, dims, OTHER)
    if not node.srcs:
        return []
    src = node.srcs[0]
    if op is RESHAPE:
        return [(src, _reshape(dims, node.shape, src.shape))]
    if op is PERMUTE:
        back = [0] * len(dims)
        for k, axis in enumerate(node.attrs[0]):
            back[axis] = dims[k]
        return [(src, tuple(back))]
    if op is CONCAT:
        axis = node.attrs[0]
        cut = tuple(OTHER if k == axis else d for k, d in enumerate(dims))
        return [(s, cut) for s in node.srcs]
    if op is WINDOW:
        axis = node.attrs[0]
        return [(src, (*dims[:axis], OTHER, *dims[axis + 2:]))]
    if op is UPDATE:
        value = node.srcs[1]
        return [(src, dims), (value, _same_extent(dims, node.shape, value.shape))]
    if op in (SLICE, PAD):
        steps = node.attrs[1] if op is SLICE else (1,) * len(dims)
        return [(src, tuple(ONE if n == 1 else (d if n == m and step == 1 else OTHER)
                            for d, n, m, step in zip(dims, src.shape, node.shape, steps, strict=True)))]
    return [(src, broadcast(dims, node.shape, src.shape))]      # EXPAND and identities


def _same_extent(dims: Dims, shape: tuple[int, ...], src: tuple[int, ...]) -> Dims:
    return tuple(ONE if m == 1 else (d if n == m else OTHER) for d, n, m in zip(dims, shape, src, strict=True))


def _contracted(node: Node, dims: Dims, inner: int) -> list[tuple[Node, Dims]]:
    """The factors of a matrix product; `inner` carries the axis that is summed over."""
    a, b = node.srcs
    lead_a = broadcast(dims[:-2], node.shape[:-2], a.shape[:-2])
    lead_b = broadcast(dims[:-2], node.shape[:-2], b.shape[:-2])
    return [(a, (*lead_a, dims[-2], inner)), (b, (*lead_b, inner, dims[-1]))]


def anchor_sources(node: Node) -> list[tuple[Node, Dims]]:
    """The sources of a reduction, contraction or scan, in its own iteration space: output axes, then the inner one."""
    rank = len(node.shape)
    if node.op.kind == REDUCE:
        axis = node.attrs[0]
        own = identity(node.shape)
        rest = own[axis + (len(node.attrs) == 3):]      # in blocks: the axis stays, and one of it has many elements
        return [(node.srcs[0], (*own[:axis], rank, *rest))]
    if node.op is DOT:
        return _contracted(node, identity(node.shape), rank)
    if node.op.kind == CONTRACT:        # a group of its own, which joins no other
        return [(s, (OTHER,) * len(s.shape)) for s in node.srcs]
    return [(s, identity(s.shape) if s.shape == node.shape else (OTHER,) * len(s.shape)) for s in node.srcs]


def forward(node: Node, start: Node, index: tuple[Index, ...], leaves: Container[Node]) -> tuple[Index, ...] | None:
    """Where the element `index` of `start` goes to in `node`, if each element of `node` is computed from just one of
    `start`, and each of `start` goes to just one place; else None. `leaves`: what is read but not looked into."""
    known: dict[Node, tuple[Index, ...] | None] = {start: index}    # absent: does not depend on start
    independent: set[Node] = set()
    stack = [node]
    while stack:
        n = stack[-1]
        if n in known or n in independent:
            stack.pop()
            continue
        if n in leaves or not n.srcs:
            independent.add(n)
            continue
        missing = [s for s in n.srcs if s not in known and s not in independent]
        if missing:
            stack.extend(missing)
            continue
        found = {_step(n, s, known[s]) for s in n.srcs if s in known}
        if not found:
            independent.add(n)
        else:
            known[n] = found.pop() if len(found) == 1 else None
    return known.get(node)


def _step(node: Node, src: Node, index: tuple[Index, ...] | None) -> tuple[Index, ...] | None:
    """The place in `node` of an element of its source."""
    if index is None or src.size != node.size:
        return None
    if node.op is RESHAPE:
        return through_reshape(index, src.shape, node.shape)
    if node.op is PERMUTE:
        return tuple(index[axis] for axis in node.attrs[0])
    if node.op is EXPAND or node.op.kind == ELEMENTWISE:
        return (*(ZERO,) * (len(node.shape) - len(src.shape)), *index)
    return None
