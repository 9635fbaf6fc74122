"""Updates in place: never where anybody could see the old values, always where nobody can."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc


@pytest.fixture(autouse=True)
def _kernels_only(backend):
    if backend == "reference":
        pytest.skip("the reference copies every value")


def address(tensor):
    return tensor.node.value.address


def updated(tensor):
    """Where the values lay before `tensor[0] = 3`, and whether they were overwritten there."""
    before = address(tensor)
    tensor[0] = 3.0
    gc.realize(tensor)
    return address(tensor) == before


def fresh():
    return gc.realize(gc.ones(1000) * 2)


def test_the_only_holder_is_updated_in_place():
    x = fresh()
    assert updated(x)
    np.testing.assert_array_equal(x.numpy(), [3.0] + [2.0] * 999)


def test_another_tensor_keeps_the_old_values():
    x = fresh()
    other = x.reshape(10, 100)
    assert not updated(x)
    assert other.numpy()[0, 0] == 2.0


def test_an_exported_view_keeps_the_old_values():
    x = fresh()
    view = x.numpy()
    assert not updated(x)
    assert view[0] == 2.0


def test_a_pending_reader_sees_the_old_values():
    x = fresh()
    y = x * 10
    assert not updated(x)
    assert y.numpy()[0] == 20.0


def test_a_thousand_rows_move_the_array_once():
    """1,000 assignments to one array: one copy of it at most, and each row written once."""
    x = fresh_matrix = gc.realize(gc.zeros((500, 64), dtype="float32"))
    before = gc.counters()
    for i in range(500):
        x[i] = float(i)
    plan = gc.plan(x)
    gc.realize(x)
    assert plan.copies == 1
    assert plan.bytes_moved <= 2 * fresh_matrix.nbytes
    assert (gc.counters() - before).launches <= 501
    np.testing.assert_array_equal(x.numpy()[:, 0], np.arange(500, dtype=np.float32))
