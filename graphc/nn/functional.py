"""Layers without parameters of their own, and losses."""
from __future__ import annotations

from math import prod

import graphc as gc
from graphc.errors import ShapeError

gelu, log_softmax, relu, sigmoid, silu, softmax, softplus, tanh = (
    gc.gelu, gc.log_softmax, gc.relu, gc.sigmoid, gc.silu, gc.softmax, gc.softplus, gc.tanh)
cross_entropy, scaled_dot_product_attention = gc.cross_entropy, gc.scaled_dot_product_attention


def linear(x, weight, bias=None):
    """x @ weight.T + bias: (..., inputs) and (outputs, inputs) to (..., outputs)."""
    y = x @ weight.mT
    return y if bias is None else y + bias


def embedding(index, weight):
    """Rows of (words, width) by integers of any shape: (..., width). IndexError, when realized, for a bad one."""
    return gc.take(weight, index, axis=0)


def dropout(x, p: float = 0.5, training: bool = True):
    """Zeros with probability p, what stays divided by 1 - p. Srivastava et al. (2014)."""
    if not 0 <= p < 1:
        raise ValueError(f"the probability must be in [0, 1), not {p}")
    if not training or not p:
        return x
    return gc.where(gc.random.uniform(size=x.shape, dtype=gc.float32) >= p, x / (1 - p), 0)


# ------------------------------------------------------------------------------------------------------ normalisation

def _wide(x):
    return x.astype(x.dtype.accumulator)


def _trailing(x, shape, name: str) -> tuple[int, ...]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if x.shape[x.ndim - len(shape):] != shape:
        raise ShapeError(f"the last axes of {x.shape} are not {shape}", op=name)
    return tuple(range(x.ndim - len(shape), x.ndim))


def layer_norm(x, shape, weight=None, bias=None, eps: float = 1e-5):
    """Mean 0 and variance 1 over the last axes, whose sizes are `shape`; then weight and bias. Ba et al. (2016)."""
    axes = _trailing(x, shape, "layer_norm")
    wide = _wide(x)
    y = (wide - wide.mean(axes, keepdims=True)) * gc.rsqrt(wide.var(axes, keepdims=True) + eps)
    return _scaled(y.astype(x.dtype), weight, bias)


def rms_norm(x, shape, weight=None, eps: float = 1e-6):
    """Divided by its root mean square over the last axes, whose sizes are `shape`. Zhang & Sennrich (2019)."""
    axes = _trailing(x, shape, "rms_norm")
    wide = _wide(x)
    y = wide * gc.rsqrt((wide * wide).mean(axes, keepdims=True) + eps)
    return _scaled(y.astype(x.dtype), weight, None)


def group_norm(x, groups: int, weight=None, bias=None, eps: float = 1e-5):
    """(batch, channels, ...): mean 0 and variance 1 over each group of channels. Wu & He (2018)."""
    n, c, *rest = x.shape
    if c % groups:
        raise ShapeError(f"{c} channels do not make {groups} equal groups", op="group_norm")
    grouped = _wide(x).reshape(n, groups, c // groups * prod(rest))
    y = (grouped - grouped.mean(-1, keepdims=True)) * gc.rsqrt(grouped.var(-1, keepdims=True) + eps)
    return _scaled(y.reshape(x.shape).astype(x.dtype), *_per_channel(x, weight, bias))


def _per_channel(x, *tensors):
    return tuple(None if t is None else t.reshape(-1, *(1,) * (x.ndim - 2)) for t in tensors)


def _scaled(y, weight, bias):
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


# ---------------------------------------------------------------------------------------------------------- positions

def rotary_angles(positions, width: int, base: float = 10000.0):
    """(cos, sin) of shape (..., width / 2) for integer positions. Su et al. (2021), *RoFormer*."""
    rates = base ** (gc.arange(0, width, 2, dtype=gc.float32) * (-1 / width))
    angles = gc.asarray(positions).astype(gc.float32).expand_dims(-1) * rates
    return gc.cos(angles), gc.sin(angles)


def apply_rope(x, cos, sin, interleaved: bool = False):
    """Rotate pairs of the last axis: (first half, second half), as Llama has it, or neighbours if interleaved."""
    half = x.shape[-1] // 2
    if interleaved:
        pairs = x.reshape(*x.shape[:-1], half, 2)
        a, b = pairs[..., 0], pairs[..., 1]
        return gc.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return gc.concat([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)


# -------------------------------------------------------------------------------------------------------------- losses

def _reduced(losses, reduction: str, name: str):
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction != "none":
        raise ValueError(f"[{name}] reduction must be mean, sum or none, not {reduction!r}")
    return losses


def mse(prediction, target, reduction: str = "mean"):
    """(prediction - target)**2

    >>> import graphc as gc
    >>> gc.nn.mse(gc.asarray([1.0, 3.0]), gc.asarray([1.0, 1.0])).item()
    2.0
    """
    difference = prediction - target
    return _reduced(difference * difference, reduction, "mse")


def l1(prediction, target, reduction: str = "mean"):
    """|prediction - target|"""
    return _reduced(gc.abs(prediction - target), reduction, "l1")


def huber(prediction, target, delta: float = 1.0, reduction: str = "mean"):
    """Quadratic up to delta, linear beyond. Huber (1964)."""
    size = gc.abs(prediction - target)
    return _reduced(gc.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction, "huber")


def bce(probability, target, reduction: str = "mean"):
    """Binary cross entropy of probabilities in [0, 1]; logarithms are cut off at -100, as in PyTorch."""
    yes, no = (gc.maximum(gc.log(p), -100.0) for p in (probability, 1 - probability))
    return _reduced(-(target * yes + (1 - target) * no), reduction, "bce")


def bce_with_logits(logits, target, reduction: str = "mean"):
    """Binary cross entropy of sigmoid(logits), without overflow or loss of small probabilities."""
    return _reduced(gc.softplus(logits) - logits * target, reduction, "bce_with_logits")


def nll(log_probabilities, target, reduction: str = "mean"):
    """Minus the log-probability of the target: (..., classes) and integer labels (...)."""
    chosen = gc.take_along_axis(log_probabilities, gc.asarray(target).expand_dims(-1), axis=-1).squeeze(-1)
    return _reduced(-chosen, reduction, "nll")


def kl(log_prediction, target, reduction: str = "mean"):
    """Kullback-Leibler divergence of a prediction, given by its logarithm, from target probabilities.

    "mean" is over all elements; "batchmean" divides the sum by the size of axis 0, which is the divergence.
    """
    losses = gc.where(target > 0, target * (gc.log(gc.where(target > 0, target, 1)) - log_prediction), 0)
    if reduction == "batchmean":
        return losses.sum() / losses.shape[0]
    return _reduced(losses, reduction, "kl")
