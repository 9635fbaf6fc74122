"""Five elementwise operations on three arrays: bandwidth, if nothing goes through memory twice."""
from benchmarks.works import Cost

TITLE = "5-op chain 4M"
SIZE, SMALL = (1 << 22,), (1003,)
ATOL = 1e-5     # the difference may be near 0


def inputs(random, n):
    return tuple(random.standard_normal(n, "float32") for _ in range(3))


def cost(n):
    return Cost(reads=12 * n, writes=4 * n, flops=5 * n)


def array(xp, a, b, c):
    return (a * b + c) * a - 0.5 * b


def torch(torch, a, b, c):
    return (a * b + c) * a - 0.5 * b


def numexpr(numexpr, a, b, c):
    half = a.dtype.type(0.5)    # a Python float would make float64 of it
    return numexpr.evaluate("(a * b + c) * a - half * b")


def numba(numba):
    import numpy as np

    @numba.njit(parallel=True)
    def call(a, b, c):
        out = np.empty_like(a)
        for i in numba.prange(a.size):
            out[i] = (a[i] * b[i] + c[i]) * a[i] - numba.float32(0.5) * b[i]
        return out

    return call
