"""A program made ready for the CPU: checked once, encoded for the native library, run many times."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Any

import numpy as np

from graphc.config import settings
from graphc.errors import GraphcError, OutOfMemory
from graphc.ir.program import Copy, Launch, Library, Member, Operand, Program, Slot, Step
from graphc.runtime import native, profiler
from graphc.runtime.backend import IndexFault
from graphc.runtime.buffers import ALIGNMENT, Buffer, PooledBuffer, pool
from graphc.runtime.counters import counters

_nbytes, _address = attrgetter("nbytes"), attrgetter("address")

COPY_CHUNK = 262144  # bytes; run.c has the same number
OFFSET_SHIFT = 24  # run.c has the same number
MEMBER_SHIFT = 32  # where the member stands in what run.c tells of a bad index
BIG = 64 << 20  # a run that allocates more asks first whether it fits


@dataclass(frozen=True, slots=True)
class Direct:
    """What a caller needs who has checked the inputs and packs the words itself: those of Layout."""

    run: Any                    # (image, words, threads) -> 0, 1 + the position of a bad index, or less than 0
    fail: Any                   # (what run returned, 0): raises
    image: Any
    output_bytes: tuple[int, ...]
    arena: int
    params: int
    launches: int


class CpuExecutable:
    """One program. `run` may be called from several threads at once: all that a run changes is its own."""

    def __init__(self, program: Program, handles: Sequence[int], lib: native.Native):
        self.program = program
        self._lib = lib
        self._run = lib.run
        self._layout = layout = Layout(program)
        self._pack = struct.Struct(f"{1 + layout.outside + layout.params}q").pack
        self._params = layout.params
        self._has_arena = bool(program.arena)
        self._input_bytes = tuple([program.slots[slot].nbytes for slot in program.inputs])
        self._output_bytes = [program.slots[slot].nbytes for slot in layout.outputs]
        self._aliases = [_alias_position(program, slot) for slot in layout.outputs]
        self._launches = sum(not isinstance(step, Copy) for step in program.steps)
        self._big = program.peak_bytes >= BIG
        self._segments: list[LibrarySegment | NativeSegment] = []
        for first, steps in _split(program.steps):
            if isinstance(steps[0], Library):
                self._segments.append(LibrarySegment(steps[0], first))
            else:
                self._segments.append(NativeSegment(steps, first, layout, handles, lib))
        only = self._segments[0] if len(self._segments) == 1 else None
        self._image = only.image if isinstance(only, NativeSegment) else None
        self._listen(lib)
        self._plain = layout.results == list(range(len(program.inputs), layout.outside))
        self.direct = None
        if self._image is not None and self._plain and not self._big:
            self.direct = Direct(self._run, self._fail, self._image, tuple(self._output_bytes), program.arena,
                                 layout.params, self._launches)

    def _listen(self, lib: native.Native) -> None:
        """Tell the profiler, if there is one, where the steps of this program lie."""
        if profiler.current is not None:
            for segment in self._segments:
                addresses = [0] if isinstance(segment, LibrarySegment) else segment.addresses(lib)
                profiler.current.add(self.program, segment.first, addresses, segment)

    def run(self, inputs: Sequence[Buffer], params: Sequence[int] = (), donate: Sequence[int] = ()) -> list[Buffer]:
        """See runtime.backend.Executable. Written without Python frames where it can be: small programs wait for it."""
        if tuple(map(_nbytes, inputs)) != self._input_bytes:
            self._check_inputs(inputs)
        if len(params) != self._params:
            params = self._needed(params)
        if self._big:
            pool.require(self.program.peak_bytes)
        allocate = pool.allocate
        outputs = self._outputs_with(inputs, donate) if donate else list(map(allocate, self._output_bytes))
        arena = allocate(self.program.arena) if self._has_arena else None
        words = self._pack(arena.address if arena else 0, *map(_address, inputs), *map(_address, outputs), *params)
        counters.launches += self._launches
        if self._image is not None:
            result = self._run(self._image, words, settings.num_threads)
            if result:
                self._fail(result, 0)
        else:
            self._run_segments(words, [*inputs, *outputs], arena)
        if self._plain:
            return outputs
        outside = [*inputs, *outputs]
        return [outside[position] for position in self._layout.results]

    def _check_inputs(self, inputs: Sequence[Buffer]) -> None:
        if len(inputs) != len(self._input_bytes):
            raise ValueError(f"the program takes {len(self._input_bytes)} inputs, not {len(inputs)}")
        for buffer, nbytes in zip(inputs, self._input_bytes, strict=True):
            if buffer.nbytes < nbytes:
                raise ValueError(f"an input of {nbytes} bytes is needed, not {buffer!r}")

    def _run_segments(self, words: bytes, outside: list[Buffer], arena: Buffer | None) -> None:
        for segment in self._segments:
            if isinstance(segment, LibrarySegment):
                start = time.perf_counter_ns()
                segment.run(self._layout, outside, arena)
                if profiler.current is not None:
                    profiler.current.note(segment, time.perf_counter_ns() - start)
                continue
            result = self._run(segment.image, words, settings.num_threads)
            if result:
                self._fail(result, segment.first)

    def _needed(self, params: Sequence[int]) -> Sequence[int]:
        if len(params) < self._layout.params:
            raise ValueError(f"the program takes {self._layout.params} parameters, not {len(params)}")
        return params[: self._layout.params]

    def _outputs_with(self, inputs: Sequence[Buffer], donate: Sequence[int]) -> list[Buffer]:
        """Outputs where those that are aliases of donated inputs take over the buffers of these."""
        for position in donate:
            given = inputs[position]
            if given.exports:
                raise BufferError(f"input {position} cannot be donated: an array still shows its memory")
            if sum(other.address == given.address for other in inputs) > 1:
                raise BufferError(f"input {position} cannot be donated: it is an input twice")
        outputs: list[Buffer] = []
        for nbytes, alias in zip(self._output_bytes, self._aliases, strict=True):
            taken = inputs[alias] if alias is not None and alias in donate else None
            # A wrapped array is the user's: nothing is written to it.
            outputs.append(taken if isinstance(taken, PooledBuffer) else pool.allocate(nbytes))
        return outputs

    def _fail(self, result: int, first: int) -> None:
        step = first + self._lib.lib.gc_failed_step()
        label = self.program.labels[step] if step < len(self.program.labels) else ""
        if result > 0:
            member, position = divmod(result - 1, 1 << MEMBER_SHIFT)
            raise IndexFault(step, position, f"{label} (member {member} of the launch)" if member else label)
        if result == native.INTERRUPTED:
            raise native.take_raised()
        if result == native.NO_MEMORY:
            raise OutOfMemory(f"there is no scratch memory for {label or f'step {step}'}")
        raise GraphcError("the process was forked by a signal handler inside a run; in the child the run is void")


class Layout:
    """Where the words of a run lie: [arena, addresses of inputs, addresses of outputs, parameters]."""

    def __init__(self, program: Program):
        self.slots = program.slots
        self.outputs = list(dict.fromkeys(slot for slot in program.outputs if slot not in program.inputs))
        order = [*program.inputs, *self.outputs]
        self.position = {slot: position for position, slot in enumerate(order)}
        self.outside = len(order)
        self.results = [self.position[slot] for slot in program.outputs]
        launches = [step for step in program.steps if isinstance(step, Launch)]
        patches = [param for step in launches for member in step.members for _, param in member.params]
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


class NativeSegment:
    """Steps that the native library runs in one call."""

    def __init__(self, steps: Sequence[Step], first: int, layout: Layout, handles: Sequence[int], lib: native.Native):
        self.first = first
        words = [len(steps)]
        self._starts: list[int] = []    # of each step, in words
        for step in steps:
            self._starts.append(len(words))
            words += _encode(step, layout, handles, lib)
        self.image = lib.ffi.new("int64_t[]", words)

    def addresses(self, lib: native.Native) -> list[int]:
        """Of the steps in memory, as the native library's log names them."""
        base = int(lib.ffi.cast("intptr_t", self.image))
        return [base + 8 * start for start in self._starts]


def _encode(step: Step, layout: Layout, handles: Sequence[int], lib: native.Native) -> list[int]:
    """The words of a step: struct step of run.c, and what follows it."""
    assert not isinstance(step, Library), "a segment of its own"
    if isinstance(step, Copy):
        members: tuple[Member, ...] = (
            Member((step.source, step.target), (step.nbytes,), (), -(-step.nbytes // COPY_CHUNK)),
        )
        kernel, scratch = lib.copy_kernel, 0
    else:
        members, kernel = step.members, handles[step.kernel]
        scratch = -(-step.scratch // ALIGNMENT) * ALIGNMENT
    first = members[0]
    words = [kernel, scratch, 0, len(members), len(first.slots), len(first.args), len(first.params)]
    words += accumulate(member.chunks for member in members)
    words += [place for place, _ in first.params]
    for member in members:
        words += [layout.operand(slot) for slot in member.slots]
        words += member.args
        words += [layout.param(param) for _, param in member.params]
    return words


class LibrarySegment:
    """One library step with its operands resolved."""

    def __init__(self, step: Library, first: int):
        self.first = first
        self.routine = _routines()[step.call]
        self.attrs = dict(step.attrs)
        self.inputs = [(operand, _numpy_dtype(operand.dtype)) for operand in step.inputs]
        self.outputs = [(operand, _numpy_dtype(operand.dtype)) for operand in step.outputs]

    def run(self, layout: Layout, outside: Sequence[Buffer], arena: Buffer | None) -> None:
        inputs = [_array(operand, dtype, layout, outside, arena) for operand, dtype in self.inputs]
        outputs = [_array(operand, dtype, layout, outside, arena) for operand, dtype in self.outputs]
        for array in inputs:
            array.flags.writeable = False
        self.routine(inputs, outputs, **self.attrs)


def _array(
    operand: Operand, dtype: np.dtype, layout: Layout, outside: Sequence[Buffer], arena: Buffer | None
) -> np.ndarray:
    position, offset = layout.place(operand.slot)
    buffer = arena if position is None else outside[position]
    assert buffer is not None, "a program with temporaries has an arena"
    return buffer.writable(dtype, operand.shape, offset)


def _routines() -> dict[str, Any]:
    from graphc.runtime.library import ROUTINES  # imports numpy.fft, which most programs do without

    return ROUTINES


def _numpy_dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _split(steps: Sequence[Step]) -> Iterator[tuple[int, list[Step]]]:
    """(number of the first step, steps): native steps together as far as they go, library steps one by one."""
    for is_library, group in groupby(enumerate(steps), key=lambda item: isinstance(item[1], Library)):
        numbered = list(group)
        for part in [[item] for item in numbered] if is_library else [numbered]:
            yield part[0][0], [step for _, step in part]


def _alias_position(program: Program, slot: int) -> int | None:
    alias = program.slots[slot].alias
    return None if alias is None else program.inputs.index(alias)


# ------------------------------------------------------------------------------------------------------- the boundary


def check(program: Program) -> None:
    """Raise ValueError if the program names memory, kernels or words that it does not have.

    Programs come from a disk cache too, and from here on their numbers are pointers.
    """
    for number, slot in enumerate(program.slots):
        _require(_slot_is_sound(program, number, slot), f"slot {number}: {slot} does not fit the program")
    outside = [*program.inputs, *program.outputs]
    _require(all(0 <= slot < len(program.slots) for slot in outside), "inputs or outputs name slots that are not there")
    _require(len(set(program.inputs)) == len(program.inputs), "a slot is an input twice")
    aliases = [slot.alias for slot in program.slots if slot.alias is not None]
    _require(len(set(aliases)) == len(aliases), "two outputs take over one input")
    for number, step in enumerate(program.steps):
        _require(_CHECKS[type(step)](program, step), f"step {number}: {step} does not fit the program")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(f"the program cannot be run: {message}")


def _slot_is_sound(program: Program, number: int, slot: Slot) -> bool:
    if slot.nbytes < 0:
        return False
    if slot.role == "temp":
        room = program.arena
        if slot.host is not None:
            host = program.slots[slot.host] if 0 <= slot.host < len(program.slots) else Slot("none", 0)
            room = host.nbytes if host.role == "output" and host.alias is None else -1
        return slot.offset >= 0 and slot.offset % ALIGNMENT == 0 and slot.offset + slot.nbytes <= room
    if slot.role == "input":
        return number in program.inputs
    alias = slot.alias
    fits = alias is None or (alias in program.inputs and program.slots[alias].nbytes >= slot.nbytes)
    return slot.role == "output" and number in program.outputs and fits


def _launch_is_sound(program: Program, step: Launch) -> bool:
    return (
        0 <= step.kernel < len(program.kernels)
        and step.scratch >= 0
        and len(step.members) > 0
        and all(_member_is_sound(program, member, step.members[0]) for member in step.members)
    )


def _member_is_sound(program: Program, member: Member, first: Member) -> bool:
    return (
        (len(member.slots), len(member.args)) == (len(first.slots), len(first.args))
        and [word for word, _ in member.params] == [word for word, _ in first.params]
        and all(0 <= slot < len(program.slots) for slot in member.slots)
        and all(0 <= word < len(member.args) and param >= 0 for word, param in member.params)
        and member.chunks >= 0
    )


def _copy_is_sound(program: Program, step: Copy) -> bool:
    ends = (step.source, step.target)
    return step.nbytes >= 0 and all(
        0 <= slot < len(program.slots) and step.nbytes <= program.slots[slot].nbytes for slot in ends
    )


def _library_is_sound(program: Program, step: Library) -> bool:
    return step.call in _routines() and all(
        0 <= operand.slot < len(program.slots)
        and math.prod(operand.shape) * _numpy_dtype(operand.dtype).itemsize <= program.slots[operand.slot].nbytes
        for operand in (*step.inputs, *step.outputs)
    )


_CHECKS: dict[type, Any] = {Launch: _launch_is_sound, Copy: _copy_is_sound, Library: _library_is_sound}
