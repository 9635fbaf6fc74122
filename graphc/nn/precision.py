"""Models that compute in 16 bits while their parameters stay in 32."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

import graphc as gc
from graphc.errors import DTypeError
from graphc.ir.dtype import as_dtype
from graphc.nn.module import Module, items_of, like
from graphc.pytree import flatten, unflatten
from graphc.tensor import Tensor


class MixedPrecision(Module):
    """A module that computes in float16 or bfloat16. Its parameters stay what they are: the optimiser's master weights.

    Each call casts the parameters and the inputs to `dtype`, and the results to float32, as parts of the graph: the
    casts fuse into what reads them, and gradients arrive at the parameters in their own dtype. Products and reductions
    are carried in float32 (docs/numerics.md), and normalisations compute in it. Losses belong outside. float16 needs a
    scaled loss, see `optim.GradScaler`; bfloat16 has the range of float32. Micikevicius et al. (2018), *Mixed precision
    training*.

    >>> import graphc as gc
    >>> net = gc.nn.Linear(4, 2)
    >>> half = gc.nn.MixedPrecision(net, gc.bfloat16)
    >>> half(gc.ones((3, 4))).dtype, net.weight.dtype
    (graphc.float32, graphc.float32)

    Not for several threads that call one module at a time. Raises DTypeError for a dtype that is no real float.
    """

    def __init__(self, module: Module, dtype):
        self.module, self.dtype = module, as_dtype(dtype)
        if self.dtype.kind != "f":
            raise DTypeError(f"a model can't compute in {self.dtype}", op="MixedPrecision",
                             fix="use bfloat16, float16 or float32")

    def forward(self, *args, **kwargs):
        with _parameters_in(self.module, self.dtype):
            result = self.module(*_cast(args, self.dtype), **_cast(kwargs, self.dtype))
        return _cast(result, gc.float32)


def _cast(tree, dtype):
    """Every floating-point tensor of a tree in a dtype."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [_in(x, dtype) for x in leaves])


def _in(x, dtype):
    return x.astype(dtype) if isinstance(x, Tensor) and x.dtype.kind == "f" and x.dtype is not dtype else x


@contextmanager
def _parameters_in(module: Module, dtype) -> Iterator[None]:
    """Casts in the place of a module's parameters, while this lasts. A shared parameter is cast once. What the module
    puts into these places meanwhile stays there, as all else that it stores."""
    casts: dict[int, Tensor] = {}

    def changed(x):
        """x with casts in it; x itself where it holds no parameter."""
        if isinstance(x, Tensor):
            return casts.setdefault(id(x), _in(x, dtype)) if x.is_parameter and x.dtype.kind == "f" else x
        if isinstance(x, Module) or not isinstance(x, list | tuple | dict):
            return x
        found = {name: changed(item) for name, item in items_of(x)}
        if all(found[name] is item for name, item in items_of(x)):
            return x
        if isinstance(x, tuple):
            return like(x, list(found.values()))
        result = copy(x)
        for name, item in found.items():
            result[name] = item
        return result

    replaced: list[tuple] = []
    try:
        for m in module.modules():
            for holder in (vars(m), m) if isinstance(m, list | dict) else (vars(m),):
                for name, x in [*items_of(holder)]:
                    if (new := changed(x)) is not x:
                        replaced.append((holder, name, x, new))
                        holder[name] = new
        yield
    finally:
        for holder, name, x, new in replaced:
            if any(item is new for place, item in items_of(holder) if place == name):
                holder[name] = x
