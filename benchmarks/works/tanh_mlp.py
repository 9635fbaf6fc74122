"""Eight layers tanh(x @ w + b) of width 64 on 32 rows: small products, mostly overhead."""
from benchmarks.works import Cost

TITLE = "8-layer tanh MLP 32x64"
SIZE, SMALL = (32, 64, 8), (4, 8, 3)
ATOL = 1e-4


def inputs(random, rows, width, layers):
    def normal(scale, *shape):
        return (random.standard_normal(shape) * scale).astype("float32")

    x = normal(1, rows, width)
    return (x, *(w for _ in range(layers) for w in (normal(width**-0.5, width, width), normal(1, width))))


def cost(rows, width, layers):
    flops = layers * rows * width * (2 * width + 21)
    return Cost(reads=4 * (rows * width + layers * (width + 1) * width), writes=4 * rows * width, flops=flops)


def array(xp, x, *parameters):
    for w, b in zip(parameters[::2], parameters[1::2], strict=True):
        x = xp.tanh(x @ w + b)
    return x


def torch(torch, x, *parameters):
    return array(torch, x, *parameters)
