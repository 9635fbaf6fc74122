"""Convolution and pooling layers against loops in NumPy, and their gradients."""
from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from test_gradients import check

import graphc as gc
from graphc import nn
from graphc.errors import ShapeError


@pytest.fixture(autouse=True)
def on_the_reference():
    gc.random.seed(2)
    with gc.backend("reference"):
        yield


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def convolved(x, w, b, stride: int = 1):
    n, _, h, width = x.shape
    out = np.zeros((n, len(w), (h - w.shape[2]) // stride + 1, (width - w.shape[3]) // stride + 1))
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            window = x[:, :, i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]]
            out[:, :, i, j] = np.tensordot(window, w, ((1, 2, 3), (1, 2, 3))) + b
    return out


def test_conv2d():
    layer = nn.Conv2d(3, 4, 3, stride=2)
    x = normal(2, 3, 9, 8).astype(np.float32)
    expected = convolved(x, layer.weight.numpy(), layer.bias.numpy(), 2)
    np.testing.assert_allclose(layer(gc.asarray(x)).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert nn.Conv1d(2, 6, 5, padding=2, groups=2)(gc.ones((3, 2, 11))).shape == (3, 6, 11)
    assert len(nn.Conv2d(3, 4, 3, bias=False).parameters()) == 1
    with pytest.raises(ShapeError, match="3 inputs and 4 outputs do not divide into 2 groups"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_a_transposed_convolution_is_the_gradient_of_a_convolution():
    layer = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1, bias=False)
    y = gc.asarray(normal(2, 4, 5, 4).astype(np.float32))

    def back(x):
        return (gc.conv2d(x, layer.weight.detach(), stride=2, padding=1) * y).sum()

    expected = gc.grad(back)(gc.zeros((2, 3, 10, 8), dtype=gc.float32)).numpy()
    np.testing.assert_allclose(layer(y).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_pools():
    x = normal(2, 3, 6, 4)
    windows = x.reshape(2, 3, 3, 2, 2, 2)
    np.testing.assert_array_equal(nn.MaxPool(2)(gc.asarray(x)).numpy(), windows.max((3, 5)))
    np.testing.assert_allclose(nn.AvgPool(2)(gc.asarray(x)).numpy(), windows.mean((3, 5)))
    np.testing.assert_allclose(nn.AdaptiveAvgPool((3, 2))(gc.asarray(x)).numpy(), windows.mean((3, 5)))
    uneven = nn.AdaptiveAvgPool((4, 1))(gc.asarray(x)).numpy()
    expected = np.stack([x[:, :, a:b].mean((2, 3)) for a, b in ((0, 2), (1, 3), (3, 5), (4, 6))], -1)[..., None]
    np.testing.assert_allclose(uneven, expected)


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"groups": 2}],
                         ids=["plain", "stride", "dilation", "groups"])
def test_gradients_of_convolutions(options):
    groups = options.get("groups", 1)
    check(lambda x, w, b: gc.conv2d(x, w, b, **options), normal(2, 4, 6, 5), normal(4, 4 // groups, 2, 3), normal(4),
          second=False)


def test_gradients_of_pools():
    x = np.random.default_rng(0).permutation(2 * 3 * 6 * 4).reshape(2, 3, 6, 4) * 0.5
    check(lambda x: gc.max_pool2d(x, 3, 2, 1), x, second=False)
    check(lambda x: gc.avg_pool2d(x, 2), x, second=False)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_strided_gradient_is_a_product_and_few_sums(groups):
    """The gradient for the input of a convolution with a stride: no zeros between elements are multiplied."""
    x, w = gc.asarray(normal(2, 4, 20, 16)), gc.asarray(normal(4, 4 // groups, 3, 3))
    y, pull = gc.vjp(lambda x: gc.conv2d(x, w, stride=2, padding=1, groups=groups), x)
    plan = gc.plan(*pull(gc.asarray(normal(*y.shape))))
    products = 2 * y.size * w.size // w.shape[0]
    assert plan.flops <= products + 8 * 9 * y.size, str(plan)


def test_a_convnet_learns():
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool(2), nn.Flatten(), nn.Linear(8 * 16, 2))
    optimizer = gc.optim.Adam(net.parameters(), lr=0.01)
    x = normal(32, 1, 8, 8).astype(np.float32)
    y = (x[:, 0, :4].mean((1, 2)) > x[:, 0, 4:].mean((1, 2))).astype(np.int64)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = nn.cross_entropy(net(gc.asarray(x)), gc.asarray(y))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


def test_the_gradient_of_a_convolution_lays_no_windows_out():
    x, w = normal(2, 3, 9, 8), normal(4, 3, 3, 2)
    check(lambda x, w: gc.conv2d(x, w, padding=(2, 1), dilation=(2, 1)), x, w)
    check(lambda x, w: gc.conv1d(x, w, padding="same"), normal(1, 2, 6), normal(3, 2, 4))
    check(lambda x, w: gc.scan(lambda s, _: (gc.conv1d(s, w, padding=1), None), x, length=2)[0], normal(1, 2, 5),
          normal(2, 2, 3), second=False)
    stacked = gc.vmap(gc.grad(lambda w, x: (gc.conv1d(x, w) ** 2).sum()), in_axes=(None, 0))
    xs, weight = gc.asarray(normal(3, 1, 2, 6)), gc.asarray(normal(2, 2, 3))
    each = [gc.grad(lambda w, x: (gc.conv1d(x, w) ** 2).sum())(weight, x).numpy() for x in xs]
    np.testing.assert_allclose(stacked(weight, xs).numpy(), each)
    with gc.backend("cpu"):
        x, w = gc.nn.parameter(np.ones((4, 8, 16, 16), np.float32)), gc.nn.parameter(np.ones((8, 8, 3, 3), np.float32))
        gc.conv2d(x, w, padding=1).sum().backward()
        plan = gc.plan(x.grad, w.grad)
    assert plan.peak_bytes < 2 * x.nbytes       # windows are nine times x


@pytest.mark.parametrize("size, window", [((12, 28), 2), ((9, 30), 3), ((8, 6), 2)])
def test_pooling_and_its_gradient_are_maps(size, window):
    x, found = normal(2, 3, *size).astype(np.float32), []
    g = normal(2, 3, *(n // window for n in size), seed=1).astype(np.float32)
    for backend in ("reference", "cpu"):
        with gc.backend(backend):
            y, pull = gc.vjp(lambda x: gc.max_pool2d(gc.relu(x), window), gc.asarray(x))
            results = y, *pull(gc.asarray(g))
            names = [kernel.name for kernel in gc.plan(*results).kernels]
            found.append([t.numpy() for t in results])
    assert len(names) <= 3 and all(name.startswith("map") for name in names)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size, window, stride, padding, kernels", [
    ((1029,), 4, 4, 0, 3), ((75,), 2, 2, 1, 3), ((1100,), 3, 2, 1, 3), ((9, 33), 2, 2, 0, 4), ((12, 14), 3, 2, 1, 4)])
def test_the_gradient_of_pooling_goes_over_windows(size, window, stride, padding, kernels):
    """Below an activation and a bias, whose gradient is a sum of it; over parts of windows, equal elements and NaN."""
    pool = gc.max_pool1d if len(size) == 1 else gc.max_pool2d
    x, b = np.random.default_rng(0).integers(-2, 4, (2, 3, *size)).astype(np.float32), normal(3).astype(np.float32)
    x.reshape(-1)[::47] = np.nan

    def loss(x, b):
        return (pool(gc.relu(x + b.reshape(-1, *(1,) * len(size))), window, stride, padding) * 3).sum()
    found = []
    for backend in ("reference", "cpu"):
        with gc.backend(backend):
            results = gc.grad(loss, argnums=(0, 1))(gc.asarray(x), gc.asarray(b))
            plan = gc.plan(*results)
            found.append([t.numpy() for t in results])
    assert len(plan.kernels) <= kernels
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_what_divides_by_a_few_is_stored_through_the_caches(monkeypatch):
    monkeypatch.setattr(sys.modules["graphc.passes.lower"], "STREAM", 0)
    x = gc.asarray(normal(1, 1, 4099).astype(np.float32))
    found = gc.grad(lambda x: (gc.max_pool1d(x, 2) ** 2).sum())(x).numpy()[0, 0]
    pairs = x.numpy()[0, 0, :-1].reshape(-1, 2)
    expected = np.where(pairs == pairs.max(1, keepdims=True), 2 * pairs, 0).reshape(-1)
    np.testing.assert_array_equal(found, [*expected, 0])


def test_an_axis_that_is_not_pooled():
    x = gc.asarray(normal(2, 3, 5, 4))
    for size, expected in (((None, 1), x.mean(-1, keepdims=True)), ((1, None), x.mean(-2, keepdims=True)), (None, x)):
        np.testing.assert_allclose(nn.AdaptiveAvgPool2d(size)(x).numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["max_pool1d", "avg_pool1d"])
def test_a_window_may_end_outside_in_ceil_mode(name):
    """Its first elements decide, also where it is larger than all there is: by the definition, window for window."""
    random = np.random.default_rng(5)
    for length, kernel, stride in itertools.product((1, 2, 3, 5, 7), (1, 2, 3, 4, 6), (1, 2, 3, 5)):
        x = random.standard_normal((1, 2, length))
        for padding in {0, kernel // 2}:
            padded = np.pad(x, ((0, 0), (0, 0), (padding, padding)),
                            constant_values=-np.inf if name == "max_pool1d" else 0)
            starts = range(0, min(length + padding, length + 2 * padding - kernel + stride), stride)
            windows = [padded[..., start:start + kernel] for start in starts]
            pool = getattr(gc, name)
            if not windows:
                with pytest.raises(ShapeError, match="does not fit"):
                    pool(gc.asarray(x), kernel, stride, padding, ceil_mode=True)
                continue
            want = np.stack([w.max(-1) if name == "max_pool1d" else w.mean(-1) for w in windows], -1)
            found = pool(gc.asarray(x), kernel, stride, padding, ceil_mode=True).numpy()
            np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-15, strict=True)
