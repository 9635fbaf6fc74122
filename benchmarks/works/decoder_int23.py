"""The same decoder with activations rounded to 23 bits, in blocks of 32: products of integers, as exact as float32."""
from benchmarks.works.decoder import (ATOL, BLOCK, PANEL, RTOL, SIZE, SMALL, cost, inputs, numpy,  # noqa
                                      token, torch, torchc)

TITLE = "decoder 30x576, 4 bits, int23"


def graphc(gc, x, *weights):
    def product(y, k):
        return gc.weights.quantized_matmul(y, gc.weights.Quantized(*weights[3 * k:3 * k + 3], PANEL), 23)
    return token(gc, x, product, len(weights) // 12)
