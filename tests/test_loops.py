"""scan, while_loop and cond: steps of a program, against NumPy loops, SciPy, and graphc's own unrolled graphs."""
from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg
from kernel_interpreter import run_program
from msgspec.structs import replace

import graphc as gc
from graphc import canonical, driver
from graphc.build import build
from graphc.config import settings
from graphc.errors import DTypeError, ShapeError, TracerError
from graphc.ir.program import Loop
from graphc.ir.target import panel_bytes
from graphc.ir.text import graph_text, parse_graph
from graphc.runtime.executable import check

rng = np.random.default_rng(11)


def leaf(*shape: int, dtype: str = "float64") -> gc.Tensor:
    return gc.asarray(rng.standard_normal(shape).astype(dtype))


def launches(*tensors: gc.Tensor) -> int:
    before = gc.counters()
    gc.realize(*tensors)
    return (gc.counters() - before).launches


# ------------------------------------------------------------------------------------------------------------ programs

def thomas(lower, diagonal, upper, right):
    """Tridiagonal systems side by side, arrays of (n, systems): Thomas' algorithm."""
    def forward(carry, row):
        a, b, c, d = row
        w = b - a * carry[0]
        new = (c / w, (d - a * carry[1]) / w)
        return new, new

    def back(x, row):
        x = row[1] - row[0] * x
        return x, x
    zero = gc.zeros(lower.shape[1:], dtype=lower.dtype)
    _, rows = gc.scan(forward, (zero, zero), (lower, diagonal, upper, right))
    return gc.scan(back, zero, rows, reverse=True)[1]


def test_tridiagonal_systems_against_scipy():
    n, systems = 64, 10_000
    lower, upper, right = (rng.standard_normal((n, systems)) for _ in range(3))
    diagonal = rng.standard_normal((n, systems)) + 6
    x = thomas(*map(gc.asarray, (lower, diagonal, upper, right)))
    count = launches(x)
    for k in range(0, systems, 997):
        bands = np.zeros((3, n))
        bands[0, 1:], bands[1], bands[2, :-1] = upper[:-1, k], diagonal[:, k], lower[1:, k]
        want = scipy.linalg.solve_banded((1, 1), bands, right[:, k])
        np.testing.assert_allclose(x.numpy()[:, k], want, rtol=1e-9, atol=1e-12)
    few = thomas(*[gc.asarray(a[:8, :10]) for a in (lower, diagonal, upper, right)])
    assert launches(few) == count     # as many kernels for 8 rows as for 64


def rnn(h, xs, w, u):
    def turn(h, x):
        h = gc.tanh(h @ w + x @ u)
        return h, h
    return gc.scan(turn, h, xs)


def test_a_recurrence_of_128_turns(backend):
    w, u = leaf(64, 64, dtype="float32") * 0.1, leaf(32, 64, dtype="float32")
    xs, h = leaf(128, 16, 32, dtype="float32"), leaf(16, 64, dtype="float32")
    last, every = rnn(h, xs, w, u)
    plan = gc.plan(last, every)
    gc.realize(last, every)
    state, want = h.numpy(), []
    for x in xs.numpy():
        state = np.tanh(state @ w.numpy() + x @ u.numpy())
        want.append(state)
    np.testing.assert_allclose(every.numpy(), np.stack(want), rtol=1e-3, atol=1e-5)
    assert every.numpy()[-1].tobytes() == last.numpy().tobytes()
    if backend != "reference":
        loops = [k for k in plan.kernels if k.inside]
        assert [k.name for k in loops] == ["loop of 128 turns"] and "loop of 128 turns" in str(plan)
        short = gc.plan(*rnn(h, xs[:3] * 1, w, u))
        assert [len(k.inside) for k in short.kernels if k.inside] == [len(loops[0].inside)]


def test_a_turn_has_the_bits_of_the_graph_unrolled():
    """Whatever computes it: fused in a loop, recorded turn by turn, on any number of threads."""
    w, u = leaf(30, 30, dtype="float32") * 0.1, leaf(20, 30, dtype="float32")
    xs, h = leaf(7, 5, 20, dtype="float32"), leaf(5, 30, dtype="float32")
    w = gc.realize(w)
    last, every = rnn(h, xs, w, u)
    state = h
    for k in range(7):
        state = gc.tanh(state @ w + xs[k] @ u)
    gc.realize(last, state)
    assert last.numpy().tobytes() == state.numpy().tobytes()
    with settings.override(num_threads=3):
        assert rnn(h, xs, w, u)[1].numpy().tobytes() == every.numpy().tobytes()


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_any_number_of_turns(turns, reverse):
    xs = rng.standard_normal((turns, 5))
    start = rng.standard_normal(5)
    last, every = gc.scan(lambda c, x: (c * 0.5 + x, c - x), gc.asarray(start), gc.asarray(xs), reverse=reverse)
    state, want = start, np.zeros((turns, 5))
    for k in reversed(range(turns)) if reverse else range(turns):
        want[k] = state - xs[k]
        state = state * 0.5 + xs[k]
    np.testing.assert_array_equal(last.numpy(), state)
    np.testing.assert_array_equal(every.numpy(), want)
    assert every.shape == (turns, 5) and every.dtype == gc.float64


def test_states_that_change_places_stay_or_are_given_twice():
    def turn(carry, x):
        a, b, fixed, unused = carry
        return (b, a + b, fixed, 7.0), (a, a, x, fixed, 2.5, None)
    a, fixed = leaf(3), leaf(3)
    (p, q, same, seven), (y0, y1, y2, y3, y4, none) = gc.scan(turn, (a, a * 2, fixed, 1.0), leaf(6, 2))
    s, t = a.numpy(), a.numpy() * 2
    for k in range(6):
        np.testing.assert_array_equal(y0.numpy()[k], s)
        s, t = t, s + t
    np.testing.assert_array_equal(p.numpy(), s)
    np.testing.assert_array_equal(q.numpy(), t)
    np.testing.assert_array_equal(y1.numpy(), y0.numpy())
    assert none is None and y2.shape == (6, 2) and seven.item() == 7.0 and y4.tolist() == [2.5] * 6
    np.testing.assert_array_equal(same.numpy(), fixed.numpy())
    np.testing.assert_array_equal(y3.numpy(), np.broadcast_to(fixed.numpy(), (6, 3)))


class State(NamedTuple):
    total: gc.Tensor
    parts: dict


def test_trees():
    def turn(state, x):
        return State(state.total + x["a"], {"n": state.parts["n"] + 1, "last": [x["b"]]}), [state.total]
    xs = {"a": leaf(4), "b": leaf(4, 2)}
    last, ys = gc.scan(turn, State(0.0, {"n": 0, "last": [gc.zeros(2)]}), xs)
    assert isinstance(last, State) and isinstance(ys, list)
    np.testing.assert_allclose(last.total.item(), xs["a"].numpy().sum())
    assert last.parts["n"].item() == 4
    np.testing.assert_array_equal(last.parts["last"][0].numpy(), xs["b"].numpy()[-1])


def test_scans_inside_scans():
    table = rng.standard_normal((5, 4, 3))

    def row(carry, x):
        total, sums = gc.scan(lambda s, y: (s + y, s + y), carry, x)
        return total * 0.5, sums
    last, every = gc.scan(row, gc.zeros(3), gc.asarray(table))
    state, want = np.zeros(3), []
    for rows in table:
        sums = []
        for y in rows:
            state = state + y
            sums.append(state)
        state = state * 0.5
        want.append(sums)
    np.testing.assert_array_equal(every.numpy(), np.array(want))
    np.testing.assert_array_equal(last.numpy(), state)


def test_newton_until_it_converges():
    target = gc.asarray(rng.random(100) + 0.5)
    x, turns = gc.while_loop(lambda s: gc.any(gc.abs(s[0] * s[0] - target) > 1e-12) & (s[1] < 100),
                             lambda s: ((s[0] + target / s[0]) * 0.5, s[1] + 1), (target, 0))
    np.testing.assert_allclose(x.numpy(), np.sqrt(target.numpy()), rtol=1e-12)
    assert 3 < turns.item() < 20
    same, none = gc.while_loop(lambda s: s[1] > 5, lambda s: (s[0] * 2, s[1] + 1), (target, 0))
    np.testing.assert_array_equal(same.numpy(), target.numpy())
    assert none.item() == 0


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_a_while_loop_ends_in_the_right_memory(turns):
    x = leaf(50)
    (found, n) = gc.while_loop(lambda s: s[1] < turns, lambda s: (s[0] * 3.0 + 1, s[1] + 1), (x, 0))
    want = x.numpy()
    for _ in range(turns):
        want = want * 3.0 + 1
    np.testing.assert_array_equal(found.numpy(), want)


def test_a_while_loop_over_nothing_has_no_turn():
    """Its condition is a constant, and a boolean one."""
    state = gc.while_loop(lambda x: gc.any(x != 0), lambda x: x - 1, gc.zeros(0, dtype=gc.int8))
    assert state.numpy().shape == (0,) and gc.gcd(state, state).tolist() == []


def test_cond():
    x = leaf(6)

    def choose(p):
        return gc.cond(p, lambda a, b: {"y": a * 2, "n": gc.sum(b)}, lambda a, b: {"y": -a, "n": gc.max(b)}, x, x + 1)
    more = x.numpy() + 1
    for p, y, n in ((x[0] == x[0], x.numpy() * 2, more.sum()), (x[0] != x[0], -x.numpy(), more.max())):
        found = choose(p)
        np.testing.assert_array_equal(found["y"].numpy(), y)
        np.testing.assert_allclose(found["n"].item(), n)
    assert choose(True)["y"].tolist() == (x.numpy() * 2).tolist()


def test_cond_inside_a_scan():
    def turn(c, x):
        c = gc.cond(x > 0, lambda c: c + x, lambda c: c * 0.5, c)
        return c, c
    xs = rng.standard_normal(20)
    _, every = gc.scan(turn, 1.0, gc.asarray(xs))
    state, want = 1.0, []
    for x in xs:
        state = state + x if x > 0 else state * 0.5
        want.append(state)
    np.testing.assert_array_equal(every.numpy(), want)


def test_library_routines_inside_a_loop():
    """Turns that Python has to count: a solve in each."""
    a, b = leaf(6, 4, 4) + 5 * gc.eye(4), leaf(4)

    def turn(x, m):
        x = gc.linalg.solve(m, x)
        return gc.sort(x), x
    last, every = gc.scan(turn, b, a)
    state = b.numpy()
    for k, m in enumerate(a.numpy()):
        x = np.linalg.solve(m, state)
        np.testing.assert_allclose(every.numpy()[k], x, rtol=1e-9)
        state = np.sort(x)
    np.testing.assert_allclose(last.numpy(), state, rtol=1e-9)
    x, n = gc.while_loop(lambda s: s[1] < 5, lambda s: (gc.sort(-s[0]), s[1] + 1), (b, 0))
    np.testing.assert_array_equal(x.numpy(), np.sort(-np.sort(b.numpy())) if n.item() % 2 == 0 else np.sort(-b.numpy()))


def test_rows_written_where_they_lie(backend):
    """A table that a turn updates is no copy in each turn: it stays in its place."""
    rows, table = leaf(5, 3), gc.realize(leaf(100, 3))

    def turn(carry, x):
        table, k = carry
        table = table + 0       # a handle of its own, that may be written to
        gc.add.at(table, gc.stack([k]), x[None])
        return (table, k + 2), gc.sum(x)
    (found, _), _ = gc.scan(turn, (table, 1), rows)
    want = table.numpy().copy()
    for k in range(5):
        want[1 + 2 * k] += rows.numpy()[k]
    np.testing.assert_array_equal(found.numpy(), want)


def test_updates_in_place(backend):
    table = gc.realize(leaf(1000))

    def turn(table, x):
        table[3] = x
        return table, x
    (found, ys) = gc.scan(turn, table, leaf(4))
    want = table.numpy().copy()
    want[3] = ys.numpy()[-1]
    np.testing.assert_array_equal(found.numpy(), want)
    if backend != "reference":
        graph = canonical.canonicalize([gc.scan(turn, table, leaf(4))[0].node])
        loop, = (step for step in build(graph, "c").program.steps if hasattr(step, "carried"))
        assert loop.carried[0].spare is None


def test_scalars_of_a_body_compile_nothing_new(backend):
    x, xs = leaf(30), leaf(9, 30)

    def run(rate):
        return gc.scan(lambda c, x: (c - rate * x, gc.sum(c)), x, xs)[0]
    gc.realize(run(0.31))
    before = gc.counters()
    for k in range(20):
        found = run(0.011 + k / 7).numpy()
        want = x.numpy()
        for row in xs.numpy():
            want = want - (0.011 + k / 7) * row
        np.testing.assert_array_equal(found, want)
    done = gc.counters() - before
    assert done.compiles == 0 and done.program_misses == 0
    if backend != "reference":
        assert done.program_hits == 20


def test_what_does_not_change_is_computed_once(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    w, xs = leaf(40, 40), leaf(10, 40)
    last, _ = gc.scan(lambda c, x: (gc.tanh(c @ gc.exp(w) + x), None), gc.zeros(40), xs)
    plan = gc.plan(last)
    loop, = (k for k in plan.kernels if k.inside)
    assert any("exp" in k.name for k in plan.kernels) and not any("exp" in k.name for k in loop.inside)


@pytest.mark.parametrize("dtype, columns, read_twice", [("float32", 192, False), ("float64", 96, True),
                                                         ("float32", 40, False)])
def test_factors_that_stay_the_same_are_laid_out_once(backend, dtype, columns, read_twice):
    w, xs, c = leaf(columns, 530, dtype=dtype).T, leaf(5, 17, 530, dtype=dtype), leaf(17, columns, dtype=dtype)

    def run():
        return gc.scan(lambda c, x: (c * 0.5 + x @ w + (w[3] if read_twice else 1), None), c, xs)[0]
    plan, last = gc.plan(run()), run().numpy()
    want = c.numpy()
    for x in xs.numpy():
        want = want * 0.5 + x @ w.numpy() + (w.numpy()[3] if read_twice else 1)
    np.testing.assert_allclose(last, want, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-3)
    with settings.override(disable="panels"):
        without = gc.plan(run())
        assert run().numpy().tobytes() == last.tobytes()
    if backend == "cpu":
        full = columns % (panel_bytes() // w.dtype.itemsize) == 0
        assert len(plan.kernels) - len(without.kernels) == full
        assert plan.peak_bytes - without.peak_bytes == full * w.nbytes


# ------------------------------------------------------------------------------------------------- graphs and programs

def test_equal_bodies_are_one_program():
    def run(x, xs):
        return gc.scan(lambda c, x: (c * 2.5 + x, c), x, xs)
    (a, _), (b, _) = run(leaf(4), leaf(5, 4)), run(leaf(4), leaf(5, 4))
    first, second = a.node.srcs[0], b.node.srcs[0]
    assert first.attrs == second.attrs and hash(first.attrs) == hash(second.attrs)
    assert canonical.canonicalize([a.node]).key == canonical.canonicalize([b.node]).key
    assert repr(first.attrs) == repr(second.attrs)


def test_graphs_with_loops_are_read_back_from_their_text():
    x, _ = gc.scan(lambda c, x: (gc.scan(lambda d, _: (d + x, None), c, length=3)[0], c), leaf(4), leaf(5, 4))
    roots, _ = canonical.rebuild_canonical(canonical.canonicalize([x.node]))
    assert parse_graph(graph_text(roots)) == roots


def test_the_interpreter_runs_loops(backend):
    if backend == "reference":
        pytest.skip("the reference runs no kernels")
    xs, x = leaf(4, 6), leaf(6)
    last, every = gc.scan(lambda c, x: (gc.cond(gc.sum(x) > 0, lambda c: c + x, lambda c: c * 2.5, c), c), x, xs)
    count = gc.while_loop(lambda n: n < 5, lambda n: n + 2, 0)
    nodes = [t.node for t in (last, every, count)]
    graph = canonical.canonicalize(nodes)
    inputs = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    found = run_program(build(graph, "c"), inputs, graph.params, "reverse")
    for raw, tensor in zip(found, gc.realize(last, every, count), strict=True):
        assert raw.tobytes() == tensor.numpy().tobytes()


def test_the_reference_agrees():
    from graphc import reference
    xs, x = leaf(4, 6), leaf(6)
    last, every = gc.scan(lambda c, x: (gc.sin(c) + x * 0.3, gc.max(c)), x, xs)
    wanted = reference.evaluate([last.node, every.node])
    for want, found in zip(wanted, gc.realize(last, every), strict=True):
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-12)


def test_verify_checks_loops(backend):
    x, xs = leaf(6), leaf(5, 6)
    last, every = gc.scan(lambda c, x: (gc.tanh(c) + x * 0.3, gc.sum(c)), x, xs)
    with settings.override(verify=True):
        found = gc.realize(last, every, gc.while_loop(lambda n: n < 5, lambda n: n + 2, 0))
    assert found[2].item() == 6


def test_a_program_with_a_loop_comes_from_disk():
    x, xs = leaf(4), leaf(5, 4)

    def run():
        return gc.scan(lambda c, x: (c * 1.75 - x, c), x, xs)[0].numpy()
    first = run()
    driver.forget_programs()
    before = gc.counters()
    np.testing.assert_array_equal(run(), first)
    assert (gc.counters() - before).program_misses == 0


# -------------------------------------------------------------------------------------------------------------- errors

def test_a_carry_that_changes_its_shape_or_dtype():
    xs = leaf(5, 3)
    with pytest.raises(ShapeError, match=r"the carry\['a'\] has shape \(3,\) before a turn, \(6,\) after it.*_loops"):
        gc.scan(lambda c, x: ({"a": gc.concat([c["a"], x])}, None), {"a": gc.zeros(3)}, xs)
    with pytest.raises(DTypeError, match=r"the carry\[1\] is float32 before a turn, float64 after it"):
        gc.scan(lambda c, x: ((c[0], c[1] + x), None), (1.0, gc.zeros(3, dtype="float32")), xs)
    with pytest.raises(DTypeError, match=r"the carry is \(tensor, tensor\) before a turn and tensor after it"):
        gc.scan(lambda c, x: (c[0], None), (1.0, 2.0), xs)
    with pytest.raises(DTypeError, match="returned a Tensor, not a pair"):
        gc.scan(lambda c, x: c, xs[0], xs)
    with pytest.raises(ShapeError, match=r"the value has shape \(3,\) before"):
        gc.while_loop(lambda c: True, lambda c: c[:2], gc.zeros(3))
    with pytest.raises(DTypeError, match="the result is int64 by true_fun, float64 by false_fun"):
        gc.cond(xs[0, 0] > 0, lambda: gc.asarray([1]), lambda: gc.asarray([1.0]))
    with pytest.raises(ShapeError, match=r"the condition has shape \(3,\)"):
        gc.while_loop(lambda c: c > 0, lambda c: c, gc.zeros(3))


def test_lengths_that_differ():
    with pytest.raises(ShapeError, match=r"xs\[0\] has 4; xs\[1\] has 5"):
        gc.scan(lambda c, x: (c, None), 0.0, (leaf(4), leaf(5)))
    with pytest.raises(ShapeError, match="neither xs nor a length"):
        gc.scan(lambda c, x: (c, None), 0.0)
    with pytest.raises(ShapeError, match=r"length is 3"):
        gc.scan(lambda c, x: (c, None), 0.0, leaf(4), length=3)
    with pytest.raises(ShapeError, match="no axis to go along"):
        gc.scan(lambda c, x: (c, None), 0.0, 1.0)


def test_a_traced_value_has_no_truth_value():
    with pytest.raises(TracerError, match="bool.*is not known while its function is traced") as caught:
        gc.scan(lambda c, x: (c + x if x > 0 else c, None), 0.0, leaf(4))
    assert "gc.cond" in str(caught.value) and "test_loops.py" in str(caught.value)
    with pytest.raises(TracerError):
        gc.while_loop(lambda c: float(c) < 3, lambda c: c + 1, 0.0)


def test_a_bad_index_inside_a_loop_names_its_line():
    table, indices = leaf(10), gc.asarray(np.array([[1], [2], [77], [3]])) * 1

    def turn(c, i):
        return c + gc.sum(gc.take(table, i)), None     # this line
    with pytest.raises(IndexError, match="this line") as caught:
        gc.scan(turn, 0.0, indices)[0].numpy()
    assert "index 77 is out of range for axis 0 of size 10" in str(caught.value)


def test_control_c_ends_a_loop_that_does_not(backend):
    if backend == "reference":
        pytest.skip("the reference runs in Python")
    text = """
import signal
import graphc as gc

def enough(*_):
    raise TimeoutError
x = gc.while_loop(lambda s: s > -1.0, lambda s: s * 0.5 + 1.0, 1.0)
signal.signal(signal.SIGALRM, enough)
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
try:
    x.item()
except TimeoutError:
    print("ended")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240)
    assert done.stdout.split() == ["ended"], done.stderr


def test_the_boundary_refuses_loops_that_leave_their_memory(backend):
    if backend == "reference":
        pytest.skip("the reference runs no programs")
    xs, x = leaf(6, 4), leaf(4)
    nodes = [t.node for t in gc.scan(lambda c, x: (c + x, c * x), x, xs)]
    program = build(canonical.canonicalize(nodes), "c").program
    check(program)
    (place, loop), = ((k, s) for k, s in enumerate(program.steps) if isinstance(s, Loop))
    longer = replace(loop.sliced[0], stride=loop.sliced[0].stride + 8)
    shorter = replace(loop.sliced[0], stride=loop.sliced[0].stride - 8)
    inner = loop.body.steps[0]
    astray = replace(inner, members=(replace(inner.members[0], slots=(0, 0, 99)),))
    unsound = [replace(loop, turns=7), replace(loop, turns=None), replace(loop, sliced=(longer,)),
               replace(loop, sliced=(shorter,)), replace(loop, carried=()), replace(loop, arrays=(0,)),
               replace(loop, carried=(replace(loop.carried[0], spare=99),)),
               replace(loop, body=replace(loop.body, steps=(astray,))),
               replace(loop, body=replace(loop.body, arena=64))]
    for step in unsound:
        with pytest.raises(ValueError, match="cannot be run"):
            check(replace(program, steps=(*program.steps[:place], step, *program.steps[place + 1:])))


# ----------------------------------------------------------------------------------------------- inside of jit and grad

def test_loops_in_a_jitted_function():
    xs = leaf(6, 4)

    @gc.jit
    def f(c, rate):
        last, every = gc.scan(lambda c, x: (c * rate + x, c), c, xs)
        return gc.cond(last.sum() > 0, lambda a: a, lambda a: -a, last), every, gc.while_loop(
            lambda n: gc.any(n < 5), lambda n: n + gc.abs(c) + 1, c)
    for rate in (0.3, 0.7, 0.9):
        c = leaf(4)
        for found, want in zip(f(c, rate), f.__wrapped__(c, rate), strict=True):
            np.testing.assert_array_equal(found.numpy(), want.numpy())


def test_what_is_made_of_a_state_that_never_changes():
    def turn(carry, x):
        total, factor = carry
        return (total + x * gc.sin(factor[1:]), factor), None
    factor = gc.asarray([5.0, 0.5])
    (total, same), _ = gc.scan(turn, (gc.zeros(1), factor), gc.ones((3, 1)))
    assert total.item() == pytest.approx(3 * np.sin(0.5)) and same.tolist() == factor.tolist()


@pytest.mark.parametrize("start", [lambda: gc.asarray(1).astype("float64"), lambda: gc.asarray(np.float64(1)) * 1.0,
                                   lambda: gc.sum(gc.ones(1)), lambda: gc.ones((), dtype="int32").astype("float64")])
def test_a_state_that_folds_into_a_constant(start):
    """Steps read memory, and a constant has none: the casts here become one in a pass."""
    last, states = gc.scan(lambda s, _: (s * 1.5, s), start(), None, length=3)
    assert last.item() == 3.375 and states.tolist() == [1, 1.5, 2.25]
    assert gc.while_loop(lambda v: v < 9, lambda v: v * 2.5, start()).item() == 15.625
    assert gc.cond(gc.asarray(True), lambda x: x * 2, lambda x: x, start()).item() == 2


@pytest.mark.parametrize("start", [1.5, np.float64(1.5), gc.asarray(1.5)])
def test_a_loop_within_one_that_never_changes_where_it_starts(start):
    """It is made once, before the outer one, and starts with a number that lies nowhere."""
    x = gc.asarray([2.0, 3.0, 5.0])

    def f(start):
        return gc.scan(lambda s, _: (s, gc.scan(lambda t, v: (t * v, t), s, x)), start, x)[1]
    for product, states in (f(start), gc.jit(f)(gc.asarray(start))):
        assert product.tolist() == [45] * 3 and states.tolist() == [[1.5, 3, 9]] * 3


@pytest.mark.parametrize("change", [lambda t, v: t.assign(t + v), lambda t, v: t.__iadd__(v),
                                    lambda t, v: t.__setitem__(0, v)])
def test_assigning_to_what_comes_from_outside_is_refused(change):
    """It would be done once, and with a value that nobody knows outside."""
    outside, norm = gc.asarray([1.0, 2.0]), gc.nn.BatchNorm1d(2)

    def body(v, *_):
        change(outside, v)
        return v * 2
    bodies = {"scan": lambda: gc.scan(lambda c, x: (body(c), x), 1.0, gc.ones(3)),
              "while_loop": lambda: gc.while_loop(lambda v: v < 9, body, 1.0),
              "cond": lambda: gc.cond(gc.asarray(False), body, lambda v: v, gc.asarray(1.0)),
              "vmap": lambda: gc.vmap(body)(gc.ones(3))}
    for name, f in bodies.items():
        for run in (f, gc.jit(f)):
            with pytest.raises(TracerError, match=rf"\[{name}\] a tensor of shape \(2,\) from outside"):
                run()
            assert outside.tolist() == [1, 2]
    with pytest.raises(TracerError, match="from outside"):
        gc.scan(lambda c, x: (c, norm(x)), 0.0, gc.ones((3, 4, 2)))
    assert norm.running_mean.tolist() == [0, 0]


def test_assigning_to_what_a_body_has_made_or_been_given():
    class Holder:
        pass

    def turn(carry, x):
        own, holder = gc.zeros(2), Holder()
        holder.itself, holder.tensor = holder, gc.ones(2)
        own[1] = x
        holder.tensor += own
        carry[0] += x
        return carry, {"own": own, "held": holder.tensor}
    last, gave = gc.scan(turn, gc.zeros(2), gc.asarray([1.0, 2.0]))
    assert last.tolist() == [3, 0] and gave["own"].tolist() == [[0, 1], [0, 2]]
    assert gave["held"].tolist() == [[1, 2], [1, 3]]
    kept = gc.ones(2)

    def there_and_back(v):
        before = kept.detach()
        kept.assign(before * v)
        result = kept.sum()
        kept.assign(before)
        return result
    assert gc.vmap(there_and_back)(gc.asarray([1.0, 2.0])).tolist() == [2, 4] and kept.tolist() == [1, 1]


def test_branches_that_give_numbers_of_two_kinds_are_refused():
    with pytest.raises(DTypeError, match="int64 by true_fun and float64 by false_fun"):
        gc.cond(gc.asarray(False), lambda: 1, lambda: 2.5)
    assert gc.cond(gc.asarray(False), lambda: 1, lambda: 2).item() == 2


def test_a_loop_that_reads_nothing_within_a_branch():
    """It has no sources, and is no leaf that could be taken from outside."""
    found = gc.cond(gc.asarray(True), lambda: gc.scan(lambda c, _: (None, gc.arange(3.0)), None, length=2)[1],
                    lambda: gc.zeros((2, 3)))
    assert found.tolist() == [[0, 1, 2]] * 2
