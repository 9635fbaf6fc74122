"""SIMD that is really there: the instructions of inner loops, by kind, in the assembly of generated kernels."""
from __future__ import annotations

import platform
import re
import subprocess

import numpy as np
import pytest

import graphc as gc
from graphc.codegen import ahead_c
from graphc.errors import NoCompilerError
from graphc.runtime import floor
from graphc.runtime.compiler import find_compiler

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the instructions are those of x86-64")


def macros() -> str:
    """What the compiler defines for the machine code that it makes here."""
    try:
        compiler = find_compiler()
    except NoCompilerError:
        return ""
    command = [*compiler.command, *(f for f in compiler.flags if f.startswith("-m")), "-dM", "-E", "-x", "c", "-"]
    return subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout


MACROS = macros()
WIDE = "zmm" if "__AVX512F__" in MACROS else "ymm"
ROUTINE = "_ZGVeN16" if WIDE == "zmm" else "_ZGVdN8"    # of libmvec, for float32
IS_AMD = bool(re.search(r"__znver\d__ ", MACROS))     # as GC_AMD in helpers.c.j2
SOON = "prefetcht1" if IS_AMD and "__AVXVNNI__" not in MACROS else "prefetcht0"   # as GC_SOON there
AHEAD = "prefetcht0" if IS_AMD and "__AVXVNNI__" in MACROS else "prefetcht1"     # of products of few rows, by GC_ZEN5
needs_avx2 = pytest.mark.skipif("__AVX2__" not in MACROS, reason="no AVX2 here")


def array(*shape, dtype="float32"):
    return gc.asarray(np.ones(shape, dtype))


@pytest.fixture
def assembly(tmp_path, backend):
    """The assembly of the only kernel of a program, as the cpu backend compiles it."""
    if backend != "cpu":
        pytest.skip("assembly of the cpu backend")

    def of(*tensors) -> str:
        (kernel,) = gc.plan(*tensors).kernels
        compiler = find_compiler()
        source = tmp_path / "kernel.c"
        source.write_text(kernel.source)
        flags = [f for f in compiler.flags if f != "-shared"]
        done = subprocess.run([*compiler.command, *flags, "-S", "-o", "-", str(source)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return of


def count(text: str, instruction: str, register: str = "") -> int:
    return len(re.findall(rf"^\s+{instruction}\b.*{register}", text, re.M))


@needs_avx2
def test_arithmetic_uses_the_widest_vectors(assembly):
    x, y = array(4096), array(4096)
    text = assembly(x * y + x - 0.5)
    assert count(text, "vmulps", WIDE) >= 1 and count(text, "vaddps", WIDE) >= 1 and count(text, "vsubps", WIDE) >= 1
    assert count(text, "call") == 0


@needs_avx2
def test_multiply_and_add_are_not_contracted(assembly):
    """x*x - x*x is 0 only when no fused multiply-add rounds one side differently."""
    x = array(4096)
    assert not re.search(r"vfn?m(add|sub)", assembly(x * x - x * 2.5))


@needs_avx2
@pytest.mark.parametrize("name, routine", [("sin", "sinf"), ("log", "logf"), ("atan", "atanf")])
def test_other_functions_call_the_vector_library(assembly, name, routine):
    assert f"{ROUTINE}v_{routine}" in assembly(getattr(gc, name)(array(4096)))


@needs_avx2
def test_pow_calls_the_vector_library(assembly):
    assert f"{ROUTINE}vv_powf" in assembly(array(4096) ** array(4096))


@needs_avx2
@pytest.mark.parametrize("name", ["exp", "tanh", "erf"])
def test_inlined_functions_call_nothing(assembly, name):
    text = assembly(getattr(gc, name)(array(4096)))
    assert count(text, "call") == 0
    assert count(text, r"vfn?m(?:add|sub)\d+ps", WIDE) >= 4


@needs_avx2
def test_row_sums_keep_their_partial_results_in_registers(assembly):
    """64 float32 partial results: eight 256-bit registers, or four of 512 bits, added to from memory."""
    text = assembly(gc.sum(array(512, 4096), axis=1))
    assert count(text, r"vaddps\s+[^,]*\(%r\w+", WIDE) >= 64 // (16 if WIDE == "zmm" else 8)


def long_formula(x, y):
    """Two logarithms, an error function and an exponential, each of which waits for the one before."""
    t = gc.log(x / y) + gc.sqrt(y)
    return gc.exp(-gc.erf(t * 0.5)) * gc.log(t * t + 1) - x


def test_functions_of_a_long_formula_have_loops_of_their_own(backend):
    """So that one call does not wait for another: the processor looks ahead by some hundred instructions only."""
    (kernel,) = gc.plan(long_formula(array(4096), array(4096))).kernels
    strip = kernel.source[kernel.source.index("i_at + 64 <="):]
    loops = re.findall(r"for \(int l = 0; l < 64; l\+\+\) \{.*?\n\s+\}", strip, re.S)
    assert sum("gc_" in text for text in loops) == 3 and max(text.count("gc_") for text in loops) == 1
    assert len(re.findall(r"gc_log_float_64\(f\d+, \w+\);", strip)) == 2
    (short,) = gc.plan(gc.exp(array(4096)) * 2 - 1).kernels
    assert "i_at" not in short.source


@needs_avx2
def test_a_function_at_many_places_is_compiled_once_and_in_vectors(assembly):
    """Inlined at each of them it took seconds to compile, and from some number on it was scalar."""
    y = array(4096)
    for _ in range(60):
        y = gc.tanh(y)
    (kernel,) = gc.plan(y).kernels
    assert len(re.findall(r"gc_tanh_float_64\(\w+, \w+\);", kernel.source)) == 60
    assert 0 < count(assembly(y), "vdivps", WIDE) < 60


def test_strips_and_their_ends_have_the_same_bits():
    x, y = (np.random.default_rng(k).uniform(0.1, 3, 1000).astype("float32") for k in (1, 2))
    whole = long_formula(gc.asarray(x), gc.asarray(y)).numpy()
    for first, last in [(0, 1), (1, 64), (3, 67), (0, 128), (5, 700)]:
        part = long_formula(gc.asarray(x[first:last].copy()), gc.asarray(y[first:last].copy())).numpy()
        np.testing.assert_array_equal(part.view("uint32"), whole[first:last].view("uint32"))


def test_results_that_no_cache_holds_are_stored_past_them(assembly):
    x = gc.asarray(np.zeros(7 << 20, "float32"))
    assert count(assembly(x * 2 + 1), r"v?movntdq") >= 1
    assert count(assembly(x[:4096] * 2 + 1), r"v?movntdq") == 0


@needs_avx2
def test_rows_of_several_channels_are_vectors(assembly):
    """With a bias for each channel: one division a chunk, and one for the row that is written; none for an element."""
    rows = gc.reshape(array(16, 64, 784) + array(64, 1), (16, 8, -1))
    (kernel,) = gc.plan(rows - gc.mean(rows, axis=2, keepdims=True)).kernels
    assert kernel.source.count(") / a") == kernel.source.count(") % a") == 2
    text = assembly(rows - gc.mean(rows, axis=2, keepdims=True))
    assert count(text, "vaddps", WIDE) >= 2 and count(text, "vsubps", WIDE) >= 1


@pytest.mark.skipif(WIDE != "zmm", reason="masks of AVX-512")
def test_the_last_elements_of_a_row_are_a_vector(assembly):
    """Read under a mask, and added in whole: what is stored under a mask, or one by one, can't be read back at once."""
    text = assembly(gc.sum(array(512, 100), axis=1))
    assert re.search(r"vmovups\s.*\), %zmm\d+\{%k", text)
    assert not re.search(r"vmov\w+\s%zmm\d+, .*\(.*\{%k", text)


@needs_avx2
def test_a_row_maximum_is_two_maxima(assembly):
    """Two that differ in zeros and NaN, and are combined; no comparison for each of these cases."""
    text = assembly(gc.max(array(512, 4096), axis=1))
    assert count(text, "vmaxps", WIDE) >= 2 * 64 // (16 if WIDE == "zmm" else 8)
    assert count(text, "vcmp\\w*ps", WIDE) <= count(text, "vmaxps", WIDE) / 2


@needs_avx2
def test_the_second_sweep_over_a_row_fetches_the_next_row(assembly):
    x = array(512, 1024)
    softmax = gc.exp(x - gc.max(x, axis=1, keepdims=True))
    text = assembly(softmax / gc.sum(softmax, axis=1, keepdims=True))
    assert count(text, "prefetcht0") == 64 * 4 // 64
    assert count(assembly(gc.sum(x, axis=1)), "prefetcht0") == 0


@needs_avx2
def test_what_one_stream_brings_from_memory_is_asked_for_early(assembly):
    """Each line once; what arrays in a cache have is not, nor what AMD's processors ask for themselves."""
    lines = 64 * 4 // 64
    assert count(assembly(gc.sum(array(4096, 256), axis=1)), "prefetcht0") == (0 if IS_AMD else lines)
    assert count(assembly(gc.sum(array(8192, 256, dtype="float16"), axis=1)), "prefetcht0") == lines // 2
    assert count(assembly(gc.sum(array(4095, 256), axis=1)), "prefetcht0") == 0
    assert count(assembly(array(1 << 23) * 2), SOON) > 0


@needs_avx2
def test_columns_behind_a_panel_are_asked_for(assembly):
    """By more rows than four, as they multiply; by fewer, where the processor likes to be asked in order, which those
    without AVX-512 do not: they leave out what they are asked for while too much is on its way."""
    columns = array(1024, 1024)
    assert count(assembly(array(8, 1024) @ columns.mT), AHEAD) > 0
    assert (count(assembly(array(1, 1024) @ columns.mT), AHEAD) > 0) == (IS_AMD and WIDE == "zmm")
    text = assembly(array(4, 1024) @ columns.mT)
    assert count(text, AHEAD) > 0
    assert count(text[text.index("\ngc_columns"):], AHEAD) > 0 or (IS_AMD and WIDE == "ymm")


@needs_avx2
@pytest.mark.parametrize("rows", [1, 3])
def test_columns_are_turned_in_registers(assembly, rows):
    """No line is read twice for two shuffles; lanes of two chunks meet two factors side by side."""
    text = assembly(array(rows, 1024) @ array(1024, 1024).mT)
    assert count(text, r"vunpck[lh]ps", WIDE) > 0 and count(text, r"vunpck[lh]ps", r"\(") == 0
    twos = count(text, r"v(?:pbroadcastq|broadcastsd)", "zmm")
    if IS_AMD and WIDE == "zmm":
        assert twos >= 16
    elif rows == 1:
        assert twos == 0


def test_rows_at_places_that_a_kernel_computes_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    scores = gc.topk(gc.asarray(np.arange(8, dtype=np.float16).reshape(1, 8)), 1, axis=0).values
    assert float(gc.cross_entropy(scores, gc.asarray([3]))) == pytest.approx(4.457, abs=0.01)


@needs_avx2
def test_lanes_of_floats_are_combined_in_vectors(assembly):
    """GCC unrolled the last halves into single additions, so many that no load behind them could begin."""
    text = assembly(gc.sum(array(512, 1024), axis=1))
    assert count(text, "vaddps") >= 5 and count(text, "vaddss") <= 8


@needs_avx2
def test_lanes_of_integers_are_combined_by_halves(assembly):
    """GCC would compare 32 lanes one after the other."""
    text = assembly(gc.abs(array(512, 32)).max(axis=1))
    assert count(text, "cmov") <= 8 and count(text, "vpmaxsd") >= 3


def test_mean_and_variance_share_their_first_sweep(backend):
    """Sum and deviations begin with the same sums of lanes: two sweeps in all, each with its tail."""
    x = array(512, 1024)
    (kernel,) = gc.plan((x - gc.mean(x, axis=1, keepdims=True)) / gc.std(x, axis=1, keepdims=True)).kernels
    assert kernel.source.count("base + 64 <=") == 2
    assert kernel.source.count("FOLD(sum0_lane") == kernel.source.count("FOLD(m21_lane") == 1


@pytest.mark.parametrize("axis", [0, 1, None])
def test_neighbours_are_reduced_without_conditions(axis, backend):
    """Between edges. What asks is for the first and the last row, and reads near what it asks for."""
    x = array(300, 300)
    laplacian = gc.roll(x, 1, 0) + gc.roll(x, -1, 0) + gc.roll(x, 1, 1) + gc.roll(x, -1, 1) - 4 * x
    top = gc.max(laplacian, axis=axis, keepdims=True)
    for sweeps, result in enumerate((top, laplacian - top), 1) if axis is not None else ((1, top),):
        source = gc.plan(result).kernels[0].source
        reading = [line for line in source.splitlines() if "x0[" in line]
        asking = [line for line in reading if "?" in line]
        assert sum(line.count("near") == 4 for line in asking) == sweeps and len(asking) <= 2 * sweeps
        assert len(reading) - len(asking) >= 3 * sweeps


def _windows(x: gc.Tensor, k: int) -> gc.Tensor:
    padded, n = gc.pad(x, k), x.shape[0]
    return sum((i + 2 * j + 1.5) * padded[i:i + n, j:j + n] for i in range(2 * k + 1) for j in range(2 * k + 1))


def _neighbours_of_19(x: gc.Tensor) -> gc.Tensor:
    pairs = [(a, i) for a in range(3) for i in (-1, 1)]
    near = sum((gc.roll(x, i, a) for a, i in pairs), -4.0 * x)
    return near + sum(gc.roll(gc.roll(x, i, a), j, b) / 6 for a, i in pairs for b, j in pairs if a < b)


@pytest.mark.parametrize("stencil, shape", [
    (_neighbours_of_19, (40, 40, 40)), (lambda x: _windows(x, 2), (90, 90)), (lambda x: _windows(x, 3), (90, 90)),
    (lambda x: gc.convolve(x, gc.arange(11) + 0.5, "same"), (5000,)),
    (lambda x: gc.convolve(x, gc.arange(11) + 0.5, "full"), (5000,))])
def test_between_edges_large_stencils_ask_nothing(stencil, shape):
    x = gc.asarray(np.random.default_rng(0).random(shape))
    found = stencil(x)
    source = gc.plan(found).kernels[-1].source
    loops = source.split("for (int64_t ")[2:]     # after that over chunks
    assert "memcpy(&y0[" in source or any("x0[" in loop and "?" not in loop.partition("}")[0] for loop in loops)
    with gc.backend("reference"):
        np.testing.assert_allclose(found.numpy(), stencil(gc.asarray(x.numpy())).numpy(), rtol=1e-12)


@needs_avx2
@pytest.mark.parametrize("guarded", [
    lambda x: gc.where(x > 0, gc.log(gc.where(x > 0, x, 1)), 0), lambda x: gc.where(x == 0, 1, gc.sin(x) / x),
    lambda x: gc.where(gc.abs(x) == 1, x, x - gc.sign(x) * gc.abs(x)**0.3), lambda x: gc.where(x > 0, gc.sinh(x), x),
    lambda x: gc.sum(gc.where(x > 0, gc.cos(x), 0), axis=1),
    lambda x: gc.grad(lambda y: gc.sum(gc.where(y > 0, y**0.4, y)))(x),
    lambda x: gc.where(x > 0, gc.sin(x), x).astype(gc.float16), lambda x: gc.where(x @ x.T > 0, gc.log(x @ x.T), 0)])
def test_functions_under_a_condition_are_vectors(guarded, assembly):
    """Where GCC calls a function under a condition, one element follows another: a hundred times slower."""
    assert re.search(rf"call\s+({ROUTINE}|_ZGV[de])\w+_gc_", assembly(guarded(array(64, 512))))


@needs_avx2
@pytest.mark.parametrize("function", ["exp", "exp2", "expm1", "tanh", "log1p"])
def test_a_function_of_a_row_leaves_that_of_elements_in_vectors(function, assembly):
    """What both read was loaded at the end of the loop: no vectors, ten times slower."""
    of = getattr(gc, function)
    text = assembly(of(array(64, 512)) * of(array(64, 1)))
    assert count(text, "vmulps", WIDE) >= 1 and count(text, "vfn?m(add|sub)[0-9]+ps", WIDE) >= 3


@needs_avx2
def test_powers_of_complex_numbers_that_begin_with_zero_are_vectors(assembly):
    z = array(4096, dtype="complex64")
    w, inside = gc.zeros_like(z), 0
    for _ in range(4):
        w = w * w + z
        inside = inside + (gc.abs(w) < 2)
    text = assembly(inside)
    assert count(text, "vsqrtps", WIDE) >= 4 and count(text, "(call|vsqrtss)") <= 8    # of what the vectors leave


@needs_avx2
@pytest.mark.parametrize("rows", ["inside", "rolled"])
def test_short_rows_are_vectors(rows, assembly):
    x = array(8, 64, 40, 40)
    rows = x[..., 1:-1, 1:-1] * 3 + x[..., 2:, 2:] if rows == "inside" else gc.roll(x, 1, 3) * 3 + x
    text = assembly(rows)
    assert count(text, "vmulps", WIDE) >= 1 and count(text, "vaddps", WIDE) >= 1


@needs_avx2
def test_windows_in_short_rows_have_no_pointer_each(assembly):
    """GCC keeps one for each, most of them on the stack, where a vector of the text is two of the machine's."""
    text = assembly(gc.conv2d(array(4, 64, 30, 30), array(64, 1, 5, 5), groups=64))
    assert count(text, "vmulps", WIDE) == 25
    assert count(text, "movq", r"\(%rsp\), ") < 50


@needs_avx2
def test_column_sums_are_vectors(assembly):
    assert count(assembly(gc.sum(array(4096, 512), axis=0)), "vaddps", WIDE) >= 8


@needs_avx2
def test_a_contraction_is_fused_multiply_adds(assembly):
    text = assembly(array(256, 256) @ array(256, 256))
    assert count(text, r"vfmadd\d+ps", WIDE) >= 64 // (16 if WIDE == "zmm" else 8)


@needs_avx2
@pytest.mark.skipif(WIDE == "zmm", reason="there are registers to spare")
def test_tiles_keep_their_sums_in_registers(assembly):
    """Sixteen hold twelve sums, two vectors of a panel and a factor; GCC kept some in memory if tiles asked ahead."""
    text = assembly(array(256, 256) @ array(256, 256))
    (tiles,) = re.findall(r"^gc_tiles[^:\n]*:\n(.*?)^\s+\.size\s+gc_tiles", text, re.M | re.S)
    assert count(tiles, r"vfmadd\d+ps") >= 96
    assert not re.search(r"%ymm\d+, -?\d*\(%rsp\)|\(%rsp\), %ymm", tiles)


@needs_avx2
@pytest.mark.skipif(WIDE == "zmm", reason="there are better instructions, or perhaps none for bytes")
def test_bytes_are_multiplied_as_pairs_of_shorts(assembly):
    a, b = (gc.realize(array(64, 64, dtype="int8")) for _ in range(2))
    text = assembly(a.astype(gc.int32) @ b.astype(gc.int32))
    assert count(text, "vpmaddwd", WIDE) >= 8 and count(text, "vpmulld") == 0


@needs_avx2
def test_what_becomes_of_a_product_is_vectors(assembly):
    """Adam: four arrays in and three out are more pairs than gcc checks for overlaps while running."""
    g, p, m, v = (array(256, 256) for _ in range(4))
    g = g @ array(256, 256)
    m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    text = assembly(p - m / (gc.sqrt(v) + 1e-8), m, v)
    assert count(text, "vsqrtps", WIDE) >= 1 and count(text, "vdivps", WIDE) >= 1


@needs_avx2
def test_bytes_widen_in_vectors(assembly):
    text = assembly(array(4096, dtype="uint8").astype("float32") * 0.5)
    assert count(text, "vpmovzxb[dw]") >= 1 and count(text, "vcvtdq2ps", WIDE) >= 1


@needs_avx2
def test_sums_of_rounded_numbers_stay_words(assembly):
    """Sums of blocks of 32 that are also stored in bytes: the sums are not made of those bytes, one at a time."""
    x = gc.round(array(48, 32) * 0.5).astype("int8")
    text = assembly(x, gc.sum(x, axis=1, dtype="int32"))
    assert count(text, "vpextr[bwd]") + count(text, "vpinsr[bwd]") + count(text, "vpmovsx[bw][wd]") == 0


@needs_avx2
def test_select_is_a_blend(assembly):
    text = assembly(gc.where(array(4096) > 0.5, array(4096), 0.25))
    assert count(text, r"v(?:blendvps|pblendvb|andps|blendmps|movaps|andnps)", WIDE) >= 1
    assert count(text, "vcmp\\w*ps", WIDE) >= 1


@needs_avx2
def test_square_roots_and_rounding_are_instructions(assembly):
    text = assembly(gc.floor(gc.sqrt(array(4096))))
    assert count(text, "vsqrtps", WIDE) >= 1 and count(text, "v(?:roundps|rndscaleps)", WIDE) >= 1
    assert count(text, "call") == 0


@needs_avx2
def test_marked_products_are_contracted(assembly):
    x, y = array(4096), array(4096)
    with gc.fast_math():
        text = assembly(x * y + x, y * 2.5 - x, x - y * x, x / 3.0)
    assert count(text, "vfmadd[0-9]+ps", WIDE) >= 1 and count(text, "vfn?m(add|sub)[0-9]+ps", WIDE) >= 3
    assert count(text, "vdivps") == 0 and count(text, "call") == 0


@pytest.mark.skipif("__AVX512F__" not in MACROS, reason="no AVX-512 here")
def test_numbers_of_four_bits_are_looked_up(assembly):
    """One instruction in the place of a mask and a conversion."""
    text = assembly(array(1, 64) @ gc.weights.quantize(array(64, 64)).packed().dequantize().mT)
    assert count(text, "vperm(?:ps|d)", "zmm") >= 32 and count(text, "vpandd") == count(text, "vcvtdq2ps") == 0


@needs_avx2
def test_sizes_of_complex_numbers_are_computed_in_vectors(assembly):
    """One scalar call would keep the whole loop scalar, the logarithm too."""
    text = assembly(gc.log10(gc.abs(array(4096, dtype="complex128")) + 1))
    assert WIDE in text and not re.search(r"(call|jmp)\s+\*?hypot\b", text)


@needs_avx2
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_of_complex_numbers_are_computed_in_vectors(assembly, dtype):
    """Where GCC calls a function under a condition, it calls it for one element at a time."""
    z = array(4096, dtype=dtype)
    text = assembly(gc.exp(z), gc.log(z + 2), gc.sqrt(z), z / (z + 3), gc.where(gc.real(z) > 0, z, -z))
    assert count(text, "v(div|sqrt)p[sd]", WIDE) >= 3
    assert not re.search(r"(call|jmp)\s+\*?(c?exp|c?log|csqrt|sin|cos|hypot)f?\b", text)


@needs_avx2
@pytest.mark.parametrize("smaller", [gc.minimum, gc.add])
def test_many_windows_of_one_array_are_read_in_vectors_between_its_edges(assembly, smaller):
    """GCC looks for stores in the way of what is read at up to ten places, and gives up where there are more
    (a minimum over 5 x 5 of 700 x 700: 63 -> 4 ms)."""
    x = array(700, 700)
    padded, found = gc.pad(x, 2), x
    for i in range(5):
        for j in range(5):
            found = smaller(found, padded[i:i + 700, j:j + 700])
    (kernel,) = gc.plan(found).kernels
    assert "#pragma GCC ivdep" in kernel.source
    assert "i1_at" not in kernel.source     # nor are their sums made in strips (f32, one thread: 2.5 -> 0.7 ms)
    assert count(assembly(found), "v(min|blendv|cmp[a-z_]*|add)ps", "ymm") >= 24


@needs_avx2
def test_the_measured_peak_multiplies_and_adds_as_often_as_it_counts():
    """Ten chains are counted: one that the compiler can work out would make the peak too high."""
    command = [*find_compiler().command, *(f for f in floor.FLAGS if f != "-shared"), "-S", "-o", "-"]
    text = subprocess.run([*command, str(floor.SOURCE)], capture_output=True, text=True, check=True).stdout
    loop = re.search(r"^fma_loop:(.*?)^\s+ret", text, re.M | re.S)[1]
    assert count(loop, r"vfmadd\d+ps") == 10
