"""Sorting, searching and sets, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from api_compare import check, raises, sample
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc
from graphc import driver
from graphc.config import settings
from graphc.ir import routines
from graphc.tolerances import equal_bits

SHAPES = [(1,), (5,), (0,), (3, 4), (2, 0, 3), (2, 3, 5)]
DTYPES = ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sort(shape, dtype):
    x = sample(shape, dtype)
    for axis in range(-1, len(shape)):
        check(gc.sort(gc.asarray(x), axis=axis), np.sort(x, axis=axis), exact=True)
        check(gc.argsort(gc.asarray(x), axis=axis), np.argsort(x, axis=axis, kind="stable"), exact=True)
        check(gc.sort(gc.asarray(x), axis=axis, descending=True), np.flip(np.sort(x, axis=axis), axis), exact=True)
    check(gc.sort(gc.asarray(x), axis=None), np.sort(x, axis=None), exact=True)


def test_equal_elements_keep_their_order_in_both_directions():
    x = np.array([2, 1, 2, 1, 2])
    check(gc.argsort(gc.asarray(x)), [1, 3, 0, 2, 4])
    check(gc.argsort(gc.asarray(x), descending=True), [0, 2, 4, 1, 3])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("shape, axis", [((400,), 0), ((5, 60), 1), ((60, 5), 0)])
def test_zeros_and_nan_stay_in_their_order(dtype, shape, axis):
    """As NumPy's stable kind, to the bits: zeros of both signs, NaN of several payloads, the ends of whole numbers."""
    random = np.random.default_rng(len(dtype))
    x = sample(shape, dtype)
    flat = x.reshape(-1)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], dtype) if x.dtype.kind == "f" else \
        np.array([0, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    flat[random.integers(0, x.size, x.size // 2)] = random.choice(special, x.size // 2)
    order = np.argsort(x, axis=axis, kind="stable")
    assert equal_bits(np.asarray(gc.argsort(gc.asarray(x), axis=axis)), order)
    assert equal_bits(np.asarray(gc.sort(gc.asarray(x), axis=axis)), np.take_along_axis(x, order, axis))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_threads_change_no_bit(dtype, monkeypatch):
    """Rows and long vectors in pieces; integers of a narrow range, and of all."""
    monkeypatch.setattr(routines, "_LITTLE", 8)
    random = np.random.default_rng(3)
    for shape, axis in (((97,), 0), ((5, 23), 1), ((23, 5), 0), ((2, 3), 1)):
        x = sample(shape, dtype)
        if x.dtype.kind == "f":
            x.reshape(-1)[::3] = random.choice(np.array([0.0, -0.0, np.nan, -np.nan], dtype), x.reshape(-1)[::3].size)
        elif x.dtype.itemsize == 8:
            x.reshape(-1)[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
        if x.dtype.itemsize == 8:   # which differ in their last bits alone
            near = np.array([x.dtype.type(3).view(np.int64) + k for k in range(3)]).view(dtype)
            x.reshape(-1)[1::4] = random.choice(near, x.reshape(-1)[1::4].size)
        order = np.argsort(x, axis=axis, kind="stable")
        falling = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        for threads in (1, 3):
            with settings.override(num_threads=threads):
                for descending, expected in ((False, order), (True, falling)):
                    t = gc.asarray(x)
                    assert equal_bits(np.asarray(gc.argsort(t, axis=axis, descending=descending)), expected)
                    found = np.asarray(gc.sort(t, axis=axis, descending=descending))
                    assert equal_bits(found, np.take_along_axis(x, expected, axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_nan_is_the_largest(dtype):
    x = np.array([3, np.nan, -np.inf, np.inf, 1], ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    rising = [-np.inf, 1, 3, np.inf, np.nan]
    np.testing.assert_array_equal(np.asarray(gc.sort(gc.asarray(x))).astype(float), rising)
    np.testing.assert_array_equal(np.asarray(gc.sort(gc.asarray(x), descending=True)).astype(float), rising[::-1])
    check(gc.argsort(gc.asarray(x)), [2, 4, 0, 3, 1])


def test_a_sort_joins_what_comes_before_and_after():
    x = sample((4, 6), "float32")
    check(gc.sort(gc.asarray(x) * 2, axis=0)[::-1] + 1, np.sort(x * 2, axis=0)[::-1] + 1)


@pytest.mark.parametrize("largest", [True, False])
def test_topk(largest):
    x = sample((3, 7))
    values, indices = gc.topk(gc.asarray(x), 3, axis=1, largest=largest)
    expected = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :3]
    check(indices, expected)
    check(values, np.take_along_axis(x, expected, 1), exact=True)
    raises(ValueError, "[topk] axis 1 of shape (3, 7) has no 8 elements", gc.topk, gc.asarray(x), 8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool", "uint64"])
def test_topk_is_the_beginning_of_argsort(dtype, monkeypatch):
    """Of rows with many ties, NaN, and both zeros too."""
    monkeypatch.setattr(routines, "FEW", 1)
    random = np.random.default_rng(11)
    for shape, axis in (((60, 7), 0), ((3, 200), 1), ((2, 90, 3), 1), ((500,), 0)):
        for kinds in (2, 6, 10_000):
            x = random.integers(0, kinds, shape).astype(dtype)
            if np.issubdtype(dtype, np.floating):
                x = np.where(random.random(shape) < 0.1, np.nan, np.where(x == 1, -0.0, x)).astype(dtype)
            for k in (0, 1, 5, shape[axis]):
                for largest in (True, False):
                    order = gc.argsort(gc.asarray(x), axis=axis, descending=largest).numpy()
                    found = gc.topk(gc.asarray(x), k, axis=axis, largest=largest)
                    check(found.indices, np.take(order, range(k), axis), exact=True)
    lanes = gc.vmap(lambda row: gc.topk(row, 2).indices)(gc.asarray(x.reshape(10, 50)))
    check(lanes, gc.topk(gc.asarray(x.reshape(10, 50)), 2).indices.numpy(), exact=True)


def test_sort_errors():
    raises(IndexError, "[sort] axis 1", gc.sort, gc.zeros(3), axis=1)
    raises(TypeError, "[argsort] complex128 has no order", gc.argsort, gc.asarray([1j, 2]))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64", "int64", "float16", "float32", "float64"])
def test_searchsorted_in_any_number(dtype, side):
    """Every place of vectors around powers of two, and repeated elements; NaN lies after all else."""
    special = [np.nan, -np.inf, np.inf, 0.0, -0.0] if dtype.startswith("float") else [0, 1]
    for n in (1, 2, 3, 4, 7, 8, 9, 33):
        x = np.sort(np.concatenate([np.arange(n) // 2 * 2, special * (n > 2)]).astype(dtype)[:max(n, 1)])
        values = np.concatenate([np.arange(-1 if dtype[0] != "u" else 0, n + 1), special]).astype(dtype)
        check(gc.searchsorted(gc.asarray(x), gc.asarray(values), side=side), np.searchsorted(x, values, side))
        check(gc.searchsorted(gc.asarray(x), gc.asarray(values[0]), side=side), np.searchsorted(x, values[0], side))


def test_a_search_is_one_kernel(compiled):
    x, values = gc.asarray(np.arange(1000.0)), gc.asarray(sample((30, 40)))
    assert len(gc.plan(gc.searchsorted(x, values) * 2).kernels) == 1
    rows = gc.vmap(lambda a, b: gc.searchsorted(a, b))(gc.asarray([[1, 3, 5], [2, 4, 6]]), gc.asarray([[3, 4], [3, 7]]))
    assert rows.tolist() == [[1, 2], [1, 3]]


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    x = np.sort(sample((20,), "int32"))
    values = sample((3, 4), "float64") * 5
    check(gc.searchsorted(gc.asarray(x), gc.asarray(values), side=side), np.searchsorted(x, values, side))
    order = np.random.default_rng(0).permutation(20)
    found = gc.searchsorted(gc.asarray(x[order]), gc.asarray(x), side=side, sorter=gc.argsort(gc.asarray(x[order])))
    check(found, np.searchsorted(x, x, side))
    check(gc.searchsorted(gc.zeros(0), gc.asarray(values), side=side), np.zeros((3, 4), int))
    raises(ValueError, "must have one dimension, not shape (2, 2)", gc.searchsorted, gc.zeros((2, 2)), gc.zeros(2))


@pytest.mark.parametrize("shape", SHAPES)
def test_nonzero(shape):
    x = sample(shape, "int8") % 3
    for found, expected in zip(gc.nonzero(gc.asarray(x)), np.nonzero(x), strict=True):
        check(found, expected)
    check(gc.argwhere(gc.asarray(x)), np.argwhere(x))
    check(gc.flatnonzero(gc.asarray(x)), np.flatnonzero(x))
    raises(ValueError, "[nonzero] an array of 0 dimensions", gc.nonzero, gc.asarray(1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize("shape", [(), *SHAPES])
def test_unique(shape, dtype):
    x = sample(shape, dtype)
    t = gc.asarray(x)
    expected = np.unique_all(x)
    for found, part in zip(gc.unique_all(t), expected, strict=True):
        check(found, part)
    check(gc.unique_values(t), expected.values)
    check(gc.unique_counts(t).counts, expected.counts)
    check(gc.unique_inverse(t).inverse_indices, expected.inverse_indices)
    check(gc.take(gc.unique_inverse(t).values, gc.unique_inverse(t).inverse_indices, axis=0), x, exact=True)


def test_unique_and_nan():
    x = np.array([np.nan, 1, np.nan, 1])
    check(gc.unique_values(gc.asarray(x)), [1, np.nan, np.nan])
    check(gc.unique(gc.asarray(x)), [1, np.nan])
    values, index, counts = gc.unique(gc.asarray([3, 1, 3]), return_index=True, return_counts=True)
    check(values, [1, 3])
    check(index, [1, 0])
    check(counts, [1, 2])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_unique_of_complex_numbers_goes_by_both_parts(dtype):
    x = np.array([3 + 1j, 1, 2j, 1, 3, np.nan, 1 + 1j, 3 + 1j, complex(0, np.nan), 1], dtype)
    for found, part in zip(gc.unique(gc.asarray(x), True, True, True), np.unique(x, True, True, True), strict=True):
        check(found, part)


@pytest.mark.parametrize("count", [0, 1, 5, 40])
def test_isin(count):
    x, test = sample((4, 7), "int32"), sample((count,), "int8", seed=1)
    for invert in (False, True):
        check(gc.isin(gc.asarray(x), gc.asarray(test), invert=invert), np.isin(x, test, invert=invert))
    wild = np.array([np.nan, 1.0, np.inf])
    check(gc.isin(gc.asarray(wild), gc.asarray(np.r_[wild, np.arange(count)])), [False, True, True])


def test_bincount():
    for x in (np.array([0, 3, 3, 1]), np.array([], np.int64), sample((50,), "uint8")):
        w = sample(x.shape)
        check(gc.bincount(gc.asarray(x)), np.bincount(x))
        check(gc.bincount(gc.asarray(x), minlength=6), np.bincount(x, minlength=6))
        check(gc.bincount(gc.asarray(x), gc.asarray(w)), np.bincount(x, w).astype(float))
    raises(ValueError, "[bincount] there is a negative element: -1", gc.bincount, gc.asarray([1, -1]))
    raises(TypeError, "[bincount] needs a vector of integers", gc.bincount, gc.zeros(2))


@given(st.integers(0, 60), st.integers(1, 12), st.sampled_from(["float64", "float32", "int16"]))
def test_histogram(n, bins, dtype):
    x = sample((n,), dtype)
    for options in ({"bins": bins}, {"bins": bins, "range": (-1, 2)}, {"bins": [-2, 0, 0.5, 3]}):
        for found, expected in zip(gc.histogram(gc.asarray(x), **options), np.histogram(x, **options), strict=True):
            check(found, expected, dtype=False)
    if n and x.min() < x.max():
        check(gc.histogram(gc.asarray(x), density=True)[0], np.histogram(x, density=True)[0], dtype=False)


def test_histogram_edges():
    x = np.array([1.0, 1.0, 2.0, np.nan, 5.0])
    check(gc.histogram(gc.asarray(x), 2, (1, 2))[0], [2, 1])
    check(gc.histogram(gc.asarray([3.0, 3.0]), 2)[0], np.histogram([3.0, 3.0], 2)[0])
    weights = [1.0, 2.0, 4.0, 8.0, 16.0]
    check(gc.histogram(gc.asarray(x), [1, 2, 5], weights=weights)[0], [3.0, 20.0])
    raises(ValueError, "[histogram] there must be at least one bin", gc.histogram, gc.asarray(x), 0)


def test_a_bincount_of_known_length_is_recorded():
    x, weights = np.array([3, 1, 1, 0]), np.array([0.5, 1.0, 2.0, 4.0])
    found = gc.bincount(gc.asarray(x), length=6)
    assert found.node.value is None
    check(found, np.bincount(x, minlength=6))
    check(gc.jit(lambda x, w: gc.bincount(x, w, length=6))(x, weights), np.bincount(x, weights, 6))
    check(gc.bincount(gc.asarray(np.array([], np.int8)), length=2), [0, 0])
    for bad in ([6], [-1]):
        with pytest.raises(IndexError, match="out of range"):
            gc.bincount(gc.asarray(bad), length=6).numpy()


@pytest.mark.parametrize("f, fix", [
    (gc.bincount, "give the length: gc.bincount"), (gc.unique, "call it outside"), (gc.nonzero, "call it outside"),
    (gc.argwhere, "call it outside"), (lambda x: x[x > 0], "gc.where(mask, x, 0)"),
])
def test_a_size_that_data_decide_is_not_known_while_a_function_is_traced(f, fix):
    with pytest.raises(gc.errors.TracerError, match="data decide the size of the result") as error:
        gc.jit(f)(gc.asarray([1, 2]))
    assert fix in str(error.value)


@pytest.mark.parametrize("dtype", ["int32", "float32", "int8"])
def test_a_truth_value_as_an_index(dtype):
    """In a vector of two, the place of the second comparison is the first one's result, which GCC 12 had as a bit of a
    mask of AVX-512: it read at eight bits as if they were one index, beside results of another width."""
    x1, x2 = np.asarray([-1, 1], dtype), sample(37, dtype)
    places = gc.searchsorted(gc.asarray(x1), gc.asarray(x2))
    narrow = places.astype("float32")
    if driver.default_device() == "cpu":
        assert "gc_place_of_int64_t(" in gc.plan(places, narrow).kernels[0].source
    gc.realize(places, narrow)
    check(places, np.searchsorted(x1, x2))
    check(narrow, np.searchsorted(x1, x2).astype(np.float32))


@pytest.mark.parametrize("make", [list, tuple, np.array, gc.asarray])
@pytest.mark.parametrize("bins", [(2, 3), (4, 4), (3, 1)])
def test_bins_that_are_an_array_of_counts(make, bins):
    """As many as there are axes are one for each; more are edges."""
    x, y = np.array([1.0, 2.0, 3.0, 2.5]), np.array([1.0, 1.0, 2.0, 0.5])
    for found, want in zip(gc.histogram2d(gc.asarray(x), gc.asarray(y), bins=make(bins)),
                           np.histogram2d(x, y, bins=bins), strict=True):
        check(found, want)
    check(gc.histogramdd(gc.stack([gc.asarray(x), gc.asarray(y)], 1), bins=make(bins))[0],
          np.histogramdd(np.stack([x, y], 1), bins=bins)[0])
    check(gc.histogramdd([x, y, x], bins=make((2, 1, 3)))[0], np.histogramdd(np.stack([x, y, x], 1), bins=(2, 1, 3))[0])
    check(gc.histogram2d(x, y, bins=make((0.5, 1.0, 2.75)))[0], np.histogram2d(x, y, bins=[0.5, 1.0, 2.75])[0])


@pytest.mark.parametrize("bins", [np.array(4), gc.asarray(4), np.int8(4), np.array(4, np.uint64)])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_bins_that_are_one_count(bins, size):
    x = sample((size,))
    for found, want in zip(gc.histogram(gc.asarray(x), bins=bins), np.histogram(x, bins=4), strict=True):
        check(found, want)
    check(gc.histogram2d(x, x, bins=bins)[0], np.histogram2d(x, x, bins=4)[0])


def test_a_count_of_bins_is_whole():
    for bins in (2.5, np.array(2.5), gc.asarray(2.0)):
        raises(TypeError, "the number of bins must be an integer", gc.histogram, gc.ones(3), bins)
    raises(TypeError, "the number of bins must be an integer", gc.histogram2d, gc.ones(3), gc.ones(3), [2.0, 3.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
def test_searching_for_numbers_larger_than_integers(dtype):
    x = np.array([-1, 2, 7], dtype)
    t = gc.asarray(x)
    for value in (10**20, -10**20, [10**20, 2], 2**63):
        wide = np.asarray(value, np.float64)
        check(gc.searchsorted(t, value), np.searchsorted(x, wide))
        check(gc.isin(t, value), np.isin(x, wide))
    check(gc.isin(10**20, gc.asarray([1e20])), True)


@pytest.mark.parametrize("shape", [(3,), (4, 2)])
def test_kth_by_name(shape):
    x = sample(shape, "int8")
    check(gc.take_along_axis(gc.asarray(x), gc.argpartition(gc.asarray(x), kth=1, axis=0), 0)[1],
          np.partition(x, kth=1, axis=0)[1])
    check(gc.partition(gc.asarray(x), kth=[0, 1], axis=0)[1], np.partition(x, kth=1, axis=0)[1])


def test_isin_of_signed_and_unsigned():
    """As float64 2**53 and 2**53 + 1 are one."""
    signed, unsigned = np.array([2**53 + 1, -1, 5]), np.array([2**53, 5, 2**64 - 1], np.uint64)
    for others in (unsigned, np.concatenate([unsigned, np.arange(40, dtype=np.uint64)])):
        assert gc.isin(signed, others).tolist() == [False, False, True]
        assert gc.isin(signed, others, invert=True).tolist() == [True, True, False]
    assert gc.isin(unsigned, signed).tolist() == [False, True, False]
    assert gc.isin(unsigned, np.concatenate([signed, np.arange(-40, 0)])).tolist() == [False, True, False]


def test_weights_that_do_not_fit():
    raises(TypeError, "weights are real numbers", gc.bincount, [0, 1], [1j, 2.0])
    for weights in ([2.0], [2.0, 1.0]):
        raises(ValueError, f"{len(weights)} weights do not fit 4 points", gc.histogram, [1.0, 2, 3, 4], weights=weights)
    raises(ValueError, "1 weights do not fit 2 points", gc.histogram2d, [1.0, 2], [3.0, 4], weights=[1.0])


def test_densities_of_many_float16():
    x = np.random.default_rng(1).normal(size=70_000).astype(np.float16)
    counts, edges = gc.histogram(x, 4, density=True)
    assert counts.dtype is gc.float16
    assert (counts.numpy().astype(float) * np.diff(edges.numpy().astype(float))).sum() == pytest.approx(1, rel=5e-3)
