"""Arrays whose rows are columns in memory: maps turn squares of them, and other loops read what a map has turned."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.tolerances import equal_bits

RANDOM = np.random.default_rng(31)
VIEWS = {
    "turned": lambda x: x.T, "upside down": lambda x: x[::-1].T, "from right to left": lambda x: x[:, ::-1].T,
    "both": lambda x: x[::-1, ::-1].T, "every other": lambda x: x[:, ::2].T, "backwards": lambda x: x[:, ::-3].T,
    "cut": lambda x: x[1:, 1:].T,
}
BY_ROWS = {     # of x.T and y, both of many rows: kernels, and what is computed
    "sums": (2, lambda x, y: gc.sum(x + y, axis=1)),
    "one sum": (3, lambda x, y: gc.sum(x * y)),
    "a softmax": (2, lambda x, y: gc.softmax(x, axis=1)),
    "a softmax of both": (2, lambda x, y: gc.softmax(x + y, axis=1)),
    "a softmax across": (2, lambda x, y: gc.softmax(x + y, axis=0)),
    "the largest": (2, lambda x, y: gc.argmax(x + y, axis=1)),
    "variances": (2, lambda x, y: gc.var(x - y, axis=1)),
    "running sums": (2, lambda x, y: gc.cumulative_sum(x, axis=1)),
    "rows": (2, lambda x, y: gc.take(x, gc.arange(0, x.shape[0], 2), axis=0) + 1),
    "a stack": (2, lambda x, y: gc.stack([x, y]) * 2),
    "a product": (2, lambda x, y: (x + y) @ y[0]),
}


def normal(*shape: int, dtype=np.float32) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 50).astype(dtype)


def kernels(*tensors: gc.Tensor) -> int:
    return len(gc.plan(*tensors).kernels)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("view", VIEWS)
def test_a_map_reads_columns_in_any_direction(view: str, dtype):
    for shape in ((1, 70), (70, 1), (17, 40), (64, 64), (100, 130), (257, 65)):
        a, other = normal(*shape, dtype=dtype), VIEWS[view](normal(*shape, dtype=dtype))
        x, y = VIEWS[view](gc.asarray(a)), gc.asarray(other)
        assert equal_bits(gc.where(y == 0, y, x).numpy(), np.where(other == 0, other, VIEWS[view](a)))


def test_squares_of_words_are_turned_in_registers():
    for view in ("turned", "from right to left"):
        assert "gc_turn_any(" in gc.plan(VIEWS[view](gc.asarray(normal(300, 200))) + 1).kernels[0].source
    narrow = gc.plan(gc.asarray(normal(300, 200, dtype=np.int16)).T + 1).kernels[0].source
    assert "turned0[" in narrow and "gc_turn_any(" not in narrow


@pytest.mark.parametrize("what", BY_ROWS)
@pytest.mark.parametrize("shape", [(512, 512), (300, 515)])
def test_what_is_turned_first_has_the_bits_of_a_copy(what: str, shape: tuple[int, int]):
    a, b = normal(*shape), normal(*shape[::-1])
    x, y, copy = gc.asarray(a), gc.asarray(b), gc.asarray(np.ascontiguousarray(a.T))
    f = BY_ROWS[what][1]
    assert equal_bits(f(x.T, y).numpy(), f(copy, y).numpy())


@pytest.mark.parametrize("what", BY_ROWS)
def test_a_map_turns_what_other_loops_read(what: str):
    number, f = BY_ROWS[what]
    x, y = gc.asarray(normal(512, 512)), gc.asarray(normal(512, 512))
    assert kernels(f(x.T, y)) == number
    assert kernels(f(x[:40, :40].T, y[:40, :40])) < number      # little of it is read as it lies
    assert kernels(f(x, y)) < number


def test_what_reads_it_as_well_as_it_lies_is_not_turned():
    x, y = gc.asarray(normal(512, 512)), gc.asarray(normal(512, 512))
    few = gc.asarray(np.array([3, 500, 7]))
    for tensor in (gc.take(x.T, few, axis=0), x.T @ y, x.T @ (y * 2), (x.T + 1) @ y[0], gc.sum(x.T, axis=0),
                   gc.cumulative_sum(x[:, :500].T, axis=1), gc.sum(x[:16].T, axis=1)):
        assert kernels(tensor) == 1


def test_rows_do_not_store_columns():
    x = gc.asarray(normal(512, 512))
    assert kernels(x.T - gc.mean(x, axis=1)) == 2
    assert kernels(x - gc.mean(x, axis=1, keepdims=True)) == kernels(x[:40].T - gc.mean(x[:40], axis=1)) == 1


def test_channels_that_lie_first_are_turned_before_a_norm_of_them():
    a = normal(4, 32, 64, 64)       # lines of a row meet in one set
    x = gc.permute_dims(gc.asarray(a), (0, 2, 3, 1))
    y = x - gc.mean(x, axis=-1, keepdims=True)
    assert kernels(y) == 2
    expected = a - a.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(y.numpy(), expected.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-4)
