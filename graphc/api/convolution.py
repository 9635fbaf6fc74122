"""Convolutions and pooling, by the names and rules of torch.nn.functional.

A convolution is a contraction of the weights with windows of the input. Windows are views, so nothing is laid out in
memory: the kernel reads them by index, and what follows (a bias, an activation) is part of it.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphc.api import reductions as red
from graphc.api.axes import an_int
from graphc.api.creation import arange
from graphc.api.elementwise import maximum, minimum
from graphc.api.manipulation import broadcast_to, flip, moveaxis, permute_dims, reshape, swapaxes
from graphc.api.padding import pad
from graphc.api.products import matmul, promoted
from graphc.api.record import as_float, as_tensor, cast, wrap
from graphc.api.windows import overlap_add, sliding_window_view
from graphc.driver import marks
from graphc.errors import ArgumentError, ShapeError, user_site
from graphc.ir import dtype as dt
from graphc.ir.node import make
from graphc.ir.ops import ALIAS

SHORT = 16          # windows of up to so many elements are added in one expression

_CONV = """x with each window of it weighted and summed: a {n}-D convolution (cross-correlation, as in torch).

    x: (batch, channels, {s}), or without the batch. weight: (out_channels, channels / groups, {k}).
    bias: (out_channels,). The result is (batch, out_channels, {o}), with sizes
    floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1.

    stride, padding, dilation: an int, or one for each of the {n} axes. padding may be "valid" (none) or "same" (as much
    as keeps the size, for stride 1). groups: the channels are cut into so many groups, each with weights of its own;
    with as many groups as channels the convolution is depthwise. float16 and bfloat16 are added in float32.

    Raises ShapeError (a ValueError) if the shapes do not fit.
"""
_TRANSPOSE = """The transposed {n}-D convolution: the gradient of conv{n}d with respect to its input.

    x: (batch, channels, {s}), or without the batch. weight: (channels, out_channels / groups, {k}).
    bias: (out_channels,). Sizes of the result are
    (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1.

    Raises ShapeError (a ValueError) if the shapes do not fit.
"""


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    return _convolution("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    return _convolution("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1):
    return _convolution("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    return _transposed("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    return _transposed("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1):
    return _transposed("conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation)


def _explain() -> None:
    """The docstrings of the family, which differ in the number of axes only."""
    sizes = {1: ("length", "kernel", "out_length"), 2: ("height, width", "kernel_height, kernel_width", "..."),
             3: ("depth, height, width", "kernel_depth, kernel_height, kernel_width", "...")}
    for n, (s, k, o) in sizes.items():
        x, w = (1, 1, *(4,) * n), (1, 1, *(3,) * n)
        example = "\n    >>> import graphc as gc\n    >>> gc.{f}(gc.ones({x}), gc.ones({w})).shape\n    {shape}\n    "
        for name, text, out in ((f"conv{n}d", _CONV, 2), (f"conv_transpose{n}d", _TRANSPOSE, 6)):
            shape = (1, 1, *(out,) * n)
            globals()[name].__doc__ = text.format(n=n, s=s, k=k, o=o) + example.format(f=name, x=x, w=w, shape=shape)


_explain()


# ---------------------------------------------------------------------------------------------------- convolutions

def _each(value, n: int, op: str, what: str, least: int = 0) -> tuple[int, ...]:
    """One int for each of n axes; one alone is that of all."""
    values = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    values = values * n if len(values) == 1 else values
    found = tuple(an_int(v, op, what) for v in values)
    if len(found) != n:
        raise ArgumentError(f"{what} {found} is not one number, nor one for each of {n} axes", op=op)
    if min(found, default=least) < least:
        raise ArgumentError(f"{what} {found} must be at least {least}", op=op)
    return found


def _operands(op: str, n: int, x, weight, bias) -> tuple:
    x, weight, *rest = promoted(op, x, weight, *(() if bias is None else (bias,)))
    if x.ndim not in (n + 1, n + 2) or weight.ndim != n + 2:
        raise ShapeError(f"shapes {x.shape} and {weight.shape}: the input has {n + 2} axes (or {n + 1}, without a "
                         f"batch) and the weight {n + 2}", op=op)
    batched = x.ndim == n + 2
    return (x if batched else reshape(x, (1, *x.shape))), weight, (rest[0] if rest else None), batched


def _padding(padding, kernel, stride, dilation, op: str) -> list[tuple[int, int]]:
    if padding == "valid":
        padding = 0
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ArgumentError(f"padding 'same' needs stride 1, not {stride}", op=op)
        spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return [(s // 2, s - s // 2) for s in spans]
    if isinstance(padding, str):
        raise ArgumentError(f"padding {padding!r} is not known", op=op, fix="use numbers, 'same' or 'valid'")
    return [(p, p) for p in _each(padding, len(kernel), op, "padding")]


def _convolution(op: str, n: int, x, weight, bias, stride, padding, dilation, groups):
    x, weight, bias, batched = _operands(op, n, x, weight, bias)
    stride, dilation = _each(stride, n, op, "stride", 1), _each(dilation, n, op, "dilation", 1)
    groups = _each(groups, 1, op, "groups", 1)[0]
    channels, out = x.shape[1], weight.shape[0]
    if channels != weight.shape[1] * groups or out % groups:
        raise ShapeError(f"shapes {x.shape} and {weight.shape} do not fit with groups={groups}: the input has "
                         f"{channels} channels, the weight takes {weight.shape[1]} in each group", op=op)
    pads = _padding(padding, weight.shape[2:], stride, dilation, op)
    windows = _taps(_padded(x, pads), weight.shape[2:], stride, dilation, op)
    y = _weighted(windows, weight, groups)
    if prod(weight.shape[2:]) > 1 and (groups == 1 or weight.shape[1] > 1) and x.dtype.kind in "fc":
        y = _with_its_gradient(y, x, weight, pads, stride, dilation, groups)
    return _finish(op, y, bias, batched)


def _with_its_gradient(y, x, weight, *facts):
    """The same value, whose gradient for x is a transposed convolution. That of the windows would lie in memory."""
    if not y.node.tracked:
        return y
    pads, stride, dilation, groups = facts
    attrs = ("convolution", bool(marks.inside), tuple(pads), stride, dilation, groups)
    return wrap(make(ALIAS, y.dtype, y.shape, (y.node, x.node, weight.node), attrs, device=y.node.device,
                     site=user_site()))


def gradient_of_input(g, sizes, weight, pads, stride, dilation, groups: int):
    """That of a convolution for its input, whose last axes have these sizes."""
    if prod(stride) != 1:
        return _spread(g, weight, sizes, [a for a, _ in pads], stride, dilation, groups)
    back = [(d * (k - 1) - a, d * (k - 1) - b) for k, d, (a, b) in zip(weight.shape[2:], dilation, pads, strict=True)]
    return _turned("convolution", g, weight, back, dilation, groups)


def gradient_of_weight(g, x, shape, pads, stride, dilation, groups: int):
    """That of a convolution for its weights, which have this shape."""
    n, (batch, out) = g.ndim - 2, g.shape[:2]
    windows = _taps(_padded(x, pads), shape[2:], stride, dilation, "convolution")
    rows = permute_dims(windows, (0, *range(2 + n, 2 + 2 * n), 1, *range(2, 2 + n)))
    places = prod(g.shape[2:])
    columns = permute_dims(reshape(g, (batch, out, places)), (1, 0, 2))
    if groups == 1:
        found = matmul(reshape(columns, (out, batch * places)), reshape(rows, (batch * places, prod(shape[1:]))))
    else:
        rows = permute_dims(reshape(rows, (batch * places, groups, prod(shape[1:]))), (1, 0, 2))
        found = matmul(reshape(columns, (groups, out // groups, batch * places)), rows)
    return reshape(found, shape)


def _finish(op: str, y, bias, batched: bool):
    if bias is not None:
        if bias.shape != (y.shape[1],):
            raise ShapeError(f"a bias of shape {bias.shape} for {y.shape[1]} channels", op=op)
        y = y + reshape(bias, (bias.shape[0], *(1,) * (y.ndim - 2)))
    return y if batched else reshape(y, y.shape[1:])


def _padded(x, pads: list[tuple[int, int]], fill=0):
    """x with that much before and after each of its last axes; a negative width cuts."""
    grown = [(max(a, 0), max(b, 0)) for a, b in pads]
    if any(a or b for a, b in grown):
        x = pad(x, ((0, 0), (0, 0), *grown), constant_values=fill)
    cut = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pads, x.shape[2:], strict=True)]
    return x[(slice(None), slice(None), *cut)] if any(a < 0 or b < 0 for a, b in pads) else x


def _windows(x, kernel, stride, dilation, op: str):
    """(batch, channels, *windows, *kernel). Where windows overlap, each tap meets all of them, in gradients too."""
    n = len(kernel)
    if stride != kernel:
        return permute_dims(_taps(x, kernel, stride, dilation, op), (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))
    _check_fit(x, kernel, dilation, op)
    for axis, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True)):
        x = sliding_window_view(x, k, 2 + axis, stride=s, dilation=d)
    return x


def _taps(x, kernel, stride, dilation, op: str):
    """(batch, channels, *kernel, *windows)."""
    _check_fit(x, kernel, dilation, op)
    for axis, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True)):
        x = moveaxis(sliding_window_view(x, k, 2 + 2 * axis, stride=s, dilation=d), -1, 2 + axis)
    return x


def _check_fit(x, kernel, dilation, op: str) -> None:
    spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    if any(k < 1 or span > size for k, span, size in zip(kernel, spans, x.shape[2:], strict=True)):
        raise ShapeError(f"a window of {spans} does not fit in {x.shape[2:]}, the input with its padding", op=op)


def _weighted(windows, weight, groups: int):
    """The windows times the weights, summed over a window and the channels of its group."""
    n = weight.ndim - 2
    out, within, *kernel = weight.shape
    batch, sizes = windows.shape[0], windows.shape[2 + n:]
    if within == 1 and groups > 1:
        return _depthwise(windows, weight, groups)
    if groups == 1:
        x = reshape(windows, (batch, within * prod(kernel), prod(sizes)))
        found = matmul(reshape(weight, (out, within * prod(kernel))), x)
    else:
        x = reshape(windows, (batch, groups, within * prod(kernel), prod(sizes)))
        found = matmul(reshape(weight, (groups, out // groups, within * prod(kernel))), x)
    return reshape(found, (batch, out, *sizes))


def _depthwise(windows, weight, groups: int):
    """One channel in a group: a few products to an element, so a sum of shifted arrays instead of a contraction."""
    n = weight.ndim - 2
    out, kernel = weight.shape[0], weight.shape[2:]
    batch, sizes = windows.shape[0], windows.shape[2 + n:]
    carried = weight.dtype.accumulator
    x = reshape(windows, (batch, groups, 1, *kernel, *sizes))
    w = reshape(weight, (groups, out // groups, *kernel, *(1,) * n))
    for axis in reversed(range(1, n)):      # one at a time, and so are the sums of its gradient
        at = w.ndim - n + axis
        w = broadcast_to(w, (*w.shape[:at], sizes[axis], *w.shape[at + 1:]))
    total = _summed(cast(x, carried) * cast(w, carried), tuple(range(3, 3 + n)))
    return reshape(cast(total, weight.dtype), (batch, out, *sizes))


def _summed(x, axes: tuple[int, ...], function=red.sum):
    """x without the axes of its windows: together where they are few elements, else one after the other."""
    if prod(x.shape[a] for a in axes) <= SHORT:
        return _reduced(function, x, axes)
    for axis in reversed(axes):
        x = _reduced(function, x, axis)
    return x


def _reduced(function, x, axis):
    return function(x, axis, dtype=x.dtype) if function is red.sum else function(x, axis)


def _transposed(op: str, n: int, x, weight, bias, stride, padding, output_padding, groups, dilation):
    x, weight, bias, batched = _operands(op, n, x, weight, bias)
    stride, dilation = _each(stride, n, op, "stride", 1), _each(dilation, n, op, "dilation", 1)
    padding, extra = _each(padding, n, op, "padding"), _each(output_padding, n, op, "output_padding")
    groups = _each(groups, 1, op, "groups", 1)[0]
    channels, within, *kernel = weight.shape
    if x.shape[1] != channels or channels % groups:
        raise ShapeError(f"shapes {x.shape} and {weight.shape} do not fit with groups={groups}: the input has "
                         f"{x.shape[1]} channels, the weight takes {channels}", op=op)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ArgumentError(f"output_padding {extra} must be less than stride {stride} or dilation {dilation}", op=op)
    spans = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if prod(stride) == 1:
        pads = [(span - p, span - p + e) for span, p, e in zip(spans, padding, extra, strict=True)]
        return _finish(op, _turned(op, x, weight, pads, dilation, groups), bias, batched)
    sizes = [(m - 1) * s + span + 1 + e - 2 * p
             for m, s, span, e, p in zip(x.shape[2:], stride, spans, extra, padding, strict=True)]
    if min(sizes) < 1:
        raise ShapeError(f"padding {padding} leaves nothing: the result would have sizes {tuple(sizes)}", op=op)
    return _finish(op, _spread(x, weight, sizes, padding, stride, dilation, groups), bias, batched)


def _turned(op: str, x, weight, pads, dilation, groups: int):
    """x convolved with the weights turned round, the channels of input and output exchanged in each group."""
    channels, within, *kernel = weight.shape
    n = len(kernel)
    w = reshape(weight, (groups, channels // groups, within, *kernel))
    w = permute_dims(w, (0, 2, 1, *range(3, 3 + n)))
    w = flip(reshape(w, (groups * within, channels // groups, *kernel)), axis=tuple(range(2, 2 + n)))
    windows = _taps(_padded(x, pads), tuple(kernel), (1,) * n, dilation, op)
    return _weighted(windows, w, groups)


def _spread(x, weight, sizes, padding, stride, dilation, groups: int):
    """x times the weights, added up where a convolution with that stride reads: its adjoint. The products of an element
    are contracted over channels first; they lie in memory."""
    channels, within, *kernel = weight.shape
    batch, n, carried = x.shape[0], len(kernel), x.dtype.accumulator
    w = swapaxes(reshape(cast(weight, carried), (groups, channels // groups, within * prod(kernel))), 1, 2)
    y = matmul(w, reshape(cast(x, carried), (batch, groups, channels // groups, prod(x.shape[2:]))))
    y = reshape(y, (batch, groups * within, *kernel, *x.shape[2:]))
    for axis in reversed(range(n)):         # (batch, channels, *kernel, *windows), and the axes that are whole already
        y = overlap_add(moveaxis(y, 2 + axis, -1), sizes[axis], 2 + 2 * axis, stride=stride[axis],
                        dilation=dilation[axis], padding=padding[axis])
    return cast(y, x.dtype)


# ---------------------------------------------------------------------------------------------------------- pooling

_MAX_POOL = """The largest element of each window; NaN where there is one.

    x: (batch, channels, {s}), or without the batch. kernel_size, stride (None: kernel_size), padding, dilation: an int,
    or one for each of the {n} axes. What is padded is less than every element. ceil_mode: a last window that begins
    inside the array may end outside.

    Raises ShapeError if a window does not fit, ArgumentError if padding is more than half of it: both ValueErrors.
"""
_AVG_POOL = """The mean of each window.

    x: (batch, channels, {s}), or without the batch. kernel_size, stride (None: kernel_size), padding: an int, or one
    for each of the {n} axes. ceil_mode: a last window that begins inside the array may end outside. count_include_pad:
    padding counts as elements that are 0. divisor_override: what sums are divided by, not the size of the window.

    Raises ShapeError if a window does not fit, ArgumentError if padding is more than half of it: both ValueErrors.
"""


def max_pool1d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False):
    return _max_pool("max_pool1d", 1, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False):
    return _max_pool("max_pool2d", 2, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False):
    return _max_pool("max_pool3d", 3, x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(x, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
    return _avg_pool("avg_pool1d", 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None):
    return _avg_pool("avg_pool2d", 2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None):
    return _avg_pool("avg_pool3d", 3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _explain_pools() -> None:
    sizes = {1: "length", 2: "height, width", 3: "depth, height, width"}
    for n, s in sizes.items():
        x = (1, 1, *(4,) * n)
        for name, text in ((f"max_pool{n}d", _MAX_POOL), (f"avg_pool{n}d", _AVG_POOL)):
            globals()[name].__doc__ = text.format(n=n, s=s) + (
                f"\n    >>> import graphc as gc\n    >>> gc.{name}(gc.ones({x}), 2).shape\n"
                f"    {(1, 1, *(2,) * n)}\n    ")


_explain_pools()


def _pooled(op: str, n: int, x, kernel, stride, padding, dilation, ceil: bool, fill) -> tuple:
    """The windows of the padded input, and its kernel, stride, padding and whether it had a batch."""
    x = as_tensor(x, None, op)
    if x.ndim not in (n + 1, n + 2):
        raise ShapeError(f"an input of shape {x.shape} has not {n + 2} axes (or {n + 1}, without a batch)", op=op)
    batched = x.ndim == n + 2
    x = x if batched else reshape(x, (1, *x.shape))
    kernel = _each(kernel, n, op, "kernel_size", 1)
    stride = kernel if stride is None else _each(stride, n, op, "stride", 1)
    padding, dilation = _each(padding, n, op, "padding"), _each(dilation, n, op, "dilation", 1)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ArgumentError(f"padding {padding} is more than half of the window {kernel}", op=op)
    pads = []
    for size, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation, strict=True):
        rest = size + 2 * p - (d * (k - 1) + 1)
        count = -(-rest // s) + 1 if ceil else rest // s + 1
        if ceil and (count - 1) * s >= size + p:
            count -= 1
        pads.append((p, max(p, (count - 1) * s + d * (k - 1) + 1 - size - p)))
    windows = _windows(_padded(x, pads, fill), kernel, stride, dilation, op)
    return windows, x.shape[2:], kernel, stride, padding, batched


def _max_pool(op: str, n: int, x, kernel, stride, padding, dilation, ceil: bool):
    x = as_tensor(x, None, op)
    low = float("-inf") if x.dtype.kind == "f" else False if x.dtype is dt.bool else _least(x.dtype)
    windows, *_, batched = _pooled(op, n, x, kernel, stride, padding, dilation, ceil, low)
    y = _summed(windows, tuple(range(2 + n, 2 + 2 * n)), red.max)
    return y if batched else reshape(y, y.shape[1:])


def _least(dtype: dt.DType) -> int:
    return 0 if dtype.kind == "u" else -(1 << (dtype.bits - 1))


def _avg_pool(op: str, n: int, x, kernel, stride, padding, ceil: bool, include: bool, divisor):
    x = as_float(x, op)
    windows, sizes, kernel, stride, padding, batched = _pooled(op, n, x, kernel, stride, padding, 1, ceil, 0)
    carried = x.dtype.accumulator
    y = _summed(cast(windows, carried), tuple(range(2 + n, 2 + 2 * n)))
    if divisor is not None:
        y = y / divisor
    elif ceil or not include:
        for axis, (size, k, s, p) in enumerate(zip(sizes, kernel, stride, padding, strict=True)):
            first = arange(y.shape[2 + axis]) * s - p
            last = minimum(first + k, size + (p if include else 0))
            count = last - (first if include else maximum(first, 0))
            y = y / cast(reshape(count, (-1, *(1,) * (n - 1 - axis))), carried)
    else:
        y = y / prod(kernel)
    y = cast(y, x.dtype)
    return y if batched else reshape(y, y.shape[1:])
