"""The product of two matrices of 1024 x 1024 float64."""
from benchmarks.works import Cost

TITLE = "GEMM 1024 float64"
SIZE, SMALL = (1024,), (24,)


def inputs(random, n):
    return random.standard_normal((n, n)), random.standard_normal((n, n))


def cost(n):
    return Cost(reads=16 * n * n, writes=8 * n * n, flops=4 * n**3)      # half as many fit a vector


def array(xp, a, b):
    return a @ b


def torch(torch, a, b):
    return a @ b


def jax(xp, a, b):
    return a @ b
