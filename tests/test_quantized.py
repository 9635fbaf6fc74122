"""Weights in 4 and 8 bits: their values, and that nothing but the packed bytes lies in memory."""
from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np
import pytest
from kernel_interpreter import run_program

import graphc as gc
from graphc import canonical
from graphc.build import build
from graphc.errors import ArgumentError, GradientError, ShapeError, TracerError
from graphc.ir import trees
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
    with pytest.raises(ShapeError, match="(?s)blocks of 32.*fix: pad"):
        quantize(gc.ones((3, 31)))
    for bits in (0, 3, 5, "4"):
        with pytest.raises(ArgumentError, match=f"{bits!r} bits(?s:.*)fix: use 4 or 8"):
            gc.nn.quantize(gc.nn.Sequential(gc.nn.Linear(64, 32)), bits)
    with pytest.raises(TypeError, match="a Tensor is no module"):
        gc.nn.quantize(gc.ones((32, 64)))
    with pytest.raises(ArgumentError, match="3 bits(?s:.*)fix: use 4 or 8"):
        quantize(gc.ones((3, 32)), bits=3)
    with pytest.raises(ShapeError, match="(?s)no matrix.*fix: quantize"):
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
    lowest = (15 & (a >> shift)).astype(gc.float32)
    assert "gc_lanes_nibble" in gc.plan(x @ lowest).kernels[0].source
    for value in (-(whole.astype(gc.float32) - 0.5), wide + b.astype(gc.float32), scaled, rounded, upper, lowest):
        result = x @ value
        assert "gc_lanes" in gc.plan(result).kernels[0].source
        gc.realize(result)
        gc.realize(value)
        assert equal_bits(result.numpy(), (x @ value).numpy())


# ------------------------------------------------------------------------------------- activations of few bits as well

def by_numpy(x: np.ndarray, w: Quantized, of_x: int = 8) -> np.ndarray:
    """quantized_matmul block by block, its sums in the order of docs/numerics.md; w is stored by rows."""
    rows, width = w.shape
    blocks = x.astype(np.float32).reshape(-1, width // 32, 32)
    step = np.abs(blocks).max(-1) / np.float32(2 ** (of_x - 1) - 1)
    divisor = np.where(step == 0, 1, step)[..., None]
    q = np.rint(blocks * (1 / divisor) if of_x == 8 else blocks / divisor)
    codes = w.codes.numpy()
    if codes.shape[-1] == 16:
        codes = np.concatenate([codes & 15, codes >> 4], -1)
    dots = np.einsum("msk,nsk->smn", q.astype(np.int64), codes.astype(np.int64)).astype(np.float32)
    scale, offset = (None if t is None else t.numpy().astype(np.float32).T[:, None] for t in (w.scale, w.offset))
    terms = dots * (step.T[..., None] * scale)
    if offset is not None:
        terms = terms + (step * q.astype(np.int64).sum(-1).astype(np.float32)).T[..., None] * offset
    return trees.reduce(list(terms), "outer", np.add, np.float32(-0.0))


@pytest.mark.parametrize(("bits", "of_x"), [(4, 8), (8, 8), (4, 23)])
def test_products_of_integers(backend, bits, of_x):
    """Panels and single columns, blocks that make several chunks, one row and more than a chunk's; codes of -128."""
    for rows, width, many in ((192, 1088, 1), (10, 96, 3), (100, 32 * 17, 40), (64, 32, 1), (1, 64, 2)):
        w = random(rows, width, bits)
        x = rng.standard_normal((many, width)).astype(np.float32)
        x[0, :32] = 0
        y = gc.weights.quantized_matmul(gc.asarray(x), w, of_x)
        if backend == "cpu" and width > 32 and rows > 1:
            assert [k.name.split("_")[:2] for k in gc.plan(y).kernels][-1] == ["contract", "blocked"]
        assert y.shape == (many, rows) and y.dtype is gc.float32
        want = by_numpy(x, w, of_x)
        assert equal_bits(y.numpy(), want) if backend == "cpu" else np.allclose(y.numpy(), want, rtol=1e-4, atol=1e-3)


def test_23_bits_are_as_exact_as_float32(backend):
    """Also where a block's numbers are far apart; what is not within 23 bits is multiplied one by one."""
    w = random(64, 544, 4)
    x = (rng.standard_normal((3, 544)) * 2.0 ** rng.integers(-30, 30, (3, 544))).astype(np.float32)
    exact = x.astype(np.float64) @ w.dequantize().numpy().astype(np.float64).T
    sizes = np.abs(x).astype(np.float64) @ np.abs(w.dequantize().numpy()).astype(np.float64).T
    off = np.abs(gc.weights.quantized_matmul(gc.asarray(x), w, 23).numpy() - exact)
    assert (off <= 2.0 ** -20 * sizes).all()
    x[1, 40], x[2, 70] = np.nan, np.inf
    y = gc.weights.quantized_matmul(gc.asarray(x), w, 23).numpy()
    assert np.isfinite(y[0]).all() and np.isnan(y[1:]).all()
    with pytest.raises(ArgumentError, match="16 bits for weights of 4(?s:.*)fix: use 8, or with weights of 4 bits 23"):
        gc.weights.quantized_matmul(gc.asarray(x), w, 16)
    with pytest.raises(ArgumentError, match="23 bits for weights of 8"):
        gc.weights.quantized_matmul(gc.asarray(x), random(64, 544, 8), 23)


def test_layouts_and_leading_axes_of_products_of_integers(backend):
    w = random(128, 64, 8)
    x = gc.asarray(rng.standard_normal((2, 3, 64)).astype(np.float16))
    y = gc.weights.quantized_matmul(x, w)
    assert y.shape == (2, 3, 128) and y.dtype is gc.float16
    for packed in (w.packed(), w.packed().packed(words=True)):
        np.testing.assert_array_equal(packed.dequantize().numpy(), numbers(w))
        assert equal_bits(y.numpy(), gc.weights.quantized_matmul(x, packed).numpy())
    assert gc.weights.quantized_matmul(x, random(0, 64, 4)).shape == (2, 3, 0)
    with pytest.raises(ShapeError, match="does not meet"):
        gc.weights.quantized_matmul(x, random(128, 32, 4))


def test_products_of_integers_of_what_is_not_finite(backend):
    w = random(64, 96, 4)
    x = rng.standard_normal((4, 96)).astype(np.float32)
    x[0, 40], x[1, 70], x[2] = np.nan, np.inf, 1e-44
    y = gc.weights.quantized_matmul(gc.asarray(x), w).numpy()
    assert np.isnan(y[:2]).all() and np.isfinite(y[2:]).all() and not y[2].any()


def test_activations_of_a_model(backend):
    x = gc.asarray(rng.standard_normal((3, 64)).astype(np.float32))
    net = gc.nn.Sequential(gc.nn.Linear(64, 64), gc.tanh, gc.nn.Linear(64, 8))
    exact = net(x).numpy()
    small = gc.jit(gc.nn.quantize(net, 8, activations="int8"))
    np.testing.assert_allclose(small(x).numpy(), exact, atol=0.03)
    with pytest.raises(TypeError, match="the weight is a Tensor; use gc.weights.quantize"):
        gc.nn.QuantizedLinear(gc.ones((8, 32)), activations="int8")
    with pytest.raises(ArgumentError, match="int8"):
        gc.nn.quantize(net, activations="int4")


def test_what_products_of_integers_launch(kernels):
    """x is rounded once for all that read it; then each product is one launch, with what becomes of it."""
    q, k = random(640, 96, 4).packed(), random(64, 96, 4).packed()
    x = gc.asarray(rng.standard_normal((1, 96)).astype(np.float32))
    results = gc.relu(gc.weights.quantized_matmul(x, q)), gc.weights.quantized_matmul(x, k) + 1
    plan = gc.plan(*results)
    assert [kernel.name.split("_")[0] for kernel in plan.kernels] == ["row", "contract", "contract"]
    assert plan.kernels[1].bytes_read < q.nbytes + 1000
    gc.realize(*results)
    alone = gc.weights.quantized_matmul(x, k)
    assert equal_bits(results[1].numpy(), alone.numpy() + np.float32(1))


@pytest.mark.parametrize(("bits", "of_x"), [(4, 8), (8, 8), (4, 23)])
def test_the_interpreter_agrees(kernels, bits, of_x):
    x = gc.asarray(rng.standard_normal((2, 64)).astype(np.float32))
    y = gc.weights.quantized_matmul(x, random(12, 64, bits), of_x)
    graph = canonical.canonicalize([y.node])
    leaves = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    (raw,) = run_program(build(graph, "c"), leaves, graph.params, "reverse")
    assert equal_bits(raw[:y.nbytes].view(np.float32).reshape(y.shape), y.numpy())


def test_any_integers_in_blocks(kernels):
    """What lies in no words is evaluated first; what is neither of int8 nor of 4 bits stays a product and a sum."""
    a = gc.asarray(rng.integers(-128, 128, (5, 3, 24)).astype(np.int8))
    b = gc.asarray(rng.integers(-1000, 1000, (5, 24, 70)).astype(np.int16))
    scale = gc.asarray(rng.standard_normal((5, 3, 70)).astype(np.float32))
    y = ((a.astype(gc.int32) @ b.astype(gc.int32)).astype(gc.float32) * scale).sum(axis=0)
    assert [k.name for k in gc.plan(y).kernels] == ["contract_blocked"]
    dots = np.einsum("smk,skn->smn", a.numpy().astype(np.int64), b.numpy().astype(np.int64)).astype(np.float32)
    assert equal_bits(y.numpy(), trees.reduce(list(dots * scale.numpy()), "outer", np.add, np.float32(-0.0)))
    few, scale = (b & 15).astype(gc.int32), scale[:, :1]
    y = ((b.mT.astype(gc.int32) @ (b.astype(gc.int32) & 15)).astype(gc.float32) * scale).sum(axis=0)
    assert [k.name for k in gc.plan(y).kernels] == ["contract_blocked"]
    dots = np.einsum("skm,skn->smn", b.numpy().astype(np.int64), few.numpy().astype(np.int64)).astype(np.float32)
    assert equal_bits(y.numpy(), trees.reduce(list(dots * scale.numpy()), "outer", np.add, np.float32(-0.0)))
    wide = ((b.mT.astype(gc.int32) @ b.astype(gc.int32)).astype(gc.float32)).sum(axis=0)
    assert not any("blocked" in k.name for k in gc.plan(wide).kernels)


def test_the_least_byte_in_both_factors(kernels):
    """-128 has no opposite in 8 bits: rows with it are multiplied one by one. Quantised x has none."""
    w = random(128, 64, 8).packed(words=True)
    q = gc.copy(w._codes()).numpy().reshape((2, 2, 32, 64)).transpose(1, 2, 0, 3).reshape((2, 32, 128)).astype(np.int64)
    assert q.min() == -128
    scale = gc.asarray(rng.standard_normal((2, 1, 128)).astype(np.float32))
    for least in (-128, -127):
        a = rng.integers(least, 128, (2, 3, 32)).astype(np.int8)
        a[:, 1, ::5] = least
        codes = gc.moveaxis(w._codes().reshape((2, 2, 32, 64)), 0, 2).reshape((2, 32, 128))
        y = ((gc.asarray(a).astype(gc.int32) @ codes).astype(gc.float32) * scale).sum(axis=0)
        (kernel,) = gc.plan(y).kernels
        assert kernel.name == "contract_blocked" and "_exact(" in kernel.source and "turned" not in kernel.source
        dots = np.einsum("smk,skn->smn", a.astype(np.int64), q).astype(np.float32)
        assert equal_bits(y.numpy(), trees.reduce(list(dots * scale.numpy()), "outer", np.add, np.float32(-0.0)))


def test_what_it_prints_is_short():
    assert repr(quantize(gc.ones((2, 64)), bits=4)) == "Quantized((2, 64), 4 bits)"


def test_a_jitted_function_takes_what_is_packed(backend):
    w, x = quantize(gc.asarray(rng.standard_normal((64, 96)).astype(np.float32)), 8), gc.ones((3, 96))
    with pytest.raises(TracerError, match=r"pack it outside, by weight.packed\(words=True\)"):
        gc.jit(lambda x: gc.weights.quantized_matmul(x, w))(x)
    packed = w.packed(words=True)
    got = gc.jit(lambda x: gc.weights.quantized_matmul(x, packed))(x)
    assert equal_bits(got.numpy(), gc.weights.quantized_matmul(x, w).numpy())


@pytest.mark.parametrize("activations", [None, "int8", "int23"])
def test_a_layer_in_another_dtype_or_of_integers(activations):
    gc.random.seed(7)
    net = gc.nn.quantize(gc.nn.Sequential(gc.nn.Linear(64, 3)), 4, activations)
    x = gc.asarray(rng.integers(-3, 4, (2, 64)).astype(np.float32))
    before = net(x).numpy()
    assert np.abs(before).max() > 0.1
    for integers in (x.astype("int8"), x.astype("int64")):
        assert equal_bits(net(integers).numpy(), before)
    for dtype in (gc.float32, gc.float64):
        np.testing.assert_allclose(net.to(dtype)(x).numpy(), before, rtol=1e-5, atol=1e-5)
    matrix = quantize(gc.ones((2, 64)))
    with pytest.raises(TypeError, match="rounded from floats, and is int64"):
        gc.weights.quantized_matmul(x.astype("int64"), matrix)


def test_no_gradient_passes_through_what_is_rounded():
    x = gc.nn.parameter(gc.ones((1, 64), dtype="float32"))
    weight = quantize(gc.asarray(rng.random((2, 64)).astype(np.float32)))
    for bits in (8, 23):
        with pytest.raises(GradientError, match="no gradient passes through the rounding of x"):
            gc.weights.quantized_matmul(x, weight, bits)
        assert gc.weights.quantized_matmul(x.detach(), weight, bits).shape == (1, 2)
        with gc.no_grad():
            assert gc.weights.quantized_matmul(x, weight, bits).shape == (1, 2)
    layer = gc.nn.QuantizedLinear(weight)
    layer(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[0], weight.dequantize().numpy().sum(0), rtol=1e-6)


class Pair(NamedTuple):
    layer: gc.nn.Module
    other: object = None


def test_what_holds_a_layer_stays_what_it_is():
    class Net(gc.nn.Module):
        def __init__(self):
            self.pair, self.lists = Pair(gc.nn.Linear(32, 4)), collections.defaultdict(list)
            self.same = self.pair.layer
            self.lists["layers"].append(self.same)

    net = gc.nn.quantize(Net())
    assert type(net.pair) is Pair and type(net.pair.layer) is gc.nn.QuantizedLinear
    assert net.same is net.pair.layer is net.lists["layers"][0] and net.lists["new"] == []
