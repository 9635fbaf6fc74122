"""The gradients of scan and cond: loops and branches again, whose bodies are the gradients of the bodies.

A loop is run once more to keep the state before each turn; then the turns are gone through backwards, each with the
gradient of one turn. What the body reads from outside collects its gradient in the state of that second loop.
"""
from __future__ import annotations

from graphc.errors import GradientError
from graphc.ir.node import Node, make, topological, untracked
from graphc.ir.ops import ALIAS, BUFFER, PARAM


def applied(gc, body, arrays, scalars) -> list:
    """What the body gives for these tensors."""
    new: dict[Node, Node] = {}
    for node in topological(body.history):
        srcs = tuple(new[s] for s in node.srcs)
        if node.op is BUFFER or node.op is PARAM:
            new[node] = (arrays if node.op is BUFFER else scalars)[node.attrs[0]].node
        elif node.op is ALIAS and node.attrs:
            new[node] = untracked(*srcs, *node.attrs)
        else:   # the body's own device is none: it takes that of its sources
            new[node] = make(node.op, node.dtype, node.shape, srcs, node.attrs)
            if node.op is ALIAS:
                new[node].tracked = srcs[-1].tracked
    return [_handle(gc, new[root]) for root in body.history]


def _handle(gc, node: Node):
    tensor = object.__new__(gc.Tensor)
    tensor.node = node
    return tensor


def _differentiable(tensors) -> list[int]:
    return [i for i, x in enumerate(tensors) if x.dtype.kind in "fc"]


def _needed(tensors) -> list[int]:
    """Those with a variable under them; the others' gradients nobody asks for."""
    return [i for i in _differentiable(tensors) if tensors[i].node.tracked]


def _chosen(tensors, places) -> tuple:
    return tuple(tensors[i] for i in places)


def _replaced(tensors, places, values) -> list:
    found = list(tensors)
    for i, value in zip(places, values, strict=True):
        found[i] = value
    return found


def _gradients(srcs, places, values) -> list:
    return _replaced([None] * len(srcs), places, values)


def loop(gc, gs, ys, *srcs):
    body, carried, sliced, turns, reverse = ys[0].node.srcs[0].attrs
    arrays = len(body.inputs)
    state, columns, fixed = list(srcs[:carried]), list(srcs[carried:carried + sliced]), list(srcs[carried + sliced:])
    in_state, in_columns, in_fixed = _differentiable(state), _needed(columns), _needed(fixed)
    given = _differentiable(ys[carried:])
    outside = arrays - carried - sliced

    def turn(carry, x, read) -> list:
        return applied(gc, body, [*carry, *x, *read[:outside]], read[outside:])

    def keep(carry, x):
        return tuple(turn(carry, x, fixed)[:carried]), carry

    _, before = gc.scan(keep, tuple(state), tuple(columns), length=turns, reverse=reverse)

    def back(carry, at):
        g_state, g_fixed = carry
        old, x, g_given = at

        def of(some_old, some_x, some_fixed):
            results = turn(_replaced(old, in_state, some_old), _replaced(x, in_columns, some_x),
                           _replaced(fixed, in_fixed, some_fixed))
            return (*_chosen(results, in_state), *_chosen(results[carried:], given))

        _, pull = gc.vjp(of, _chosen(old, in_state), _chosen(x, in_columns), _chosen(fixed, in_fixed))
        to_state, to_x, to_fixed = pull((*g_state, *g_given))
        return (to_state, tuple(a + b for a, b in zip(g_fixed, to_fixed, strict=True))), to_x

    start = _chosen(gs, in_state), tuple(gc.zeros_like(fixed[i]) for i in in_fixed)
    (to_state, to_fixed), to_columns = gc.scan(
        back, start, (before, tuple(columns), _chosen(gs[carried:], given)), length=turns, reverse=not reverse)
    return (*_gradients(state, in_state, to_state), *_gradients(columns, in_columns, to_columns),
            *_gradients(fixed, in_fixed, to_fixed))


def while_loop(gc, gs, ys, *srcs):
    raise GradientError("while_loop has no gradient: the number of its turns is not known beforehand", op="while_loop",
                        fix="use scan with a fixed number of turns")


def branch(gc, gs, ys, condition, *srcs):
    bodies = ys[0].node.srcs[0].attrs[:2]
    places, given = _needed(srcs), _differentiable(ys)

    def side(body):
        def gradients(read, g):
            def of(*some):
                whole = _replaced(read, places, some)
                return _chosen(applied(gc, body, whole[:len(body.inputs)], whole[len(body.inputs):]), given)
            return gc.vjp(of, *_chosen(read, places))[1](g)
        return gradients

    found = gc.cond(condition, side(bodies[0]), side(bodies[1]), srcs, _chosen(gs, given))
    return None, *_gradients(srcs, places, found)
