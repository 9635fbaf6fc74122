"""Graph to schedule to kernels. The order of the passes over the graph stands in `GRAPH_PASSES`; build.py calls them,
and then what makes a Schedule of the graph, kernels of that, launches of these, and a memory plan."""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from graphc.ir.node import Node
from graphc.passes.attention import recognise_attention
from graphc.passes.attention_gradient import recognise_gradient
from graphc.passes.batch import batch
from graphc.passes.blocked import recognise_blocks
from graphc.passes.complex_products import part_products
from graphc.passes.follow import follows
from graphc.passes.fuse import fuse
from graphc.passes.library import call_library
from graphc.passes.lower import lower
from graphc.passes.memory import plan_memory
from graphc.passes.panels import lay_panels
from graphc.passes.powers import multiply_out
from graphc.passes.relax import relax
from graphc.passes.simplify import simplify
from graphc.passes.split import split_reductions
from graphc.passes.unread import drop_unread


class GraphPass(NamedTuple):
    """One of the passes from graph to graph.

    run         roots -> roots, or (roots, target) -> roots
    for_target  whether it is told what the program is for: no result depends on it
    templates   that what it makes has to have: where a target lacks one, or one is left out by name, so is the pass
    """

    name: str
    run: Callable[..., tuple[Node, ...]]
    for_target: bool = False
    templates: frozenset[str] = frozenset()


GRAPH_PASSES = (
    GraphPass("unread", drop_unread),
    GraphPass("simplify", simplify),
    GraphPass("powers", multiply_out),
    GraphPass("complex", part_products),
    GraphPass("weighted", recognise_gradient, templates=frozenset(("attention", "weighted"))),
    GraphPass("attention", recognise_attention, templates=frozenset(("attention",))),
    GraphPass("blocked", recognise_blocks, templates=frozenset(("blocked",))),
    GraphPass("relax", relax),
    GraphPass("split", split_reductions, for_target=True),
    GraphPass("panels", lay_panels, templates=frozenset(("panels",))),
    GraphPass("library", call_library),
)
# Those that GRAPHC_DISABLE can leave out.
NAMES = (*(graph_pass.name for graph_pass in GRAPH_PASSES), "fuse", "batch", "follow")

__all__ = ["GRAPH_PASSES", "NAMES", "GraphPass", "batch", "follows", "fuse", "lower", "plan_memory"]
