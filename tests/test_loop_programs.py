"""Random functions with loops and branches, compiled, jitted, batched and differentiated, against the same by hand."""

from __future__ import annotations

import numpy as np
import pytest
from loop_programs import ByHand, of_seed

import graphc as gc

CHUNK = 5       # programs of one test


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        count = metafunc.config.getoption("--programs") // 25
        metafunc.parametrize("first_seed", range(0, count, CHUNK))


def value(f, loops, x):
    return f(loops, *x)


def jitted(f, loops, x):
    return (gc.jit(lambda *x: f(loops, *x)) if loops is gc else lambda *x: f(loops, *x))(*x)


def batched(f, loops, x):
    batches = [gc.stack([t, t * 0.5, t - 1]) for t in x]
    if loops is gc:
        return gc.vmap(lambda *x: f(loops, *x))(*batches)
    return gc.stack([f(loops, *[b[k] for b in batches]) for k in range(3)])


def gradient(f, loops, x):
    return gc.grad(lambda *x: f(loops, *x), argnums=(0, 1, 2))(*x)


def jitted_gradient(f, loops, x):
    return jitted(lambda loops, *x: gradient(f, loops, x), loops, x)


def batched_gradient(f, loops, x):
    return batched(lambda loops, *x: gradient(f, loops, x)[1], loops, x)


def tangent(f, loops, x):
    return gc.jvp(lambda *x: f(loops, *x), tuple(x), tuple(gc.ones_like(t) for t in x))


def second(f, loops, x):
    return gc.grad(lambda *x: gc.sum(gradient(f, loops, x)[1]), argnums=(0, 1))(*x)


ALWAYS = (value, jitted, batched)
DIFFERENTIABLE = (*ALWAYS, gradient, jitted_gradient, batched_gradient, tangent, second)


def test_loops_agree_with_their_turns_by_hand(backend, first_seed: int):
    with gc.backend(backend):
        for seed in range(first_seed, first_seed + CHUNK):
            differentiable = seed % 3 > 0
            text, f = of_seed(seed, differentiable)
            rng = np.random.default_rng(seed)
            x = [gc.asarray(rng.uniform(-1, 1, shape)) for shape in ((), (3,), (3, 3))]
            ways = DIFFERENTIABLE if differentiable else ALWAYS
            way = ways[seed // 3 % len(ways)]
            found, expected = (result if isinstance(result, tuple) else (result,)
                               for result in (way(f, loops, x) for loops in (gc, ByHand)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-9, 1e-11, err_msg=f"{way.__name__}\n{text}")
