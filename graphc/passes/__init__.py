"""Graph to schedule to kernels. The order of the passes stands in `GRAPH_PASSES`; build.py calls the rest."""
from __future__ import annotations

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

# name, function: graph -> graph (roots), then graph -> Schedule, Schedule -> kernels -> launches -> Program
GRAPH_PASSES = (
    ("unread", drop_unread),
    ("simplify", simplify),
    ("powers", multiply_out),
    ("complex", part_products),
    ("weighted", recognise_gradient),
    ("attention", recognise_attention),
    ("blocked", recognise_blocks),
    ("relax", relax),
    ("split", split_reductions),
    ("panels", lay_panels),
    ("library", call_library),
)
FOR_TARGET = frozenset(("split",))     # those that are told what the program is for: no result depends on it

# The passes that make what has to have templates, by which names these go.
TEMPLATES = {"weighted": frozenset(("attention", "weighted")), "attention": frozenset(("attention",)),
             "blocked": frozenset(("blocked",)), "panels": frozenset(("panels",))}

__all__ = ["FOR_TARGET", "GRAPH_PASSES", "TEMPLATES", "batch", "follows", "fuse", "lower", "plan_memory"]
