"""Graphs that are built over and over are recognised: no other graph is taken for one of them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphc as gc
from graphc import again, canonical, driver, familiar
from graphc.config import settings
from graphc.errors import IndexOutOfRange
from graphc.runtime.buffers import pool
from graphc.tolerances import equal_bits


@pytest.fixture(autouse=True)
def at_first_sight(compiled, monkeypatch):
    monkeypatch.setattr(familiar, "OFTEN", 1)
    driver.forget_programs()
    yield
    driver.forget_programs()


@pytest.fixture
def walks(monkeypatch):
    """Counts the walks over graphs."""
    done = []
    walk = canonical.canonicalize
    monkeypatch.setattr(canonical, "canonicalize", lambda *args, **kwargs: done.append(args) or walk(*args, **kwargs))
    return done


def leaf(seed: int, *shape: int, dtype: str = "float32") -> gc.Tensor:
    return gc.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def check(f, *arrays: np.ndarray) -> None:
    """f of tensors against f of the same tensors with each operation by itself."""
    want = f(*map(gc.asarray, arrays), step=gc.realize)
    found = f(*map(gc.asarray, arrays), step=lambda t: t)
    assert equal_bits(found.numpy(), want.numpy())


def test_a_loop_walks_over_its_graph_twice(walks):
    for seed in range(6):
        x = leaf(seed, 5)
        before = gc.counters()
        y = ((x * (seed + 0.25) + 1.5).exp() - x).numpy()
        assert np.allclose(y, np.exp(x.numpy() * np.float32(seed + 0.25) + np.float32(1.5)) - x.numpy(), rtol=1e-5)
        done = gc.counters() - before
        assert (done.launches, done.program_hits + done.program_misses) == (1, 1)
    assert len(walks) == 2


@pytest.mark.parametrize("number", [0.75, 2.0, 1.0, 0.0, -0.0, np.nan, np.inf])
def test_numbers_of_the_structure_are_told_apart(number):
    def f(x, step):
        return step(step(x * number) + 0.5)

    for value in (0.75, 1.25, 1.75):
        gc.realize(leaf(1, 4) * value + 0.5)
    check(f, np.array([1, -0.0, np.inf, np.nan], np.float32))


@pytest.mark.parametrize("exponent", [2.5, 3.5, 2.0, 3.0, 0.5, -1.0])
def test_exponents_are_told_apart(exponent):
    for _ in range(3):
        gc.realize(abs(leaf(1, 4)) ** 2.5 + 1.5)
    x = np.abs(np.random.default_rng(2).normal(size=4)).astype(np.float32)
    check(lambda x, step: step(step(x ** exponent) + 1.5), x)


def test_the_pattern_of_sources_is_told_apart():
    def graph(a, b, c, d):
        return ((a + b) * c - d).sum()

    def want(a, b, c, d):
        return ((a.numpy() + b.numpy()) * c.numpy() - d.numpy()).sum(dtype=np.float64)

    x, y, z, u = (leaf(seed, 7) for seed in range(4))
    for given in [(x, y, z, y)] * 3 + [(x, y, z, u), (y, x, z, x), (x, x, z, x), (x, y, x, y), (z, z, z, u)] * 2:
        assert np.isclose(float(graph(*given)), want(*given), rtol=1e-5, atol=1e-5)


def test_another_shape_dtype_or_value_is_another_graph(walks):
    def f(x, y):
        return (x + y) * y

    for _ in range(3):
        gc.realize(f(leaf(0, 4), leaf(1, 4)))
    count = len(walks)
    for x, y in [(leaf(0, 5), leaf(1, 5)), (leaf(0, 1), leaf(1, 4)), (leaf(0, 4, dtype="float64"), leaf(1, 4)),
                 (leaf(0, 4) + 1.0, leaf(1, 4)), (leaf(0, 4), leaf(1, 4).exp())]:
        want = f(x.numpy().copy(), y.numpy().copy()) if x.node.value is not None and y.node.value is not None else None
        found = f(x, y).numpy()
        assert want is None or np.allclose(found, want, rtol=1e-6)
    assert len(walks) > count


def test_several_roots(walks):
    for seed in range(5):
        x = leaf(seed, 6)
        low, high = x.min(), x.max()
        gc.realize(low, high, (x - low) / (high - low))
        assert float(low) == x.numpy().min() and float(high) == x.numpy().max()
    assert len(walks) == 2


def test_what_is_kept_beside_a_number_that_is_looked_at_is_familiar(walks):
    """The next state, also where only a view of it is held, in a loop that reads the rows of a table one by one."""
    again.forget()
    a = table = np.linspace(1, 2, 16).reshape(4, 4)
    x, rows, counts = gc.asarray(a), gc.asarray(table), []
    for turn in range(12):
        before = len(walks), gc.counters()
        a = (np.tanh(a @ a * 0.5 + table[turn % 4]) + a).T.reshape(4, 4)
        x = (gc.tanh(x @ x * 0.5 + rows[turn % 4]) + x).T       # where a row starts is no part of the structure
        assert np.isclose(float(gc.sum(gc.exp(-x) * x)), (np.exp(-a) * a).sum())
        counts.append((len(walks) - before[0], (gc.counters() - before[1]).launches))
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-12)
    assert [walked for walked, _ in counts[8:]] == [0] * 4 and len(set(counts[8:])) == 1


def test_the_same_graph_of_which_other_nodes_are_held_is_another(walks, backend):
    again.forget()

    def distance(x, hold: bool):
        y = gc.tanh(x * 0.5) * 2.5 + x
        away, y = abs(y - x), y if hold else None
        return gc.sum(away), y

    x = leaf(0, 40)
    for _ in range(6):
        total, y = distance(x, True)
        assert float(total) > 0
        x = y
    assert x.node.value is not None
    want = np.abs(np.tanh(x.numpy() * 0.5) * 2.5).sum()
    for hold in (True, False) * 3:
        total, y = distance(x, hold)
        count, bytes_before = len(walks), pool.in_use
        assert np.isclose(float(total), want, rtol=1e-5)
        assert y is None or y.node.value is not None
        if backend == "cpu":                       # whose memory comes from the pool
            assert pool.in_use - bytes_before == total.nbytes + hold * x.nbytes
    assert len(walks) == count


def test_a_bad_index_is_told_with_its_line():
    table = leaf(0, 4)
    for _ in range(4):
        gc.realize(gc.take(table, gc.asarray([0, 3])) * 2.5)
    with pytest.raises(IndexOutOfRange, match=r"test_familiar\.py"):
        gc.realize(gc.take(table, gc.asarray([0, 4])) * 2.5)


def test_updates_in_place_take_the_long_way():
    x = gc.zeros((8,), dtype=gc.float32)
    for k in range(5):
        y = x + 1.0
        y[k] = 5.5
        x = gc.realize(y) if k % 2 else y
    assert np.array_equal(x.numpy(), [9.5, 8.5, 7.5, 6.5, 5.5, 5, 5, 5])


def test_switches_are_looked_at(walks):
    def f():
        return leaf(0, 4).exp() + 1.5

    for _ in range(3):
        gc.realize(f())
    count = len(walks)
    gc.realize(f())
    assert len(walks) == count
    with settings.override(disable="fuse"):
        gc.realize(f())
    assert len(walks) > count


def test_constants_go_where_the_user_is():
    def f():
        return gc.zeros(3) + 1.5

    for _ in range(4):
        gc.realize(f())
    before = gc.counters()
    with gc.backend("reference"):
        assert gc.realize(f()).device == "reference"
    assert (gc.counters() - before).launches == 0


def test_threads_share_what_is_familiar():
    x = leaf(3, 100)
    want = ((x * 2.5 + 0.5).exp()).numpy()
    wrong = []

    def work():
        for _ in range(200):
            if not equal_bits((x * 2.5 + 0.5).exp().numpy(), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_known_is_bounded(monkeypatch):
    monkeypatch.setattr(familiar, "MOST_ROOTS", 3)
    for n in range(1, 9):
        for _ in range(3):
            gc.realize(leaf(0, n) * 1.5)
        assert len(familiar._known) <= 3
    for k in range(7):
        for _ in range(3):
            gc.realize(leaf(0, 4)[:2] * 1.5 + leaf(0, 2 + k)[:2])
    assert all(len(graphs) <= familiar.MOST_ALIKE for graphs in familiar._known.values())
