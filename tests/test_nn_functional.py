"""Losses, vectors, resizing, lists of modules: against their formulas, their gradients, under jit and vmap."""
from __future__ import annotations

import doctest
import importlib
import warnings

import numpy as np
import pytest
from scipy import special
from test_gradients import check as check_gradient

import graphc as gc
from graphc import nn
from graphc.errors import ArgumentError, DTypeError, ShapeError
from graphc.nn import functional as F


@pytest.fixture(autouse=True)
def on_the_reference():
    gc.random.seed(3)
    with gc.backend("reference"):
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def close(found, expected, tolerance: float = 1e-12):
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", "activations convolution functional layers losses module resizing".split())
def test_examples(name):
    assert not doctest.testmod(importlib.import_module(f"graphc.nn.{name}")).failed


A, B, C = normal(4, 5), normal(4, 5, seed=1), normal(4, 5, seed=2)
LABELS, SIGNS = np.array([1, 0, 4, 4]), np.array([[1.0], [-1.0], [1.0], [-1.0]])
COUNTS, BITS = np.array([0.0, 1.0, 2.0, 7.0, 3.0]), np.array([0.0, 1.0, 1.0, 0.0, 1.0])


def cosine(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def distance(a, b, p=2.0, eps=1e-6):
    return (np.abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def margins(scores, p):
    own = np.take_along_axis(scores, LABELS[:, None], 1)
    terms = np.maximum(1 - own + scores, 0) ** p
    return (terms.sum(1) - 1) / 5          # without the target's own term, which is 1


LOSSES = {      # the loss of A and, mostly, B; its formula
    "smooth_l1": (lambda a, b: nn.smooth_l1(a, b, 0.5, "none"),
                  lambda: np.where(abs(A - B) < 0.5, (A - B) ** 2, abs(A - B) - 0.25)),
    "smooth_l1 of 0": (lambda a, b: nn.smooth_l1(a, b, 0.0, "none"), lambda: np.abs(A - B)),
    "margin_ranking": (lambda a, b: nn.margin_ranking(a, b, gc.asarray(SIGNS), 0.3, "none"),
                       lambda: np.maximum(0.3 - SIGNS * (A - B), 0)),
    "hinge_embedding": (lambda a, b: nn.hinge_embedding(a * b, gc.asarray(SIGNS), 0.5, "none"),
                        lambda: np.where(SIGNS > 0, A * B, np.maximum(0.5 - A * B, 0))),
    "soft_margin": (lambda a, b: nn.soft_margin(a, gc.asarray(SIGNS), "none"),
                    lambda: np.log1p(np.exp(-SIGNS * A))),
    "multilabel_soft_margin": (lambda a, b: nn.multilabel_soft_margin(a, gc.asarray(BITS), "none"), lambda: -(
        BITS * special.log_expit(A) + (1 - BITS) * special.log_expit(-A)).mean(-1)),
    "bce with a weight": (lambda a, b: F.binary_cross_entropy_with_logits(a, gc.asarray(BITS), "none", 3.0),
                          lambda: -(3 * BITS * special.log_expit(A) + (1 - BITS) * special.log_expit(-A))),
    "multi_margin": (lambda a, b: nn.multi_margin(a, gc.asarray(LABELS), reduction="none"), lambda: margins(A, 1)),
    "multi_margin squared": (lambda a, b: nn.multi_margin(a, gc.asarray(LABELS), 2, reduction="none"),
                             lambda: margins(A, 2)),
    "cosine_embedding": (lambda a, b: nn.cosine_embedding(a, b, gc.asarray(SIGNS[:, 0]), 0.1, "none"),
                         lambda: np.where(SIGNS[:, 0] > 0, 1 - cosine(A, B), np.maximum(cosine(A, B) - 0.1, 0))),
    "triplet_margin": (lambda a, b: nn.triplet_margin(a, b, gc.asarray(C), reduction="none"),
                       lambda: np.maximum(1 + distance(A, B) - distance(A, C), 0)),
    "triplet_margin swapped": (
        lambda a, b: nn.triplet_margin(a, b, gc.asarray(C), 2.0, 3.0, swap=True, reduction="none"), lambda: np.maximum(
            2 + distance(A, B, 3.0) - np.minimum(distance(A, C, 3.0), distance(B, C, 3.0)), 0)),
    "poisson_nll": (lambda a, b: nn.poisson_nll(a, gc.asarray(COUNTS), reduction="none"),
                    lambda: np.exp(A) - COUNTS * A),
    "poisson_nll of means": (lambda a, b: nn.poisson_nll(gc.exp(a), gc.asarray(COUNTS), False, reduction="none"),
                             lambda: np.exp(A) - COUNTS * np.log(np.exp(A) + 1e-8)),
    "gaussian_nll": (lambda a, b: nn.gaussian_nll(a, b, gc.asarray(BITS), True, 0.01, "none"), lambda: 0.5 * (
        np.log(2 * np.pi * np.maximum(BITS, 0.01)) + (A - B) ** 2 / np.maximum(BITS, 0.01))),
    "cosine_similarity": (nn.cosine_similarity, lambda: cosine(A, B)),
    "cosine along 0": (lambda a, b: nn.cosine_similarity(a, b, axis=0), lambda: cosine(A.T, B.T)),
    "pairwise_distance": (lambda a, b: nn.pairwise_distance(a, b, 1.5), lambda: distance(A, B, 1.5)),
    "normalize": (lambda a, b: F.normalize(a * b), lambda: A * B / np.linalg.norm(A * B, axis=1, keepdims=True)),
    "normalize by 1": (lambda a, b: F.normalize(a, 1.0, 0), lambda: A / np.abs(A).sum(0)),
    "prelu": (lambda a, b: nn.prelu(a, b[0]), lambda: np.where(A > 0, A, A * B[0])),
    "instance_norm": (lambda a, b: nn.instance_norm(gc.stack([a, b])), lambda: np.stack(
        [(x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) for x in (A, B)])),
    "nll": (lambda a, b: nn.nll(a, gc.asarray(LABELS), "none", gc.asarray(COUNTS), 4), lambda: -np.where(
        LABELS != 4, COUNTS[LABELS] * A[range(4), LABELS], 0)),
    "nll, its mean": (lambda a, b: nn.nll(a, gc.asarray(LABELS), weight=gc.asarray(COUNTS), ignore_index=0), lambda: -(
        COUNTS[LABELS] * A[range(4), LABELS])[LABELS != 0].sum() / COUNTS[LABELS[LABELS != 0]].sum()),
    "kl of logarithms": (lambda a, b: nn.kl(a, b, "batchmean", True), lambda: (np.exp(B) * (B - A)).sum() / 4),
    "weighted bce": (lambda a, b: nn.bce(gc.sigmoid(a), gc.asarray(BITS), weight=gc.asarray(COUNTS)), lambda: -(
        COUNTS * (BITS * special.log_expit(A) + (1 - BITS) * special.log_expit(-A))).mean()),
    "weighted bce of logits": (
        lambda a, b: nn.bce_with_logits(a, gc.asarray(BITS), "sum", 3.0, gc.asarray(COUNTS)), lambda: -(
            COUNTS * (3 * BITS * special.log_expit(A) + (1 - BITS) * special.log_expit(-A))).sum()),
    "cross_entropy": (lambda a, b: gc.cross_entropy(
        a, gc.asarray(LABELS), weight=gc.asarray(COUNTS), ignore_index=0, label_smoothing=0.2), lambda: -(
            COUNTS * special.log_softmax(A, -1) * (0.8 * np.eye(5)[LABELS] + 0.04))[LABELS != 0].sum() / 7),
    "cross_entropy of parts": (lambda a, b: gc.cross_entropy(
        a, gc.softmax(b), weight=gc.asarray(COUNTS), label_smoothing=0.2, reduction="none"), lambda: -(
            COUNTS * special.log_softmax(A, -1) * (0.8 * special.softmax(B, -1) + 0.04)).sum(-1)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_formulas(name):
    f, formula = LOSSES[name]
    a, b = gc.asarray(A), gc.asarray(B)
    close(f(a, b), formula(), 1e-6 if "cosine_embedding" in name else 1e-12)
    close(gc.jit(f)(a, b), f(a, b).numpy())
    check_gradient(f, A, B, second=False, rtol=1e-5)


def test_formulas_that_pytorch_has():
    """A weighted mean, and Stirling's term, with its figures."""
    x, y = gc.asarray([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]]), gc.asarray([2, -100])
    close(gc.cross_entropy(x, y, weight=gc.asarray([1.0, 2.0, 3.0]), ignore_index=-100), 1.9641, 1e-4)
    close(nn.poisson_nll(gc.zeros(3), gc.asarray([0.0, 1.0, 4.0]), full=True), (3 + 3.15726) / 3, 1e-5)
    assert np.isnan(gc.cross_entropy(x, gc.asarray([7, 7]), ignore_index=7).item())
    logs, y = gc.log_softmax(gc.asarray([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3], [0.0, 1.0, 2.0]])), gc.asarray([2, -100, 1])
    close(nn.nll(logs, y, weight=gc.asarray([1.0, 2.0, 3.0]), ignore_index=-100), 1.741663656242519)
    close(nn.nll(logs, y, ignore_index=-100), 1.6859873742761626)
    assert nn.nll(gc.asarray([[-np.inf, 0.0]]), gc.asarray([0]), "sum", gc.asarray([0.0, 1.0])).item() == 0


def test_what_losses_refuse():
    x, y = gc.zeros((2, 3)), gc.asarray([0, 1])
    with pytest.raises(ShapeError, match=r"weights of shape \(2,\) do not fit 3 classes"):
        gc.cross_entropy(x, y, weight=gc.ones(2))
    with pytest.raises(ArgumentError, match="between 0 and 1, not 1.5"):
        gc.cross_entropy(x, y, label_smoothing=1.5)
    with pytest.raises(ArgumentError, match="integer labels"):
        gc.cross_entropy(x, gc.softmax(x), ignore_index=0)
    with pytest.raises(IndexError):
        gc.realize(gc.cross_entropy(x, gc.asarray([0, 3]), ignore_index=-1))
    with pytest.raises(ArgumentError, match="must not be negative"):
        nn.smooth_l1(x, x, -1.0)


def test_gumbel_softmax_draws_by_the_weights():
    logits = gc.log(gc.asarray([0.1, 0.2, 0.7])) + gc.zeros((4000, 1))
    hard = F.gumbel_softmax(logits, hard=True).numpy()
    assert set(np.unique(hard.round(12))) == {0.0, 1.0} and np.abs(hard.sum(-1) - 1).max() < 1e-12
    np.testing.assert_allclose(hard.mean(0), [0.1, 0.2, 0.7], atol=0.03)
    soft = F.gumbel_softmax(logits.astype("float16").T, tau=0.5, axis=0)
    assert soft.dtype == gc.float16 and abs(soft.numpy().sum(0) - 1).max() < 0.01
    assert F.gumbel_softmax(gc.zeros((2, 3, 4)), hard=True, axis=1).numpy().sum(1).tolist() == [[1.0] * 4] * 2

    def drawn(hard):
        gc.random.seed(1)
        return gc.grad(lambda x: (F.gumbel_softmax(x, hard=hard) * gc.arange(3.0)).sum())(logits[0]).numpy()
    np.testing.assert_allclose(drawn(True), drawn(False), rtol=1e-12)
    with pytest.raises(ArgumentError, match="must be positive"):
        F.gumbel_softmax(logits, 0.0)


# ------------------------------------------------------------------------------------------------------------- resizing

def line(n: int, new: int, step: float, align: bool) -> np.ndarray:
    """The matrix that interpolates n elements."""
    i = np.arange(new)
    at = i * ((n - 1) / max(new - 1, 1)) if align else np.maximum((i + 0.5) * step - 0.5, 0)
    return np.stack([np.interp(at, np.arange(n), row) for row in np.eye(n)])


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("old, new, step", [(4, 8, None), (5, 3, None), (1, 4, None), (6, 6, None), (3, 1, None),
                                            (2, 10, None), (3, 27, None), (10, 13, 1 / 1.3), (7, 4, 1 / 0.6)])
def test_linear_interpolation(old, new, step, align):
    x, matrix = normal(2, 3, old), line(old, new, step or old / new, align)
    size = {"size": new} if step is None else {"scale_factor": 1 / step}
    close(F.interpolate(gc.asarray(x), **size, mode="linear", align_corners=align), x @ matrix)


def test_interpolation_of_images_and_volumes():
    x, rows, columns = normal(2, 3, 4, 5), line(4, 7, 4 / 7, False), line(5, 2, 5 / 2, False)
    f = nn.Upsample((7, 2), mode="bilinear")
    close(f(gc.asarray(x)), np.einsum("bchw,hi,wj->bcij", x, rows, columns))
    check_gradient(f, x, second=False)
    close(gc.vmap(f)(gc.asarray(x[None])), f(gc.asarray(x)).numpy()[None])
    deep = normal(1, 2, 3, 2, 4)
    matrices = [line(n, m, n / m, True) for n, m in ((3, 5), (2, 3), (4, 4))]
    close(nn.interpolate(gc.asarray(deep), (5, 3, 4), mode="trilinear", align_corners=True),
          np.einsum("bcdhw,di,hj,wk->bcijk", deep, *matrices))
    half = gc.asarray(x.astype(np.float16))
    assert nn.interpolate(half, scale_factor=2, mode="bilinear").dtype == gc.float16
    with gc.backend("cpu"):
        image = gc.asarray(x)
        assert len(gc.plan(nn.interpolate(image, (7, 9), mode="bilinear")).kernels) == 1
        assert len(gc.plan(nn.interpolate(image, scale_factor=2, mode="bilinear")).kernels) == 2
        assert len(gc.plan(nn.interpolate(image, scale_factor=2)).kernels) == 1


@pytest.mark.parametrize("size", [(8, 10), (3, 7), (4, 5), (1, 11)])
def test_the_nearest_element(size):
    x = np.arange(2 * 4 * 5).reshape(1, 2, 4, 5)
    for mode, middle in (("nearest", 0), ("nearest-exact", 0.5)):
        rows, columns = (np.floor((np.arange(m) + middle) * n / m + 1e-9).astype(int)
                         for n, m in zip((4, 5), size, strict=True))
        found = nn.interpolate(gc.asarray(x), size, mode=mode)
        assert found.dtype == gc.int64 and (found.numpy() == x[:, :, rows[:, None], columns]).all()
    check_gradient(lambda x: nn.interpolate(x, size), normal(1, 2, 4, 5), second=False)


def test_what_interpolation_refuses():
    x = gc.zeros((1, 1, 4, 4))
    for text, options in {
            "either size or scale_factor": {}, "corners are not aligned": {"size": 8, "align_corners": True},
            "mode 'linear' does not fit 2 sizes": {"size": 8, "mode": "linear"}, "at least 1": {"scale_factor": 0.1},
            "'bicubic'": {"size": 8, "mode": "bicubic"}, "3 sizes or factors for the 2": {"size": (1, 2, 3)}}.items():
        with pytest.raises(ShapeError if text[0] in "a3" else ArgumentError, match=text):
            nn.interpolate(x, **options)
    with pytest.raises(DTypeError, match="nothing between"):
        nn.interpolate(x.long(), 8, mode="bilinear")
    with pytest.raises(ShapeError, match=r"not \(batch, channels, \*sizes\)"):
        nn.interpolate(gc.zeros((2, 3)), 8)


def test_pixels_are_shuffled_and_back():
    x = np.arange(2 * 18 * 2 * 5).reshape(2, 18, 2, 5)
    found = nn.PixelShuffle(3)(gc.asarray(x))
    expected = x.reshape(2, 2, 3, 3, 2, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 15)
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(nn.PixelUnshuffle(3)(found).numpy(), x)
    assert nn.pixel_shuffle(gc.zeros((4, 0, 1)), 2).shape == (1, 0, 2)
    with pytest.raises(ShapeError, match="18 channels do not make squares of 2 by 2"):
        nn.pixel_shuffle(gc.asarray(x), 2)
    with pytest.raises(ShapeError, match="2 by 5 elements"):
        nn.pixel_unshuffle(gc.asarray(x), 2)


# -------------------------------------------------------------------------------------------------------------- modules

class Tower(nn.Module):
    def __init__(self):
        self.blocks = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.heads = nn.ModuleDict(a=nn.Linear(3, 1), b=nn.Linear(3, 2))

    def forward(self, x, head: str):
        for block in self.blocks:
            x = gc.relu(block(x))
        return self.heads[head](x)


def test_lists_and_dicts_of_modules():
    net = Tower()
    names = [name for name, _ in net.named_parameters()]
    assert names[:2] == ["blocks.0.weight", "blocks.0.bias"] and names[-1] == "heads.b.bias" and len(names) == 10
    other = Tower()
    other.load_state_dict(net.state_dict())
    x = gc.ones((2, 3), dtype=gc.float32)
    np.testing.assert_array_equal(net(x, "b").numpy(), other(x, "b").numpy())
    net(x, "a").sum().backward()
    assert net.blocks[0].weight.grad is not None and net.heads["b"].weight.grad is None
    assert not net.eval().blocks[2].training and not net.heads["a"].training
    net.blocks.append(nn.Linear(3, 3))
    assert len(net.parameters()) == 12 and len(net.blocks[1:].parameters()) == 6
    assert "0: Linear" in repr(net.blocks) and "heads: ModuleDict" in repr(net)
    assert nn.ModuleList() != nn.ModuleList() and len({net.blocks, net.heads}) == 2
    with pytest.raises(NotImplementedError, match="ModuleList has no forward"):
        net.blocks(x)


def test_lists_of_modules_in_other_hands():
    """Quantising and mixed precision reach what is inside."""
    layers = nn.ModuleList([nn.Linear(32, 32), nn.ReLU()])
    assert isinstance(nn.quantize(layers, 8)[0], nn.QuantizedLinear)
    named = nn.ModuleDict(one=nn.Linear(32, 32))
    assert isinstance(nn.quantize(named)["one"], nn.QuantizedLinear)
    net = Tower()
    assert nn.MixedPrecision(net, gc.bfloat16)(gc.ones((2, 3)), "a").dtype == gc.float32
    assert isinstance(net.blocks, nn.ModuleList) and net.blocks[0].weight.dtype == gc.float32


def test_activation_layers_are_their_functions():
    x = gc.asarray(normal(2, 4))
    for name, function in {"ReLU6": gc.relu6, "SELU": gc.selu, "Mish": gc.mish, "LogSigmoid": gc.log_sigmoid,
                           "Hardsigmoid": gc.hardsigmoid, "Hardswish": gc.hardswish, "Softsign": gc.softsign,
                           "Identity": lambda x: x, "ELU": gc.elu, "Softplus": gc.softplus, "Hardtanh": gc.hardtanh,
                           "LogSoftmax": gc.log_softmax, "GLU": gc.glu, "LeakyReLU": gc.leaky_relu,
                           "PReLU": lambda x: gc.leaky_relu(x, 0.25)}.items():
        np.testing.assert_array_equal(getattr(nn, name)()(x).numpy(), function(x).numpy())
    assert nn.ELU(2.0)(gc.asarray(-1e9)).item() == -2 and nn.Identity(54, unused=True)(x) is x


def test_layers_of_every_number_of_axes():
    x = {1: gc.ones((2, 4, 9)), 2: gc.ones((2, 4, 9, 8)), 3: gc.ones((2, 4, 9, 8, 7))}
    for n in (1, 2, 3):
        sizes = (9, 8, 7)[:n]
        assert getattr(nn, f"Conv{n}d")(4, 6, 3, padding=1)(x[n]).shape == (2, 6, *sizes)
        assert getattr(nn, f"ConvTranspose{n}d")(4, 6, 2, stride=2)(x[n]).shape == (2, 6, *(2 * s for s in sizes))
        assert getattr(nn, f"MaxPool{n}d")(2)(x[n]).shape == (2, 4, *(s // 2 for s in sizes))
        assert getattr(nn, f"AvgPool{n}d")(3, 1, 1)(x[n]).shape == (2, 4, *sizes)
        norm = getattr(nn, f"InstanceNorm{n}d")(4, affine=True)
        assert norm(x[n]).shape == x[n].shape and len(norm.parameters()) == 2
    with pytest.raises(ShapeError, match=r"not \(batch, 3, \.\.\.\)"):
        nn.InstanceNorm2d(3)(x[2])


def gaussian(prediction, target):
    return nn.gaussian_nll(prediction, target, gc.ones(1))


def ranking(prediction, target):
    return nn.margin_ranking(prediction, 0 * prediction, target)


@pytest.mark.parametrize("loss", [nn.mse, nn.l1, nn.huber, nn.smooth_l1, nn.bce, nn.bce_with_logits, nn.kl, gaussian,
                                  nn.poisson_nll, ranking, nn.soft_margin, nn.hinge_embedding])
def test_a_column_beside_a_row_is_warned_of(loss):
    with pytest.warns(RuntimeWarning, match=r"shape \(3, 1\) and a target of shape \(3,\) are broadcast to \(3, 3\)"):
        loss(gc.ones((3, 1)), np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loss(gc.ones((3, 2)), gc.ones(2)).item() == loss(gc.ones((3, 2)), gc.ones(())).item()
    assert nn.mse(gc.ones((3, 2)), 1.0).item() == 0


@pytest.mark.parametrize(("call", "text"), [
    (lambda: F.rms_norm(gc.ones((2, 4)), gc.ones(4)), r"come second, and not a tensor of shape \(4,\)"),
    (lambda: nn.Linear(3, 4)(gc.ones((5, 4))), r"\[linear\] the input has shape \(5, 4\); its last axis should be 3"),
])
def test_errors_say_what_a_layer_takes(call, text):
    with pytest.raises(ShapeError, match=text):
        call()


def test_variances_broadcast():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = gc.ones((3, 2))
        nn.gaussian_nll(x, x, gc.ones((3, 1)))
        nn.gaussian_nll(x, x, gc.ones((4, 1, 1)))


# ----------------------------------------------------------------------------------------- at the ends of what is sound

def test_sure_answers_have_small_losses():
    """Relative to softplus in mpmath's sense: log1p(exp(-x)) of a sure positive, whatever cancels."""
    x = np.array([-700.0, -40, -3, -0.1, 0, 0.1, 3, 15, 40, 700])
    for dtype in ("float64", "float32"):
        logits, tolerance = gc.asarray(x, dtype=dtype), 1e-15 if dtype == "float64" else 2e-7
        exact = logits.numpy().astype(np.float64)
        positive, negative = np.logaddexp(0, -exact), np.logaddexp(0, exact)
        for target in (0.0, 0.25, 1.0):
            for more in (None, 2.5):
                losses = nn.bce_with_logits(logits, gc.full_like(logits, target), reduction="none", pos_weight=more)
                want = (more or 1) * target * positive + (1 - target) * negative
                np.testing.assert_allclose(losses.numpy(), want, rtol=8 * tolerance, atol=np.finfo(dtype).tiny)
    slope = gc.grad(lambda z: nn.bce_with_logits(z, gc.ones_like(z), reduction="sum"))(gc.asarray(x))
    np.testing.assert_allclose(slope.numpy(), -special.expit(-x), rtol=1e-14)


@pytest.mark.parametrize("loss", [nn.huber, nn.smooth_l1])
def test_an_infinite_difference_has_a_slope_of_one(loss):
    x = gc.asarray([np.inf, -np.inf, 2.0, 0.5, 0.0])
    slope = gc.grad(lambda x: loss(x, gc.zeros(5, dtype="float64"), reduction="sum"))(x)
    assert slope.tolist() == [1.0, -1.0, 1.0, 0.5, 0.0]


def test_a_divergence_from_what_is_no_probability_is_nan():
    losses = nn.kl(gc.asarray([-1.0, -1.0, -1.0, -np.inf]), gc.asarray([np.nan, -0.5, 0.5, 0.0]), reduction="none")
    np.testing.assert_allclose(losses.numpy(), [np.nan, np.nan, 0.5 * (np.log(0.5) + 1), 0])


def test_a_variance_below_eps_grows():
    """As in PyTorch: the slope is that at eps, -(1 / eps**2 - 1 / eps) / 2 for a difference of 1."""
    def loss(variance):
        return nn.gaussian_nll(gc.ones(4, dtype="float64"), gc.zeros(4, dtype="float64"), variance, reduction="sum")

    variance = gc.asarray([1e-9, 1e-6, 1.0, np.inf])
    at_eps = -(1e12 - 1e6) / 2
    np.testing.assert_allclose(gc.grad(loss)(variance).numpy(), [at_eps, at_eps, 0, 0], rtol=1e-9)
    assert loss(variance).item() == np.inf


@pytest.mark.parametrize("loss", [gc.cross_entropy, nn.nll, nn.multi_margin], ids=["entropy", "nll", "margin"])
@pytest.mark.parametrize("label", [-1, -3, 3, 7])
def test_labels_outside_of_the_classes_raise(loss, label):
    """One that is negative too: -1 stands for no label often."""
    scores = gc.asarray(normal(4, 3))
    for dtype in ("int8", "int64") if label < 0 else ("int8", "uint8", "uint64"):
        labels = gc.asarray([0, 2, label, 1], dtype=dtype)
        for call in (loss, gc.jit(loss)):
            with pytest.raises(IndexError, match=rf"label {label} is none of 3 classes"):
                gc.realize(call(scores, labels))
            assert np.isfinite(call(scores, gc.asarray([0, 2, 1, 1], dtype=dtype)).item())
    if loss is not nn.multi_margin:
        kept = loss(scores, gc.asarray([0, 2, label, 1]), ignore_index=label)
        close(kept, loss(scores[gc.asarray([0, 1, 3])], gc.asarray([0, 2, 1])).item())


def test_norms_below_one_have_slopes_beside_zeros():
    x = gc.asarray([3.0, 0.0, -4.0])
    for power in (0.5, 0.9):
        total = (3**power + 4**power) ** (1 / power - 1)
        slope = gc.grad(lambda x, power=power: gc.linalg.vector_norm(x, ord=power))(x)
        close(slope, np.array([3 ** (power - 1), 0, -4 ** (power - 1)]) * total)
    assert gc.grad(lambda x: gc.linalg.vector_norm(x, ord=0.5))(gc.zeros(3)).tolist() == [0.0] * 3
