"""gc.jit: numbers and static values that are equal and not the same, gradients by numbers, arrays that are returned."""
from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import pytest
from test_jit import traces

import graphc as gc
from graphc.errors import DTypeError, IntegerOverflow, JitError, TracerError
from graphc.pytree import flatten
from graphc.tracing.written_out import MISS

WHOLE, SMALL = gc.asarray([1, 2]), gc.asarray(np.uint8([1, 2, 3]))


@dataclasses.dataclass(frozen=True)
class Config:
    scale: float
    name: str = ""


class Pair(NamedTuple):
    scale: float
    other: int = 0


@pytest.mark.parametrize("values", [[(1,), (1.0,), (True,), (0.0,), (-0.0,)], [Config(1), Config(1.0), Config(-0.0)],
                                    [((2, 1),), ((2, 1.0),)], [Pair(1), Pair(1.0), (1, 0)]],
                         ids=["tuples", "dataclasses", "nested", "namedtuples"])
def test_static_values_that_are_equal_and_not_the_same(values):
    def f(x, s):
        number = s.scale if isinstance(s, Config) else s[0][1] if isinstance(s[0], tuple) else s[0]
        return x * number

    jitted = gc.jit(f, static_argnums=1)
    for value in (*values, *values):
        found, expected = jitted(WHOLE, value), f(WHOLE, value)
        assert found.dtype == expected.dtype
        assert found.numpy().tobytes() == expected.numpy().tobytes()


def test_keys_of_a_dict_that_are_equal_and_not_the_same():
    f = gc.jit(lambda d: [x * k for k, x in d.items()][0])
    assert [f({key: WHOLE}).dtype for key in (1, 1.0, True, 1)] == [gc.int64, gc.float64, gc.int64, gc.int64]
    assert len(f._replays) == 3


@pytest.mark.parametrize(("f", "fits", "beyond"), [
    (lambda x, n: x > n, 1, -1), (lambda x, n: x == n, 1, 300), (lambda x, n: n / x, 3, 300),
    (lambda x, n: gc.clip(x, n, 2), 1, -1), (lambda x, n: gc.asarray(n), 5, 2**63)],
    ids=["greater", "equal", "divide", "clip", "asarray"])
def test_integers_beyond_the_dtype_of_a_tensor_are_as_without_jit(f, fits, beyond):
    jitted = gc.jit(f)
    for n in (fits, beyond, fits, beyond):
        found, expected = jitted(SMALL, n), f(SMALL, n)
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


def test_random_numbers_go_on_behind_an_integer_beyond_the_dtype(backend):
    """The call that it is too large for had drawn already when it was made anew."""
    def f(x, n):
        return (x > n) + gc.random.uniform(size=3)

    results = []
    for called in (f, gc.jit(f)):
        gc.random.seed(5)
        results.append([called(SMALL, n).tolist() for n in (1, -1, 2, 300, 2)])
    assert results[0] == results[1]

    def count(n):
        offset.assign(offset + 1)
        return (SMALL > n) + gc.random.uniform(size=3) + offset

    results = []
    for called in (count, gc.jit(count)):
        gc.random.seed(6)
        offset = gc.zeros(()).realize()
        results.append([called(n).tolist() for n in (1, 1, 1, 1, -1, 1, -1, 2)])
    assert results[0] == results[1]


def test_an_integer_that_can_not_be_added_says_where():
    def f(x, n):
        return x + n

    with pytest.raises(IntegerOverflow, match=r"test_jit_values.py:\d+ in f: return x \+ n"):
        gc.jit(f)(SMALL, 300)


@pytest.mark.parametrize("given", [2.0, 0.3, gc.asarray(2.0), gc.asarray(0.3), gc.zeros(()), np.float64(0.5)], ids=str)
def test_gradients_by_a_number(given):
    """Two is a part of programs, and three tenths is a parameter of theirs: both are what a variable stands for."""
    value = float(given)
    square = gc.jit(gc.grad(lambda a: a * a))
    twice = gc.jit(gc.grad(gc.grad(lambda a: a * a * a)))
    along = gc.jit(lambda a: gc.jvp(lambda x: x * x, (a,), (gc.asarray(1.0),))[1])
    same = gc.jit(gc.grad(lambda a: a))
    for _ in range(2):
        assert float(square(given)) == float(along(given)) == 2 * value
        assert (float(twice(given)), float(same(given))) == (pytest.approx(6 * value), 1.0)


def test_gradients_by_scalar_parameters_that_a_step_returns():
    @gc.jit
    def step(p):
        gradients = gc.grad(lambda p: p[0] ** 2 + p[1] * p[0])(p)
        return [q - 0.25 * g for q, g in zip(p, gradients, strict=True)]

    p, expected = [gc.asarray(0.3), gc.asarray(2.0)], np.array([0.3, 2.0])
    for _ in range(4):
        p = step(p)
        expected = expected - 0.25 * np.array([2 * expected[0] + expected[1], expected[0]])
        np.testing.assert_allclose([float(x) for x in p], expected, rtol=1e-12)


def test_gradients_by_a_number_inside_of_a_function_and_closed_over():
    x = gc.asarray(np.arange(3.0))

    @gc.jit
    def step(a):
        a.requires_grad_()
        (a * a).backward()
        return a.grad

    assert [float(step(gc.asarray(v))) for v in (0.5, 2.0, 0.25)] == [1.0, 4.0, 0.5]
    for value in (0.7, 2.0):
        a = gc.asarray(value)
        assert float(gc.jit(lambda x, a=a: gc.grad(lambda a: (a * a * x).sum())(a))(x)) == pytest.approx(6 * value)
    filled = gc.jit(lambda n: gc.grad(lambda w: (w * w).sum())(gc.full((3,), n)))
    assert [filled(n).tolist() for n in (2.0, 0.5)] == [[4.0] * 3, [1.0] * 3]
    gc.random.seed(3)
    drawn = gc.jit(lambda: gc.grad(lambda w: (w * w).sum())(gc.random.normal(size=3)))().tolist()
    gc.random.seed(3)
    assert drawn == (gc.random.normal(size=3) * 2).tolist()


def test_an_array_that_is_returned_is_the_callers_own():
    def f(x):
        return x + 1, np.zeros(2)

    jitted, x = gc.jit(f), gc.ones(3)
    for _ in range(3):
        array = jitted(x)[1]
        assert array.tolist() == [0.0, 0.0]
        array += 5


def test_arguments_by_name_are_the_same_call(compiled):
    def f(x, scale=1.0, /, shift=0.0, power=1, *, last=0.0):
        return (x * scale + shift) ** power + last

    jitted, x = gc.jit(f, static_argnames="power"), gc.asarray([1.0, 2.0])
    calls = [((x, 2.0, 3.0, 2), {}), ((x, 2.0), {"shift": 3.0, "power": 2}), ((x, 2.0), {"power": 2, "shift": 3.0})]
    assert [jitted(*args, **kwargs).tolist() for args, kwargs in calls] == [[25.0, 49.0]] * 3
    assert traces(jitted) == 1 and jitted.plan(x, 2.0, power=2, shift=3.0) is not None and traces(jitted) == 1
    assert jitted(x, power=2).tolist() == f(x, power=2).tolist() == [1.0, 4.0]
    assert jitted(x, last=1.0).tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="scale"):
        jitted(x, scale=2.0)

    def passed_on(*args, **kwargs):     # it looks for its names itself
        return args[0] * kwargs["scale"]

    functools.update_wrapper(passed_on, lambda x, scale: x * scale)
    assert gc.jit(passed_on)(x, scale=2.0).tolist() == [2.0, 4.0]
    method = gc.jit(gc.nn.Linear(2, 1, bias=False).forward)
    assert method(x=x.astype("float32")).tolist() == method(x.astype("float32")).tolist()


@pytest.fixture
def quick(backend):
    if backend != "cpu":
        pytest.skip("common calls are written out where programs run on the CPU")


@pytest.mark.parametrize("tree", ["dict", "tuple", "list", "nested"])
def test_calls_with_trees_are_quick(quick, tree):
    """They took ten times as long as those with the tensors by themselves."""
    a, b = gc.asarray([1.0, 2.0]), gc.asarray([3.0, 4.0])
    make = {"dict": lambda a, b, n: {"a": a, "b": b, "n": n}, "tuple": lambda a, b, n: (a, b, n),
            "list": lambda a, b, n: [a, b, n], "nested": lambda a, b, n: {"x": (a, [b]), "y": {}, "n": (n, ())}}[tree]

    @gc.jit
    def f(tree, x):
        a, b, n = flatten(tree)[0]
        return (a - b) * n + x

    x = gc.asarray([10.0, 20.0])
    for n in (1.0, 2.0, 3.0):
        assert f(make(a, b, n), x).tolist() == [10 - 2 * n, 20 - 2 * n]
    assert f._fast.__name__ == "fast" and traces(f) == 1
    assert f._fast((make(b, a, 2.0), x)).tolist() == [14.0, 24.0]
    others = [make(a.astype("float32"), b, 2.0), make(a, b, 2), make(a[:1], b, 2.0), make(a, b, 2.0) | {"m": a}
              if tree == "dict" else make(a, b, True), make(gc.zeros(2), b, 2.0), None]
    for other in others:
        assert f._fast((other, x)) is MISS
    reversed_keys = {"b": b, "a": a, "n": 2.0}
    assert f._fast((reversed_keys, x)) is MISS
    assert f(make(a, b, 2), x).tolist() == [6.0, 16.0]
    with gc.no_grad():
        assert f(make(a, b, 2.0), x).tolist() == [6.0, 16.0]
    if tree == "tuple":
        assert gc.grad(lambda tree: f(tree, x).sum())((a, b, 2.0))[0].tolist() == [2.0, 2.0]


def test_calls_with_static_arguments_are_quick(quick):
    f = gc.jit(lambda x, n, mode, last=None: x * n + (1 if mode else 0) + (0 if last is None else len(last)),
               static_argnums=1)
    x = gc.asarray([1.0, 2.0])
    for _ in range(3):
        assert f(x, 3, True).tolist() == [4.0, 7.0]
    assert f._fast((x, 3, True)).tolist() == [4.0, 7.0]
    assert f._fast((x, 3, 1)) is MISS
    for other in ((x, 4, True), (x, 3, False), (x, True, True), (x, 3.0, True), (x, 3, True, None)):
        assert f._fast(other) is MISS
        assert f(*other).tolist() == f._f(*other).tolist()
    for last in ("it's", 'a "b" \n', None, "it's"):
        for _ in range(3):
            assert f(x, 2, False, last).tolist() == f._f(x, 2, False, last).tolist()


@pytest.mark.parametrize("f", [
    lambda a, b: gc.linspace(a, b, 7), lambda a, b: gc.linspace(a, 3, 5, endpoint=False, dtype="float64"),
    lambda a, b: gc.linspace(0, b, 1), lambda a, b: gc.linspace(a, b, 4, retstep=True)[1] * gc.ones(()),
    lambda a, b: gc.linspace([0, 1.5], b, 3), lambda a, b: gc.linspace(a, b * 2, 5, dtype="int32"),
    lambda a, b: gc.logspace(a, b, 4), lambda a, b: gc.gradient(gc.arange(5.0) ** 3 + a, b),
    lambda a, b: gc.gradient(gc.arange(5.0) ** 3, a, edge_order=2),
], ids=["ends", "one end", "one number", "step", "rows", "integers", "powers", "slopes", "slopes of order two"])
def test_numbers_that_set_the_distance_of_samples(backend, f):
    jitted = gc.jit(f)
    for a, b in ((0.1, 0.7), (1 / 3, 2e-3), (-2.5, 9.25), (1e-150, 3e-150), (0.3, 0.3)):
        want, got = (np.asarray(g(a, b)) for g in (f, jitted))
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(got, want)
    assert traces(jitted) == 1
    for a, b in ((1, 4), (2, 3), (-7, 7)):
        np.testing.assert_array_equal(np.asarray(jitted(a, b)), np.asarray(f(a, b)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["setitem", "full_like", "asarray", "put"])
def test_a_float_becomes_an_integer_or_an_error(name, dtype):
    """Without its fraction; lazily, traced and at a later call alike."""
    def f(x, number):
        y = x * 1
        if name == "setitem":
            y[1:] = number
        elif name == "put":
            gc.put(y, [0], number)
        else:
            y = y + (gc.full_like(x, number) if name == "full_like" else gc.asarray(number, dtype=dtype))
        return y

    x, jitted = gc.ones(3, dtype=dtype), gc.jit(f)
    for number in (2.7, -0.5, 99.0, 3.0):
        whole = int(number)
        want = np.asarray({"setitem": [1, whole, whole], "put": [whole, 1, 1]}.get(name, [1 + whole] * 3), dtype)
        np.testing.assert_array_equal(jitted(x, number).numpy(), want, strict=True)
        np.testing.assert_array_equal(f(x, number).numpy(), want, strict=True)
    for number, error in ((float("nan"), DTypeError), (float("-inf"), DTypeError), (1e30, IntegerOverflow),
                          (1e300, IntegerOverflow)):
        for call in (f, jitted, gc.jit(f)):
            with pytest.raises(error):
                call(x, number)
        with pytest.raises(error):
            gc.asarray([1.5, number], dtype=dtype)
    assert jitted(x, 2.7).tolist() == f(x, 2.7).tolist()


def test_tensors_that_are_recorded_alike_are_donated():
    """As zeros are, with which a state begins: they share their memory, and are two."""
    start = gc.asarray(np.arange(4.0))
    for make in (lambda: gc.zeros(4), lambda: gc.realize(gc.zeros(4)), lambda: start * 2):
        jitted = gc.jit(lambda m, v: (m.at[0].set(1.0), v + 2), donate_argnums=(0, 1))
        m, v, other = make(), make(), make()
        want = other.numpy().copy()
        for _ in range(3):
            m, v = jitted(m, v)
        assert m.tolist() == [1.0, *want[1:]] and v.tolist() == (want + 6).tolist() and other.tolist() == want.tolist()
        m = make()
        with pytest.raises(JitError, match="given twice"):
            jitted(m, m)
        assert gc.jit(lambda a, b: a + b, donate_argnums=0)(m, make()).tolist() == (want * 2).tolist()
        with pytest.raises(TracerError, match="given away"):
            m.tolist()
