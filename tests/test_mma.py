"""Products of float16 and bfloat16 on a matrix unit: the kernels of CUDA, whose unit the emulator does step by step in
rising k, so that up to 512 of k the bits are those of every other form. Nothing here needs a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest
from test_gpu_text import accepted, kernels_of

import graphc as gc
from graphc import driver
from graphc.codegen import mma_gpu
from graphc.errors import NoCompilerError
from graphc.ir.ops import DOT
from graphc.ir.trees import CHUNKS
from graphc.runtime import backend as backends
from graphc.runtime import emulator
from graphc.runtime.emulated import CudaEmulated
from graphc.tolerances import equal_bits, mismatch

contract = importlib.import_module("graphc.passes.contract")
try:
    emulator.find_compiler()
except NoCompilerError as error:
    pytest.skip(error.message, allow_module_level=True)


@pytest.fixture
def device(monkeypatch) -> Iterator[CudaEmulated]:
    if backends.status()["cpu"] is not None:
        pytest.skip("there is no C compiler to compare with")
    found = CudaEmulated()
    monkeypatch.setitem(driver._backends, "cuda-emulated", found)
    monkeypatch.setattr(driver, "_current", "cuda-emulated")
    driver.forget_programs()
    yield found
    driver.forget_programs()


def leaf(*shape: int, dtype=gc.bfloat16) -> gc.Tensor:
    values = np.random.default_rng(shape).standard_normal(shape) * 8
    return gc.asarray(values.astype(dtype.numpy))


def quantised(*shape: int) -> gc.Tensor:
    return leaf(*shape, dtype=gc.int8).astype(gc.bfloat16) * leaf(shape[0], 1)


PRODUCTS = {
    "odd": lambda: leaf(37, 51) @ leaf(51, 45),
    "even": lambda: leaf(70, 96) @ leaf(96, 80),
    "transposed, and what follows": lambda: gc.relu(leaf(96, 40, dtype=gc.float16).T @ leaf(56, 96, dtype=gc.float16).T
                                                    + leaf(56, dtype=gc.float16)).T,
    "stacks": lambda: gc.permute_dims(gc.reshape(leaf(24, 96), (24, 3, 32)), (1, 0, 2)) @ leaf(3, 32, 20),
    "8 bits that are scaled": lambda: leaf(40, 72, dtype=gc.float32).astype(gc.bfloat16) @ quantised(72, 48),
    "8 bits that are scaled, transposed": lambda: leaf(40, 96) @ quantised(48, 96).T,
    "a convolution": lambda: gc.conv2d(leaf(2, 3, 6, 7), leaf(20, 3, 3, 3), padding=1),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_the_bits_of_the_chain(device, name):
    product = PRODUCTS[name]()
    assert any("GC_MMA(" in kernel.text.partition("gc_words")[2] for kernel in kernels_of([product], "cuda"))
    found = product.numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, PRODUCTS[name]().numpy())


@pytest.mark.parametrize("chunk", [CHUNKS["mma"], 64])
def test_large_blocks(device, monkeypatch, chunk):
    """Where they fill a device; with sums of several chunks, which are fewer columns."""
    monkeypatch.setattr(contract, "MANY_BLOCKS", 1)
    monkeypatch.setitem(CHUNKS, "mma", chunk)
    monkeypatch.setattr(mma_gpu, "CHUNK", chunk)
    a, b = leaf(130, 200), leaf(136, 200)
    factors = [a.numpy(), b.numpy().T]
    assert mismatch(DOT, (), gc.bfloat16, (130, 136), (a @ b.T).numpy(), factors, ("bfloat16",)) is None


def test_older_devices_do_without_the_unit(device):
    device._emulator._options += ("-DEMU_NO_MATRIX_UNIT",)
    found = PRODUCTS["odd"]().numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, PRODUCTS["odd"]().numpy())


def test_which_products_take_the_unit():
    """It depends on dtype and shape alone: few rows are added up as ever (docs/numerics.md)."""
    for product, takes in ((leaf(17, 32) @ leaf(32, 8), True), (leaf(16, 32) @ leaf(32, 800), False),
                           (leaf(4, 5, 32) @ leaf(32, 8), True), (leaf(4, 5, 32) @ leaf(4, 32, 8), False),
                           (leaf(17, 32, dtype=gc.float32) @ leaf(32, 8, dtype=gc.float32), False)):  # fmt: skip
        for dialect in ("cuda", "hip", "opencl"):
            (kernel,) = kernels_of([product], dialect)
            assert ("GC_MMA(" in kernel.text.partition("gc_words")[2]) == (takes and dialect == "cuda")


@pytest.mark.parametrize("name", ["rows of b", "columns of b, in 8 bits", "long"])
def test_large_blocks_fit_the_registers(name):
    """Two groups of 256 items, each of 128 registers and 48 KB of shared memory, for a multiprocessor."""
    big = gc.asarray(np.ones((2048, 2048), gc.bfloat16.numpy))
    bytes_ = gc.asarray(np.ones((2048, 2048), np.int8))
    tall = gc.asarray(np.ones((5000, 2048), gc.bfloat16.numpy))
    product = {"rows of b": lambda: gc.relu(big @ big + big[0]), "long": lambda: tall.T @ tall,
               "columns of b, in 8 bits": lambda: big @ (bytes_.astype(gc.bfloat16) * big[:, :1]).T}[name]()
    for finding in accepted(kernels_of([product], "cuda"), "cuda"):
        assert finding.facts["spills"] == 0 and finding.facts["shared"] <= 49152
