"""Bounded laziness: deep graphs are realized by themselves, all states of a loop together."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import graphc as gc
from graphc.api import laziness, numbers
from graphc.api.laziness import unlimited
from graphc.canonical import canonicalize, rebuild_canonical
from graphc.config import settings
from graphc.ir import node
from graphc.runtime.buffers import pool


def test_a_deep_chain_is_realized_by_itself():
    x = gc.zeros(3) + gc.asarray([1.0, 2.0, 3.0])
    before = gc.counters().launches
    with settings.override(lazy_limit=50):
        for _ in range(220):
            x = x + 1
            assert x.node.depth < 50
    assert gc.get_backend_name() == "reference" or gc.counters().launches - before == 5     # at 50, then every 38
    assert x.tolist() == [221.0, 222.0, 223.0]


def test_states_of_one_loop_are_realized_together():
    a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    x, y = gc.asarray(a), gc.asarray(b)
    with settings.override(lazy_limit=40):
        for _ in range(100):
            x, y = 0.5 * x + y, y - 0.25 * x
            a, b = 0.5 * a + b, b - 0.25 * a
            assert x.node.depth < 40 and y.node.depth < 40
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-13)
    np.testing.assert_allclose(y.numpy(), b, rtol=1e-13)


def test_a_loop_is_cut_into_equal_parts_and_computes_nothing_twice():
    a = np.arange(24.0).reshape(6, 4)
    x = gc.asarray(a)
    before = gc.counters()
    with settings.override(lazy_limit=40):
        for k in range(96):
            for rows in (a, x):
                rows[k % 6] = 0.5 * (rows[(k + 1) % 6] + rows[k % 6]) + 1
            half = 0.5 * x      # held while the loop goes on
            x = half + half * half / (1 + x)
            a = 0.5 * a + 0.25 * a * a / (1 + a)
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-12)
    counts = gc.counters() - before
    assert gc.get_backend_name() == "reference" or (counts.launches <= 2 * 96 and counts.program_misses <= 6)


def test_a_plain_loop_does_not_count_its_depths_anew(monkeypatch):
    monkeypatch.setattr(laziness, "_count_depths_anew", lambda: pytest.fail("every node that waits was walked over"))
    x, y = gc.asarray([1.0, 2.0]), gc.asarray([0.5, 0.25])
    with settings.override(lazy_limit=30):
        for _ in range(100):
            x, y = x * 0.5 + y, y - 0.125 * gc.roll(x, 1, axis=0)
    assert x.node.depth < 30


def test_no_limit():
    x = y = gc.asarray([1.0])
    with settings.override(lazy_limit=0):
        for _ in range(3000):
            x = x + 1
    assert x.node.depth == 3000
    with settings.override(lazy_limit=20), unlimited():
        for _ in range(30):
            y = y * 2
    assert y.node.depth == 30


def test_many_waiting_operations_are_realized(monkeypatch):
    node._consts.clear()    # which would be emptied while the nodes are counted, if other tests have filled it
    numbers.cached_scalars.clear()
    monkeypatch.setattr(laziness, "MOST_NODES", len(node.interned) + 40)
    laziness.alarm.move(laziness.MOST_NODES)
    x = gc.asarray([1.0, 2.0, 3.0])
    results = [x + k for k in range(2, 60)]
    realized = [t.node.value is not None for t in results]
    assert realized.index(False) >= 20 and not any(realized[realized.index(False):])
    with unlimited():
        more = [x * k for k in range(2, 200)]
    assert not any(t.node.value is not None for t in more)
    assert [t.tolist() for t in results[:2]] == [[3.0, 4.0, 5.0], [4.0, 5.0, 6.0]]


def test_leaves_that_fill_the_memory_are_let_go(monkeypatch):
    monkeypatch.setattr(laziness, "LEAST_BYTES", 1 << 20)
    monkeypatch.setattr(laziness, "memory", SimpleNamespace(available_bytes=lambda: 0))
    monkeypatch.setattr(laziness.alarm, "bytes", pool.in_use + (1 << 20))
    before, total = pool.in_use, gc.asarray(np.zeros(1 << 15))
    for k in range(40):
        total = total + gc.asarray(np.full(1 << 15, float(k)))
        assert pool.in_use - before < 3 << 20      # 40 of them are 10 MB
    assert total[5].item() == sum(range(40))
    with settings.override(lazy_limit=0):
        monkeypatch.setattr(laziness.alarm, "bytes", 0)
        for k in range(20):
            total = total + gc.asarray(np.full(1 << 15, float(k)))
        assert pool.in_use - before > 4 << 20


def test_what_fails_waits_for_its_reader(monkeypatch):
    """An index out of range somewhere must not fail what has nothing to do with it."""
    x = gc.asarray([1.0, 2.0])
    bad = x[gc.asarray(np.array([5])) + 0] * 2
    laziness.alarm.move(0)
    y = x + 1
    assert y.node.value is not None and y.tolist() == [2.0, 3.0] and bad.node.value is None
    with settings.override(lazy_limit=20):
        for _ in range(50):
            bad, y = bad + 1 if bad.node.depth < 18 else bad, y + 1
    assert y.tolist() == [52.0, 53.0]
    with pytest.raises(IndexError, match="index 5 is out of range"):
        bad.numpy()


def test_what_a_pass_made_is_not_realized(backend):
    """A canonical graph that somebody keeps has leaves without memory."""
    x = gc.asarray([1.0, 2.0])
    kept, _ = rebuild_canonical(canonicalize([(x * 3 + 1).node]))
    with settings.override(lazy_limit=20):
        for _ in range(50):
            x = x + 1
    laziness.alarm.move(0)
    y = x * 2
    assert y.tolist() == [102.0, 104.0] and kept[0].value is None


def test_a_view_that_somebody_holds_is_not_stored_where_a_loop_is_cut():
    x = gc.asarray(np.linspace(0, 1, 50))
    with settings.override(lazy_limit=40):
        for _ in range(30):
            apart = x[:, None] - x[None]        # 50 times as large as x, and held while the loop goes on
            x = x + 0.01 * gc.sum(gc.where(gc.abs(apart) < 0.1, apart, 0.0), axis=1)
            assert apart.node.value is None
    assert np.isfinite(x.numpy()).all()


@pytest.mark.parametrize("made", [lambda: gc.linspace(0, 1, 200), lambda: gc.arange(600.0).reshape((200, 3)) * 2])
@pytest.mark.parametrize("look", [gc.to_numpy, lambda row: float(gc.sum(row))])
def test_rows_that_are_looked_at_one_by_one_are_computed_together(made, look):
    """Each alone would be a program of its own, as many as there are rows."""
    x, before = made(), gc.counters()
    rows = [(look(row), row)[1] for row in x]
    assert (gc.counters() - before).program_misses <= 8
    assert np.array_equal([row.numpy() for row in rows], made().numpy())


def test_iteration_alone_computes_nothing():
    x, before = gc.ones((5, 3)) * 2, gc.counters()
    first, *rest = x
    assert len(rest) == 4 and first.node.value is None and (gc.counters() - before).launches == 0
    assert len(gc.plan(sum(rest, first)).kernels) == 1
