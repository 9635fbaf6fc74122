"""The C of some twenty programs, as text: a change of the templates or of a pass shows in the diff of tests/goldens/c/.

pytest tests/test_goldens.py --update-goldens writes them; read the diff before you commit it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
import pytest

import graphc as gc
from graphc import canonical
from graphc.build import build


@pytest.fixture(autouse=True)
def vectors(monkeypatch):
    """Those of AVX-512, whatever this machine has."""
    for module in ("passes.lower", "codegen.reductions_c"):
        monkeypatch.setattr(importlib.import_module(f"graphc.{module}"), "vector_bytes", lambda: 64)


def leaf(*shape: int, dtype: str = "float32") -> gc.Tensor:
    return gc.asarray(np.ones(shape, getattr(gc, dtype).numpy))


def numbers(count: int) -> gc.Tensor:
    return gc.asarray(np.arange(count))


def black_scholes():
    price, strike, years = leaf(5000), leaf(5000), leaf(5000)
    rate, volatility = 0.03, 0.3
    root = volatility * gc.sqrt(years)
    d1 = (gc.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root

    def normal(x):
        return 0.5 * (1 + gc.erf(x * 0.7071067811865476))
    return price * normal(d1) - strike * gc.exp(-rate * years) * normal(d2)


def layernorm():
    x = leaf(64, 300)
    return (x - gc.mean(x, axis=1, keepdims=True)) / gc.sqrt(gc.var(x, axis=1, keepdims=True) + 1e-5) * leaf(300)


def laplacian():
    x = leaf(100, 120)
    return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]


def gram(x):
    return x.mT @ x / 29


def adam():
    p, g, m, v = (leaf(1000) for _ in range(4))
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 0.01 * m / (gc.sqrt(v) + 1e-8), m, v


def large_map():
    x = leaf(1024, 1024)
    return x * 2 + x[0]


def distances():
    x, y = leaf(200, 16), leaf(300, 16)
    return gc.sum((x[:, None] - y[None]) ** 2, axis=-1)


def scattered():
    x = leaf(50, 3)
    gc.add.at(x, numbers(40), leaf(40, 3))
    return x


PROGRAMS: dict[str, Callable] = {
    "chain": lambda: gc.tanh(leaf(3000) * 0.5 + 1) - leaf(3000),
    "large_map": large_map,
    "broadcast": lambda: leaf(30, 1, 50) * leaf(40, 1) + leaf(50),
    "softmax": lambda: gc.softmax(leaf(64, 300), axis=-1),
    "softmax_columns": lambda: gc.softmax(leaf(300, 64), axis=0),
    "layernorm": layernorm,
    "variance_columns": lambda: gc.var(leaf(500, 200), axis=0),
    "norm_of_many": lambda: gc.sqrt(gc.sum(leaf(1_000_000) ** 2)),
    "argmax": lambda: gc.argmax(leaf(64, 300), axis=1),
    "cross_entropy": lambda: gc.cross_entropy(leaf(64, 300), numbers(64)),
    "black_scholes": black_scholes,
    "laplacian": laplacian,
    "distances": distances,
    "nearest": lambda: gc.argmin(distances(), axis=1),
    "adam": adam,
    "matmul_bias_relu": lambda: gc.relu(leaf(70, 60) @ leaf(60, 90) + leaf(90)),
    "matmul_direct": lambda: leaf(8, 20, 30) @ leaf(8, 30, 40),
    "matmul_bfloat16_gelu": lambda: gc.gelu(leaf(70, 30, dtype="bfloat16") @ leaf(30, 90, dtype="bfloat16")
                                            + leaf(90, dtype="bfloat16")),
    "covariance": lambda: gram(leaf(30, 170)),
    "transposed_large": lambda: leaf(1200, 1000).mT + 1,
    "heads_large": lambda: gc.permute_dims(leaf(64, 60, 8, 36), (0, 2, 1, 3)) * 2,
    "matmul_few_rows": lambda: leaf(3, 430) @ leaf(430, 80),
    "matmul_one_narrow_row": lambda: leaf(700) @ leaf(700, 12),
    "matmul_few_rows_turned": lambda: leaf(7, 700) @ leaf(50, 700).mT,
    "attention": lambda: gc.scaled_dot_product_attention(leaf(2, 100, 24), leaf(2, 80, 24), leaf(2, 80, 24),
                                                         is_causal=True),
    "running_sum": lambda: gc.cumulative_sum(leaf(40, 50), axis=0),
    "gather": lambda: gc.take(leaf(100, 20), numbers(30), axis=0) * 2,
    "scatter": scattered,
    "concat_and_pad": lambda: gc.pad(gc.concat([leaf(10, 20), gc.exp(leaf(5, 20))], axis=0), ((1, 1), (0, 0))),
    "transpose_and_flip": lambda: gc.flip(leaf(40, 50).T, axis=1) + 1,
    "half_precision": lambda: gc.sum(leaf(40, 500, dtype="float16") * leaf(500, dtype="float16"), axis=1),
    "integers": lambda: leaf(500, dtype="int16") // leaf(500, dtype="int16") % 7,
    "complex_numbers": lambda: gc.abs(leaf(500, dtype="complex64") * leaf(500, dtype="complex64")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_c_of(name: str, golden):
    """Long helpers stand in a file of their own."""
    text = text_of(name, "c")
    if name == "attention":
        start = text.index("\nint64_t contract_") + 1
        golden("c/attention_helpers.c", text[:start])
        text = text[start:]
    golden(f"c/{name}.c", text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_opencl_of(name: str, golden):
    """The bodies of the GPU family, without the preamble, which stands in a file of its own."""
    golden(f"opencl/{name}.cl", "\n".join(map(without_preamble, text_of(name, "opencl", "\0").split("\0"))))


def without_preamble(kernel: str) -> str:
    return kernel[kernel.index("typedef struct { int64_t w["):]


@pytest.mark.parametrize("dialect, suffix", [("cuda", "cu"), ("hip", "hip")])
@pytest.mark.parametrize("name", ["softmax", "matmul_bias_relu", "complex_numbers"])
def test_the_dialects_of(name: str, dialect: str, suffix: str, golden):
    golden(f"{dialect}/{name}.{suffix}", text_of(name, dialect))


@gc.fast_math()
def matmul_fast_math():
    return gc.exp(leaf(70, 30) @ leaf(30, 90) * 0.5 + leaf(90)) / 3.0


def attention_gradient():
    q, k, v, g = leaf(2, 300, 40), leaf(2, 300, 40), leaf(2, 300, 70), leaf(2, 300, 70)
    _, pull = gc.vjp(lambda k, v: gc.scaled_dot_product_attention(q, k, v, is_causal=True), k, v)
    return pull(g)


def matmul_of_many():
    a, b = (gc.asarray(np.ones(shape, gc.bfloat16.numpy)) for shape in ((2048, 64), (64, 1024)))
    return gc.relu(a @ b + b[0])


ALL = PROGRAMS | {"matmul_fast_math": matmul_fast_math, "attention_gradient": attention_gradient}
LARGE = {"matmul_of_many": matmul_of_many}      # a block of it takes a multiprocessor by itself on older devices


@pytest.mark.parametrize("name, dialect, file", [
    ("matmul_bfloat16_gelu", "cuda", "cuda/matmul_bfloat16_gelu.cu"),
    ("matmul_fast_math", "cuda", "cuda/matmul_fast_math.cu"),
    ("matmul_of_many", "cuda-hopper", "cuda/matmul_of_many.cu"),
    ("matmul_bfloat16_gelu", "hip-cdna", "hip/matmul_bfloat16_gelu.hip")])
def test_the_matrix_unit(name, dialect, file, golden):
    golden(file, text_of(name, dialect))


@pytest.mark.parametrize("dialect, suffix", [("cuda", "cu"), ("hip", "hip"), ("opencl", "cl")])
def test_the_gradient_of_attention(dialect, suffix, golden):
    """Of the keys and the values, in one kernel."""
    (kernel,) = (text for text in text_of("attention_gradient", dialect, "\0").split("\0") if "weighted_" in text)
    golden(f"{dialect}/attention_gradient.{suffix}", without_preamble(kernel))


def text_of(name: str, dialect: str, between: str = "\n") -> str:
    results = (ALL | LARGE)[name]()
    roots = [t.node for t in (results if isinstance(results, tuple) else (results,))]
    program = build(canonical.canonicalize(roots), dialect).program
    return between.join(kernel.text for kernel in program.kernels)
