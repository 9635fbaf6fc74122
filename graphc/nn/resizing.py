"""Images of another size: interpolation, and channels that become pixels. By the rules of torch.nn.functional."""
from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np

import graphc as gc
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.nn.module import Module
from graphc.tracing import Scalar

PHASES = 8          # factors up to which an axis is enlarged without indices
_AXES = {"linear": 1, "bilinear": 2, "trilinear": 3}


def interpolate(x, size=None, scale_factor=None, mode: str = "nearest", align_corners: bool = False):
    """(batch, channels, *sizes) with other sizes, given themselves or as factors: a number, or one for each axis.

    mode      "nearest": the element at floor(i * step); "nearest-exact": at floor((i + 1/2) * step); "linear",
              "bilinear" or "trilinear", for one, two or three sizes: between the elements on both sides of
              (i + 1/2) * step - 1/2, the outermost ones beyond the ends
    step      old size / new size, or 1 / factor where a factor is given; new sizes are floor(size * factor)
    align_corners  linear modes only: i * (old - 1) / (new - 1), so that the outermost elements stay where they are

    The dtype stays; float16 and bfloat16 are mixed in float32. Raises ShapeError (a ValueError) for what does not fit,
    ArgumentError (another) for a mode that does not exist or fit, DTypeError for integers in a linear mode.

    >>> import graphc as gc
    >>> x = gc.asarray([[[0.0, 4.0]]])
    >>> gc.nn.functional.interpolate(x, 4).tolist(), gc.nn.functional.interpolate(x, 4, mode="linear").tolist()
    ([[[0.0, 0.0, 4.0, 4.0]]], [[[0.0, 1.0, 3.0, 4.0]]])
    """
    axes = x.ndim - 2
    sizes, steps = _sizes(x, axes, size, scale_factor)
    if mode in ("nearest", "nearest-exact"):
        if align_corners:
            raise ArgumentError(f"corners are not aligned by {mode!r}", op="interpolate", fix="use mode='linear', "
                                "'bilinear' or 'trilinear'")
        for axis, new, step in zip(range(2, x.ndim), sizes, steps, strict=True):
            x = _nearest(x, axis, new, step, mode == "nearest-exact")
        return x
    if _AXES.get(mode) != axes:
        raise ArgumentError(f"mode {mode!r} does not fit {axes} sizes of shape {x.shape}", op="interpolate",
                            fix="use 'nearest', 'nearest-exact' or, for 1, 2, 3 sizes, 'linear', 'bilinear', "
                            "'trilinear'")
    if x.dtype.kind != "f":
        raise DTypeError(f"{x.dtype} has nothing between its elements", op="interpolate", fix="use x.astype('float32')")
    y = x.astype(x.dtype.accumulator)
    for axis, new, step in zip(range(2, x.ndim), sizes, steps, strict=True):
        y = _linear(y, axis, new, step, align_corners)
    return y.astype(x.dtype)


def _sizes(x, axes: int, size, scale_factor) -> tuple[list[int], list[Fraction]]:
    if axes < 1:
        raise ShapeError(f"shape {x.shape} is not (batch, channels, *sizes)", op="interpolate")
    if (size is None) == (scale_factor is None):
        raise ArgumentError("give either size or scale_factor", op="interpolate")
    given = scale_factor if size is None else size
    given = [given] * axes if isinstance(given, int | float | Scalar) else list(given)
    if len(given) != axes:
        raise ShapeError(f"{len(given)} sizes or factors for the {axes} sizes of shape {x.shape}", op="interpolate")
    old = x.shape[2:]
    if size is None:
        factors = [Fraction(float(f)).limit_denominator(2**20) for f in given]     # 1.3 is 13/10
        sizes = [int(n * f) for n, f in zip(old, factors, strict=True)]
    else:
        sizes = [int(n) for n in given]
    if min(*sizes, *old) < 1:
        raise ShapeError(f"sizes {tuple(old)} do not become {tuple(sizes)}", op="interpolate",
                         fix="all must be at least 1")
    if size is None:
        return sizes, [1 / f for f in factors]
    return sizes, [Fraction(n, m) for n, m in zip(old, sizes, strict=True)]


def _nearest(x, axis: int, new: int, step: Fraction, middle: bool):
    n = x.shape[axis]
    if new % n == 0 and step == Fraction(n, new):
        return gc.repeat(x, new // n, axis)
    a, b = step.numerator, step.denominator
    i = np.arange(new)
    index = (2 * i + 1) * a // (2 * b) if middle else i * a // b
    return gc.take(x, np.minimum(index, n - 1), axis)


def _linear(x, axis: int, new: int, step: Fraction, align: bool):
    n = x.shape[axis]
    if new == n and (step == 1 or align):
        return x
    if not align and step.numerator == 1 and new == n * step.denominator and step.denominator <= PHASES:
        return _enlarged(x, axis, step.denominator)
    below, above, part = _between(n, new, step, align)
    part = gc.asarray(part, dtype=x.dtype).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    return gc.take(x, below, axis) * (1 - part) + gc.take(x, above, axis) * part


def _enlarged(x, axis: int, times: int):
    """By a whole number: each of the new elements between two old ones has its own weights, and no index is read."""
    n, before = x.shape[axis], (slice(None),) * axis
    padded = gc.pad(x, [(1, 1) if a == axis else (0, 0) for a in range(x.ndim)], mode="edge")
    phases = []
    for k in range(times):
        at = (k + 0.5) / times + 0.5            # in the padded array, for the first element
        below, part = int(at), at - int(at)
        first, second = (padded[(*before, slice(i, i + n))] for i in (below, below + 1))
        phases.append(first * (1 - part) + second * part)
    return gc.stack(phases, axis + 1).reshape(*x.shape[:axis], n * times, *x.shape[axis + 1:])


@functools.lru_cache(maxsize=256)
def _between(n: int, new: int, step: Fraction, align: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements on both sides of each new one, and how much of the second it has."""
    i = np.arange(new)
    at = i * ((n - 1) / max(new - 1, 1)) if align else np.maximum((i + 0.5) * float(step) - 0.5, 0)
    below = np.minimum(at.astype(np.int64), n - 1)
    return below, np.minimum(below + 1, n - 1), at - below


def pixel_shuffle(x, upscale_factor: int):
    """(..., channels * r * r, height, width) to (..., channels, height * r, width * r). Shi et al. (2016), *ESPCN*.

    Raises ShapeError (a ValueError) for channels that do not divide.

    >>> import graphc as gc
    >>> gc.nn.functional.pixel_shuffle(gc.arange(4).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0, 1], [2, 3]]]]
    """
    (*before, c, h, w), r = _image(x, "pixel_shuffle"), upscale_factor
    if r < 1 or c % (r * r):
        raise ShapeError(f"{c} channels do not make squares of {r} by {r}", op="pixel_shuffle",
                         fix="their number must be a multiple of the factor's square")
    k, c = len(before), c // (r * r)
    parts = x.reshape(*before, c, r, r, h, w).permute(*range(k + 1), k + 3, k + 1, k + 4, k + 2)
    return parts.reshape(*before, c, h * r, w * r)


def pixel_unshuffle(x, downscale_factor: int):
    """(..., channels, height * r, width * r) to (..., channels * r * r, height, width): the way back.

    Raises ShapeError (a ValueError) for sizes that do not divide.

    >>> import graphc as gc
    >>> gc.nn.functional.pixel_unshuffle(gc.arange(4).reshape(1, 1, 2, 2), 2).ravel().tolist()
    [0, 1, 2, 3]
    """
    (*before, c, h, w), r = _image(x, "pixel_unshuffle"), downscale_factor
    if r < 1 or h % r or w % r:
        raise ShapeError(f"{h} by {w} elements do not make squares of {r} by {r}", op="pixel_unshuffle",
                         fix="both sizes must be multiples of the factor")
    k, h, w = len(before), h // r, w // r
    parts = x.reshape(*before, c, h, r, w, r).permute(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return parts.reshape(*before, c * r * r, h, w)


def _image(x, name: str) -> tuple[int, ...]:
    if x.ndim < 3:
        raise ShapeError(f"shape {x.shape} is not (..., channels, height, width)", op=name)
    return x.shape


class Upsample(Module):
    """See `functional.interpolate`.

    >>> import graphc as gc
    >>> gc.nn.Upsample(scale_factor=2, mode="bilinear")(gc.ones((1, 3, 4, 5))).shape
    (1, 3, 8, 10)
    """

    def __init__(self, size=None, scale_factor=None, mode: str = "nearest", align_corners: bool = False):
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, x):
        return interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)


class PixelShuffle(Module):
    """See `functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, x):
        return pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Module):
    """See `functional.pixel_unshuffle`."""

    def __init__(self, downscale_factor: int):
        self.downscale_factor = downscale_factor

    def forward(self, x):
        return pixel_unshuffle(x, self.downscale_factor)
