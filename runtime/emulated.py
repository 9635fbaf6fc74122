"""Backends for tests: the kernels of CUDA and HIP on the CPU, run by runtime/emulator in three orders of their threads.

They have to be named; `auto` never chooses them. Fresh memory is full of NaN: what a kernel fails to write shows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from graphc.errors import NoCompilerError
from graphc.ir.program import KernelSource, Program
from graphc.runtime import emulator
from graphc.runtime.counters import counters
from graphc.runtime.device import DeviceBuffer, DeviceExecutable, DevicePool
from graphc.runtime.emulator import EmulatedKernel, Emulator, Memory

GROUP = 256  # threads of a block, as the dialects have them


class CudaEmulated:
    """CUDA's kernels on the CPU."""

    name = "cuda-emulated"
    dialect = "cuda"
    rank = None
    kind = "gpu"
    hip, wavefront = False, 32
    sanitize = False  # under AddressSanitizer

    @cached_property
    def _emulator(self) -> Emulator:
        return Emulator(self.hip, self.wavefront, self.sanitize)

    @cached_property
    def _pool(self) -> DevicePool:
        return _SpoiledPool(_Queue())

    def is_available(self) -> str | None:
        try:
            emulator.find_compiler()
        except NoCompilerError as error:
            return f"{error.message}; {error.fix}"
        return None

    def warm_up(self) -> None:
        """Nothing: g++ needs no preparation."""

    def describe(self) -> dict[str, str]:
        return {"device": f"host, emulating warps of {self.wavefront}", "orders": ", ".join(emulator.ORDERS),
                "compiler": " ".join([*emulator.find_compiler().command, *emulator.BASE])}  # fmt: skip

    def allocate(self, nbytes: int) -> DeviceBuffer:
        return self._pool.allocate(nbytes)

    def from_numpy(self, array: np.ndarray) -> DeviceBuffer:
        buffer = self._pool.allocate(array.nbytes)
        buffer.fill(np.asarray(array, array.dtype.newbyteorder("=")))
        return buffer

    def compile(self, kernels: Sequence[KernelSource]) -> list[EmulatedKernel]:
        before = counters.kernel_misses
        found = self._emulator.compile(kernels)
        counters.kernel_hits += len(kernels) - (counters.kernel_misses - before)
        return found

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        return [self._emulator.state(kernel) for kernel in kernels]

    def load(self, program: Program) -> DeviceExecutable:
        kernels = program.all_kernels
        return DeviceExecutable(program, dict(zip(kernels, self.compile(kernels), strict=True)), self._pool)


class HipEmulated(CudaEmulated):
    """HIP's kernels on the CPU, with the wider of its wavefronts."""

    name = "hip-emulated"
    dialect = "hip"
    hip, wavefront = True, 64


class _SpoiledPool(DevicePool):
    """Memory in which nothing is left of what lay there."""

    def allocate(self, nbytes: int) -> DeviceBuffer:
        buffer = super().allocate(nbytes)
        buffer.handle[:] = 0xFF
        return buffer


class _PointerTo(ctypes.c_void_p):
    """The address of something, which it keeps."""

    def __init__(self, table: Any):
        super().__init__(ctypes.addressof(table))
        self.table = table


class _Queue:
    """The host as a device whose work is done at once; see runtime.device.Queue. A handle is an array of bytes."""

    def allocate(self, nbytes: int) -> np.ndarray:
        return np.empty(nbytes, np.uint8)

    def write(self, handle: np.ndarray, offset: int, array: np.ndarray) -> None:
        handle[offset : offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)

    def read(self, handle: np.ndarray, offset: int, array: np.ndarray) -> None:
        array.reshape(-1).view(np.uint8)[:] = handle[offset : offset + array.nbytes]

    def copy(self, source: Any, source_offset: int, target: Any, target_offset: int, nbytes: int) -> None:
        target[target_offset : target_offset + nbytes] = source[source_offset : source_offset + nbytes].copy()

    def launch(
        self, kernel: EmulatedKernel, groups: int, shared: int, buffers: Sequence[DeviceBuffer], words: np.ndarray,
        fault: DeviceBuffer,
    ) -> None:  # fmt: skip
        memory = [Memory(b.handle.ctypes.data + b.offset, b.nbytes) for b in (*buffers, fault)]
        words[: len(buffers)] = 0  # the addresses are those of the buffers' own bytes

        def arguments(places: Sequence[int]) -> list[Any]:
            *own, last = places
            table = (ctypes.c_longlong * (len(places) + len(words)))(*own, *words.tolist(), last)
            return [_PointerTo(table)]
        kernel.launch((groups, 1, 1), (GROUP, 1, 1), memory, arguments, shared)
