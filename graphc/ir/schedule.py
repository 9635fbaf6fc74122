"""What fusion decides: which nodes are computed together, in which order, and what is written to memory."""
from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from graphc.ir.node import Node
from graphc.ir.ops import BUFFER, CONST, OTHER, PARAM
from graphc.ir.target import CPU, Target

Coordinates = tuple[int, ...]    # for each parallel coordinate of a group, the axis of a node that carries it


class Group(Struct, eq=False):
    """One kernel (or one library call).

    kind:
      map      elementwise over `parallel`, the shape of every store
      row      reductions along contiguous rows, then stores; one iteration of the nest is one row
      column   reductions across rows (and tiny contractions), vectorised over the last parallel coordinate
      contract one contraction or attention, then stores of what is computed from each of its elements alone
      scan, update, scatter, library: one anchor of that kind
    """

    kind: str
    parallel: tuple[int, ...]                       # extents of the parallel coordinates, none of them 1
    level: int                                      # groups it depends on have lower levels
    anchors: list[Node] = field(default_factory=list)       # reductions and the like, sources first
    stores: list[Node] = field(default_factory=list)        # expressions written to memory
    coordinates: dict[Node, Coordinates] = field(default_factory=dict)
    prologue: list[Node] = field(default_factory=list)      # scalars that each launch folds from a few partial results
    reads: set[Node] = field(default_factory=set)           # what it loads: leaves and nodes stored by others

    @property
    def outputs(self) -> list[Node]:
        return [*self.anchors, *self.stores]


class Schedule(Struct, eq=False):
    roots: tuple[Node, ...]
    groups: list[Group]                 # in an order of execution
    stored: dict[Node, Group]           # nodes written to memory, and by which group
    notes: list[str]                    # why two groups were not fused, in words
    known: set[Node] = field(default_factory=set)       # results that each group that needs them computes by itself
    target: Target = CPU

    def in_memory(self, group: Group) -> Callable[[Node], bool]:
        """Tells which nodes a group reads from memory. A number it knows by itself, also where that is a result."""
        own = set(group.outputs)

        def lies_there(n: Node) -> bool:
            return n.op is BUFFER or n.op.kind == OTHER or (
                n in self.stored and n not in own and n not in self.known and n.op is not CONST and n.op is not PARAM)
        return lies_there
