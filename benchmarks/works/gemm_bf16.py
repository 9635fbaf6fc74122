"""The product of two square matrices of bfloat16. NumPy multiplies what it widened."""
from ml_dtypes import bfloat16

from benchmarks.works import Cost

TITLE = "GEMM bfloat16"
SMALL = (24,)
RTOL, ATOL = 1e-2, 0.1      # one rounding to 8 digits


def inputs(random, n):
    return tuple(random.standard_normal((n, n), "float32").astype(bfloat16) for _ in range(2))


def cost(n):
    return Cost(reads=4 * n * n, writes=2 * n * n, flops=2 * n**3, unit="bfloat16")


def array(xp, a, b):
    return a @ b


def numpy(np, a, b):
    return a.astype(np.float32) @ b.astype(np.float32)


def torch(torch, a, b):
    return a @ b
