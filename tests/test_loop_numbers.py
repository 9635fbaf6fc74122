"""States of loops that begin as Python numbers: they take the dtype that a turn gives them, if it can hold them."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.errors import DTypeError, IntegerOverflow

WHOLE, SMALL = gc.asarray([1, 2, 3]), gc.asarray(np.uint8([1, 2, 3]))


def before(init, xs):
    """What the state was before each turn, of a loop whose state becomes the last element."""
    return gc.scan(lambda c, x: (x, c), init, xs)[1]


def test_a_number_takes_the_dtype_that_a_turn_gives_it():
    last, _ = gc.scan(lambda c, x: (c + x, None), 0, gc.ones(4, dtype="float32"))
    assert last.dtype == gc.float32 and last.item() == 4
    assert gc.while_loop(lambda v: v < 9, lambda v: v * 2.5, 1).item() == 15.625
    assert gc.scan(lambda s, _: (s * 1.5, None), 1, None, length=3)[0].item() == 3.375
    assert gc.scan(lambda c, x: (c + x, c), 0.5, WHOLE)[1].tolist() == [0.5, 1.5, 3.5]


@pytest.mark.parametrize("wrapped", [lambda f: f, gc.jit], ids=["lazy", "jit"])
@pytest.mark.parametrize(("init", "xs", "kinds"), [
    (2.7, WHOLE, "float64 before a turn, int64"), (5, WHOLE > 1, "int64 before a turn, bool"),
    (1 + 2j, gc.ones(3), "complex128 before a turn, float64"), (True, WHOLE, "bool before a turn, int64"),
], ids=str)
def test_a_number_that_the_dtype_can_not_hold(wrapped, init, xs, kinds):
    with pytest.raises(DTypeError, match=f"the carry is {kinds} after it"):
        wrapped(lambda k: before(k, xs))(init)


def test_a_number_whose_condition_a_turn_does_not_keep():
    with pytest.raises(DTypeError, match="the carry is float64 before a turn, int64 after it"):
        gc.scan(lambda c, x: (gc.where(c > 1.5, x, x + 1), c), 1.9, WHOLE)


def test_an_integer_out_of_range():
    jitted = gc.jit(lambda k: before(k, SMALL))
    assert jitted(255).tolist() == [255, 1, 2]
    for k in (-1, 256, 300):
        for f in (jitted, lambda k: before(k, SMALL)):
            with pytest.raises(IntegerOverflow, match=f"the integer {k} does not fit uint8"):
                f(k)


def test_a_bool_is_no_number(backend):
    """~True is -2."""
    def signs(start, x):
        return gc.scan(lambda c, y: (~c, gc.where(c, y, -y)), start, x)[1]
    x = gc.ones(3)
    for f in (signs, gc.jit(signs), lambda start, x: gc.vmap(lambda x: signs(start, x))(gc.expand_dims(x, 0))[0]):
        assert f(True, x).tolist() == [1, -1, 1] and f(False, x).tolist() == [-1, 1, -1]
    assert gc.scan(lambda c, _: (~c, c), True, length=4)[1].tolist() == [True, False, True, False]
    count, flag = gc.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, ~c[1]), (0, True))
    assert (count.item(), flag.item()) == (3, False) and flag.dtype is gc.bool
