"""Random programs with kernels built by the sanitizers of the C compiler; run by test_asan.py in a process of its own.

    python asan_programs.py FIRST COUNT       realizes programs FIRST .. FIRST + COUNT - 1
    python asan_programs.py attention         realizes attentions of odd sizes
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
    from msgspec.structs import replace

    from graphc.runtime import buffers, compiler

    def allocate(self, nbytes: int) -> buffers.Buffer:
        block = Malloced(nbytes)
        return buffers.Buffer(block.address, nbytes, block)

    buffers.Pool.allocate = allocate
    find = compiler.find_compiler
    compiler.find_compiler = lambda: replace(find(), flags=tuple(f for f in find().flags if f != "-O3") + FLAGS,
                                             libraries=tuple(f for f in find().libraries if f != "-nostdlib"))


def run_programs(first: int, count: int) -> None:
    from differential import at_once
    from programs import of_seed

    for seed in range(first, first + count):
        program = of_seed(seed)
        print(f"seed {seed}\n{program}", file=sys.stderr, flush=True)     # the last one is what was found
        at_once(program)
    print(f"{count} programs")


def attentions() -> None:
    import graphc as gc

    rng = np.random.default_rng(0)
    count = 0
    for m, n, d, e in [(2, 3, 5, 3), (25, 65, 17, 9), (97, 200, 33, 30)]:
        q, k, kt, v = (gc.asarray(rng.standard_normal(s).astype("float32")) for s in ((m, d), (n, d), (d, n), (n, e)))
        half, rows = k.astype("float16"), gc.asarray(rng.integers(0, n, n))
        seen = gc.asarray(rng.random((m, n)) < 0.5)
        for tensor in (gc.scaled_dot_product_attention(q, k, v, is_causal=True),
                       gc.scaled_dot_product_attention(q, half, v, attn_mask=seen),
                       gc.softmax(q @ kt, axis=-1) @ gc.take(v, rows, axis=0)):
            gc.realize(tensor)
            count += 1
    shapes = (97, 17), (300, 17), (300, 9), (97, 9)
    q, k, v, g = (gc.asarray(rng.standard_normal(shape).astype("float32")) for shape in shapes)
    half = k.astype("float16")
    _, pull = gc.vjp(lambda *x: gc.scaled_dot_product_attention(*x, is_causal=True), q, half, v)
    gc.realize(*pull(g))
    print(f"{count} attentions and a gradient")


def products() -> None:
    """Products in tiles and of few rows, of factors that lie either way, and windows of padded images."""
    import graphc as gc
    from graphc.passes import contract

    rng = np.random.default_rng(0)

    def array(*shape: int):
        return gc.asarray(rng.standard_normal(shape).astype("float32"))
    contract.LEAST_FAR = contract.FAR_COLUMNS = 0       # so that many rows too meet factors where they lie
    results = [array(5, 531) @ array(531, 19), array(3, 531) @ array(19, 531).T, array(531, 100).T @ array(19, 531).T,
               array(64, 531) @ array(101, 531).T, array(64, 531) @ array(531, 101), array(14, 531) @ array(531, 101),
               array(24, 531).astype("float64") @ array(101, 531).astype("float64").T,
               array(1, 5121) @ array(19, 5121).T, array(9, 5121) @ array(19, 5121).T,
               gc.conv2d(array(2, 3, 7, 9), array(17, 3, 3, 3), padding=2)]
    for tensor in results:
        gc.realize(tensor)
    print(f"{len(results)} products")


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
    elif sys.argv[1] == "attention":
        attentions()
    elif sys.argv[1] == "products":
        products()
    else:
        run_programs(int(sys.argv[1]), int(sys.argv[2]))
