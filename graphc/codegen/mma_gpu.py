"""Matrix products on a matrix unit: the model of an mma Template for codegen_templates/gpu/mma.j2.

A warp multiplies 16 rows of a with 8 columns of b, 32 bytes of k at a time: 16 narrow numbers, or 8 of float32, which
are rounded to TF32 on their way out of shared memory. Tiles of both factors lie there as they do in memory, along k or
across; matrices of 8 rows of 16 bytes are read, and turned where that is the wrong way; those of float32 are read word
by word then. An item fetches runs of 16 bytes of a tile, by 16 bytes of each array where they lie together and
addresses allow it; what is multiplied as it lies in memory is copied meanwhile, two tiles ahead.
"""
from __future__ import annotations

import re

from graphc.codegen.gemm_gpu import block_of, epilogue
from graphc.codegen.runs_gpu import fetched
from graphc.ir import dtype as dt
from graphc.ir.kernel import LOAD, Operand, Template
from graphc.ir.node import Node
from graphc.ir.ops import FAST
from graphc.ir.target import unit_type
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["mma"]
LANES = 32
ROWS, COLUMNS, DEPTH = 16, 8, 2     # of what a warp multiplies at once; of k, in runs
RUN = 16                            # bytes of a tile that are fetched together
SHORT, LONG = 4, 8                  # runs of k in a tile: less with long rows, so that all fits
STAGES = 3                          # tiles that are multiplied or on their way
PAD = 8                             # numbers behind a row of results in shared memory


def mma(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    operands = {o.name: o for o in s.operands}
    dtype = operands["a"].dtype
    run = RUN // dtype.itemsize
    depth = run * (SHORT if max(m.length, n.length) > 64 else LONG)
    down = 4 if m.length > n.length else 2                  # warps below one another, and beside
    across = model.group // LANES // down
    a, b = (_fetched(model, s, operands[x], outer, depth, run) for x, outer in (("a", "m"), ("b", "n")))
    for f in (a, b):
        model.shared_sizes[f"tile_{f['name']}"] = ("uint4", STAGES * f["size"])
    model.spell.helper("gc_bitcast_uint32_t_float" if dtype is dt.float32 else f"gc_load_{dtype}")
    return {"kind": "mma", "result": s.result, "chunk": CHUNK, "depth": depth, "group": model.group, "lanes": LANES,
            "stages": STAGES, "down": down, "across": across, "rows": m.length // down, "columns": n.length // across,
            "tall": m.length // down // ROWS, "broad": n.length // across // COLUMNS, "step": DEPTH * run,
            "run": run, "words": dtype is dt.float32,
            "strip": n.length + PAD, "length": " * ".join(model.spell.extent(x) for x in k.axes),
            "several": k.size > CHUNK, "m": block_of(model, m), "n": block_of(model, n), "a": a, "b": b,
            "type": unit_type(dtype, FAST), "epilogue": epilogue(model, s)}


def _fetched(model, s: Template, operand: Operand, outer: str, depth: int, run: int) -> dict:
    """What becomes a tile of an operand: its rows go along k where memory does."""
    found = fetched(model, s, operand, outer, run, "bits", lambda value: _bits(model, value))
    size = found["length"] * depth // run
    return found | {"runs": (depth if found["along_k"] else found["length"]) // run, "size": size,
                    "share": size // model.group, "words": operand.dtype is dt.float32}


def _bits(model, value: Node) -> str:
    """The text of a narrow number as it lies in memory: as it was read, or rounded once; of another, itself."""
    if value.op is LOAD and not value.srcs:
        return model.spell.place(*value.attrs)
    text = model.spell.keep(value)
    twice = re.fullmatch(rf"gc_store_{value.dtype}\(gc_round_{value.dtype}\((\w+(?:\[\w+\])?)\)\)", text)
    return f"gc_store_{value.dtype}({twice[1]})" if twice else text
