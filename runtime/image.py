"""Programs as the int64 words that the native library runs: see native/run.c and native/loops.c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from graphc.ir.program import Branch, Copy, KernelSource, Launch, Library, Loop, Member, Program, Step
from graphc.runtime import native
from graphc.runtime.buffers import ALIGNMENT, Buffer

COPY_CHUNK = 262144  # bytes; run.c has the same number
OFFSET_SHIFT = 24  # so has it this
LAUNCH, LOOP, BRANCH = range(3)  # kinds of steps, as in run.c
NO_SPARE = -(1 << 63)

Handles = Mapping[KernelSource, int]  # the addresses of the kernels' entry points


class Layout:
    """Where the words of a run lie: [arena, addresses of inputs, addresses of outputs, parameters]."""

    def __init__(self, program: Program):
        self.slots = program.slots
        self.outputs = list(dict.fromkeys(slot for slot in program.outputs if slot not in program.inputs))
        order = [*program.inputs, *self.outputs]
        self.position = {slot: position for position, slot in enumerate(order)}
        self.outside = len(order)
        self.results = [self.position[slot] for slot in program.outputs]
        patches: list[int] = []
        for step in program.steps:
            if isinstance(step, Launch):
                patches += [param for member in step.members for _, param in member.params]
            elif isinstance(step, (Loop, Branch)):
                patches += step.params
        self.params = max(patches, default=-1) + 1

    def operand(self, slot: int) -> int:
        """As run.c reads it: an address by its index, with an offset in the upper bits, or minus one in the arena."""
        outside, offset = self.place(slot)
        return -offset if outside is None else 1 + outside + (offset << OFFSET_SHIFT)

    def place(self, slot: int) -> tuple[int | None, int]:
        """The position of the buffer among those from outside, or None for the arena; and the offset in it."""
        if slot in self.position:
            return self.position[slot], 0
        temp = self.slots[slot]
        return None if temp.host is None else self.position[temp.host], temp.offset

    def param(self, number: int) -> int:
        return 1 + self.outside + number

    def buffer(self, slot: int, outside: Sequence[Buffer], arena: Buffer | None) -> Buffer:
        """A slot's memory in a run."""
        position, offset = self.place(slot)
        whole = arena if position is None else outside[position]
        assert whole is not None, "a program with temporaries has an arena"
        own = slot in self.position
        return whole if own else whole.part(offset, self.slots[slot].nbytes)


def steps(
    program: Program, part: Sequence[Step], layout: Layout, handles: Handles, lib: native.Native
) -> tuple[list[int], list[int]]:
    """An image of some of a program's steps, and where each of them begins."""
    words, starts = [0, len(part)], []
    for step in part:
        starts.append(len(words))
        assert not isinstance(step, Library), "a segment of its own"
        if isinstance(step, Loop):
            words += _loop(step, layout, handles, lib)
        elif isinstance(step, Branch):
            words += _branch(step, layout, handles, lib)
        else:
            words += _launch(program, step, layout, handles, lib)
    return words, starts


def _launch(program: Program, step: Launch | Copy, layout: Layout, handles: Handles, lib: native.Native) -> list[int]:
    if isinstance(step, Copy):
        members: tuple[Member, ...] = (
            Member((step.source, step.target), (step.nbytes,), (), -(-step.nbytes // COPY_CHUNK)),
        )
        kernel, scratch = lib.copy_kernel, 0
    else:
        members, kernel = step.members, handles[program.kernels[step.kernel]]
        scratch = -(-step.scratch // ALIGNMENT) * ALIGNMENT
    first = members[0]
    follows = isinstance(step, Launch) and step.follows
    words = [int(follows), kernel, scratch, 0, len(members), len(first.slots), len(first.args), len(first.params)]
    words += accumulate(member.chunks for member in members)
    words += [place for place, _ in first.params]
    for member in members:
        words += [layout.operand(slot) for slot in member.slots]
        words += member.args
        words += [layout.param(param) for _, param in member.params]
    return [2 + len(words), LAUNCH, *words]


def _inside(program: Program, handles: Handles, lib: native.Native) -> list[int]:
    return steps(program, program.steps, Layout(program), handles, lib)[0]


def _arena(step: Loop | Branch, layout: Layout) -> int:
    return 0 if step.workspace is None else layout.operand(step.workspace)


def _loop(step: Loop, layout: Layout, handles: Handles, lib: native.Native) -> list[int]:
    head = [LOOP, -1 if step.turns is None else step.turns, int(step.reverse), _arena(step, layout), len(step.carried),
            len(step.sliced), len(step.stacked), len(step.arrays), len(step.params)]
    words: list[int] = []
    for c in step.carried:
        spare = NO_SPARE if c.spare is None else layout.operand(c.spare)
        words += [layout.operand(c.initial), layout.operand(c.result), spare, layout.slots[c.result].nbytes]
    for x in (*step.sliced, *step.stacked):
        words += [layout.operand(x.slot), x.stride]
    words += [layout.operand(slot) for slot in step.arrays]
    words += [layout.param(number) for number in step.params]
    body = _inside(step.body, handles, lib)
    test = [] if step.test is None else _inside(step.test, handles, lib)
    first = 1 + len(head) + 2 + len(words)
    return [first + len(body) + len(test), *head, first, first + len(body), *words, *body, *test]


def _branch(step: Branch, layout: Layout, handles: Handles, lib: native.Native) -> list[int]:
    head = [BRANCH, layout.operand(step.condition), _arena(step, layout), len(step.inputs), len(step.outputs),
            len(step.params)]
    words = [layout.operand(slot) for slot in (*step.inputs, *step.outputs)]
    words += [layout.param(number) for number in step.params]
    images = [_inside(program, handles, lib) for program in step.taken]
    first = 1 + len(head) + 2 + len(words)
    return [first + sum(map(len, images)), *head, first, first + len(images[0]), *words, *images[0], *images[1]]
