"""Bounded laziness: deep graphs are realized by themselves, all states of a loop together."""
from __future__ import annotations

import numpy as np

import graphc as gc
from graphc.api.laziness import unlimited
from graphc.config import settings


def test_a_deep_chain_is_realized_by_itself():
    x = gc.zeros(3) + gc.asarray([1.0, 2.0, 3.0])
    before = gc.counters().launches
    with settings.override(lazy_limit=50):
        for _ in range(220):
            x = x + 1
            assert x.node.depth < 50
    assert gc.get_backend_name() == "reference" or gc.counters().launches - before == 4
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
