"""Attention for groups of work items: the model of an attention Template for codegen_templates/gpu/attention.j2.

A group takes a block of queries through the keys, 64 at a time. The scores of a block are a small matrix product, whose
results go through the expression of the template; of each query one item finds the maximum and, in the order of
docs/numerics.md, the sum of the weights, which lie in shared memory and meet the values there. What queries and keys
multiply is there for all features at once, if there is room, and the queries for all keys.
"""
from __future__ import annotations

from graphc.codegen.gemm_gpu import SIDE
from graphc.codegen.runs_gpu import fetched, flat
from graphc.codegen.spell import register_bytes
from graphc.ir.kernel import Template
from graphc.ir.trees import CHUNKS

KEYS = CHUNKS["attention"]
RUN = 4         # neighbours that an item reads together
WORDS = 1024    # bytes of shared memory for a kernel's words
DEPTHS = (64, 32, 16)   # features of queries and keys that lie in shared memory at a time


def attention(model, s: Template) -> dict:
    m, n, c, e = (s.span(name) for name in "mnce")
    spell, register = model.spell, model.spell.language.register(s.dtype)
    operands = {o.name: o for o in s.operands}
    facts = dict(s.facts)
    parts = -(-e.size // KEYS)      # of the columns of the values: each item has four of 64
    target, itemsize = spell.language.target, register_bytes(s.dtype)

    def sizes(depth: int) -> dict[str, int]:
        return {"weight": m.length * KEYS, "tile_q": depth * m.length, "tile_k": depth * KEYS,
                **dict.fromkeys(("top", "total", "factor", "shift"), m.length)}

    def nbytes(depth: int) -> int:
        return sum(sizes(depth).values()) * itemsize + m.length * 4
    room = target.large or target.shared * 2 // 3       # of more than that a multiprocessor has not twice as much
    depth = next(d for d in DEPTHS if nbytes(d) <= room or d == DEPTHS[-1])
    for name, size in [*sizes(depth).items(), ("seen", m.length)]:
        model.keep(name, "int" if name == "seen" else register, size, in_scratch=nbytes(depth) > target.shared - WORDS)
    model.crowded = True
    bits = (0xFFF << 52) if register == "double" else 0xFF800000

    def place(name: str, at: dict[str, str], target: str) -> list[dict]:
        return flat(model, s.walked(operands[name]), operands[name].body, at, target)
    return {"kind": "attention", "type": register, "result": s.result, "chunk": KEYS, "queries": m.length,
            "block": m.block.name, "depth": depth, "whole": c.size <= depth == DEPTHS[0], "side": SIDE,
            "group": model.group, "parts": parts, "single": parts == 1 and depth >= KEYS,
            "rows": m.length * SIDE // model.group, "extent": {x.name: spell.extent(x.axes[0]) for x in (m, n, c, e)},
            "least": spell.infinite(register, bits), "fma": spell.helper(f"gc_fma_{register}"),
            "exp": spell.helper(f"gc_exp_{register}"), "slope": facts["slope"], "more": facts["columns"],
            "diagonal": None if facts["diagonal"] is None else spell.expr(facts["diagonal"]),
            **{name: fetched(model, s, operands[name], outer, RUN, "next", spell.expr, k)
               for name, outer, k in (("q", "m", "c"), ("k", "n", "c"), ("v", "n", "e"))},
            "scores": place("scores", {"m": "m_at", "n": "n_at"}, "value"),
            "epilogue": flat(model, s.walked(), s.epilogue,
                             {"m": "m_at", "r" if facts["columns"] else "e": "e_at"}, None)}
