"""gelu(x @ w1 + b1) @ w2 + b2: two products with a map between them."""
from benchmarks.works import Cost, erf

TITLE = "gelu MLP 512x768x3072"
SIZE, SMALL = (512, 768, 3072), (8, 12, 24)
ATOL = 1e-3


def inputs(random, rows, width, hidden):
    def normal(scale, *shape):
        return (random.standard_normal(shape) * scale).astype("float32")

    return (normal(1, rows, width), normal(width**-0.5, width, hidden), normal(1, hidden),
            normal(hidden**-0.5, hidden, width), normal(1, width))


def cost(rows, width, hidden):
    weights = 2 * width * hidden + hidden + width
    flops = 4 * rows * width * hidden + 24 * rows * hidden
    return Cost(reads=4 * (rows * width + weights), writes=4 * rows * width, flops=flops)


def array(xp, x, w1, b1, w2, b2):
    h = x @ w1 + b1
    return 0.5 * h * (1 + erf(xp)(h * 0.5**0.5)) @ w2 + b2


def torch(torch, x, w1, b1, w2, b2):
    return torch.nn.functional.gelu(x @ w1 + b1) @ w2 + b2
