"""gc.jit and lists, dicts and dataclasses that are arguments."""

from __future__ import annotations

import dataclasses

import pytest

import graphc as gc
from graphc.errors import JitError


@dataclasses.dataclass
class State:
    w: gc.Tensor
    count: int = 0


def _counts(state, x):
    state.count += 1
    return x * state.count


@pytest.mark.parametrize("step, state", [
    (lambda state, x: state.__setitem__("w", state["w"] - x), {"w": 1}),
    (lambda state, x: state.__setitem__("new", x), {"w": 1}),
    (lambda state, x: state["deep"].append(x), {"deep": []}),
    (lambda state, x: state.pop(), [1, 2]),
    (lambda state, x: setattr(state, "w", x), State(1)),
    (_counts, State(1)),
])
def test_a_store_into_a_container_that_is_an_argument_is_refused(step, state):
    """It would be one into a copy: the caller would see nothing of it, and no later call would do it."""
    with pytest.raises(JitError, match=r"stores something else in a (dict|list|State).*\n.*test_jit_containers"):
        gc.jit(step)(state, gc.ones(2))
    with pytest.raises(JitError, match="stores something else"):
        gc.jit(lambda x, *, state: step(state, x))(gc.ones(2), state=state)


def test_what_a_function_may_do_with_containers():
    """Update the tensors in them; change its own ones, copies, and what Python copies for each call."""
    @gc.jit
    def step(state, x, *more, **options):
        mine = dict(state)
        mine["w"], mine["rate"] = mine["w"] * options.pop("rate"), [x]
        mine["rate"].append(more[0])
        state["w"] -= x
        state["v"][0] = 7.0
        return mine
    state = {"w": gc.asarray([1.0, 2.0]), "v": gc.zeros(2)}
    for turn in range(3):
        found = step(state, gc.ones(2), gc.zeros(1), rate=2.0)
        assert found["w"].tolist() == [2.0 - 2 * turn, 4.0 - 2 * turn] and len(found["rate"]) == 2
        assert (state["w"].tolist(), state["v"].tolist()) == ([-turn, 1.0 - turn], [7.0, 0.0])
