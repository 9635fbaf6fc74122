"""Layer normalisation of each row, with weight and bias."""
from benchmarks.works import Cost

TITLE = "layernorm 4096x1024"
SIZE, SMALL = (4096, 1024), (7, 33)
EPSILON = 1e-5
ATOL = 1e-5


def inputs(random, rows, columns):
    x = random.standard_normal((rows, columns), "float32")
    return x, random.standard_normal(columns, "float32"), random.standard_normal(columns, "float32")


def cost(rows, columns):
    return Cost(reads=4 * rows * columns + 8 * columns, writes=4 * rows * columns, flops=8 * rows * columns)


def array(xp, x, weight, bias):
    mean = xp.mean(x, axis=1, keepdims=True)
    variance = xp.var(x, axis=1, keepdims=True)
    return (x - mean) / xp.sqrt(variance + EPSILON) * weight + bias


def torch(torch, x, weight, bias):
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, EPSILON)
