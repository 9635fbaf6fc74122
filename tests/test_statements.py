"""Random sequences of statements (statements.py): updates in place, views, realizing in between; as NumPy does them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from statements import GRAPHC, NUMPY, Shown, of_seed, run
from together import Together

import graphc
from graphc import driver
from graphc.runtime import compiler

CHUNK = 25      # sequences whose kernels are compiled together


@pytest.fixture(autouse=True)
def only_new_garbage() -> Iterator[None]:
    """The statement `collect()` looks at what a test has made, and not at all that the tests before it have left."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        metafunc.parametrize("first_seed", range(0, metafunc.config.getoption("--programs") // 5, CHUNK))


def problem_of(lines: list[str]) -> str | None:
    wanted, shown = run(lines, NUMPY), Shown()
    found = run(lines, {**GRAPHC, "keep": shown.keep})
    for name, want in wanted.items():
        got = found[name].numpy()
        if got.dtype != want.dtype or got.shape != want.shape or not np.array_equal(got, want):
            return f"{name} is {got}, not {want}"
    return f"{shown.changed()} arrays changed after they were shown" if shown.changed() else None


def _rehearse(lines: list[str]) -> None:
    for tensor in run(lines, {**GRAPHC, "keep": np.asarray}).values():
        tensor.numpy()


def test_a_rehearsal_leaves_the_compiler_as_it_was(backend):
    """Also where nodes are collected while they are put away."""
    if backend != "cpu":
        pytest.skip("others are not rehearsed")
    usual, threshold = compiler.find_compiler, gc.get_threshold()
    for later in range(5, 100, 5):
        try:
            with Together("-O0").chosen(rehearsing=True):
                gc.disable()
                nodes: list = [graphc.asarray(np.arange(7.0)) * k for k in range(30)]
                nodes.append(nodes)
                del nodes
                gc.set_threshold(gc.get_count()[0] + later)     # objects until the collector looks for such circles
                gc.enable()
        finally:
            gc.set_threshold(*threshold)
            gc.enable()
        assert compiler.find_compiler is usual


def test_statements_do_what_they_do_to_arrays(first_seed: int):
    sequences = {seed: of_seed(seed) for seed in range(first_seed, first_seed + CHUNK)}
    together = Together("-O0") if driver.default_device() == "cpu" else None
    if together is not None:
        for lines in sequences.values():
            with suppress(Exception), together.chosen(rehearsing=True):     # what fails here fails again below
                _rehearse(lines)
        together.compile_wanted()
    for seed, lines in sequences.items():
        with together.chosen() if together is not None else nullcontext():
            problem = problem_of(lines)
        assert problem is None, "\n".join([f"seed {seed}: {problem}", *lines])
