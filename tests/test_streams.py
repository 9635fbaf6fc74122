"""How maps store: past the caches where these do not hold it, short rows by overlapping vectors; with the same bits."""
from __future__ import annotations

import importlib

import numpy as np
import pytest

import graphc as gc
from graphc.codegen import ahead_c

lower = importlib.import_module("graphc.passes.lower")      # the package has a function of that name


@pytest.fixture
def streams(monkeypatch, backend):
    """Every map over one axis, or over rows of whole lines, streams, whatever its size."""
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(lower, "STREAM", 0)


def test_only_what_no_cache_holds_is_streamed(backend):
    if backend != "cpu":
        pytest.skip("about generated C")
    for count, streamed in ((1 << 20, False), (lower.STREAM // 8, True)):
        x = gc.asarray(np.zeros(count, np.float32))
        (kernel,) = gc.plan(x * 2 + 1).kernels
        assert ("gc_stream(" in kernel.source) == ("gc_stream_end();" in kernel.source) == streamed
        (kernel,) = gc.plan(gc.sum(x.reshape(-1, 64) * 2, axis=1)).kernels
        assert "gc_stream" not in kernel.source


def test_results_that_are_a_small_part_are_kept(streams):
    """A cache may hold them, though not all that is moved: of three arrays, or as bytes of two. But a single array is
    asked for early."""
    for shape in ((4096,), (16, 256)):
        x, y, z = (gc.asarray(np.zeros(shape, np.float32)) for _ in range(3))
        for value, streamed in ((x + y, True), (x + y * z, False), (x > y, False), (x > 0, True)):
            (kernel,) = gc.plan(value).kernels
            assert ("gc_stream(" in kernel.source) == streamed


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int16", "complex64"])
def test_streamed_results_have_the_same_bits(streams, monkeypatch, dtype):
    random = np.random.default_rng(7)
    for length in (1, 5, 31, 64, 511, 512, 513, 1040, 40_003):
        x, y = (gc.asarray((random.random(length) * 100).astype(dtype)) for _ in range(2))
        streamed = x * y + x - y
        assert length == 1 or "gc_stream(" in gc.plan(streamed).kernels[0].source
        monkeypatch.setattr(lower, "STREAM", 48 << 20)
        plain = gc.concat([x, x])[:length] * y + x - y
        np.testing.assert_array_equal(streamed.numpy(), plain.numpy(), f"{length} elements")
        monkeypatch.setattr(lower, "STREAM", 0)


def test_padded_views_of_rows(streams):
    """What is asked for stands before the loop, where nothing may be left of the loop's axis."""
    x = np.random.default_rng(2).standard_normal(40_000).astype(np.float32)
    for s in (gc.asarray(x), gc.asarray(x.reshape(1, -1))[0], gc.asarray(x.reshape(-1, 1))[:, 0]):
        np.testing.assert_array_equal((gc.pad(s, ((2, 3),)) * 2).numpy(), np.pad(x, (2, 3)) * 2)
        np.testing.assert_array_equal((gc.roll(s, 3) * 2).numpy(), np.roll(x, 3) * 2)
        np.testing.assert_array_equal((gc.diff(s, prepend=0) * 2).numpy(), np.diff(x, prepend=np.float32(0)) * 2)
    rolled = gc.roll(gc.asarray(x.reshape(1, -1)), 3) * 2
    np.testing.assert_array_equal(rolled.numpy(), np.roll(x.reshape(1, -1), 3) * 2)


def test_each_part_of_a_row_is_asked_for_alone(monkeypatch, backend):
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    x = np.random.default_rng(3).standard_normal((300, 1024)).astype(np.float32)
    s = gc.asarray(x)
    joined = gc.concat([s[:, :32], s[:, 512:544], s[:, 33:65]], axis=1) * 2
    asked = [line for line in gc.plan(joined).kernels[0].source.splitlines() if "__builtin_prefetch(" in line]
    assert len(asked) == 3
    np.testing.assert_array_equal(joined.numpy(), np.concatenate([x[:, :32], x[:, 512:544], x[:, 33:65]], axis=1) * 2)


def test_several_results_strips_and_places(streams):
    random = np.random.default_rng(8)
    x, y = (random.uniform(0.5, 2, 5001) for _ in range(2))
    s, t = gc.asarray(x), gc.asarray(y)
    formula = gc.exp(-gc.erf(gc.log(s / t))) * gc.log(s * s + 1)
    total, joined, turned = gc.realize(formula + 1, gc.concat([s * 2, t + 1]), s[::-1] * t)
    assert "gc_stream(" in gc.plan(formula * 3).kernels[0].source
    from scipy.special import erf
    np.testing.assert_allclose(total.numpy(), np.exp(-erf(np.log(x / y))) * np.log(x * x + 1) + 1, rtol=1e-13)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate([x * 2, y + 1]))
    np.testing.assert_array_equal(turned.numpy(), x[::-1] * y)


@pytest.mark.parametrize("dtype", ["float64", "int16", "bool"])
def test_parts_that_are_only_moved(streams, dtype):
    """They were moved to their places, and then written over by what had never been kept."""
    random = np.random.default_rng(10)
    for lengths in ((3,), (700, 1, 513), (64, 2048, 33, 5)):
        parts = [(random.random(n) * 100).astype(dtype) for n in lengths]
        tensors = [gc.asarray(x) for x in parts]
        np.testing.assert_array_equal(gc.concat(tensors + tensors).numpy(), np.concatenate(parts + parts))
        for axis in (0, 1):
            stack = gc.stack([tensors[-1]] * 3, axis=axis)
            np.testing.assert_array_equal(stack.numpy(), np.stack([parts[-1]] * 3, axis=axis))
    assert "gc_stream(" in gc.plan(gc.stack([tensors[0], tensors[0]])).kernels[0].source


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_squares_are_streamed_where_rows_are_whole_lines(streams, monkeypatch, dtype):
    """And the next square is asked for, of what is turned and of what lies as the result does."""
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    random = np.random.default_rng(9)
    for rows, columns in ((70, 96), (64, 320), (211, 160), (300, 99), (65, 257), (66, 2048)):
        x, y = ((random.random(shape) * 100).astype(dtype) for shape in ((columns, rows), (rows, columns)))
        for turned in (gc.asarray(x).mT * 2, gc.asarray(x).mT + gc.asarray(y)):
            (kernel,) = gc.plan(turned).kernels
            assert "gc_turn" in kernel.source and ", 0, 2)" in kernel.source
            assert ("gc_stream(" in kernel.source) == (columns % 32 == 0)
        np.testing.assert_array_equal((gc.asarray(x).mT + gc.asarray(y)).numpy(), x.T + y)
    z = (random.random((3, 130, 64)) * 100).astype(dtype)
    np.testing.assert_array_equal((gc.permute_dims(gc.asarray(z), (0, 2, 1)) * 2).numpy(), z.transpose(0, 2, 1) * 2)
    np.testing.assert_array_equal((gc.permute_dims(gc.asarray(z), (2, 0, 1)) - 1).numpy(), z.transpose(2, 0, 1) - 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64"])
def test_rows_of_whole_lines_are_streamed(streams, monkeypatch, dtype):
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    random, size = np.random.default_rng(11), np.dtype(dtype).itemsize
    for length in (256 // size, 512 // size, 512 // size + 1, 1600 // size, 9600 // size):
        x, row = ((random.random(shape) * 100).astype(dtype) for shape in ((5, 7, length + 3), (length,)))
        s, t = gc.asarray(x), gc.asarray(row)
        for got, want in ((s[..., :length] + t, x[..., :length] + row), (s[..., :2:-1] + t, x[..., :2:-1] + row),
                          (gc.permute_dims(s[..., 3:], (1, 0, 2)) - t, x[..., 3:].swapaxes(0, 1) - row)):
            (kernel,) = gc.plan(got).kernels
            assert ("gc_stream(" in kernel.source) == (length * size >= 512 and length * size % 64 == 0)
            assert "gc_stream(" not in kernel.source or "__builtin_prefetch(" in kernel.source
            np.testing.assert_array_equal(got.numpy(), want, f"{length} elements")


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("shape", [(6, 50, 40, 16), (7, 3, 5, 64), (40, 2, 3, 33), (2, 3, 2, 4)])
def test_short_rows_that_lie_apart_are_asked_for(monkeypatch, backend, dtype, shape):
    """Some rows before they are read, which may be of the next axis, where there are so many."""
    if backend != "cpu":
        pytest.skip("about generated C")
    for large, asked in ((1 << 30, 0), (0, 1)):
        monkeypatch.setattr(ahead_c, "LARGE", large)
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        for order in ((0, 2, 1, 3), (2, 0, 1, 3), (1, 2, 0, 3)):
            moved = gc.permute_dims(gc.asarray(x), order) * 2
            (kernel,) = gc.plan(moved).kernels
            assert kernel.source.count("__builtin_prefetch(") == (asked if np.prod(shape[:3]) > 32 else 0)
            np.testing.assert_array_equal(moved.numpy(), x.transpose(order) * np.array(2, dtype))
        straight = gc.asarray(x) + gc.asarray(x[0, 0, 0])
        assert "__builtin_prefetch(" not in gc.plan(straight).kernels[0].source


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_rows_that_are_reduced_are_asked_for_where_they_lie_apart(monkeypatch, backend, dtype):
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    random = np.random.default_rng(13)
    x, ids = random.random((40, 30, 7, 65)).astype(np.float32), random.integers(0, 40, 90).astype(dtype)
    s, t = gc.asarray(x), gc.asarray(ids)
    for got, want in ((gc.max(gc.permute_dims(s, (0, 2, 1, 3)), axis=3), x.swapaxes(1, 2).max(axis=3)),
                      (gc.max(s[:, 0, 0][t], axis=1), x[:, 0, 0][ids].max(axis=1)),
                      (gc.max(s[:, 0, 0, ::-1][t] * 2, axis=1), x[:, 0, 0][ids].max(axis=1) * 2)):
        (kernel,) = gc.plan(got).kernels
        assert kernel.source.count("__builtin_prefetch(") == 1
        np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("stream", [0, 1 << 40], ids=["past the caches", "into them"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_what_is_gathered_is_asked_for(monkeypatch, backend, dtype, stream):
    """By an index that is read some rows or elements before its turn, and not beyond its array."""
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(ahead_c, "LARGE", 0)
    monkeypatch.setattr(lower, "STREAM", stream)
    random = np.random.default_rng(12)
    x = random.random((100, 128)).astype(np.float32)
    s, low = gc.asarray(x), 0 if dtype == "uint8" else -100
    for shape in ((1,), (70,), (3, 41)):
        ids = random.integers(low, 100, shape).astype(dtype)
        t = gc.asarray(ids)
        for got, want in ((s[t] * 2, x[ids] * 2), (s[t[::-1]], x[ids[::-1]]), (s[:, 5][t] + 1, x[:, 5][ids] + 1),
                          (gc.take(s, t[..., 0], axis=1), x[:, ids[..., 0]])):
            np.testing.assert_array_equal(got.numpy(), want, f"{shape}")
    rows, elements = s[t], gc.reshape(s, (-1,))[t[0]]
    for value, asked in ((rows, 1), (elements, 2 if stream == 0 else 0)):       # 2: of the indices as well
        (kernel,) = gc.plan(value).kernels
        assert kernel.source.count("__builtin_prefetch(") == asked
    with pytest.raises(gc.errors.IndexOutOfRange):
        s[gc.asarray(np.full(70, 100).astype(dtype))].numpy()


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_where_a_scatter_will_store_is_asked_for(monkeypatch, backend, dtype):
    if backend != "cpu":
        pytest.skip("about generated C")
    random = np.random.default_rng(14)
    x, ids = random.integers(0, 99, (100, 33)).astype(np.float32), random.integers(0, 100, 300).astype(dtype)
    rows = random.integers(0, 99, (300, 33)).astype(np.float32)
    s, t, v = gc.asarray(x), gc.asarray(ids), gc.asarray(rows)
    for large, asked in ((1 << 30, 0), (0, 1)):
        monkeypatch.setattr(ahead_c, "LARGE", large)
        for got, base, more in ((s.at[t].add(v), x, rows), (s[:, 3].at[t].add(v[:, 4]), x[:, 3], rows[:, 4])):
            assert gc.plan(got).kernels[-1].source.count("__builtin_prefetch(") == asked
            want = base.copy()
            np.add.at(want, ids, more)
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_rows_of_few_vectors_overlap(monkeypatch, backend, dtype):
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(lower, "SHORT_ROWS", 0)
    lanes = 32 // np.dtype(dtype).itemsize
    for row in (5, lanes - 1, lanes, lanes + 1, 3 * lanes - 1, 8 * lanes, 8 * lanes + 1):
        x, y = np.arange(30 * row).astype(dtype).reshape(6, 5, row), np.arange(5, dtype=dtype)[:, None]
        s, t = gc.asarray(x), gc.asarray(y)
        (kernel,) = gc.plan(s * t + s).kernels
        assert ("from" in kernel.source) == (lanes // 2 <= row <= 8 * lanes)
        np.testing.assert_array_equal((s * t + s).numpy(), x * y + x, f"{row} elements")
    x = np.arange(40 * lanes).astype(dtype).reshape(8, 5, lanes)
    padded = gc.pad(gc.asarray(x) * 2, ((0, 0), (1, 1), (1, 2)))      # parts of rows do not overlap
    np.testing.assert_array_equal(padded.numpy(), np.pad(x + x, ((0, 0), (1, 1), (1, 2))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_second_element_is_read_in_whole_vectors(monkeypatch, backend, dtype):
    """Of rows that end with the last one that is read, as windows do that lie two apart."""
    if backend != "cpu":
        pytest.skip("about generated C")
    monkeypatch.setattr(lower, "SHORT_ROWS", 0)
    for count in (2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100):
        x = np.random.default_rng(count).standard_normal((3, 5, 2 * count + 1)).astype(dtype)
        s = gc.asarray(x)
        taps = s[..., :-2:2] * 3 + s[..., 1:-1:2] - s[..., 2::2]
        assert not 8 <= count <= 32 or "gc_every_" in gc.plan(taps).kernels[0].source
        np.testing.assert_array_equal(taps.numpy(), x[..., :-2:2] * 3 + x[..., 1:-1:2] - x[..., 2::2], f"{count} taps")


def test_windows_of_short_rows_read_pairs_and_half_vectors(monkeypatch, backend):
    """GCC splits pairs of neighbours itself, and a piece of two doubles is no vector to be filled."""
    monkeypatch.setattr(lower, "SHORT_ROWS", 0)
    rng = np.random.default_rng(5)
    for size, kernel_size, dtype in ((9, 3, "float64"), (28, 2, "float32"), (16, 2, "float32"), (21, 4, "float64")):
        x = rng.random((4, 5, size, size)).astype(dtype)
        pooled = gc.max_pool2d(gc.asarray(x), kernel_size, stride=2, padding=1)
        if backend == "cpu" and (size, kernel_size) == (28, 2):
            assert "gc_every_" not in gc.plan(pooled).kernels[0].source
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel_size, kernel_size), (2, 3))[:, :, ::2, ::2]
        np.testing.assert_array_equal(pooled.numpy(), windows.max((-2, -1)), f"{size} by {kernel_size}")


def test_small_maps_of_costly_functions_are_for_all_threads(backend):
    if backend != "cpu":
        pytest.skip("about chunks of the pool")
    x = gc.asarray(np.zeros((32, 256), np.float32))
    for threads in (2, 3):
        with gc.config.settings.override(num_threads=threads):
            (costly,) = gc.plan(gc.sigmoid(x) * gc.tanh(x * 2) + gc.sigmoid(x - 1) * gc.exp(x)).kernels
            (cheap,) = gc.plan(x * 2 + 1).kernels
            assert costly.launch[0] % threads == 0 and cheap.launch[0] == 1


def test_windows_are_written_out_whole_if_that_is_short(backend):
    if backend != "cpu":
        pytest.skip("about generated C")
    x, y = np.arange(360.0).reshape(6, 3, 10, 2) / 360, np.arange(60.0).reshape(6, 10)
    s, t = gc.asarray(x), gc.asarray(y)[:, None, :, None]
    formula = s * t
    for _ in range(12):
        formula = gc.sin(formula) * s + gc.exp(-formula * formula) * t
    for value, stores in ((s * t + 1, 6), (formula, 4)):        # 4: of the last axis, in strips and behind them
        (kernel,) = gc.plan(value).kernels
        assert kernel.source.count("y0[") == stores
    np.testing.assert_array_equal((s * t + 1).numpy(), x * y[:, None, :, None] + 1)
