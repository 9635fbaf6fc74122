"""Layers: dense, embedding, dropout, normalisation."""
from __future__ import annotations

from math import prod, sqrt

import graphc as gc
from graphc.errors import ShapeError
from graphc.nn import functional as F
from graphc.nn import init
from graphc.nn.module import Module, parameter


class Linear(Module):
    """x @ weight.T + bias, from `inputs` to `outputs` along the last axis.

    Weight (outputs, inputs) and bias (outputs,) start uniform in +-1/sqrt(inputs), as in PyTorch.

    >>> import graphc as gc
    >>> gc.nn.Linear(4, 2)(gc.ones((3, 4))).shape
    (3, 2)
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True):
        bound = 1 / sqrt(max(inputs, 1))
        self.weight = parameter(init.uniform((outputs, inputs), -bound, bound))
        self.bias = parameter(init.uniform((outputs,), -bound, bound)) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


Dense = Linear


class Embedding(Module):
    """A table of `words` rows of `width`, looked up by integers."""

    def __init__(self, words: int, width: int):
        self.weight = parameter(init.normal((words, width)))

    def forward(self, index):
        return F.embedding(index, self.weight)


class RotaryEmbedding(Module):
    """Rotates queries and keys (..., length, width) by their positions. Su et al. (2021), *RoFormer*."""

    def __init__(self, width: int, base: float = 10000.0, interleaved: bool = False):
        if width % 2:
            raise ShapeError(f"a width of {width} has no pairs", op="RotaryEmbedding")
        self.width, self.base, self.interleaved = width, base, interleaved

    def forward(self, x, offset=0):
        cos, sin = F.rotary_angles(gc.arange(x.shape[-2]) + offset, self.width, self.base)
        return F.apply_rope(x, cos, sin, self.interleaved)


class Dropout(Module):
    """Zeros with probability p while training."""

    def __init__(self, p: float = 0.5):
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training)


class Identity(Module):
    """What it is given. It takes any arguments, so that it can stand in the place of another layer."""

    def __init__(self, *args, **kwargs):
        pass

    def forward(self, x):
        return x


class Flatten(Module):
    """Everything after the first axis as one."""

    def forward(self, x):
        return x.reshape(x.shape[0], prod(x.shape[1:]))     # -1 has no answer for an empty batch


# ------------------------------------------------------------------------------------------------------ normalisation

class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, then a weight and a bias."""

    def __init__(self, shape, eps: float = 1e-5, bias: bool = True):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight = parameter(gc.ones(self.shape, dtype=gc.float32))
        self.bias = parameter(gc.zeros(self.shape, dtype=gc.float32)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divided by the root mean square over the last axes, then a weight."""

    def __init__(self, shape, eps: float = 1e-6):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight = parameter(gc.ones(self.shape, dtype=gc.float32))

    def forward(self, x):
        return F.rms_norm(x, self.shape, self.weight, self.eps)


class GroupNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over each group of channels, then a weight and bias per channel."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5):
        self.groups, self.eps = groups, eps
        self.weight = parameter(gc.ones(channels, dtype=gc.float32))
        self.bias = parameter(gc.zeros(channels, dtype=gc.float32))

    def forward(self, x):
        return F.group_norm(x, self.groups, self.weight, self.bias, self.eps)


class InstanceNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over each channel of each element; affine: then a weight and a bias
    per channel.

    >>> import graphc as gc
    >>> gc.nn.InstanceNorm2d(3)(gc.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(self, channels: int, eps: float = 1e-5, affine: bool = False):
        self.channels, self.eps = channels, eps
        self.weight = parameter(gc.ones(channels, dtype=gc.float32)) if affine else None
        self.bias = parameter(gc.zeros(channels, dtype=gc.float32)) if affine else None

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(f"shape {x.shape} is not (batch, {self.channels}, ...)", op="InstanceNorm")
        return F.instance_norm(x, self.weight, self.bias, self.eps)


InstanceNorm1d = InstanceNorm2d = InstanceNorm3d = InstanceNorm


class BatchNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over all but the channels. Ioffe & Szegedy (2015).

    While training, the batch's statistics are used and mixed into the running ones by `momentum`; in use, the running
    ones. An empty batch leaves the running ones as they are. Weight and bias per channel.
    """

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1):
        self.eps, self.momentum = eps, momentum
        self.weight = parameter(gc.ones(channels, dtype=gc.float32))
        self.bias = parameter(gc.zeros(channels, dtype=gc.float32))
        self.running_mean = gc.zeros(channels, dtype=gc.float32)
        self.running_var = gc.ones(channels, dtype=gc.float32)

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.weight.size:
            raise ShapeError(f"an input of shape {x.shape} has not {self.weight.size} channels on its axis 1",
                             op="batch_norm")
        axes, given = tuple(a for a in range(x.ndim) if a != 1), x.dtype
        x = F._wide(x)
        if self.training:
            mean, var = x.mean(axes), x.var(axes)
            if x.size:      # nothing has no mean
                self._mix_in(mean.detach(), var.detach(), x.size // x.shape[1])
        else:
            mean, var = self.running_mean, self.running_var
        mean, scale, bias = F._per_channel(x, mean, gc.rsqrt(var + self.eps) * self.weight, self.bias)
        return ((x - mean) * scale + bias).astype(given)

    def _mix_in(self, mean, var, count: int) -> None:
        """Move the running statistics towards those of a batch with this many elements per channel."""
        with gc.no_grad():
            m = self.momentum
            self.running_mean.assign((1 - m) * self.running_mean + m * mean)
            self.running_var.assign((1 - m) * self.running_var + m * var * (count / max(count - 1, 1)))


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm
