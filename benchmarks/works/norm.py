"""The Euclidean norm of one long vector: a full reduction, bandwidth only. Each library's quickest."""
from benchmarks.works import Cost

TITLE = "norm of 16M"
SIZE, SMALL = (1 << 24,), (1003,)


def inputs(random, n):
    return (random.standard_normal(n, "float32"),)


def cost(n):
    return Cost(reads=4 * n, writes=4, flops=2 * n)


def array(xp, x):
    return xp.sqrt(xp.sum(x * x))


def numpy(np, x):
    return np.linalg.norm(x)


def torch(torch, x):
    return torch.sqrt(torch.dot(x, x))      # linalg.vector_norm is wrong in the fourth digit for 16M float32


def torchc(torch, x):
    return torch.sqrt(torch.sum(x * x))


def numba(numba):
    import math

    @numba.njit(parallel=True, fastmath=True)
    def call(x):
        total = numba.float32(0)
        for i in numba.prange(x.size):
            total += x[i] * x[i]
        return math.sqrt(total)

    return call
