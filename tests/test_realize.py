"""What realizing does to nodes that others share."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.ir.ops import CONST


def test_a_constant_stays_a_constant():
    scalars = [gc.asarray(value) for value in (False, True, 2.0, 7)]
    gc.realize(*scalars)
    assert [t.item() for t in scalars] == [False, True, 2.0, 7]
    assert all(t.node.op is CONST for t in scalars)
    doubled = gc.asarray(np.ones(3)) * 2.0
    assert doubled.node.srcs[1].op is CONST and doubled.tolist() == [2, 2, 2]
    # Passes compare conditions with the constants true and false.
    padded = gc.pad(gc.asarray(np.ones((2, 2))), ((1, 0), (0, 1)))
    assert padded.tolist() == [[0, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert gc.plan(*scalars).kernels == ()


def test_a_number_in_memory_that_is_a_result_too():
    """n + 0 is n: what lies in memory is no number that each kernel computes by itself."""
    n = gc.asarray(np.array([7]))
    same, scaled = n + 0, gc.arange(5) * n
    gc.realize(same, scaled)
    assert same.tolist() == [7] and scaled.tolist() == [0, 7, 14, 21, 28]


@pytest.mark.parametrize("read", [
    gc.linalg.inv, lambda n: gc.while_loop(lambda k: k[0, 0] < 100, lambda k: k * 2, n),
    lambda n: gc.scan(lambda k, x: (k * x, k), n, gc.arange(1.0, 5.0))[0],
    lambda n: gc.cond(n[0, 0] > 2, lambda k: k * 2, lambda k: k * 3, n),
], ids=["library", "while", "scan", "cond"])
def test_a_number_that_is_a_result_and_is_read_from_memory(read):
    """What calls a library read memory that nobody had written yet."""
    n = gc.asarray(np.array([[2.0]])) + 1
    both = gc.realize(n, read(n))
    assert both[0].tolist() == [[3.0]]
    np.testing.assert_allclose(both[1].numpy(), read(gc.asarray(np.array([[3.0]]))).numpy(), rtol=1e-12)
