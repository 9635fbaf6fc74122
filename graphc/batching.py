"""vmap: a function of one example, recorded once, rewritten to a graph over a batch of them.

The function sees examples without the batch axis, as placeholders. Of what it recorded, every operation that depends on
them is recorded again with one more axis in front; operations that do not stay as they are. So a vectorised function
is a graph like any other: it fuses, and has gradients.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod

from graphc import driver
from graphc.api.laziness import unlimited
from graphc.api.manipulation import moveaxis
from graphc.api.record import as_tensor, common_device, normalize_axis, wrap
from graphc.errors import GraphcError, ShapeError
from graphc.ir import dtype as dt
from graphc.ir import ops, routines
from graphc.ir.node import Node, buffer, const, make, topological, untracked
from graphc.pytree import flatten, rebuild
from graphc.tensor import Tensor


class BatchingError(GraphcError, NotImplementedError):
    """An operation that vmap does not know how to batch."""


def vmap(f: Callable, in_axes=0, out_axes: int = 0) -> Callable:
    """f, written for one example, as a function of a batch of them.

    in_axes: which axis of each argument is the batch: an integer, or None for an argument that all examples share; one
    for all arguments, or a tuple with one for each. An argument may be a tree of tensors, which share its axis. Keyword
    arguments are shared. out_axes: where the batch axis is put in the results.

    Nothing runs, and nothing is copied for each example: operations get one more axis, matrix products become stacks.
    It can be nested, and combined with grad and jit. Raises ShapeError for batches of different sizes, BatchingError
    for what can't be batched (a scan, a function with its own gradient), TracerError where f asks for a value.

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
            raise ShapeError(f"in_axes has {len(axes)} entries for {len(args)} arguments", op="vmap")
        batched: dict[Node, Node] = {}
        given = [arg if axis is None else _examples(arg, axis, batched) for arg, axis in zip(args, axes, strict=True)]
        sizes = {node.shape[0] for node in batched.values()}
        if len(sizes) != 1:
            raise ShapeError(f"the batches have sizes {sorted(sizes)}" if sizes else "no argument has a batch axis",
                             op="vmap", fix="give arguments with one size along their batch axes, or in_axes=None")
        with unlimited():
            leaves, structure = flatten(f(*given, **kwargs))
            size, = sizes
            return rebuild(structure, [_result(x, batched, size, out_axes) for x in leaves])

    return wrapped


def _examples(arg, axis: int, batched: dict[Node, Node]):
    """Placeholders for one example of an argument; `batched` says what each stands for."""
    leaves, structure = flatten(arg)
    for k, x in enumerate(leaves):
        if x is None:
            continue
        x = as_tensor(x, None, "vmap")
        place = normalize_axis(axis, x.ndim, "vmap")
        whole = moveaxis(x, place, 0).node
        example = buffer(x.dtype, whole.shape[1:], None, whole.device or driver.default_device(), whole.site)
        example.attrs, example.tracked = driver.TRACED, whole.tracked
        batched[example] = whole
        leaves[k] = wrap(example)
    return rebuild(structure, leaves)


def _result(x, batched: dict[Node, Node], size: int, axis: int):
    if not isinstance(x, Tensor):
        return x
    node = _batch(x.node, batched, size)
    if node is x.node:      # it depends on no example
        node = _expanded(node, size)
    found = wrap(node)
    return moveaxis(found, 0, normalize_axis(axis, found.ndim, "vmap"))


def _batch(root: Node, batched: dict[Node, Node], size: int) -> Node:
    """The node for all examples, with the batch axis in front; the node itself if it depends on none."""
    for node in topological([root], is_leaf=lambda n: n in batched):
        if node in batched:
            continue
        srcs = [batched.get(s) for s in node.srcs]
        if any(s is not None for s in srcs):
            batched[node] = _rule(node)(node, srcs, size)
    return batched.get(root, root)


def _rule(node: Node) -> Callable:
    rule = _RULES.get(node.op) or _KINDS.get(node.op.kind)
    if rule is None:
        raise BatchingError(f"{node.op.name} can't be batched", op="vmap", site=node.site,
                            fix="call the function for each example, and stack the results")
    return rule


def _new(node: Node, size: int, srcs: Sequence[Node], attrs: tuple | None = None) -> Node:
    return make(node.op, node.dtype, (size, *node.shape), tuple(srcs), node.attrs if attrs is None else attrs,
                device=common_device("vmap", *srcs), site=node.site)


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    if node.shape == shape:
        return node
    return make(ops.RESHAPE, node.dtype, shape, (node,), (), device=node.device, site=node.site)


def _expanded(node: Node, size: int) -> Node:
    """What all examples share, once for each."""
    one = _reshaped(node, (1, *node.shape))
    return make(ops.EXPAND, node.dtype, (size, *node.shape), (one,), (), device=node.device, site=node.site)


def _all(node: Node, srcs: Sequence[Node | None], size: int) -> list[Node]:
    """Every source with a batch axis."""
    return [_expanded(s, size) if b is None else b for s, b in zip(node.srcs, srcs, strict=True)]


def _aligned(node: Node, srcs: Sequence[Node | None]) -> list[Node]:
    """Sources whose batch axis, where they have one, lies before all axes of the result; others broadcast."""
    ndim = len(node.shape)
    return [s if b is None else _reshaped(b, (b.shape[0], *(1,) * (ndim - len(s.shape)), *s.shape))
            for s, b in zip(node.srcs, srcs, strict=True)]


def _elementwise(node, srcs, size):
    return _new(node, size, _aligned(node, srcs))


def _movement(node, srcs, size):
    """RESHAPE and EXPAND: only the shapes say what they do."""
    return _new(node, size, srcs)


def _permute(node, srcs, size):
    return _new(node, size, srcs, ((0, *(a + 1 for a in node.attrs[0])),))


def _slice(node, srcs, size):
    starts, steps = node.attrs
    return _new(node, size, srcs, ((0, *starts), (1, *steps)))


def _pad(node, srcs, size):
    befores, fill = node.attrs
    return _new(node, size, srcs, ((0, *befores), fill))


def _shifted(node, srcs, size):
    """Operations whose first attribute is an axis."""
    return _new(node, size, _all(node, srcs, size), (node.attrs[0] + 1, *node.attrs[1:]))


def _dot(node, srcs, size):
    return _new(node, size, [_reshaped(s, (1, *s.shape)) if b is None else b
                             for s, b in zip(node.srcs, srcs, strict=True)])


def _take(node, srcs, size):
    """Every example from its own source: one source, the examples' one after the other, and indices moved on."""
    x, index = srcs
    axis, = node.attrs
    if index is None:
        return _new(node, size, (x, node.srcs[1]), (axis + 1,))
    if x is None:
        source = node.srcs[0]
        found = make(ops.TAKE, node.dtype, (*source.shape[:axis], *index.shape, *source.shape[axis + 1:]),
                     (source, index), (axis,), device=index.device, site=node.site)
        return _permuted(found, (axis, *range(axis), *range(axis + 1, len(found.shape))))
    rows = _permuted(x, (0, axis + 1, *range(1, axis + 1), *range(axis + 2, len(x.shape))))
    n, rest = rows.shape[1], rows.shape[2:]
    flat = _reshaped(rows, (size * n, *rest))
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


def _update(node, srcs, size):
    starts, steps = node.attrs
    return _new(node, size, _all(node, srcs, size), ((0, *starts), (1, *steps)))


def _scatter(node, srcs, size):
    base, index, values = _all(node, srcs, size)
    n, rest = base.shape[1], base.shape[2:]
    flat = (_reshaped(base, (size * n, *rest)), _reshaped(_of_example(index, n), (prod(index.shape),)),
            _reshaped(values, (prod(index.shape), *rest)))
    done = make(ops.SCATTER_ROWS, node.dtype, flat[0].shape, flat, node.attrs,
                device=common_device("vmap", *flat), site=node.site)
    return _reshaped(done, base.shape)


def _library(node, srcs, size):
    """Routines of one array and an axis, or axes, and those that work on stacks of matrices."""
    name, arguments = node.attrs
    srcs = _all(node, srcs, size)
    if name in ("sort", "argsort"):
        arguments = (arguments[0] % (len(srcs[0].shape) - 1) + 1, *arguments[1:])
    elif "fft" in name:
        n, axes, norm = arguments
        ndim = len(srcs[0].shape) - 1
        axes = tuple(a % ndim + 1 for a in axes) if isinstance(axes, tuple) else axes % ndim + 1
        arguments = (n, axes, norm)
    elif name == "solve" and len(node.srcs[1].shape) == 1:
        srcs = [srcs[0], _reshaped(srcs[1], (*srcs[1].shape, 1))]      # a stack of columns: `_get` takes the axis away
    dtypes, shapes = routines.results(name, tuple(s.dtype for s in srcs), tuple(s.shape for s in srcs), arguments)
    return make(ops.LIBRARY_CALL, dtypes, shapes, tuple(srcs), (name, arguments),
                device=common_device("vmap", *srcs), site=node.site)


def _get(node, srcs, size):
    call, = srcs
    i, = node.attrs
    found = make(ops.GET, node.dtype, call.shape[i], (call,), (i,), device=call.device, site=node.site)
    return _reshaped(found, (size, *node.shape))


def _alias(node, srcs, size):
    if node.attrs and len(srcs) == 1:
        return untracked(srcs[0], *node.attrs)
    if node.attrs:      # the way of its value has gradients too
        return srcs[0]
    return _new(node, size, _all(node, srcs, size))


_KINDS = {ops.ELEMENTWISE: _elementwise, ops.REDUCE: _shifted, ops.SCAN: _shifted}
_RULES = {ops.RESHAPE: _movement, ops.EXPAND: _movement, ops.PERMUTE: _permute, ops.SLICE: _slice, ops.PAD: _pad,
          ops.CONCAT: _shifted, ops.WINDOW: _shifted, ops.DOT: _dot, ops.TAKE: _take, ops.TAKE_ALONG: _shifted,
          ops.UPDATE: _update, ops.SCATTER_ROWS: _scatter, ops.LIBRARY_CALL: _library, ops.GET: _get,
          ops.ALIAS: _alias}
