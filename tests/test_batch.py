"""Horizontal fusion: independent kernels of one text are one launch, with the bits of separate ones."""
from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from kernel_interpreter import run_program

import graphc as gc
from graphc import canonical
from graphc.build import build
from graphc.config import settings
from graphc.passes import verify
from graphc.passes.batch import Batch

rng = np.random.default_rng(5)
SHAPES = [(3 + k % 17, 5 + k) if k % 3 else (7 + k,) for k in range(90)] + [(64, 64)] * 6
SHAPES += [(1,), (), (1, 1), (2, 3, 4)]


@pytest.fixture(autouse=True)
def compiled(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")


def leaf(*shape: int, dtype: str = "float32") -> gc.Tensor:
    return gc.asarray(rng.random(shape).astype(dtype))


def adam(p, g, m, v, lr=0.01):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - lr * m / (gc.sqrt(v) + 1e-8), m, v


def launches(make) -> tuple[int, list[np.ndarray]]:
    """How many launches the tensors take that `make` records, and their values."""
    tensors = make()
    before = gc.counters()
    gc.realize(*tensors)
    return (gc.counters() - before).launches, [t.numpy() for t in tensors]


def hold(make, count: int) -> None:
    """`count` launches, one source each, and the bits of one launch for each member. Where buffers are arguments, a
    launch takes 16 and more."""
    plan = gc.plan(*make())
    if gc.get_backend_name() == "opencl":
        buffers = sum(k.members * len(re.findall(r"memory\d+(_0)?,", k.source)) for k in plan.kernels)
        assert len(plan.kernels) < count + buffers / 16, str(plan)
        count = len(plan.kernels)
    assert len(plan.kernels) == count, str(plan)
    found, together = launches(make)
    assert found == count
    with settings.override(num_threads=3):
        _, on_threads = launches(make)
    with settings.override(disable="batch"):
        alone, apart = launches(make)
    assert alone >= sum(k.members for k in plan.kernels)
    for a, b, c in zip(together, apart, on_threads, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


def test_adam_over_a_hundred_parameters_is_one_launch():
    state = [[leaf(*shape) for _ in range(4)] for shape in SHAPES]
    hold(lambda: [t for each in state for t in adam(*each)], 1)
    plan = gc.plan(*[t for each in state for t in adam(*each)])
    assert sum(k.members for k in plan.kernels) == len(SHAPES) == 100
    members = plan.kernels[0].members
    assert members == 100 or gc.get_backend_name() == "opencl"
    assert f"and {members - 3} more" in str(plan) and f"x {members}" in str(plan)
    assert sum(k.bytes_written for k in plan.kernels) == 3 * sum(each[0].nbytes for each in state)


def test_adam_is_what_numpy_says():
    state = [[leaf(*shape) for _ in range(4)] for shape in SHAPES]
    results = gc.realize(*[t for each in state for t in adam(*each)])
    for each, new in zip(state, zip(*[iter(results)] * 3, strict=True), strict=True):
        p, g, m, v = (x.numpy() for x in each)
        m = np.float32(0.9) * m + np.float32(0.1) * g
        v = np.float32(0.999) * v + np.float32(0.001) * g * g
        want = (p - np.float32(0.01) * m / (np.sqrt(v) + np.float32(1e-8)), m, v)
        for found, expected in zip(new, want, strict=True):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_one_launch_for_each_dtype():
    state = [[leaf(*shape, dtype=("float32", "float64")[k % 2]) for _ in range(4)] for k, shape in enumerate(SHAPES)]
    hold(lambda: [t for each in state for t in adam(*each)], 2)


def test_scalars_of_the_members_differ():
    state = [[leaf(*shape) for _ in range(4)] for shape in SHAPES]
    hold(lambda: [t for k, each in enumerate(state) for t in adam(*each, lr=0.011 + 0.01 * k)], 1)
    found = gc.realize(*[t for k, each in enumerate(state) for t in adam(*each, lr=0.011 + 0.01 * k)])[::3]
    for k, (each, p) in enumerate(zip(state, found, strict=True)):
        assert p.numpy().tobytes() == adam(*each, lr=0.011 + 0.01 * k)[0].numpy().tobytes()


def test_a_rate_and_a_step_in_memory_cost_no_launch():
    """A scalar that all members read is not a reason to join them, nor worth a kernel by itself."""
    rate, step = gc.realize(leaf(1)[0] * 0.1), gc.realize(leaf(1)[0] * 7)

    def corrected(p, g, m, v):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - rate * (m / (1 - 0.9 ** step)) / (gc.sqrt(v / (1 - 0.999 ** step)) + 1e-8), m, v
    state = [[leaf(*shape) for _ in range(4)] for shape in SHAPES]
    hold(lambda: [t for each in state for t in corrected(*each)], 1)


def test_sgd():
    pairs = [(leaf(*shape), leaf(*shape)) for shape in SHAPES]
    hold(lambda: [p - 0.1 * g for p, g in pairs], 1)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmaxes_of_different_shapes(axis):
    arrays = [leaf(30 + k, 41 + 3 * k) for k in range(6)] + [leaf(30, 41) for _ in range(3)]
    hold(lambda: [gc.softmax(x, axis=axis) for x in arrays], 1)


def test_three_projections_of_one_input():
    x, weights = leaf(50, 64), [leaf(64, 32 + k) for k in range(3)]
    hold(lambda: [x @ w for w in weights], 1)


def test_an_optimiser_waits_for_the_last_gradient():
    """Results that nobody reads go together, however late their operands come."""
    grads, chain = [], leaf(40, 40)
    for _ in range(5):
        chain = gc.sort(chain @ leaf(40, 40), axis=1)
        grads.append(chain)
    params = [leaf(40, 40) for _ in grads]
    plan = gc.plan(*[p - 0.1 * g * g for p, g in zip(params, grads, strict=True)])
    assert plan.kernels[-1].members == 5, str(plan)


def test_a_launch_holds_few_temporaries(monkeypatch):
    arrays = [leaf(40 + k, 50) for k in range(6)]
    results = [gc.softmax(gc.softmax(x, axis=1), axis=0) for x in arrays]
    assert len(gc.plan(*results).kernels) == 2
    monkeypatch.setattr(sys.modules[Batch.__module__], "HELD", 2 * 2 * 45 * 4)
    assert len(gc.plan(*results).kernels) == 6      # two members in each
    monkeypatch.setattr(sys.modules[Batch.__module__], "HELD", 100)
    assert len(gc.plan(*results).kernels) == 12


def test_members_depend_on_nothing_in_their_launch():
    """Two levels of a kind are two launches: the second reads what the first wrote."""
    arrays = [leaf(40 + k, 50) for k in range(5)]
    hold(lambda: [gc.softmax(gc.softmax(x, axis=1), axis=0) for x in arrays], 2)


def test_other_work_of_one_shape_is_still_one_kernel():
    a, b, c = leaf(30, 40), leaf(30, 40), leaf(30, 40)
    hold(lambda: [gc.exp(a), gc.exp(b), gc.sin(c)], 1)
    assert gc.plan(gc.exp(a), gc.exp(b), gc.sin(c)).kernels[0].members == 1


def test_one_element_with_an_operation_that_asks_for_sizes():
    """A sum over an axis of length 1 is not the sum over an axis of length 5, though their graphs look alike."""
    arrays = [leaf(n, k) for n, k in ((7, 5), (1, 1), (1, 3), (4, 1))]
    results = gc.realize(*[gc.sum(x, axis=1) * 2 + 1 for x in arrays])
    for x, y in zip(arrays, results, strict=True):
        np.testing.assert_allclose(y.numpy(), x.numpy().sum(1) * 2 + 1, rtol=1e-6)
    counted = list(zip(arrays, (5, 3, 2, 4), strict=True))
    results = gc.realize(*[gc.sum(gc.broadcast_to(x[:, :1], (x.shape[0], k)), axis=1) for x, k in counted])
    for (x, k), y in zip(counted, results, strict=True):
        np.testing.assert_allclose(y.numpy(), x.numpy()[:, 0] * k, rtol=1e-6)


def test_scalars_of_one_element_keep_their_places():
    """What does not change in a loop moves in front of it: of one element that is all, in another order."""
    c, d, e = gc.realize(leaf(1)[0] * 2), leaf(1), leaf(1, 1)

    def line(p, g):
        return (p * 3.5 - g * 0.25) / (c * 7.5 + 0.125) + gc.exp(g * 1.5)
    pairs = [(leaf(n), leaf(n)) for n in (5, 1, 9)] + [(d, d), (e, d)]
    hold(lambda: [line(p, g) for p, g in pairs], 2)     # one array twice is another formula
    for (p, g), y in zip(pairs, gc.realize(*[line(p, g) for p, g in pairs]), strict=True):
        p, g, s = p.numpy(), g.numpy(), c.numpy()
        want = (p * np.float32(3.5) - g * np.float32(0.25)) / (s * np.float32(7.5) + np.float32(0.125))
        np.testing.assert_allclose(y.numpy(), want + np.exp(g * np.float32(1.5)), rtol=1e-5)


def test_the_interpreter_runs_members_in_any_order():
    arrays = [leaf(n) for n in (1, 3, 40, 5)]
    roots = [(gc.exp(x) * 2.5 + 1).node for x in arrays]
    graph = canonical.canonicalize(roots)
    built = build(graph, "c")
    assert [len(step.members) for step in built.program.steps] == [4]
    inputs = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    for order in ("forward", "reverse", "7"):
        for found, x in zip(run_program(built, inputs, graph.params, order), arrays, strict=True):
            np.testing.assert_allclose(found.view(np.float32), np.exp(x.numpy()) * 2.5 + 1, rtol=1e-6)


def test_a_member_that_reads_what_another_writes_is_refused():
    x = leaf(10)
    y = gc.softmax(x, axis=0)
    first, second = (build(canonical.canonicalize([t.node]), "c").steps[0].members[0] for t in (y, y + 1))
    broken = Batch((first, first))
    with pytest.raises(verify.VerifyError, match="two members write"):
        verify.verify_batches([broken])
    verify.verify_batches([Batch((first, second))])


# ------------------------------------------------------------------------------------------------------------- errors

def test_a_bad_index_names_its_line():
    tables = [leaf(10 + k, 4) for k in range(5)]
    indices = [gc.asarray(np.arange(6)) * 1 for _ in range(4)]
    rows = [gc.take(t, i, axis=0) for t, i in zip(tables, indices, strict=False)]
    bad = gc.take(tables[4], gc.asarray(np.array([1, 2, 3, 4, 99, 6, 7])) * 1, axis=0)    # this line
    assert len(gc.plan(*rows, bad).kernels) == 1
    with pytest.raises(IndexError, match="this line") as caught:
        gc.realize(*rows, bad)
    assert "index 99 is out of range for axis 0 of size 14" in str(caught.value)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_of_several_bad_members_is_told(threads):
    with settings.override(num_threads=threads):
        for _ in range(20):
            rows = [gc.take(leaf(10, 4), gc.asarray(np.array([1, 99 + k])) * 1, axis=0) for k in range(30)]
            with pytest.raises(IndexError, match="index 99 is out of range"):
                gc.realize(*rows)
