"""Products of factors that are read where they lie, in C: the model of a direct Template for
codegen_templates/c/direct.c.j2."""
from __future__ import annotations

from graphc.codegen.gemm_c import CHUNK, GROUP, epilogue, matrix_in_memory, need, part, plain_store
from graphc.ir.kernel import Template, innermost

ROWS = 96       # of a that meet some columns of b before the next columns do


def direct(model, s: Template) -> dict:
    """The model of a direct Template."""
    register = model.spell.language.register(s.dtype)
    need(model, register, "vectors", "fma", "keep", "direct")
    several = s.span("k").size > CHUNK
    plain = None if several else plain_store(model, s)
    found = {}
    for operand, start in zip(s.operands, ("m_from", "n_from"), strict=True):
        found[operand.name] = matrix_in_memory(model, s, operand, "k_from", start)
    a, along = found["a"], innermost(s.operands[0].body).axis in s.operands[0].axes[1]
    strides = {"stride": a["stride"], "step": "1"} if along else {"stride": "1", "step": a["stride"]}
    nbytes = ROWS * GROUP * s.dtype.itemsize
    return {"kind": "direct", "result": s.result, "type": register, "group": GROUP, "rows": ROWS,
            "length": " * ".join(model.spell.extent(axis) for axis in s.span("k").axes),
            "m": part(model, s.span("m")), "n": part(model, s.span("n")), "a": {**a, **strides}, "b": found["b"],
            "sums": None if plain else model.spell.arg(model.take_scratch(nbytes)), "chunk": CHUNK,
            "part": model.spell.arg(model.take_scratch(nbytes)) if several else None,
            "plain": plain, "epilogue": None if plain else epilogue(model, s)}
