"""Attention of eight heads: softmax(q k^T / sqrt(d)) v."""
from benchmarks.works import Cost

TITLE = "attention 8x512x64"
SIZE, SMALL = (8, 512, 64), (2, 11, 8)
ATOL = 1e-5


def inputs(random, heads, length, width):
    return tuple(random.standard_normal((heads, length, width), "float32") for _ in range(3))


def cost(heads, length, width):
    flops = heads * length * length * (4 * width + 24)
    return Cost(reads=12 * heads * length * width, writes=4 * heads * length * width, flops=flops)


def array(xp, q, k, v):
    scores = q @ xp.swapaxes(k, 1, 2) * q.shape[2] ** -0.5
    e = xp.exp(scores - xp.max(scores, axis=2, keepdims=True))
    return e / xp.sum(e, axis=2, keepdims=True) @ v


def torch(torch, q, k, v):      # the fast form wants a batch axis
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
