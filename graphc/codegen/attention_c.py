"""Attention in C: the model of an attention Template for codegen_templates/c/attention.c.j2.

Queries are the lanes of vectors: a group of them goes through a block of keys at a time, so that the maximum, the
weights and the rescaling of a query are plain arithmetic in its lane. Keys and values are read where they lie if their
rows are contiguous, else a block of them is packed.
"""
from __future__ import annotations

from graphc.codegen.gemm_c import Nest, part
from graphc.ir.index import Index, axes_of
from graphc.ir.kernel import LOAD, Loop, Operand, Store, Template, below, data_exprs, innermost
from graphc.ir.trees import CHUNKS

KEYS = CHUNKS["attention"]
GROUP = 48          # lanes of the widest group: three vectors of 64 bytes
SPARE = 8           # rows behind a block of scores that a tile may write


def attention(model, s: Template) -> dict:
    """The model of one Template. `model` spells expressions, renders statements and hands out scratch memory."""
    m, n, c, e = (s.span(name) for name in "mnce")
    register = model.spell.language.register(s.dtype)
    for name in ("exp", "fma"):
        model.spell.helpers[f"gc_{name}_{register}"] = None
    for name in ("vectors", "fma", "keep", "square"):
        model.spell.helpers[f"gc_tiles_{name}_{register}"] = None
    for name in ("scores", "weights", "weighted"):
        model.spell.helpers[f"gc_keys_{name}_{register}"] = None
    for name in ("few", "scores", "weights", "weighted"):
        model.spell.helpers[f"gc_queries_{name}_{register}"] = None
    extent = {x.name: model.spell.extent(x.axes[0]) for x in (n, c, e)}
    operands = {o.name: o for o in s.operands}
    diagonal, slope, more = (dict(s.facts)[name] for name in ("diagonal", "slope", "columns"))
    unseen = diagonal is not None and slope != 0        # some queries of a block may see it, and others not

    def scratch(elements: int) -> str:
        return model.spell.arg(model.take_scratch(elements * s.dtype.itemsize))
    suffix = "f" if register == "float" else ""
    masked = operands["scores"]
    plain = operands.get("plain", masked)
    return {"kind": "attention", "result": s.result, "type": register, "block": KEYS, "queries": m.length,
            "extent": extent, "m": part(model, m), "infinity": f"__builtin_inf{suffix}()",
            "diagonal": None if diagonal is None else model.spell.expr(diagonal), "slope": slope, "unseen": unseen,
            "q": lanes_of(model, s, operands["q"], "lanes", ("m", "c"), "depth"),
            "k": rows_of(model, s, operands["k"], scratch, ("n", "c"), extent["c"]),
            "v": rows_of(model, s, operands["v"], scratch, ("n", "e"), extent["e"]),
            "whole": _scores(model, s, plain, "3 * GC_LANES", "3 * GC_LANES"),
            "edge": _scores(model, s, masked, "m_to - m_from", "group"),
            "few": _scores(model, s, masked, "m_to - m_from", "GC_FEW"),
            "lanes": scratch(m.length * c.size), "sums": scratch(m.length * (e.size + more)),
            "kept": scratch(GROUP * e.size) if unseen else None, "more": more,
            "score": scratch((KEYS + SPARE) * GROUP), "epilogue": _epilogue(model, s, more)}


def lanes_of(model, s: Template, operand: Operand, name: str, spans: tuple[str, str], extent: str) -> list[dict]:
    """Fill an array [second span][first span], whose first span is that of the lanes."""
    lane, along = spans
    nest = Nest(model, s, {lane: (f"{lane}_from", f"{lane}_to"), along: ("0", extent)}, operand)
    nest.target = lambda at: f"{name}[{at[along]} * group + {at[lane]} - {lane}_from]"
    return nest.statements(operand.body)


def rows_of(model, s: Template, operand: Operand, scratch, spans: tuple[str, str], extent: str) -> dict:
    """Where the rows of keys or values, of the first span along the second, lie: in memory, or packed."""
    over, along = spans
    name, parts = operand.name, {over: (f"{over}_from", f"{over}_to"), along: ("0", extent)}
    inner = innermost(operand.body)
    if _is_contiguous(inner, s):
        nest = _RowNest(model, s, parts, operand)
        nest.inner, nest.row = inner, f"{name}_row[{over} - {over}_from]"
        return {"packed": None, "body": nest.statements(operand.body)}
    nest = Nest(model, s, parts, operand)
    nest.target = lambda at: f"{name}_packed[({at[over]} - {over}_from) * {extent} + {at[along]}]"
    size = s.span(along).size
    return {"packed": scratch(KEYS * size), "body": nest.statements(operand.body)}


def _is_contiguous(inner: Loop, s: Template) -> bool:
    """Whether all that a row's loop does is to read neighbours from memory, in the type that is computed with."""
    if len(inner.body) != 1 or type(inner.body[0]) is not Store or inner.body[0].value.op is not LOAD:
        return False
    value = inner.body[0].value
    index = value.attrs[1]
    return (not value.srcs and value.dtype is s.dtype and index.coefficient(inner.axis) == 1
            and inner.axis not in axes_of(_without(index, inner)))


def _without(index: Index, inner: Loop) -> Index:
    return Index(tuple((atom, k) for atom, k in index.terms if atom != inner.axis), index.const)


class _RowNest(Nest):
    """Notes where rows begin instead of copying them."""

    inner: Loop
    row: str

    def _loop(self, x: Loop) -> list[dict]:
        if x is not self.inner:
            return super()._loop(x)
        number, index = x.body[0].value.attrs
        place = f"{self.model.kernel.buffers[number].name} + {self.model.spell.index(_without(index, x))}"
        return [{"kind": "store", "target": self.row, "value": place}]


class _LaneNest(Nest):
    """The loop over queries goes over the lanes of a group. What is stored is compared with the largest so far, unless
    queries are few: several keys share a vector then, and are compared by it."""

    count: str
    group: str

    def _loop(self, x: Loop) -> list[dict]:
        span = self.span_of[x.axis]
        if span.name != "m":
            return super()._loop(x)
        self.at["m"] = x.axis.name
        # lanes without a query are computed like the others where nothing is read for them
        count = self.count if _reads_along(x) else self.group
        return [{"kind": "simd", "axis": x.axis.name, "start": "m_from", "count": count,
                 "body": self.statements(x.body)}]

    def _statement(self, x) -> dict:
        place = f"[(n - n_from) * {self.group} + l]"
        self.model.spell.arrays["score"] = place
        if type(x) is not Store:
            return super()._statement(x)
        value = self.model.spell.expr(x.value)
        if self.group == "GC_FEW":
            return {"kind": "store", "target": f"score{place}", "value": value}
        return {"kind": "score", "at": f"score{place}", "value": value}


def _reads_along(x: Loop) -> bool:
    """Whether a loop may read a place of its own in each turn."""
    places = [e.attrs[1] for e in below(statement.value for statement in x.body) if e.op is LOAD]
    return any(x.axis in axes_of(place) or data_exprs(place) for place in places)


def _scores(model, s: Template, operand: Operand, count: str, group: str) -> list[dict]:
    nest = _LaneNest(model, s, {"n": ("n_from", "n_to"), "m": ("m_from", "m_to")}, operand)
    nest.count, nest.group = count, group
    return nest.statements(operand.body)


def _epilogue(model, s: Template, more: int) -> list[dict]:
    columns = "r" if more else "e"
    nest = Nest(model, s, {"m": ("m_from", "m_to"), columns: ("0", f"width + {more}" if more else "width")})
    model.spell.arrays[s.result] = f"[{columns} * along + (m - m_from) * across]"
    return nest.statements(s.epilogue)
