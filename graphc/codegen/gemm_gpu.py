"""Matrix products for groups of work items: the model of a gemm Template for codegen_templates/gpu/gemm.j2.

A group computes one block of the result. Pieces of both factors lie in shared memory, each item has a square of results
in registers, and fetches its share of the next piece, some neighbours, while the group multiplies this one. The
operands are nests of loops around one element's expression; an item evaluates them at the places that are its own.
"""
from __future__ import annotations

from graphc.codegen.runs_gpu import fetched, flat, held
from graphc.ir.kernel import Span, Template
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["chain"]
DEPTH = 8           # of k that lie in shared memory at a time
SIDE = 16           # items of a group beside one another; the others stand in rows below them
PAD = 4             # elements behind each row in shared memory, so that neighbouring rows lie in different banks,
STRIP_PAD = 8       # and behind rows of results there


def gemm(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    register = model.spell.language.register(s.dtype)
    down = model.group // SIDE
    rows, columns = m.length // down, n.length // SIDE
    length = " * ".join(model.spell.extent(a) for a in k.axes)
    model.crowded = rows * columns > 32
    strip = n.length + STRIP_PAD
    model.shared_sizes["tile_a"] = (register, max(2 * DEPTH * (m.length + PAD), down * strip))
    model.shared_sizes["tile_b"] = (register, 2 * DEPTH * (n.length + PAD))
    read = {}
    for o, x in zip(s.operands, (m, n), strict=True):
        form, run = held(model, o), x.length * DEPTH // model.group
        read[o.name] = {"held": form.type, "widen": form.widen,
                        **fetched(model, s, o, x.name, run, f"next_{o.name}[e]", form.spelled)}
    return {"kind": "gemm", "type": register, "result": s.result, "chunk": CHUNK, "depth": DEPTH, "side": SIDE,
            "down": down, "pad": PAD, "group": model.group, "rows": rows, "columns": columns, "length": length,
            "several": k.size > CHUNK, "strip": strip, "m": block_of(model, m), "n": block_of(model, n),
            "fma": model.spell.helper(f"gc_fma_{register}"), "a": read["a"], "b": read["b"],
            "epilogue": epilogue(model, s)}


def block_of(model, span: Span) -> dict:
    return {"block": span.block.name, "length": span.length,
            "extent": " * ".join(model.spell.extent(a) for a in span.axes)}


def epilogue(model, s: Template) -> list[dict]:
    return flat(model, s.walked(), s.epilogue, {"m": "m_at", "n": "n_at"}, None)
