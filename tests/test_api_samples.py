"""NumPy's functions for samples of signals and functions, beyond the Array API, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, raises

import graphc as gc

RNG = np.random.default_rng(5)


def test_nan_to_num():
    x = np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, 2.5]], np.float32)
    check(gc.nan_to_num(x), np.nan_to_num(x), exact=True)
    check(gc.nan_to_num(x, nan=7.0, posinf=1.5, neginf=-2.5), np.nan_to_num(x, nan=7.0, posinf=1.5, neginf=-2.5))
    check(gc.nan_to_num(np.arange(3)), np.arange(3))
    z = np.array([complex(np.nan, 1), complex(2, np.inf), complex(-np.inf, np.nan)], np.complex64)
    check(gc.nan_to_num(z, nan=1.5), np.nan_to_num(z, nan=1.5), exact=True)


@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [True, False])
def test_spaces(num, endpoint):
    check(gc.logspace(-1, 2.5, num, endpoint=endpoint), np.logspace(-1, 2.5, num, endpoint=endpoint))
    check(gc.logspace(0, 5, num, base=2.0, dtype="int32"), np.logspace(0, 5, num, base=2.0, dtype="int32"))
    check(gc.geomspace(1.5, 100, num, endpoint=endpoint), np.geomspace(1.5, 100, num, endpoint=endpoint))
    check(gc.geomspace(-1, -1000, num, dtype="float32"), np.geomspace(-1, -1000, num, dtype="float32"))


def test_a_geometric_space_has_ends_of_one_sign():
    raises(ValueError, "one sign", gc.geomspace, -1, 5)
    raises(ValueError, "0.0", gc.geomspace, 0, 5)


@pytest.mark.parametrize("shape", [(2,), (3,), (17,), (4, 5)])
def test_gradient(shape):
    f = RNG.normal(size=shape)
    at = np.cumsum(RNG.uniform(0.5, 2.0, shape[-1]))
    found, expected = gc.gradient(f), np.gradient(f)
    for a, b in zip(found, expected, strict=True) if len(shape) > 1 else [(found, expected)]:
        check(a, b)
    check(gc.gradient(f, 0.25, axis=-1), np.gradient(f, 0.25, axis=-1))
    check(gc.gradient(f, at, axis=-1), np.gradient(f, at, axis=-1))
    check(gc.gradient(f.astype(np.float32), axis=0), np.gradient(f.astype(np.float32), axis=0))


def test_gradient_refuses():
    raises(ValueError, "length 1", gc.gradient, gc.ones(1))
    raises(ValueError, "3 distances for 2 axes", gc.gradient, gc.ones((2, 2)), 1.0, 2.0, 3.0)
    raises(ValueError, "coordinates", gc.gradient, gc.ones(4), gc.ones(3))


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("sides", [{}, {"left": -1.0, "right": 5.5}])
def test_interp(size, sides):
    xp, fp = np.cumsum(RNG.uniform(0.1, 1.0, size)), RNG.normal(size=size)
    x = np.concatenate([RNG.uniform(-1, size, 40), xp, [np.nan, np.inf, -np.inf]]).reshape(-1, 1)
    check(gc.interp(x, xp, fp, **sides), np.interp(x, xp, fp, **sides))


def test_interp_beside_infinities():
    """A point that is given has its own value, whatever the next one's is."""
    x, xp, fp = [1.0, 2.0, 3.0, 3.5], [1.0, 2.0, 3.0, 4.0], [1.0, -2.0, np.inf, np.inf]
    check(gc.interp(x, xp, fp), np.interp(x, xp, fp))


def test_interp_of_nan_beside_a_flat_piece():
    x, xp, fp = [np.nan, 2.5], [1.0, 2.0, 3.0], [5.0, 1.0, 1.0]
    check(gc.interp(x, xp, fp), np.interp(x, xp, fp))


def test_interp_refuses():
    raises(ValueError, "two vectors", gc.interp, gc.ones(2), gc.ones(3), gc.ones(2))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (8, 4), (5, 5), (1, 1), (1, 4)])
def test_convolve_and_correlate(mode, sizes):
    a, v = (RNG.normal(size=n) for n in sizes)
    check(gc.convolve(a, v, mode), np.convolve(a, v, mode))
    check(gc.correlate(a, v, mode), np.correlate(a, v, mode))


def test_convolve_whole_and_complex_numbers():
    a, v = RNG.integers(-9, 9, 6), RNG.normal(size=4) + 1j
    check(gc.convolve(a, [1, 2]), np.convolve(a, [1, 2]), exact=True)
    check(gc.correlate(a, v, "full"), np.correlate(a, v, "full"))
    check(gc.convolve(v, v), np.convolve(v, v))
    with np.errstate(invalid="ignore"):     # an infinity meets only what it lies over
        a, v = np.array([1.0, 0.0, -3.0]), np.array([np.inf, 1.0])
        check(gc.convolve(a, v, "same"), np.convolve(a, v, "same"))
        check(gc.correlate(a, v, "full"), np.correlate(a, v, "full"))
    raises(ValueError, "'full', 'same' or 'valid'", gc.convolve, gc.ones(3), gc.ones(2), "whole")
    raises(ValueError, "two vectors", gc.convolve, gc.ones((3, 1)), gc.ones(2))


def test_corrcoef():
    for x in (RNG.normal(size=(3, 20)), RNG.normal(size=8), RNG.normal(size=(2, 9)) + 1j * RNG.normal(size=(2, 9))):
        check(gc.corrcoef(x), np.corrcoef(x))


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right):
    x = np.array([[0.2, 6.4, 3.0], [1.0, 2.5, -4.0]])
    for bins in ([0.0, 1.0, 2.5, 4.0], [4.0, 2.5, 1.0, 0.0], [1.0], [1.0, 1.0, 3.0]):
        check(gc.digitize(x, bins, right), np.digitize(x, bins, right), exact=True)
    raises(ValueError, "neither rise nor fall", gc.digitize, x, [1.0, 3.0, 2.0])


@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("axis", [0, -1])
def test_spaces_between_arrays(num, endpoint, axis):
    start, stop = np.array([[1.0], [2.0]]), np.array([8.0, 16.0, 5.0])
    options = {"num": num, "endpoint": endpoint, "axis": axis}
    for make in (gc.asarray, np.asarray, np.ndarray.tolist):
        check(gc.geomspace(make(start), make(stop), **options), np.geomspace(start, stop, **options))
        check(gc.geomspace(make(-start), make(-stop), **options), np.geomspace(-start, -stop, **options))
        check(gc.logspace(make(start), make(stop / 4), **options), np.logspace(start, stop / 4, **options))
        check(gc.logspace(0, make(stop / 4), base=make(np.array([2.0, 3.0, 10.0])), **options),
              np.logspace(0, stop / 4, base=np.array([2.0, 3.0, 10.0]), **options))
    check(gc.logspace(start=0, stop=1, num=num), np.logspace(start=0, stop=1, num=num))
    check(gc.geomspace(start=1, stop=9, num=num, dtype="int32"), np.geomspace(start=1, stop=9, num=num, dtype="int32"))
    check(gc.linspace(start=0, stop=1, num=num), np.linspace(start=0, stop=1, num=num))
    check(gc.logspace(0, 2, num, base=[2, 3]), np.logspace(0, 2, num, base=[2, 3]))


def test_spaces_between_arrays_without_a_ratio():
    raises(ValueError, "one sign", gc.geomspace, [1.0, -1.0], 5)
    raises(ValueError, "one sign", gc.geomspace, np.array([1.0, 0.0]), gc.ones(2))
    raises(TypeError, "complex128 is not supported", gc.geomspace, [1j], 5)
    found = gc.geomspace(gc.asarray([1.0, 1.0]), gc.asarray([-4.0, 4.0]), 3).numpy()
    assert np.isnan(found).any(0).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("period", [360, -360, 7.5])
def test_interp_of_a_period(dtype, period):
    x = np.array([-180, -170, -185, 185, -10, -5, 0, 365]).astype(dtype)
    xp, fp = [190, -190, 350, -350], [5.0, 10.0, 3.0, 4.0]
    for at in (x, x[:0], x[3], x.reshape(2, 4)):
        check(gc.interp(gc.asarray(at), xp, fp, period=period), np.interp(at, xp, fp, period=period), dtype=False)
    check(gc.interp(gc.asarray(x), xp, fp, -1.0, -2.0, period), np.interp(x, xp, fp, -1.0, -2.0, period), dtype=False)
    check(gc.interp(gc.asarray(x), [3.0], [7.0], period=period), np.interp(x, [3.0], [7.0], period=period), dtype=False)
    raises(ValueError, "the period must not be 0", gc.interp, x, xp, fp, period=0)


def test_interp_at_integers_larger_than_any():
    for x in (10**20, -10**20, [10**20, 2]):
        check(gc.interp(x, [1.0, 2.0], [5.0, 6.0]), np.interp(np.asarray(x, float), [1.0, 2.0], [5.0, 6.0]))


@pytest.mark.parametrize("xp, fp", [
    ([0.0, 1, 1], [0.0, 1, 5]), ([1.0, 2], [np.inf, 2]), ([0.0, 1, 2, 3], [0.0, np.inf, np.inf, 1]),
    ([0.0, 1, 2], [np.inf, 1, -np.inf]), ([0.0, 0, 1], [3.0, 4, 5]), ([0.0, 1, 2], [1.0, np.nan, 2]),
])
def test_interp_of_equal_places_and_of_infinities(xp, fp):
    x = np.array([-1, 0, 0.3, 1, 1.5, 2, 2.5, 3, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(gc.interp(gc.asarray(x), xp, fp).numpy(), np.interp(x, xp, fp))


def test_unwrap_keeps_integers():
    x = np.array([0, 100, -100, 4], np.int8)
    check(gc.unwrap(x, period=4), np.unwrap(x, period=4), exact=True)


def test_polyint_takes_constants_as_they_are():
    check(gc.polyint([1.0, 2.0], k=1j), np.array([0.5, 2, 1j]))
    check(gc.polyint([1.0, 2.0], m=2, k=[1, 2]), np.polyint([1.0, 2.0], 2, [1, 2]))
    raises(ValueError, "3 constants for 2 integrals", gc.polyint, [1.0], 2, [1, 2, 3])


def test_correlations_of_float16():
    x = (RNG.normal(size=(2, 1000)) * 30).astype(np.float16)
    for found, want in ((gc.cov(x), np.cov(x)), (gc.corrcoef(x), np.corrcoef(x)), (gc.corrcoef(x[0]), 1.0)):
        assert found.dtype is gc.float16
        np.testing.assert_allclose(found.numpy(), want, rtol=2e-3, atol=2e-3)
