"""The gradients of scan and cond: loops and branches again, whose bodies are the gradients of the bodies.

A scan keeps the state before each turn and what is dear to compute (`ir.body.kept`), as further results that nobody
reads unless its gradient is taken. Then the turns are gone through backwards, each with the gradient of one turn, whose
graph is looked at before it becomes the body of the second loop: what is there from the first one is read, and a
gradient that sums matrix products over the turns is left out. It becomes one product after the loop, over the turns'
operands one after the other. What else the body reads from outside collects its gradient in the state.
"""
from __future__ import annotations

from graphc.errors import GradientError
from graphc.ir.body import depending, placeholder, substituted
from graphc.ir.node import Node, const_value, make, topological
from graphc.ir.ops import ADD, ALIAS, CONST, DOT, EXPAND, FENCE, PERMUTE, RESHAPE, SUM


def applied(gc, body, arrays, scalars) -> list:
    """What the body gives for these tensors."""
    return [_handle(gc, node) for node in body.over([t.node for t in arrays], [t.node for t in scalars])]


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


class _Scan:
    """A scan whose gradient is taken: what goes in and comes out, and the places of what has a gradient.

    state, columns, fixed  what it begins with, what it takes apart, what each turn reads whole
    gs, ys                 the gradients of its results, and these
    given                  the places of the collected results whose gradients are not zero
    """

    def __init__(self, gc, gs, ys, srcs):
        self.gc, self.gs, self.ys = gc, gs, ys
        self.body, carried, sliced, self.turns, self.reverse = ys[0].node.srcs[0].attrs
        self.carried, end = carried, carried + sliced
        self.state, self.columns, self.fixed = list(srcs[:carried]), list(srcs[carried:end]), list(srcs[end:])
        self.outside = len(self.body.inputs) - end      # of what is fixed, how many are arrays; the others are scalars
        self.in_state, self.in_columns = _differentiable(self.state), _needed(self.columns)
        self.in_fixed = _needed(self.fixed)
        self.given = [k for k in _differentiable(ys) if k >= carried and not _is_zero(gs[k].node)]


class _Turn:
    """The gradient of one turn of a scan, recorded over placeholders.

    old, x, g_state, g_given   placeholders: of the state before the turn, of a row of each column, of the gradients of
                               the state after it and of what it gives
    to_state, to_x, to_fixed   the gradients, as nodes; kept: what the turn of the scan itself gives, as nodes
    """

    def __init__(self, scan: _Scan):
        gc, gs = scan.gc, scan.gs
        self.old = [_place(gc, t, t.shape) for t in scan.state]
        self.x = [_place(gc, t, t.shape[1:]) for t in scan.columns]
        self.g_state = [_place(gc, gs[k], gs[k].shape) for k in scan.in_state]
        self.g_given = [_place(gc, gs[k], gs[k].shape[1:]) for k in scan.given]
        results: list = []
        variables: dict[Node, Node] = {}

        def of(some_old, some_x, some_fixed):
            variables.update((v.node, t.node) for ts, places, vs in (
                (self.old, scan.in_state, some_old), (self.x, scan.in_columns, some_x),
                (scan.fixed, scan.in_fixed, some_fixed)) for v, t in zip(vs, _chosen(ts, places), strict=True))
            read = _replaced(scan.fixed, scan.in_fixed, some_fixed)
            arrays = [*_replaced(self.old, scan.in_state, some_old), *_replaced(self.x, scan.in_columns, some_x),
                      *read[:scan.outside]]
            results[:] = applied(gc, scan.body, arrays, read[scan.outside:])
            return (*_chosen(results, scan.in_state), *_chosen(results, scan.given))

        _, pull = gc.vjp(of, _chosen(self.old, scan.in_state), _chosen(self.x, scan.in_columns),
                         _chosen(scan.fixed, scan.in_fixed))
        found = (*pull((*self.g_state, *self.g_given)), results[scan.carried:])
        nodes = iter(substituted([t.node for part in found for t in part], variables))
        self.to_state, to_x, self.to_fixed, self.kept = ([next(nodes) for _ in part] for part in found)
        self.to_x = [_plain(n) for n in to_x]


def loop(gc, gs, ys, *srcs):
    scan = _Scan(gc, gs, ys, srcs)
    turn = _Turn(scan)

    # What a turn of the second loop may read, and where it lies; then what it gives besides.
    stacks = {n: y for n, y in zip(turn.kept, ys[scan.carried:], strict=True) if n.op is not ALIAS}
    stacks |= {t.node: column for t, column in zip(turn.x, scan.columns, strict=True)}
    stacks |= {t.node: gs[k] for t, k in zip(turn.g_given, scan.given, strict=True)}
    gives = list(dict.fromkeys(n for n in turn.to_x if n not in stacks))
    later, now = _postponed(turn.to_fixed, {t.node for t in (*turn.old, *turn.g_state)}, stacks, gives)

    g, sums, found = _backwards(scan, turn, stacks, now, gives)
    stacks |= dict(zip(gives, found, strict=True))
    totals = []
    for s, terms in zip(sums, later, strict=True):
        found = [*([] if s is None else [s]), *(_summed(gc, term, stacks) for term in terms)]
        totals.append(sum(found[1:], found[0]))
    return (*_gradients(scan.state, scan.in_state, g),
            *_gradients(scan.columns, scan.in_columns, [stacks[n] for n in turn.to_x]),
            *_gradients(scan.fixed, scan.in_fixed, totals))


def _backwards(scan: _Scan, turn: _Turn, stacks: dict, now: list[list[Node]], gives: list[Node]) -> tuple:
    """The second loop: the gradient of the state, the sums of the terms `now` (None where there are none), and what
    the turns have given, one after the other."""
    gc = scan.gc
    wanted = [*turn.to_state, *(n for part in now for n in part), *gives]
    reads = [n for n in topological(wanted, is_leaf=lambda n: n in stacks or n.value is not None) if n in stacks]

    def back(carry, at):
        g, sums = carry
        new = dict(zip([t.node for t in turn.g_state], [t.node for t in g], strict=True))
        new |= {n: t.node for n, t in zip(reads, at, strict=True)}
        after = [_handle(gc, n) for n in substituted(wanted, new)]
        parts = iter(after[len(turn.to_state):])
        summed = tuple(None if s is None else sum((next(parts) for _ in part), s)
                       for s, part in zip(sums, now, strict=True))
        return (tuple(after[:len(turn.to_state)]), summed), tuple(parts)

    start = tuple(gc.zeros_like(scan.fixed[i]) if part else None for i, part in zip(scan.in_fixed, now, strict=True))
    (g, sums), found = gc.scan(back, (_chosen(scan.gs, scan.in_state), start), tuple(stacks[n] for n in reads),
                               length=scan.turns, reverse=not scan.reverse)
    return g, sums, found


def _place(gc, t, shape):
    return _handle(gc, placeholder(t.node, shape, t.node.device or gc.get_backend_name()))


def _plain(node: Node) -> Node:
    """The node whose value this is."""
    while node.op is ALIAS:
        node = node.srcs[0]
    return node


def _is_zero(node: Node) -> bool:
    while node.op in (EXPAND, RESHAPE):
        node = node.srcs[0]
    return node.op is CONST and not const_value(node)


# ------------------------------------------------------------------------------------------------ sums over all turns

def _terms(node: Node, after: tuple[Node, ...] = ()) -> list[tuple[Node, tuple[Node, ...]]]:
    """Nodes with linear operations that are applied to each; all together they are the node."""
    node = _plain(node)
    if node.op is ADD and all(s.shape == node.shape for s in node.srcs):
        return [term for s in node.srcs for term in _terms(s, after)]
    if node.op in (PERMUTE, RESHAPE, SUM):
        return _terms(node.srcs[0], (node, *after))
    return [(node, after)]


def _base(node: Node) -> Node:
    """What a view is of."""
    while node.op in (ALIAS, FENCE, PERMUTE, RESHAPE):
        node = node.srcs[0]
    return node


def _postponed(gradients: list[Node], places: set[Node], stacks: dict, gives: list[Node]):
    """(terms that are summed after the loop, those that the loop sums), for each gradient.

    A product waits where its operands, as far as they are not there anyway, are smaller than the product, which the
    loop would read and write in each turn; they are added to `gives`. Other terms wait where they are there.
    """
    varying = depending(gradients, {*places, *stacks})
    terms = [_terms(node) for node in gradients]
    later: list[list] = [[] for _ in gradients]
    for k, of_one in enumerate(terms):
        for term in list(of_one):
            node = term[0]
            operands = {_base(s) for s in node.srcs} if node.op is DOT else set()
            new = [n for n in operands if n not in stacks and n not in gives]
            if operands and operands <= varying and sum(n.size for n in new) <= node.size:
                gives += new
                later[k].append(term)
                of_one.remove(term)
    for k, of_one in enumerate(terms):
        later[k] += [t for t in of_one if t[0] in stacks or t[0] in gives]
    now = []
    for of_one in terms:
        rest = [t for t in of_one if t[0] not in stacks and t[0] not in gives]
        now.append([_applied_to(node, after) for node, after in rest])
    return later, now


def _applied_to(node: Node, after: tuple[Node, ...]) -> Node:
    for linear in after:
        node = make(linear.op, linear.dtype, linear.shape, (node,), linear.attrs)
    return node


def _summed(gc, term: tuple[Node, tuple[Node, ...]], stacks: dict):
    """A term's sum over all turns: of products one product, whose k is that of all turns."""
    node, after = term
    if node.op is not DOT:
        total = stacks[node].sum(0)
    else:
        def stacked(operand: Node):
            base = _base(operand)
            return gc.vmap(lambda t: _handle(gc, *substituted([operand], {base: t.node})))(stacks[base])
        a, b = (stacked(s) for s in node.srcs)
        a, b = gc.moveaxis(a, 0, -2), gc.moveaxis(b, 0, -3)
        total = a.reshape(*a.shape[:-2], -1) @ b.reshape(*b.shape[:-3], -1, b.shape[-1])
    return _handle(gc, _applied_to(total.node, after))


def while_loop(gc, gs, ys, *srcs):
    raise GradientError("while_loop has no gradient: the number of its turns is not known beforehand", op="while_loop",
                        fix="use scan with a fixed number of turns")


def branch(gc, gs, ys, condition, *srcs):
    bodies = ys[0].node.srcs[0].attrs[:2]
    arrays, scalars = srcs[:len(bodies[0].inputs)], srcs[len(bodies[0].inputs):]
    places, given = _needed(arrays), _differentiable(ys)

    def side(body):
        def gradients(read, g):
            def of(*some):
                return _chosen(applied(gc, body, _replaced(read, places, some), scalars), given)
            return gc.vjp(of, *_chosen(read, places))[1](g)
        return gradients

    found = gc.cond(condition, side(bodies[0]), side(bodies[1]), arrays, _chosen(gs, given))
    return None, *_gradients(srcs, places, found)
