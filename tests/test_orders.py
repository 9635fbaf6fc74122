"""What docs/numerics.md fixes has the same bits on every backend: sums in all orders, matrix products, random bits."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.runtime import backend as backends

DEVICES = ("opencl",)
RANDOM = np.random.default_rng(17)


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    return (RANDOM.normal(size=shape) * 100).astype(dtype)


ROWS, LONG, COLUMNS = array(7, 300), array(3, 5000), array(700, 5)
WORK = {
    "rows": (lambda x: gc.sum(x, axis=1), ROWS),
    "short rows": (lambda x: gc.sum(x * x, axis=1), array(9, 31)),
    "long rows": (lambda x: gc.sum(x, axis=1), LONG),
    "rows of halves": (lambda x: gc.sum(x, axis=1), array(5, 200, dtype="float16")),
    "columns": (lambda x: gc.sum(x, axis=0), COLUMNS),
    "few rows": (lambda x: gc.sum(x, axis=0), array(20, 40)),
    "products": (lambda x: gc.prod(x / 100, axis=1), array(4, 100, dtype="float64")),
    "variance of rows": (lambda x: gc.var(x, axis=1), LONG),
    "variance of columns": (lambda x: gc.var(x, axis=0), COLUMNS),
    "all of it": (lambda x: gc.sum(x), array(150_000)),
    "variance of all": (lambda x: gc.var(x), array(140_000)),
    "maxima": (lambda x: gc.max(x, axis=1) + gc.argmax(x, axis=1), LONG),
    "running sums": (lambda x: gc.cumulative_sum(x, axis=1), ROWS),
    "a row's mean taken off": (lambda x: x - gc.mean(x, axis=1, keepdims=True), ROWS),
    "matrices": (lambda x: gc.relu(x @ x.T + 1), array(70, 600)),
    "turned matrices": (lambda x: x.T @ x, array(600, 33)),
    "added at": (lambda x: gc.zeros(6, dtype="float32", device=x.device).at[gc.asarray(
        np.arange(300) % 6, device=x.device)].add(x[0]), ROWS),
    "gathered": (lambda x: gc.take(x, gc.asarray([2, -1, 0], device=x.device), axis=0) // 7, ROWS),
    "integers": (lambda x: x // 7 % 5 + (x << 3), array(300, dtype="int32")),
    "random bits": (lambda x: x + gc.random.Generator(3).integers(0, 1000, (300,)).to(x.device), array(300)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WORK)
def test_the_bits_of_the_cpu(device: str, name: str, backend: str):
    if backend != "cpu":
        pytest.skip("compares backends with the cpu")
    reason = backends.status().get(device, "it is not registered")
    if reason is not None:
        pytest.skip(f"{device}: {reason}")
    work, x = WORK[name]
    here, there = (work(gc.asarray(x, device=d)).numpy() for d in ("cpu", device))
    np.testing.assert_array_equal(there, here)


def test_an_index_outside_on_a_device(backend: str):
    if backends.status().get("opencl") is not None:
        pytest.skip("there is no OpenCL device")
    x, at = (gc.asarray(a, device="opencl") for a in (np.arange(5.0), np.array([1, 7])))
    with pytest.raises(IndexError, match="test_orders"):
        gc.take(x, at).numpy()
