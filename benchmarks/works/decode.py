"""A few vectors times a weight matrix of 4096 x 4096, as in decoding: bound by reading the weights, or by the products
of some eight vectors and more."""
from benchmarks.works import Cost

TITLE = "decode 4096x4096, batch"
SIZE, SMALL = (8,), (3, 24)
ATOL = 5e-3     # sums of 4096 products


def inputs(random, batch, n=4096):
    return random.standard_normal((batch, n), "float32"), random.standard_normal((n, n), "float32")


def cost(batch, n=4096):
    return Cost(reads=4 * (n * n + batch * n), writes=4 * batch * n, flops=2 * batch * n * n)


def array(xp, x, w):
    return x @ w


def torch(torch, x, w):
    return x @ w
