"""Attention for groups of work items: the model of an attention Template for codegen_templates/gpu/attention.j2.

A group takes a block of queries through the keys, 64 at a time. The scores of a block are a small matrix product, whose
results go through the expression of the template into shared memory; there each query has its maximum, its weights and
their sum, in the order of docs/numerics.md; then the weights meet the values, in registers.
"""
from __future__ import annotations

from graphc.codegen.gemm_gpu import DEPTH, PAD, SIDE
from graphc.codegen.runs_gpu import flat
from graphc.ir.kernel import Template
from graphc.ir.target import rounded_up
from graphc.ir.trees import CHUNKS

KEYS = CHUNKS["attention"]
PIECE = 2       # so many times four columns of its results an item adds to at a time: for more it has no registers


def attention(model, s: Template) -> dict:
    m, n, c, e = (s.span(name) for name in "mnce")
    spell, register = model.spell, model.spell.language.register(s.dtype)
    operands = {o.name: o for o in s.operands}
    facts = dict(s.facts)
    parts = -(-e.size // KEYS)      # of the columns of the values: each item has four of 64
    piece = 4 * min(parts, PIECE)
    sizes = {"weight": m.length * (KEYS + 1), "tile_q": DEPTH * (m.length + PAD), "tile_k": DEPTH * (KEYS + PAD),
             **dict.fromkeys(("top", "total", "factor", "shift"), m.length)}
    for name, size in sizes.items():
        model.shared_sizes[name] = (register, size)
    model.shared_sizes["seen"] = ("int", m.length)
    model.crowded = True
    bits = (0xFFF << 52) if register == "double" else 0xFF800000

    def place(name: str, at: dict[str, str], target: str) -> list[dict]:
        return flat(model, s.walked(operands[name]), operands[name].body, at, target)
    return {"kind": "attention", "type": register, "result": s.result, "chunk": KEYS, "queries": m.length,
            "block": m.block.name, "depth": DEPTH, "pad": PAD, "side": SIDE, "group": model.group, "parts": parts,
            "piece": piece, "columns": rounded_up(4 * parts, piece),
            "rows": m.length * SIDE // model.group, "extent": {x.name: spell.extent(x.axes[0]) for x in (m, n, c, e)},
            "least": spell.infinite(register, bits), "fma": spell.helper(f"gc_fma_{register}"),
            "exp": spell.helper(f"gc_exp_{register}"), "slope": facts["slope"], "more": facts["columns"],
            "diagonal": None if facts["diagonal"] is None else spell.expr(facts["diagonal"]),
            "q": place("q", {"m": "m_at", "c": "c_at"}, "value"), "k": place("k", {"n": "n_at", "c": "c_at"}, "value"),
            "v": place("v", {"n": "n_at", "e": "e_at"}, "right[j]"),
            "scores": place("scores", {"m": "m_at", "n": "n_at"}, "value"),
            "epilogue": flat(model, s.walked(), s.epilogue,
                             {"m": "m_at", "r" if facts["columns"] else "e": "e_at"}, None)}
