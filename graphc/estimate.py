"""How much memory a function will need, from the shapes of its arguments: nothing is allocated, compiled or run.

The function is recorded on tensors without storage, and its graph goes through the passes up to the memory plan, the
one that a real run follows. Equal layers are lowered once (passes/repeats.py), which makes this quick.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
from msgspec import Struct

from graphc import driver
from graphc.api.axes import a_shape
from graphc.api.laziness import unlimited
from graphc.api.record import wrap
from graphc.errors import ArgumentError, DTypeError
from graphc.ir.dtype import as_dtype, default_float
from graphc.ir.node import Node, buffer
from graphc.ir.ops import BUFFER, CONST, PARAM
from graphc.passes.memory import CopyNode, MemoryPlan
from graphc.pytree import flatten, unflatten
from graphc.tensor import Tensor
from graphc.tensor import handles as variables
from graphc.tracing import Trace, current, recording
from graphc.units import amount, count

# What an argument is, by its name or, where it is a dict, by its keys; the rest are inputs.
ROLES = {
    "weights": ("weights", "weight", "params", "parameters", "model"),
    "cache": ("cache", "caches", "kv", "kv_cache"),
    "gradients": ("grads", "grad", "gradients"),
    "optimizer": ("optimizer", "opt", "opt_state", "optimizer_state", "moments"),
    "inputs": ("inputs", "input", "batch"),
}
_ROLE_OF = {name: role for role, names in ROLES.items() for name in names}
GB = 1e9


def spec(shape, dtype=None) -> Tensor:
    """A tensor that has a shape and a dtype (by default the default float), and neither values nor memory.

    Everything that only records takes it: shapes and dtypes of results come out as for other tensors. Whatever needs
    its values raises TracerError. Raises ShapeError for a negative size, DTypeError for what is no shape.

    >>> import graphc as gc
    >>> x = gc.spec((4096, 4096), "float32")
    >>> (x @ x.T).sum(axis=0).shape, x.nbytes
    ((4096,), 67108864)
    """
    dtype = default_float() if dtype is None else as_dtype(dtype)
    return wrap(buffer(dtype, a_shape(shape, "spec"), None, driver.default_device()))


class MemoryEstimate(Struct, frozen=True):
    """Bytes, told apart by what they are for. str() of it is a table; `total_gb`, `weights_gb` and so on are the same
    in units of 10**9 bytes.

    weights      arguments that are weights, and tensors that the function closes over
    inputs       other arguments
    cache        arguments and tensors closed over that are updated in place: a KV cache
    gradients    what `gc.grad(g)` or `gc.value_and_grad(g)` as f returns, or f leaves in `.grad`; results and arguments
                 of that name
    optimizer    state of an optimizer: arguments of that name, and what a training step changes beside parameters
    outputs      other results
    activations  the most that temporaries take at once, by the memory plan
    parameters   how many numbers the weights are
    kernels      how many kernels and library calls run
    largest      the largest temporaries: dtype and shape, bytes
    """

    weights: int
    inputs: int
    cache: int
    gradients: int
    optimizer: int
    outputs: int
    activations: int
    parameters: int
    kernels: int
    largest: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in PARTS)

    def __getattr__(self, name: str) -> float:
        part = name.removesuffix("_gb")
        if part != name and part in (*PARTS, "total"):
            return getattr(self, part) / GB
        raise AttributeError(f"an estimate has no {name!r}")

    def __str__(self) -> str:
        rows = [(name, getattr(self, name)) for name in (*PARTS, "total") if name == "total" or getattr(self, name)]
        lines = [f"{name:<12}{amount(nbytes, 'B'):>10}{nbytes:>20,}" for name, nbytes in rows]
        lines.append(f"{amount(self.parameters)} parameters, {count(self.kernels, 'kernel')}")
        if self.largest:
            lines.append("largest temporaries: " + ", ".join(f"{what} ({amount(n, 'B')})" for what, n in self.largest))
        return "\n".join(lines)


PARTS = MemoryEstimate.__struct_fields__[:7]


def estimate_memory(f: Callable, *shapes, roles: Mapping[str, str] | None = None, **kwargs) -> MemoryEstimate:
    """The memory that `f(*shapes, **kwargs)` needs, by its memory plan; nothing is computed, compiled or allocated.

    A positional argument is a shape (a tuple of integers, of the default float), a tensor made by `gc.spec` or a real
    one, None, a module, or lists, tuples, dicts and dataclasses of these. Keyword arguments are passed on as they are.

    What the bytes are for is told by names: of f's parameters or, for a dict, of its keys; "params", "cache", "grads"
    and others like them are known, and `roles` maps names to "weights", "inputs", "cache", "gradients" or "optimizer".
    Results that begin as an update of a cache (`cache[...] = k`) take over its memory, as they do in a run where nobody
    else holds it. What threads need for a row or a tile, some kilobytes each, is not counted.

    f is recorded as a jitted function is: a training step changes no parameter and draws no random number. What it
    assigns to tensors that it closes over, and gradients that it leaves there, are results too.

    Raises TracerError where f asks for values, DTypeError where it returns no tensor, or for an argument that is none
    of these.

    >>> import graphc as gc
    >>> def layer(weights, x):
    ...     return gc.tanh(gc.tanh(x @ weights["first"]) @ weights["second"])
    >>> float32 = lambda *shape: gc.spec(shape, "float32")
    >>> found = gc.estimate_memory(layer, {"first": float32(64, 256), "second": float32(256, 64)}, float32(100, 64))
    >>> found.weights, found.inputs, found.outputs, found.activations
    (131072, 25600, 25600, 102400)
    """
    if not callable(f):
        raise DTypeError(f"a function is needed, then shapes of its arguments, not a {type(f).__name__}",
                         op="estimate_memory")
    unknown = set((roles or {}).values()) - ROLES.keys()
    if unknown:
        raise ArgumentError(f"{min(unknown, key=str)!r} is no role", op="estimate_memory",
                            fix=f"use {', '.join(ROLES)}")
    names = {**_ROLE_OF, **(roles or {})}
    leaves, structure = flatten(tuple([_shapes_to_specs(shape) for shape in shapes]))
    nodes = [leaf.node if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    trace = Trace()     # what f assigns to stays in it; that of a jitted function does so as well
    with unlimited(), nullcontext() if current() else recording(trace):
        given = unflatten(structure, [wrap(node) if isinstance(node, Node) else node for node in nodes])
        role_of = dict(_argument_roles(f, given, kwargs, names))
        result = f(*given, **kwargs)
        parts = _result_roles(f, result, names)
        taken_over, assigned = _assigned(trace, role_of)
    outputs = {node: role for node, role in (assigned | parts).items() if node not in role_of}
    if not parts and not assigned:
        raise DTypeError("the function returns no tensor", op="estimate_memory")
    return _estimate(role_of, outputs, taken_over)


def _assigned(trace: Trace, role_of: dict[Node, str]) -> tuple[set[Node], dict[Node, str]]:
    """Which tensors that f closes over it assigns to, and what these and their gradients then are. Notes their roles:
    of a training step, what it changes beside variables is the optimizer's, else a cache."""
    written = [k for k, handle in enumerate(trace.handles) if trace.after[k] is not trace.before[k]]
    trains = any(trace.before[k] in variables for k in written)
    found: dict[Node, str] = {}
    for k in written:
        if trace.before[k] not in variables:
            role_of.setdefault(trace.before[k], "optimizer" if trains else "cache")
        found[trace.after[k]] = role_of.get(trace.before[k], "weights")
    for place, gradient in trace.grads.items():
        if gradient is not None and gradient is not trace.looked.get(place):
            found.setdefault(gradient.node, "gradients")
    return {trace.before[k] for k in written}, found


def _estimate(role_of: dict[Node, str], outputs: dict[Node, str], taken_over: set[Node]) -> MemoryEstimate:
    totals = dict.fromkeys(PARTS, 0)
    kernels, largest = 0, ()
    computed = [node for node in outputs if node.value is None and node.op not in (CONST, PARAM, BUFFER)]
    if computed:
        planned, leaves = driver.planned(computed)
        numbers = "optimizer" if "optimizer" in role_of.values() else "weights"     # read by a training step: its own
        role_of |= {leaf: "weights" if leaf.shape or leaf in variables else numbers
                    for leaf in leaves if leaf not in role_of}
        memory = planned.memory
        free = {place for place, leaf in enumerate(leaves) if role_of[leaf] == "cache" or leaf in taken_over}
        owner = {memory.slot_of[root]: outputs[node] for root, node in zip(planned.roots, computed, strict=True)}
        for slot, role in owner.items():
            if memory.slots[slot].role == "output" and memory.slots[slot].alias not in free:
                totals[role] += memory.slots[slot].nbytes
        totals["activations"] = memory.arena
        kernels = sum(not isinstance(step, CopyNode) for step in memory.steps)
        largest = _largest(memory)
    for leaf, role in role_of.items():
        totals[role] += leaf.nbytes
    parameters = sum(leaf.size for leaf, role in role_of.items() if role == "weights")
    return MemoryEstimate(**totals, parameters=parameters, kernels=kernels, largest=largest)


def _largest(memory: MemoryPlan, count: int = 3) -> tuple[tuple[str, int], ...]:
    """The largest kinds of temporaries."""
    found = {f"{node.dtype}{list(node.shape)}": node.nbytes for node, slot in memory.slot_of.items()
             if memory.slots[slot].role == "temp"}
    return tuple(sorted(found.items(), key=lambda item: -item[1])[:count])


# ----------------------------------------------------------------------------------------------- arguments, results

def _shapes_to_specs(tree: Any) -> Any:
    if type(tree) is tuple and all(_is_int(n) for n in tree):
        return spec(tree)
    if isinstance(tree, (int, float, complex, str, bytes, np.number)):
        raise DTypeError(f"{tree!r} is no shape", op="estimate_memory",
                         fix="pass a tuple such as (3, 4), or gc.spec(shape, dtype); what is no tensor by keyword")
    if type(tree) in (tuple, list):
        return type(tree)(_shapes_to_specs(part) for part in tree)
    if type(tree) is dict:
        return {key: _shapes_to_specs(part) for key, part in tree.items()}
    return tree


def _is_int(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def _tensors(tree: Any) -> list[Node]:
    return [leaf.node for leaf in flatten(tree)[0] if isinstance(leaf, Tensor)]


def _by_name(tree: Any, role: str, names: Mapping[str, str]) -> Iterator[tuple[Node, str]]:
    """The tensors of a tree and their roles; those of a dict by its keys where they are known."""
    if type(tree) is dict:
        for key, part in tree.items():
            own = names.get(key, role) if isinstance(key, str) else role
            yield from ((node, own) for node in _tensors(part))
    else:
        yield from ((node, role) for node in _tensors(tree))


def _argument_roles(f: Callable, given: list, kwargs: dict, names: Mapping[str, str]) -> Iterator[tuple[Node, str]]:
    """What each leaf among the arguments is."""
    try:
        bound = inspect.signature(f).bind(*given, **kwargs).arguments
    except (TypeError, ValueError):     # a builtin without a signature; if it does not fit, the call will tell
        bound = {"inputs": [*given, *kwargs.values()]}
    for name, argument in bound.items():
        for node, role in _by_name(argument, names.get(name, "inputs"), names):
            if not node.srcs:
                yield node, role


def _result_roles(f: Callable, result: Any, names: Mapping[str, str]) -> dict[Node, str]:
    known = getattr(f, "graphc_results", None)      # of a function made by grad
    if isinstance(known, str):
        return dict.fromkeys(_tensors(result), known)
    if known is not None:
        return {node: role for part, role in zip(result, known, strict=True) for node in _tensors(part)}
    return dict(_by_name(result, "outputs", {n: r for n, r in names.items() if r not in ("inputs",)}))
