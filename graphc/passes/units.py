"""Units of work: an anchor or a stored expression, with all that it reads from memory and evaluates on the way.

Units overlap, as an expression that is not stored belongs to each that reads it. So what is under an expression with
several readers is found once, for its own axes, and its readers put theirs in place of these.
"""
from __future__ import annotations

from msgspec import Struct, field

from graphc.ir.node import Node
from graphc.ir.ops import CONST, GATHER, LIBRARY, PARAM, REDUCE
from graphc.passes import track
from graphc.passes.structure import structure

Reads = dict[Node, track.Dims | None]   # with the axes that carry their own; None: read in more than one way
MOST_KNOWN = 1 << 18                    # nodes in what is remembered: some 25 MB


class _Under(Struct, eq=False):
    """What is under some expressions, down to memory."""

    reads: Reads = field(default_factory=dict)
    prologue: dict[Node, None] = field(default_factory=dict)    # scalars that are folded from partial results
    inside: dict[Node, None] = field(default_factory=dict)      # expressions,
    picks: dict[Node, None] = field(default_factory=dict)       # and those of which a gather picks some elements

    def read(self, reads: Reads) -> None:
        both = self.reads.keys() & reads.keys()
        differ = [n for n in both if self.reads[n] != reads[n]] if both else ()
        self.reads.update(reads)
        self.reads.update(dict.fromkeys(differ))

    def add(self, other: _Under, dims: track.Dims, picked: bool) -> None:
        """What is under an expression that is read at `dims`."""
        own = other.reads
        if any(k not in (d, track.ONE) for k, d in enumerate(dims)):
            own = {n: None if old is None else tuple(dims[k] if k >= 0 else k for k in old) for n, old in own.items()}
        self.read(own)
        self.prologue.update(other.prologue)
        (self.picks if picked else self.inside).update(other.inside)
        self.picks.update(other.picks)


class Unit(Struct, eq=False):
    """An anchor, or an expression that is stored."""

    node: Node
    anchor: bool
    reads: Reads                # what lies in memory or is an anchor
    elements: int               # size of its iteration space
    prologue: list[Node]        # scalars that its kernel folds from partial results
    inside: dict[Node, None]    # expressions that it evaluates,
    picked: set[Node]           # of these, those of which a gather picks some elements
    _structure: tuple | None = None

    @property
    def structure(self) -> tuple:
        """Equal for units that do the same to other arrays."""
        if self._structure is None:
            self._structure = structure([self.node], {*self.reads, *self.prologue} - {self.node})
        return self._structure


class Units:
    """Makes units. `memory`: what lies there, the anchors too; `folded`: scalars that each reader folds itself;
    `shared`: what has several readers. `known` is told of these in the order of the graph."""

    def __init__(self, memory: set[Node], folded: set[Node], shared: set[Node]):
        self._memory, self._folded, self._shared = memory, folded, shared
        self._known: dict[Node, _Under] = {}
        self._size = 0

    def note(self, node: Node) -> None:
        """Remember what is under an expression, if several will ask. Comes after what the expression reads."""
        if node in self._shared and node.srcs:
            under = self._under([(node, track.identity(node.shape))])
            self._size += len(under.inside) + len(under.picks) + len(under.reads)
            if self._size > MOST_KNOWN:
                self._known.clear()
                self._size = 0
            self._known[node] = under

    def of(self, node: Node, anchor: bool) -> Unit:
        if anchor:
            start = track.anchor_sources(node)
            elements = node.srcs[0].size if node.op.kind == REDUCE else node.size if node.op.kind != LIBRARY else 0
        else:
            start = track.sources(node, track.identity(node.shape))
            elements = node.size
        found = self._under(start)
        inside = found.inside
        picked = found.picks.keys() - inside.keys()
        return Unit(node, anchor, found.reads, elements, list(found.prologue), {**inside, **found.picks}, picked)

    def _under(self, start: list[tuple[Node, track.Dims]]) -> _Under:
        """Everything under these, read at these dims."""
        found = _Under()
        seen: set[tuple[Node, track.Dims, bool]] = set()
        stack = [(src, dims, False) for src, dims in start]
        while stack:
            item = src, dims, picked = stack.pop()
            if src.op is PARAM or src.op is CONST or item in seen:
                continue
            seen.add(item)
            if src in self._folded:
                found.prologue[src] = None
                found.read({src.srcs[0]: None})
            elif src in self._memory:
                found.reads[src] = dims if found.reads.get(src, dims) == dims else None
            elif src in self._known:
                found.add(self._known[src], dims, picked)
            else:
                (found.picks if picked else found.inside)[src] = None
                table = src.srcs[0] if src.op.kind == GATHER and src.size < src.srcs[0].size else None
                stack += [(below, into, picked or below is table) for below, into in track.sources(src, dims)]
        return found
