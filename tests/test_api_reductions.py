"""Reductions, scans and statistics, against NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from api_compare import check, raises, sample
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc
from graphc import nn
from graphc.errors import GradientError

SHAPES = [(), (1,), (5,), (0,), (3, 4), (1, 7), (2, 0, 3), (2, 3, 5), (33, 1), (65, 17)]
SUMS = ["sum", "prod", "mean", "any", "all", "count_nonzero"]
AXES = {0: [None], 1: [None, 0, -1], 2: [None, 0, 1, -1, (0, 1), ()], 3: [None, 0, 1, -1, (0, 2), (1, -1), (2, 0, 1)]}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.parametrize("name", [*SUMS, "var", "std"])
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_along_every_axis(name, shape):
    x = sample(shape)
    for axis in AXES[len(shape)]:
        if axis == () and name == "count_nonzero":      # NumPy counts nothing then
            continue
        for keepdims in (False, True):
            check(getattr(gc, name)(gc.asarray(x), axis=axis, keepdims=keepdims),
                  getattr(np, name)(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "ptp"])
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_extrema_along_every_axis(name, shape):
    x = np.round(sample(shape) * 2)      # with ties
    for axis in AXES[len(shape)]:
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        for keepdims in (False, True):
            check(getattr(gc, name)(gc.asarray(x), axis=axis, keepdims=keepdims),
                  getattr(np, name)(x, axis=axis, keepdims=keepdims), exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("name", [*SUMS, "max", "min", "argmax", "argmin", "var", "cumulative_sum"])
def test_reductions_of_every_dtype(name, dtype):
    x = sample((7, 5), dtype)
    if dtype == "complex64" and name in ("max", "min", "argmax", "argmin"):
        raises(TypeError, f"[{name}] complex64 is not supported", getattr(gc, name), gc.asarray(x))
        return
    for axis in (0, 1):
        check(getattr(gc, name)(gc.asarray(x), axis=axis), getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "var", "logsumexp"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinity(name, dtype):
    from scipy.special import logsumexp

    reference = logsumexp if name == "logsumexp" else getattr(np, name)
    x = sample((4, 9), dtype, special=True)
    rows = np.array([[np.inf, 1], [-np.inf, -np.inf], [np.nan, np.inf], [np.inf, -np.inf], [1, np.nan], [-0.0, 0.0]],
                    dtype)
    for a in (x, rows, rows.T):
        for axis in (None, 0, 1):
            check(getattr(gc, name)(gc.asarray(a), axis=axis), reference(a, axis=axis))


@pytest.mark.parametrize("shape", [(9, 5, 13, 11), (300, 2, 31, 20)])
def test_rows_in_stretches(shape):
    """Channels of a batch of images lie in a stretch for each image, and have the bits of whole rows."""
    x = sample(shape).astype(np.float32)
    rows = np.ascontiguousarray(x.transpose(1, 0, 2, 3)).reshape(shape[1], -1)
    stretches = gc.reshape(gc.permute_dims(gc.asarray(x), (1, 0, 2, 3)), rows.shape)

    def statistics(a):
        return gc.var(a, axis=1), gc.sum(gc.exp(a - gc.max(a, axis=1, keepdims=True)), axis=1)
    for found, expected in zip(statistics(stretches), statistics(gc.asarray(rows)), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", [gc.float32, gc.float64, gc.float16])
@pytest.mark.parametrize("shape", [(3, 16, 49), (2, 8, 31 * 20), (2, 6, 1024), (5, 4, 5)])
def test_rows_of_several_channels(shape, dtype):
    """Groups of channels with a bias for each: the sums and what becomes of them have the bits of stored rows."""
    x, bias = (gc.asarray(sample(s), dtype=dtype) for s in (shape, (shape[1], 1)))

    def normalised(rows):
        away = rows - gc.mean(rows, axis=2, keepdims=True)
        scale = gc.sqrt(gc.var(rows, axis=2, keepdims=True) + 1)
        return away / scale, gc.max(gc.abs(away), axis=2), gc.sum(rows * away)
    rows = gc.reshape(x + bias, (shape[0], 2, -1))
    for found, expected in zip(normalised(rows), normalised(gc.asarray(rows.numpy())), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_sums_of_what_does_not_lie_in_rows():
    """Padded, repeated, concatenated and broadcast images have the bits that they have when they are in memory."""
    x, row = (gc.asarray(sample(shape).astype(np.float32)) for shape in ((60, 8, 31, 20), (60, 8, 31)))
    for y in (gc.pad(x, ((0, 0), (0, 0), (1, 2), (2, 1))), gc.repeat(gc.repeat(x, 2, axis=2), 3, axis=3),
              gc.concat([x, x[:, :2] * 2], axis=1), x - gc.exp(row)[..., None], gc.permute_dims(x, (1, 0, 2, 3)) + 1,
              x[:, :, 1:-1, 1:-1] / row[:, :, 1:-1, None]):
        for one, other in zip(of_images(y), of_images(gc.asarray(y.numpy())), strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def of_images(y):
    return gc.sum(y * y), gc.sum(y * y, axis=(2, 3)), gc.var(y), gc.max(gc.reshape(y, (y.shape[0], -1)), axis=1)


def wrapped(x):
    return sum((gc.roll(x, k, axis) for k in (-1, 1) for axis in range(x.ndim)), -4 * x)


def padded(x):
    p = gc.pad(x, 1)
    inside = (slice(1, -1),) * (x.ndim - 1)
    return (p[(*inside, slice(2, None))] - p[(*inside, slice(0, -2))]) / 2 + gc.concat([x[1:], x[:1] * 3])


def turned(x):
    columns = gc.arange(x.shape[-1])
    return gc.where(columns < 77, gc.flip(x, axis=0), -x) + gc.roll(gc.reshape(x, -1), -130).reshape(x.shape)


@pytest.mark.parametrize("stencil", [wrapped, padded, turned])
@pytest.mark.parametrize("shape, dtype", [((50, 131), "float32"), ((3, 20, 33), "float64"), ((140_001,), "float32")])
def test_reductions_over_neighbours(stencil, shape, dtype):
    """Elements are evaluated between edges, and reduced as those in memory are, bit by bit."""
    x = sample(shape, dtype)
    x.flat[[3, 1700]] = np.nan, -np.inf

    def reduced(y):
        results = [gc.sum(gc.where(gc.isfinite(y), y, 0)), gc.max(gc.abs(y)), gc.argmin(y)]
        for axis in range(y.ndim) if y.ndim > 1 else ():
            results += [gc.var(y[..., 1:], axis=axis), y - gc.max(y, axis=axis, keepdims=True)]
        return gc.realize(*results)
    y = stencil(gc.asarray(x))
    for one, other in zip(reduced(y), reduced(gc.asarray(y.numpy())), strict=True):
        np.testing.assert_array_equal(one.numpy().view(f"u{one.dtype.itemsize}"),
                                      other.numpy().view(f"u{one.dtype.itemsize}"))


@pytest.mark.parametrize("width", [3, 10])
def test_short_rows_side_by_side(width):
    """Many short rows are computed in the lanes of vectors, few by loops of their own: with the same bits."""
    x = sample((24_000 // width, width)).astype(np.float32)
    x[3], x[4, 0], x[5] = np.nan, np.inf, 0

    def rows(a):
        weights = gc.exp(a - gc.max(a, axis=1, keepdims=True))
        return weights / gc.sum(weights, axis=1, keepdims=True) - gc.mean(a, axis=1, keepdims=True) / gc.std(
            a, axis=1, keepdims=True)
    many = rows(gc.asarray(x))
    (kernel,) = gc.plan(many).kernels
    assert "lane[" not in kernel.source and kernel.bytes_read == kernel.bytes_written == x.nbytes
    few = [rows(gc.asarray(part)).numpy() for part in np.array_split(x[:600], 3)]
    np.testing.assert_array_equal(many.numpy()[:600], np.concatenate(few))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize("width", [17, 20, 31, 32])
def test_many_rows_of_fewer_than_half_the_lanes(width, dtype):
    """Their length is a part of the text, where few rows have it as an argument: with the same bits."""
    x = sample((4_100, width)).astype(dtype)
    if dtype != "int32":
        x[3], x[4, 0], x[5], x[6] = np.nan, np.inf, 0, -0.0

    def rows(a):
        found = [gc.sum(a * 2, axis=1), gc.any(a == 0, axis=1), a - gc.mean(a, axis=1, keepdims=True)]
        if dtype == "complex64":
            return found
        return [*found, gc.max(a, axis=1), gc.min(gc.abs(a), axis=1), gc.argmax(a, axis=1), gc.std(a, axis=1),
                gc.softmax(a, axis=1) if dtype.startswith("float") else a, gc.sum(a, axis=1) / gc.max(a, axis=1)]
    for together, *parts in zip(*map(rows, map(gc.asarray, (x, x[:2_050], x[2_050:]))), strict=True):
        np.testing.assert_array_equal(together.numpy(), np.concatenate([part.numpy() for part in parts]))


def test_the_length_of_many_short_rows_is_in_their_text(backend):
    if backend != "cpu":
        pytest.skip("the text of C kernels")
    (many,), (few,) = (gc.plan(gc.sum(gc.asarray(sample((n, 20))), axis=1)).kernels for n in (4_100, 4_000))
    assert "length = 20;" in many.source and "length = 20;" not in few.source


def test_a_norm_over_images_is_a_map():
    """What is as large as the images is not computed along the columns of a kernel that adds up their sums."""
    t = gc.asarray(sample((16, 64, 8, 8)).astype(np.float32))
    y = t - gc.mean(t, axis=(0, 2, 3), keepdims=True)
    assert [k.name for k in gc.plan(y).kernels][-1].startswith("map")
    check(y, np.asarray(t) - np.asarray(t).mean((0, 2, 3), keepdims=True))


def test_sums_keep_small_terms():
    x = np.full(100_001, 0.1, np.float32)
    assert abs(float(gc.sum(gc.asarray(x))) - x.astype(np.float64).sum()) < 0.01
    x = np.full(70_000, 1.0, np.float16)
    assert float(gc.mean(gc.asarray(x))) == 1.0
    x = np.random.default_rng(0).normal(1e6, 1.0, 10_000).astype(np.float32)
    assert abs(float(gc.var(gc.asarray(x))) - x.astype(np.float64).var()) < 1e-3


def test_dtype_argument():
    x = sample((3, 4), "int8")
    check(gc.sum(gc.asarray(x), dtype="int8"), x.sum(dtype=np.int8))
    check(gc.sum(gc.asarray(x), dtype=gc.float32), x.sum(dtype=np.float32))
    check(gc.prod(gc.asarray(x), dtype="float64", axis=0), x.prod(dtype=np.float64, axis=0))
    check(gc.mean(gc.asarray(x), dtype="float32"), x.mean(dtype=np.float32))


@pytest.mark.parametrize("correction", [0, 1, 0.5, 4, 9])
def test_corrections(correction):
    x = sample((4, 3))
    check(gc.var(gc.asarray(x), axis=0, correction=correction), x.var(axis=0, ddof=correction))
    check(gc.std(gc.asarray(x), axis=0, ddof=correction), x.std(axis=0, ddof=correction))


def test_errors():
    x = gc.zeros((2, 0))
    raises(ValueError, "[max] zero elements along the reduced axes of shape (2, 0)", gc.max, x)
    raises(ValueError, "[argmin] zero elements", gc.argmin, x, axis=1)
    raises(IndexError, "[sum] axis 2", gc.sum, x, axis=2)
    raises(IndexError, "[mean] axis -3", gc.mean, x, axis=-3)
    raises(IndexError, "[argmax] axis 5", gc.argmax, gc.zeros((2, 3)), axis=5)
    raises(ValueError, "[sum] an axis is given twice", gc.sum, x, axis=(0, 0))
    raises(ValueError, "[cumulative_sum] axis must be given", gc.cumulative_sum, x)


@pytest.mark.parametrize("shape", [(5,), (0,), (1,), (3, 4), (2, 0), (2, 3, 5)])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_scans(name, shape):
    x = sample(shape)
    for axis in range(-len(shape), len(shape)):
        for initial in (False, True):
            check(getattr(gc, name)(gc.asarray(x), axis=axis, include_initial=initial),
                  getattr(np, name)(x, axis=axis, include_initial=initial))
    check(gc.cumsum(gc.asarray(x)), np.cumsum(x))
    check(gc.cumprod(gc.asarray(x), -1), np.cumprod(x, -1))


def test_diff():
    x = sample((3, 5))
    for n, axis in ((0, 0), (1, 0), (2, -1), (3, 0), (9, 1)):
        check(gc.diff(gc.asarray(x), n=n, axis=axis), np.diff(x, n=n, axis=axis))
    check(gc.diff(gc.asarray(x), prepend=0.0, append=x), np.diff(x, prepend=0.0, append=x))
    small = np.array([0, 3, 1], np.uint8)
    check(gc.diff(gc.asarray(small), prepend=0, append=7), np.diff(small, prepend=0, append=7))
    check(gc.diff(gc.asarray(x > 0)), np.diff(x > 0))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanmax", "nanmin"])
def test_nan_as_missing(name):
    x = sample((4, 6), special=True)
    x[2] = np.nan
    for axis in (None, 0, 1):
        check(getattr(gc, name)(gc.asarray(x), axis=axis), getattr(np, name)(x, axis=axis))
    check(getattr(gc, name)(gc.asarray([1, 2])), getattr(np, name)(np.array([1, 2])))


def test_average():
    x, w = sample((3, 4)), np.abs(sample((3, 4), seed=1))
    check(gc.average(gc.asarray(x), axis=1), np.average(x, axis=1))
    check(gc.average(gc.asarray(x), axis=1, weights=gc.asarray(w)), np.average(x, axis=1, weights=w))
    check(gc.average(gc.asarray(x), axis=0, weights=[1, 2, 3]), np.average(x, axis=0, weights=[1, 2, 3]))
    raises(ValueError, "[average] 2 weights do not fit axis 0", gc.average, gc.asarray(x), axis=0, weights=[1, 2])


@pytest.mark.parametrize("equal_nan", [False, True])
def test_closeness(equal_nan):
    a = np.array([1.0, 1.0, np.nan, np.inf, np.inf, -np.inf, 0.0, 1e-9, np.inf])
    b = np.array([1.0, 1.0001, np.nan, np.inf, -np.inf, -np.inf, -0.0, 0.0, 1.0])
    check(gc.isclose(gc.asarray(a), gc.asarray(b), equal_nan=equal_nan), np.isclose(a, b, equal_nan=equal_nan))
    check(gc.isclose(gc.asarray(b), gc.asarray(a)), np.isclose(b, a))
    assert bool(gc.allclose(gc.asarray(a[:2]), b[:2], rtol=1e-3))
    assert not bool(gc.allclose(gc.asarray(a), b))
    assert bool(gc.array_equal(gc.asarray(a[2:4]), b[2:4], equal_nan=equal_nan)) is equal_nan
    assert not bool(gc.array_equal(gc.zeros(2), gc.zeros(3)))


@pytest.mark.parametrize("q", [0, 0.3, 0.5, 1, [0.1, 0.9], [[0.25], [0.75]], []])
def test_quantiles(q):
    x = sample((5, 6))
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            check(gc.quantile(gc.asarray(x), q, axis=axis, keepdims=keepdims),
                  np.quantile(x, q, axis=axis, keepdims=keepdims))
    check(gc.percentile(gc.asarray(x), np.asarray(q) * 100), np.percentile(x, np.asarray(q, float) * 100))


def test_no_gradient_passes_to_a_fraction():
    for function, q in ((gc.quantile, 0.25), (gc.percentile, 25.0)):
        with pytest.raises(GradientError, match="no gradient passes to the fractions"):
            function(gc.asarray([1.0, 2.0]), nn.parameter(gc.asarray(q)))
        check(function(gc.asarray([1.0, 2.0]), nn.parameter(gc.asarray(q)).detach()), np.float64(1.25))


def test_median():
    for shape in ((5,), (6,), (1,), (0,), (3, 4)):
        x = sample(shape)
        check(gc.median(gc.asarray(x)), np.median(x))
    x = sample((3, 5), special=True)
    check(gc.median(gc.asarray(x), axis=1), np.median(x, axis=1))
    check(gc.median(gc.asarray([3, 1, 2, 10])), np.median([3, 1, 2, 10]))
    far = np.array([[1, np.inf], [np.inf, np.inf], [-np.inf, np.inf], [-np.inf, 1], [6e4, -6e4]], np.float16)
    for median in (gc.median, gc.nanmedian):
        assert np.array_equal(median(gc.asarray(far), axis=1), [np.inf, np.inf, np.nan, -np.inf, 0], equal_nan=True)
    for quantile in (gc.quantile, gc.nanquantile):      # NumPy: NaN wherever an infinity is near
        assert quantile(gc.asarray([1.0, 2.0, np.inf]), [0, 0.5, 0.75, 1]).tolist() == [1, 2, np.inf, np.inf]
    raises(ValueError, "between 0 and 1", gc.quantile, gc.zeros(3), 1.5)


def test_covariance():
    x = sample((3, 9))
    check(gc.cov(gc.asarray(x)), np.cov(x))


@given(st.integers(0, 700), st.integers(0, 2**32 - 1), st.sampled_from(["sum", "var", "max", "argmin", "mean"]))
def test_long_rows(n, seed, name):
    """Rows longer and shorter than the chunks of the reduction trees, along either axis."""
    x = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    if n == 0 and name in ("max", "argmin"):
        return
    check(getattr(gc, name)(gc.asarray(x), axis=0), getattr(np, name)(x, axis=0))
    check(getattr(gc, name)(gc.asarray(x.T), axis=1), getattr(np, name)(x.T, axis=1))


METHODS = {
    "sum": (0, "int8"), "sum of floats": (None, "float32", None, True), "prod": (0, "int16"),
    "mean": (0, "float32"), "mean kept": ((0, 1), None, None, True), "max": (1, None, True), "min": (None, None, True),
    "var": (1, "float32"), "var less": (0, None, None, 1), "std": (0, "float64", None, 1, True),
    "cumsum": (0, "int8"), "cumprod": (1, "float32"), "all": (0, None), "any": (0,),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_methods_take_by_position_what_numpys_do(name, dtype):
    x, method = sample((3, 4), dtype), name.split()[0]
    check(getattr(gc.asarray(x), method)(*METHODS[name]), getattr(x, method)(*METHODS[name]))


def test_methods_take_no_more():
    x = gc.ones((2, 2))
    raises(TypeError, "there is no argument 'out'", x.sum, 0, None, np.zeros(2))
    raises(TypeError, "by position after the axis it takes dtype, out", x.mean, 0, None, None, True, 3)
    raises(TypeError, "by position after the axis it takes dtype", x.sum, 0, "int8", dtype="int8")
    raises(TypeError, "a var is no int8", gc.var, x, 0, "int8")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (1, 1)])
def test_variances_about_known_means(shape, axis, dtype):
    x = sample(shape, dtype)
    centre = np.mean(x, axis=axis, keepdims=True) + np.asarray(0.5, "float32" if dtype == "float32" else "float64")
    centre = centre.astype(np.result_type(x, np.float32) if dtype != "int16" else np.float64)
    for options in ({}, {"ddof": 1}, {"keepdims": True}, {"where": x.real > 0}):
        for name in ("var", "std"):
            check(getattr(gc, name)(gc.asarray(x), axis, mean=gc.asarray(centre), **options),
                  getattr(np, name)(x, axis, mean=centre, **options))
    raises(ValueError, "do not broadcast to", gc.var, gc.ones((3, 1)), 1, mean=gc.ones((3, 2)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_comparing_with_integers_larger_than_any(dtype):
    x = np.array([1, 2], dtype)
    t = gc.asarray(x)
    for value in (10**20, -10**20, 2**63):
        check(gc.isclose(t, value), np.isclose(x, float(value)))
        assert not bool(gc.allclose(value, t)) and not bool(gc.array_equal(t, value))
    assert bool(gc.array_equal(gc.asarray(1e20), 10**20)) and bool(gc.allclose(gc.asarray([1e20]), 10**20))


@pytest.mark.parametrize("shape, axis", [((16, 9), 0), ((17, 9), 0), ((40, 9), 0), ((2000, 3), 0), ((3, 40, 5), 1)])
def test_reductions_of_columns_together_have_the_bits_of_each_alone(shape, axis):
    x = sample(shape, "float32")
    whole = sample(shape, "int32")
    works = [lambda x, n: gc.sum(x, axis=axis), lambda x, n: gc.max(x, axis=axis), lambda x, n: gc.var(x, axis=axis),
             lambda x, n: gc.prod(x / 2, axis=axis), lambda x, n: gc.sum(n, axis=axis),
             lambda x, n: gc.min(n, axis=axis), lambda x, n: gc.any(x > 1.5, axis=axis),
             lambda x, n: gc.argmax(x, axis=axis),
             lambda x, n: gc.sum(gc.where(x > 0, x, 0), axis=axis) / gc.sum(x > 0, axis=axis)]
    alone = [work(gc.asarray(x), gc.asarray(whole)).numpy() for work in works]
    together = [work(x, n) for x, n in [(gc.asarray(x), gc.asarray(whole))] for work in works]
    gc.realize(*together)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


def test_float16_where_the_result_fits_and_a_square_or_sum_does_not():
    def half(values):
        return gc.asarray(np.array(values, np.float16))
    for f in (gc.std, gc.nanstd):
        assert f(half([-300, 300] * 4)).item() == 300
        assert f(half([-1e-4, 1e-4] * 4)).item() == pytest.approx(1e-4, rel=2e-3)
        assert f(half([1, 3])).dtype is gc.float16
    mean, total = gc.average(gc.full(100, 1000.0, dtype="float16"), weights=np.ones(100, np.float16), returned=True)
    assert (mean.item(), total.item(), mean.dtype, total.dtype) == (1000, 100, gc.float16, gc.float16)
    assert gc.logsumexp(gc.zeros(70_000, dtype="float16")).item() == pytest.approx(np.log(70_000), rel=1e-3)
