"""A training step of a convnet on 64 images of 28x28: 32 and 64 channels, pooling, dense 128; plain descent."""
from benchmarks.works import Cost

TITLE = "convnet 64x28x28, 32 and 64 channels, step"
SIZE, SMALL = (64, 28, 32, 64, 128), (4, 8, 3, 4, 6)
RTOL, ATOL = 1e-3, 1e-4
RATE = 1e-2


def inputs(random, batch, size, first, second, hidden):
    shapes = [(first, 1, 3, 3), (first,), (second, first, 3, 3), (second,), (second * (size // 4)**2, hidden),
              (hidden,), (hidden, 10), (10,)]
    fans = (9, 9, 9 * first, 9 * first, shapes[4][0], shapes[4][0], hidden, hidden)
    parameters = [random.standard_normal(s, "float32") * n**-0.5 for s, n in zip(shapes, fans, strict=True)]
    return random.standard_normal((batch, 1, size, size), "float32"), random.integers(0, 10, batch), *parameters


def cost(batch, size, first, second, hidden):
    flat = second * (size // 4)**2
    values = 10 * first + second * (9 * first + 1) + hidden * (flat + 11) + 10
    dense = 2 * batch * hidden * (flat + 10)
    convolutions = 18 * batch * (first * size**2 + first * second * (size // 2)**2)
    return Cost(reads=4 * (values + batch * size**2) + 8 * batch, writes=4 * values,
                flops=3 * (dense + convolutions) - 18 * batch * first * size**2)


def graphc(gc, x, labels, *state):
    def loss(ps):
        w1, b1, w2, b2, w3, b3, w4, b4 = ps
        h = gc.max_pool2d(gc.relu(gc.conv2d(x, w1, b1, padding=1)), 2)
        h = gc.max_pool2d(gc.relu(gc.conv2d(h, w2, b2, padding=1)), 2)
        h = gc.relu(h.reshape(h.shape[0], -1) @ w3 + b3)
        return gc.cross_entropy(h @ w4 + b4, labels)
    return tuple(p - RATE * g for p, g in zip(state, gc.grad(loss)(state), strict=True))


def jax(xp, x, labels, *state):
    import jax

    def layer(h, w, b):
        h = jax.nn.relu(jax.lax.conv_general_dilated(h, w, (1, 1), "SAME") + b[:, None, None])
        return jax.lax.reduce_window(h, -xp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(ps):
        w1, b1, w2, b2, w3, b3, w4, b4 = ps
        h = layer(layer(x, w1, b1), w2, b2)
        logs = jax.nn.log_softmax(jax.nn.relu(h.reshape(len(h), -1) @ w3 + b3) @ w4 + b4)
        return -xp.take_along_axis(logs, labels[:, None], 1).mean()
    return tuple(p - RATE * g for p, g in zip(state, jax.grad(loss)(state), strict=True))


def torch(torch, x, labels, *state):
    F = torch.nn.functional
    with torch.enable_grad():
        given = [p.detach().requires_grad_() for p in state]
        w1, b1, w2, b2, w3, b3, w4, b4 = given
        h = F.max_pool2d(torch.relu(F.conv2d(x, w1, b1, padding=1)), 2)
        h = F.max_pool2d(torch.relu(F.conv2d(h, w2, b2, padding=1)), 2)
        h = torch.relu(h.flatten(1) @ w3 + b3)
        gradients = torch.autograd.grad(F.cross_entropy(h @ w4 + b4, labels), given)
    return tuple(p - RATE * g for p, g in zip(state, gradients, strict=True))
