"""Activations as layers. See the functions of the same names, `graphc.relu` and so on."""
from __future__ import annotations

import graphc as gc
from graphc.nn import functional as F
from graphc.nn.module import Module, parameter


class _Function(Module):
    """A layer that is one function."""

    function = staticmethod(lambda x: x)

    def forward(self, x):
        return self.function(x)


class ReLU(_Function):
    function = staticmethod(gc.relu)


class ReLU6(_Function):
    function = staticmethod(gc.relu6)


class SELU(_Function):
    function = staticmethod(gc.selu)


class SiLU(_Function):
    function = staticmethod(gc.silu)


class Mish(_Function):
    function = staticmethod(gc.mish)


class Sigmoid(_Function):
    function = staticmethod(gc.sigmoid)


class LogSigmoid(_Function):
    function = staticmethod(gc.log_sigmoid)


class Hardsigmoid(_Function):
    function = staticmethod(gc.hardsigmoid)


class Hardswish(_Function):
    function = staticmethod(gc.hardswish)


class Softsign(_Function):
    function = staticmethod(gc.softsign)


class Tanh(_Function):
    function = staticmethod(gc.tanh)


class GELU(Module):
    """See `graphc.gelu`."""

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, x):
        return gc.gelu(x, self.approximate)


class LeakyReLU(Module):
    """See `graphc.leaky_relu`.

    >>> import graphc as gc
    >>> gc.nn.LeakyReLU(0.5)(gc.asarray([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    def __init__(self, negative_slope: float = 0.01):
        self.negative_slope = negative_slope

    def forward(self, x):
        return gc.leaky_relu(x, self.negative_slope)


class PReLU(Module):
    """`functional.prelu`, whose slope is a parameter, one or as many as channels. He et al. (2015)."""

    def __init__(self, channels: int = 1, start: float = 0.25):
        self.weight = parameter(gc.full(channels, start, dtype=gc.float32))

    def forward(self, x):
        return F.prelu(x, self.weight)


class ELU(Module):
    """See `graphc.elu`."""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def forward(self, x):
        return gc.elu(x, self.alpha)


class Softplus(Module):
    """See `graphc.softplus`."""

    def __init__(self, beta: float = 1.0):
        self.beta = beta

    def forward(self, x):
        return gc.softplus(x, self.beta)


class Hardtanh(Module):
    """See `graphc.hardtanh`."""

    def __init__(self, min_value: float = -1.0, max_value: float = 1.0):
        self.min_value, self.max_value = min_value, max_value

    def forward(self, x):
        return gc.hardtanh(x, self.min_value, self.max_value)


class _Along(_Function):
    """A function along an axis."""

    def __init__(self, axis: int = -1):
        self.axis = axis

    def forward(self, x):
        return self.function(x, self.axis)


class Softmax(_Along):
    function = staticmethod(gc.softmax)


class LogSoftmax(_Along):
    function = staticmethod(gc.log_softmax)


class GLU(_Along):
    function = staticmethod(gc.glu)
