"""Activations and what goes with them: softmax and its kin, one_hot, cross_entropy.

All are composites, recorded op by op and fused by the scheduler: a softmax is one kernel. float16 and bfloat16 are
computed in float32 and rounded once at the end, integers in the default float.
"""
from __future__ import annotations

import functools
from math import pi, sqrt

from graphc.api import reductions as red
from graphc.api.axes import a_number, an_int
from graphc.api.creation import iota
from graphc.api.elementwise import abs as abs_
from graphc.api.elementwise import clip, erf, exp, expm1, log, log1p, tanh, where
from graphc.api.manipulation import expand_dims, moveaxis, reshape
from graphc.api.record import as_float, as_tensor, cast, elementwise, normalize_axis
from graphc.errors import CLASSES, ArgumentError, DTypeError, ShapeError
from graphc.ir import dtype as dt
from graphc.ir import ops


def _carried(function):
    """Compute in the dtype in which sums are carried, round the result to the dtype of the argument."""
    @functools.wraps(function)
    def rounded(x, /, *arguments, **options):
        x = as_float(x, function.__name__)
        return cast(function(cast(x, x.dtype.accumulator), *arguments, **options), x.dtype)
    return rounded


def relu(x, /):
    """max(x, 0), with the slope 0 at 0, as usual: `maximum` would share the gradient between x and 0 there.

    >>> import graphc as gc
    >>> gc.relu(gc.asarray([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    x = as_tensor(x, None, "relu")
    return where(x <= 0, 0, x)      # so NaN stays NaN


def relu6(x, /):
    """min(max(x, 0), 6), with the slope 0 at both ends."""
    x = as_tensor(x, None, "relu6")
    return where(x >= 6, 6, relu(x))


def leaky_relu(x, /, negative_slope: float = 0.01):
    """x where it is positive, negative_slope * x elsewhere.

    >>> import graphc as gc
    >>> gc.leaky_relu(gc.asarray([-1.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    x = as_float(x, "leaky_relu")
    return where(x > 0, x, x * a_number(negative_slope, "leaky_relu", "negative_slope"))


def hardtanh(x, /, min_value: float = -1.0, max_value: float = 1.0):
    """x, cut off at both ends."""
    low, high = (a_number(v, "hardtanh", what) for v, what in ((min_value, "min_value"), (max_value, "max_value")))
    return clip(as_float(x, "hardtanh"), low, high)


@_carried
def hardsigmoid(x, /):
    """min(max(x + 3, 0), 6) / 6."""
    return clip(x + 3.0, 0.0, 6.0) / 6.0


@_carried
def hardswish(x, /):
    """x * hardsigmoid(x). Howard et al., "Searching for MobileNetV3" (2019)."""
    return x * clip(x + 3.0, 0.0, 6.0) / 6.0


def _below_zero(x):
    """-|x|, as one of two smooth pieces, so that gradients at 0 are right: the slope of |x| is 0 there."""
    return where(x >= 0, -x, x)


@_carried
def sigmoid(x, /):
    """1 / (1 + exp(-x)), without overflow or loss of small values.

    >>> import graphc as gc
    >>> gc.sigmoid(gc.asarray([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    small = exp(_below_zero(x))
    return where(x >= 0, 1.0, small) / (small + 1.0)


@_carried
def log_sigmoid(x, /):
    """log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|))."""
    return where(x >= 0, 0.0, x) - log1p(exp(_below_zero(x)))


@_carried
def silu(x, /):
    """x * sigmoid(x), also called swish. Elfwing, Uchibe & Doya (2018).

    >>> import graphc as gc
    >>> gc.silu(gc.asarray(0.0)).item()
    0.0
    """
    return x * sigmoid(x)


@_carried
def gelu(x, /, approximate: str = "none"):
    """x times the normal distribution function at x, by erf ("none") or by tanh. Hendrycks & Gimpel (2016).

    >>> import graphc as gc
    >>> gc.gelu(gc.asarray(0.0)).item()
    0.0
    """
    if approximate == "tanh":
        return x * 0.5 * (tanh((x + x * x * x * 0.044715) * sqrt(2 / pi)) + 1.0)
    if approximate != "none":
        raise ArgumentError(f"approximate must be 'none' or 'tanh', not {approximate!r}", op="gelu")
    return x * 0.5 * (erf(x * sqrt(0.5)) + 1.0)


@_carried
def elu(x, /, alpha: float = 1.0):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere. Clevert, Unterthiner & Hochreiter (2016)."""
    return where(x > 0, x, expm1(where(x > 0, 0.0, x)) * a_number(alpha, "elu", "alpha"))


@_carried
def selu(x, /):
    """A scaled elu that keeps mean and variance. Klambauer, Unterthiner, Mayr & Hochreiter (2017)."""
    return elu(x, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946


@_carried
def softplus(x, /, beta: float = 1.0):
    """log(1 + exp(beta * x)) / beta, without overflow.

    >>> import graphc as gc
    >>> gc.softplus(gc.asarray([1000.0])).tolist()
    [1000.0]
    """
    scaled = x * (beta := a_number(beta, "softplus", "beta"))
    return (where(scaled >= 0, scaled, 0.0) + log1p(exp(_below_zero(scaled)))) / beta


@_carried
def softsign(x, /):
    """x / (1 + |x|)."""
    return x / (abs_(x) + 1.0)


@_carried
def mish(x, /):
    """x * tanh(softplus(x)). Misra (2019)."""
    return x * tanh(softplus(x))


@_carried
def softmax(x, /, axis: int | tuple[int, ...] = -1):
    """exp(x) / sum(exp(x)) along an axis, after taking out the largest element.

    >>> import graphc as gc
    >>> gc.softmax(gc.asarray([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    if not x.size:
        return x
    e = exp(x - red.max(x, axis, keepdims=True).detach())   # the largest cancels out, also in the gradient
    return e / red.sum(e, axis, keepdims=True)


@_carried
def log_softmax(x, /, axis: int | tuple[int, ...] = -1):
    """log(softmax(x)), without taking the logarithm of small quotients.

    >>> import graphc as gc
    >>> gc.log_softmax(gc.asarray([0.0, 0.0])).tolist()
    [-0.6931471805599453, -0.6931471805599453]
    """
    if not x.size:
        return x
    centred = x - red.max(x, axis, keepdims=True).detach()
    return centred - log(red.sum(exp(centred), axis, keepdims=True))


def _checked(x, name: str, *attrs):
    x = as_tensor(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"labels are integers, not {x.dtype}", op=name)
    return elementwise(ops.CHECK_INDEX, name, x, attrs=attrs)


def labels_of(x, n: int, name: str):
    """Labels of n classes, checked when they are realized: IndexError with the user's line for one outside 0..n-1. A
    negative one does not count from the end: -1 often stands for no label."""
    return _checked(x, name, n, CLASSES)


def _is_label(labels, n: int):
    """Whether each class is the label: the classes are a new last axis."""
    return expand_dims(labels, -1) == cast(iota(n), labels.dtype)


def one_hot(x, /, num_classes: int, *, dtype=None):
    """1 at the label's place along a new last axis of num_classes, 0 elsewhere; dtype None is the default float.

    Raises IndexError, when it is realized, for a label outside the classes; negative ones count from the end.

    >>> import graphc as gc
    >>> gc.one_hot(gc.asarray([0, 2]), 3, dtype="int64").tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    n = an_int(num_classes, "one_hot", "num_classes")
    found = _is_label(_checked(x, "one_hot", n), n)
    return cast(found, dt.default_float() if dtype is None else dt.as_dtype(dtype))


def cross_entropy(logits, target, /, axis: int = -1, *, reduction: str = "mean", weight=None,
                  ignore_index: int | None = None, label_smoothing: float = 0.0):
    """-log softmax(logits) at the target: integer labels (the shape without `axis`) or probabilities (the same shape).

    reduction: "mean" or "sum" over all targets, or "none". weight: (classes,), how much each class counts; the mean of
    labels is then divided by the sum of their weights. ignore_index: a label that counts for nothing, inside or outside
    of the classes. label_smoothing: the part of each target that is spread evenly over all classes (Szegedy et al.,
    2016). All as in PyTorch. Raises IndexError, when it is realized, for a bad label.

    >>> import graphc as gc
    >>> gc.cross_entropy(gc.asarray([[0.0, 0.0]]), gc.asarray([1])).item()
    0.6931471805599453
    >>> gc.cross_entropy(gc.asarray([[0.0, 0.0], [9.0, 9.0]]), gc.asarray([1, -100]), ignore_index=-100).item()
    0.6931471805599453
    """
    logits, target = as_float(logits, "cross_entropy"), as_tensor(target)
    axis = normalize_axis(axis, logits.ndim, "cross_entropy")
    scores = log_softmax(moveaxis(logits, axis, -1))
    n = scores.shape[-1]
    if weight is not None and (weight := cast(as_tensor(weight), scores.dtype)).shape != (n,):
        raise ShapeError(f"weights of shape {weight.shape} do not fit {n} classes", op="cross_entropy")
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"label_smoothing must be between 0 and 1, not {label_smoothing}", op="cross_entropy")
    if target.dtype.kind in "iu":
        if target.shape != scores.shape[:-1]:
            raise ShapeError(f"labels of shape {target.shape} do not fit logits of shape {logits.shape}",
                             op="cross_entropy")
        kept = None if ignore_index is None else target != ignore_index
        own = _is_label(labels_of(target if kept is None else where(kept, target, 0), n, "cross_entropy"), n)
        chosen = where(own, scores, 0.0)
        counts = None if weight is None else red.sum(where(own, weight, 0.0), -1)
        if kept is not None:
            counts = where(kept, cast(as_tensor(1), scores.dtype) if counts is None else counts, 0.0)
    elif target.shape == logits.shape and ignore_index is None:
        chosen, kept, counts = scores * moveaxis(target, axis, -1), None, None
    elif target.shape == logits.shape:
        raise ArgumentError("probabilities have no label to be ignored", op="cross_entropy",
                            fix="leave ignore_index away, or give integer labels")
    else:
        raise ShapeError(f"probabilities of shape {target.shape} do not fit logits of shape {logits.shape}",
                         op="cross_entropy")
    if label_smoothing:
        chosen = chosen * (1 - label_smoothing) + scores * (label_smoothing / n)
    losses = -red.sum(chosen if weight is None else chosen * weight, -1)
    return _reduced(losses if kept is None else where(kept, losses, 0.0), counts, reduction)


def _reduced(losses, counts, reduction: str):
    """The mean is divided by the sum of the counts, if there are any."""
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise ArgumentError(f"reduction must be mean, sum or none, not {reduction!r}", op="cross_entropy")
    if reduction == "mean" and counts is not None:
        return red.sum(losses) / red.sum(counts)
    return red.mean(losses) if reduction == "mean" else red.sum(losses)


def glu(x, /, axis: int = -1):
    """The first half of an axis times the sigmoid of the second. Dauphin et al. (2017)."""
    x = as_float(x, "glu")
    axis = normalize_axis(axis, x.ndim, "glu")
    if x.shape[axis] % 2:
        raise ShapeError(f"axis {axis} of shape {x.shape} has no two halves", op="glu")
    halves = moveaxis(reshape(x, (*x.shape[:axis], 2, x.shape[axis] // 2, *x.shape[axis + 1:])), axis, 0)
    return halves[0] * sigmoid(halves[1])
