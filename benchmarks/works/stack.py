"""2000 products of small square matrices, as in mechanics, filters and graphs: bound by calls, packing and edges."""
from benchmarks.works import Cost

TITLE = "2000 small products"
SIZE, SMALL = (24,), (5,)
ATOL = 1e-4


def inputs(random, n):
    return random.standard_normal((2000, n, n), "float32"), random.standard_normal((2000, n, n), "float32")


def cost(n):
    return Cost(reads=4 * 2 * 2000 * n * n, writes=4 * 2000 * n * n, flops=2 * 2000 * n**3)


def array(xp, a, b):
    return a @ b


def torch(torch, a, b):
    return a @ b
