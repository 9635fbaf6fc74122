"""Layers with weights in 8 or 4 bits, for inference."""
from __future__ import annotations

from typing import Any

import graphc as gc
from graphc.errors import ArgumentError, DTypeError
from graphc.nn.layers import Linear
from graphc.nn.module import Module, items_of, like
from graphc.quantized import BLOCK, WIDE, Quantized
from graphc.quantized import quantize as _quantize
from graphc.quantized import quantized_matmul

_BITS = {None: None, "int8": 8, "int23": WIDE}


class QuantizedLinear(Module):
    """x @ weight.T + bias, the weight in 8 or 4 bits: it is unpacked inside the product. For inference.

    weight: a Quantized of shape (outputs, inputs), or TypeError. bias: (outputs,) or None.
    activations: None, or "int8" to round x too, in blocks of 32 to 8 bits, and to multiply integers: faster, and a
    little less exact (`gc.weights.quantized_matmul`); or "int23", with as many bits: faster where rows of x are few,
    and as exact as products of float32. Weights of 8 bits then are multiplied in floating point.

    >>> import graphc as gc
    >>> dense = gc.nn.Linear(64, 8)
    >>> layer = gc.nn.QuantizedLinear(gc.weights.quantize(dense.weight.detach(), bits=8), dense.bias)
    >>> layer(gc.ones((3, 64))).shape
    (3, 8)
    """

    def __init__(self, weight: Quantized, bias=None, activations: str | None = None):
        self.activations = _checked(activations)
        if not isinstance(weight, Quantized):
            raise TypeError(f"the weight is a {type(weight).__name__}; use gc.weights.quantize(weight, bits=4)")
        weight = weight.packed(words=activations == "int8")
        self.codes, self.scale, self.offset, self.columns = weight.codes, weight.scale, weight.offset, weight.columns
        self.bias = None if bias is None else bias.detach()

    @property
    def weight(self) -> Quantized:
        return Quantized(self.codes, self.scale, self.offset, self.columns)

    def forward(self, x):
        weight, bits = self.weight, _BITS[self.activations]
        x = x if x.dtype.kind in "fc" else x.astype(gc.float32)
        if bits == WIDE and weight.bits == 8:
            bits = None
        y = quantized_matmul(x, weight, bits) if bits else x @ weight.dequantize(x.dtype).mT
        return y if self.bias is None else y + self.bias.astype(y.dtype)


def _checked(activations: str | None) -> str | None:
    if activations not in _BITS:
        raise ArgumentError(f'activations are None, "int8" or "int23", not {activations!r}', op="QuantizedLinear")
    return activations


def quantize(module: Module, bits: int = 4, activations: str | None = None) -> Module:
    """Put a QuantizedLinear in the place of every Linear inside a module whose inputs divide into blocks of 32.

    bits: 4 (a fifth of a byte more than half a byte for each weight) or 8. activations: as for QuantizedLinear. Returns
    the module, or for a Linear itself its quantised form.

    >>> import graphc as gc
    >>> net = gc.nn.quantize(gc.nn.Sequential(gc.nn.Linear(64, 32), gc.relu, gc.nn.Linear(32, 10)))
    >>> [type(layer).__name__ for layer in net if isinstance(layer, gc.nn.Module)]
    ['QuantizedLinear', 'QuantizedLinear']
    """
    _checked(activations)
    if not isinstance(module, Module):
        raise DTypeError(f"a {type(module).__name__} is no module", op="quantize",
                         fix="pass a gc.nn.Module; gc.weights.quantize takes a matrix")
    seen: dict[int, Any] = {}       # by its id, what may be held twice, which lives as long; of a Linear (its form, it)

    def changed(found):
        if type(found) is Linear and found.weight.shape[1] % BLOCK == 0:
            if id(found) not in seen:
                layer = QuantizedLinear(_quantize(found.weight.detach(), bits), found.bias, activations)
                seen[id(found)] = layer, found
            return seen[id(found)][0]
        if isinstance(found, Module | list | dict):
            if id(found) in seen:       # by another way, or held by what it holds
                return found
            seen[id(found)] = found
            if isinstance(found, Module):
                for name, inside in [*vars(found).items()]:
                    setattr(found, name, changed(inside))
            if isinstance(found, list | dict):
                for name, inside in [*items_of(found)]:
                    found[name] = changed(inside)
        elif isinstance(found, tuple):
            return like(found, [changed(x) for x in found])
        return found
    return changed(module)
