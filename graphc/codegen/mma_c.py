"""Products on a matrix unit of the processor, in C: the model of an mma Template for codegen_templates/c/mma.c.j2.

The unit multiplies tiles of 16 rows of 16 words, a word being as many neighbours along k as fit 32 bits. Both factors
are laid out in such tiles, some rows and columns at a time, for a chunk of k.
"""
from __future__ import annotations

from graphc.codegen.gemm_c import Nest, epilogue, matrix_in_memory, need, part, squares
from graphc.ir import dtype as dt
from graphc.ir.dtype import DType
from graphc.ir.kernel import Operand, Template, innermost
from graphc.ir.target import l2_bytes, rounded_up
from graphc.ir.trees import CHUNKS

SIDE = 16               # rows of a tile, and words of each,
WORD = 4                # of so many bytes
CHUNK = CHUNKS["mma"]
GROUP = 64              # columns after which the epilogue goes over their sums
SQUARE = 64             # elements on each side of what is computed before it goes into tiles
FAR = 1 << 25           # bytes of columns that are laid out at a time, for rows that come in several parts
SPARE = 16              # elements between rows of sums, so that they share no set of a cache
LETTERS = {"int8": "s", "uint8": "u"}


def mma(model, s: Template) -> dict:
    """The model of an mma Template."""
    m, n, k = (s.span(name) for name in "mnk")
    factors = {operand.name: operand.dtype for operand in s.operands}
    memory = {name: model.spell.language.memory(dtype) for name, dtype in factors.items()}
    depth = SIDE * WORD // factors["a"].itemsize        # of a tile
    line = min(rounded_up(k.size, depth), CHUNK) * factors["a"].itemsize        # of a chunk
    rows = max(l2_bytes() // 2 // line, 2 * GROUP)      # that are laid out at a time: they stay near,
    rows = rounded_up(-(-m.length // -(-m.length // rows)), 2 * SIDE)
    width = rounded_up(n.length, GROUP)
    columns = min(width, max(FAR // line // GROUP, 1) * GROUP)
    target, kind = model.spell.language.target, _kind(factors)
    chains = kind == "bf16" and "bfloat16" in target.pairs
    tiles = "bfloat16" in target.matrix         # else there are words alone, of bytes or pairs
    adds = f"{'chain' if chains else 'plus'}_{'float' if kind == 'bf16' else 'int32_t'}"
    need(model, "float", "vectors", "square", "turn", "fma", "keep")
    model.spell.helpers["gc_amd"] = None
    laid = [f"tiles_{held}" for held in dict.fromkeys(memory.values())]
    for name in (adds, *laid, *(["shape"] if tiles else [])):
        model.spell.helpers[f"gc_mma_{name}"] = None
    model.spell.helpers[f"gc_unit_{'pairs' if chains else 'tiles' if tiles else 'words'}_{kind}"] = None

    def scratch(nbytes: int) -> str:
        return model.spell.arg(model.take_scratch(nbytes))
    nests = {operand.name: _tiles(model, s, operand, scratch) for operand in s.operands}
    if m.length <= rows:        # those laid out are met once, so soon: a few where they come from their ends
        columns = GROUP if nests["b"]["along"] else 2 * GROUP
    for name, count in (("a", rows), ("b", columns)):
        nests[name]["offset"] = scratch(count * line)
    least = scratch((rows + columns) // SIDE * 2) if factors["a"] is dt.bfloat16 else None
    several = k.size > CHUNK
    stride = width + SPARE
    return {"kind": "mma", "result": s.result, "type": model.spell.language.register(s.dtype), "least": least,
            "group": GROUP, "square": SQUARE, "chunk": CHUNK, "tiles": tiles, "chains": chains, "each": depth,
            "width": model.spell.arg(stride), "rows": model.spell.arg(rows), "columns": model.spell.arg(columns),
            "length": " * ".join(model.spell.extent(a) for a in k.axes), "m": part(model, m), "n": part(model, n),
            "sums": scratch(WORD * (rounded_up(m.length, 2 * SIDE) * stride if several else rows * GROUP)),
            "part": None if chains else scratch(WORD * rows * GROUP if several else 0), **nests,
            "epilogue": epilogue(model, s)}


def _kind(factors: dict[str, DType]) -> str:
    """What the instruction that multiplies these factors is called after them."""
    if factors["a"] is dt.bfloat16:
        return "bf16"
    return LETTERS[factors["a"].name] + LETTERS[factors["b"].name]


def _tiles(model, s: Template, operand: Operand, scratch) -> dict:
    """Lay out an operand. `along`: memory, or a square of what is computed, is contiguous along k."""
    outer, start, stop = ("m", "m_from", "m_to") if operand.name == "a" else ("n", "n_left", "n_right")
    along = innermost(operand.body).axis in s.walked(operand)["k"].axes
    place = matrix_in_memory(model, s, operand, "k_from", start)
    found = {"name": operand.name, "span": outer, "start": start, "stop": stop, "along": along,
             "held": model.spell.language.memory(operand.dtype), "direct": place, "body": None, "square": None}
    if place is None:
        nest: Nest = squares(model, s, operand, *((outer, "k") if along else ("k", outer)))
        nest.spelled = model.spell.keep
        found |= {"body": nest.statements(operand.body), "square": scratch(SQUARE * SQUARE * operand.dtype.itemsize)}
    return found
