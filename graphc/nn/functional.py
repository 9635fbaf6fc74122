"""Layers without parameters of their own, and the functions of losses.py and resizing.py: torch.nn.functional."""
from __future__ import annotations

from math import prod

import graphc as gc
from graphc.errors import ArgumentError, ShapeError
from graphc.nn.losses import (
    bce, bce_with_logits, binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding, gaussian_nll,
    hinge_embedding, huber, kl, l1, margin_ranking, mse, multi_margin, multilabel_soft_margin, nll, poisson_nll,
    smooth_l1, soft_margin, triplet_margin,
)
from graphc.nn.resizing import interpolate, pixel_shuffle, pixel_unshuffle

__all__ = [
    "apply_rope", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bce", "bce_with_logits", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cosine_embedding", "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding",
    "gaussian_nll", "gelu", "glu", "group_norm", "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh",
    "hinge_embedding", "huber", "instance_norm", "interpolate", "kl", "l1", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "margin_ranking", "max_pool1d", "max_pool2d", "max_pool3d", "mish", "mse", "multi_margin",
    "multilabel_soft_margin", "nll", "normalize", "one_hot", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll", "prelu", "relu", "relu6", "rms_norm", "rotary_angles", "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "smooth_l1", "soft_margin", "softmax", "softplus", "softsign", "tanh", "triplet_margin",
]

gelu, log_softmax, relu, sigmoid, silu, softmax, softplus, tanh = (
    gc.gelu, gc.log_softmax, gc.relu, gc.sigmoid, gc.silu, gc.softmax, gc.softplus, gc.tanh)
elu, glu, hardsigmoid, hardswish, hardtanh, leaky_relu, mish, relu6, selu, softsign = (
    gc.elu, gc.glu, gc.hardsigmoid, gc.hardswish, gc.hardtanh, gc.leaky_relu, gc.mish, gc.relu6, gc.selu, gc.softsign)
conv1d, conv2d, conv3d, one_hot = gc.conv1d, gc.conv2d, gc.conv3d, gc.one_hot
conv_transpose1d, conv_transpose2d, conv_transpose3d = gc.conv_transpose1d, gc.conv_transpose2d, gc.conv_transpose3d
max_pool1d, max_pool2d, max_pool3d = gc.max_pool1d, gc.max_pool2d, gc.max_pool3d
avg_pool1d, avg_pool2d, avg_pool3d = gc.avg_pool1d, gc.avg_pool2d, gc.avg_pool3d
cross_entropy, scaled_dot_product_attention = gc.cross_entropy, gc.scaled_dot_product_attention


def linear(x, weight, bias=None):
    """x @ weight.T + bias: (..., inputs) and (outputs, inputs) to (..., outputs)."""
    if x.ndim and weight.ndim == 2 and x.shape[-1] != weight.shape[1]:
        raise ShapeError(f"the input has shape {x.shape}; its last axis should be {weight.shape[1]}", op="linear")
    y = x @ weight.mT
    return y if bias is None else y + bias


def embedding(index, weight):
    """Rows of (words, width) by integers of any shape: (..., width). IndexError, when realized, for a bad one; negative
    ones count from the end, as in NumPy."""
    return gc.take(weight, index, axis=0)


def dropout(x, p: float = 0.5, training: bool = True):
    """Zeros with probability p, what stays divided by 1 - p. Srivastava et al. (2014)."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"the probability must be in [0, 1], not {p}", op="dropout")
    if not training or not p:
        return gc.copy(x)
    if p == 1:
        return x * 0
    return gc.where(gc.random.uniform(size=x.shape, dtype=gc.float32) >= p, x / (1 - p), 0)


# ------------------------------------------------------------------------------------------------------ normalisation

def _wide(x):
    return x.astype(x.dtype.accumulator)


def _trailing(x, shape, name: str) -> tuple[int, ...]:
    if isinstance(shape, gc.Tensor):
        raise ShapeError(f"the sizes of the last axes come second, and not a tensor of shape {shape.shape}", op=name,
                         fix=f"{name}(x, x.shape[-1], weight)")
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


def rms_norm(x, shape, weight=None, eps: float | None = None):
    """Divided by its root mean square over the last axes, whose sizes are `shape`. Zhang & Sennrich (2019).

    eps: added to the mean square; None is the distance from 1 to the next number of the dtype, of float32 for narrower
    ones, as in PyTorch.
    """
    axes = _trailing(x, shape, "rms_norm")
    wide = _wide(x)
    eps = float(gc.finfo(wide.dtype).eps) if eps is None else eps
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


def instance_norm(x, weight=None, bias=None, eps: float = 1e-5):
    """(batch, channels, ...): mean 0 and variance 1 over each channel of each element. Ulyanov et al. (2016)."""
    return group_norm(x, x.shape[1], weight, bias, eps)


def _per_channel(x, *tensors):
    return tuple(None if t is None else t.reshape(-1, *(1,) * (x.ndim - 2)) for t in tensors)


def _scaled(y, weight, bias):
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


# ------------------------------------------------------------------------------------------------------------- vectors

def normalize(x, p: float = 2.0, axis: int = 1, eps: float = 1e-12):
    """Divided by its norm of order p along an axis, or by eps where that is larger.

    >>> import graphc as gc
    >>> gc.nn.functional.normalize(gc.asarray([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    wide = _wide(x)
    size = gc.linalg.vector_norm(wide, ord=p, axis=axis, keepdims=True)
    return (wide / gc.maximum(size, eps)).astype(x.dtype)


def cosine_similarity(x1, x2, axis: int = 1, eps: float = 1e-8):
    """The cosine of the angle between vectors along an axis; norms below eps count as eps. The arguments broadcast.

    >>> import graphc as gc
    >>> gc.nn.functional.cosine_similarity(gc.asarray([[3.0, 4.0]]), gc.asarray([[6.0, 8.0]])).tolist()
    [1.0]
    """
    x1, x2 = gc.broadcast_arrays(x1, x2)
    result = gc.result_type(x1, x2)
    x1, x2 = _wide(x1), _wide(x2)
    a, b = (gc.maximum(gc.linalg.vector_norm(x, axis=axis), eps) for x in (x1, x2))
    return ((x1 * x2).sum(axis) / (a * b)).astype(result)


def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False):
    """The norm of order p of x1 - x2 + eps along the last axis, as in PyTorch. The arguments broadcast.

    >>> import graphc as gc
    >>> gc.nn.functional.pairwise_distance(gc.asarray([[3.0, 4.0]]), gc.asarray([0.0, 0.0]), eps=0.0).tolist()
    [5.0]
    """
    return gc.linalg.vector_norm(x1 - x2 + eps, ord=p, axis=-1, keepdims=keepdims)


def gumbel_softmax(logits, tau: float = 1.0, hard: bool = False, axis: int = -1):
    """A draw from the classes along an axis, in the form of weights that have a gradient: softmax((logits + g) / tau).

    g: Gumbel noise. hard: 1 for one class and 0 for the others, with the gradient of the weights. Jang, Gu & Poole
    (2017), *Categorical reparameterization with Gumbel-softmax*; Maddison, Mnih & Teh (2017).

    >>> import graphc as gc
    >>> gc.nn.functional.gumbel_softmax(gc.asarray([0.0, 1000.0]), hard=True).tolist()
    [0.0, 1.0]
    """
    if not tau > 0:
        raise ArgumentError(f"the temperature must be positive, not {tau}", op="gumbel_softmax")
    wide = _wide(logits)
    soft = gc.softmax((wide + gc.random.gumbel(size=logits.shape, dtype=wide.dtype)) / tau, axis)
    if hard:
        drawn = gc.one_hot(gc.argmax(soft, axis), soft.shape[axis], dtype=soft.dtype)
        soft = gc.moveaxis(drawn, -1, axis) - soft.detach() + soft
    return soft.astype(logits.dtype)


def prelu(x, weight):
    """x where it is positive, weight * x elsewhere; weight has one element, or one per channel (axis 1)."""
    slope = weight.reshape(()) if weight.size == 1 else weight if x.ndim < 2 else _per_channel(x, weight)[0]
    return gc.where(x > 0, x, x * slope)


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


def __getattr__(name: str):
    from graphc.api.other_names import LAYERS, missing
    raise missing("module 'graphc.nn.functional'", name, LAYERS)
