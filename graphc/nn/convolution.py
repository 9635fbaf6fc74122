"""Convolution and pooling layers, over (batch, channels, *sizes)."""
from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt

import graphc as gc
from graphc.errors import ShapeError
from graphc.nn import init
from graphc.nn.module import Module, parameter


def _each(value, n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    """Weight (outputs, inputs / groups, *kernel) and bias start uniform in +-1/sqrt(inputs of one output)."""

    axes = 0
    function: Callable

    def __init__(self, inputs: int, outputs: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True):
        if inputs % groups or outputs % groups:
            raise ShapeError(f"{inputs} inputs and {outputs} outputs do not divide into {groups} groups",
                             op=type(self).__name__)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        kernel = _each(kernel_size, self.axes)
        bound = 1 / sqrt(inputs // groups * prod(kernel))
        self.weight = parameter(init.uniform((outputs, inputs // groups, *kernel), -bound, bound))
        self.bias = parameter(init.uniform((outputs,), -bound, bound)) if bias else None

    def forward(self, x):
        return type(self).function(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Convolution):
    """See `graphc.conv1d`."""

    axes, function = 1, staticmethod(gc.conv1d)


class Conv2d(_Convolution):
    """See `graphc.conv2d`.

    >>> import graphc as gc
    >>> gc.nn.Conv2d(3, 8, 3, padding=1)(gc.ones((2, 3, 6, 5))).shape
    (2, 8, 6, 5)
    """

    axes, function = 2, staticmethod(gc.conv2d)


class Conv3d(_Convolution):
    """See `graphc.conv3d`."""

    axes, function = 3, staticmethod(gc.conv3d)


class _Transposed(Module):
    """Weight (inputs, outputs / groups, *kernel)."""

    axes = 0
    function: Callable

    def __init__(self, inputs: int, outputs: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1,
                 bias: bool = True, dilation=1):
        if inputs % groups or outputs % groups:
            raise ShapeError(f"{inputs} inputs and {outputs} outputs do not divide into {groups} groups",
                             op=type(self).__name__)
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.groups, self.dilation = groups, dilation
        kernel = _each(kernel_size, self.axes)
        bound = 1 / sqrt(outputs // groups * prod(kernel))
        self.weight = parameter(init.uniform((inputs, outputs // groups, *kernel), -bound, bound))
        self.bias = parameter(init.uniform((outputs,), -bound, bound)) if bias else None

    def forward(self, x):
        return type(self).function(x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
                                   self.groups, self.dilation)


class ConvTranspose1d(_Transposed):
    """See `graphc.conv_transpose1d`."""

    axes, function = 1, staticmethod(gc.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """See `graphc.conv_transpose2d`."""

    axes, function = 2, staticmethod(gc.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """See `graphc.conv_transpose3d`."""

    axes, function = 3, staticmethod(gc.conv_transpose3d)


class _Pool(Module):
    """One value for each window."""

    function: Callable

    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x):
        return type(self).function(x, self.kernel_size, self.stride, self.padding)


class MaxPool1d(_Pool):
    """The largest element of each window; see `graphc.max_pool1d`."""

    function = staticmethod(gc.max_pool1d)


class MaxPool2d(_Pool):
    """The largest element of each window; see `graphc.max_pool2d`."""

    function = staticmethod(gc.max_pool2d)


class MaxPool3d(_Pool):
    """The largest element of each window; see `graphc.max_pool3d`."""

    function = staticmethod(gc.max_pool3d)


class AvgPool1d(_Pool):
    """The mean of each window; see `graphc.avg_pool1d`."""

    function = staticmethod(gc.avg_pool1d)


class AvgPool2d(_Pool):
    """The mean of each window; see `graphc.avg_pool2d`."""

    function = staticmethod(gc.avg_pool2d)


class AvgPool3d(_Pool):
    """The mean of each window; see `graphc.avg_pool3d`."""

    function = staticmethod(gc.avg_pool3d)


class AdaptiveAvgPool2d(Module):
    """The means of windows that cut each axis into `size` parts; None: the axis stays as it is.

    Of n elements part i has those from floor(i n / size) up to ceil((i + 1) n / size).
    """

    def __init__(self, size):
        self.size = _each(size, 2) if size is not None else (None, None)

    def forward(self, x):
        for axis, parts in zip((x.ndim - 2, x.ndim - 1), self.size, strict=True):
            n = x.shape[axis]
            if parts is None:
                continue
            if n % parts == 0:
                split = (*x.shape[:axis], parts, n // parts, *x.shape[axis + 1:])
                x = x.reshape(split).mean(axis + 1)
            else:
                ends = [(i * n // parts, -(-(i + 1) * n // parts)) for i in range(parts)]
                before = (slice(None),) * axis
                x = gc.stack([x[(*before, slice(a, b))].mean(axis) for a, b in ends], axis=axis)
        return x


MaxPool, AvgPool, AdaptiveAvgPool = MaxPool2d, AvgPool2d, AdaptiveAvgPool2d
