"""Matrix products on a matrix unit: the model of an mma Template for codegen_templates/gpu/mma.j2.

A warp multiplies 16 rows of a with 8 columns of b, 16 of k at a time. Tiles of both factors lie in shared memory as
they do in memory, along k or across; matrices of 8 x 8 are read from there by rows of 16 bytes, and turned where that
is the wrong way. An item fetches runs of eight neighbours, by 16 bytes of each array where they lie together and
addresses allow it; what is multiplied as it lies in memory is copied meanwhile, two tiles ahead.
"""
from __future__ import annotations

import re

from graphc.codegen.gemm_gpu import block_of, coordinates, epilogue, inner_axis, statements
from graphc.codegen.wide_gpu import BYTES, WORDS, Moved, Wide, expressions, is_along, is_even
from graphc.ir.index import Axis
from graphc.ir.kernel import LOAD, Operand, Span, Store, Template
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
    """What becomes a tile of an operand: its rows go along k where memory does. `inside` makes the bits of an element
    at (`outer`_at, k_at); `plain`: they are copied."""
    inner, walked = inner_axis(operand), s.walked(operand)
    along_k = inner in walked["k"].axes
    length = walked[outer].length
    runs, size = (depth if along_k else length) // RUN, length * depth // RUN
    loads = _together(model, operand, inner, walked["k" if along_k else outer])
    model.spell.wide = Wide(RUN, inner, True, tuple(moved for moved, _ in loads), ())
    inside = [{"kind": "store", "target": "bits", "value": _bits(model, x.value), "alone": False}
              if type(x) is Store else model.statement(x, {}) for x in statements(operand.body)]
    model.spell.wide = None
    return {"along_k": along_k, "name": operand.name, "span": outer, "runs": runs, "size": size,
            "share": size // model.group, "inner": inner.name, "loads": [x for _, x in loads],
            "even": model.spell.arg(int(all(x["even"] for _, x in loads)), -1),
            "addresses": " | ".join(dict.fromkeys(f"(uint64_t){x['array']}" for _, x in loads)), "inside": inside,
            "plain": [x.get("value") for x in inside] == ["v0"],
            "steps": coordinates(model, walked, {outer: f"{outer}_at", "k": "k_at"})}


def _together(model, operand: Operand, inner: Axis, span: Span) -> list[tuple[Moved, dict]]:
    """What neighbours of an operand read from places that lie together."""
    rows_are_even = len(span.axes) == 1 or inner.extent % RUN == 0
    reads = dict.fromkeys((e.attrs[0], e.attrs[1]) for e in expressions(x.value for x in statements(operand.body))
                          if e.op is LOAD and not e.srcs and is_along(e.attrs[1], inner))
    found = []
    for number, index in reads:
        buffer = model.kernel.buffers[number]
        nbytes = RUN * buffer.dtype.itemsize
        moved = Moved(f"v{len(found)}", number, index)
        found.append((moved, {
            "name": moved.name, "type": model.spell.language.memory(buffer.dtype), "array": buffer.name,
            "word": WORDS[min(nbytes, BYTES)], "count": max(nbytes // BYTES, 1),
            "place": f"{buffer.name}[{model.spell.index(index, number)}]",
            "even": rows_are_even and is_even(index, inner, RUN)}))
    return found


def _bits(model, value: Node) -> str:
    """The text of a narrow number as it lies in memory: as it was read, or rounded once."""
    if value.op is LOAD and not value.srcs:
        return model.spell.place(*value.attrs)
    text = model.spell.keep(value)
    twice = re.fullmatch(rf"gc_store_{value.dtype}\(gc_round_{value.dtype}\((\w+(?:\[\w+\])?)\)\)", text)
    return f"gc_store_{value.dtype}({twice[1]})" if twice else text
