"""X' W X of 200000 x 20, the matrix of a weighted regression: few results of long sums."""
from benchmarks.works import Cost

TITLE = "weighted regression 200000x20"
SIZE, SMALL = (200_000, 20), (700, 5)
RTOL, ATOL = 1e-3, 0.5      # sums of 200,000 numbers


def inputs(random, rows, columns):
    return random.standard_normal((rows, columns), "float32"), random.random(rows, "float32")


def cost(rows, columns):
    return Cost(reads=4 * (rows * columns + rows), writes=4 * columns**2, flops=rows * columns + 2 * rows * columns**2)


def array(xp, x, w):
    return (x * w[:, None]).T @ x


def torch(torch, x, w):
    return (x * w[:, None]).T @ x
