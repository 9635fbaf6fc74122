"""Losses: each takes a reduction, "mean" over all elements (if nothing else is said), "sum" or "none";
ArgumentError (a ValueError) for another."""
from __future__ import annotations

from math import exp, log, pi

import graphc as gc
from graphc.api.activations import labels_of
from graphc.errors import ArgumentError, warn


def _reduced(losses, reduction: str, name: str):
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction != "none":
        raise ArgumentError(f"reduction must be mean, sum or none, not {reduction!r}", op=name)
    return losses


def _difference(prediction, target, name: str):
    """prediction - target, with a warning where that is no shape of either."""
    return _told(prediction - target, prediction, target, name)


def _told(found, prediction, target, name: str):
    """What was found by broadcasting. That of a column and a row is a matrix, which is hardly ever meant: a warning."""
    shapes = [tuple(getattr(x, "shape", ())) for x in (prediction, target)]
    if found.shape not in shapes:
        warn(f"[{name}] a prediction of shape {shapes[0]} and a target of shape {shapes[1]} are broadcast to "
             f"{found.shape}; give both one shape")
    return found


def mse(prediction, target, reduction: str = "mean"):
    """(prediction - target)**2

    >>> import graphc as gc
    >>> gc.nn.mse(gc.asarray([1.0, 3.0]), gc.asarray([1.0, 1.0])).item()
    2.0
    """
    difference = _difference(prediction, target, "mse")
    return _reduced(difference * difference, reduction, "mse")


def l1(prediction, target, reduction: str = "mean"):
    """|prediction - target|"""
    return _reduced(gc.abs(_difference(prediction, target, "l1")), reduction, "l1")


def _near(difference, bend):
    """Whether a difference is at most the bend; it, or else 0, as the gradient of what is not used must be finite; and
    its size: |d| * |d| would have no second derivative at 0."""
    size = gc.abs(difference)
    near = size <= bend
    return near, gc.where(near, difference, 0), size


def huber(prediction, target, delta: float = 1.0, reduction: str = "mean"):
    """Quadratic up to delta, linear beyond. Huber (1964)."""
    near, difference, size = _near(_difference(prediction, target, "huber"), delta)
    losses = gc.where(near, 0.5 * difference * difference, delta * (size - 0.5 * delta))
    return _reduced(losses, reduction, "huber")


def smooth_l1(prediction, target, beta: float = 1.0, reduction: str = "mean"):
    """difference**2 / (2 beta) up to beta, linear with slope 1 beyond: `huber` divided by beta. Girshick (2015).

    >>> import graphc as gc
    >>> gc.nn.smooth_l1(gc.asarray([0.5, 3.0]), gc.asarray([0.0, 0.0]), reduction="none").tolist()
    [0.125, 2.5]
    """
    if beta < 0:
        raise ArgumentError(f"beta must not be negative, as {beta} is", op="smooth_l1")
    near, difference, size = _near(_difference(prediction, target, "smooth_l1"), beta)
    losses = gc.where(near, difference * difference * (0.5 / beta), size - 0.5 * beta) if beta else size
    return _reduced(losses, reduction, "smooth_l1")


def _log(p):
    none = gc.abs(p) <= exp(-100)
    return gc.where(none, -100.0, gc.log(gc.where(none, 1.0, p)))


def _weighted(losses, weight):
    return losses if weight is None else losses * weight


def bce(probability, target, reduction: str = "mean", weight=None):
    """Binary cross entropy of probabilities in [0, 1]; logarithms are cut off at -100, as in PyTorch, and have no
    gradient there: `bce_with_logits` has one. weight: a factor on each loss, which broadcasts."""
    yes, no = (_log(p) for p in (probability, 1 - probability))
    losses = -_told(target * yes + (1 - target) * no, probability, target, "bce")
    return _reduced(_weighted(losses, weight), reduction, "bce")


def bce_with_logits(logits, target, reduction: str = "mean", pos_weight=None, weight=None):
    """Binary cross entropy of sigmoid(logits), without overflow or loss of small probabilities.

    pos_weight: how much more the target's part counts than that of 1 - target; a number, or a tensor that broadcasts.
    weight: a factor on each loss, likewise.

    >>> import graphc as gc
    >>> gc.nn.bce_with_logits(gc.asarray([0.0]), gc.asarray([1.0]), pos_weight=3.0).item()
    2.0794415416798357
    """
    # softplus(-|x|), and a part of x that cancels nothing; the gradient at 0 is that of x > 0 and of x < 0
    positive = logits > 0
    small = gc.softplus(gc.where(positive, -logits, logits))
    of_target = -target if pos_weight is None else -pos_weight * target
    large = _told(gc.where(positive, 1 - target, of_target) * logits, logits, target, "bce_with_logits")
    losses = large + (small if pos_weight is None else (1 + (pos_weight - 1) * target) * small)
    return _reduced(_weighted(losses, weight), reduction, "bce_with_logits")


def nll(log_probabilities, target, reduction: str = "mean", weight=None, ignore_index: int | None = None):
    """Minus the log-probability of the target: (..., classes) and integer labels (...).

    weight: (classes,), how much each class counts; the mean is then divided by the sum of the labels' weights.
    ignore_index: a label that counts for nothing, inside or outside of the classes. As in PyTorch.

    >>> import graphc as gc
    >>> gc.nn.nll(gc.asarray([[-1.0, -2.0], [-3.0, -4.0]]), gc.asarray([1, -100]), ignore_index=-100).item()
    2.0
    """
    target = gc.asarray(target)
    kept = None if ignore_index is None else target != ignore_index
    label = labels_of(target if kept is None else gc.where(kept, target, 0), log_probabilities.shape[-1], "nll")
    losses = -gc.take_along_axis(log_probabilities, label.expand_dims(-1), axis=-1).squeeze(-1)
    if weight is None and kept is None:
        return _reduced(losses, reduction, "nll")
    counts = gc.ones_like(losses) if weight is None else gc.take(weight, label)
    counts = counts if kept is None else gc.where(kept, counts, 0)
    losses = gc.where(counts != 0, losses * counts, 0)      # what counts for nothing may be infinite
    return losses.sum() / counts.sum() if reduction == "mean" else _reduced(losses, reduction, "nll")


def kl(log_prediction, target, reduction: str = "mean", log_target: bool = False):
    """Kullback-Leibler divergence of a prediction, given by its logarithm, from target probabilities, which log_target
    says are given by theirs. A target of 0 adds 0, whatever is predicted.

    "mean" is over all elements; "batchmean" divides the sum by the size of axis 0, which is the divergence.
    """
    if log_target:
        losses = gc.exp(target) * (target - log_prediction)
    else:
        never = target == 0
        losses = gc.where(never, 0, target * (gc.log(gc.where(never, 1, target)) - log_prediction))
    _told(losses, log_prediction, target, "kl")
    if reduction == "batchmean":
        return losses.sum() / losses.shape[0]
    return _reduced(losses, reduction, "kl")


# ----------------------------------------------------------------------------------------------- likelihoods of numbers

def poisson_nll(prediction, target, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                reduction: str = "mean"):
    """Minus the log-likelihood of counts under Poisson's law, without the term of the target alone.

    prediction: the logarithm of the mean; the mean itself if log_input is False, and eps is added before its logarithm
    is taken. full: with Stirling's approximation of that term, for targets above 1.

    >>> import graphc as gc
    >>> gc.nn.poisson_nll(gc.asarray([0.0]), gc.asarray([2.0])).item()
    1.0
    """
    losses = gc.exp(prediction) - target * prediction if log_input else (
        prediction - target * gc.log(prediction + eps))
    if full:
        above = gc.where(target > 1, target, 1)
        losses = losses + gc.where(target > 1, above * gc.log(above) - above + 0.5 * gc.log(2 * pi * above), 0)
    return _reduced(_told(losses, prediction, target, "poisson_nll"), reduction, "poisson_nll")


def gaussian_nll(prediction, target, variance, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
    """Minus the log-likelihood under normal laws of these means and variances, the latter at least eps; the gradient
    passes to smaller ones as if they were eps, as in PyTorch.

    full: with the constant log(2 pi) / 2. Nix & Weigend (1994). The variance broadcasts.

    >>> import graphc as gc
    >>> gc.nn.gaussian_nll(gc.asarray([3.0]), gc.asarray([1.0]), gc.asarray([1.0])).item()
    2.0
    """
    variance = variance + gc.stop_gradient(gc.where(variance < eps, eps - variance, 0))
    difference = _difference(prediction, target, "gaussian_nll")
    losses = 0.5 * (gc.log(variance) + difference * difference / variance)
    return _reduced(losses + 0.5 * log(2 * pi) if full else losses, reduction, "gaussian_nll")


# -------------------------------------------------------------------------------------------------------------- margins

def margin_ranking(x1, x2, target, margin: float = 0.0, reduction: str = "mean"):
    """max(0, margin - target * (x1 - x2)): the target is 1 where x1 should be the larger one, -1 where x2 should.

    >>> import graphc as gc
    >>> gc.nn.margin_ranking(gc.asarray([1.0]), gc.asarray([3.0]), gc.asarray([1.0]), margin=0.5).item()
    2.5
    """
    difference = _difference(x1, x2, "margin_ranking")
    product = _told(target * difference, difference, target, "margin_ranking")
    return _reduced(gc.relu(margin - product), reduction, "margin_ranking")


def hinge_embedding(x, target, margin: float = 1.0, reduction: str = "mean"):
    """x where the target is 1, max(0, margin - x) where it is -1: for distances.

    >>> import graphc as gc
    >>> gc.nn.hinge_embedding(gc.asarray([0.25, 0.25]), gc.asarray([1, -1]), reduction="none").tolist()
    [0.25, 0.75]
    """
    losses = _told(gc.where(target > 0, x, gc.relu(margin - x)), x, target, "hinge_embedding")
    return _reduced(losses, reduction, "hinge_embedding")


def soft_margin(x, target, reduction: str = "mean"):
    """log(1 + exp(-target * x)), for targets of 1 and -1."""
    return _reduced(gc.softplus(_told(-target * x, x, target, "soft_margin")), reduction, "soft_margin")


def multilabel_soft_margin(logits, target, reduction: str = "mean"):
    """`bce_with_logits`, averaged over the last axis: (..., classes), targets of 0 and 1."""
    return _reduced(bce_with_logits(logits, target, "none").mean(-1), reduction, "multilabel_soft_margin")


def multi_margin(scores, target, p: int = 1, margin: float = 1.0, reduction: str = "mean"):
    """The sum of max(0, margin - score of the target + score)**p over the other classes, divided by their number with
    the target's: (..., classes) and integer labels (...). Raises IndexError, when realized, for a bad label.

    >>> import graphc as gc
    >>> gc.nn.multi_margin(gc.asarray([[2.0, 1.5]]), gc.asarray([0])).item()
    0.25
    """
    n = scores.shape[-1]
    label = labels_of(target, n, "multi_margin")
    own = gc.take_along_axis(scores, label.expand_dims(-1), axis=-1)
    losses = gc.relu(margin - own + scores) ** p
    others = gc.one_hot(label, n, dtype=losses.dtype) == 0
    return _reduced(gc.where(others, losses, 0).sum(-1) / n, reduction, "multi_margin")


def cosine_embedding(x1, x2, target, margin: float = 0.0, reduction: str = "mean"):
    """1 - cos of the angle of vectors along the last axis where the target is 1, max(0, cos - margin) where it is -1.

    >>> import graphc as gc
    >>> gc.nn.cosine_embedding(gc.asarray([[1.0, 0.0]]), gc.asarray([[0.0, 1.0]]), gc.asarray([1])).item()
    1.0
    """
    tiny = 1e-12            # added to squares, as in PyTorch
    cos = (x1 * x2).sum(-1) * gc.rsqrt(((x1 * x1).sum(-1) + tiny) * ((x2 * x2).sum(-1) + tiny))
    return _reduced(gc.where(target > 0, 1 - cos, gc.relu(cos - margin)), reduction, "cosine_embedding")


def triplet_margin(anchor, positive, negative, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
                   swap: bool = False, reduction: str = "mean"):
    """max(0, margin + distance of anchor and positive - distance of anchor and negative), vectors along the last axis.

    Distances are norms of order p of differences + eps. swap: the distance of positive and negative instead of that of
    anchor and negative, where it is smaller. Balntas et al. (2016), *Learning local feature descriptors*.

    >>> import graphc as gc
    >>> a, b, c = gc.asarray([[0.0, 0.0]]), gc.asarray([[3.0, 4.0]]), gc.asarray([[0.0, 2.0]])
    >>> gc.nn.triplet_margin(a, b, c, eps=0.0).item()
    4.0
    """
    def distance(a, b):
        return gc.linalg.vector_norm(a - b + eps, ord=p, axis=-1)
    far = distance(anchor, negative)
    if swap:
        far = gc.minimum(far, distance(positive, negative))
    return _reduced(gc.relu(margin + distance(anchor, positive) - far), reduction, "triplet_margin")


binary_cross_entropy, binary_cross_entropy_with_logits = bce, bce_with_logits       # PyTorch's names
