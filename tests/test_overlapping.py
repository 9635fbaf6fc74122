"""Rows of few vectors, as small images have, in maps and behind reductions: the last vector overlaps another."""
from __future__ import annotations

import re

import numpy as np
import pytest

import graphc as gc
from graphc.nn import functional as F

WIDTHS = (3, 4, 7, 8, 9, 14, 15, 16, 17, 28, 31, 32, 34, 60)


def images(width: int, dtype="float32", channels: int = 24, seed: int = 0) -> np.ndarray:
    """Whole numbers, of which sums are exact, and an infinity: enough of them that rows go by vectors of their own."""
    count = max(1, (1 << 15) // (channels * width * width)) + 1
    values = np.random.default_rng(seed + width).integers(-4, 5, (count, channels, width, width)).astype(dtype)
    values[0, -1, -1, -1] = np.inf
    return values


def assert_as_reference(function, *arrays):
    got = [t.numpy() for t in function(*map(gc.asarray, arrays))]
    with gc.backend("reference"):
        wanted = [t.numpy() for t in function(*map(gc.asarray, arrays))]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def normalised(x, gain):
    return (x - gain / 2) * gain + 1


@pytest.mark.parametrize("width", WIDTHS)
def test_pooled_and_its_gradient(width):
    def function(x, gain):
        def pooled(x, gain):
            return F.max_pool2d(gc.relu(normalised(x, gain)), 2)
        y, back = gc.vjp(pooled, x, gain)
        return [y, back(gc.ones_like(y))[0]]
    assert_as_reference(function, images(width), np.arange(-4, 20, dtype=np.float32).reshape(24, 1, 1) / 4)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masks_in_bytes(width, dtype):
    """Read and written beside numbers: bool, int8 with its sign, uint8, int16; padded on one side and on both."""
    def function(x, mask, small, byte, half):
        y = gc.where(mask, 0, x * small + byte)
        z = gc.pad(gc.where(half < 0, y, -y), ((0, 0), (0, 0), (1, 1), (1, 0)))
        return [y, y <= 1, z, (y * 2).clip(-100, 100).astype("int8"), gc.where(mask, byte, half)]
    x = images(width, dtype)
    x[0, -1, -1, -1] = 5
    rng = np.random.default_rng(width)
    assert_as_reference(function, x, rng.random(x.shape) < .5, rng.integers(-128, 128, x.shape, "int8"),
                        rng.integers(0, 256, x.shape, "uint8"), rng.integers(-2**15, 2**15, x.shape, "int16"))


@pytest.mark.parametrize("width", WIDTHS)
def test_behind_a_reduction(width):
    """A kernel that adds up few numbers for each channel goes over the channel's images too."""
    def function(x, partial):
        scale = 1 / (partial.sum(axis=-1).reshape(24, 1, 1, 1) + 2)
        y = gc.relu(x * scale)
        return [gc.pad(y, ((0, 0), (0, 0), (1, 1), (1, 1))), y <= .5, F.max_pool2d(y, 2), scale]
    x = np.moveaxis(images(width), 1, 0).copy()
    assert_as_reference(function, x, np.random.default_rng(width).integers(0, 9, (24, 20)).astype(np.float32))


@pytest.mark.parametrize("stride", [2, 3])
@pytest.mark.parametrize("width", [7, 16, 33])
def test_convolutions_of_one_by_one_with_strides(width, stride):
    def function(x, w):
        y = gc.relu(normalised(x, 2))
        z, back = gc.vjp(lambda y, w: gc.conv2d(y, w, stride=stride), y, w)
        return [z, *back(z)]
    x = images(width)
    x[0, -1, -1, -1] = 0
    assert_as_reference(function, x, np.random.default_rng(1).integers(-1, 2, (16, 24, 1, 1)).astype(np.float32))


def test_what_a_product_would_pack_every_second_element_of_is_stored(backend):
    if backend != "cpu":
        pytest.skip("work items take an element each")

    def kinds(result):
        return [kernel.name.partition("_")[0] for kernel in gc.plan(result).kernels]
    x, w = gc.asarray(images(32)), gc.asarray(np.ones((16, 24, 1, 1), np.float32))
    assert kinds(gc.conv2d(gc.relu(x), w, stride=2)) == ["map", "contract"]
    assert kinds(gc.conv2d(gc.relu(x), w)) == kinds(gc.conv2d(x, w, stride=2)) == ["contract"]


def test_the_text_of_short_rows(backend):
    """Bytes are widened first, and every vector is a whole one, behind reductions too; whole planes are no rows."""
    if backend != "cpu":
        pytest.skip("the text of C kernels")
    x = gc.asarray(images(32))
    (kernel,) = gc.plan(gc.where(gc.asarray(images(32) > 0), 0, gc.pad(x, ((0, 0),) * 3 + ((1, 1),))[..., :-2])).kernels
    assert "gc_convert_uint8_t_int32_t_" in kernel.source
    scale = 1 / gc.asarray(np.ones((24, 40), np.float32)).sum(axis=-1).reshape(24, 1, 1, 1)
    padded = gc.pad(gc.asarray(np.moveaxis(images(16), 1, 0)) * scale, ((0, 0), (0, 0), (1, 1), (1, 1)))
    (kernel,) = gc.plan(padded, scale).kernels
    assert re.search(r"j2_at = MIN\(from, MIN\(.*\) - \d+\)", kernel.source) and kernel.launch[0] > 1
