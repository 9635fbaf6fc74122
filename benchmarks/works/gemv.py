"""A matrix of 4096 x 4096 times a vector: bound by reading the matrix."""
from benchmarks.works import Cost

TITLE = "GEMV 4096"
SIZE, SMALL = (4096,), (24,)
ATOL = 5e-3     # sums of 4096 products


def inputs(random, n):
    return random.standard_normal((n, n), "float32"), random.standard_normal(n, "float32")


def cost(n):
    return Cost(reads=4 * (n * n + n), writes=4 * n, flops=2 * n * n)


def array(xp, a, x):
    return a @ x


def torch(torch, a, x):
    return a @ x
