"""Initial values of parameters, by the names of their papers. Each takes a shape and returns a float32 tensor.

The shape of a matrix is (outputs, inputs), that of a convolution (outputs, inputs, *window). fan_in is the number of
values that one output is computed from, fan_out the number of outputs that one input goes into.
"""
from __future__ import annotations

from math import prod, sqrt

import graphc as gc
from graphc.errors import ShapeError

__all__ = [
    "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal",
    "lecun_uniform", "normal", "orthogonal", "truncated_normal", "uniform", "xavier_normal", "xavier_uniform",
]


def _fans(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    if len(shape) < 2:
        raise ShapeError(f"shape {tuple(shape)} has no inputs and outputs", op=name, fix="give at least two axes")
    window = prod(shape[2:])
    return shape[1] * window, shape[0] * window


def uniform(shape, low: float = 0.0, high: float = 1.0, dtype="float32"):
    """Uniform in [low, high)."""
    return gc.random.uniform(low, high, size=tuple(shape)).astype(dtype)


def normal(shape, mean: float = 0.0, std: float = 1.0, dtype="float32"):
    """Normal with this mean and standard deviation."""
    return gc.random.normal(mean, std, size=tuple(shape)).astype(dtype)


def truncated_normal(shape, std: float = 1.0, low: float = -2.0, high: float = 2.0, dtype="float32"):
    """Normal, its values cut off at low and high standard deviations by the inverse of its distribution function.

    The inverse is taken by Newton's method from a start by Winitzki's approximation (2008).
    """
    below, above = (0.5 * (1 + gc.erf(gc.asarray(x / sqrt(2)))) for x in (low, high))
    p = 2 * (below + gc.random.uniform(size=tuple(shape)) * (above - below)) - 1
    a = 0.147
    log = gc.log1p(-p * p)
    half = 2 / (gc.pi * a) + log / 2
    z = gc.sign(p) * gc.sqrt(gc.sqrt(half * half - log / a) - half)
    for _ in range(2):
        z = z - (gc.erf(z) - p) * (sqrt(gc.pi) / 2) * gc.exp(z * z)
    return (gc.clip(z * sqrt(2), low, high) * std).astype(dtype)


def glorot_uniform(shape, gain: float = 1.0, dtype="float32"):
    """Glorot & Bengio (2010): uniform, variance 2 / (fan_in + fan_out)."""
    bound = gain * sqrt(6 / sum(_fans(shape, "glorot_uniform")))
    return uniform(shape, -bound, bound, dtype)


def glorot_normal(shape, gain: float = 1.0, dtype="float32"):
    """Glorot & Bengio (2010): normal, variance 2 / (fan_in + fan_out)."""
    return normal(shape, 0.0, gain * sqrt(2 / sum(_fans(shape, "glorot_normal"))), dtype)


def he_uniform(shape, gain: float = sqrt(2), dtype="float32"):
    """He et al. (2015): uniform, variance gain**2 / fan_in."""
    bound = gain * sqrt(3 / _fans(shape, "he_uniform")[0])
    return uniform(shape, -bound, bound, dtype)


def he_normal(shape, gain: float = sqrt(2), dtype="float32"):
    """He et al. (2015): normal, variance gain**2 / fan_in."""
    return normal(shape, 0.0, gain / sqrt(_fans(shape, "he_normal")[0]), dtype)


def lecun_uniform(shape, dtype="float32"):
    """LeCun et al. (1998), *Efficient BackProp*: uniform, variance 1 / fan_in."""
    return he_uniform(shape, 1.0, dtype)


def lecun_normal(shape, dtype="float32"):
    """LeCun et al. (1998), *Efficient BackProp*: normal, variance 1 / fan_in."""
    return he_normal(shape, 1.0, dtype)


def orthogonal(shape, gain: float = 1.0, dtype="float32"):
    """Saxe, McClelland & Ganguli (2014): orthonormal rows or columns, from the QR decomposition of normal numbers."""
    rows, columns = shape[0], prod(shape[1:])
    if len(shape) < 2:
        raise ShapeError(f"shape {tuple(shape)} is no matrix", op="orthogonal")
    tall = gc.random.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = gc.linalg.qr(tall)
    signs = gc.sign(r.diagonal())
    q = q * gc.where(signs == 0, 1, signs)
    return ((q if rows >= columns else q.T) * gain).reshape(tuple(shape)).astype(dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def __getattr__(name: str):
    from graphc.api.other_names import INITIAL, missing
    raise missing("module 'graphc.nn.init'", name, INITIAL)
