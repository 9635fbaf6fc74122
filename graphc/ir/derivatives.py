"""The gradients of the primitives. The op table refers to these; those of one line stand in the table itself.

Every rule is called as `rule(gc, g, y, *srcs)`: the public namespace, the gradient of the result, the result and the
sources, all as tensors. It returns one gradient for each source, or None where there is none, so gradients are
recorded like anything else: they fuse, and have gradients themselves. What an elementwise rule returns may have the
result's shape; the caller sums it over the axes along which the source was broadcast.

A gradient of a complex number is the direction of steepest ascent of a real loss L: dL/dRe + i dL/dIm, as in PyTorch.
So for a holomorphic f it is g * conj(f').
"""
from __future__ import annotations

from contextlib import nullcontext
from math import log, pi, prod, sqrt
from typing import NamedTuple


def conj(x):
    return x.conj() if x.dtype.kind == "c" else x


def matching(gc, g, x):
    """A gradient in the dtype of the source that it belongs to."""
    if g.dtype.kind == "c" and x.dtype.kind != "c":
        g = gc.real(g)
    return g.astype(x.dtype)


# -------------------------------------------------------------------------------------------------------- elementwise

def cast(gc, g, y, x):
    return (matching(gc, g, x) if x.dtype.kind in "fc" and y.dtype.kind in "fc" else None,)


def magnitude(gc, g, y, x):
    return (g * gc.sign(x),)


def sign(gc, g, y, x):
    """Of complex numbers, x / |x|: what is across x turns, what is along x vanishes."""
    if x.dtype.kind != "c":
        return (None,)
    size = gc.abs(x)
    across = (g - y * gc.real(conj(y) * g)) / gc.where(size == 0, 1, size)
    return (gc.where(size == 0, 0, across),)


def acosh(gc, g, y, x):
    return (g / conj(gc.sqrt(x - 1) * gc.sqrt(x + 1)),)


def erf(gc, g, y, x):
    return (g * gc.exp(-x * x) * (2 / sqrt(pi)),)


def exp2(gc, g, y, x):
    return (g * y * log(2),)


def logarithm(base: float):
    def rule(gc, g, y, x):
        return (g / (conj(x) * log(base)),)
    return rule


def divide(gc, g, y, a, b):
    g = g / conj(b)
    return g, -g * conj(y)


def remainder(gc, g, y, a, b):
    return g, -g * gc.floor(a / b)


def fmod(gc, g, y, a, b):
    return g, -g * gc.trunc(a / b)


def power(gc, g, y, a, b):
    """0 for the exponent 0 whatever the base, and for the exponent's gradient at base 0, where y * log(a) is NaN."""
    if y.dtype.kind not in "fc":
        return None, None
    if y.dtype.kind == "f":
        unset = (a == 0) & (b >= 0)
    else:
        unset = (a == 0) & (gc.real(b) >= 0)
    if b.node.tracked:      # then this must have the right slope in b as well: 1 / a at b = 0
        by_base = b * gc.where((b == 0) & ((a == 0) | (a != a)), 1, a) ** (b - 1)
    else:
        by_base = gc.where(b == 0, 0, b * a ** gc.where(b == 0, 1, b - 1))
    return (g * conj(by_base),
            g * conj(gc.where(unset, 0, y * gc.log(gc.where(unset, 1, a)))))


def atan2(gc, g, y, a, b):
    """0 at the origin."""
    size = a * a + b * b
    g = gc.where(size == 0, 0, g / gc.where(size == 0, 1, size))
    return g * b, -g * a


def hypot(gc, g, y, a, b):
    g = g / y
    return g * a, g * b


def maximum(gc, g, y, a, b):
    """Equal values share; NaN goes to both."""
    return _extreme(gc, g, a == b, a < b, b < a)


def minimum(gc, g, y, a, b):
    return _extreme(gc, g, a == b, b < a, a < b)


def _extreme(gc, g, tie, a_lost, b_lost):
    if g.dtype.kind != "f":
        return None, None
    shared = gc.where(tie, g / 2, g)
    return gc.where(a_lost, 0, shared), gc.where(b_lost, 0, shared)


def copysign(gc, g, y, a, b):
    return gc.where(a == 0, 0, gc.where(gc.signbit(a) == gc.signbit(y), g, -g)), None


def where(gc, g, y, condition, a, b):
    """The side that was not chosen gets 0, also where its own derivative is NaN: what is multiplied by it is 0 then."""
    return None, gc.where(condition, g, 0), gc.where(condition, 0, g)


def make_complex(gc, g, y, a, b):
    return gc.real(g), gc.imag(g)


# ----------------------------------------------------------------------------------------------------------- movement

def reshape(gc, g, y, x):
    return (g.reshape(x.shape),)


def permute(gc, g, y, x):
    axes = y.node.attrs[0]
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return (g.permute(*back) if back else g,)


def expand(gc, g, y, x):
    return (g,)     # the caller sums over the axes that were broadcast


def slices(starts, steps, lengths) -> tuple[slice, ...]:
    """The attributes of SLICE and UPDATE as a key for x[...]."""
    found = []
    for start, step, n in zip(starts, steps, lengths, strict=True):
        stop = start + step * n
        found.append(slice(start, None if stop < 0 else stop, step) if n else slice(0, 0))
    return tuple(found)


class Region(NamedTuple):
    """A gradient that is `g` in a region of the source and 0 elsewhere: many of them are written into one array."""

    key: tuple[slice, ...]
    g: object


def region_of(gc, g, y, x):
    return (Region(slices(*y.node.attrs, y.shape), g),)


def update(gc, g, y, base, value):
    key = slices(*y.node.attrs, value.shape)
    return g.at[key].set(0), g[key]


def pad(gc, g, y, x):
    befores = y.node.attrs[0]
    return (g[slices(befores, (1,) * len(befores), x.shape)],)


def concat(gc, g, y, *srcs):
    axis, = y.node.attrs
    bounds, at = [], 0
    for x in srcs[:-1]:
        at += x.shape[axis]
        bounds.append(at)
    return tuple(gc.split(g, bounds, axis=axis))


def window(gc, g, y, x):
    """Each window's gradient goes back to where it was read; where windows overlap they add up."""
    axis, stride, dilation = y.node.attrs
    return (gc.overlap_add(gc.moveaxis(g, axis + 1, -1), x.shape[axis], axis, stride=stride, dilation=dilation),)


# --------------------------------------------------------------------------------------------------------- reductions

def _along(gc, y, g, x):
    """The gradient of a reduction, repeated along the axis that was reduced."""
    axis = y.node.attrs[0]
    return gc.broadcast_to(g.expand_dims(axis), x.shape)


def total(gc, g, y, x):
    return (_along(gc, y, g, x),)


def product(gc, g, y, x):
    """Each element's is the product of all others: those before times those after, so that zeros need no care."""
    axis = y.node.attrs[0]
    if not x.shape[axis]:
        return (gc.zeros_like(x),)
    after = gc.flip(_before(gc, gc.flip(x, axis=axis), axis), axis=axis)
    return (_along(gc, y, g, x) * conj(_before(gc, x, axis) * after),)


def _first(x, axis: int, count: int):
    return x[(slice(None),) * axis + (slice(count),)]


def _before(gc, x, axis: int):
    """The product of all elements before each."""
    ones = gc.ones_like(_first(x, axis, 1))
    return gc.cumprod(gc.concat([ones, _first(x, axis, x.shape[axis] - 1)], axis=axis), axis=axis)


def extremum(gc, g, y, x):
    """Equal extremes share the gradient evenly."""
    if x.dtype.kind != "f":
        return (None,)
    axis = y.node.attrs[0]
    chosen = (x == y.expand_dims(axis)).astype(x.dtype)
    return (chosen * (g / chosen.sum(axis=axis)).expand_dims(axis),)


def squared_deviations(gc, g, y, x):
    axis = y.node.attrs[0]
    return (2 * g.expand_dims(axis) * (x - x.mean(axis=axis, keepdims=True)),)


# -------------------------------------------------------------------------------------------------------------- scans

def cumulative_sum(gc, g, y, x):
    axis, = y.node.attrs
    return (gc.flip(gc.cumsum(gc.flip(g, axis=axis), axis=axis), axis=axis),)


def cumulative_prod(gc, g, y, x):
    """dL/dx[i] = (product of what is before i) * sum over k >= i of g[k] * (product of x[i+1 .. k]), in n**2 terms.

    There is no division, so zeros need no care.
    """
    axis, = y.node.attrs
    n = x.shape[axis]
    rows = x.swapaxes(axis, -1)
    at = gc.arange(n)
    later = at[:, None] < at[None, :]
    products = gc.cumprod(gc.where(later, rows.expand_dims(-2), 1), axis=-1)
    sums = gc.where(at[:, None] <= at[None, :], conj(products) * g.swapaxes(axis, -1).expand_dims(-2), 0).sum(axis=-1)
    return ((conj(_before(gc, rows, x.ndim - 1)) * sums).swapaxes(axis, -1),) if n else (gc.zeros_like(x),)


def cumulative_extremum(gc, g, y, x):
    """Each result is the last element so far that equals it."""
    if x.dtype.kind != "f":
        return (None,)
    axis, = y.node.attrs
    at = gc.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1))
    last = gc.cumulative_max(gc.where((x == y) | gc.isnan(x), at, 0), axis=axis)
    key = tuple(last if a == axis else gc.arange(n).reshape(-1, *(1,) * (x.ndim - a - 1))
                for a, n in enumerate(x.shape))
    return (gc.zeros_like(x).at[key].add(g),)


# ------------------------------------------------------------------------------------------------ products and gathers

def dot(gc, g, y, a, b):
    if y.dtype.kind not in "fc":
        return None, None
    return _dot_shared(gc, g, conj(b).mT, a), _dot_shared(gc, conj(a).mT, g, b)


def _dot_shared(gc, left, right, source):
    """The product, summed over the stack that `source` was shared by: as one longer product where that is a reshape."""
    stack = source.shape[:-2]
    if prod(stack) != 1 or prod(left.shape[:-2]) != prod(right.shape[:-2]) or prod(left.shape[:-2]) == 1:
        return gc.matmul(left, right)
    k = left.shape[-1]
    count = prod(left.shape[:-2])
    left = left.reshape(count, *left.shape[-2:]).swapaxes(0, 1).reshape(left.shape[-2], count * k)
    right = right.reshape(count * k, right.shape[-1])
    return gc.matmul(left, right).reshape(source.shape)


def alias(gc, g, y, value, *srcs):
    """Of an ALIAS whose attributes name a rule: what `value` was computed from gets its gradients by that rule."""
    (name, *facts), rules = y.node.attrs, {"convolution": convolution, "overlap_add": overlap_add}
    return (None, *rules[name](gc, g, y, *srcs, *facts))


def convolution(gc, g, y, x, weight, is_marked, *facts):
    rules = gc.api.convolution
    with gc.fast_math() if is_marked else nullcontext():
        return (rules.gradient_of_input(g, x.shape[2:], conj(weight), *facts),
                rules.gradient_of_weight(g, conj(x), weight.shape, *facts))


def overlap_add(gc, g, y, x, *facts):
    return (gc.api.windows.windows_of(g, x, *facts),)


def take(gc, g, y, x, index):
    axis, = y.node.attrs
    return gc.zeros_like(x).at[(slice(None),) * axis + (index,)].add(g), None


def take_along(gc, g, y, x, index):
    """One element of each row, as a loss takes it: a choice by position, which fuses with what reads it."""
    axis, = y.node.attrs
    if index.shape[axis] == 1:
        place = gc.arange(x.shape[axis], dtype=index.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))
        return gc.where(place == index, g, 0), None
    key = tuple(index if a == axis else gc.arange(n).reshape((1,) * a + (n,) + (1,) * (x.ndim - a - 1))
                for a, n in enumerate(index.shape))
    return gc.zeros_like(x).at[key].add(g), None


def scatter_rows(gc, g, y, base, index, values):
    """Of several values set to one row the last stays, and gets the gradient; equal extremes share it."""
    mode, = y.node.attrs
    if mode == "add":
        return g, None, gc.take(g, index, axis=0)
    if mode != "set":
        if g.dtype.kind != "f":
            return None, None, None
        is_base, is_value = base == y, values == gc.take(y, index, axis=0)
        shares = is_base.astype(g.dtype).at[index].add(is_value.astype(g.dtype))
        g = g / gc.where(shares == 0, 1, shares)        # NaN equals nothing
        return gc.where(is_base, g, 0), None, gc.where(is_value, gc.take(g, index, axis=0), 0)
    number = gc.arange(index.shape[0])
    last = gc.zeros(base.shape[:1], dtype=number.dtype).at[index].set(number)
    stays = (gc.take(last, index, axis=0) == number).reshape(-1, *(1,) * (values.ndim - 1))
    return g.at[index].set(0), None, gc.where(stays, gc.take(g, index, axis=0), 0)


# ---------------------------------------------------------------------------------------------------------- libraries

def library(gc, gs, ys, *srcs):
    """Of a routine of several results: gs and ys are tuples; what nobody reads has the gradient 0."""
    from graphc.ir import library_derivatives
    name, arguments = ys[0].node.srcs[0].attrs
    rule = library_derivatives.TABLE.get(name)
    return rule(gc, arguments, gs, ys, *srcs) if rule else None


def of_loops(name: str):
    """The rule of this name for a loop or a branch."""
    def rule(*args):
        from graphc.ir import loop_derivatives
        return getattr(loop_derivatives, name)(*args)
    return rule
