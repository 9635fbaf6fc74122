"""Groups that do the same are lowered once, each with its own arrays and scalars."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import graphc as gc
from graphc import driver
from graphc.build import build
from graphc.canonical import canonicalize


@pytest.fixture
def lowered(monkeypatch) -> list:
    found: list = []
    lower = sys.modules["graphc.passes.lower"]      # the package has a function of that name
    one = lower.lower_group
    monkeypatch.setattr(lower, "lower_group", lambda *given: found.append(given) or one(*given))
    return found


def built(*tensors):
    return build(canonicalize(driver.computed([t.node for t in tensors])), "c")


def test_equal_layers_are_lowered_once(lowered):
    x = gc.asarray(np.ones((64, 32), np.float32))
    for _ in range(12):
        x = gc.softmax(gc.tanh(x @ gc.asarray(np.ones((32, 32), np.float32)) + 1.5), axis=1)
    kernels = [step for step in built(x).steps]
    assert len(lowered) < len(kernels) and len(lowered) <= 4 and len(kernels) >= 12


def test_each_repetition_has_its_own_arrays_and_scalars():
    random = np.random.default_rng(3)
    x = random.random((50, 60), dtype=np.float32)
    t, a = gc.asarray(x), x.astype(np.float64)
    for k in range(4):      # the same scalar twice in one group, another in the next
        row = random.random(60, dtype=np.float32)
        s = np.float32(0.1 * k + 0.3)
        t = gc.sort(t * float(s) + gc.asarray(row) * (0.5 if k % 2 else 0.25), axis=1)
        a = np.sort(a * s + row * (0.5 if k % 2 else 0.25), axis=1)
    np.testing.assert_allclose(t.numpy(), a, rtol=1e-5)


def test_what_differs_is_lowered_anew(lowered):
    x = gc.asarray(np.ones((6, 8), np.float32))
    outs = [gc.sort(f(x), axis=0) for f in (gc.exp, gc.log, lambda v: gc.exp(v[:, ::-1]), lambda v: gc.exp(v[:5]),
                                            lambda v: gc.exp(gc.astype(v, gc.float64)), lambda v: gc.exp(v + v))]
    steps = built(*outs).steps
    kernels = [step for step in steps if hasattr(step, "kernel") or hasattr(step, "members")]
    assert len(lowered) == len(kernels)
