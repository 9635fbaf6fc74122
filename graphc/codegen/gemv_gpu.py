"""Products of few rows for groups of work items: the model of a gemv Template for codegen_templates/gpu/gemv.j2.

Such a product waits for b, which is read once. So that there is enough to wait for at a time, the items of a group
share the sum over k of a column: an item takes every so-manieth chunk of k, of which it makes one chain, as
docs/numerics.md has it; then the chunks' sums are added in their order.
"""
from __future__ import annotations

from graphc.codegen.gemm_gpu import CHUNK, block_of, epilogue
from graphc.codegen.runs_gpu import fetched, flat, held
from graphc.ir.kernel import Operand, Template, innermost

BYTES = 64          # of a column that an item fetches at a time,
SHORT_BYTES = 32    # and where its registers have to hold more besides
RUN = 4             # neighbours that are fetched together
FEW = 4             # rows of which they hold the sums easily


def gemv(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    register = model.spell.language.register(s.dtype)
    columns, group = n.length, model.group
    operands = {o.name: o for o in s.operands}
    along_k = innermost(operands["b"].body).axis in s.walked(operands["b"])["k"].axes
    slices = group // columns
    depth = (SHORT_BYTES if along_k or m.length > FEW else BYTES) // s.dtype.itemsize
    a, run = _fetched(model, s, operands["a"], "m"), min(RUN, depth)
    b = _by_runs(model, s, operands["b"], "n", run) if along_k else _fetched(model, s, operands["b"], "n")
    length = " * ".join(model.spell.extent(a) for a in k.axes)
    pieces = slices * depth * m.length
    share = -(-pieces // group)
    model.shared_sizes["tile_a"] = (register, share * group)
    model.shared_sizes["fold"] = (register, group)
    if along_k:
        model.shared_sizes["tile_b"] = (register, group * (depth + 1))
    return {"kind": "gemv", "type": register, "result": s.result, "chunk": CHUNK, "depth": depth, "group": group,
            "rows": m.length, "columns": columns, "slices": slices, "turns": depth // run,
            "own_rows": -(-m.length // slices), "pieces": pieces, "length": length, "m": block_of(model, m),
            "n": block_of(model, n), "fma": model.spell.helper(f"gc_fma_{register}"), "a": a | {"share": share},
            "b": b, "epilogue": epilogue(model, s)}


def _by_runs(model, s: Template, operand: Operand, outer: str, run: int) -> dict:
    form = held(model, operand)
    target = f"next_{operand.name}[r * {run} + u]"
    return fetched(model, s, operand, outer, run, target, form.spelled) | {"held": form.type, "widen": form.widen}


def _fetched(model, s: Template, operand: Operand, outer: str) -> dict:
    """One element of an operand at (`outer`_at, k_at)."""
    walked, form = s.walked(operand), held(model, operand)
    body = flat(model, walked, operand.body, {outer: f"{outer}_at", "k": "k_at"}, f"next_{operand.name}[e]",
                form.spelled)
    return {"along_k": False, "length": walked[outer].length, "name": operand.name, "span": outer, "body": body,
            "held": form.type, "widen": form.widen}
