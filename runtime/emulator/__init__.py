"""CUDA and HIP kernels on the CPU, for checking them: their unchanged text, compiled by g++ and run by emulate.cpp.

A launch runs three times, with the threads of a block (and the blocks) in rising, falling and random order, each time
on copies of its buffers that are exactly as large as these. What the orders leave in memory must agree bit by bit, else
a barrier is missing. Shared memory is full of NaN before each block. Threads that wait at different barriers, or end
while others wait, are found by the scheduler. A sanitized emulator also finds accesses outside of buffers.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from graphc.errors import KernelFault, NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime.cache import Store, private_folder, spare_path
from graphc.runtime.compiler import Compiler, Job
from graphc.runtime.counters import counters

FOLDER = Path(__file__).parent
SOURCES = ("fibers.h", "gpu.h", "emulate.cpp")
ORDERS = ("rising", "falling", "random")  # emulate.cpp numbers them so
DIVERGED, NO_MEMORY = 1, 2  # what its emu_run returns
BASE = ("-x", "c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing")
PLAIN = ("-nostdlib", "-fno-exceptions")     # linking with C++'s own library is a quarter of the time
LIBRARIES = ("-lm", "-lc", "-lgcc")
SANITIZED = ("-fsanitize=address", "-fsanitize-sections=emu_shared", "-fno-omit-frame-pointer", "-g")
MOST_THREADS = 1024  # of a block
GUARD = 64  # a copy begins at a multiple of this
_ALIGNED = r"(?:__align__\(\d+\)\s+|__attribute__\(\(aligned\(\d+\)\)\)\s+)?"
_EXTERN_SHARED = re.compile(rf"\bextern\s+__shared__\s+{_ALIGNED}([\w ]+?)\s*\b(\w+)\s*\[\s*\]\s*;")

Extent = tuple[int, int, int]


class _Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class _Launch(ctypes.Structure):
    _fields_ = [("grid", _Dim3), ("block", _Dim3), ("block_index", _Dim3), ("warp", ctypes.c_uint),
                ("dynamic", ctypes.c_void_p)]


class Memory(Struct, frozen=True):
    """Bytes at an address of the host that a launch may read and write."""

    address: int
    nbytes: int


@cache
def find_compiler() -> Compiler:
    """The C++ compiler: $CXX, g++ or c++. Raises NoCompilerError if there is none."""
    for name in (os.environ.get("CXX", "").strip(), "g++", "c++"):
        path = shutil.which(name) if name else None
        if path is not None:
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
            return Compiler((path,), (version.splitlines() or [path])[0], BASE, ())
    raise NoCompilerError("emulated kernels need a C++ compiler", fix="install g++, or name one in CXX")


class Emulator:
    """Runs the kernels of one language. Thread-safe: one launch at a time in a process.

    hip        the text is HIP: its shuffles have no mask
    wavefront  lanes of a warp, 32 or 64; the text of HIP knows it as GC_WAVE
    sanitize   under AddressSanitizer, whose library has to be loaded before Python
    """

    def __init__(self, hip: bool = False, wavefront: int = 32, sanitize: bool = False):
        self.wavefront = wavefront
        self._options = (f"-DEMU_WAVEFRONT={wavefront}", f"-DGC_WAVE={wavefront}", *(("-DEMU_HIP",) if hip else ()),
                         *(SANITIZED if sanitize else PLAIN))
        self._scheduler_options = SANITIZED if sanitize else ()
        self._kernels: dict[KernelSource, EmulatedKernel] = {}
        self._lock = threading.RLock()

    def compile(self, kernels: Sequence[KernelSource]) -> list[EmulatedKernel]:
        """Kernels ready to launch, built where no cache has them. Raises CompileError."""
        with self._lock:
            missing = [kernel for kernel in dict.fromkeys(kernels) if kernel not in self._kernels]
            if missing:
                _scheduler(self._scheduler_options)
                jobs = [self._job(kernel) for kernel in missing]
                for kernel, library in zip(missing, _libraries(jobs), strict=True):
                    self._kernels[kernel] = EmulatedKernel(kernel.entry, getattr(library, f"{kernel.entry}_run"), self)
            return [self._kernels[kernel] for kernel in kernels]

    def state(self, kernel: KernelSource) -> str:
        """Where a kernel is found: "in memory", "on disk" or "not compiled"."""
        if kernel in self._kernels:
            return "in memory"
        path = _STORE.path(self._job(kernel).key)
        return "on disk" if path is not None and path.exists() else "not compiled"

    def _job(self, kernel: KernelSource) -> Job:
        text = _EXTERN_SHARED.sub(r"EMU_DYNAMIC_SHARED(\1, \2);", kernel.text)
        return _job(kernel.entry, f"{text}\nEMU_ENTRY({kernel.entry})\n", (*self._options, "-include", "gpu.h"))


class EmulatedKernel(Struct, frozen=True):
    """One kernel, compiled for the host."""

    entry: str
    run: Any  # the library's NAME_run
    emulator: Emulator

    def launch(
        self, grid: Extent, block: Extent, memory: Sequence[Memory],
        arguments: Callable[[Sequence[int]], Sequence[Any]],
        dynamic: int = 0, orders: Sequence[str] = ORDERS, seed: int = 0,
    ) -> None:
        """Run in each of the orders, compare what they leave in memory, and leave it there.

        memory     what the kernel may read and write; pieces that overlap stay so
        arguments  for the addresses where the pieces lie in a run: the kernel's arguments, each a ctypes object
        dynamic    bytes of dynamic shared memory

        Raises KernelFault where threads diverge or the orders disagree.
        """
        threads = block[0] * block[1] * block[2]
        if not 1 <= threads <= MOST_THREADS:
            raise KernelFault(f"{self.entry}: a block cannot have {threads} threads")
        pieces = _Pieces(memory)
        first = None
        with _running:
            for order in orders:
                copies = pieces.copied()
                self._run(grid, block, arguments(copies.addresses), dynamic, ORDERS.index(order), seed)
                found = copies.contents()
                if first is not None and found != first:
                    raise KernelFault(f"{self.entry}: {_difference(first, found, pieces, memory)} depends on the "
                                      f"order of threads ({orders[0]} and {order})",
                                      fix="a barrier is missing, or two threads write one place")
                first = found
        if first is not None:
            pieces.put_back(first)

    def _run(self, grid: Extent, block: Extent, arguments: Sequence[Any], dynamic: int, order: int, seed: int) -> None:
        message = ctypes.create_string_buffer(1024)
        launch = _Launch(_Dim3(*grid), _Dim3(*block), _Dim3(), self.emulator.wavefront, None)
        table = (ctypes.c_void_p * max(len(arguments), 1))(*[ctypes.addressof(value) for value in arguments])
        result = self.run(table, ctypes.byref(launch), ctypes.c_long(dynamic), order, ctypes.c_ulonglong(seed + 1),
                          message, ctypes.c_long(len(message)))
        if result == NO_MEMORY:
            raise MemoryError(f"{self.entry}: no memory for the threads of a block")
        if result:
            raise KernelFault(f"{self.entry}: {message.value.decode()}",
                              fix="every thread of a block has to come to each of its barriers")


# ---------------------------------------------------------------------------------------------------------- memory

_libc = ctypes.CDLL(None)
_libc.posix_memalign.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


class _Block:
    """Memory of exactly its size, so that a sanitizer sees what lies outside."""

    def __init__(self, nbytes: int):
        pointer = ctypes.c_void_p()
        if _libc.posix_memalign(ctypes.byref(pointer), GUARD, max(nbytes, 1)):
            raise MemoryError(nbytes)
        self.address: int = pointer.value or 0

    def __del__(self) -> None:
        _libc.free(self.address)


class _Pieces:
    """The memory of a launch: pieces that overlap are one region."""

    def __init__(self, memory: Sequence[Memory]):
        self.memory = memory
        self.regions: list[Memory] = []
        for piece in sorted(set(memory), key=lambda m: (m.address, -m.nbytes)):
            last = self.regions[-1] if self.regions else None
            if last is not None and piece.address < last.address + last.nbytes:
                nbytes = max(last.nbytes, piece.address + piece.nbytes - last.address)
                self.regions[-1] = Memory(last.address, nbytes)
            else:
                self.regions.append(piece)

    def copied(self) -> _Copies:
        return _Copies(self)

    def region_of(self, piece: Memory) -> int:
        """The number of the region that holds a piece."""
        return max(k for k, region in enumerate(self.regions) if region.address <= piece.address)

    def put_back(self, contents: Sequence[bytes]) -> None:
        for region, content in zip(self.regions, contents, strict=True):
            if ctypes.string_at(region.address, region.nbytes) != content:  # what is read-only was not changed
                ctypes.memmove(region.address, content, region.nbytes)


class _Copies:
    """The regions of a launch once more, for one run."""

    def __init__(self, pieces: _Pieces):
        self.regions = pieces.regions
        self.blocks = [_Block(region.nbytes) for region in pieces.regions]
        for region, block in zip(self.regions, self.blocks, strict=True):
            ctypes.memmove(block.address, region.address, region.nbytes)
        numbers = [pieces.region_of(piece) for piece in pieces.memory]
        self.addresses = [self.blocks[k].address + piece.address - self.regions[k].address
                          for k, piece in zip(numbers, pieces.memory, strict=True)]

    def contents(self) -> list[bytes]:
        return [ctypes.string_at(block.address, region.nbytes)
                for region, block in zip(self.regions, self.blocks, strict=True)]


def _difference(first: Sequence[bytes], other: Sequence[bytes], pieces: _Pieces, memory: Sequence[Memory]) -> str:
    """The first place at which two runs differ, in words."""
    number = next(k for k, (x, y) in enumerate(zip(first, other, strict=True)) if x != y)
    x, y = first[number], other[number]
    place = next(k for k in range(len(x)) if x[k] != y[k])
    buffers = [str(k) for k, piece in enumerate(memory) if pieces.region_of(piece) == number]
    return f"byte {place} of buffer {' and '.join(buffers)}"


# -------------------------------------------------------------------------------------------------------- compiling

_running = threading.RLock()     # the scheduler has one set of fibers; a handler may come in between two runs
_STORE = Store("kernels")


@cache
def _headers() -> str:
    return "".join((FOLDER / name).read_text() for name in SOURCES)


def _job(entry: str, text: str, options: tuple[str, ...]) -> Job:
    cc = find_compiler()
    flags = (*cc.flags, *options)
    used = "\0".join([cc.identity, *flags, *LIBRARIES, _headers(), text])
    digest = hashlib.blake2b(used.encode(), digest_size=16).hexdigest()
    return Job(f"emulated-{entry[:100]}-{digest}", text, flags, LIBRARIES, FOLDER)


@cache
def _scheduler(options: tuple[str, ...]) -> ctypes.CDLL:
    """The library whose functions all kernels call. One of a process: its symbols are for all that is loaded later."""
    return _libraries([_job("scheduler", '#include "emulate.cpp"\n', options)], ctypes.RTLD_GLOBAL)[0]


def _libraries(jobs: Sequence[Job], mode: int = ctypes.RTLD_LOCAL) -> list[ctypes.CDLL]:
    """From the cache, or compiled. Each is loaded from a file of this process: no other can remove it meanwhile."""
    known = {job.key: _STORE.load(job.key) for job in jobs}
    unbuilt = [job for job in jobs if known[job.key] is None]
    paths: dict[str, Path] = {}
    if unbuilt:
        from graphc.runtime.build import build

        paths = {job.key: path for job, path in build(find_compiler(), unbuilt).items()}
        for key, path in paths.items():
            _STORE.store(key, path.read_bytes())
    private_folder()
    for key, content in known.items():
        if content is not None:
            paths[key] = spare_path()
            paths[key].write_bytes(content)
    if mode == ctypes.RTLD_LOCAL:  # kernels, not the scheduler
        counters.compiles += len(unbuilt)
        counters.kernel_misses += len(unbuilt)
    return [ctypes.CDLL(str(paths[job.key]), mode) for job in jobs]
