"""Factors that stay the same while a loop turns are laid out for its products once, before it.

A product packs its second factor into panels, columns of some vectors each, with k from one end to the other
(codegen_templates/c/gemm.c.j2). With few rows that takes a third of its time. In a loop over many turns a factor that
comes from outside, the weights of a recurrent layer for example, becomes an array of that layout: the loop reads the
array, its body multiplies by a view of it, and codegen finds that the panels are there (codegen/gemm_c.py).
"""
from __future__ import annotations

from math import prod

from graphc.ir.body import DEVICE, Body, substituted
from graphc.ir.node import Node, make, replaced, topological
from graphc.ir.ops import BUFFER, DOT, LOOP, MOVEMENT, PERMUTE, RESHAPE
from graphc.ir.target import FEW_ROWS, panel_bytes

LEAST_TURNS = 4
MOST_ROWS = 256     # of the other factor: with more of them, packing takes little
TYPES = ("float32", "float64")


def lay_panels(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """LOOP whose body has DOT(x, view of an array from outside) -> the same with DOT(x, view of that view's panels)."""
    order = topological(roots)
    loops = {node: found for node in order if node.op is LOOP and (found := _factors(node))}
    if not loops:
        return roots
    return replaced(order, roots, lambda node, new: _with_panels(node, [new[s] for s in node.srcs], loops[node])
                    if node in loops else None)


def _factors(loop: Node) -> dict[Node, Node]:
    """The second factors of the body's products that are worth laying out, each with the input that it is a view of."""
    body, count, sliced, turns, _ = loop.attrs
    found: dict[Node, Node] = {}
    for node in body.order if turns >= LEAST_TURNS else ():
        if node.op is not DOT or node.dtype.name not in TYPES:
            continue
        factor = source = node.srcs[1]
        while source.op.kind == MOVEMENT and len(source.srcs) == 1:
            source = source.srcs[0]
        alone = prod(factor.shape[:-2]) == 1 and FEW_ROWS < prod(node.shape[:-1]) <= MOST_ROWS
        if (alone and source.op is BUFFER and source.attrs[0] >= count + sliced and factor.size == source.size
                and factor.shape[-1] % width(factor) == 0):
            found[factor] = source
    return found


def width(factor: Node) -> int:
    """Columns of a panel in memory: codegen multiplies by such panels as they are."""
    return panel_bytes() // factor.dtype.itemsize


def _with_panels(loop: Node, srcs: list[Node], factors: dict[Node, Node]) -> Node:
    """The loop with the panels of these factors instead of the arrays that they are views of, or behind all arrays
    where something else in the body reads those."""
    body = loop.attrs[0]
    given, scalars = srcs[:len(body.inputs)], srcs[len(body.inputs):]
    arrays, inputs = list(given), list(body.inputs)
    others = set(topological(body.roots, is_leaf=lambda n: n in factors or n.value is not None))
    inside: dict[Node, Node] = {}
    for factor, source in factors.items():
        k, n = factor.shape[-2:]
        side = width(factor)
        shape = (n // side, k, side)
        number = len(inputs) if source in others else source.attrs[0]
        others.add(source)
        panels = make(BUFFER, factor.dtype, shape, (), (number,), device=DEVICE)
        view, = substituted([factor], {source: given[source.attrs[0]]})
        apart = make(RESHAPE, factor.dtype, (k, n // side, side), (view,), device=view.device)
        array = make(PERMUTE, factor.dtype, shape, (apart,), ((1, 0, 2),), device=view.device, site=loop.site)
        inputs[number:number + 1], arrays[number:number + 1] = [panels], [array]
        beside = make(PERMUTE, factor.dtype, apart.shape, (panels,), ((1, 0, 2),), device=DEVICE)
        inside[factor] = make(RESHAPE, factor.dtype, factor.shape, (beside,), device=DEVICE)
    changed = Body(substituted(body.roots, inside), inputs, body.scalars)
    return make(LOOP, loop.dtype, loop.shape, (*arrays, *scalars), (changed, *loop.attrs[1:]), device=loop.device,
                site=loop.site)
