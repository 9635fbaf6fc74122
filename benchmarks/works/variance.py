"""Variance of each column: a reduction over the outer axis."""
from benchmarks.works import Cost

TITLE = "variance axis 0, 8192x2048"
SIZE, SMALL = (8192, 2048), (67, 19)


def inputs(random, rows, columns):
    return (random.standard_normal((rows, columns), "float32") + 1,)


def cost(rows, columns):
    return Cost(reads=4 * rows * columns, writes=4 * columns, flops=3 * rows * columns)


def array(xp, x):
    return xp.var(x, axis=0)


def torch(torch, x):
    return torch.var(x, dim=0, correction=0)
