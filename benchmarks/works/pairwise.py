"""Distances between two sets of points, by differences: short reductions under a wide map."""
from benchmarks.works import Cost

TITLE = "pairwise distances 2000x2000x16"
SIZE, SMALL = (2000, 2000, 16), (11, 13, 16)
ATOL = 1e-5


def inputs(random, n, m, d):
    return random.standard_normal((n, d), "float32"), random.standard_normal((m, d), "float32")


def cost(n, m, d):
    return Cost(reads=4 * (n + m) * d, writes=4 * n * m, flops=3 * n * m * d)


def array(xp, a, b):
    return xp.sqrt(xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=2))


def torch(torch, a, b):
    return torch.sqrt(torch.sum((a[:, None, :] - b[None, :, :]) ** 2, dim=2))


def numba(numba):
    import math

    import numpy as np

    @numba.njit(parallel=True, fastmath=True)
    def call(a, b):
        out = np.empty((a.shape[0], b.shape[0]), a.dtype)
        for i in numba.prange(a.shape[0]):
            for j in range(b.shape[0]):
                total = numba.float32(0)
                for k in range(a.shape[1]):
                    total += (a[i, k] - b[j, k]) ** 2
                out[i, j] = math.sqrt(total)
        return out

    return call
