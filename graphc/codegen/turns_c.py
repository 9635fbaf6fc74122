"""Plain loops of C, of which GCC makes what vectors it can, and what they must not reach."""
from __future__ import annotations

import itertools

from graphc.codegen.halves_c import loads
from graphc.ir import index as ix
from graphc.ir.index import Axis
from graphc.ir.kernel import Let, Loop, Store
from graphc.ir.target import LINE


def in_turns(s: Loop, kind: str, start: str, stop: str, body: list[dict]) -> dict:
    """The model of a plain loop, some turns of which may have to be scalar at its end."""
    turns = {"kind": kind, "axis": s.axis.name, "extent": s.axis.extent, "start": start, "stop": stop, "body": body}
    last = _turns_at_end(s.body, s.axis) if kind != "scalar" else 0
    if not last:
        return turns
    first = {"start": f"MAX({start}, {stop} - {last})", "kind": "scalar"}
    return {"kind": "sequence", "body": [turns | {"stop": f"{stop} - {last}"}, turns | first]}


def _turns_at_end(body: tuple, axis: Axis) -> int:
    """How many turns of a loop are not taken in vectors. Where each reads a row of three elements, say, and stores
    several neighbours, GCC (12, at least) makes a vector of rows, and reads behind the last one: up to a whole line."""
    if any(type(s) not in (Let, Store) for s in body):
        return 0
    stores = [s for s in body if type(s) is Store and s.local is None]
    if not any(a.buffer == b.buffer and ix.add(a.index, ix.mul(b.index, -1)).is_const
               for a, b in itertools.pairwise(stores)):
        return 0
    steps = [abs(x.attrs[1].coefficient(axis)) * x.dtype.itemsize for x in loads(body)]
    return max((LINE // step + 1 for step in steps if step < LINE and step & (step - 1)), default=0)
