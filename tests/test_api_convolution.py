"""Convolutions and pooling against their definition in NumPy, one element at a time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from api_compare import check, raises, sample

import graphc as gc
from graphc.errors import ArgumentError, ShapeError


def each(value, n: int) -> tuple:
    return value if isinstance(value, tuple) else (value,) * n


def convolved(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1) -> np.ndarray:
    n = w.ndim - 2
    stride, padding, dilation = each(stride, n), each(padding, n), each(dilation, n)
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    sizes = [(s - d * (k - 1) - 1) // t + 1
             for s, k, t, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    out, within = w.shape[0] // groups, w.shape[1]
    for g, at in product(range(groups), product(*map(range, w.shape[2:]))):
        window = tuple(slice(a * d, a * d + t * (s - 1) + 1, t)
                       for a, d, t, s in zip(at, dilation, stride, sizes, strict=True))
        part = x[(slice(None), slice(g * within, (g + 1) * within), *window)]
        weights = w[(slice(g * out, (g + 1) * out), slice(None), *at)]
        y[:, g * out:(g + 1) * out] += np.einsum("nc...,oc->no...", part, weights)
    return y if bias is None else y + bias.reshape(-1, *(1,) * n)


def pooled(x, kernel, stride, padding, function, fill, dilation=1) -> np.ndarray:
    n = x.ndim - 2
    kernel, stride, padding, dilation = each(kernel, n), each(stride, n), each(padding, n), each(dilation, n)
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)), constant_values=fill)
    sizes = [(s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)]
    parts = [x[(..., *(slice(a * d, a * d + t * (s - 1) + 1, t)
                      for a, d, t, s in zip(at, dilation, stride, sizes, strict=True)))]
             for at in product(*map(range, kernel))]
    return function(np.stack(parts), axis=0)


CONVS = {1: gc.conv1d, 2: gc.conv2d, 3: gc.conv3d}
CASES = [
    ((2, 3, 20), (4, 3, 5), {}),
    ((2, 4, 23), (6, 2, 3), {"stride": 2, "padding": 2, "dilation": 3, "groups": 2}),
    ((2, 3, 9, 11), (5, 3, 3, 3), {"padding": 1}),
    ((3, 4, 10, 7), (6, 4, 3, 2), {"stride": (2, 1), "padding": (0, 1), "dilation": (1, 2)}),
    ((1, 6, 8, 9), (6, 1, 3, 3), {"padding": 1, "groups": 6}),
    ((2, 6, 8, 19), (6, 1, 7, 5), {"padding": (3, 2), "groups": 6}),
    ((2, 3, 9, 9), (6, 1, 5, 5), {"padding": 2, "groups": 3, "stride": 2}),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 3), {"padding": (0, 1, 1), "stride": (1, 2, 1)}),
    ((2, 8, 6, 6), (16, 8, 1, 1), {}),
]


@pytest.mark.parametrize("x, w, options", CASES, ids=lambda v: "x".join(map(str, v)) if isinstance(v, tuple) else None)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_convolutions(x, w, options, dtype):
    x, w, b = sample(x, dtype), sample(w, dtype, 1), sample(w[0], dtype, 2)
    conv = CONVS[x.ndim - 2]
    check(conv(gc.asarray(x), gc.asarray(w), **options), convolved(x, w, **options))
    check(conv(gc.asarray(x), gc.asarray(w), gc.asarray(b), **options), convolved(x, w, b, **options))
    check(conv(gc.asarray(x[0]), gc.asarray(w), **options), convolved(x, w, **options)[0])


WINDOWS = [
    ((3, 60, 7, 7), (3, 3), 1, 1, 1),           # columns from several images in a vector, k in two chunks
    ((2, 4, 9, 70), (3, 4), 2, 1, 1),           # long rows, a stride
    ((2, 5, 13, 20), (3, 3), 1, 2, 2),          # a dilation
    ((2, 9, 80), (7,), 3, 2, 1),
    ((1, 3, 6, 7, 9), (3, 3, 3), 1, 1, 1),
]


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", WINDOWS, ids=str)
@pytest.mark.parametrize("fused", [False, True])
def test_windows_have_the_bits_of_a_product(shape, kernel, stride, padding, dilation, fused):
    """What windows share is laid out once: the same as if they lay in memory."""
    n, options = len(kernel), {"stride": stride, "padding": padding, "dilation": dilation}
    x, w = sample(shape), sample((20, shape[1], *kernel))
    inputs = gc.asarray(x) * 0.5 + gc.asarray(np.float32(1)) if fused else gc.asarray(x)
    found = CONVS[n](inputs, gc.asarray(w), **options).numpy()
    read = np.pad(x * np.float32(0.5) + np.float32(1) if fused else x,
                  ((0, 0), (0, 0), *[(padding, padding)] * n))
    windows = np.lib.stride_tricks.sliding_window_view(
        read, [dilation * (k - 1) + 1 for k in kernel], tuple(range(2, n + 2)))
    windows = windows[(slice(None), slice(None), *[slice(None, None, stride)] * n, *[slice(None, None, dilation)] * n)]
    columns = np.moveaxis(windows, range(n + 2, 2 * n + 2), range(2, n + 2)).reshape(shape[0], w[0].size, -1)
    expected = gc.asarray(w.reshape(20, -1)) @ gc.asarray(np.ascontiguousarray(columns))
    np.testing.assert_array_equal(found.reshape(expected.shape), expected.numpy())


def test_padding_by_name():
    x, w = sample((2, 3, 9, 10)), sample((4, 3, 3, 4))
    whole = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 2)))
    check(gc.conv2d(gc.asarray(x), gc.asarray(w), padding="same"), convolved(whole, w))
    check(gc.conv2d(gc.asarray(x), gc.asarray(w), padding="valid"), convolved(x, w))


def test_half_precision_is_added_in_float32():
    x, w = sample((1, 40, 6, 6), "float16"), sample((3, 40, 3, 3), "float16")
    wanted = convolved(x.astype("float32"), w.astype("float32")).astype("float16")
    check(gc.conv2d(gc.asarray(x), gc.asarray(w)), wanted)


@pytest.mark.parametrize("x, w, options", [
    ((2, 3, 7), (3, 4, 4), {"stride": 3, "padding": 1, "output_padding": 2}),
    ((2, 4, 5, 6), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 4, 5, 4), (4, 2, 3, 2), {"stride": (1, 3), "groups": 2, "dilation": (2, 1)}),
    ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), {"stride": 2}),
], ids=str)
def test_transposed_convolutions_are_adjoint(x, w, options):
    """sum(conv(y) * x) == sum(y * conv_transpose(x)) for all x and y."""
    n = len(w) - 2
    x, w = sample(x), sample(w, seed=1)
    transposed = (gc.conv_transpose1d, gc.conv_transpose2d, gc.conv_transpose3d)[n - 1]
    found = transposed(gc.asarray(x), gc.asarray(w), **options)
    y = sample(found.shape, seed=2)
    forward = {k: v for k, v in options.items() if k != "output_padding"}
    there = convolved(y, w, **forward)
    assert there.shape == x.shape
    np.testing.assert_allclose(np.sum(there * x), np.sum(y * found.numpy()), rtol=1e-10)


@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 1, 1), ((3, 2), (2, 1), (1, 0)), (5, 3, 2)])
def test_pooling(kernel, stride, padding):
    x = sample((2, 3, 11, 12), "float32", special=True)
    check(gc.max_pool2d(gc.asarray(x), kernel, stride, padding), pooled(x, kernel, stride, padding, np.max, -np.inf))
    x = sample((2, 3, 11, 12), "float32")
    check(gc.avg_pool2d(gc.asarray(x), kernel, stride, padding), pooled(x, kernel, stride, padding, np.mean, 0))
    inside = pooled(np.ones_like(x), kernel, stride, padding, np.sum, 0)
    check(gc.avg_pool2d(gc.asarray(x), kernel, stride, padding, count_include_pad=False),
          pooled(x, kernel, stride, padding, np.sum, 0) / inside)


def test_pooling_of_other_ranks_and_dtypes():
    x = sample((2, 3, 14), "int32")
    check(gc.max_pool1d(gc.asarray(x), 3, 2, 1), pooled(x, 3, 2, 1, np.max, np.iinfo("int32").min))
    check(gc.max_pool1d(gc.asarray(x), 3, 1, dilation=2), pooled(x, 3, 1, 0, np.max, 0, dilation=2))
    x = sample((1, 2, 6, 6, 6), "float64")
    check(gc.max_pool3d(gc.asarray(x), 3), pooled(x, 3, 3, 0, np.max, 0))
    check(gc.avg_pool3d(gc.asarray(x), 3, divisor_override=5), pooled(x, 3, 3, 0, np.sum, 0) / 5)
    check(gc.avg_pool1d(gc.asarray(x[0, 0]), 2), x[0, 0].reshape(6, 6, 3, 2).mean(-1))


def test_a_last_window_that_ends_outside():
    x = np.arange(1.0, 8.0).reshape(1, 1, 7)
    assert gc.max_pool1d(gc.asarray(x), 3, 2, ceil_mode=True).shape == (1, 1, 3)
    assert gc.max_pool1d(gc.asarray(x), 2, 2, ceil_mode=True).tolist() == [[[2, 4, 6, 7]]]
    assert gc.avg_pool1d(gc.asarray(x), 2, 2, ceil_mode=True).tolist() == [[[1.5, 3.5, 5.5, 7]]]


def test_an_empty_batch():
    assert gc.conv2d(gc.ones((0, 3, 5, 5)), gc.ones((2, 3, 3, 3))).numpy().shape == (0, 2, 3, 3)


def test_pooling_is_one_kernel_and_windows_are_not_laid_out(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    x, w, b = gc.ones((2, 8, 14, 14)) * gc.asarray(2.0), gc.asarray(sample((8, 8, 3, 3))), gc.asarray(sample(8))
    gc.realize(x)
    assert len(gc.plan(gc.max_pool2d(x, 2)).kernels) == 1
    plan = gc.plan(gc.relu(gc.conv2d(x, w, b, padding=1)))
    assert plan.peak_bytes == x.node.nbytes      # the result alone


def test_refusals():
    x, w = gc.ones((2, 3, 9, 9)), gc.ones((4, 3, 3, 3))
    raises(ShapeError, "3 channels, the weight takes 2", gc.conv2d, x, gc.ones((4, 2, 3, 3)))
    raises(ShapeError, "does not fit in (9, 9)", gc.conv2d, x, gc.ones((4, 3, 10, 3)))
    raises(ShapeError, "has 4 axes", gc.conv2d, gc.ones((3, 9)), w)
    raises(ShapeError, "bias of shape (3,)", gc.conv2d, x, w, gc.ones(3))
    raises(ArgumentError, "needs stride 1", gc.conv2d, x, w, None, 2, "same")
    raises(ArgumentError, "padding 'full' is not known", gc.conv2d, x, w, None, 1, "full")
    raises(ArgumentError, "stride (0, 0) must be at least 1", gc.conv2d, x, w, None, 0)
    raises(ArgumentError, "more than half", gc.max_pool2d, x, 2, None, 2)
    raises(ArgumentError, "must be less than stride", gc.conv_transpose2d, gc.ones((2, 4, 5, 5)), w, None, 1, 0, 1)
