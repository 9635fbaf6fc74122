"""The printed stages: graphs read back, and each stage of a small program as it should look."""

from __future__ import annotations

import numpy as np
import programs as random_programs
import pytest

import graphc as gc
from graphc import canonical
from graphc.ir.text import graph_text, kernel_text, parse_graph, schedule_text
from graphc.passes import GRAPH_PASSES, fuse, lower


def stages(*tensors: gc.Tensor):
    roots, _ = canonical.rebuild_canonical(canonical.canonicalize([t.node for t in tensors]))
    for graph_pass in GRAPH_PASSES:
        roots = graph_pass.run(roots)
    schedule = fuse(roots)
    return roots, schedule, [step.kernel for step in lower(schedule)]


def test_graphs_of_random_programs_read_back():
    for seed in range(150):
        pending = [n for n in dict.fromkeys(t.node for t in random_programs.of_seed(seed).results()) if n.value is None]
        roots, _ = canonical.rebuild_canonical(canonical.canonicalize(pending))
        text = graph_text(roots)
        assert all(a is b for a, b in zip(parse_graph(text), roots, strict=True)), text
        recorded = graph_text(pending)
        assert graph_text(parse_graph(recorded)) == recorded


def test_indices_that_data_gave_read_back():
    path, table = gc.realize(gc.asarray(np.array([2, 2]))), gc.asarray(np.ones((3, 4)))
    text = graph_text([(table[path[0]] + table[path[1]]).node])
    assert text.count("const int64") == 2
    assert graph_text(parse_graph(text)) == text


def test_several_results_read_back():
    values, order = gc.topk(gc.asarray(np.ones((3, 4))), 2) if hasattr(gc, "topk") else gc.sort(gc.asarray(np.ones(3)))
    text = graph_text([values.node, order.node])
    assert graph_text(parse_graph(text)) == text


@pytest.mark.parametrize("line", ["%1 = nonsense float32[3]", "%1 = exp float32[3] %7", "hello",
                                  "%1 = exp float99[3]", "%0 = buffer float32[3] (1, oops)"])
def test_what_is_no_graph(line: str):
    with pytest.raises(ValueError, match="not a line of a graph"):
        parse_graph(line + "\nreturn %1")
    with pytest.raises(ValueError, match="no return"):
        parse_graph("%0 = buffer float32[3] @cpu (0,)")


def test_how_the_stages_look(golden, compiled):
    x = gc.asarray(np.ones((8, 40), np.float32))
    mask = gc.asarray(np.ones((8, 1), bool))
    roots, schedule, kernels = stages(gc.softmax(gc.where(mask, x * 0.3, float("-inf")), axis=1),
                                      gc.sum(gc.pad(x, ((1, 0), (0, 2))), axis=0))
    golden("text/graph.txt", graph_text(roots))
    golden("text/schedule.txt", schedule_text(schedule))
    golden("text/kernels.txt", "\n".join(map(kernel_text, kernels)))
