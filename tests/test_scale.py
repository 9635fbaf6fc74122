"""Large graphs: nothing is recursive, and twice the nodes take about twice the work."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import graphc as gc
from graphc.config import settings

ONES = np.ones(4)
PLANNER = Path(gc.__file__).parent


def chain(nodes: int) -> list[gc.Tensor]:
    x = gc.asarray(ONES)
    for _ in range(nodes // 2):
        x = x * 1.5 - 0.5
    return [x]


def side_by_side(nodes: int) -> list[gc.Tensor]:
    x = gc.asarray(ONES)
    return [x + float(k) for k in range(nodes)]


def sum_of_leaves(nodes: int) -> list[gc.Tensor]:
    """A balanced tree; half of its nodes are leaves."""
    terms = [gc.asarray(ONES) for _ in range(nodes // 2)]
    while len(terms) > 1:
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)] + odd
    return terms


def sum_in_a_row(nodes: int) -> list[gc.Tensor]:
    total = gc.asarray(ONES)
    for _ in range(nodes // 2):
        total = total + gc.asarray(ONES)
    return [total]


def reductions_and_views(nodes: int) -> list[gc.Tensor]:
    x = gc.asarray(np.ones((4, 4)))
    for _ in range(nodes // 6):
        x = gc.mean(x, axis=0, keepdims=True) + gc.flip(x, axis=1) * 0.1
    return [x]


GRAPHS = [chain, side_by_side, sum_of_leaves, sum_in_a_row, reductions_and_views]


@pytest.fixture(autouse=True)
def without_limit():
    with settings.override(lazy_limit=0):
        yield


def lines_run(graph, nodes: int) -> Counter:
    """How many lines each function of the planner runs: a count that no other work on the machine changes."""
    roots, counts = graph(nodes), Counter()

    def tracer(code):
        def line(frame, event, argument):
            counts[code] += 1
            return line
        return line if str(PLANNER) in code.co_filename and "codegen" not in code.co_filename else ignored

    def ignored(frame, event, argument):
        return None

    tracers = {}

    def called(frame, event, argument):
        code = frame.f_code
        found = tracers.get(code)
        if found is None:
            found = tracers[code] = tracer(code)
        return found(frame, event, argument)

    before = sys.gettrace()
    sys.settrace(called)
    try:
        kernels = gc.plan(*roots).kernels
    finally:
        sys.settrace(before)
    assert kernels
    return counts


@pytest.mark.parametrize("graph", GRAPHS, ids=[graph.__name__ for graph in GRAPHS])
def test_twice_the_nodes_run_about_twice_the_lines(graph):
    """In all, and in each function that runs more than a few lines a node. What the interpreter does within a line, as
    `x in list`, is not seen here: it is what the 100,000 nodes below are for."""
    nodes = 1200
    lines_run(graph, 200)       # what is read or imported once
    once, twice = lines_run(graph, nodes), lines_run(graph, 2 * nodes)
    grown = {f"{code.co_filename}:{code.co_firstlineno} {code.co_name}": (once[code], count)
             for code, count in twice.items() if count > 3 * max(once[code], 2 * nodes)}
    assert not grown
    assert twice.total() < 2.3 * once.total()


def test_a_chain_of_100_000_nodes():
    (x,) = chain(100_000)
    assert x.node.depth == 100_000
    plan = gc.plan(x)
    assert plan.flops == 4 * 100_000 and len(plan.kernels) < 1000
    del x       # dropping the nodes does not recurse either


def test_10_000_roots_side_by_side():
    roots = side_by_side(10_000)
    gc.realize(*roots)
    np.testing.assert_array_equal([t.numpy()[3] for t in roots], np.arange(10_000) + 1.0)


def test_a_sum_of_10_000_leaves():
    (total,) = sum_of_leaves(20_000)
    assert total.tolist() == [10_000.0] * 4


def test_a_long_chain_is_cut_into_kernels_that_compile():
    """A C compiler takes more than linear time for one long function."""
    plan = gc.plan(*chain(4000))
    assert max(len(kernel.source) for kernel in plan.kernels) < 100_000


def test_a_long_chain_of_functions_is_a_few_kernels_again_and_again():
    x = gc.asarray(ONES)
    for _ in range(330):
        x = gc.sin(x) * 1.5 + 0.5
    kernels = gc.plan(x, backend="cpu").kernels
    assert len(kernels) == 5 and len({kernel.source for kernel in kernels}) <= 4


def test_a_loop_that_is_read_at_its_end():
    """With the default limits: what a user's loop of 3,000 steps costs."""
    with settings.override(lazy_limit=1000):
        before = gc.counters()
        assert chain(6000)[0].tolist() == [1.0] * 4
        assert (gc.counters() - before).compiles <= 6
