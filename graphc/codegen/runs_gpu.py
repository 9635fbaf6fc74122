"""Operands of matrix products that an item fetches by runs of neighbours: the model of codegen_templates/gpu/runs.j2.

Memory is contiguous along one span of an operand, which a run goes along. Arrays that an expression reads side by side
are read by up to 16 bytes at a time, where the run lies inside and addresses allow it; else one by one.
"""
from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from graphc.codegen.spell import NARROW
from graphc.codegen.wide_gpu import BYTES, WORDS, Moved, Wide, is_along, is_even
from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, Operand, Span, Store, Template, below, innermost, statements
from graphc.ir.node import Node
from graphc.ir.ops import CAST

MOST = 24       # operations of an expression that is worth two texts


def fetched(model, s: Template, operand: Operand, outer: str, run: int, target: str,
            spelled: Callable[[Node], str], k: str = "k", steps: bool = False) -> dict:
    """An operand by runs along `outer` or the span k: `inside` puts the element at (`outer`_at, k_at) into the target.
    plain: it is what lies in memory. steps: whether to say how far neighbours along k and across lie apart there."""
    inner, walked = innermost(operand.body).axis, s.walked(operand)     # memory is contiguous along it
    along_k = inner in walked[k].axes
    loads = _together(model, operand, inner, walked[k if along_k else outer], run)
    model.spell.wide = Wide(run, inner, True, tuple(moved for moved, _ in loads), ())
    inside = [{"kind": "store", "target": target, "value": spelled(x.value), "alone": False}
              if type(x) is Store else model.statement(x, {}) for x in statements(operand.body)]
    model.spell.wide = None
    return {"along_k": along_k, "name": operand.name, "span": outer, "run": run, "length": walked[outer].length,
            "inner": inner.name, "loads": [x for _, x in loads], "inside": inside,
            "even": model.spell.arg(int(all(x["even"] for _, x in loads)), -1) if loads else "0",
            "addresses": " | ".join(dict.fromkeys(f"(uint64_t){x['array']}" for _, x in loads)),
            "plain": [x.get("value") for x in inside] == ["v0"],
            "along": _stride(model, loads[0][0].index, walked[k].axes) if steps and len(loads) == 1 else "",
            "across": _stride(model, loads[0][0].index, walked[outer].axes) if steps and len(loads) == 1 else "",
            "steps": coordinates(model, walked, {outer: f"{outer}_at", k: "k_at"})}


def _stride(model, index: Index, axes: tuple[Axis, ...]) -> str:
    """How far neighbours along a span lie apart in memory, if it is one axis and they are equally far."""
    others = Index(tuple(term for term in index.terms if term[0] != axes[-1]))
    is_linear = len(axes) == 1 and axes[0] not in ix.axes_of(others)
    return model.spell.arg(index.coefficient(axes[0])) if is_linear else ""


class Held(Struct, frozen=True):
    """How elements wait in registers for their turn: a narrow number as it lies in memory, so that nothing waits for it
    before; else computed.

    type     that holds one
    widen    the function that makes it a number, or nothing
    spelled  an element as text
    """

    type: str
    widen: str
    spelled: Callable[[Node], str]


def held(model, operand: Operand) -> Held:
    (value,) = (x.value for x in statements(operand.body) if type(x) is Store)
    if value.op is CAST and value.dtype is dt.float32:
        source = value.srcs[0]
        if source.op is LOAD and not source.srcs and source.dtype in NARROW:
            return Held(model.spell.language.memory(source.dtype), model.spell.helper(f"gc_load_{source.dtype}"),
                        lambda value: model.spell.place(*value.srcs[0].attrs))
    return Held(model.spell.language.register(value.dtype), "", model.spell.expr)


def _together(model, operand: Operand, inner: Axis, span: Span, run: int) -> list[tuple[Moved, dict]]:
    """What neighbours of an operand read from places that lie together."""
    exprs = list(below(x.value for x in statements(operand.body)))
    if run == 1 or len(exprs) > MOST:
        return []
    rows_are_even = len(span.axes) == 1 or inner.extent % run == 0
    reads = dict.fromkeys((e.attrs[0], e.attrs[1]) for e in exprs
                          if e.op is LOAD and not e.srcs and is_along(e.attrs[1], inner))
    found = []
    for number, index in reads:
        buffer = model.kernel.buffers[number]
        nbytes = run * buffer.dtype.itemsize
        moved = Moved(f"v{len(found)}", number, index)
        found.append((moved, {
            "name": moved.name, "type": model.spell.language.memory(buffer.dtype), "array": buffer.name,
            "word": WORDS[min(nbytes, BYTES)], "count": max(nbytes // BYTES, 1),
            "place": f"{buffer.name}[{model.spell.index(index, number)}]",
            "even": rows_are_even and is_even(index, inner, run)}))
    return found


def flat(model, spans: dict[str, Span], body: tuple, at: dict[str, str], target: str | None,
         spelled: Callable[[Node], str] | None = None) -> list[dict]:
    """A nest of loops at one place of its spans: coordinates, then the statements that stood inside."""
    out = coordinates(model, spans, at)
    for x in statements(body):
        if type(x) is Store and x.local is not None:
            out.append({"kind": "store", "target": target, "value": (spelled or model.spell.expr)(x.value),
                        "alone": False})
        else:
            out.append(model.statement(x, {}))
    return out


def coordinates(model, spans: dict[str, Span], at: dict[str, str]) -> list[dict]:
    """The axes of spans at positions in them."""
    return [x for name, place in at.items() for x in _coordinates(model, spans[name], place)]


def _coordinates(model, span: Span, place: str) -> list[dict]:
    out, rest = [], place
    for axis in reversed(span.axes):
        last = axis == span.axes[0]
        extent = model.spell.extent(axis)
        value = rest if last else f"gc_rest({rest}, {extent})"
        out.append({"kind": "let", "name": axis.name, "type": "int64_t", "value": value})
        rest = f"gc_quotient({rest}, {extent})"
    return out
