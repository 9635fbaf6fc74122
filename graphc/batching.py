"""vmap: a function of one example, recorded once, rewritten to a graph over a batch of them.

The function sees examples without the batch axis, as placeholders. Of what it recorded, every operation that depends on
them is recorded again with one more axis in front; operations that do not stay as they are. So a vectorised function
is a graph like any other: it fuses, and has gradients. Loops and branches are recorded again with bodies of which the
same is true: one loop for all examples.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from graphc import driver
from graphc.api import loops
from graphc.api.called import called
from graphc.api.creation import eye
from graphc.api.laziness import unlimited
from graphc.api.manipulation import moveaxis
from graphc.api.record import as_tensor, common_device, normalize_axis, wrap
from graphc.api.reductions import any as any_
from graphc.errors import ArgumentError, BatchingError, ShapeError
from graphc.ir import dtype as dt
from graphc.ir import ops, routines
from graphc.ir.body import Body, depending
from graphc.ir.node import Node, buffer, const, make, topological, untracked
from graphc.pytree import flatten, unflatten
from graphc.tensor import Tensor
from graphc.tracing import Scalar


def vmap(f: Callable, in_axes=0, out_axes=0) -> Callable:
    """f, written for one example, as a function of a batch of them.

    in_axes   which axis of each argument is the batch: an integer, or None for an argument that all examples share;
              one for all arguments, or a tuple with one for each. Of an argument that is a tree of tensors it is the
              axis of all of them; a tree that begins as the argument does has one for each part: ({"w": None, "x": 0},)
    out_axes  where the batch axis is put in the results, in the same way; None for what depends on no example

    Keyword arguments are shared, and so are random numbers, which are drawn once for all examples.

    Nothing runs, and nothing is copied for each example: operations get one more axis, matrix products become stacks,
    a scan stays one scan. Of a cond whose condition differs by example both sides are computed for all, and the results
    chosen; a gradient of that takes zero times the derivative of the other side, which is NaN where that is infinite. A
    while_loop whose condition differs goes on as long as that of any example holds; examples that are done keep their
    values. Indices of examples that are done, or on the other side, may be anything.

    It can be nested, and combined with grad and jit. Raises ShapeError for batches of different sizes,
    ArgumentError for axes that do not fit the arguments or results, BatchingError for what can't be batched,
    TracerError where f asks for a value or assigns to a tensor that it has not made.

    >>> import graphc as gc
    >>> a, b = gc.asarray([[1.0, 2.0], [3.0, 4.0]]), gc.asarray([10.0, 100.0])
    >>> gc.vmap(lambda row, v: (row * v).sum(), in_axes=(0, None))(a, b).tolist()
    [210.0, 430.0]
    >>> gc.vmap(gc.grad(lambda x: x ** 3))(gc.asarray([1.0, 2.0])).tolist()
    [3.0, 12.0]
    """
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentError(f"in_axes has {len(axes)} entries for {len(args)} arguments", op="vmap")
        batched: dict[Node, Node] = {}
        given = [arg if axis is None else _examples(arg, _axes(axis, arg, "in_axes"), batched)
                 for arg, axis in zip(args, axes, strict=True)]
        sizes = {node.shape[0] for node in batched.values()}
        if len(sizes) != 1:
            raise ShapeError(f"the batches have sizes {sorted(sizes)}" if sizes else "no argument has a batch axis",
                             op="vmap", fix="give arguments with one size along their batch axes, or in_axes=None")
        results = called("vmap", f, given, kwargs)
        with unlimited():
            leaves, structure = flatten(results)
            leaves = [as_tensor(x, None, "vmap") if isinstance(x, _NUMBERS) else x for x in leaves]
            places = {k: axis for k, axis in enumerate(_axes(out_axes, results, "out_axes"))
                      if isinstance(leaves[k], Tensor)}
            lanes = _Lanes(*sizes, batched)
            found = _batch([leaves[k].node for k in places], lanes)
            for (k, axis), node in zip(places.items(), found, strict=True):
                leaves[k] = _placed(leaves[k].node, node, axis, lanes)
            return unflatten(structure, leaves)

    return wrapped


_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray, Scalar)


def _axes(axes, tree, name: str) -> list:
    """The axis of each leaf of a tree, of axes for it or for its parts."""
    if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        parts = [(axes[key], tree[key]) for key in tree]
    elif isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        parts = list(zip(axes, tree, strict=True))
    elif axes is None or isinstance(axes, int):
        return [axes] * len(flatten(tree)[0])
    else:
        kind = f"{type(tree).__name__}{f' of {len(tree)}' if isinstance(tree, (tuple, list, dict)) else ''}"
        raise ArgumentError(f"{name} has {axes!r} for a {kind}", op="vmap",
                            fix="give one axis for all of it, or one for each of its parts")
    return [axis for part in parts for axis in _axes(*part, name)]


def _examples(arg, axes: Sequence[int | None], batched: dict[Node, Node]):
    """Placeholders for one example of an argument; `batched` says what each stands for."""
    leaves, structure = flatten(arg)
    for k, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
        if x is None or axis is None:
            continue
        x = as_tensor(x, None, "vmap")
        place = normalize_axis(axis, x.ndim, "vmap")
        whole = moveaxis(x, place, 0).node
        example = _example(whole)
        batched[example] = whole
        leaves[k] = wrap(example)
    return unflatten(structure, leaves)


def _example(whole: Node) -> Node:
    """A placeholder for one example."""
    found = buffer(whole.dtype, whole.shape[1:], None, whole.device or driver.default_device(), whole.site)
    found.attrs, found.tracked = driver.EXAMPLE, whole.tracked
    return found


def _placed(one: Node, whole: Node | None, axis: int | None, lanes: _Lanes) -> Tensor:
    """A result: `whole` is that of all examples, None where it depends on none."""
    if axis is None and whole is None:
        return wrap(one)
    if axis is None:
        raise ArgumentError("out_axes is None for a result that differs by example", op="vmap", site=one.site,
                            fix="give an axis for it, or reduce over the examples outside")
    found = wrap(_expanded(one, lanes) if whole is None else whole)
    return moveaxis(found, 0, normalize_axis(axis, found.ndim, "vmap"))


class _Lanes(NamedTuple):
    """size     how many examples there are
    batched  what stands for all examples, of nodes that stand for one; grows
    active   where not all examples come to this place: a boolean for each that says which do. What is computed for the
             others nobody reads, and it must not fail
    """
    size: int
    batched: dict[Node, Node | list[Node]]
    active: Node | None = None


def _batch(roots: Sequence[Node], lanes: _Lanes) -> list[Node | None]:
    """The nodes for all examples, with the batch axis in front; None for what depends on none."""
    batched = lanes.batched
    for node in topological(roots, is_leaf=lambda n: n in batched or n.value is not None):
        if node in batched or node.value is not None:
            continue
        srcs = [batched.get(s) for s in node.srcs]
        if any(s is not None for s in srcs):
            batched[node] = _rule(node)(node, srcs, lanes)
    return [batched.get(root) for root in roots]


def _whole(roots: Sequence[Node], lanes: _Lanes) -> list[Node]:
    """The same with a batch axis everywhere."""
    return [_expanded(root, lanes) if found is None else found
            for root, found in zip(roots, _batch(roots, lanes), strict=True)]


def _rule(node: Node) -> Callable:
    rule = _RULES.get(node.op) or _KINDS.get(node.op.kind)
    if rule is None:
        raise BatchingError(f"{node.op.name} can't be batched", op="vmap", site=node.site,
                            fix="call the function for each example, and stack the results")
    return rule


def _new(node: Node, lanes: _Lanes, srcs: Sequence[Node], attrs: tuple | None = None) -> Node:
    return make(node.op, node.dtype, (lanes.size, *node.shape), tuple(srcs), node.attrs if attrs is None else attrs,
                device=common_device("vmap", *srcs), site=node.site)


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    if node.shape == shape:
        return node
    return make(ops.RESHAPE, node.dtype, shape, (node,), (), device=node.device, site=node.site)


def _expanded(node: Node, lanes: _Lanes) -> Node:
    """What all examples share, once for each."""
    one = _reshaped(node, (1, *node.shape))
    return make(ops.EXPAND, node.dtype, (lanes.size, *node.shape), (one,), (), device=node.device, site=node.site)


def _all(node: Node, srcs: Sequence[Node | None], lanes: _Lanes) -> list[Node]:
    """Every source with a batch axis."""
    return [_expanded(s, lanes) if b is None else b for s, b in zip(node.srcs, srcs, strict=True)]


def _aligned(node: Node, srcs: Sequence[Node | None]) -> list[Node]:
    """Sources whose batch axis, where they have one, lies before all axes of the result; others broadcast."""
    ndim = len(node.shape)
    return [s if b is None else _reshaped(b, (b.shape[0], *(1,) * (ndim - len(s.shape)), *s.shape))
            for s, b in zip(node.srcs, srcs, strict=True)]


def _elementwise(node, srcs, lanes):
    return _new(node, lanes, _aligned(node, srcs))


def _movement(node, srcs, lanes):
    """RESHAPE and EXPAND: only the shapes say what they do."""
    return _new(node, lanes, srcs)


def _permute(node, srcs, lanes):
    return _new(node, lanes, srcs, ((0, *(a + 1 for a in node.attrs[0])),))


def _slice(node, srcs, lanes):
    starts, steps = node.attrs
    return _new(node, lanes, srcs, ((0, *starts), (1, *steps)))


def _pad(node, srcs, lanes):
    befores, fill = node.attrs
    return _new(node, lanes, srcs, ((0, *befores), fill))


def _shifted(node, srcs, lanes):
    """Operations whose first attribute is an axis."""
    return _new(node, lanes, _all(node, srcs, lanes), (node.attrs[0] + 1, *node.attrs[1:]))


def _dot(node, srcs, lanes):
    return _new(node, lanes, [_reshaped(s, (1, *s.shape)) if b is None else b
                             for s, b in zip(node.srcs, srcs, strict=True)])


def _take(node, srcs, lanes):
    """Every example from its own source: one source, the examples' one after the other, and indices moved on."""
    x, index = srcs
    axis, = node.attrs
    if index is None:
        return _new(node, lanes, (x, node.srcs[1]), (axis + 1,))
    if x is None:
        source = node.srcs[0]
        found = make(ops.TAKE, node.dtype, (*source.shape[:axis], *index.shape, *source.shape[axis + 1:]),
                     (source, index), (axis,), device=index.device, site=node.site)
        return _permuted(found, (axis, *range(axis), *range(axis + 1, len(found.shape))))
    rows = _permuted(x, (0, axis + 1, *range(1, axis + 1), *range(axis + 2, len(x.shape))))
    n, rest = rows.shape[1], rows.shape[2:]
    flat = _reshaped(rows, (lanes.size * n, *rest))
    shape = (*index.shape, *rest)
    found = make(ops.TAKE, node.dtype, shape, (flat, _of_example(index, n)), (0,), device=x.device, site=node.site)
    k = len(index.shape)
    return _permuted(found, (0, *range(k, k + axis), *range(1, k), *range(k + axis, len(shape))))


def _of_example(index: Node, n: int) -> Node:
    """Indices below n of each example as indices into all of them, laid one after the other."""
    wide = index if index.dtype is dt.int64 else make(ops.CAST, dt.int64, index.shape, (index,), ())
    size = index.shape[0]
    first = make(ops.MUL, dt.int64, (size,), (make(ops.IOTA, dt.int64, (size,)), const(n, dt.int64)))
    first = _reshaped(first, (size, *(1,) * (len(index.shape) - 1)))
    return make(ops.ADD, dt.int64, index.shape, (wide, first), (), device=index.device)


def _permuted(node: Node, axes: tuple[int, ...]) -> Node:
    if axes == tuple(range(len(axes))):
        return node
    return make(ops.PERMUTE, node.dtype, tuple(node.shape[a] for a in axes), (node,), (axes,), device=node.device,
                site=node.site)


def _update(node, srcs, lanes):
    starts, steps = node.attrs
    return _new(node, lanes, _all(node, srcs, lanes), ((0, *starts), (1, *steps)))


def _scatter(node, srcs, lanes):
    base, index, values = _all(node, srcs, lanes)
    n, rest = base.shape[1], base.shape[2:]
    flat = (_reshaped(base, (lanes.size * n, *rest)), _reshaped(_of_example(index, n), (prod(index.shape),)),
            _reshaped(values, (prod(index.shape), *rest)))
    done = make(ops.SCATTER_ROWS, node.dtype, flat[0].shape, flat, node.attrs,
                device=common_device("vmap", *flat), site=node.site)
    return _reshaped(done, base.shape)


def _library(node, srcs, lanes):
    """Routines of one array and an axis, or axes, and those that work on stacks of matrices."""
    name, arguments = node.attrs
    if name == "solve" and srcs[0] is None and len(node.srcs[0].shape) == 2:
        return _columns(node, srcs[1])
    srcs = _all(node, srcs, lanes)
    if name in ("sort", "argsort", "topk"):
        arguments = (arguments[0] % (len(srcs[0].shape) - 1) + 1, *arguments[1:])
    elif "fft" in name:
        n, axes, norm = arguments
        ndim = len(srcs[0].shape) - 1
        axes = tuple(a % ndim + 1 for a in axes) if isinstance(axes, tuple) else axes % ndim + 1
        arguments = (n, axes, norm)
    else:
        if name == "solve":
            srcs = _systems(node, srcs)
        if lanes.active is not None:    # of examples that do not come here, any matrix that has an inverse is right
            unit = eye(*srcs[0].shape[-2:], dtype=srcs[0].dtype, device=srcs[0].device)
            srcs = [_selected(lanes.active, srcs[0], unit.node), *srcs[1:]]
    dtypes, shapes = routines.results(name, tuple(s.dtype for s in srcs), tuple(s.shape for s in srcs), arguments)
    call = make(ops.LIBRARY_CALL, dtypes, shapes, tuple(srcs), (name, arguments),
                device=common_device("vmap", *srcs), site=node.site)
    return [_reshaped(x, (lanes.size, *shape)) for x, shape in zip(_results(call), node.shape, strict=True)]


def _systems(node: Node, srcs: Sequence[Node]) -> list[Node]:
    """Matrices and columns whose stacks, behind the batch axis, have as many axes: a vector is one column."""
    a, b = srcs
    shapes = [node.srcs[0].shape, node.srcs[1].shape if len(node.srcs[1].shape) > 1 else (*node.srcs[1].shape, 1)]
    ndim = max(map(len, shapes))
    return [_reshaped(x, (x.shape[0], *(1,) * (ndim - len(shape)), *shape))
            for x, shape in zip((a, b), shapes, strict=True)]


def _columns(node: Node, b: Node) -> list[Node]:
    """Of one matrix for all examples, which is taken apart once: what each of them asks for becomes columns of it."""
    axis = len(b.shape) - min(len(node.srcs[1].shape), 2)
    rows = _permuted(b, (axis, *range(axis), *range(axis + 1, len(b.shape))))
    flat = _reshaped(rows, (rows.shape[0], prod(rows.shape[1:])))
    call = make(ops.LIBRARY_CALL, node.dtype, (flat.shape,), (node.srcs[0], flat), node.attrs,
                device=common_device("vmap", node.srcs[0], flat), site=node.site)
    found = _reshaped(_results(call)[0], rows.shape)
    return [_permuted(found, (*range(1, axis + 1), 0, *range(axis + 1, len(b.shape))))]


def _get(node, srcs, lanes):
    """The rule of an operation of several results gives a list of them."""
    return srcs[0][node.attrs[0]]


def _alias(node, srcs, lanes):
    if node.attrs and len(srcs) == 1:
        return untracked(srcs[0], *node.attrs)
    if node.attrs:      # the way of its value has gradients too
        return srcs[0]
    return _new(node, lanes, _all(node, srcs, lanes))


def _custom(node, srcs, lanes):
    """A function with its own gradient: its rule records the gradient of one example, which is batched then."""
    def rule(gs):
        examples = [_example(g.node) for g in gs]
        found = node.attrs[0](_handles(examples))
        batched = {**lanes.batched, **dict(zip(examples, _nodes(gs), strict=True))}
        whole = iter(_whole(_nodes(g for g in found if g is not None), lanes._replace(batched=batched)))
        return [None if g is None else wrap(next(whole)) for g in found]
    shapes = tuple((lanes.size, *shape) for shape in node.shape)
    call = make(ops.CUSTOM, node.dtype, shapes, tuple(_all(node, srcs, lanes)), (rule,), site=node.site)
    return _results(call)


def _results(call: Node) -> list[Node]:
    return [make(ops.GET, d, s, (call,), (i,), device=call.device, site=call.site)
            for i, (d, s) in enumerate(zip(call.dtype, call.shape, strict=True))]


def _check_index(node, srcs, lanes):
    """Of examples that do not come here, any index is right."""
    index, = srcs
    if lanes.active is not None:
        index = _selected(lanes.active, index, const(0, index.dtype))
    return _new(node, lanes, (index,))


def _selected(chosen: Node, a: Node, b: Node) -> Node:
    """a of the examples that are chosen, b of the others."""
    chosen = _reshaped(chosen, (*chosen.shape, *(1,) * (len(a.shape) - 1)))
    return make(ops.WHERE, a.dtype, a.shape, (chosen, a, b), (), device=common_device("vmap", chosen, a, b),
                site=a.site)


# -------------------------------------------------------------------------------------------------- loops and branches

def _inside(body: Body, arrays: Sequence[Node], scalars: Sequence[Node], flags: Sequence[bool],
            wanted: Sequence[bool], lanes: _Lanes) -> list[Node]:
    """What a body gives of these arrays, which have a batch axis where `flags` say so, with one where it is wanted."""
    examples = [_example(a) if flag else a for a, flag in zip(arrays, flags, strict=True)]
    roots = body.over(examples, scalars)
    batched = {e: a for e, a, flag in zip(examples, arrays, flags, strict=True) if flag}
    found = _batch(roots, lanes._replace(batched=batched))
    return [root if not want else _expanded(root, lanes) if node is None else node
            for root, node, want in zip(roots, found, wanted, strict=True)]


def _depends(body: Body, flags: list[bool]) -> list[bool]:
    """Which results have a batch axis, if these inputs have one."""
    reached = depending(body.history, {place for place, flag in zip(body.inputs, flags, strict=True) if flag})
    return [root in reached for root in body.history]


def _spread(body: Body, flags: list[bool], carried: int) -> tuple[list[bool], list[bool]]:
    """(inputs, results) that have a batch axis: what is carried has one from the start if it has one after any turn."""
    while True:
        results = _depends(body, flags)
        carry = [a or b for a, b in zip(flags[:carried], results[:carried], strict=True)]
        if carry == flags[:carried]:
            return flags, [*carry, *results[carried:]]
        flags = [*carry, *flags[carried:]]


def _given(nodes: Sequence[Node], srcs: Sequence[Node | None], flags: Sequence[bool], lanes: _Lanes) -> list[Node]:
    """The sources of a loop or branch that are arrays, with a batch axis where `flags` say so."""
    return [node if not flag else _expanded(node, lanes) if b is None else b
            for node, b, flag in zip(nodes, srcs, flags, strict=False)]


def _flags(body: Body, srcs: Sequence[Node | None]) -> list[bool]:
    return [b is not None for b in srcs[:len(body.inputs)]]


def _handles(nodes: Sequence[Node]) -> tuple[Tensor, ...]:
    return tuple(map(wrap, nodes))


def _nodes(tensors: Iterable[Tensor]) -> list[Node]:
    return [t.node for t in tensors]


def _turned(node: Node) -> Node:
    """The first two axes change places: of turns and of examples."""
    return _permuted(node, (1, 0, *range(2, len(node.shape))))


def _scan(node, srcs, lanes):
    """One loop for all examples. What no example has a part in is computed in it once, for all of them."""
    body, carried, sliced, turns, reverse = node.attrs
    flags, results = _spread(body, _flags(body, srcs), carried)
    arrays, scalars = _given(node.srcs, srcs, flags, lanes), node.srcs[len(flags):]
    state, columns, fixed = arrays[:carried], arrays[carried:carried + sliced], arrays[carried + sliced:]
    columns = [_turned(x) if flag else x for x, flag in zip(columns, flags[carried:], strict=False)]

    def turn(carry, at):
        found = _handles(_inside(body, [*_nodes(carry), *_nodes(at), *fixed], scalars, flags, results, lanes))
        return found[:carried], found[carried:]
    last, gave = loops.scan(turn, _handles(state), _handles(columns), turns, reverse)
    gave = [_turned(y.node) if flag else y.node for y, flag in zip(gave, results[carried:], strict=True)]
    found = [*_nodes(last), *gave]
    return [x if flag else _expanded(x, lanes) for x, flag in zip(found, results, strict=True)]


def _while(node, srcs, lanes):
    """One loop for all examples. Where each has a condition of its own, it goes on as long as one of them holds, and
    examples that are done keep their values."""
    test, body, carried = node.attrs
    flags, _ = _spread(body, _flags(body, srcs), carried)
    own = any(_depends(test, flags))
    if own:
        flags[:carried] = [True] * carried
    arrays, scalars = _given(node.srcs, srcs, flags, lanes), node.srcs[len(flags):]
    state, fixed = arrays[:carried], arrays[carried:]

    def holds(state, lanes):
        return _inside(test, [*state, *fixed], scalars, flags, [own], lanes)[0]

    def after(state, lanes):
        return _inside(body, [*state, *fixed], scalars, flags, flags[:carried], lanes)

    def active(state):
        return _both(lanes.active, holds(state, lanes))

    def turn(carry):
        old = _nodes(carry)
        there = lanes._replace(active=active(old))
        return _handles([_selected(there.active, a, b) for a, b in zip(after(old, there), old, strict=True)])
    if own:
        found = loops.while_loop(lambda s: any_(wrap(active(_nodes(s)))), turn, _handles(state))
    else:
        found = loops.while_loop(lambda s: wrap(holds(_nodes(s), lanes)),
                                 lambda s: _handles(after(_nodes(s), lanes)), _handles(state))
    return [x if flag else _expanded(x, lanes) for x, flag in zip(_nodes(found), flags, strict=False)]


def _cond(node, srcs, lanes):
    """A branch, or, where each example has a condition of its own, a choice between the results of both sides."""
    sides, scalars = node.attrs, node.srcs[1 + len(node.attrs[0].inputs):]
    flags = _flags(sides[0], srcs[1:])
    arrays = _given(node.srcs[1:], srcs[1:], flags, lanes)
    chosen = srcs[0]
    if chosen is None:
        wanted = [a or b for a, b in zip(*(_depends(side, flags) for side in sides), strict=True)]
        takes = [lambda *at, side=side: _handles(_inside(side, _nodes(at), scalars, flags, wanted, lanes))
                 for side in sides]
        found = _nodes(loops.cond(wrap(node.srcs[0]), *takes, *_handles(arrays)))
        return [x if want else _expanded(x, lanes) for x, want in zip(found, wanted, strict=True)]
    other = make(ops.INVERT, dt.bool, chosen.shape, (chosen,), (), device=chosen.device)
    yes, no = (_inside(side, arrays, scalars, flags, [True] * len(side.roots),
                       lanes._replace(active=_both(lanes.active, here)))
               for side, here in zip(sides, (chosen, other), strict=True))
    return [_selected(chosen, a, b) for a, b in zip(yes, no, strict=True)]


def _both(a: Node | None, b: Node) -> Node:
    if a is None:
        return b
    return make(ops.AND, dt.bool, b.shape, (a, b), (), device=common_device("vmap", a, b))


_KINDS = {ops.ELEMENTWISE: _elementwise, ops.REDUCE: _shifted, ops.SCAN: _shifted}
_RULES = {ops.RESHAPE: _movement, ops.EXPAND: _movement, ops.PERMUTE: _permute, ops.SLICE: _slice, ops.PAD: _pad,
          ops.CONCAT: _shifted, ops.WINDOW: _shifted, ops.DOT: _dot, ops.TAKE: _take, ops.TAKE_ALONG: _shifted,
          ops.UPDATE: _update, ops.SCATTER_ROWS: _scatter, ops.LIBRARY_CALL: _library, ops.GET: _get,
          ops.ALIAS: _alias, ops.CHECK_INDEX: _check_index, ops.LOOP: _scan, ops.WHILE: _while, ops.IF: _cond,
          ops.CUSTOM: _custom}
