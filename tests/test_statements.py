"""Random sequences of statements (statements.py): updates in place, views, realizing in between; as NumPy does them."""

from __future__ import annotations

from contextlib import nullcontext, suppress

import numpy as np
import pytest
from statements import GRAPHC, NUMPY, Shown, of_seed, run
from together import Together

from graphc import driver

CHUNK = 25      # sequences whose kernels are compiled together


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
