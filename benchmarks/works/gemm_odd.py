"""A product whose sizes fit no tile, of a transposed factor: 1000 x 771 @ (513 x 771)^T."""
from benchmarks.works import Cost

TITLE = "GEMM 1000x771 @ 513x771^T"
SIZE, SMALL = (1000, 771, 513), (20, 15, 11)
ATOL = 1e-3     # sums of 771 products


def inputs(random, m, k, n):
    return random.standard_normal((m, k), "float32"), random.standard_normal((n, k), "float32")


def cost(m, k, n):
    return Cost(reads=4 * (m * k + n * k), writes=4 * m * n, flops=2 * m * n * k)


def array(xp, a, b):
    return a @ b.T


def torch(torch, a, b):
    return a @ b.T
