"""What GRAPHC_DEBUG prints, to stderr, whenever a graph is realized for which this process has no program yet:

    1  a line with the reason: what differs from the program that it resembles most
    2  its kernels, with bytes and flops
    3  the graph before and after every pass, the schedule, and the loops of each kernel
    4  the source of every kernel
"""
from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphc.canonical import Graph
from graphc.config import settings
from graphc.errors import Site
from graphc.ir.kernel import Kernel
from graphc.ir.node import Node
from graphc.ir.schedule import Schedule

if TYPE_CHECKING:
    from graphc.report import Plan

REMEMBERED = 1000       # programs whose successors are compared with them

_seen: OrderedDict[tuple, tuple[int, tuple]] = OrderedDict()    # operations -> (number, key) of the last such program
_count = 0


def show_miss(key: tuple, graph: Graph, on_disk: bool) -> None:
    """`key` is what the program was looked up by in memory."""
    global _count
    _count += 1
    where = "found" if on_disk else "not found"
    site = next((f" at {Site(*root.site).location()}" for root in graph.roots if root.site is not None), "")
    say(f"program {_count}{site}: {_reason(key, graph)}; {where} on disk")


def show_plan(plan: Plan) -> None:
    say(str(plan))
    if settings.debug > 3:
        for kernel in plan.kernels:
            say(f"source of {kernel.name}:\n{kernel.source.rstrip()}")


def say(text: str) -> None:
    """Print with a prefix on the first line, so that it is told apart from what the program prints."""
    print(f"graphc: {text}", file=sys.stderr, flush=True)


def show_graph(roots: Sequence[Node], stage: str) -> None:
    from graphc.ir.text import graph_text
    say(f"{stage}:\n{graph_text(roots)}")


def show_schedule(schedule: Schedule) -> None:
    from graphc.ir.text import schedule_text
    say(f"schedule:\n{schedule_text(schedule)}")


def show_kernels(kernels: Sequence[Kernel]) -> None:
    from graphc.ir.text import kernel_text
    say("\n".join(["kernels:", *map(kernel_text, kernels)]))


def _reason(key: tuple, graph: Graph) -> str:
    """Why no program in memory served, by comparison with the last one of the same operations."""
    _, roots, entries = key[-1]
    operations = (roots, tuple((entry[0], _numbers(entry)) for entry in entries))
    before = _seen.pop(operations, None)
    _seen[operations] = _count, key
    if len(_seen) > REMEMBERED:
        _seen.popitem(last=False)
    if before is None:
        return f"operations not seen before, {len(entries)} nodes"
    number, other = before
    return f"the operations of program {number}, but {_difference(key, other, graph)}"


def _numbers(entry: tuple) -> tuple:
    """The numbers of a node's sources; scalars, of which the key has the dtype or the exponent, are None."""
    return tuple(source if isinstance(source, int) else None for source in entry[4:])


def _difference(key: tuple, other: tuple, graph: Graph) -> str:
    """The first thing that two keys of equal operations do not share."""
    backend, disabled, matmul, (_, _, entries) = key
    backend_then, disabled_then, matmul_then, (_, _, entries_then) = other
    if backend != backend_then:
        return f"on {backend} instead of {backend_then}"
    if disabled != disabled_then:
        return "with other passes disabled"
    if matmul != matmul_then:
        return f"with GRAPHC_MATMUL={matmul} instead of {matmul_then}"
    for node, now, then in zip(graph.order, entries, entries_then, strict=True):
        if now == then:
            continue
        where = f" ({Site(*node.site).location()})" if node.site is not None else ""
        what = "an input" if node.value is not None else f"{node.op.name}{where}"
        for place, name in enumerate(("dtype", "shape", "attributes"), 1):
            if now[place] != then[place]:
                return f"{what} has {name} {_text(now[place])} instead of {_text(then[place])}"
        return f"{what} has scalars {_text(now[4:])} instead of {_text(then[4:])}"
    return "the program was dropped from memory"


def _text(value) -> str:
    return f"({', '.join(map(_text, value))})" if isinstance(value, tuple) else str(value)
