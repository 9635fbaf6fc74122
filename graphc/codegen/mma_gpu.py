"""Matrix products on a matrix unit: the model of an mma Template for codegen_templates/gpu/mma.j2.

A warp multiplies 16 rows of a with some columns of b (spell.Unit), 32 bytes of k at a time: 16 narrow numbers, or 8 of
float32, which are rounded to TF32 on their way out of shared memory. Tiles of both factors lie there as they do in
memory, along k or across. Where the unit's lanes hold parts of several rows, matrices of 8 rows of 16 bytes are read,
and turned where that is the wrong way; those of float32 are read word by word then. Else a lane reads its own row. An
item fetches runs of 16 bytes of a tile, by 16 bytes of each array where they lie together and addresses allow it. What
is multiplied as it lies in memory is on its way meanwhile: copied, three tiles ahead, or in registers, one tile ahead.
So are the factors of the next step of k, out of shared memory into registers.

Where four warps multiply together (CUDA's warpgroups, Target.warpgroup), the unit reads both factors out of shared
memory by itself: 64 rows of a and all columns of b, 16 of k at a time. Tiles then are pieces of rows of 128 bytes.
"""
from __future__ import annotations

import re

from msgspec import to_builtins

from graphc.codegen.gemm_gpu import block_of, epilogue
from graphc.codegen.runs_gpu import fetched
from graphc.ir import dtype as dt
from graphc.ir.kernel import LOAD, Template
from graphc.ir.node import Node
from graphc.ir.ops import FAST
from graphc.ir.target import unit_type
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["mma"]
ROWS, DEPTH = 16, 2                 # of what a warp multiplies at once; of k, in runs
RUN = 16                            # bytes of a tile that are fetched together
SHORT, LONG = 4, 8                  # runs of k in a tile: less with long rows, so that all fits
COPIED, KEPT, TOGETHER = 4, 2, 3    # tiles in shared memory, with copies, without, and of a warpgroup
FEW_SUMS = 32                       # of an item, with which several groups' registers fit a multiprocessor
PAD = 8                             # numbers behind a row of results there, if there is room


def mma(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    operands, unit = {o.name: o for o in s.operands}, model.spell.language.unit
    dtype = operands["a"].dtype
    run = RUN // dtype.itemsize
    a, b = (fetched(model, s, operands[x], outer, run, "bits", lambda value: _bits(model, value), steps=True)
            for x, outer in (("a", "m"), ("b", "n")))
    straight = unit.copies and all(f["plain"] and f["along"] and f["across"] for f in (a, b))
    together = (straight and dtype.itemsize == 2
                and (m.length, n.length) == model.spell.language.target.warpgroup)
    depth = run * (LONG if together or max(m.length, n.length) <= 64 else SHORT)
    warps = model.group // unit.lanes
    down = warps if together else 4 if m.length > n.length else 2       # of them below one another, and beside
    across = warps // down
    stages = TOGETHER if together else COPIED if unit.copies else KEPT
    for f in (a, b):
        f |= _tile(model, f, depth, run) | {"waits": f["plain"] and not unit.copies, "piece": depth if together else 0}
        f["turn"], f["down"] = _turn(f, unit.held, dtype), model.group // f["runs"]
        same = 4 if f["turn"].startswith("% 4") else 8      # rows so far apart have the same turn
        assert not straight or f["down"] % same == 0
        model.keep(f"tile_{f['name']}", "uint4", stages * f["size"], in_scratch=True)
    room = model.scratch // 4 // (down * ROWS)
    sums = ROWS * unit.columns // unit.lanes
    tall, broad = m.length // down // ROWS, n.length // across // unit.columns
    model.is_large = not together and tall * broad * sums > FEW_SUMS
    model.spell.helper("gc_bitcast_uint32_t_float" if dtype is dt.float32 else f"gc_load_{dtype}")
    return {"kind": "mma", "result": s.result, "chunk": CHUNK, "depth": depth, "group": model.group,
            "straight": straight, "together": together,
            "unit": to_builtins(unit), "sums": sums, "fragment": unit.held // 2 or 4, "wide": ROWS // unit.columns,
            "stages": stages, "down": down, "across": across, "rows": m.length // down, "columns": n.length // across,
            "tall": tall, "broad": broad, "step": DEPTH * run,
            "run": run, "words": dtype is dt.float32,
            "strip": min(n.length + PAD, room), "length": " * ".join(model.spell.extent(x) for x in k.axes),
            "several": k.size > CHUNK, "m": block_of(model, m), "n": block_of(model, n), "a": a, "b": b,
            "type": unit_type(dtype, FAST), "epilogue": epilogue(model, s)}


def _tile(model, f: dict, depth: int, run: int) -> dict:
    """How large a tile of an operand is: its rows go along k where memory does."""
    size = f["length"] * depth // run
    return {"runs": (depth if f["along_k"] else f["length"]) // run, "size": size, "share": size // model.group}


def _turn(f: dict, held: int, dtype: dt.DType) -> str:
    """What of a row's number runs in it change places by, so that lanes meet all banks: they read the same run of eight
    neighbouring rows, or across k four rows of float32, or two runs of rows that are `held` apart."""
    if not f["along_k"] and (held or dtype is dt.float32):
        return f"/ {held} % 4 * 2" if held else "% 4 * 2"
    return "% 8" if f["runs"] >= 8 else "/ 2 % 4"


def _bits(model, value: Node) -> str:
    """The text of a narrow number as it lies in memory: as it was read, or rounded once; of another, itself."""
    if value.op is LOAD and not value.srcs:
        return model.spell.place(*value.attrs)
    text = model.spell.keep(value)
    twice = re.fullmatch(rf"gc_store_{value.dtype}\(gc_round_{value.dtype}\((\w+(?:\[\w+\])?)\)\)", text)
    return f"gc_store_{value.dtype}({twice[1]})" if twice else text
