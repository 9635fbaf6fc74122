"""Matrix products as templates: the same bits in every form, kernels fused into one, and sizes that fit no tile."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from kernel_interpreter import run_program

import graphc as gc
from graphc import canonical, driver, program_cache
from graphc.build import build
from graphc.codegen import gemm_c
from graphc.config import settings
from graphc.ir import target
from graphc.ir.kernel import Template
from graphc.passes import contract
from graphc.runtime import compiler
from graphc.tolerances import equal_bits

rng = np.random.default_rng(11)

FLOATS = ("float32", "float64", "float16", "bfloat16")


def array(*shape: int, dtype: str = "float32"):
    values = rng.standard_normal(shape) * 4
    return gc.asarray(values.astype(np.float32)).astype(getattr(gc, dtype)) if dtype == "bfloat16" else \
        gc.asarray(values.astype(dtype))


def built(result: gc.Tensor):
    graph = canonical.canonicalize([result.node])
    return graph, build(graph, "c")


def interpreted(result: gc.Tensor) -> np.ndarray:
    """What the kernel interpreter gives: the meaning of the kernel, element by element."""
    graph, program = built(result)
    leaves = [leaf.value.view(leaf.dtype.numpy, leaf.shape) for leaf in graph.leaves]
    (raw,) = run_program(program, leaves, graph.params, "reverse")
    return raw[:result.node.nbytes].view(result.node.dtype.numpy).reshape(result.shape)


def templates(result: gc.Tensor) -> list[Template]:
    steps = [step for batch in built(result)[1].steps for step in batch.members]
    return [s for step in steps for s in step.kernel.body if type(s) is Template]


def check(result: gc.Tensor) -> None:
    assert len(templates(result)) == 1
    wanted = interpreted(result)
    assert equal_bits(result.numpy(), wanted), np.max(np.abs(result.numpy() - wanted))


@pytest.fixture(autouse=True)
def needs_kernels(backend):
    if backend != "cpu":
        pytest.skip("kernels of the C dialect")


def test_results_are_stored_as_they_lie_together():
    """The gradient of a weight that is multiplied transposed: its rows are what the template takes as columns."""
    x, dy, w = array(40, 70), array(40, 23), array(23, 70)
    result = w - 0.1 * (x.T @ dy).T
    (template,) = templates(result)
    assert (template.span("m").size, template.span("n").size) == (23, 70)
    check(result)


def test_results_that_lie_together_for_a_part_of_their_axis_are_columns():
    x, w = array(3, 20, 6, 7), array(9, 20)
    (template,) = templates(gc.einsum("nchw,oc->nohw", x, w))
    assert (template.span("m").size, template.span("n").size) == (9, 3 * 42)
    check(gc.einsum("nchw,oc->nohw", x, w))


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint32"])
@pytest.mark.parametrize("m, k, n", [(7, 5, 17), (13, 530, 9), (1, 20, 70), (50, 5, 1), (8, 6, 8)])
def test_sizes_that_fit_no_tile(m: int, k: int, n: int, dtype: str):
    check(array(m, k, dtype=dtype) @ array(k, n, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_transposed_operands(dtype: str):
    a, b = array(30, 19, dtype=dtype), array(21, 30, dtype=dtype)
    check(a.T @ b.T)
    check(a.T @ array(30, 21, dtype=dtype))
    check(array(19, 30, dtype=dtype) @ b.T)


@pytest.mark.parametrize("m, k, n", [(1, 4700, 19), (5, 4700, 19), (110, 530, 70), (17, 1030, 1060),
                                     (200, 500, 112)])
def test_more_than_is_packed_at_once(m: int, k: int, n: int):
    """Of small integers, so that the sums are exact in any order, and known without the interpreter."""
    a, b = rng.integers(-8, 9, (m, k)).astype(np.float32), rng.integers(-8, 9, (k, n)).astype(np.float32)
    wanted = a @ b
    for left in (gc.asarray(a), gc.asarray(a.T.copy()).T):
        for right in (gc.asarray(b), gc.asarray(b.T.copy()).T):
            assert len(templates(left @ right)) == 1
            assert np.array_equal((left @ right).numpy(), wanted)


def test_strided_and_reversed_operands():
    a, b = array(20, 60), array(60, 40)
    check(a[::2, ::3] @ b[:20, ::-1])
    check(gc.flip(a, axis=1)[3:, 1:40:3] @ b[5:18])


def test_stacks_broadcast():
    check(array(3, 9, 10) @ array(10, 11))
    check(array(9, 10) @ array(3, 10, 11))
    check(array(2, 1, 9, 10) @ array(3, 10, 11))
    check(array(2, 3, 9, 10) @ array(2, 1, 10, 11))


def test_factors_are_computed_while_they_are_packed():
    a, b = array(20, 30), array(30, 40)
    check((a * 2 + 1) @ gc.where(b > 0, b, 0.5))
    check(a.astype("float64") @ b.astype("float64"))
    check(gc.pad(a, ((1, 2), (3, 4))) @ array(37, 12))
    check(gc.take(a, gc.asarray(np.array([3, 3, 19, 0, 7, 1, 2, 4, 5])), axis=0) @ b)
    check(gc.reshape(array(4, 5, 6), (4, 30)) @ gc.reshape(gc.permute_dims(array(6, 5, 9), (1, 0, 2)), (30, 9)))


def test_what_becomes_of_the_result():
    a, b = array(20, 30), array(30, 40)
    check(gc.relu(a @ b + array(40)))
    check((a @ b * 0.5 + array(20, 1)).astype("float16"))
    check(gc.permute_dims(gc.reshape(a @ b, (4, 5, 8, 5)), (2, 0, 3, 1)) * 2)
    check(gc.where(array(20, 40) > 0, a @ b, float("-inf")))
    assert len(gc.plan(gc.permute_dims(gc.reshape(a @ b, (4, 5, 8, 5)), (2, 0, 3, 1)) * 2).kernels) == 1


def test_nan_and_infinities_go_where_they_belong():
    a, b = np.ones((9, 600), np.float32), np.ones((600, 20), np.float32)
    a[2, 550], b[3, 4], a[5, 0] = np.nan, np.inf, -np.inf
    found = (gc.asarray(a) @ gc.asarray(b)).numpy()
    with np.errstate(all="ignore"):
        assert np.array_equal(found, a @ b, equal_nan=True)
    check(gc.asarray(a) @ gc.asarray(b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_matrix_times_a_vector(dtype: str):
    """Short rows, which are taken side by side, long ones, ends of all lengths; and few columns, one below the other.
    Of small integers, so that the sums are known. One kernel for all sizes of each of the two."""
    compiled = gc.counters()
    for rows, columns in [(35, 50), (9, 601), (70, 300), (8, 5), (64, 6), (17, 1030), (600, 9), (1100, 70), (530, 520)]:
        a, x, y = (rng.integers(-8, 9, shape).astype(dtype) for shape in ((rows, columns), columns, rows))
        assert np.array_equal((gc.asarray(a) @ gc.asarray(x)).numpy(), a @ x), (rows, columns)
        if columns >= 8:
            assert np.array_equal((gc.asarray(y) @ gc.asarray(a)).numpy(), y @ a), (rows, columns)
    assert (gc.counters() - compiled).compiles <= 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int32"])
@pytest.mark.parametrize("columns", [9, 64, 96])
def test_a_vector_times_one_number_everywhere(dtype: str, columns: int):
    """Nothing in the columns of the other factor is read from memory."""
    w = gc.asarray(rng.integers(-8, 9, 65)).astype(dtype)
    two = gc.broadcast_to(gc.asarray([[2.0]]).astype(dtype), (65, columns))
    ones, threes = gc.ones((columns, 65), dtype=dtype), gc.full((65, columns), 3, dtype=dtype)
    for product, factor in ((ones @ w, 1), (w @ threes, 3), (w @ two, 2), (gc.stack([ones] * 3) @ w, 1)):
        assert (product.numpy() == factor * w.sum().numpy()).all()


def test_sizes_of_axes_that_a_product_flattens_are_arguments():
    """Where the rows or columns of a product are several axes: of an image, or of a batch and its heads."""
    def by_heads(batch: int, length: int, heads: int):
        x, w = random(batch * length, heads * 64), random(heads * 64, heads * 64)
        return gc.permute_dims(gc.reshape(x @ w + 1, (batch, length, heads, 64)), (0, 2, 1, 3))

    def convolution(batch: int, size: int):
        return gc.nn.functional.conv2d(random(batch, 8, size, size), random(16, 8, 3, 3), padding=1)

    def random(*shape: int):
        return gc.asarray(rng.standard_normal(shape).astype(np.float32))

    for product, first, second in ((by_heads, (4, 128, 8), (6, 96, 12)), (convolution, (4, 56), (5, 60))):
        texts = [[k.source for k in gc.plan(product(*sizes)).kernels] for sizes in (first, second)]
        assert texts[0] == texts[1], product


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("a, b", [((9, 20), (20, 17)), ((4, 300), (300, 2)), ((2, 3, 5, 4), (3, 4, 6)),
                                  ((1, 40), (40, 9)), ((30, 7), (7, 1)), ((5, 0), (0, 4)),
                                  ((2, 3, 5, 4), (3, 4, 1)), ((5, 4), (2, 4, 1)), ((3, 0), (0, 1))])
def test_complex_products_are_four_real_ones(a: tuple[int, ...], b: tuple[int, ...], dtype: str):
    x, y = (gc.asarray((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(dtype)) for s in (a, b))
    found = gc.matmul(gc.conj(x), y)
    np.testing.assert_allclose(found.numpy(), np.matmul(np.conj(x.numpy()), y.numpy()),
                               atol=1e-4 if dtype == "complex64" else 1e-12)
    if a == (9, 20):
        assert len(templates(gc.matmul(gc.conj(x), y))) == 4


@pytest.mark.parametrize("m, k, n", [(0, 5, 9), (9, 0, 8), (9, 5, 0)])
def test_nothing_to_multiply(m: int, k: int, n: int):
    found = (array(m, k) @ array(k, n)).numpy()
    assert found.shape == (m, n) and not found.any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, k, n", [(100, 700, 129), (3, 1030, 300), (611, 70, 1)])
def test_threads_change_no_bit(m: int, k: int, n: int, dtype: str):
    a, b = array(m, k, dtype=dtype), array(n, k, dtype=dtype)
    found = []
    for threads in (1, 2, 3):
        with settings.override(num_threads=threads):
            found.append((gc.asarray(a.numpy()) @ gc.asarray(b.numpy()).T).numpy())
    assert equal_bits(found[0], found[1]) and equal_bits(found[0], found[2])


def test_small_results_are_cut_for_all_threads():
    with settings.override(num_threads=2):
        for m, n in ((64, 64), (32, 9)):
            (kernel,) = gc.plan(array(m, 300) @ array(300, n)).kernels
            assert kernel.launch == (2, 2)
        (template,) = templates(array(32, 300) @ array(300, 9))
        assert template.span("m").length == 16
        check(array(33, 70) @ array(70, 9))


def test_up_to_32_rows_read_a_large_factor_where_it_lies():
    b = array(100, 96)
    for m, k, n, name in ((32, 100, 96, "gemv"), (33, 100, 96, "gemm"), (32, 95, 96, "gemm"), (32, 100, 95, "gemm"),
                          (16, 60, 60, "gemv")):
        (template,) = templates(array(m, 100)[:, :k] @ b[:k, :n])
        assert template.name == name
    (turned,) = templates(array(32, 100) @ array(96, 100).T)
    (computed,) = templates(array(32, 100) @ (b * 2))
    assert turned.name == computed.name == "gemm"
    a = array(49, 700)
    b = array(700, 129)
    whole = (a @ b).numpy()
    for m in range(16, 34):
        assert equal_bits((a[:m] @ b).numpy(), whole[:m])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("k, n, dtype", [(1303, 1300, "float32"), (1030, 900, "float64")])
def test_up_to_64_rows_read_a_factor_that_no_cache_holds_where_it_lies(monkeypatch, k: int, n: int, dtype: str,
                                                                       turned: bool):
    monkeypatch.setattr(contract, "LEAST_FAR", 7 << 18)
    monkeypatch.setattr(contract, "FAR_COLUMNS", 1)
    a = array(67, k, dtype=dtype)
    b = array(n, k + 3, dtype=dtype)[:, 2:-1].mT if turned else array(k, n + 3, dtype=dtype)[:, 2:-1]
    names = {m: templates(a[:m] @ b)[0].name for m in (64, 65, 67)}
    assert names == {64: "gemv", 65: "gemm", 67: "gemm"}
    monkeypatch.setattr(contract, "FAR_COLUMNS", 1 << 20)
    assert templates(a[:33] @ b)[0].name == "gemm"
    monkeypatch.setattr(contract, "FAR_COLUMNS", 1)
    whole = (a @ b).numpy()
    for m in (1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 33, 64):
        assert equal_bits((a[:m] @ b).numpy(), whole[:m])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("k, n", [(256, 96), (1030, 121), (5000, 97)])
def test_rows_in_lanes_meet_columns_where_they_lie(monkeypatch, k: int, n: int, dtype: str):
    a, b = array(40, k, dtype=dtype), array(n, k + 3, dtype=dtype)[:, 2:-1].mT
    whole = (a @ b).numpy()
    for lanes, name in ((64, "gemv"), (32, "gemm")):
        monkeypatch.setattr(contract, "vector_bytes", lambda lanes=lanes: lanes)
        driver.forget_programs()
        names = {m: templates(a[:m] @ b)[0].name for m in (16, 20, 21, 32, 33)}
        assert names == {16: "gemv", 20: "gemm", 21: name, 32: name, 33: "gemm"}
        assert templates(a[:32, :200] @ b[:200])[0].name == "gemm"
        for m in (5, 6, 8, 9, 15, 16, 17, 21, 24, 25, 32, 33):
            assert equal_bits((a[:m] @ b).numpy(), whole[:m])


@pytest.mark.parametrize("turned", [False, True])
def test_few_rows_meet_a_factor_of_which_8_mb_follow(turned: bool):
    a = array(70, 1100)
    b = array(2000, 1100).mT if turned else array(1100, 2000)
    whole = (a @ b).numpy()
    with settings.override(num_threads=1):
        for m in (1, 2, 3, 4, 5, 14):
            assert equal_bits((a[:m] @ b).numpy(), whole[:m])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="about instructions of x86")
@pytest.mark.parametrize("without", ["-mno-fma", "-mno-avx512f", "-mno-avx"])
@pytest.mark.parametrize("m", [1, 3, 9])
def test_products_of_few_rows_are_c_whatever_a_processor_lacks(tmp_path, m: int, without: str):
    cc = compiler.find_compiler()
    for dtype in ("float32", "float64", "int32"):
        for b in (array(60, 50, dtype=dtype), array(50, 60, dtype=dtype).mT):
            (tmp_path / "product.c").write_text(gc.plan(array(m, 60, dtype=dtype) @ b).kernels[0].source)
            flags = [flag for flag in cc.flags if flag not in ("-O3", "-shared")]
            command = [*cc.command, *flags, without, "-c", "product.c", "-o", "product.o"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


FEW_ROWS = """
import ctypes
import hashlib
import mmap
import numpy as np
import graphc as gc
random, bits = np.random.default_rng(3), hashlib.sha256()
for dtype, rows in (("float32", (1, 2, 3, 4, 6, 8, 9, 13, 16)), ("float64", (1, 2, 4, 9)), ("int32", (1, 3, 8, 13))):
    b = (random.standard_normal((2101, 1100)) * 100).astype(dtype)
    for m in rows:
        for k, n in ((2101, 1100), (700, 90)):
            a = (random.standard_normal((m, k)) * 100).astype(dtype)
            for right in (gc.asarray(b[:k, :n]), gc.asarray(np.ascontiguousarray(b[:k, :n].T)).mT):
                bits.update((gc.asarray(a) @ right).numpy().tobytes())
def guarded(k, n, dtype):       # whose end is that of a page before one that can't be read
    nbytes = k * n * np.dtype(dtype).itemsize
    pages = -(-nbytes // 4096) * 4096
    memory = mmap.mmap(-1, pages + 4096)
    end = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + pages
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(end), 4096, 0) == 0
    return np.frombuffer(memory, np.uint8)[pages - nbytes:pages].view(dtype).reshape(k, n)
for m, k, n, dtype in ((6, 1179, 1000, "float64"), (4, 1179, 2000, "float32"), (3, 9000, 250, "float32")):
    b = guarded(k, n, dtype)
    b[:] = random.standard_normal((k, n))
    a = random.standard_normal((m, k)).astype(dtype)
    bits.update((gc.asarray(a) @ gc.asarray(b, copy=False)).numpy().tobytes())
b = guarded(1003, 9005, "float32")      # more than an L3 cache keeps
b[:] = random.standard_normal(b.shape)
for m in (1, 2, 3, 4, 5):
    a = random.standard_normal((m, 9005)).astype("float32")
    bits.update((gc.asarray(a) @ gc.asarray(b, copy=False).mT).numpy().tobytes())
few = [np.ones(shape, "float32") for shape in ((4, 3, 300000), (4, 300000, 10))]    # columns than lanes
bits.update((gc.asarray(few[0]) @ gc.asarray(few[1])).numpy().tobytes())
print(bits.hexdigest())
"""
PROCESSORS = {  # what a compiler says of one with the instructions of this machine
    "Zen 3": "-D__znver3__=1 -U__AVXVNNI__ -mno-avx512f",
    "Zen 4": "-D__znver4__=1 -U__AVXVNNI__", "Zen 5": "-D__znver4__=1 -U__AVXVNNI__ -D__AVXVNNI__=1",
    "Zen 5 without AVX-512": "-D__znver4__=1 -U__AVXVNNI__ -D__AVXVNNI__=1 -mno-avx512f",
    "others": " ".join(f"-U__znver{k}__" for k in (1, 2, 3, 4, 5))}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of x86-64")
def test_few_rows_have_the_same_bits_the_ways_of_all_processors(tmp_path):
    """How memory is asked for, and how many rows go together, depends on who made the processor, and on whether over
    8 MB of a factor follow for a thread, or an L3 cache keeps it."""
    cc, found = compiler.find_compiler(), {}
    own = {"GRAPHC_CACHE_DIR": str(tmp_path / "cache"), "GRAPHC_BACKEND": "cpu", "GRAPHC_NUM_THREADS": "1"}
    for name, flags in PROCESSORS.items():
        environ = os.environ | own | {"GRAPHC_CC": " ".join([*cc.command, flags])}
        done = subprocess.run([sys.executable, "-c", FEW_ROWS], env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize("k", [1024, 2047, 5000, 5120, 9300])
def test_few_rows_go_through_two_chunks_of_a_column_at_a_time(k: int):
    a, b = array(20, k), array(37, k + 1)[:, 1:].mT
    whole = (a @ b).numpy()
    for m in (1, 2, 3, 4, 5, 8, 9):
        assert templates(a[:m] @ b)[0].name == "gemv"
        assert equal_bits((a[:m] @ b).numpy(), whole[:m])


def test_threads_sweep_stripes_of_one_width():
    with settings.override(num_threads=2):
        for n, stripes in ((4096, 2), (6144, 4), (4100, 4)):
            (template,) = templates(gc.zeros((3, 70)) @ (gc.zeros((70, n)) + 0.0))
            assert template.span("n").block.extent == stripes


def test_tiles_change_no_bit(monkeypatch):
    a, b = array(90, 540), array(540, 75)
    whole = (a @ b).numpy()
    for rows, columns in ((12, 32), (24, 64), (96, 96)):
        monkeypatch.setattr(contract, "_block", lambda m, n, stacks, *most, size=(0, rows, columns): size)
        (template,) = templates(a @ b + 0.0)
        assert [span.length for span in template.spans[:2]] == [rows, columns]
        assert equal_bits(interpreted(a[:, :50] @ b[:50]), (a[:, :50] @ b[:50]).numpy())
    for rows in range(0, 90, 30):       # a part of the product is the product of a part
        assert equal_bits((a[rows:rows + 30] @ b[:, 10:50]).numpy(), whole[rows:rows + 30, 10:50])


def test_caches_change_no_bit(monkeypatch):
    a, b = array(290, 600), array(600, 150)
    found = []
    for size in (1 << 18, 1 << 19, 1 << 21):
        monkeypatch.setattr(gemm_c, "l2_bytes", lambda size=size: size)
        monkeypatch.setattr(program_cache, "l2_bytes", lambda size=size: size)
        driver.forget_programs()
        before = gc.counters()
        found.append((a @ b).numpy())
        assert len(found) == 1 or gc.counters().compiles == before.compiles
    assert equal_bits(found[0], found[1]) and equal_bits(found[0], found[2])
    driver.forget_programs()


@pytest.mark.parametrize("size, found", [("512K\n", 1 << 19), ("1M\n", 1 << 20), ("64K", 1 << 18), ("12M", 1 << 21),
                                         ("", 1 << 19), (None, 1 << 19)])
def test_how_large_a_cache_is(tmp_path, monkeypatch, size, found):
    if size is not None:
        (tmp_path / "size").write_text(size)
    monkeypatch.setattr(target, "L2", str(tmp_path / "size"))
    assert target.l2_bytes.__wrapped__() == found


@pytest.mark.parametrize("x, w, options, dtype", [
    ((2, 3, 5, 4), (70, 3, 2, 3), {"padding": 1}, "float32"), ((2, 2, 5, 37), (8, 2, 3, 4), {}, "float32"),
    ((2, 5, 5, 13), (9, 5, 2, 3), {"padding": 2}, "float64"), ((2, 1, 7, 21), (11, 1, 3, 3), {"padding": 1}, "float32"),
    ((10, 1, 15, 13), (9, 1, 3, 3), {"padding": 1, "stride": 2}, "float32"),    # many images in a chunk
    ((2, 1, 532), (9, 1, 8), {"dilation": 2}, "float32"),                       # rows longer than a chunk
    ((3, 6, 5, 9), (18, 3, 3, 1), {"groups": 2, "padding": (1, 0)}, "float16"),
    ((2, 1, 5, 6, 7), (9, 1, 2, 3, 3), {}, "float32"), ((2, 3, 10, 5), (7, 3, 2, 3), {"padding": 1}, "float32")])
def test_gradients_of_convolution_weights(x, w, options, dtype):
    """Windows are rows of the product, which are read where they lie in a slab, unless they meet few columns: then
    windows are columns, and copied in runs."""
    conv, x, w = {1: gc.conv1d, 2: gc.conv2d, 3: gc.conv3d}[len(x) - 2], array(*x, dtype=dtype), array(*w, dtype=dtype)
    y, pull = gc.vjp(lambda w: conv(x, w, **options), w)
    gradient = pull(array(*y.shape, dtype=dtype))[0]
    assert ("gc_slabbed(m_to" if w.shape[0] > 7 else "gc_run_float(turned") in gc.plan(gradient).kernels[0].source
    check(gradient)


@pytest.mark.parametrize("x, w, options, dtype", [
    ((2, 2, 4, 40), (20, 2, 3, 3), {"padding": 1}, "float32"), ((1, 2, 9, 41), (17, 2, 3, 3), {"stride": 2}, "float32"),
    ((2, 2, 5, 34), (30, 2, 2, 3), {"dilation": (1, 2)}, "float64"), ((1, 36, 50), (17, 36, 15), {}, "float32"),
    ((3, 2, 19, 31), (2, 2, 3, 3), {"padding": 1}, "float32"), ((2, 1, 700), (6, 1, 9), {}, "float32"),
    ((3, 4, 9, 7), (1, 4, 5, 5), {"padding": 4}, "float32"), ((1, 2, 600), (1, 2, 3), {"padding": 1}, "float64")])
def test_few_rows_meet_windows_where_they_lie(x, w, options, dtype):
    """A panel is read from the slab if each of its vectors is of one row of an image, and else filled."""
    conv = gc.conv2d if len(x) == 4 else gc.conv1d
    y = conv(array(*x, dtype=dtype), array(*w, dtype=dtype), **options)
    assert "gc_viewed(m_to" in gc.plan(y).kernels[0].source
    check(y)


def test_windows_of_few_rows_are_evaluated_once():
    """But not for one row along long lines, nor where windows do not overlap; the bits are those of more rows."""
    x, w = array(2, 3, 12, 300), array(20, 3, 3, 3)
    whole = gc.conv2d(x, w, padding=1).numpy()
    for rows in (1, 2, 6, 16):
        y = gc.conv2d(x, w[:rows], padding=1)
        assert [t.name for t in templates(y)] == ["gemm"]
        assert equal_bits(y.numpy(), whole[:, :rows])
    alone, apart = gc.conv2d(x, w[:1]), gc.conv2d(x, w[:9], stride=3)
    assert [t.name for t in (*templates(alone), *templates(apart))] == ["gemv", "gemv"]
    assert equal_bits(alone.numpy(), gc.conv2d(x, w).numpy()[:, :1])


@pytest.mark.parametrize("x, options, dtype", [
    ((2, 3, 11, 37), {"padding": 1}, "float32"), ((1, 60, 15, 19), {}, "float32"), ((2, 2, 4, 140), {}, "float32"),
    ((2, 2, 21, 45), {"stride": 2, "dilation": (1, 2)}, "float64"), ((1, 2, 30, 9), {"padding": 1}, "float64")])
def test_rows_lay_panels_of_windows_out(x, options, dtype):
    """Vectors of a panel are of one row of an image, of two, or of more, and a panel may be of two images."""
    y = gc.conv2d(array(*x, dtype=dtype), array(53, x[1], 3, 3, dtype=dtype), **options)
    assert "gc_laid(above" in gc.plan(y).kernels[0].source
    check(y)


@pytest.mark.parametrize("m, n, k, dtype", [(13, 97, 5, "float64"), (29, 33, 520, "float32")])
def test_sums_grow_where_they_belong(m, n, k, dtype):
    """Tiles at the edges write as far as the result goes: the rows below and the neighbours stay as they were."""
    product = array(m, k, dtype=dtype) @ array(k, n, dtype=dtype)
    assert "sums = (" not in gc.plan(product).kernels[0].source
    check(product)


def test_a_template_agrees_with_plain_loops(monkeypatch):
    a, b = array(40, 1100), array(1100, 33)
    tiled = (a @ b).numpy()
    monkeypatch.setattr("graphc.passes.contract.TEMPLATE_TYPES", ())
    plain = a @ b * 1.0 + 0.0
    assert not templates(plain)
    assert equal_bits(plain.numpy(), tiled)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("a, b", [((50, 3), (3, 3)), ((9, 2, 3), (9, 3, 4)), ((1, 1), (1, 70)), ((40, 4), (4, 40))])
def test_short_contractions_are_maps(a: tuple[int, ...], b: tuple[int, ...], dtype: str):
    """The chain of multiply-adds that a longer one of zeros goes on with."""
    a, b = array(*a, dtype=dtype), array(*b, dtype=dtype)
    result = a @ b
    (kernel,) = gc.plan(result).kernels
    assert kernel.name == "map_dot" and kernel.flops >= result.size * (2 * a.shape[-1] - 1)
    assert equal_bits(result.numpy(), interpreted(a @ b))
    more = [(0, 0)] * (a.ndim - 2)
    longer = gc.pad(a, (*more, (0, 0), (0, 5))) @ gc.pad(b, (*more, (0, 5), (0, 0)))
    assert np.array_equal(result.numpy(), longer.numpy())
    turned = gc.relu(gc.asarray(b.mT.numpy()).mT * 2 - 1)
    assert np.allclose((a @ turned).numpy().astype("f8"), a.numpy().astype("f8") @ turned.numpy(), rtol=2e-3, atol=0.5)


@pytest.mark.parametrize("m, k, n, dtype", [(9, 1 << 15, 8, "float32"), (3, 250_000, 3, "float64")])
def test_few_results_of_a_long_contraction_are_made_by_chunks(m: int, k: int, n: int, dtype: str):
    a, b = array(m, k, dtype=dtype), array(n, k, dtype=dtype)
    found = gc.exp(a) @ b.T
    assert len(gc.plan(found).kernels) == (3 if k % 512 == 0 else 4)
    with settings.override(disable="split"):
        assert equal_bits(found.numpy(), (gc.exp(a) @ b.T * 1.0).numpy())


def test_a_row_times_a_column_is_a_sum_of_products():
    """In the order of a sum, with both read as they lie in memory."""
    v, w, a, b = array(9000), array(9000), array(70, 33), array(70, 33)
    assert equal_bits((v @ w).numpy(), gc.sum(v * w).numpy())
    for labels, axis in (("ij,ij->i", 1), ("ij,ij->j", 0), ("ij,ij->", (0, 1))):
        assert equal_bits(gc.einsum(labels, a, b).numpy(), gc.sum(a * b, axis=axis).numpy())
        (kernel,) = gc.plan(gc.einsum(labels, a, b)).kernels
        assert kernel.name.startswith("column_sum" if axis == 0 else "row_sum")
    assert equal_bits(gc.vecdot(a, b, axis=-2).numpy(), gc.sum(a * b, axis=0).numpy())
    half = array(300, dtype="float16")
    assert half.numpy().astype("f4") @ half.numpy().astype("f4") == pytest.approx(float(half @ half), rel=1e-3)
    assert (gc.asarray([200, 100], dtype="uint8") @ gc.asarray([1, 1], dtype="uint8")).numpy() == 44
    assert (gc.zeros(0) @ gc.zeros(0)).numpy() == 0


def test_the_work_of_a_product():
    (kernel,) = gc.plan(array(100, 50) @ array(50, 70)).kernels
    assert kernel.flops == 2 * 100 * 50 * 70
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * (5000 + 3500), 4 * 7000)


def test_the_library_on_request():
    a, b = array(20, 30), array(40, 30)
    with settings.override(matmul="library"):
        result = gc.relu(a @ b.T)
        assert [kernel.name for kernel in gc.plan(result).kernels] == ["matmul", "map_where"]
        assert equal_bits(result.numpy(), np.maximum(a.numpy() @ b.numpy().T, 0))
        check_half = array(20, 30, dtype="float16") @ array(30, 9, dtype="float16")
        assert len(templates(check_half)) == 1      # the library has no float16
    assert len(gc.plan(gc.relu(a @ b.T) * 2).kernels) == 1


@pytest.mark.parametrize("m", [1, 40])
def test_narrow_integers_are_added_up_in_32_bits(m):
    """int8 x int8 -> int32: widened while they are packed, exact, and wrapping as NumPy's."""
    a = rng.integers(-128, 128, (m, 700)).astype(np.int8)
    b = rng.integers(-128, 128, (700, 33)).astype(np.int8)
    a[0], b[:, 0] = -128, -128
    y = gc.asarray(a).astype(gc.int32) @ gc.asarray(b).astype(gc.int32)
    (kernel,) = gc.plan(y).kernels
    assert kernel.bytes_read == a.nbytes + b.nbytes
    assert np.array_equal(y.numpy(), a.astype(np.int32) @ b.astype(np.int32)) and y.numpy()[0, 0] == 700 << 14


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize(("m", "k", "n"), [
    (5, 5, 5), (12, 12, 12), (8, 18, 8), (3, 24, 4), (6, 6, 1), (1, 9, 7), (13, 8, 8)])
def test_stacks_of_small_matrices_have_the_bits_of_few(backend, m, k, n, dtype):
    """They are expressions, as packing them took longer than multiplying."""
    rng = np.random.default_rng(m * k)
    a, b = (gc.asarray((rng.normal(size=(33, *shape)) * 4).astype(dtype)) for shape in ((m, k), (k, n)))
    many = a @ b
    if backend == "cpu":
        assert all(kernel.name.startswith("map") == (m < 13) for kernel in gc.plan(many).kernels)
    few = np.concatenate([(a[at:at + 11] @ b[at:at + 11]).numpy() for at in range(0, 33, 11)])
    np.testing.assert_array_equal(many.numpy(), few)
    np.testing.assert_array_equal(gc.relu(a @ b + 1).numpy(), np.maximum(few + np.asarray(1, dtype), 0))
