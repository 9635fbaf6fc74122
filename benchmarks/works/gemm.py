"""The product of two square matrices; a name such as gemm_256 says of which size."""
from benchmarks.works import Cost

TITLE = "GEMM"
SMALL = (24,)
ATOL = 2e-3     # sums of up to 2048 products


def inputs(random, n):
    return random.standard_normal((n, n), "float32"), random.standard_normal((n, n), "float32")


def cost(n):
    return Cost(reads=8 * n * n, writes=4 * n * n, flops=2 * n**3)


def array(xp, a, b):
    return a @ b


def torch(torch, a, b):
    return a @ b
