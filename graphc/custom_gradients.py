"""Gradients that are not taken op by op: rules of the user's own, and values that are computed again.

Both use one thing: an ALIAS of two sources has the value of the first and hands its gradient to the second.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar

from graphc.api.record import as_tensor, wrap
from graphc.errors import GradientError, ShapeError
from graphc.ir.node import Node, is_variable, make, rebuild, topological
from graphc.ir.ops import ALIAS, CUSTOM, FENCE, GET
from graphc.pytree import flatten, unflatten
from graphc.tensor import Tensor

_in_forward: ContextVar[tuple[custom_vjp, ...]] = ContextVar("_in_forward", default=())


class custom_vjp:
    """A function with a gradient of its own, as a decorator.

    `f.defvjp(forward, backward)`: forward(*args) returns (result, residuals), where the residuals are any tree of what
    the gradient needs; backward(residuals, g) returns a tuple with a gradient, or None, for each argument, in the
    argument's structure. Without a variable among the arguments f itself is called, as where `forward` calls the
    decorated function. The interface is JAX's.

    >>> import graphc as gc
    >>> @gc.custom_vjp
    ... def clipped(x):
    ...     return x * 1
    >>> clipped.defvjp(lambda x: (x * 1, None), lambda _, g: (gc.clip(g, -1, 1),))
    >>> gc.grad(lambda x: (clipped(x) * 100).sum())(gc.asarray([1.0, 2.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(self, f: Callable):
        self.f = f
        self.forward: Callable | None = None
        self.backward: Callable | None = None
        functools.update_wrapper(self, f)

    def defvjp(self, forward: Callable, backward: Callable) -> None:
        self.forward, self.backward = forward, backward

    def __call__(self, *args):
        if self.forward is None:
            raise GradientError(f"{self.f.__name__} has no gradient yet", op="custom_vjp",
                                fix="define it: f.defvjp(forward, backward)")
        leaves, structure = flatten(args)
        sources = tuple(x.node for x in leaves if isinstance(x, Tensor))
        if self in _in_forward.get() or not any(s.tracked for s in sources):
            return self.f(*args)
        token = _in_forward.set((*_in_forward.get(), self))
        try:
            result, residuals = self.forward(*args)     # residuals keep their history, for gradients of gradients
        finally:
            _in_forward.reset(token)
        results, shape_of_result = flatten(result)
        results = [as_tensor(x, None, "custom_vjp") for x in results]
        rule = _Rule(self, args, residuals, shape_of_result)
        call = make(CUSTOM, tuple(x.dtype for x in results), tuple(x.shape for x in results), sources, (rule,))
        return unflatten(shape_of_result, [wrap(with_gradient_of(x.node, make(GET, x.dtype, x.shape, (call,), (i,))))
                                           for i, x in enumerate(results)])


class _Rule:
    """One call of a function with its own gradient: what the walk asks."""

    def __init__(self, function: custom_vjp, args: tuple, residuals, structure):
        self.function, self.residuals, self.structure = function, residuals, structure
        # Shapes, not tensors: those of the caller's are kept alive by the node.
        self.places = [[(x.shape if isinstance(x, Tensor) else None) for x in flatten(arg)[0]] for arg in args]

    def __call__(self, gs: list) -> list:
        name = self.function.__name__
        found = self.function.backward(self.residuals, unflatten(self.structure, gs))
        if not isinstance(found, tuple) or len(found) != len(self.places):
            raise GradientError(f"the gradient of {name} must be a tuple of {len(self.places)}, one for each argument",
                                op="custom_vjp", fix="return (g,) for one argument")
        out: list = []
        for g, shapes in zip(found, self.places, strict=True):
            parts = [None] * len(shapes) if g is None else flatten(g)[0]
            if len(parts) != len(shapes):
                raise GradientError(f"a gradient of {name} has another structure than its argument", op="custom_vjp")
            for part, shape in zip(parts, shapes, strict=True):
                if shape is None:
                    continue
                if part is not None and as_tensor(part).shape != shape:
                    raise ShapeError(f"a gradient of {name} has shape {as_tensor(part).shape}, its argument {shape}",
                                     op="custom_vjp")
                out.append(None if part is None else as_tensor(part))
        return out


def with_gradient_of(value: Node, path: Node) -> Node:
    """The value of one node whose gradient goes to another."""
    found = make(ALIAS, value.dtype, value.shape, (value, path), (), device=value.device, site=value.site)
    found.tracked = path.tracked
    return found


def checkpoint(f: Callable) -> Callable:
    """A function whose intermediate values are computed again for the gradient instead of being kept.

    It trades time for memory: a chain of n layers in sqrt(n) checkpointed blocks holds about 2 sqrt(n) activations at
    once (Griewank & Walther 2000, *Algorithm 799: revolve*; Chen et al. 2016, *Training deep nets with sublinear memory
    cost*). Results and gradients have the same bits.

    >>> import graphc as gc
    >>> gc.grad(gc.checkpoint(lambda x: gc.sin(x) ** 2))(1.0).item() == gc.grad(lambda x: gc.sin(x) ** 2)(1.0).item()
    True
    """
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        leaves = flatten((args, kwargs))[0]
        ends = {x.node for x in leaves if isinstance(x, Tensor)}
        results, structure = flatten(f(*args, **kwargs))
        again = _copies([x.node for x in results if isinstance(x, Tensor) and x.node.tracked], ends)
        return unflatten(structure, [wrap(with_gradient_of(x.node, again[x.node])) if isinstance(x, Tensor)
                                           and x.node in again else x for x in results])

    return wrapped


def _copies(results: list[Node], ends: set[Node]) -> dict[Node, Node]:
    """The graph of some results once more, over fenced leaves, so that it is not found to be the same."""
    def is_leaf(n: Node) -> bool:
        return n in ends or n.value is not None or not n.srcs or is_variable(n)

    new: dict[Node, Node] = {}
    for node in topological(results, is_leaf):
        if not is_leaf(node):
            new[node] = rebuild(node, [new[s] for s in node.srcs])
            if node.op is ALIAS:        # which may end gradients that its sources pass: `detach`
                new[node].tracked = node.tracked
        elif node.tracked:
            new[node] = make(FENCE, node.dtype, node.shape, (node,), (), device=node.device, site=node.site)
        else:
            new[node] = node
    return {node: new[node] for node in results if not is_leaf(node)}
