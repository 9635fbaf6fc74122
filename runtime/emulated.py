"""Backends for tests: the kernels of CUDA and HIP on the CPU, run by runtime/emulator in three orders of their threads.

They have to be named; `auto` never chooses them, and so this module leaves the emulator's imports to its functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from graphc.errors import NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime.counters import counters
from graphc.runtime.device import DeviceBackend, DevicePool

if TYPE_CHECKING:
    from graphc.runtime.emulator import EmulatedKernel, Emulator


class CudaEmulated(DeviceBackend):
    """CUDA's kernels on the CPU."""

    name = "cuda-emulated"
    dialect = "cuda"
    rank = None
    kind = "gpu"
    hip, wavefront = False, 32
    sanitize = False  # under AddressSanitizer

    @cached_property
    def _emulator(self) -> Emulator:
        from graphc.runtime.emulator import Emulator

        return Emulator(self.hip, self.wavefront, self.sanitize)

    @cached_property
    def _pool(self) -> DevicePool:
        from graphc.runtime.emulator.queue import HostQueue, SpoiledPool

        return SpoiledPool(HostQueue())

    def is_available(self) -> str | None:
        from graphc.runtime import emulator

        try:
            emulator.find_compiler()
        except NoCompilerError as error:
            return f"{error.message}; {error.fix}"
        return None

    def describe(self) -> dict[str, str]:
        from graphc.runtime import emulator

        return {"device": f"host, emulating warps of {self.wavefront}", "orders": ", ".join(emulator.ORDERS),
                "compiler": " ".join([*emulator.find_compiler().command, *emulator.BASE])}

    def compile(self, kernels: Sequence[KernelSource]) -> list[EmulatedKernel]:
        before = counters.kernel_misses
        found = self._emulator.compile(kernels)
        counters.kernel_hits += len(kernels) - (counters.kernel_misses - before)
        return found

    def cached(self, kernels: Sequence[KernelSource]) -> list[str]:
        return [self._emulator.state(kernel) for kernel in kernels]


class HipEmulated(CudaEmulated):
    """HIP's kernels on the CPU, with the wider of its wavefronts and the matrix unit that goes with it."""

    name = "hip-emulated"
    dialect = "hip-cdna"
    hip, wavefront = True, 64
