"""The gradient of a logistic regression on 100000 x 30: products with both sides of a tall and narrow matrix."""
from benchmarks.works import Cost

TITLE = "logistic regression 100000x30, gradient"
SIZE, SMALL = (100_000, 30), (700, 5)
RTOL, ATOL = 1e-3, 0.2      # sums of 100,000 numbers


def inputs(random, rows, columns):
    x = random.standard_normal((rows, columns), "float32")
    return x, (random.random(rows) < 0.5).astype("float32"), random.standard_normal(columns, "float32") * 0.1


def cost(rows, columns):
    return Cost(reads=4 * (rows * columns + rows + columns), writes=4 * columns, flops=rows * (4 * columns + 23))


def array(xp, x, y, weights):
    return x.T @ (1 / (1 + xp.exp(-(x @ weights))) - y)


def torch(torch, x, y, weights):
    return x.T @ (torch.sigmoid(x @ weights) - y)
