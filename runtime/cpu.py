"""The CPU backend: kernels in C, compiled by the machine's compiler, run by the native library on a pool of threads."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphc.config import settings
from graphc.errors import BackendError, CompileError, GraphcError
from graphc.ir.program import KernelSource, Program
from graphc.ir.target import instruction_sets
from graphc.runtime import buffers, cache, compiler, native
from graphc.runtime.compiler import Job
from graphc.runtime.counters import counters
from graphc.runtime.executable import CpuExecutable, check

if TYPE_CHECKING:
    from graphc.runtime.build import Started

STORE = cache.Store("kernels")
TILES = {"amx_tile", "amx_bf16", "amx_int8"}  # a matrix unit, by Linux's names
UNITS = {
    "c-amx": "AMX, for bfloat16, int8 and uint8",
    "c-pairs": "AVX512-BF16 and VNNI, for bfloat16, int8 and uint8",
    "c-bytes": "VNNI or AVX2, for int8 and uint8",
    "c": "none",
}
PAIRS = {"avx512_bf16", "avx512_vnni"}  # products of two bfloat16, and of four bytes, that are added up at once
BYTES = {"avx512_vnni", "avx2"}  # products of bytes, or of 16 bits, that are added up at once
ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18  # <asm/prctl.h>


def has_matrix_unit() -> bool:
    """Whether the processor multiplies tiles and the system lets this process: it has to be asked for their registers,
    once, for all threads and for children."""
    if not TILES <= instruction_sets():
        return False
    import ctypes

    return ctypes.CDLL(None).syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) == 0


def _dialect() -> str:
    """With the unit that the processor has."""
    if has_matrix_unit():
        return "c-amx"
    return "c-pairs" if PAIRS <= instruction_sets() else "c-bytes" if BYTES & instruction_sets() else "c"


class CpuBackend:
    """C kernels on the host's SIMD units."""

    name = "cpu"
    rank = 50
    kind = "cpu"

    def __init__(self) -> None:
        self.dialect = _dialect()
        self._lock = threading.RLock()
        self._native: native.Native | None = None
        self._early: list[Started] = []  # the native library and kernels, on their way
        self._foreseen: list[KernelSource] = []  # kernels that the next batch is to bring along
        self._handles: dict[KernelSource, int] = {}
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # it may be held by a thread that the child does not have
        self._early, self._foreseen = [], []  # the processes are children of the parent

    # ------------------------------------------------------------------------------------------------------- the host

    def warm_up(self, kernels: Sequence[KernelSource] = ()) -> None:
        """Start to build the native library if no cache has it, and as many of the kernels as there are CPUs; the
        passes run beside that. The next batch brings all of them."""
        with self._lock:
            self._foreseen += [kernel for kernel in kernels if kernel not in self._handles]
            try:
                cc = compiler.find_compiler()
                if self._native is None and not self._early:
                    self._early = _start([_native_job(cc)], cc, [])
                self._early += _start([compiler.kernel_job(cc, kernel) for kernel in kernels], cc, self._early)
            except (GraphcError, OSError):
                return  # the compiler or a folder is gone: the first compile meets that again, and raises it

    def is_available(self) -> str | None:
        try:
            compiler.find_compiler()
        except BackendError as error:
            return f"{error.message}; {error.fix}"
        return None

    def describe(self) -> dict[str, str]:
        found = compiler.find_compiler()
        return {
            "device": "host",
            "threads": str(settings.num_threads),
            "matrix unit": UNITS[self.dialect],
            "compiler": " ".join(found.command),
            "version": found.identity.splitlines()[0],
            "flags": " ".join([*found.flags, *found.libraries]),
            "cache": str(cache.cache_folder() or "none"),
        }

    def allocate(self, nbytes: int) -> buffers.Buffer:
        return buffers.pool.allocate(nbytes)

    def from_numpy(self, array: np.ndarray) -> buffers.Buffer:
        return buffers.from_numpy(array)

    # ------------------------------------------------------------------------------------------------------ compiling

    def compile(self, kernels: Sequence[KernelSource]) -> list[int]:
        """Addresses of the kernels' entry points, in the order of `kernels`."""
        handles = self._handles
        missing = [kernel for kernel in dict.fromkeys(kernels) if kernel not in handles]
        if missing:
            with self._lock:
                foreseen, self._foreseen = self._foreseen, []
                missing = [kernel for kernel in dict.fromkeys([*missing, *foreseen]) if kernel not in handles]
                found = self._batch(missing)
                library = self._native
                assert library is not None, "it was loaded before, or with this batch"
                handles |= {kernel: found.open(kernel, library) for kernel in missing}
                counters.compiles += found.misses
                counters.kernel_misses += found.misses
                counters.kernel_hits -= found.misses
        counters.kernel_hits += len(kernels)
        return [handles[kernel] for kernel in kernels]

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        """Where each kernel is found: "in memory", "on disk" or "not compiled"."""
        cc = compiler.find_compiler()
        states = []
        for kernel in kernels:
            path = STORE.path(cc.key(kernel.entry, kernel.text))
            on_disk = path is not None and path.exists()
            states.append("in memory" if kernel in self._handles else "on disk" if on_disk else "not compiled")
        return states

    def load(self, program: Program) -> CpuExecutable:
        check(program)
        kernels = program.all_kernels
        handles = dict(zip(kernels, self.compile(kernels), strict=True))
        return CpuExecutable(program, handles, self.library())

    def library(self) -> native.Native:
        """The native library. It comes with the first kernels; a program without any is run by it as well."""
        if self._native is None:
            with self._lock:
                self._batch([])
        assert self._native is not None
        return self._native

    def _batch(self, kernels: Sequence[KernelSource]) -> _Batch:
        """The kernels' files, and with the first of all the native library."""
        early, self._early = self._early, []
        found = _Batch(compiler.find_compiler(), kernels, with_native=self._native is None, early=early)
        self._native = self._native or found.native
        return found


class _Batch:
    """Files of the kernels of one request, and of the native library if it is still to be loaded: from the cache, or
    compiled together."""

    def __init__(
        self, cc: compiler.Compiler, kernels: Sequence[KernelSource], with_native: bool, early: list[Started]
    ):
        self.cc = cc
        own = _native_job(cc) if with_native else None
        keys = {kernel: cc.key(kernel.entry, kernel.text) for kernel in kernels}
        wanted = [*keys.values(), *([own.key] if own else [])]
        files = {key: path for key in wanted if (path := _sound(key)) is not None}
        unbuilt = [compiler.kernel_job(cc, kernel) for kernel, key in keys.items() if key not in files]
        self.misses = len(unbuilt)
        if own is not None and own.key not in files:
            unbuilt.append(own)
        if unbuilt:
            files |= _build(cc, unbuilt, early)
        self.files = {kernel: files[key] for kernel, key in keys.items()}
        self.native = self._load_native(own, files[own.key]) if own else None

    def open(self, kernel: KernelSource, library: native.Native) -> int:
        """The entry point. A sound file that does not load was built on another system: it is compiled here."""
        try:
            return library.open(self.files[kernel], kernel.entry, cache.spare_path)
        except OSError:
            job = compiler.kernel_job(self.cc, kernel)
            path = _build(self.cc, [job])[job.key]
            self.misses += 1
        try:
            return library.open(path, kernel.entry, cache.spare_path)
        except OSError as error:
            STORE.remove(job.key)
            source = cache.keep_source(f"{job.key}.c", kernel.text)
            raise CompileError(f"the kernel {kernel.entry} does not load: {error}",
                               fix=f"the source lies in {source}") from None

    def _load_native(self, own: Job, path: Path) -> native.Native:
        try:
            return native.load(path)
        except OSError:
            path = _build(self.cc, [own])[own.key]
        try:
            return native.load(path)
        except OSError as error:
            cache.Store(own.kind).remove(own.key)
            raise CompileError(f"what {' '.join(self.cc.command)} builds does not load: {error}",
                               fix="name another by GRAPHC_CC, whose libraries this process can load") from None


def _native_job(cc: compiler.Compiler) -> Job:
    # The key says all of the text; what is compiled includes the files, so that messages name them.
    key = cc.key("native", native.source(), compiler.NATIVE_FLAGS)
    return Job(key, '#include "native.c"\n', compiler.NATIVE_FLAGS, ("-ldl",), native.FOLDER)


def _start(jobs: Sequence[Job], cc: compiler.Compiler, running: Sequence[Started]) -> list[Started]:
    """Begin with what the cache lacks and what needs no parts, beside what is running."""
    wanted = [job for job in jobs if not job.parts and _sound(job.key) is None]
    if not wanted:
        return []
    from graphc.runtime.build import start, width

    begun = [start(cc, job) for job in wanted[: max(0, width() - len(running))]]
    for started in begun:
        atexit.register(started.stop)
    return begun


def _sound(key: str) -> Path | None:
    """The file of the cache if its checksum is right."""
    return STORE.path(key) if STORE.load(key) is not None else None


def _build(cc: compiler.Compiler, jobs: Sequence[Job], early: Sequence[Started] = ()) -> dict[str, Path]:
    """Compile into files of this process and copy them into the cache. What is loaded is the file of this process: no
    other can remove or replace it meanwhile."""
    from graphc.runtime.build import build

    parts = {part: path for job in jobs for part in job.parts if (path := _object(part)) is not None}
    paths = build(cc, jobs, [started for started in early if started.job in jobs and not started.failed()], parts)
    for job, path in paths.items():
        cache.Store(job.kind).store(job.key, path.read_bytes())
    return {job.key: path for job, path in paths.items()}


def _object(part: Job) -> Path | None:
    """A copy of the object in the cache, if that has it."""
    data = cache.Store(part.kind).load(part.key)
    if data is None:
        return None
    path = cache.spare_path().with_suffix(cache.SUFFIXES[part.kind])
    path.write_bytes(data)
    return path
