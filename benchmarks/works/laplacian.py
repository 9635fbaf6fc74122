"""The five-point Laplacian of the inner points of a grid: shifted reads of one array."""
from benchmarks.works import Cost

TITLE = "5-point Laplacian 2048^2"
SIZE, SMALL = (2048, 2048), (17, 23)
ATOL = 1e-5     # of a sum that may be near 0


def inputs(random, height, width):
    return (random.standard_normal((height, width), "float32"),)


def cost(height, width):
    inner = (height - 2) * (width - 2)
    return Cost(reads=4 * height * width, writes=4 * inner, flops=5 * inner)


def array(xp, u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def torch(torch, u):
    return array(torch, u)


def numexpr(numexpr, u):
    up, down, left, right, here = u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:], u[1:-1, 1:-1]
    four = u.dtype.type(4)
    return numexpr.evaluate("up + down + left + right - four * here")


def numba(numba):
    import numpy as np

    @numba.njit(parallel=True)
    def call(u):
        height, width = u.shape
        out = np.empty((height - 2, width - 2), u.dtype)
        for i in numba.prange(height - 2):
            for j in range(width - 2):
                around = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
                out[i, j] = around - numba.float32(4) * u[i + 1, j + 1]
        return out

    return call
