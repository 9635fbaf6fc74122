"""Rows that lie across memory: windows that move along an array, planes that are added."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc

OPS = {"float32": ("sum", "max", "prod"), "float64": ("sum", "std"), "float16": ("sum",), "int32": ("sum", "max"),
       "bool": ("sum", "any", "all")}


def side_by_side(values: np.ndarray) -> gc.Tensor:
    """The same rows, each contiguous."""
    return gc.asarray(np.ascontiguousarray(values))


@pytest.mark.parametrize("dtype", OPS)
@pytest.mark.parametrize(("length", "columns"), [(17, 32), (64, 37), (65, 300), (100, 64), (1024, 33), (2500, 40)])
def test_their_trees_are_those_of_contiguous_rows(backend, length, columns, dtype):
    """Each row gathered its elements for itself, which took ten times as long as NumPy does."""
    values = np.random.default_rng(length).normal(size=(length + 3, columns)) * 3
    x = gc.asarray(values.astype(dtype))
    for name in OPS[dtype]:
        def reduced(t, name=name):
            return getattr(t, name)(axis=-1)

        planes = reduced(gc.moveaxis(x[:length], 0, -1))
        windows = reduced(gc.sliding_window_view(x, length, axis=0))
        if backend == "cpu" and name in ("sum", "prod") and dtype.startswith("float") and length <= 100:
            (kernel,) = gc.plan(planes).kernels
            assert "_lane[l][" in kernel.source
        for first in (0, 3):
            rows = reduced(side_by_side(np.moveaxis(x.numpy()[first:first + length], 0, -1)))
            np.testing.assert_array_equal(windows.numpy()[first], rows.numpy())
            if not first:
                np.testing.assert_array_equal(planes.numpy(), rows.numpy())


@pytest.mark.parametrize("length", [20, 90])
def test_with_edges_and_several_results(length):
    values = np.random.default_rng(3).normal(size=(200, 70)).astype(np.float32)
    x = gc.asarray(values)
    padded = gc.pad(x, ((length // 2, length - length // 2 - 1), (1, 2)))
    summed = gc.sliding_window_view(padded, length, axis=0).sum(axis=-1)
    there = np.lib.stride_tricks.sliding_window_view(padded.numpy(), length, axis=0)
    np.testing.assert_array_equal(summed.numpy(), side_by_side(there).sum(axis=-1).numpy())
    np.testing.assert_array_equal(gc.softmax(gc.moveaxis(x, 0, -1), axis=-1).numpy(),
                                  gc.softmax(side_by_side(values.T), axis=-1).numpy())


def test_contiguous_windows_and_squares():
    values = np.random.default_rng(4).normal(size=(90, 200)).astype(np.float32)
    x = gc.asarray(values)
    for length in (20, 150):
        there = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)
        np.testing.assert_array_equal(gc.sliding_window_view(x, length, axis=1).sum(axis=-1).numpy(),
                                      side_by_side(there).sum(axis=-1).numpy())
    there = np.lib.stride_tricks.sliding_window_view(values, (7, 5))
    np.testing.assert_allclose(gc.sliding_window_view(x, (7, 5)).sum(axis=(-2, -1)).numpy(), there.sum(axis=(-2, -1)),
                               rtol=1e-5, atol=1e-5)
    assert gc.moveaxis(gc.zeros((20, 0)), 0, -1).sum(axis=-1).shape == (0,)
    nan = values.copy()
    nan[11, 50], nan[12, 51], nan[:, 52] = np.nan, np.inf, -0.0
    found = gc.moveaxis(gc.asarray(nan), 0, -1)
    for name in ("sum", "max", "min"):
        np.testing.assert_array_equal(getattr(found, name)(axis=-1).numpy(),
                                      getattr(side_by_side(nan.T), name)(axis=-1).numpy())


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_over_pairs_with_few_columns(backend, columns, dtype):
    """The forces on bodies: results beside one another are vectors, and have the bits of few of them."""
    rng = np.random.default_rng(columns)
    bodies, masses = rng.normal(size=(77, columns)).astype(dtype), rng.random(77).astype(dtype)

    def forces(on, by, masses):
        apart = by[None, :, :] - on[:, None, :]
        near = gc.sum(apart * apart, axis=-1) + 0.5
        return gc.sum(apart * (masses[None, :] / (near * gc.sqrt(near)))[..., None], axis=1), gc.max(apart, axis=1)
    by, masses = gc.asarray(bodies), gc.asarray(masses)
    many = forces(by, by, masses)
    if backend == "cpu":
        assert any("for (int64_t i0 = i0_start; i0 < i0_stop" in kernel.source for kernel in gc.plan(*many).kernels)
    few = [forces(gc.asarray(bodies[k:k + 20]), by, masses) for k in range(0, 77, 20)]
    for together, *parts in zip(many, *few, strict=True):
        np.testing.assert_array_equal(together.numpy(), np.concatenate([part.numpy() for part in parts]))


def test_few_columns_of_one_array_stay_vectors_of_their_own():
    """Its elements for results beside one another are far apart."""
    x = gc.asarray(np.random.default_rng(0).integers(-9, 9, (50, 40, 3)).astype(np.float32))
    np.testing.assert_array_equal(gc.sum(gc.exp2(x), axis=1).numpy(), np.exp2(x.numpy()).sum(axis=1))
