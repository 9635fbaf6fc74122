"""gc.jit where a call fails, and where what a trace holds on to goes: no tensor shows what nobody assigned to it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphc as gc
from graphc import nn
from graphc.errors import TracerError
from graphc.tracing import jitted

pytestmark = pytest.mark.usefixtures("compiled")


def written(n: int, dtype: str = "float64") -> gc.Tensor:
    """Zeros in memory of graphc's, which an update may be written to."""
    x = gc.asarray(np.zeros(n, dtype))
    x[0] = 0
    return x.realize()


def called(f, *args, times: int = 3):
    for _ in range(times):
        f(*args)
    return f


def test_half_a_scatter_is_not_shown():
    state, good, bad = written(10), gc.asarray([1, 2, 3]), gc.asarray([5, 6, 70])

    def f(s, index):
        s[index] = 1.0
    g = called(gc.jit(f), state, good)
    with pytest.raises(IndexError, match="index 70 is out of range"):
        g(state, bad)
    with pytest.raises(TracerError, match="failed while it wrote to the tensor in place"):
        state.tolist()
    with pytest.raises(TracerError, match="assign to it anew"):
        g(state, good)
    state.assign(gc.zeros(10))
    g(state, good)
    assert state.tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_a_parameter_that_lost_its_values_is_one_still():
    weights = nn.parameter(written(10, "float32"))

    def f(index):
        with gc.no_grad():
            weights[index] = 1.0
    g = called(gc.jit(f), gc.asarray([1, 2, 3]))
    with pytest.raises(IndexError):
        g(gc.asarray([5, 6, 70]))
    with pytest.raises(TracerError, match="failed while it wrote"):
        weights.tolist()
    with gc.no_grad():
        weights.assign(gc.zeros(10))
    assert weights.is_parameter and weights.requires_grad and weights.tolist() == [0] * 10
    (weights * 2).sum().backward()
    assert weights.grad.tolist() == [2] * 10


def test_what_an_array_shows_is_as_before_a_failed_call(backend):
    if backend != "cpu":
        pytest.skip("an array shows a copy of a device's memory")
    state = written(10)

    def f(s, index):
        s[index] = 1.0
    g = called(gc.jit(f), state, gc.asarray([1, 2, 3]))
    shown = state.numpy()
    with pytest.raises(IndexError):
        g(state, gc.asarray([5, 6, 70]))
    assert state.tolist() == shown.tolist() == [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("closed", [True, False])
def test_a_call_fails_before_it_writes_where_it_can(closed, backend):
    """On a device all kernels of a program run before it is known that one has failed."""
    state, table = written(1000), gc.asarray(np.arange(5.0))

    def f(index, s=state):
        s[2:500] += 1.0
        return table[index]
    g = gc.jit(f)
    given = () if closed else (state,)
    called(g, gc.asarray([1, 2]), *given, times=4)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 20 is out of range"):
            g(gc.asarray([1, 20]), *given)
        if backend == "cpu":
            assert state[:3].tolist() == [0, 0, 4]
        else:
            with pytest.raises(TracerError, match="failed while it wrote"):
                state.tolist()
            break


def test_a_singular_matrix_leaves_what_is_written_after_it(backend):
    count = written(3)

    def f(a):
        count[0] += 1.0
        return gc.linalg.inv(a)
    g = called(gc.jit(f), gc.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        g(gc.zeros((2, 2)))
    if backend == "cpu":
        assert count.tolist() == [3, 0, 0]


def test_constants_of_a_trace_that_was_dropped_are_not_used_again():
    """The call that is written out held their addresses, and the memory had other values by then."""
    class Model:
        pass
    model = Model()
    best = model.w = gc.asarray(np.arange(1.0, 4.0))
    table, x = np.array([10.0, 20.0, 30.0]), gc.asarray(np.ones(3)).realize()
    f = called(gc.jit(lambda x: x * model.w + table), x)
    model.w = gc.asarray(np.zeros(3))
    f(x)
    junk = [gc.asarray(np.full(3, -5.0)) for _ in range(80)]
    model.w = best
    assert f(x).tolist() == [11, 22, 33] and len(junk) == 80


def test_constants_of_the_oldest_signature_live_as_long_as_its_call(monkeypatch, backend):
    if backend != "cpu":
        pytest.skip("a call is written out for the CPU")
    monkeypatch.setattr(jitted, "SIGNATURES", 2)
    table = np.array([0.5, 0.25])
    f = gc.jit(lambda x, n: x * table * n, static_argnums=1)
    x = gc.asarray(np.ones(2)).realize()
    called(f, x, 1)
    fast = f._fast
    for n in (2, 3, 4):
        f(x, n)
    junk = [gc.asarray(np.full(2, -5.0)) for _ in range(80)]
    assert fast((x, 1)).tolist() == [0.5, 0.25] and len(junk) == 80


@pytest.mark.parametrize("pair", [(0j, complex(0, -0.0)), (np.float64(0.0), np.float64(-0.0)),
                                  ((1, 0j), (1, complex(0, -0.0))), (np.float32(1), np.float64(1))])
def test_static_values_that_are_equal_but_not_the_same(pair):
    f = gc.jit(lambda x, value: x + repr(value).count("-") + repr(value).count("64"), static_argnums=1)
    assert [f(gc.asarray([1]), value).tolist() for value in pair] == [
        [1 + repr(value).count("-") + repr(value).count("64")] for value in pair]


def test_a_static_int_of_many_digits():
    f = gc.jit(lambda x, n: x * (n % 7), static_argnums=1)
    assert [f(gc.asarray([2.0]), 10**5000 + 3).tolist() for _ in range(3)] == [[2.0 * ((10**5000 + 3) % 7)]] * 3


@pytest.mark.parametrize("how", ["eager", "jit", "donated"])
def test_one_array_wrapped_twice_is_not_written_to(how):
    a = np.arange(1.0, 1001.0)
    a.flags.writeable = False
    x, y = gc.asarray(a), gc.asarray(a)

    def f(x, y):
        x[1:30] += y[1:30]
        return x
    if how == "eager":
        f(x, y)
    elif how == "jit":
        called(gc.jit(f), x, y, times=1)
    else:
        x = gc.jit(lambda x, y: x.at[1:30].add(y[1:30]), donate_argnums=0)(x, y)
    assert x[:3].tolist() == [1, 4, 6] and a[1] == 2 and y[:3].tolist() == [1, 2, 3]


def test_a_value_that_is_read_while_a_call_writes_in_place(backend):
    if backend != "cpu":
        pytest.skip("an array shows a copy of a device's memory")
    x = written(1 << 22)

    def up():
        x[1:] += 1.0
    f, stop = called(gc.jit(up)), threading.Event()

    def again():
        while not stop.is_set():
            f()
    writer = threading.Thread(target=again)
    writer.start()
    try:
        for _ in range(50_000):
            shown = x.numpy()
            first = shown[1]
            assert first == shown[-1] and shown[1] == first
    finally:
        stop.set()
        writer.join()
