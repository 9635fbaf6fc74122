"""Groups that do the same on other arrays: the layers of a model are lowered once."""
from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from graphc.ir.node import Node, topological
from graphc.ir.ops import PARAM
from graphc.ir.schedule import Group, Schedule
from graphc.passes.tunable import Choose


class Repeats:
    """Lowers each group unless an equal one was lowered before: then its kernel serves, with this group's nodes."""

    def __init__(self, schedule: Schedule, lower: Callable, choose: Choose):
        self.schedule, self._lower, self._choose = schedule, lower, choose
        self._known: dict[tuple, tuple] = {}    # form -> (what it was lowered to, its nodes)

    def lower(self, group: Group):
        form, nodes = form_of(group, self.schedule)
        if form not in self._known:
            self._known[form] = self._lower(group, self.schedule, self._choose(group, nodes)), nodes
            return self._known[form][0]
        step, others = self._known[form]
        mine = dict(zip(others, nodes, strict=True))
        numbers = {old.attrs[0]: new.attrs[0] for old, new in mine.items() if old.op is PARAM}
        kernel = step.kernel
        if kernel.params:
            kernel = replace(kernel, params=tuple((numbers[number], dtype) for number, dtype in kernel.params))
        return replace(step, kernel=kernel, nodes=tuple(mine[n] for n in step.nodes), group=group,
                       base=None if step.base is None else mine[step.base])


def form_of(group: Group, schedule: Schedule) -> tuple[tuple, list[Node]]:
    """All that lowering looks at, with nodes as numbers; and the nodes."""
    in_memory = schedule.in_memory(group)
    order = topological([*group.outputs, *group.prologue], is_leaf=in_memory)
    number = {n: k for k, n in enumerate(order)}
    entries = [(n.dtype, n.shape) if in_memory(n) else (PARAM, n.dtype) if n.op is PARAM
               else (n.op, n.dtype, n.shape, n.attrs, *[number[s] for s in n.srcs]) for n in order]
    parts = tuple(tuple(number[n] for n in part) for part in (group.anchors, group.stores, group.prologue))
    coordinates = tuple((number[n], axes) for n, axes in group.coordinates.items() if n in number)
    kept = tuple(n in schedule.stored for n in group.outputs)
    return (group.kind, group.parallel, tuple(entries), parts, coordinates, kept), order
