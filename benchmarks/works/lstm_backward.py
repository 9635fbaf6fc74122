"""An LSTM along 128 steps: what it gives and the gradients of its input and its weights."""
from benchmarks.works import Cost

TITLE = "LSTM 128x32, 64->256, gradients"
SIZE, SMALL = (128, 32, 64, 256), (5, 3, 4, 6)
RTOL, ATOL = 1e-3, 1e-3     # sums over all steps


def inputs(random, length, batch, width, hidden):
    def normal(scale, *shape):
        return random.standard_normal(shape, "float32") * scale

    bound = hidden**-0.5
    return (normal(1, length, batch, width), normal(bound, 4 * hidden, width), normal(bound, 4 * hidden, hidden),
            normal(bound, 4 * hidden), normal(bound, 4 * hidden), normal(1, length, batch, hidden))


def cost(length, batch, width, hidden):
    weights = 4 * hidden * (width + hidden + 2)
    steps = length * batch
    return Cost(reads=4 * (steps * (width + hidden) + weights), writes=4 * (steps * (width + hidden) + weights),
                flops=24 * steps * hidden * (width + hidden) + 300 * steps * hidden)


def graphc(gc, x, w, u, b, c, g):
    layer = object.__new__(gc.nn.LSTM)      # not initialised: random weights are no part of a jitted function
    layer.inputs, layer.hidden, layer.num_layers = x.shape[-1], u.shape[-1], 1
    layer.batch_first, layer.dropout, layer.bidirectional = False, 0.0, False

    def run(x, *weights):
        for name, weight in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights, strict=True):
            setattr(layer, f"{name}_l0", weight)
        return layer(x)[0]
    y, pull = gc.vjp(run, x, w, u, b, c)
    return (y, *pull(g))


def jax(xp, x, w, u, b, c, g):
    import jax

    def run(x, w, u, b, c):
        def turn(state, given):
            h, cell = state
            i, f, q, o = xp.split(given + h @ u.T, 4, axis=-1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * xp.tanh(q)
            h = jax.nn.sigmoid(o) * xp.tanh(cell)
            return (h, cell), h
        start = (xp.zeros((x.shape[1], u.shape[1]), x.dtype),) * 2
        return jax.lax.scan(turn, start, x @ w.T + (b + c))[1]
    y, pull = jax.vjp(run, x, w, u, b, c)
    return (y, *pull(g))


def torch(torch, x, w, u, b, c, g):
    with torch.enable_grad():
        given = [t.detach().requires_grad_() for t in (x, w, u, b, c)]
        start = torch.zeros(1, x.shape[1], u.shape[1], dtype=x.dtype)
        y = torch._VF.lstm(given[0], (start, start), given[1:], True, 1, 0.0, True, False, False)[0]
        return (y.detach(), *torch.autograd.grad(y, given, g))


torchc = None       # torch.compile leaves the layer as it is
