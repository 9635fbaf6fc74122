"""Matrix products for groups of work items: the model of a gemm Template for codegen_templates/gpu/gemm.j2.

A group computes one block of the result. Pieces of both factors lie in shared memory, each item has a square of results
in registers, and fetches its share of the next piece, some neighbours, while the group multiplies this one. The
operands are nests of loops around one element's expression; an item evaluates them at the places that are its own.
"""
from __future__ import annotations

from graphc.codegen.runs_gpu import fetched, flat, held
from graphc.ir.kernel import LOAD, Operand, Span, Store, Template, statements
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["chain"]
DEPTH = 8           # of k that lie in shared memory at a time; twice as much of matrices where a group may have more
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
    depth = 2 * DEPTH if model.spell.language.target.large and all(_is_matrix(o, s) for o in s.operands) else DEPTH
    strip = n.length + STRIP_PAD
    model.shared_sizes["tile_a"] = (register, max(2 * depth * (m.length + PAD), down * strip))
    model.shared_sizes["tile_b"] = (register, 2 * depth * (n.length + PAD))
    read = {}
    for o, x in zip(s.operands, (m, n), strict=True):
        form, run = held(model, o), x.length * depth // model.group
        read[o.name] = {"held": form.type, "widen": form.widen,
                        **fetched(model, s, o, x.name, run, f"next_{o.name}[u]", form.spelled)}
    return {"kind": "gemm", "type": register, "result": s.result, "chunk": CHUNK, "depth": depth, "side": SIDE,
            "down": down, "pad": PAD, "group": model.group, "rows": rows, "columns": columns, "length": length,
            "several": k.size > CHUNK, "strip": strip, "m": block_of(model, m), "n": block_of(model, n),
            "fma": model.spell.helper(f"gc_fma_{register}"), "a": read["a"], "b": read["b"],
            "epilogue": epilogue(model, s)}


def _is_matrix(operand: Operand, s: Template) -> bool:
    """Whether it is what lies in memory, along single axes: addresses take no registers."""
    (value,) = (x.value for x in statements(operand.body) if type(x) is Store)
    return value.op is LOAD and not value.srcs and all(len(x.axes) == 1 for x in s.walked(operand).values())


def block_of(model, span: Span) -> dict:
    return {"block": span.block.name, "length": span.length,
            "extent": " * ".join(model.spell.extent(a) for a in span.axes)}


def epilogue(model, s: Template) -> list[dict]:
    return flat(model, s.walked(), s.epilogue, {"m": "m_at", "n": "n_at"}, None)
