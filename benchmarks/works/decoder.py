"""A token of a decoder of SmolLM2's shape, the first of its sequence, with random weights in 4 bits: bound by reading
them. torch and NumPy, who have no product that unpacks such weights, keep them in float32."""
import numpy as np

from benchmarks.works import Cost

TITLE = "decoder 30x576, 4 bits"
SIZE, SMALL = (30, 576, 1536), (1, 192, 96)     # layers, width, hidden width
RTOL, ATOL = 1e-3, 1e-3
BLOCK, PANEL, HEAD = 32, 64, 64
_floats: dict = {}


def shapes(width, hidden):
    """Rows and columns of the four weights of a layer: q, k and v; out; gate and up; down."""
    return (width // 3 * 5, width), (width, width), (2 * hidden, width), (width, hidden)


def inputs(random, layers, width, hidden):
    arrays = [random.standard_normal((1, width), "float32")]
    for _ in range(layers):
        for rows, columns in shapes(width, hidden):
            panels = rows // PANEL, columns // BLOCK, PANEL     # as gc.weights.Quantized packs them
            scale = (random.uniform(0.1, 0.3, panels) / columns**0.5).astype(np.float16)
            words = random.integers(-(2**31), 2**31, (*panels[:2], BLOCK // 8, PANEL), dtype=np.int32)
            arrays += [words, scale, (-7.5 * scale).astype(np.float16)]
    return tuple(arrays)


def cost(layers, width, hidden):
    weights = layers * sum(rows * columns for rows, columns in shapes(width, hidden))
    return Cost(reads=weights * 5 // 8 + 4 * width, writes=4 * width, flops=2 * weights)


def token(xp, x, product, layers):
    """`product(x, number)`: x times a weight. One token sees itself alone, so attention hands on the values."""
    width = x.shape[1]

    def norm(x):
        return x * xp.sqrt(width / ((x * x).sum(axis=-1, keepdims=True) + 1e-5))
    for k in range(0, 4 * layers, 4):
        values = product(norm(x), k)[:, -(width // 3):].reshape((-1, 1, HEAD))
        x = x + product(xp.concat([values] * 3, axis=1).reshape((1, width)), k + 1)
        both = product(norm(x), k + 2)
        gate, up = both[:, :both.shape[1] // 2], both[:, both.shape[1] // 2:]
        x = x + product(gate / (1 + xp.exp(-gate)) * up, k + 3)
    return x


def graphc(gc, x, *weights):
    return token(gc, x, lambda y, k: y @ gc.weights.Quantized(*weights[3 * k:3 * k + 3], PANEL).dequantize().mT,
                 len(weights) // 12)


def numbers(weights, dtype):
    """The weights in floating point, turned; made once."""
    key = id(weights[0]), np.dtype(dtype)
    if key not in _floats:
        _floats.clear()
        found = []
        for words, scale, offset in zip(weights[::3], weights[1::3], weights[2::3], strict=True):
            codes = np.asarray(words)[:, :, :, None, :] >> np.arange(0, 32, 4, dtype=np.int32)[:, None] & 15
            codes = codes.reshape((*scale.shape[:2], BLOCK, PANEL)).astype(dtype)
            value = codes * np.asarray(scale)[:, :, None].astype(dtype) + np.asarray(offset)[:, :, None].astype(dtype)
            found.append(value.reshape((len(value), -1, PANEL)).swapaxes(0, 1).reshape((-1, len(value) * PANEL)))
        _floats[key] = weights, found
    return _floats[key][1]


def numpy(np, x, *weights):
    floats = numbers(weights, x.dtype)
    return token(np, x, lambda y, k: y @ floats[k], len(weights) // 12)


def torch(torch, x, *weights):
    key = id(weights[0])
    if key not in _floats:
        floats = numbers(weights, np.float32)
        _floats[key] = [torch.from_numpy(w.T.copy()) for w in floats]
    return token(torch, x, lambda y, k: torch.nn.functional.linear(y, _floats[key][k]), len(weights) // 12)


torchc = None       # which would compile how the weights are unpacked
