"""Updates in place: never where anybody could see the old values, always where nobody can."""
from __future__ import annotations

import copy

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


def test_a_value_between_two_updates_keeps_its_own():
    x = fresh()
    x[0] = 5.0
    between = copy.copy(x)      # one node, not computed with the next
    x[1] = 7.0
    gc.realize(x)
    assert between[:3].tolist() == [5.0, 2.0, 2.0] and x[:3].tolist() == [5.0, 7.0, 2.0]


def test_what_is_computed_from_an_update_leaves_it_as_it_is():
    x = fresh()
    x[0] = 5.0
    doubled = gc.realize(x * 2 + 1)     # on memory of its own, for x is still to be computed
    assert doubled[:2].tolist() == [11.0, 5.0] and x[:2].tolist() == [5.0, 2.0]


def test_several_updates_are_in_place_together():
    x = fresh()
    before = address(x)
    for k in range(5):
        x[k] = float(k)
    gc.realize(x)
    assert address(x) == before and x[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 2.0]


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


@pytest.mark.parametrize("same", [lambda t: t * 1.0, gc.positive, lambda t: gc.sum(t.reshape((1, 5)), axis=0)])
def test_a_leaf_that_is_another_result_keeps_its_values(same):
    """What simplification makes of `same(x)` is x, which nobody else holds."""
    x = same(gc.asarray(np.arange(5.0)))
    updated = copy.copy(x)
    updated[0] = 77.0
    gc.realize(x, updated)
    assert (x.numpy()[0], updated.numpy()[0]) == (0.0, 77.0)


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


def one_more(x):
    x[2:50] += 1


def every_third_backwards(x):
    x[::-3] *= x[::-3] + 0.5


def through_a_function(x):
    x[7] = gc.exp(x[7]) if isinstance(x, gc.Tensor) else np.exp(x[7])


def often(x):
    for k in range(20):
        x[k:k + 9] += 1


@pytest.mark.parametrize("statement", [one_more, every_third_backwards, through_a_function, often])
def test_what_is_read_only_where_it_is_written_is_updated_in_place(statement):
    values = np.arange(100.0) / 7
    x = gc.realize(gc.asarray(values) * 1.5)
    expected, before = x.numpy().copy(), address(x)
    statement(x)
    statement(expected)
    gc.realize(x)
    assert address(x) == before
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-15)


def the_neighbours(x):
    x[1:] += x[:-1]


def a_part_elsewhere(x):
    x[0:10] = x[5:15]


def turned_round(x):
    x[:] = x[::-1] + 0


def one_place_twice(x):
    x[[3, 3, 5]] += 1


def a_sum_of_all(x):
    x[2:5] += x.sum()


@pytest.mark.parametrize("statement", [the_neighbours, a_part_elsewhere, turned_round, one_place_twice, a_sum_of_all])
def test_what_is_read_elsewhere_is_read_before(statement):
    x = gc.realize(gc.asarray(np.arange(100.0)) * 1.5)
    expected = x.numpy().copy()
    statement(x)
    statement(expected)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize("held", [lambda x: x * 10, lambda x: x[2:5], lambda x: x[2:5] + 1, gc.sum])
@pytest.mark.parametrize("together", [False, True])
def test_what_is_held_of_the_old_values_keeps_them(held, together):
    x = fresh()
    old = held(x)
    expected = held(np.full(1000, 2.0, "float32"))
    x[2:5] += 1
    gc.realize(x, old) if together else gc.realize(x)
    assert x[:6].tolist() == [2.0, 2.0, 3.0, 3.0, 3.0, 2.0]
    np.testing.assert_array_equal(old.numpy(), np.asarray(expected))


def part_by_part(y):
    y[0:2] += 1


def at_places(y):
    y[[0, 2]] = 9.0


@pytest.mark.parametrize("statement", [lambda y: y.__setitem__(0, 7.0), part_by_part, at_places])
@pytest.mark.parametrize("shape", [(100,), (50, 4)])
def test_a_part_that_is_updated_leaves_the_whole_as_it_is(statement, shape):
    x = gc.realize(gc.asarray(np.arange(100.0 if len(shape) == 1 else 200.0).reshape(shape)) * 1.5)
    values = x.numpy().copy()
    part = x[1:5]
    expected = values[1:5].copy()
    statement(part)
    statement(expected)
    gc.realize(part)
    np.testing.assert_array_equal(part.numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), values)
