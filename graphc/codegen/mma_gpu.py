"""Matrix products on a matrix unit: the model of an mma Template for codegen_templates/gpu/mma.j2.

A warp multiplies 16 rows of a with 8 columns of b, 16 of k at a time. Tiles of both factors lie in shared memory as
they do in memory, along k or across; matrices of 8 x 8 are read from there by rows of 16 bytes, and turned where that
is the wrong way. An item fetches runs of eight neighbours, by 16 bytes of each array where they lie together and
addresses allow it; what is multiplied as it lies in memory is copied meanwhile, two tiles ahead.
"""
from __future__ import annotations

import re

from graphc.codegen.gemm_gpu import block_of, epilogue
from graphc.codegen.runs_gpu import fetched
from graphc.ir.kernel import LOAD, Operand, Template
from graphc.ir.node import Node
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["mma"]
LANES = 32
ROWS, COLUMNS, DEPTH = 16, 8, 16    # of what a warp multiplies at once
RUN = 8                             # neighbours that are fetched together: 16 bytes of a tile
SHORT, LONG = 32, 64                # of k in a tile: less with long rows, so that all fits
STAGES = 3                          # tiles that are multiplied or on their way
PAD = 8                             # numbers behind a row of results in shared memory


def mma(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    operands = {o.name: o for o in s.operands}
    depth = SHORT if max(m.length, n.length) > 64 else LONG
    down = 4 if m.length > n.length else 2                  # warps below one another, and beside
    across = model.group // LANES // down
    a, b = _fetched(model, s, operands["a"], "m", depth), _fetched(model, s, operands["b"], "n", depth)
    for f in (a, b):
        model.shared_sizes[f"tile_{f['name']}"] = ("uint4", STAGES * f["size"])
    model.spell.helper(f"gc_load_{operands['a'].dtype}")
    return {"kind": "mma", "result": s.result, "chunk": CHUNK, "depth": depth, "group": model.group, "lanes": LANES,
            "stages": STAGES, "down": down, "across": across, "rows": m.length // down, "columns": n.length // across,
            "tall": m.length // down // ROWS, "broad": n.length // across // COLUMNS, "step": DEPTH,
            "strip": n.length + PAD, "length": " * ".join(model.spell.extent(x) for x in k.axes),
            "several": k.size > CHUNK, "m": block_of(model, m), "n": block_of(model, n), "a": a, "b": b,
            "dtype": str(operands["a"].dtype), "epilogue": epilogue(model, s)}


def _fetched(model, s: Template, operand: Operand, outer: str, depth: int) -> dict:
    """What becomes a tile of an operand: its rows go along k where memory does."""
    found = fetched(model, s, operand, outer, RUN, "bits", lambda value: _bits(model, value))
    size = found["length"] * depth // RUN
    return found | {"runs": (depth if found["along_k"] else found["length"]) // RUN, "size": size,
                    "share": size // model.group}


def _bits(model, value: Node) -> str:
    """The text of a narrow number as it lies in memory: as it was read, or rounded once."""
    if value.op is LOAD and not value.srcs:
        return model.spell.place(*value.attrs)
    text = model.spell.keep(value)
    twice = re.fullmatch(rf"gc_store_{value.dtype}\(gc_round_{value.dtype}\((\w+(?:\[\w+\])?)\)\)", text)
    return f"gc_store_{value.dtype}({twice[1]})" if twice else text
