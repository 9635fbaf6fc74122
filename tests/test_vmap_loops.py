"""vmap of scan, while_loop and cond, against a Python loop over the examples."""
from __future__ import annotations

import random

import numpy as np
import pytest

import graphc as gc
from graphc.errors import IndexOutOfRange
from graphc.ir.node import topological
from graphc.pytree import flatten

rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def leaves(results):
    return [x for x in flatten(results)[0] if x is not None]


def check(f, *arrays, in_axes=0):
    """f over a batch is f for each example; the nodes of what vmap recorded."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arrays)
    size, = {a.shape[axis] for a, axis in zip(arrays, axes, strict=True) if axis is not None}
    found = leaves(gc.vmap(f, in_axes=in_axes)(*map(gc.asarray, arrays)))
    nodes = topological([x.node for x in found])
    for k in range(size):
        each = leaves(f(*[gc.asarray(a if axis is None else np.take(a, k, axis))
                          for a, axis in zip(arrays, axes, strict=True)]))
        for x, y in zip(found, each, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x.numpy()[k], y.numpy(), rtol=1e-10, atol=1e-12)
    return nodes


def named(nodes, *names):
    return [n for n in nodes if n.op.name in names]


def normal(*shape):
    return rng.standard_normal(shape)


def rnn(h, xs, w):
    def turn(h, x):
        h = gc.tanh(x + h @ w)
        return h, h * 2
    return gc.scan(turn, h, xs)


@pytest.mark.parametrize("axes", [(0, 0, None), (None, 0, None), (0, None, None), (None, None, 0), (1, 2, 0)])
def test_scans(axes):
    shapes = [(4,), (5, 4), (4, 4)]
    arrays = [normal(*s) if axis is None else normal(*s[:axis], 3, *s[axis:])
              for s, axis in zip(shapes, axes, strict=True)]
    loop, = named(check(rnn, *arrays, in_axes=axes), "loop")
    assert loop.attrs[3] == 5 and loop.shape == ((3, 4), (5, 3, 4))     # one, of as many turns; they stay in front


def test_what_no_example_has_a_part_in_is_computed_once():
    def f(x, w):
        def turn(c, v):
            return {"n": c["n"] + 1, "p": c["p"] @ w, "s": c["s"] * c["n"] + v}, [c["n"], None, c["s"]]
        return gc.scan(turn, {"n": 0, "p": gc.eye(2), "s": 1.0}, x, reverse=True)
    loop, = named(check(f, normal(3, 5), normal(2, 2), in_axes=(0, None)), "loop")
    assert loop.shape == ((), (2, 2), (3,), (5,), (5, 3))


def test_gradients_of_loops():
    arrays = normal(3, 4), normal(3, 5, 4), normal(4, 4)
    h, x, w = map(gc.asarray, arrays)

    def loss(h, x, w):
        last, every = rnn(h, x, w)
        return gc.cond(last.sum() > 0, lambda y: (y ** 2).sum(), lambda y: gc.sin(y).sum(), every)
    gradient = gc.grad(loss, (0, 1, 2))
    nodes = check(gradient, *arrays, in_axes=(0, 0, None))
    assert [n.attrs[3] for n in named(nodes, "loop")] == [5, 5] and not named(nodes, "if")     # forwards, backwards
    each = [gradient(h[k], x[k], w) for k in range(3)]
    want = [np.stack([e[0].numpy() for e in each]), np.stack([e[1].numpy() for e in each]),
            sum(e[2].numpy() for e in each)]
    total = gc.grad(lambda *args: gc.vmap(loss, (0, 0, None))(*args).sum(), (0, 1, 2))(h, x, w)
    for a, b in zip(total, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-10)


def test_conds():
    def f(p, x):
        return gc.cond(p > 0, lambda x: (x * 2, gc.asarray(1)), lambda x: (-x, gc.asarray(2)), x)
    assert not named(check(f, np.array([1.0, -1.0, 0.5]), normal(3, 4)), "if")
    assert not named(check(f, np.array([1.0, -1.0, 0.5]), normal(4), in_axes=(0, None)), "if")
    branch, = named(check(f, np.array(-1.0), normal(3, 4), in_axes=(None, 0)), "if")
    assert branch.shape == ((3, 4), ())


def test_while_loops():
    def f(n, x):
        return gc.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5, s[2]), (0, x, x))
    loop, = named(check(f, np.array([0, 3, 7]), normal(3, 2)), "while")
    assert loop.shape == ((3,), (3, 2))
    loop, = named(check(f, np.array(4), normal(3, 2), in_axes=(None, 0)), "while")
    assert loop.shape == ((), (3, 2))
    check(gc.vmap(f, in_axes=(0, None)), np.array([[0, 1], [2, 3], [5, 4]]), normal(3, 2))
    assert gc.vmap(f)(gc.zeros(0, dtype=gc.int64), gc.zeros((0, 2)))[1].shape == (0, 2)


def test_examples_that_do_not_come_there_do_no_harm():
    """Indices outside of what they read, matrices without an inverse, and loops without an end."""
    x = normal(3, 4)
    check(lambda a, v: gc.cond(gc.any(a != 0), lambda a, v: gc.linalg.solve(gc.linalg.inv(a), v),
                               lambda a, v: v + gc.linalg.cholesky(a + gc.eye(2)).sum(), a, v),
          np.array([[[2.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]], [[-5.0, 1.0], [1.0, 2.0]]]), normal(3, 2))
    check(lambda n, x: gc.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, gc.asarray(0.0))),
          np.array([0, 3, 4]), x)
    check(lambda i, x: gc.cond(i < 4, lambda i: gc.scan(lambda c, v: (c + v * x[i], None), 0.0, x)[0],
                               lambda i: gc.asarray(0.0), i), np.array([0, 3, 9]), x)
    check(lambda v: gc.cond(v > 0, lambda v: gc.while_loop(lambda v: v < 100, lambda v: v * 2, v), lambda v: v, v),
          np.array([1.0, -1.0, 0.0]))
    with pytest.raises(IndexOutOfRange, match="4"):
        gc.vmap(lambda n, x: gc.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]),
                                           (0, gc.asarray(0.0))))(gc.asarray([2, 5]), gc.asarray(x[:2]))[1].numpy()


def test_gcd_and_lcm():
    a, b = np.array([[12, -9, 0], [5, 7, 100]], np.int16), np.array([[18, 6, 5], [10, 14, 75]])
    for x, y in ((a, b), (a[0], b[0])):
        assert len(named(check(gc.gcd, x, y), "while")) == 1
        check(gc.lcm, x, y)
    check(lambda a: gc.gcd(a, 12), a)


def test_jitted_functions_inside_and_outside(backend):
    h, x, w = map(gc.asarray, (normal(3, 4), normal(3, 5, 4), normal(4, 4)))
    f = gc.jit(gc.vmap(gc.jit(lambda h, x, w: (rnn(h, x, w), gc.while_loop(
        lambda v: (v ** 2).sum() < 9, lambda v: v * 1.5 + 0.1, h))), in_axes=(0, 0, None)))
    for scale in (1.0, 0.5, 2.0):
        each = [leaves(f.__wrapped__.__wrapped__(h[k] * scale, x[k], w)) for k in range(3)]
        with gc.backend(backend):
            found = leaves(f(*map(gc.asarray, (h.numpy() * scale, x.numpy(), w.numpy()))))
        for k, y in enumerate(found):
            np.testing.assert_allclose(y.numpy(), np.stack([e[k].numpy() for e in each]), rtol=1e-12)


# ----------------------------------------------------------------------------------------------------- random programs

def program(choose: random.Random, depth: int, loops: bool):
    """A function (x of 3 numbers, n, a shared number) -> (x, n), of nested loops and branches."""
    kind = choose.choice(["map", "map", "read", "write"] if not depth else
                         ["scan", "cond", "cond", "both", "vmap", *["while"] * (2 * loops)])
    a, k = choose.uniform(-1, 1), choose.randrange(2, 5)
    if kind == "map":
        return lambda x, n, w: (gc.sin(x + a * n) * w, n + 1)
    if kind == "read":
        return lambda x, n, w: (x * 0.5 + x[n % 3], n + 1)
    if kind == "write":
        return lambda x, n, w: (x.at[n % 3].set(a * w), n * 2 + 1)
    first, second = (program(choose, depth - 1, loops) for _ in range(2))
    condition = choose.choice([lambda x, n, w: x.sum() > a, lambda x, n, w: n % 2 == 0, lambda x, n, w: w > a])
    if kind == "both":
        return lambda x, n, w: second(*first(x, n, w), w)
    if kind == "vmap":
        def mapped(x, n, w):
            xs, ns = gc.vmap(first, in_axes=(0, None, 0))(gc.stack([x, x * a]), n, gc.stack([w, gc.asarray(a)]))
            return xs.sum(0), ns[1]
        return mapped
    if kind == "cond":
        return lambda x, n, w: gc.cond(condition(x, n, w), first, second, x, n, w)
    if kind == "scan":
        def scanned(x, n, w):
            def turn(c, row):
                new = first(c[0] + row, c[1], w)
                return new, new[0] * c[1]
            (x, n), ys = gc.scan(turn, (x, n), gc.stack([x * 0.1 * j for j in range(k)]), reverse=k == 3)
            return x + ys[0] * 0.1, n
        return scanned

    def repeated(x, n, w):
        def turn(s):
            return *first(s[0], s[1], w), s[2] + 1
        return gc.while_loop(lambda s: (s[2] < k) & condition(s[0], s[1], w), turn, (x, n, gc.asarray(0)))[:2]
    return repeated


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    choose = random.Random(seed)
    loops = seed % 2 == 0
    f = program(choose, 3, loops)
    axes = choose.choice([(0, 0, None), (0, None, None), (None, 0, None), (0, 0, 0), (None, None, 0)])
    arrays = [np.array(v) if axis is None else np.stack([v * s for s in (1, 2, -1)])
              for v, axis in zip((normal(3), np.array(3), normal()), axes, strict=True)]
    check(f, *arrays, in_axes=axes)
    if not loops:
        def loss(x, n, w):
            return gc.grad(lambda x, w: (f(x, n, w)[0] ** 2).sum(), (0, 1))(x, w)
        check(loss, *arrays, in_axes=axes)
        batch = [gc.asarray(a) for a in arrays]
        each = gc.vmap(loss, in_axes=axes)(*batch)
        total = gc.grad(lambda x, w: (gc.vmap(f, in_axes=axes)(x, batch[1], w)[0] ** 2).sum(), (0, 1))(batch[0],
                                                                                                    batch[2])
        for g, whole, axis in zip(each, total, (axes[0], axes[2]), strict=True):
            np.testing.assert_allclose(whole.numpy(), g.numpy() if axis == 0 else g.numpy().sum(0), rtol=1e-9,
                                       atol=1e-12)
