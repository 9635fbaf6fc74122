"""Products of integers in blocks in C: the model of a blocked Template for codegen_templates/c/blocked.c.j2.

A panel of columns goes through all blocks: the products of one block, as integers, then what becomes of them, in
vectors where lanes_c.py can spell it. Right factors of 4 or 8 bits are read where they lie, in words of int32; others
are evaluated into scratch, a block of a panel at a time.
"""
from __future__ import annotations

from collections.abc import Sequence

from graphc.codegen.gemm_c import LINE, epilogue, loads_of, part
from graphc.codegen.lanes_c import Lanes
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import Let, Loop, Operand, Template, data_exprs, load
from graphc.ir.node import Node
from graphc.ir.trees import CHUNKS

PANEL = 64              # columns that go through all blocks together
AHEAD = 1024            # words that are asked for before they are read: the blocks of a panel lie one after the other
FARTHER = 3             # as many times as far where that is measured to be better (on AMD)
KINDS = {4: "nibbles", 8: "bytes", 0: "integers"}      # "digits": 4, where the left factor has more than 8 bits


def blocked(model, s: Template) -> dict:
    """The model of one Template. `model` spells expressions, renders statements and hands out scratch memory."""
    m, n, k = (s.span(name) for name in "mnk")
    facts, operands = dict(s.facts), {o.name: o for o in s.operands}
    blocks, bits, terms = facts["blocks"], facts["bits"], operands["terms"]
    depth, columns = k.size // blocks, terms.axes[1]
    words = depth * bits // 32 or depth     # of a block, for each column
    for name in ("vectors", "lanes"):
        model.spell.helpers[f"gc_tiles_{name}_float"] = None
    for name in ("chars", "digits" if bits and facts.get("wide") else KINDS[bits]):
        model.spell.helpers[f"gc_bytes_{name}_int32_t"] = None
    for name in ("gc_amd", "gc_push_sum_float", "gc_fold_sum_float"):
        model.spell.helpers[name] = None

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * 4))
    block, row = terms.axes[0]
    levels = (-(-blocks // CHUNKS["outer"])).bit_length()
    width = -(-n.length // PANEL) * PANEL
    return {"kind": "blocked", "result": s.result, "m": part(model, m), "n": part(model, n), "panel": PANEL,
            "chunk": CHUNKS["outer"], "depth": depth, "blocks": model.spell.extent(block), "block": block.name,
            "row": row.name, "places": _places(model, columns), "column": columns[-1].name,
            "extent": model.spell.extent(columns[-1]), "fill": _left(model, operands["a"], depth),
            "count": words, "stride": PANEL, "line": LINE // 4,
            "ahead": AHEAD, "blocks_ahead": max(AHEAD // (words * PANEL), 1), "farther": FARTHER,
            **(_words(model, operands["words"]) if bits else {"words": None}),
            "right": None if bits else _right(model, operands["b"]), "turned": None if bits else scratch(depth * PANEL),
            "a": scratch(m.length * k.size), "parts": scratch(m.length * PANEL),
            "levels": scratch(levels * m.length * PANEL), "sums": scratch(m.length * width),
            **_terms(model, terms), "epilogue": epilogue(model, s)}


def _places(model, columns: tuple[Axis, ...]) -> list[tuple[str, str]]:
    """Where in each axis the column n_part is; of the last one, where its first column is."""
    found, rest = [], "n_part"
    for axis in reversed(columns):
        name = "column_first" if axis is columns[-1] else axis.name
        outermost = axis is columns[0]
        found.append((name, rest if outermost else f"{rest} % {model.spell.extent(axis)}"))
        rest = f"{rest} / {model.spell.extent(axis)}"
    return found


def _left(model, operand: Operand, depth: int) -> list[dict]:
    """Fill the rows of a, block by block, each in the order in which it meets the other factor: that of the neighbours
    in a word, which the innermost axis walks, so that the compiler knows their places."""
    (row,), (block, *inside) = operand.axes
    name = inside[-1].name
    words = _flat(inside).removesuffix(name)
    target = f"a_rows[({row.name} - m_first) * row + {block.name} * {depth} + {words}GC_PLACE({name})]"
    return _loops(model, operand.body, {row: ("m_first", "m_last"), block: ("0", "blocks")}, target)


def _right(model, operand: Operand) -> list[dict]:
    """Fill a block of a panel of b, whose outer axes are fixed."""
    inside, column = operand.axes[0][1:], operand.axes[1][-1]
    target = f"turned[({_flat(inside)}) * {PANEL} + {column.name} - column_first]"
    fixed = {operand.axes[0][0], *operand.axes[1][:-1]}
    return _loops(model, operand.body, {column: ("column_first", "column_to")}, target, fixed)


def _flat(axes: Sequence[Axis]) -> str:
    """The position in what a few axes walk, whose extents are part of the text."""
    steps = ix.strides(tuple(a.extent for a in axes))
    return " + ".join(axis.name if step == 1 else f"{axis.name} * {step}"
                      for axis, step in zip(axes, steps, strict=True))


def _loops(model, body: tuple, bounds: dict[Axis, tuple[str, str]], target: str, fixed=frozenset()) -> list[dict]:
    """A nest of loops around one store into `target`, but for loops over `fixed` axes, which are set around it."""
    found: list[dict] = []
    for x in body:
        if type(x) is Let:
            found.append(model.statement(x, {}))
        elif type(x) is not Loop:
            found.append({"kind": "store", "target": target, "value": model.spell.expr(x.value)})
        elif x.axis in fixed:
            found += _loops(model, x.body, bounds, target, fixed)
        else:
            start, stop = bounds.get(x.axis, ("0", str(x.axis.extent)))
            found.append({"kind": "loop", "axis": x.axis.name, "start": start, "stop": stop,
                          "body": _loops(model, x.body, bounds, target, fixed)})
    return found


def _words(model, operand: Operand) -> dict:
    """Where the first word of a block and a panel lies, and how far apart the words of a block are."""
    body = operand.body
    while type(body[-1]) is Loop:
        body = body[-1].body
    number, index = body[-1].value.attrs
    column, inside = operand.axes[1][-1], operand.axes[0][1:]
    for axis in inside:     # from its first word on
        index = ix.add(index, ix.mul(ix.of(axis), -index.coefficient(axis)))
    first = ix.add(index, ix.add(ix.of(Axis("column_first", column.extent)), ix.mul(ix.of(column), -1)))
    stride = body[-1].value.attrs[1].coefficient(inside[-1]) if inside else 0
    return {"words": f"{model.kernel.buffers[number].name}[{model.spell.index(first)}]",
            "stride": model.spell.arg(stride)}


def _terms(model, operand: Operand) -> dict:
    """What becomes of the products: `above`, what is the same for a block or a row, then for a vector of columns, and
    for one."""
    body, above = operand.body, []
    while True:
        *lets, loop = body
        if type(loop) is not Loop:
            break
        level, axis, body = lets, loop.axis, loop.body
        above.append((level, axis))
    *lets, store = body
    lanes = Lanes(model.spell, operand.axes[1][-1])
    lanes.vectors["score"] = load(0, ix.ZERO, dt.int32)
    vector = lanes.expr(store.value) if lanes.spellable(lets, store.value) else None
    before = [let for level, axis in above if axis not in (operand.axes[0][-1], operand.axes[1][-1]) for let in level]
    of_block = [let for level, axis in above if axis == operand.axes[0][-1] for let in level]
    of_row = [let for level, axis in above if axis == operand.axes[1][-1] for let in level]
    later = _later(model, lets, store.value, *operand.axes[0], operand.axes[1][-1])
    return {"later": later, "of_block": model.statements((*before, *of_block), {}),
            "of_row": model.statements(tuple(of_row), {}),
            "vectors": [] if vector is None else lanes.lets(lets), "vector": vector,
            "scalars": model.statements(tuple(lets), {}), "scalar": model.spell.expr(store.value)}


def _later(model, lets: list[Let], value: Node, block: Axis, row: Axis, column: Axis) -> list[tuple[str, int]]:
    """What a panel has of each block, for all rows: where the element l of it lies for the block `later`, and how many
    are in a line."""
    found = []
    for read in loads_of((*(let.value for let in lets), value)):
        number, index = read.attrs
        step = index.coefficient(block)
        if read.srcs or data_exprs(index) or not step or index.coefficient(column) != 1 or row in ix.axes_of(index):
            continue
        at = ix.add(ix.add(index, ix.mul(ix.add(ix.of(Axis("later", block.extent)), ix.mul(ix.of(block), -1)), step)),
                    ix.add(ix.of(Axis("column_first + l", column.extent)), ix.mul(ix.of(column), -1)))
        name = model.kernel.buffers[number].name
        found.append((f"{name}[{model.spell.index(at)}]", LINE // read.dtype.itemsize))
    return found
