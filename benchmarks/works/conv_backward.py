"""A convolution 3x3 with bias and ReLU, 64 -> 64 channels: its value and its three gradients."""
from benchmarks.works import Cost, conv2d

TITLE = "conv 3x3 64->64 16x56x56, gradients"
SIZE, SMALL = (16, 64, 56), (2, 5, 9)
RTOL, ATOL = 1e-3, 1e-2     # sums of 50,176 products
MISMATCH = 1e-4             # where ReLU's argument is nearly 0


def inputs(random, batch, channels, size):
    return (*conv2d.inputs(random, batch, channels, size),
            random.standard_normal((batch, channels, size, size), "float32"))


def cost(batch, channels, size):
    image, weights = batch * channels * size**2, channels * (9 * channels + 1)
    return Cost(reads=4 * (2 * image + weights), writes=4 * (2 * image + weights),
                flops=3 * conv2d.cost(batch, channels, size).flops)


def graphc(gc, x, w, b, g):
    y, pull = gc.vjp(lambda x, w, b: conv2d.graphc(gc, x, w, b), x, w, b)
    return (y, *pull(g))


def jax(xp, x, w, b, g):
    import jax

    y, pull = jax.vjp(lambda x, w, b: conv2d.jax(xp, x, w, b), x, w, b)
    return (y, *pull(g))


def torch(torch, x, w, b, g):
    with torch.enable_grad():
        given = [t.detach().requires_grad_() for t in (x, w, b)]
        y = conv2d.torch(torch, *given)
        return (y.detach(), *torch.autograd.grad(y, given, g))
