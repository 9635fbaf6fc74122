"""Random programs against the reference, and against themselves realized in other ways: see differential.py.

`--programs N` sets how many (300 by default; .ci/long runs 3,000). A failure prints its seed and the program, cut
down.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from differential import at_once, problem_of, problems_of, shortest
from programs import Program, of_seed, strategy
from regressions import REGRESSIONS
from together import Together, going_together

import graphc as gc

CHUNK = 20     # programs whose kernels are compiled together
FIRST = int(os.environ.get("FIRST_SEED", "0"))
LARGE = Path(__file__).parent / "large_programs.py"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "first_seed" in metafunc.fixturenames:
        end = FIRST + metafunc.config.getoption("--programs")
        metafunc.parametrize("first_seed", range(FIRST, end, CHUNK))


def test_programs_agree_with_the_reference_however_realized(first_seed: int, programs: int):
    seeds = range(first_seed, min(first_seed + CHUNK, FIRST + programs))
    written = [of_seed(seed) for seed in seeds]
    problems = [f"seed {seed}: {problem_of(shortest(program)) or problem}"
                for seed, program, problem in zip(seeds, written, problems_of(written), strict=True)
                if problem is not None]
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("chunk", range(2))
def test_programs_agree_as_if_their_arrays_were_large(backend, chunk: int):
    """In a process of its own: graphc remembers how it made a kernel, and so would other tests."""
    if backend != "cpu":
        pytest.skip("about generated C")
    command = [sys.executable, LARGE, str(10_000_000 + chunk * CHUNK), str(CHUNK)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@hypothesis.given(strategy())
@hypothesis.settings(max_examples=15, suppress_health_check=list(hypothesis.HealthCheck))
def test_programs_that_shrink(program: Program):
    """The same with choices that hypothesis makes: other programs in every run, and failures cut down by it."""
    problem = problem_of(program)
    assert problem is None, problem


def test_kernels_of_many_programs_are_few_texts(backend):
    """Else most of the time would go into starts of the compiler."""
    if backend != "cpu":
        pytest.skip("others are not compiled together")
    plain = Together("-O0")
    for seed in range(CHUNK):
        with suppress(Exception), plain.chosen(rehearsing=True):
            at_once(of_seed(seed))
    assert len(plain.wanted) >= CHUNK and len(going_together(list(plain.wanted))) <= 2


def test_a_rehearsal_leaves_nothing_in_the_nodes_of_others():
    """What is recorded before a random program may be the same expression as a part of it."""
    index = gc.arange(3) + 5
    assert problem_of(Program(("gc.arange(3) + 5",), (0,))) is None
    assert index.tolist() == [5, 6, 7]


@pytest.mark.parametrize("name", REGRESSIONS)
def test_programs_that_failed_once(name: str):
    lines = tuple(REGRESSIONS[name].strip().splitlines())
    problem = problem_of(Program(tuple(line.strip() for line in lines), (len(lines) - 1,)))
    assert problem is None, problem
