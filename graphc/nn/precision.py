"""Models that compute in 16 bits while their parameters stay in 32."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import graphc as gc
from graphc.errors import DTypeError
from graphc.ir.dtype import as_dtype
from graphc.nn.module import Module
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
    """Casts in the place of a module's parameters, while this lasts. A shared parameter is cast once."""
    casts: dict[int, Tensor] = {}

    def changed(x):
        if isinstance(x, Tensor):
            if not x.is_parameter or x.dtype.kind != "f":
                return x
            return casts.setdefault(id(x), _in(x, dtype))
        if isinstance(x, list | tuple):
            return type(x)(changed(item) for item in x)
        return {name: changed(item) for name, item in x.items()} if isinstance(x, dict) else x
    kept = [(m, dict(vars(m))) for m in module.modules()]
    try:
        for m, attributes in kept:
            vars(m).update({name: changed(x) for name, x in attributes.items()})
        yield
    finally:
        for m, attributes in kept:
            vars(m).update({name: x for name, x in attributes.items() if isinstance(x, Tensor | list | tuple | dict)})
