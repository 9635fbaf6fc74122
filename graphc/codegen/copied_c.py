"""Loops that only copy neighbours in memory, which need no test for each element."""
from __future__ import annotations

from msgspec import Struct

from graphc.ir import index as ix
from graphc.ir.dtype import DType
from graphc.ir.kernel import INDEX, LOAD, VALUE, Let, Loop, Store, data_exprs, load
from graphc.ir.node import Node
from graphc.ir.ops import AND, CONST, LE, LT, WHERE


class Copied(Struct, frozen=True):
    """What a loop reads if that is a copy of neighbours in memory, all of them or, as in a padded image, those from
    the largest of `low` up to the least of `high`, if all tests hold; the others are `other`."""

    load: Node
    low: list[ix.Index]
    high: list[ix.Index]
    tests: list[Node]
    other: Node | None

    def model(self, model) -> dict:
        """What templates are told of it."""
        spell, (buffer, index) = model.spell, self.load.attrs
        return {"low": [spell.index(i) for i in self.low], "high": [spell.index(i) for i in self.high],
                "test": " && ".join(spell.expr(test) for test in self.tests),
                "other": None if self.other is None else spell.keep(self.other),
                "place": f"{model.kernel.buffers[buffer].name}[{spell.index(index)}]", "ahead": None}


def copied_from(x: Loop, dtype: DType) -> Copied | None:
    """None: it is something else."""
    named = {s.name: s.value for s in x.body if type(s) is Let}
    value, other, stack = x.body[-1].value, None, []
    if value.op is WHERE and value.srcs[1].op is LOAD and value.srcs[1].srcs == value.srcs[:1]:
        stack, other, value = [value.srcs[0]], value.srcs[2], load(*value.srcs[1].attrs, value.dtype)
    if (value.op is not LOAD or value.srcs or value.dtype is not dtype or data_exprs(value.attrs[1])
            or value.attrs[1].coefficient(x.axis) != 1 or (other is not None and other.op is not CONST)):
        return None
    found = Copied(value, [], [], [], other)
    while stack:
        test = stack.pop()
        if test.op is VALUE:
            if test.attrs[0] in named:
                stack.append(named[test.attrs[0]])
            else:
                found.tests.append(test)
        elif test.op is AND:
            stack += test.srcs
        elif test.op not in (LE, LT) or not all(s.op is INDEX and ix.is_linear(s.attrs[0]) for s in test.srcs):
            return None
        else:
            least, most = (s.attrs[0] for s in test.srcs)       # low <= i, or i < high
            bounds, i, bound = (found.low, most, least) if test.op is LE else (found.high, least, most)
            if i.coefficient(x.axis) != 1 or bound.coefficient(x.axis):
                return None
            rest = ix.add(i, ix.mul(ix.of(x.axis), -1))
            bounds.append(ix.add(bound, ix.mul(rest, -1)))
    return found


def turned_from(x: Loop) -> tuple[Store, Loop] | None:
    """Of a loop over columns: the store and the loop around it, over rows, if that gathers into a local array what
    lies side by side, or nearly so, along the rows in memory, and along the columns in the array."""
    inner = x.body[0]
    if len(x.body) != 1 or type(inner) is not Loop or len(inner.body) != 1 or type(inner.body[0]) is not Store:
        return None
    s = inner.body[0]
    turned = s.local is not None and s.value.op is LOAD and s.value.attrs[1].coefficient(inner.axis)
    return (s, inner) if turned and s.index.coefficient(x.axis) == 1 else None
