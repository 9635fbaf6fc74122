"""The product of two square matrices of 512 x 512."""
from benchmarks.works import Cost

TITLE = "GEMM 512"
SIZE, SMALL = (512,), (24,)
ATOL = 1e-3     # sums of 512 products


def inputs(random, n):
    return random.standard_normal((n, n), "float32"), random.standard_normal((n, n), "float32")


def cost(n):
    return Cost(reads=8 * n * n, writes=4 * n * n, flops=2 * n**3)


def array(xp, a, b):
    return a @ b


def torch(torch, a, b):
    return a @ b
