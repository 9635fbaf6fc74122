"""The works, in the order of the table. A work is one module of this folder with these names:

    TITLE       its row in the table
    SIZE        arguments of inputs() and cost(); SMALL: tiny ones, to try the runner
    inputs(random, *size)     a tuple of NumPy arrays from a numpy.random.Generator
    cost(*size)               Cost(reads, writes, flops): bytes that must move and operations that must happen
    array(xp, *inputs)        the formula for NumPy, JAX and graphc, whose namespace is `xp`
    torch(torch, *inputs)     the same as a user of PyTorch writes it; also given to torch.compile

and, where they apply,

    numpy, jax, graphc, numexpr   in the place of array() for that peer, with the same arguments
    numba(numba)                  returns the compiled function
    RTOL, ATOL                    how far an answer may be from the float64 reference (1e-4 and 1e-6)
    MISMATCH                      the share of elements that may be further (0)
    RESULT                        the dtype of the answer (the first input's)

An answer may be a tuple of arrays. A work without a formula for NumPy, one with gradients, is checked against graphc's
reference backend in float64.

A work whose name ends in a number, such as gemm_256, is the module of the name before it, of that size.
"""
from __future__ import annotations

import importlib
from types import ModuleType

from msgspec import Struct

# Fused loops: the ten rows of which the geometric mean is taken.
TEN = ("black_scholes", "chain", "mandelbrot", "softmax", "layernorm", "variance", "norm", "pairwise",
       "cross_entropy", "laplacian")
MORE = ("gemm_256", "gemm_512", "gemm_1024", "gemm_2048", "gemm_odd", "gemm_f64", "gemv", "decode_1", "decode_8",
        "decode_16", "covariance", "gram", "logistic", "stack_16", "stack_32", "gelu_mlp", "conv2d", "depthwise",
        "depthwise_wide", "conv1d", "attention", "attention_causal", "three_ops", "tanh_mlp")
NARROW = ("gemm_bf16_1024", "gemm_bf16_2048", "gemm_int8_1024", "gemm_int8_2048", "decode_bf16_8", "decode_bf16_32")
TRAINING = ("mlp_step", "convnet_step", "conv_backward", "lstm_backward", "block_backward")
DECODERS = ("decoder", "decoder_int23", "decoder_int8")
ALL = TEN + MORE + NARROW + DECODERS + TRAINING


class Cost(Struct, frozen=True):
    """What no implementation can avoid. An exp, log, erf or tanh counts as 20 flops, a polynomial of degree ten."""

    reads: int          # bytes
    writes: int         # bytes
    flops: float = 0.0
    unit: str = ""      # the dtype of factors that a matrix unit multiplies

    @property
    def bytes(self) -> int:
        return self.reads + self.writes


def load(name: str) -> ModuleType:
    """The module of a work. Raises ValueError, which lists the works, for an unknown name."""
    if name not in ALL:
        raise ValueError(f"no work {name!r}; there are {', '.join(ALL)}")
    module, _, number = name.rpartition("_")
    if not number.isdigit():
        return importlib.import_module(f"benchmarks.works.{name}")
    general = importlib.import_module(f"benchmarks.works.{module}")
    work = ModuleType(f"{general.__name__}_{number}", general.__doc__)
    vars(work).update({k: v for k, v in vars(general).items() if not k.startswith("__")})
    work.TITLE, work.SIZE = f"{general.TITLE} {number}", (int(number),)
    return work


def erf(xp: ModuleType):
    """The erf of a namespace: NumPy has it in SciPy, JAX in jax.scipy and CuPy in cupyx.scipy."""
    if hasattr(xp, "erf"):
        return xp.erf
    home = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special", "cupy": "cupyx.scipy.special"}[xp.__name__]
    return importlib.import_module(home).erf
