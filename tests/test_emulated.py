"""The kernels of CUDA and HIP, run on the CPU in three orders of their threads, against the reference: the programs of
the goldens on random data, and small random programs. `pytest --backend cuda-emulated` runs the whole suite so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import emulated_programs
import numpy as np
import programs as random_programs
import pytest
import test_goldens
from differential import at_once, every_node

import graphc as gc
from graphc import driver
from graphc.errors import NoCompilerError
from graphc.runtime import backend as backends
from graphc.runtime import emulator
from graphc.runtime.emulated import HipEmulated
from graphc.tolerances import equal_bits

SEEDS = (0, 3, 9, 11)     # 9: a team without a row of its own must not report an index

SANITIZED = ("concat_and_pad", "cross_entropy", "matmul_bias_relu")
LONG = tuple(name for name in test_goldens.ALL if name not in SANITIZED)

try:
    emulator.find_compiler()
except NoCompilerError as error:
    pytest.skip(error.message, allow_module_level=True)


@pytest.fixture(params=["cuda-emulated", "hip-emulated"])
def device(request) -> Iterator[str]:
    before = gc.get_backend_name()
    gc.set_backend(request.param)
    yield request.param
    gc.set_backend(before)


@pytest.mark.parametrize("name", test_goldens.ALL)
def test_golden_programs(device, monkeypatch, name):
    monkeypatch.setattr(test_goldens, "leaf", emulated_programs.random_leaf())
    emulated_programs.run(name)


@pytest.mark.parametrize("name", ["softmax", "argmax", "variance_columns"])
def test_the_narrow_wavefront_of_hip(monkeypatch, name):
    narrow = HipEmulated()
    narrow.wavefront, narrow.dialect = 32, "hip-rdna3"
    monkeypatch.setitem(driver._backends, "hip-emulated", narrow)
    monkeypatch.setattr(driver, "_current", "hip-emulated")
    monkeypatch.setattr(test_goldens, "leaf", emulated_programs.random_leaf())
    driver.forget_programs()
    emulated_programs.run(name)
    driver.forget_programs()


@pytest.mark.parametrize("names", [SANITIZED, LONG], ids=["some", "the others"])
def test_no_kernel_leaves_its_buffers(names, programs):
    """Each buffer of a launch is a block of its own, of exactly its size."""
    if names is LONG and programs <= 1000:
        pytest.skip("for .ci/long")
    cc = emulator.find_compiler()
    library = subprocess.run([*cc.command, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    if not os.path.isabs(library.stdout.strip()):
        pytest.skip(f"{cc.command[0]} has no AddressSanitizer for shared objects")
    environment = {**os.environ, "LD_PRELOAD": library.stdout.strip(),
                   "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    for device in ("cuda-emulated", "hip-emulated") if names is LONG else ("cuda-emulated",):
        done = subprocess.run([sys.executable, emulated_programs.__file__, device, *names], env=environment,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "Sanitizer" not in done.stderr, done.stderr[-4000:]
        assert done.stdout.strip() == f"{len(names)} programs"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(device, seed):
    program = random_programs.small(seed)
    with np.errstate(all="ignore"):
        together, apart = at_once(program), every_node(program)
    for x, y in zip(together, apart, strict=True):
        assert equal_bits(x, y), program


NEIGHBOURS = {
    "broadcast": lambda x: x * 2 + x[0],
    "shifted": lambda x: x[:, 1:] + x[:, :-1],
    "from the second on": lambda x: gc.reshape(x, (-1,))[1:] * 3,
    "a part of each row": lambda x: x[:, :2000] * x[:, 4:2004],
    "columns": lambda x: x + x[:, :1],
    "halves": lambda x: x.astype(gc.float16) * 2,
    "one byte": lambda x: x > 0,
    "eight bytes": lambda x: x.astype(gc.float64) / 3,
    "padded": lambda x: gc.pad(x, ((0, 0), (4, 4))) + 1,
    "three axes, turned": lambda x: gc.permute_dims(gc.reshape(x[:, :2000], (3, 40, 50)), (2, 0, 1)) * 2,
    "four axes, turned": lambda x: gc.permute_dims(gc.reshape(x[:, :2010], (3, 3, 2, 335)), (3, 0, 2, 1)) * 2,
}


@pytest.mark.parametrize("columns", [2012, 2011])
def test_neighbours_that_move_together(device, monkeypatch, columns):
    """Items of large maps take several neighbours at a time where these lie together: the same bits."""
    if backends.status()["cpu"] is not None:
        pytest.skip("there is no C compiler")
    monkeypatch.setattr(sys.modules["graphc.passes.chunks"], "LARGE_MAP", 3000)
    driver.forget_programs()
    array = np.random.default_rng(4).standard_normal((3, columns)).astype(np.float32)

    def results() -> list[np.ndarray]:
        x = gc.asarray(array)
        wanted = [f(x) for f in NEIGHBOURS.values()]
        gc.realize(*wanted)
        return [y.numpy() for y in wanted]
    found = results()
    gc.set_backend("cpu")
    assert all(equal_bits(a, b) for a, b in zip(found, results(), strict=True))
    driver.forget_programs()


EXACT = {
    "rows": lambda x: gc.sum(x, axis=1),
    "columns": lambda x: gc.sum(x, axis=0),
    "norm": lambda x: gc.sqrt(gc.sum(x * x)),
    "normalised": lambda x: (x - gc.mean(x, axis=1, keepdims=True)) / gc.sqrt(gc.var(x, axis=1, keepdims=True) + 1e-5),
    "variance": lambda x: gc.var(x, axis=0),
    "long rows": lambda x: gc.sum(gc.reshape(x, (3, 7700)), axis=1),
    "variance of long rows": lambda x: gc.var(gc.reshape(x, (3, 7700)), axis=1),
    "long columns": lambda x: gc.sum(gc.reshape(x, (1925, 12)), axis=0),
    "variance of long columns": lambda x: gc.var(gc.reshape(x, (1925, 12)), axis=0),
    "maxima of long columns": lambda x: gc.max(gc.reshape(x, (1925, 12)), axis=0),
    "half of long columns": lambda x: gc.sum(gc.reshape(x, (2100, 11))[::2], axis=0),
    "product": lambda x: x @ gc.transpose(x),
    "product of a row": lambda x: x[0] @ gc.transpose(x),
    "products of few rows": lambda x: gc.relu(x[:3] @ gc.reshape(x, (1100, 21)) + x[0, :21]),
    "products of few rows, along rows": lambda x: x[:9].astype(gc.float16) @ gc.transpose(x.astype(gc.float16)),
    "stacks of products": lambda x: gc.reshape(x[:20, :990], (4, 5, 990)) @ gc.reshape(x[:20, :990], (4, 990, 5)),
    "halves": lambda x: x[:, :500].astype(gc.float16) @ gc.transpose(x[:, :500].astype(gc.float16)),
    "factors and what follows": lambda x: gc.relu(abs(x[:, :333]) @ (gc.reshape(x, (1100, 21))[:333] * 2) + x[0, :21]),
    "running": lambda x: gc.cumulative_sum(x, axis=1),
}


@pytest.mark.parametrize("name", EXACT)
def test_sums_and_products_have_the_bits_of_the_cpu(device, name):
    """Orders are spelled out (docs/numerics.md); only functions such as exp are each library's own."""
    if backends.status()["cpu"] is not None:
        pytest.skip("there is no C compiler")
    x = np.random.default_rng(3).standard_normal((21, 1100)).astype(np.float32)
    found = EXACT[name](gc.asarray(x)).numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, EXACT[name](gc.asarray(x)).numpy())


STATISTICS = {"sum": gc.sum, "mean": gc.mean, "variance": gc.var, "deviation": gc.std, "maximum": gc.max,
              "norm": lambda x, axis: gc.sum(x * x, axis=axis)}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [5, 33, 1100])
@pytest.mark.parametrize("names", [("deviation", "sum"), ("sum", "deviation"), ("maximum", "variance", "norm", "mean")])
def test_statistics_of_one_array_in_any_order(device, names, length, axis):
    """They are one kernel, where the mean of the deviations is the sum of another."""
    array = np.random.default_rng(3).standard_normal((7, length) if axis else (length, 7)).astype(np.float32) + 2

    def statistics(x: gc.Tensor) -> list[np.ndarray]:
        found = [STATISTICS[name](x, axis=axis) for name in names]
        assert len(gc.plan(*found).kernels) == 1 or length == 5    # a map then
        gc.realize(*found)
        return [y.numpy() for y in found]
    of_device = statistics(gc.asarray(array))
    gc.set_backend("reference")
    x = gc.asarray(array)
    for name, found in zip(names, of_device, strict=True):
        np.testing.assert_allclose(found, STATISTICS[name](x, axis=axis).numpy(), rtol=1e-5)


@pytest.mark.parametrize("many", [1, 5])
def test_large_blocks_of_products(device, monkeypatch, many):
    """As where they fill a device: 128 rows by 128 or, where these are too few, by 64 columns; two chunks of k."""
    if backends.status()["cpu"] is not None:
        pytest.skip("there is no C compiler")
    monkeypatch.setattr(sys.modules["graphc.passes.contract"], "MANY_BLOCKS", many)
    rng = np.random.default_rng(6)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((131, 517), (517, 140), (140,))]

    def results() -> list[np.ndarray]:
        a, b, c = map(gc.asarray, arrays)
        driver.forget_programs()
        wanted = [gc.relu(a @ b + c), a.T[:131] @ b[:131], (a[:, :40] * 2) @ b.T[:, :40].T]
        return [y.numpy() for y in wanted]
    found = results()
    gc.set_backend("cpu")
    assert all(equal_bits(x, y) for x, y in zip(found, results(), strict=True))
    driver.forget_programs()


def test_gradients_of_attention_compute_scores_again(device, monkeypatch):
    """Of several blocks on the diagonal; and, on the other device, of more columns than two blocks have."""
    monkeypatch.setattr(sys.modules["graphc.passes.evaluate"], "STORED_SCORES", 0)
    causal = device == "cuda-emulated"
    m, n, d, e = (70, 130, 5, 9) if causal else (9, 70, 2, 130)
    rng = np.random.default_rng(5)
    q, k, v, g = arrays = [rng.standard_normal(shape) for shape in ((2, m, d), (2, n, d), (2, n, e), (2, m, e))]
    leaves = [gc.asarray(a.astype(np.float32)) for a in arrays]
    y, pull = gc.vjp(lambda q, k, v: gc.scaled_dot_product_attention(q, k, v, is_causal=causal), *leaves[:3])
    found = y, *pull(leaves[3])
    assert sum("weighted" in kernel.name for kernel in gc.plan(*found).kernels) == 2
    gc.realize(*found)
    scores = np.where(np.tril(np.ones((m, n), bool)) | (not causal), q @ k.mT / d**0.5, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = g @ v.mT
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / d**0.5
    for got, want in zip(found, (p @ v, ds @ k, ds.mT @ q, p.mT @ g), strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


def test_an_optimiser_is_one_launch(device):
    """Of all parameters, whatever their shapes; also where some have one element."""
    shapes = [(3, 5), (700,), (1,), (2, 300), (1, 1), (257,)]

    def stepped() -> list[np.ndarray]:
        rng = np.random.default_rng(2)
        wanted = []
        for shape in shapes:
            p, g, m = (gc.asarray(rng.random(shape).astype(np.float32)) for _ in range(3))
            m = m * 0.9 + g * 0.1
            wanted += [m, p - 0.01 * m / (gc.sqrt(abs(g)) + 1e-8)]
        before = gc.counters()
        gc.realize(*wanted)
        assert (gc.counters() - before).launches == 1
        return [t.numpy() for t in wanted]
    found = stepped()
    if backends.status()["cpu"] is None:
        gc.set_backend("cpu")
        assert all(equal_bits(a, b) for a, b in zip(found, stepped(), strict=True))


def test_a_second_run_compiles_nothing(device):
    def run() -> None:
        gc.realize(gc.softmax(gc.asarray(np.ones((3, 70), np.float32)), axis=1))
    run()
    before = gc.counters()
    driver.forget_programs()
    run()
    spent = gc.counters() - before
    assert (spent.compiles, spent.launches, spent.kernel_hits) == (0, 1, 1)
