"""A program made ready for the CPU: checked once, encoded for the native library, run many times."""

from __future__ import annotations

import math
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np
from msgspec import Struct

from graphc.config import settings
from graphc.errors import GraphcError, OutOfMemory
from graphc.ir.program import Branch, Copy, Launch, Library, Loop, Member, Program, Slot, Step, bodies
from graphc.runtime import image, native, profiler
from graphc.runtime.backend import FAILURES, IndexFault
from graphc.runtime.buffers import ALIGNMENT, Buffer, PooledBuffer, pool
from graphc.runtime.counters import counters
from graphc.runtime.image import Handles, Layout

_nbytes, _address = attrgetter("nbytes"), attrgetter("address")

MEMBER_SHIFT = 32  # where the member stands in what run.c tells of a bad index
BIG = 64 << 20  # a run that allocates more asks first whether it fits


class Direct(Struct, frozen=True):
    """What a caller needs who has checked the inputs and packs the words itself: those of Layout."""

    run: Any                    # (image, words, threads) -> 0, 1 + the position of a bad index, or less than 0
    fail: Any                   # (what run returned, 0): raises
    image: Any
    output_bytes: tuple[int, ...]
    arena: int
    params: int
    launches: int
    aliases: tuple[int | None, ...]     # for each output the position of the input whose memory it can take over
    big: bool                           # a run has to ask first whether its memory is there
    whole: Callable[[bytes, int], tuple[int, BaseException | None]] | None      # see _run_whole; None: it may not end

    def written_out(self, inputs: Sequence[str], params: Sequence[str], formats: str) -> tuple[list[str], dict]:
        """A run as lines of Python, and the names in them. inputs, params: expressions for the addresses and for the
        parameters, with the latter's `formats` in struct. The buffers of the results are o0, o1 and so on."""
        outputs = [f"o{k}" for k in range(len(self.output_bytes))]
        words = ["arena.address" if self.arena else "0", *inputs, *(f"{o}.address" for o in outputs), *params]
        lines = [f"{o} = allocate({nbytes})" for o, nbytes in zip(outputs, self.output_bytes, strict=True)]
        lines += [f"arena = allocate({self.arena})"] if self.arena else []
        lines += [f"failed = launch(image, pack({', '.join(words)}), settings.num_threads)",
                  "if failed: fail(failed, 0)", f"counters.launches += {self.launches}"]
        pack = struct.Struct(f"<{1 + len(inputs) + len(outputs)}q{formats}").pack
        return lines, {"allocate": pool.allocate, "launch": self.run, "image": self.image, "fail": self.fail,
                       "pack": pack, "settings": settings, "counters": counters}


class CpuExecutable:
    """One program. `run` may be called from several threads at once: all that a run changes is its own."""

    def __init__(self, program: Program, handles: Handles, lib: native.Native):
        if program.peak_bytes >= 1 << 63:   # the steps could not even count it
            pool.require(program.peak_bytes)
        self.program = program
        self._run = lib.run
        self._code = code = Code(program, handles, lib)
        self._layout = layout = code.layout
        self._pack = struct.Struct(f"{1 + layout.outside + layout.params}q").pack
        self._params = layout.params
        self._has_arena = bool(program.arena)
        self._input_bytes = tuple([program.slots[slot].nbytes for slot in program.inputs])
        self._output_bytes = [program.slots[slot].nbytes for slot in layout.outputs]
        self._aliases = [_alias_position(program, slot) for slot in layout.outputs]
        self._launches = program.launches
        self._big = program.peak_bytes >= BIG
        self._image = code.image
        self._ends = all(map(_ends, program.steps))
        self._plain = layout.results == list(range(len(program.inputs), layout.outside))
        self.direct = None
        if self._image is not None and self._plain:
            self.direct = Direct(self._run, code.fail, self._image, tuple(self._output_bytes), program.arena,
                                 layout.params, self._launches, tuple(self._aliases), self._big,
                                 partial(_run_whole, lib, self._image) if self._ends else None)

    def run(
        self, inputs: Sequence[Buffer], params: Sequence[int] = (), donate: Sequence[int] = (),
        begun: Callable[[list[Buffer], Callable[[], bool]], None] | None = None,
    ) -> list[Buffer]:
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
            threads = settings.num_threads
            if begun is not None and self._ends:
                own, threads = bytearray(words), -threads
                words = self._code.lib.ffi.from_buffer(own)
                results = outputs if self._plain else self._picked(inputs, outputs)
                begun(results, lambda: own.startswith(native.DONE))
            result = self._run(self._image, words, threads)
            if result:
                self._code.fail(result, 0)
        else:
            self._code.run([*inputs, *outputs], arena, params)
        return outputs if self._plain else self._picked(inputs, outputs)

    def _picked(self, inputs: Sequence[Buffer], outputs: list[Buffer]) -> list[Buffer]:
        """The results, where they are not just the outputs."""
        outside = [*inputs, *outputs]
        return [outside[position] for position in self._layout.results]

    def _check_inputs(self, inputs: Sequence[Buffer]) -> None:
        if len(inputs) != len(self._input_bytes):
            raise ValueError(f"the program takes {len(self._input_bytes)} inputs, not {len(inputs)}")
        for buffer, nbytes in zip(inputs, self._input_bytes, strict=True):
            if buffer.nbytes < nbytes:
                raise ValueError(f"an input of {nbytes} bytes is needed, not {buffer!r}")

    def _needed(self, params: Sequence[int]) -> Sequence[int]:
        if len(params) < self._layout.params:
            raise ValueError(f"the program takes {self._layout.params} parameters, not {len(params)}")
        return params[: self._layout.params]

    def _outputs_with(self, inputs: Sequence[Buffer], donate: Sequence[int]) -> list[Buffer]:
        """Outputs where those that are aliases of donated inputs take over the buffers of these."""
        places = Counter(map(_address, inputs))
        for position in donate:
            given = inputs[position]
            if not isinstance(given, PooledBuffer):     # the user's, to whom nothing is written
                continue
            if given.exports:
                raise BufferError(f"input {position} cannot be donated: an array still shows its memory")
            if places[given.address] > 1:
                raise BufferError(f"input {position} cannot be donated: it is an input twice")
        outputs: list[Buffer] = []
        donated = set(donate)
        for nbytes, alias in zip(self._output_bytes, self._aliases, strict=True):
            taken = inputs[alias] if alias in donated else None
            outputs.append(taken if isinstance(taken, PooledBuffer) else pool.allocate(nbytes))
        return outputs


def _run_whole(lib: native.Native, image: Any, words: bytes, threads: int) -> tuple[int, BaseException | None]:
    """What the native library returns for a run that no signal ends, and what a handler raised when it had ended."""
    own = bytearray(words)
    try:
        return lib.run(image, lib.ffi.from_buffer(own), -threads), None
    except BaseException as error:
        if not own.startswith(native.DONE):
            raise
        return native.OK, error


def _ends(step: Step) -> bool:
    """Whether the data cannot keep it from ending."""
    unbounded = isinstance(step, Loop) and step.turns is None
    return not unbounded and all(_ends(inner) for program in bodies(step) for inner in program.steps)


class Code:
    """The steps of a program as segments: what the native library runs in one call, and what needs Python."""

    def __init__(self, program: Program, handles: Handles, lib: native.Native):
        self.program = program
        self.layout = Layout(program)
        self.lib = lib
        self._segments: list[LibrarySegment | ControlSegment | NativeSegment] = []
        for first, steps in _split(program.steps):
            if isinstance(steps[0], Library):
                self._segments.append(LibrarySegment(steps[0], first))
            elif calls_python(steps[0]):
                codes = [Code(inside, handles, lib) for inside in bodies(steps[0])]
                self._segments.append(ControlSegment(steps[0], first, codes, pool.allocate, _copy))
            else:
                self._segments.append(NativeSegment(program, steps, first, self.layout, handles, lib))
        only = self._segments[0] if len(self._segments) == 1 else None
        self.image = only.image if isinstance(only, NativeSegment) else None    # all of it, where one call will do
        self._listen()

    def _listen(self) -> None:
        """Tell the profiler, if there is one, where the steps of this program lie."""
        if profiler.current is not None:
            for segment in self._segments:
                addresses = segment.addresses(self.lib) if isinstance(segment, NativeSegment) else [0]
                profiler.current.add(self.program, segment.first, addresses, segment)

    def run(self, outside: Sequence[Buffer], arena: Buffer | None, params: Sequence[int]) -> None:
        """outside: the buffers of inputs and outputs, as the layout numbers them."""
        addresses = [arena.address if arena else 0, *[buffer.address for buffer in outside]]
        words = struct.pack(f"{len(addresses) + len(params)}q", *addresses, *params)
        for segment in self._segments:
            if isinstance(segment, NativeSegment):
                result = self.lib.run(segment.image, words, settings.num_threads)
                if result:
                    self.fail(result, segment.first)
                continue
            start = time.perf_counter_ns()
            try:
                segment.run(self.layout, outside, arena, params)
            except FAILURES as error:
                error.ended_at = segment.first
                raise
            if profiler.current is not None:
                profiler.current.note(segment, time.perf_counter_ns() - start)

    def fail(self, result: int, first: int) -> None:
        step = first + self.lib.lib.gc_failed_step()
        label = self.program.labels[step] if step < len(self.program.labels) else ""
        if result > 0:
            member, position = divmod(result - 1, 1 << MEMBER_SHIFT)
            label = f"{label} (member {member} of the launch)" if member else label
            raise IndexFault(step, position, label, ended_at=step)
        if result == native.INTERRUPTED:
            raise native.take_raised()
        if result == native.NO_MEMORY:
            error = OutOfMemory(f"there is no scratch memory for {label or f'step {step}'}")
            error.ended_at = step
            raise error
        raise GraphcError("the process was forked by a signal handler inside a run; in the child the run is void")


class NativeSegment:
    """Steps that the native library runs in one call."""

    def __init__(self, program: Program, steps: Sequence[Step], first: int, layout: Layout, handles: Handles,
                 lib: native.Native):
        self.first = first
        words, self._starts = image.steps(program, steps, layout, handles, lib)
        self.image = lib.ffi.new("int64_t[]", words)

    def addresses(self, lib: native.Native) -> list[int]:
        """Of the steps in memory, as the native library's log names them."""
        base = int(lib.ffi.cast("intptr_t", self.image))
        return [base + 8 * start for start in self._starts]


class LibrarySegment:
    """One library step with its operands resolved."""

    def __init__(self, step: Library, first: int):
        self.first = first
        self.routine = _library().routine(step)
        self.inputs = [(operand, _numpy_dtype(operand.dtype)) for operand in step.inputs]
        self.outputs = [(operand, _numpy_dtype(operand.dtype)) for operand in step.outputs]

    def run(self, layout: Layout, outside: Sequence[Buffer], arena: Buffer | None, params: Sequence[int]) -> None:
        inputs = [layout.buffer(x.slot, outside, arena).view(dtype, x.shape) for x, dtype in self.inputs]
        outputs = [layout.buffer(x.slot, outside, arena).writable(dtype, x.shape) for x, dtype in self.outputs]
        self.routine(tuple(inputs), tuple(outputs))


class ControlSegment:
    """A loop or branch whose turns are counted by Python: its bodies call library routines, or run on a device.

    codes           its bodies, made ready
    allocate, copy  memory where the bodies run: from a number of bytes; from one buffer to another
    """

    def __init__(
        self, step: Loop | Branch, first: int, codes: Sequence, allocate: Callable[[int], Buffer],
        copy: Callable[[Buffer, Buffer], None],
    ):
        self.step, self.first, self.codes, self._allocate, self._copy = step, first, codes, allocate, copy

    def run(self, layout: Layout, outside: Sequence[Buffer], arena: Buffer | None, params: Sequence[int]) -> None:
        self.run_at(lambda slot: layout.buffer(slot, outside, arena), params)

    def run_at(self, at: Callable[[int], Buffer], params: Sequence[int], *more: object) -> None:
        """at: the memory of a slot; `more` is handed on to the bodies."""
        step = self.step
        given = [params[number] for number in step.params]
        workspace = None if step.workspace is None else at(step.workspace)
        if isinstance(step, Branch):
            taken = self.codes[0 if at(step.condition).view(np.bool_, ()) else 1]
            taken.run([at(slot) for slot in (*step.inputs, *step.outputs)], workspace, given, *more)
        else:
            self._turns(step, at, workspace, given, *more)

    def _turns(
        self, step: Loop, at: Callable[[int], Buffer], workspace: Buffer | None, given: list[int], *more: object
    ) -> None:
        state = [at(c.initial) for c in step.carried]
        results = [at(c.result) for c in step.carried]
        places = [at(c.result if c.spare is None else c.spare) for c in step.carried]
        fixed = [at(slot) for slot in step.arrays]
        for k, c in enumerate(step.carried):
            if c.spare is None:
                self._copy(state[k], results[k])
                state[k] = results[k]
        turn = 0
        while step.turns is None or turn < step.turns:
            number = step.turns - 1 - turn if step.turns is not None and step.reverse else turn
            slices = [_slice(at(x.slot), x.stride, number) for x in step.sliced]
            if step.test is not None:
                again = self._allocate(1)
                self.codes[1].run([*state, *fixed, again], workspace, given, *more)
                if not again.view(np.bool_, ()):
                    break
            written = [r if s is not r or r is p else p for s, r, p in zip(state, results, places, strict=True)]
            stacked = [_slice(at(x.slot), x.stride, number) for x in step.stacked]
            self.codes[0].run([*state, *slices, *fixed, *written, *stacked], workspace, given, *more)
            state = written
            turn += 1
        for found, result in zip(state, results, strict=True):
            self._copy(found, result)


def _slice(whole: Buffer, stride: int, number: int) -> Buffer:
    return whole.part(stride * number, stride)


def _copy(source: Buffer, target: Buffer) -> None:
    if source is not target and target.nbytes:
        target.writable(np.uint8, (target.nbytes,))[:] = source.view(np.uint8, (target.nbytes,))


def calls_python(step: Step) -> bool:
    """Whether a step has to be run by Python: library routines are."""
    return isinstance(step, Library) or any(calls_python(s) for program in bodies(step) for s in program.steps)


def _library() -> ModuleType:
    from graphc.runtime import library  # imports numpy.fft, which most programs do without

    return library


def _numpy_dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _split(steps: Sequence[Step]) -> Iterator[tuple[int, list[Step]]]:
    """(number of the first step, steps): native steps together as far as they go, others one by one."""
    for alone, group in groupby(enumerate(steps), key=lambda item: calls_python(item[1])):
        numbered = list(group)
        for part in [[item] for item in numbered] if alone else [numbered]:
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
        for inside in bodies(step):
            check(inside)
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
    return step.call in _library().TABLE and all(
        0 <= operand.slot < len(program.slots)
        and math.prod(operand.shape) * _numpy_dtype(operand.dtype).itemsize <= program.slots[operand.slot].nbytes
        for operand in (*step.inputs, *step.outputs)
    )


def _fits(program: Program, slot: int, nbytes: int) -> bool:
    return 0 <= slot < len(program.slots) and program.slots[slot].nbytes >= nbytes


def _inside_fits(program: Program, inside: Program, inputs: list, outputs: list, step: Loop | Branch) -> bool:
    """Whether the memory (slot, bytes of it) that a step hands to a program inside it is what that one wants."""
    given = [*zip(inputs, inside.inputs, strict=False), *zip(outputs, inside.outputs, strict=False)]
    room = step.workspace is None or _fits(program, step.workspace, inside.arena)
    return (
        (len(inputs), len(outputs)) == (len(inside.inputs), len(inside.outputs))
        and len({*inside.inputs, *inside.outputs}) == len(inputs) + len(outputs)
        and all(_fits(program, slot, 0) and nbytes >= inside.slots[own].nbytes for (slot, nbytes), own in given)
        and room and (step.workspace is not None or not inside.arena)
        and Layout(inside).params <= len(step.params) and all(number >= 0 for number in step.params)
    )


def _loop_is_sound(program: Program, step: Loop) -> bool:
    named = [slot for c in step.carried for slot in (c.initial, c.result, c.spare) if slot is not None]
    named += [x.slot for x in (*step.sliced, *step.stacked)] + list(step.arrays)
    if not all(0 <= slot < len(program.slots) for slot in named):
        return False
    size = [slot.nbytes for slot in program.slots]
    turns = 1 if step.turns is None else step.turns
    slices = [*step.sliced, *step.stacked]
    if turns < 0 or (step.turns is None) != (step.test is not None) or (slices and step.turns is None) or not all(
            x.stride >= 0 and x.stride * turns <= size[x.slot] for x in slices):
        return False
    carried = [(c.initial, min(size[slot] for slot in (c.initial, c.result, c.spare) if slot is not None))
               for c in step.carried]
    inputs = [*carried, *[(x.slot, x.stride) for x in step.sliced], *[(slot, size[slot]) for slot in step.arrays]]
    outputs = [*carried, *[(x.slot, x.stride) for x in step.stacked]]
    flag = [(0, 1)]  # the test's result is no slot
    test = step.test is None or _inside_fits(program, step.test, inputs, flag, step)
    return test and _inside_fits(program, step.body, inputs, outputs, step)


def _branch_is_sound(program: Program, step: Branch) -> bool:
    if not all(0 <= slot < len(program.slots) for slot in (*step.inputs, *step.outputs)):
        return False
    inputs, outputs = ([(slot, program.slots[slot].nbytes) for slot in slots] for slots in (step.inputs, step.outputs))
    return _fits(program, step.condition, 1) and all(
        _inside_fits(program, taken, inputs, outputs, step) for taken in step.taken)


_CHECKS: dict[type, Any] = {
    Launch: _launch_is_sound, Copy: _copy_is_sound, Library: _library_is_sound, Loop: _loop_is_sound,
    Branch: _branch_is_sound,
}
