"""gc.jit of functions that assign to what they close over: a call takes what the last one left (steady.py)."""

from __future__ import annotations

import copy
import pickle
import random
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.tolerances import equal_bits
from graphc.tracing.replay import Replay
from graphc.tracing.steady import Steady
from graphc.tracing.written_out import MISS

pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture
def quick_runs(monkeypatch) -> list[bool]:
    """For each time that a call began with what the last one had left, whether it could go on."""
    runs: list[bool] = []
    run = Steady.run

    def watched(*args):
        result = run(*args)
        runs.append(result is not MISS)
        return result
    monkeypatch.setattr(Steady, "run", watched)
    return runs


def _stateful(state: dict, jitted: bool) -> dict:
    """Functions that assign to what they close over, in place and otherwise."""
    def f(x):
        state["a"][1] = x + state["c"]
        state["n"].assign(state["n"] + 1)
        return state["a"].sum() * state["n"]

    def g(x):
        state["a"].assign(state["a"] * 0.5)
        return state["c"] - x
    return {"f": gc.jit(f) if jitted else f, "g": gc.jit(g) if jitted else g}


def _hold_steps(rng: random.Random, steps: int) -> None:
    """What happens between calls of such functions: other calls, assignments, aliases, views, and arguments that they
    close over."""
    sides = []
    for jitted in (False, True):
        state = {"a": gc.asarray(np.ones((200, 50), "float32")), "c": gc.asarray(np.arange(50, dtype="float32")),
                 "n": gc.zeros(())}
        gc.realize(*state.values())
        sides.append((state, _stateful(state, jitted), [], [gc.asarray(np.full(50, 0.5, "float32"))]))
    for _ in range(steps):
        step = rng.choice(["f"] * 12 + ["g", "g", "c", "copy", "view", "drop", "self", "in place", "x", "paused"])
        outs = []
        for state, functions, kept, x in sides:
            if step in functions:
                outs.append(functions[step](x[0]))
            elif step == "c":
                state["c"].assign(state["c"] * 0.5)
            elif step == "copy":
                kept.append(copy.copy(state["a"]))
            elif step == "view":
                kept.append(state["a"].numpy())
            elif step == "drop":
                kept.clear()
            elif step == "self":
                outs.append(functions["f"](state["c"]))
            elif step == "in place":
                state["a"][0, 3] = 7.0
                gc.realize(state["a"])
            elif step == "x":
                x[0] = gc.asarray(np.full(50, 1.5, "float32"))
            else:
                with gc.no_grad():
                    outs.append(functions["f"](x[0]))
        (plain, _, kept, _), (mine, _, held, _) = sides
        for one, other in zip((*(outs[:1]), *kept, *plain.values()), (*(outs[1:]), *held, *mine.values()), strict=True):
            assert equal_bits(np.array(one), np.array(other)), step


@pytest.mark.parametrize("seed", range(6))
def test_what_happens_between_calls_is_seen(seed, quick_runs, backend):
    _hold_steps(random.Random(seed), 60)
    assert (True in quick_runs and False in quick_runs) or backend != "cpu"


def test_tensors_are_not_looked_at_twice(quick_runs, monkeypatch):
    weights = [gc.asarray(np.full((4,), k, "float32")) for k in range(20)]
    state, count = gc.asarray(np.zeros((500, 4), "float32")), gc.zeros((), dtype=gc.int64)
    looks: list[int] = []
    accepts = Replay.accepts

    @gc.jit
    def f(x, scale):
        for w in weights:
            x = x + w
        state[0] = x * scale
        count.assign(count + 1)
        return x

    monkeypatch.setattr(Replay, "accepts", lambda *args: looks.append(1) or accepts(*args))
    x = gc.asarray(np.ones(4, "float32"))
    for k in range(6):
        assert f(x, 0.5 * k).tolist() == [191.0] * 4
        assert state[0].tolist() == [191.0 * 0.5 * k] * 4 and int(count) == k + 1
    address = state.node.value.address
    looks.clear(), quick_runs.clear()
    for _ in range(3):
        f(x, 1.0)
    assert not looks and quick_runs == [True] * 3 and state.node.value.address == address and int(count) == 9
    weights[7].assign(gc.zeros(4))
    assert f(x, 1.0).tolist() == [184.0] * 4 and looks
    count.assign(3)                             # a constant: another trace
    for k in range(3):
        assert f(x, 1.0).tolist() == [184.0] * 4 and int(count) == 4 + k
    looks.clear(), quick_runs.clear()
    f(x, 1.0)
    assert not looks and quick_runs == [True]


def test_an_index_out_of_range_is_told_of(quick_runs, backend):
    table = gc.asarray(np.arange(40, dtype="float32").reshape(20, 2))
    state = gc.asarray(np.zeros((500, 2), "float32"))

    @gc.jit
    def f(index):
        state[0] = table[index][0]
        return table[index] + 1

    for k in range(5):
        assert f(gc.asarray([k])).tolist() == [[2.0 * k + 1, 2.0 * k + 2]]
    assert True in quick_runs or backend != "cpu"
    with pytest.raises(IndexError, match=r"20"):
        f(gc.asarray([20]))
    if backend != "cpu":        # where all kernels had run when that was known
        state.assign(np.zeros((500, 2), "float32"))
    assert f(gc.asarray([19])).tolist() == [[39.0, 40.0]]


def test_what_a_call_reads_stays_while_others_rebind_it():
    """Another thread assigns while calls run: each call sees the one or the other value in all places."""
    w, state = gc.asarray(np.zeros(50_000, "float32")), gc.asarray(np.zeros((20, 50_000), "float32"))

    @gc.jit
    def f():
        state[0] = w
        return w.min(), w.max()

    for _ in range(4):
        f()
    stop = threading.Event()

    def rebind():
        values = [gc.asarray(np.full(50_000, k, "float32")) for k in range(3)]
        while not stop.is_set():
            for value in values:
                w.assign(value)
    thread = threading.Thread(target=rebind)
    thread.start()
    try:
        for _ in range(300):
            low, high = f()
            assert float(low) == float(high)
    finally:
        stop.set()
        thread.join()


def test_who_may_rebind_a_tensor():
    """Such a line makes a new tensor, or tells `rebinding`: a file that is new here has to be looked at."""
    root = Path(gc.__file__).parent
    files = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in ("passes", "ir")]
    found = {str(path.relative_to(root)) for path in files if re.search(r"\.node = ", path.read_text())}
    assert found == {"tensor.py", "autodiff.py", "nn/module.py", "api/called.py", "api/record.py", "api/laziness.py",
                     "tracing/replay.py", "tracing/steady.py", "tracing/written_out.py"}


@gc.jit
def doubled(x):
    return 2 * x


class Scaled(gc.nn.Module):
    def __init__(self):
        self.inner = gc.nn.Linear(2, 1, bias=False)
        self.fast = gc.jit(self.inner.forward)


def test_copies_of_jitted_functions_that_ran():
    """By name where they have one, as functions are; otherwise made anew, a method with a copy of its object."""
    x = gc.ones((1, 2))
    assert doubled(x).tolist() == [[2, 2]]
    assert all(made is doubled for made in (pickle.loads(pickle.dumps(doubled)), copy.copy(doubled)))
    local = gc.jit(lambda x, n: x * n, static_argnums=1)
    assert local(x, 3).tolist() == [[3, 3]]
    assert copy.deepcopy({"f": local})["f"](x, 4).tolist() == [[4, 4]]
    with gc.no_grad():
        model = Scaled()
        model.inner.weight.assign([[1, 2]])
        assert model.fast(x).tolist() == [[3]]
        other = copy.deepcopy(model)
        other.inner.weight.assign([[0, 5]])
        assert (model.fast(x).tolist(), other.fast(x).tolist()) == ([[3]], [[5]])
