"""A training step of a perceptron: loss, gradients and Adam's update of all parameters."""
from benchmarks.works import Cost

TITLE = "MLP 784-512-512-10 x128, Adam step"
SIZE, SMALL = (128, 784, 512, 10), (8, 12, 16, 4)
RTOL, ATOL = 1e-3, 1e-5
MISMATCH = 1e-3     # Adam's quotient of two small numbers
RATE, B1, B2, EPS = 1e-3, 0.9, 0.999, 1e-8


def inputs(random, batch, width, hidden, classes):
    sizes = [(width, hidden), (hidden, hidden), (hidden, classes)]
    parameters = [a for m, n in sizes for a in (random.standard_normal((m, n), "float32") * m**-0.5,
                                                random.standard_normal(n, "float32") * 0.1)]
    means = [random.standard_normal(p.shape, "float32") * 1e-3 for p in parameters]
    squares = [random.random(p.shape, "float32") * 1e-3 + 1e-4 for p in parameters]
    count = random.random(1, "float32") + 10
    return (random.standard_normal((batch, width), "float32"), random.integers(0, classes, batch), count,
            *parameters, *means, *squares)


def cost(batch, width, hidden, classes):
    weights = width * hidden + hidden * hidden + hidden * classes
    values = 3 * (weights + 2 * hidden + classes)
    flops = 6 * batch * weights - 2 * batch * width * hidden + 12 * values / 3
    return Cost(reads=4 * values + 4 * batch * width + 8 * batch + 4, writes=4 * values, flops=flops)


def adam(sqrt, gradients, count, state):
    n = len(gradients)
    after = []
    for p, g, m, v in zip(state[:n], gradients, state[n:2 * n], state[2 * n:], strict=True):
        m = B1 * m + (1 - B1) * g
        v = B2 * v + (1 - B2) * (g * g)
        step = RATE / (1 - B1**count)
        after.append((p - step * m / (sqrt(v) / sqrt(1 - B2**count) + EPS), m, v))
    return tuple(a[k] for k in range(3) for a in after)


def scores(relu, x, w1, b1, w2, b2, w3, b3):
    return relu(relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def graphc(gc, x, labels, count, *state):
    gradients = gc.grad(lambda ps: gc.cross_entropy(scores(gc.relu, x, *ps), labels))(state[:6])
    return adam(gc.sqrt, gradients, count, state)


def jax(xp, x, labels, count, *state):
    import jax

    def loss(ps):
        logs = jax.nn.log_softmax(scores(jax.nn.relu, x, *ps))
        return -xp.take_along_axis(logs, labels[:, None], 1).mean()
    return adam(xp.sqrt, jax.grad(loss)(state[:6]), count, state)


def torch(torch, x, labels, count, *state):
    def loss(ps):
        return torch.nn.functional.cross_entropy(scores(torch.relu, x, *ps), labels)
    return adam(torch.sqrt, torch.func.grad(loss)(state[:6]), count, state)
