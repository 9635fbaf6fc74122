"""Reverse mode: from a graph to the graph of its gradients.

`pull_back` walks a recorded graph from its results to its variables and records, op by op, the gradient that stands in
the op table. So gradients are lazy like everything else, fuse with what they are made from, and have gradients.

Variables are nodes of their own (`ir.node.variable`), and each level of differentiation has a bit: `Node.tracked` tells
which variables lie under a node, so that values which a gradient needs keep their history when they are realized. The
lowest belongs to `requires_grad` and `backward`; `grad`, `vjp` and `jvp` take a free one, so that they can be nested.
"""
from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import graphc as gc
from graphc import again, driver, tracing
from graphc.api.fast import fast_math
from graphc.api.laziness import no_grad, unlimited
from graphc.api.record import as_tensor
from graphc.errors import DTypeError, GradientError, ShapeError
from graphc.ir.derivatives import Region, matching
from graphc.ir.node import Node, topological, untracked, variable
from graphc.ir.ops import ALIAS, FAST, GET, LIBRARY
from graphc.pytree import flatten, unflatten
from graphc.tensor import LEAF, Tensor, handles, history, levels

__all__ = ["backward", "grad", "jvp", "no_grad", "stop_gradient", "value_and_grad", "vjp", "zero_grad"]

MOST_PARTS = 32     # more slices of one tensor than this get their gradients by updates, not by one concat


_lock = threading.RLock()


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()   # it may be held by a thread that the child does not have


os.register_at_fork(after_in_child=_after_fork)


def _take_bit() -> int:
    with _lock:
        bit = LEAF << 1
        while bit in levels:
            bit <<= 1
        levels[bit] = []
    return bit


def _give_back(bit: int) -> None:
    """Nodes that still have it do no harm: no variable of the next user lies under them."""
    with _lock:
        del levels[bit]


@contextmanager
def _level() -> Iterator[int]:
    """The bit of one more level of differentiation."""
    bit = _take_bit()
    try:
        yield bit
    finally:
        _give_back(bit)


@contextmanager
def _with_history(bit: int) -> Iterator[int]:
    """Record with a history, whatever `no_grad` around a transform says: it is meant for what comes out. Yields the
    bits that results are cut off: the transform's own, or all of them."""
    paused, history.paused = history.paused, 0
    try:
        with unlimited():
            yield -1 if paused else bit
    finally:
        history.paused = paused


def _handle(node: Node) -> Tensor:
    """A handle whatever `no_grad` says: the walk needs the history."""
    tensor = object.__new__(Tensor)
    tensor.node = node
    return tensor


# ----------------------------------------------------------------------------------------------------------- the walk

def pull_back(results: Sequence[tuple[Node, Tensor]], variables: Sequence[Node], bit: int) -> list[Tensor | None]:
    """The gradients of the variables, from those of some results; None where no result depends on one."""
    ends = set(variables)
    order = topological([node for node, _ in results], is_leaf=lambda n: n in ends or not n.tracked & bit)
    leading: set[Node] = set()      # with a variable under them
    for node in order:
        if node in ends or (node.tracked & bit and not leading.isdisjoint(node.srcs)):
            leading.add(node)
    parts: dict[Node, list] = {node: [] for node in leading}
    for node, g in results:
        if node in leading:
            parts[node].append(g)
    for node in reversed(order):
        if node not in leading or node in ends or not parts[node]:
            continue
        for src, g in zip(node.srcs, _of_sources(node, parts.pop(node)), strict=True):
            if g is not None and src in leading:
                parts[src].append(g)
    return [_total(v, parts[v]) if parts.get(v) else None for v in variables]


def _of_sources(node: Node, parts: list) -> Sequence:
    """The gradients of a node's sources, marked where the node is."""
    if node.attrs == FAST and not driver.marks.inside:
        with fast_math():
            return _of_sources(node, parts)
    if node.op is GET:
        return [(node.attrs[0], _total(node, parts))]
    srcs = [_handle(s) for s in node.srcs]
    if node.op is ALIAS and not node.attrs:     # of two sources the second says where the gradient goes
        return [None] * (len(srcs) - 1) + [_total(node, parts)]
    if node.op is ALIAS and len(srcs) == 1:
        return [_total(node, parts)]
    if isinstance(node.dtype, tuple):
        found = _of_several(node, parts, srcs)
    elif node.op.grad is None:
        found = None
    else:
        found = node.op.grad(gc, _total(node, parts), _handle(node), *srcs)
    if found is None:
        return [None] * len(srcs)
    return [_fitted(g, s) for g, s in zip(found, srcs, strict=True)]


def _of_several(node: Node, parts: list, srcs: list[Tensor]) -> Sequence | None:
    """Of a node of several results: `parts` are (number of the result, gradient)."""
    from graphc.ir.node import make
    ys = [_handle(make(GET, dtype, shape, (node,), (i,), device=node.device, site=node.site))
          for i, (dtype, shape) in enumerate(zip(node.dtype, node.shape, strict=True))]
    gs: list = [None] * len(ys)
    for i, g in parts:
        gs[i] = g if gs[i] is None else gs[i] + g
    gs = [gc.zeros_like(y) if g is None else g for g, y in zip(gs, ys, strict=True)]
    found = None if node.op.grad is None else node.op.grad(gc, gs, ys, *srcs)
    if found is None and node.op.kind == LIBRARY and any(y.dtype.kind in "fc" for y in ys):
        raise GradientError(f"{node.attrs[0]} has no gradient", op="grad", site=node.site,
                            fix="give it one by gc.custom_vjp, or stop at it by gc.stop_gradient")
    return found


def _fitted(g, x: Tensor):
    """A gradient with the shape and dtype of the source that it belongs to."""
    if g is None or x.dtype.kind not in "fc":
        return None
    if isinstance(g, Region):
        return g
    if g.shape != x.shape:
        extra = g.ndim - x.ndim
        axes = tuple(i for i in range(g.ndim) if i < extra or (x.shape[i - extra] == 1 and g.shape[i] != 1))
        g = (g.sum(axis=axes) if axes else g).reshape(x.shape) if extra >= 0 else gc.broadcast_to(g, x.shape)
    return matching(gc, g, x)


def _total(node: Node, parts: list) -> Tensor:
    """The sum of all that flows back to a node. Slices are written into one array: their bytes are moved once."""
    regions = [p for p in parts if isinstance(p, Region)]
    whole = [p for p in parts if not isinstance(p, Region)]
    if whole:
        total, disjoint = functools.reduce(lambda a, b: a + b, whole), None
    else:
        disjoint = _side_by_side(node, regions)
        if disjoint is not None and len(regions) <= MOST_PARTS:
            return _joined(node, *disjoint)
        total = _zeros(node, node.shape)
    for key, g in regions:
        total = total.at[key].add(g) if disjoint is None else total.at[key].set(g)
    return total


def _zeros(node: Node, shape: tuple[int, ...]) -> Tensor:
    return gc.zeros(shape, dtype=node.dtype, device=node.device)


def _side_by_side(node: Node, regions: list[Region]) -> tuple[int, list[Region]] | None:
    """(axis, regions in its order) if they are disjoint along one axis, whole along all others, and without steps."""
    if any(s.step != 1 for key, _ in regions for s in key):
        return None
    partial = [axis for axis, n in enumerate(node.shape)
               if any((key[axis].start, key[axis].stop) != (0, n) for key, _ in regions)]
    if len(partial) != 1:
        return None
    axis = partial[0]
    regions = sorted(regions, key=lambda r: r.key[axis].start)
    if any(a.key[axis].stop > b.key[axis].start for a, b in pairwise(regions)):
        return None
    return axis, regions


def _joined(node: Node, axis: int, regions: list[Region]) -> Tensor:
    """The regions with zeros between them, as one array."""
    def gap(n: int) -> list[Tensor]:
        return [_zeros(node, (*node.shape[:axis], n, *node.shape[axis + 1:]))] if n else []

    at, pieces = 0, []
    for key, g in regions:
        pieces += [*gap(key[axis].start - at), g]
        at = key[axis].stop
    return gc.concat([*pieces, *gap(node.shape[axis] - at)], axis=axis)


# --------------------------------------------------------------------------------------------- functions of functions

def _differentiable(x, name: str, where: str) -> Tensor:
    if hasattr(x, "state_dict"):
        raise DTypeError(f"{where} is a module, {type(x).__name__}, and no tensors", op=name,
                         fix="use it in the function, and call loss.backward(): its parameters then have a .grad")
    x = as_tensor(x, None, name)
    if x.dtype.kind not in "fc":
        raise DTypeError(f"{where} is {x.dtype}, which has no gradient", op=name,
                         fix="use a floating-point dtype, e.g. x.astype('float32'), or leave it out of argnums")
    return x


def _as_variables(tree, bit: int, name: str, where: str) -> tuple[list[Node], object]:
    """The variables for the tensors of an argument, and the argument with them in their places."""
    leaves, structure = flatten(tree)
    nodes = []
    for k, leaf in enumerate(leaves):
        if leaf is not None:
            x = _differentiable(leaf, name, where)
            if x.node.device is None and tracing.current() is None:
                x = gc.asarray(x.numpy())   # a constant is part of the program; a variable is not
            nodes.append(variable(x.node, bit))
            levels[bit].append(nodes[-1])
            leaves[k] = _handle(nodes[-1])
    return nodes, unflatten(structure, leaves)


def _with_gradients(tree, found: Sequence[Tensor | None], nodes: Sequence[Node], cut: int):
    """Gradients in the structure of the argument they belong to; zeros where nothing depends on it."""
    leaves, structure = flatten(tree)
    gradients = iter([gc.zeros(n.shape, dtype=n.dtype) if g is None else _handle(untracked(g.node, cut))
                      for g, n in zip(found, nodes, strict=True)])
    return unflatten(structure, [None if leaf is None else next(gradients) for leaf in leaves])


def _freed(tree, cut: int):
    """The results of a function, cut off its variables."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [_handle(untracked(x.node, cut)) if isinstance(x, Tensor) else x for x in leaves])


def value_and_grad(f: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """A function that returns `(f(*args), gradient)`; see `grad`.

    >>> import graphc as gc
    >>> value, slope = gc.value_and_grad(lambda x: (x * x).sum())(gc.asarray([1.0, 2.0]))
    >>> float(value), slope.tolist()
    (5.0, [2.0, 4.0])
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise GradientError(f"argnums has {n}, but there are {len(args)} positional arguments", op="grad",
                                    fix="pass what is differentiated by position")
        with _level() as bit, _with_history(bit) as cut:
            args = list(args)
            given = {n: args[n] for n in numbers}
            nodes = {}
            for n in numbers:
                nodes[n], args[n] = _as_variables(args[n], bit, "grad", f"argument {n}")
            result = f(*args, **kwargs)
            value, aux = result if has_aux else (result, None)
            _check_scalar(value)
            everything = [node for n in numbers for node in nodes[n]]
            start = gc.ones((), dtype=value.dtype)
            found = iter(pull_back([(value.node, start)], everything, bit))
            gradients = tuple(_with_gradients(given[n], [next(found) for _ in nodes[n]], nodes[n], cut)
                              for n in numbers)
            value = _freed((value, aux) if has_aux else value, cut)
        return value, gradients[0] if isinstance(argnums, int) else gradients

    wrapped.graphc_results = ("outputs", "gradients")       # for estimate_memory
    return wrapped


def _check_scalar(value) -> None:
    if not isinstance(value, Tensor):
        raise GradientError(f"the function returned {type(value).__name__}, not a tensor", op="grad",
                            fix="return a 0-d tensor; other values by has_aux=True")
    if value.shape != () or value.dtype.kind != "f":
        raise ShapeError(f"only a real number has a gradient, not {value.dtype} of shape {value.shape}", op="grad",
                         fix="reduce it, e.g. by .sum(), or use gc.vjp")


def grad(f: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable:
    """The gradient of a function that returns one real number, as a function of the same arguments.

    argnums: the position, or positions, of the arguments to differentiate by. Each may be a tensor, a number, an array
    or a tree of them (tuples, lists, dicts, dataclasses); the gradient has its structure, shapes and dtypes. has_aux: f
    returns (value, other results), and so does the function: (gradient, other results).

    What f computes is recorded as always, so Python control flow on values works, and grad can be nested. float(),
    int(), bool(), tolist() and .item() give numbers that count as constants; .numpy() and NumPy's functions of what
    depends on the arguments raise GradientError, for no gradient passes them: `detach()` says that none shall.

    The gradient of a complex variable is dL/dRe + i dL/dIm, as in PyTorch. Where a function has no derivative it is 0
    (abs and relu at 0) or shared (ties in max). Inside `no_grad` the gradient is the same, and has no history itself.
    Raises GradientError, ShapeError (no number), DTypeError (integer variables).

    Source: reverse accumulation, Griewank & Walther, *Evaluating Derivatives* (2008).

    >>> import graphc as gc
    >>> gc.grad(gc.sin)(0.0).item()
    1.0
    >>> gc.grad(gc.grad(lambda x: x ** 3))(2.0).item()
    12.0
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    wrapped.graphc_results = ("gradients", "outputs") if has_aux else "gradients"
    return wrapped


def vjp(f: Callable, *primals, has_aux: bool = False) -> tuple:
    """(f(*primals), pull), or with has_aux (value, pull, other results): pull takes gradients back to the primals.

    pull(g), with g in the structure and shapes of the result, gives a tuple of gradients, one for each primal: the
    product of g with the Jacobian. It may be called any number of times.

    >>> import graphc as gc
    >>> y, pull = gc.vjp(lambda x: x * x, gc.asarray([1.0, 2.0]))
    >>> pull(gc.asarray([1.0, 10.0]))[0].tolist()
    [2.0, 40.0]
    """
    bit = _take_bit()   # as long as `pull` may be called
    try:
        with _with_history(bit) as cut:
            pairs = [_as_variables(primal, bit, "vjp", f"primal {k}") for k, primal in enumerate(primals)]
            nodes = [of_this for of_this, _ in pairs]
            result = f(*(arg for _, arg in pairs))
    except BaseException:
        _give_back(bit)
        raise
    value, aux = result if has_aux else (result, None)
    leaves, structure = flatten(value)
    results = [x.node for x in leaves]

    def pull(cotangents):
        gs, given = flatten(cotangents)
        if given != structure:
            raise GradientError("the gradients have another structure than the results", op="vjp")
        with _with_history(bit) as cut:
            starts = [(node, _start(g, node)) for node, g in zip(results, gs, strict=True)]
            found = iter(pull_back(starts, [n for part in nodes for n in part], bit))
            return tuple(_with_gradients(primal, [next(found) for _ in part], part, cut)
                         for primal, part in zip(primals, nodes, strict=True))

    weakref.finalize(pull, _give_back, bit).atexit = False
    value = _freed(value, cut)
    return (value, pull, _freed(aux, cut)) if has_aux else (value, pull)


def _start(g, node: Node) -> Tensor:
    g = as_tensor(g, _handle(node), "vjp")
    if g.shape != node.shape:
        raise ShapeError(f"a gradient of shape {g.shape} for a result of shape {node.shape}", op="vjp")
    return g.astype(node.dtype)


def jvp(f: Callable, primals: Sequence, tangents: Sequence) -> tuple:
    """(f(*primals), its directional derivative): how the results change when the primals go along the tangents.

    Taken by two reverse passes: the first gradient is linear in what is pulled back, and its own gradient with respect
    to that is the forward derivative. No op needs a second rule.

    >>> import graphc as gc
    >>> y, dy = gc.jvp(gc.sin, (0.0,), (2.0,))
    >>> y.item(), dy.item()
    (0.0, 2.0)
    """
    if type(primals) not in (tuple, list) or type(tangents) not in (tuple, list) or len(primals) != len(tangents):
        raise GradientError("primals and tangents are not two tuples of one length", op="jvp",
                            fix="give a tuple with a tangent for each argument: gc.jvp(f, (x,), (dx,))")
    value, pull = vjp(f, *primals)
    leaves, structure = flatten(value)
    dummy = unflatten(structure, [gc.zeros(x.shape, dtype=x.dtype, device=x.device) for x in leaves])
    _, push = vjp(lambda g: pull(g), dummy)
    return value, push(tuple(map(_tangents, primals, tangents)))[0]


def _tangents(primal, tangent):
    """The tangents of an argument, of its shapes and dtypes."""
    (xs, structure), (ts, given) = flatten(primal), flatten(tangent)
    if given != structure:
        raise GradientError("a tangent has another structure than its primal", op="jvp")
    xs = [as_tensor(x, None, "jvp") for x in xs]
    ts = [as_tensor(t, x, "jvp") for x, t in zip(xs, ts, strict=True)]
    for x, t in zip(xs, ts, strict=True):
        if x.shape != t.shape:
            raise ShapeError(f"a tangent of shape {t.shape} for an argument of shape {x.shape}", op="jvp")
    return unflatten(structure, [t.astype(x.dtype) for x, t in zip(xs, ts, strict=True)])


# ----------------------------------------------------------------------------------------------------------- backward

def backward(t: Tensor, gradient=None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
    """Add the gradient of t to `.grad` of every variable (`requires_grad = True`) that it was computed from.

    t is one number, unless `gradient`, of its shape, is given. create_graph keeps the history of the gradients, for
    gradients of gradients. A graph lives as long as a tensor that was made from it, and backward may be called again;
    so retain_graph means nothing, but in a jitted function: what it returns after backward has no history, as if
    detached, unless retain_graph=True. Nothing runs: gradients are lazy tensors, realized with what is computed from
    them. Raises GradientError if t depends on no variable, ShapeError if it is not one number.

    >>> import graphc as gc
    >>> w = gc.Tensor([1.0, 2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> w.grad.tolist()
    [2.0, 4.0]
    """
    if not t.node.tracked & LEAF:
        raise GradientError("the tensor was computed from no variable", op="backward",
                            fix="set requires_grad = True on the parameters before computing it")
    if gradient is None and t.size != 1:
        raise ShapeError(f"a tensor of shape {t.shape} is not one number", op="backward",
                         fix="reduce it, e.g. by .sum(), or pass gradient=")
    trace = tracing.current()
    if trace is None:
        again.note(t)         # a step of training computes its loss, if somebody holds it
    elif not (retain_graph or create_graph):
        trace.finished.add(t.node)
    with unlimited():
        start = gc.ones(t.shape, dtype=t.dtype) if gradient is None else _start(gradient, t.node)
        order = topological([t.node], is_leaf=lambda n: not n.tracked & LEAF)
        variables = [n for n in order if n in handles]
        for node, g in zip(variables, pull_back([(t.node, start)], variables, LEAF), strict=True):
            owner = handles[node]()
            if owner is not None and g is not None:
                g = g if create_graph else _handle(untracked(g.node))
                owner.grad = g if owner.grad is None else owner.grad + g


def zero_grad(tensors, set_to_none: bool = True) -> None:
    """Forget the gradients of these variables, so that the next `backward` starts anew; or, without set_to_none, let
    those that are there be zero."""
    for tensor in tensors:
        tensor.grad = None if set_to_none or tensor.grad is None else gc.zeros_like(tensor.grad)


def stop_gradient(tree):
    """The same values, through which no gradient passes: `Tensor.detach` for a tree of tensors."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [x.detach() if isinstance(x, Tensor) else x for x in leaves])
