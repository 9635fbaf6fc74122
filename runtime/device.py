"""Programs on a device with memory of its own: shared by the backends whose kernels come from the GPU family.

A backend gives a `Queue`: what is enqueued runs in order, so that memory which Python lets go of can be used again at
once. Nothing waits for the device but what reads from it: values for the host, library routines, which run on the host
through copies, the tests of loops and branches, and reports of bad indices.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphc.config import settings
from graphc.errors import BackendError, OutOfMemory
from graphc.ir.program import Branch, Copy, KernelSource, Launch, Library, Loop, Program, bodies
from graphc.runtime.backend import IndexFault
from graphc.runtime.buffers import over_limit, size_class
from graphc.runtime.counters import counters
from graphc.runtime.executable import ControlSegment, LibrarySegment, check
from graphc.runtime.image import Layout

SMALL = 1 << 16  # bytes that are copied to the host as fast as a kernel is launched
WORTH = 8  # a part of less than one in so many is taken out on the device
CHECKS = 64  # a kernel reports this much less the number of the check that failed


class Queue(Protocol):
    """Memory of a device and work in order. A handle is what the device's interface calls a buffer.

    One with libraries also has takes(step), whether it runs a Library step there, and call(step, at), which does.
    """

    def allocate(self, nbytes: int) -> Any:
        """A handle of fresh memory. Raises MemoryError if there is none."""

    def write(self, handle: Any, offset: int, array: np.ndarray) -> None:
        """A contiguous array into memory. When this returns, the array may be changed."""

    def read(self, handle: Any, offset: int, array: np.ndarray) -> None:
        """Memory into a contiguous array, after all that was enqueued."""

    def copy(self, source: Any, source_offset: int, target: Any, target_offset: int, nbytes: int) -> None:
        """Bytes from place to place on the device."""

    def launch(self, kernel: Any, members: Sequence[Work], shared: int, fault: DeviceBuffer) -> None:
        """Run a kernel for each member. shared: bytes of shared memory for each group, 0 if the kernel takes none."""


class Work(NamedTuple):
    """What a member of a launch is: so many groups, on these buffers, with these words.

    words  begin with a place for the offset of each buffer, which is the queue's to fill, and are its own
    """

    groups: int
    buffers: Sequence[DeviceBuffer]
    words: np.ndarray


def table_of(members: Sequence[tuple[int, Sequence[int], Sequence[int]]], fault: int) -> list[int]:
    """What a kernel of a dialect with tables reads: how many members there are, the first groups of all but the first,
    and for each the addresses of its buffers, its words, and the address of the faults. members: groups, addresses,
    words."""
    firsts = list(accumulate(groups for groups, _, _ in members))[:-1]
    own = [word for _, addresses, words in members for word in (*addresses, *words, fault)]
    return [len(members), *firsts, *own]


def require_process(pid: int) -> None:
    """BackendError if this is a child of the process that the device belongs to: the driver's threads are not there,
    and a call would wait for them without end."""
    if os.getpid() != pid:
        raise BackendError("the process was forked after it used this device, and a child cannot use it",
                           fix="start the child with multiprocessing's spawn method")


class Block:
    """Memory that the pool lends out again and again."""

    __slots__ = ("handle", "size", "free")

    def __init__(self, handle: Any, size: int, free: list[Block]):
        self.handle, self.size, self.free = handle, size, free


class DeviceBuffer:
    """Bytes on a device; what runtime.buffers.Buffer is on the host, but an array of its values is a copy of them."""

    __slots__ = ("pool", "handle", "offset", "nbytes", "owner", "_copy", "__weakref__")
    exports = 0  # arrays that show its memory: there are none
    remote = True

    def __init__(self, pool: DevicePool, handle: Any, offset: int, nbytes: int, owner: Any):
        self.pool, self.handle, self.offset, self.nbytes, self.owner = pool, handle, offset, nbytes, owner
        self._copy: weakref.ref[np.ndarray] | None = None   # what a user still holds of its values

    @property
    def address(self) -> tuple[int, int]:
        """What tells the memory of two buffers apart."""
        return id(self.handle), self.offset

    def part(self, offset: int, nbytes: int) -> DeviceBuffer:
        """Some of its bytes. They keep the whole alive."""
        if offset < 0 or offset + nbytes > self.nbytes:
            raise ValueError(f"{nbytes} bytes at offset {offset} do not lie in a buffer of {self.nbytes} bytes")
        return DeviceBuffer(self.pool, self.handle, self.offset + offset, nbytes, self)

    def view(self, dtype: Any, shape: Sequence[int]) -> np.ndarray:
        """The values as a read-only array on the host. Waits for the device."""
        array = np.empty(tuple(shape), dtype)
        if array.nbytes > self.nbytes:
            raise ValueError(f"{array.nbytes} bytes do not lie in a buffer of {self.nbytes} bytes")
        if array.nbytes:
            self.pool.queue.read(self.handle, self.offset, array.view(np.uint8) if array.ndim else array)
        array.flags.writeable = False
        return array

    def array(self, dtype: Any, shape: Sequence[int], wanted: int) -> np.ndarray | None:
        """See runtime.buffers.Buffer. The copy is made once for as long as somebody holds it."""
        array = self._copy() if self._copy is not None else None
        if array is None or array.dtype != dtype:
            if wanted * WORTH < self.nbytes and self.nbytes > SMALL:
                return None
            array = self.view(dtype, shape)
            self._copy = weakref.ref(array)
        return array.reshape(tuple(shape))

    def fill(self, array: np.ndarray) -> None:
        """Write the values of an array, from the start."""
        self._copy = None
        if array.nbytes > self.nbytes:
            raise ValueError(f"{array.nbytes} bytes do not fit a buffer of {self.nbytes} bytes")
        if array.nbytes:
            self.pool.queue.write(self.handle, self.offset, np.ascontiguousarray(array))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.nbytes} bytes>"


class PooledBuffer(DeviceBuffer):
    """A buffer whose block goes back to the pool when Python lets go of it."""

    __slots__ = ()

    def __del__(self) -> None:
        # The garbage collector may call this inside any allocation of this thread: it must not take a lock.
        self.pool.in_use -= self.nbytes
        self.pool.give_back(self.owner)


class DevicePool:
    """Blocks of a device's memory by size class.

    in_use, high_water  bytes lent out, and the most that they have been
    """

    def __init__(self, queue: Queue):
        self.queue = queue
        self.in_use = self.high_water = 0
        self._free: dict[int, list[Block]] = {}
        self._lock = threading.RLock()

    def allocate(self, nbytes: int) -> PooledBuffer:
        """A buffer of nbytes, with anything in it. Raises OutOfMemory."""
        size = size_class(nbytes)
        free = self._free.setdefault(size, [])
        try:
            block = free.pop()
        except IndexError:
            block = Block(self._fresh(size), size, free)
        self.in_use += nbytes
        self.high_water = max(self.high_water, self.in_use)
        return PooledBuffer(self, block.handle, 0, nbytes, block)

    def give_back(self, block: Block) -> None:
        """Called when Python lets go of a buffer. Takes no lock."""
        block.free.append(block)

    def require(self, nbytes: int) -> None:
        """Raise OutOfMemory if nbytes more than are lent out exceed the limit that is set."""
        limit = settings.memory_limit
        if limit is not None and self.in_use + nbytes > limit:
            raise over_limit(nbytes, self.in_use)

    def _fresh(self, size: int) -> Any:
        with self._lock:
            try:
                return self.queue.allocate(size)
            except MemoryError:
                for free in list(self._free.values()):  # sizes of the past make room for those of today
                    free.clear()
            try:
                return self.queue.allocate(size)
            except MemoryError as error:
                raise OutOfMemory(f"the device does not give {size:,} bytes: {error}",
                                  fix="let go of tensors that are no longer needed, or compute in smaller parts"
                                  ) from None

    def copy(self, source: DeviceBuffer, target: DeviceBuffer) -> None:
        """All bytes of a buffer, unless it is the other."""
        if source is not target and target.nbytes:
            self.queue.copy(source.handle, source.offset, target.handle, target.offset, target.nbytes)


class DeviceBackend:
    """What the backends of such devices have in common.

    One adds its `_pool`, whose queue has `build`, if it does not compile in another way; and all that
    runtime.backend.Backend asks for besides.
    """

    _pool: DevicePool

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._kernels: dict[KernelSource, Any] = {}
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # it may be held by a thread that the child does not have

    def warm_up(self, kernels: Sequence[KernelSource] = ()) -> None:
        """Nothing: the compiler is a library, or needs no preparation."""

    def allocate(self, nbytes: int) -> DeviceBuffer:
        return self._pool.allocate(nbytes)

    def from_numpy(self, array: np.ndarray) -> DeviceBuffer:
        buffer = self.allocate(array.nbytes)
        buffer.fill(np.asarray(array, array.dtype.newbyteorder("=")))
        return buffer

    def compile(self, kernels: Sequence[KernelSource]) -> list[Any]:
        with self._lock:
            for kernel in kernels:
                if kernel not in self._kernels:
                    self._kernels[kernel] = self._open(kernel)
        counters.kernel_hits += len(kernels)
        return [self._kernels[kernel] for kernel in kernels]

    def _open(self, kernel: KernelSource) -> Any:
        """A kernel that this process has not had yet, ready for the queue."""
        return self._build(kernel)

    def _build(self, kernel: KernelSource) -> Any:
        """What the queue's compiler makes of a kernel that no cache has."""
        counters.compiles += 1
        counters.kernel_misses += 1
        counters.kernel_hits -= 1
        start = time.perf_counter()
        built = self._pool.queue.build(kernel)
        counters.compile_seconds += time.perf_counter() - start
        return built

    def load(self, program: Program) -> DeviceExecutable:
        kernels = program.all_kernels
        return DeviceExecutable(program, dict(zip(kernels, self.compile(kernels), strict=True)), self._pool)


class DeviceExecutable:
    """One program. `run` may be called from several threads at once: all that a run changes is its own."""

    direct = None   # no way around `run`

    def __init__(self, program: Program, kernels: Mapping[KernelSource, Any], pool: DevicePool):
        check(program)
        self.program, self.pool = program, pool
        self._layout = layout = Layout(program)
        self._code = _Code(program, kernels, pool, layout)
        self._input_bytes = [program.slots[slot].nbytes for slot in program.inputs]
        self._launches, self._peak = program.launches, program.peak_bytes
        self._output_bytes = [program.slots[slot].nbytes for slot in layout.outputs]
        self._aliases = [program.slots[slot].alias for slot in layout.outputs]
        self._reports = any(kernel.reports for kernel in program.all_kernels)
        self._fault = pool.allocate(4 * max(len(program.steps), 1))
        self._clear: list[DeviceBuffer] = []    # for faults of runs to come: all 0
        self._pid = os.getpid()

    def run(
        self, inputs: Sequence[Any], params: Sequence[int] = (), donate: Sequence[int] = (), begun: Any = None
    ) -> list[Any]:
        """See runtime.backend.Executable."""
        require_process(self._pid)
        for buffer, nbytes in zip(inputs, self._input_bytes, strict=True):
            if buffer.nbytes < nbytes:
                raise ValueError(f"an input of {nbytes} bytes is needed, not {buffer!r}")
        if len(params) < self._layout.params:
            raise ValueError(f"the program takes {self._layout.params} parameters, not {len(params)}")
        if settings.memory_limit is not None:
            self.pool.require(self._peak)
        outside = [*inputs, *self._outputs(inputs, donate)]
        arena = self.pool.allocate(self.program.arena) if self.program.arena else None
        fault = self._cleared() if self._reports else self._fault
        counters.launches += self._launches
        self._code.run(outside, arena, params, fault)
        if self._reports:
            self._raise_faults(fault)
            self._clear.append(fault)
        return [outside[position] for position in self._layout.results]

    def _outputs(self, inputs: Sequence[Any], donate: Sequence[int]) -> list[Any]:
        """Outputs where those that are aliases of donated inputs take over the buffers of these."""
        if not donate:
            return [self.pool.allocate(nbytes) for nbytes in self._output_bytes]
        donate = [k for k in donate if isinstance(inputs[k], PooledBuffer)]     # others are the user's: not written to
        given = {self.program.inputs[position]: inputs[position] for position in donate}
        for position in donate:
            if sum(other.address == inputs[position].address for other in inputs) > 1:
                raise BufferError(f"input {position} cannot be donated: it is an input twice")
        outputs = []
        for nbytes, alias in zip(self._output_bytes, self._aliases, strict=True):
            taken = given.get(alias)
            if taken is not None:
                taken._copy = None      # its values change
            outputs.append(self.pool.allocate(nbytes) if taken is None else taken)
        return outputs

    def _cleared(self) -> DeviceBuffer:
        """Where a run reports faults, which no other run does meanwhile. One that had none leaves it as it was."""
        try:
            return self._clear.pop()
        except IndexError:      # the first run, or several at once, or the last one failed
            fault = self.pool.allocate(self._fault.nbytes)
            fault.fill(np.zeros(fault.nbytes, np.uint8))
            return fault

    def _raise_faults(self, fault: DeviceBuffer) -> None:
        found = fault.view(np.int32, (fault.nbytes // 4,))
        for step in np.flatnonzero(found)[:1]:
            label = self.program.labels[step] if step < len(self.program.labels) else ""
            raise IndexFault(int(step), CHECKS - int(found[step]), label)


class _Code:
    """The steps of a program, ready to be enqueued. `step`: the number for reports, where this is a loop's body."""

    def __init__(
        self, program: Program, kernels: Mapping[KernelSource, Any], pool: DevicePool, layout: Layout,
        step: int | None = None,
    ):
        self._layout = layout
        self._steps: list[Callable] = []
        for number, s in enumerate(program.steps):
            place = number if step is None else step
            if isinstance(s, Launch):
                kernel = kernels[program.kernels[s.kernel]]
                self._steps.append(_Run(kernel, s, place, pool).run)
            elif isinstance(s, Copy):
                self._steps.append(_Copied(s, pool).run)
            elif isinstance(s, Library):
                there = hasattr(pool.queue, "takes") and pool.queue.takes(s)
                self._steps.append((_OnDevice(s, pool.queue) if there else _OnHost(s, number)).run)
            else:
                self._steps.append(_Turns(s, place, kernels, pool).run)

    def run(self, outside: Sequence[DeviceBuffer], arena: DeviceBuffer | None, params: Sequence[int],
            fault: DeviceBuffer) -> None:
        layout = self._layout

        def at(slot: int) -> DeviceBuffer:
            return layout.buffer(slot, outside, arena)
        for step in self._steps:
            step(at, params, fault)


class _Run:
    """A launch. The words of a member are [offsets of buffers, arguments, number of the step]."""

    def __init__(self, kernel: Any, launch: Launch, step: int, pool: DevicePool):
        self._kernel, self._shared, self._queue = kernel, launch.scratch, pool.queue
        self._members = [(m, np.array([*[0] * len(m.slots), *m.args, step], np.int64)) for m in launch.members
                         if m.chunks]

    def run(self, at: Callable[[int], DeviceBuffer], params: Sequence[int], fault: DeviceBuffer) -> None:
        work = []
        for member, words in self._members:
            words = words.copy()
            for word, number in member.params:
                words[len(member.slots) + word] = params[number]
            work.append(Work(member.chunks, [at(slot) for slot in member.slots], words))
        if work:
            self._queue.launch(self._kernel, work, self._shared, fault)


class _Copied:
    def __init__(self, step: Copy, pool: DevicePool):
        self._step, self._queue = step, pool.queue

    def run(self, at: Callable[[int], DeviceBuffer], params: Sequence[int], fault: DeviceBuffer) -> None:
        source, target, nbytes = at(self._step.source), at(self._step.target), self._step.nbytes
        if nbytes and source.address != target.address:
            self._queue.copy(source.handle, source.offset, target.handle, target.offset, nbytes)


class _OnDevice:
    """A library routine that the queue has a library of its own for."""

    def __init__(self, step: Library, queue: Any):
        self._step, self._queue = step, queue

    def run(self, at: Callable[[int], DeviceBuffer], params: Sequence[int], fault: DeviceBuffer) -> None:
        self._queue.call(self._step, at)


class _OnHost:
    """A library routine, which runs on the host: its operands are copied there, its results back."""

    def __init__(self, step: Library, number: int):
        self._segment = LibrarySegment(step, number)

    def run(self, at: Callable[[int], DeviceBuffer], params: Sequence[int], fault: DeviceBuffer) -> None:
        segment = self._segment
        inputs = tuple(at(operand.slot).view(dtype, operand.shape) for operand, dtype in segment.inputs)
        outputs = tuple(np.empty(operand.shape, dtype) for operand, dtype in segment.outputs)
        segment.routine(inputs, outputs)
        for (operand, _), array in zip(segment.outputs, outputs, strict=True):
            at(operand.slot).fill(array)


class _Turns:
    """A loop or branch, whose turns the host counts."""

    def __init__(self, step: Loop | Branch, number: int, kernels: Mapping[KernelSource, Any], pool: DevicePool):
        codes = [_Code(inside, kernels, pool, Layout(inside), number) for inside in bodies(step)]
        self._segment = ControlSegment(step, number, codes, pool.allocate, pool.copy)

    def run(self, at: Callable[[int], DeviceBuffer], params: Sequence[int], fault: DeviceBuffer) -> None:
        self._segment.run_at(at, params, fault)
