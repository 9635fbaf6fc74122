"""Matrix products for groups of work items: the model of a gemm Template for codegen_templates/gpu/gemm.j2.

A group computes one block of the result. Pieces of both factors lie in shared memory, each item has a square of results
in registers, and fetches its share of the next piece while the group multiplies this one. The operands are nests of
loops around one element's expression; an item evaluates them at the places that are its own.
"""
from __future__ import annotations

from graphc.ir.index import Axis
from graphc.ir.kernel import Loop, Operand, Span, Store, Template
from graphc.ir.trees import CHUNKS

CHUNK = CHUNKS["chain"]
DEPTH = 8           # of k that lie in shared memory at a time
SIDE = 16           # items of a group in rows and in columns
PAD = 4             # elements behind each row in shared memory, so that neighbouring rows lie in different banks


def gemm(model, s: Template) -> dict:
    m, n, k = (s.span(name) for name in "mnk")
    register = model.spell.language.register(s.dtype)
    rows, columns = m.length // SIDE, n.length // SIDE
    length = " * ".join(model.spell.extent(a) for a in k.axes)
    size = max(DEPTH * (m.length + PAD), SIDE * n.length)
    model.shared_sizes["tile_a"] = (register, size)
    model.shared_sizes["tile_b"] = (register, DEPTH * (n.length + PAD))
    operands = {o.name: o for o in s.operands}
    return {"kind": "gemm", "type": register, "result": s.result, "chunk": CHUNK, "depth": DEPTH, "side": SIDE,
            "pad": PAD, "group": model.group, "rows": rows, "columns": columns, "length": length,
            "several": k.size > CHUNK, "m": block_of(model, m), "n": block_of(model, n),
            "fma": model.spell.helper(f"gc_fma_{register}"),
            "a": fetched(model, s, operands["a"], "m"), "b": fetched(model, s, operands["b"], "n"),
            "epilogue": epilogue(model, s)}


def block_of(model, span: Span) -> dict:
    return {"block": span.block.name, "length": span.length,
            "extent": " * ".join(model.spell.extent(a) for a in span.axes)}


def fetched(model, s: Template, operand: Operand, outer: str) -> dict:
    """One element of an operand at (`outer`_at, k_at). `along_k`: neighbours in memory are neighbours in k."""
    inner, walked = inner_axis(operand), s.walked(operand)
    span = walked[outer]
    return {"along_k": inner in walked["k"].axes, "length": span.length, "name": operand.name, "span": outer,
            "share": span.length * DEPTH // model.group,
            "body": flat(model, walked, operand.body, {outer: f"{outer}_at", "k": "k_at"}, f"next_{operand.name}[e]")}


def inner_axis(operand: Operand) -> Axis | None:
    """The axis along which memory is contiguous: the innermost loop's."""
    loop, inner = operand.body, None
    while (loops := [x for x in loop if type(x) is Loop]):
        inner, loop = loops[0].axis, loops[0].body
    return inner


def epilogue(model, s: Template) -> list[dict]:
    return flat(model, s.walked(), s.epilogue, {"m": "m_at", "n": "n_at"}, None)


def flat(model, spans: dict[str, Span], body: tuple, at: dict[str, str], target: str | None) -> list[dict]:
    """A nest of loops at one place of its spans: coordinates, then the statements that stood inside."""
    out = coordinates(model, spans, at)
    for x in statements(body):
        if type(x) is Store and x.local is not None:
            out.append({"kind": "store", "target": target, "value": model.spell.expr(x.value), "alone": False})
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


def statements(body: tuple) -> list:
    """The statements of a nest without its loops."""
    found: list = []
    for x in body:
        found += statements(x.body) if type(x) is Loop else [x]
    return found
