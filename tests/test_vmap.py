"""vmap(f) over a batch is f for each example, for everything that has a gradient test."""
from __future__ import annotations

import numpy as np
import pytest
from test_gradients import CASES

import graphc as gc
from graphc.errors import ArgumentError, ShapeError, TracerError
from graphc.ir.node import topological

NEEDS_VALUES = {"gather mask"}      # boolean masks that are constants still count their elements


@pytest.fixture(autouse=True)
def on_the_reference():
    with gc.backend("reference"):
        yield


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


@pytest.mark.parametrize("name", [n for n in CASES if n not in NEEDS_VALUES])
def test_vmap_is_the_function_for_each_example(name):
    f, *arrays = CASES[name]
    scales = (1.0, 0.9, 1.05)
    batches = [np.stack([a * k for k in scales]) for a in arrays]
    found = listed(gc.vmap(f)(*map(gc.asarray, batches)))
    for i, y in enumerate(found):
        expected = np.stack([listed(f(*(gc.asarray(b[k]) for b in batches)))[i].numpy() for k in range(3)])
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_axes_and_shared_arguments():
    a, b = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    f = gc.vmap(lambda x, y: x * y, in_axes=(1, 0), out_axes=1)
    np.testing.assert_array_equal(f(gc.asarray(a), gc.asarray(b)).numpy(), a * b)
    shared = gc.vmap(lambda x, y: (x @ y, y.sum()), in_axes=(0, None))(gc.asarray(a), gc.asarray(b))
    np.testing.assert_array_equal(shared[0].numpy(), a @ b)
    np.testing.assert_array_equal(shared[1].numpy(), [6.0] * 3)
    tree = gc.vmap(lambda d: {"sum": d["a"].sum() + d["b"]})({"a": gc.asarray(a), "b": gc.asarray([1.0, 2.0, 3.0])})
    np.testing.assert_array_equal(tree["sum"].numpy(), a.sum(1) + [1, 2, 3])


def test_trees_of_axes():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(2.0)
    f = gc.vmap(lambda d, n: {"y": [d["a"] * d["b"].sum(), 1], "b": d["b"]}, in_axes=({"a": 1, "b": None}, None),
                out_axes={"y": [-1, 0], "b": None})
    found = f({"b": gc.asarray(b), "a": gc.asarray(a)}, None)
    np.testing.assert_array_equal(found["y"][0].numpy(), a)
    assert found["y"][1].tolist() == [1, 1, 1] and found["b"].tolist() == [0, 1]


def test_functions_with_gradients_of_their_own():
    @gc.custom_vjp
    def f(x, w):
        return x * w, w + 1
    f.defvjp(lambda x, w: (f.f(x, w), (x, w)), lambda r, g: (gc.clip(g[0] * r[1], -1, 1), g[0] * 3 * r[0] + g[1]))

    def loss(x, w):
        y, z = f(x, w)
        return (y * y).sum() + z.sum()
    x, w = gc.asarray(np.random.default_rng(0).normal(size=(3, 4))), gc.arange(4.0)
    per = gc.vmap(gc.grad(loss, (0, 1)), in_axes=(0, None))(x, w)
    total = gc.grad(lambda x, w: gc.vmap(loss, in_axes=(0, None))(x, w).sum(), (0, 1))(x, w)
    each = [gc.grad(loss, (0, 1))(x[k], w) for k in range(3)]
    for i in range(2):
        want = np.stack([e[i].numpy() for e in each])
        np.testing.assert_allclose(per[i].numpy(), want)
        np.testing.assert_allclose(total[i].numpy(), want.sum(0) if i else want)


def test_indices_that_differ_by_example():
    x, i = np.random.default_rng(0).normal(size=(3, 5, 4, 2)), np.random.default_rng(1).integers(0, 4, (3, 2, 3))
    for own in (False, True):
        f = gc.vmap(lambda x, i: gc.take(x, i, axis=1), in_axes=(0 if own else None, 0))
        found = f(gc.asarray(x if own else x[0]), gc.asarray(i)).numpy()
        expected = np.stack([np.take(x[k if own else 0], i[k], axis=1) for k in range(3)])
        np.testing.assert_array_equal(found, expected)
    base, at, v = np.zeros((3, 4)), np.array([[0, 0], [1, 3], [2, 2]]), np.ones((3, 2))
    found = gc.vmap(lambda b, i, v: b.at[i].add(v))(gc.asarray(base), gc.asarray(at), gc.asarray(v)).numpy()
    np.testing.assert_array_equal(found, [[2, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 0]])


@pytest.mark.parametrize("shapes", [((3, 3), (3,)), ((3, 3), (3, 2)), ((3, 3), (4, 3, 2)), ((4, 3, 3), (3,)),
                                    ((4, 3, 3), (3, 2)), ((3, 3), (3, 3, 3))], ids=str)
def test_systems_of_equations(shapes):
    """Stacks of one side beside one matrix of the other; the matrix that examples share is taken apart once."""
    a, b = (np.random.default_rng(0).normal(size=(3, *s)) for s in shapes)
    for axes in ((0, 0), (None, 0), (0, None)):
        given = [gc.asarray(x if axis == 0 else x[0]) for x, axis in zip((a, b), axes, strict=True)]
        found = gc.vmap(gc.linalg.solve, in_axes=axes)(*given)
        calls = {n.srcs[0].shape for n in topological([found.node]) if n.op.name == "library"}
        assert calls == {(3, 3)} or axes[0] == 0 or len(shapes[0]) > 2
        for k in range(3):
            want = gc.linalg.solve(*[x[k] if axis == 0 else x for x, axis in zip(given, axes, strict=True)])
            np.testing.assert_allclose(found.numpy()[k], want.numpy(), rtol=1e-9)


def test_together_with_gradients_and_itself():
    x = np.random.default_rng(0).normal(size=(4, 3))
    w = gc.asarray(np.random.default_rng(1).normal(size=3))
    per_example = gc.vmap(gc.grad(lambda w, x: gc.tanh(w @ x)), in_axes=(None, 0))(w, gc.asarray(x)).numpy()
    np.testing.assert_allclose(per_example, (1 - np.tanh(x @ w.numpy())[:, None] ** 2) * x)
    total = gc.grad(lambda w: gc.vmap(lambda x: gc.tanh(w @ x))(gc.asarray(x)).sum())(w).numpy()
    np.testing.assert_allclose(total, per_example.sum(0))
    table = gc.vmap(gc.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(w, w).numpy()
    np.testing.assert_array_equal(table, np.outer(w.numpy(), w.numpy()))
    hessian = gc.vmap(lambda v: gc.jvp(gc.grad(lambda x: (x ** 3).sum()), (w,), (v,))[1])(gc.eye(3)).numpy()
    np.testing.assert_allclose(hessian, np.diag(6 * w.numpy()))


def test_errors():
    x = gc.ones((3, 2))
    with pytest.raises(ShapeError, match=r"sizes \[2, 3\]"):
        gc.vmap(lambda a, b: a + b, in_axes=(0, 1))(x, x)
    with pytest.raises(ShapeError, match="no argument has a batch axis"):
        gc.vmap(lambda a: a, in_axes=None)(x)
    with pytest.raises(ArgumentError, match="1 entries for 2"):
        gc.vmap(lambda a, b: a, in_axes=(0,))(x, x)
    with pytest.raises(ArgumentError, match=r"out_axes has \(0,\) for a tuple of 2"):
        gc.vmap(lambda a: (a, a), out_axes=(0,))(x)
    with pytest.raises(ArgumentError, match="differs by example"):
        gc.vmap(lambda a: a * 2, out_axes=None)(x)
    with pytest.raises(TracerError, match="differs by example"):
        gc.vmap(lambda a: a if a.sum() > 0 else -a)(x)
