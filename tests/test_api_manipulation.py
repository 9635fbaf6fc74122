"""Functions that move elements, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from api_compare import check, raises, sample
from hypothesis import given
from hypothesis import strategies as st

import graphc as gc
from graphc.config import settings
from graphc.errors import IntegerOverflow, ShapeError
from graphc.ir.node import topological

SHAPES = [(), (1,), (5,), (0,), (3, 4), (1, 7), (2, 0, 3), (2, 3, 5), (2, 1, 3, 4)]
DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves(dtype):
    x = sample((3, 4), dtype)
    moved = gc.pad(gc.roll(gc.flip(gc.permute_dims(gc.asarray(x), (1, 0)), axis=0), 1, axis=1), 1)
    check(moved, np.pad(np.roll(x.T[::-1], 1, axis=1), 1), exact=True)


@pytest.mark.parametrize("shape, new", [((6,), (2, 3)), ((6,), (-1, 2)), ((2, 3), 6), ((2, 3), -1), ((0, 4), (4, -1)),
                                        ((), (1, 1)), ((1,), ()), ((2, 0), (0,)), ([2, 3], [3, 2])])
def test_reshape(shape, new):
    x = sample(shape)
    check(gc.reshape(gc.asarray(x), new), x.reshape(new), exact=True)


def test_reshape_errors():
    x = gc.zeros((2, 3))
    raises(ValueError, "[reshape] an array of shape (2, 3) and size 6 has no shape (4, 2)", gc.reshape, x, (4, 2))
    raises(ValueError, "has no shape (-1, -1)", gc.reshape, x, (-1, -1))
    raises(ValueError, "has no shape (-1, 4)", gc.reshape, x, (-1, 4))
    raises(ValueError, "has no shape (-2, -3)", gc.reshape, x, (-2, -3))
    raises(ValueError, "has no shape (-1, 0)", gc.reshape, gc.zeros((0, 3)), (-1, 0))
    raises(TypeError, "a size must be an integer, not 1.5", gc.reshape, x, (1.5, 4))


def test_a_movement_that_changes_nothing_returns_its_argument():
    x = gc.zeros((2, 3))
    for same in (gc.reshape(x, (2, 3)), gc.reshape(x, (-1, 3)), gc.permute_dims(x, (0, 1)), gc.broadcast_to(x, (2, 3)),
                 gc.moveaxis(x, 0, 0), gc.swapaxes(x, 1, 1), gc.squeeze(x), gc.expand_dims(x, ()), gc.concat([x]),
                 gc.roll(x, 0, axis=0), gc.roll(x, 3, axis=1), gc.flip(x, axis=()), gc.pad(x, 0), gc.tile(x, 1),
                 gc.repeat(x, 1, axis=0), gc.split(x, 1)[0]):
        assert same.node is x.node


@pytest.mark.parametrize("shape", SHAPES)
def test_axes_in_another_order(shape):
    x = sample(shape)
    t = gc.asarray(x)
    check(gc.transpose(t), x.transpose(), exact=True)
    axes = tuple(np.random.default_rng(len(shape)).permutation(len(shape)).tolist())
    check(gc.permute_dims(t, axes), x.transpose(axes), exact=True)
    if len(shape) > 1:
        check(gc.swapaxes(t, 0, -1), x.swapaxes(0, -1), exact=True)
        check(gc.moveaxis(t, 0, -1), np.moveaxis(x, 0, -1), exact=True)
        check(gc.moveaxis(t, (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)), exact=True)
        check(gc.matrix_transpose(t), x.swapaxes(-1, -2), exact=True)


def test_axis_errors():
    x = gc.zeros((2, 3))
    raises(IndexError, "[swapaxes] axis 2", gc.swapaxes, x, 0, 2)
    raises(ValueError, "given twice", gc.permute_dims, x, (0, 0))
    raises(ValueError, "do not name each of the 2 axes", gc.permute_dims, x, (0,))
    raises(ValueError, "[squeeze] axis 0 of shape (2, 3) has size 2, not 1", gc.squeeze, x, axis=0)
    raises(ValueError, "2 axes cannot move to 1 places", gc.moveaxis, x, (0, 1), (0,))
    raises(ValueError, "[matrix_transpose] shape (3,)", gc.matrix_transpose, gc.zeros(3))
    raises(ValueError, "[broadcast_to] shape", gc.broadcast_to, x, (2, 4))
    raises(ValueError, "[broadcast_to] shape", gc.broadcast_to, x, (3,))


def test_axes_come_and_go():
    x = sample((2, 1, 3))
    t = gc.asarray(x)
    for axis in (0, -1, (0, 2), (-1, 0)):
        check(gc.expand_dims(t, axis=axis), np.expand_dims(x, axis), exact=True)
    check(gc.squeeze(t), x.squeeze(), exact=True)
    check(gc.squeeze(t, axis=-2), x.squeeze(-2), exact=True)
    check(gc.ravel(t), x.ravel(), exact=True)
    check(gc.atleast_1d(gc.asarray(2.0)), [2.0])
    check(gc.atleast_2d(gc.asarray([1.0, 2.0])), [[1.0, 2.0]])


@pytest.mark.parametrize("shape, new", [((), (2,)), ((1,), (0,)), ((3,), (2, 3)), ((2, 1), (4, 2, 3)), ((0,), (2, 0))])
def test_broadcast(shape, new):
    x = sample(shape)
    check(gc.broadcast_to(gc.asarray(x), new), np.broadcast_to(x, new), exact=True)
    for found, expected in zip(gc.broadcast_arrays(gc.asarray(x), gc.zeros(new)), np.broadcast_arrays(x, np.zeros(new)),
                               strict=True):
        check(found, expected, exact=True)
    assert gc.broadcast_shapes(shape, new) == np.broadcast_shapes(shape, new)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concat(axis):
    parts = [sample((2, 3)), sample((2, 3), "int32"), sample((2, 3), "float32")]
    check(gc.concat([gc.asarray(p) for p in parts], axis=axis), np.concatenate(parts, axis=axis), exact=True)
    check(gc.concatenate([gc.asarray(p) for p in parts[:2]], 0), np.concatenate(parts[:2]), exact=True)


def test_concat_of_unequal_and_empty_parts():
    parts = [sample((0, 3)), sample((2, 3)), sample((1, 3)), sample((0, 3))]
    check(gc.concat([gc.asarray(p) for p in parts]), np.concatenate(parts), exact=True)
    check(gc.concat([gc.asarray(parts[0]), gc.asarray(parts[3])]), np.zeros((0, 3)))
    raises(ValueError, "[concat] shapes (2, 3) and (2, 4) differ in more than axis 0", gc.concat,
           [gc.zeros((2, 3)), gc.zeros((2, 4))])
    raises(ValueError, "[concat] there is no array to join", gc.concat, [])
    raises(ValueError, "[stack] shapes (2,) and (3,) differ", gc.stack, [gc.zeros(2), gc.zeros(3)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(5, 4, 300), (2, 70, 3)])
def test_many_parts(axis, shape):
    """Of one size and of several, copied, computed, moved along each axis, and padded."""
    parts = [sample(shape, seed=k) for k in range(11)]
    tensors = [gc.asarray(p) for p in parts]
    check(gc.stack(tensors, axis=axis), np.stack(parts, axis=axis), exact=True)
    uneven = [x[(slice(None),) * axis + (slice(k % 2 + 1),)] * k for x in (tensors, parts) for k, x in enumerate(x)]
    check(gc.concat(uneven[:11], axis=axis), np.concatenate(uneven[11:], axis=axis), exact=True)
    moved = [gc.roll(t, (k, -k), axis=((axis + 1) % 3, (axis + 2) % 3)) for k, t in enumerate(tensors)]
    expected = [np.roll(p, (k, -k), axis=((axis + 1) % 3, (axis + 2) % 3)) for k, p in enumerate(parts)]
    check(gc.pad(gc.stack(moved, axis=axis), 2) * 2, np.pad(np.stack(expected, axis=axis), 2) * 2, exact=True)


def test_stack():
    a, b = sample((2, 3)), sample((2, 3), seed=1)
    tensors = [gc.asarray(a), gc.asarray(b)]
    for axis in (0, 1, 2, -1, -2):
        check(gc.stack(tensors, axis=axis), np.stack([a, b], axis=axis), exact=True)
    check(gc.hstack(tensors), np.hstack([a, b]), exact=True)
    check(gc.vstack(tensors), np.vstack([a, b]), exact=True)
    check(gc.hstack([t[0] for t in tensors]), np.hstack([a[0], b[0]]), exact=True)
    check(gc.vstack([t[0] for t in tensors]), np.vstack([a[0], b[0]]), exact=True)


@pytest.mark.parametrize("where", [1, 2, 3, [2], [1, 4], [3, 1], [-2], [0, 9, 20], []])
def test_split(where):
    x = sample((6, 2))
    for function, reference in ((gc.array_split, np.array_split), (gc.split, np.split)):
        for found, expected in zip(function(gc.asarray(x), where), reference(x, where), strict=True):
            check(found, expected, exact=True)


def test_split_unequal_and_unstack():
    x = sample((7, 2))
    for found, expected in zip(gc.array_split(gc.asarray(x), 9), np.array_split(x, 9), strict=True):
        check(found, expected, exact=True)
    raises(ValueError, "[split] axis 0 of shape (7, 2) does not split into 2 equal parts", gc.split, gc.asarray(x), 2)
    for found, expected in zip(gc.unstack(gc.asarray(x), axis=1), np.unstack(x, axis=1), strict=True):
        check(found, expected, exact=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_flip_and_roll(shape):
    x = sample(shape)
    t = gc.asarray(x)
    check(gc.flip(t), np.flip(x), exact=True)
    for shift in (0, 1, -1, 100):
        check(gc.roll(t, shift), np.roll(x, shift), exact=True)
        for axis in range(len(shape)):
            check(gc.roll(t, shift, axis=axis), np.roll(x, shift, axis=axis), exact=True)
            check(gc.flip(t, axis=axis), np.flip(x, axis=axis), exact=True)
    if len(shape) >= 2:
        check(gc.roll(t, (1, -2), axis=(0, 1)), np.roll(x, (1, -2), axis=(0, 1)), exact=True)
        check(gc.roll(t, 1, axis=(0, 1)), np.roll(x, 1, axis=(0, 1)), exact=True)
        raises(ValueError, "3 shifts do not belong to 2 axes", gc.roll, t, (1, 2, 3), axis=(0, 1))


def test_repeat_and_tile():
    x = sample((2, 3))
    t = gc.asarray(x)
    for repeats, axis in ((2, None), (0, 0), (3, 1), ([1, 2], 0), ([2, 0, 1], 1), ([0, 0], 0), ([2], 0)):
        check(gc.repeat(t, repeats, axis=axis), np.repeat(x, repeats, axis=axis), exact=True)
    for times in (2, 0, (2,), (2, 1), (2, 3, 1), ()):
        check(gc.tile(t, times), np.tile(x, times), exact=True)
    check(gc.tile(gc.asarray(3), (2, 2)), np.tile(3, (2, 2)), exact=True)
    raises(ValueError, "[repeat] (3,) counts do not fit axis 0", gc.repeat, t, [1, 2, 3], axis=0)
    raises(TypeError, "repeats must be integers", gc.repeat, t, 1.5)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [0, 2, (1, 0), ((1, 2), (0, 3)), ((9, 11), (7, 2))])
@pytest.mark.parametrize("shape", [(3, 4), (1, 2), (5, 1)])
def test_pad(mode, width, shape):
    x = sample(shape)
    check(gc.pad(gc.asarray(x), width, mode=mode), np.pad(x, width, mode=mode), exact=True)


def test_pad_values_and_errors():
    x = sample((2, 3), "int32")
    for values in (7, (1, 2), ((1, 2), (3, 4))):
        check(gc.pad(gc.asarray(x), 2, constant_values=values), np.pad(x, 2, constant_values=values), exact=True)
    check(gc.pad(gc.zeros((0, 2)), 1), np.pad(np.zeros((0, 2)), 1), exact=True)
    raises(ValueError, "mode 'edge' has nothing to take", gc.pad, gc.zeros((0, 2)), 1, mode="edge")
    raises(ValueError, "there is no mode 'best'", gc.pad, gc.zeros(2), 1, mode="best")
    raises(ValueError, "do not fit an array of shape (2, 3)", gc.pad, gc.asarray(x), ((1, 1), (1, 1), (1, 1)))
    raises(ValueError, "must not be negative", gc.pad, gc.asarray(x), -1)


@pytest.mark.parametrize("window, axis", [(3, 0), (1, 1), ((2, 3), None), ((2, 2), (1, 0)), ((2, 2), (0, 0))])
def test_windows(window, axis):
    x = sample((4, 5))
    if axis == (0, 0):      # NumPy allows an axis twice; here it is a mistake
        raises(ValueError, "given twice", gc.sliding_window_view, gc.asarray(x), window, axis)
        return
    expected = np.lib.stride_tricks.sliding_window_view(x, window, axis)
    check(gc.sliding_window_view(gc.asarray(x), window, axis), expected, exact=True)


def test_windows_with_stride_and_dilation():
    x = sample((3, 11))
    found = gc.sliding_window_view(gc.asarray(x), 3, 1, stride=2, dilation=2)
    expected = np.lib.stride_tricks.sliding_window_view(x, 5, 1)[:, ::2, ::2]
    check(found, expected, exact=True)
    raises(ValueError, "a window of 12 does not fit in axis 1 of size 11", gc.sliding_window_view, gc.asarray(x), 12, 1)


@pytest.mark.parametrize("axis, count, k, stride, dilation, padding, size", [
    (0, 5, 3, 1, 1, 0, 7), (1, 4, 3, 2, 1, 1, 8), (0, 6, 4, 4, 1, 2, 30), (1, 5, 3, 2, 3, -2, 11),
    (0, 3, 5, 3, 2, 4, 9), (0, 4, 2, 3, 1, 0, 12),
    (0, 3, 40, 1, 2, 1, 70), (0, 4, 1, 2, 1, 9, 5), (0, 0, 3, 2, 1, 0, 4), (1, 3, 2, 2, 1, 0, 0)],
    ids=str)
def test_windows_are_put_back(axis, count, k, stride, dilation, padding, size):
    x = sample((3, count, k) if axis else (count, 2, k))
    expected = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1:-1]))
    read = np.zeros_like(x)             # what the gradient reads
    weight = sample(expected.shape, seed=1)
    for i, t in np.ndindex(count, k):
        p = i * stride + t * dilation - padding
        if 0 <= p < size:
            expected[(slice(None),) * axis + (p,)] += x[(slice(None),) * axis + (i, ..., t)]
            read[(slice(None),) * axis + (i, ..., t)] = weight[(slice(None),) * axis + (p,)]

    def put(x):
        return gc.overlap_add(x, size, axis, stride=stride, dilation=dilation, padding=padding)

    y, pull = gc.vjp(put, gc.asarray(x))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-14)
    check(pull(gc.asarray(weight))[0], read, exact=True)


def test_strides_of_windows_add_no_zeros():
    """With a stride each element comes from a few taps: no zeros are put between windows, to be added with them."""
    x = gc.asarray(sample((4, 16, 29, 3)))
    plan = gc.plan(gc.overlap_add(x, 59, 2, stride=2))
    assert plan.flops <= 6 * x.size and len(plan.kernels) == 1, str(plan)
    raises(ValueError, "is that of the windows' elements", gc.overlap_add, gc.zeros((4, 3)), 6, 1)
    raises(ValueError, "stride 0 and dilation 1 positive", gc.overlap_add, gc.zeros((4, 3)), 6, stride=0)


MOVES = {
    "reshape": (lambda x: gc.reshape(x, (-1, 2)) if x.size % 2 == 0 and x.size else x,
                lambda x: np.reshape(x, (-1, 2)) if x.size % 2 == 0 and x.size else x),
    "transpose": (gc.transpose, np.transpose),
    "flip": (gc.flip, np.flip),
    "roll": (lambda x: gc.roll(x, 1), lambda x: np.roll(x, 1)),
    "pad": (lambda x: gc.pad(x, 1), lambda x: np.pad(x, 1)),
    "ravel": (gc.ravel, np.ravel),
    "row": (lambda x: gc.expand_dims(x, 0), lambda x: np.expand_dims(x, 0)),
    "tile": (lambda x: gc.tile(x, 2), lambda x: np.tile(x, 2)),
    "twice": (lambda x: gc.concat([x, x], axis=0), lambda x: np.concatenate([x, x], axis=0)),
    "add": (lambda x: x + 1.0, lambda x: x + 1.0),
}


@given(st.sampled_from([(1,), (0,), (2, 3), (3, 1, 2)]), st.lists(st.sampled_from(sorted(MOVES)), max_size=6))
def test_moves_on_moves(shape, names):
    x = sample(shape)
    t = gc.asarray(x)
    for name in names:
        moved, expected = MOVES[name]
        t, x = moved(t), expected(x)
        if x.size > 3000:
            break
    check(t, x, exact=True)


def test_indices_near_what_is_asked_for_have_names_of_their_own():
    """Windows of what is padded of what is joined: the index into the one is made of the index into the other."""
    joined = gc.concat([gc.arange(12.0)[None], gc.asarray([[100.0, 200.0]])], axis=1)
    x = np.pad(np.append(np.arange(12.0), [100.0, 200.0])[None], ((0, 12), (1, 14)), mode="edge")
    expected = np.lib.stride_tricks.sliding_window_view(x, 13, axis=1)[:, ::3, 6:10:2]
    for rows, parts in ((4, 2), (7, 2), (13, 4)):
        s = gc.pad(joined, ((0, rows - 1), (1, 14)), mode="edge")
        windows = gc.sliding_window_view(s, 7, axis=1, stride=3, dilation=2)[:, :, 3:5]
        check(gc.sum(windows.reshape(parts, -1), axis=1), expected[:rows].reshape(parts, -1).sum(1))


def test_loops_beside_each_other_read_near_what_they_ask_for():
    x, t = sample((2, 3)), gc.asarray(sample((2, 3)))
    for name in ("reshape", "pad", "reshape", "pad", "reshape", "transpose"):
        t, x = MOVES[name][0](t), MOVES[name][1](x)
    check(t, x, exact=True)     # the C of which had a name twice


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "complex64"])
def test_transpositions_in_blocks(dtype):
    """Whole squares and what is left over, on one thread and on three; strides that meet in one set of a cache."""
    x, y = sample((70, 131), dtype), sample((3, 67, 9), "float64")
    z = sample((67, 9), "float32")
    for threads in (1, 3):
        with settings.override(num_threads=threads):
            t, u = gc.asarray(x), gc.asarray(y)
            check(t.T + 1, (x.T + 1).astype(dtype), exact=True)
            check(t[:66, :66] + t[:66, :66].T, x[:66, :66] + x[:66, :66].T, exact=True)
            check(gc.permute_dims(u, (2, 1, 0)) * 2, y.transpose(2, 1, 0) * 2, exact=True)
            check(gc.permute_dims(u, (0, 2, 1)) + gc.asarray(z).T, y.transpose(0, 2, 1) + z.T, exact=True)
            check(gc.flip(t, axis=0).T * 2, x[::-1].T * 2, exact=True)
            check(gc.concat([t.T, t.T * 2]), np.concatenate([x.T, x.T * 2]), exact=True)


def test_what_has_many_runs_is_a_gather():
    """And not a concatenation of as many slices."""
    x, counts = np.arange(2000.0), np.arange(2000) % 3
    for found, expected in ((gc.repeat(gc.asarray(x), counts), np.repeat(x, counts)),
                            (gc.pad(gc.asarray(x[:3]), 1000, mode="wrap"), np.pad(x[:3], 1000, mode="wrap")),
                            (gc.delete(gc.asarray(x), np.arange(0, 2000, 2)), x[1::2])):
        assert len(topological([found.node])) < 10
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype, value", [("int8", 300), ("uint8", -1), ("int8", ((1, 2), (3, -129))),
                                          ("int16", 2**40)])
def test_padding_with_integers_that_do_not_fit(dtype, value):
    x = np.ones((2, 2), dtype)
    raises(OverflowError, f"do not fit {dtype}", gc.pad, gc.asarray(x), 1, constant_values=value)
    wrapped = gc.pad(gc.asarray(x), 1, constant_values=np.array(value)).numpy()     # an array is cast, as by astype
    assert (wrapped[1:-1, 1:-1] == 1).all() and wrapped[0, 1] == np.array(value).ravel()[0].astype(dtype)


@pytest.mark.parametrize("dtype, value", [("int8", -128), ("uint8", 255), ("float16", 300), ("bool", 7), ("int8", 2.7),
                                          ("complex64", 3)])
def test_padding_with_numbers_that_fit(dtype, value):
    for shape in ((2,), (0, 2), ()):
        x = np.ones(shape, dtype)
        check(gc.pad(gc.asarray(x), 1, constant_values=value), np.pad(x, 1, constant_values=value))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap", "minimum", "mean", "median", "linear_ramp"])
def test_padding_of_no_axes(dtype, mode):
    x = np.asarray(5, dtype)
    options = {"stat_length": 1} if mode in ("minimum", "mean", "median") else {}
    check(gc.pad(gc.asarray(x), 1, mode, **options), np.pad(x, 1, mode, **options))
    raises(ValueError, "widths -1 must not be negative", gc.pad, gc.asarray(x), -1, mode)
    raises(TypeError, "widths 1.5 must be integers", gc.pad, gc.asarray(x), 1.5, mode)


@pytest.mark.parametrize("widths", [{}, {0: 1}, {-1: (1, 2)}, {0: (0, 2), 1: 3}, {1: (2, 0)}])
def test_padding_of_some_axes(widths):
    x = sample((2, 3), "float32")
    for mode in ("constant", "edge", "median"):
        check(gc.pad(gc.asarray(x), widths, mode), np.pad(x, widths, mode))
    raises(ValueError, "axis 2 is out of range", gc.pad, x, {2: 1})
    raises(ValueError, "must not be negative", gc.pad, x, {1: -1})
    raises(TypeError, "must be integers", gc.pad, x, {1: 0.5})


@pytest.mark.parametrize("name, shape", [("split", (5, 2)), ("array_split", (5, 2)), ("vsplit", (5, 2)),
                                         ("hsplit", (5,)), ("hsplit", (2, 5)), ("dsplit", (2, 1, 5)),
                                         ("split", (0, 2))])
@pytest.mark.parametrize("places", [[1, 2], [3, 1], [-2], [9], [0]])
def test_splits_at_places_in_any_sequence(name, shape, places):
    x = sample(shape, "int16")
    want = getattr(np, name)(x, places)
    for sequence in (places, tuple(places), np.array(places), gc.asarray(places), gc.asarray(places) * 1):
        for found, part in zip(getattr(gc, name)(gc.asarray(x), sequence), want, strict=True):
            check(found, part)


def test_splits_into_a_number_that_is_an_array():
    x = gc.arange(6)
    for number in (3, np.array(3), gc.asarray(3), np.int8(3)):
        assert [p.tolist() for p in gc.split(x, number)] == [[0, 1], [2, 3], [4, 5]]
    raises(ValueError, "does not split into 4 equal parts", gc.split, x, np.array(4))


@pytest.mark.parametrize("shift, axis", [([1, 2], (0, 1)), ([1], (0, 1)), ([1, -2], 1), ([3, 4], None),
                                         (2, [0, 1])])
def test_rolls_by_arrays(shift, axis):
    x = sample((2, 3), "int8")
    want = np.roll(x, shift, axis)
    for make in (tuple, np.array, gc.asarray):
        by = make(shift) if isinstance(shift, list) else shift
        check(gc.roll(gc.asarray(x), by, axis), want)
        if isinstance(axis, tuple | list):
            check(gc.roll(gc.asarray(x), by, make(axis)), want)
    check(gc.roll(gc.asarray(x), np.array(2)), np.roll(x, np.array(2)))
    raises(TypeError, "shift must be an integer", gc.roll, x, [0.5])


def test_at_least_so_many_axes_of_several():
    arrays = [np.asarray(3.0), np.arange(2), np.ones((0, 2), "float32"), np.ones((1, 2, 3))]
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        found, want = getattr(gc, name)(*map(gc.asarray, arrays)), getattr(np, name)(*arrays)
        assert isinstance(found, tuple)
        for a, b in zip(found, want, strict=True):
            check(a, b)
        check(getattr(gc, name)(2), getattr(np, name)(2))


@pytest.mark.parametrize("mode, name", [("constant", "constant_values"), ("linear_ramp", "end_values")])
def test_padding_with_tensors_that_are_more_than_their_values(mode, name):
    """Recorded, arguments of a jitted function, under vmap; gradients pass to them."""
    random = np.random.default_rng(8)
    for shape, values in (((3,), ()), ((2, 3), (2,)), ((2, 1, 3), (3, 2)), ((1, 4), (2, 1))):
        x, v = random.standard_normal(shape), random.standard_normal(values)
        width = random.integers(0, 3, (len(shape), 2))
        want = np.pad(x, width, mode, **{name: v})

        def padded(x, v, width=width):
            return gc.pad(x, width, mode, **{name: v})

        s, t = gc.asarray(x), gc.asarray(v)
        for found in (padded(s, t * 1), gc.jit(padded)(s, t), gc.vmap(padded)(s[None], t[None])[0]):
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-14, atol=1e-15, strict=True)
        weights = random.standard_normal(want.shape)

        def total(v, padded=padded, s=s, weights=weights):
            return (padded(s, v) * gc.asarray(weights)).sum()

        slope = gc.grad(total)(t)
        step = np.zeros(values)
        for place in np.ndindex(*values):
            step[place] = 1.0
            change = np.pad(x, width, mode, **{name: v + step}) - want
            np.testing.assert_allclose(slope.numpy()[place], (change * weights).sum(), rtol=1e-10, atol=1e-12)
            step[place] = 0.0
    jitted = gc.jit(lambda x, v: gc.pad(x, 1, mode, **{name: v}))
    for number in (0.5, 2.0):
        assert jitted(gc.asarray([1.0, 3.0]), number).tolist() == [number, 1.0, 3.0, number]
    if mode == "constant":
        with pytest.raises(IntegerOverflow):
            jitted(gc.ones(2, dtype="uint8"), 300)
    with pytest.raises(ShapeError, match="do not fit"):
        jitted(gc.ones(2), gc.ones(3))
