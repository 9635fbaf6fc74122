"""PoCL's compiler in a third of the time, and products that are four times quicker.

PoCL puts a megabyte of declarations before every program: each function of OpenCL C for each length of vector. Clang
reads them in three fifths of the time that a small kernel takes in all. They stand behind an include guard, so OPTIONS
leave them out, and DECLARATIONS, put before a kernel, take their place: the functions of numbers, and what else
generated text uses. A function that is missing here is an error of the compiler.

Some functions are one instruction of most processors. PoCL calls routines for them, behind which the compiler makes no
vectors: a fused multiply-add takes four times as long, and rounding five times. Here they are the compiler's own.

PoCL asks LLVM for the processor's name. One that came after its LLVM (PyPI's PoCL 3.0 has that of 2022, Zen 5 is newer)
is "generic", and that name its compiler refuses (github.com/pocl/pocl/issues/1049): no kernel can be built. Nothing
sets the name from outside, so `name_processor` writes one of a family that it belongs to into PoCL's description of it.
"""

from __future__ import annotations

import ctypes
import os

from graphc.ir.target import instruction_sets

OPTIONS = ("-D_OPENCL_H_",)

NAME = "Portable Computing Language"  # of its platform
_TARGET, _UNKNOWN = b"x86_64-", b"generic\0"  # the processor's name follows the target's in a device's description,
_FIRST_WORDS = 128  # among these: it is the 80th pointer in PoCL 3.0
_WORD = ctypes.sizeof(ctypes.c_void_p)
_SETS_OF_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # of x86-64-v3, in the x86-64 psABI
_NAMES = {known: ctypes.create_string_buffer(known) for known in (b"x86-64", b"x86-64-v3")}  # PoCL keeps the address

_OF_ONE = ("acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 exp10 expm1 lgamma log log10 log1p log2 "
           "logb round rsqrt sin sinh tan tanh tgamma").split()
_OF_TWO = "atan2 fdim fmax fmin fmod hypot nextafter pow powr remainder".split()
_OWN = {"ceil": 1, "fabs": 1, "floor": 1, "rint": 1, "sqrt": 1, "trunc": 1, "copysign": 2, "fma": 3}
_FAST_OF_ONE = "cos exp exp2 exp10 log log2 log10 recip rsqrt sin sqrt tan".split()
_INTEGERS = {"char": "uchar", "short": "ushort", "int": "uint", "long": "ulong"}
_VECTORS = ("float2", "double2", "uint2", "uint4")
_REST = """\
typedef ulong size_t;
typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define GC_PURE __attribute__((overloadable, const))
GC_PURE size_t get_group_id(uint);
GC_PURE size_t get_local_id(uint);
GC_PURE uint rotate(uint, uint);
__attribute__((overloadable, convergent)) void barrier(cl_mem_fence_flags);
__attribute__((overloadable)) int atomic_max(volatile __global int *, int);
#define as_half(x) __builtin_astype((x), half)
#define as_ushort(x) __builtin_astype((x), ushort)"""


def _declarations() -> str:
    lines = [f"typedef unsigned {name} {unsigned};" for name, unsigned in _INTEGERS.items()]
    lines += [f"typedef {v[:-1]} {v} __attribute__((ext_vector_type({v[-1]})));" for v in _VECTORS]
    lines.append(_REST)
    lines += [f"GC_PURE {unsigned} abs({name});" for name, unsigned in _INTEGERS.items()]
    lines += [f"__attribute__((overloadable, convergent)) {name} sub_group_shuffle_xor({name}, uint);"
              for name in (*_INTEGERS, *_INTEGERS.values(), "float", "double")]
    for real in ("float", "double"):
        lines += [f"GC_PURE {real} {name}({real});" for name in _OF_ONE]
        lines += [f"GC_PURE {real} {name}({real}, {real});" for name in _OF_TWO]
        lines.append(f"GC_PURE {real} mad({real}, {real}, {real});")
    lines += [f"GC_PURE float native_{name}(float);" for name in _FAST_OF_ONE]
    lines += [f"GC_PURE float native_{name}(float, float);" for name in ("divide", "powr")]
    own = [(name, count, real) for name, count in _OWN.items() for real in ("float", "double")]
    lines += ["#if defined(__FMA__) || defined(__aarch64__)", *(_by_builtin(*x) for x in own), "#else"]
    lines += [*(f"GC_PURE {real} {name}({', '.join([real] * count)});" for name, count, real in own), "#endif"]
    return "\n".join(lines) + "\n"


def _by_builtin(name: str, count: int, real: str) -> str:
    names = "abc"[:count]
    return (f"static inline __attribute__((overloadable, always_inline)) {real} {name}"
            f"({', '.join(f'{real} {x}' for x in names)}) "
            f"{{ return __builtin_{name}{'f' if real == 'float' else ''}({', '.join(names)}); }}")


DECLARATIONS = _declarations()


def name_processor(description: int) -> bool:
    """Gives a processor that LLVM doesn't know a name that it does. `description`: the address of what PoCL knows of
    the device. Returns whether there was something to name; what is not as in PoCL 3.0 is left alone."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:  # not Linux
        return False
    try:
        words = [_word(memory, description + k * _WORD) for k in range(_FIRST_WORDS)]
        places = [k for k in range(1, _FIRST_WORDS) if _read(memory, words[k], len(_UNKNOWN)) == _UNKNOWN
                  and _read(memory, words[k - 1], len(_TARGET)) == _TARGET]
    finally:
        os.close(memory)
    if len(places) != 1:
        return False
    name = b"x86-64-v3" if _SETS_OF_V3 <= instruction_sets() else b"x86-64"
    ctypes.c_void_p.from_address(description + places[0] * _WORD).value = ctypes.addressof(_NAMES[name])
    return True


def _word(memory: int, place: int) -> int:
    return int.from_bytes(_read(memory, place, _WORD), "little")


def _read(memory: int, place: int, count: int) -> bytes:
    """What lies there, or nothing where nothing does."""
    try:
        return os.pread(memory, count, place)
    except (OSError, OverflowError):
        return b""
