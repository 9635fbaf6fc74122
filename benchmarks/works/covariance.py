"""The covariance of the columns of 2000 x 1000 float64: a matrix times its own transpose."""
from benchmarks.works import Cost

TITLE = "covariance 2000x1000 float64"
SIZE, SMALL = (2000, 1000), (30, 170)


def inputs(random, rows, columns):
    return (random.standard_normal((rows, columns)),)


def cost(rows, columns):
    return Cost(reads=8 * rows * columns, writes=8 * columns**2, flops=2 * rows * columns**2)    # one side's, at half


def array(xp, x):
    centred = x - xp.mean(x, axis=0)
    return centred.T @ centred / (x.shape[0] - 1)


def torch(torch, x):
    centred = x - x.mean(0)
    return centred.T @ centred / (x.shape[0] - 1)
