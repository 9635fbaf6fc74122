"""Products of float16 and bfloat16 on a matrix unit: the kernels of CUDA and HIP, whose units the emulator does step by
step in rising k, so that up to 512 of k the bits are those of every other form. Nothing here needs a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest
from test_gpu_text import accepted, kernels_of

import graphc as gc
from graphc import driver
from graphc.codegen import mma_gpu, target_of
from graphc.errors import NoCompilerError
from graphc.ir.ops import DOT, FAST
from graphc.ir.target import unit_type
from graphc.ir.trees import CHUNKS
from graphc.runtime import backend as backends
from graphc.runtime import emulator
from graphc.runtime.emulated import CudaEmulated, HipEmulated
from graphc.tolerances import equal_bits, mismatch

contract = importlib.import_module("graphc.passes.contract")
try:
    emulator.find_compiler()
except NoCompilerError as error:
    pytest.skip(error.message, allow_module_level=True)


UNITS = {"hip-cdna": 64, "hip-rdna3": 32, "hip-rdna4": 32}      # of HIP, with their wavefronts


@pytest.fixture(params=["cuda"])
def device(request, monkeypatch) -> Iterator[CudaEmulated]:
    """A device by its dialect; behind a colon, of HIP, which one of several."""
    if backends.status()["cpu"] is not None:
        pytest.skip("there is no C compiler to compare with")
    dialect, _, name = request.param.partition(":")
    found = CudaEmulated() if dialect.startswith("cuda") else HipEmulated()
    found.dialect, found.wavefront = dialect, UNITS.get(dialect, 32)
    found._emulator._options += (f"-D__{name}__",) if name else ()
    monkeypatch.setitem(driver._backends, found.name, found)
    monkeypatch.setattr(driver, "_current", found.name)
    monkeypatch.setattr(backends.get("cpu"), "dialect", "c")       # without a unit of its own
    driver.forget_programs()
    yield found
    driver.forget_programs()


on_all = pytest.mark.parametrize("device", ["cuda", *UNITS], indirect=True)


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
@on_all
def test_products_have_the_bits_of_the_chain(device, name):
    product = PRODUCTS[name]()
    kernels = kernels_of([product], device.dialect)
    assert any("GC_MMA(" in kernel.text.partition("gc_words")[2] for kernel in kernels)
    accepted(kernels, device.dialect)
    found = product.numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, PRODUCTS[name]().numpy())


@pytest.mark.parametrize("device, chunk", [("cuda", CHUNKS["mma"]), ("cuda", 64), ("hip-cdna", CHUNKS["mma"]),
                                           ("cuda-hopper", CHUNKS["mma"]), ("cuda-hopper", 64),
                                           ("hip-rdna3", 64), ("hip-rdna4", CHUNKS["mma"])], indirect=["device"])
def test_large_blocks(device, monkeypatch, chunk):
    """Where they fill a device; with sums of several chunks, which are fewer columns."""
    monkeypatch.setattr(contract, "MANY_BLOCKS", 1)
    monkeypatch.setitem(CHUNKS, "mma", chunk)
    monkeypatch.setattr(mma_gpu, "CHUNK", chunk)
    a, b = (leaf(130, 200), leaf(136, 200).T) if chunk == 64 else (leaf(200, 130).T, leaf(200, 136))
    factors = [a.numpy(), b.numpy()]
    assert mismatch(DOT, (), gc.bfloat16, (130, 136), (a @ b).numpy(), factors, ("bfloat16",)) is None


FORMS = {
    "rows and columns": lambda m, n, k, dtype: leaf(m, k, dtype=dtype) @ leaf(k, n, dtype=dtype),
    "rows and rows": lambda m, n, k, dtype: leaf(m, k, dtype=dtype) @ leaf(n, k, dtype=dtype).T,
    "columns and columns": lambda m, n, k, dtype: leaf(k, m, dtype=dtype).T @ leaf(k, n, dtype=dtype),
    "columns and rows": lambda m, n, k, dtype: gc.relu(leaf(k, m, dtype=dtype).T @ leaf(n, k, dtype=dtype).T + 1),
}


@pytest.mark.parametrize("size, dtype", [((256, 128, 320), gc.bfloat16), ((136, 264, 200), gc.float16),
                                         ((129, 131, 67), gc.bfloat16), ((200, 130, 17), gc.float16)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("device", ["cuda-hopper"], indirect=True)
def test_warps_that_multiply_together(device, monkeypatch, form, size, dtype):
    """Whole tiles, which are copied, and those that end inside; of factors that lie either way."""
    monkeypatch.setattr(contract, "MANY_BLOCKS", 1)
    product = FORMS[form](*size, dtype)
    (kernel,) = kernels_of([product], device.dialect)
    assert "GC_WARPGROUP_MMA(" in kernel.text.partition("gc_words")[2]
    for finding in accepted([kernel], device.dialect):
        assert not finding.facts["spills"] and finding.facts["registers"] <= 128
    found = product.numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, FORMS[form](*size, dtype).numpy())


@pytest.mark.parametrize("name", ["what is computed", "stacks", "tf32"])
@pytest.mark.parametrize("device", ["cuda-hopper"], indirect=True)
def test_where_each_warp_multiplies_by_itself(device, monkeypatch, name):
    """What the unit cannot read as it lies in memory, or in tiles of other numbers."""
    monkeypatch.setattr(contract, "MANY_BLOCKS", 1)
    products = {"what is computed": lambda: leaf(130, 200) @ gc.exp(leaf(200, 136) / 64),
                "stacks": lambda: gc.conv2d(leaf(2, 16, 12, 12), leaf(130, 16, 3, 3)),
                "tf32": lambda: fast_product(single(130, 72), single(72, 264))}
    (kernel,) = kernels_of([products[name]()], device.dialect)
    text = kernel.text.partition("gc_words")[2]
    assert "GC_MMA(" in text and "GC_WARPGROUP_MMA(" not in text
    accepted([kernel], device.dialect)
    if name != "tf32":
        found = products[name]().numpy()
        gc.set_backend("cpu")
        assert equal_bits(found, products[name]().numpy())


@pytest.mark.parametrize("device", ["hip-cdna:gfx908", "hip-cdna:gfx90a"], indirect=True)
def test_devices_that_take_a_step_in_parts(device):
    """On gfx90a, whose own instruction takes subnormal float16 for 0, these are numbers too."""
    for dtype in (gc.float16, gc.bfloat16):
        a, b = (leaf(37, 60, dtype=gc.float32) * 2.0**-16).astype(dtype), leaf(60, 45, dtype=dtype)
        factors = [a.numpy(), b.numpy()]
        assert mismatch(DOT, (), dtype, (37, 45), (a @ b).numpy(), factors, (dtype.name,)) is None


@pytest.mark.parametrize("device", ["cuda-plain"], indirect=True)
def test_older_devices_do_without_the_unit(device):
    with gc.fast_math():
        single = TF32["odd"](lambda x: x)
    for product in (PRODUCTS["odd"](), single):
        kernels = kernels_of([product], device.dialect)
        assert not any("GC_MMA" in kernel.text or "GC_COPY" in kernel.text for kernel in kernels)
        accepted(kernels, device.dialect)
    found = PRODUCTS["odd"]().numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, PRODUCTS["odd"]().numpy())


def as_tf32(x: gc.Tensor) -> gc.Tensor:
    """float32 rounded to 10 digits after the point, halves away from zero."""
    words = x.numpy().view(np.uint32)
    return gc.asarray(((words + 0x1000) & 0xFFFFE000).astype(np.uint32).view(np.float32))


def single(*shape: int) -> gc.Tensor:
    return leaf(*shape, dtype=gc.float32)


TF32 = {
    "odd": lambda of: of(single(37, 51)) @ of(single(51, 45)),
    "even": lambda of: of(single(70, 96)) @ of(single(96, 80)),
    "transposed, and what follows": lambda of: gc.relu(of(single(96, 40)).T @ of(single(56, 96)).T).T * 2,
    "computed": lambda of: of(single(40, 72)) @ (of(single(48, 72)) * 4).T,
}


@pytest.mark.parametrize("name", TF32)
def test_marked_products_of_float32_are_those_of_rounded_factors(device, name):
    with gc.fast_math():
        product = TF32[name](lambda x: x)
    assert any("GC_MMA(tf32," in kernel.text for kernel in kernels_of([product], "cuda"))
    found = product.numpy()
    gc.set_backend("cpu")
    assert equal_bits(found, TF32[name](as_tf32).numpy())
    assert not equal_bits(found, TF32[name](lambda x: x).numpy())


def test_tf32_of_numbers_that_are_none_and_infinite(device):
    """The largest number is rounded to infinity; a NaN of all ones stays one."""
    a, b = np.array(single(40, 20)), single(20, 40)
    a.view(np.uint32)[0, 3] = 0x7FFFFFFF
    a[1:4, 5] = np.inf, -np.inf, np.finfo(np.float32).max
    with gc.fast_math():
        found = (gc.asarray(a) @ b).numpy()
    a[3, 5] = np.inf
    with np.errstate(invalid="ignore"):
        want = a @ b.numpy()
    assert np.isnan(found[0]).all() and np.array_equal(found[1:4], want[1:4]) and np.isinf(found[1:4]).all()
    assert np.isfinite(found[4:]).all()


def test_large_blocks_of_tf32(device, monkeypatch):
    """Held to the tolerance of marked products, which is not that of strict ones."""
    monkeypatch.setattr(contract, "MANY_BLOCKS", 1)
    a, b = single(130, 72), single(136, 72)
    with gc.fast_math():
        found = (a @ b.T).numpy()
    factors = [a.numpy(), b.numpy().T]
    assert mismatch(DOT, FAST, gc.float32, (130, 136), found, factors, ("tf32",)) is None
    assert mismatch(DOT, (), gc.float32, (130, 136), found, factors, ("tf32",)) is not None


def test_which_products_take_the_unit():
    """It depends on dtype and shape alone: few rows are added up as ever (docs/numerics.md)."""
    for product, takes in ((leaf(17, 32) @ leaf(32, 8), True), (leaf(16, 32) @ leaf(32, 800), False),
                           (leaf(4, 5, 32) @ leaf(32, 8), True), (leaf(4, 5, 32) @ leaf(4, 32, 8), False),
                           (single(17, 32) @ single(32, 8), False),
                           (fast_product(single(17, 32), single(32, 8)), True),
                           (fast_product(single(16, 32), single(32, 800)), False),
                           (fast_product(single(17, 32).astype("float64"), single(32, 8)), False)):
        for dialect in ("cuda", "hip", *UNITS, "opencl"):
            (kernel,) = kernels_of([product], dialect)
            has = takes and unit_type(product.dtype, product.node.attrs) in target_of(dialect).matrix
            assert ("GC_MMA(" in kernel.text.partition("gc_words")[2]) == has


fast_product = gc.fast_math()(gc.matmul)


@pytest.mark.parametrize("name", ["rows of b", "columns of b, in 8 bits", "long", "tf32", "tf32, all turned"])
def test_large_blocks_fit_the_registers(name):
    """A group of 256 items, each of which may have 255 registers, and what of shared memory is not asked for. TF32 is
    rounded one by one, and spills a little: blocks of half as many columns spill nothing, and take a fifth longer."""
    big = gc.asarray(np.ones((2048, 2048), gc.bfloat16.numpy))
    bytes_ = gc.asarray(np.ones((2048, 2048), np.int8))
    tall = gc.asarray(np.ones((5000, 2048), gc.bfloat16.numpy))
    single = gc.asarray(np.ones((2048, 2048), np.float32))
    product = {"tf32": lambda: gc.relu(fast_product(single, single) + single[0]),
               "tf32, all turned": lambda: fast_product(single.T, single.T),
               "rows of b": lambda: gc.relu(big @ big + big[0]), "long": lambda: tall.T @ tall,
               "columns of b, in 8 bits": lambda: big @ (bytes_.astype(gc.bfloat16) * big[:, :1]).T}[name]()
    for finding in accepted(kernels_of([product], "cuda"), "cuda"):
        assert finding.facts["spills"] <= (320 if "tf32" in name else 0) and finding.facts["shared"] <= 49152


def test_casts_to_float32_are_factors_of_tf32(device):
    """And not of what they were cast from, though a unit takes that too."""
    with gc.fast_math():
        x, y = leaf(40, 64, dtype=gc.float16), leaf(64, 48, dtype=gc.bfloat16)
        product = x.astype(gc.float32) @ y.astype(gc.float32)
        whole = leaf(40, 64, dtype=gc.int32).astype(gc.float32) @ leaf(64, 48, dtype=gc.int32).astype(gc.float32)
    truth = x.numpy().astype(np.float64) @ y.numpy().astype(np.float64)
    assert np.abs(product.numpy() - truth).max() < 2.0**-8 * np.abs(truth).max()
    accepted(kernels_of([whole], device.dialect), device.dialect)
