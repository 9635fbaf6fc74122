"""Random programs with kernels built by the sanitizers of the C compiler; run by test_asan.py in a process of its own.

    python asan_programs.py FIRST COUNT       realizes programs FIRST .. FIRST + COUNT - 1
    python asan_programs.py overflow          runs a kernel that writes behind its buffer, which has to be found

Each buffer is a block of its own from malloc, of exactly its size, so that one element too many is seen.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1")
_libc = ctypes.CDLL(None)
_libc.posix_memalign.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


class Malloced:
    """A block that is freed with the last reference to it."""

    def __init__(self, nbytes: int):
        pointer = ctypes.c_void_p()
        if _libc.posix_memalign(ctypes.byref(pointer), 64, max(nbytes, 1)):
            raise MemoryError(nbytes)
        self.address = pointer.value

    def __del__(self):
        _libc.free(self.address)


def use_malloc_and_sanitizers() -> None:
    from dataclasses import replace

    from graphc.runtime import buffers, compiler

    def allocate(self, nbytes: int) -> buffers.Buffer:
        block = Malloced(nbytes)
        return buffers.Buffer(block.address, nbytes, block)

    buffers.Pool.allocate = allocate
    find = compiler.find_compiler
    compiler.find_compiler = lambda: replace(find(), flags=tuple(f for f in find().flags if f != "-O3") + FLAGS)


def run_programs(first: int, count: int) -> None:
    from differential import at_once
    from programs import of_seed

    for seed in range(first, first + count):
        program = of_seed(seed)
        print(f"seed {seed}\n{program}", file=sys.stderr, flush=True)     # the last one is what was found
        at_once(program)
    print(f"{count} programs")


def overflow() -> None:
    from graphc.ir.program import KernelSource, Launch, Member, Program, Slot
    from graphc.runtime import backend

    text = "long spill(void *const *buf, const long *arg, long begin, long end, void *scratch)\n" \
           "{ ((float *)buf[0])[arg[0]] = 1; return 0; }\n"
    launch = Launch(0, (Member((0,), (10,), (), 1),), 0)
    program = Program((Slot("output", 40),), (launch,), (KernelSource("spill", text),), (), (0,), 0)
    backend.get("cpu").load(program).run([])
    print("nothing was found")


if __name__ == "__main__":
    np.seterr(all="ignore")
    use_malloc_and_sanitizers()
    if sys.argv[1] == "overflow":
        overflow()
    else:
        run_programs(int(sys.argv[1]), int(sys.argv[2]))
