"""Helpers of the API tests: arrays to draw from, and the comparison with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc

# How far a result may be from NumPy's, relative to its size: sums are added in another order.
RTOL = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}


def sample(shape, dtype="float64", seed: int = 0, special: bool = False) -> np.ndarray:
    """An array of any dtype; `special` puts in some NaN and infinities."""
    rng = np.random.default_rng([seed, *map(int, np.atleast_1d(shape))])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    x = rng.normal(size=shape)
    if kind == "c":
        x = x + 1j * rng.normal(size=shape)
    x = np.asarray(x, dtype)
    if special and x.size:
        flat = x.reshape(-1)
        for i, value in enumerate((np.nan, np.inf, -np.inf, -0.0)):
            flat[(5 * i + 2) % flat.size] = value
    return x


def check(found, expected, *, exact: bool = False, dtype: bool = True) -> None:
    """found (a tensor) is equal to expected, within the tolerance of its dtype unless `exact`."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if dtype:
        assert found.dtype.numpy == expected.dtype, f"{found.dtype} is not {expected.dtype}"
    array = np.asarray(found)
    assert array.shape == expected.shape and array.dtype == found.dtype.numpy
    rtol = RTOL.get(found.dtype.name)
    if exact or rtol is None:
        np.testing.assert_array_equal(array, expected)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(array, expected, rtol=rtol, atol=rtol * max(scale, 1.0) * 0.5)


def raises(error, text: str, call, *arguments, **options) -> None:
    """The call raises `error`, a graphc error that holds `text` and names a line of this test suite."""
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert isinstance(caught.value, gc.errors.GraphcError)
    message = str(caught.value)
    assert text in message, message
    assert "api_compare.py" in message, message
