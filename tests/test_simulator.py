"""Generated kernels of all kinds on a simulated OpenCL device, which looks for races, reads of what nobody wrote,
accesses outside buffers and barriers that not all reach (simulator.py); and that it finds such things."""

from __future__ import annotations

import sys
from collections.abc import Callable

import emulated_programs
import numpy as np
import programs as random_programs
import pytest
import simulator
import test_goldens

import graphc as gc
from graphc import driver
from graphc.codegen import gemm_gpu, gemv_gpu
from graphc.config import settings
from graphc.ir.program import KernelSource
from graphc.passes import attention_gradient, split
from graphc.runtime.device import Work


@pytest.fixture(autouse=True)
def simulated(backend):
    if not simulator.is_chosen(backend):
        pytest.skip("PYOPENCL_CTX=Oclgrind pytest --backend opencl")


def leaf(*shape: int, dtype: str = "float32") -> gc.Tensor:
    rng = np.random.default_rng(sum(shape))
    return gc.asarray((rng.random(shape) + 0.5).astype(getattr(gc, dtype).numpy))


def layernorm(x: gc.Tensor) -> gc.Tensor:
    return (x - gc.mean(x, axis=1, keepdims=True)) / gc.sqrt(gc.var(x, axis=1, keepdims=True) + 1e-5)


def scattered() -> gc.Tensor:
    x = leaf(5, 3)
    gc.add.at(x, gc.asarray(np.array([4, 0, 4])), leaf(3, 3))
    return x


def bias_of_logits() -> gc.Tensor:
    """A kernel of rows reads a number of each row where another could be stored, but items share the row."""
    labels = gc.asarray(np.arange(8) % 2)
    loss, slope = gc.value_and_grad(lambda b: gc.cross_entropy(leaf(8, 3) @ leaf(3, 2) + b, labels))(leaf(2))
    gc.realize(loss, slope)
    return slope + loss


def functions_of_complex_numbers() -> gc.Tensor:
    z = leaf(3, dtype="complex64") * (0.7 + 0.2j)
    names = ("conj exp expm1 log log1p log2 log10 sqrt sin cos sinh cosh tanh tan asinh atan asin acos acosh atanh "
             "sign abs real").split()
    return gc.stack([z / (z + 1), z ** z, *(getattr(gc, name)(z).astype("complex64") for name in names)])


def costly(x: gc.Tensor) -> gc.Tensor:
    """More than is written out for each of several elements."""
    for k in range(14):
        x = gc.tanh(x) * (0.5 + k)
    return x


PROGRAMS: dict[str, Callable[[], gc.Tensor]] = {
    "map": lambda: gc.tanh(leaf(300) * 0.5 + 1) - leaf(300),
    "map of broadcasts": lambda: leaf(3, 1, 50) * leaf(4, 1) + leaf(50),
    "map of views": lambda: gc.flip(leaf(7, 21).T, axis=1)[:, 2:] + 1,
    "rows": lambda: gc.sum(leaf(5, 70), axis=1),
    "long rows": lambda: gc.sum(leaf(2, 5000), axis=1),
    "columns": lambda: gc.sum(leaf(150, 9), axis=0),
    "long columns": lambda: gc.sum(leaf(700, 2), axis=0),
    "variance of rows": lambda: gc.var(leaf(2, 2300), axis=1),
    "variance of costly rows": lambda: gc.var(costly(leaf(2, 70)), axis=1),
    "variance of columns": lambda: gc.var(leaf(50, 20), axis=0),
    "softmax": lambda: gc.softmax(leaf(5, 130), axis=-1),
    "softmax of a long row": lambda: gc.softmax(leaf(1, 2100), axis=-1),
    "softmax of columns": lambda: gc.softmax(leaf(70, 20), axis=0),
    "layernorm": lambda: layernorm(leaf(6, 70)) * leaf(70),
    "extremes": lambda: gc.argmax(leaf(6, 300), axis=1),
    "halves": lambda: gc.sum(leaf(4, 200, dtype="float16") * leaf(200, dtype="float16"), axis=1),
    "complex numbers": lambda: gc.sum(leaf(4, 100, dtype="complex64") * leaf(100, dtype="complex64"), axis=1),
    "functions of complex numbers": functions_of_complex_numbers,
    "scan": lambda: gc.cumulative_sum(leaf(4, 50), axis=1),
    "scan of one line": lambda: gc.cumulative_sum(leaf(50)),
    "gather": lambda: gc.take(leaf(10, 20), gc.asarray(np.arange(3)), axis=0) * 2,
    "binary search": lambda: gc.searchsorted(gc.arange(21) * 0.07, leaf(33)),
    "scatter": scattered,
    "loop": lambda: gc.scan(lambda state, x: (gc.tanh(state + x), gc.sum(state)), leaf(7), leaf(4, 7))[1],
    "loop with a condition": lambda: gc.while_loop(lambda x: gc.max(x) < 9, lambda x: x * 2 + x[0], leaf(7)),
    "branch": lambda: gc.cond(gc.sum(leaf(7)) > 3, lambda x: gc.softmax(x), lambda x: x + 1, leaf(7)),
    "cross entropy": lambda: gc.cross_entropy(leaf(6, 30), gc.asarray(np.arange(6))),
    "product": lambda: gc.relu(leaf(5, 9) @ leaf(9, 60) + leaf(60)),
    "product of one row": lambda: leaf(1, 20) @ leaf(20, 9),
    "product of few rows, along rows": lambda: leaf(2, 20) @ leaf(9, 20).T,
    "stacks of products": lambda: leaf(2, 9, 3, dtype="int32") @ leaf(2, 3, 4, dtype="int32"),
    "small product": lambda: leaf(3, 5) @ leaf(5, 4),
    "members of a launch": lambda: gc.concat([gc.softmax(leaf(3 + k, 70), axis=1) for k in range(3)], axis=0),
    "numbers of a generator": lambda: gc.random.Generator(5).normal(size=(33,)),
    "sorted rows": lambda: gc.take_along_axis(leaf(4, 9), gc.argsort(leaf(4, 9), axis=1), axis=1) + 1,
    "rows that might be written over": bias_of_logits,
    "convolution": lambda: gc.conv2d(leaf(1, 1, 4, 4), leaf(8, 1, 2, 2)),
    "attention by two blocks of keys": lambda: gc.scaled_dot_product_attention(leaf(1, 5, 10), leaf(1, 66, 10),
                                                                               leaf(1, 66, 2)),
    "attention to turned keys": lambda: gc.scaled_dot_product_attention(
        leaf(1, 5, 10), gc.permute_dims(leaf(1, 10, 66), (0, 2, 1)), gc.permute_dims(leaf(1, 2, 66), (0, 2, 1))),
    "attention to some keys": lambda: gc.scaled_dot_product_attention(leaf(1, 5, 3), leaf(1, 6, 3), leaf(1, 6, 2),
                                                                      attn_mask=gc.arange(6) < 4),
}


def gradient_of_attention(queries: int, keys: int, **options) -> tuple[gc.Tensor, ...]:
    arrays = leaf(1, queries, 10), leaf(1, keys, 10), leaf(1, keys, 3)
    _, pull = gc.vjp(lambda *arrays: gc.scaled_dot_product_attention(*arrays, **options), *arrays)
    return pull(leaf(1, queries, 3))


def output_that_is_read_again() -> tuple[gc.Tensor, ...]:
    x = leaf(5, 70)
    below = x - gc.max(x, axis=1, keepdims=True)
    weight = gc.exp(below)
    return weight, weight * gc.sum(abs(below), axis=1, keepdims=True)


# What otherwise only large arrays have, for which a simulator takes too long: `lower_limits`.
LARGE: dict[str, Callable[[], tuple[gc.Tensor, ...]]] = {
    "neighbours that move together": lambda: ((x := leaf(7, 68)) * 2 + x[0], x.astype("float16") * 3,
                                              gc.reshape(x, (-1,))[1:] + 1),
    "coordinates that carry": lambda: ((x := leaf(7, 68))[:, 1:] - x[:, :-1],),
    "a reduction in two kernels": lambda: ((x := leaf(5000)) / gc.sum(x),),     # the second half is a prologue
    "chunks of a product": lambda: (leaf(17, 17, dtype="float16") @ leaf(17, 9, dtype="float16"),),
    "chunks of a product of few rows": lambda: (leaf(3, 70) @ leaf(70, 9),),
    "an output that is read again": output_that_is_read_again,
    "gradient of attention": lambda: gradient_of_attention(5, 6),
    "gradient of attention, causal": lambda: gradient_of_attention(6, 6, is_causal=True),
    "gradient of attention to some keys": lambda: gradient_of_attention(5, 6, attn_mask=gc.arange(6) < 4),
}


def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "MIN_OF_GROUPS", 4096)
    monkeypatch.setattr(sys.modules["graphc.passes.chunks"], "LARGE_MAP", 400)
    monkeypatch.setattr(gemm_gpu, "CHUNK", 16)
    monkeypatch.setattr(gemv_gpu, "CHUNK", 16)
    monkeypatch.setattr(attention_gradient, "worth_computing_again", lambda *sizes: True)


@pytest.fixture
def low_limits(monkeypatch):
    lower_limits(monkeypatch)
    driver.forget_programs()
    yield
    driver.forget_programs()


def shorten_goldens(monkeypatch: pytest.MonkeyPatch) -> None:
    short = emulated_programs.short
    monkeypatch.setattr(test_goldens, "leaf", emulated_programs.random_leaf(short))
    monkeypatch.setattr(test_goldens, "numbers", lambda count: gc.asarray(np.arange(*short((count,)))))


GOLDENS = test_goldens.ALL.keys() - {"attention_gradient"}      # which is among LARGE


def verified(results: tuple[gc.Tensor, ...]) -> None:
    with settings.override(verify=True):
        gc.realize(*results)


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_run_clean(name):
    gc.set_backend("reference")
    try:
        expected = PROGRAMS[name]().numpy()
    finally:
        gc.set_backend("opencl")
    rtol = 1e-3 if expected.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(PROGRAMS[name]().numpy(), expected, rtol, 1e-6)


@pytest.mark.parametrize("name", LARGE)
def test_what_large_arrays_have_runs_clean(low_limits, name):
    verified(LARGE[name]())


@pytest.mark.parametrize("queries, keys, wanted", [(5, 66, slice(1)), (66, 5, slice(1, 3))], ids=["keys", "queries"])
def test_gradients_by_several_blocks_run_clean(low_limits, queries, keys, wanted):
    """.ci/run leaves them out for their time."""
    verified(gradient_of_attention(queries, keys)[wanted])


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_golden_programs_run_clean(monkeypatch, name):
    shorten_goldens(monkeypatch)
    emulated_programs.run(name)


SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_small_programs_run_clean(seed, programs):
    for one in range(seed, max(programs // 10, len(SEEDS)), len(SEEDS)):
        verified(random_programs.small(one).results())


BAD = {
    "Write-write data race": "if (get_local_id(0) < 2) y[0] = get_local_id(0);",
    "Read-write data race": "__local float t; if (get_local_id(0) == 0) t = 1; if (get_local_id(0) == 1) y[1] = t;",
    "Invalid write": "y[get_local_id(0) + 1] = 1;",
    "Invalid read": "if (y[get_local_id(0) + 1] > 5) y[0] = 1;",
    "Uninitialized value": "__local float t[256]; y[get_local_id(0)] = t[get_local_id(0)];",
    "divergence": "if (get_local_id(0) < 3) barrier(CLK_LOCAL_MEM_FENCE);",
}


def run_bad(what: str) -> None:
    text = ("typedef struct { long w[1]; } words;\n__kernel __attribute__((reqd_work_group_size(256, 1, 1)))\n"
            f"void bad(__global float *y, const words w, __global int *fault) {{ {BAD[what]} }}")
    device = driver.backend_of("opencl")
    y = device.from_numpy(np.zeros(256, np.float32))
    queue = y.pool.queue
    queue.launch(queue.build(KernelSource("bad", text)), [Work(1, [y], np.zeros(1, np.int64))], 0, y)
    y.view(np.float32, (256,))


@pytest.mark.parametrize("what", BAD)
def test_what_is_bad_is_found(what):
    assert simulator.findings() == ""
    run_bad(what)
    assert what in simulator.findings()


@pytest.mark.xfail(raises=simulator.FindingError, strict=True, reason="a finding fails the test that caused it")
def test_a_finding_fails_a_test():
    run_bad("Write-write data race")
