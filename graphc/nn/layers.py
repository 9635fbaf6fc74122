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

def _weight_and_bias(shape, weight: bool = True, bias: bool = True) -> tuple:
    """What a normalisation starts with: ones and zeros, None for what it does without."""
    return (parameter(gc.ones(shape, dtype=gc.float32)) if weight else None,
            parameter(gc.zeros(shape, dtype=gc.float32)) if weight and bias else None)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, then a weight and a bias, or the weight alone.

    elementwise_affine=False: neither of them.

    >>> import graphc as gc
    >>> [len(gc.nn.LayerNorm(4, 1e-5, *given).parameters()) for given in [(), (True, False), (False,)]]
    [2, 1, 0]
    """

    def __init__(self, shape, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight, self.bias = _weight_and_bias(self.shape, elementwise_affine, bias)

    def forward(self, x):
        return F.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divided by the root mean square over the last axes, then a weight, unless elementwise_affine is False. eps: see
    `functional.rms_norm`."""

    def __init__(self, shape, eps: float | None = None, elementwise_affine: bool = True):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps = eps
        self.weight, _ = _weight_and_bias(self.shape, elementwise_affine, bias=False)

    def forward(self, x):
        return F.rms_norm(x, self.shape, self.weight, self.eps)


class GroupNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over each group of channels; affine: then a weight and a bias per
    channel."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, affine: bool = True):
        self.groups, self.eps = groups, eps
        self.weight, self.bias = _weight_and_bias(channels, affine)

    def forward(self, x):
        return F.group_norm(x, self.groups, self.weight, self.bias, self.eps)


class InstanceNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over each channel of each element; affine: then a weight and a bias
    per channel.

    >>> import graphc as gc
    >>> gc.nn.InstanceNorm2d(3)(gc.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(self, channels: int, eps: float = 1e-5, *, affine: bool = False):     # PyTorch's third is a momentum
        self.channels, self.eps = channels, eps
        self.weight, self.bias = _weight_and_bias(channels, affine)

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(f"shape {x.shape} is not (batch, {self.channels}, ...)", op="InstanceNorm")
        return F.instance_norm(x, self.weight, self.bias, self.eps)


InstanceNorm1d = InstanceNorm2d = InstanceNorm3d = InstanceNorm


class BatchNorm(Module):
    """(batch, channels, ...): mean 0 and variance 1 over all but the channels. Ioffe & Szegedy (2015).

    While training, the batch's statistics are used and mixed into the running ones by `momentum` (None: the running
    ones are the averages of all batches); in use, the running ones, or the batch's if track_running_stats is False. An
    empty batch leaves the running ones as they are. affine: then a weight and a bias per channel.

    Raises ShapeError (a ValueError) for other channels, and where a batch's statistics would be those of one number.

    >>> import graphc as gc
    >>> norm = gc.nn.BatchNorm(1, momentum=None)
    >>> for batch in ([[1.0], [3.0]], [[4.0], [8.0]]):
    ...     y = norm(gc.asarray(batch))
    >>> norm.running_mean.tolist(), norm.running_var.tolist()
    ([4.0], [5.0])
    """

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True):
        self.channels, self.eps, self.momentum = channels, eps, momentum
        self.weight, self.bias = _weight_and_bias(channels, affine)
        self.running_mean = gc.zeros(channels, dtype=gc.float32) if track_running_stats else None
        self.running_var = gc.ones(channels, dtype=gc.float32) if track_running_stats else None
        if track_running_stats and momentum is None:
            self.num_batches_tracked = gc.zeros((), dtype=gc.int64)

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.channels:
            raise ShapeError(f"an input of shape {x.shape} has not {self.channels} channels on its axis 1",
                             op="batch_norm")
        given, mean, var = x.dtype, self.running_mean, self.running_var
        x = F._wide(x)
        if self.training or mean is None:
            mean, var = self._of_batch(x)
        scale = gc.rsqrt(var + self.eps)
        mean, scale, bias = F._per_channel(x, mean, scale if self.weight is None else scale * self.weight, self.bias)
        y = (x - mean) * scale
        return (y if bias is None else y + bias).astype(given)

    def _of_batch(self, x) -> tuple:
        """Mean and variance of each channel; while training the running ones move towards them."""
        count = x.size // self.channels if x.size else 0
        if count == 1:
            raise ShapeError(f"in an input of shape {x.shape} a channel has one value, whose variance is 0",
                             op="batch_norm", fix="train with larger batches, or call eval() to use the running "
                             "statistics")
        axes = tuple(a for a in range(x.ndim) if a != 1)
        mean, var = x.mean(axes), x.var(axes)
        if count and self.training and self.running_mean is not None:      # nothing has no mean
            self._mix_in(mean.detach(), var.detach(), count)
        return mean, var

    def _mix_in(self, mean, var, count: int) -> None:
        """Move the running statistics towards those of a batch with this many elements per channel."""
        with gc.no_grad():
            m = self.momentum
            if m is None:
                self.num_batches_tracked.assign(self.num_batches_tracked + 1)
                m = 1 / self.num_batches_tracked.astype(gc.float32)
            self.running_mean.assign((1 - m) * self.running_mean + m * mean)
            self.running_var.assign((1 - m) * self.running_var + m * var * (count / (count - 1)))


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm
