"""Horizontal fusion: independent kernels of one source text become the members of one launch.

Kernel text holds no sizes, so an optimiser over a hundred parameters of different shapes is one kernel and, here, one
launch: the members' chunks lie side by side, and the threads see one job. Groups of one level do not depend on each
other (passes/fuse.py), so any two of them may run at the same time.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, field

from graphc.ir.node import Node, topological
from graphc.ir.ops import BUFFER, CHECK_INDEX, ELEMENTWISE, EXPAND, PARAM, PERMUTE, RESHAPE, SOURCE
from graphc.passes.lower import LibraryCall, LoweredKernel
from graphc.passes.structure import structure

HELD = 1 << 26      # bytes of temporaries that the members of a launch may hold at once


class Batch(Struct, frozen=True, eq=False):
    """One launch: kernels of one source text on different buffers.

    singles  members of one element, which run the text of the first member: that one's scalars -> their own
    """

    members: tuple[LoweredKernel, ...]
    singles: dict[int, dict[int, int]] = field(default_factory=dict)


class OneElement(Struct, frozen=True, eq=False):
    """A kernel of one element as a run of a kernel that does the same to many."""

    step: LoweredKernel
    like: LoweredKernel
    params: dict[int, int]      # scalars of the other -> its own


def alike(steps: Sequence) -> list[LoweredKernel]:
    """The kernels that may have fellows of their text: others with as many buffers of the same types."""
    kinds: dict[tuple, list[LoweredKernel]] = {}
    for step in steps:
        if isinstance(step, LoweredKernel) and step.base is None:
            buffers = tuple((b.dtype, b.written) for b in step.kernel.buffers)
            kinds.setdefault((step.kernel.name, buffers), []).append(step)
    return [step for fellows in kinds.values() if len(fellows) > 1 for step in fellows]


def batch(steps: Sequence, sources: dict[LoweredKernel, Hashable], most: dict[LoweredKernel, int],
          singles: Sequence[OneElement], roots: Sequence[Node]) -> list[Batch | LibraryCall]:
    """Independent kernels of one source text as launches. `sources`: the text of each that may have fellows; `most`:
    how many members a launch of that may have, 0 for any number.

    Kernels of one level are independent. So are those whose results nobody reads, whatever their level: an optimiser
    waits until the last gradient is there. Each launch stands where its last member stood. A launch that would hold
    more than HELD bytes of temporaries is divided, for large kernels gain nothing.
    """
    own = {one.step: one for one in singles}
    text = {step: sources[own[step].like if step in own else step] for step in sources}
    bases = {step.base for step in steps if isinstance(step, LoweredKernel) and step.base is not None}
    read = {node for step in steps for node in _reads(step)} | bases
    fellows: dict[tuple, list[LoweredKernel]] = {}
    for step in steps:
        if step in text:
            last = read.isdisjoint(step.nodes[k] for k, b in enumerate(step.kernel.buffers) if b.written)
            free = last and bases.isdisjoint(step.nodes)    # who reads a base comes before it is updated
            fellows.setdefault((text[step], -1 if free else step.group.level), []).append(step)
    place = {step: k for k, step in enumerate(steps)}
    kept = set(roots)
    found = [(k, step if isinstance(step, LibraryCall) else Batch((step,))) for k, step in enumerate(steps)
             if step not in text]
    for members in fellows.values():
        for part in _divided(members, kept, most[members[0]]):
            found += [(max(place[m] for m in b.members), b) for b in _with_singles(part, own)]
    return [b for _, b in sorted(found, key=lambda item: item[0])]


def _reads(step: LoweredKernel | LibraryCall) -> list[Node]:
    if isinstance(step, LibraryCall):
        return list(step.node.srcs)
    return [n for n, b in zip(step.nodes, step.kernel.buffers, strict=True) if not b.written]


def _divided(members: list[LoweredKernel], kept: set[Node], most: int) -> list[list[LoweredKernel]]:
    """The members in parts that hold no more than HELD bytes of temporaries each, nor more than `most` members."""
    parts: list[list[LoweredKernel]] = []
    room = 0
    for member in members:
        held = sum(n.nbytes for n in member.nodes if n.op is not BUFFER and n not in kept)
        if not parts or held > room or len(parts[-1]) == most:
            parts.append([])
            room = HELD
        parts[-1].append(member)
        room -= held
    return parts


def _with_singles(members: list[LoweredKernel], own: dict[LoweredKernel, OneElement]) -> list[Batch]:
    """Members as a launch. One of one element whose like is in none of its members is a launch by itself."""
    likes = {own[m].like for m in members if m in own}
    first = next((m for m in members if m in likes), None)
    taken = [m for m in members if m not in own or (first is not None and own[m].like is first)]
    taken.sort(key=lambda m: m is not first)
    batches = [Batch((m,)) for m in members if m not in taken]
    if taken:
        batches.append(Batch(tuple(taken), {k: own[m].params for k, m in enumerate(taken) if m in own}))
    return batches


def of_one_element(steps: Sequence) -> list[OneElement]:
    """Map kernels of one element for which there is a kernel that does the same to many.

    The text of a kernel of one element has no axis. Run over one element, the other kernel computes the same; so a bias
    of one output is a member of the optimiser's launch like any other parameter.
    """
    flat = [s for s in steps if isinstance(s, LoweredKernel) and s.group.kind == "map" and len(s.kernel.parallel) == 1]
    single = [s for s in flat if s.kernel.iterations == 1]
    many: dict[tuple, LoweredKernel] = {}
    for step in flat if single else ():
        if step.kernel.iterations > 1:
            many.setdefault(_work(step), step)
    found = []
    for step in single:
        like = many.get(_work(step))
        if like is not None and _is_elementwise(step):
            same = dict(zip(_inside(like), _inside(step), strict=True))
            if _reads_alike(step, like, same):
                params = {a.attrs[0]: b.attrs[0] for a, b in same.items() if a.op is PARAM}
                found.append(OneElement(step, like, params))
    return found


def _leaves(step: LoweredKernel) -> set[Node]:
    return {*step.group.reads, *step.group.prologue}


def _work(step: LoweredKernel) -> tuple:
    return structure(step.group.stores, _leaves(step))


def _inside(step: LoweredKernel) -> list[Node]:
    """What the kernel computes and reads, in an order that its structure decides."""
    leaves = _leaves(step)
    return topological(step.group.stores, is_leaf=lambda n: n in leaves or n.op is BUFFER)


def _is_elementwise(step: LoweredKernel) -> bool:
    """Whether no operation between memory and the stores asks how large its operand is."""
    leaves = _leaves(step)
    return all(n in leaves or (n.op.kind in (ELEMENTWISE, SOURCE) and n.op is not CHECK_INDEX)
               or n.op in (RESHAPE, EXPAND, PERMUTE) for n in _inside(step))


def _reads_alike(step: LoweredKernel, like: LoweredKernel, same: dict[Node, Node]) -> bool:
    """Whether each array is the same, or one element of each iteration of the other, or one for all of them."""
    sizes = (1, like.kernel.iterations)
    return len(step.nodes) == len(like.nodes) and all(
        a is b or (same.get(b) is a and a.size == 1 and b.size in sizes)
        for a, b in zip(step.nodes, like.nodes, strict=True))
