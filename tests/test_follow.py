"""Launches that threads go through row by row: which are, and that it changes no bit."""
from __future__ import annotations

import numpy as np
import pytest
from kernel_interpreter import run_program
from msgspec.structs import replace

import graphc as gc
from graphc import canonical
from graphc.build import build
from graphc.config import settings

rng = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def threads(backend):
    if backend != "cpu":
        pytest.skip("about the threads of a CPU")
    with settings.override(num_threads=3):
        yield


def leaf(*shape: int) -> gc.Tensor:
    return gc.asarray(rng.standard_normal(shape).astype("float32"))


def hold(make, expected: list[bool]) -> None:
    """What follows what, and the bits of launches one by one on one thread."""
    plan = gc.plan(*make())
    assert [k.follows for k in plan.kernels] == expected, str(plan)
    found = [[t.numpy().tobytes() for t in gc.realize(*make())] for _ in range(20)]
    with settings.override(num_threads=1, disable="follow"):
        assert not any(k.follows for k in gc.plan(*make()).kernels)
        alone = [t.numpy().tobytes() for t in gc.realize(*make())]
    assert all(each == alone for each in found)


@pytest.mark.parametrize("rows", [33, 40, 100])
def test_layers(rows):
    x, weights = leaf(rows, 64), [leaf(64, 64) for _ in range(6)]

    def layers():
        y = x
        for w in weights:
            y = gc.tanh(y @ w)
        return [y]
    hold(layers, [False] + 5 * [True])
    assert "by chunks after the one before" in str(gc.plan(*layers()))


def test_layers_with_residuals_and_biases():
    x, weights, biases = leaf(40, 64), [leaf(64, 64) for _ in range(4)], [leaf(64) for _ in range(4)]

    def layers():
        y = x
        for w, b in zip(weights, biases, strict=True):
            y = y + gc.maximum(y @ w + b, 0)
        return [y]
    hold(layers, [False] + 3 * [True])


def test_what_reads_other_rows_waits():
    x, w, v = leaf(40, 64), leaf(64, 64), leaf(40, 40)
    hold(lambda: [gc.tanh(gc.flip(gc.tanh(x @ w), axis=0) @ w)], [False, False])
    hold(lambda: [v @ gc.tanh(x @ w)], [False, False])
    hold(lambda: [(h := gc.tanh(x @ w)) @ h.T], [False, False])


def test_results_that_are_kept_may_be_read():
    x, w = leaf(40, 64), leaf(64, 64)

    def both():
        first = gc.tanh(x @ w)
        return [first, first @ w]
    hold(both, [False, True])


def test_what_may_stop_at_a_bad_index_waits():
    x, w, table = leaf(40, 64), leaf(64, 64), leaf(64, 64)

    def found(largest):
        hidden = gc.tanh(x @ w)
        return [(table[(hidden[:, 0] * 0 + largest).astype("int64")] + hidden) @ w]
    hold(lambda: found(63), [False, False])
    with pytest.raises(IndexError):
        gc.realize(*found(64))


def interpreted(y: gc.Tensor, follow: bool, order: str) -> np.ndarray:
    """The result by the interpreter, which takes each chunk through all launches that follow before the next chunk."""
    graph = canonical.canonicalize([y.node])
    built = build(graph, "c")
    first, *steps = built.program.steps
    assert [step.follows for step in steps] == [follow] * len(steps)
    built.program = replace(built.program, steps=(first, *(replace(step, follows=True) for step in steps)))
    inputs = [n.value.view(n.dtype.numpy, n.shape) for n in graph.leaves]
    (found,) = run_program(built, inputs, graph.params, order)
    return found.view(np.float32).reshape(y.shape)


@pytest.mark.parametrize("order", ["forward", "reverse", "7"])
def test_chunks_may_come_in_any_order(order):
    x, weights = leaf(50, 8), [leaf(8, 8) for _ in range(3)]
    y = x
    for w in weights:
        y = gc.maximum(y @ w, 0) + y
    np.testing.assert_allclose(interpreted(y, True, order), y.numpy(), rtol=1e-5)
    y = gc.flip(gc.tanh(x @ weights[0]), axis=0) @ weights[1]
    assert not np.allclose(interpreted(y, False, order), y.numpy(), rtol=1e-5)      # which would be seen
