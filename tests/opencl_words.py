"""OpenCL's kernels on the CPU, with sub-groups, which neither PoCL's wheel nor the simulator has: their text by the
emulator of CUDA and HIP (runtime/emulator), whose words these are for those of OpenCL C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from graphc.ir.program import KernelSource
from graphc.runtime.device import DeviceBuffer, Work
from graphc.runtime.emulated import HipEmulated
from graphc.runtime.emulator import EmulatedKernel, Memory
from graphc.runtime.emulator.queue import HostQueue, SpoiledPool
from graphc.runtime.opencl import GROUPS, dialect_of

WORDS = """\
#define __kernel extern "C"
#define __global
#define __local
#define reqd_work_group_size(...)
#define overloadable
#define restrict __restrict__
#define barrier(fence) __syncthreads()
#define get_group_id(axis) blockIdx.x
#define get_local_id(axis) threadIdx.x
#define sub_group_shuffle_xor(x, n) __shfl_xor(x, n)
#define atomic_max(place, value) atomicMax(place, value)
#define cl_khr_fp64
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
static inline uint rotate(uint word, uint by) { return word << by | word >> (32 - by); }
static inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
static inline double2 operator+(double2 a, double2 b) { return {a.x + b.x, a.y + b.y}; }
#line 1
"""
OTHERWISE = {  # lines of the preamble that C++ has no words for
    "#define GC_SHARED_ARRAY(T, name, size) __local": "#define GC_SHARED_ARRAY(T, name, size) __shared__",
    "#define GC_SCRATCH_ARGUMENT , __local char *scratch": "#define GC_SCRATCH_ARGUMENT",
    "#define GC_SCRATCH_DECLARATION\n": "#define GC_SCRATCH_DECLARATION EMU_DYNAMIC_SHARED(char, scratch);\n",
    "#define GC_COMPLEX(R, re, im) ((R##2)(re, im))": "#define GC_COMPLEX(R, re, im) (R##2{re, im})",
}


class OpenClEmulated(HipEmulated):
    """OpenCL's kernels on the CPU, with sub-groups of `wavefront`, or those of a device with smaller groups."""

    name = "opencl-emulated"

    def __init__(self, group: int = GROUPS[0]):
        self.group, self.dialect = group, dialect_of(group)

    @cached_property
    def _pool(self) -> SpoiledPool:
        return SpoiledPool(_Queue(self.group))

    def compile(self, kernels: Sequence[KernelSource]) -> list[EmulatedKernel]:
        return super().compile([replace(kernel, text=_in_cpp(kernel.text)) for kernel in kernels])


def _in_cpp(text: str) -> str:
    for words, others in OTHERWISE.items():
        assert words in text
        text = text.replace(words, others)
    return WORDS + text


class _Queue(HostQueue):
    """Launches pass buffers, words and the place for faults one by one."""

    def __init__(self, group: int):
        self.group = group

    def launch(self, kernel: EmulatedKernel, members: Sequence[Work], shared: int, fault: DeviceBuffer) -> None:
        [(groups, buffers, words)] = members
        words[: len(buffers)] = 0  # the addresses are those of the buffers' own bytes
        own = (ctypes.c_longlong * len(words))(*words.tolist())
        memory = [Memory(b.handle.ctypes.data + b.offset, b.nbytes) for b in (*buffers, fault)]

        def arguments(places: Sequence[int]) -> list[Any]:
            *addresses, at = map(ctypes.c_void_p, places)
            return [*addresses, own, at]

        kernel.launch((groups, 1, 1), (self.group, 1, 1), memory, arguments, shared)
