"""Loops and branches as steps of a program: scan, while_loop, cond.

The functions given to them are called once, on placeholders; what they record becomes the body of one node
(ir/body.py), is compiled like any graph, and runs as often as it has to without Python. Signatures and meanings are
those of jax.lax.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from graphc import driver
from graphc.api.called import called
from graphc.api.numbers import scalar, weak_dtype
from graphc.api.record import anew, as_tensor, common_device, reshape_to, wrap
from graphc.errors import ArgumentError, DTypeError, ShapeError, Site, user_site
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.body import close, differentiable, kept, placeholder, substituted
from graphc.ir.node import Node, make
from graphc.pytree import LEAF, flatten, unflatten
from graphc.tensor import Tensor
from graphc.tracing import Scalar


def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
    """Carry a state along the first axis of `xs`: (the last state, what each turn gave, stacked).

    f       (carry, x) -> (new carry, y); carry, x and y are tensors or trees of them (tuples, lists, dicts,
            dataclasses; None where there is none)
    init    the first carry; each turn's has its structure, shapes and dtypes
    xs      arrays of one length along axis 0; f gets one element of each. None: `length` turns without
    reverse from the last element to the first; y stands where its x stood

    `f` is called once, or twice where a carry begins as a Python int, float or complex: that takes the dtype which a
    turn gives it. However many turns there are, its operations are compiled once, and run without Python. What it reads
    of other tensors is computed before the loop, and so are random numbers that it draws: all turns get the same,
    unless `xs` brings each its own.
    Its gradient is a second loop, backwards; for it the first one keeps each carry and what reductions and products
    gave, or only each carry if f is a gc.checkpoint.

    Raises ShapeError for xs of different lengths or a carry that changes its shape, DTypeError for one that changes its
    dtype or structure, TracerError if f assigns to a tensor that it has not made.

    >>> import graphc as gc
    >>> total, sums = gc.scan(lambda s, x: (s + x, s + x), 0.0, gc.asarray([1.0, 2.0, 3.0]))
    >>> total.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    site = user_site()
    sliced = _Tree(xs, "scan")
    turns = _turns(sliced, length)
    state = _Tree(init, "scan")
    elements = [_placeholder(x.node, x.shape[1:], site) for x in sliced.tensors]
    device = _device("scan", [*state.tensors, *sliced.tensors])

    def turn(carry: list[Node]) -> tuple[list[Tensor], _Tree]:
        results = called("scan", f, [state.over(carry), sliced.over(elements)])
        if not isinstance(results, tuple) or len(results) != 2:
            raise DTypeError(f"the function returned {_kind(results)}, not a pair", op="scan", site=site,
                             fix="return (carry, y), with y=None if there is nothing to collect")
        return state.like(results[0], carry, "the carry", site), _Tree(results[1], "scan")
    carry, (after, gave) = state.settle(turn, site)
    if not turns:
        empty = [_empty(y, device) for y in gave.tensors]
        return state.whole(map(anew, state.tensors)), gave.whole(empty)
    loop = _Loop(state, carry, [t.node for t in after])
    roots = [*loop.after, *[y.node for y in gave.tensors]]
    places = [loop.carry[k] for k in loop.changing]
    if differentiable(roots, [*carry, *elements], [t.node for t in (*state.tensors, *sliced.tensors)]):
        roots += kept(roots, places, elements)
    (body,), sources = loop.close([roots], elements, sliced.tensors)
    shapes = [*[n.shape for n in loop.after], *[(turns, *r.shape) for r in body.roots[len(loop.after):]]]
    attrs = (body, len(loop.after), len(elements), turns, bool(reverse))
    results = _record(ops.LOOP, [r.dtype for r in body.roots], shapes, sources, attrs, device, site)
    collected = results[len(loop.after):len(loop.after) + len(gave.tensors)]
    return state.whole(loop.results(results)), gave.whole(collected)


def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """`while cond_fun(val): val = body_fun(val)`, from val = init_val.

    cond_fun  val -> a bool, or a tensor of one element
    body_fun  val -> val, of the same structure, shapes and dtypes

    Both functions are called once or twice. Inside vmap, where the condition may differ by example, it goes on as long
    as that of any example holds, and examples that are done keep their values. Random numbers are drawn once,
    as in `scan`, which raises the same errors.

    >>> import graphc as gc
    >>> x = gc.while_loop(lambda x: gc.abs(x * x - 2) > 1e-12, lambda x: (x + 2 / x) / 2, 1.0)
    >>> round(x.item(), 12)
    1.414213562373
    """
    site = user_site()
    state = _Tree(init_val, "while_loop")
    device = _device("while_loop", state.tensors)

    def turn(carry: list[Node]) -> tuple[list[Tensor], Tensor]:
        again, after = (called("while_loop", f, [state.over(carry)]) for f in (cond_fun, body_fun))
        return state.like(after, carry, "the value", site), _condition(again, "while_loop", site)
    carry, (after, again) = state.settle(turn, site)
    loop = _Loop(state, carry, [t.node for t in after])
    (test, body), sources = loop.close([[again.node], loop.after], [], [])
    shapes = [n.shape for n in loop.after]
    results = _record(ops.WHILE, [r.dtype for r in body.roots], shapes, sources, (test, body, len(loop.after)), device,
                      site)
    return state.whole(loop.results(results))


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """`true_fun(*operands)` where pred holds, else `false_fun(*operands)`; only one of them is computed.

    pred      a bool, or a tensor of one element, perhaps not known yet
    operands  tensors or trees of them, computed whichever function is taken

    Both functions are called (once) and return the same structure, shapes and dtypes. What they read of other tensors
    is computed inside the branch that is taken. Inside vmap, where pred differs by example, both sides are computed for
    all, and the results chosen. Raises ShapeError and DTypeError where the results differ,
    and TracerError where a function assigns to a tensor that it has not made.

    >>> import graphc as gc
    >>> x = gc.asarray([3.0, 4.0])
    >>> gc.cond(x.sum() > 5, lambda x: x / x.sum(), lambda x: x, x).tolist()
    [0.42857142857142855, 0.5714285714285714]
    """
    site = user_site()
    if isinstance(pred, bool):
        return true_fun(*operands) if pred else false_fun(*operands)
    condition = _condition(pred, "cond", site)
    given = _Tree(operands, "cond")
    places = [_placeholder(t.node, t.shape, site) for t in given.tensors]
    results = [called("cond", f, list(given.over(places))) for f in (true_fun, false_fun)]
    first = _Tree(results[0], "cond")
    second = first.like(results[1], [t.node for t in first.tensors], "the result", site, "by true_fun", "by false_fun")
    for one, other in zip(first.tensors, second, strict=True):
        if one.dtype is not other.dtype:     # of a Python number
            raise DTypeError(f"the result is {one.dtype} by true_fun and {other.dtype} by false_fun", op="cond",
                             site=site, fix=f"return one dtype, e.g. gc.asarray(..., dtype={other.dtype.name!r})")
    bodies, arrays, scalars = close([[t.node for t in first.tensors], [t.node for t in second]], places, hoist=False)
    device = _device("cond", [condition, *given.tensors])
    sources = [condition.node, *[t.node for t in given.tensors], *arrays, *scalars]
    shapes = [t.shape for t in first.tensors]
    found = _record(ops.IF, [r.dtype for r in bodies[0].roots], shapes, sources, tuple(bodies), device, site)
    return first.whole(found)


# ---------------------------------------------------------------------------------------------------------- recording

class _Loop:
    """What a loop carries. What a turn does not change is no state: it is read from where it lies."""

    def __init__(self, state: _Tree, carry: list[Node], after: list[Node]):
        self.state, self.carry = state, carry
        self.changing = [k for k, (old, new) in enumerate(zip(carry, after, strict=True)) if new is not old]
        self.after = [after[k] for k in self.changing]

    def close(self, graphs: Sequence[Sequence[Node]], elements: list[Node], sliced: list[Tensor]):
        """The bodies, and the sources of the node."""
        bodies, arrays, scalars = close(graphs, [*[self.carry[k] for k in self.changing], *elements])
        initial = dict(zip(self.carry, [t.node for t in self.state.tensors], strict=True))
        outside = [self.state.tensors[k].node for k in self.changing] + [x.node for x in sliced]
        outside += substituted(arrays, initial)
        return bodies, [*outside, *scalars]

    def results(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The state at the end."""
        found = [anew(tensor) for tensor in self.state.tensors]     # of a carry that does not change too
        for k, tensor in zip(self.changing, tensors, strict=False):     # what was collected follows
            found[k] = tensor
        return found


def _record(op, dtypes, shapes, sources, attrs, device, site) -> list[Tensor]:
    dtypes, shapes = tuple(dtypes), tuple(shapes)
    if not dtypes:
        return []
    call = make(op, dtypes, shapes, tuple(sources), attrs, device=device, site=site)
    return [wrap(make(ops.GET, d, s, (call,), (k,), device=device, site=site))
            for k, (d, s) in enumerate(zip(dtypes, shapes, strict=True))]


def _placeholder(node: Node, shape: tuple[int, ...], site) -> Node:
    return placeholder(node, shape, node.device or driver.default_device(), site)


def _device(name: str, tensors: Sequence[Tensor]) -> str:
    return common_device(name, *[t.node for t in tensors]) or driver.default_device()


def _condition(value: Any, name: str, site) -> Tensor:
    tensor = as_tensor(value, name=name)
    if tensor.size != 1:
        raise ShapeError(f"the condition has shape {tensor.shape}, not one element", op=name, site=site,
                         fix="reduce it, e.g. by gc.any or gc.all")
    return reshape_to(tensor if tensor.dtype is dt.bool else tensor != 0, ())


def _turns(sliced: _Tree, length: int | None) -> int:
    lengths = {}
    for path, x in zip(sliced.paths, sliced.tensors, strict=True):
        if not x.shape:
            raise ShapeError(f"xs{path} has no axis to go along: its shape is ()", op="scan",
                             fix="pass it by init, or read it inside the function")
        lengths[x.shape[0]] = f"xs{path} has {x.shape[0]}"
    if length is not None:
        lengths[int(length)] = f"length is {int(length)}"
    if len(lengths) != 1:
        what = "; ".join(lengths.values()) if lengths else "there are neither xs nor a length"
        raise ShapeError(f"the number of turns is not known: {what}", op="scan",
                         fix="pass arrays of one length, or length=")
    (turns,) = lengths
    if turns < 0:
        raise ArgumentError(f"length is {turns}", op="scan", fix="use 0 or more")
    return turns


def _empty(y: Tensor, device: str) -> Tensor:
    from graphc.api.creation import zeros
    return zeros((0, *y.shape), dtype=y.dtype, device=device)


def _kind(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {type(value).__name__}"


# --------------------------------------------------------------------------------------------------------------- trees

_NUMBERS = (bool, int, float, complex, Scalar)


class _Tree:
    """A tree with its leaves as tensors; leaves that are None stay."""

    def __init__(self, tree: Any, name: str):
        self.name = name
        self.leaves, self.structure = flatten(tree)
        self.places = [k for k, leaf in enumerate(self.leaves) if leaf is not None]
        self.weak = [isinstance(self.leaves[k], _NUMBERS) for k in self.places]
        self.tensors = [as_tensor(self.leaves[k], name=name) for k in self.places]
        paths = list(_paths(self.structure))
        self.paths = [paths[k] for k in self.places]

    def whole(self, tensors: Iterable[Tensor]) -> Any:
        leaves: list = [None] * len(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        return unflatten(self.structure, leaves)

    def over(self, nodes: Sequence) -> Any:
        """The tree over these nodes; Python numbers stay."""
        return self.whole([wrap(node) if isinstance(node, Node) else node for node in nodes])

    def like(self, tree: Any, nodes: Sequence, what: str, site, before: str = "before a turn",
             after: str = "after it") -> list[Tensor]:
        """The tensors of another tree, which must have this structure and the nodes' shapes; Python numbers take
        their dtypes, tensors must have them."""
        leaves, structure = flatten(tree)
        same = structure == self.structure and [k for k, x in enumerate(leaves) if x is not None] == self.places
        if not same:
            first, second = _written(self.structure, self.leaves), _written(structure, leaves)
            raise DTypeError(f"{what} is {first} {before} and {second} {after}", op=self.name, site=site,
                             fix="return one structure from both, e.g. zeros where one has nothing"
                             if self.name == "cond" else "return the structure that came in")
        found = []
        for k, (place, path, given) in enumerate(zip(self.places, self.paths, nodes, strict=True)):
            node = given if isinstance(given, Node) else self.tensors[k].node
            new = as_tensor(leaves[place], wrap(node), self.name)
            if new.shape != node.shape:
                raise self._changed(ShapeError, f"{what}{path} has shape {node.shape} {before}, {new.shape} {after}",
                                    new, site, "return one shape from both, e.g. by gc.broadcast_to"
                                    if self.name == "cond" else "keep its shape, e.g. write into a part of it")
            if new.dtype is not node.dtype and not self.weak[k]:
                raise self._changed(DTypeError, f"{what}{path} is {node.dtype} {before}, {new.dtype} {after}", new,
                                    site, f"cast one of them, e.g. .astype({node.dtype.name!r})")
            found.append(new)
        return found

    def _changed(self, kind: type, message: str, new: Tensor, site, fix: str) -> Exception:
        line = f"; it comes from {Site(*new.node.site).location()}" if new.node.site is not None else ""
        return kind(message + line, op=self.name, site=site, fix=fix)

    def settle(self, turn: Callable[[list], tuple], site) -> tuple[list[Node], tuple]:
        """Trace a turn: the placeholders of the state, and what the turn gave. A state that begins as a Python number
        takes the dtype that a turn on the number gives it, if that can hold the number: no fraction is cut off. A
        bool is none of them, as ~True is -2."""
        def places() -> list[Node]:
            return [_placeholder(t.node, t.shape, site) for t in self.tensors]
        numbers = [self.leaves[place] if weak and t.dtype is not dt.bool else None
                   for place, weak, t in zip(self.places, self.weak, self.tensors, strict=True)]
        if any(n is not None for n in numbers):
            after, _ = turn([p if n is None else n for p, n in zip(places(), numbers, strict=True)])
            self.tensors = [wrap(scalar(n, new.dtype, self.name))
                            if n is not None and weak_dtype(n, new.dtype) is new.dtype else t
                            for t, n, new in zip(self.tensors, numbers, after, strict=True)]
        self.weak = [False] * len(self.weak)
        carry = places()
        return carry, turn(carry)


def _paths(structure: Any, prefix: str = "") -> Iterator[str]:
    """How each leaf is reached: "[0]", "['a'][1]", ".x"."""
    if structure == LEAF:
        yield prefix
        return
    kind, names, parts = structure
    for k, part in enumerate(parts):
        step = f"[{k}]" if names is None else f"[{names[k]!r}]" if kind is dict else f".{names[k]}"
        yield from _paths(part, prefix + step)


def _written(structure: Any, leaves: Sequence) -> str:
    """A tree in words: (tensor, [None, tensor])."""
    return _in_words(structure, iter(leaves))


def _in_words(structure: Any, leaves: Iterator) -> str:
    if structure == LEAF:
        return "None" if next(leaves) is None else "tensor"
    kind, names, parts = structure
    inner = [_in_words(p, leaves) for p in parts]
    if kind is dict:
        return "{" + ", ".join(f"{n!r}: {p}" for n, p in zip(names, inner, strict=True)) + "}"
    if names is not None:
        return f"{kind.__name__}({', '.join(inner)})"
    return f"[{', '.join(inner)}]" if kind is list else f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
