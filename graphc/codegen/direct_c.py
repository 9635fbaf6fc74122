"""Products whose factors are not packed, in C: the model of a direct Template for codegen_templates/c/direct.c.j2.

A factor is read where it lies. One that is computed is so for a chunk of k, and lies in scratch.
"""
from __future__ import annotations

from graphc.codegen.gemm_c import CHUNK, GROUP, SPARE, Nest, epilogue, matrix_in_memory, need, part, plain_store
from graphc.ir.kernel import Operand, Template, innermost
from graphc.ir.target import LINE, rounded_up

ROWS = 96       # of a that meet some columns of b before the next columns do


def direct(model, s: Template) -> dict:
    """The model of a direct Template."""
    register, k = model.spell.language.register(s.dtype), s.span("k")
    need(model, register, "vectors", "fma", "keep", "direct")
    several = k.size > CHUNK
    plain = None if several else plain_store(model, s)

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * s.dtype.itemsize))
    return {"kind": "direct", "result": s.result, "type": register, "group": GROUP, "rows": ROWS, "chunk": CHUNK,
            "length": " * ".join(model.spell.extent(axis) for axis in k.axes),
            "m": part(model, s.span("m")), "n": part(model, s.span("n")),
            **{operand.name: _factor(model, s, operand, scratch) for operand in s.operands},
            "sums": None if plain else scratch(ROWS * GROUP), "part": scratch(ROWS * GROUP) if several else None,
            "plain": plain, "epilogue": None if plain else epilogue(model, s)}


def _factor(model, s: Template, operand: Operand, scratch) -> dict:
    """Where it lies at k_from and its first row or column, and how far rows and steps along k are apart; and what
    computes it there."""
    outer = "m" if operand.name == "a" else "n"
    along = innermost(operand.body).axis in s.walked(operand)["k"].axes
    memory = matrix_in_memory(model, s, operand, "k_from", f"{outer}_from")
    if memory:
        return {"name": operand.name, "place": memory["place"], "body": None,
                **_strides(along, memory["stride"])}
    deep, across = min(s.span("k").size, CHUNK), min(s.span(outer).size, ROWS)
    apart = rounded_up(deep if along else across, LINE // s.dtype.itemsize) + SPARE
    # rows of b touch: what is read behind one must not be leftovers
    strides = _strides(along, model.spell.arg(apart) if outer == "m" else "(n_to - n_from)")
    nest = Nest(model, s, {outer: (f"{outer}_from", f"{outer}_to"), "k": ("k_from", "k_to")}, operand)
    nest.target = lambda at: (f"{operand.name}_chunk[({at[outer]} - {outer}_from) * {strides['stride']} "
                              f"+ ({at['k']} - k_from) * {strides['step']}]")
    return {"name": operand.name, "place": f"{operand.name}_chunk[0]", "body": nest.statements(operand.body),
            "offset": scratch(apart * (across if along else deep)), **strides}


def _strides(along: bool, apart: str) -> dict:
    return {"stride": apart, "step": "1"} if along else {"stride": "1", "step": apart}
