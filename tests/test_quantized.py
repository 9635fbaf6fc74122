"""Weights in 4 and 8 bits: their values, and that nothing but the packed bytes lies in memory."""
from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.errors import ShapeError
from graphc.tolerances import equal_bits
from graphc.weights import Quantized, concat, quantize

rng = np.random.default_rng(3)


def numbers(w: Quantized) -> np.ndarray:
    """What the blocks of a matrix that is stored by rows mean, by NumPy."""
    codes, scale = w.codes.numpy(), w.scale.numpy().astype(np.float32)[..., None]
    if codes.shape[-1] == 16:
        codes = np.concatenate([codes & 15, codes >> 4], -1)
    value = codes.astype(np.float32) * scale
    return (value if w.offset is None else value + w.offset.numpy().astype(np.float32)[..., None]).reshape(w.shape)


def random(rows: int, width: int, bits: int) -> Quantized:
    scale = rng.standard_normal((rows, width // 32)).astype(np.float16)
    if bits == 4:
        codes = rng.integers(0, 256, (rows, width // 32, 16), dtype=np.uint8)
        return Quantized(gc.asarray(codes), gc.asarray(scale), gc.asarray(scale * np.float16(-7)))
    return Quantized(gc.asarray(rng.integers(-128, 128, (rows, width // 32, 32), dtype=np.int8)), gc.asarray(scale),
                     None)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("rows, width", [(128, 64), (10, 96), (1, 32), (0, 32)])
def test_layouts_agree(rows, width, bits):
    with gc.backend("reference"):
        w = random(rows, width, bits)
        packed = w.packed()
        assert packed.shape == w.shape == (rows, width) and packed.nbytes == w.nbytes and packed.packed() is packed
        for x in (w, packed):
            np.testing.assert_array_equal(x.dequantize().numpy(), numbers(w))
            assert x.dequantize(gc.float16).dtype is gc.float16
        places = gc.asarray([[rows - 1, 0]] if rows else np.zeros((1, 0), np.int64))
        np.testing.assert_array_equal(packed.rows(places).numpy(), numbers(w)[places.numpy()])


def test_quantized_numbers_are_near():
    with gc.backend("reference"):
        x = rng.standard_normal((6, 64)).astype(np.float32)
        x[2], x[3], x[4, :32] = 0, 5, 1e-9
        blocks = x.reshape(6, 2, 32)
        for bits, step in ((4, np.ptp(blocks, -1) / 15), (8, np.abs(blocks).max(-1) / 127)):
            w = quantize(x, bits)
            off = np.abs(w.dequantize().numpy() - x).reshape(6, 2, 32).max(-1)
            assert (off <= 0.5 * step + 2e-3 * np.abs(blocks).max(-1) + 1e-7).all()
            assert w.nbytes == 6 * 2 * (20 if bits == 4 else 34)


def test_rows_of_several():
    with gc.backend("reference"):
        a, b = random(64, 64, 4), random(128, 64, 4)
        for parts in ((a, b), (a.packed(), b.packed())):
            np.testing.assert_array_equal(concat(parts).dequantize().numpy(),
                                          np.concatenate([numbers(a), numbers(b)]))
        with pytest.raises(ShapeError, match="do not go below"):
            concat((a, random(64, 96, 4)))
        with pytest.raises(ShapeError, match="do not go below"):
            concat((a, b.packed()))


def test_what_can_not_be_quantized():
    with pytest.raises(ShapeError, match="blocks of 32"):
        quantize(gc.ones((3, 31)))
    with pytest.raises(ValueError, match="4 and 8 bits"):
        quantize(gc.ones((3, 32)), bits=3)
    with pytest.raises(ShapeError, match="no matrix"):
        quantize(gc.ones(32)).packed()


def test_a_model_in_few_bits():
    with gc.backend("reference"):
        x = gc.asarray(rng.standard_normal((3, 64)).astype(np.float32))
        for bits, off in ((8, 0.02), (4, 0.2)):
            net = gc.nn.Sequential(gc.nn.Linear(64, 32), gc.tanh, gc.nn.Sequential(gc.nn.Linear(32, 8, bias=False)),
                                   gc.nn.Linear(8, 2))
            exact = net(x).numpy()
            small = gc.nn.quantize(net, bits)
            kinds = [type(m).__name__ for m in small.modules() if not isinstance(m, gc.nn.Sequential)]
            assert kinds == ["QuantizedLinear", "QuantizedLinear", "Linear"]    # 8 inputs are no whole block
            found = small(x).numpy()
            np.testing.assert_allclose(found, exact, atol=off)
            assert not equal_bits(found, exact)
            assert set(small.state_dict()) >= {"layers.0.codes", "layers.0.scale", "layers.0.bias"}


# ------------------------------------------------------------------------------------------ kernels of the C dialect

@pytest.fixture
def kernels(backend):
    if backend != "cpu":
        pytest.skip("kernels of the C dialect")


@pytest.mark.parametrize("bits, packed", [(4, True), (4, False), (8, True)])
def test_one_kernel_that_reads_packed_weights(kernels, bits, packed):
    """For one row and for many: a copy in float32 is written nowhere."""
    w = random(192, 1088, bits)
    exact = numbers(w)
    w = w.packed() if packed else w
    for rows in (1, 3, 3000):
        x = gc.asarray(rng.standard_normal((rows, 1088)).astype(np.float32))
        y = gc.relu(x @ w.dequantize().mT)
        plan = gc.plan(y)
        (kernel,) = plan.kernels
        assert kernel.bytes_read == x.nbytes + w.nbytes and kernel.bytes_written == y.nbytes
        assert plan.peak_bytes == y.nbytes
        if rows < 50:
            same = gc.relu(x @ gc.asarray(exact).mT)        # a product with the same numbers in memory
            assert equal_bits(y.numpy(), same.numpy())


@pytest.mark.parametrize("rows", [64, 100, 3])
def test_one_row_is_unpacked_in_vectors(kernels, rows):
    w = random(rows, 96, 4)
    x = gc.asarray(rng.standard_normal((1, 96)).astype(np.float32))
    y = x @ w.packed().dequantize().mT
    assert rows < 8 or "gc_lanes_uint8" in gc.plan(y).kernels[0].source
    assert equal_bits(y.numpy(), (x @ gc.asarray(numbers(w)).mT).numpy())


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bfloat16"])
@pytest.mark.parametrize("width, columns", [(33, 100), (20, 8), (530, 64)])
def test_columns_of_any_number_and_type(kernels, width, columns, dtype):
    """One row times what is computed of narrow types, also where neither vectors nor their depth divide it."""
    values = rng.integers(-100, 100, (width, columns)).astype(np.float32)
    b = gc.asarray(np.abs(values) if dtype.startswith("u") else values).astype(getattr(gc, dtype))
    x = gc.asarray(rng.standard_normal((1, width)).astype(np.float32))
    gc.realize(b)
    scaled = b.astype(gc.float32) * 0.5
    result = x @ scaled
    plan = gc.plan(result)
    assert len(plan.kernels) == 1 and f"gc_lanes_{dtype}(&" in plan.kernels[0].source
    gc.realize(result)
    assert equal_bits(result.numpy(), (x @ gc.asarray(scaled.numpy())).numpy())


def test_operations_in_vectors(kernels):
    n, k = 40, 24
    a = gc.asarray(rng.integers(-2**31, 2**31, (k, n)).astype(np.int32))
    b = gc.asarray(rng.integers(-128, 128, (k, n)).astype(np.int8))
    shift = gc.asarray(rng.integers(-3, 40, (k, 1)).astype(np.int32))
    x = gc.asarray(rng.standard_normal((1, k)).astype(np.float32))
    half = gc.asarray(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 65504] * 5, np.float16))
    whole = ((a >> shift) * 3 - (a & b.astype(gc.int32))) ^ ((b | 5) & 127).astype(gc.int32)
    short = gc.asarray(rng.integers(-2**15, 2**15, (k, n)).astype(np.int16))
    wide, finite = half.astype(gc.float32), gc.asarray(rng.standard_normal((k, n)).astype(np.float16))
    gc.realize(finite, short)
    scaled = b.astype(gc.float32) * wide + finite.astype(gc.float32)        # of exact products: one rounding
    assert "gc_fma_vector(__builtin_convertvector(" in gc.plan(x @ scaled).kernels[0].source
    rounded = finite.astype(gc.float32) + short.astype(gc.float32) * finite.astype(gc.float32)
    assert "gc_fma_vector(__builtin_convertvector(" not in gc.plan(x @ rounded).kernels[0].source
    packed = gc.asarray(rng.integers(0, 256, (k, n)).astype(np.uint8)).astype(gc.int32)
    upper = ((packed >> shift) & 15).astype(gc.float32)        # a mask that may be needless
    assert "gc_lanes_digits" in gc.plan(x @ upper).kernels[0].source
    for value in (-(whole.astype(gc.float32) - 0.5), wide + b.astype(gc.float32), scaled, rounded, upper):
        result = x @ value
        assert "gc_lanes" in gc.plan(result).kernels[0].source
        gc.realize(result)
        gc.realize(value)
        assert equal_bits(result.numpy(), (x @ value).numpy())
