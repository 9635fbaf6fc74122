"""Random numbers: the same everywhere, and of the right distribution."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from api_compare import raises
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc


def generator(seed: int = 0):
    return gc.random.Generator(seed)


def test_known_bits():
    """Threefry-2x32-20 by the authors' known answers (kat_vectors of Random123), low word first."""
    g = generator()
    for key, counter, answer in (
        (0, 0, 0x99BA4EFE6B200159),
        (2**64 - 1, 2**64 - 1, 0xBB002BE71CB996FC),
        (0x0370734413198A2E, 0x85A308D3243F6A88, 0x483DF7A0C4923A9C),
    ):
        g.state = (key, counter)
        assert np.asarray(g.bits()).item() == answer


def test_bits_by_plain_python():
    """Every element, whatever the shape, is Threefry of the key and its place in the stream."""
    def threefry(key, counter):
        mask = 2**32 - 1
        keys = [key & mask, key >> 32]
        keys.append(keys[0] ^ keys[1] ^ 0x1BD11BDA)
        a, b = (counter & mask) + keys[0] & mask, (counter >> 32) + keys[1] & mask
        for i in range(20):
            a = a + b & mask
            turn = (13, 15, 26, 6, 17, 29, 16, 24)[i % 8]
            b = (b << turn | b >> 32 - turn) & mask ^ a
            if i % 4 == 3:
                a, b = a + keys[(i // 4 + 1) % 3] & mask, b + keys[(i // 4 + 2) % 3] + i // 4 + 1 & mask
        return b << 32 | a

    g = generator(5)
    key, offset = g.state
    found = np.asarray(g.bits((2, 3))).reshape(-1).tolist()
    assert found == [threefry(key, offset + i) for i in range(6)]
    assert np.asarray(g.bits()).item() == threefry(key, offset + 6)


def test_the_program_decides_the_values_not_the_order_of_realizing():
    a, b = generator(1), generator(1)
    x, y = a.normal(size=5), a.uniform(size=5)
    u, v = b.normal(size=5), b.uniform(size=5)
    first = [np.asarray(x), np.asarray(y)]
    second = [np.asarray(v), np.asarray(u)][::-1]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(np.asarray(x), np.asarray(a.normal(size=5)))
    assert not np.array_equal(np.asarray(x), np.asarray(generator(2).normal(size=5)))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_copy_goes_on_from_the_same_place(copied):
    g = generator(3)
    g.normal(size=5)
    other = copied(g)
    expected = g.normal(size=4).numpy()
    np.testing.assert_array_equal(other.normal(size=4).numpy(), expected)
    assert g.state == other.state and g is not other


def test_default_generator():
    gc.random.seed(3)
    x = np.asarray(gc.random.uniform(size=4))
    gc.random.seed(3)
    np.testing.assert_array_equal(np.asarray(gc.random.random(4)), x)
    np.testing.assert_array_equal(np.asarray(gc.random.default_rng(3).random(4)), x)
    assert gc.random.rand(2, 3).shape == gc.random.randn(2, 3).shape == (2, 3)
    assert gc.random.randint(5, size=3).dtype == gc.int64


def test_a_jitted_function_may_be_the_first_to_draw():
    code = ("import graphc as gc; f = gc.jit(lambda x: x + gc.random.uniform(size=3)); "
            "a, b = f(gc.zeros(3)), f(gc.zeros(3)); assert gc.all(a != b) and gc.random.default_generator.state")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(dtype):
    x = generator().uniform(size=100_000, dtype=dtype)
    assert x.dtype.name == dtype
    x = np.asarray(x).astype(np.float64)
    assert x.min() >= 0 and x.max() <= 1 and (dtype in ("float16", "bfloat16") or x.max() < 1)
    assert abs(x.mean() - 0.5) < 0.005 and abs(x.var() - 1 / 12) < 0.002
    assert np.histogram(x, 10, (0, 1))[0].min() > 9_000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal(dtype):
    from scipy.stats import kstest

    x = np.asarray(generator().normal(1.0, 2.0, (500, 200), dtype=dtype)).reshape(-1)
    assert x.dtype == dtype and np.isfinite(x).all()
    assert kstest((x - 1) / 2, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.02


def test_parameters_may_be_tensors():
    low = gc.asarray([0.0, 10.0])
    x = np.asarray(generator().uniform(low, low + 1, (50, 2)))
    assert (np.floor(x) == [0, 10]).all()
    assert generator().normal(gc.zeros((3, 1)), gc.ones(4)).shape == (3, 4)
    assert np.asarray(generator().bernoulli(gc.asarray([0.0, 1.0]), (5, 2))).tolist() == [[False, True]] * 5
    x = np.asarray(generator().exponential(2.0, 100_000))
    assert x.min() >= 0 and abs(x.mean() - 2) < 0.05


@given(st.integers(-2**63, 2**63 - 1), st.integers(-2**63, 2**63 - 1))
def test_integers_of_any_interval(a, b):
    low, high = min(a, b), max(a, b)
    g = generator()
    state = g.state
    found = np.asarray(g.integers(low, high, 20, endpoint=True)).tolist()
    g.state = state
    bits = np.asarray(g.bits(20)).tolist()
    assert found == [low + (word * (high - low + 1) >> 64) for word in bits]


def test_integers_of_every_dtype():
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        limits = np.iinfo(dtype)
        x = generator().integers(limits.min, int(limits.max) + 1, 1000, dtype=dtype)
        assert x.dtype.name == dtype and len(np.unique(np.asarray(x))) > 200
    x = np.asarray(generator().integers(6, size=60_000))
    assert np.bincount(x, minlength=6).min() > 9_500 and x.max() == 5
    raises(ValueError, "[integers] there is no integer from 3 to below 3", generator().integers, 3, 3)
    raises(ValueError, "does not fit int8", generator().integers, 0, 300, dtype="int8")
    raises(TypeError, "float32 is not an integer type", generator().integers, 3, dtype="float32")


def test_permutations():
    for n in (0, 1, 2, 100):
        assert sorted(np.asarray(generator().permutation(n)).tolist()) == list(range(n))
    x = gc.asarray(np.arange(12).reshape(4, 3))
    found = np.asarray(generator().permutation(x))
    assert sorted(found[:, 0].tolist()) == [0, 3, 6, 9] and (np.diff(found, axis=1) == 1).all()
    assert sorted(np.asarray(generator().permutation(x, axis=1))[0].tolist()) == [0, 1, 2]
    y = gc.asarray(np.arange(50))
    generator().shuffle(y)
    assert np.asarray(y).tolist() != list(range(50)) and sorted(np.asarray(y).tolist()) == list(range(50))


def test_choice():
    x = np.asarray(generator().choice(4, 40_000, p=[0.1, 0.0, 0.6, 0.3]))
    np.testing.assert_allclose(np.bincount(x, minlength=4) / 40_000, [0.1, 0.0, 0.6, 0.3], atol=0.01)
    assert sorted(np.asarray(generator().choice(5, 5, replace=False)).tolist()) == [0, 1, 2, 3, 4]
    assert set(np.asarray(generator().choice(gc.asarray([7, 9]), (3, 3))).reshape(-1).tolist()) <= {7, 9}
    raises(ValueError, "6 elements can't be taken from 5", generator().choice, 5, 6, replace=False)
    raises(ValueError, "do not fit 3 elements", generator().choice, 3, 2, p=[0.5, 0.5])


def test_choice_by_probabilities_without_replacement():
    """A draw is the first of a race; then one among the others. The chances of all pairs, by hand."""
    g, p = generator(), np.array([0.1, 0.2, 0.0, 0.7])
    pairs = np.stack([g.choice(4, 2, replace=False, p=p).numpy() for _ in range(1500)])
    assert (pairs[:, 0] != pairs[:, 1]).all() and not (pairs == 2).any()
    chances = np.array([[p[i] * p[j] / (1 - p[i]) * (i != j) for j in range(4)] for i in range(4)])
    found = np.zeros((4, 4))
    np.add.at(found, tuple(pairs.T), 1 / len(pairs))
    np.testing.assert_allclose(found, chances, atol=0.06)
    assert sorted(g.choice(gc.asarray([5, 6, 7]), 2, replace=False, p=[0.5, 0.5, 0.0]).tolist()) == [5, 6]
    raises(ValueError, "fewer than 2 elements", g.choice, 3, 2, replace=False, p=[1.0, 0.0, 0.0])
    raises(ValueError, "do not fit 3 elements", g.choice, 3, 1, replace=False, p=[0.5, 0.5])


def test_counts_of_tensors():
    n, p = gc.asarray([0, 5, 9, 40, 100]), gc.asarray([0.3, 0.0, 1.0, 0.25, 0.9])
    x = generator().binomial(n, p, (4000, 5)).numpy()
    np.testing.assert_allclose(x.mean(0), [0, 0, 9, 10, 90], atol=0.3)
    np.testing.assert_allclose(x.var(0), [0, 0, 0, 7.5, 9], rtol=0.15)
    assert x.dtype == np.int64 and generator().binomial(n, 0.5).shape == (5,) and x[:, 4].max() <= 100
    few = generator().binomial(n, p).numpy()
    with gc.backend("reference"):
        assert generator().binomial(n.to("reference"), p.to("reference")).tolist() == few.tolist()
    rows = generator().multinomial(20, [0.2, 0.0, 0.3, 0.5], 3000).numpy()
    assert (rows.sum(1) == 20).all()
    np.testing.assert_allclose(rows.mean(0), [4, 0, 6, 10], atol=0.3)
    assert generator().multinomial(3, [1.0], (2, 2)).tolist() == [[[3], [3]]] * 2
    draw = gc.jit(lambda p: gc.random.binomial(10, p, (100, 5)))
    assert draw(p).tolist() != draw(p).tolist()


def test_slices_are_permuted_each_in_its_own_order():
    x = np.arange(600).reshape(20, 30)
    found = generator().permuted(gc.asarray(x), axis=1).numpy()
    assert (np.sort(found, 1) == x).all() and len({tuple(np.argsort(row)) for row in found}) == 20
    assert (np.sort(generator().permuted(x).numpy(), None) == np.arange(600)).all()
    assert (np.sort(generator().permuted(x, axis=0).numpy(), 0) == x).all()


def test_shapes_and_errors():
    for size in ((), 3, (0,), (2, 0), (2, 3)):
        shape = (size,) if isinstance(size, int) else size
        assert np.asarray(generator().normal(size=size)).shape == shape
    raises(TypeError, "[uniform] int32 is not a real floating type", generator().uniform, dtype="int32")
    raises(ValueError, "negative size", generator().normal, size=(-1,))
    assert generator().normal(size=2, dtype=ml_dtypes.bfloat16).dtype == gc.bfloat16


DISTRIBUTIONS = {       # arguments; mean and variance
    "lognormal": ((0.2, 0.5), 1.384, 0.544), "laplace": ((1.0, 2.0), 1, 8), "gumbel": ((1.0, 2.0), 2.154, 6.580),
    "logistic": ((1.0, 2.0), 1, 13.16), "rayleigh": ((2.0,), 2.507, 1.717), "weibull": ((1.5,), 0.903, 0.376),
    "pareto": ((5.0,), 0.25, 0.104), "geometric": ((0.3,), 3.333, 7.778), "gamma": ((2.5, 2.0), 5, 10),
    "standard_gamma": ((0.3,), 0.3, 0.3), "chisquare": ((3.0,), 3, 6), "beta": ((2.0, 3.0), 0.4, 0.04),
    "negative_binomial": ((5, 0.4), 7.5, 18.75), "power": ((3.0,), 0.75, 0.0375), "f": ((4.0, 20.0), 1.111, 0.849),
    "triangular": ((-1.0, 0.0, 3.0), 0.6667, 0.7222), "wald": ((2.0, 5.0), 2, 1.6),
    "standard_t": ((8.0,), 0, 1.333), "poisson": ((3.7,), 3.7, 3.7), "binomial": ((20, 0.3), 6, 4.2),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    """Their mean and variance, and the same numbers on every backend."""
    arguments, mean, variance = DISTRIBUTIONS[name]
    x = getattr(generator(5), name)(*arguments, size=40000)
    assert x.dtype in (gc.int64, gc.float32)
    values = x.numpy().astype(float)
    assert np.isfinite(values).all() and abs(values.mean() - mean) < 6 * (variance / 40000) ** 0.5
    assert abs(values.var() / variance - 1) < 0.25
    few = getattr(generator(5), name)(*arguments, size=50).numpy()
    with gc.backend("reference"):
        np.testing.assert_allclose(getattr(generator(5), name)(*arguments, size=50).numpy(), few, rtol=1e-5, atol=1e-6)


def test_distributions_of_tensors_and_of_vectors():
    rates = gc.asarray([0.0, 0.5, 30.0])
    counts = generator().poisson(rates, (4000, 3))
    np.testing.assert_allclose(counts.numpy().mean(0), [0, 0.5, 30], atol=0.4)
    np.testing.assert_allclose(counts.numpy().var(0), [0, 0.5, 30], rtol=0.2)
    assert generator().gamma(gc.asarray([0.1, 9.0])).shape == generator().poisson(rates[:2]).shape == (2,)
    rows = generator().dirichlet([1.0, 2.0, 5.0], 3000)
    np.testing.assert_allclose(rows.numpy().sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(rows.numpy().mean(0), [0.125, 0.25, 0.625], atol=0.02)
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    x = generator().multivariate_normal([1.0, -1.0], cov, 20000, dtype="float64").numpy()
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.1)
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.05)
    for n, p in ((0, 0.5), (7, 0.0), (7, 1.0)):
        assert generator().binomial(n, p, 2).tolist() == [int(n * p)] * 2
    raises(ValueError, "mean", generator().poisson, -1.0)
    raises(ValueError, "probability", generator().binomial, 3, 1.5)
    raises(ValueError, "do not fit", generator().multivariate_normal, [0.0], [1.0])


@pytest.mark.parametrize("name, parameters", [
    ("normal", (0, -1)), ("normal", (0, [1, -1])), ("exponential", (-1,)), ("lognormal", (0, np.nan)), ("gamma", (-1,)),
    ("beta", (0, 1)), ("chisquare", (-1,)), ("geometric", (0,)), ("bernoulli", (1.5,)), ("dirichlet", ([1, -1],)),
    ("triangular", (1, 0, 2)), ("multinomial", (3, [-0.5, 1.5])), ("laplace", (0, np.float32(-1))),
    ("negative_binomial", (1, 0)), ("poisson", ([1.0, -1.0],)), ("binomial", (3, np.array([0.5, 1.5]))),
])
def test_parameters_that_a_distribution_does_not_have(name, parameters):
    """They gave numbers that look like any others."""
    with pytest.raises(gc.errors.ArgumentError, match="must be|not rise") as caught:
        getattr(gc.random, name)(*parameters)
    assert "test_api_random.py:" in str(caught.value)


def test_no_element_has_a_negative_probability():
    for replace in (False, True):
        with pytest.raises(gc.errors.ArgumentError, match="must be at least 0"):
            gc.random.choice(2, 1, replace=replace, p=[1.5, -0.5])


@pytest.mark.parametrize("name, parameters, size", [
    ("normal", (gc.zeros(4),), 1), ("uniform", (gc.zeros((2, 3)), 1.0), (3,)), ("gamma", (gc.ones(4),), 1),
    ("beta", (gc.ones(4), 2.0), 1), ("standard_t", (gc.ones(4),), 1), ("laplace", ([0.0, 1.0],), 1),
    ("exponential", (gc.ones((2, 2)),), 2), ("bernoulli", (gc.ones(4) / 2,), 1), ("poisson", (gc.ones(4),), 1),
    ("negative_binomial", (gc.ones(4), 0.5), 1), ("normal", (gc.zeros(4),), (4, 3)),
])
def test_a_size_that_is_not_that_of_the_parameters(name, parameters, size):
    """Numbers were drawn for the size, and repeated for the parameters."""
    with pytest.raises(gc.errors.ShapeError, match=r"is not that of parameters|do not broadcast"):
        getattr(generator(), name)(*parameters, size=size)


def test_a_size_beyond_that_of_the_parameters():
    x = generator().normal(gc.zeros(4), 1.0, (3, 4)).numpy()
    assert x.shape == (3, 4) and len(np.unique(x)) == 12


def test_small_parameters_leave_numbers():
    x = generator().beta(0.001, 0.001, 1000, dtype="float64").numpy()
    rows = generator().dirichlet([0.001] * 3, 1000, dtype="float64").numpy()
    assert np.isfinite(x).all() and abs(x.mean() - 0.5) < 0.06
    np.testing.assert_allclose(rows.sum(-1), 1)
    np.testing.assert_allclose(rows.mean(0), 1 / 3, atol=0.06)


def test_counts_of_rare_events():
    assert generator().geometric(1e-20, 5).tolist() == [2**63 - 1] * 5
    for x in (generator().binomial(10**15, 1e-12, 20_000), generator().poisson(1000.0, 20_000)):
        x = x.numpy()
        assert abs(x.mean() - 1000) < 1.5 and abs(x.var() - 1000) < 50
    large = generator().poisson(1e11, 2000).numpy()
    assert abs(large.mean() - 1e11) < 5e4 and abs(large.var() / 1e11 - 1) < 0.2
    assert generator().binomial(5, 1.0, 2).tolist() == [5, 5] and generator().poisson(0.0, 2).tolist() == [0, 0]
    raises(ValueError, "variance", generator().binomial, 10**15, 0.5)


def test_the_last_class_takes_what_the_others_leave():
    counts = generator().multinomial(1000, [0.5, 0.0]).numpy()
    assert counts.sum() == 1000 and 400 < counts[0] < 600
    raises(ValueError, "add up to 1.8", generator().multinomial, 10, [0.9, 0.9, 0.1])
