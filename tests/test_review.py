"""Seams of the compiler: what one pass leaves for the next, the keys of programs, the limits of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import graphc as gc
from graphc.api.record import wrap
from graphc.ir import dtype as dt
from graphc.ir import ops
from graphc.ir.node import make


def test_views_of_nothing_are_reshaped():
    x = gc.asarray(np.zeros((0, 36, 16), np.float32))
    assert gc.reshape(x[:, 3:20:2], (0, 16))[:, 5:6].numpy().shape == (0, 1)


def test_padding_after_a_reshape_divides_at_no_element(backend):
    """What a mask leaves out may be read at any place: the divisions of the reshape are gone all the same."""
    random = np.random.default_rng(4)
    x, s = random.standard_normal((2, 8, 6, 10)), random.standard_normal((2, 4, 1))
    scaled = (gc.asarray(x).reshape(2, 4, 120) * gc.asarray(s)).reshape(2, 8, 6, 10)
    want = (x.reshape(2, 4, 120) * s).reshape(2, 8, 6, 10)
    widths = ((0, 0), (0, 0), (1, 2), (2, 1))
    padded = gc.pad(scaled, widths)
    if backend == "cpu":
        (kernel,) = gc.plan(padded).kernels
        assert "/ a" not in kernel.source.partition("int64_t width;")[2]
    np.testing.assert_array_equal(padded.numpy(), np.pad(want, widths))
    joined = gc.concat([scaled, scaled * 2], axis=2)[:, :, 3:9].reshape(2, 4, 2, 60)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate([want, want * 2], 2)[:, :, 3:9].reshape(2, 4, 2, 60))


def test_programs_of_scalars_of_two_dtypes_are_two():
    for dtype in (gc.float64, gc.float32, gc.float16):
        assert gc.signbit(gc.full((), -5.5, dtype=dtype)).numpy()
        assert (gc.full((), 5.5, dtype=dtype) < gc.full((), 6.5, dtype=dtype)).numpy()


def test_a_result_that_passes_find_out_is_known_to_all_who_read_it():
    x, y, one = np.arange(4.0), np.arange(40.0).reshape(10, 4), gc.asarray(1.0)
    less, more = -one, one + one        # kernels alike but for such a number; a product, which is its first reader
    sums = gc.cumulative_sum(gc.asarray(x) + less), gc.cumulative_sum(gc.asarray(x) + more)
    product = (gc.asarray(y) @ gc.asarray(y.T)) * more
    gc.realize(product, *sums, less, more)
    assert (less.item(), more.item()) == (-1, 2)
    assert [t.tolist() for t in sums] == [np.cumsum(x - 1).tolist(), np.cumsum(x + 2).tolist()]
    np.testing.assert_allclose(product.numpy(), y @ y.T * 2, rtol=1e-14)


def test_partial_results_as_many_as_the_columns_that_are_split():
    random = np.random.default_rng(0)
    x, b, u = random.random((100, 64)), random.random(1 << 17), random.random((100, 16))
    sums = gc.sum(gc.asarray(x) * gc.sum(gc.asarray(b)), axis=1)        # from 128 partial results
    spread = gc.reshape(gc.broadcast_to(gc.asarray(u)[:, :, None], (100, 16, 8)), (100, 128))
    want = (x * b.sum()).sum(1)[:, None] * np.repeat(u, 8, 1)
    np.testing.assert_allclose((sums[:, None] * spread).numpy(), want, rtol=1e-12)


def test_an_index_that_padding_does_not_use_is_not_checked():
    x, i = np.arange(3.0), np.array([[-5, -4, -3, -5], [-3, -3, -4, -5]])
    found = gc.asarray(x)[gc.asarray(i) + 5]
    assert gc.pad(found, ((1, 1), (2, 2))).numpy().tolist() == np.pad(x[i + 5], ((1, 1), (2, 2))).tolist()
    line = gc.concat([gc.reshape(found, (8,)), gc.asarray(np.ones(3))])
    want = np.cumsum(np.concatenate([x[i + 5].ravel(), np.ones(3)]))
    assert gc.cumulative_sum(line).numpy().tolist() == want.tolist()


def test_every_one_of_many_bounds_checks_counts():
    x, i = gc.asarray(np.arange(200.0)), gc.asarray(np.arange(10))
    for bad in (None, 3, 66, 69):
        total = sum((x[i + (500 if k == bad else k)] for k in range(70)), gc.asarray(np.zeros(10)))
        if bad is None:
            assert total.numpy().tolist() == sum(np.arange(200.0)[k:k + 10] for k in range(70)).tolist()
        else:
            with pytest.raises(IndexError, match="out of range"):
                total.numpy()


@pytest.mark.parametrize("step", [1, 16])
def test_rows_gathered_by_data_and_columns_by_stride(step):
    x, i = np.arange(50.0 * 512).reshape(50, 512), np.arange(100) * 7 % 50
    found = gc.asarray(x)[gc.asarray(i) * 1][:, ::step] + gc.asarray(np.arange(512.0))[::step]
    assert found.numpy().tolist() == (x[i][:, ::step] + np.arange(512.0)[::step]).tolist()


def test_complex_constants_keep_the_signs_of_their_zeros():
    for imag in (0.0, -0.0):
        z = complex(-1, imag)
        assert gc.sqrt(gc.full((2,), z)).numpy().tolist() == np.sqrt(np.full(2, z)).tolist()


def test_many_sums_down_the_columns_fit_the_stack():
    x = np.arange(80.0 * 2000).reshape(80, 2000) % 17
    sums = [gc.sum(gc.asarray(x) * float(k), axis=0) for k in range(3, 43)]
    spreads = [gc.var(gc.asarray(x) * float(k), axis=0) for k in range(3, 13)]
    gc.realize(*sums, *spreads)
    for k, total in enumerate(sums, 3):
        assert total.numpy().tolist() == (x * k).sum(0).tolist()
    assert np.allclose(spreads[0].numpy(), (x * 3).var(0))


def test_many_reshapes_and_transposes_in_turn(settings):
    with settings.override(lazy_limit=0):
        x = np.arange(30.0)
        y, want = gc.asarray(x), x
        for _ in range(100):
            y = y.reshape(5, 6).T.reshape(30)[::-1].reshape(3, 10).T.reshape(30)
            want = want.reshape(5, 6).T.reshape(30)[::-1].reshape(3, 10).T.reshape(30)
        assert y.numpy().tolist() == want.tolist()


def test_short_sums_of_short_sums_are_not_unrolled_without_end():
    x = np.arange(8.0 * 16**3).reshape(8, 16, 16, 16) % 7
    y, want = gc.asarray(x), x
    for _ in range(3):
        y, want = gc.sum(gc.sqrt(y), axis=-1), np.sqrt(want).sum(-1)
    assert max(len(kernel.source) for kernel in gc.plan(y).kernels) < 20_000
    assert np.allclose(y.numpy(), want, rtol=1e-12)


def test_float64_is_rounded_to_float16_once():
    near = [1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-11, 65519.999999, 65520.0, 2.0**-25 + 2.0**-60, -2.0**-25, -0.0, 1e300]
    x = np.concatenate([near, [np.nan, np.inf, -np.inf], np.random.default_rng(0).normal(size=500)])
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    assert gc.asarray(x).astype(gc.float16).numpy().view(np.uint16)[x == x].tolist() \
        == want.view(np.uint16)[x == x].tolist()


def test_a_counter_of_few_bits_wraps_in_comparisons_too():
    counter = wrap(make(ops.IOTA, dt.uint8, (300,), device=gc.get_backend_name()))
    want = np.arange(300).astype(np.uint8)
    assert gc.where(counter < counter[5:6], 1, 0).numpy().tolist() == np.where(want < want[5:6], 1, 0).tolist()
