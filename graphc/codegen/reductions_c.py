"""Reductions and scans in C: models of the loops that spell out the trees of docs/numerics.md.

A row's elements are dealt to lanes; columns of a tile are added up side by side. Both go by chunks, whose results meet
pairwise: codegen_templates/c/loops.c.j2 has the loops.
"""
from __future__ import annotations

from functools import partial

from graphc.codegen.ahead_c import SOON, ahead, lies_apart, soon
from graphc.codegen.edges_c import between, evaluated, near, pieces
from graphc.codegen.halves_c import loads, widened
from graphc.codegen.spell import filled, register_bytes
from graphc.ir import dtype as dt
from graphc.ir.index import Axis
from graphc.ir.kernel import Accumulate, Kernel, Let, Loop, accumulations, below, data_exprs
from graphc.ir.ops import ABS, EXP, M2, MAX, MIN, SUM
from graphc.ir.target import vector_bytes
from graphc.ir.trees import CHUNKS, LANES

NEAR = 1 << 16      # bytes of a row: the next one is prefetched if both stay in the L2 cache meanwhile
BLOCK = 32          # elements of a row that has them in its text: half of the lanes, blocks that have a scale,
MANY_ROWS = 4096    # or fewer, if there are so many rows
LEVELS = 32         # of a pairwise sum; those of a tile of columns lie in scratch: a thread's stack is small
SHORT = 40          # nodes of what is done with an element of a row, up to which it is written out again for the rest
MANY = 8            # elements that a turn over columns reads, and
LONG = 100          # operations of it, beyond which several turns are not written out


def dealt(kernel: Kernel) -> int:
    """Among how many lanes a kernel deals the elements of rows: of those without an element it needs none."""
    extents, stack = set(), list(kernel.body)
    while stack:
        s = stack.pop()
        if type(s) is Loop:
            extents |= {s.axis.extent for x in s.body if type(x) is Accumulate and x.order == "inner"}
            stack.extend(s.body)
    short = extents and max(extents) <= BLOCK and kernel.iterations >= MANY_ROWS
    return BLOCK if short or extents == {BLOCK} else LANES


def _combine(model, s: Accumulate) -> str:
    """How two values are combined, with {0} and {1} left open."""
    register = model.spell.language.register(s.dtype)
    if s.op is MAX and s.value.op is ABS and register in ("float", "double"):
        model.spell.helpers[f"gc_most_{register}"] = None
        return f"gc_most_{register}({{0}}, {{1}})"
    return model.spell.binary(s.op.combine, s.dtype)


def _accumulator(model, s: Accumulate) -> dict:
    combine = _combine(model, s)
    return {"name": s.name, "op": s.op.name, "type": model.spell.language.register(s.dtype),
            "identity": model.spell.identity(s), "combine": combine, "state": ["mean"] if s.op is M2 else [],
            "here": model.here(),
            "whole": "int" in model.spell.language.register(s.dtype) or "gc_most_" in combine,
            "fold": combine.format(f"{s.name}_lane[l]", f"{s.name}_lane[l + half]")}


def reduction(model, s: Loop) -> dict:
    inner = s.body[-1] if model.tile and type(s.body[-1]) is Loop else None
    sums = accumulations(s.body)
    order = sums[0].order
    out = {"axis": s.axis.name, "stop": model.spell.stop(s), "chunk": CHUNKS[order], "lanes": model.dealt,
           "tile": model.tile, "exact": all(x.is_exact for x in sums), "here": model.here(), "independent": False,
           "counted": any(x.op is M2 for x in sums), "accumulators": [_accumulator(model, x) for x in sums]}
    if inner is None:
        return _rows(model, s, sums, out)
    if order == "chain":
        out["kind"] = "contract"
        out["lets"] = model.statements(s.body[:-1], {})
        out["body"] = model.statements(inner.body, {x.name: partial(_fma, model) for x in sums})
    else:
        out["kind"], out["across"] = "columns", order == "inner" and not out["exact"]
        for a, x in zip(out["accumulators"], sums, strict=True):
            names = [] if x.is_exact else [x.name, *(f"{x.name}_{state}" for state in a["state"])]
            for way in ("push", "fold") if names else ():
                model.spell.helpers[f"gc_{way}_{a['op']}_{a['type']}"] = None
            size = model.kernel.width * register_bytes(x.dtype)
            a["levels"] = [(name, model.take_scratch(LEVELS * size)) for name in names]
            a["lane"] = model.take_scratch(LANES * size) if out["across"] else None
        _columns(model, s, inner.axis, (*s.body[:-1], *inner.body), sums, out)
    for x in sums:
        model.spell.arrays[x.name] = model.here()
    return out


def _fma(model, s: Accumulate) -> dict:
    register = model.spell.language.register(s.dtype)
    model.spell.helpers[f"gc_fma_{register}"] = None
    part = f"{s.name}_part[l]"
    return _step(f"{part} = gc_fma_{register}({model.spell.expr(s.value)}, {model.spell.expr(s.other)}, {part})")


def _column_step(model, s: Accumulate) -> dict:
    value, total = model.spell.expr(s.value), f"{s.name}_sum"
    if s.op is M2:
        return _step(f"{s.name}_row[r] = {value}; {total} = {total} + {s.name}_row[r]")
    return _step(f"{total} = {filled(_combine(model, s), total, value)}")


def _columns(model, s: Loop, column: Axis, body: tuple, sums: list[Accumulate], out: dict) -> None:
    """What is done with the elements of rows: in pieces where that spares conditions, and for `test` rows only."""
    steps = {x.name: partial(_column_step, model) for x in sums}
    start, stop = model.tile["start"], model.tile["stop"]
    parts = pieces(body, column, model.lets, s.axis)
    out["test"] = model.spell.expr(parts.test) if parts and parts.test is not None else None
    out["pieces"] = [{"start": low, "stop": high, "body": model.statements(piece, steps)}
                     for low, high, piece in between(model, parts, start, stop)] if parts else []
    by_chunks = any(a["state"] for a in out["accumulators"])
    names: dict = {}
    if out["test"] and not by_chunks:
        body = near(model, body, column, model.lets, names)
    out["whole"] = [{"start": start, "stop": stop, "body": model.statements(body, steps)}]
    out["near"] = [x.model(model.spell) for x in names.values()]
    out["pieces"] = out["pieces"] or out["whole"]
    out["long"] = len(loads(body)) > MANY or sum(1 for _ in below([x.value for x in body])) > LONG


def _rows(model, s: Loop, sums: list[Accumulate], out: dict) -> dict:
    out["kind"] = "rows"
    if model.dealt == BLOCK and s.axis.extent <= BLOCK:
        model.spell.as_literal(s.axis)
        out["stop"] = model.spell.stop(s)
    if out["chunk"] == 1 and not out["exact"]:
        for a, x in zip(out["accumulators"], sums, strict=True):
            a["value"] = model.spell.expr(x.value)
        out["lets"] = model.statements(tuple(x for x in s.body if type(x) is not Accumulate), {})
        out["body"] = []
        return out
    out["evaluated"] = None
    if (found := evaluated(model, s, model.lets, out["chunk"])) is not None:
        (s, out["evaluated"]), out["exact"] = found, False
        sums = list(s.body)
    model.lanes = True
    shared = {x.name: y.name for x in sums for y in sums if _begins_with(x, y)}
    asked = _ahead(model, s)
    for a, x in zip(out["accumulators"], sums, strict=True):
        a["lanes"] = shared.get(x.name, x.name)
        if a["state"]:
            again = tuple(y for y in s.body if type(y) is Let or y is x)
            a["again"] = {**out, "accumulators": [{**a, "identity": "0"}],
                          **_sweep(model, s, again, {x.name: partial(_deviation_step, model)}, _ahead(model, s))}
    own = tuple(x for x in s.body if type(x) is not Accumulate or x.name not in shared)
    out["sweep"] = {**out, "accumulators": [a for a in out["accumulators"] if a["name"] not in shared],
                    "independent": model.independent(own, s.axis),
                    **_sweep(model, s, own, {x.name: partial(_row_step, model) for x in sums}, asked)}
    return out


def _sweep(model, s: Loop, body: tuple, steps: dict, asked: list[dict]) -> dict:
    """What is done with each element of a row, and what is asked for meanwhile. Of a large array, whose addresses just
    rise, not every processor has to be asked, but where halves are widened it takes longer until the next is read."""
    wide = widened(model, body, s.axis, "base", "l")
    if not wide and any(place["rising"] for place in asked):
        model.spell.helpers["gc_amd"] = None
    found = model.statements(body, steps)
    out = {"body": found, "wide": wide, "ahead": asked, **_masked(model, found, body, s.axis)}
    model.masked = model.masked or out["masked"] is not None
    model.spell.wide.clear()
    return out


def _masked(model, statements: list[dict], body: tuple, axis: Axis) -> dict:
    """The same for a vector of which some lanes have no element, and take the identity instead. Not where the compiler
    would find no masks for it, as it calls no function for some lanes, nor where it is long, or reads here and there.
    A maximum takes several masks an element, so that its last ones are sooner done one by one, unless the text has
    their number. Before AVX-512 some processors take long to store under a mask."""
    sums, exprs = accumulations(body), list(below(x.value for x in body))
    stores = ("store",) if vector_bytes() == 64 else ()
    cheap = len(exprs) <= SHORT and all(
        x.op.cost < EXP.cost or (x.op, x.dtype) == (EXP, dt.float32) for x in exprs)
    together = all(not data_exprs(x.attrs[1]) and x.attrs[1].coefficient(axis) in (0, 1) for x in loads(body))
    ops = (SUM, M2, MAX, MIN) if model.dealt == BLOCK else (SUM, M2)
    if (not cheap or not together or any(x.dtype.kind != "f" or x.op not in ops for x in sums)
            or any(x["kind"] not in ("let", "accumulate", *stores) for x in statements)):
        return {"masked": None}
    return {"masked": [_step(x["one"]) if x["kind"] == "accumulate" else x for x in statements],
            "joined": [x["joined"] for x in statements if x["kind"] == "accumulate"]}


def _ahead(model, s: Loop) -> list[dict]:
    """Places that are read soon: by this sweep, or by the next row, if this one stays in the cache for a second one."""
    row, at, found = model.kernel.parallel[-1:], "base + l", []
    sweeps = [loads(x.body) for x in model.kernel.body
              if type(x) is Loop and x.kind == "reduce" and not any(type(y) is Loop for y in x.body)]
    for load in loads(s.body):
        index, size = load.attrs[1], s.axis.extent * load.dtype.itemsize
        step = index.coefficient(row[0]) if row else 0
        several = any(x.op is M2 for x in accumulations(s.body)) or sum(load in sweep for sweep in sweeps) > 1
        if lies_apart(model, load, s.axis):
            continue        # it is asked for some rows before
        if load in model.swept and step and size <= NEAR:
            found.append(ahead(model, load, s.axis, at, step))
        elif size > SOON or not several:
            found.append(soon(model, load, s.axis, at))
        model.swept.add(load)
    return [place for place in found if place is not None]


def _row_step(model, s: Accumulate) -> dict:
    lane, one, value, combine = f"{s.name}_lane[l]", f"{s.name}_one", model.spell.expr(s.value), _combine(model, s)
    return _step(f"{lane} = {filled(combine, lane, value)}") | {
        "one": f"{one} = {value}", "joined": f"{lane} = {filled(combine, lane, one)}"}


def _deviation_step(model, s: Accumulate) -> dict:
    lane, one, register = f"{s.name}_lane[l]", f"{s.name}_one", model.spell.language.register(s.dtype)
    deviation = f"({model.spell.expr(s.value)}) - {s.name}_mean_part"
    return _step(f"const {register} d = {deviation}; {lane} = {lane} + d * d") | {
        "one": f"{one} = {deviation}", "joined": f"{lane} = {lane} + {one} * {one}"}


def scan(model, s: Loop, running: list[Accumulate]) -> dict:
    here = model.here()
    for x in running:
        model.spell.arrays[x.name] = here

    def step(a: Accumulate) -> dict:
        text = filled(_combine(model, a), a.name + here, model.spell.expr(a.value))
        return _step(f"{a.name}{here} = {text}")
    accumulators = []
    for x in running:
        a = _accumulator(model, x)
        a["declare"] = f"{x.name}[{model.kernel.width}]" if model.tile else x.name
        a["at"] = x.name + here
        accumulators.append(a)
    return {"kind": "scan", "axis": s.axis.name, "stop": model.spell.stop(s), "tile": model.tile,
            "accumulators": accumulators, "body": model.statements(s.body, {x.name: step for x in running})}


def _step(text: str) -> dict:
    return {"kind": "accumulate", "step": text}


def _begins_with(x: Accumulate, y: Accumulate) -> bool:
    """Whether the sum of squared deviations x begins with the sum y, for the means of its chunks."""
    return x.op is M2 and y.op is SUM and (x.value, x.dtype, x.order) == (y.value, y.dtype, y.order)
