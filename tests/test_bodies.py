"""Functions that loops, branches and vmap call once: what they may assign to, also where jit records them."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.errors import TracerError

CALLS = {
    "scan": lambda f, x: gc.scan(lambda c, _: (f(c), None), x, length=1)[0],
    "while_loop": lambda f, x: gc.while_loop(lambda c: c[1] < 4.0, f, x),
    "cond": lambda f, x: gc.cond(x.sum() > 0, f, lambda c: c, x),
    "vmap": lambda f, x: gc.vmap(f)(gc.stack([x, x]))[0],
}


def fresh(c):
    made = gc.zeros_like(c)
    made[1:] = c[1:] * 2
    return made


def computed(c):
    made = c * 2
    made[0] = 0.0
    return made


def given(c):
    c *= 2
    c[0] = 0.0
    return c


def added(c):
    made = c * 1
    made += fresh(c)
    return made - c


@pytest.fixture(params=[False, True], ids=["eager", "jit"])
def run(request):
    return gc.jit if request.param else lambda f: f


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("f", [fresh, computed, given, added], ids=lambda f: f.__name__)
def test_a_body_assigns_to_what_it_has_made_or_been_given(name, f, run):
    x = gc.asarray(np.arange(5, dtype=np.float32))
    expected = np.float32([0, 4, 8, 12, 16] if name == "while_loop" else [0, 2, 4, 6, 8])
    if f is given and name == "while_loop":
        expected[0] = 0
    np.testing.assert_array_equal(run(lambda x: CALLS[name](f, x))(x).numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), np.arange(5, dtype=np.float32))


@pytest.mark.parametrize("name", CALLS)
def test_a_body_assigns_to_nothing_from_outside(name, run):
    w = gc.zeros(5).realize()

    def f(c):
        w.assign(w + c)
        return c * 2

    with pytest.raises(TracerError, match="from outside of the function"):
        run(lambda x: CALLS[name](f, x))(gc.ones(5))
    assert w.tolist() == [0.0] * 5


@pytest.mark.parametrize("name", CALLS)
def test_nor_does_a_jitted_function_that_it_calls(name):
    """Which ran once, by its replay: once for all turns, and with a value that was not theirs."""
    w = gc.zeros(()).realize()

    @gc.jit
    def count():
        w.assign(w + 1)
        return w * 1

    for _ in range(3):
        count()
    with pytest.raises(TracerError, match="from outside of the function"):
        CALLS[name](lambda c: c + count(), gc.ones(5))
    assert float(w) == 3.0


def test_a_number_of_the_caller_is_as_weak_as_a_carry_under_jit(run):
    x, h = gc.asarray(np.arange(4, dtype=np.float32)), gc.asarray(np.float16(3))
    summed = run(lambda s, xs: gc.scan(lambda c, x: (c + x, None), s, xs)[0])
    grown = run(lambda s, h: gc.while_loop(lambda c: c < 100, lambda c: c * h, s))
    for start in (1.5, 1):
        assert (summed(start, x).dtype, float(summed(start, x))) == (gc.float32, start + 6)
    assert (grown(1.5, h).dtype, float(grown(1.5, h))) == (gc.float16, 121.5)


def test_vmap_repeats_a_number_of_the_caller(run):
    assert run(lambda s, x: gc.vmap(lambda v: s)(x))(2.5, gc.ones(3)).tolist() == [2.5] * 3
