"""Algebra on the graph. Every rule is exact for all inputs: NaN, infinities, signed zeros and overflow included.

Rules that would need an assumption about floats (x+0, x*0, x-x, x/c) are not here; docs/numerics.md says why.
"""
from __future__ import annotations

import numpy as np

from graphc.ir import dtype as dt
from graphc.ir.node import Node, const, const_value, make, rewritten
from graphc.ir.ops import (
    ADD, BITCAST, CAST, CONCAT, CONST, DIV, DOT, ELEMENTWISE, EXPAND, M2, MOVEMENT, MUL, NEG, PERMUTE, POW, PROD,
    REDUCE, RESHAPE, SLICE, SUB, WHERE, WINDOW,
)


def simplify(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """The same values by a smaller graph."""
    return rewritten(roots, _simplified)


def _simplified(node: Node) -> Node:
    for _ in range(8):      # a rewritten node may match again
        better = _better(node)
        if better is None:
            break
        if better.site is None and better.op is not CONST:      # which all programs share
            better.site = node.site
        node = better
    return node


def _better(node: Node) -> Node | None:
    for rule in _RULES.get(node.op, ()) + _BY_KIND.get(node.op.kind, ()):
        better = rule(node)
        if better is not None:
            return better
    return None


def is_filled(node: Node, value) -> bool:
    """Whether all elements are this number."""
    if node.op is EXPAND or node.op is RESHAPE:
        return is_filled(node.srcs[0], value)
    return node.op is CONST and node.dtype.kind in "iufc" and bool(const_value(node) == value)


def spread(src: Node, node: Node) -> Node:
    """src in the shape of node: it stands for a node that broadcast it."""
    return src if src.shape == node.shape else make(EXPAND, src.dtype, node.shape, (src,), device=node.device)


# Each rule says what it matches in its first line.

def _mul_one(node: Node) -> Node | None:
    """x * 1 -> x"""
    a, b = node.srcs
    if node.dtype.kind in "iuf":
        if is_filled(b, 1):
            return spread(a, node)
        if is_filled(a, 1):
            return spread(b, node)
    return None


def _div_one(node: Node) -> Node | None:
    """x / 1 -> x"""
    return spread(node.srcs[0], node) if node.dtype.kind == "f" and is_filled(node.srcs[1], 1) else None


def _sub_zero(node: Node) -> Node | None:
    """x - 0 -> x (exact also for -0.0: -0.0 - 0.0 is -0.0), for a positive zero"""
    b = node.srcs[1]
    if is_filled(b, 0) and node.dtype.kind in "iuf" and not (node.dtype.kind == "f" and np.signbit(_scalar(b))):
        return spread(node.srcs[0], node)
    return None


def _add_int_zero(node: Node) -> Node | None:
    """x + 0 -> x, integers"""
    if node.dtype.kind in "iu":
        a, b = node.srcs
        if is_filled(b, 0):
            return spread(a, node)
        if is_filled(a, 0):
            return spread(b, node)
    return None


def _scalar(node: Node):
    while node.op is not CONST:
        node = node.srcs[0]
    return const_value(node)


def _pow_small(node: Node) -> Node | None:
    """x ** 1 -> x, x ** 2 -> x * x"""
    base, exponent = node.srcs
    if node.dtype.kind not in "iuf":
        return None
    if is_filled(exponent, 1):
        return spread(base, node)
    if is_filled(exponent, 2):
        return spread(make(MUL, node.dtype, base.shape, (base, base), node.attrs), node)
    return None


def _involution(node: Node) -> Node | None:
    """-(-x) -> x, ~(~x) -> x, conj(conj(x)) -> x"""
    src = node.srcs[0] if node.srcs else None
    return src.srcs[0] if "involution" in node.op.traits and src.op is node.op else None


# What a cast to each dtype keeps exactly.
_LOSSLESS = {(a, b) for a in dt.ALL for b in dt.ALL
             if a is not dt.bfloat16 and b is not dt.bfloat16 and np.can_cast(a.numpy, b.numpy, "safe")}
_LOSSLESS |= {(dt.bfloat16, d) for d in (dt.bfloat16, dt.float32, dt.float64, dt.complex64, dt.complex128)}
_INT_TO_FLOAT_EXACT = {dt.float32: 24, dt.float64: 53}


def _cast(node: Node) -> Node | None:
    """cast(x) of x's own dtype -> x; cast(cast(x)) -> cast(x) where the inner one loses nothing; casts of constants"""
    src = node.srcs[0]
    if src.dtype is node.dtype:
        return src
    if src.op is CAST and (src.srcs[0].dtype, src.dtype) in _LOSSLESS and not _int_rounds(src):
        return make(CAST, node.dtype, node.shape, src.srcs)
    if src.op is CONST and node.dtype.kind in "biufc":
        return const(node.op.numpy((), node.dtype, (), np.asarray(const_value(src)))[()], node.dtype)
    return None


def _int_rounds(cast: Node) -> bool:
    """NumPy calls int64 -> float64 safe although it rounds."""
    inner = cast.srcs[0].dtype
    return inner.kind in "iu" and cast.dtype.kind in "fc" and inner.bits > _INT_TO_FLOAT_EXACT.get(cast.dtype.real, 11)


def _fold(node: Node) -> Node | None:
    """c1 + c2 and so on: IEEE operations on constants, exact because they are correctly rounded on every machine"""
    if node.op in (ADD, SUB, MUL, DIV, NEG) and node.srcs and all(s.op is CONST for s in node.srcs):
        if node.dtype.kind in "iuf":
            value = node.op.numpy((), node.dtype, (), *(np.asarray(const_value(s)) for s in node.srcs))
            return const(value, node.dtype)
    return None


def _same_shape(node: Node) -> Node | None:
    """a movement that moves nothing -> its source"""
    src = node.srcs[0]
    if node.op in (RESHAPE, EXPAND) and src.shape == node.shape:
        return src
    if node.op is PERMUTE and node.attrs[0] == tuple(range(len(node.shape))):
        return src
    if node.op is SLICE and src.shape == node.shape and all(s == 1 for s in node.attrs[1]):
        return src
    return src if node.op is CONCAT and len(node.srcs) == 1 else None


def _reshape_reshape(node: Node) -> Node | None:
    """reshape(reshape(x)) -> reshape(x)"""
    src = node.srcs[0]
    return make(RESHAPE, node.dtype, node.shape, src.srcs) if src.op is RESHAPE else None


def _permute_permute(node: Node) -> Node | None:
    """permute(permute(x)) -> permute(x)"""
    src = node.srcs[0]
    if src.op is not PERMUTE:
        return None
    axes = tuple(src.attrs[0][k] for k in node.attrs[0])
    return make(PERMUTE, node.dtype, node.shape, src.srcs, (axes,))


def _slice_slice(node: Node) -> Node | None:
    """slice(slice(x)) -> slice(x)"""
    src = node.srcs[0]
    if src.op is not SLICE:
        return None
    starts = tuple(s0 + s1 * t0 for s0, t0, s1 in zip(src.attrs[0], src.attrs[1], node.attrs[0], strict=True))
    steps = tuple(t0 * t1 for t0, t1 in zip(src.attrs[1], node.attrs[1], strict=True))
    return make(SLICE, node.dtype, node.shape, src.srcs, (starts, steps))


def _window_one(node: Node) -> Node | None:
    """windows of one element, some elements apart -> reshape(slice(x))"""
    axis, step, _ = node.attrs
    if node.shape[axis + 1] != 1 or step == 1:
        return None
    src, ndim = node.srcs[0], len(node.shape) - 1
    shape = tuple(node.shape[axis] if a == axis else n for a, n in enumerate(src.shape))
    steps = tuple(step if a == axis else 1 for a in range(ndim))
    return make(RESHAPE, node.dtype, node.shape, (make(SLICE, node.dtype, shape, (src,), ((0,) * ndim, steps)),))


def _where_const(node: Node) -> Node | None:
    """where(true, a, b) -> a; where(c, a, a) -> a"""
    c, a, b = node.srcs
    if c.op is CONST:
        return spread(a if const_value(c) else b, node)
    return spread(a, node) if a is b else None


def _empty(node: Node) -> Node | None:
    """a sum or product over nothing -> its identity; a contraction over nothing -> 0"""
    if node.op is DOT:
        return _filled(0, node) if node.srcs[0].shape[-1] == 0 else None
    if node.srcs[0].shape[node.attrs[0]] == 0 and node.size:
        return _filled(1 if node.op is PROD else 0, node)
    return None


def _filled(value, node: Node) -> Node:
    return make(EXPAND, node.dtype, node.shape, (const(value, node.dtype),), device=node.device)


def _reduce_one(node: Node) -> Node | None:
    """a sum, product, maximum or minimum over one element -> that element"""
    src = node.srcs[0]
    if node.op is M2 or src.shape[node.attrs[0]] != 1:
        return None
    return make(RESHAPE, node.dtype, node.shape, (src,))


_RULES: dict = {
    MUL: (_mul_one, _fold), DIV: (_div_one, _fold), SUB: (_sub_zero, _fold), ADD: (_add_int_zero, _fold), NEG: (_fold,),
    POW: (_pow_small,), CAST: (_cast,), BITCAST: (lambda n: n.srcs[0] if n.srcs[0].dtype is n.dtype else None,),
    RESHAPE: (_reshape_reshape,), PERMUTE: (_permute_permute,), SLICE: (_slice_slice,), WHERE: (_where_const,),
    WINDOW: (_window_one,), DOT: (_empty,),
}
_BY_KIND: dict = {
    ELEMENTWISE: (_involution,),
    MOVEMENT: (_same_shape,),
    REDUCE: (_empty, _reduce_one),
}
