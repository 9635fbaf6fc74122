"""PoCL's compiler in a third of the time, and products that are four times quicker.

PoCL puts a megabyte of declarations before every program: each function of OpenCL C for each length of vector. Clang
reads them in three fifths of the time that a small kernel takes in all. They stand behind an include guard, so OPTIONS
leave them out, and DECLARATIONS, put before a kernel, take their place: the functions of numbers, and what else
generated text uses. A function that is missing here is an error of the compiler.

Some functions are one instruction of most processors. PoCL calls routines for them, behind which the compiler makes no
vectors: a fused multiply-add takes four times as long, and rounding five times. Here they are the compiler's own.
"""

from __future__ import annotations

OPTIONS = ("-D_OPENCL_H_",)

_OF_ONE = ("acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 exp10 expm1 lgamma log log10 log1p log2 "
           "logb round rsqrt sin sinh tan tanh tgamma").split()  # fmt: skip
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
