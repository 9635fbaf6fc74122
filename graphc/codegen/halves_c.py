"""float16 in runs: GCC 12 converts one element at a time where it could convert a vector, so neighbours that a loop
reads or stores are converted by a routine before and after it, some hundred at a time."""
from __future__ import annotations

from graphc.ir import dtype as dt
from graphc.ir import index as ix
from graphc.ir.index import Axis, Index
from graphc.ir.kernel import LOAD, Accumulate, Let, Loop, Store, below, data_exprs
from graphc.ir.node import Node

RUN = 256       # elements: what they are converted to stays in the nearest cache


def in_runs(model, s: Loop, start: str, stop: str) -> dict | None:
    """A loop over neighbours with its conversions; None: there are none, or it is no plain loop."""
    axis = s.axis
    if s.kind != "vector" or any(type(x) not in (Let, Store) for x in s.body):
        return None
    stores = [x for x in s.body if type(x) is Store and x.local is None and is_half(model, x, axis)]
    first, last = f"{axis.name}_low", f"{axis.name}_high"
    wide = widened(model, s.body, axis, first, f"{axis.name} - {first}")
    if not wide and not stores:
        return None
    narrowed = []
    for k, x in enumerate(stores):
        model.spell.helpers["gc_narrow_float16"] = None
        kept = model.kept.pop((x.buffer, x.index), None)
        place = f"{kept[0]}[{first} - {kept[1]}]" if kept else \
            f"{model.kernel.buffers[x.buffer].name}[{model.spell.index(ix.renamed(x.index, axis, first), x.buffer)}]"
        narrowed.append({"name": f"half{k}", "place": place})
    names = {(x.buffer, x.index): y["name"] for x, y in zip(stores, narrowed, strict=True)}
    body = []
    with model.spell.inside(s.body):
        for x in s.body:
            name = names.get((x.buffer, x.index)) if type(x) is Store and x.local is None else None
            if name is None:
                body.append(model.statement(x, {}))
            else:
                value = model.spell.unrounded(x.value)
                body.append({"kind": "store", "target": f"{name}[{axis.name} - {first}]", "value": value})
    model.spell.wide.clear()
    return {"kind": "halves", "axis": axis.name, "start": start, "stop": stop, "first": first, "last": last, "run": RUN,
            "wide": wide, "narrow": narrowed, "body": body}


def widened(model, body: tuple, axis: Axis, first: str, here: str) -> list[dict]:
    """What is read of neighbours along the axis: arrays of float with what lies from `first` on. Until `wide` of the
    speller is cleared, the elements `here` are taken from them."""
    found = []
    for load in loads(body):
        number, index = load.attrs
        if load.dtype is not dt.float16 or load.srcs or not is_every(index, axis, 1):
            continue
        model.spell.helpers["gc_widen_float16"] = None
        place = model.spell.index(ix.renamed(index, axis, first), number)
        found.append({"name": f"wide{len(found)}", "place": f"{model.kernel.buffers[number].name}[{place}]"})
        model.spell.wide[load] = f"{found[-1]['name']}[{here}]"
    return found


def is_half(model, s: Store, axis: Axis) -> bool:
    return model.kernel.buffers[s.buffer].dtype is dt.float16 and is_every(s.index, axis, 1)


def is_every(index: Index, axis: Axis, step: int) -> bool:
    """Whether an index goes along an axis in such steps, and does nothing else with it."""
    rest = ix.add(index, ix.mul(ix.of(axis), -step))
    return axis not in ix.axes_of(rest) and not data_exprs(index)


def loads(body: tuple) -> list[Node]:
    """What the statements of a loop read from memory, each once, in a fixed order."""
    return [expr for expr in below(s.value for s in body) if expr.op is LOAD]


def strides(body: tuple, axis: Axis) -> int:
    """How many of the elements that a turn reads are no neighbours of those of the next turn, if there are no loops in
    it: around others, GCC makes no vectors."""
    if any(type(s) not in (Let, Store, Accumulate) for s in body):
        return 0
    return sum(index.coefficient(axis) not in (-1, 0, 1) for _, index in (x.attrs for x in loads(body)))
