"""Weights times values for groups of work items: the model of a weighted Template for gpu/weighted.j2.

A group takes a block of rows through what is summed over, 64 at a time. The products under the weights are small matrix
products, whose results lie in shared memory, an array each; there the weights take their places, all of them in one
pass over the block, and then each result's sums grow in registers, in the order of docs/numerics.md.
"""
from __future__ import annotations

from graphc.codegen.gemm_gpu import DEPTH, PAD, SIDE
from graphc.codegen.runs_gpu import coordinates, flat
from graphc.ir.kernel import Operand, Store, Template, statements
from graphc.ir.trees import CHUNKS

BLOCK = CHUNKS["attention"]


def weighted(model, s: Template) -> dict:
    spell, register, facts = model.spell, model.spell.language.register(s.dtype), dict(s.facts)
    r, swept, operands = s.span("r"), s.span("s"), {o.name: o for o in s.operands}

    def place(name: str, at: dict[str, str], target: str) -> list[dict]:
        return flat(model, s.walked(operands[name]), operands[name].body, at, target)
    parts = [{"extent": spell.extent(s.span(f"c{k}").axes[0]), "score": f"score{k or ''}",
              "lanes": place(f"lanes{k}", {"r": "r_at", f"c{k}": "c_at"}, "value"),
              "rows": place(f"rows{k}", {"s": "s_at", f"c{k}": "c_at"}, "value")} for k in range(facts["parts"])]
    products, columns, before = [], 0, []
    for k, name in enumerate(facts["values"]):
        along = operands[name].spans[1]
        width, pieces = s.span(along), -(-s.span(along).size // BLOCK)  # each item has four columns of 64
        products.append({"weight": f"weight{k}", "width": spell.extent(width.axes[0]), "parts": pieces, "at": columns,
                         "before": " + ".join(before) or "0",
                         "right": place(name, {"s": "s_at", along: "e_at"}, "value")})
        columns += 4 * pieces
        before.append(products[-1]["width"])
    sizes = {f"weight{k}": r.length * (BLOCK + 1) for k in range(max(len(parts), len(products)))}
    sizes |= {"tile_r": DEPTH * (r.length + PAD), "tile_s": DEPTH * (BLOCK + PAD)}
    sizes |= {f"all_{name}": r.length for name in facts["rows"]}
    model.shared_sizes |= {name: (register, size) for name, size in sizes.items()}
    model.crowded = True
    d = facts["diagonal"]
    return {"kind": "weighted", "type": register, "result": s.result, "chunk": BLOCK, "length": r.length,
            "block": r.block.name, "depth": DEPTH, "pad": PAD, "side": SIDE, "group": model.group,
            "rows": r.length * SIDE // model.group, "columns": columns, "parts": parts, "products": products,
            "extent": {x.name: spell.extent(x.axes[0]) for x in (r, swept)}, "fma": spell.helper(f"gc_fma_{register}"),
            "by_row": [{"name": name, "body": place(name, {"r": "r_at", "one": "0"}, "value")}
                       for name in facts["rows"]],
            "diagonal": None if d is None else spell.expr(d), "slope": facts["slope"], "by_key": facts["keys"],
            "weights": _weights(model, s, operands.get("plain", operands["weights"])),
            "epilogue": flat(model, s.walked(), s.epilogue, {"r": "r_at", "e": "e_at"}, None)}


def _weights(model, s: Template, operand: Operand) -> list[dict]:
    """All weights of one place: value0, value1 and so on."""
    found = coordinates(model, s.walked(), {"r": "r_at", "s": "s_at"})
    number = 0
    for x in statements(operand.body):
        if type(x) is not Store:
            found.append(model.statement(x, {}))
            continue
        found.append({"kind": "store", "target": f"value{number}", "value": model.spell.expr(x.value), "alone": False})
        number += 1
    return found
