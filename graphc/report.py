"""Plans: what a realize would launch, as data and as a report."""
from __future__ import annotations

from collections.abc import Collection
from math import prod

from msgspec import Struct

from graphc.build import Built
from graphc.config import settings
from graphc.errors import Site
from graphc.ir.node import Node, topological
from graphc.ir.ops import BUFFER, IF, LOOP, PARAM, WHILE
from graphc.ir.program import Launch, Program
from graphc.passes.batch import Batch
from graphc.passes.cost import kernel_cost
from graphc.passes.lower import LibraryCall, LoweredKernel
from graphc.passes.memory import CopyNode
from graphc.units import amount, count

SHOWN = 3       # members of a launch whose shapes a plan lists


class KernelPlan(Struct, frozen=True):
    """One launch (or library call).

    bytes_read, bytes_written, flops  counted from the loop extents; see passes/cost.py
    origins                           the user's lines it comes from, "file:line"
    shapes                            its buffers, as text; of the first members where there are several
    members                           how many independent runs of the kernel the launch holds
    inside                            of a loop or branch: the kernels of a turn; its own bytes and flops are those of
                                      all turns (of one, where their number is not known; of the larger branch)
    launch                            (chunks, threads)
    items                             work items of the group that takes a chunk; 0: a thread takes it
    follows                           whether each chunk runs right after that of the kernel before (passes/follow.py)
    unit                              the dtype of factors that meet on a matrix unit
    cached                            "in memory", "on disk", "not compiled", "library" or, of a loop, "inside"
    """

    name: str
    source: str
    bytes_read: int
    bytes_written: int
    flops: int
    origins: tuple[str, ...]
    shapes: str
    launch: tuple[int, int]
    cached: str
    members: int = 1
    follows: bool = False
    items: int = 0
    inside: tuple[KernelPlan, ...] = ()
    unit: str = ""

    def __str__(self) -> str:
        times = f" x {self.members}" if self.members > 1 else ", by chunks after the one before" * self.follows
        return "\n       ".join([self._line(times), *map(str, self.inside)])

    def _line(self, times: str) -> str:
        return (f"{self.name}{times}: {self.shapes}; {amount(self.bytes_read, 'B')} read, "
                f"{amount(self.bytes_written, 'B')} written, {amount(self.flops, 'flop')}; "
                f"{', '.join(self.origins) or 'no line of a program'}")


class Plan(Struct, frozen=True):
    """What one realize runs, in order. str(plan) is the report.

    bytes_moved, flops  sums over the kernels
    peak_bytes          outputs and temporaries that the run allocates
    explain             why groups were not fused, in words
    copies              copies that are made beside the kernels
    program             what the runtime executes; its steps are the kernels and the copies
    """

    kernels: tuple[KernelPlan, ...]
    peak_bytes: int
    explain: tuple[str, ...]
    copies: int = 0
    program: Program | None = None

    @property
    def bytes_moved(self) -> int:
        return sum(k.bytes_read + k.bytes_written for k in self.kernels)

    @property
    def flops(self) -> int:
        return sum(k.flops for k in self.kernels)

    def __str__(self) -> str:
        head = (f"{count(len(self.kernels), 'kernel')}, {amount(self.bytes_moved, 'B')} moved, "
                f"{amount(self.flops, 'flop')}, peak {amount(self.peak_bytes, 'B')}")
        lines = [f"  {n}. {k}" for n, k in enumerate(self.kernels, 1)]
        return "\n".join([head, *lines, *(f"  {note}" for note in self.explain)])

    __repr__ = __str__


def make_plan(built: Built, backend, donated: Collection[int] = ()) -> Plan:
    """The plan where these inputs are donated to the outputs that can take them over."""
    sources = built.program.all_kernels
    states = dict(zip(sources, backend.cached(sources), strict=True))
    copies = sum(isinstance(step, CopyNode) for step in built.steps)
    return Plan(_kernels(built, states), built.program.peak_with(donated), tuple(dict.fromkeys(built.schedule.notes)),
                copies, built.program)


def _kernels(built: Built, states: dict) -> tuple[KernelPlan, ...]:
    kernels = []
    for step, launch in zip(built.steps, built.program.steps, strict=True):
        if isinstance(launch, Launch):
            kernels.append(_kernel(step, launch.follows, built, states))
        elif isinstance(step, LibraryCall):
            inside = built.bodies.get(step.node)
            kernels.append(_library(step) if inside is None else _loop(step.node, inside, states))
    return tuple(kernels)


def _loop(call: Node, inside: tuple[Built, ...], states: dict) -> KernelPlan:
    bodies = [_kernels(built, states) for built in inside]
    turns = call.attrs[3] if call.op is LOOP else 1
    together = max if call.op is IF else sum
    read, written, flops = (turns * together(sum(getattr(k, what) for k in body) for body in bodies)
                            for what in ("bytes_read", "bytes_written", "flops"))
    name = {LOOP: f"loop of {turns} turns", WHILE: "loop with a condition", IF: "branch"}[call.op]
    kernels = tuple(k for body in bodies for k in body)
    shapes = f"{_shapes([s for s in call.srcs if s.op is not PARAM])} -> " + \
        ", ".join(f"{d}{list(s)}" for d, s in zip(call.dtype, call.shape, strict=True))
    return KernelPlan(name, "\n".join(dict.fromkeys(k.source for k in kernels)), read, written, flops,
                      _site_lines([call]), shapes, (1, settings.num_threads), "inside", inside=kernels)


def _kernel(step: Batch, follows: bool, built: Built, states: dict) -> KernelPlan:
    source = built.rendered[step.members[0]].source
    costs = [kernel_cost(m.kernel) for m in step.members]
    outputs = [node for m in step.members for node in m.group.outputs]
    shapes = [_member_shapes(m) for m in step.members[:SHOWN]]
    shapes += [f"and {len(step.members) - SHOWN} more"] if len(step.members) > SHOWN else []
    chunks = sum(m.kernel.chunks for m in step.members)
    return KernelPlan(step.members[0].kernel.name, source.text, sum(c.bytes_read for c in costs),
                      sum(c.bytes_written for c in costs), sum(c.flops for c in costs), _origins(outputs, built),
                      "; ".join(shapes), (chunks, settings.num_threads), states[source], len(step.members), follows,
                      built.schedule.target.group, unit=costs[0].unit)


def _member_shapes(member: LoweredKernel) -> str:
    inputs = [n for n, b in zip(member.nodes, member.kernel.buffers, strict=True) if not b.written]
    outputs = [n for n, b in zip(member.nodes, member.kernel.buffers, strict=True) if b.written]
    return f"{_shapes(inputs)} -> {_shapes(outputs)}"


def _library(step: LibraryCall) -> KernelPlan:
    node = step.node
    written = sum(d.itemsize * prod(s) for d, s in zip(node.dtype, node.shape, strict=True))
    read = sum(s.nbytes for s in node.srcs)
    shapes = f"{_shapes(node.srcs)} -> {', '.join(map(str, node.shape))}"
    return KernelPlan(node.attrs[0], f"/* library routine {node.attrs[0]} */", read, written, 0, _site_lines([node]),
                      shapes, (1, 1), "library")


def lines_of(built: Built, text: str) -> str:
    """The user's lines of the kernels whose entry points a text names."""
    lines = {line: None for step, rendered in built.rendered.items() if rendered.source.entry in text
             for line in _origins(step.group.outputs, built)}
    return ", ".join(lines)


def largest(built: Built, count: int = 3) -> str:
    """The largest arrays in memory during a run, with their lines, as text."""
    held = {node for step in built.steps if isinstance(step, Batch) for m in step.members for node in m.nodes}
    nodes = sorted(held, key=lambda node: -node.nbytes)[:count]
    return ", ".join(f"{n.dtype}{list(n.shape)} of {n.nbytes:,} bytes" +
                     (f" ({Site(*n.site).location()})" if n.site is not None else " (an input)") for n in nodes)


def _shapes(nodes) -> str:
    return ", ".join(f"{n.dtype}{list(n.shape)}" for n in nodes) or "nothing"


def _origins(outputs: list[Node], built: Built) -> tuple[str, ...]:
    """The lines of everything computed inside the kernel: from its outputs down to what lies in memory."""
    mine = set(outputs)
    order = topological(outputs, is_leaf=lambda n: n.op is BUFFER or (n in built.schedule.stored and n not in mine))
    return _site_lines(order)


def _site_lines(nodes) -> tuple[str, ...]:
    lines: dict[str, None] = {}
    for node in nodes:
        if node.site is not None and node.op is not BUFFER:
            lines[Site(*node.site).location()] = None
    return tuple(sorted(lines, key=_by_file_and_line))


def _by_file_and_line(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    return file, int(line)
