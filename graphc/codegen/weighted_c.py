"""Weights times values in C: the model of a weighted Template for codegen_templates/c/weighted.c.j2.

As in attention (attention_c.py), rows of the result are the lanes of vectors. A group of them goes through what is
summed over a block at a time: the products under the weights, the weights of all results in one loop, then each
result's sums. Behind a causal bound weights are set to 0, a comparison of lanes with a number for each key or query.
"""
from __future__ import annotations

from graphc.codegen.attention_c import GROUP, KEYS, SPARE, lanes_of, rows_of
from graphc.codegen.gemm_c import Nest, part
from graphc.ir.kernel import Loop, Operand, Store, Template


def weighted(model, s: Template) -> dict:
    """The model of one Template. `model` spells expressions, renders statements and hands out scratch memory."""
    register, facts = model.spell.language.register(s.dtype), dict(s.facts)
    r, operands = s.span("r"), {o.name: o for o in s.operands}
    model.spell.helpers[f"gc_fma_{register}"] = None
    for name in ("vectors", "fma", "keep"):
        model.spell.helpers[f"gc_tiles_{name}_{register}"] = None
    for name in ("scores", "weighted"):
        model.spell.helpers[f"gc_keys_{name}_{register}"] = None

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * s.dtype.itemsize))
    parts = []
    for k in range(facts["parts"]):
        lanes, rows, depth = operands[f"lanes{k}"], operands[f"rows{k}"], f"depth{k}"
        parts.append({"depth": depth, "extent": model.spell.extent(s.span(f"c{k}").axes[0]), "score": f"score{k or ''}",
                      "lanes": lanes.name, "rows": rows.name, "fill": lanes_of(model, s, lanes, lanes.name,
                                                                               ("r", f"c{k}"), depth),
                      "offset": scratch(r.length * s.span(f"c{k}").size), "at": scratch((KEYS + SPARE) * GROUP)})
    values = [name for name in dict.fromkeys(facts["values"]) if name.startswith("values")]
    products, width = [], 0
    for k, name in enumerate(facts["values"]):
        span = s.span(operands[name].spans[1])
        products.append({"rows": name, "width": model.spell.extent(span.axes[0]), "weight": f"weight{k}",
                         "at": scratch((KEYS + SPARE) * GROUP)})
        width += span.size
    packed = [(operands[p["rows"]], f"c{k}", p["depth"]) for k, p in enumerate(parts)]
    packed += [(operands[name], operands[name].spans[1], model.spell.extent(s.span(operands[name].spans[1]).axes[0]))
               for name in values]
    rows = [{"name": o.name, "extent": extent, **rows_of(model, s, o, scratch, ("s", along), extent)}
            for o, along, extent in packed]
    by_row = [{"name": name, "at": scratch(r.length), "fill": lanes_of(model, s, operands[name], name, ("r", "one"),
                                                                        "1")} for name in facts["rows"]]
    d, slope, plain = facts["diagonal"], facts["slope"], operands.get("plain", operands["weights"])
    return {"kind": "weighted", "result": s.result, "type": register, "block": KEYS, "r": part(model, r),
            "swept": model.spell.extent(s.span("s").axes[0]), "width": model.spell.extent(s.span("e").axes[0]),
            "parts": parts, "products": products, "rows": rows, "by_row": by_row,
            "diagonal": None if d is None else model.spell.expr(d), "slope": slope, "by_key": facts["keys"],
            "sums": scratch(r.length * width), "kept": None if d is None else scratch(GROUP * width),
            "weights": _weights(model, s, plain, "r_to - r_from", "group"),
            "whole": _weights(model, s, plain, "3 * GC_LANES", "3 * GC_LANES"),
            "epilogue": _epilogue(model, s)}


class _WeightNest(Nest):
    """Goes over a block, and in it over the lanes of a group; each store is the weight of one product."""

    count: str
    group: str

    def _loop(self, x: Loop) -> list[dict]:
        name = x.axis.name
        if name == "s":
            return [self._counted(x, "s_from", "s_to")]
        return [{"kind": "simd", "axis": name, "start": "r_from", "count": self.count,
                 "body": self.statements(x.body)}]

    def _statement(self, x) -> dict:
        place = f"[(s - s_from) * {self.group} + l]"
        facts, arrays = dict(self.template.facts), self.model.spell.arrays
        arrays.update({f"score{k or ''}": place for k in range(facts["parts"])}, **dict.fromkeys(facts["rows"], "[l]"))
        if type(x) is not Store:
            return super()._statement(x)
        found = {"kind": "store", "target": f"weight{self.stored}{place}", "value": self.model.spell.expr(x.value)}
        self.stored += 1
        return found


def _weights(model, s: Template, operand: Operand, count: str, group: str) -> list[dict]:
    nest = _WeightNest(model, s, {}, operand)
    nest.template, nest.count, nest.group, nest.stored = s, count, group, 0
    return nest.statements(operand.body)


def _epilogue(model, s: Template) -> list[dict]:
    nest = Nest(model, s, {"r": ("r_from", "r_to"), "e": ("0", "width")})
    model.spell.arrays[s.result] = "[e * group + r - r_from]"
    return nest.statements(s.epilogue)
