"""Compilers that take the text of a kernel on a machine without its device: to check it, not to run it.

For C the compiler that kernels are built with; for CUDA NVRTC; for HIP the parser of libclang, which checks types; for
OpenCL libclang too, and any OpenCL platform.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from graphc.errors import CompileError, NoCompilerError
from graphc.ir.program import KernelSource
from graphc.runtime import pocl

ARCHITECTURES = {"cuda": ("sm_80", "sm_90"), "cuda-hopper": ("sm_90a",)}  # those of CUDA that are checked
ERROR = 3  # from which severity on a diagnostic of libclang is one
DEVICES = {  # and of HIP, with their wavefronts
    "hip": {"gfx1030": 32, "gfx90a": 64},
    "hip-cdna": {"gfx908": 64, "gfx90a": 64, "gfx942": 64},
    "hip-rdna3": {"gfx1100": 32},
    "hip-rdna4": {"gfx1200": 32},
}
ABILITIES = {  # of OpenCL devices, by the macros with which runtime.opencl_features asks for them
    "plain": (),
    "sub-groups of 32, half precision": ("-DGC_WAVE=32", "-DGC_HALF", "-Dcl_intel_required_subgroup_size"),
}

# What hipcc declares before the text, as far as kernels use it.
HIP_PRELUDE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
struct dim3 { unsigned x, y, z; };
struct __attribute__((aligned(8))) uint2 { unsigned x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned x, y, z, w; };
__device__ uint4 make_uint4(unsigned, unsigned, unsigned, unsigned);
extern __device__ const dim3 threadIdx, blockIdx, blockDim, gridDim;
extern __device__ const int warpSize;
__device__ void __syncthreads();
template <class T> __device__ T __shfl(T, int, int = 64);
template <class T> __device__ T __shfl_up(T, unsigned, int = 64);
template <class T> __device__ T __shfl_down(T, unsigned, int = 64);
template <class T> __device__ T __shfl_xor(T, int, int = 64);
template <class T> __device__ T atomicMax(T *, T);
template <class T> __device__ T atomicMin(T *, T);
template <class T> __device__ T atomicAdd(T *, T);
__device__ int __clz(int); __device__ int __clzll(long long);
__device__ int __ffs(int); __device__ int __ffsll(long long);
__device__ int __popc(unsigned); __device__ int __popcll(unsigned long long);
__device__ unsigned __umulhi(unsigned, unsigned);
__device__ unsigned long long __umul64hi(unsigned long long, unsigned long long);
__device__ float __int_as_float(int); __device__ int __float_as_int(float);
__device__ float __uint_as_float(unsigned); __device__ unsigned __float_as_uint(float);
__device__ double __longlong_as_double(long long); __device__ long long __double_as_longlong(double);
#define ONE(f) __device__ float f(float); __device__ double f(double);
#define TWO(f) __device__ float f(float, float); __device__ double f(double, double);
ONE(fabs) ONE(sqrt) ONE(cbrt) ONE(floor) ONE(ceil) ONE(trunc) ONE(rint) ONE(round) ONE(exp) ONE(exp2) ONE(expm1)
ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh)
ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) ONE(erf) ONE(erfc) ONE(lgamma) ONE(tgamma)
TWO(pow) TWO(atan2) TWO(hypot) TWO(fmod) TWO(copysign) TWO(nextafter) TWO(fmax) TWO(fmin)
#undef ONE
#undef TWO
#define FAST(name) __device__ float __##name##f(float);
FAST(exp) FAST(log) FAST(log2) FAST(log10) FAST(sin) FAST(cos)
#undef FAST
__device__ float __fdividef(float, float);
__device__ float fma(float, float, float); __device__ double fma(double, double, double);
__device__ float ldexp(float, int); __device__ double ldexp(double, int);
__device__ bool isnan(float); __device__ bool isnan(double);
__device__ bool isinf(float); __device__ bool isinf(double);
__device__ bool signbit(float); __device__ bool signbit(double);
"""


class Finding(Struct, frozen=True):
    """What a compiler says of one kernel.

    compiler  its name, version and what it compiled for
    error     its first error; None if it took the text
    facts     what it tells of the machine code, such as {"registers": 24, "spills": 0}; empty where it makes none
    """

    compiler: str
    error: str | None
    facts: dict[str, int]


def check(kernel: KernelSource, dialect: str) -> list[Finding]:
    """What the compilers of this machine say of a kernel. Raises NoCompilerError if there is none for the dialect."""
    if dialect not in _CHECKS:
        dialect = dialect.partition("-")[0]  # whatever the size of a group
    if dialect not in _CHECKS:
        raise NoCompilerError(f"graphc knows no compiler that checks {dialect}",
                              fix=f"it knows some for {', '.join(_CHECKS)}")
    return _CHECKS[dialect](kernel)


def _found(compiler: str, work: Callable[[], dict[str, int]]) -> Finding:
    try:
        return Finding(compiler, None, work())
    except CompileError as error:
        return Finding(compiler, error.message, {})


# ------------------------------------------------------------------------------------------------------------- each


def _c(kernel: KernelSource) -> list[Finding]:
    from graphc.runtime import compiler
    from graphc.runtime.build import build

    cc = compiler.find_compiler()
    job = compiler.Job(kernel.entry, kernel.text, cc.flags, cc.libraries)     # whole, as it is shown

    def work() -> dict[str, int]:
        return {"bytes": build(cc, [job])[job].stat().st_size}

    return [_found(f"{Path(cc.command[0]).name} {cc.identity.splitlines()[0]}", work)]


def _cuda(architectures: Sequence[str], kernel: KernelSource) -> list[Finding]:
    from graphc.runtime import nvrtc

    def work(arch: str) -> dict[str, int]:
        cubin = nvrtc.compile(kernel, arch)
        return {"registers": cubin.registers, "spills": cubin.spills, "stack": cubin.stack, "shared": cubin.shared,
                "bytes": len(cubin.code)}

    name = nvrtc.version()
    return [_found(f"{name} for {arch}", lambda arch=arch: work(arch)) for arch in architectures]


def _hip(devices: dict[str, int], kernel: KernelSource) -> list[Finding]:
    language = ("-x", "hip", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-std=c++17")
    return [_typed(kernel, f"{name}, wavefront {wave}", HIP_PRELUDE,
                   (*language, f"--offload-arch={name}", f"-DGC_WAVE={wave}"))
            for name, wave in devices.items()]


def types_of_opencl(kernel: KernelSource) -> list[Finding]:
    """What libclang says of a kernel of OpenCL, for devices that have more than OpenCL C 1.2 and for others."""
    language = ("-x", "cl", "-cl-std=CL1.2", "--target=spir64", "-cl-no-stdinc")
    return [_typed(kernel, name, pocl.DECLARATIONS, (*language, *macros)) for name, macros in ABILITIES.items()]


def _typed(kernel: KernelSource, name: str, prelude: str, arguments: Sequence[str]) -> Finding:
    if importlib.util.find_spec("clang") is None:
        raise NoCompilerError("libclang was not found", fix="pip install libclang")
    index = importlib.import_module("clang.cindex").Index.create()

    def parse() -> dict[str, int]:
        unit = index.parse(kernel.entry, args=list(arguments), unsaved_files=[(kernel.entry, prelude + kernel.text)])
        for d in unit.diagnostics:
            if d.severity >= ERROR:
                line = d.location.line - prelude.count("\n")
                raise CompileError(f"libclang refused {kernel.entry}: line {line}: {d.spelling}")
        return {}

    return _found(f"libclang, types only, {name}", parse)


def _opencl(kernel: KernelSource) -> list[Finding]:
    checks = [check for name, check in (("clang", types_of_opencl), ("pyopencl", _on_devices))
              if importlib.util.find_spec(name) is not None]
    found = [finding for check in checks for finding in check(kernel)]
    if not found:
        raise NoCompilerError("there is no OpenCL to compile with", op="opencl",
                              fix="pip install 'pyopencl[pocl]', or libclang")
    return found


def _on_devices(kernel: KernelSource) -> list[Finding]:
    import pyopencl as cl

    from graphc.runtime.opencl import devices

    try:
        found = devices(cl)
    except cl.Error:  # no platform
        return []
    return [_found(f"{d.platform.version} for {d.name}", lambda d=d: _build(cl, d, kernel)) for d in found]


def _build(cl: Any, device: Any, kernel: KernelSource) -> dict[str, int]:
    from graphc.runtime.compiler import first_error

    try:
        cl.Program(cl.Context([device]), kernel.text).build(options=["-cl-std=CL1.2"], cache_dir=False)
    except cl.RuntimeError as error:
        raise CompileError(f"OpenCL refused {kernel.entry}: {first_error(str(error))}", op="opencl") from None
    return {}


_CHECKS: dict[str, Callable[[KernelSource], list[Finding]]] = {
    "c": _c, **{name: partial(_cuda, architectures) for name, architectures in ARCHITECTURES.items()},
    **{name: partial(_hip, devices) for name, devices in DEVICES.items()},
    "opencl": _opencl}
