"""A transformer block (causal attention of 8 heads, GELU MLP, both on normalised copies): value and all gradients."""
from benchmarks.works import Cost, erf

TITLE = "transformer block 4x256x512, gradients"
SIZE, SMALL = (4, 256, 512, 8), (2, 6, 8, 2)
RTOL, ATOL = 1e-3, 1e-3


def inputs(random, batch, length, width, heads):
    def normal(scale, *shape):
        return random.standard_normal(shape, "float32") * scale

    shapes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
    return (normal(1, batch, length, width), *[normal(s[0]**-0.5, *s) for s in shapes],
            *[normal(0.1, width) + 1 for _ in range(2)], normal(1, batch, length, width),
            random.random((heads,), "float32"))


def cost(batch, length, width, heads):
    values = 12 * width**2 + 2 * width
    rows = batch * length
    return Cost(reads=4 * (2 * rows * width + values + heads), writes=4 * (2 * rows * width + values),
                flops=6 * rows * 12 * width**2 + 6 * rows * length * width)


def block(attention, normed, gelu, x, qkv, out, up, down, first, second, heads):
    batch, length, width = x.shape
    parts = (normed(x, first) @ qkv).reshape(batch, length, 3, heads, width // heads)
    q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
    x = x + attention(q, k, v).swapaxes(1, 2).reshape(batch, length, width) @ out
    return x + gelu(normed(x, second) @ up) @ down


def graphc(gc, *given):
    *values, g, heads = given

    def attention(q, k, v):
        return gc.scaled_dot_product_attention(q, k, v, is_causal=True)

    def normed(x, weight):
        return gc.nn.layer_norm(x, x.shape[-1], weight)
    y, pull = gc.vjp(lambda *a: block(attention, normed, gc.gelu, *a, heads.shape[0]), *values)
    return (y, *pull(g))


def jax(xp, *given):
    import jax

    *values, g, heads = given

    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1]**-0.5
        seen = xp.tril(xp.ones(scores.shape[-2:], bool))
        return jax.nn.softmax(xp.where(seen, scores, -xp.inf)) @ v

    def normed(x, weight):
        x = x - x.mean(-1, keepdims=True)
        return x / xp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight

    def gelu(x):
        return 0.5 * x * (1 + erf(xp)(x * 0.5**0.5))
    y, pull = jax.vjp(lambda *a: block(attention, normed, gelu, *a, len(heads)), *values)
    return (y, *pull(g))


def torch(torch, *given):
    *values, g, heads = given
    F = torch.nn.functional

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def normed(x, weight):
        return F.layer_norm(x, x.shape[-1:], weight)
    with torch.enable_grad():
        values = [t.detach().requires_grad_() for t in values]
        y = block(attention, normed, F.gelu, *values, len(heads))
        return (y.detach(), *torch.autograd.grad(y, values, g))
