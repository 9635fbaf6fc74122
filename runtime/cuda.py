"""The backends of NVIDIA's and AMD's GPUs, both through CuPy: its memory pool and streams, its compilers and libraries.

A launch passes one pointer to a table in device memory: the addresses of the buffers, the words of the kernel, and the
address of the faults. The tables of a program lie in one piece, so that a run is one small upload and launches whose
arguments never change. From the third run on these are a CUDA graph, which reads what was uploaded last, and so is
never stale.

HIP is the same where CuPy was built for ROCm, with the device's wavefront as a macro and without graphs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from graphc.errors import CompileError
from graphc.ir.program import Copy, KernelSource, Launch, Library, Program
from graphc.ir.routines import TABLE
from graphc.runtime import cache
from graphc.runtime.buffers import size_class
from graphc.runtime.compiler import first_error
from graphc.runtime.counters import counters
from graphc.runtime.device import (
    DeviceBackend, DeviceBuffer, DeviceExecutable, DevicePool, PooledBuffer, Work, require_process, table_of,
)
from graphc.runtime.image import Layout

GROUP = 256  # threads of a block, as the dialects have them
ROOM = 40 << 10  # bytes of shared memory at launch that every kernel may have beside 8 KB of its own
DIRECT = 2  # runs of a program before its launches become a graph
STORE = cache.Store("cubins")
COPY = KernelSource("gc_copy", """extern "C" __global__ __launch_bounds__(256) void gc_copy(const long long *table)
{
    const char *source = (const char *)table[0];
    char *target = (char *)table[1];
    const long long size = table[2], first = blockIdx.x * 256ll + threadIdx.x, step = gridDim.x * 256ll;
    const long long words = (table[0] | table[1]) % 16 ? 0 : size / 16;
    for (long long k = first; k < words; k += step) ((uint4 *)target)[k] = ((const uint4 *)source)[k];
    for (long long k = words * 16 + first; k < size; k += step) target[k] = source[k];
}
""")
COPY_BLOCKS = 1024  # of a large copy
HOPPER = "cuda-hopper"
STAGES = 16  # uploads that may be on their way
KEPT_TABLES = 16  # of a program, for buffers in as many places
HIP_UNITS = {r"gfx(908|90a|94.|950)": "hip-cdna", r"gfx11..": "hip-rdna3", r"gfx120.": "hip-rdna4"}
ON_HOST = ("eig", "eigvals")  # routines that only the newest libraries of CUDA have, and those of ROCm not


class CudaBackend(DeviceBackend):
    """Kernels on the current CUDA device of CuPy."""

    name = "cuda"
    kind = "gpu"
    best = 10  # where it stands in `auto` on a machine that has such a device
    hip = False
    install = "pip install 'graphc[cuda13]', or 'graphc[cuda12]' for an older driver"
    devices = ("nvidia0", "nvidiactl", "dxg")  # any of these in /dev: there may be a GPU
    dlpack = 2  # DLPack's number of such devices

    @property
    def rank(self) -> int | None:
        """CuPy takes a second to import: only where the system shows such a GPU."""
        seen = os.name != "posix" or any(Path("/dev", name).exists() for name in self.devices)
        return self.best if seen and self.is_available() is None else None

    # ----------------------------------------------------------------------------------------------------- the device

    def is_available(self) -> str | None:
        if importlib.util.find_spec("cupy") is None:
            return f"CuPy is not installed; {self.install}"
        try:
            import cupy
        except ImportError as error:
            return f"CuPy cannot be imported ({str(error).strip().splitlines()[0]}); {self.install}"
        if cupy.cuda.runtime.is_hip != self.hip:
            return f"the CuPy that is installed is for {'CUDA' if self.hip else 'ROCm'}; {self.install}"
        if not cupy.cuda.is_available():
            return "CuPy finds no GPU: there is none, or its driver is missing or older than CuPy's libraries"
        return None

    @cached_property
    def dialect(self) -> str:
        """"hopper" is for devices of 9.0 alone, "plain" for those whose matrix unit, if they have one, is another."""
        if self.is_available() is not None:
            return "cuda"
        architecture = self._queue.architecture
        return HOPPER if architecture == "90" else "cuda" if int(architecture) >= 80 else "cuda-plain"

    @cached_property
    def _queue(self) -> CupyQueue:
        return CupyQueue(self.hip)

    @cached_property
    def _pool(self) -> CupyPool:
        return CupyPool(self._queue)

    def describe(self) -> dict[str, str]:
        queue, cupy = self._queue, self._queue.cupy
        facts = queue.facts
        return {
            "device": facts["name"].decode(),
            "architecture": queue.architecture,
            "multiprocessors": str(facts["multiProcessorCount"]),
            "memory": f"{facts['totalGlobalMem']:,} bytes, {facts['sharedMemPerBlock']:,} shared by a block",
            "warp": str(facts["warpSize"]),
            "cupy": cupy.__version__,
            "compiler": f"{'hiprtc' if self.hip else 'NVRTC'} {'.'.join(map(str, cupy.cuda.nvrtc.getVersion()))}",
            "options": " ".join(queue.options),
            "cache": str(cache.cache_folder() or "none"),
        }

    def from_array(self, array: Any, copy: bool) -> tuple[DeviceBuffer, np.dtype, tuple[int, ...]]:
        """The memory of an array of CuPy, or of anything with DLPack; shared where it lies on this device, its layout
        permits, and no copy is asked for."""
        queue = self._queue
        with queue.here(), queue.stream:
            cupy = queue.cupy
            own = array if isinstance(array, cupy.ndarray) else cupy.from_dlpack(array)
            copy = copy or own.device.id != queue.device
            own = own.copy(order="C") if copy else cupy.ascontiguousarray(own)
        return DeviceBuffer(self._pool, own.data, 0, own.nbytes, own), np.dtype(own.dtype), own.shape

    def lend(self, buffer: DeviceBuffer, dtype: np.dtype, shape: tuple[int, ...], copy: bool, **options: Any) -> Any:
        """A DLPack capsule on a buffer's memory, which it keeps alive, or on a copy. options: stream, max_version."""
        with self._queue.here(), self._queue.stream:  # whoever takes it waits for this one
            array = self._queue.array(buffer, dtype, shape)
            return (array.copy() if copy else array).__dlpack__(**options)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return self.dlpack, self._queue.device

    # ------------------------------------------------------------------------------------------------------ compiling

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        states = []
        for kernel in kernels:
            path = STORE.path(self._queue.key(kernel))
            on_disk = path is not None and path.exists()
            states.append("in memory" if kernel in self._kernels else "on disk" if on_disk else "not compiled")
        return states

    def _open(self, kernel: KernelSource) -> Any:
        key = self._queue.key(kernel)
        code = STORE.load(key)
        if code is None:
            code = self._build(kernel)
            STORE.store(key, code)
        return self._queue.open(kernel, code)

    def load(self, program: Program) -> DeviceExecutable:
        kernels = program.all_kernels
        handles = dict(zip(kernels, self.compile(kernels), strict=True))
        [copy] = self.compile([COPY])
        counters.kernel_hits -= 1  # nobody's program asked for it
        return CudaExecutable(program, handles, self._pool, copy)


class HipBackend(CudaBackend):
    """Kernels on the current device of CuPy on ROCm."""

    name = "hip"
    best = 20
    hip = True
    install = "pip install 'graphc[rocm]' beside ROCm"
    devices = ("kfd",)
    dlpack = 10

    @cached_property
    def dialect(self) -> str:
        """With the matrix unit of the device, if one is known that it has."""
        return "hip" if self.is_available() is not None else dialect_of(self._queue.architecture)


class _RefusedError(Exception):
    """The compiler's log."""

    def get_message(self) -> str:
        return str(self)


def dialect_of(architecture: str) -> str:
    """Of a device of HIP by its name, such as gfx90a:sramecc+:xnack-."""
    name = architecture.partition(":")[0]
    return next((dialect for names, dialect in HIP_UNITS.items() if re.fullmatch(names, name)), "hip")


class CupyQueue:
    """One device and one stream; see runtime.device.Queue. A handle is a pointer into CuPy's memory.

    The stream waits for the default one and that for it, so that CuPy's own work on shared arrays is in order too.
    """

    def __init__(self, hip: bool):
        import cupy

        self.cupy, self.hip = cupy, hip
        self.device = cupy.cuda.runtime.getDevice()
        self.facts = cupy.cuda.runtime.getDeviceProperties(self.device)
        self._current, self._current_is_right = cupy.cuda.runtime.getDevice, nullcontext()
        self.stream = cupy.cuda.Stream()
        self._memcpy = cupy.cuda.runtime.memcpyAsync
        self._to_device = cupy.cuda.runtime.memcpyHostToDevice
        # For HIP the name: 9.0 is the compute capability of several kinds whose code differs.
        self.architecture = (self.facts["gcnArchName"].decode() if hip
                             else cupy.cuda.Device(self.device).compute_capability)
        # No contraction: a multiplication and an addition become one operation only where the text says so.
        own = ("-ffp-contract=off", f"-DGC_WAVE={self.facts['warpSize']}") if hip else ("--fmad=false",)
        self.options = ("-std=c++17", *own)
        self._staging = [_Stage(cupy) for _ in range(STAGES)]
        self._uploads = 0
        self._lock = threading.RLock()
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """Whatever begins with the current device, as compiling does, says so, before the driver has its own words."""
        self._current = partial(require_process, self._pid)

    def here(self) -> AbstractContextManager:
        """With this device as the current one, which CuPy allocates on and launches on. A new thread begins with the
        first device, and a user may have gone on to another."""
        return self._current_is_right if self._current() == self.device else self.cupy.cuda.Device(self.device)

    # ------------------------------------------------------------------------------------------------------ compiling

    def key(self, kernel: KernelSource) -> str:
        facts = ("hip" if self.hip else "cuda", self.architecture, *map(str, self.cupy.cuda.nvrtc.getVersion()))
        return hashlib.blake2b("\0".join([*facts, *self.options, kernel.text]).encode(), digest_size=20).hexdigest()

    def build(self, kernel: KernelSource) -> bytes:
        """Machine code for this device. Raises CompileError."""
        compiler = self.cupy.cuda.compiler
        try:
            with self.here():
                if self.architecture == "90":
                    return self._build_for_this_alone(kernel)
                code, _ = compiler.compile_using_nvrtc(kernel.text, self.options, None, f"{kernel.entry}.cu")
        except (compiler.CompileException, _RefusedError) as error:
            source = cache.keep_source(f"{self.key(kernel)}.cu", kernel.text)
            raise CompileError(f"{'hiprtc' if self.hip else 'NVRTC'} refuses the kernel {kernel.entry}: "
                               f"{first_error(error.get_message())}",
                               fix=f"the source lies in {source}") from None
        return code

    def _build_for_this_alone(self, kernel: KernelSource) -> bytes:
        """With the instructions of sm_90a, which no other device has, and which CuPy does not ask for."""
        nvrtc = self.cupy.cuda.nvrtc
        program = nvrtc.createProgram(kernel.text, f"{kernel.entry}.cu", (), ())
        try:
            nvrtc.compileProgram(program, (*self.options, "-arch=sm_90a"))
            return nvrtc.getCUBIN(program)
        except nvrtc.NVRTCError:
            raise _RefusedError(nvrtc.getProgramLog(program)) from None
        finally:
            nvrtc.destroyProgram(program)

    def open(self, kernel: KernelSource, code: bytes) -> Any:
        path = cache.private_folder() / f"{cache.next_number()}.cubin"  # CuPy knows a module by its path
        path.write_bytes(code)
        with self.here():
            return self.cupy.RawModule(path=str(path)).get_function(kernel.entry)

    # -------------------------------------------------------------------------------------------------- runtime.device

    def allocate(self, nbytes: int) -> Any:
        try:
            with self.here(), self.stream:  # memory of CuPy's pool belongs to the stream that asked for it
                return self.cupy.cuda.alloc(nbytes)
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryError(str(error)) from None

    def write(self, handle: Any, offset: int, array: np.ndarray) -> None:
        self._copy(handle.ptr + offset, array.ctypes.data, array.nbytes, self._to_device)
        self.stream.synchronize()

    def read(self, handle: Any, offset: int, array: np.ndarray) -> None:
        self._copy(array.ctypes.data, handle.ptr + offset, array.nbytes, self.cupy.cuda.runtime.memcpyDeviceToHost)
        self.stream.synchronize()

    def copy(self, source: Any, source_offset: int, target: Any, target_offset: int, nbytes: int) -> None:
        self._copy(target.ptr + target_offset, source.ptr + source_offset, nbytes,
                   self.cupy.cuda.runtime.memcpyDeviceToDevice)

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        require_process(self._pid)
        self._memcpy(target, source, nbytes, kind, self.stream.ptr)

    def launch(self, kernel: Any, members: Sequence[Work], shared: int, fault: DeviceBuffer) -> None:
        """With a table of its own, which goes back to the pool when all is enqueued: the stream keeps the order."""
        self.make_room(kernel, shared)
        parts = []
        for groups, buffers, words in members:
            words[: len(buffers)] = 0
            parts.append((groups, [b.handle.ptr + b.offset for b in buffers], words.tolist()))
        table = np.array(table_of(parts, fault.handle.ptr + fault.offset), np.int64)
        memory = self.allocate(table.nbytes)
        with self.here():
            self.upload(memory.ptr, table)
            self.start(kernel, sum(work.groups for work in members), shared, memory.ptr)

    def make_room(self, kernel: Any, shared: int) -> None:
        """Let a kernel have more shared memory than the device gives unasked."""
        if shared > ROOM and not self.hip:
            kernel.max_dynamic_shared_size_bytes = shared

    def upload(self, address: int, words: np.ndarray) -> None:
        """A few words to the device, through memory of the driver's: they may be changed when this returns."""
        with self._lock:
            place = self._staging[self._uploads % STAGES]
            self._uploads += 1
            self._memcpy(address, place.take(words), words.nbytes, self._to_device, self.stream.ptr)
            place.event.record(self.stream)

    def start(self, kernel: Any, groups: int, shared: int, table: int, stream: Any = None) -> None:
        kernel((groups,), (GROUP,), (np.uint64(table),), shared_mem=shared, stream=stream or self.stream)

    def array(self, buffer: DeviceBuffer, dtype: np.dtype, shape: Sequence[int]) -> Any:
        cupy = self.cupy
        memory = cupy.cuda.UnownedMemory(buffer.handle.ptr + buffer.offset, buffer.nbytes, buffer, self.device)
        return cupy.ndarray(tuple(shape), dtype, cupy.cuda.MemoryPointer(memory, 0))

    # ------------------------------------------------------------------------------------------------ library routines

    def takes(self, step: Library) -> bool:
        """Whether CuPy has the routine for these operands; bfloat16 is none of its types."""
        narrow = any(operand.dtype == "bfloat16" for operand in (*step.inputs, *step.outputs))
        return step.call not in ON_HOST and not narrow

    def call(self, step: Library, at: Callable[[int], DeviceBuffer]) -> None:
        """NumPy's functions hand arrays of CuPy on to CuPy: the routine is the one of the table."""
        from cupyx import errstate

        arguments = dict(step.attrs).get("arguments", ())
        with self.here(), self.stream, errstate(linalg="raise"):
            arrays = [self.array(at(x.slot), np.dtype(x.dtype), x.shape) for x in step.inputs]
            outputs = [self.array(at(x.slot), np.dtype(x.dtype), x.shape) for x in step.outputs]
            TABLE[step.call].run(arguments, tuple(arrays), tuple(outputs))


class _Stage:
    """Pinned memory of the host for an upload, and the event after which it can be used again."""

    def __init__(self, cupy: Any):
        self.cupy = cupy
        self.event = cupy.cuda.Event(disable_timing=True)
        self._pinned: Any = None
        self._words = np.empty(0, np.int64)
        self._address = 0

    def take(self, words: np.ndarray) -> int:
        """A copy of the words; its address."""
        if self._pinned is not None:
            self.event.synchronize()  # as a rule that is long past
        if len(self._words) < len(words):
            size = size_class(words.nbytes)
            self._pinned = self.cupy.cuda.alloc_pinned_memory(size)
            self._words = np.frombuffer(self._pinned, np.int64, size // 8)
            self._address = self._pinned.ptr
        self._words[: len(words)] = words
        return self._address


class CupyPool(DevicePool):
    """Memory of CuPy's pool, to which it goes back at once, so that both share what there is."""

    def allocate(self, nbytes: int) -> PooledBuffer:
        try:
            memory = self.queue.allocate(nbytes)
        except MemoryError:
            memory = self._fresh(nbytes)
        buffer = PooledBuffer(self, memory, 0, nbytes, None)
        used = self.in_use = self.in_use + nbytes
        if used > self.high_water:
            self.high_water = used
        return buffer

    def give_back(self, block: None) -> None:
        """The last reference to the memory goes with the buffer."""


class CudaExecutable(DeviceExecutable):
    """A program of launches and copies is one table and, after some runs, one graph; others go step by step."""

    def __init__(self, program: Program, kernels: Mapping[KernelSource, Any], pool: DevicePool, copy: Any):
        super().__init__(program, kernels, pool)
        if all(isinstance(step, (Launch, Copy)) for step in program.steps):
            self._code = _Tables(program, kernels, pool, self._layout, copy)


class _Tables:
    """All launches of a program, whose tables lie one after the other: runtime.device.table_of."""

    def __init__(
        self, program: Program, kernels: Mapping[KernelSource, Any], pool: DevicePool, layout: Layout, copy: Any
    ):
        self._queue: Any = pool.queue
        self._lock = threading.RLock()  # from the upload to the last launch: tables of two runs must not mix
        self._uploaded: np.ndarray | None = None  # the words of a run that has not launched everything yet
        self._graph: Any = None
        self._runs = 0
        self._words: list[int] = []
        self._places: list[tuple[int, int, int]] = []  # word, number of the buffer, offset in it
        self._scalars: list[tuple[int, int]] = []  # word, parameter
        self._launches: list[tuple[Any, int, int, int]] = []  # kernel, groups, shared memory, first word
        self._layout, self._outside = layout, layout.outside
        for number, step in enumerate(program.steps):
            if isinstance(step, Copy):
                if step.nbytes:
                    blocks = min(-(-step.nbytes // (16 * GROUP)), COPY_BLOCKS)
                    self._add_copy(copy, blocks, step)
            elif isinstance(step, Launch):
                self._add(kernels[program.kernels[step.kernel]], step, number)
        self._host = np.array(self._words, np.int64)
        self._table = pool.queue.allocate(max(self._host.nbytes, 8))
        self._patch = np.array(self._places, np.int64).reshape(-1, 3).T
        self._tables: dict[tuple[int, ...], np.ndarray] = {}    # addresses of the buffers -> the words that have them

    def _add(self, kernel: Any, launch: Launch, step: int) -> None:
        """A launch; step: its number for faults."""
        members = [m for m in launch.members if m.chunks]
        if not members:
            return
        first = len(self._words)
        self._queue.make_room(kernel, launch.scratch)
        self._launches.append((kernel, sum(m.chunks for m in members), launch.scratch, first))
        parts = [(m.chunks, [0] * len(m.slots), [*[0] * len(m.slots), *m.args, step]) for m in members]
        self._words += table_of(parts, 0)
        at = first + len(members)
        for m in members:
            words = at + 2 * len(m.slots)
            for k, slot in enumerate(m.slots):
                self._place(at + k, slot)
            self._scalars += [(words + word, number) for word, number in m.params]
            at = words + len(m.args) + 2
            self._places.append((at - 1, self._outside + 1, 0))

    def _add_copy(self, kernel: Any, blocks: int, step: Copy) -> None:
        first = len(self._words)
        self._launches.append((kernel, blocks, 0, first))
        self._place(first, step.source)
        self._place(first + 1, step.target)
        self._words += [0, 0, step.nbytes]

    def _place(self, word: int, slot: int) -> None:
        """A word that is the address of a slot."""
        outside, offset = self._layout.place(slot)
        self._places.append((word, self._outside if outside is None else outside, offset))

    def run(
        self, outside: Sequence[DeviceBuffer], arena: DeviceBuffer | None, params: Sequence[int], fault: DeviceBuffer
    ) -> None:
        if not self._launches:
            return
        own = tuple([b.handle.ptr + b.offset for b in (*outside, arena or fault, fault)])
        queue = self._queue
        with self._lock, queue.here():
            interrupted = self._uploaded    # a run of this thread, which a signal handler came into
            words = self._tables.get(own) if interrupted is None else None
            if words is None:
                words = self._table_of(own)
            for word, number in self._scalars:
                words[word] = params[number]
            self._uploaded = words
            try:
                self._launch(words)
            finally:
                self._uploaded = interrupted
                if interrupted is not None:
                    queue.upload(self._table.ptr, interrupted)

    def _launch(self, words: np.ndarray) -> None:
        queue = self._queue
        queue.upload(self._table.ptr, words)
        if self._graph is not None:
            self._graph.launch(queue.stream)
            return
        self._start()
        self._runs += 1
        if self._runs == DIRECT and len(self._launches) > 1 and not queue.hip:
            self._capture()

    def _table_of(self, own: tuple[int, ...]) -> np.ndarray:
        """The words of all tables for buffers at these addresses. A loop's buffers alternate between few places."""
        at, which, offsets = self._patch
        words = self._host.copy()
        words[at] = np.array(own, np.int64).take(which) + offsets
        if len(self._tables) >= KEPT_TABLES:
            self._tables.clear()
        self._tables[own] = words
        return words

    def _start(self, stream: Any = None) -> None:
        for kernel, groups, shared, first in self._launches:
            self._queue.start(kernel, groups, shared, self._table.ptr + 8 * first, stream)

    def _capture(self) -> None:
        """The launches as a graph. What is captured does not run, so it has a stream of its own: nothing that another
        thread enqueues meanwhile may be taken up into the graph, nor wait for it."""
        stream = self._queue.cupy.cuda.Stream(non_blocking=True)
        stream.begin_capture()
        try:
            self._start(stream)
        except BaseException:
            stream.end_capture()
            raise
        self._graph = stream.end_capture()
