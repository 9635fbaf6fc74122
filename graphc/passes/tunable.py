"""What may be chosen for a kernel without changing a bit of its results: the one list of it.

A group is lowered with a few numbers that only decide how its work is cut: how long the chunks are that threads take,
how many columns or rows are worked on together, how many elements an operation takes at a time. Each has a default that
is good everywhere; the tuner (graphc/tuner.py) tries the others. A form of kernel that can be cut otherwise adds a row
to TUNABLES and asks `chosen` for the value.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from graphc.ir.kernel import Kernel, Loop, Template
from graphc.ir.node import Node
from graphc.ir.ops import CONTRACT
from graphc.ir.schedule import Group

Choices = Mapping[str, int]
Choose = Callable[[Group, list[Node]], Choices]     # a group and the nodes that it is about, in a fixed order


class Tunable(Struct, frozen=True):
    """A number that a lowered kernel was cut with.

    default   what it is without tuning; None: it depends on the kernel
    others    what else is worth a try
    applies   whether a kernel of the kind has it
    """

    name: str
    kinds: tuple[str, ...]
    default: int | None
    others: tuple[int, ...]
    applies: Callable[[Kernel], bool] = lambda kernel: True


def _is_cut(kernel: Kernel) -> bool:
    return bool(kernel.parallel) and kernel.iterations > 1


def _has_columns(kernel: Kernel) -> bool:
    return kernel.tiled and kernel.parallel[-1].extent > 128


def _has_lets(kernel: Kernel) -> bool:
    """Whether there may be formulas of several lines, which go by strips."""
    return any(type(s) is Loop and s.kind == "vector" and len(s.body) > 4 for s in kernel.body)


def _is_product(kernel: Kernel) -> bool:
    """Whether it is a product of matrices; an attention's blocks are fixed."""
    return any(type(s) is Template and s.name == "gemm" for s in kernel.body)


TUNABLES = (
    # Iterations of a chunk, in powers of two of the default.
    Tunable("chunk", ("map", "row"), 0, (-2, -1, 1, 2), _is_cut),
    # Columns that are accumulated together: long runs suit the memory.
    Tunable("columns", ("column",), 1024, (128, 256, 512, 2048), _has_columns),
    # Elements that one operation of a long formula takes before the next operation: four vectors of 8 floats, each of
    # which hides the latency of the others.
    Tunable("strip", ("map",), 32, (16, 64), _has_lets),
    # Rows and columns of a matrix product whose packed factors are used together.
    Tunable("block_rows", ("contract",), None, (96, 192, 480, 960), _is_product),
    Tunable("block_columns", ("contract",), None, (128, 256, 512, 1024, 2048), _is_product),
    # Bytes of its second factor that are packed at a time.
    Tunable("panel", ("contract",), 0, (1 << 17, 1 << 18, 1 << 19, 1 << 20), _is_product),
)
_DEFAULTS = {t.name: t.default for t in TUNABLES if t.default is not None}
_VALUES = {t.name: {*t.others, t.default} for t in TUNABLES}


def chosen(choices: Choices, name: str) -> int:
    """What a kernel is cut with, where that does not depend on the kernel."""
    return choices.get(name, _DEFAULTS[name])


def tunables(group: Group, kernel: Kernel) -> list[Tunable]:
    """What can be chosen for a kernel."""
    if any(a.op.kind == CONTRACT for a in group.anchors) and group.kind != "contract":
        return []       # plain loops, of the shapes that are too small for a template
    return [t for t in TUNABLES if group.kind in t.kinds and t.applies(kernel)]


def are_choices(value: object) -> bool:
    """Whether something read from a disk is choices that exist."""
    return isinstance(value, dict) and all(
        name in _VALUES and type(number) is int and number in _VALUES[name] for name, number in value.items())


def defaults(group: Group, nodes: list[Node]) -> Choices:
    """Chooses nothing."""
    return {}
