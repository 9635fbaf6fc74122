"""Every float rule of passes/simplify.py, proved over all 65,536 values of float16, bit for bit (any NaN for a NaN)."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphc as gc
from graphc import reference
from graphc.api.record import wrap
from graphc.ir.node import const, make, topological
from graphc.ir.ops import CAST, CONJ, DIV, MUL, NEG, POW, SUB
from graphc.passes.simplify import simplify

ALL = gc.asarray(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
COMPLEX = gc.asarray(np.random.default_rng(0).standard_normal(1000) * (1 + 2j))

RULES = {
    "x * 1": lambda x: x * 1.0,
    "1 * x": lambda x: 1.0 * x,
    "x / 1": lambda x: x / 1.0,
    "x - 0": lambda x: x - 0.0,
    "x ** 1": lambda x: x ** 1.0,
    "x ** 2": lambda x: wrap(make(POW, x.dtype, x.shape, (x.node, const(2.0, x.dtype)))),
    "-(-x)": lambda x: gc.negative(gc.negative(x)),
    "where(true, x, 1)": lambda x: gc.where(gc.asarray(True), x, 1.0),
    "cast there and back": lambda x: x.astype("float64").astype("float32"),
}
GONE = {"x * 1": MUL, "1 * x": MUL, "x / 1": DIV, "x - 0": SUB, "x ** 1": POW, "x ** 2": POW, "-(-x)": NEG}


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of floats, with one NaN for all of them."""
    array = np.array(array)
    array[np.isnan(array)] = np.nan
    return array.view(f"u{array.dtype.itemsize}")


@pytest.mark.parametrize("name", RULES)
def test_the_rule_changes_no_bit(name):
    before = RULES[name](ALL).node
    (after,) = simplify((before,))
    assert after is not before, "the rule did not apply"
    if name in GONE:
        assert GONE[name] not in {n.op for n in topological([after])}
    np.testing.assert_array_equal(*(bits(a) for a in reference.evaluate([before, after])))


@pytest.mark.parametrize("keep", [lambda x: x + 0.0, lambda x: x * 0.0, lambda x: x - x, lambda x: x / 3.0,
                                  lambda x: x - (-0.0)], ids=["x + 0", "x * 0", "x - x", "x / 3", "x - -0"])
def test_what_is_not_exact_is_not_done(keep):
    node = keep(ALL).node
    assert simplify((node,))[0] is node


def test_an_integer_cast_that_rounds_is_kept():
    """int64 -> float64 -> int64 loses bits above 2**53, although NumPy calls the first cast safe."""
    x = gc.asarray(np.array([(1 << 53) + 1, -1, 7]))
    there = make(CAST, gc.float64, x.shape, (x.node,))
    back = make(CAST, gc.int64, x.shape, (there,))
    assert simplify((back,))[0] is back


def test_conjugates_cancel():
    inner = make(CONJ, COMPLEX.dtype, COMPLEX.shape, (COMPLEX.node,))
    assert simplify((make(CONJ, COMPLEX.dtype, COMPLEX.shape, (inner,)),))[0] is COMPLEX.node


def test_a_complex_constant_becomes_real_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (gc.full(2, 3 + 4j).astype("float32") + 1).tolist() == [4, 4]


def test_a_real_constant_is_converted():
    assert (gc.arange(2) * 0.5 + gc.asarray(np.float32(1)).astype("float64")).tolist() == [1, 1.5]


def test_what_a_rule_makes_keeps_the_users_line():
    (kernel,) = gc.plan(gc.ones(3) * 2.0).kernels
    assert kernel.origins and all("test_simplify.py" in origin for origin in kernel.origins)
