"""The same decoder with activations rounded to 8 bits, in blocks of 32: products of integers."""
from benchmarks.works.decoder import BLOCK, PANEL, SIZE, SMALL, cost, inputs, numbers, token, torch, torchc  # noqa

TITLE = "decoder 30x576, 4 bits, int8"
RTOL, ATOL = 0, 0.5     # of results up to 10: where float32 and float64 round to other integers, all later ones differ


def graphc(gc, x, *weights):
    return token(gc, x, lambda y, k: gc.weights.quantized_matmul(y, gc.weights.Quantized(*weights[3 * k:3 * k + 3],
                                                                                         PANEL)), len(weights) // 12)


def numpy(np, x, *weights):
    def rounded(y):
        blocks = y.reshape((-1, BLOCK))
        step = np.abs(blocks).max(axis=1, keepdims=True) / 127
        return (np.round(blocks / step) * step).reshape(y.shape)
    floats = numbers(weights, x.dtype)
    return token(np, x, lambda y, k: rounded(y) @ floats[k], len(weights) // 12)
