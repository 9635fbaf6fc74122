"""Fourier transforms, against numpy.fft."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, raises, sample

import graphc as gc
from graphc.config import settings
from graphc.ir import routines
from graphc.tolerances import equal_bits

NORMS = ["backward", "ortho", "forward"]
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
REAL = ("rfft", "ihfft", "rfftn", "rfft2")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ONE)
def test_along_one_axis(name, dtype):
    x = sample((3, 5, 4), dtype)
    if dtype.startswith("complex") and name in REAL:
        raises(TypeError, f"[{name}] needs real input, not {dtype}", getattr(gc.fft, name), gc.asarray(x))
        return
    for axis in (-1, 0, 1):
        for n in (None, 2, 5, 8):
            for norm in NORMS:
                check(getattr(gc.fft, name)(gc.asarray(x), n=n, axis=axis, norm=norm),
                      getattr(np.fft, name)(x, n=n, axis=axis, norm=norm))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_along_several_axes(name, dtype):
    x = sample((3, 5, 4), dtype)
    if dtype.startswith("complex") and name in REAL:
        return
    for axes in ((-2, -1), (0, 1), (2, 0)):
        for norm in NORMS:
            check(getattr(gc.fft, name)(gc.asarray(x), axes=axes, norm=norm),
                  getattr(np.fft, name)(x, axes=axes, norm=norm))
        check(getattr(gc.fft, name)(gc.asarray(x), s=(4, 6), axes=axes), getattr(np.fft, name)(x, s=(4, 6), axes=axes))
    check(getattr(gc.fft, name)(gc.asarray(x)), getattr(np.fft, name)(x))


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 0)])
def test_an_empty_axis_is_filled_with_zeros(name, shape):
    """NumPy's irfft gives what lay in the memory."""
    x = gc.zeros(shape, dtype="float32" if name in REAL else "complex64")
    found = getattr(gc.fft, name)(x, n=4)
    assert found.shape == (*shape[:-1], 3 if name in REAL else 4)
    assert not gc.any(found).item()
    if name == "irfft" and len(shape) == 2:
        assert not gc.any(gc.fft.irfftn(x, s=(2, 4))).item()


def test_there_and_back():
    x = sample((4, 6), "float64")
    t = gc.asarray(x)
    check(gc.fft.irfft(gc.fft.rfft(t)), x)
    check(gc.real(gc.fft.ifftn(gc.fft.fftn(t))), x)
    check(gc.fft.irfftn(gc.fft.rfftn(t * 2)) / 2, x)


def test_integers_and_narrow_floats():
    check(gc.fft.fft(gc.asarray([1, 2, 3])), np.fft.fft([1, 2, 3]))
    assert gc.fft.fft(gc.asarray(np.ones(4, np.float16))).dtype == gc.complex64


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    check(gc.fft.fftfreq(n, d=0.1), np.fft.fftfreq(n, 0.1))
    check(gc.fft.rfftfreq(n, d=2.0), np.fft.rfftfreq(n, 2.0))
    assert gc.fft.fftfreq(n, dtype=gc.float32).dtype == gc.float32
    x = sample((n, 3))
    for axes in (None, 0, (0, 1)):
        check(gc.fft.fftshift(gc.asarray(x), axes=axes), np.fft.fftshift(x, axes), exact=True)
        check(gc.fft.ifftshift(gc.asarray(x), axes=axes), np.fft.ifftshift(x, axes), exact=True)


def test_errors():
    x = gc.zeros((2, 3))
    raises(IndexError, "[fft] axis 2", gc.fft.fft, x, axis=2)
    raises(ValueError, "[fft] the number of points must be positive, not 0", gc.fft.fft, gc.zeros(0))
    raises(ValueError, "[ifft] norm must be one of backward, ortho, forward", gc.fft.ifft, x, norm="both")
    raises(ValueError, "[fftn] 1 sizes do not belong to 2 axes", gc.fft.fftn, x, s=(2,), axes=(0, 1))


@pytest.mark.parametrize("name", [*ONE, "fft2", "ifft2", "rfft2", "irfft2"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_larger_ones_have_the_same_bits_on_any_number_of_threads(name, dtype, monkeypatch):
    if dtype.startswith("complex") and name in REAL:
        return
    monkeypatch.setattr(routines, "_SHORT", 1)
    x = sample((2, 19, 14), dtype)
    found = []
    for threads in (1, 2, 3):
        with settings.override(num_threads=threads):
            found.append(np.asarray(getattr(gc.fft, name)(gc.asarray(x))))
    assert all(equal_bits(f, found[0]) for f in found)
    check(gc.asarray(found[0]), getattr(np.fft, name)(x))


def test_a_size_of_minus_one_is_the_axis_as_it_is():
    x = sample((3, 4))
    check(gc.fft.fftn(gc.asarray(x), s=(-1, 6), axes=(0, 1)), np.fft.fftn(x, s=(3, 6), axes=(0, 1)))
    check(gc.fft.irfftn(gc.asarray(x), s=(2, -1), axes=(0, 1)), np.fft.irfftn(x, s=(2, 4), axes=(0, 1)))
    raises(ValueError, "negative size", gc.fft.fftn, gc.asarray(x), (-2, 4))
